"""An inverted index of the buffer's tokens, for a process that answers many queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openknowledge.engine.search.analysis import QueryTerm, Stems
from openknowledge.engine.search.corpus import Corpus
from openknowledge.engine.search.hits import (
    EXACT,
    LONGER,
    Hits,
    classify,
    count_phrase,
    sorted_prefix_range,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Postings:
    """Units and how often each holds something. A unit may be there more than once."""

    units: NDArray[np.int64]
    counts: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.units)


class IndexedText:
    """Finds words in an inverted index: for each token, the units that hold it and how often."""

    def __init__(self, corpus: Corpus, stems: Stems) -> None:
        import numpy as np

        self.corpus = corpus
        self.stems = stems
        tokens = corpus.text.split()
        self._words = sorted(set(tokens))
        self._number = {word: number for number, word in enumerate(self._words)}
        ids = np.fromiter(map(self._number.__getitem__, tokens), np.int64, len(tokens))
        del tokens
        letters = np.frombuffer(corpus.text, np.uint8) != ord(" ")
        starts = np.flatnonzero(letters[1:] & ~letters[:-1])  # the spaces before tokens
        ends = np.asarray(corpus.ends, np.int64)
        units = np.searchsorted(ends, starts, side="right")
        size = max(1, len(ends))
        keys, counts = np.unique(ids * size + units, return_counts=True)
        self._units = keys % size
        self._counts = counts.astype(np.float64)
        self._first = np.searchsorted(keys // size, np.arange(len(self._words) + 1))
        totals = np.bincount(ids, minlength=len(self._words))
        self._vocabulary = dict(zip(self._words, totals.tolist(), strict=True))

    @property
    def vocabulary(self) -> Mapping[bytes, int]:
        """Every token of the buffer with how often it occurs."""
        return self._vocabulary

    def word(self, term: QueryTerm) -> Hits[Postings]:
        """Return the postings of the forms of ``term`` and of the longer words."""
        prefix = term.scan_prefix.encode()
        exact, longer = [], []
        for number in sorted_prefix_range(self._words, prefix):
            kind = classify(self._words[number].decode(), term, self.stems)
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

    def phrase(self, tokens: tuple[str, ...], within: Sequence[Postings]) -> Postings:
        """Count where ``tokens`` stand next to each other, in units that all of ``within`` have."""
        import numpy as np

        if within:
            units = np.unique(within[0].units)
            for other in within[1:]:
                units = np.intersect1d(units, other.units)
            candidates: Iterable[int] = units.tolist()
        else:
            candidates = range(len(self.corpus.ends))
        counts = count_phrase(self.corpus, tokens, candidates)
        return Postings(
            np.fromiter(counts.keys(), np.int64, len(counts)),
            np.fromiter(counts.values(), np.float64, len(counts)),
        )

    def _postings(self, numbers: list[int]) -> Postings:
        import numpy as np

        spans = [slice(int(self._first[number]), int(self._first[number + 1])) for number in numbers]
        if len(spans) == 1:
            return Postings(self._units[spans[0]], self._counts[spans[0]])
        if not spans:
            return Postings(np.empty(0, np.int64), np.empty(0, np.float64))
        return Postings(
            np.concatenate([self._units[span] for span in spans]),
            np.concatenate([self._counts[span] for span in spans]),
        )
