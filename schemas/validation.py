"""The validation report."""

from __future__ import annotations

from typing import NotRequired

from openknowledge.schemas.common import Issue, Quarantined
from typing_extensions import TypedDict


class Summary(TypedDict):
    """The result in numbers."""

    status: str
    errorCount: int
    warningCount: int
    issueCount: int


class ValidationPolicy(TypedDict):
    """Which settings were applied, and which claims are kept out of the facts."""

    configPath: NotRequired[str]
    overrides: NotRequired[dict[str, str]]
    quarantined: NotRequired[list[Quarantined]]


class Check(TypedDict):
    """One rule with its outcome."""

    name: str
    group: str
    status: str
    message: str


class ValidationReport(TypedDict):
    """Everything that validation found in a bundle."""

    schemaVersion: str
    root: str
    specVersion: str
    profile: str
    files: int
    concepts: int
    indexes: int
    logs: int
    summary: Summary
    policy: ValidationPolicy
    checks: list[Check]
    issues: list[Issue]
    errors: list[Issue]
    warnings: list[Issue]
