"""The JSON reports of evaluations."""

from __future__ import annotations

from typing import Literal, NotRequired

from openknowledge.schemas.common import Revision
from typing_extensions import TypedDict

Status = Literal["pass", "fail"]
Outcome = Literal["improved", "regressed", "unchanged_pass", "unchanged_fail"]
Affected = Literal["source_changed", "retrieval_changed", "outcome_changed"]


class DatasetIdentity(TypedDict):
    """Which dataset was run."""

    type: str
    version: int
    id: str
    path: str
    sha256: str


class Target(TypedDict):
    """Which bundle it was run on."""

    root: str
    revision: Revision


class CutoffFigures(TypedDict):
    """Recall and nDCG among the first ``k`` results."""

    k: int
    recall: float
    ndcg: float


class RankingSummary(TypedDict):
    """Means over queries; for one case, its own figures."""

    queries: int
    mrr: float
    cutoffs: list[CutoffFigures]


class JudgedResult(TypedDict):
    """One retrieved section with its grade; 0 for one that is not judged."""

    rank: int
    path: str
    heading: NotRequired[str]
    score: float
    relevance: int


class RetrievalCase(TypedDict):
    """One query of a retrieval evaluation."""

    id: str
    category: str
    query: str
    section: RankingSummary
    document: RankingSummary
    results: list[JudgedResult]
    queryDurationMs: float


class CategorySummary(TypedDict):
    """The figures of one category."""

    category: str
    section: RankingSummary
    document: RankingSummary


class VectorModel(TypedDict):
    """The model of a system's vector route."""

    provider: str
    id: str
    revision: str
    dimensions: int
    metric: str


class RetrievalSystem(TypedDict):
    """One way of searching, measured."""

    name: Literal["local-hash", "embedding"]
    model: VectorModel
    indexDurationMs: float
    queryDurationMs: float
    section: RankingSummary
    document: RankingSummary
    categories: list[CategorySummary]
    cases: list[RetrievalCase]


class GateResult(TypedDict):
    """A minimum and whether it was reached."""

    id: str
    system: str
    level: Literal["section", "document"]
    metric: Literal["mrr", "recall", "ndcg"]
    cutoff: NotRequired[int]
    minimum: float
    actual: NotRequired[float]
    status: Literal["pass", "fail", "skipped"]
    reason: NotRequired[str]


class GateSummary(TypedDict):
    """How the gates went. Without gates, the status is ``pass``."""

    status: Status
    total: int
    passed: int
    failed: int
    skipped: int


class UnknownJudgment(TypedDict):
    """A judgment about a page or section that the bundle does not have: it can never be retrieved."""

    case: str
    path: str
    heading: NotRequired[str]


class RetrievalReport(TypedDict):
    """The result of a retrieval evaluation."""

    schemaVersion: str
    dataset: DatasetIdentity
    target: Target
    systems: list[RetrievalSystem]
    gates: list[GateResult]
    unknownJudgments: NotRequired[list[UnknownJudgment]]
    summary: GateSummary


class Check(TypedDict):
    """One expectation of a case and what was found."""

    expectation: str
    status: Status
    message: str


class SelectedSource(TypedDict):
    """A source that was retrieved for a case."""

    id: str
    path: str
    locator: str
    trustTier: str
    status: str
    stale: bool


class SourcesCase(TypedDict):
    """One question of a sources evaluation. ``outcome`` compares with the base revision."""

    id: str
    question: str
    agents: list[str]
    status: Status
    outcome: NotRequired[Outcome]
    estimatedTokens: int
    checks: list[Check]
    sources: list[SelectedSource]


class AffectedQuestion(TypedDict):
    """A question that the changes between the two revisions touch, and how."""

    id: str
    reasons: list[Affected]


class Comparison(TypedDict):
    """What changed since the base revision, as far as the dataset's questions see it."""

    base: str
    revision: Revision
    changedPaths: list[str]
    affectedQuestions: list[AffectedQuestion]
    affectedAgents: list[str]
    uncoveredPaths: list[str]


class SourcesSummary(TypedDict):
    """How the cases went, judged by ``gate``."""

    status: Status
    gate: Literal["all", "regressions"]
    total: int
    passed: int
    failed: int
    improved: NotRequired[int]
    regressed: NotRequired[int]


class SourcesReport(TypedDict):
    """The result of a sources and policy evaluation."""

    schemaVersion: str
    dataset: DatasetIdentity
    target: Target
    cases: list[SourcesCase]
    comparison: NotRequired[Comparison]
    summary: SourcesSummary
