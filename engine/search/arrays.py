"""The arithmetic of ``scoring.py`` on numpy arrays, with what each word adds remembered between queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from openknowledge.engine.search.analysis import Stems
from openknowledge.engine.search.corpus import (
    META_FIELDS,
    PAGE_FIELDS,
    SECTION_FIELDS,
    Corpus,
    encode_sections,
)
from openknowledge.engine.search.evidence import Evidence
from openknowledge.engine.search.postings import IndexedText, Postings
from openknowledge.engine.search.scoring import FirstPass, Weights, idf, page_factor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

REMEMBERED_NUMBERS = 12_000_000


@dataclass(frozen=True, slots=True)
class _Share:
    """What a word adds to each page and section before coverage, and which hold it."""

    pages: Floats
    on_pages: NDArray[np.bool_]
    sections: Floats
    in_sections: NDArray[np.bool_]
    frequency: int
    rarity: float


class ArrayScorer:
    """Scores queries over one corpus. Making one reads and indexes every section."""

    def __init__(
        self, corpus: Corpus, factors: dict[str, list[float]], weights: Weights, stems: Stems
    ) -> None:
        import numpy as np

        self._weights = weights
        self._keys = np.asarray(corpus.section_keys, np.int64)
        rows = [fields for page in encode_sections(corpus.pages) for fields in page]
        text = b"".join([part for at in range(len(SECTION_FIELDS)) for part in [row[at] for row in rows]])
        lengths = [[len(row[at]) for row in rows] for at in range(len(SECTION_FIELDS))]
        ends = list(accumulate(size for sizes in lengths for size in sizes))
        self._text = IndexedText(text + b" ", ends, stems)
        self._pages = len(corpus.pages)
        self._page_of = (self._keys >> 24).astype(np.int64)
        sizes = [len(page.sections) for page in corpus.pages]
        self._sizes = np.asarray(sizes, np.int64)
        self._page_factors = {name: np.asarray(own, np.float64) for name, own in factors.items()}
        self._section_factors = {
            name: np.asarray(
                [weights.fields[name].factor(size, weights.fields[name].usual) for size in lengths[at]],
                np.float64,
            )
            for at, name in enumerate(SECTION_FIELDS)
        }
        self._factor = np.asarray([page_factor(page, weights) for page in corpus.pages], np.float64)
        self._known: dict[tuple[str, str], _Share] = {}

    def score(
        self, evidence: Sequence[Evidence[Postings]], allowed: Sequence[bool] | None, most_pages: int
    ) -> FirstPass:
        """Score the ``allowed`` pages (all, for ``None``), and the sections of the ``most_pages`` best."""
        import numpy as np

        weights = self._weights
        shares = [self._share(item) for item in evidence]
        by_page = np.zeros(self._pages)
        cover = np.zeros(self._pages)
        whole = 0.0
        for item, share in zip(evidence, shares, strict=True):
            by_page += share.pages
            if not item.is_phrase:
                whole += share.rarity
                cover += np.multiply(share.on_pages, share.rarity)
        by_page *= _raised(cover, whole, weights.page_coverage)
        ranked = by_page * self._factor
        if allowed is not None:
            ranked *= np.asarray(allowed, bool)
        chosen = np.zeros(self._pages, bool)
        chosen[_best_pages(ranked, most_pages)] = True
        rows = np.flatnonzero(np.repeat(chosen, self._sizes))
        pages = self._page_of[rows]
        own = np.zeros(len(rows))
        cover = np.zeros(len(rows))
        for item, share in zip(evidence, shares, strict=True):
            own += share.sections[rows]
            if not item.is_phrase:
                cover += np.multiply(share.in_sections[rows], share.rarity)
        own *= _raised(cover, whole, weights.coverage)
        scores = (own + (weights.page_share * by_page)[pages]) * (weights.scale * self._factor)[pages]
        keys = self._keys[rows].tolist()
        scored = np.flatnonzero(chosen).tolist()
        return FirstPass(
            dict(zip(keys, scores.tolist(), strict=True)),
            dict(zip(keys, own.tolist(), strict=True)),
            dict(zip(scored, by_page[scored].tolist(), strict=True)),
            [share.frequency for share in shares],
        )

    def _share(self, item: Evidence[Postings]) -> _Share:
        key = (item.kind, item.term)
        found = self._known.get(key)
        if found is None:
            found = self._make(item)
            if len(self._known) * (self._pages + len(self._keys)) > REMEMBERED_NUMBERS:
                self._known.clear()
            self._known[key] = found
        return found

    def _make(self, item: Evidence[Postings]) -> _Share:
        import numpy as np

        weights = self._weights
        size = self._pages
        counts = np.zeros(size * len(PAGE_FIELDS))
        for part, each in item.counts:
            found = np.bincount(part.units, weights=part.counts, minlength=len(counts))
            counts += found if each == 1.0 else each * found
        columns = {name: counts[at * size : (at + 1) * size] for at, name in enumerate(PAGE_FIELDS)}
        x = columns[META_FIELDS[0]] * self._page_factors[META_FIELDS[0]]
        for name in META_FIELDS[1:]:
            x += columns[name] * self._page_factors[name]
        inherited = weights.inherited * x
        x += columns["text"] * self._page_factors["text"]
        on_pages = x > 0.0
        frequency = int(np.count_nonzero(on_pages))
        rarity = idf(size, frequency) if frequency else 0.0
        gain = rarity * item.weight
        pages = gain * (x / (weights.saturation + x))
        x = self._section_x(item)
        x += np.repeat(inherited, self._sizes)
        sections = gain * (x / (weights.saturation + x))
        return _Share(pages, on_pages, sections, x > 0.0, frequency, rarity)

    def _section_x(self, item: Evidence[Postings]) -> Floats:
        import numpy as np

        size = len(self._keys)
        counts = np.zeros(size * len(SECTION_FIELDS))
        if item.is_phrase:
            parts = [(self._text.phrase(tuple(item.term.split(" "))), 1.0)]
        else:
            by_weight: dict[float, list[bytes]] = {}
            for form, weight in item.forms.items():
                by_weight.setdefault(weight, []).append(form)
            parts = [(self._text.forms(forms), weight) for weight, forms in by_weight.items()]
        for part, each in parts:
            counts += each * np.bincount(part.units, weights=part.counts, minlength=len(counts))
        x = np.zeros(size)
        for at, name in enumerate(SECTION_FIELDS):
            x += counts[at * size : (at + 1) * size] * self._section_factors[name]
        return x


def _raised(cover: Floats, whole: float, boost: float) -> Floats:
    share = cover / (whole or 1.0)
    raised = share * share
    raised *= share
    raised *= boost
    raised += 1.0
    return raised


def _best_pages(ranked: Floats, count: int) -> NDArray[np.int64]:
    """Return the ``count`` pages with the highest scores; of those that tie for last place, the first."""
    import numpy as np

    found = np.flatnonzero(ranked > 0.0)
    if len(found) <= count:
        return found
    scores = ranked[found]
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    above = found[scores > least]
    ties = found[scores == least][: count - len(above)]
    return np.concatenate([above, ties])
