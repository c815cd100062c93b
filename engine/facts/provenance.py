"""Where a fact was read: the page, the section or frontmatter field, its lines and digest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.digests import locator
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.sections import Section

if TYPE_CHECKING:
    from openknowledge.schemas.common import Provenance as ProvenanceJson


@dataclass(slots=True, eq=False)
class Provenance:
    """A place in a bundle: a section, else the frontmatter field at ``field``, else the whole page.

    With ``line`` alone, the section that holds this line. Lines and digests are computed only when asked for,
    because most facts are never shown.
    """

    bundle: Bundle
    document: Document
    own_section: Section | None = None
    field: tuple[str | int, ...] = ()
    line: int = 0

    @property
    def section(self) -> Section | None:
        """The section in which the fact was read, if it was read in the body."""
        if self.own_section is None and self.line:
            return self.document.section_at(self.line)
        return self.own_section

    @property
    def content_sha256(self) -> str:
        """The digest of the section's text, or of the whole page (line endings LF)."""
        section = self.section
        if section is not None:
            return section.content_sha256
        return document_sha256(self.document)

    @property
    def locator(self) -> str:
        """The locator of the section or page at the bundle's revision."""
        return locator(self.bundle.index_sha256, self.document.path, self.content_sha256)

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line of the place, those of the file."""
        if self.line:
            return self.line, self.line
        if self.section is not None:
            return self.section.line_start, self.section.line_end
        line, _ = self.document.frontmatter.position(*self.field)
        return line, line

    def to_json(self) -> ProvenanceJson:
        """Return the place as it stands in results."""
        first, last = self.lines
        return {
            "document": self.document.path,
            "documentId": self.document.id,
            "locator": self.locator,
            "contentSha256": self.content_sha256,
            "lineStart": first,
            "lineEnd": last,
        }


def document_sha256(document: Document) -> str:
    """Return the digest of a whole page after CRLF became LF."""
    return hashlib.sha256(document.data.replace(b"\r\n", b"\n")).hexdigest()
