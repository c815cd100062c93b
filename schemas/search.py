"""The JSON of search results and of context packets."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from openknowledge.schemas.common import Issue, Revision
from typing_extensions import TypedDict

Relation = Literal["direct", "document-context", "outgoing-link", "backlink"]


class TermContribution(TypedDict):
    """What one word or phrase of the query added to a section's lexical score."""

    term: str
    kind: Literal["exact", "prefix", "part", "compound", "fuzzy", "phrase"]
    forms: list[str]
    fields: list[str]
    idf: float
    section: float
    page: float


class Explanation(TypedDict):
    """Why a section ranks where it does. ``text`` says the same for people."""

    terms: list[TermContribution]
    missingTerms: list[str]
    sectionScore: float
    pageScore: float
    pageShare: float
    pageFactor: float
    vector: float
    routes: list[str]
    links: list[str]
    text: str


class SearchResult(TypedDict):
    """One section that was found. ``trustTier``, ``status`` and staleness are those of its page."""

    path: str
    id: str
    locator: str
    contentSha256: str
    kind: Literal["concept", "index", "log"]
    type: NotRequired[str]
    title: str
    description: NotRequired[str]
    heading: NotRequired[str]
    headingPath: NotRequired[list[str]]
    lineStart: NotRequired[int]
    lineEnd: NotRequired[int]
    estimatedTokens: NotRequired[int]
    snippet: NotRequired[str]
    highlightText: NotRequired[str]
    score: float
    lexicalScore: NotRequired[float]
    vectorScore: NotRequired[float]
    rerankScore: NotRequired[float]
    matches: NotRequired[list[str]]
    neighbor: NotRequired[bool]
    relation: NotRequired[Relation]
    trustTier: Literal["unverified", "machine-confirmed", "human-reviewed"]
    status: str
    stale: bool
    verificationOutdated: NotRequired[bool]
    claimProfile: NotRequired[dict[str, Any]]
    explain: NotRequired[Explanation]


class SearchResultSet(TypedDict):
    """The answer to a search over one revision of a bundle."""

    schemaVersion: str
    root: str
    revision: Revision
    query: str
    limit: int
    route: NotRequired[list[str]]
    results: list[SearchResult]
    issues: NotRequired[list[Issue]]


class ContextSource(TypedDict):
    """One source of a context packet. Locator and digest are of the whole section, even where it is cut."""

    id: str
    locator: str
    contentSha256: str
    path: str
    kind: Literal["concept", "index", "log"]
    type: NotRequired[str]
    title: str
    heading: str
    headingPath: NotRequired[list[str]]
    headingLevel: NotRequired[int]
    lineStart: int
    lineEnd: int
    score: float
    estimatedTokens: int
    relation: Relation
    markdown: str
    truncated: NotRequired[bool]
    trustTier: Literal["unverified", "machine-confirmed", "human-reviewed"]
    status: str
    stale: bool
    verificationOutdated: NotRequired[bool]
    claimProfile: NotRequired[dict[str, Any]]
    explain: NotRequired[Explanation]


class ContextResult(TypedDict):
    """Sections for a question, packed into a budget of tokens."""

    schemaVersion: str
    root: str
    revision: Revision
    query: str
    budget: int
    estimatedTokens: int
    limit: int
    route: NotRequired[list[str]]
    sources: list[ContextSource]
    issues: list[Issue]
