"""The outcome as Markdown, for a comment on a change or the summary of a job."""

from __future__ import annotations

import re
from collections.abc import Iterable

from openknowledge.engine.analysis.conclusions import Conclusions
from openknowledge.engine.analysis.findings import SEVERITIES, Finding
from openknowledge.engine.analysis.reporting.outcome import Outcome
from openknowledge.engine.analysis.reporting.text import explanation

LONGEST = 60_000
"""Characters of a report at most: forges refuse comments of more than 65,536."""


def markdown_report(outcome: Outcome) -> str:
    """Return the findings by severity, each with its proof folded away.

    A report that is too long for a comment leaves proofs out, then findings, and says so.
    """
    for proofs in (True, False):
        text = _report(outcome, outcome.open, proofs=proofs)
        if len(text) <= LONGEST:
            return text
    count = len(outcome.open)
    while count and len(text) > LONGEST:
        count = count * LONGEST // len(text) - 1
        text = _report(outcome, outcome.open[: max(count, 0)], proofs=False)
    return text


def _report(outcome: Outcome, findings: list[Finding], *, proofs: bool) -> str:
    lines = [f"## okn check: {'failed' if outcome.failed else 'passed'}", "", escaped(outcome.verdict), ""]
    for severity in SEVERITIES:
        group = [finding for finding in findings if finding.severity == severity]
        if group:
            lines += [f"### {severity.capitalize()}", ""]
            for finding in group:
                lines += finding_lines(outcome.run.conclusions, outcome.prefix, finding, proof=proofs)
            lines.append("")
    left_out = len(outcome.open) - len(findings)
    if left_out:
        lines += [f"{left_out} more findings are left out here; the job's log has them all.", ""]
    if outcome.expired or outcome.gone:
        lines += ["### Baseline", ""]
        for entry in outcome.expired:
            lines.append(
                f"- {code(entry['rule'])} in {code(entry['path'])} was accepted until {entry['until']}, "
                f"which has passed: {escaped(entry['reason'])}"
            )
        for entry in outcome.gone:
            lines.append(f"- {code(entry['rule'])} in {code(entry['path'])} is gone: remove its entry")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def finding_lines(conclusions: Conclusions, prefix: str, finding: Finding, *, proof: bool) -> Iterable[str]:
    """Return one finding as an item of a list."""
    where = f"{prefix}{finding.path}:{finding.line}"
    lines = [f"- {code(where)} {escaped(finding.message)} ({code(finding.rule)})"]
    if proof and finding.proof.inputs:
        lines += folded_proof(explanation(conclusions, finding))
    return lines


def folded_proof(tree: str) -> list[str]:
    """Return a proof as a block that opens on a click."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", tree)), default=0))
    return [
        "  <details><summary>proof</summary>",
        "",
        f"  {fence}text",
        *("  " + line for line in tree.rstrip("\n").splitlines()),
        f"  {fence}",
        "",
        "  </details>",
    ]


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#!])")


def escaped(text: str) -> str:
    """Return ``text`` so that Markdown shows it as it is, on one line and mentioning nobody."""
    plain = "".join([character if character.isprintable() else " " for character in text])
    return _SPECIAL.sub(r"\\\1", plain).replace("&", "&amp;").replace("@", "&#64;")


def code(text: str) -> str:
    """Return ``text`` as a code span, whatever it holds."""
    plain = "".join([character if character.isprintable() else " " for character in text])
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    if not longest:
        return f"`{plain}`"
    fence = "`" * (longest + 1)
    return f"{fence} {plain} {fence}"
