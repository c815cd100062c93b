"""The outcome of ``okn check``: the findings after the baseline, and whether the gate lets them pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openknowledge.engine.analysis.checks import Check, Run
from openknowledge.engine.analysis.findings import NEVER, Finding, counted, reaches
from openknowledge.engine.bundle.instants import format_instant

if TYPE_CHECKING:
    from openknowledge.schemas.findings import AcceptedFinding, CheckReport
    from openknowledge.schemas.findings import Finding as FindingJson

FORGE_LEVELS: Mapping[str, str] = {"high": "error", "medium": "warning", "low": "notice"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run found, with a baseline and a threshold applied.

    ``prefix`` is the bundle's path from the directory that reports are about, with a slash at its end: the
    paths of forges are relative to the repository. ``expired`` and ``gone`` are baseline entries.
    """

    run: Run
    findings: list[Finding]
    fail_on: str = "high"
    prefix: str = ""
    baseline: str = ""
    expired: list[AcceptedFinding] = field(default_factory=list)
    gone: list[AcceptedFinding] = field(default_factory=list)

    @property
    def open(self) -> list[Finding]:
        """The findings that nobody has accepted."""
        return [finding for finding in self.findings if finding.accepted is None]

    @property
    def failed(self) -> bool:
        """Whether a finding reaches the threshold, or a policy could not be judged."""
        return self.run.errors or any(reaches(finding.severity, self.fail_on) for finding in self.open)

    @property
    def checks(self) -> list[Check]:
        """The checks that were run, and those that findings belong to all the same."""
        from openknowledge.engine.analysis.checks import CHECKS

        known = {check.id for check in self.run.checks}
        missing = {finding.rule for finding in self.findings} - known
        return [*self.run.checks, *(check for check in CHECKS if check.id in missing)]

    def path(self, finding: Finding) -> str:
        """Return the path of a finding as forges know it."""
        return self.prefix + finding.path

    @property
    def verdict(self) -> str:
        """The outcome in one line."""
        counts = counted(self.findings)
        accepted = len(self.findings) - len(self.open)
        parts = [f"{number} {severity}" for severity, number in counts.items() if number]
        text = ", ".join(parts) if parts else "no findings"
        if accepted:
            text += f" ({accepted} accepted)"
        pages = len(self.run.conclusions.bundle.documents)
        word = "fail" if self.failed else "pass"
        limit = "nothing fails" if self.fail_on == NEVER else f"fails on {self.fail_on}"
        return f"{word}: {text} in {pages} {'page' if pages == 1 else 'pages'} ({limit})"


def check_report(outcome: Outcome) -> CheckReport:
    """Return the outcome for programs."""
    run = outcome.run
    counts = counted(outcome.findings)
    per_rule = {check.id: 0 for check in outcome.checks}
    for finding in outcome.findings:
        per_rule[finding.rule] += 1
    report: CheckReport = {
        "schemaVersion": "1",
        "root": str(run.conclusions.store.root),
        "revision": run.conclusions.store.revision,
        "asOf": format_instant(run.now),
        "summary": {
            "status": "fail" if outcome.failed else "pass",
            "failOn": outcome.fail_on,
            "total": len(outcome.open),
            "high": counts["high"],
            "medium": counts["medium"],
            "low": counts["low"],
            "accepted": len(outcome.findings) - len(outcome.open),
        },
        "rules": [
            {
                "id": check.id,
                "severity": check.severity,
                "group": check.group,
                "summary": check.summary,
                "findings": per_rule[check.id],
            }
            for check in outcome.checks
        ],
        "findings": [finding_json(finding) for finding in outcome.findings],
    }
    if outcome.baseline:
        report["baseline"] = {
            "path": outcome.baseline,
            "accepted": len(outcome.findings) - len(outcome.open),
            "expired": outcome.expired,
            "gone": outcome.gone,
        }
    return report


def finding_json(finding: Finding) -> FindingJson:
    """Return one finding for programs."""
    from typing import cast

    shown: FindingJson = {
        "id": finding.id,
        "rule": finding.rule,
        "severity": finding.severity,
        "subject": finding.subject,
        "message": finding.message,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "proof": cast("FindingJson", finding.proof.to_json()),  # type: ignore[typeddict-item]
        "sources": finding.sources,
    }
    if finding.accepted is not None:
        shown["accepted"] = {"reason": finding.accepted.reason, "until": finding.accepted.until}
    return shown
