"""The JSON result of a SPARQL query."""

from __future__ import annotations

from typing import Literal, NotRequired

from openknowledge.schemas.common import Policy, Provenance, Revision
from typing_extensions import TypedDict


class SparqlEngine(TypedDict):
    """The program that evaluated the query."""

    name: Literal["oxigraph"]
    version: str


class SparqlTerm(TypedDict):
    """An RDF term. A literal has a datatype or a language; a triple term's value is its text in N-Triples."""

    type: Literal["iri", "literal", "blank", "triple"]
    value: str
    datatype: NotRequired[str]
    language: NotRequired[str]
    direction: NotRequired[Literal["ltr", "rtl"]]


class SparqlBinding(TypedDict):
    """One row: the bound variables, and the provenance of the claims that contain their values."""

    values: dict[str, SparqlTerm]
    sources: list[Provenance]


class SparqlResult(TypedDict):
    """The answer to a SELECT or ASK query over one revision of a bundle."""

    schemaVersion: str
    root: str
    revision: Revision
    engine: SparqlEngine
    queryType: Literal["select", "ask"]
    variables: list[str]
    bindings: list[SparqlBinding]
    boolean: NotRequired[bool]
    truncated: bool
    policy: Policy
