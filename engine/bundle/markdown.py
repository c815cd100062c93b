"""One pass over a Markdown body: headings, links, footnotes, code, and what a reader does not see.

Blocks are those of CommonMark with GFM tables and footnotes, as pulldown-cmark finds them. On top of them
stand agent annotations, the legacy agent footer, HTML comments and explicit-anchor lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

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
_FOOTNOTE_LABEL = re.compile(r"\[\^([^\]\s]+)\]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading outside of every quote, list and agent block. Lines are those of the file."""

    line: int
    last_line: int
    level: int
    text: str
    slug: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link or image as written. ``line`` is its block's first line, ``at`` its own line and column."""

    href: str
    label: str
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
    code_blocks: list[tuple[int, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


_options: Any = None


def _parser_options() -> Any:
    global _options
    if _options is None:
        from pyromark import Options

        _options = Options.ENABLE_TABLES | Options.ENABLE_FOOTNOTES | Options.ENABLE_STRIKETHROUGH
    return _options


_LEVELS = {"H1": 1, "H2": 2, "H3": 3, "H4": 4, "H5": 5, "H6": 6}
_CONTAINERS = frozenset({"BlockQuote", "List", "FootnoteDefinition", "Table"})


class _Scan:
    """The state of one pass over the parser's events."""

    def __init__(self, body: str, first_line: int) -> None:
        self.raw = body.encode("utf-8", "surrogatepass") if not body.isascii() else body.encode("ascii")
        self.body = body
        self.first_line = first_line
        self.outline = Outline()
        self.depth = 0
        self.row_start = -1  # start of the innermost list item or table row
        self.row_stack: list[int] = []
        self.block_start = 0
        self.heading: tuple[int, int, int] | None = None
        self.heading_text: list[str] = []
        self.link_stack: list[tuple[str, bool, int, int, list[str]]] = []
        self.skip_until = 0
        self.slugs = SlugCounter()
        self.quotes: list[tuple[int, int]] = []
        self.quotes_open = 0
        self.code_spans: list[tuple[int, int]] = []
        self._counted = 0
        self._line = first_line

    def line_at(self, offset: int) -> int:
        """Return the file's line of a byte offset; cheap when offsets rise."""
        if offset >= self._counted:
            self._line += self.raw.count(b"\n", self._counted, offset)
        else:
            self._line -= self.raw.count(b"\n", offset, self._counted)
        self._counted = offset
        return self._line

    def column_at(self, offset: int) -> int:
        start = self.raw.rfind(b"\n", 0, offset) + 1
        return len(self.raw[start:offset].decode("utf-8", "surrogatepass")) + 1

    def last_line_of(self, start: int, end: int) -> int:
        """Return the last line of the range, not counting the line break that ends it."""
        while end > start and self.raw[end - 1] in b"\r\n":
            end -= 1
        return self.line_at(end)


def outline(body: str, first_line: int = 1) -> Outline:
    """Return the outline of ``body``, whose first line is ``first_line`` of the file."""
    if not body or body.isspace():
        return Outline()
    from pyromark import events_with_range

    scan = _Scan(body, first_line)
    event: Any  # a tagged union of dictionaries, taken apart by hand: this is the hot loop
    for event, place in events_with_range(body, options=_parser_options()):
        if type(event) is str:
            continue
        kind, value = next(iter(event.items()))
        if kind == "Start":
            _start(scan, value, place["start"], place["end"])
        elif kind == "End":
            _end(scan, value, place["start"], place["end"])
        elif kind in ("Text", "Code"):
            if kind == "Code" and "[^" in body:
                scan.code_spans.append((place["start"], place["end"]))
            if scan.heading is not None:
                scan.heading_text.append(value)
            if scan.link_stack:
                scan.link_stack[-1][4].append(value)
    _finish(scan)
    return scan.outline


def _start(scan: _Scan, value: Any, start: int, end: int) -> None:
    if type(value) is str:
        if value in ("Item", "TableRow", "TableHead"):
            scan.row_stack.append(scan.row_start)
            scan.row_start = start
        elif value == "Paragraph":
            if scan.depth == 0:
                scan.block_start = start
        elif value == "HtmlBlock":
            _html_block(scan, start, end)
        return
    kind, attributes = next(iter(value.items()))
    if kind in _CONTAINERS:
        scan.depth += 1
        if scan.depth == 1:
            scan.block_start = start
        if kind == "BlockQuote":
            if scan.quotes_open == 0:
                scan.quotes.append((scan.line_at(start), scan.last_line_of(start, end)))
            scan.quotes_open += 1
    elif kind in ("Link", "Image"):
        scan.link_stack.append((attributes["dest_url"], kind == "Image", start, end, []))
    elif kind == "Heading":
        if scan.depth == 0:
            scan.block_start = start
            if start >= scan.skip_until:
                scan.heading = (_LEVELS[attributes["level"]], start, end)
                scan.heading_text = []
    elif kind == "CodeBlock":
        first = scan.line_at(start)
        scan.outline.code_lines.append((first, scan.last_line_of(start, end)))
        if start >= scan.skip_until:
            info = attributes.get("Fenced", "") if isinstance(attributes, dict) else ""
            scan.outline.code_blocks.append((first, str(info)))


def _end(scan: _Scan, value: Any, start: int, end: int) -> None:
    if type(value) is str:
        if value in ("Item", "TableRow", "TableHead"):
            scan.row_start = scan.row_stack.pop()
        elif value in ("Link", "Image"):
            _end_link(scan)
        elif value in _CONTAINERS:
            scan.depth -= 1
        return
    kind = next(iter(value))
    if kind in _CONTAINERS:
        scan.depth -= 1
        if kind == "BlockQuote":
            scan.quotes_open -= 1
    elif kind == "Heading" and scan.heading is not None:
        level, at, _ = scan.heading
        scan.heading = None
        text = " ".join("".join(scan.heading_text).split())
        line, last = scan.line_at(at), scan.last_line_of(start, end)
        scan.outline.headings.append(Heading(line, last, level, text, scan.slugs.take(text)))


def _end_link(scan: _Scan) -> None:
    href, is_image, start, _, label = scan.link_stack.pop()
    if scan.link_stack:
        scan.link_stack[-1][4].extend(label)
    if start < scan.skip_until:
        return
    block = scan.row_start if scan.row_start >= 0 else scan.block_start
    line, column = scan.line_at(start), scan.column_at(start)
    scan.outline.links.append(Link(href, "".join(label), is_image, scan.line_at(block), (line, column)))


def _html_block(scan: _Scan, start: int, end: int) -> None:
    if start < scan.skip_until:
        return
    text = scan.raw[start:end].decode("utf-8", "surrogatepass")
    first = text.lstrip()
    if not first.startswith("<!--"):
        return
    line = scan.line_at(start)
    last = scan.last_line_of(start, end)
    opening = first.split("\n", 1)[0].strip()
    problems = scan.outline.problems
    if scan.depth == 0:
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
        text = row.decode("utf-8", "surrogatepass").rstrip("\r")
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
    found.links.sort(key=lambda link: link.at)
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
    code_on: dict[int, list[tuple[int, int]]] = {}
    for start, end in scan.code_spans:
        code_on.setdefault(scan.line_at(start), []).append((scan.column_at(start), scan.column_at(end)))
    for number, row in enumerate(scan.body.split("\n"), start=scan.first_line):
        if "[^" not in row or number in unseen:
            continue
        for label in _FOOTNOTE_LABEL.finditer(row):
            column = label.start() + 1
            if not any(first <= column < last for first, last in code_on.get(number, ())):
                found.footnotes.append((label.group(1), number, column))
