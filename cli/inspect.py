"""``okn list`` and ``okn get``: what is in a bundle, as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from openknowledge.cli.options import Json, Out, PathArgument, Spec
from openknowledge.engine.printable import printable, quantity

if TYPE_CHECKING:
    from openknowledge.schemas.get import GetResult
    from openknowledge.schemas.listing import ListEntry, ListResult, Okf02


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command("list")(list_pages)
    app.command("get")(get)


def list_pages(
    path: PathArgument = ".", spec: Spec = "latest", as_json: Json = False, out: Out = None
) -> None:
    """List every page and file with its type, title, trust tier, status and staleness.

    \b
    Examples:
      okn list
      okn list corpora/identity --json
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit, is_terminal, to_json

    result = open_store(path, spec).inventory()
    if as_json:
        emit(to_json(result), out)
    else:
        emit(_tree(result, colour=out is None and is_terminal()), out)


def trust_words(okf: Okf02) -> list[str]:
    """Return what a reader must know of a page before relying on it."""
    words = [okf["trustTier"], okf["status"]]
    if okf["stale"]:
        words.append(f"STALE since {okf.get('staleAfter', '')}")
    if okf.get("verificationOutdated"):
        words.append("verification outdated")
    return words


_DIM, _RED, _RESET = "\x1b[2m", "\x1b[31m", "\x1b[0m"


def _tree(result: ListResult, *, colour: bool) -> str:
    lines = [printable(result["root"])]
    open_folders: list[str] = []
    for entry in result["entries"]:
        *folders, name = entry["path"].split("/")
        common = 0
        while common < min(len(folders), len(open_folders)) and folders[common] == open_folders[common]:
            common += 1
        for depth in range(common, len(folders)):
            lines.append("  " * (depth + 1) + printable(folders[depth]) + "/")
        open_folders = folders
        detail = _details(entry)
        if colour and detail:
            tint = _RED if "STALE" in detail or "issue" in detail else _DIM
            detail = f"{tint}{detail}{_RESET}"
        lines.append(
            ("  " * (len(folders) + 1) + printable(name) + ("  " + detail if detail else "")).rstrip()
        )
    kinds = [entry["kind"] for entry in result["entries"]]
    pages = sum(kind in ("concept", "index", "log") for kind in kinds)
    unreadable = kinds.count("unreadable")
    lines.append(
        f"{quantity(pages, 'page')}, {quantity(kinds.count('asset'), 'other file')}"
        + (f", {unreadable} unreadable" if unreadable else "")
    )
    return "\n".join(lines) + "\n"


def _details(entry: ListEntry) -> str:
    parts = []
    if entry["kind"] == "asset":
        return ""
    if entry["kind"] == "concept":
        parts.append(printable(f"{entry.get('type') or 'no type'}: {entry.get('title', '')}"))
    if "okf02" in entry:
        parts.append(printable(", ".join(trust_words(entry["okf02"]))))
    if issues := entry.get("issues"):
        parts.append(f"{len(issues)} issue{'s' if len(issues) > 1 else ''}")
    return " | ".join(parts)


def get(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The bundle's directory.")],
    document: Annotated[
        str, typer.Argument(metavar="DOC[#SECTION]", help="A page's path or id, with a section's anchor.")
    ],
    spec: Spec = "latest",
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Show one page or section as it stands, with the locator that names its exact bytes.

    The locator, lines and trust go to standard error, the text to standard output.

    \b
    Examples:
      okn get corpora/identity services/token-issuer.md
      okn get corpora/http caching/cache-control#directives --json
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit, note, to_json

    result = open_store(path, spec).get(document)
    if as_json:
        emit(to_json(result), out)
        return
    note(_header(result))
    text = result["text"]
    emit(text if text.endswith("\n") or not text else text + "\n", out)


def _header(result: GetResult) -> str:
    lines = [
        printable(f"{result['path']}:{result['lineStart']}-{result['lineEnd']}  {result['title']}"),
        result["locator"],
    ]
    if "okf02" in result:
        lines.append(printable(", ".join(trust_words(result["okf02"]))))
    return "\n".join(lines)
