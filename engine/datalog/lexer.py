"""Rule text to tokens, with their places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from openknowledge.engine.datalog.errors import DatalogError, shorten
from openknowledge.engine.datalog.values import DIGITS
from openknowledge.engine.errors import Span


class Kind(Enum):
    """The kinds of tokens."""

    WORD = auto()
    STRING = auto()
    NUMBER = auto()
    NAME = auto()
    SYMBOL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """One token: ``text`` as written, ``value`` for constants."""

    kind: Kind
    text: str
    span: Span
    value: str | int | float | None = None
    start: int = 0

    def __str__(self) -> str:
        return "the end of the text" if self.kind is Kind.END else f'"{shorten(self.text, 30)}"'


_TOKEN = re.compile(
    r"""
      (?P<blank>(?:[ \t\r\n\f\v\ufeff]|[#%][^\n]*)+)
    | (?P<word>[^\W\d]\w*)
    | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<string>"[^"\\]*(?:\\.[^"\\]*)*")
    | (?P<name>(?:/[\w.~:@+%-]*[\w~:@+%-])+)
    | (?P<symbol>:-|!=|<=|>=|[=<>(),.!?])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/", "'": "'"}


def tokens(text: str, source: str = "") -> list[Token]:
    """Return the tokens of ``text``, ended by one of kind ``END``. Raises ``DatalogError``."""
    found: list[Token] = []
    places = _Places(text)
    position = 0
    match_at = _TOKEN.match
    while position < len(text):
        match = match_at(text, position)
        if match is None:
            raise _unexpected(text, position, places, source)
        kind, start, position = match.lastgroup, position, match.end()
        if kind == "blank":
            continue
        written = match.group()
        span = places.span(start, position - start)
        if kind == "word":
            found.append(Token(Kind.WORD, written, span, start=start))
        elif kind == "symbol":
            found.append(Token(Kind.SYMBOL, written, span, start=start))
        elif kind == "number":
            value = _number(written, text, span, source)
            found.append(Token(Kind.NUMBER, written, span, value, start))
        elif kind == "name":
            found.append(Token(Kind.NAME, written, span, written, start))
        else:
            content = _unescaped(written[1:-1], text, start + 1, places, source)
            found.append(Token(Kind.STRING, written, span, content, start))
    found.append(Token(Kind.END, "", places.end(), start=len(text)))
    return found


class _Places:
    """Lines and columns of positions that only grow."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line = 1
        self._line_start = 0
        self._seen = 0

    def span(self, position: int, length: int) -> Span:
        newlines = self._text.count("\n", self._seen, position)
        if newlines:
            self._line += newlines
            self._line_start = self._text.rfind("\n", self._seen, position) + 1
        self._seen = position
        return Span(self._line, position - self._line_start + 1, max(1, length))

    def end(self) -> Span:
        """The place just behind the last character that is not blank or comment."""
        stripped = self._text.rstrip()
        fresh = _Places(self._text)
        return fresh.span(len(stripped), 1)


def _number(written: str, text: str, span: Span, source: str) -> int | float:
    if len(written) > DIGITS:
        problem = f"this number has {len(written)} characters; at most {DIGITS} are read"
        raise DatalogError("syntax", problem, text=text, span=span, source=source)
    if written.lstrip("-").isdigit() and written.isascii():
        return int(written)
    if not written.isascii():
        problem = f'"{shorten(written)}" has digits outside 0-9'
        raise DatalogError("syntax", problem, text=text, span=span, source=source)
    value = float(written)
    if value in (float("inf"), float("-inf")):
        problem = f"the number {shorten(written)} is too large"
        raise DatalogError("syntax", problem, text=text, span=span, source=source)
    return int(value) if value.is_integer() else value


def _unescaped(raw: str, text: str, offset: int, places: _Places, source: str) -> str:
    if not raw.isascii():
        for index, ch in enumerate(raw):
            if "\ud800" <= ch <= "\udfff":
                span = places.span(offset + index, 1)
                raise DatalogError("syntax", "not valid Unicode text", text=text, span=span, source=source)
    if "\\" not in raw:
        return raw
    parts: list[str] = []
    position = 0
    while (at := raw.find("\\", position)) >= 0:
        parts.append(raw[position:at])
        match = _ESCAPE.match(raw, at)
        if match is None:
            raise AssertionError("the token pattern pairs every backslash with a character")
        braced, four, two, simple = match.groups()
        position = match.end()
        if simple is not None:
            if simple not in _SIMPLE:
                problem = (
                    f"unknown escape \\{simple if simple.isprintable() else ' '}; known are "
                    r"\\ \" \n \t \r \xHH \uHHHH \u{H...}"
                )
                span = places.span(offset + at, 2)
                raise DatalogError("syntax", problem, text=text, span=span, source=source)
            parts.append(_SIMPLE[simple])
            continue
        code = int(braced or four or two, 16)
        if four and 0xD800 <= code <= 0xDBFF:
            low = _ESCAPE.match(raw, position)
            if low is not None and low.group(2) and 0xDC00 <= int(low.group(2), 16) <= 0xDFFF:
                code = 0x10000 + ((code - 0xD800) << 10) + (int(low.group(2), 16) - 0xDC00)
                position = low.end()
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            span = places.span(offset + at, position - at)
            problem = f"{raw[at:position]} is not a Unicode character"
            raise DatalogError("syntax", problem, text=text, span=span, source=source)
        parts.append(chr(code))
    parts.append(raw[position:])
    return "".join(parts)


def _unexpected(text: str, position: int, places: _Places, source: str) -> DatalogError:
    ch = text[position]
    span = places.span(position, 1)
    if ch == '"':
        problem = 'this string has no closing "'
    elif ch in "'`":
        problem = f"strings are written between double quotes, not {ch}"
    elif ch in "+*-^|&":
        problem = f'unexpected "{ch}": rules have no arithmetic or operators besides comparisons'
    elif ch == ":":
        problem = 'expected ":-" between head and premises'
    elif ch.isprintable():
        problem = f'unexpected character "{ch}"'
    else:
        problem = f"unexpected character U+{ord(ch):04X}"
    return DatalogError("syntax", problem, text=text, span=span, source=source)
