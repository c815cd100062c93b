"""One pass over a Markdown body: headings, links, footnotes, code, and what a reader does not see.

Blocks are those of CommonMark with GFM tables and footnotes, as pulldown-cmark finds them. On top of them
stand agent annotations, the legacy agent footer, HTML comments and explicit-anchor lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from openknowledge.engine.bundle.issues import Problem
from openknowledge.engine.bundle.slugs import SlugCounter

_ANNOTATION_START = re.compile(r"<!--\s*okf-annotation:\s*(.*?)\s*-->\s*\Z")
_ANNOTATION_END = "<!-- /okf-annotation -->"
_FOOTER = "<!-- okf-footer: agent-maintenance -->"
_KNOWN_ANNOTATIONS = frozenset({"agent-context"})
_EXPLICIT_ANCHOR = re.compile(
    r"""<a\s(?:[^<>]*\s)?id\s*=\s*(?:"([^"<>]+)"|'([^'<>]+)')[^<>]*>\s*</a>\Z""", re.IGNORECASE
)
_ANY_ID = re.compile(r"""<[a-z][^<>]*?\s(?:id|name)\s*=\s*(?:"([^"<>]+)"|'([^'<>]+)')""", re.IGNORECASE)
_LONGEST_HTML_ROW = 4_096  # ids further right in one line are not looked for: the pattern is not linear
_FOOTNOTE_LABEL = re.compile(rb"\[\^([^\]\s]+)\]")


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

    __slots__ = ("body", "code_spans", "first_line", "outline", "quotes", "raw", "skip_until", "starts")

    def __init__(self, body: str, first_line: int) -> None:
        self.raw = body.encode("utf-8")
        self.body = body
        self.first_line = first_line
        self.outline = Outline()
        self.skip_until = 0
        self.quotes: list[tuple[int, int]] = []
        self.code_spans: list[tuple[int, int]] = []
        self.starts = [0, *accumulate([len(row) + 1 for row in self.raw.split(b"\n")])]

    def line_at(self, offset: int) -> int:
        """Return the file's line of a byte offset."""
        return bisect_right(self.starts, offset) - 1 + self.first_line

    def column_at(self, offset: int) -> int:
        """Return the column of a byte offset, in code points from 1."""
        start = self.starts[bisect_right(self.starts, offset) - 1]
        return len(self.raw[start:offset].decode("utf-8")) + 1

    def last_line_of(self, start: int, end: int) -> int:
        """Return the last line of the range, not counting the line break that ends it."""
        while end > start and self.raw[end - 1] in b"\r\n":
            end -= 1
        return self.line_at(end)


def outline(body: str, first_line: int = 1) -> Outline:
    """Return the outline of ``body``, whose first line is ``first_line`` of the file."""
    if not body or body.isspace():
        return Outline()
    scan = _Scan(body, first_line)
    _read_blocks(scan)
    _finish(scan)
    return scan.outline


def _read_blocks(scan: _Scan) -> None:  # noqa: C901 - one loop over a tagged union, the hot path of every command
    from pyromark import events_with_range

    found = scan.outline
    depth = 0  # open quotes, lists, tables and footnote definitions
    quotes_open = 0
    row_start = -1  # start of the innermost list item or table row
    rows: list[int] = []
    block_start = 0
    links_open = 0
    heading_level = 0
    heading_start = 0
    heading_text: list[str] = []
    slugs = SlugCounter()
    spans = scan.code_spans if "[^" in scan.body else None
    event: Any
    for event, place in events_with_range(scan.body, options=_parser_options()):
        if type(event) is str:
            if heading_level and event == "SoftBreak":
                heading_text.append(" ")
            continue
        for kind in event:  # exactly one
            if kind == "Text":
                if heading_level:
                    heading_text.append(event[kind])
            elif kind == "Start":
                value = event[kind]
                if type(value) is str:
                    if value == "Paragraph":
                        if depth == 0:
                            block_start = place["start"]
                    elif value in _ROWS:
                        rows.append(row_start)
                        row_start = place["start"]
                    elif value == "HtmlBlock":
                        _html_block(scan, place["start"], place["end"], depth)
                    continue
                for name, attributes in value.items():  # exactly one
                    if name == "Link" or name == "Image":
                        links_open += 1
                        start = place["start"]
                        if start >= scan.skip_until:
                            block = row_start if row_start >= 0 else block_start
                            line = scan.line_at(block)
                            at = (scan.line_at(start), scan.column_at(start))
                            found.links.append(Link(attributes["dest_url"], name == "Image", line, at))
                    elif name == "Heading":
                        if depth == 0:
                            block_start = heading_start = place["start"]
                            if block_start >= scan.skip_until:
                                heading_level = _LEVELS[attributes["level"]]
                                heading_text = []
                    elif name == "CodeBlock":
                        first = scan.line_at(place["start"])
                        found.code_lines.append((first, scan.last_line_of(place["start"], place["end"])))
                        if place["start"] >= scan.skip_until:
                            found.code_blocks += 1
                    elif name in _CONTAINERS:
                        depth += 1
                        if depth == 1:
                            block_start = place["start"]
                        if name == "BlockQuote":
                            quotes_open += 1
                            if quotes_open == 1:
                                first = scan.line_at(place["start"])
                                scan.quotes.append((first, scan.last_line_of(place["start"], place["end"])))
            elif kind == "End":
                value = event[kind]
                if type(value) is str:
                    if value in _ROWS:
                        row_start = rows.pop()
                    elif value in _CONTAINERS:
                        depth -= 1
                    continue
                for name in value:  # exactly one
                    if name == "Heading":
                        if heading_level:
                            text = " ".join("".join(heading_text).split())
                            line = scan.line_at(heading_start)
                            last = scan.last_line_of(place["start"], place["end"])
                            slug = slugs.take(text)
                            found.headings.append(Heading(line, last, heading_level, text, slug))
                            heading_level = 0
                    elif name in _CONTAINERS:
                        depth -= 1
                        if name == "BlockQuote":
                            quotes_open -= 1
            elif kind == "Code":
                if heading_level:
                    heading_text.append(event[kind])
                if spans is not None:
                    spans.append((place["start"], place["end"]))


def _html_block(scan: _Scan, start: int, end: int, depth: int) -> None:
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
    if depth == 0:
        if opening == _FOOTER:
            scan.skip_until = len(scan.raw) + 1
            last = scan.first_line + scan.raw.count(b"\n")
        elif annotation := _ANNOTATION_START.match(opening):
            last = _annotation(scan, annotation.group(1), start, line, last)
        elif opening == _ANNOTATION_END:
            problems.append(
                Problem("markdown-syntax", "annotation end marker without a start", line, 1, "warning")
            )
    scan.outline.hidden_lines.append((line, last))


def _annotation(scan: _Scan, name: str, start: int, line: int, last: int) -> int:
    """Handle an annotation start marker; return the last hidden line."""
    problems = scan.outline.problems
    if name not in _KNOWN_ANNOTATIONS:
        problems.append(
            Problem("markdown-syntax", f'unknown OKF annotation capability "{name}"', line, 1, "warning")
        )
        return last
    offset = scan.raw.find(b"\n", start)
    number = line
    while 0 <= offset < len(scan.raw):
        following = scan.raw.find(b"\n", offset + 1)
        row = scan.raw[offset + 1 : following if following >= 0 else len(scan.raw)]
        number += 1
        text = row.decode("utf-8").rstrip("\r")
        if text == _ANNOTATION_END:
            scan.skip_until = offset + 1 + len(row)
            return number
        if _ANNOTATION_START.match(text.strip()):
            problems.append(Problem("markdown-syntax", "annotations cannot be nested", number, 1, "warning"))
        offset = following
    problems.append(
        Problem(
            "markdown-syntax",
            f"annotation is not closed: add a line {_ANNOTATION_END}; read as an HTML comment",
            line,
            1,
            "warning",
        )
    )
    return last


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
            if (anchor := _EXPLICIT_ANCHOR.match(row.strip())) and number not in quoted:
                found.explicit_ids.append((anchor.group(1) or anchor.group(2), number))
                found.hidden_lines.append((number, number))
    found.html_ids = frozenset(ids)
    found.hidden_lines.sort()


def _collect_footnotes(scan: _Scan) -> None:
    """Record every footnote label outside of code: ``[^id]`` joins to a source by its label alone."""
    found = scan.outline
    unseen = _lines_in(found.hidden_lines) | _lines_in(found.code_lines)
    for label in _FOOTNOTE_LABEL.finditer(scan.raw):
        start = label.start()
        line = scan.line_at(start)
        if line not in unseen and not any(first <= start < last for first, last in scan.code_spans):
            found.footnotes.append((label.group(1).decode("utf-8"), line, scan.column_at(start)))
