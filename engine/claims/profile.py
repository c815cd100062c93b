"""Reads the claim fields of a page's frontmatter into values, with every departure from the profile named.

The straight way through is kept short: messages and places are made only for what is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from openknowledge.engine import limits
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.instants import parse_date, parse_instant, start_of
from openknowledge.engine.bundle.okf import text_of
from openknowledge.engine.bundle.slugs import WHITESPACE
from openknowledge.engine.claims.findings import Finding, Place, dotted, kind_of, shown
from openknowledge.engine.claims.model import (
    BUILT_IN_ROLES,
    ENDED,
    PROFILE_MARK,
    SELECTOR_TYPES,
    STANCES,
    STATUSES,
    Claim,
    Decision,
    Evidence,
    EvidenceVersion,
    ObjectValue,
    Scalar,
    Selector,
    Verification,
)
from openknowledge.engine.claims.terms import Namespaces

MARK = "openknowledge_claim_profile"
CLAIM_KEYS = frozenset({"claims", "claim_refs"})
TERM_RULE = "must be an absolute IRI or use a declared namespace"
MARK_MESSAGE = f'{MARK} must be "{PROFILE_MARK}" when claims or claim_refs are present'

_CLAIM_FIELDS = frozenset(
    {
        "id",
        "slot",
        "subject",
        "predicate",
        "object",
        "scope",
        "evidence",
        "owners",
        "status",
        "valid_time",
        "stale_after",
        "verification",
        "relations",
        "section_ref",
        "decisions",
    }
)
_OBJECT_FIELDS = frozenset({"ref", "value", "datatype", "language", "unit", "quantity_kind"})
_LITERAL_FIELDS = ("datatype", "language", "unit", "quantity_kind")
_EVIDENCE_FIELDS = frozenset({"id", "source_ref", "stance", "role", "selector", "observed_at"})
_SELECTOR_TEXTS = ("exact", "prefix", "suffix", "value")
_SELECTOR_NUMBERS = ("start", "end", "page")
_SELECTOR_FIELDS = frozenset({"type", *_SELECTOR_TEXTS, *_SELECTOR_NUMBERS, "conforms_to"})
_VERIFICATION_FIELDS = frozenset({"method", "by", "at", "evidence_refs", "evidence_versions"})
_VERSION_FIELDS = frozenset({"evidence_ref", "source_ref", "resource", "sha256", "by", "at"})
_DECISION_FIELDS = frozenset({"action", "by", "at", "reason"})
_RELATION_FIELDS = frozenset({"supersedes", "contradicts", "derived_from"})
_TIME_FIELDS = frozenset({"from", "until"})

_LANGUAGE = re.compile(r"(?:[a-z]{2,8}|[ix](?=-))(?:-[a-z0-9]{1,8})*\Z")
SHA256 = re.compile(r"[0-9a-f]{64}\Z")
SECTION_REF = re.compile(r"#[A-Za-z0-9][A-Za-z0-9_.:-]*\Z")

LANG_STRING = "rdf:langString"
_INFERRED = {str: "xsd:string", bool: "xsd:boolean", int: "xsd:integer", float: "xsd:decimal"}

_LEXICAL: dict[str, re.Pattern[str]] = {
    "xsd:integer": re.compile(r"[+-]?[0-9]+\Z"),
    "xsd:decimal": re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\Z"),
    "xsd:double": re.compile(r"(?:[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN)\Z"),
    "xsd:float": re.compile(r"(?:[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN)\Z"),
    "xsd:boolean": re.compile(r"(?:true|false|0|1)\Z"),
}

_ENDED = frozenset(ENDED)
_STATUSES = frozenset(STATUSES)
_INTEGER_BOUND = 10**limits.CLAIM_INTEGER_DIGITS
_NO_CLAIM = -1


@dataclass(slots=True)
class Page:
    """The claims of one page as read. ``broken`` has id and index of claims that depart from the profile."""

    document: Document
    claims: list[Claim] = field(default_factory=list)
    claim_refs: tuple[str, ...] = ()
    broken: list[tuple[str, int]] = field(default_factory=list)


class ProfileReader:
    """Reads page after page; findings gather in ``findings``, caches serve all pages of the bundle."""

    def __init__(self, terms: Namespaces, findings: list[Finding]) -> None:
        self.findings = findings
        self._terms = terms
        self._canonical = terms.canonical
        self._objects: dict[Any, ObjectValue] = {}
        self._evidence: dict[Any, Evidence] = {}
        self._times: dict[str, datetime | None] = {}
        self._days: dict[str, bool] = {}
        self._document: Document = None  # type: ignore[assignment]
        self._index = _NO_CLAIM
        self._raw_id: Any = None
        self._owners: tuple[str, ...] = ()

    # Pages

    def read(self, document: Document) -> Page:
        """Return the claims of ``document``; what is wrong is added to ``findings``."""
        fields = document.fields
        page = Page(document)
        self._document = document
        self._index = _NO_CLAIM
        if fields.get(MARK) != PROFILE_MARK:
            self._problem(MARK_MESSAGE, MARK)
        self._owners = self._page_owners(fields)
        if "claim_refs" in fields:
            page.claim_refs = self._terms_list(fields["claim_refs"], "claim_refs")
        if "claims" not in fields:
            return page
        raw = fields["claims"]
        if type(raw) is not list:
            self._problem(f"claims must be a list of mappings, not {kind_of(raw)}", "claims")
            return page
        claims = page.claims
        for index, item in enumerate(raw):
            found = len(self.findings)
            claim = self._claim(item, index)
            if claim is not None and len(self.findings) == found:
                claims.append(claim)
            elif type(item) is dict and (known := self._known_id(item)):
                page.broken.append((known, index))
        self._index = _NO_CLAIM
        return page

    def _known_id(self, raw: dict[str, Any]) -> str:
        value = raw.get("id")
        return self._canonical[value.strip(WHITESPACE)] if type(value) is str else ""

    def _page_owners(self, fields: dict[str, Any]) -> tuple[str, ...]:
        if "owner" not in fields and "owners" not in fields:
            return ()
        owners: set[str] = set()
        for key in ("owner", "owners"):
            if key in fields:
                value = fields[key]
                if type(value) is str:
                    owners.add(self._text(value, key))
                else:
                    owners.update(self._text_list(value, key))
        owners.discard("")
        return tuple(sorted(owners))

    # Claims

    def _claim(self, raw: Any, index: int) -> Claim | None:
        self._index = index
        if type(raw) is not dict:
            self._raw_id = None
            self._problem(f"must be a mapping, not {kind_of(raw)}")
            return None
        get = raw.get
        canonical = self._canonical
        self._raw_id = value = get("id")
        if not raw.keys() <= _CLAIM_FIELDS:
            self._unknown(raw, _CLAIM_FIELDS)
        claim_id = (type(value) is str and canonical[value]) or self._term(raw, "id")
        value = get("slot")
        slot = (type(value) is str and canonical[value]) or self._term(raw, "slot")
        value = get("subject")
        subject = (type(value) is str and canonical[value]) or self._term(raw, "subject")
        value = get("predicate")
        predicate = (type(value) is str and canonical[value]) or self._term(raw, "predicate")
        found = self._object(get("object"), "object")
        scope: tuple[tuple[str, ObjectValue], ...] = ()
        if "scope" in raw:
            scope = self._scope(raw["scope"])
        evidence: tuple[Evidence, ...] = ()
        if "evidence" in raw:
            evidence = self._evidence_list(raw["evidence"])
        owners = self._owners
        if "owners" in raw:
            owners = self._text_list(raw["owners"], "owners")
        status = get("status", "extracted")
        if type(status) is not str or status not in _STATUSES:
            status = self._choice(status, STATUSES, "status")
        valid_from = valid_until = stale_after = section_ref = ""
        if "valid_time" in raw:
            valid_from, valid_until = self._valid_time(raw["valid_time"])
        if "stale_after" in raw:
            stale_after = self._day(raw["stale_after"], "stale_after")
        verification = None
        if "verification" in raw:
            verification = self._verification(raw["verification"], evidence)
        decisions: tuple[Decision, ...] = ()
        if "decisions" in raw:
            decisions = self._decisions(raw["decisions"])
        supersedes: tuple[str, ...] = ()
        contradicts: tuple[str, ...] = ()
        derived_from: tuple[str, ...] = ()
        if "relations" in raw:
            supersedes, contradicts, derived_from = self._relations(raw["relations"])
        if "section_ref" in raw:
            section_ref = self._section_ref(raw["section_ref"])
        if verification is None and status == "verified" and "verification" not in raw:
            self._problem("status verified needs verification {method, by, at}", "status")
        if status in _ENDED and all(decision.action != status for decision in decisions):
            self._problem(f"status {status} needs a decisions entry with action {status}", "status")
        if found is None:
            return None
        return Claim(
            claim_id,
            slot,
            subject,
            predicate,
            found,
            scope,
            evidence,
            owners,
            status,
            valid_from,
            valid_until,
            stale_after,
            verification,
            decisions,
            supersedes,
            contradicts,
            derived_from,
            section_ref,
            self._document,
            index,
        )

    # Objects

    def _object(self, raw: Any, *at: str | int) -> ObjectValue | None:
        if type(raw) is dict:
            try:
                key = (*raw.items(), type(raw.get("value")))
                found = self._objects.get(key)
            except TypeError:  # something unhashable inside: not what an object holds
                key = None
                found = None
            if found is None:
                before = len(self.findings)
                found = self._read_object(raw, at)
                if key is not None and found is not None and len(self.findings) == before:
                    self._objects[key] = found
            return found
        if raw is None and at == ("object",):
            self._problem("needs object, a mapping with ref or value", *at)
        else:
            self._problem(f"{dotted(at)} must be a mapping with ref or value, not {kind_of(raw)}", *at)
        return None

    def _read_object(self, raw: dict[str, Any], at: Place) -> ObjectValue | None:
        name = dotted(at)
        if not raw.keys() <= _OBJECT_FIELDS:
            self._unknown(raw, _OBJECT_FIELDS, at)
        if ("ref" in raw) == ("value" in raw):
            self._problem(f"{name} must have exactly one of ref and value", *at)
            return None
        if "ref" in raw:
            carried = [field_name for field_name in _LITERAL_FIELDS if field_name in raw]
            for field_name in carried:
                self._problem(f"{name}.{field_name} is not allowed beside ref", *at, field_name)
            ref = self._term(raw, "ref", at)
            return ObjectValue(ref) if ref else None
        value = self._scalar(raw["value"], (*at, "value"))
        if value is None:
            return None
        datatype = self._term(raw, "datatype", at) if "datatype" in raw else ""
        language = self._language(raw, at) if "language" in raw else ""
        if language:
            if datatype not in ("", LANG_STRING):
                self._problem(
                    f"{name}.language needs datatype {LANG_STRING} or none, not {shown(datatype)}",
                    *at,
                    "language",
                )
            if type(value) is not str:
                self._problem(f"{name}.language needs a string value, not {kind_of(value)}", *at, "language")
            datatype = LANG_STRING
        elif datatype == LANG_STRING and "language" not in raw:
            self._problem(f"{name}.datatype {LANG_STRING} needs language", *at, "datatype")
        unit = self._term(raw, "unit", at) if "unit" in raw else ""
        kind = self._term(raw, "quantity_kind", at) if "quantity_kind" in raw else ""
        if ("unit" in raw) != ("quantity_kind" in raw):
            given, missing = ("unit", "quantity_kind") if "unit" in raw else ("quantity_kind", "unit")
            self._problem(f"{name}.{given} needs {missing} beside it", *at, given)
        if "datatype" in raw and not language:
            self._lexical(value, datatype, (*at, "value"))
        return ObjectValue("", value, datatype or _INFERRED[type(value)], language, unit, kind)

    def _scalar(self, value: Any, at: Place) -> Scalar | None:
        name = dotted(at)
        kind = type(value)
        if kind is str:
            text: str = value.strip(WHITESPACE)
            if not text:
                self._problem(f"{name} must not be blank", *at)
                return None
            return text
        if kind is bool:
            return bool(value)
        if kind is int:
            if abs(value) >= _INTEGER_BOUND:
                self._problem(
                    f"{name} has more than {limits.CLAIM_INTEGER_DIGITS} digits; write it as a string", *at
                )
                return None
            return int(value)
        if kind is float:
            if not math.isfinite(value):
                self._problem(f"{name} must be a finite number", *at)
                return None
            return float(value) or 0.0  # one zero, whatever its sign
        self._problem(f"{name} must be a string, number or boolean, not {kind_of(value)}", *at)
        return None

    def _language(self, raw: dict[str, Any], at: Place) -> str:
        text = self._text(raw["language"], *at, "language").lower()
        if text and _LANGUAGE.match(text) is None:
            self._problem(
                f"{dotted(at)}.language {shown(text)} is not a language tag such as en or de-ch",
                *at,
                "language",
            )
            return ""
        return text

    def _lexical(self, value: Scalar, datatype: str, at: Place) -> None:
        """A value that its own datatype does not have would be an ill-typed literal in RDF."""
        wrong = False
        if type(value) is str:
            pattern = _LEXICAL.get(datatype)
            if pattern is not None:
                wrong = pattern.match(value) is None
            elif datatype == "xsd:date":
                wrong = parse_date(value) is None
        elif type(value) is bool:
            wrong = datatype in _LEXICAL and datatype != "xsd:boolean"
        else:
            wrong = datatype == "xsd:boolean" or (datatype == "xsd:integer" and type(value) is float)
        if wrong:
            text = value if type(value) is str else ObjectValue(value=value).text
            self._problem(f"{dotted(at)} {shown(text)} is not a valid {datatype}", *at)

    def _scope(self, raw: Any) -> tuple[tuple[str, ObjectValue], ...]:
        if type(raw) is not dict:
            self._problem(f"scope must map dimensions to objects, not {kind_of(raw)}", "scope")
            return ()
        items = []
        for dimension, value in raw.items():
            term = self._canonical[dimension] or self._canonical[dimension.strip(WHITESPACE)]
            if not term:
                self._problem(f"scope dimension {shown(dimension)} {TERM_RULE}", "scope", dimension)
            found = self._object(value, "scope", dimension)
            if term and found is not None:
                items.append((term, found))
        if len(items) > 1:
            items.sort(key=_first)
            for (one, _), (other, _) in pairwise(items):
                if one == other:
                    self._problem(f"scope dimension {shown(one)} is given more than once", "scope")
        return tuple(items)

    # Evidence

    def _evidence_list(self, raw: Any) -> tuple[Evidence, ...]:
        if type(raw) is not list:
            self._problem(f"evidence must be a list of mappings, not {kind_of(raw)}", "evidence")
            return ()
        if not raw:
            return ()
        items = []
        for number, item in enumerate(raw):
            found = self._evidence_item(item, number)
            if found is not None:
                items.append(found)
        if len(items) > 1:
            known: set[str] = set()
            for item in items:
                if item.id in known:
                    numbers = [n for n, other in enumerate(raw) if _id_of(other) == item.id]
                    self._problem(f"evidence {shown(item.id)} is duplicated", "evidence", numbers[1], "id")
                known.add(item.id)
        return tuple(items)

    def _evidence_item(self, raw: Any, number: int) -> Evidence | None:
        if type(raw) is not dict:
            at = ("evidence", number)
            self._problem(f"{dotted(at)} must be a mapping, not {kind_of(raw)}", *at)
            return None
        key = None
        if "selector" not in raw:
            try:
                key = tuple(raw.items())
                found = self._evidence.get(key)
            except TypeError:
                key = found = None
            if found is not None:
                return found
        before = len(self.findings)
        found = self._read_evidence(raw, ("evidence", number))
        if key is not None and len(self.findings) == before:
            self._evidence[key] = found
        return found

    def _read_evidence(self, raw: dict[str, Any], at: Place) -> Evidence:
        if not raw.keys() <= _EVIDENCE_FIELDS:
            self._unknown(raw, _EVIDENCE_FIELDS, at)
        name = self._text(raw.get("id"), *at, "id")
        source = self._text(raw.get("source_ref"), *at, "source_ref")
        stance = "supports"
        if "stance" in raw:
            stance = self._choice(raw["stance"], STANCES, *at, "stance")
        role = "primary"
        if "role" in raw:
            text = self._text(raw["role"], *at, "role")
            role = text if text in BUILT_IN_ROLES else self._canonical[text]
            if text and not role:
                self._problem(
                    f"{dotted(at)}.role {shown(text)} must be {', '.join(BUILT_IN_ROLES)} "
                    "or a term declared in claim_ontology.evidence_roles",
                    *at,
                    "role",
                )
        selector = self._selector(raw["selector"], (*at, "selector")) if "selector" in raw else None
        observed = self._time(raw["observed_at"], *at, "observed_at") if "observed_at" in raw else ""
        return Evidence(name, source, stance, role, selector, observed)

    def _selector(self, raw: Any, at: Place) -> Selector | None:
        name = dotted(at)
        if type(raw) is not dict:
            self._problem(f"{name} must be a mapping, not {kind_of(raw)}", *at)
            return None
        if not raw.keys() <= _SELECTOR_FIELDS:
            self._unknown(raw, _SELECTOR_FIELDS, at)
        kind = self._choice(raw.get("type"), SELECTOR_TYPES, *at, "type")
        texts = {key: self._verbatim(raw[key], *at, key) for key in _SELECTOR_TEXTS if key in raw}
        numbers = {key: self._whole(raw[key], *at, key) for key in _SELECTOR_NUMBERS if key in raw}
        conforms = self._term(raw, "conforms_to", at) if "conforms_to" in raw else ""
        if kind == "text_quote":
            if "exact" not in raw:
                self._problem(f"{name} of type text_quote needs exact", *at)
        elif kind in ("text_position", "data_position"):
            missing = [key for key in ("start", "end") if key not in raw]
            for key in missing:
                self._problem(f"{name} of type {kind} needs {key}", *at)
            start, end = numbers.get("start"), numbers.get("end")
            if start is not None and end is not None and start >= end:
                self._problem(f"{name} needs start < end, not {start} and {end}", *at, "start")
        elif kind in ("fragment", "media_fragment"):
            if "value" not in raw:
                self._problem(f"{name} of type {kind} needs value", *at)
        elif kind == "page":
            page = numbers.get("page")
            if "page" not in raw:
                self._problem(f"{name} of type page needs page", *at)
            elif page is not None and page < 1:
                self._problem(f"{name}.page must be at least 1", *at, "page")
        return Selector(
            kind,
            texts.get("exact", ""),
            texts.get("prefix", ""),
            texts.get("suffix", ""),
            texts.get("value", ""),
            numbers.get("start"),
            numbers.get("end"),
            numbers.get("page"),
            conforms,
        )

    # Lifecycle

    def _valid_time(self, raw: Any) -> tuple[str, str]:
        if type(raw) is not dict:
            self._problem(f"valid_time must be a mapping {{from, until}}, not {kind_of(raw)}", "valid_time")
            return "", ""
        if not raw.keys() <= _TIME_FIELDS:
            self._unknown(raw, _TIME_FIELDS, ("valid_time",))
        first = self._time(raw["from"], "valid_time", "from") if "from" in raw else ""
        last = self._time(raw["until"], "valid_time", "until") if "until" in raw else ""
        if first and last:
            start, end = self._times[first], self._times[last]
            if start is not None and end is not None and start >= end:
                self._problem(
                    f"valid_time.from {first} must be before valid_time.until {last}", "valid_time", "from"
                )
        return first, last

    def _verification(self, raw: Any, evidence: tuple[Evidence, ...]) -> Verification | None:
        at = ("verification",)
        if type(raw) is not dict:
            self._problem(f"verification must be a mapping {{method, by, at}}, not {kind_of(raw)}", *at)
            return None
        if not raw.keys() <= _VERIFICATION_FIELDS:
            self._unknown(raw, _VERIFICATION_FIELDS, at)
        method = self._text(raw.get("method"), *at, "method")
        by = self._text(raw.get("by"), *at, "by")
        if by and ":" not in by:
            self._problem(f"verification.by {shown(by)} must contain a colon, as in human:name", *at, "by")
        moment = self._time(raw.get("at"), *at, "at")
        refs: tuple[str, ...] = ()
        known = {item.id for item in evidence}
        if "evidence_refs" in raw:
            refs = self._text_list(raw["evidence_refs"], *at, "evidence_refs")
            for ref in refs:
                if ref not in known:
                    number = [text_of(item) for item in raw["evidence_refs"]].index(ref)
                    message = f"evidence_refs names {shown(ref)}, which is no evidence of this claim"
                    self._problem(f"verification.{message}", *at, "evidence_refs", number)
        versions: tuple[EvidenceVersion, ...] = ()
        if "evidence_versions" in raw:
            versions = self._versions(raw["evidence_versions"])
        return Verification(method, by, moment, refs, versions)

    def _versions(self, raw: Any) -> tuple[EvidenceVersion, ...]:
        place = ("verification", "evidence_versions")
        if type(raw) is not list:
            self._problem(f"{dotted(place)} must be a list of mappings, not {kind_of(raw)}", *place)
            return ()
        versions = []
        for number, item in enumerate(raw):
            at = (*place, number)
            if type(item) is not dict:
                self._problem(f"{dotted(at)} must be a mapping, not {kind_of(item)}", *at)
                continue
            if not item.keys() <= _VERSION_FIELDS:
                self._unknown(item, _VERSION_FIELDS, at)
            get = item.get
            ref = self._text(get("evidence_ref"), *at, "evidence_ref")
            source = self._text(get("source_ref"), *at, "source_ref")
            resource = self._text(get("resource"), *at, "resource")
            sha = self._text(get("sha256"), *at, "sha256")
            if sha and SHA256.match(sha) is None:
                self._problem(f"{dotted(at)}.sha256 must be 64 lower-case hexadecimal digits", *at, "sha256")
            by = self._text(get("by"), *at, "by")
            moment = self._time(get("at"), *at, "at")
            versions.append(EvidenceVersion(ref, source, resource, sha, by, moment))
        return tuple(versions)

    def _decisions(self, raw: Any) -> tuple[Decision, ...]:
        if type(raw) is not list:
            self._problem(f"decisions must be a list of mappings, not {kind_of(raw)}", "decisions")
            return ()
        decisions = []
        for number, item in enumerate(raw):
            at: Place = ("decisions", number)
            if type(item) is not dict:
                self._problem(f"{dotted(at)} must be a mapping, not {kind_of(item)}", *at)
                continue
            if not item.keys() <= _DECISION_FIELDS:
                self._unknown(item, _DECISION_FIELDS, at)
            action = self._choice(item.get("action"), ENDED, *at, "action")
            by = self._text(item.get("by"), *at, "by")
            if by and not is_approver(by):
                self._problem(f"{dotted(at)}.by {shown(by)} must be human:... or github:...", *at, "by")
            moment = self._time(item.get("at"), *at, "at")
            reason = self._text(item["reason"], *at, "reason") if "reason" in item else ""
            decisions.append(Decision(action, by, moment, reason))
        return tuple(decisions)

    def _relations(self, raw: Any) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        if type(raw) is not dict:
            self._problem(f"relations must be a mapping, not {kind_of(raw)}", "relations")
            return (), (), ()
        if not raw.keys() <= _RELATION_FIELDS:
            self._unknown(raw, _RELATION_FIELDS, ("relations",))
        supersedes, contradicts, derived_from = [
            self._terms_list(raw[kind], "relations", kind) if kind in raw else ()
            for kind in ("supersedes", "contradicts", "derived_from")
        ]
        return supersedes, contradicts, derived_from

    def _section_ref(self, raw: Any) -> str:
        text = self._text(raw, "section_ref")
        if text and SECTION_REF.match(text) is None:
            self._problem(
                f"section_ref {shown(text)} must be # and an id of letters, digits and _ . : -", "section_ref"
            )
        return text

    # Values

    def _term(self, raw: dict[str, Any], key: str, place: Place = ()) -> str:
        """Return the canonical term at ``key``, ``""`` with a finding when there is none."""
        value = raw.get(key)
        if type(value) is str:
            text = value.strip(WHITESPACE)
            term = self._canonical[text]
            if term:
                return term
            if text:
                self._problem(f"{dotted((*place, key))} {shown(text)} {TERM_RULE}", *place, key)
                return ""
        self._not_text(value, (*place, key))
        return ""

    def _terms_list(self, raw: Any, *at: str | int) -> tuple[str, ...]:
        if type(raw) is not list:
            self._problem(f"{dotted(at)} must be a list of terms, not {kind_of(raw)}", *at)
            return ()
        found: set[str] = set()
        for number, item in enumerate(raw):
            term = self._canonical[item] if type(item) is str else ""
            if not term:
                text = self._text(item, *at, number)
                term = self._canonical[text]
                if text and not term:
                    self._problem(f"{dotted((*at, number))} {shown(text)} {TERM_RULE}", *at, number)
            if term:
                found.add(term)
        return tuple(sorted(found)) if len(found) > 1 else tuple(found)

    def _text_list(self, raw: Any, *at: str | int) -> tuple[str, ...]:
        if type(raw) is not list:
            self._problem(f"{dotted(at)} must be a list of strings, not {kind_of(raw)}", *at)
            return ()
        found = {self._text(item, *at, number) for number, item in enumerate(raw)}
        found.discard("")
        return tuple(sorted(found))

    def _text(self, value: Any, *at: str | int) -> str:
        if type(value) is str:
            text: str = value.strip(WHITESPACE)
            if text:
                return text
        self._not_text(value, at)
        return ""

    def _verbatim(self, value: Any, *at: str | int) -> str:
        """A text whose white space is part of it, such as a quotation; blank is refused all the same."""
        if type(value) is str and value:
            return value
        self._not_text(value, at)
        return ""

    def _not_text(self, value: Any, at: Place) -> None:
        name = dotted(at)
        if value is None and len(at) > 0 and isinstance(at[-1], str):
            self._problem(f"needs {name}, a non-empty string", *at)
        elif type(value) is str:
            self._problem(f"{name} must not be blank", *at)
        else:
            self._problem(f"{name} must be a string, not {kind_of(value)}", *at)

    def _choice(self, value: Any, choices: Iterable[str], *at: str | int) -> str:
        text = self._text(value, *at)
        if text and text not in choices:
            self._problem(f"{dotted(at)} {shown(text)} is not one of {', '.join(choices)}", *at)
            return ""
        return text

    def _whole(self, value: Any, *at: str | int) -> int | None:
        if type(value) is not int or value < 0:
            self._problem(f"{dotted(at)} must be a non-negative integer", *at)
            return None
        return value

    def _time(self, value: Any, *at: str | int) -> str:
        if type(value) is str:
            known = self._times.get(value)
            if known is not None:
                return value
        text = self._text(value, *at)
        if not text:
            return ""
        moment = self._times[text] = start_of(text) if _strict_time(text) else None
        if moment is None:
            self._problem(
                f"{dotted(at)} {shown(text)} must be YYYY-MM-DD or an RFC 3339 timestamp with offset", *at
            )
            return ""
        return text

    def _day(self, value: Any, *at: str | int) -> str:
        if type(value) is str and value in self._days:
            return value
        text = self._text(value, *at)
        if text and parse_date(text) is None:
            self._problem(f"{dotted(at)} {shown(text)} must be a date YYYY-MM-DD", *at)
            return ""
        if text:
            self._days[text] = True
        return text

    # Findings

    def _unknown(self, raw: dict[str, Any], allowed: frozenset[str], at: Place = ()) -> None:
        for key in raw:
            if key not in allowed:
                where = f"{dotted(at)} " if at else ""
                self._problem(f"{where}contains unknown field {shown(key)}", *at, key)

    def _problem(self, message: str, *at: str | int) -> None:
        index = self._index
        if index == _NO_CLAIM:
            self.findings.append(Finding(self._document, message, at))
            return
        raw_id = self._raw_id
        text = raw_id.strip(WHITESPACE) if type(raw_id) is str else ""
        claim_id = (self._canonical[text] or text) if text else ""
        name = f"claim {shown(claim_id)}" if claim_id else f"claims[{index}]"
        self.findings.append(
            Finding(self._document, f"{name} {message}", ("claims", index, *at), index, claim_id)
        )


def is_approver(actor: str) -> bool:
    """Whether ``actor`` may decide: ``human:`` or ``github:`` with a name."""
    return any(actor.startswith(kind) and len(actor) > len(kind) for kind in ("human:", "github:"))


def uses_profile(document: Document) -> bool:
    """Whether the page has claims or references to claims."""
    return not CLAIM_KEYS.isdisjoint(document.fields)


def _strict_time(text: str) -> bool:
    # RFC 3339 in the spelling that RDF and rules need: T and Z in upper case
    if parse_date(text) is not None:
        return True
    return len(text) > 10 and text[10] == "T" and text[-1] != "z" and parse_instant(text) is not None


def _first(item: tuple[str, ObjectValue]) -> str:
    return item[0]


def _id_of(value: Any) -> str:
    text = value.get("id") if type(value) is dict else None
    return text.strip(WHITESPACE) if type(text) is str else ""
