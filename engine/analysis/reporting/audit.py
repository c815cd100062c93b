"""The audit report for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openknowledge.engine.analysis.reporting.markdown import code, escaped
from openknowledge.engine.analysis.reporting.text import one_line

if TYPE_CHECKING:
    from openknowledge.schemas.audit import AuditEvidence, AuditReport


def audit_text(report: AuditReport) -> str:
    """Return two or more lines for each finding, and the numbers."""
    lines = []
    for finding in report["findings"]:
        lines.append(f"{finding['severity']}: {finding['title']} [{finding['category']} {finding['id']}]")
        lines.append(f"  look at {one_line(', '.join(finding['targets']))}")
        lines += [f"  {one_line(_shown(item))}" for item in finding["evidence"]]
    lines.append(_numbers(report))
    return "\n".join(lines) + "\n"


def audit_markdown(report: AuditReport) -> str:
    """Return the report as Markdown."""
    lines = ["# Audit", "", _numbers(report), ""]
    for finding in report["findings"]:
        lines += [f"## {finding['severity'].capitalize()}: {escaped(finding['title'])}", ""]
        lines += [escaped(finding["impact"]), ""]
        lines += [f"- look at {', '.join(code(target) for target in finding['targets'])}"]
        lines += [f"- {code(_shown(item))}" for item in finding["evidence"]]
        lines += [f"- finding {code(finding['id'])}, category {code(finding['category'])}", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _shown(item: AuditEvidence) -> str:
    where = f"{item['path']}: " if "path" in item else ""
    return f"{where}{item['field']} = {item['value']}"


def _numbers(report: AuditReport) -> str:
    summary, sources = report["summary"], report["sources"]
    return (
        f"{summary['total']} findings ({summary['high']} high, {summary['medium']} medium, "
        f"{summary['low']} low); {sources['current']} sources, {sources['changed']} changed, "
        f"{sources['missing']} missing"
    )
