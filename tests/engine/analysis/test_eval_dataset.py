from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from openknowledge.engine import limits
from openknowledge.engine.analysis.eval_dataset import (
    DatasetError,
    RetrievalDataset,
    SourcesDataset,
    parse_dataset,
    read_dataset,
)
from openknowledge.engine.errors import OpenKnowledgeError

RETRIEVAL: dict[str, Any] = {
    "type": "openknowledge.retrieval-eval",
    "version": 1,
    "id": "demo",
    "cutoffs": [1, 5],
    "cases": [
        {
            "id": "one",
            "category": "how-to",
            "query": "rotate a key",
            "judgments": [{"path": "a.md", "heading": "Rotation", "relevance": 3}],
        }
    ],
    "gates": [
        {"id": "g", "system": "all", "level": "section", "metric": "ndcg", "cutoff": 5, "minimum": 0.5}
    ],
}
SOURCES: dict[str, Any] = {
    "type": "openknowledge.eval",
    "version": 1,
    "id": "demo",
    "cases": [{"id": "one", "question": "Rotate?", "expect": {"min_sources": 1}}],
}


def changed(base: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    copy = json.loads(json.dumps(base))
    at = copy
    for part in place[:-1]:
        at = at[part]
    if value is ...:
        del at[place[-1]]
    else:
        at[place[-1]] = value
    return dict(copy)


def read(value: Any, name: str = "d.yaml") -> RetrievalDataset | SourcesDataset:
    text = json.dumps(value) if name.endswith(".json") else yaml.safe_dump(value, sort_keys=False)
    return parse_dataset(text.encode(), name)


@pytest.mark.parametrize("name", ["d.yaml", "d.json"])
def test_a_retrieval_dataset_is_read(name: str) -> None:
    dataset = read(RETRIEVAL, name)
    assert isinstance(dataset, RetrievalDataset)
    assert dataset.cutoffs == (1, 5)
    assert dataset.cases[0].judgments[0].heading == "Rotation"
    assert (dataset.gates[0].metric, dataset.gates[0].cutoff) == ("ndcg", 5)


def test_defaults_apply_where_a_case_says_nothing() -> None:
    value = changed(SOURCES, ("defaults",), {"budget": 100})
    value["cases"].append(
        {
            "id": "two",
            "question": "x",
            "context": {"limit": 3, "no_expand": True},
            "expect": {"min_sources": 0},
        }
    )
    dataset = read(value)
    assert isinstance(dataset, SourcesDataset)
    first, second = dataset.cases
    assert (first.budget, first.limit, first.no_expand) == (100, 12, False)
    assert (second.budget, second.limit, second.no_expand) == (100, 3, True)


CASE = ("cases", 0)
JUDGMENT = ("cases", 0, "judgments", 0)


@pytest.mark.parametrize(
    ("base", "place", "value", "message"),
    [
        (RETRIEVAL, ("type",), "x", "type: must be"),
        (RETRIEVAL, ("version",), 2, "version: must be 1"),
        (RETRIEVAL, ("version",), True, "version: must be 1"),
        (RETRIEVAL, ("id",), "-x", "id: must be 1 to 128"),
        (RETRIEVAL, ("id",), "x" * 129, "id: must be 1 to 128"),
        (RETRIEVAL, ("extra",), 1, "extra: unknown field"),
        (RETRIEVAL, ("cases",), ..., "cases is missing"),
        (RETRIEVAL, ("cases",), [], "cases: must have 1 to"),
        (RETRIEVAL, ("cutoffs",), [], "cutoffs: must have 1 to 10"),
        (RETRIEVAL, ("cutoffs",), list(range(1, 12)), "cutoffs: must have 1 to 10"),
        (RETRIEVAL, ("cutoffs",), [5, 1], "cutoffs: must ascend"),
        (RETRIEVAL, ("cutoffs",), [1, 1], "cutoffs: must ascend"),
        (RETRIEVAL, ("cutoffs",), [0], "whole number from 1 to 100"),
        (RETRIEVAL, ("cutoffs",), [101], "whole number from 1 to 100"),
        (RETRIEVAL, (*CASE, "query"), " ", "not blank"),
        (RETRIEVAL, (*CASE, "query"), "x" * 4097, "at most 4096"),
        (RETRIEVAL, (*CASE, "judgments"), [], "must have 1 to"),
        (RETRIEVAL, (*JUDGMENT, "relevance"), 0, "from 1 to 3"),
        (RETRIEVAL, (*JUDGMENT, "relevance"), 4, "from 1 to 3"),
        (RETRIEVAL, (*JUDGMENT, "grade"), 1, "unknown field"),
        (RETRIEVAL, (*JUDGMENT, "heading"), "", "not blank"),
        (RETRIEVAL, ("gates", 0, "system"), "other", "must be one of all, local-hash"),
        (RETRIEVAL, ("gates", 0, "minimum"), 1.1, "from 0 to 1"),
        (RETRIEVAL, ("gates", 0, "minimum"), True, "from 0 to 1"),
        (RETRIEVAL, ("gates", 0, "cutoff"), 3, "one of the cutoffs"),
        (RETRIEVAL, ("gates", 0, "cutoff"), ..., "cutoff is missing"),
        (RETRIEVAL, ("gates", 0, "metric"), "mrr", "does not apply to mrr"),
        (SOURCES, (*CASE, "expect"), {}, "needs at least one of"),
        (SOURCES, (*CASE, "expect", "answer"), "x", "unknown field"),
        (SOURCES, (*CASE, "expect", "minimum_trust"), "high", "must be one of unverified"),
        (SOURCES, (*CASE, "expect", "allow_stale"), "no", "true or false"),
        (SOURCES, (*CASE, "expect", "sources"), [], "must have 1 to"),
        (SOURCES, (*CASE, "agents"), [str(n) for n in range(21)], "0 to 20"),
        (SOURCES, ("defaults",), {"budget": 0}, "from 1 to 32000"),
        (SOURCES, ("defaults",), {"no_expand": True}, "unknown field"),
    ],
)
def test_a_dataset_that_is_not_valid_is_a_usage_error_that_says_where(
    base: dict[str, Any], place: tuple[Any, ...], value: Any, message: str
) -> None:
    with pytest.raises(DatasetError, match=message) as raised:
        read(changed(base, place, value))
    assert raised.value.exit_code == 2
    assert raised.value.message.startswith("d.yaml")


def test_a_fault_is_shown_with_its_line() -> None:
    text = yaml.safe_dump(changed(RETRIEVAL, (*JUDGMENT, "relevance"), 9), sort_keys=False)
    with pytest.raises(DatasetError) as raised:
        parse_dataset(text.encode(), "d.yaml")
    assert raised.value.line == text[: text.index("relevance")].count("\n") + 1
    assert "cases[0].judgments[0].relevance" in raised.value.message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("d.yaml", "type: openknowledge.eval\nid: a\nid: b\n", 'd.yaml:3:1: key "id" is repeated'),
        ("d.json", '{"id": 1, "id": 2}', "repeated"),
        ("d.json", '{"id": NaN}', "NaN"),
        ("d.json", '{"id": \n x}', "d.json:2:2"),
        ("d.yaml", "a: [", "d.yaml:"),
        ("d.yaml", "- a", "a dataset is a mapping"),
        ("d.yaml", "", "a dataset is a mapping"),
        ("d.yaml", "a: &x [*x]", "contains it"),
    ],
)
def test_text_that_is_no_dataset_is_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(DatasetError) as raised:
        parse_dataset(text.encode(), name)
    assert message in raised.value.message


@pytest.mark.parametrize("part", ["cases", "gates"])
def test_ids_are_unique(part: str) -> None:
    with pytest.raises(DatasetError, match="is used twice"):
        read(changed(RETRIEVAL, (part,), RETRIEVAL[part] * 2))


def test_a_section_is_judged_once() -> None:
    twice = RETRIEVAL["cases"][0]["judgments"] * 2
    with pytest.raises(DatasetError, match="judged twice"):
        read(changed(RETRIEVAL, (*CASE, "judgments"), twice))


def test_a_dataset_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.dumps(RETRIEVAL).encode()
    monkeypatch.setattr(limits, "DATASET_BYTES", len(data))
    assert parse_dataset(data, "d.json").identity.id == "demo"
    monkeypatch.setattr(limits, "DATASET_BYTES", len(data) - 1)
    with pytest.raises(DatasetError, match="larger than"):
        parse_dataset(data, "d.json")


def test_a_dataset_that_is_not_text_is_refused() -> None:
    with pytest.raises(DatasetError, match="not valid UTF-8 at byte 1"):
        parse_dataset(b"a\xff", "d.yaml")


def test_a_missing_file_fails_the_run(tmp_path: Path) -> None:
    with pytest.raises(OpenKnowledgeError, match="cannot read") as raised:
        read_dataset(tmp_path / "none.yaml")
    assert raised.value.exit_code == 1
