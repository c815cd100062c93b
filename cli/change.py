"""``okn claims`` commands that change knowledge, and the reviews before that."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer
from openknowledge.cli.options import Access, Json, Out, Spec
from openknowledge.engine.printable import quantity

if TYPE_CHECKING:
    from openknowledge.schemas.operations import EntityMutation, Mutation

BundlePath = Annotated[
    str, typer.Option("--path", metavar="PATH", help="The bundle's directory.", show_default=False)
]
ClaimId = Annotated[str, typer.Argument(metavar="CLAIM", help="The id of the claim.", show_default=False)]
ProposalFile = Annotated[
    Path, typer.Argument(metavar="PROPOSAL", help="A proposal; - reads standard input.", show_default=False)
]
ApprovedBy = Annotated[
    str,
    typer.Option(
        "--approved-by", metavar="ACTOR", help="Who decides: human:NAME or github:NAME.", show_default=False
    ),
]
ReviewedBy = Annotated[
    str,
    typer.Option(
        "--approved-by",
        metavar="ACTOR",
        help="Who reviewed it: human:NAME, github:NAME or process:NAME.",
        show_default=False,
    ),
]
DecisionReason = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why; it is recorded with the decision.")
]
Reason = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why, for the reviewer.", show_default=False)
]
Confidence = Annotated[
    float,
    typer.Option(
        "--confidence",
        metavar="C",
        help="How surely the source was read correctly, above 0 and at most 1; not whether it is true.",
        show_default=False,
    ),
]
Document = Annotated[
    str, typer.Option("--document", metavar="PAGE", help="A page of the bundle.", show_default=False)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check everything, show the diff, write nothing.")]

REVIEW_FORMATS = ("text", "markdown", "json")


def register_claims(claims_app: typer.Typer, entities_app: typer.Typer | None = None) -> None:
    """Add the commands to ``okn claims``; those of entities to ``entities_app``, or to a group made here."""
    for name, command in (
        ("propose", propose),
        ("review", review),
        ("apply", apply),
        ("link", link),
        ("dispute", dispute),
        ("verify", verify),
        ("reject", reject),
        ("supersede", supersede),
        ("archive", archive),
        ("reconcile", reconcile),
        ("approve-authority", approve),
    ):
        claims_app.command(name)(command)
    if entities_app is None:
        entities_app = typer.Typer(
            help="Entities: labels and merges.", no_args_is_help=True, rich_markup_mode=None
        )
        claims_app.add_typer(entities_app, name="entities")
    entities_app.command("propose")(propose_entity)
    entities_app.command("impact")(impact_of_entity)
    entities_app.command("apply")(apply_entity)


def propose(
    document: Document,
    reason: Reason,
    confidence: Confidence,
    claim_json: Annotated[
        Optional[str],  # noqa: UP045 - typer reads this annotation at run time
        typer.Option("--claim-json", metavar="JSON", help="The claim as JSON.", show_default=False),
    ] = None,
    claim_file: Annotated[
        Optional[Path],  # noqa: UP045 - as above
        typer.Option(
            "--claim-file",
            metavar="FILE",
            help="Read the claim from FILE; - is standard input.",
            show_default=False,
        ),
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what would change in the page, as a unified diff.")
    ] = False,
    path: BundlePath = ".",
    access: Access = [],  # noqa: B006 - typer copies it
    spec: Spec = "latest",
    out: Out = None,
) -> None:
    """Propose a claim for a page. Nothing in the bundle is written.

    The claim is checked as far as it can be before a review: its fields, its evidence (a quotation must stand
    in the pinned bytes), its section. The proposal names the exact bytes of the page and carries the change
    as a JSON Patch. With --diff the diff is shown; the proposal then goes to --out, if that is given.

    \b
    Examples:
      okn claims propose --document a.md --claim-file claim.json --reason "RFC 9068" --confidence 0.9
      okn claims propose --document a.md --claim-json '{"id": "ex:c1", ...}' --reason R --confidence 1 --diff
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit, note
    from openknowledge.engine.errors import UsageError
    from openknowledge.engine.operations.proposals import encode_proposal
    from openknowledge.engine.operations.propose import prepare_proposal
    from openknowledge.engine.operations.strict_json import decode_object

    if (claim_json is None) == (claim_file is None):
        raise UsageError("give the claim either as --claim-json or as --claim-file")
    if claim_json is not None:
        claim = decode_object(claim_json.encode("utf-8", "surrogateescape"), what="--claim-json")
    else:
        assert claim_file is not None  # noqa: S101 - one of the two is given
        claim = decode_object(read_input(claim_file), what=str(claim_file))
    prepared = prepare_proposal(
        open_store(path, spec, access=access),
        document=document,
        claim=claim,
        reason=reason,
        confidence=confidence,
    )
    for objection in prepared.objections:
        note(f"okn: as the bundle is now, applying this would be refused: {objection}")
    if out is not None or not diff:
        emit(encode_proposal(prepared.proposal), out)
    if diff:
        emit(prepared.diff)


def review(
    proposals: Annotated[
        list[Path],
        typer.Argument(metavar="PROPOSAL...", help="Claim proposals; - reads standard input."),
    ],
    output_format: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", help="text, markdown (for a pull request) or json."),
    ] = "text",
    path: BundlePath = ".",
    access: Access = [],  # noqa: B006 - typer copies it
    spec: Spec = "latest",
    out: Out = None,
) -> int:
    """Show what a reviewer needs to know of proposals: in words, with quotations and consequences.

    For each proposal: the claim in words, its evidence quoted from the artifact with what stands around it,
    what it conflicts with, what it supersedes or makes stale, what depends on it, and the change of the page.
    Exit code 1 when one of them could not be applied as the bundle is now.

    \b
    Examples:
      okn claims review proposal.json --path corpora/identity
      okn claims review proposals/*.json --format markdown
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit, to_json
    from openknowledge.cli.review_text import review_markdown, review_text
    from openknowledge.engine.errors import UsageError
    from openknowledge.engine.operations.review import review_proposals
    from openknowledge.engine.operations.strict_json import decode_object

    if output_format not in REVIEW_FORMATS:
        raise UsageError(
            f"unknown review format {output_format!r}; choose one of {', '.join(REVIEW_FORMATS)}"
        )
    given = [(str(file), decode_object(read_input(file), what=str(file))) for file in proposals]
    result = review_proposals(open_store(path, spec, access=access), given)
    if output_format == "json":
        emit(to_json(result), out)
    else:
        emit(review_text(result) if output_format == "text" else review_markdown(result), out)
    return 0 if all(entry["applies"] for entry in result["reviews"]) else 1


def apply(
    proposal: ProposalFile,
    dry_run: DryRun = False,
    path: BundlePath = ".",
    spec: Spec = "latest",
    as_json: Json = False,
) -> None:
    """Apply a claim proposal: all of it, to the bytes that it was made for, or nothing.

    Refused when the page has changed, the id exists, the patch does more than the proposal says, or the
    bundle would have an issue that it does not have now.

    \b
    Examples:
      okn claims apply proposal.json
      okn claims apply proposal.json --dry-run
    """
    from openknowledge.cli.context import clock_of_files
    from openknowledge.engine.operations.apply import apply_proposal
    from openknowledge.engine.operations.strict_json import decode_object

    given = decode_object(read_input(proposal), what=str(proposal))
    report(apply_proposal(path, given, spec=spec, clock=clock_of_files(), dry_run=dry_run), as_json)


def link(
    claim: ClaimId,
    document: Document,
    dry_run: DryRun = False,
    path: BundlePath = ".",
    spec: Spec = "latest",
    as_json: Json = False,
) -> None:
    """Note that a page depends on a claim.

    \b
    Examples:
      okn claims link auth:claim/session-idle-timeout-production --document glossary.md
    """
    from openknowledge.engine.operations.lifecycle import link_claim

    report(link_claim(path, claim, document, **_options(spec, dry_run)), as_json)


def dispute(
    claim: ClaimId,
    dry_run: DryRun = False,
    path: BundlePath = ".",
    spec: Spec = "latest",
    as_json: Json = False,
) -> None:
    """Mark a claim as disputed. Anybody may; what verified it stays recorded.

    \b
    Examples:
      okn claims dispute auth:claim/issuer-signs-es256
    """
    from openknowledge.engine.operations.lifecycle import dispute_claim

    report(dispute_claim(path, claim, **_options(spec, dry_run)), as_json)


def verify(
    claim: ClaimId,
    approved_by: ReviewedBy,
    dry_run: DryRun = False,
    path: BundlePath = ".",
    spec: Spec = "latest",
    as_json: Json = False,
) -> None:
    """Record that somebody reviewed a claim against its evidence.

    The digests of local live resources are recorded; when one changes, the claim becomes stale.

    \b
    Examples:
      okn claims verify auth:claim/issuer-signs-es256 --approved-by human:mara.okafor
    """
    from openknowledge.engine.operations.lifecycle import verify_claim

    report(verify_claim(path, claim, approved_by=approved_by, **_options(spec, dry_run)), as_json)


def reject(
    claim: ClaimId,
    approved_by: ApprovedBy,
    reason: DecisionReason = "",
    dry_run: DryRun = False,
    path: BundlePath = ".",
    spec: Spec = "latest",
    as_json: Json = False,
) -> None:
    """End a claim because it is not so. It stays on record, with the decision.

    A claim that was relied on (supported or disputed) needs a reason; a verified one must be disputed first.

    \b
    Examples:
      okn claims reject auth:claim/issuer-signs-rs256-for-customs --approved-by human:mara --reason "moved"
    """
    from openknowledge.engine.operations.lifecycle import reject_claim

    done = reject_claim(path, claim, approved_by=approved_by, reason=reason, **_options(spec, dry_run))
    report(done, as_json)


def supersede(
    claim: ClaimId,
    approved_by: ApprovedBy,
    by: Annotated[
        str,
        typer.Option("--by", metavar="CLAIM", help="The successor; by default any claim that supersedes it."),
    ] = "",
    reason: DecisionReason = "",
    dry_run: DryRun = False,
    path: BundlePath = ".",
    spec: Spec = "latest",
    as_json: Json = False,
) -> None:
    """End a claim because another one, which lists it under relations.supersedes, takes its place.

    \b
    Examples:
      okn claims supersede ex:claim/old --by ex:claim/new --approved-by human:mara.okafor
    """
    from openknowledge.engine.operations.lifecycle import supersede_claim

    done = supersede_claim(
        path, claim, approved_by=approved_by, successor=by, reason=reason, **_options(spec, dry_run)
    )
    report(done, as_json)


def archive(
    claim: ClaimId,
    approved_by: ApprovedBy,
    reason: DecisionReason = "",
    dry_run: DryRun = False,
    path: BundlePath = ".",
    spec: Spec = "latest",
    as_json: Json = False,
) -> None:
    """End a claim because it is no longer of use. What verified it stays recorded.

    \b
    Examples:
      okn claims archive auth:claim/session-idle-timeout-staging --approved-by github:tlis
    """
    from openknowledge.engine.operations.lifecycle import archive_claim

    done = archive_claim(path, claim, approved_by=approved_by, reason=reason, **_options(spec, dry_run))
    report(done, as_json)


def reconcile(
    claim: ClaimId,
    approved_by: ReviewedBy,
    dry_run: DryRun = False,
    path: BundlePath = ".",
    spec: Spec = "latest",
    as_json: Json = False,
) -> None:
    """Record that a verified claim still holds with its evidence as it is now.

    New versions of changed evidence are added behind the recorded ones. The page's own "verified" is set when
    every active claim of the page is verified and fresh, and removed when not.

    \b
    Examples:
      okn claims reconcile auth:claim/access-token-lifetime-partner --approved-by human:mara.okafor
    """
    from openknowledge.engine.operations.lifecycle import reconcile_claim

    report(reconcile_claim(path, claim, approved_by=approved_by, **_options(spec, dry_run)), as_json)


def approve(
    document: Document,
    approved_by: ApprovedBy,
    argument: Annotated[
        Optional[str],  # noqa: UP045 - typer reads this annotation at run time
        typer.Argument(metavar="[SOURCE]", help="The id of the source, as --source.", show_default=False),
    ] = None,
    source: Annotated[
        str, typer.Option("--source", metavar="ID", help="The id of the source.", show_default=False)
    ] = "",
    dry_run: DryRun = False,
    path: BundlePath = ".",
    spec: Spec = "latest",
    as_json: Json = False,
) -> None:
    """Record that a person accepts a source of a page as authoritative.

    \b
    Examples:
      okn claims approve-authority law --document policies/a.md --approved-by human:mara.okafor
    """
    from openknowledge.engine.errors import UsageError
    from openknowledge.engine.operations.lifecycle import approve_authority

    name = argument or source
    if not name or (argument and source and argument != source):
        raise UsageError("name the one source that is approved: SOURCE or --source SOURCE")
    done = approve_authority(path, document, name, approved_by=approved_by, **_options(spec, dry_run))
    report(done, as_json)


# Entities


def propose_entity(
    entity: Annotated[
        str, typer.Argument(metavar="ENTITY", help="The id of the entity that stays.", show_default=False)
    ],
    reason: Reason,
    alias: Annotated[
        str, typer.Option("--alias", metavar="TEXT", help="Another label for it.", show_default=False)
    ] = "",
    merge_from: Annotated[
        str, typer.Option("--from", metavar="ENTITY", help="An entity to merge into it.", show_default=False)
    ] = "",
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="C", help="How sure you are, above 0 and at most 1.")
    ] = 1.0,
    path: BundlePath = ".",
    spec: Spec = "latest",
    out: Out = None,
) -> None:
    """Propose another label for an entity, or to merge one entity into another. Nothing is written.

    \b
    Examples:
      okn claims entities propose auth:token/access-token --alias "API token" --reason "used by partners"
      okn claims entities propose auth:team/a --from auth:team/b --reason "one team" --out merge.json
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit
    from openknowledge.engine.errors import UsageError
    from openknowledge.engine.operations.entities import propose_alias, propose_merge
    from openknowledge.engine.operations.proposals import encode_proposal

    if bool(alias) == bool(merge_from):
        raise UsageError("give either --alias TEXT or --from ENTITY")
    store = open_store(path, spec)
    if alias:
        proposal = propose_alias(store, entity, alias, reason=reason, confidence=confidence)
    else:
        proposal = propose_merge(store, entity, merge_from, reason=reason, confidence=confidence)
    emit(encode_proposal(proposal), out)


def impact_of_entity(
    proposal: ProposalFile,
    path: BundlePath = ".",
    spec: Spec = "latest",
    as_json: Json = False,
    out: Out = None,
) -> None:
    """List every page and every place in a claim that an entity proposal touches.

    \b
    Examples:
      okn claims entities impact merge.json
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit, to_json
    from openknowledge.engine.operations.entities import entity_impact
    from openknowledge.engine.operations.strict_json import decode_object

    given = decode_object(read_input(proposal), what=str(proposal))
    impact = entity_impact(open_store(path, spec), given)
    if as_json:
        emit(to_json(impact), out)
        return
    lines = [f"{use['document']}: {use['claimId']}: {use['field']}" for use in impact["references"]]
    lines += [
        f"{entry['document']}: entity {entry['entityId']}: replaced_by"
        for entry in impact.get("replacements", [])
    ]
    documents = impact["documents"]
    lines.append(f"{quantity(len(impact['references']), 'reference')} on {quantity(len(documents), 'page')}")
    emit("\n".join(lines) + "\n", out)


def apply_entity(
    proposal: ProposalFile,
    approved_by: ApprovedBy,
    dry_run: DryRun = False,
    path: BundlePath = ".",
    spec: Spec = "latest",
    as_json: Json = False,
) -> None:
    """Apply an entity proposal to all pages that it touches, or to none.

    \b
    Examples:
      okn claims entities apply merge.json --approved-by human:mara.okafor
    """
    from openknowledge.cli.context import clock_of_files
    from openknowledge.engine.operations.entities import apply_entity_proposal
    from openknowledge.engine.operations.strict_json import decode_object

    given = decode_object(read_input(proposal), what=str(proposal))
    done = apply_entity_proposal(
        path, given, approved_by=approved_by, spec=spec, clock=clock_of_files(), dry_run=dry_run
    )
    report_entity(done, as_json)


# Input and output


def read_input(file: Path) -> bytes:
    """Return the bytes of a file, or of standard input for ``-``; no more than a proposal may have, and one.

    Raises ``OpenKnowledgeError`` when it cannot be read.
    """
    from openknowledge.engine import limits
    from openknowledge.engine.errors import OpenKnowledgeError

    largest = limits.PROPOSAL_BYTES + 1
    try:
        if str(file) == "-":
            return sys.stdin.buffer.read(largest)
        with file.open("rb") as stream:
            return stream.read(largest)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise OpenKnowledgeError(f"cannot read {str(file)!r}: {reason}") from None


def _options(spec: str, dry_run: bool) -> Any:
    from openknowledge.cli.context import clock_of_files

    return {"spec": spec, "clock": clock_of_files(), "dry_run": dry_run}


def report(done: Mutation, as_json: bool) -> None:
    """Print what an operation did."""
    from openknowledge.cli.output import emit, to_json

    note_recovered(done.get("recovered", []))
    if as_json:
        emit(to_json(done))
        return
    what = done.get("claimId") or done.get("sourceId") or ""
    emit(_text(done["action"], f"{what} in {done['document']}", done))


def report_entity(done: EntityMutation, as_json: bool) -> None:
    """Print what a change to entities did."""
    from openknowledge.cli.output import emit, to_json

    note_recovered(done.get("recovered", []))
    if as_json:
        emit(to_json(done))
        return
    impact = done["impact"]
    what = done["entityId"] + (f" from {done['mergeFrom']}" if "mergeFrom" in done else "")
    where = (
        f"{quantity(len(impact['references']), 'reference')} on {quantity(len(impact['documents']), 'page')}"
    )
    emit(_text(done["action"], f"{what} ({where})", done))


def note_recovered(recovered: Any) -> None:
    """Tell that a change which an earlier run left unfinished was ended."""
    from openknowledge.cli.output import note

    for entry in recovered:
        pages = ", ".join(entry["paths"]) or "no file"
        note(f"okn: an interrupted change was {entry['action']}: {pages}")
        if entry["conflicts"]:
            note(
                "okn: changed by somebody else meanwhile and left as they are: "
                + ", ".join(entry["conflicts"])
            )


def _text(action: str, what: str, done: Mutation | EntityMutation) -> str:
    if not done["changed"]:
        return f"{action}: {what}: nothing to change\n"
    if done.get("dryRun"):
        return f"{action}: {what}: would be changed\n{done.get('diff', '')}"
    return f"{action}: {what}: done\n"
