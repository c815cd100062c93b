"""``okn search``."""

from __future__ import annotations

from typing import Annotated

import typer
from openknowledge.cli.options import EmbeddingCache, EmbeddingModel, EmbeddingUrl, Out, Spec

FORMATS = ("markdown", "json")
LIMIT_MAX = 1_000
BUDGET_MAX = 1_000_000


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("search")(search)


def search(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="[PATH] QUERY", help="The bundle's directory, if not this one, and the question."
        ),
    ],
    output_format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="markdown or json.")
    ] = "markdown",
    matches: Annotated[
        bool, typer.Option("--matches", help="List the ranked sections instead of packing their text.")
    ] = False,
    budget: Annotated[
        int, typer.Option("--budget", metavar="TOKENS", help="Size of the packet in estimated tokens.")
    ] = 2400,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="Sections at most, 1 to 1000.")] = 12,
    no_expand: Annotated[
        bool, typer.Option("--no-expand", help="Do not follow links and headings from what was found.")
    ] = False,
    types: Annotated[
        list[str], typer.Option("--type", metavar="TYPE", help="Only pages of this type. Repeatable.")
    ] = [],  # noqa: B006 - typer copies it
    tags: Annotated[
        list[str], typer.Option("--tag", metavar="TAG", help="Only pages with this tag. Repeatable.")
    ] = [],  # noqa: B006 - as above
    explain: Annotated[
        bool, typer.Option("--explain", help="Say why each section ranks where it does.")
    ] = False,
    embedding_url: EmbeddingUrl = "",
    embedding_model: EmbeddingModel = "",
    embedding_cache: EmbeddingCache = None,
    spec: Spec = "latest",
    out: Out = None,
) -> None:
    """Find what a bundle knows about something: ranked sections, packed as a sourced context packet.

    Each source carries its lines, the locator of its exact bytes, and how far its page can be trusted.

    \b
    Examples:
      okn search "how long does a session live"
      okn search corpora/http "stale-while-revalidate" --matches
      okn search corpora/http "cache a 404" --type Reference --budget 800 --format json
    """
    from openknowledge.cli.context import filled, open_store, vector_route
    from openknowledge.cli.output import emit, to_json
    from openknowledge.engine.errors import UsageError
    from openknowledge.engine.search.render import render_context, render_matches

    if len(arguments) > 2:
        raise UsageError("search takes a path and a query; put quotes around a query of several words")
    if output_format not in FORMATS:
        raise UsageError(f"unknown format {output_format!r}; choose one of {', '.join(FORMATS)}")
    if not 1 <= limit <= LIMIT_MAX:
        raise UsageError(f"--limit must be from 1 to {LIMIT_MAX}, not {limit}")
    if not 1 <= budget <= BUDGET_MAX:
        raise UsageError(f"--budget must be from 1 to {BUDGET_MAX}, not {budget}")
    for option, values in (("--type", types), ("--tag", tags)):
        for value in values:
            filled(option, value)
    path = arguments[0] if len(arguments) == 2 else "."
    store = open_store(path, spec)
    query = arguments[-1]
    route = vector_route(store, embedding_url, embedding_model, embedding_cache)
    if matches:
        found = store.search(
            query, limit=limit, no_expand=no_expand, types=types, tags=tags, explain=explain, route=route
        )
        emit(to_json(found) if output_format == "json" else render_matches(found), out)
    else:
        packet = store.context(
            query,
            budget=budget,
            limit=limit,
            no_expand=no_expand,
            types=types,
            tags=tags,
            explain=explain,
            route=route,
        )
        emit(to_json(packet) if output_format == "json" else render_context(packet), out)
