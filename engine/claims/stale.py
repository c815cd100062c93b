"""Which claims are stale and why, which will be, and whose verification is older than its text."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from openknowledge.engine.bundle.instants import format_instant, parse_date
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.freshness import Staleness, today
from openknowledge.engine.claims.machine import occurrence_json
from openknowledge.engine.claims.model import Claim
from openknowledge.engine.claims.relations import is_verification_outdated, text_generated, verified_until
from openknowledge.engine.claims.results import atom, envelope

if TYPE_CHECKING:
    from openknowledge.schemas.claims import OutdatedClaim, StaleReason, StaleResult

WRITTEN_LATER = "text-written-after-verification"


def stale_claims(facts: FactSet, *, within: int | None = None) -> StaleResult:
    """Return every stale claim with its reasons; with ``within``, also those stale in so many days.

    Each finding carries the ground fact (``atom``) whose proof the rules give. ``will_be_stale`` needs the
    relation ``horizon`` with the day that ``horizon`` returns.
    """
    results: list[dict[str, Any]] = []
    upcoming: list[dict[str, Any]] = []
    last = horizon(facts, within) if within is not None else None
    for claim in facts.claims:
        reasons = facts.stale(claim)
        if reasons:
            shown = {"reasons": [reason_json(claim, reason, facts) for reason in reasons]}
            results.append({**occurrence_json(claim, facts), **shown})
        elif (
            last is not None and claim.stale_after and (day := parse_date(claim.stale_after)) and day <= last
        ):
            fact = atom("will_be_stale", claim.id, claim.stale_after)
            upcoming.append({**occurrence_json(claim, facts), "staleFrom": claim.stale_after, "atom": fact})
    upcoming.sort(key=lambda item: (item["staleFrom"], item["claim"]["id"]))
    items: dict[str, Any] = {"evaluatedAt": format_instant(facts.now)}
    if within is not None:
        items["within"] = within
    items.update(results=results, upcoming=upcoming, outdatedVerifications=outdated_verifications(facts))
    found: StaleResult = envelope(facts, items)
    return found


def horizon(facts: FactSet, within: int) -> date:
    """Return the day ``within`` days from the day of the facts; the last day there is for very many."""
    try:
        return today(facts.now) + timedelta(days=within)
    except OverflowError:
        return date.max


def reason_json(claim: Claim, reason: Staleness, facts: FactSet) -> StaleReason:
    """Return one reason, with the fact that proves it."""
    if reason.reason == "date":
        return {
            "reason": "date",
            "since": reason.since,
            "atom": atom("stale_by_date", claim.id, claim.stale_after),
        }
    found: StaleReason = {
        "reason": reason.reason,
        "evidence": reason.evidence,
        "since": reason.since,
        "atom": atom("stale_by_evidence", claim.id, reason.evidence, reason.reason),
    }
    for state in facts.states(claim):
        if state.version.evidence_ref == reason.evidence:
            found["recordedSha256"] = state.version.sha256
            if state.sha256:
                found["currentSha256"] = state.sha256
            found["resource"] = state.resource or state.version.resource
    return found


def outdated_verification(claim: Claim) -> OutdatedClaim | None:
    """Return why a claim's verification is older than the text of its page, ``None`` when it is not."""
    if not is_verification_outdated(claim):
        return None
    verified, written = verified_until(claim), text_generated(claim.document)
    return {
        "claimId": claim.id,
        "path": claim.path,
        "trustTier": claim.trust_tier,
        "reason": WRITTEN_LATER,
        "verifiedAt": claim.verification.at if claim.verification is not None else "",
        "changedAt": written,
        "atom": atom("claim_verification_outdated", claim.id, verified, written),
    }


def outdated_verifications(facts: FactSet) -> list[OutdatedClaim]:
    """Return every verified claim whose page was written again after the verification."""
    found = (outdated_verification(claim) for claim in facts.claims if claim.status == "verified")
    return [entry for entry in found if entry is not None]
