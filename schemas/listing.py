"""The inventory of a bundle."""

from __future__ import annotations

from typing import Any, NotRequired

from openknowledge.schemas.common import Issue
from typing_extensions import TypedDict

Window = TypedDict("Window", {"from": NotRequired[str], "to": NotRequired[str]})


class Generated(TypedDict):
    """Who did something, and when."""

    by: str
    at: NotRequired[str]


class Source(TypedDict):
    """One entry of a page's ``sources``."""

    id: NotRequired[str]
    resource: str
    liveResource: NotRequired[str]
    observe: NotRequired[str]
    sha256: NotRequired[str]
    role: NotRequired[str]
    title: NotRequired[str]
    author: NotRequired[str]
    access: NotRequired[list[str]]
    usageCount: NotRequired[int]
    lastModified: NotRequired[str]
    usageWindow: NotRequired[Window]


class Okf02(TypedDict):
    """What a page says of its trust and lifecycle."""

    trustTier: str
    status: str
    stale: bool
    verificationOutdated: NotRequired[bool]
    staleAfter: NotRequired[str]
    generated: NotRequired[Generated]
    verified: NotRequired[list[Generated]]
    sources: NotRequired[list[Source]]
    computation: NotRequired[str]


class ListEntry(TypedDict):
    """One page or file."""

    id: str
    path: str
    kind: str
    reserved: bool
    type: NotRequired[str]
    title: NotRequired[str]
    description: NotRequired[str]
    resource: NotRequired[str]
    okf02: NotRequired[Okf02]
    claimProfile: NotRequired[dict[str, Any]]
    issues: NotRequired[list[Issue]]


class ListResult(TypedDict):
    """Every page and file of a bundle, by path."""

    schemaVersion: str
    root: str
    entries: list[ListEntry]
