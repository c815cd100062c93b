"""The document graph."""

from __future__ import annotations

from typing import Any, NotRequired

from openknowledge.schemas.common import Revision
from typing_extensions import TypedDict


class GraphNode(TypedDict):
    """A page."""

    id: str
    path: str
    kind: str
    title: str
    sections: int
    type: NotRequired[str]


class GraphEdge(TypedDict):
    """A dependency between two pages: ``link`` or ``source``, with how often it is stated."""

    source: str
    target: str
    kind: str
    count: int


class DocumentGraph(TypedDict):
    """The pages of a bundle and how they depend on each other."""

    schemaVersion: str
    root: str
    revision: Revision
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    broken: list[dict[str, Any]]
