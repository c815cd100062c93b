"""Where the words of a query stand, found by looking through the text: what a single cold query needs.

``ScannedText`` answers from the buffer itself, ``postings.IndexedText`` from an inverted index of the same
tokens. Both give the same counts, so ranking does not depend on which one was asked.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from openknowledge.engine.search.analysis import QueryTerm, Stems
from openknowledge.engine.search.corpus import Corpus

SHORTEST_PREFIX = 3


Counts = dict[int, int]
"""How often a unit holds something, by unit; in ascending order of units where it comes from one scan."""
C = TypeVar("C", bound=Sized)


@dataclass(slots=True)
class Hits(Generic[C]):
    """How often units hold a word: ``exact`` by its forms, ``longer`` by words that start with it.

    ``forms`` and ``longer_forms`` are the tokens that were counted.
    """

    exact: C
    longer: C
    forms: frozenset[bytes]
    longer_forms: frozenset[bytes]


class TextSource(Protocol[C]):
    """Answers where words and phrases stand. ``C`` is how it counts."""

    @property
    def vocabulary(self) -> Mapping[bytes, int]:
        """Every token with how often it occurs."""

    def word(self, term: QueryTerm) -> Hits[C]:
        """Count the forms of ``term`` and the longer words in every unit."""

    def forms(self, forms: Iterable[bytes]) -> C:
        """Count exactly these tokens in every unit."""

    def phrase(self, tokens: tuple[str, ...]) -> C:
        """Count where ``tokens`` stand next to each other within a unit."""


EXACT, LONGER, OTHER = 1, 2, 0


def classify(form: str, term: QueryTerm, stems: Stems) -> int:
    """Say whether ``form`` is a form of ``term``, a longer word that starts with it, or neither.

    Only forms that start with the term's ``scan_prefix`` are asked about.
    """
    if form == term.token or stems(form) == term.stem:
        return EXACT
    if len(term.token) >= SHORTEST_PREFIX and form.startswith(term.token):
        return LONGER
    return OTHER


def phrase_pattern(tokens: Iterable[str]) -> re.Pattern[bytes]:
    """Return the pattern of neighbouring ``tokens`` in a buffer; a match starts at the space before."""
    return re.compile(b" " + b" +".join(re.escape(token.encode()) for token in tokens) + b"(?= )")


class ScannedText:
    """Finds words by scanning the buffer once for each."""

    def __init__(self, corpus: Corpus, stems: Stems) -> None:
        self.corpus = corpus
        self.stems = stems

    @cached_property
    def vocabulary(self) -> dict[bytes, int]:
        """Every token of the buffer with how often it occurs."""
        return Counter(self.corpus.text.split())

    def word(self, term: QueryTerm) -> Hits[Counts]:
        """Count the forms of ``term`` and the longer words in every unit."""
        kinds: dict[bytes, int] = {}
        counts: tuple[Counts, Counts, Counts] = ({}, {}, {})
        ends = self.corpus.ends
        unit = 0
        end = -1
        pattern = re.compile(b" " + re.escape(term.scan_prefix.encode()) + b"[^ ]*")
        for match in pattern.finditer(self.corpus.text):
            form = match.group()
            kind = kinds.get(form)
            if kind is None:
                kind = kinds[form] = classify(form[1:].decode(), term, self.stems)
            if kind:
                at = match.start()
                if at >= end:
                    unit = bisect_right(ends, at, unit)
                    end = ends[unit]
                count = counts[kind]
                count[unit] = count.get(unit, 0) + 1
        return Hits(
            counts[EXACT],
            counts[LONGER],
            frozenset(form[1:] for form, kind in kinds.items() if kind == EXACT),
            frozenset(form[1:] for form, kind in kinds.items() if kind == LONGER),
        )

    def forms(self, forms: Iterable[bytes]) -> Counts:
        """Count exactly these tokens in every unit."""
        counts: Counts = {}
        for form in forms:
            self._count(re.compile(b" " + re.escape(form) + b"(?= )"), counts)
        return counts

    def phrase(self, tokens: tuple[str, ...]) -> Counts:
        """Count where ``tokens`` stand next to each other within a unit."""
        counts: Counts = {}
        self._count(phrase_pattern(tokens), counts)
        return counts

    def _count(self, pattern: re.Pattern[bytes], counts: Counts) -> None:
        ends = self.corpus.ends
        unit = 0
        for match in pattern.finditer(self.corpus.text):
            unit = bisect_right(ends, match.start(), unit)
            if match.end() <= ends[unit]:
                counts[unit] = counts.get(unit, 0) + 1


def sorted_prefix_range(words: list[bytes], prefix: bytes) -> range:
    """Return the indexes of those of the sorted ``words`` that start with ``prefix``."""
    start = bisect_left(words, prefix)
    return range(start, bisect_left(words, prefix + b"\xff", start))
