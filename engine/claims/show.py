"""Everything about one claim: what it says, where it stands, what it rests on and what became of its slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openknowledge.engine.bundle.instants import format_instant
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.freshness import valid_start
from openknowledge.engine.claims.machine import object_json, occurrence_json, valid_time_json
from openknowledge.engine.claims.results import envelope
from openknowledge.engine.claims.stale import outdated_verification, reason_json

if TYPE_CHECKING:
    from openknowledge.schemas.claims import OutdatedVerification, RelatedClaim, ShowResult, SlotEntry


def show_claim(facts: FactSet, identifier: str) -> ShowResult:
    """Return one claim with its evidence, the history of its slot, its verification and its relations.

    Raises ``OpenKnowledgeError`` when there is no such claim.
    """
    claim = facts.claim(identifier)
    same_slot = sorted(
        (other for other in facts.claims if other.slot == claim.slot),
        key=lambda other: (valid_start(other), other.id),
    )
    slot: list[SlotEntry] = [
        {
            "id": other.id,
            "path": other.path,
            "object": object_json(other.object),
            "status": other.status,
            "validTime": valid_time_json(other),
            "active": facts.active(other),
            "stale": bool(facts.stale(other)),
        }
        for other in same_slot
    ]
    known = facts.by_id
    relations: list[RelatedClaim] = [
        {"kind": kind, "id": target, "present": target in known} for kind, target in facts.related(claim)
    ]
    related_from: list[RelatedClaim] = [
        {"kind": kind, "id": other.id, "present": True}
        for other in facts.claims
        for kind, target in facts.related(other)
        if target == claim.id
    ]
    outdated: list[OutdatedVerification] = []
    if entry := outdated_verification(claim):
        outdated.append(
            {
                "reason": entry["reason"],
                "verifiedAt": entry["verifiedAt"],
                "changedAt": entry["changedAt"],
                "atom": entry["atom"],
            }
        )
    found: ShowResult = envelope(
        facts,
        {
            "evaluatedAt": format_instant(facts.now),
            "occurrence": occurrence_json(claim, facts),
            "active": facts.active(claim),
            "provenance": facts.place(claim).to_json(),
            "line": claim.line,
            "slot": slot,
            "relations": relations,
            "relatedFrom": related_from,
            "references": [
                reference.document.path for reference in facts.references if reference.claim_id == claim.id
            ],
            "staleReasons": [reason_json(claim, reason, facts) for reason in facts.stale(claim)],
            "verificationOutdated": outdated,
        },
    )
    return found
