"""``okn query``: SPARQL over the bundle's graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from openknowledge.cli.options import Out, Spec

if TYPE_CHECKING:
    from openknowledge.engine.query.sparql import Solutions
    from openknowledge.engine.store import Store
    from openknowledge.schemas.sparql import SparqlResult

RESULT_FORMATS = ("json", "table", "csv", "tsv", "xml", "srj")
GRAPH_FORMATS = ("turtle", "ntriples", "nquads", "trig", "jsonld")


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("query")(query)


def query(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="The bundle's directory.", show_default=False)
    ] = ".",
    sparql: Annotated[
        Optional[str],  # noqa: UP045 - typer reads this annotation at run time
        typer.Option("--sparql", metavar="QUERY", help="A SPARQL 1.1 query.", show_default=False),
    ] = None,
    sparql_file: Annotated[
        Optional[Path],  # noqa: UP045 - as above
        typer.Option(
            "--sparql-file", metavar="FILE", help="Read the SPARQL query from FILE.", show_default=False
        ),
    ] = None,
    result_format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="json, table, csv, tsv, xml, srj; for CONSTRUCT and DESCRIBE turtle, ntriples, nquads, "
            "trig, jsonld. Default: table on a terminal, else json (turtle for triples).",
        ),
    ] = "",
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="Rows at most, 1 to 1000.")] = 1000,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", help="Stop the query after this time, at most 30."),
    ] = 2.0,
    spec: Spec = "latest",
    out: Out = None,
) -> None:
    """Ask the bundle's RDF graph in SPARQL. Each row says where its things were read.

    The usual prefixes (dcterms, okn, prov, rdf, rdfs, schema, skos, xsd, ...) need no declaration. No query
    opens a network connection.

    \b
    Examples:
      okn query corpora/identity --sparql 'SELECT ?title { ?page okn:stale true ; dcterms:title ?title }'
      okn query corpora/http --sparql-file orphans.rq --format csv
      okn query --sparql 'CONSTRUCT WHERE { ?a dcterms:references ?b }' --format turtle
    """
    from openknowledge.cli.context import open_store

    _check_bounds(limit, timeout, result_format)
    text, name = _query_text(sparql, sparql_file)
    store = open_store(path, spec)
    checked = store.check_sparql(text, graph_results=True, source=name)
    solutions = store.solve_sparql(checked, limit=limit, timeout=timeout)
    _show(store, solutions, result_format, out, limit)


def _check_bounds(limit: int, timeout: float, result_format: str) -> None:
    from openknowledge.engine import limits
    from openknowledge.engine.errors import UsageError

    if not 1 <= limit <= limits.RESULTS:
        raise UsageError(f"--limit must be from 1 to {limits.RESULTS}, not {limit}")
    if not 0 < timeout <= limits.QUERY_SECONDS_MAX:
        raise UsageError(f"--timeout must be above 0 and at most {limits.QUERY_SECONDS_MAX:g} seconds")
    if result_format and result_format not in (*RESULT_FORMATS, *GRAPH_FORMATS):
        choices = ", ".join((*RESULT_FORMATS, *GRAPH_FORMATS))
        raise UsageError(f"unknown format {result_format!r}; choose one of {choices}")


def _query_text(text: str | None, file: Path | None) -> tuple[str, str]:
    from openknowledge.engine.errors import UsageError

    if (text is None) == (file is None):
        raise UsageError("give one query: --sparql QUERY or --sparql-file FILE")
    if text is not None:
        return text, ""
    assert file is not None  # noqa: S101 - one of the two is given
    return read_text_file(file), str(file)


def read_text_file(file: Path) -> str:
    """Return the text of a file that the user named. Raises ``OpenKnowledgeError`` when it cannot be read."""
    from openknowledge.engine import limits
    from openknowledge.engine.errors import OpenKnowledgeError

    try:
        with file.open("rb") as stream:
            data = stream.read(limits.QUERY_FILE_BYTES + 1)
        if len(data) > limits.QUERY_FILE_BYTES:
            raise OpenKnowledgeError(f"{str(file)!r} is larger than {limits.QUERY_FILE_BYTES} bytes")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise OpenKnowledgeError(f"cannot read {str(file)!r}: {error.strerror}") from None
    except (UnicodeDecodeError, ValueError):
        raise OpenKnowledgeError(f"cannot read {str(file)!r}: it is not valid UTF-8") from None


def _show(store: Store, solutions: Solutions, wanted: str, out: Path | None, limit: int) -> None:
    from openknowledge.cli.output import emit, is_terminal, note, to_json
    from openknowledge.engine.query.sparql import serialize_results, serialize_triples

    if solutions.triples or solutions.form in ("construct", "describe"):
        chosen = wanted if wanted not in ("", "table") else "turtle"
        emit(serialize_triples(solutions, chosen, prefixes=store.prefixes), out)  # type: ignore[arg-type]
    else:
        chosen = wanted or ("table" if out is None and is_terminal() else "json")
        if chosen == "json":
            emit(to_json(store.sparql_json(solutions)), out)
        elif chosen == "table":
            emit(sparql_table(store.sparql_json(solutions), store.prefixes), out)
        else:
            emit(serialize_results(solutions, chosen), out)  # type: ignore[arg-type]
    if solutions.truncated:
        note(f"only the first {limit} results are shown; raise --limit or narrow the query")


def sparql_table(result: SparqlResult, prefixes: object) -> str:
    """Return the rows as a table for people, each with the lines it was read from."""
    from openknowledge.cli.tables import shorten, table

    if result["queryType"] == "ask":
        return f"{str(result.get('boolean', False)).lower()}\n"
    rows = []
    for binding in result["bindings"]:
        values = binding["values"]
        row = [
            shorten(values[name]["value"], prefixes) if name in values else "" for name in result["variables"]
        ]
        where = ", ".join(
            f"{source['document']}:{source.get('lineStart', 1)}" for source in binding["sources"][:3]
        )
        rows.append([*row, where])
    return table([*result["variables"], "read from"], rows)
