"""What a claim says, as values. Terms are in canonical form, times as the page writes them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Literal

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.claims.numbers import json_number

PROFILE = "openknowledge.claims/v1"
PROFILE_MARK = "1"

Scalar = str | int | float | bool
RelationKind = Literal["supersedes", "contradicts", "derived_from"]

STATUSES = (
    "extracted",
    "proposed",
    "supported",
    "verified",
    "disputed",
    "rejected",
    "superseded",
    "archived",
)
ENDED = ("rejected", "superseded", "archived")
"""The statuses that somebody decided, after which a claim is no longer active."""
RELATION_KINDS: tuple[RelationKind, ...] = ("supersedes", "contradicts", "derived_from")
STANCES = ("supports", "opposes", "contextualizes")
BUILT_IN_ROLES = ("primary", "secondary", "corroborating", "method")
SELECTOR_TYPES = ("text_quote", "text_position", "data_position", "fragment", "page", "media_fragment")
OBSERVE = ("manual", "metadata", "fetch", "pinned")
SOURCE_ROLES = ("authoritative", "supporting", "contradicting")
OBJECT_KINDS = ("literal", "entity", "quantity")


@dataclass(frozen=True, slots=True)
class ObjectValue:
    """The object of a claim or the value of a scope dimension: an entity ``ref``, or a literal ``value``."""

    ref: str = ""
    value: Scalar | None = None
    datatype: str = ""
    language: str = ""
    unit: str = ""
    quantity_kind: str = ""

    @property
    def text(self) -> str:
        """The ref, the string itself, or the JSON text of a number or boolean."""
        return self.ref or scalar_text(self.value)

    @property
    def normalised(self) -> str:
        """The compact JSON by which two objects are compared."""
        parts = []
        for name, text in (
            ("ref", self.ref),
            ("value", None),
            ("datatype", self.datatype),
            ("language", self.language),
            ("unit", self.unit),
            ("quantity_kind", self.quantity_kind),
        ):
            if text is None:
                if self.value is not None:
                    parts.append(f'"value":{_json_scalar(self.value)}')
            elif text:
                parts.append(f'"{name}":{json.dumps(text, ensure_ascii=False)}')
        return "{" + ",".join(parts) + "}"


def _json_scalar(value: Scalar) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else scalar_text(value)


def scalar_text(value: Scalar | None) -> str:
    """Return a string as it is, and a number or boolean as JSON writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else json_number(value)


@dataclass(frozen=True, slots=True)
class Selector:
    """Which part of an artifact is the evidence. Absent strings are empty, absent numbers ``None``."""

    type: str
    exact: str = ""
    prefix: str = ""
    suffix: str = ""
    value: str = ""
    start: int | None = None
    end: int | None = None
    page: int | None = None
    conforms_to: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One item of evidence. ``source_ref`` names a source of the claim's own page."""

    id: str
    source_ref: str
    stance: str = "supports"
    role: str = "primary"
    selector: Selector | None = None
    observed_at: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceVersion:
    """What a piece of evidence was when somebody looked at it."""

    evidence_ref: str
    source_ref: str
    resource: str
    sha256: str
    by: str
    at: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Who confirmed a claim, how and when, on which evidence."""

    method: str
    by: str
    at: str
    evidence_refs: tuple[str, ...] = ()
    evidence_versions: tuple[EvidenceVersion, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Who ended a claim, when and why."""

    action: str
    by: str
    at: str
    reason: str = ""


@dataclass(slots=True, unsafe_hash=True)
class Claim:
    """One claim occurrence: what it says, and the page and place in ``claims`` where it stands.

    Two claims are equal when they say the same, wherever they stand. Nobody changes a claim; it is not frozen
    because making a frozen one of so many fields costs as much as all its checks.
    """

    id: str
    slot: str
    subject: str
    predicate: str
    object: ObjectValue
    scope: tuple[tuple[str, ObjectValue], ...]
    evidence: tuple[Evidence, ...]
    owners: tuple[str, ...]
    status: str
    valid_from: str
    valid_until: str
    stale_after: str
    verification: Verification | None
    decisions: tuple[Decision, ...]
    supersedes: tuple[str, ...]
    contradicts: tuple[str, ...]
    derived_from: tuple[str, ...]
    section_ref: str
    document: Document = field(compare=False, repr=False)
    index: int = field(compare=False, repr=False)

    @property
    def path(self) -> str:
        """The bundle-relative path of the page."""
        return self.document.path

    @property
    def line(self) -> int:
        """The line of the file on which the claim starts. The first call for a page reads its YAML again."""
        return self.document.frontmatter.position("claims", self.index)[0]

    def related(self, kind: RelationKind) -> tuple[str, ...]:
        """Return the targets of one kind of relation."""
        if kind == "supersedes":
            return self.supersedes
        return self.contradicts if kind == "contradicts" else self.derived_from

    @property
    def scope_key(self) -> str:
        """The scope as one text: sorted ``dimension=normalised object`` joined by U+001F."""
        return "\x1f".join([f"{dimension}={value.normalised}" for dimension, value in self.scope])

    @property
    def comparison_key(self) -> str:
        """What two claims must share to answer one question: slot, subject, predicate and scope."""
        key = f"{self.slot}\x1f{self.subject}\x1f{self.predicate}"
        return f"{key}\x1f{self.scope_key}" if self.scope else key

    @property
    def trust_tier(self) -> str:
        """Who stands behind the claim: ``human-reviewed``, ``machine-confirmed`` or ``unverified``."""
        if self.status != "verified" or self.verification is None:
            return "unverified"
        human = self.verification.by.startswith(("human:", "github:"))
        return "human-reviewed" if human else "machine-confirmed"


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that claims can be about."""

    id: str
    types: tuple[str, ...] = ()
    pref_label: str = ""
    alt_labels: tuple[str, ...] = ()
    deprecated: bool = False
    replaced_by: str = ""


@dataclass(frozen=True, slots=True)
class Predicate:
    """What can be said of an entity, and how it must be said. ``maximum_count`` 0 means no maximum."""

    id: str
    subject_types: tuple[str, ...] = ()
    object_kind: str = ""
    datatype: str = ""
    quantity_kind: str = ""
    canonical_unit: str = ""
    required_scope: tuple[str, ...] = ()
    maximum_count: int = 0
    pref_label: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceRole:
    """A role that evidence can have beside the built-in ones."""

    id: str
    pref_label: str = ""
