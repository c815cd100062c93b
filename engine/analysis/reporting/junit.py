"""The outcome as JUnit XML, which test reports of most CI systems read."""

from __future__ import annotations

from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from openknowledge.engine.analysis.findings import Finding, reaches
from openknowledge.engine.analysis.reporting.outcome import Outcome


def junit_report(outcome: Outcome) -> str:
    """Return one suite for each rule, and in it one case for each document with findings.

    A rule without findings has one case that passed, for all pages. A case fails when one of its findings
    reaches the threshold; accepted findings are skipped, the others are output of a case that passed.
    """
    suites = []
    totals = [0, 0, 0]
    for check in outcome.checks:
        found = [finding for finding in outcome.findings if finding.rule == check.id]
        found.sort(key=lambda finding: finding.sort_key)
        cases = []
        failures = skipped = 0
        for path, group in groupby(found, key=outcome.path):
            case, state = _case(outcome, check.id, path, list(group))
            cases.append(case)
            failures += state == "failed"
            skipped += state == "skipped"
        if not cases:
            cases.append(f"    <testcase classname={_attribute(check.id)} name={_attribute(check.summary)}/>")
        numbers = (len(cases), failures, skipped)
        totals = [total + number for total, number in zip(totals, numbers, strict=True)]
        suites.append(
            f'  <testsuite name={_attribute(check.id)} tests="{numbers[0]}" failures="{numbers[1]}" '
            f'errors="0" skipped="{numbers[2]}">'
        )
        suites += [*cases, "  </testsuite>"]
    head = (
        f'<testsuites name="okn check" tests="{totals[0]}" failures="{totals[1]}" errors="0" '
        f'skipped="{totals[2]}">'
    )
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>"]) + "\n"


def _case(outcome: Outcome, rule: str, path: str, findings: list[Finding]) -> tuple[str, str]:
    still = [finding for finding in findings if finding.accepted is None]
    text = "\n".join(f"{path}:{finding.line}:{finding.column}: {finding.message}" for finding in still)
    failing = [finding for finding in still if reaches(finding.severity, outcome.fail_on)]
    attributes = f"classname={_attribute(rule)} name={_attribute(path)} file={_attribute(path)}"
    attributes += f' line="{findings[0].line}"'
    if failing:
        inner = f"<failure message={_attribute(failing[0].message)} type={_attribute(failing[0].severity)}>"
        inner += f"{escape(_plain(text))}</failure>"
        state = "failed"
    elif not still:
        reasons = "; ".join(
            f"accepted until {finding.accepted.until}: {finding.accepted.reason}"
            for finding in findings
            if finding.accepted is not None
        )
        inner, state = f"<skipped message={_attribute(reasons)}/>", "skipped"
    else:
        inner, state = f"<system-out>{escape(_plain(text))}</system-out>", "passed"
    return f"    <testcase {attributes}>{inner}</testcase>", state


def _plain(text: str) -> str:
    """Return ``text`` without the characters that XML cannot hold."""
    return "".join(
        [
            character
            if character in "\t\n"
            or " " <= character < "\ud800"
            or "\ue000" <= character not in "\ufffe\uffff"
            else "\ufffd"
            for character in text
        ]
    )


def _attribute(text: str) -> str:
    return quoteattr(_plain(text), {"\n": "&#10;", "\t": "&#9;"})
