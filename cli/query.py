"""``okn query``: SPARQL, Datalog and text over one bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from openknowledge.cli.options import (
    Access,
    EmbeddingCache,
    EmbeddingModel,
    EmbeddingUrl,
    Out,
    Spec,
    Strict,
)

if TYPE_CHECKING:
    from openknowledge.engine.query.sparql import Solutions
    from openknowledge.engine.store import Store
    from openknowledge.schemas.sparql import SparqlResult

RESULT_FORMATS = ("json", "table", "text", "csv", "tsv", "xml", "srj")
GRAPH_FORMATS = ("turtle", "ntriples", "nquads", "trig", "jsonld")


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("query")(query)


def query(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="The bundle's directory.", show_default=False)
    ] = ".",
    text: Annotated[
        Optional[str],  # noqa: UP045 - typer reads this annotation at run time
        typer.Option("--text", metavar="QUERY", help="A question in words.", show_default=False),
    ] = None,
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
    datalog: Annotated[
        Optional[str],  # noqa: UP045 - as above
        typer.Option("--datalog", metavar="ATOM", help="A Datalog query: one atom.", show_default=False),
    ] = None,
    datalog_file: Annotated[
        Optional[Path],  # noqa: UP045 - as above
        typer.Option("--datalog-file", metavar="FILE", help="Read the atom from FILE.", show_default=False),
    ] = None,
    rules: Annotated[
        list[Path],
        typer.Option("--rules", metavar="FILE", help="Rules on top of the built-in ones. Repeatable."),
    ] = [],  # noqa: B006 - typer copies it
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="openknowledge.safe/v1, or openknowledge.closed-world/v1 for rules with negation.",
        ),
    ] = "",
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the proof of each Datalog answer as a tree.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Have pyDatalog compute the answers again and compare.")
    ] = False,
    result_format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="json or table; for SPARQL also csv, tsv, xml, srj; for CONSTRUCT and DESCRIBE turtle, "
            "ntriples, nquads, trig, jsonld. Default: table on a terminal, else json (turtle for triples).",
        ),
    ] = "",
    limit: Annotated[
        Optional[int],  # noqa: UP045 - as above
        typer.Option(
            "--limit",
            metavar="N",
            help="Rows at most, 1 to 1000. Default: 1000; 12 for fused answers.",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", help="Stop the query after this time, at most 30."),
    ] = 2.0,
    statuses: Annotated[
        list[str],
        typer.Option(
            "--status", metavar="STATUS", help="With --text: only claims of this status. Repeatable."
        ),
    ] = [],  # noqa: B006 - typer copies it
    include_stale: Annotated[
        bool, typer.Option("--include-stale", help="With --text: show stale claims too.")
    ] = False,
    types: Annotated[
        list[str], typer.Option("--type", metavar="TYPE", help="With --text: only pages of this type.")
    ] = [],  # noqa: B006 - as above
    tags: Annotated[
        list[str], typer.Option("--tag", metavar="TAG", help="With --text: only pages with this tag.")
    ] = [],  # noqa: B006 - as above
    embedding_url: EmbeddingUrl = "",
    embedding_model: EmbeddingModel = "",
    embedding_cache: EmbeddingCache = None,
    access: Access = [],  # noqa: B006 - as above
    strict: Strict = False,
    spec: Spec = "latest",
    out: Out = None,
) -> None:
    """Ask the bundle in words, SPARQL or Datalog, or in several of them at once.

    One of --sparql and --datalog alone gives that language's result. With --text, or with both, the routes
    are fused into one ranking. Every answer says where it was read.

    SPARQL sees the bundle's RDF graph; the usual prefixes (dcterms, okn, prov, rdf, schema, skos, xsd)
    need no declaration, and no query opens a network connection. Datalog sees the same facts as relations,
    with the conclusions of the built-in rules, and every answer carries its proof.

    \b
    Examples:
      okn query corpora/identity --sparql 'SELECT ?title { ?page okn:stale true ; dcterms:title ?title }'
      okn query corpora/http --datalog 'affected_by_stale(Page, Stale)' --explain
      okn query corpora/http --datalog 'risky(P)' --rules my.dl --profile openknowledge.closed-world/v1
      okn query corpora/identity --text "session timeout" --datalog 'stale(C, "true")' --include-stale
      okn query --sparql 'CONSTRUCT WHERE { ?a dcterms:references ?b }' --format turtle
    """
    from openknowledge.cli.context import open_store, vector_route
    from openknowledge.engine import limits
    from openknowledge.engine.errors import UsageError

    sparql_query = _query_text("--sparql", sparql, sparql_file)
    datalog_query = _query_text("--datalog", datalog, datalog_file)
    fused = text is not None or (sparql_query is not None and datalog_query is not None)
    most = limit if limit is not None else 12 if fused else limits.RESULTS
    _check_bounds(most, timeout, result_format)
    if text is None and sparql_query is None and datalog_query is None:
        raise UsageError("give a query: --text QUERY, --sparql QUERY or --datalog ATOM (or a file of one)")
    if fused and (explain or verify):
        raise UsageError("--explain and --verify are for a --datalog query alone")
    if fused:
        from openknowledge.cli.hybrid import HybridRequest, answer_hybrid

        store = open_store(path, spec, access=access, strict=strict)
        hybrid_request = HybridRequest(
            text=text,
            sparql=sparql_query[0] if sparql_query else None,
            datalog=datalog_query[0] if datalog_query else None,
            rules=tuple(rules),
            profile=profile,
            result_format=result_format,
            limit=most,
            timeout=timeout,
            statuses=tuple(statuses),
            include_stale=include_stale,
            types=tuple(types),
            tags=tuple(tags),
        )
        route = vector_route(store, embedding_url, embedding_model, embedding_cache)
        answer_hybrid(store, hybrid_request, route, out)
        return
    _refuse_hybrid_options(statuses, include_stale, types, tags)
    if datalog_query is None and (rules or profile or explain or verify):
        raise UsageError("--rules, --profile, --explain and --verify are for queries with --datalog")
    store = open_store(path, spec, access=access, strict=strict)
    if datalog_query is not None:
        from openknowledge.cli.datalog import DatalogRequest, answer_datalog

        request = DatalogRequest(
            datalog_query[0], tuple(rules), profile, explain, verify, result_format, most, timeout
        )
        answer_datalog(store, request, out)
    elif sparql_query is not None:
        query_text, name = sparql_query
        checked = store.check_sparql(query_text, graph_results=True, source=name)
        solutions = store.solve_sparql(checked, limit=most, timeout=timeout)
        _show(store, solutions, result_format, out, most)


def _refuse_hybrid_options(
    statuses: list[str], include_stale: bool, types: list[str], tags: list[str]
) -> None:
    from openknowledge.engine.errors import UsageError

    if statuses or include_stale or types or tags:
        raise UsageError("--status, --include-stale, --type and --tag are for queries with --text")


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


def _query_text(option: str, text: str | None, file: Path | None) -> tuple[str, str] | None:
    """Return a query and the name of its file; ``None`` when neither option was given."""
    from openknowledge.engine.errors import UsageError

    if text is not None and file is not None:
        raise UsageError(f"give either {option} or {option}-file")
    if text is not None:
        return text, ""
    return None if file is None else (read_text_file(file), str(file))


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
        note(f"only the first {limit} results are shown; {more_advice(limit)}")


def more_advice(limit: int) -> str:
    """Return how to see more than ``limit`` results."""
    from openknowledge.engine import limits

    return "narrow the query" if limit >= limits.RESULTS else "raise --limit or narrow the query"


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
