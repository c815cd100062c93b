"""What may happen to a claim after it was written: linked, disputed, verified, ended, reconciled.

Every operation takes the root of a bundle, names who did it, and returns a mutation report. It raises
``OpenKnowledgeError`` when it may not be done; then nothing is changed. With ``dry_run`` nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.okf import Source
from openknowledge.engine.claims.claimset import ClaimSet
from openknowledge.engine.claims.evidence import EvidenceStore, is_remote, local_path
from openknowledge.engine.claims.findings import shown
from openknowledge.engine.claims.freshness import is_active
from openknowledge.engine.claims.model import ENDED, PROFILE_MARK, Claim
from openknowledge.engine.claims.profile import MARK
from openknowledge.engine.clock import Clock
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.actors import PEOPLE, REVIEWERS, checked_actor
from openknowledge.engine.operations.disk import Disk
from openknowledge.engine.operations.mutations import mutation
from openknowledge.engine.operations.proposals import PATCHABLE, check_reason
from openknowledge.engine.operations.propose import normalised_path
from openknowledge.engine.operations.workspace import Workspace, changing

if TYPE_CHECKING:
    from openknowledge.schemas.operations import Mutation
    from typing_extensions import Unpack

METHOD = "claim-review"
RELIED_ON = ("supported", "verified", "disputed")
"""The statuses of claims that somebody relied on: these are not turned down without a word."""

Patch = list[dict[str, Any]]


class Options(TypedDict, total=False):
    """What every operation takes beside its own arguments."""

    spec: str
    clock: Clock
    dry_run: bool
    disk: Disk | None


def link_claim(root: str | Path, claim: str, document: str, **options: Unpack[Options]) -> Mutation:
    """Note in the ``claim_refs`` of the page ``document`` that it depends on ``claim``."""

    def edit(workspace: Workspace) -> tuple[str, str, Patch]:
        found = workspace.claims.claim(claim)
        page = workspace.page(normalised_path(document))
        return page.path, found.id, _link_patch(workspace.claims, page, found.id)

    return _run("link", root, edit, options)


def dispute_claim(root: str | Path, claim: str, **options: Unpack[Options]) -> Mutation:
    """Mark ``claim`` as disputed. What verified it stays recorded."""

    def edit(workspace: Workspace) -> tuple[str, str, Patch]:
        found = occurrence(workspace.claims, claim)
        _refuse_ended(found, "be disputed")
        patch = [] if found.status == "disputed" else [_set_field(found, "status", "disputed")]
        return found.path, found.id, patch

    return _run("dispute", root, edit, options)


def verify_claim(root: str | Path, claim: str, *, approved_by: str, **options: Unpack[Options]) -> Mutation:
    """Record that ``approved_by`` reviewed ``claim`` against its evidence, and mark it as verified.

    The digests of local live resources are recorded: when one changes, the claim becomes stale.
    """
    by = checked_actor(approved_by, REVIEWERS, "verify claims")

    def edit(workspace: Workspace) -> tuple[str, str, Patch]:
        found = workspace.claims.claim(claim)
        _refuse_ended(found, "be verified")
        if found.status == "verified":
            known = found.verification
            by_whom = f" by {known.by} at {known.at}" if known is not None else ""
            raise OpenKnowledgeError(
                f"claim {shown(found.id)} was verified{by_whom} already; "
                "reconcile it to record its evidence as it is now",
                path=found.path,
            )
        at = instant(workspace.now)
        versions = evidence_versions(workspace, found, by, at)
        patch = _verification_patch(found, by, at, versions)
        return found.path, found.id, [*patch, _set_field(found, "status", "verified")]

    return _run("verify", root, edit, options)


def archive_claim(
    root: str | Path, claim: str, *, approved_by: str, reason: str = "", **options: Any
) -> Mutation:
    """End ``claim`` because it is no longer of use. What verified it stays recorded."""
    return _end(root, claim, "archived", approved_by, reason, **options)


def reject_claim(
    root: str | Path, claim: str, *, approved_by: str, reason: str = "", **options: Any
) -> Mutation:
    """End ``claim`` because it is not so. One that was relied on needs a reason; a verified one a dispute."""
    return _end(root, claim, "rejected", approved_by, reason, **options)


def supersede_claim(
    root: str | Path, claim: str, *, approved_by: str, successor: str = "", reason: str = "", **options: Any
) -> Mutation:
    """End ``claim`` because another one takes its place.

    The ``successor`` (any, when not named) must list it under ``relations.supersedes`` already.
    """
    return _end(root, claim, "superseded", approved_by, reason, successor, **options)


def reconcile_claim(
    root: str | Path, claim: str, *, approved_by: str, **options: Unpack[Options]
) -> Mutation:
    """Record that the verified ``claim`` still holds with its evidence as it is now.

    New versions of changed evidence are added behind the recorded ones. The page's ``verified`` is set when
    every active claim of the page is verified and fresh, and else removed.
    """
    by = checked_actor(approved_by, REVIEWERS, "reconcile claims")

    def edit(workspace: Workspace) -> tuple[str, str, Patch]:
        found = workspace.claims.claim(claim)
        if found.status != "verified":
            raise OpenKnowledgeError(
                f"claim {shown(found.id)} is {found.status}; only a verified claim can be reconciled",
                path=found.path,
            )
        at = instant(workspace.now)
        versions = evidence_versions(workspace, found, by, at)
        patch = _append_versions(found, _renewed(found, versions))
        if patch:
            workspace.edit(found.path, patch, allowed=PATCHABLE)
        page = workspace.page(found.path)
        trusted = _all_verified(workspace.after.claims, found.path)
        workspace.forget_after()
        return found.path, found.id, _page_patch(page, by, at, trusted=trusted)

    # an actor on GitHub is none that OKF knows for a page; that is said as a warning and does not forbid it
    return _run("reconcile", root, edit, options, tolerated=("okf-0.2-metadata",))


def approve_authority(
    root: str | Path, document: str, source: str, *, approved_by: str, **options: Any
) -> Mutation:
    """Record that ``approved_by`` accepts the authoritative ``source`` of the page ``document``."""
    by = checked_actor(approved_by, PEOPLE, "approve an authority")
    dry_run = options.get("dry_run", False)
    with changing(root, command="okn claims approve-authority", **options) as workspace:
        page = workspace.page(normalised_path(document))
        found = source_of(page, source)
        if found.role != "authoritative":
            role = f"role {found.role}" if found.role else "no role"
            raise OpenKnowledgeError(
                f"{page.path}: source {shown(found.id)} has {role}; "
                "only an authoritative source can be approved as one",
                path=page.path,
            )
        known = found.authority_approved_by
        if known and known != by:
            raise OpenKnowledgeError(
                f"{page.path}: source {shown(found.id)} was approved by {known} already", path=page.path
            )
        if not known:
            path = f"/sources/{found.index}/authority_approved_by"
            workspace.edit(page.path, [{"op": "add", "path": path, "value": by}], allowed=PATCHABLE)
        changed = workspace.save(dry_run=dry_run)
        return mutation(
            workspace,
            "approve-authority",
            document=page.path,
            changed=changed,
            dry_run=dry_run,
            source_id=found.id,
        )


# How every operation runs

Edit = Callable[[Workspace], tuple[str, str, Patch]]


def _run(
    action: str, root: str | Path, edit: Edit, options: Options, tolerated: Collection[str] = ()
) -> Mutation:
    """Open the bundle, make the edit that ``edit`` returns (page, claim id, patch), and write it."""
    dry_run = options.get("dry_run", False)
    with changing(root, command=f"okn claims {action}", **options) as workspace:
        path, claim_id, patch = edit(workspace)
        if patch:
            workspace.edit(path, patch, allowed=PATCHABLE)
        changed = workspace.save(dry_run=dry_run, tolerated=tolerated)
        return mutation(workspace, action, document=path, changed=changed, dry_run=dry_run, claim_id=claim_id)


def instant(moment: datetime) -> str:
    """Return ``moment`` as records hold it: RFC 3339 in UTC, to the second."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def occurrence(claims: ClaimSet, identifier: str) -> Claim:
    """Return the one claim of that id, also one that is set aside because its terms or evidence are bad.

    Raises ``OpenKnowledgeError`` when there is none, it cannot be read, or several declare it.
    """
    term = claims.ontology.terms.canonical[identifier.strip()]
    found = [claim for page in claims.pages for claim in page.claims if term and claim.id == term]
    copies = len(found) + sum(name == term for page in claims.pages for name, _ in page.broken)
    if copies > 1:
        raise OpenKnowledgeError(f"claim {shown(term)} is declared {copies} times; remove all but one first")
    return found[0] if found else claims.claim(identifier)


def source_of(page: Document, name: str) -> Source:
    """Return the source ``name`` of ``page``, the last of equal ids. Raises ``OpenKnowledgeError``."""
    found = [source for source in page.metadata.sources if source.id and source.id == name.strip()]
    if not found:
        known = ", ".join(sorted({source.id for source in page.metadata.sources if source.id})) or "none"
        raise OpenKnowledgeError(
            f"{page.path} has no source {shown(name)}; its sources: {known}", path=page.path
        )
    return found[-1]


def _refuse_ended(claim: Claim, what: str) -> None:
    if claim.status in ENDED:
        decision = next((entry for entry in reversed(claim.decisions) if entry.action == claim.status), None)
        who = f" by {decision.by} at {decision.at}" if decision is not None else ""
        raise OpenKnowledgeError(
            f"claim {shown(claim.id)} was {claim.status}{who}; it can no longer {what}", path=claim.path
        )


# Patches


def _raw(claim: Claim) -> dict[str, Any]:
    raw: dict[str, Any] = claim.document.fields["claims"][claim.index]
    return raw


def _at(claim: Claim, *path: str) -> str:
    return "/".join(("", "claims", str(claim.index), *path))


def _set_field(claim: Claim, name: str, value: Any) -> dict[str, Any]:
    return {"op": "replace" if name in _raw(claim) else "add", "path": _at(claim, name), "value": value}


def _link_patch(claims: ClaimSet, page: Document, claim_id: str) -> Patch:
    held = page.fields.get("claim_refs")
    if held is not None and not isinstance(held, list):
        raise OpenKnowledgeError(f"{page.path}: claim_refs must be a list", path=page.path)
    canonical = claims.ontology.terms.canonical
    known = [canonical[item.strip()] if isinstance(item, str) else "" for item in held or ()]
    if claim_id in known:
        return []
    patch: Patch = []
    if MARK not in page.fields:
        patch.append({"op": "add", "path": f"/{MARK}", "value": PROFILE_MARK})
    if not held:
        return [*patch, {"op": "add", "path": "/claim_refs", "value": [claim_id]}]
    place = next((str(number) for number, name in enumerate(known) if name > claim_id), "-")
    return [*patch, {"op": "add", "path": f"/claim_refs/{place}", "value": claim_id}]


def _end(
    root: str | Path,
    claim: str,
    status: str,
    approved_by: str,
    reason: str,
    successor: str = "",
    **options: Unpack[Options],
) -> Mutation:
    verb = {"archived": "archive", "rejected": "reject", "superseded": "supersede"}[status]
    by = checked_actor(approved_by, PEOPLE, f"{verb} claims")
    if reason:
        check_reason(reason, "the decision")

    def edit(workspace: Workspace) -> tuple[str, str, Patch]:
        found = occurrence(workspace.claims, claim)
        _refuse_ended(found, f"be {status}")
        if status == "rejected":
            _check_rejection(found, reason)
        if status == "superseded":
            _check_successor(workspace.claims, found, successor)
        decision = {"action": status, "by": by, "at": instant(workspace.now)}
        if reason:
            decision["reason"] = reason
        held = _raw(found).get("decisions")
        added = (
            {"op": "add", "path": _at(found, "decisions", "-"), "value": decision}
            if held
            else _set_field(found, "decisions", [decision])
        )
        return found.path, found.id, [_set_field(found, "status", status), added]

    return _run(verb, root, edit, options)


def _check_rejection(claim: Claim, reason: str) -> None:
    if claim.status == "verified":
        raise OpenKnowledgeError(
            f"claim {shown(claim.id)} is verified; dispute it before it is rejected", path=claim.path
        )
    if claim.status in RELIED_ON and not reason.strip():
        raise OpenKnowledgeError(
            f"claim {shown(claim.id)} is {claim.status}; rejecting what was relied on needs a reason",
            path=claim.path,
        )


def _check_successor(claims: ClaimSet, claim: Claim, successor: str) -> None:
    if successor:
        named = claims.claim(successor)
        if named.id == claim.id:
            raise OpenKnowledgeError(f"claim {shown(claim.id)} cannot succeed itself", path=claim.path)
        if claim.id not in named.supersedes:
            raise OpenKnowledgeError(
                f"claim {shown(named.id)} does not list {shown(claim.id)} under relations.supersedes; "
                "write that first",
                path=named.path,
            )
        candidates = [named]
    else:
        candidates = [other for other in claims.claims if claim.id in other.supersedes]
        if not candidates:
            raise OpenKnowledgeError(
                f"no claim lists {shown(claim.id)} under relations.supersedes; write a successor that does, "
                "or archive the claim",
                path=claim.path,
            )
    if all(other.status == "rejected" for other in candidates):
        raise OpenKnowledgeError(
            f"the successor {shown(candidates[0].id)} of {shown(claim.id)} was rejected", path=claim.path
        )


# Verification


def evidence_versions(workspace: Workspace, claim: Claim, by: str, at: str) -> list[dict[str, str]]:
    """Return what the local live resources of a claim's evidence are now, by evidence id.

    A remote resource has no version: it is never fetched. Raises ``OpenKnowledgeError`` when a live resource
    cannot be read, or a pinned source is no longer what was pinned.
    """
    store = EvidenceStore(workspace.root)
    sources = workspace.claims.sources_of(claim.document)
    versions = []
    for item in sorted(claim.evidence, key=lambda item: item.id):
        source = sources.get(item.source_ref)
        if source is None:  # a sound claim has a source for each evidence
            raise OpenKnowledgeError(f"evidence {shown(item.id)} has no source", path=claim.path)
        if source.observe == "pinned" and source.sha256 and not is_remote(source.resource):
            _live_sha256(store, claim, source, source.resource)
        resource = source.live_resource or source.resource
        if is_remote(resource):
            continue
        versions.append(
            {
                "evidence_ref": item.id,
                "source_ref": source.id,
                "resource": resource,
                "sha256": _live_sha256(store, claim, source, resource),
                "by": by,
                "at": at,
            }
        )
    return versions


def _live_sha256(store: EvidenceStore, claim: Claim, source: Source, resource: str) -> str:
    name = f"source {shown(source.id)} of {claim.path}"
    path = local_path(resource, claim.path, store.root)
    if path is None:
        raise OpenKnowledgeError(f"{name}: {shown(resource)} is no file of this bundle", path=claim.path)
    artifact = store.artifact(path)
    if artifact.state != "read":
        raise OpenKnowledgeError(f"{name}: {shown(path)} {artifact.problem}", path=claim.path)
    if source.observe == "pinned" and source.sha256 and artifact.sha256 != source.sha256:
        raise OpenKnowledgeError(
            f"{name} is pinned to sha256 {source.sha256}, but {shown(path)} has {artifact.sha256}: the claim "
            "would be verified against bytes that nobody quotes; pin the source again first "
            "(okn evidence pin)",
            path=claim.path,
        )
    return artifact.sha256


def _verification_patch(claim: Claim, by: str, at: str, versions: Sequence[dict[str, str]]) -> Patch:
    refs = sorted(item.id for item in claim.evidence)
    if claim.verification is None:
        fresh: dict[str, Any] = {"method": METHOD, "by": by, "at": at}
        if refs:
            fresh["evidence_refs"] = refs
        if versions:
            fresh["evidence_versions"] = list(versions)
        return [_set_field(claim, "verification", fresh)]
    # a claim that was verified, disputed and is verified again: what was recorded of its evidence stays
    held = _raw(claim)["verification"]
    patch: Patch = []
    for name, value in (("method", METHOD), ("by", by), ("at", at)):
        if held.get(name) != value:
            patch.append({"op": "replace", "path": _at(claim, "verification", name), "value": value})
    if refs and list(claim.verification.evidence_refs) != refs:
        verb = "replace" if "evidence_refs" in held else "add"
        merged = sorted({*claim.verification.evidence_refs, *refs})
        patch.append({"op": verb, "path": _at(claim, "verification", "evidence_refs"), "value": merged})
    return [*patch, *_append_versions(claim, versions)]


def _renewed(claim: Claim, versions: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return those of ``versions`` that differ from what was recorded last."""
    recorded = claim.verification.evidence_versions if claim.verification is not None else ()
    last = {version.evidence_ref: version for version in recorded}
    found = []
    for version in versions:
        known = last.get(version["evidence_ref"])
        same = known is not None and (known.source_ref, known.resource, known.sha256) == (
            version["source_ref"],
            version["resource"],
            version["sha256"],
        )
        if not same:
            found.append(version)
    return found


def _append_versions(claim: Claim, versions: Sequence[dict[str, str]]) -> Patch:
    if not versions:
        return []
    held = _raw(claim)["verification"].get("evidence_versions")
    if not held:
        verb = "replace" if "evidence_versions" in _raw(claim)["verification"] else "add"
        path = _at(claim, "verification", "evidence_versions")
        return [{"op": verb, "path": path, "value": list(versions)}]
    path = _at(claim, "verification", "evidence_versions", "-")
    return [{"op": "add", "path": path, "value": version} for version in versions]


def _all_verified(claims: ClaimSet, path: str) -> bool:
    """Whether every active claim that the page declares is sound, verified and fresh."""
    page = next(page for page in claims.pages if page.document.path == path)
    if page.broken:
        return False
    active = [claim for claim in page.claims if is_active(claim, claims.now)]
    return all(
        claim.id in claims.by_id and claim.status == "verified" and claim.id not in claims.stale
        for claim in active
    )


def _page_patch(page: Document, by: str, at: str, *, trusted: bool) -> Patch:
    if trusted:
        verb = "replace" if "verified" in page.fields else "add"
        return [{"op": verb, "path": "/verified", "value": [{"by": by, "at": at}]}]
    return [{"op": "remove", "path": "/verified"}] if "verified" in page.fields else []
