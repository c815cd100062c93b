"""Lexical analysis of SPARQL queries, with positions (SPARQL 1.1 §19.8, and the terminals of SPARQL 1.2).

The tokens tell what a query would do before any engine sees it, and where its faults are. The parsing itself
is the engine's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from openknowledge.engine.errors import Span, TextError


class TokenKind(Enum):
    """What a token is, in the terms of the SPARQL grammar."""

    IRI = "IRI"
    PREFIXED_NAME = "prefixed name"
    BLANK_NODE = "blank node label"
    VARIABLE = "variable"
    STRING = "string"
    LANGUAGE = "language tag"
    NUMBER = "number"
    WORD = "word"
    PUNCTUATION = "punctuation"
    COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class Token:
    """One token: what it is, its exact text, and its 0-based offset in the query (in code points)."""

    kind: TokenKind
    text: str
    start: int

    @property
    def end(self) -> int:
        """Return the offset just behind the token."""
        return self.start + len(self.text)

    @property
    def keyword(self) -> str:
        """Return the token in upper case if it is a bare word, else an empty string."""
        return self.text.upper() if self.kind is TokenKind.WORD else ""


_LETTERS = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME_START = _LETTERS + "_"
_NAME = _NAME_START + "0-9\u00b7\u0300-\u036f\u203f-\u2040-"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"

_BLANKS = re.compile(r"[ \t\r\n]+")
_COMMENT = re.compile(r"#[^\r\n]*")
_IRI = re.compile(r"<(?:[^\x00-\x20<>\"{}|^`\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*+>")
_PLAIN_IRI = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.\-]*:.*|[A-Za-z0-9._~/#%\-]*)>")
_IRI_OPENING = re.compile(r"<[A-Za-z][A-Za-z0-9+.\-]*://")
_WORDS = re.compile(f"[{_LETTERS}](?:[.]*[{_NAME}])*+")
_WORD = re.compile(f"[{_NAME_START}][{_NAME}]*+")
_LOCAL = re.compile(f"(?:[{_NAME_START}:0-9]|{_ESCAPED})(?:[.]*(?:[{_NAME}:]|{_ESCAPED}))*+")
_BLANK_NODE = re.compile(f"_:[{_NAME_START}0-9](?:[.]*[{_NAME}])*+")
_VARIABLE = re.compile(f"[?$][{_NAME_START}0-9][{_NAME_START}0-9\u00b7\u0300-\u036f\u203f-\u2040]*+")
_LANGUAGE = re.compile(r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*+(?:--[A-Za-z]+)?")
_NUMBER = re.compile(r"(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)[eE][+-]?[0-9]+|[0-9]*\.[0-9]+|[0-9]+")
_PUNCTUATION = re.compile(r"<<\(|\)>>|<<|>>|\{\||\|\}|\^\^|&&|\|\||!=|<=|>=|[{}()\[\].,;*+/|^?!=<>~$-]")
_LONG_STRING = {
    quote: re.compile(rf"(?:[^{quote}\\]|\\.|{quote}(?!{quote}{quote}))*+{quote * 3}", re.DOTALL)
    for quote in "\"'"
}
_SHORT_STRING = {quote: re.compile(rf"(?:[^{quote}\\\r\n]|\\.)*+{quote}") for quote in "\"'"}
_ESCAPE = re.compile(r"\\(?:[tbnrf\"'\\]|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|(?P<wrong>.?))", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\r|\n")
_OTHER_LINE_BREAKS = dict.fromkeys(map(ord, "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), " ")


class QueryText:
    """A query's text, which knows the line and column of each offset. Lines end with LF, CR LF or CR."""

    __slots__ = ("_starts", "name", "text")

    def __init__(self, text: str, *, name: str = "") -> None:
        """Take the text, and the ``name`` by which messages call its source (a file name, or nothing)."""
        self.text = text
        self.name = name
        self._starts = [0, *(m.end() for m in _LINE_END.finditer(text))]

    def span(self, start: int, length: int = 1) -> Span:
        """Return the place of an offset."""
        line = bisect_right(self._starts, start)
        return Span(line, start - self._starts[line - 1] + 1, length)

    def error(self, problem: str, start: int, length: int = 1) -> TextError:
        """Return the error that points to ``length`` characters from ``start``."""
        # The other characters at which Python splits lines are not line ends for SPARQL or for an editor.
        text = self.text.translate(_OTHER_LINE_BREAKS)
        return TextError(problem, text=text, span=self.span(start, max(1, length)), source=self.name)

    def error_at(self, problem: str, token: Token) -> TextError:
        """Return the error that points to a token."""
        return self.error(problem, token.start, len(token.text))


def tokenize(query: QueryText) -> Iterator[Token]:
    """Yield the tokens of a query, comments included, in linear time.

    Raises ``TextError`` at a character that can start no token, an unfinished string, or an unknown escape.
    """
    text = query.text
    offset = 0
    has_base = False
    no_prefix_before = 0  # a run of words already known not to end in a colon
    while offset < len(text):
        if blanks := _BLANKS.match(text, offset):
            offset = blanks.end()
            continue
        if offset >= no_prefix_before and (words := _WORDS.match(text, offset)):
            end = words.end()
            if text[end : end + 1] == ":":
                token = _prefixed_name(text, offset, end)
            else:
                no_prefix_before = end
                continue
        else:
            token = _other_token(query, offset, relative_iris=has_base)
        has_base = has_base or token.keyword == "BASE"
        yield token
        offset = token.end


def _prefixed_name(text: str, start: int, colon: int) -> Token:
    local = _LOCAL.match(text, colon + 1)
    return Token(TokenKind.PREFIXED_NAME, text[start : local.end() if local else colon + 1], start)


def _other_token(query: QueryText, start: int, *, relative_iris: bool) -> Token:
    text = query.text
    first = text[start]
    if first in "\"'":
        return _string(query, start)
    if first == ":":
        return _prefixed_name(text, start, start)
    for kind, pattern in _PATTERNS:
        if found := pattern.match(text, start):
            if kind is TokenKind.IRI and not relative_iris and not _PLAIN_IRI.fullmatch(found[0]):
                continue  # without a BASE, `?a<?b&&?c>?d` can only be comparisons
            if kind is TokenKind.PUNCTUATION and (wrong := _IRI_OPENING.match(text, start)):
                raise _unfinished_iri(query, start, wrong.end())
            return Token(kind, found[0], start)
    if first == "\\":
        raise query.error("a backslash escape is understood only in strings and IRIs", start)
    raise query.error(f"unexpected character {first!a}", start)


_PATTERNS = (
    (TokenKind.COMMENT, _COMMENT),
    (TokenKind.IRI, _IRI),
    (TokenKind.BLANK_NODE, _BLANK_NODE),
    (TokenKind.WORD, _WORD),
    (TokenKind.VARIABLE, _VARIABLE),
    (TokenKind.LANGUAGE, _LANGUAGE),
    (TokenKind.NUMBER, _NUMBER),
    (TokenKind.PUNCTUATION, _PUNCTUATION),
)


def _unfinished_iri(query: QueryText, start: int, known: int) -> TextError:
    rest = re.compile(r"[^\x00-\x20<>\"{}|^`\\]*").match(query.text, known)
    end = rest.end() if rest else known
    if end == len(query.text):
        return query.error("this IRI has no closing '>'", start, end - start)
    return query.error(f"an IRI cannot contain {query.text[end]!a}; write it as a percent escape", end)


def _string(query: QueryText, start: int) -> Token:
    text = query.text
    quote = text[start]
    if text.startswith(quote * 3, start):
        found = _LONG_STRING[quote].match(text, start + 3)
        fault = f"this string has no closing {quote * 3}"
    else:
        found = _SHORT_STRING[quote].match(text, start + 1)
        fault = f"this string has no closing {quote} on its line; use {quote * 3} for text of several lines"
    if found is None:
        raise query.error(fault, start, 1)
    for escape in _ESCAPE.finditer(text, start, found.end()):
        if escape["wrong"] is not None:
            raise query.error(f"unknown escape {escape[0]} in a string", escape.start(), len(escape[0]))
    return Token(TokenKind.STRING, text[start : found.end()], start)
