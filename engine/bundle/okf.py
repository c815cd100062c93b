"""The metadata families of OKF 0.2: trust, lifecycle, sources. Values as the page states them, typed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from openknowledge.engine.bundle.instants import parse_instant
from openknowledge.engine.bundle.slugs import WHITESPACE

STATUSES = ("draft", "stable", "deprecated")
TRUST_TIERS = ("unverified", "machine-confirmed", "human-reviewed")
HUMAN = "human:"
ACTOR = re.compile(r"(?:human:\S+|process:\S+|[^\s/:]+/\S+)\Z")
ACCESS_LABEL = re.compile(r"(?:profile|agent|team|use_case):\S+\Z")


@dataclass(frozen=True, slots=True)
class Event:
    """Who did something and when, as written: ``generated`` or one entry of ``verified``."""

    by: str
    at: str

    @property
    def instant(self) -> datetime | None:
        """The UTC instant, if ``at`` is a full timestamp."""
        return parse_instant(self.at)


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of ``sources``. Absent strings are empty; ``raw`` is the entry as written."""

    id: str
    resource: str
    index: int
    live_resource: str = ""
    observe: str = ""
    sha256: str = ""
    role: str = ""
    title: str = ""
    author: str = ""
    last_modified: str = ""
    authority_approved_by: str = ""
    access: tuple[str, ...] = ()
    raw: dict[str, Any] = field(default_factory=dict)


def text_of(value: Any) -> str:
    """Return a trimmed string, or ``""`` for anything that is not a YAML string."""
    if not isinstance(value, str):
        return ""
    # trimming what Python takes for white space is faster, and where it finds none there is none
    return value if len(value.strip()) == len(value) else value.strip(WHITESPACE)


def text_list(value: Any) -> tuple[str, ...]:
    """Return the non-empty strings of a list, or of one string."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        return ()
    return tuple(text for item in value if (text := text_of(item)))


def verified_list(value: Any) -> list[Any]:
    """Return ``verified`` as a list: a bare mapping is a list of one."""
    if isinstance(value, dict):
        return [value]
    return value if isinstance(value, list) else []


def event_of(value: Any) -> Event | None:
    """Return ``{by, at}`` as an event; ``None`` without a ``by``."""
    if not isinstance(value, dict) or not (by := text_of(value.get("by"))):
        return None
    return Event(by, text_of(value.get("at")))


def sources_of(value: Any) -> list[Source]:
    """Return the entries of ``sources`` that are mappings, in order."""
    if not isinstance(value, list):
        return []
    return [
        Source(
            id=text_of(item.get("id")),
            resource=text_of(item.get("resource")),
            index=index,
            live_resource=text_of(item.get("live_resource")),
            observe=text_of(item.get("observe")),
            sha256=text_of(item.get("sha256")),
            role=text_of(item.get("role")),
            title=text_of(item.get("title")),
            author=text_of(item.get("author")),
            last_modified=text_of(item.get("last_modified")),
            authority_approved_by=text_of(item.get("authority_approved_by")),
            access=text_list(item.get("access")),
            raw=item,
        )
        for index, item in enumerate(value)
        if isinstance(item, dict)
    ]


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a page says of its own trust and lifecycle."""

    status: str
    trust_tier: str
    stale_after: str
    generated: Event | None
    verified: tuple[Event, ...]
    sources: tuple[Source, ...]
    computation: str

    def is_stale(self, now: datetime) -> bool:
        """Whether ``now`` has reached ``stale_after``. A date alone never makes a page stale."""
        limit = parse_instant(self.stale_after)
        return limit is not None and now >= limit

    @property
    def verification_outdated(self) -> bool:
        """Whether every verification is older than the generation of the text it verified."""
        made = self.generated.instant if self.generated else None
        moments = [event.instant for event in self.verified]
        return made is not None and bool(moments) and all(m is not None and m < made for m in moments)


_EMPTY = Metadata("stable", "unverified", "", None, (), (), "")


def metadata_of(data: dict[str, Any]) -> Metadata:
    """Return the metadata in the frontmatter ``data``; unusable values count as absent."""
    if not data:
        return _EMPTY
    verified = tuple(event for item in verified_list(data.get("verified")) if (event := event_of(item)))
    status = text_of(data.get("status"))
    return Metadata(
        status=status or "stable",
        trust_tier=trust_tier(verified),
        stale_after=text_of(data.get("stale_after")),
        generated=event_of(data.get("generated")),
        verified=verified,
        sources=tuple(sources_of(data.get("sources"))),
        computation=text_of(data.get("computation")),
    )


def trust_tier(verified: tuple[Event, ...]) -> str:
    """Return the advisory trust tier that the verifying actors give."""
    if any(event.by.startswith(HUMAN) for event in verified):
        return "human-reviewed"
    return "machine-confirmed" if verified else "unverified"
