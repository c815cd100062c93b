"""The whole bundle as one JSON document."""

from __future__ import annotations

from typing import Any, NotRequired

from openknowledge.schemas.common import Revision
from openknowledge.schemas.listing import ListEntry
from typing_extensions import TypedDict


class ExportedSection(TypedDict):
    """A section with its text."""

    id: str
    heading: str
    headingLevel: int
    headingPath: list[str]
    anchors: list[str]
    lineStart: int
    lineEnd: int
    locator: str
    contentSha256: str
    estimatedTokens: int
    text: str


class ExportedLink(TypedDict):
    """A link as written, and where it leads if it leads into the bundle."""

    href: str
    kind: str
    line: int
    column: int
    target: NotRequired[str]
    targetAnchor: NotRequired[str]
    exists: NotRequired[bool]


class ExportedDocument(TypedDict):
    """A page."""

    entry: ListEntry
    documentSha256: str
    frontmatter: dict[str, Any]
    sections: list[ExportedSection]
    links: list[ExportedLink]


class BundleExport(TypedDict):
    """A bundle."""

    schemaVersion: str
    root: str
    revision: Revision
    documents: list[ExportedDocument]
    assets: list[str]
