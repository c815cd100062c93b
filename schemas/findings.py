"""The result of ``okn check``, and the file of accepted findings."""

from __future__ import annotations

from typing import NotRequired

from openknowledge.schemas.common import Provenance, Revision
from openknowledge.schemas.datalog import ProofStep
from typing_extensions import TypedDict


class Acceptance(TypedDict):
    """That a finding was accepted: why, and until which day (``YYYY-MM-DD``)."""

    reason: str
    until: str


class Finding(TypedDict):
    """One finding with its place and its proof. ``id`` stays the same until the finding is gone."""

    id: str
    rule: str
    severity: str
    subject: str
    message: str
    path: str
    line: int
    column: int
    proof: ProofStep
    sources: list[Provenance]
    accepted: NotRequired[Acceptance]


class CheckedRule(TypedDict):
    """One rule that was checked, and how many findings it has."""

    id: str
    severity: str
    group: str
    summary: str
    findings: int


class CheckSummary(TypedDict):
    """The result in numbers. Accepted findings count in ``accepted`` alone."""

    status: str
    failOn: str
    total: int
    high: int
    medium: int
    low: int
    accepted: int


class AcceptedFinding(TypedDict):
    """An entry of a baseline file: a finding, why it is accepted, and until which day (``YYYY-MM-DD``)."""

    id: str
    rule: str
    path: str
    message: str
    reason: str
    until: str


class CheckBaseline(TypedDict):
    """The baseline file of ``okn check``. ``type`` is ``openknowledge.check-baseline``, ``version`` 1."""

    type: str
    version: int
    findings: list[AcceptedFinding]


class BaselineUse(TypedDict):
    """What became of a baseline: entries that are past their date, and entries whose finding is gone."""

    path: str
    accepted: int
    expired: list[AcceptedFinding]
    gone: list[AcceptedFinding]


class CheckReport(TypedDict):
    """Everything that ``okn check`` found in one revision of a bundle, as of one instant."""

    schemaVersion: str
    root: str
    revision: Revision
    asOf: str
    summary: CheckSummary
    rules: list[CheckedRule]
    findings: list[Finding]
    baseline: NotRequired[BaselineUse]
