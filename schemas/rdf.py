"""Shapes of the RDF export."""

from __future__ import annotations

from typing import NotRequired

from openknowledge.schemas.common import Revision
from typing_extensions import TypedDict


class RdfObject(TypedDict):
    """An object term: ``iri`` or ``literal``."""

    type: str
    value: str
    datatype: NotRequired[str]
    language: NotRequired[str]


class RdfQuad(TypedDict):
    """One statement in its named graph."""

    subject: str
    predicate: str
    object: RdfObject
    graph: str


class RdfDataset(TypedDict):
    """The JSON dataset of a bundle."""

    schemaVersion: str
    root: str
    revision: Revision
    graphIri: str
    quads: list[RdfQuad]
