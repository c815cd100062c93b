"""Proposals as data: read strictly from outside, written out, and turned into fields of a page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from openknowledge.engine import limits
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.strict_json import decode_object

if TYPE_CHECKING:
    from openknowledge.schemas.operations import ClaimInput, ClaimProposal, EntityProposal, ProposedClaim
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

CLAIM_PROPOSAL = "openknowledge.claim-proposal"
ENTITY_PROPOSAL = "openknowledge.entity-proposal"
PATCHABLE = frozenset({"claims", "claim_refs", "sources", "verified", "openknowledge_claim_profile"})
"""The keys of a page's frontmatter that the patch of a proposal may reach."""

Model = TypeVar("Model", bound="BaseModel")
_REASONS = 8


def encode_proposal(proposal: Mapping[str, Any]) -> str:
    """Return a proposal as its file holds it: JSON with two spaces of indent and a final line feed."""
    return json.dumps(proposal, ensure_ascii=False, indent=2) + "\n"


def decode_claim_proposal(data: bytes, what: str = "the proposal") -> ClaimProposal:
    """Return the claim proposal in ``data``.

    Raises ``OpenKnowledgeError`` for anything that is not exactly a claim proposal; ``what`` names it.
    """
    return check_claim_proposal(decode_object(data, what=what), what)


def check_claim_proposal(raw: Mapping[str, Any], what: str = "the proposal") -> ClaimProposal:
    """Return ``raw`` as a claim proposal. Raises as ``decode_claim_proposal``."""
    from openknowledge.schemas.operations import ClaimProposalInput

    _check_kind(raw, CLAIM_PROPOSAL, ("create",), what)
    found = validated(ClaimProposalInput, raw, what)
    check_reason(found.reason, what)
    if found.claim.status != "proposed":
        raise OpenKnowledgeError(f"{what}: claim.status must be proposed, not {found.claim.status}")
    proposal: ClaimProposal = {
        "type": found.type,
        "version": found.version,
        "action": found.action,
        "document": found.document,
        "documentSha256": found.document_sha256,
        "claim": claim_json_of(found.claim),
        "reason": found.reason,
        "confidence": found.confidence,
        "patch": raw["patch"],
    }
    return proposal


def decode_entity_proposal(data: bytes, what: str = "the proposal") -> EntityProposal:
    """Return the entity proposal in ``data``. Raises as ``decode_claim_proposal``."""
    return check_entity_proposal(decode_object(data, what=what), what)


def check_entity_proposal(raw: Mapping[str, Any], what: str = "the proposal") -> EntityProposal:
    """Return ``raw`` as an entity proposal. Raises as ``decode_claim_proposal``."""
    from openknowledge.schemas.operations import EntityProposalInput

    _check_kind(raw, ENTITY_PROPOSAL, ("add_alias", "merge"), what)
    found = validated(EntityProposalInput, raw, what)
    check_reason(found.reason, what)
    merge = (found.merge_from, found.merge_document, found.merge_document_sha256)
    if found.action == "add_alias" and (found.alias is None or any(part is not None for part in merge)):
        raise OpenKnowledgeError(f"{what}: add_alias needs alias and no merge fields")
    if found.action == "merge" and (found.alias is not None or any(part is None for part in merge)):
        raise OpenKnowledgeError(
            f"{what}: merge needs mergeFrom, mergeDocument and mergeDocumentSha256, and no alias"
        )
    proposal: EntityProposal = found.model_dump(by_alias=True, exclude_none=True)  # type: ignore[assignment]
    return proposal


def _check_kind(raw: Mapping[str, Any], kind: str, actions: tuple[str, ...], what: str) -> None:
    """Check what a proposal is before its fields, so that the message names the first thing that is wrong."""
    if raw.get("type") != kind:
        raise OpenKnowledgeError(f"{what}: type must be {kind}, not {_shown(raw.get('type'))}")
    version = raw.get("version")
    if version != 1 or isinstance(version, bool):
        raise OpenKnowledgeError(f"{what}: version must be 1, not {_shown(version)}")
    if raw.get("action") not in actions:
        wanted = " or ".join(actions)
        raise OpenKnowledgeError(f"{what}: action must be {wanted}, not {_shown(raw.get('action'))}")


def check_reason(reason: str, what: str) -> None:
    """Raise ``OpenKnowledgeError`` for a reason that is blank or longer than may be."""
    if not reason.strip():
        raise OpenKnowledgeError(f"{what}: reason must not be blank")
    size = len(reason.encode("utf-8", "surrogatepass"))
    if size > limits.PROPOSAL_TEXT_RUNES:
        raise OpenKnowledgeError(
            f"{what}: reason has {size} bytes; at most {limits.PROPOSAL_TEXT_RUNES} are allowed"
        )


# Claims


def check_claim_input(raw: Mapping[str, Any], what: str = "the claim") -> ProposedClaim:
    """Return a claim from outside as a proposal carries it: checked, in one order, ``proposed``.

    Raises ``OpenKnowledgeError`` for unknown or missing fields, wrong types, and for a verification, which
    only a reviewer gives.
    """
    from openknowledge.schemas.operations import ClaimInput

    for name in ("verification", "decisions"):
        if name in raw:
            raise OpenKnowledgeError(
                f"{what}: a proposed claim has no {name}; it is recorded when the claim is reviewed"
            )
    return claim_json_of(validated(ClaimInput, raw, what))


def claim_json_of(found: ClaimInput) -> ProposedClaim:
    """Return a checked claim in the order of its fields, with status ``proposed``, without what is empty."""
    raw = found.model_dump(by_alias=True, exclude_none=True)
    raw["status"] = "proposed"
    relations = {kind: sorted(set(targets)) for kind, targets in raw.get("relations", {}).items() if targets}
    raw["relations"] = relations
    order = (
        "id",
        "slot",
        "subject",
        "predicate",
        "object",
        "scope",
        "evidence",
        "owners",
        "status",
        "validTime",
        "staleAfter",
        "relations",
        "sectionRef",
    )
    claim: ProposedClaim = {key: raw[key] for key in order if raw.get(key)}  # type: ignore[assignment]
    return claim


_FIELDS = {
    "sourceRef": "source_ref",
    "observedAt": "observed_at",
    "quantityKind": "quantity_kind",
    "conformsTo": "conforms_to",
    "validTime": "valid_time",
    "staleAfter": "stale_after",
    "derivedFrom": "derived_from",
    "sectionRef": "section_ref",
}


def claim_fields(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claim of a proposal as the frontmatter of a page writes it."""
    found: dict[str, Any] = {}
    for key, value in claim.items():
        if key == "scope":
            # its keys are terms, which stay as they are
            found[key] = {dimension: claim_fields(item) for dimension, item in value.items()}
        elif isinstance(value, Mapping):
            found[_FIELDS.get(key, key)] = claim_fields(value)
        elif isinstance(value, list):
            items = [claim_fields(item) if isinstance(item, Mapping) else item for item in value]
            found[_FIELDS.get(key, key)] = items
        else:
            found[_FIELDS.get(key, key)] = value
    return found


# Validation


def validated(model: type[Model], raw: Mapping[str, Any], what: str) -> Model:
    """Return ``raw`` as a ``model``. Raises ``OpenKnowledgeError`` that names every field at fault."""
    from pydantic import ValidationError

    place = _null_in(raw)
    if place:
        raise OpenKnowledgeError(f"{what}: {place} must not be null; leave it out")
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False, include_context=False)
    lines = list(dict.fromkeys(_reason(item) for item in details))
    more = [f"and {len(lines) - _REASONS} more"] if len(lines) > _REASONS else []
    raise OpenKnowledgeError(f"{what}: " + "; ".join([*lines[:_REASONS], *more]))


def _null_in(raw: Mapping[str, Any]) -> str:
    """Return where there is a null in ``raw``; the values of a patch are not looked at."""
    waiting: list[tuple[str, Any]] = [(str(key), value) for key, value in raw.items() if key != "patch"]
    while waiting:
        place, value = waiting.pop()
        if value is None:
            return place[:200]
        if isinstance(value, Mapping):
            waiting += [(f"{place}.{key}", item) for key, item in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{place}[{number}]", item) for number, item in enumerate(value)]
    return ""


_SUBJECT = re.compile(r"^(?:Value error, |(?:Input|List|String|Dictionary) (?=should ))")
"""What pydantic begins a message with, in place of the field that is named here."""
_BRANCHES = frozenset({"str", "bool", "int", "float", "constrained-str"})
"""How pydantic names the members of a union in a location; no reader knows these."""


def _reason(item: ErrorDetails) -> str:
    place = ""
    for part in item["loc"]:
        if isinstance(part, int):
            place += f"[{part}]"
        elif part not in _BRANCHES:
            place += f".{part}" if place else str(part)
    message = _SUBJECT.sub("", item["msg"]).replace(" after validation", "")
    if item["type"] == "extra_forbidden":
        message = "is an unknown field"
        camel = _camel(str(item["loc"][-1]))
        if camel != item["loc"][-1]:
            message += f"; JSON writes {camel}"
    elif item["type"] == "missing":
        message = "is missing"
    return f"{place[:200]} {message}" if place else message


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest) if name.islower() else name


def _shown(value: Any) -> str:
    if value is None:
        return "missing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
