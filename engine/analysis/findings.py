"""Findings: what a gate reports, where, how grave it is, and what proves it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from openknowledge.engine.datalog import Proof
from openknowledge.engine.errors import UsageError
from openknowledge.engine.facts.provenance import Provenance

if TYPE_CHECKING:
    from openknowledge.schemas.common import Provenance as ProvenanceJson

Severity = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")
"""How grave a finding is, gravest first."""
_RANK: dict[str, int] = {name: len(SEVERITIES) - place for place, name in enumerate(SEVERITIES)}
NEVER = "none"
"""The threshold that no finding reaches."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """That somebody has accepted a finding: why, and until which day (``YYYY-MM-DD``)."""

    reason: str
    until: str


class Grounds:
    """What proves a finding. The proof is built when somebody asks for it: most are never shown."""

    def __init__(
        self,
        prove: Callable[[], Proof],
        read_at: Callable[[Proof], tuple[Provenance, ...]] = lambda _proof: (),
    ) -> None:
        self._prove = prove
        self._read_at = read_at

    @cached_property
    def proof(self) -> Proof:
        """The proof of the fact that states the finding."""
        return self._prove()

    @cached_property
    def places(self) -> tuple[Provenance, ...]:
        """Where the facts that the proof rests on were read."""
        return self._read_at(self.proof)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    ``atom`` is the fact that states it: with the rule it identifies the finding, whatever the wording of the
    message and wherever the line moves. ``number`` tells apart several findings of one fact. ``grounds`` are
    what proves it.
    """

    rule: str
    severity: Severity
    subject: str
    message: str
    path: str
    line: int
    column: int
    atom: str
    grounds: Grounds = field(compare=False, repr=False)
    number: int = 1
    accepted: Acceptance | None = None

    @property
    def proof(self) -> Proof:
        """What proves the finding."""
        return self.grounds.proof

    @property
    def id(self) -> str:
        """What names the finding in a baseline: it stays the same until the finding is gone."""
        parts = (self.rule, self.path, self.atom, str(self.number))
        text = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hashlib.sha256(text).hexdigest()[:20]

    @property
    def sort_key(self) -> tuple[str, int, int, str, str, int]:
        """The order in which findings are reported."""
        return self.path, self.line, self.column, self.rule, self.atom, self.number

    @property
    def sources(self) -> list[ProvenanceJson]:
        """Where the facts of the proof were read, each place once."""
        from openknowledge.engine.query.datalog import unique_sources

        return unique_sources(self.grounds.places)


def severity_rank(severity: str) -> int:
    """Return a number that is greater for a graver severity."""
    return _RANK[severity]


def parse_threshold(text: str) -> str:
    """Return the threshold that ``--fail-on`` names. Raises ``UsageError``."""
    if text not in (NEVER, *SEVERITIES):
        raise UsageError(f"unknown --fail-on {text!r}; choose none, low, medium or high")
    return text


def reaches(severity: str, threshold: str) -> bool:
    """Whether a finding of ``severity`` is grave enough for ``threshold``."""
    return threshold != NEVER and _RANK[severity] >= _RANK[threshold]


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Return ``findings`` by path and line, those of one fact numbered in this order."""
    result: list[Finding] = []
    seen: Counter[tuple[str, str, str]] = Counter()
    for finding in sorted(findings, key=lambda item: item.sort_key):
        key = (finding.rule, finding.path, finding.atom)
        seen[key] += 1
        result.append(replace(finding, number=seen[key]) if seen[key] > 1 else finding)
    return result


def counted(findings: Sequence[Finding]) -> dict[str, int]:
    """Return how many of ``findings`` that nobody has accepted have each severity."""
    counts = Counter(finding.severity for finding in findings if finding.accepted is None)
    return {severity: counts[severity] for severity in SEVERITIES}
