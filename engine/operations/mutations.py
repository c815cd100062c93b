"""What operations report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openknowledge.engine.operations.workspace import Workspace, recovered_json

if TYPE_CHECKING:
    from openknowledge.schemas.operations import Mutation


def mutation(
    workspace: Workspace,
    action: str,
    *,
    document: str,
    changed: bool,
    dry_run: bool = False,
    claim_id: str = "",
    source_id: str = "",
) -> Mutation:
    """Return the report of one operation."""
    report: Mutation = {"schemaVersion": "1", "action": action, "root": str(workspace.root)}  # type: ignore[typeddict-item]
    if claim_id:
        report["claimId"] = claim_id
    if source_id:
        report["sourceId"] = source_id
    report["document"] = document
    report["changed"] = changed
    if dry_run:
        report["dryRun"] = True
        report["diff"] = workspace.diff()
    if workspace.recovered:
        report["recovered"] = recovered_json(workspace.recovered)
    return report
