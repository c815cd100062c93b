"""Checks that the sources retrieved for questions are those expected, and may be relied on.

With a base revision it says what got better or worse since, and which questions the changes touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openknowledge.engine.analysis.eval_dataset import Question, SourcesDataset
from openknowledge.engine.analysis.eval_retrieval import SCHEMA_VERSION, identity_json, target_json
from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.okf import TRUST_TIERS
from openknowledge.engine.search.index import SearchIndex
from openknowledge.engine.search.packing import pack_context

if TYPE_CHECKING:
    from openknowledge.schemas.evaluation import (
        Affected,
        AffectedQuestion,
        Check,
        Comparison,
        Outcome,
        SourcesCase,
        SourcesReport,
    )
    from openknowledge.schemas.search import ContextResult, ContextSource

GateName = Literal["all", "regressions"]
GATES: tuple[GateName, ...] = ("all", "regressions")


@dataclass(frozen=True, slots=True)
class Base:
    """An earlier revision to compare with, and how it was named."""

    name: str
    index: SearchIndex


def run_sources(
    index: SearchIndex, dataset: SourcesDataset, *, base: Base | None = None, gate: GateName = "all"
) -> SourcesReport:
    """Run every question of ``dataset``, and again on ``base`` where that is given.

    The status is ``fail`` when a case fails, or, with the gate ``regressions``, when one got worse.
    """
    cases: list[SourcesCase] = []
    earlier: list[SourcesCase] = []
    for question in dataset.cases:
        case = run_question(index, question)
        if base is not None:
            before = run_question(base.index, question)
            case["outcome"] = _outcome(before["status"], case["status"])
            earlier.append(before)
        cases.append(case)
    failed = sum(case["status"] == "fail" for case in cases)
    regressed = sum(case.get("outcome") == "regressed" for case in cases)
    counted = failed if gate == "all" else regressed
    report: SourcesReport = {
        "schemaVersion": SCHEMA_VERSION,
        "dataset": identity_json(dataset.identity),
        "target": target_json(index),
        "cases": cases,
        "summary": {
            "status": "fail" if counted else "pass",
            "gate": gate,
            "total": len(cases),
            "passed": len(cases) - failed,
            "failed": failed,
        },
    }
    if base is not None:
        report["comparison"] = _compare(index.bundle, base, dataset, cases, earlier)
        report["summary"]["improved"] = sum(case.get("outcome") == "improved" for case in cases)
        report["summary"]["regressed"] = regressed
    return report


def run_question(index: SearchIndex, question: Question) -> SourcesCase:
    """Retrieve the context for ``question`` and check it."""
    packet = pack_context(
        index, question.question, budget=question.budget, limit=question.limit, no_expand=question.no_expand
    )
    checks = check_packet(index.bundle, question, packet)
    return {
        "id": question.id,
        "question": question.question,
        "agents": list(question.agents),
        "status": "fail" if any(check["status"] == "fail" for check in checks) else "pass",
        "estimatedTokens": packet["estimatedTokens"],
        "checks": checks,
        "sources": [
            {
                "id": source["id"],
                "path": source["path"],
                "locator": source["locator"],
                "trustTier": source["trustTier"],
                "status": source["status"],
                "stale": source["stale"],
            }
            for source in packet["sources"]
        ],
    }


def check_packet(bundle: Bundle, question: Question, packet: ContextResult) -> list[Check]:
    """Return each expectation of ``question`` with whether ``packet`` meets it."""
    expect = question.expect
    sources = packet["sources"]
    markdown = "\n".join(source["markdown"] for source in sources).casefold()
    checks: list[Check] = []

    def check(expectation: str, failures: Sequence[str], met: str) -> None:
        message = "; ".join(failures) if failures else met
        checks.append(
            {"expectation": expectation, "status": "fail" if failures else "pass", "message": message}
        )

    if expect.sources:
        missing = [wanted for wanted in expect.sources if not _is_retrieved(bundle, wanted, sources)]
        check("sources", [f"{wanted} was not retrieved" for wanted in missing], "all were retrieved")
    if expect.evidence_contains:
        missing = [text for text in expect.evidence_contains if text.casefold() not in markdown]
        check("evidence_contains", [f"{text!r} is not in the sources" for text in missing], "all were found")
    if expect.evidence_excludes:
        present = [text for text in expect.evidence_excludes if text.casefold() in markdown]
        check("evidence_excludes", [f"{text!r} is in the sources" for text in present], "none was found")
    if expect.min_sources is not None:
        short = len(sources) < expect.min_sources
        found = f"{len(sources)} retrieved"
        check("min_sources", [f"{found}, {expect.min_sources} wanted"] if short else [], found)
    for name, signals in _signals(bundle, question, sources):
        check(name, signals, "holds for every source" if sources else "no source was selected")
    return checks


def _signals(
    bundle: Bundle, question: Question, sources: Sequence[ContextSource]
) -> Iterable[tuple[str, list[str]]]:
    """Yield each expectation about every selected source, with the sources that do not meet it."""
    expect = question.expect
    if expect.minimum_trust is not None:
        least = TRUST_TIERS.index(expect.minimum_trust)
        yield (
            "minimum_trust",
            [
                f"{source['id']} is {source['trustTier']}"
                for source in sources
                if TRUST_TIERS.index(source["trustTier"]) < least
            ],
        )
    if expect.allow_stale is not None:
        stale = [source for source in sources if source["stale"] and not expect.allow_stale]
        yield "allow_stale", [f"{source['id']} is stale" for source in stale]
    if expect.allowed_statuses:
        other = [source for source in sources if source["status"] not in expect.allowed_statuses]
        yield "allowed_statuses", [f"{source['id']} is {source['status']}" for source in other]
    if expect.require_sources is not None:
        bare = [
            source
            for source in sources
            if expect.require_sources and not bundle.by_path[source["path"]].metadata.sources
        ]
        yield "require_sources", [f"{source['id']} names no sources" for source in bare]


def _is_retrieved(bundle: Bundle, wanted: str, sources: Sequence[ContextSource]) -> bool:
    path, _, anchor = wanted.partition("#")
    path = path.lstrip("/")
    for source in sources:
        if source["path"] != path:
            continue
        if not anchor:
            return True
        section = next(
            (section for section in bundle.by_path[path].sections if section.id == source["id"]), None
        )
        if section is not None and anchor in section.anchors:
            return True
    return False


def _outcome(before: str, after: str) -> Outcome:
    if before == after:
        return "unchanged_pass" if after == "pass" else "unchanged_fail"
    return "improved" if after == "pass" else "regressed"


def changed_paths(before: Bundle, after: Bundle) -> list[str]:
    """Return the pages that were added, removed or changed, sorted."""
    old = {document.path: document.data for document in before.documents}
    new = {document.path: document.data for document in after.documents}
    return sorted(path for path in {*old, *new} if old.get(path) != new.get(path))


def _compare(
    after: Bundle,
    base: Base,
    dataset: SourcesDataset,
    cases: Sequence[SourcesCase],
    earlier: Sequence[SourcesCase],
) -> Comparison:
    before = base.index.bundle
    changed = changed_paths(before, after)
    covered: set[str] = set()
    affected: list[AffectedQuestion] = []
    agents: set[str] = set()
    for question, case, old in zip(dataset.cases, cases, earlier, strict=True):
        expected = {wanted.partition("#")[0].lstrip("/") for wanted in question.expect.sources}
        seen = expected | {source["path"] for run in (case, old) for source in run["sources"]}
        covered |= seen
        reasons: list[Affected] = []
        if seen.intersection(changed):
            reasons.append("source_changed")
        if [source["id"] for source in case["sources"]] != [source["id"] for source in old["sources"]]:
            reasons.append("retrieval_changed")
        if case["status"] != old["status"]:
            reasons.append("outcome_changed")
        if reasons:
            affected.append({"id": case["id"], "reasons": reasons})
            agents.update(question.agents)
    return {
        "base": base.name,
        "revision": {"specVersion": before.spec, "indexSha256": before.index_sha256},
        "changedPaths": changed,
        "affectedQuestions": affected,
        "affectedAgents": sorted(agents),
        "uncoveredPaths": [path for path in changed if path not in covered],
    }
