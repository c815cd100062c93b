"""The answers to SPARQL queries, and their formats: those of the W3C, and this project's own JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from openknowledge.engine.errors import UsageError
from openknowledge.engine.query.sparql_query import QueryForm
from openknowledge.engine.query.sparql_rows import UNBOUND, Row, Term
from openknowledge.schemas.common import Policy, Provenance, Revision
from openknowledge.schemas.sparql import SparqlBinding, SparqlResult, SparqlTerm

ResultFormat = Literal["srj", "xml", "csv", "tsv"]
GraphFormat = Literal["turtle", "ntriples", "nquads", "trig", "jsonld"]

_RESULT_FORMATS = {"srj": "JSON", "xml": "XML", "csv": "CSV", "tsv": "TSV"}
_GRAPH_FORMATS = {
    "turtle": "TURTLE",
    "ntriples": "N_TRIPLES",
    "nquads": "N_QUADS",
    "trig": "TRIG",
    "jsonld": "JSON_LD",
}

SourcesOf = Callable[[Sequence[Term]], Sequence[Provenance]]
"""Returns the provenance of the claims that contain any of these terms."""


@dataclass(frozen=True, slots=True)
class Solutions:
    """What a query found: rows for SELECT, a boolean for ASK, triples for CONSTRUCT and DESCRIBE.

    A row has one term for each of ``variables``, ``UNBOUND`` where there is none. ``truncated`` tells that
    there are more rows or triples.
    """

    form: QueryForm
    variables: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    boolean: bool | None = None
    triples: tuple[Row, ...] = ()
    truncated: bool = False


def read_answer(form: QueryForm, answer: Mapping[str, Any]) -> Solutions:
    """Return the solutions that a worker's answer describes."""
    return Solutions(
        form=form,
        variables=tuple(answer.get("variables", ())),
        rows=_terms(answer.get("rows", ())),
        boolean=answer.get("boolean"),
        triples=_terms(answer.get("triples", ())),
        truncated=bool(answer.get("truncated")),
    )


def _terms(rows: Sequence[Sequence[Sequence[str]]]) -> tuple[Row, ...]:
    return tuple(tuple(Term(*term) for term in row) for row in rows)


def json_result(
    solutions: Solutions, *, root: str, revision: Revision, policy: Policy, sources_of: SourcesOf
) -> SparqlResult:
    """Return the JSON result of a SELECT or ASK query; ``sources_of`` is called once for each row.

    Raises ``UsageError`` for triples, which have no place in this format.
    """
    import pyoxigraph

    if solutions.form not in ("select", "ask"):
        raise UsageError(f"the JSON result holds SELECT and ASK, not {solutions.form.upper()}")
    result: SparqlResult = {
        "schemaVersion": "1",
        "root": root,
        "revision": revision,
        "engine": {"name": "oxigraph", "version": pyoxigraph.__version__},
        "queryType": solutions.form,
        "variables": list(solutions.variables),
        "bindings": [_binding(solutions.variables, row, sources_of) for row in solutions.rows],
        "truncated": solutions.truncated,
        "policy": policy,
    }
    if solutions.boolean is not None:
        result["boolean"] = solutions.boolean
    return result


def _binding(variables: Sequence[str], row: Row, sources_of: SourcesOf) -> SparqlBinding:
    bound = {name: term for name, term in zip(variables, row, strict=True) if term != UNBOUND}
    return {
        "values": {name: _json_term(term) for name, term in bound.items()},
        "sources": list(sources_of(list(bound.values()))),
    }


def _json_term(term: Term) -> SparqlTerm:
    shown = {"type": term.type, "value": term.value}
    for name in ("datatype", "language", "direction"):
        if text := getattr(term, name):
            shown[name] = text
    return cast("SparqlTerm", shown)


def serialize_results(solutions: Solutions, result_format: ResultFormat) -> bytes:
    """Return the rows or the boolean in a W3C SPARQL results format: srj (JSON), xml, csv or tsv.

    Raises ``UsageError`` for another format, and for triples.
    """
    import pyoxigraph as ox

    if result_format not in _RESULT_FORMATS:
        raise UsageError(f"unknown results format {result_format}; use one of {', '.join(_RESULT_FORMATS)}")
    if solutions.form not in ("select", "ask"):
        choices = ", ".join(_GRAPH_FORMATS)
        raise UsageError(f"{solutions.form.upper()} gives triples; use one of the formats {choices}")
    found = ox.parse_query_results(
        json.dumps(_results_document(solutions)).encode(), format=ox.QueryResultsFormat.JSON
    )
    chosen = getattr(ox.QueryResultsFormat, _RESULT_FORMATS[result_format])
    return found.serialize(format=chosen) or b""


def _results_document(solutions: Solutions) -> dict[str, object]:
    if solutions.boolean is not None:
        return {"head": {}, "boolean": solutions.boolean}
    bindings = [
        {
            name: _results_term(node_of(term))
            for name, term in zip(solutions.variables, row, strict=True)
            if term != UNBOUND
        }
        for row in solutions.rows
    ]
    return {"head": {"vars": list(solutions.variables)}, "results": {"bindings": bindings}}


def _results_term(node: Any) -> dict[str, object]:
    """Return a term as the SPARQL 1.2 Query Results JSON Format has it."""
    match type(node).__name__:
        case "NamedNode":
            return {"type": "uri", "value": node.value}
        case "BlankNode":
            return {"type": "bnode", "value": node.value}
        case "Triple":
            parts = {name: _results_term(getattr(node, name)) for name in ("subject", "predicate", "object")}
            return {"type": "triple", "value": parts}
        case _:
            shown = {"type": "literal", "value": node.value}
            if node.language is None:
                shown["datatype"] = node.datatype.value
            else:
                shown["xml:lang"] = node.language
            if node.direction is not None:
                shown["its:dir"] = str(node.direction)
            return shown


def serialize_triples(
    solutions: Solutions, graph_format: GraphFormat, *, prefixes: Mapping[str, str] | None = None
) -> bytes:
    """Return the triples of a CONSTRUCT or DESCRIBE query in an RDF format, in a fixed order.

    ``prefixes`` shorten the IRIs where the format can. Raises ``UsageError`` for another format, and for
    rows.
    """
    import pyoxigraph as ox

    if graph_format not in _GRAPH_FORMATS:
        raise UsageError(f"unknown RDF format {graph_format}; use one of {', '.join(_GRAPH_FORMATS)}")
    if solutions.form in ("select", "ask"):
        choices = ", ".join(_RESULT_FORMATS)
        raise UsageError(f"{solutions.form.upper()} gives no triples; use one of the formats {choices}")
    triples = [ox.Triple(*map(node_of, triple)) for triple in solutions.triples]
    chosen = getattr(ox.RdfFormat, _GRAPH_FORMATS[graph_format])
    return ox.serialize(triples, format=chosen, prefixes=dict(prefixes or {})) or b""


def node_of(term: Term) -> Any:
    """Return the term of pyoxigraph that a ``Term`` describes: the inverse of ``term_of``."""
    import pyoxigraph as ox

    match term.type:
        case "iri":
            return ox.NamedNode(term.value)
        case "blank":
            return ox.BlankNode(term.value)
        case "triple":
            statement = f"<urn:s> <urn:p> {term.value} ."
            return next(
                iter(ox.parse(statement, format=ox.RdfFormat.N_TRIPLES, rename_blank_nodes=False))
            ).object
        case _:
            if not term.language:
                return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype))
            direction = {"ltr": ox.BaseDirection.LTR, "rtl": ox.BaseDirection.RTL}.get(term.direction)
            return ox.Literal(term.value, language=term.language, direction=direction)
