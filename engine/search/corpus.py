"""The text of a bundle laid out for searching: one buffer of tokens, cut into units by field.

A unit is one field of one page (title, description, path, metadata) or of one section (heading, ancestors,
body). Units of a field are neighbours, so a position in the buffer tells the field and its owner.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain

from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.search.analysis import encode_texts

PAGE_FIELDS = ("title", "description", "path", "metadata")
SECTION_FIELDS = ("heading", "headingPath", "body")
FIELDS = PAGE_FIELDS + SECTION_FIELDS


@dataclass(frozen=True)
class Corpus:
    """Pages and sections in the order of path and line, and their text as tokens.

    ``ends[u]`` is where unit ``u`` ends in ``text``, ``ends[-1]`` the length; each unit starts with a space.
    ``page_of`` gives the number of a section's page, ``first_section`` a page's first section (with one
    more entry for the end).
    """

    bundle: Bundle
    pages: tuple[Document, ...]
    sections: tuple[Section, ...]
    page_of: list[int]
    first_section: list[int]
    text: bytes
    ends: list[int]

    @property
    def starts(self) -> dict[str, int]:
        """The first unit of each field."""
        return self._starts

    @cached_property
    def _starts(self) -> dict[str, int]:
        pages, sections = len(self.pages), len(self.sections)
        sizes = [pages] * len(PAGE_FIELDS) + [sections] * len(SECTION_FIELDS)
        return dict(zip(FIELDS, accumulate([0, *sizes[:-1]]), strict=True))

    @cached_property
    def lengths(self) -> dict[str, list[int]]:
        """The length in bytes of every unit, by field."""
        ends = self.ends
        every = [end - start for start, end in zip(chain((0,), ends), ends, strict=False)]
        counts = [len(self.pages)] * len(PAGE_FIELDS) + [len(self.sections)] * len(SECTION_FIELDS)
        found = {}
        at = 0
        for field, count in zip(FIELDS, counts, strict=True):
            found[field] = every[at : at + count]
            at += count
        return found

    def unit_text(self, field: str, number: int) -> bytes:
        """Return the tokens of one unit: of page or section ``number``, as the field has it."""
        unit = self.starts[field] + number
        return self.text[self.ends[unit - 1] if unit else 0 : self.ends[unit]]

    @cached_property
    def number_of(self) -> dict[int, int]:
        """The number of a section by its identity (``id()``): sections of equal content are not one."""
        return {id(section): number for number, section in enumerate(self.sections)}


def build_corpus(bundle: Bundle) -> Corpus:
    """Lay out the pages and sections of ``bundle``."""
    pages = bundle.documents
    sections: list[Section] = []
    page_of: list[int] = []
    first = [0]
    for number, page in enumerate(pages):
        own = page.sections
        sections.extend(own)
        page_of.extend([number] * len(own))
        first.append(len(sections))
    texts = [page.title for page in pages]
    texts.extend([page.description for page in pages])
    texts.extend([page.path for page in pages])
    texts.extend([page.frontmatter.source for page in pages])
    texts.extend([section.heading if section.level else "" for section in sections])
    texts.extend([" ".join(section.heading_path[:-1]) for section in sections])
    texts.extend([section.text for section in sections])
    text, sizes = encode_texts(texts)
    ends = list(accumulate(sizes))
    return Corpus(bundle, pages, tuple(sections), page_of, first, text, ends)
