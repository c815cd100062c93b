"""Applies claim proposals: what was proposed, exactly and nothing else, to the bytes it was made for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openknowledge.engine.bundle.document import Document, parse_document
from openknowledge.engine.claims.findings import shown
from openknowledge.engine.claims.model import PROFILE_MARK
from openknowledge.engine.claims.profile import MARK
from openknowledge.engine.clock import Clock, system_clock
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.disk import Disk
from openknowledge.engine.operations.mutations import mutation
from openknowledge.engine.operations.patch import edit_frontmatter, same_value
from openknowledge.engine.operations.proposals import PATCHABLE, check_claim_proposal, claim_fields
from openknowledge.engine.operations.propose import known_ids
from openknowledge.engine.operations.workspace import Workspace, changing, check_digest, page_of

if TYPE_CHECKING:
    from openknowledge.schemas.operations import ClaimProposal, Mutation


def apply_proposal(
    root: str | Path,
    proposal: Mapping[str, Any],
    *,
    spec: str = "latest",
    clock: Clock = system_clock,
    dry_run: bool = False,
    disk: Disk | None = None,
) -> Mutation:
    """Apply a claim proposal to the bundle at ``root`` and return what was done.

    With ``dry_run`` everything is checked and nothing written. Raises ``OpenKnowledgeError`` when the
    proposal is malformed or stale, its id exists, its patch does more than it says, or the bundle would have
    an issue that it does not have now; then every file is as it was.
    """
    checked = check_claim_proposal(proposal)
    with changing(
        root, command="okn claims apply", spec=spec, clock=clock, disk=disk, dry_run=dry_run
    ) as workspace:
        stage_proposal(workspace, checked)
        changed = workspace.save(dry_run=dry_run)
        return mutation(
            workspace,
            "apply",
            document=checked["document"],
            changed=changed,
            dry_run=dry_run,
            claim_id=_canonical(workspace, checked["claim"]["id"]),
        )


def stage_proposal(workspace: Workspace, proposal: ClaimProposal) -> None:
    """Edit the page of ``proposal`` in ``workspace``. Raises as ``apply_proposal``."""
    document = page_of(workspace.before.bundle, proposal["document"])
    exists = _canonical(workspace, proposal["claim"]["id"]) in known_ids(workspace.claims.pages)
    taken = f"claim occurrence id already exists: {shown(proposal['claim']['id'])}"
    try:
        check_digest(document, proposal["documentSha256"], "the proposal")
    except OpenKnowledgeError as error:
        why = f" ({taken}: it may have been applied before)" if exists else ""
        raise OpenKnowledgeError(error.message + why, path=document.path) from None
    if exists:
        raise OpenKnowledgeError(taken, path=document.path)
    patched_page(document, proposal)
    workspace.edit(document.path, proposal["patch"], allowed=PATCHABLE)


def _canonical(workspace: Workspace, term: str) -> str:
    return workspace.claims.ontology.terms.canonical[term.strip()] or term.strip()


def patched_page(document: Document, proposal: ClaimProposal) -> bytes:
    """Return ``document`` with the patch of ``proposal``.

    Raises ``OpenKnowledgeError`` when the patch does not apply, or does anything but what the proposal says:
    whoever reviews the claim must not be deceived by the patch.
    """
    data = edit_frontmatter(document.data, proposal["patch"], allowed=PATCHABLE)
    before, after = document.fields, parse_document(document.path, data).fields
    _check_only_addition(before, after, claim_fields(proposal["claim"]))
    return data


def _check_only_addition(before: dict[str, Any], after: dict[str, Any], claim: dict[str, Any]) -> None:
    for key in (*before, *(key for key in after if key not in before)):
        old, new = before.get(key), after.get(key)
        if key in before and key in after and same_value(old, new):
            continue
        if key == "claims":
            _check_claims(old, new, claim)
        elif key == MARK:
            if new != PROFILE_MARK:
                raise _beyond(f'sets {MARK} to something other than "{PROFILE_MARK}"')
        elif key == "sources":
            _check_sources(old, new)
        elif key == "claim_refs":
            _check_added(old, new, "claim_refs")
        else:
            raise _beyond(f"changes {key}, which only a reviewer's operation may do")
    if same_value(before.get("claims"), after.get("claims")):
        raise OpenKnowledgeError("the patch of the proposal does not add the proposed claim")


def _check_claims(old: Any, new: Any, claim: dict[str, Any]) -> None:
    added = _check_added(old, new, "claims")
    if len(added) != 1 or not same_value(added[0], claim):
        raise _beyond("adds something other than exactly the proposed claim")


def _check_sources(old: Any, new: Any) -> None:
    for source in _check_added(old, new, "sources"):
        if isinstance(source, dict) and "authority_approved_by" in source:
            raise _beyond("adds a source that is approved as authoritative")


def _check_added(old: Any, new: Any, key: str) -> list[Any]:
    """Return the items of the list ``new`` that are not in ``old``, all of which must still be there."""
    if not isinstance(new, list) or not isinstance(old, (list, type(None))):
        raise _beyond(f"takes {key} away")
    left = list(old or ())
    added = []
    for item in new:
        if left and same_value(left[0], item):
            left.pop(0)
        else:
            added.append(item)
    if left:
        raise _beyond(f"changes or removes what {key} holds already")
    return added


def _beyond(what: str) -> OpenKnowledgeError:
    return OpenKnowledgeError(f"the patch of the proposal {what}; make a new proposal")
