"""The JSON of a hybrid query: one ranking over text, graph and rules."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from openknowledge.schemas.common import Policy, Provenance, Revision
from openknowledge.schemas.search import SearchResult
from typing_extensions import TypedDict

RouteName = Literal["bm25", "vector", "section-focus", "sparql", "datalog"]
ComponentRoute = Literal[
    "bm25", "vector", "section-focus", "sparql", "datalog", "sparql-source", "datalog-source"
]


class HybridDatalog(TypedDict):
    """The rules part of a hybrid query."""

    query: str
    rules: NotRequired[str]
    ruleProfile: NotRequired[str]


class HybridFilters(TypedDict):
    """What restricts the text route."""

    types: NotRequired[list[str]]
    tags: NotRequired[list[str]]


class HybridQuery(TypedDict):
    """What was asked."""

    text: NotRequired[str]
    sparql: NotRequired[str]
    datalog: NotRequired[HybridDatalog]
    limit: NotRequired[int]
    filters: HybridFilters


class HybridRoute(TypedDict):
    """A route that was taken, and why."""

    name: RouteName
    reason: str


class Fusion(TypedDict):
    """How the routes' rankings were put together."""

    method: Literal["rrf"]
    rankConstant: int


class Component(TypedDict):
    """What one rank in one route adds to a score."""

    route: ComponentRoute
    rank: int
    rawScore: NotRequired[float]
    rrfScore: float


class HybridResult(TypedDict):
    """One answer: a section, a row of the graph, or a fact with its proof."""

    kind: Literal["retrieved-text", "asserted-fact", "derived-fact"]
    key: str
    score: float
    components: list[Component]
    text: NotRequired[SearchResult]
    sparql: NotRequired[dict[str, Any]]
    datalog: NotRequired[dict[str, Any]]
    sources: list[Provenance]


class Rejection(TypedDict):
    """What a policy kept out of the answer."""

    route: Literal["access-policy", "lifecycle-policy"]
    reason: str
    count: int


class HybridAnswer(TypedDict):
    """The answer to a hybrid query over one revision of a bundle."""

    schemaVersion: str
    root: str
    revision: Revision
    query: HybridQuery
    routes: list[HybridRoute]
    fusion: Fusion
    results: list[HybridResult]
    rejections: list[Rejection]
    policy: NotRequired[Policy]
