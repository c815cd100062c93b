"""The outcome in the Static Analysis Results Interchange Format, version 2.1.0 (OASIS)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from openknowledge.engine.analysis.findings import Finding
from openknowledge.engine.analysis.reporting.outcome import Outcome
from openknowledge.engine.datalog import Proof
from openknowledge.engine.facts.provenance import Provenance
from openknowledge.engine.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION = "2.1.0"
FINGERPRINT = "openknowledgeFinding/v1"
BASE = "%SRCROOT%"
_LEVELS: Mapping[str, str] = {"high": "error", "medium": "warning", "low": "note"}
_STEPS = 100
"""Steps of one proof that are shown at most; the conclusion always is."""


def sarif_report(outcome: Outcome) -> str:
    """Return the outcome as a SARIF log.

    Each finding stands on its line; the pages that its proof rests on are related locations, and the proof is
    a code flow from the facts to the conclusion. Accepted findings are suppressed.
    """
    indexes = {check.id: number for number, check in enumerate(outcome.checks)}
    rules = [
        {
            "id": check.id,
            "shortDescription": {"text": check.summary},
            "defaultConfiguration": {"level": _LEVELS[check.severity]},
            "properties": {"group": check.group},
        }
        for check in outcome.checks
    ]
    run = {
        "tool": {
            "driver": {
                "name": "okn",
                "fullName": "Open Knowledge",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": rules,
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not outcome.run.errors}],
        "results": [_result(outcome, finding, indexes[finding.rule]) for finding in outcome.findings],
    }
    return (
        json.dumps({"$schema": SCHEMA, "version": VERSION, "runs": [run]}, ensure_ascii=False, indent=2)
        + "\n"
    )


def _result(outcome: Outcome, finding: Finding, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "kind": "fail",
        "level": _LEVELS[finding.severity],
        "message": {"text": _text(finding.message)},
        "locations": [
            {
                "physicalLocation": _physical(
                    outcome.path(finding), finding.line, finding.line, finding.column
                ),
                "logicalLocations": [{"fullyQualifiedName": _text(finding.subject)}],
            }
        ],
        "partialFingerprints": {FINGERPRINT: finding.id},
        "properties": {"severity": finding.severity},
    }
    related = _related(outcome, finding)
    if related:
        result["relatedLocations"] = related
    if finding.proof.inputs:
        result["codeFlows"] = [_flow(outcome, finding)]
    if finding.accepted is not None:
        result["suppressions"] = [
            {
                "kind": "external",
                "status": "accepted",
                "justification": _text(
                    f"{finding.accepted.reason} (accepted until {finding.accepted.until})"
                ),
            }
        ]
    return result


def _related(outcome: Outcome, finding: Finding) -> list[dict[str, Any]]:
    facts = outcome.run.conclusions.facts
    found: list[dict[str, Any]] = []
    seen: set[tuple[str, int, int]] = set()
    for leaf in finding.proof.leaves():
        for place in facts.places(leaf.predicate, leaf.row or ()):  # type: ignore[arg-type]
            key = (place.document.path, *place.lines)
            if key not in seen and len(found) < _STEPS:
                seen.add(key)
                found.append({"id": len(found) + 1, **_place(outcome, place, leaf.atom)})
    return found


def _flow(outcome: Outcome, finding: Finding) -> dict[str, Any]:
    facts = outcome.run.conclusions.facts
    own = {"physicalLocation": _physical(outcome.path(finding), finding.line, finding.line, finding.column)}
    steps = list(finding.proof.steps())
    if len(steps) > _STEPS:
        steps = [*steps[: _STEPS - 1], steps[-1]]
    locations = []
    for step in steps:
        places: Sequence[Provenance] = ()
        if step.row is not None and not step.inputs:
            places = facts.places(step.predicate, step.row)  # type: ignore[arg-type]
        text = _step_text(step)
        location = _place(outcome, places[0], text) if places else {**own, "message": {"text": text}}
        locations.append({"location": location, "nestingLevel": min(step.height, _STEPS)})
    return {
        "message": {"text": "what proves the finding, from the facts to the conclusion"},
        "threadFlows": [{"locations": locations}],
    }


def _step_text(step: Proof) -> str:
    text = _text(step.atom)
    return f"{text} by {_text(step.rule)}" if step.rule else f"{text} ({step.kind})"


def _place(outcome: Outcome, place: Provenance, text: str) -> dict[str, Any]:
    first, last = place.lines
    return {
        "physicalLocation": _physical(outcome.prefix + place.document.path, first, last),
        "message": {"text": _text(text)},
    }


def _physical(path: str, first: int, last: int, column: int = 0) -> dict[str, Any]:
    region: dict[str, int] = {"startLine": first}
    if column:
        region["startColumn"] = column
    if last > first:
        region["endLine"] = last
    return {
        "artifactLocation": {"uri": quote(path, safe="/-._~", errors="replace"), "uriBaseId": BASE},
        "region": region,
    }


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
