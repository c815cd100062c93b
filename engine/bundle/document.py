"""One Markdown page, read once: frontmatter, outline, sections and what is wrong in it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import astuple, dataclass
from typing import Any, Literal, Protocol

from openknowledge.engine.bundle.frontmatter import Frontmatter, split_frontmatter
from openknowledge.engine.bundle.issues import Problem
from openknowledge.engine.bundle.markdown import Heading, Link, Outline
from openknowledge.engine.bundle.markdown import outline as read_outline
from openknowledge.engine.bundle.okf import Metadata, metadata_of, text_list, text_of
from openknowledge.engine.bundle.sections import Section, cut_sections
from openknowledge.engine.bundle.walk import FileState

Kind = Literal["concept", "index", "log"]


class OutlineReader(Protocol):
    """Parses Markdown for many pages at once."""

    def asked(self) -> None:
        """Take note that one more outline is wanted; parse all the others where that pays."""


@dataclass(slots=True, eq=False)
class Document:
    """A readable UTF-8 page of a bundle. Lines are those of the file, from 1.

    Its Markdown is parsed when it is first asked for, and then never again.
    """

    path: str
    id: str
    kind: Kind
    data: bytes
    state: FileState | None
    frontmatter: Frontmatter
    reader: OutlineReader | None = None
    _outline: Outline | None = None
    _sections: list[Section] | None = None
    _metadata: Metadata | None = None
    _by_anchor: dict[str, Section] | None = None

    @property
    def reserved(self) -> bool:
        """Whether this is an ``index.md`` or ``log.md``."""
        return self.kind != "concept"

    @property
    def outline(self) -> Outline:
        """What the page's Markdown holds."""
        if self._outline is None and self.reader is not None:
            self.reader.asked()
        if self._outline is None:
            self._outline = read_outline(self.frontmatter.body, self.frontmatter.body_line)
        return self._outline

    @property
    def is_outlined(self) -> bool:
        """Whether the page's Markdown has been parsed."""
        return self._outline is not None

    @property
    def fields(self) -> dict[str, Any]:
        """The frontmatter's values; empty when there is none or it could not be read."""
        return self.frontmatter.data

    @property
    def sections(self) -> list[Section]:
        """The page's sections in order."""
        if self._sections is None:
            front = self.frontmatter
            self._sections = cut_sections(self.path, self.id, front.body, front.body_line, self.outline)
        return self._sections

    @property
    def title(self) -> str:
        """The page's title: from the frontmatter, else made from the file name."""
        if self.kind == "index":
            return "Index"
        if self.kind == "log":
            return "Log"
        return text_of(self.fields.get("title")) or derived_title(self.path)

    @property
    def type(self) -> str:
        """The page's ``type``; empty for reserved pages and for a value that is not a string."""
        return "" if self.reserved else text_of(self.fields.get("type"))

    @property
    def description(self) -> str:
        """The page's ``description``; empty for reserved pages."""
        return "" if self.reserved else text_of(self.fields.get("description"))

    @property
    def resource(self) -> str:
        """The URI of the asset that the page describes."""
        return text_of(self.fields.get("resource"))

    @property
    def tags(self) -> tuple[str, ...]:
        """The page's tags, in order."""
        return text_list(self.fields.get("tags"))

    @property
    def metadata(self) -> Metadata:
        """Trust, lifecycle and sources as the page states them."""
        if self._metadata is None:
            self._metadata = metadata_of(self.fields)
        return self._metadata

    @property
    def problems(self) -> list[Problem]:
        """What is wrong in the page's own text."""
        return self.frontmatter.problems + self.outline.problems

    def section_at(self, line: int) -> Section | None:
        """Return the section that holds ``line``, else the first section, if there is one."""
        sections = self.sections
        at = bisect_right(sections, line, key=_first_line) - 1
        if at >= 0 and line <= sections[at].line_end:
            return sections[at]
        return sections[0] if sections else None

    def section_with_anchor(self, anchor: str) -> Section | None:
        """Return the section that holds ``anchor``; the first section for an empty one."""
        if not anchor:
            return self.sections[0] if self.sections else None
        if self._by_anchor is None:
            self._by_anchor = {}
            for section in self.sections:
                for name in section.anchors:
                    self._by_anchor.setdefault(name, section)
        return self._by_anchor.get(anchor)


def _first_line(section: Section) -> int:
    return section.line_start


def document_id(path: str) -> str:
    """Return the concept id: the path without its Markdown extension."""
    lowered = path.lower()
    return path[: -len(".markdown")] if lowered.endswith(".markdown") else path[: -len(".md")]


def derived_title(path: str) -> str:
    """Return a title made from the file name: ``sign-in_flow.md`` gives ``Sign in flow``."""
    name = document_id(path.rpartition("/")[2]).replace("-", " ").replace("_", " ")
    if not name.strip():
        return "Untitled"
    return name[0].upper() + name[1:] if name[0].isascii() else name


def kind_of(path: str) -> Kind:
    """Return what kind of page the file name makes it."""
    name = path.rpartition("/")[2].lower()
    if name == "index.md":
        return "index"
    return "log" if name == "log.md" else "concept"


def decode_page(data: bytes) -> str:
    """Return the text of a page: without a byte-order mark, line endings LF.

    Raises ``UnicodeDecodeError`` when ``data`` is not UTF-8.
    """
    text = data.decode("utf-8")
    if text[:1] == "\ufeff":
        text = text[1:]
    return text.replace("\r\n", "\n") if "\r" in text else text


def parse_document(path: str, data: bytes, state: FileState | None = None) -> Document:
    """Parse the page at bundle-relative ``path``.

    Raises ``UnicodeDecodeError`` when ``data`` is not UTF-8.
    """
    return Document(path, document_id(path), kind_of(path), data, state, split_frontmatter(decode_page(data)))


Packed = tuple[Any, ...]
"""What parsing found, without the text, in types that ``marshal`` can carry between processes."""


def pack_frontmatter(document: Document) -> Packed:
    """Return what was found in the frontmatter of ``document``."""
    front = document.frontmatter
    return (
        front.present,
        len(front.body),
        front.body_line,
        front.data,
        len(front.source),
        front.first_line,
        [astuple(problem) for problem in front.problems],
        front.closed,
    )


def unpack_frontmatter(path: str, data: bytes, state: FileState | None, packed: Packed) -> Document:
    """Return the document whose frontmatter ``pack_frontmatter`` took apart, with its text from ``data``."""
    present, body, body_line, values, source, first_line, problems, closed = packed
    text = decode_page(data)
    front = Frontmatter(
        present,
        text[len(text) - body :] if body else "",
        body_line,
        values,
        _yaml_source(text, source),
        first_line,
        [Problem(*problem) for problem in problems] if problems else [],
        closed,
    )
    return Document(path, document_id(path), kind_of(path), data, state, front)


def pack_outline(document: Document) -> Packed:
    """Return the outline of ``document``."""
    found = document.outline
    return (
        [tuple(heading) for heading in found.headings],
        [tuple(link) for link in found.links],
        found.explicit_ids,
        found.html_ids,
        found.footnotes,
        found.hidden_lines,
        found.code_lines,
        found.code_blocks,
        [astuple(problem) for problem in found.problems],
    )


def unpack_outline(document: Document, packed: Packed) -> None:
    """Give ``document`` the outline that ``pack_outline`` took apart."""
    headings, links, explicit_ids, html_ids, footnotes, hidden, code_lines, code_blocks, problems = packed
    document._outline = Outline(
        [Heading(*heading) for heading in headings],
        [Link(*link) for link in links],
        explicit_ids,
        html_ids,
        footnotes,
        hidden,
        code_lines,
        code_blocks,
        [Problem(*problem) for problem in problems] if problems else [],
    )


def _yaml_source(text: str, length: int) -> str:
    if not length:
        return ""
    start = text.index("\n") + 1
    return text[start : start + length]
