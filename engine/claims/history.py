"""What may not happen to claims between two states of a bundle: what was relied on may not vanish."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.claims.claimset import ClaimSet
from openknowledge.engine.claims.factset import FactSet, quarantined_json
from openknowledge.engine.claims.findings import Place, shown
from openknowledge.engine.claims.machine import issue_json
from openknowledge.engine.claims.model import Claim, Verification
from openknowledge.engine.claims.profile import is_approver
from openknowledge.engine.claims.results import atom

if TYPE_CHECKING:
    from openknowledge.schemas.claims import AuthorityChange, ClaimValidation, OutdatedClaim
    from openknowledge.schemas.common import Quarantined as QuarantinedJson

RULE = "claim-history"
SECTION_CHANGED = "section-changed-after-verification"
TRANSITIONS: dict[str, tuple[str, ...]] = {
    "supported": ("supported", "verified", "disputed", "rejected", "superseded", "archived"),
    "verified": ("verified", "disputed", "superseded", "archived"),
    "disputed": ("disputed", "verified", "rejected", "superseded", "archived"),
}
"""The statuses whose claims are protected, and what each may become."""


def validate_claims(claims: ClaimSet, *, base: ClaimSet | None = None, against: str = "") -> ClaimValidation:
    """Return everything wrong with the claims of a bundle; with ``base``, also with how they changed since.

    ``against`` is what the user called the base.
    """
    history = sorted(history_issues(base, claims), key=lambda issue: issue.sort_key) if base else []
    quarantined: list[QuarantinedJson] = quarantined_json(claims.quarantined)
    result: ClaimValidation = {
        "schemaVersion": "1",
        "root": str(claims.bundle.root),
        "against": against,
        "valid": claims.valid and not claims.issues and not history,
        "issues": [issue_json(issue) for issue in claims.issues],
        "lifecycleIssues": [issue_json(issue) for issue in history],
        "authorityChanges": authority_changes(base, claims) if base else [],
        "outdatedVerifications": changed_sections(base, claims) if base else [],
        "quarantined": quarantined,
        "dangling": [
            {"source": entry.source, "kind": entry.kind, "target": entry.target} for entry in claims.dangling
        ],
    }
    if base is None:
        del result["against"]
    return result


def history_issues(base: ClaimSet, current: ClaimSet) -> Iterator[Issue]:
    """Yield what was done between ``base`` and ``current`` that may not be done to claims."""
    written = {claim.id: claim for page in current.pages for claim in page.claims}
    unreadable = {name for page in current.pages for name, _ in page.broken}
    for claim in base.claims:
        if claim.status not in TRANSITIONS:
            continue
        now = written.get(claim.id)
        if now is not None:
            yield from _changes(claim, now)
        elif claim.id not in unreadable:
            message = (
                f"claim {shown(claim.id)} was {claim.status} and may not disappear; end it by a decision"
            )
            yield Issue(claim.path, RULE, "error", message)
    for change in _new_authorities(base, current):
        if not change.get("approvedBy"):
            document = current.bundle.by_path[change["path"]]
            source = current.sources_of(document)[change["sourceId"]]
            line, column = document.frontmatter.position("sources", source.index, "role")
            message = (
                f"source {shown(source.id)} became authoritative or lost its approval; that needs "
                "authority_approved_by human:... or github:..."
            )
            yield Issue(document.path, RULE, "error", message, line, column)
    yield from _removed_references(base, current)


def _changes(before: Claim, now: Claim) -> Iterator[Issue]:
    name = f"claim {shown(before.id)}"
    if now.status not in TRANSITIONS[before.status]:
        allowed = ", ".join(TRANSITIONS[before.status])
        yield _issue(
            now, f"{name} may not go from {before.status} to {now.status}; allowed: {allowed}", "status"
        )
    for field_name in ("slot", "subject", "predicate", "object", "scope"):
        if getattr(before, field_name) != getattr(now, field_name):
            yield _issue(now, f"{name} was {before.status}: its {field_name} may not change", field_name)
    closed = not before.valid_until and bool(now.valid_until)
    if before.valid_from != now.valid_from or (before.valid_until != now.valid_until and not closed):
        message = (
            f"{name} was {before.status}: its valid_time may not change, except that an open end is closed"
        )
        yield _issue(now, message, "valid_time")
    if before.evidence != now.evidence:
        yield _issue(now, f"{name} was {before.status}: its evidence may not change", "evidence")
    renewed = before.status == "disputed" and now.status == "verified"
    if before.verification is not None and not renewed:
        problem = _verification_problem(before.verification, now.verification)
        if problem:
            yield _issue(now, f"{name} {problem}", "verification")


def _verification_problem(before: Verification, now: Verification | None) -> str:
    if now is None:
        return "has lost its verification"
    recorded = before.evidence_versions
    if now.evidence_versions[: len(recorded)] != recorded:
        return "has lost or changed recorded evidence_versions; new ones are added behind them"
    if (before.method, before.by, before.at) != (now.method, now.by, now.at):
        return "has a verification that was changed after it was recorded"
    if not set(before.evidence_refs) <= set(now.evidence_refs):
        return "has lost evidence_refs of its verification"
    return ""


def _issue(claim: Claim, message: str, *at: str) -> Issue:
    place: Place = ("claims", claim.index, *at)
    line, column = claim.document.frontmatter.position(*place)
    return Issue(claim.path, RULE, "error", message, line, column)


def _removed_references(base: ClaimSet, current: ClaimSet) -> Iterator[Issue]:
    before = {page.document.path: page.claim_refs for page in base.pages}
    now = {page.document.path: page.claim_refs for page in current.pages}
    for path, references in before.items():
        document = current.bundle.by_path.get(path)
        if document is None or document.metadata.trust_tier == "human-reviewed":
            continue
        for name in references:
            if name not in now.get(path, ()):
                line, column = document.frontmatter.position("claim_refs")
                message = (
                    f"claim_refs no longer names {shown(name)}; that needs a human verification of the page"
                )
                yield Issue(path, RULE, "error", message, line, column)


def authority_changes(base: ClaimSet, current: ClaimSet) -> list[AuthorityChange]:
    """Return the sources that are authoritative and were not in ``base``, or were approved there only."""
    return list(_new_authorities(base, current))


def reviewed_sections(base: ClaimSet, current: ClaimSet) -> dict[str, str]:
    """Return the digest that the section of each verified claim had in ``base``, by claim.

    Only for claims that had the same verification there, so that the digest is one of a reviewed text.
    """
    then, now = FactSet.everything(base), current.by_id
    found = {}
    for claim in base.claims:
        later = now.get(claim.id)
        if claim.status == "verified" and later is not None and later.verification == claim.verification:
            found[claim.id] = then.place(claim).content_sha256
    return found


def changed_sections(base: ClaimSet, current: ClaimSet) -> list[OutdatedClaim]:
    """Return the verified claims whose section has changed since ``base`` without a new verification."""
    facts = FactSet.everything(current)
    found: list[OutdatedClaim] = []
    for name, before in sorted(reviewed_sections(base, current).items()):
        claim = current.by_id[name]
        now = facts.place(claim).content_sha256
        if before != now and claim.verification is not None:
            found.append(
                {
                    "claimId": name,
                    "path": claim.path,
                    "trustTier": claim.trust_tier,
                    "reason": SECTION_CHANGED,
                    "verifiedAt": claim.verification.at,
                    "changedAt": "",
                    "atom": atom("claim_section_changed", name, before, now),
                }
            )
    return found


def _new_authorities(base: ClaimSet, current: ClaimSet) -> Iterator[AuthorityChange]:
    for document in current.bundle.documents:
        if "sources" not in document.fields:
            continue
        before = base.bundle.by_path.get(document.path)
        known = base.sources_of(before) if before is not None else {}
        for name, source in sorted(current.sources_of(document).items()):
            earlier = known.get(name)
            approved = is_approver(source.authority_approved_by)
            lost = earlier is not None and is_approver(earlier.authority_approved_by) and not approved
            was = earlier is not None and earlier.role == "authoritative"
            if source.role != "authoritative" or (was and not lost):
                continue
            change: AuthorityChange = {
                "path": document.path,
                "sourceId": name,
                "resource": source.resource,
            }
            if approved:
                change["approvedBy"] = source.authority_approved_by
            yield change
