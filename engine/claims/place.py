"""Where a claim stands: the section it is bound to, else the first section of its page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.facts.provenance import Provenance

if TYPE_CHECKING:
    from openknowledge.schemas.common import Provenance as ProvenanceJson


def claim_section(document: Document, section_ref: str) -> Section | None:
    """Return the last section with the anchor ``section_ref`` (``#`` and an id), else the first section."""
    sections = document.sections
    if not section_ref:
        return sections[0] if sections else None
    anchor = section_ref[1:]
    for section in reversed(sections):
        if anchor in section.anchors:
            return section
    return sections[0] if sections else None


@dataclass(slots=True, eq=False)
class ClaimPlace(Provenance):
    """The provenance of a claim; its section is looked up when somebody asks.

    The section's lines are those of the text that the claim is about. ``claim_line`` is the line of the claim
    itself, in the frontmatter. A page without sections has neither section nor lines.
    """

    section_ref: str = ""

    @property
    def section(self) -> Section | None:
        """The section that the claim is bound to."""
        return claim_section(self.document, self.section_ref)

    @property
    def claim_line(self) -> int:
        """The line of the file where that from which the fact was read stands in the frontmatter."""
        return self.document.frontmatter.position(*self.field)[0]

    def to_json(self) -> ProvenanceJson:
        """Return the place as it stands in results."""
        found: ProvenanceJson = {
            "document": self.document.path,
            "documentId": self.document.id,
            "locator": self.locator,
            "contentSha256": self.content_sha256,
        }
        section = self.section
        if section is not None:
            found["lineStart"] = section.line_start
            found["lineEnd"] = section.line_end
        return found
