"""The outcome as workflow commands of GitHub Actions, which become annotations on the changed lines."""

from __future__ import annotations

from openknowledge.engine.analysis.reporting.outcome import FORGE_LEVELS, Outcome
from openknowledge.engine.printable import printable


def github_report(outcome: Outcome) -> str:
    """Return one ``::error``, ``::warning`` or ``::notice`` for each finding that nobody has accepted.

    The verdict stands last, as a notice without a place.
    """
    lines = [
        f"::{FORGE_LEVELS[finding.severity]} file={_property(outcome.path(finding))},line={finding.line},"
        f"col={finding.column},title={_property(finding.rule)}::{_data(finding.message)}"
        for finding in outcome.open
    ]
    lines.append(f"::notice title=okn check::{_data(outcome.verdict)}")
    return "\n".join(lines) + "\n"


def _data(text: str) -> str:
    return printable(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
