"""The result of ``okn diff``: what changed between two states of a bundle, and what that does."""

from __future__ import annotations

from typing import Any, NotRequired

from openknowledge.schemas.datalog import ProofStep
from openknowledge.schemas.findings import Finding
from typing_extensions import TypedDict


class DiffSide(TypedDict):
    """One of the two states: a git revision with its ``commit``, or the working tree."""

    name: str
    commit: NotRequired[str]
    indexSha256: str
    asOf: str


class FieldChange(TypedDict):
    """A field of a claim before and after; ``null`` when it is not there."""

    field: str
    before: Any
    after: Any


class ClaimChange(TypedDict):
    """What happened to a claim.

    ``change`` is ``added``, ``removed``, ``changed``, ``lifecycle`` (its status, or whether it holds),
    ``moved`` (to another page), ``quarantined`` or ``released`` (from quarantine). Path and line are those
    after the change, or before it if the claim is gone.
    """

    id: str
    change: str
    path: str
    line: int
    statement: str
    fields: list[FieldChange]
    supersededBy: NotRequired[list[str]]


class SectionChange(TypedDict):
    """A section that was ``added``, ``removed`` or ``changed``; the line is that after the change."""

    id: str
    heading: str
    change: str
    line: int


class PageChange(TypedDict):
    """A page that was ``added``, ``removed``, ``changed``, or ``renamed`` from ``before``."""

    path: str
    change: str
    before: NotRequired[str]
    frontmatter: bool
    sections: list[SectionChange]


class Affected(TypedDict):
    """Something that depends on a claim that changed: a page, or a claim derived from it.

    ``how`` is the kind of dependency; ``changed`` says whether the page was itself changed.
    """

    subject: str
    kind: str
    how: str
    claim: str
    path: str
    line: int
    changed: bool
    proof: ProofStep


class DiffSummary(TypedDict):
    """The result in numbers; ``failOn`` is the severity from which a new finding fails."""

    status: str
    failOn: str
    claims: dict[str, int]
    pages: dict[str, int]
    newFindings: int
    fixedFindings: int
    affected: int


class DiffReport(TypedDict):
    """What changed from ``base`` to ``head``, and which findings are new or fixed, with proofs."""

    schemaVersion: str
    root: str
    base: DiffSide
    head: DiffSide
    summary: DiffSummary
    claims: list[ClaimChange]
    pages: list[PageChange]
    newFindings: list[Finding]
    fixedFindings: list[Finding]
    affected: list[Affected]
