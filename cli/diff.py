"""``okn diff``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from openknowledge.cli.options import Json, Spec

if TYPE_CHECKING:
    from openknowledge.engine.analysis.diff import Side

FORMATS = ("text", "json", "markdown")
WORKING_TREE = "working tree"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("diff")(diff)


def diff(
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="A git revision, or BASE..HEAD, or BASE...HEAD.")
    ],
    head: Annotated[
        str,
        typer.Argument(metavar="HEAD", help="Another one; else the working tree.", show_default=False),
    ] = "",
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="The bundle's directory.", show_default=False)
    ] = "",
    path_option: Annotated[
        str, typer.Option("--path", metavar="PATH", help="The bundle's directory.", show_default=False)
    ] = "",
    base_path: Annotated[
        str,
        typer.Option(
            "--base-path",
            metavar="PATH",
            help="The directory that the bundle had at BASE, if it has moved.",
            show_default=False,
        ),
    ] = "",
    merge_base: Annotated[
        bool,
        typer.Option("--merge-base", help="Compare with the commit at which BASE and HEAD parted."),
    ] = False,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on", metavar="SEVERITY", help="Exit 1 when a new finding is this grave, or none."
        ),
    ] = "none",
    report_format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, json or markdown.")
    ] = "text",
    as_json: Json = False,
    out: Annotated[
        list[str],
        typer.Option("--out", metavar="FORMAT=FILE", help="Write this format to FILE too. Repeatable."),
    ] = [],  # noqa: B006 - typer copies it
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing to standard output; the exit code tells.")
    ] = False,
    spec: Spec = "latest",
) -> int:
    """Show what a change does to knowledge: claims, pages, and what became stale, conflicting or affected.

    Both states are read from git's objects; without HEAD the second is the working tree, with what is not
    committed. Each is judged as of its own commit, unless --now is given. BASE...HEAD is --merge-base.

    \b
    Examples:
      okn diff main
      okn diff main feature --path knowledge --format markdown
      okn diff origin/main...HEAD knowledge --fail-on high --out markdown=comment.md
    """
    from openknowledge.cli.context import SETTINGS
    from openknowledge.cli.output import to_json
    from openknowledge.cli.progress import progress
    from openknowledge.cli.reports import parse_outputs, prefix_of, write_reports
    from openknowledge.engine.analysis.diff import compare, diff_report
    from openknowledge.engine.analysis.findings import parse_threshold
    from openknowledge.engine.analysis.reporting.diff import diff_markdown, diff_text
    from openknowledge.engine.errors import UsageError

    if SETTINGS.at:
        raise UsageError("okn diff names its revisions itself: leave --at out")
    shown = "json" if as_json else report_format
    if shown not in FORMATS:
        raise UsageError(f"unknown format {shown!r}; choose one of {', '.join(FORMATS)}")
    parse_threshold(fail_on)
    outputs = parse_outputs(out, FORMATS)
    base, head, path, merge_base = _arguments(base, head, path, path_option, merge_base=merge_base)
    with progress() as tell:
        tell(f"reading {base}")
        one, other = _sides(base, head, path, base_path or path, spec, merge_base=merge_base)
        tell("comparing")
        found = compare(one, other)
        writers = {
            "text": lambda: diff_text(found),
            "json": lambda: to_json(diff_report(found, fail_on)),
            "markdown": lambda: diff_markdown(found, prefix_of(other.bundle.root)),
        }
        tell("writing reports")
        write_reports(writers, None if quiet else shown, outputs)
    return 1 if found.failed(fail_on) else 0


def _arguments(
    base: str, head: str, path: str, path_option: str, *, merge_base: bool
) -> tuple[str, str, str, bool]:
    """Return base, head, path and whether the merge base is meant.

    The second of two arguments is a revision or the bundle's directory, whichever there is.
    """
    from pathlib import Path

    from openknowledge.engine.errors import UsageError

    if path and path_option:
        raise UsageError("the bundle's directory is given twice: as PATH and as --path")
    if ".." in base and not base.startswith(":"):
        if path:
            raise UsageError(f"{base!r} names both revisions; a third argument is one too many")
        path, head = head, ""
        left, dots, right = base.partition("...")
        if not dots:
            left, _, right = base.partition("..")
        return left or "HEAD", right or "HEAD", path or path_option or ".", merge_base or bool(dots)
    if head and not path and not path_option and Path(head).is_dir():
        if _is_revision(head, "."):
            raise UsageError(
                f"{head!r} is a git revision and a directory: write okn diff {base} {head} . for the "
                f"revision, or okn diff {base} --path {head} for the directory"
            )
        path, head = head, ""
    return base, head, path or path_option or ".", merge_base


def _is_revision(text: str, path: str) -> bool:
    from openknowledge.engine.analysis.git_revisions import GitObjects, find_commit, find_repository
    from openknowledge.engine.errors import OpenKnowledgeError

    try:
        with GitObjects(find_repository(path)) as objects:
            find_commit(objects, text)
    except OpenKnowledgeError:
        return False
    return True


def _sides(
    base: str, head: str, path: str, base_path: str, spec: str, *, merge_base: bool
) -> tuple[Side, Side]:
    from openknowledge.cli.context import SETTINGS, clock
    from openknowledge.engine.analysis import git_revisions as git
    from openknowledge.engine.analysis.diff import Side
    from openknowledge.engine.store import Store

    now = clock()() if SETTINGS.now else None
    wanted = base
    if merge_base:
        repository = git.find_repository(path)
        with git.GitObjects(repository) as objects:
            ends = [git.find_commit(objects, name) for name in (base, head or "HEAD")]
            wanted = git.merge_base(objects, *ends).id
    before = git.read_revision(base_path, wanted, spec=spec)
    if head:
        after = git.read_revision(path, head, spec=spec, known=before.bundle)
        store = git.store_of(after, now or after.commit.time)
        name, commit = head, after.commit.id
    else:
        store = Store.open(path, spec=spec, clock=clock())
        name, commit = WORKING_TREE, ""
    name_of_base = f"{base} (merge base)" if merge_base else base
    return (
        Side.of(git.store_of(before, now or before.commit.time), name_of_base, before.commit.id),
        Side.of(store, name, commit),
    )
