"""The first pass on numpy arrays: the arithmetic of ``scoring.py``, for all sections at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openknowledge.engine.search.corpus import PAGE_FIELDS, SECTION_FIELDS, Corpus
from openknowledge.engine.search.evidence import Evidence
from openknowledge.engine.search.postings import Postings
from openknowledge.engine.search.scoring import PAGE_SUMS, Factors, Weights, idf

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class ArrayScorer:
    """Scores queries over one corpus."""

    def __init__(self, corpus: Corpus, factors: Factors, weights: Weights) -> None:
        import numpy as np

        self._corpus = corpus
        self._weights = weights
        self._factors = {name: np.asarray(own, np.float64) for name, own in factors.by_field.items()}
        self._page_of = np.asarray(corpus.page_of, np.int64)
        index = [weights.index_page if page.kind == "index" else 1.0 for page in corpus.pages]
        self._page_factor = np.asarray([weights.scale * factor for factor in index], np.float64)
        bounds = [*corpus.starts.values(), len(corpus.ends)]
        self._slices = {name: slice(bounds[at], bounds[at + 1]) for at, name in enumerate(corpus.starts)}

    def score(self, evidence: Sequence[Evidence[Postings]], allowed: Sequence[bool] | None) -> ArrayPass:
        """Score the sections of the ``allowed`` pages (all, for ``None``)."""
        import numpy as np

        weights = self._weights
        sections = _Sums(len(self._page_of), weights.saturation)
        pages = _Sums(len(self._page_factor), weights.saturation)
        for item in evidence:
            section_x, page_x = self._weighted_counts(item)
            sections.add(section_x, item)
            pages.add(page_x, item)
        own = sections.finish(weights.coverage)
        by_page = pages.finish(weights.page_coverage)
        from_page = weights.page_share * by_page
        factor = self._page_factor
        if allowed is not None:
            factor = np.where(np.asarray(allowed, bool), factor, 0.0)
        scores = (own + from_page[self._page_of]) * factor[self._page_of]
        frequencies = list(zip(sections.frequencies, pages.frequencies, strict=True))
        return ArrayPass(own, by_page, scores, frequencies)

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
        section_x += (self._weights.inherited * page_x)[self._page_of]
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


class _Sums:
    """Adds up saturated counts and coverage for sections, or for pages."""

    def __init__(self, total: int, saturation: float) -> None:
        import numpy as np

        self.total = total
        self.saturation = saturation
        self.sums = np.zeros(total)
        self.cover = np.zeros(total)
        self.whole = 0.0
        self.frequencies: list[int] = []

    def add(self, x: Floats, item: Evidence[Postings]) -> None:
        """Add one word that weighs ``x`` in each unit."""
        import numpy as np

        having = int(np.count_nonzero(x))
        self.frequencies.append(having)
        if not having:
            return
        rarity = idf(self.total, having)
        self.sums += (rarity * item.weight) * (x / (self.saturation + x))
        if not item.is_phrase:
            self.whole += rarity
            self.cover += rarity * (x > 0.0)

    def finish(self, boost: float) -> Floats:
        """Return the sums, raised by the cube of the coverage."""
        share = self.cover / (self.whole or 1.0)
        return self.sums * (1.0 + boost * (share * share * share))


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
