"""The first pass on numpy arrays: the arithmetic of ``scoring.py``, for all sections at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openknowledge.engine.search.corpus import PAGE_FIELDS, SECTION_FIELDS, Corpus
from openknowledge.engine.search.evidence import Evidence
from openknowledge.engine.search.postings import Postings
from openknowledge.engine.search.scoring import PAGE_SUMS, Factors, Weights, idf, page_factor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


REMEMBERED_UNITS = 12_000_000
DENSE = 8


class ArrayScorer:
    """Scores queries over one corpus."""

    def __init__(self, corpus: Corpus, factors: Factors, weights: Weights) -> None:
        import numpy as np

        self._corpus = corpus
        self._weights = weights
        self._factors = {name: np.asarray(own, np.float64) for name, own in factors.by_field.items()}
        self._page_of = np.asarray(corpus.page_of, np.int64)
        first = np.asarray(corpus.first_section, np.int64)
        self._sizes = first[1:] - first[:-1]
        self._known: dict[tuple[str, str], _Share] = {}
        self._remembered = 0
        factors = [weights.scale * page_factor(page, weights) for page in corpus.pages]
        self._page_factor_of = np.asarray(factors, np.float64)
        bounds = [*corpus.starts.values(), len(corpus.ends)]
        self._slices = {name: slice(bounds[at], bounds[at + 1]) for at, name in enumerate(corpus.starts)}

    def score(self, evidence: Sequence[Evidence[Postings]], allowed: Sequence[bool] | None) -> ArrayPass:
        """Score the sections of the ``allowed`` pages (all, for ``None``)."""
        import numpy as np

        weights = self._weights
        shares = [self._share(item) for item in evidence]
        own = _sum([share.sections for share in shares], len(self._page_of), weights.coverage)
        by_page = _sum([share.pages for share in shares], len(self._page_factor_of), weights.page_coverage)
        from_page = weights.page_share * by_page
        factor = self._page_factor_of
        if allowed is not None:
            factor = np.where(np.asarray(allowed, bool), factor, 0.0)
        scores = np.repeat(from_page, self._sizes)
        scores += own
        scores *= np.repeat(factor, self._sizes)
        frequencies = [(share.sections.frequency, share.pages.frequency) for share in shares]
        return ArrayPass(own, by_page, scores, frequencies)

    def _share(self, item: Evidence[Postings]) -> _Share:
        """Return what a word adds; the shares of words asked for before are remembered, up to a size."""
        key = (item.kind, item.term)
        found = self._known.get(key)
        if found is None:
            section_x, page_x = self._weighted_counts(item)
            found = _Share(
                _column(section_x, item, self._weights.saturation),
                _column(page_x, item, self._weights.saturation),
            )
            if self._remembered + found.size > REMEMBERED_UNITS:
                self._known.clear()
                self._remembered = 0
            self._known[key] = found
            self._remembered += found.size
        return found

    def _weighted_counts(self, item: Evidence[Postings]) -> tuple[Floats, Floats]:
        import numpy as np

        units = len(self._corpus.ends)
        counts = np.zeros(units)
        for part, each in item.counts:
            found = np.bincount(part.units, weights=part.counts, minlength=units)
            counts += found if each == 1.0 else each * found
        columns = {name: counts[own] for name, own in self._slices.items()}
        section_x = self._add(SECTION_FIELDS, columns)
        page_x = self._add(PAGE_FIELDS, columns)
        section_x += np.repeat(self._weights.inherited * page_x, self._sizes)
        for name, field_names in PAGE_SUMS.items():
            together = columns[field_names[0]]
            for part_name in field_names[1:]:
                together = together + columns[part_name]
            page_x += np.bincount(self._page_of, together, len(page_x)) * self._factors[name]
        return section_x, page_x

    def _add(self, names: Sequence[str], columns: dict[str, Floats]) -> Floats:
        total = columns[names[0]] * self._factors[names[0]]
        for name in names[1:]:
            total += columns[name] * self._factors[name]
        return total


@dataclass(frozen=True, slots=True)
class _Column:
    """What a word adds to each unit that holds it, and its idf, 0 for a phrase, which covers nothing.

    A word that many units hold has ``gains`` and ``held`` for all units and no ``units``: adding whole
    arrays is faster than adding at places.
    """

    frequency: int
    units: NDArray[np.int32] | None
    gains: Floats
    rarity: float
    held: NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True)
class _Share:
    sections: _Column
    pages: _Column

    @property
    def size(self) -> int:
        return len(self.sections.gains) + len(self.pages.gains)


def _column(x: Floats, item: Evidence[Postings], saturation: float) -> _Column:
    import numpy as np

    units = np.flatnonzero(x).astype(np.int32)
    having = len(units)
    rarity = idf(len(x), having) if having else 0.0
    own = x if having * DENSE > len(x) else x[units]
    gains = (rarity * item.weight) * (own / (saturation + own))
    covers = 0.0 if item.is_phrase else rarity
    if own is x:
        return _Column(having, None, gains, covers, x > 0.0)
    return _Column(having, units, gains, covers, None)


def _sum(columns: Sequence[_Column], total: int, boost: float) -> Floats:
    """Return for every unit the sum of its gains, raised by the cube of its coverage."""
    import numpy as np

    sums = np.zeros(total)
    cover = np.zeros(total)
    whole = 0.0
    for column in columns:
        whole += column.rarity
        if column.units is not None:
            sums[column.units] += column.gains
            if column.rarity:
                cover[column.units] += column.rarity
        else:
            sums += column.gains
            if column.rarity and column.held is not None:
                cover += np.multiply(column.held, column.rarity)
    if whole:
        cover /= whole
    raised = cover * cover
    raised *= cover
    raised *= boost
    raised += 1.0
    sums *= raised
    return sums


@dataclass(slots=True)
class ArrayPass:
    """A first pass over arrays."""

    own: Floats
    pages: Floats
    scores: Floats
    frequencies: list[tuple[int, int]]

    def score(self, section: int) -> float:
        """Return the lexical score of a section."""
        return float(self.scores[section])

    def own_score(self, section: int) -> float:
        """Return what of the score is due to the section's own fields."""
        return float(self.own[section])

    def page_score(self, page: int) -> float:
        """Return the score of a page."""
        return float(self.pages[page])

    def best(self, count: int) -> list[int]:
        """Return the ``count`` sections with the highest scores; of those that tie for last, the first."""
        import numpy as np

        found = np.flatnonzero(self.scores > 0.0)
        if len(found) > count:
            scores = self.scores[found]
            least = np.partition(scores, len(scores) - count)[len(scores) - count]
            above = found[scores > least]
            ties = found[scores == least][: count - len(above)]
            found = np.sort(np.concatenate([above, ties]))
        return [int(section) for section in found]

    def matching(self) -> Sequence[int]:
        """Return all sections with a score, by number."""
        import numpy as np

        return [int(section) for section in np.flatnonzero(self.scores > 0.0)]
