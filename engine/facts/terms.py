"""The IRIs and literals of the RDF view: namespaces, minted IRIs, terms and their order."""

from __future__ import annotations

from collections.abc import Mapping

from openknowledge.engine.bundle.digests import path_escape

Node = tuple[str, str, str, str]
"""An object: kind (``iri``, ``literal``), value, datatype IRI, language; the last two may be empty."""
Triple = tuple[str, str, str, str, str, str]
"""Subject IRI, predicate IRI, then the four parts of the object. Tuples sort in the order of the export."""

NAMESPACES: Mapping[str, str] = {
    "dcterms": "http://purl.org/dc/terms/",
    "oa": "http://www.w3.org/ns/oa#",
    "okn": "https://openknowledge.dev/ns/",
    "prov": "http://www.w3.org/ns/prov#",
    "qudt": "http://qudt.org/schema/qudt/",
    "quantitykind": "http://qudt.org/vocab/quantitykind/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "https://schema.org/",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "time": "http://www.w3.org/2006/time#",
    "unit": "http://qudt.org/vocab/unit/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""The prefixes that every query may use. Bundles may declare more, but not redefine these."""

XSD_STRING = NAMESPACES["xsd"] + "string"
XSD_BOOLEAN = NAMESPACES["xsd"] + "boolean"
XSD_INTEGER = NAMESPACES["xsd"] + "integer"
XSD_DOUBLE = NAMESPACES["xsd"] + "double"
XSD_DATE = NAMESPACES["xsd"] + "date"
XSD_DATETIME = NAMESPACES["xsd"] + "dateTime"
RDF_TYPE = NAMESPACES["rdf"] + "type"

_MINTED = "https://openknowledge.dev/.well-known/semantic"


def expand(curie: str) -> str:
    """Return the IRI of a CURIE with a built-in prefix, such as ``dcterms:title``."""
    prefix, _, local = curie.partition(":")
    return NAMESPACES[prefix] + local


def minted(index_sha256: str, kind: str, key: str) -> str:
    """Return the IRI of something that has no IRI of its own, such as a page at one revision."""
    return f"{_MINTED}/{index_sha256}/{kind}/{path_escape(key)}"


def revision_graph(index_sha256: str) -> str:
    """Return the named graph that holds what the bundle asserts at this revision."""
    return f"urn:openknowledge:revision:{index_sha256}"


def derived_graph(index_sha256: str) -> str:
    """Return the named graph that holds what the built-in rules conclude at this revision."""
    return f"urn:openknowledge:derived:{index_sha256}"


_ESCAPES = {code: f"\\u{code:04X}" for code in [*range(0x20), 0x7F]} | {
    ord("\\"): "\\\\",
    ord('"'): '\\"',
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
}


def nquads_object(kind: str, value: str, datatype: str, language: str) -> str:
    """Return an object term in N-Quads syntax."""
    if kind == "iri":
        return f"<{value}>"
    if kind == "triple":
        return value
    text = f'"{value.translate(_ESCAPES)}"'
    if language:
        return f"{text}@{language}"
    return text if datatype == XSD_STRING else f"{text}^^<{datatype}>"


def nquads_line(triple: Triple, graph: str) -> str:
    """Return one N-Quads line with its line feed."""
    subject, predicate, *node = triple
    return f"<{subject}> <{predicate}> {nquads_object(*node)} <{graph}> .\n"
