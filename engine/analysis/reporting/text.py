"""The outcome for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openknowledge.engine.analysis.conclusions import Conclusions
from openknowledge.engine.analysis.findings import Finding
from openknowledge.engine.analysis.reporting.outcome import Outcome
from openknowledge.engine.datalog import Proof


def text_report(outcome: Outcome, explain: Sequence[str] = ()) -> str:
    """Return one line for each finding, and the verdict.

    The findings of the rules in ``explain`` come with their proofs as trees.
    """
    from fnmatch import fnmatchcase

    lines = []
    for finding in outcome.findings:
        lines.append(finding_line(finding))
        if any(fnmatchcase(finding.rule, pattern) for pattern in explain):
            lines += ["    " + line for line in explanation(outcome.run.conclusions, finding).splitlines()]
    for entry in outcome.expired:
        lines.append(
            f"{outcome.baseline}: the finding {entry['id']} ({entry['rule']} in {entry['path']}) was "
            f"accepted until {entry['until']}, which has passed: {one_line(entry['reason'])}"
        )
    for entry in outcome.gone:
        lines.append(
            f"{outcome.baseline}: the finding {entry['id']} ({entry['rule']} in {entry['path']}) is gone: "
            "remove it with --update-baseline"
        )
    lines.append(outcome.verdict)
    return "\n".join(lines) + "\n"


def finding_line(finding: Finding) -> str:
    """Return a finding as ``path:line:column: severity: message [rule]``."""
    accepted = ""
    if finding.accepted is not None:
        reason = one_line(finding.accepted.reason)
        accepted = f" (accepted until {finding.accepted.until}: {reason})"
    return (
        f"{one_line(finding.path)}:{finding.line}:{finding.column}: {finding.severity}: "
        f"{one_line(finding.message)} [{finding.rule}]{accepted}"
    )


def explanation(conclusions: Conclusions, finding: Finding) -> str:
    """Return the proof of a finding as a tree, each fact with where it was read."""
    return proof_tree(conclusions, finding.proof)


def proof_tree(conclusions: Conclusions, proof: Proof) -> str:
    """Return a proof as a tree, each fact with where it was read."""
    from openknowledge.engine.datalog.render import proof_text

    facts = conclusions.facts

    def read_at(predicate: str, row: tuple[Any, ...]) -> Sequence[str]:
        places = facts.places(predicate, row)
        return [f"{place.document.path}:{place.lines[0]}" for place in places]

    return proof_text(proof, read_at)


def one_line(text: str) -> str:
    """Return ``text`` without anything that ends a line or steers a terminal."""
    return "".join([character if character.isprintable() else " " for character in text])
