"""Derived values of claims: whether they hold now, and whether their evidence is still what was reviewed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Literal

from openknowledge.engine.bundle.instants import format_instant, start_of
from openknowledge.engine.bundle.okf import Source
from openknowledge.engine.claims.evidence import EvidenceStore, is_remote, local_path
from openknowledge.engine.claims.model import ENDED, Claim, EvidenceVersion

EARLIEST = "0001-01-01T00:00:00Z"
LATEST = "9999-12-31T23:59:59.999999Z"
"""The instants that stand for an open start and an open end."""

FileState = Literal["remote", "unchecked", "read", "missing", "not-regular", "too-large", "unresolvable"]
StaleReason = Literal[
    "date",
    "source-gone",
    "source-moved",
    "resource-moved",
    "digest-changed",
    "file-missing",
    "file-not-regular",
    "file-too-large",
    "file-unresolvable",
]


@lru_cache(maxsize=65_536)
def instant_of(text: str) -> str:
    """Return a date or timestamp as an RFC 3339 instant in UTC; a date is its first moment."""
    moment = start_of(text)
    return format_instant(moment) if moment is not None else text


def valid_start(claim: Claim) -> str:
    """Return the first instant of the claim's time; the year 1 when it is open."""
    return instant_of(claim.valid_from) if claim.valid_from else EARLIEST


def valid_end(claim: Claim) -> str:
    """Return the instant at which the claim's time is over; the end of the year 9999 when it is open."""
    return instant_of(claim.valid_until) if claim.valid_until else LATEST


def is_active(claim: Claim, now: datetime) -> bool:
    """Whether the claim has not been ended by a decision and ``now`` lies in its time (half-open)."""
    if claim.status in ENDED:
        return False
    start = start_of(claim.valid_from) if claim.valid_from else None
    end = start_of(claim.valid_until) if claim.valid_until else None
    return (start is None or start <= now) and (end is None or now < end)


@dataclass(frozen=True, slots=True)
class EvidenceState:
    """A piece of evidence as it was reviewed last, and as it is now.

    ``source_ref`` is ``""`` when the evidence or its source is gone. ``sha256`` is that of the local file.
    """

    version: EvidenceVersion
    source_ref: str
    resource: str
    file: FileState
    sha256: str = ""

    @property
    def reasons(self) -> tuple[StaleReason, ...]:
        """Why the review no longer covers the evidence; empty when it does."""
        if not self.source_ref:
            return ("source-gone",)
        reasons: list[StaleReason] = []
        if self.source_ref != self.version.source_ref:
            reasons.append("source-moved")
        if self.resource and self.resource != self.version.resource:
            reasons.append("resource-moved")
        if self.file == "read":
            if self.sha256 != self.version.sha256:
                reasons.append("digest-changed")
        elif self.file not in ("remote", "unchecked"):
            reasons.append(f"file-{self.file}")  # type: ignore[arg-type]
        return tuple(reasons)


@dataclass(frozen=True, slots=True)
class Staleness:
    """One reason why a claim is stale. ``since`` is ``stale_after``, or when the evidence was last good."""

    reason: StaleReason
    evidence: str
    since: str


def evidence_states(
    claim: Claim, sources: dict[str, Source], store: EvidenceStore | None, root: Path
) -> tuple[EvidenceState, ...]:
    """Return the state of each piece of evidence with a recorded version, in the order of evidence ids.

    Of several versions the last is current. Without a ``store`` no file is looked at.
    """
    if claim.verification is None or not claim.verification.evidence_versions:
        return ()
    current = {version.evidence_ref: version for version in claim.verification.evidence_versions}
    refs = {item.id: item.source_ref for item in claim.evidence}
    states = []
    for name, version in sorted(current.items()):
        source = sources.get(refs.get(name, ""))
        if source is None:
            states.append(EvidenceState(version, "", "", "unchecked"))
            continue
        resource = source.live_resource or source.resource
        file: FileState = "unchecked"
        sha256 = ""
        if is_remote(resource):
            file = "remote"
        elif store is not None:
            path = local_path(resource, claim.path, root)
            if path is None:
                file = "unresolvable"
            else:
                artifact = store.artifact(path)
                file, sha256 = artifact.state, artifact.sha256
        states.append(EvidenceState(version, source.id, resource, file, sha256))
    return tuple(states)


def staleness(claim: Claim, states: Iterable[EvidenceState], day: str) -> tuple[Staleness, ...]:
    """Return every reason why the claim is stale on ``day`` (YYYY-MM-DD); empty when it is fresh."""
    found: list[Staleness] = []
    if claim.stale_after and claim.stale_after <= day:
        found.append(Staleness("date", "", claim.stale_after))
    for state in states:
        found.extend(
            Staleness(reason, state.version.evidence_ref, state.version.at) for reason in state.reasons
        )
    return tuple(found)


def today(now: datetime) -> date:
    """Return the UTC date of an instant: the day that ``stale_after`` is compared with."""
    return now.astimezone(UTC).date()
