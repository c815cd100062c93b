"""Renders facts to RDF by the patterns of the relation table, and writes the graph in its syntaxes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal

from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.instants import parse_date, parse_instant
from openknowledge.engine.errors import UsageError
from openknowledge.engine.facts.compile import Row
from openknowledge.engine.facts.facts import Facts
from openknowledge.engine.facts.relations import DOCUMENT_RELATIONS, Column, Pattern, Relation
from openknowledge.engine.facts.terms import (
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATETIME,
    XSD_DOUBLE,
    XSD_INTEGER,
    XSD_STRING,
    Node,
    Triple,
    expand,
    minted,
    nquads_line,
)

if TYPE_CHECKING:
    from openknowledge.schemas.common import Revision
    from openknowledge.schemas.rdf import RdfDataset

RdfFormat = Literal["nquads", "turtle", "trig", "jsonld", "ntriples", "json"]
RDF_FORMATS: tuple[RdfFormat, ...] = ("nquads", "turtle", "trig", "jsonld", "ntriples", "json")

_IRI_FORBIDDEN = frozenset('<>"{}|^`\\ ')


def is_absolute_iri(text: str) -> bool:
    """Whether ``text`` is an absolute ``http``, ``https`` or ``urn`` IRI that RDF can hold."""
    return text.startswith(("http://", "https://", "urn:")) and not any(
        character in _IRI_FORBIDDEN or character < "!" or character == "\x7f" for character in text
    )


class Renderer:
    """Turns the values of facts into RDF terms for one bundle."""

    def __init__(self, bundle: Bundle, expand_term: Callable[[str], str] | None = None) -> None:
        """``expand_term`` gives the IRI of a claim's id or another term; without it terms stay strings."""
        self.bundle = bundle
        self._expand_term = expand_term
        revision = bundle.index_sha256
        self.document_iri = cache(lambda name: minted(revision, "document", self._document_path(name)))
        self._section_iri = cache(lambda name: minted(revision, "section", name))
        self._actor_iri = cache(lambda name: minted(revision, "actor", name))

    def _document_path(self, name: str) -> str:
        """Return the path of the page with id ``name``, or the path it would have."""
        page = self.bundle.by_id.get(name)
        if page is not None:
            return page.path
        return name if self.bundle.resolver.has(name) else name + ".md"

    def iri_of_document(self, path: str) -> str:
        """Return the IRI of the page at ``path``."""
        return minted(self.bundle.index_sha256, "document", path)

    def node(self, column: Column, value: str | float) -> Node:
        """Return the RDF term of ``value`` in ``column``."""
        kind = column.kind
        if isinstance(value, int | float):
            return ("literal", str(value), XSD_INTEGER if isinstance(value, int) else XSD_DOUBLE, "")
        if kind == "document":
            return ("iri", self.document_iri(value), "", "")
        if kind == "section":
            return ("iri", self._section_iri(value), "", "")
        if kind == "actor":
            return ("iri", self._actor_iri(value), "", "")
        if kind in ("claim", "term") and self._expand_term is not None and (iri := self._expand_term(value)):
            return ("iri", iri, "", "")
        if kind == "boolean":
            return ("literal", value, XSD_BOOLEAN, "")
        if kind == "time":
            return ("literal", value, _temporal_datatype(value), "")
        if kind == "resource" and is_absolute_iri(value):
            return ("iri", value, "", "")
        return ("literal", value, XSD_STRING, "")

    def triples(self, relation: Relation, rows: Iterable[Row]) -> Iterator[Triple]:
        """Return the triples that the patterns of ``relation`` give for its ``rows``."""
        makers = [self._maker(relation, pattern) for pattern in relation.rdf]
        for row in rows:
            for make in makers:
                triple = make(row)
                if triple is not None:
                    yield triple

    def _maker(self, relation: Relation, pattern: Pattern) -> Callable[[Row], Triple | None]:
        places = {column.name: index for index, column in enumerate(relation.columns)}
        predicate = expand(pattern.predicate)
        subject_at = places[pattern.subject]
        subject_column = relation.columns[subject_at]
        node = self.node
        if pattern.object.startswith("<"):
            constant: Node = ("iri", expand(pattern.object[1:-1]), "", "")
            return lambda row: (node(subject_column, row[subject_at])[1], predicate, *constant)
        at = places[pattern.object.removeprefix("=")]
        column = relation.columns[at]
        if pattern.object.startswith("="):
            return lambda row: (
                node(subject_column, row[subject_at])[1],
                predicate,
                "literal",
                str(row[at]),
                XSD_STRING,
                "",
            )
        optional = pattern.optional
        return lambda row: (
            None
            if optional and row[at] == ""
            else (node(subject_column, row[subject_at])[1], predicate, *node(column, row[at]))
        )


def _temporal_datatype(text: str) -> str:
    if parse_instant(text) is not None:
        return XSD_DATETIME
    return XSD_DATE if parse_date(text) is not None else XSD_STRING


def document_triples(facts: Facts) -> Iterator[Triple]:
    """Return the triples of every document relation, with repetitions."""
    renderer = Renderer(facts.bundle)
    for relation in DOCUMENT_RELATIONS:
        if relation.rdf:
            yield from renderer.triples(relation, facts.rows(relation.name))


def write_nquads(triples: Iterable[Triple], graph: str) -> bytes:
    """Return ``triples`` (in their order) as N-Quads in the named ``graph``."""
    return "".join([nquads_line(triple, graph) for triple in triples]).encode()


def dataset_json(triples: Iterable[Triple], graph: str, root: str, revision: Revision) -> RdfDataset:
    """Return ``triples`` as the JSON dataset."""
    from openknowledge.schemas.rdf import RdfObject, RdfQuad

    quads: list[RdfQuad] = []
    for subject, predicate, kind, value, datatype, language in triples:
        node: RdfObject = {"type": kind, "value": value}
        if datatype:
            node["datatype"] = datatype
        if language:
            node["language"] = language
        quads.append({"subject": subject, "predicate": predicate, "object": node, "graph": graph})
    return {
        "schemaVersion": "1",
        "root": root,
        "revision": revision,
        "graphIri": graph,
        "quads": quads,
    }


def serialize(
    triples: Iterable[Triple], graph: str, rdf_format: RdfFormat, prefixes: Mapping[str, str]
) -> bytes:
    """Return ``triples`` in an RDF syntax. N-Quads come in the order given; the others group by subject.

    Raises ``UsageError`` for a format that is no RDF syntax.
    """
    if rdf_format == "nquads":
        return write_nquads(triples, graph)
    import pyoxigraph

    syntaxes = {
        "turtle": pyoxigraph.RdfFormat.TURTLE,
        "ntriples": pyoxigraph.RdfFormat.N_TRIPLES,
        "trig": pyoxigraph.RdfFormat.TRIG,
        "jsonld": pyoxigraph.RdfFormat.JSON_LD,
    }
    if rdf_format not in syntaxes:
        raise UsageError(f"unknown RDF format {rdf_format!r}; choose one of {', '.join(RDF_FORMATS)}")
    syntax = syntaxes[rdf_format]
    quads = pyoxigraph.parse(write_nquads(triples, graph), format=pyoxigraph.RdfFormat.N_QUADS)
    if syntax.supports_datasets:
        result = pyoxigraph.serialize(quads, format=syntax, prefixes=dict(prefixes))
    else:
        found = (quad.triple for quad in quads)
        result = pyoxigraph.serialize(found, format=syntax, prefixes=dict(prefixes))
    return result or b""
