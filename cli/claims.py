"""``okn claims``: typed claims, judged and explained."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from openknowledge.cli.change import register_claims
from openknowledge.cli.options import Access, Json, Out, Spec, Strict

if TYPE_CHECKING:
    from openknowledge.engine.store import Store

claims_app = typer.Typer(
    help="Typed claims: check, find, judge and change them.", no_args_is_help=True, rich_markup_mode=None
)
entities_app = typer.Typer(
    help="The entities that claims are about.", no_args_is_help=True, rich_markup_mode=None
)
claims_app.add_typer(entities_app, name="entities")

Root = Annotated[str, typer.Option("--path", metavar="PATH", help="The bundle's directory.")]
RootArgument = Annotated[
    Optional[str],  # noqa: UP045 - typer reads this annotation at run time
    typer.Argument(metavar="PATH", help="The bundle's directory, as --path.", show_default=False),
]
IMPACT_FORMATS = ("json", "text", "dot")


def register(app: typer.Typer) -> None:
    """Add the command group to ``app``."""
    register_claims(claims_app, entities_app)
    app.add_typer(claims_app, name="claims")


def open_claims(
    path: str, argument: str | None, spec: str, access: list[str], *, strict: bool = False
) -> Store:
    """Open the bundle that ``--path`` or the argument names. Raises ``UsageError`` when they differ."""
    from openknowledge.cli.context import open_store
    from openknowledge.engine.errors import UsageError

    if argument is not None and path not in (".", argument):
        raise UsageError(f"--path {path} and the argument {argument} name two bundles")
    return open_store(argument or path, spec, access=access, strict=strict)


@claims_app.command("validate")
def validate(
    argument: RootArgument = None,
    path: Root = ".",
    against: Annotated[
        Optional[str],  # noqa: UP045 - typer reads this annotation at run time
        typer.Option(
            "--against",
            metavar="BASE",
            help="Protect history: a directory or a git revision to compare with.",
        ),
    ] = None,
    spec: Spec = "latest",
    as_json: Json = False,
    out: Out = None,
) -> int:
    """Check typed claims against the claim profile, the ontology and their evidence.

    Every issue has the line and column of the field at fault. With --against, what was supported, verified or
    disputed may not disappear or change its meaning. Exit code 1 when anything is invalid.

    \b
    Examples:
      okn claims validate corpora/identity
      okn claims validate --against origin/main --json
    """
    from openknowledge.cli.context import filled
    from openknowledge.cli.output import emit, to_json

    store = open_claims(path, argument, spec, [])
    base = _base(store, filled("--against", against), spec) if against is not None else None
    result = store.validate_claims(base, against=against or "")
    if as_json:
        emit(to_json(result), out)
    else:
        from openknowledge.cli.claims_text import validation_text

        emit(validation_text(result), out)
    return 0 if result["valid"] else 1


def _base(store: Store, against: str, spec: str) -> Store:
    from openknowledge.cli.context import clock, open_store

    if Path(against).is_dir():
        return open_store(against, spec)
    from openknowledge.engine.analysis.git_revisions import store_at

    return store_at(store.root, against, clock=clock(), spec=spec)


@claims_app.command("find")
def find(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="An id, or words of a claim.")],
    path: Root = ".",
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="Claims at most.")] = 50,
    access: Access = [],  # noqa: B006 - typer copies it
    strict: Strict = False,
    spec: Spec = "latest",
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Find claims by id or words, best first.

    \b
    Examples:
      okn claims find "token lifetime" --path corpora/identity
      okn claims find auth:claim/session-idle-timeout-production --path corpora/identity --json
    """
    from openknowledge.cli.output import emit, to_json

    result = open_claims(path, None, spec, access, strict=strict).find_claims(query, limit=_positive(limit))
    if as_json:
        emit(to_json(result), out)
    else:
        from openknowledge.cli.claims_text import found_text

        emit(found_text(result), out)


@claims_app.command("show")
def show(
    claim: Annotated[str, typer.Argument(metavar="ID", help="The id of a claim.")],
    path: Root = ".",
    access: Access = [],  # noqa: B006 - typer copies it
    strict: Strict = False,
    spec: Spec = "latest",
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Show one claim: evidence, history of its slot, verification, relations, and where it stands.

    \b
    Examples:
      okn claims show auth:claim/session-idle-timeout-production --path corpora/identity
    """
    from openknowledge.cli.output import emit, to_json

    result = open_claims(path, None, spec, access, strict=strict).show_claim(claim)
    if as_json:
        emit(to_json(result), out)
    else:
        from openknowledge.cli.claims_text import claim_text

        emit(claim_text(result), out)


@claims_app.command("stale")
def stale(
    argument: RootArgument = None,
    path: Root = ".",
    on: Annotated[str, typer.Option("--on", metavar="DATE", help="Judge as of this date or timestamp.")] = "",
    within: Annotated[
        str, typer.Option("--within", metavar="30d", help="Also what will become stale in so many days.")
    ] = "",
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 when a claim is stale; for CI.")] = False,
    access: Access = [],  # noqa: B006 - typer copies it
    strict: Strict = False,
    spec: Spec = "latest",
    as_json: Json = False,
    out: Out = None,
) -> int:
    """List stale claims: which evidence, why, since when, each with its proof.

    A claim is stale by its own date, or because what was reviewed is no longer what is there.

    \b
    Examples:
      okn claims stale corpora/identity
      okn claims stale corpora/identity --within 90d --on 2034-11-01
      okn claims stale --fail --json
    """
    from openknowledge.cli.context import SETTINGS, parse_now
    from openknowledge.cli.output import emit, to_json
    from openknowledge.engine.errors import UsageError

    if on:
        try:
            parse_now(on)
        except UsageError:
            raise UsageError(f"--on {on!r} is not a date or an RFC 3339 timestamp with offset") from None
        SETTINGS.now = on
    days = _days(within) if within else None
    # people see reasons; the proofs of many claims would take longer than finding them
    result = open_claims(path, argument, spec, access, strict=strict).stale_claims(
        within=days, proofs=as_json
    )
    if as_json:
        emit(to_json(result), out)
    else:
        from openknowledge.cli.claims_text import stale_text

        emit(stale_text(result), out)
    return 1 if fail and result["results"] else 0


_DAYS = re.compile(r"(\d{1,6})d?\Z", re.ASCII)


def _days(text: str) -> int:
    from openknowledge.engine.errors import UsageError

    found = _DAYS.match(text)
    if found is None:
        raise UsageError(f"--within {text!r} is not a number of days such as 30d, of at most 6 digits")
    return int(found[1])


def _positive(limit: int) -> int:
    from openknowledge.engine.errors import UsageError

    if limit < 1:
        raise UsageError(f"--limit must be at least 1, not {limit}")
    return limit


@claims_app.command("conflicts")
def conflicts(
    argument: RootArgument = None,
    path: Root = ".",
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 when claims conflict; for CI.")] = False,
    access: Access = [],  # noqa: B006 - typer copies it
    strict: Strict = False,
    spec: Spec = "latest",
    as_json: Json = False,
    out: Out = None,
) -> int:
    """List claims that cannot all hold, and claims that only repeat each other, with the rule that says so.

    Another scope, a time that does not overlap, and a claim that has ended are differences, not conflicts;
    okn why-not 'conflict("a", "b")' says which it was.

    \b
    Examples:
      okn claims conflicts corpora/identity
      okn claims conflicts --fail --json
    """
    from openknowledge.cli.output import emit, to_json

    result = open_claims(path, argument, spec, access, strict=strict).claim_conflicts()
    if as_json:
        emit(to_json(result), out)
    else:
        from openknowledge.cli.claims_text import conflicts_text

        emit(conflicts_text(result), out)
    return 1 if fail and result["conflicts"] else 0


@claims_app.command("impact")
def impact(
    claim: Annotated[str, typer.Argument(metavar="ID", help="The id of a claim.")],
    path: Root = ".",
    output_format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, json or dot.")
    ] = "text",
    access: Access = [],  # noqa: B006 - typer copies it
    strict: Strict = False,
    spec: Spec = "latest",
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Show what depends on a claim, over any number of steps, with the way there; and nothing else.

    \b
    Examples:
      okn claims impact auth:claim/access-token-lifetime-partner --path corpora/identity
      okn claims impact auth:claim/access-token-lifetime-partner --path corpora/identity --format dot
    """
    from openknowledge.cli.output import emit, to_json
    from openknowledge.engine.errors import UsageError

    chosen = "json" if as_json else output_format
    if chosen not in IMPACT_FORMATS:
        raise UsageError(f"unknown format {chosen!r}; choose one of {', '.join(IMPACT_FORMATS)}")
    result = open_claims(path, None, spec, access, strict=strict).claim_impact(claim)
    if chosen == "json":
        emit(to_json(result), out)
    elif chosen == "dot":
        from openknowledge.engine.claims.impact import impact_dot

        emit(impact_dot(result), out)
    else:
        from openknowledge.cli.claims_text import impact_text

        emit(impact_text(result), out)


@claims_app.command("suggest")
def suggest(
    document: Annotated[
        str, typer.Argument(metavar="DOC", help="A page's path or id; without it every page.")
    ] = "",
    path: Root = ".",
    spec: Spec = "latest",
    as_json: Json = False,
    out: Out = None,
) -> None:
    """List the sections of a page that no claim is bound to yet, as candidates. Nothing is written.

    \b
    Examples:
      okn claims suggest services/session-service.md --path corpora/identity
    """
    from openknowledge.cli.output import emit, to_json

    result = open_claims(path, None, spec, []).suggest_claims(document)
    if as_json:
        emit(to_json(result), out)
    else:
        from openknowledge.cli.claims_text import suggestions_text

        emit(suggestions_text(result), out)


@entities_app.command("find")
def find_entities(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="An id or a label.")],
    path: Root = ".",
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="Entities at most.")] = 50,
    spec: Spec = "latest",
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Find entities by id or label, with the claims that use them.

    \b
    Examples:
      okn claims entities find "session service" --path corpora/identity
    """
    from openknowledge.cli.output import emit, to_json

    result = open_claims(path, None, spec, []).find_entities(query, limit=_positive(limit))
    if as_json:
        emit(to_json(result), out)
    else:
        from openknowledge.cli.claims_text import entities_text

        emit(entities_text(result), out)
