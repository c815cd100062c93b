from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine.analysis.eval_dataset import Expectations, Identity, Question, SourcesDataset
from openknowledge.engine.analysis.eval_sources import Base, changed_paths, run_question, run_sources
from openknowledge.engine.bundle.bundle import bundle_from_files
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.search.index import SearchIndex

FILES = {
    "keys.md": (
        "---\ntitle: Keys\nstatus: stable\nverified: { by: human:a, at: 2026-01-01T00:00:00Z }\n"
        "sources:\n  - { id: s, resource: x.txt }\n---\n# Keys\n\nA key.\n\n"
        '<a id="often"></a>\n\n## Rotation\n\nRotate every **Ninety** days.\n'
    ),
    "old.md": (
        "---\ntitle: Old\nstatus: deprecated\nstale_after: 2026-01-01T00:00:00Z\n---\n# Old\n\nA zebra.\n"
    ),
}


def make_index(**changes: str | None) -> SearchIndex:
    files = {**FILES, **{f"{name}.md": text for name, text in changes.items()}}
    read = [(path, text.encode()) for path, text in files.items() if text is not None]
    return SearchIndex(
        bundle_from_files(Path("/b"), read), clock=fixed_clock(datetime(2026, 6, 1, tzinfo=UTC))
    )


def question(text: str = "rotate ninety", identifier: str = "one", **expect: Any) -> Question:
    return Question(identifier, text, ("support",), 2_400, 12, False, Expectations(**expect))


def dataset(*cases: Question) -> SourcesDataset:
    return SourcesDataset(Identity("openknowledge.eval", "d", "d.yaml", "0"), cases)


@pytest.mark.parametrize(
    ("text", "expect", "status"),
    [
        ("rotate", {"sources": ("keys.md",)}, "pass"),
        ("rotate", {"sources": ("keys.md#rotation", "keys.md#often")}, "pass"),
        ("rotate", {"sources": ("keys.md#nowhere",)}, "fail"),
        ("rotate", {"sources": ("old.md",)}, "fail"),
        ("rotate", {"evidence_contains": ("every **ninety** DAYS",)}, "pass"),
        ("rotate", {"evidence_contains": ("ninety", "zebra")}, "fail"),
        ("rotate", {"evidence_excludes": ("zebra",)}, "pass"),
        ("rotate", {"evidence_excludes": ("NINETY",)}, "fail"),
        ("rotate", {"min_sources": 2}, "pass"),
        ("rotate", {"min_sources": 3}, "fail"),
        ("rotate", {"minimum_trust": "human-reviewed"}, "pass"),
        ("zebra", {"minimum_trust": "machine-confirmed"}, "fail"),
        ("zebra", {"minimum_trust": "unverified"}, "pass"),
        ("zebra", {"allow_stale": False}, "fail"),
        ("zebra", {"allow_stale": True}, "pass"),
        ("rotate", {"allow_stale": False}, "pass"),
        ("rotate", {"allowed_statuses": ("stable", "draft")}, "pass"),
        ("zebra", {"allowed_statuses": ("stable",)}, "fail"),
        ("rotate", {"require_sources": True}, "pass"),
        ("zebra", {"require_sources": True}, "fail"),
        ("zebra", {"require_sources": False}, "pass"),
    ],
)
def test_an_expectation_is_checked(text: str, expect: dict[str, Any], status: str) -> None:
    case = run_question(make_index(), question(text, **expect))
    assert [check["expectation"] for check in case["checks"]] == list(expect)
    assert case["status"] == status


def test_signals_hold_when_nothing_was_selected() -> None:
    expect = {"minimum_trust": "human-reviewed", "allow_stale": False, "allowed_statuses": ("stable",)}
    case = run_question(make_index(), question("qqqqqq", require_sources=True, **expect))
    assert case["sources"] == []
    assert case["status"] == "pass"


def test_a_failed_check_says_what_is_wrong() -> None:
    case = run_question(make_index(), question("zebra", minimum_trust="human-reviewed", sources=("keys.md",)))
    messages = [check["message"] for check in case["checks"]]
    assert messages == ["keys.md was not retrieved", "old#old is unverified"]


def test_the_status_is_fail_when_a_case_fails() -> None:
    cases = dataset(question(min_sources=1), question(identifier="two", min_sources=9))
    summary = run_sources(make_index(), cases)["summary"]
    assert summary == {"status": "fail", "gate": "all", "total": 2, "passed": 1, "failed": 1}


GONE = "---\ntitle: Keys\n---\n# Keys\n\nA key.\n"


@pytest.mark.parametrize(
    ("before", "after", "outcome", "all_gate", "regressions_gate"),
    [
        (FILES["keys.md"], FILES["keys.md"], "unchanged_pass", "pass", "pass"),
        (FILES["keys.md"], GONE, "regressed", "fail", "fail"),
        (GONE, FILES["keys.md"], "improved", "pass", "pass"),
        (GONE, GONE, "unchanged_fail", "fail", "pass"),
    ],
)
def test_outcomes_compare_with_the_base(
    before: str, after: str, outcome: str, all_gate: str, regressions_gate: str
) -> None:
    cases = dataset(question(evidence_contains=("ninety",)))
    base = Base("HEAD~1", make_index(keys=before))
    report = run_sources(make_index(keys=after), cases, base=base)
    assert report["cases"][0]["outcome"] == outcome
    assert report["summary"]["status"] == all_gate
    report = run_sources(make_index(keys=after), cases, base=base, gate="regressions")
    assert report["summary"]["status"] == regressions_gate


def test_changed_pages_are_those_with_other_bytes() -> None:
    before, after = make_index(a="x", b="x").bundle, make_index(b="y", c="x").bundle
    assert changed_paths(before, after) == ["a.md", "b.md", "c.md"]


def test_the_comparison_names_what_the_changes_touch() -> None:
    cases = dataset(
        question(evidence_contains=("ninety",)),
        Question("two", "zebra", ("desk",), 2_400, 12, False, Expectations(min_sources=1)),
    )
    base = Base("v1", make_index())
    found = run_sources(make_index(keys=GONE, new="# Newt\n\nnewt\n"), cases, base=base)["comparison"]
    assert found["base"] == "v1"
    assert found["revision"]["indexSha256"] == base.index.bundle.index_sha256
    assert found["changedPaths"] == ["keys.md", "new.md"]
    assert found["affectedQuestions"] == [
        {"id": "one", "reasons": ["source_changed", "retrieval_changed", "outcome_changed"]}
    ]
    assert found["affectedAgents"] == ["support"]
    assert found["uncoveredPaths"] == ["new.md"]


def test_nothing_is_affected_when_nothing_changed() -> None:
    report = run_sources(make_index(), dataset(question(min_sources=1)), base=Base("v1", make_index()))
    found = report["comparison"]
    assert (found["changedPaths"], found["affectedQuestions"], found["uncoveredPaths"]) == ([], [], [])
