"""The audit report, and the baseline of sources that an audit compares with."""

from __future__ import annotations

from typing import NotRequired

from openknowledge.schemas.datalog import ProofStep
from typing_extensions import TypedDict


class AuditedBundle(TypedDict):
    """The bundle that was audited; ``sha256`` is the digest over all its files."""

    path: str
    spec: str
    sha256: str


class AuditSummary(TypedDict):
    """The findings in numbers."""

    total: int
    high: int
    medium: int
    low: int


class AuditEvidence(TypedDict):
    """What a finding rests on: a field, on a page if it has a ``path``, and its value."""

    path: NotRequired[str]
    field: str
    value: str


class AuditFinding(TypedDict):
    """One finding. ``targets`` are the pages, and claims, that somebody has to look at."""

    id: str
    category: str
    severity: str
    title: str
    impact: str
    targets: list[str]
    evidence: list[AuditEvidence]
    proofs: NotRequired[list[ProofStep]]


class AuditedSources(TypedDict):
    """The sources of all audited pages in numbers."""

    current: int
    changed: int
    missing: int


class AuditReport(TypedDict):
    """What an audit found. ``type`` is ``openknowledge.audit-report``, ``version`` 1."""

    type: str
    version: int
    bundle: AuditedBundle
    evaluatedAt: str
    summary: AuditSummary
    findings: list[AuditFinding]
    sources: AuditedSources


class SourceIdentity(TypedDict):
    """A source as it was when the baseline was recorded."""

    document: str
    id: NotRequired[str]
    resource: str
    fingerprint: str
    exists: bool


class AuditSourceBaseline(TypedDict):
    """The sources of a bundle at one moment.

    ``type`` is ``openknowledge.audit-source-baseline``, ``version`` 1.
    """

    type: str
    version: int
    bundleSha256: str
    sources: list[SourceIdentity]
