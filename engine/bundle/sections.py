"""Cuts a page into sections at its headings of level 1 to 3, with ids, anchors and the text a reader sees."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from openknowledge.engine.bundle.markdown import Heading, Outline
from openknowledge.engine.bundle.slugs import WHITESPACE

BOUNDARY_LEVEL = 3
TOP = "Top"


@dataclass(slots=True)
class Section:
    """A run of lines of one page under one heading. ``lines`` are those of the file, first and last.

    ``text`` is what a reader sees of it: comments, agent blocks and anchor lines are blank, ends are trimmed.
    """

    id: str
    path: str
    heading: str
    level: int
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    text: str
    anchors: list[str]
    _content_sha256: str = ""

    @property
    def slug(self) -> str:
        """The part of the id after ``#``."""
        return self.id.rpartition("#")[2]

    @property
    def content_sha256(self) -> str:
        """The digest of ``text``."""
        if not self._content_sha256:
            self._content_sha256 = hashlib.sha256(self.text.encode()).hexdigest()
        return self._content_sha256

    @property
    def estimated_tokens(self) -> int:
        """A quarter of the text's code points, rounded up."""
        return estimate_tokens(self.text)


def estimate_tokens(text: str) -> int:
    """Return a quarter of the code points of the trimmed ``text``, rounded up; 0 when empty."""
    return -(-len(text.strip(WHITESPACE)) // 4)


def reader_lines(body: str, first_line: int, outline: Outline) -> list[str]:
    """Return the body's lines with those blanked that a reader does not see."""
    lines = body.split("\n")
    for first, last in outline.hidden_lines:
        for index in range(max(0, first - first_line), min(len(lines), last - first_line + 1)):
            lines[index] = ""
    return lines


def cut_sections(path: str, document_id: str, body: str, first_line: int, outline: Outline) -> list[Section]:
    """Return the sections of a page in order.

    The ranges of the sections, with those skipped because they hold headings only, partition the body.
    """
    lines = reader_lines(body, first_line, outline)
    last_line = first_line + len(lines) - 1
    boundaries = [heading for heading in outline.headings if heading.level <= BOUNDARY_LEVEL]
    sections: list[Section] = []
    lead_end = boundaries[0].line - 1 if boundaries else last_line
    lead = "\n".join(lines[: lead_end - first_line + 1]).strip(WHITESPACE)
    if lead:
        top = Section(f"{document_id}#top", path, TOP, 0, (TOP,), first_line, lead_end, lead, ["top"])
        sections.append(top)
    ancestors: list[Heading] = []
    waiting: list[tuple[int, list[str]]] = []  # anchors of heading-only parents, until a deeper section comes
    inner = iter([heading for heading in outline.headings if heading.level > BOUNDARY_LEVEL])
    below = next(inner, None)
    while below is not None and below.line <= lead_end:
        if sections:
            sections[0].anchors.append(below.slug)
        below = next(inner, None)
    for index, heading in enumerate(boundaries):
        end = boundaries[index + 1].line - 1 if index + 1 < len(boundaries) else last_line
        while ancestors and ancestors[-1].level >= heading.level:
            ancestors.pop()
        ancestors.append(heading)
        anchors = [heading.slug]
        while below is not None and below.line <= end:
            anchors.append(below.slug)
            below = next(inner, None)
        while waiting and waiting[-1][0] >= heading.level:
            waiting.pop()
        rows = lines[heading.line - first_line : end - first_line + 1]
        own = heading.last_line - heading.line + 1
        if all(not row.strip(WHITESPACE) or row.startswith("#") for row in rows[own:]):
            waiting.append((heading.level, anchors))
            continue
        for _, handed in waiting:
            anchors.extend(handed)
        waiting.clear()
        sections.append(
            Section(
                f"{document_id}#{heading.slug}",
                path,
                heading.text,
                heading.level,
                tuple(parent.text for parent in ancestors),
                heading.line,
                end,
                "\n".join(rows).strip(WHITESPACE),
                anchors,
            )
        )
    if sections:
        if "top" not in sections[0].anchors:
            sections[0].anchors.append("top")
        _attach_explicit_ids(outline, boundaries, sections)
    return sections


def _attach_explicit_ids(outline: Outline, boundaries: list[Heading], sections: list[Section]) -> None:
    """Give each explicit id to the section that it announces, or to the one that it stands in."""
    heading_lines = [heading.line for heading in boundaries]
    starts = [section.line_start for section in sections]
    known = [set(section.anchors) for section in sections]
    for name, line in outline.explicit_ids:
        owner = len(sections)
        after = bisect_right(heading_lines, line)
        if after < len(heading_lines) and heading_lines[after] - line <= 2:
            owner = bisect_left(starts, heading_lines[after])
        if (
            owner == len(sections)
            and (at := bisect_right(starts, line))
            and line <= sections[at - 1].line_end
        ):
            owner = at - 1
        if owner < len(sections) and name not in known[owner]:
            known[owner].add(name)
            sections[owner].anchors.append(name)
