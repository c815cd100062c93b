"""The line of a section that shows why it was found, and the word or phrase in it to mark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from openknowledge.engine.search.analysis import fold

SNIPPET_RUNES = 180
_LIST_MARKER = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+")
_VISIBLE = re.compile(r"[\w][\w'\u2019.-]*", re.UNICODE)
_EMPHASIS = re.compile(r"[*_`~]+|!?\[([^\]]*)\]\([^)]*\)")
_LONGEST_LINE = 4_096

Matcher = Callable[[str], bool]
"""Whether a text holds any word of the query."""


def form_matcher(forms: Iterable[bytes]) -> Matcher:
    """Return a matcher for texts that hold one of the tokens ``forms``."""
    wanted = frozenset(form.decode() for form in forms)
    return lambda text: not wanted.isdisjoint(fold(text).split())


def _cut(line: str) -> str:
    return line if len(line) <= SNIPPET_RUNES else line[: SNIPPET_RUNES - 1] + "..."


def snippet(text: str, description: str, matches: Matcher) -> str:
    """Return the first matching line of ``text`` that is no heading, else the description, else a line.

    The description is returned only if it matches.
    """
    first = ""
    for raw in text.split("\n"):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        shown = _LIST_MARKER.sub("", line, count=1)
        first = first or shown
        if matches(shown[:_LONGEST_LINE]):
            return _cut(shown)
    if description and matches(description):
        return _cut(description)
    return _cut(first)


def highlight(texts: Iterable[str], phrase: str, matches: Matcher) -> str:
    """Return what to mark: the whole phrase as the texts have it, else the first matching visible word."""
    lines = [line for text in texts for line in text.split("\n") if line.strip()]
    words = phrase.split()
    if words:
        pattern = re.compile(r"\W+".join(re.escape(word) for word in words[:32]), re.IGNORECASE)
        for line in lines:
            if found := pattern.search(line[:_LONGEST_LINE]):
                return found.group()
    for line in lines:
        shown = _EMPHASIS.sub(lambda mark: mark.group(1) or " ", line[:_LONGEST_LINE])
        if not matches(shown):
            continue
        for word in _VISIBLE.finditer(shown):
            visible = word.group().rstrip(".-'\u2019")
            if len(visible) > 1 and matches(visible):
                return visible
    return ""
