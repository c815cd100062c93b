from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openknowledge.engine.analysis.eval_dataset import (
    Gate,
    Identity,
    Judgment,
    RetrievalDataset,
    RetrievalQuery,
    read_dataset,
)
from openknowledge.engine.analysis.eval_retrieval import (
    document_grades,
    figures,
    run_retrieval,
    section_grades,
)
from openknowledge.engine.bundle.bundle import Bundle, bundle_from_files, read_bundle
from openknowledge.engine.search.corpus import key_of
from openknowledge.engine.search.embeddings import EmbeddingModel
from openknowledge.engine.search.index import SearchIndex

CORPORA = Path(__file__).resolve().parents[3] / "corpora"
FILES = {
    "keys.md": (
        "# Keys\n\nA key.\n\n## Rotation\n\nRotate it.\n\n#### Emergency\n\nNow.\n\n"
        "## Notes\n\nOne.\n\n## Notes\n\nTwo.\n"
    ),
    "tokens.md": "# Tokens\n\nA token.\n",
}


def bundle() -> Bundle:
    return bundle_from_files(Path("/b"), [(path, text.encode()) for path, text in FILES.items()])


def dataset(*judgments: Judgment, query: str = "rotate key", gates: Sequence[Gate] = ()) -> RetrievalDataset:
    case = RetrievalQuery("one", "how-to", query, judgments)
    return RetrievalDataset(Identity("t", "d", "d.yaml", "0"), (1, 5), (case,), tuple(gates))


def test_figures_are_the_documented_ones() -> None:
    found = figures([0, 3, 1], [3, 2, 1], (1, 3))
    assert found.mrr == 0.5
    assert found.recall == (0.0, 2 / 3)
    gain = 7 / math.log2(3) + 1 / math.log2(4)
    ideal = 7 / math.log2(2) + 3 / math.log2(3) + 1 / math.log2(4)
    assert found.ndcg == (0.0, pytest.approx(gain / ideal))


grades = st.lists(st.integers(1, 3), min_size=1, max_size=6)


@given(grades)
def test_the_best_order_has_the_best_figures(judged: list[int]) -> None:
    found = figures(sorted(judged, reverse=True), judged, (6,))
    assert found.mrr == 1.0
    assert found.recall == (1.0,)
    assert found.ndcg == (pytest.approx(1.0),)


@given(grades, st.lists(st.integers(0, 3), max_size=8))
def test_figures_stay_within_0_and_1_when_each_judgment_is_met_once(
    judged: list[int], drawn: list[int]
) -> None:
    left = list(judged)
    found = []
    for grade in drawn:
        if grade in left:
            left.remove(grade)
            found.append(grade)
        else:
            found.append(0)
    result = figures(found, judged, (1, 5))
    for value in (result.mrr, *result.recall, *result.ndcg):
        assert 0.0 <= value <= 1.0 + 1e-12


def sections(*names: str) -> list[Any]:
    by_id = {section.id: section for section in bundle().sections}
    return [by_id[name] for name in names]


def test_a_judgment_names_a_section_by_its_heading() -> None:
    assert section_grades([Judgment("keys.md", "Rotation", 3)], sections("keys#keys", "keys#rotation")) == [
        0,
        3,
    ]


def test_a_lower_heading_is_in_the_section_that_holds_it() -> None:
    assert section_grades([Judgment("keys.md", "Emergency", 2)], sections("keys#rotation")) == [2]


def test_each_judgment_is_met_once() -> None:
    judged = [Judgment("keys.md", "Notes", 2)]
    assert section_grades(judged, sections("keys#notes-2", "keys#notes")) == [2, 0]


def test_a_judgment_about_a_page_is_met_by_its_first_section_that_is_not_judged_itself() -> None:
    judged = [Judgment("keys.md", "", 1), Judgment("keys.md", "Rotation", 3)]
    found = section_grades(judged, sections("keys#rotation", "tokens#tokens", "keys#keys", "keys#notes"))
    assert found == [3, 0, 1, 0]


def test_a_page_has_its_highest_grade_and_comes_once() -> None:
    judged = [Judgment("keys.md", "Keys", 1), Judgment("keys.md", "Rotation", 3)]
    ranked = sections("tokens#tokens", "keys#keys", "keys#rotation")
    assert document_grades(judged, ranked) == ([0, 3], [3])


def test_the_report_has_systems_categories_and_cases() -> None:
    report = run_retrieval(
        SearchIndex(bundle()), dataset(Judgment("keys.md", "Rotation", 3)), timer=lambda: 0.0
    )
    (system,) = report["systems"]
    assert system["name"] == "local-hash"
    assert system["model"]["id"] == "hashed-word-trigram"
    assert system["section"] == {
        "queries": 1,
        "mrr": 1.0,
        "cutoffs": [{"k": 1, "recall": 1.0, "ndcg": 1.0}, {"k": 5, "recall": 1.0, "ndcg": 1.0}],
    }
    assert [category["category"] for category in system["categories"]] == ["how-to"]
    first = system["cases"][0]["results"][0]
    assert (first["rank"], first["heading"], first["relevance"]) == (1, "Rotation", 3)
    assert len(system["cases"][0]["results"]) <= 5
    assert report["summary"] == {"status": "pass", "total": 0, "passed": 0, "failed": 0, "skipped": 0}


def test_a_run_is_the_same_every_time() -> None:
    asked = dataset(Judgment("keys.md", "Rotation", 3))
    reports = [run_retrieval(SearchIndex(bundle()), asked, timer=lambda: 0.0) for _ in range(2)]
    assert reports[0] == reports[1]


def gate(system: str, minimum: float, metric: str = "ndcg") -> Gate:
    return Gate(f"g-{system}-{minimum}", system, "section", metric, 0 if metric == "mrr" else 5, minimum)


def test_gates_pass_fail_or_are_skipped_with_a_reason() -> None:
    gates = [
        gate("local-hash", 1.0),
        gate("all", 0.5, "mrr"),
        gate("embedding", 0.1),
        gate("embedding-delta", 0),
    ]
    report = run_retrieval(SearchIndex(bundle()), dataset(Judgment("keys.md", "Rotation", 3), gates=gates))
    assert [found["status"] for found in report["gates"]] == ["pass", "pass", "skipped", "skipped"]
    assert report["gates"][2]["reason"] == "no embedding service was given"
    assert report["summary"] == {"status": "pass", "total": 4, "passed": 2, "failed": 0, "skipped": 2}
    missed = run_retrieval(
        SearchIndex(bundle()), dataset(Judgment("tokens.md", "Tokens", 3), query="rotate", gates=gates[:1])
    )
    assert missed["gates"][0]["actual"] == 0.0
    assert missed["summary"]["status"] == "fail"


class Clairvoyant:
    """A vector route that finds one page."""

    model = EmbeddingModel("p", "m", "r", 2)
    reason = "test"

    def nearest(self, query: str, count: int, allowed: Sequence[bool] | None) -> dict[int, float]:
        return {key_of(1, 0): 1.0}


def test_an_embedding_system_is_measured_beside_the_local_one() -> None:
    asked = dataset(
        Judgment("tokens.md", "Tokens", 3),
        query="qqqq",
        gates=[gate("embedding-delta", 1.0), gate("all", 0.5)],
    )
    report = run_retrieval(SearchIndex(bundle()), asked, embedding=Clairvoyant())
    assert [system["name"] for system in report["systems"]] == ["local-hash", "embedding"]
    results = [(found["system"], found["status"], found["actual"]) for found in report["gates"]]
    assert results == [
        ("embedding-delta", "pass", 1.0),
        ("local-hash", "fail", 0.0),
        ("embedding", "pass", 1.0),
    ]


def test_judgments_about_what_is_not_there_are_named() -> None:
    judged = [Judgment("keys.md", "Rotation", 3), Judgment("keys.md", "Nowhere", 1), Judgment("x.md", "", 1)]
    report = run_retrieval(SearchIndex(bundle()), dataset(*judged))
    assert report["unknownJudgments"] == [
        {"case": "one", "path": "keys.md", "heading": "Nowhere"},
        {"case": "one", "path": "x.md"},
    ]


@pytest.mark.parametrize("name", ["http", "identity"])
def test_the_judged_questions_of_our_samples_are_answered_better_than_by_plain_bm25(name: str) -> None:
    import bm25s

    path = CORPORA / "eval" / f"{name}-retrieval-dev.yaml"
    asked = read_dataset(path)
    assert isinstance(asked, RetrievalDataset)
    found = read_bundle(CORPORA / name)
    report = run_retrieval(SearchIndex(found), asked)
    assert "unknownJudgments" not in report
    ours = {item["k"]: item for item in report["systems"][0]["section"]["cutoffs"]}
    every = list(found.sections)
    plain = bm25s.BM25()
    plain.index(bm25s.tokenize([s.text for s in every], show_progress=False), show_progress=False)
    ndcg = recall = 0.0
    for case in asked.cases:
        tokens = bm25s.tokenize([case.query], show_progress=False)
        numbers, scores = plain.retrieve(tokens, k=10, show_progress=False)
        ranked = [every[at] for at, score in zip(numbers[0], scores[0], strict=True) if score > 0]
        grades = section_grades(case.judgments, ranked)
        result = figures(grades, [judgment.relevance for judgment in case.judgments], (5, 10))
        recall += result.recall[0] / len(asked.cases)
        ndcg += result.ndcg[1] / len(asked.cases)
    assert ours[10]["ndcg"] >= ndcg + 0.1
    assert ours[5]["recall"] >= recall + 0.1
