"""The line of a section that shows why it was found, and the word or phrase in it to mark."""

from __future__ import annotations

import re
from collections.abc import Iterable

from openknowledge.engine.search.analysis import fold

SNIPPET_RUNES = 180
_LIST_MARKER = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+")
_VISIBLE = re.compile(r"[\w][\w'\u2019.-]*", re.UNICODE)
_LINK_TARGET = re.compile(r"\]\([^)\n]*\)")
_LONGEST_LINE = 4_096
_LONGEST_TEXT = 65_536


class FormMatcher:
    """Tells whether a text holds one of some tokens."""

    def __init__(self, forms: Iterable[bytes]) -> None:
        self.forms = frozenset(form.decode() for form in forms)

    def __call__(self, text: str) -> bool:
        """Whether ``text`` holds one of the tokens, after folding."""
        return not self.forms.isdisjoint(fold(text).split())


def _cut(line: str) -> str:
    return line if len(line) <= SNIPPET_RUNES else line[: SNIPPET_RUNES - 1] + "..."


def snippet(text: str, description: str, matches: FormMatcher) -> str:
    """Return the first matching line of ``text`` that is no heading, else the description, else a line.

    The description is returned only if it matches.
    """
    first = ""
    for raw in text.split("\n"):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        marker = _LIST_MARKER.match(line)
        shown = line[marker.end() :] if marker else line
        first = first or shown
        if matches(shown[:_LONGEST_LINE]):
            return _cut(shown)
    if description and matches(description):
        return _cut(description)
    return _cut(first)


def highlight(texts: Iterable[str], phrase: str, matches: FormMatcher) -> str:
    """Return what to mark: the whole phrase as the texts have it, else the first matching visible word."""
    texts = [text[:_LONGEST_TEXT] for text in texts]
    if words := phrase.split():
        pattern = re.compile(r"[^\w\n]+".join(re.escape(word) for word in words[:32]), re.IGNORECASE)
        for text in texts:
            if found := pattern.search(text):
                return found.group()
    forms = matches.forms
    for text in texts:
        for word in _VISIBLE.finditer(_LINK_TARGET.sub("] ", text)):
            visible = word.group().strip("_").rstrip(".-'\u2019")
            low = visible.lower()
            if len(low) > 1 and (low in forms or (not low.isalpha() and matches(low)) or _folds(low, forms)):
                return visible
    return ""


def _folds(word: str, forms: frozenset[str]) -> bool:
    return not word.isascii() and not forms.isdisjoint(fold(word).split())
