"""Shapes that several results share."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict


class Provenance(TypedDict):
    """Where something was read. Lines are 1-based."""

    document: str
    documentId: str
    locator: str
    contentSha256: str
    lineStart: NotRequired[int]
    lineEnd: NotRequired[int]


class Revision(TypedDict):
    """Which bytes an answer is about."""

    specVersion: str
    indexSha256: str


class Quarantined(TypedDict):
    """Something that was kept out of the facts, and why."""

    document: str
    claimId: NotRequired[str]
    rule: str
    message: str


class Policy(TypedDict):
    """What the access filter and the quarantine kept out of an answer."""

    allowedAccess: list[str]
    removedSources: int
    removedClaims: int
    quarantined: NotRequired[list[Quarantined]]


class Issue(TypedDict):
    """One finding about one place of a bundle."""

    path: str
    line: NotRequired[int]
    column: NotRequired[int]
    rule: NotRequired[str]
    severity: NotRequired[str]
    message: str


class ErrorDetail(TypedDict):
    """What went wrong in a command."""

    kind: str
    command: str
    exitCode: int
    message: str
    truncated: bool


class ErrorReport(TypedDict):
    """The error of a command, for programs."""

    schemaVersion: str
    error: ErrorDetail
