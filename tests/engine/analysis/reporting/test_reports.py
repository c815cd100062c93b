"""The outcome of a check in each format: true, well formed, and safe with any text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openknowledge.engine.analysis.baseline import apply_baseline, parse_baseline
from openknowledge.engine.analysis.checks import Run
from openknowledge.engine.analysis.reporting.github import github_report
from openknowledge.engine.analysis.reporting.junit import junit_report
from openknowledge.engine.analysis.reporting.markdown import LONGEST, code, escaped, markdown_report
from openknowledge.engine.analysis.reporting.outcome import Outcome, check_report
from openknowledge.engine.analysis.reporting.sarif import sarif_report
from openknowledge.engine.analysis.reporting.text import text_report

ROOT = Path(__file__).resolve().parents[4]
SCHEMA = Path(__file__).with_name("sarif-2.1.0.json")
"""The JSON Schema of SARIF 2.1.0, as published in Microsoft's sarif-sdk (MIT license)."""


@pytest.fixture(scope="module")
def run(make_class: Any) -> Run:
    """The checks over the identity bundle."""
    return make_class.judged(ROOT / "corpora/identity")


@pytest.fixture
def outcome(run: Run) -> Outcome:
    """What they found, reported from two folders above the bundle."""
    return Outcome(run, run.findings, prefix="corpora/identity/")


def accepting(run: Run, rule: str) -> Outcome:
    entries = [
        {
            "id": finding.id,
            "rule": finding.rule,
            "path": finding.path,
            "message": finding.message,
            "reason": "known & <fine>",
            "until": "2026-12-31",
        }
        for finding in run.findings
        if finding.rule == rule
    ]
    content = {"type": "openknowledge.check-baseline", "version": 1, "findings": entries}
    applied = apply_baseline(run.findings, parse_baseline(content), run.now.date())
    return Outcome(run, applied.findings, baseline="b.json", expired=applied.expired, gone=applied.gone)


# Text


def test_text_has_a_line_for_each_finding_and_the_verdict(outcome: Outcome) -> None:
    lines = text_report(outcome).splitlines()
    assert len(lines) == len(outcome.findings) + 1
    assert lines[3].startswith("runbooks/session-store-failover.md:22:5: medium: claim auth:claim/session-")
    assert lines[-1] == "fail: 5 high, 4 medium, 1 low in 31 pages (fails on high)"


def test_text_explains_the_rules_it_is_asked_to(outcome: Outcome) -> None:
    text = text_report(outcome, ["claim-evidence-stale"])
    assert 'drifted_claim("auth:claim/access-token-lifetime-partner","deployed","digest-changed")' in text
    assert "services/token-issuer.md:" in text
    assert 'expired_claim("' not in text


def test_a_threshold_decides_what_fails(run: Run) -> None:
    low = [finding for finding in run.findings if finding.severity == "low"]
    assert [Outcome(run, low, fail_on).failed for fail_on in ("none", "low", "medium", "high")] == [
        False,
        True,
        False,
        False,
    ]


# JSON


def test_json_has_proofs_sources_and_numbers(outcome: Outcome) -> None:
    report = json.loads(json.dumps(check_report(outcome)))
    assert report["summary"] == {
        "status": "fail",
        "failOn": "high",
        "total": 10,
        "high": 5,
        "medium": 4,
        "low": 1,
        "accepted": 0,
    }
    assert sum(rule["findings"] for rule in report["rules"]) == 10
    for finding in report["findings"]:
        assert finding["proof"]["atom"]
        assert finding["sources"], finding["rule"]


def test_json_has_the_declared_shape(outcome: Outcome, run: Run) -> None:
    from openknowledge.schemas.findings import CheckReport
    from pydantic import TypeAdapter

    adapter = TypeAdapter(CheckReport)
    adapter.validate_python(check_report(outcome), strict=True)
    adapter.validate_python(check_report(accepting(run, "claim-stale")), strict=True)


# SARIF


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    content = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return jsonschema.validators.validator_for(content)(content)


def test_sarif_follows_the_schema(schema: Any, outcome: Outcome, run: Run) -> None:
    schema.validate(json.loads(sarif_report(outcome)))
    schema.validate(json.loads(sarif_report(accepting(run, "claim-stale"))))
    schema.validate(json.loads(sarif_report(Outcome(run, []))))


def test_the_schema_refuses_what_is_not_sarif(schema: Any, outcome: Outcome) -> None:
    log = json.loads(sarif_report(outcome))
    log["runs"][0]["results"][0]["level"] = "grave"
    assert not schema.is_valid(log)


def test_sarif_shows_each_finding_on_its_line_with_its_proof(outcome: Outcome) -> None:
    (sarif,) = json.loads(sarif_report(outcome))["runs"]
    rules = [rule["id"] for rule in sarif["tool"]["driver"]["rules"]]
    for result, finding in zip(sarif["results"], outcome.findings, strict=True):
        assert rules[result["ruleIndex"]] == result["ruleId"] == finding.rule
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "corpora/identity/" + finding.path
        assert place["region"] == {"startLine": finding.line, "startColumn": finding.column}
        assert result["partialFingerprints"] == {"openknowledgeFinding/v1": finding.id}
        if finding.proof.inputs:
            steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
            assert steps[-1]["location"]["message"]["text"].startswith(finding.proof.atom)
            assert len(result["relatedLocations"]) >= 1
            assert (
                ROOT / result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            ).exists()


def test_sarif_levels_follow_severities(outcome: Outcome) -> None:
    (sarif,) = json.loads(sarif_report(outcome))["runs"]
    levels = {(result["properties"]["severity"], result["level"]) for result in sarif["results"]}
    assert levels == {("high", "error"), ("medium", "warning"), ("low", "note")}


def test_sarif_suppresses_what_is_accepted(run: Run) -> None:
    (sarif,) = json.loads(sarif_report(accepting(run, "claim-stale")))["runs"]
    suppressed = [result for result in sarif["results"] if "suppressions" in result]
    assert [result["ruleId"] for result in suppressed] == ["claim-stale"]
    assert suppressed[0]["suppressions"][0]["justification"] == "known & <fine> (accepted until 2026-12-31)"


# JUnit


def test_junit_has_a_suite_for_each_rule_and_a_case_for_each_page(outcome: Outcome) -> None:
    root = ET.fromstring(junit_report(outcome))
    suites = {suite.get("name"): suite for suite in root}
    assert set(suites) == {check.id for check in outcome.checks}
    cases = [case.get("name") for case in suites["claim-missing-evidence"]]
    assert cases == ["corpora/identity/services/token-issuer.md"]
    assert root.get("failures") == str(len(root.findall(".//failure"))) == "5"
    assert root.get("tests") == str(len(root.findall(".//testcase")))


def test_junit_passes_what_does_not_fail_the_check_and_skips_what_is_accepted(run: Run) -> None:
    root = ET.fromstring(junit_report(accepting(run, "claim-stale")))
    stale = root.find(".//testsuite[@name='claim-stale']/testcase/skipped")
    assert stale is not None
    assert stale.get("message") == "accepted until 2026-12-31: known & <fine>"
    duplicate = root.find(".//testsuite[@name='claim-duplicate']/testcase")
    assert duplicate is not None
    assert duplicate.find("failure") is None
    assert "repeats" in (duplicate.findtext("system-out") or "")


# GitHub


def test_github_prints_one_annotation_for_each_open_finding(run: Run, outcome: Outcome) -> None:
    lines = github_report(outcome).splitlines()
    assert len(lines) == len(outcome.findings) + 1
    assert lines[0].startswith(
        "::error file=corpora/identity/proposals/device-trust.md,line=18,col=5,title=claim-profile::claim "
    )
    accepted = github_report(accepting(run, "claim-stale"))
    assert "title=claim-stale" not in accepted


# Markdown


def test_markdown_groups_by_severity_and_folds_proofs(outcome: Outcome) -> None:
    text = markdown_report(outcome)
    assert text.startswith("## okn check: failed\n")
    assert [line for line in text.splitlines() if line.startswith("### ")] == [
        "### High",
        "### Medium",
        "### Low",
    ]
    assert text.count("<details>") == text.count("</details>") == 9


def test_markdown_that_is_too_long_for_a_comment_says_what_it_leaves_out(run: Run) -> None:
    many = run.findings * 400
    text = markdown_report(Outcome(run, many))
    assert len(text) <= LONGEST
    left_out = re.search(r"(\d+) more findings are left out", text)
    assert left_out is not None
    assert text.count("\n- ") + int(left_out[1]) == len(many)


def test_a_clean_outcome_is_short_in_every_format(run: Run, schema: Any) -> None:
    clean = Outcome(run, [])
    assert text_report(clean) == "pass: no findings in 31 pages (fails on high)\n"
    assert markdown_report(clean).startswith("## okn check: passed")
    assert ET.fromstring(junit_report(clean)).get("failures") == "0"
    assert github_report(clean).count("\n") == 1


def test_entries_that_no_longer_hold_are_shown(run: Run) -> None:
    content = {
        "type": "openknowledge.check-baseline",
        "version": 1,
        "findings": [
            {"id": name, "rule": "stale", "path": "x.md", "message": "m", "reason": "r", "until": until}
            for name, until in (("0" * 20, "2027-01-01"), (run.findings[0].id, "2026-01-01"))
        ],
    }
    applied = apply_baseline(run.findings, parse_baseline(content), run.now.date())
    outcome = Outcome(run, applied.findings, baseline="b.json", expired=applied.expired, gone=applied.gone)
    text = text_report(outcome)
    assert "b.json: the finding 00000000000000000000 (stale in x.md) is gone" in text
    assert "was accepted until 2026-01-01, which has passed: r" in text
    assert "is gone: remove its entry" in markdown_report(outcome)


# Any text

HOSTILE = "ab`*_[]<>|&@\"'%:,\n\r\t\\/#!{}\x00\x1b\u2028\ufffeé\ud800"
hostile = st.text(st.sampled_from(HOSTILE), max_size=30)


@pytest.fixture
def judged_once(run: Run, schema: Any) -> Any:
    """Return what gives run and schema: a value that is short when a failing example is printed."""
    return lambda: (run, schema)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hostile, hostile)
def test_no_text_breaks_a_format(judged_once: Any, message: str, path: str) -> None:
    run, schema = judged_once()
    finding = replace(run.findings[0], message=message, path=path or "x", subject=message)
    outcome = Outcome(run, [finding], fail_on="high", prefix="kb/")
    assert schema.is_valid(json.loads(sarif_report(outcome)))
    suite = ET.fromstring(junit_report(outcome).encode("utf-8"))
    assert len(suite.findall(".//failure")) == 1
    commands = github_report(outcome).split("\n")
    assert [line.startswith("::") for line in commands] == [True, True, False]
    assert len(text_report(outcome).splitlines()) == 2
    check_report(outcome)


@settings(max_examples=100, deadline=None)
@given(st.text("ab`*_[]<>|&@#!\\~{}\n", max_size=20))
def test_escaped_text_is_one_line_that_mentions_nobody_and_holds_no_tag(text: str) -> None:
    shown = escaped(text)
    assert "\n" not in shown
    assert "@" not in shown
    assert not re.search(r"(?<!\\)[<|`*_\[]", shown)


@settings(max_examples=100, deadline=None)
@given(st.text("ab`", max_size=12))
def test_a_code_span_is_closed_by_its_own_fence_alone(text: str) -> None:
    shown = code(text)
    fence = re.match("`+", shown)
    assert fence is not None
    inner = shown[len(fence[0]) : -len(fence[0])]
    assert fence[0] not in re.findall("`+", inner)


def test_reports_do_not_depend_on_the_run(run: Run, make: Any) -> None:
    again = make.judged(ROOT / "corpora/identity")
    for writer in (text_report, sarif_report, junit_report, github_report, markdown_report):
        assert writer(Outcome(run, run.findings)) == writer(Outcome(again, again.findings))
