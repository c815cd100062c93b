"""Builds the validation report from issues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.validation import Override, rules_for

if TYPE_CHECKING:
    from openknowledge.schemas.common import Issue as IssueJson
    from openknowledge.schemas.common import Quarantined
    from openknowledge.schemas.validation import Check, ValidationReport


def issue_json(issue: Issue) -> IssueJson:
    """Return an issue as it stands in results."""
    return {
        "path": issue.path,
        "line": issue.line,
        "column": issue.column,
        "rule": issue.rule,
        "severity": issue.severity,
        "message": issue.message,
    }


def validation_report(
    bundle: Bundle,
    issues: Sequence[Issue],
    *,
    profile: str,
    config_path: str,
    overrides: Mapping[str, Override],
    quarantined: Sequence[Quarantined],
    skipped: frozenset[str] = frozenset(),
) -> ValidationReport:
    """Return the report over ``issues``, which are sorted and carry their final severities.

    ``skipped`` names rules that were not run under ``profile``.
    """
    kinds = Counter(document.kind for document in bundle.documents)
    rows = [issue_json(issue) for issue in issues]
    errors = [row for row in rows if row["severity"] == "error"]
    warnings = [row for row in rows if row["severity"] == "warning"]
    status = "fail" if errors else "warn" if warnings else "pass"
    report: ValidationReport = {
        "schemaVersion": "1",
        "root": str(bundle.root),
        "specVersion": bundle.spec,
        "profile": profile,
        "files": len(bundle.documents) + len(bundle.undecoded) + len(bundle.assets),
        "concepts": kinds["concept"],
        "indexes": kinds["index"],
        "logs": kinds["log"],
        "summary": {
            "status": status,
            "errorCount": len(errors),
            "warningCount": len(warnings),
            "issueCount": len(rows),
        },
        "policy": {},
        "checks": _checks(bundle.spec, issues, overrides, skipped),
        "issues": rows,
        "errors": errors,
        "warnings": warnings,
    }
    if config_path:
        report["policy"]["configPath"] = config_path
    if overrides:
        report["policy"]["overrides"] = dict(sorted(overrides.items()))
    if quarantined:
        report["policy"]["quarantined"] = list(quarantined)
    return report


def _checks(
    spec: str, issues: Sequence[Issue], overrides: Mapping[str, Override], skipped: frozenset[str]
) -> list[Check]:
    counts = Counter((issue.rule, issue.severity) for issue in issues)
    checks: list[Check] = []
    for rule in rules_for(spec):
        errors, warnings = counts[rule.id, "error"], counts[rule.id, "warning"]
        if rule.id in skipped or overrides.get(rule.id) == "off":
            status, message = "skip", f"not run: {rule.summary}"
        elif errors or warnings:
            status = "fail" if errors else "warn"
            total = errors + warnings
            message = f"{total} {'issue' if total == 1 else 'issues'}: expected that {rule.summary}"
        else:
            status, message = "pass", rule.summary
        checks.append({"name": rule.id, "group": rule.group, "status": status, "message": message})
    return checks
