"""Accepted findings: what a baseline file may say, and what it does."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine import limits
from openknowledge.engine.analysis.baseline import (
    Baseline,
    apply_baseline,
    baseline_text,
    parse_baseline,
    read_baseline,
    updated_baseline,
)
from openknowledge.engine.analysis.findings import Finding, Grounds
from openknowledge.engine.datalog import Proof
from openknowledge.engine.errors import UsageError

TODAY = date(2026, 11, 30)


def grounds(atom: str) -> Grounds:
    return Grounds(lambda: Proof("asserted", atom))


def finding(rule: str = "stale", path: str = "a.md", atom: str = 'x("a")', line: int = 1) -> Finding:
    return Finding(rule, "high", "a", "message", path, line, 1, atom, grounds(atom))


def entry(found: Finding, **changes: str) -> dict[str, str]:
    base = {
        "id": found.id,
        "rule": found.rule,
        "path": found.path,
        "message": found.message,
        "reason": "known",
        "until": "2026-12-31",
    }
    return {**base, **changes}


def content(*entries: dict[str, str], **changes: Any) -> dict[str, Any]:
    return {"type": "openknowledge.check-baseline", "version": 1, "findings": list(entries), **changes}


def test_a_finding_keeps_its_id_when_it_moves_and_its_message_changes() -> None:
    other = Finding("stale", "low", "a", "reworded", "a.md", 99, 7, 'x("a")', grounds("x"))
    assert other.id == finding().id


@pytest.mark.parametrize("changed", [finding(rule="y"), finding(path="b.md"), finding(atom='x("b")')])
def test_another_fact_rule_or_page_is_another_finding(changed: Finding) -> None:
    assert changed.id != finding().id


def test_an_entry_accepts_its_finding_until_its_last_day() -> None:
    found = finding()
    baseline = parse_baseline(content(entry(found, until="2026-11-30")))
    (marked,) = apply_baseline([found], baseline, TODAY).findings
    assert marked.accepted is not None
    assert (marked.accepted.reason, marked.accepted.until) == ("known", "2026-11-30")


def test_an_entry_past_its_day_accepts_nothing_and_is_reported() -> None:
    found = finding()
    applied = apply_baseline([found], parse_baseline(content(entry(found, until="2026-11-29"))), TODAY)
    assert applied.findings[0].accepted is None
    assert [item["id"] for item in applied.expired] == [found.id]


def test_an_entry_whose_finding_is_gone_is_reported() -> None:
    applied = apply_baseline([], parse_baseline(content(entry(finding()))), TODAY)
    assert [item["id"] for item in applied.gone] == [finding().id]


def test_an_entry_of_a_rule_that_was_not_run_is_not_gone() -> None:
    applied = apply_baseline([], parse_baseline(content(entry(finding()))), TODAY, skipped=["stale"])
    assert applied.gone == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "not a baseline"),
        ({"type": "openknowledge.audit-source-baseline", "version": 1}, "not a baseline"),
        (content(version=2), "version 2 is not supported"),
        (content(version=True), "version True is not supported"),
        (content(extra=1), "unknown field 'extra'"),
        (content(findings={}), "findings must be a list"),
        (content(entry(finding()), entry(finding())), "a second time"),
        (content(entry(finding(), until="soon")), "not a date"),
        (content(entry(finding(), reason=" ")), "reason must be a non-empty string"),
        (content({**entry(finding()), "why": "x"}), "unknown field 'why'"),
        (content("x"), "must be an object"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_baseline_is_refused_with_its_fault(wrong: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_baseline(wrong, "file.json")


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str | bytes], Path]:
    def write(text: str | bytes) -> Path:
        path = tmp_path / "baseline.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{\n  oops", r"baseline.json:2:3: the baseline is no JSON"),
        (b"\xff", "not valid UTF-8"),
        ('{"type": 1, "type": 2}', "the key 'type' is repeated"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_no_json_is_refused_with_its_place(
    file: Callable[[str | bytes], Path], text: str | bytes, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        read_baseline(file(text))


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_baseline(tmp_path / "none.json")


def test_a_baseline_may_be_as_large_as_the_limit(
    file: Callable[[str | bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(json.dumps(content()))
    monkeypatch.setattr(limits, "BASELINE_BYTES", path.stat().st_size)
    assert read_baseline(path) == Baseline({})
    monkeypatch.setattr(limits, "BASELINE_BYTES", path.stat().st_size - 1)
    with pytest.raises(UsageError, match="larger than"):
        read_baseline(path)


def test_an_update_adds_new_findings_keeps_what_holds_and_drops_what_is_gone() -> None:
    kept, gone, new = finding(), finding(path="gone.md"), finding(path="new.md")
    before = parse_baseline(content(entry(kept, reason="old reason"), entry(gone)))
    after = updated_baseline([kept, new], before, TODAY, reason="because", until="2027-01-01")
    assert [(item["path"], item["reason"], item["until"]) for item in after["findings"]] == [
        ("a.md", "old reason", "2026-12-31"),
        ("new.md", "because", "2027-01-01"),
    ]


def test_an_update_renews_what_is_past_its_day() -> None:
    found = finding()
    before = parse_baseline(content(entry(found, until="2026-01-01")))
    (item,) = updated_baseline([found], before, TODAY, reason="again", until="2027-01-01")["findings"]
    assert (item["reason"], item["until"]) == ("again", "2027-01-01")


def test_an_update_keeps_the_entries_of_rules_that_were_not_run() -> None:
    before = parse_baseline(content(entry(finding(rule="other"))))
    after = updated_baseline([], before, TODAY, reason="", until="", skipped=["other"])
    assert [item["rule"] for item in after["findings"]] == ["other"]


@pytest.mark.parametrize(
    ("reason", "until", "message"),
    [
        ("", "2027-01-01", "--reason"),
        ("x", "", "--until"),
        ("x", "soon", "not a date"),
        ("x", "2026-11-29", "in the past"),
    ],
)
def test_an_update_needs_a_reason_and_a_day_to_come(reason: str, until: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        updated_baseline([finding()], Baseline({}), TODAY, reason=reason, until=until)


def test_a_written_baseline_is_read_back() -> None:
    written = updated_baseline([finding()], Baseline({}), TODAY, reason="x", until="2027-01-01")
    assert list(parse_baseline(json.loads(baseline_text(written))).entries) == [finding().id]


def test_an_entry_of_a_rule_that_is_no_more_is_gone() -> None:
    baseline = parse_baseline(content(entry(finding(rule="policy/removed.dl"))))
    assert [item["rule"] for item in apply_baseline([], baseline, TODAY, skipped=["stale"]).gone] == [
        "policy/removed.dl"
    ]
