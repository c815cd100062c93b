"""Where the words of a query stand, found by looking through the text: what a single cold query needs.

``ScannedText`` answers from the buffer itself, ``postings.IndexedText`` from an inverted index of the same
tokens. Both give the same counts, so ranking does not depend on which one was asked.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, compress
from typing import Generic, Protocol, TypeVar

from openknowledge.engine.search.analysis import QueryTerm, Stems
from openknowledge.engine.search.spelling import Vocabulary

SHORTEST_PREFIX = 3
_FEW_UNITS = 500  # looking into so many units one by one is faster than going through the whole text


Counts = dict[int, int]
"""How often a unit holds something, by unit."""
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
    def vocabulary(self) -> Vocabulary:
        """Every token with how often it occurs."""

    def word(self, term: QueryTerm) -> Hits[C]:
        """Count the forms of ``term`` and the longer words in every unit."""

    def forms(self, forms: Iterable[bytes]) -> C:
        """Count exactly these tokens in every unit."""

    def phrase(self, tokens: tuple[str, ...], within: Sequence[C]) -> C:
        """Count where ``tokens`` stand next to each other, in units that all counts ``within`` have."""


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
    """Finds words by scanning a buffer once for each. ``ends`` are where its units end."""

    def __init__(self, text: bytes, ends: list[int], stems: Stems) -> None:
        self._text = text
        self._ends = ends
        self._stems = stems

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Every token of the buffer with how often it occurs."""
        return Vocabulary(Counter(self._text.split()))

    def word(self, term: QueryTerm) -> Hits[Counts]:
        """Count the forms of ``term`` and the longer words in every unit."""
        prefix = b" " + term.scan_prefix.encode()
        places, rests = self._occurrences(prefix)
        kinds = {rest: classify((prefix[1:] + rest).decode(), term, self._stems) for rest in set(rests)}
        found = set(kinds.values())
        exact: Counts = {}
        longer: Counts = {}
        if found == {EXACT}:
            exact = self._by_unit(places)
        elif found:
            each = [kinds[rest] for rest in rests]
            exact = self._by_unit(compress(places, [kind == EXACT for kind in each]))
            longer = self._by_unit(compress(places, [kind == LONGER for kind in each]))
        return Hits(
            exact,
            longer,
            frozenset(prefix[1:] + rest for rest, kind in kinds.items() if kind == EXACT),
            frozenset(prefix[1:] + rest for rest, kind in kinds.items() if kind == LONGER),
        )

    def forms(self, forms: Iterable[bytes]) -> Counts:
        """Count exactly these tokens in every unit."""
        counts: Counter[int] = Counter()
        for form in forms:
            places, rests = self._occurrences(b" " + form)
            counts.update(self._by_unit(compress(places, [not rest for rest in rests])))
        return counts

    def phrase(self, tokens: tuple[str, ...], within: Sequence[Counts]) -> Counts:
        """Count where ``tokens`` stand next to each other, in units that all counts ``within`` have."""
        text, ends = self._text, self._ends
        units = set(within[0]).intersection(*within[1:]) if within else None
        pattern = phrase_pattern(tokens)
        counts: Counts = {}
        if units is not None and len(units) <= _FEW_UNITS:
            for unit in sorted(units):
                # one byte more than the unit: the space that ends its last token
                if found := len(pattern.findall(text, ends[unit - 1] if unit else 0, ends[unit] + 1)):
                    counts[unit] = found
            return counts
        for match in pattern.finditer(text):
            unit = bisect_right(ends, match.start())
            if match.end() <= ends[unit]:
                counts[unit] = counts.get(unit, 0) + 1
        return counts

    def _occurrences(self, start: bytes) -> tuple[list[int], list[bytes]]:
        """Return where ``start``, a space and the first letters of a token, is and how each token goes on."""
        pieces = self._text.split(start)
        size = len(start)
        places = list(accumulate([len(piece) + size for piece in pieces[:-1]], initial=-size))[1:]
        return places, [piece.partition(b" ")[0] for piece in pieces[1:]]

    def _by_unit(self, places: Iterable[int]) -> Counts:
        ends = self._ends
        return Counter([bisect_right(ends, place) for place in places])


def sorted_prefix_range(words: list[bytes], prefix: bytes) -> range:
    """Return the indexes of those of the sorted ``words`` that start with ``prefix``."""
    start = bisect_left(words, prefix)
    return range(start, bisect_left(words, prefix + b"\xff", start))
