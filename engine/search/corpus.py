"""The text of a bundle laid out for searching: the pages in one buffer of tokens, the sections as asked for.

A search looks through the pages first, and only at the sections of those that hold its words. So the Markdown
of all other pages need not be parsed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain

from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.sections import Section, reader_lines
from openknowledge.engine.search.analysis import encode_texts

META_FIELDS = ("title", "description", "path", "metadata")
PAGE_FIELDS = (*META_FIELDS, "text")
SECTION_FIELDS = ("heading", "headingPath", "body")

SectionKey = int
"""A section by the number of its page and its own on that page: sorts by path and line."""
_BITS = 24


def key_of(page: int, number: int) -> SectionKey:
    """Return the key of section ``number`` of ``page``."""
    return (page << _BITS) | number


def page_of(key: SectionKey) -> int:
    """Return the number of a section's page."""
    return key >> _BITS


def number_of(key: SectionKey) -> int:
    """Return a section's number on its page."""
    return key & ((1 << _BITS) - 1)


@dataclass(frozen=True)
class Corpus:
    """The pages in the order of their paths, and their fields as tokens.

    A unit is one field of one page; the units of a field are neighbours. ``ends[u]`` is where unit ``u`` ends
    in ``text``. Each unit starts with a space, and one ends the text.
    """

    bundle: Bundle
    pages: tuple[Document, ...]
    text: bytes
    ends: list[int]
    tokens: SectionTokens = field(default_factory=lambda: SectionTokens())

    @cached_property
    def starts(self) -> dict[str, int]:
        """The first unit of each field."""
        return {name: at * len(self.pages) for at, name in enumerate(PAGE_FIELDS)}

    @cached_property
    def lengths(self) -> dict[str, list[int]]:
        """The length in bytes of every unit, by field."""
        ends = self.ends
        every = [end - start for start, end in zip(chain((0,), ends), ends, strict=False)]
        size = len(self.pages)
        return {name: every[start : start + size] for name, start in self.starts.items()}

    def page_text(self, name: str, page: int) -> bytes:
        """Return the tokens of one field of a page."""
        unit = self.starts[name] + page
        return self.text[self.ends[unit - 1] if unit else 0 : self.ends[unit]]

    def page(self, key: SectionKey) -> Document:
        """Return the page of a section."""
        return self.pages[page_of(key)]

    def section(self, key: SectionKey) -> Section:
        """Return a section."""
        return self.pages[page_of(key)].sections[number_of(key)]

    def section_text(self, name: str, key: SectionKey) -> bytes:
        """Return the tokens of one field of a section."""
        own = self.section_tokens((page_of(key),))[page_of(key)][number_of(key)]
        return own[SECTION_FIELDS.index(name)]

    def section_tokens(self, pages: Iterable[int]) -> dict[int, list[SectionFields]]:
        """Return the tokens of all sections of ``pages``, by page."""
        return self.tokens.of(self, pages)

    @cached_property
    def section_keys(self) -> list[SectionKey]:
        """The keys of all sections. Asks for the Markdown of every page."""
        self.bundle.read_outlines()
        return [
            key_of(at, number) for at, page in enumerate(self.pages) for number in range(len(page.sections))
        ]


SectionFields = tuple[bytes, bytes, bytes]
"""The tokens of a section's heading, of the headings above it, and of its text; each with a space before."""


class SectionTokens:
    """Remembers the tokens of sections, for a bounded number of pages."""

    def __init__(self, most: int = 4_096) -> None:
        self._most = most
        self._known: dict[int, list[SectionFields]] = {}

    def of(self, corpus: Corpus, pages: Iterable[int]) -> dict[int, list[SectionFields]]:
        """Return the tokens of the sections of ``pages``."""
        wanted = list(dict.fromkeys(pages))
        missing = [page for page in wanted if page not in self._known]
        if not missing:
            return {page: self._known[page] for page in wanted}
        made = dict(zip(missing, encode_sections([corpus.pages[page] for page in missing]), strict=True))
        found = {page: made[page] if page in made else self._known[page] for page in wanted}
        if len(self._known) + len(made) > self._most:
            self._known.clear()
        if len(made) <= self._most:
            self._known.update(made)
        return found


def encode_sections(pages: Iterable[Document]) -> list[list[SectionFields]]:
    """Return the tokens of all sections of each page."""
    texts: list[str] = []
    sizes: list[int] = []
    for page in pages:
        sections = page.sections
        sizes.append(len(sections))
        for section in sections:
            texts.append(section.heading if section.level else "")
            texts.append(" ".join(section.heading_path[:-1]))
            texts.append(section.text)
    text, lengths = encode_texts(texts)
    ends = list(accumulate(lengths))
    parts = [text[start:end] for start, end in zip(chain((0,), ends), ends, strict=False)]
    rows = list(zip(parts[0::3], parts[1::3], parts[2::3], strict=True))
    firsts = list(accumulate(sizes, initial=0))
    return [rows[first : first + size] for first, size in zip(firsts, sizes, strict=False)]


def build_corpus(bundle: Bundle) -> Corpus:
    """Lay out the pages of ``bundle``."""
    pages = bundle.documents
    texts = [page.title for page in pages]
    texts.extend([page.description for page in pages])
    texts.extend([page.path for page in pages])
    texts.extend([page.frontmatter.source for page in pages])
    texts.extend([visible_text(page) for page in pages])
    text, sizes = encode_texts(texts)
    return Corpus(bundle, pages, text, list(accumulate(sizes)))


def visible_text(page: Document) -> str:
    """Return the body of a page without what a reader does not see."""
    front = page.frontmatter
    body = front.body
    if "<!--" in body or "<a" in body or "<A" in body:
        return "\n".join(reader_lines(body, front.body_line, page.outline))
    return body
