"""One page or section as it stands."""

from __future__ import annotations

from typing import NotRequired

from openknowledge.schemas.common import Revision
from openknowledge.schemas.listing import Okf02
from typing_extensions import TypedDict


class GetResult(TypedDict):
    """A page or section: its text with where it is and what it says of its trust."""

    schemaVersion: str
    root: str
    revision: Revision
    id: str
    path: str
    kind: str
    title: str
    heading: NotRequired[str]
    headingPath: NotRequired[list[str]]
    lineStart: int
    lineEnd: int
    locator: str
    contentSha256: str
    documentSha256: NotRequired[str]
    okf02: NotRequired[Okf02]
    text: str
