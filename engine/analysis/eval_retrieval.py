"""Measures rankings against judged queries: mean reciprocal rank, recall and nDCG at cutoffs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openknowledge.engine.analysis.eval_dataset import Gate, Identity, Judgment, RetrievalDataset
from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.bundle.slugs import slug
from openknowledge.engine.search.embeddings import LOCAL_MODEL
from openknowledge.engine.search.index import SearchIndex

if TYPE_CHECKING:
    from openknowledge.engine.search.routes import VectorRoute
    from openknowledge.schemas.evaluation import (
        CategorySummary,
        DatasetIdentity,
        GateResult,
        JudgedResult,
        RankingSummary,
        RetrievalCase,
        RetrievalReport,
        RetrievalSystem,
        Target,
        UnknownJudgment,
    )

SCHEMA_VERSION = "1"
DOCUMENT_DEPTH = 5  # sections looked at for each page wanted
Timer = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one query, or means of several: recall and nDCG by cutoff."""

    mrr: float
    recall: tuple[float, ...]
    ndcg: tuple[float, ...]


def figures(found: Sequence[int], judged: Sequence[int], cutoffs: Sequence[int]) -> Figures:
    """Return the figures of one ranking.

    ``found`` are the grades of the results in order, 0 for those not judged; ``judged`` are the grades of
    everything that should be found. Gain is 2^grade - 1, discount log2(rank + 1).
    """
    first = next((1.0 / rank for rank, grade in enumerate(found, start=1) if grade), 0.0)
    ideal = sorted(judged, reverse=True)
    recall, ndcg = [], []
    for cutoff in cutoffs:
        best = _gain(ideal[:cutoff])
        recall.append(sum(1 for grade in found[:cutoff] if grade) / len(judged) if judged else 0.0)
        ndcg.append(_gain(found[:cutoff]) / best if best else 0.0)
    return Figures(first, tuple(recall), tuple(ndcg))


def _gain(grades: Sequence[int]) -> float:
    return sum((2.0**grade - 1.0) / math.log2(rank + 1.0) for rank, grade in enumerate(grades, start=1))


def mean(each: Sequence[Figures], cutoffs: Sequence[int]) -> Figures:
    """Return the means; all 0 for none."""
    count = len(each) or 1
    return Figures(
        sum(one.mrr for one in each) / count,
        tuple(sum(one.recall[at] for one in each) / count for at in range(len(cutoffs))),
        tuple(sum(one.ndcg[at] for one in each) / count for at in range(len(cutoffs))),
    )


def _summary(each: Sequence[Figures], cutoffs: Sequence[int]) -> RankingSummary:
    total = mean(each, cutoffs)
    return {
        "queries": len(each),
        "mrr": round(total.mrr, 6),
        "cutoffs": [
            {"k": cutoff, "recall": round(total.recall[at], 6), "ndcg": round(total.ndcg[at], 6)}
            for at, cutoff in enumerate(cutoffs)
        ],
    }


def names_section(judgment: Judgment, section: Section) -> bool:
    """Whether ``judgment`` is about ``section``: by its heading, or one of level 4 to 6 inside it."""
    if judgment.path != section.path or not judgment.heading:
        return False
    return judgment.heading == section.heading or slug(judgment.heading) in section.anchors


def section_grades(judgments: Sequence[Judgment], sections: Sequence[Section]) -> list[int]:
    """Return the grade of each ranked section. Each judgment is met once, by the first section it is about.

    A judgment about a page is met by the page's first section that no other judgment is about.
    """
    open_judgments = list(judgments)
    grades = []
    for section in sections:
        met = next((judgment for judgment in open_judgments if names_section(judgment, section)), None)
        if met is None and not any(names_section(judgment, section) for judgment in judgments):
            met = next(
                (
                    judgment
                    for judgment in open_judgments
                    if not judgment.heading and judgment.path == section.path
                ),
                None,
            )
        if met is not None:
            open_judgments.remove(met)
        grades.append(met.relevance if met else 0)
    return grades


def document_grades(
    judgments: Sequence[Judgment], sections: Sequence[Section]
) -> tuple[list[int], list[int]]:
    """Return the grades of the pages in the order of their best sections, and those of all judged pages.

    A page has the highest grade of its judgments.
    """
    judged: dict[str, int] = {}
    for judgment in judgments:
        judged[judgment.path] = max(judged.get(judgment.path, 0), judgment.relevance)
    pages = dict.fromkeys(section.path for section in sections)
    return [judged.get(path, 0) for path in pages], list(judged.values())


def run_retrieval(
    index: SearchIndex,
    dataset: RetrievalDataset,
    *,
    embedding: VectorRoute | None = None,
    timer: Timer = time.perf_counter,
) -> RetrievalReport:
    """Run every query of ``dataset``: with local vectors, and with ``embedding`` where that is given.

    Raises what the embedding service raises; there are no figures of half a run.
    """
    systems = [_run_system(index, dataset, "local-hash", None, timer)]
    if embedding is not None:
        systems.append(_run_system(index, dataset, "embedding", embedding, timer))
    gates = [result for gate in dataset.gates for result in _check_gate(gate, systems)]
    counts = {name: sum(gate["status"] == name for gate in gates) for name in ("pass", "fail", "skipped")}
    report: RetrievalReport = {
        "schemaVersion": SCHEMA_VERSION,
        "dataset": identity_json(dataset.identity),
        "target": target_json(index),
        "systems": systems,
        "gates": gates,
        "summary": {
            "status": "fail" if counts["fail"] else "pass",
            "total": len(gates),
            "passed": counts["pass"],
            "failed": counts["fail"],
            "skipped": counts["skipped"],
        },
    }
    if unknown := _unknown(index, dataset):
        report["unknownJudgments"] = unknown
    return report


def identity_json(identity: Identity) -> DatasetIdentity:
    """Return which dataset a report is about."""
    return {
        "type": identity.type,
        "version": identity.version,
        "id": identity.id,
        "path": identity.path,
        "sha256": identity.sha256,
    }


def target_json(index: SearchIndex) -> Target:
    """Return which bundle a report is about."""
    bundle = index.bundle
    return {
        "root": str(bundle.root),
        "revision": {"specVersion": bundle.spec, "indexSha256": bundle.index_sha256},
    }


def _run_system(
    index: SearchIndex,
    dataset: RetrievalDataset,
    name: Literal["local-hash", "embedding"],
    route: VectorRoute | None,
    timer: Timer,
) -> RetrievalSystem:
    cutoffs = dataset.cutoffs
    started = timer()
    index.prepare()
    model = LOCAL_MODEL if route is None else route.model
    if route is not None:
        route.nearest(dataset.cases[0].query, 1, None)
    indexed = timer()
    cases: list[RetrievalCase] = []
    each: list[tuple[str, Figures, Figures]] = []
    for case in dataset.cases:
        begun = timer()
        ranking, found = index.ranked(
            case.query, limit=cutoffs[-1] * DOCUMENT_DEPTH, no_expand=True, route=route
        )
        took = timer() - begun
        sections = [ranking.index.section(candidate.section) for candidate in found]
        grades = section_grades(case.judgments, sections)[: cutoffs[-1]]
        own = figures(grades, [judgment.relevance for judgment in case.judgments], cutoffs)
        page_grades, judged_pages = document_grades(case.judgments, sections)
        pages = figures(page_grades[: cutoffs[-1]], judged_pages, cutoffs)
        each.append((case.category, own, pages))
        results: list[JudgedResult] = [
            {
                "rank": rank,
                "path": section.path,
                "heading": section.heading,
                "score": candidate.score,
                "relevance": grade,
            }
            for rank, (candidate, section, grade) in enumerate(
                zip(found, sections, grades, strict=False), start=1
            )
        ]
        cases.append(
            {
                "id": case.id,
                "category": case.category,
                "query": case.query,
                "section": _summary([own], cutoffs),
                "document": _summary([pages], cutoffs),
                "results": results,
                "queryDurationMs": round(took * 1000.0, 3),
            }
        )
    categories: list[CategorySummary] = [
        {
            "category": category,
            "section": _summary([own for name_, own, _ in each if name_ == category], cutoffs),
            "document": _summary([pages for name_, _, pages in each if name_ == category], cutoffs),
        }
        for category in sorted({category for category, _, _ in each})
    ]
    return {
        "name": name,
        "model": {
            "provider": model.provider,
            "id": model.id,
            "revision": model.revision,
            "dimensions": model.dimensions,
            "metric": model.metric,
        },
        "indexDurationMs": round((indexed - started) * 1000.0, 3),
        "queryDurationMs": round(sum(case["queryDurationMs"] for case in cases), 3),
        "section": _summary([own for _, own, _ in each], cutoffs),
        "document": _summary([pages for _, _, pages in each], cutoffs),
        "categories": categories,
        "cases": cases,
    }


def _check_gate(gate: Gate, systems: Sequence[RetrievalSystem]) -> list[GateResult]:
    """Return the result of a gate; one for each system where it is for all."""
    by_name: dict[str, RetrievalSystem] = {system["name"]: system for system in systems}
    names = list(by_name) if gate.system == "all" else [gate.system]
    results = []
    for name in names:
        result: GateResult = {
            "id": gate.id,
            "system": name,
            "level": gate.level,  # type: ignore[typeddict-item]
            "metric": gate.metric,  # type: ignore[typeddict-item]
            "minimum": gate.minimum,
            "status": "skipped",
        }
        if gate.cutoff:
            result["cutoff"] = gate.cutoff
        actual = _actual(gate, name, by_name)
        if actual is None:
            result["reason"] = "no embedding service was given"
        else:
            result["actual"] = actual
            result["status"] = "pass" if actual >= gate.minimum else "fail"
        results.append(result)
    return results


def _actual(gate: Gate, name: str, by_name: Mapping[str, RetrievalSystem]) -> float | None:
    if name == "embedding-delta":
        if "embedding" not in by_name:
            return None
        return round(_figure(gate, by_name["embedding"]) - _figure(gate, by_name["local-hash"]), 6)
    return _figure(gate, by_name[name]) if name in by_name else None


def _figure(gate: Gate, system: RetrievalSystem) -> float:
    summary = system["section"] if gate.level == "section" else system["document"]
    if gate.metric == "mrr":
        return summary["mrr"]
    at = next(item for item in summary["cutoffs"] if item["k"] == gate.cutoff)
    return at["recall"] if gate.metric == "recall" else at["ndcg"]


def _unknown(index: SearchIndex, dataset: RetrievalDataset) -> list[UnknownJudgment]:
    pages = index.bundle.by_path
    unknown: list[UnknownJudgment] = []
    for case in dataset.cases:
        for judgment in case.judgments:
            page = pages.get(judgment.path)
            sections = page.sections if page else []
            if page and not judgment.heading:
                continue
            if any(names_section(judgment, section) for section in sections):
                continue
            entry: UnknownJudgment = {"case": case.id, "path": judgment.path}
            if judgment.heading:
                entry["heading"] = judgment.heading
            unknown.append(entry)
    return unknown
