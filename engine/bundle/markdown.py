"""One pass over a Markdown body: headings, links, footnotes, code, and what a reader does not see.

Blocks are those of CommonMark with GFM tables and footnotes, as pulldown-cmark finds them. On top of them
stand agent annotations, the legacy agent footer, HTML comments and explicit-anchor lines.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from openknowledge.engine.bundle.issues import Problem
from openknowledge.engine.bundle.slugs import SlugCounter

_ANNOTATION_NAME = "okf-annotation:"
_ANNOTATION_END = "<!-- /okf-annotation -->"
_ANNOTATION_END_LINE = re.compile(rb"^<!-- /okf-annotation -->\r*$", re.MULTILINE)
_FOOTER = "<!-- okf-footer: agent-maintenance -->"
_KNOWN_ANNOTATIONS = frozenset({"agent-context"})
# possessive throughout: a line is looked at once, however its attributes are written
_ATTRIBUTE = r"""\s++([^\s"'<>/=]++)(?:\s*+=\s*+(?:"([^"<>]*+)"|'([^'<>]*+)'|[^\s"'=<>`]++))?+"""
_EXPLICIT_ANCHOR = re.compile(rf"<a((?:{_ATTRIBUTE})++)\s*+>\s*+</a>\Z", re.IGNORECASE)
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_ANY_ID = re.compile(r"""<[a-z][^<>]*?\s(?:id|name)\s*=\s*(?:"([^"<>]+)"|'([^'<>]+)')""", re.IGNORECASE)
_LONGEST_HTML_ROW = 4_096  # ids further right in one line are not looked for
_RESTARTS = 16
_FOOTNOTE_LABEL = re.compile(rb"\[\^([^\[\]\s]+)\]")


class Heading(NamedTuple):
    """A heading outside of every quote, list and agent block. Lines are those of the file."""

    line: int
    last_line: int
    level: int
    text: str
    slug: str


class Link(NamedTuple):
    """A link or image as written. ``line`` is its block's first line, ``at`` its own line and column."""

    href: str
    is_image: bool
    line: int
    at: tuple[int, int]


@dataclass(slots=True)
class Outline:
    """What one page's body holds, with lines of the file."""

    headings: list[Heading] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    explicit_ids: list[tuple[str, int]] = field(default_factory=list)
    html_ids: frozenset[str] = frozenset()
    footnotes: list[tuple[str, int, int]] = field(default_factory=list)
    hidden_lines: list[tuple[int, int]] = field(default_factory=list)
    code_lines: list[tuple[int, int]] = field(default_factory=list)
    code_blocks: int = 0
    problems: list[Problem] = field(default_factory=list)


_options: Any = None


def _parser_options() -> Any:
    global _options
    if _options is None:
        from pyromark import Options

        _options = Options.ENABLE_TABLES | Options.ENABLE_FOOTNOTES | Options.ENABLE_STRIKETHROUGH
    return _options


_LEVELS = {"H1": 1, "H2": 2, "H3": 3, "H4": 4, "H5": 5, "H6": 6}
_ROWS = frozenset({"Item", "TableRow", "TableHead"})
_CONTAINERS = frozenset({"BlockQuote", "List", "FootnoteDefinition", "Table"})


class _Scan:
    """The text of one pass, with lines and columns for its byte offsets."""

    __slots__ = (
        "_ends",
        "_seen",
        "ascii",
        "body",
        "code_spans",
        "first_line",
        "outline",
        "quotes",
        "raw",
        "skip_from",
        "skip_until",
        "starts",
    )

    def __init__(self, body: str, first_line: int) -> None:
        self.raw = body.encode("utf-8")
        self.ascii = len(self.raw) == len(body)
        self.body = body
        self.first_line = first_line
        self.outline = Outline()
        self.skip_from = 0
        self.skip_until = 0
        self.quotes: list[tuple[int, int]] = []
        self.code_spans: list[tuple[int, int]] = []
        self.starts = _line_starts(self.raw)
        self._ends: list[int] | None = None
        self._seen = (0, 0)

    def line_at(self, offset: int) -> int:
        """Return the file's line of a byte offset."""
        return bisect_right(self.starts, offset) - 1 + self.first_line

    def column_at(self, offset: int) -> int:
        """Return the column of a byte offset, in code points from 1."""
        start = self.starts[bisect_right(self.starts, offset) - 1]
        if self.ascii:
            return offset - start + 1
        before, points = self._seen
        if not start <= before <= offset:
            before, points = start, 0
        points += len(self.raw[before:offset].decode("utf-8"))
        self._seen = (offset, points)  # the next place of a long line is counted from here
        return points + 1

    def place_at(self, offset: int) -> tuple[int, int]:
        """Return the file's line of a byte offset and the column, in code points from 1."""
        index = bisect_right(self.starts, offset) - 1
        if self.ascii:
            return index + self.first_line, offset - self.starts[index] + 1
        return index + self.first_line, self.column_at(offset)

    def last_line_of(self, start: int, end: int) -> int:
        """Return the last line of the range, not counting the line break that ends it."""
        while end > start and self.raw[end - 1] in b"\r\n":
            end -= 1
        return self.line_at(end)

    def annotation_end(self, offset: int) -> int:
        """Return where the first annotation end marker after ``offset`` ends; -1 when there is none."""
        if self._ends is None:
            self._ends = [found.end() for found in _ANNOTATION_END_LINE.finditer(self.raw)]
        at = bisect_right(self._ends, offset)
        return self._ends[at] if at < len(self._ends) else -1


_BLOCK = 1 << 20


def _line_starts(raw: bytes) -> Sequence[int]:
    """Return the offset of each line, and one past the end."""
    if len(raw) <= _BLOCK:
        return [0, *accumulate([len(row) + 1 for row in raw.split(b"\n")])]
    starts = array("Q", [0])  # a large page may be nothing but short lines
    for offset in range(0, len(raw), _BLOCK):
        rows = raw[offset : offset + _BLOCK].split(b"\n")
        ends = accumulate([len(row) + 1 for row in rows[:-1]], initial=offset)
        next(ends)
        starts.extend(ends)
    starts.append(len(raw) + 1)
    return starts


class _Straddled(Exception):
    """A block began inside an annotation and goes on behind it: the annotation must be taken out first."""


def outline(body: str, first_line: int = 1) -> Outline:
    """Return the outline of ``body``, whose first line is ``first_line`` of the file."""
    if not body or body.isspace():
        return Outline()
    scan = _Scan(body, first_line)
    removed = Outline()
    for _ in range(_RESTARTS):
        try:
            _read_blocks(scan)
            break
        except _Straddled:
            scan = _without_annotation(scan, removed)
    else:
        _read_blocks(scan, tolerant=True)
    if removed.hidden_lines:
        scan.outline.hidden_lines.extend(removed.hidden_lines)
        scan.outline.problems.extend(removed.problems)
    _finish(scan)
    return scan.outline


def _without_annotation(scan: _Scan, removed: Outline) -> _Scan:
    """Return a new pass over the text with the last annotation blanked; note it in ``removed``."""
    first, last = scan.line_at(scan.skip_from), scan.line_at(scan.skip_until)
    removed.hidden_lines.append((first, last))
    inside = [problem for problem in scan.outline.problems if first <= problem.line <= last]
    removed.problems.extend(inside)
    blank = re.sub(rb"[^\n]", b" ", scan.raw[scan.skip_from : scan.skip_until])
    raw = scan.raw[: scan.skip_from] + blank + scan.raw[scan.skip_until :]
    return _Scan(raw.decode("utf-8"), scan.first_line)


def _read_blocks(scan: _Scan, *, tolerant: bool = False) -> None:  # noqa: C901 - one loop over a tagged union
    """Go through the parser's events once. Ranges tell what encloses what, so ends do not count."""
    from pyromark import events_with_range

    found = scan.outline
    container_end = 0  # of the outermost quote, list, table or footnote definition
    quote_end = 0  # of the outermost quote
    rows: list[tuple[int, int]] = []  # list items and table rows that may still be open
    block_start = 0
    block_line = (-1, 0)
    heading = ""  # its level while one is open
    heading_start = 0
    heading_text: list[str] = []
    slugs = SlugCounter()
    spans = scan.code_spans if "[^" in scan.body else None
    event: Any
    for event, place in events_with_range(scan.body, options=_parser_options()):
        if heading:
            if type(event) is str:
                if event.endswith("Break"):
                    heading_text.append(" ")
            elif text := event.get("Text") or event.get("Code"):
                heading_text.append(text)
            elif event.get("End") == _END_OF[heading]:
                text = " ".join("".join(heading_text).split())
                last = scan.last_line_of(place["start"], place["end"])
                level = _LEVELS[heading]
                found.headings.append(
                    Heading(scan.line_at(heading_start), last, level, text, slugs.take(text))
                )
                heading = ""
        if type(event) is str:
            continue
        if "Start" not in event:
            if spans is not None and "Code" in event:
                spans.append((place["start"], place["end"]))
            continue
        value = event["Start"]
        start = place["start"]
        if start < scan.skip_until < place["end"] - 1 and start >= container_end and not tolerant:
            raise _Straddled
        if type(value) is str:
            if value == "Paragraph":
                if start >= container_end:
                    block_start = start
            elif value in _ROWS:
                rows.append((start, place["end"]))
            elif value == "HtmlBlock":
                _html_block(scan, start, place["end"], nested=start < container_end)
            continue
        for name in value:  # exactly one
            if name == "Link" or name == "Image":
                if start >= scan.skip_until:
                    while rows and rows[-1][1] <= start:
                        rows.pop()
                    block = rows[-1][0] if rows else block_start
                    if block_line[0] != block:
                        block_line = (block, scan.line_at(block))
                    attributes = value[name]
                    href = attributes["dest_url"]
                    if attributes["link_type"] == "Email" and not href.startswith("mailto:"):
                        href = "mailto:" + href
                    found.links.append(Link(href, name == "Image", block_line[1], scan.place_at(start)))
            elif name == "Heading":
                if start >= container_end:
                    block_start = heading_start = start
                    if start >= scan.skip_until:
                        heading = value[name]["level"]
                        heading_text = []
            elif name == "CodeBlock":
                found.code_lines.append((scan.line_at(start), scan.last_line_of(start, place["end"])))
                if start >= scan.skip_until:
                    found.code_blocks += 1
            elif name in _CONTAINERS:
                if start >= container_end:
                    container_end = place["end"]
                    block_start = start
                if name == "BlockQuote" and start >= quote_end:
                    quote_end = place["end"]
                    scan.quotes.append((scan.line_at(start), scan.last_line_of(start, quote_end)))


_END_OF = {level: {"Heading": level} for level in _LEVELS}


def _html_block(scan: _Scan, start: int, end: int, *, nested: bool) -> None:
    if start < scan.skip_until:
        return
    text = scan.raw[start:end].decode("utf-8")
    first = text.lstrip()
    if not first.startswith("<!--"):
        return
    line = scan.line_at(start)
    last = scan.last_line_of(start, end)
    opening = first.split("\n", 1)[0].strip()
    problems = scan.outline.problems
    if not nested:
        if opening == _FOOTER:
            scan.skip_until = len(scan.raw) + 1
            last = scan.first_line + scan.raw.count(b"\n")
        elif (name := _annotation_name(opening)) is not None:
            last = _annotation(scan, name, start, line, last)
        elif opening == _ANNOTATION_END:
            problems.append(
                Problem("markdown-syntax", "annotation end marker without a start", line, 1, "warning")
            )
    scan.outline.hidden_lines.append((line, last))


def _annotation_name(row: str) -> str | None:
    """Return the capability that an annotation start marker names; ``None`` for any other line."""
    if not (row.startswith("<!--") and row.endswith("-->")):
        return None
    inner = row[4:-3].strip()
    return inner[len(_ANNOTATION_NAME) :].strip() if inner.startswith(_ANNOTATION_NAME) else None


def _annotation(scan: _Scan, name: str, start: int, line: int, last: int) -> int:
    """Handle an annotation start marker; return the last hidden line."""
    problems = scan.outline.problems
    if name not in _KNOWN_ANNOTATIONS:
        shown = name if len(name) <= 80 else name[:77] + "..."
        problems.append(
            Problem("markdown-syntax", f'unknown OKF annotation capability "{shown}"', line, 1, "warning")
        )
        return last
    end = scan.annotation_end(start)
    if end < 0:
        message = f"annotation is not closed: add a line {_ANNOTATION_END}; read as an HTML comment"
        problems.append(Problem("markdown-syntax", message, line, 1, "warning"))
        return last
    scan.skip_from, scan.skip_until = start, end
    for number, row in enumerate(scan.raw[start:end].split(b"\n")[1:], start=line + 1):
        if b"okf-annotation:" in row and _annotation_name(row.decode("utf-8").strip()) is not None:
            problems.append(Problem("markdown-syntax", "annotations cannot be nested", number, 1, "warning"))
    return scan.line_at(end)


def _finish(scan: _Scan) -> None:
    found = scan.outline
    body = scan.body
    if "<" in body:
        _collect_ids(scan)
    if "[^" in body:
        _collect_footnotes(scan)
    if "\x00" in body:
        offset = scan.raw.index(b"\x00")
        line, column = scan.line_at(offset), scan.column_at(offset)
        found.problems.append(
            Problem("markdown-syntax", "NUL character in the text; remove it", line, column, "warning")
        )
    found.problems.sort(key=lambda problem: (problem.line, problem.column))


def _lines_in(ranges: list[tuple[int, int]]) -> set[int]:
    return {line for first, last in ranges for line in range(first, last + 1)}


def _collect_ids(scan: _Scan) -> None:
    found = scan.outline
    ids: set[str] = set()
    unseen = _lines_in(found.hidden_lines) | _lines_in(found.code_lines)
    quoted = _lines_in(scan.quotes)
    for number, row in enumerate(scan.body.split("\n"), start=scan.first_line):
        if "<" not in row or number in unseen:
            continue
        if named := [first or second for first, second in _ANY_ID.findall(row[:_LONGEST_HTML_ROW])]:
            ids.update(named)
            if (name := _explicit_id(row.strip())) and number not in quoted:
                found.explicit_ids.append((name, number))
                found.hidden_lines.append((number, number))
    found.html_ids = frozenset(ids)
    found.hidden_lines.sort()


def _explicit_id(row: str) -> str:
    """Return the id of a line that is one empty ``<a id="...">`` element, else nothing."""
    if anchor := _EXPLICIT_ANCHOR.match(row):
        for attribute in _ATTRIBUTES.finditer(anchor.group(1)):
            if attribute.group(1).lower() == "id":
                return attribute.group(2) or attribute.group(3) or ""
    return ""


def _collect_footnotes(scan: _Scan) -> None:
    """Record every footnote label outside of code: ``[^id]`` joins to a source by its label alone."""
    found = scan.outline
    unseen = _lines_in(found.hidden_lines) | _lines_in(found.code_lines)
    spans = iter([*scan.code_spans, (len(scan.raw), len(scan.raw) + 1)])
    code_start, code_end = next(spans)
    for label in _FOOTNOTE_LABEL.finditer(scan.raw):
        start = label.start()
        while code_end <= start:
            code_start, code_end = next(spans)
        line = scan.line_at(start)
        if line not in unseen and start < code_start:
            found.footnotes.append((label.group(1).decode("utf-8"), line, scan.column_at(start)))
