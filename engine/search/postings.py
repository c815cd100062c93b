"""An inverted index of a buffer's tokens, for a process that answers many queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openknowledge.engine.search.analysis import QueryTerm, Stems
from openknowledge.engine.search.hits import EXACT, LONGER, Hits, classify, sorted_prefix_range
from openknowledge.engine.search.spelling import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REMEMBERED_WORDS = 4_096


@dataclass(frozen=True, slots=True)
class Postings:
    """Units and how often each holds something. A unit may be there more than once."""

    units: NDArray[np.int32]
    counts: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.units)


class IndexedText:
    """Finds words in an inverted index: for each token, the units that hold it and how often.

    The tokens also stand as numbers in the order of the text, so that a phrase is found by looking at what
    stands next to its rarest word. ``ends`` are where the units of ``text`` end.
    """

    def __init__(self, text: bytes, ends: list[int], stems: Stems) -> None:
        import numpy as np

        self._stems = stems
        tokens = text.split()
        self._words = sorted(set(tokens))
        self._number = {word: number for number, word in enumerate(self._words)}
        ids = np.fromiter(map(self._number.__getitem__, tokens), np.int32, len(tokens))
        del tokens
        letters = np.frombuffer(text, np.uint8) != ord(" ")
        starts = np.flatnonzero(letters[1:] & ~letters[:-1])  # the spaces before tokens
        unit_ends = np.asarray(ends, np.int64)
        self._unit_at = np.searchsorted(unit_ends, starts, side="right").astype(np.int32)
        self._ids = ids
        self._places = np.argsort(ids, kind="stable").astype(np.int32)
        totals = np.bincount(ids, minlength=len(self._words))
        self._first_place = np.concatenate([[0], np.cumsum(totals)])
        self.vocabulary = Vocabulary(dict(zip(self._words, totals.tolist(), strict=True)))
        # equal neighbours in (token, unit) order are one posting
        units = self._unit_at[self._places]
        changed = np.ones(len(units), bool)
        changed[1:] = units[1:] != units[:-1]
        changed[self._first_place[:-1]] = True
        heads = np.flatnonzero(changed)
        self._units = units[heads]
        self._counts = np.diff(np.append(heads, len(units))).astype(np.float64)
        self._first = np.searchsorted(heads, self._first_place)
        self._known: dict[QueryTerm, Hits[Postings]] = {}

    def word(self, term: QueryTerm) -> Hits[Postings]:
        """Return the postings of the forms of ``term`` and of the longer words."""
        found = self._known.get(term)
        if found is None:
            if len(self._known) >= REMEMBERED_WORDS:
                self._known.clear()
            found = self._known[term] = self._word(term)
        return found

    def _word(self, term: QueryTerm) -> Hits[Postings]:
        exact, longer = [], []
        for number in sorted_prefix_range(self._words, term.scan_prefix.encode()):
            kind = classify(self._words[number].decode(), term, self._stems)
            if kind == EXACT:
                exact.append(number)
            elif kind == LONGER:
                longer.append(number)
        return Hits(
            self._postings(exact),
            self._postings(longer),
            frozenset(self._words[number] for number in exact),
            frozenset(self._words[number] for number in longer),
        )

    def forms(self, forms: Iterable[bytes]) -> Postings:
        """Return the postings of exactly these tokens."""
        return self._postings([self._number[form] for form in forms if form in self._number])

    def phrase(self, tokens: tuple[str, ...], within: Sequence[Postings] = ()) -> Postings:  # noqa: ARG002
        """Count where ``tokens`` stand next to each other within a unit."""
        import numpy as np

        numbers = [self._number.get(token.encode()) for token in tokens]
        if any(number is None for number in numbers):
            return self._postings([])
        wanted = [number for number in numbers if number is not None]
        sizes = [int(self._first_place[number + 1] - self._first_place[number]) for number in wanted]
        rarest = sizes.index(min(sizes))
        number = wanted[rarest]
        starts = self._places[self._first_place[number] : self._first_place[number + 1]] - rarest
        starts = starts[(starts >= 0) & (starts <= len(self._ids) - len(wanted))]
        for offset, other in enumerate(wanted):
            if offset != rarest:
                starts = starts[self._ids[starts + offset] == other]
        units = self._unit_at[starts]
        units = units[units == self._unit_at[starts + (len(wanted) - 1)]]
        return Postings(units, np.ones(len(units)))

    def _postings(self, numbers: list[int]) -> Postings:
        import numpy as np

        spans = [slice(int(self._first[number]), int(self._first[number + 1])) for number in numbers]
        if len(spans) == 1:
            return Postings(self._units[spans[0]], self._counts[spans[0]])
        if not spans:
            return Postings(np.empty(0, np.int32), np.empty(0, np.float64))
        return Postings(
            np.concatenate([self._units[span] for span in spans]),
            np.concatenate([self._counts[span] for span in spans]),
        )
