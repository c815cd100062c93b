"""Lexical scores: a fielded BM25 over pages, and over the sections of the pages that score best.

BM25F (Robertson, Zaragoza, Taylor 2004): counts are weighted and normalised by length in each field, added
up over the fields, then saturated once:

    x(t) = sum over fields of weight * count / (1 - b + b * length / usual length)
    score = sum over words of idf(t) * x / (k1 + x),   idf = ln(1 + (N - df + 0.5) / (df + 0.5))

N and df count pages. The usual length of a page's field is its average in the bundle, that of a section's
field a constant. A section counts its own fields and, a tenth each, those of its page. Pages and sections are
raised by the cube of their coverage, the share of the query's words (weighted by idf) that they hold. The
lexical score of a section is its own plus a share of its page's.

The same arithmetic stands here, on numbers, and in ``arrays.py``, on numpy arrays for a process that answers
many queries. Operations and their order are the same, so are the results, to the bit.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.search.corpus import (
    META_FIELDS,
    PAGE_FIELDS,
    SECTION_FIELDS,
    Corpus,
    SectionFields,
    SectionKey,
    key_of,
    page_of,
)
from openknowledge.engine.search.evidence import Evidence
from openknowledge.engine.search.hits import Counts, phrase_pattern


@dataclass(frozen=True, slots=True)
class FieldWeight:
    """How much an occurrence in a field weighs, and how strongly (0 to 1) the field's length counts.

    ``usual`` is the length in bytes that is neither long nor short; 0 stands for the average.
    """

    weight: float
    length: float
    usual: float = 0.0

    def factor(self, size: float, usual: float) -> float:
        """Return what one occurrence adds to x in a field of ``size`` bytes."""
        share = self.length / usual
        return self.weight / ((1.0 - self.length) + share * size)


@dataclass(frozen=True, slots=True)
class Weights:
    """The constants of ranking, as measured on the development questions."""

    saturation: float = 2.2
    fields: dict[str, FieldWeight] = field(
        default_factory=lambda: {
            "title": FieldWeight(4.0, 0.3),
            "description": FieldWeight(3.0, 0.3),
            "path": FieldWeight(2.0, 0.3),
            "metadata": FieldWeight(3.0, 0.6),
            "text": FieldWeight(1.0, 0.6),
            "heading": FieldWeight(5.0, 0.3, 24.0),
            "headingPath": FieldWeight(1.5, 0.3, 32.0),
            "body": FieldWeight(1.0, 0.3, 512.0),
        }
    )
    inherited: float = 0.1
    page_share: float = 0.6
    coverage: float = 0.5
    page_coverage: float = 0.5
    secondary_page: float = 0.4
    scale: float = 10.0
    vector: float = 0.05


MACHINE_FOLDER = ".openknowledge/"
WEIGHTS = Weights()
CANDIDATE_PAGES = 100
"""The sections of this many pages are scored. A section's score is mostly that of its page."""


def page_factors(corpus: Corpus, weights: Weights) -> dict[str, list[float]]:
    """Return what one occurrence adds to x in every field of every page."""
    found = {}
    for name, sizes in corpus.lengths.items():
        usual = sum(sizes) / len(sizes) if any(sizes) else 1.0
        factor = weights.fields[name].factor
        found[name] = [factor(size, usual) for size in sizes]
    return found


def page_factor(page: Document, weights: Weights) -> float:
    """Return the factor of a page: less for those that only list others, or copy what others state."""
    secondary = page.kind == "index" or page.path.startswith(MACHINE_FOLDER)
    return weights.secondary_page if secondary else 1.0


def idf(total: int, having: int) -> float:
    """Return how telling it is to be one of ``having`` among ``total``."""
    return math.log(1.0 + (total - having + 0.5) / (having + 0.5))


@dataclass(slots=True)
class FirstPass:
    """The lexical scores of one query, not rounded.

    ``scores`` has every section that was scored, ``own`` what of that is due to the section itself;
    ``frequencies`` says for each word or phrase on how many pages it is.
    """

    scores: dict[SectionKey, float]
    own: dict[SectionKey, float]
    pages: Mapping[int, float]
    frequencies: list[int]

    def score(self, key: SectionKey) -> float:
        """Return the lexical score of a section, 0 for one that was not scored."""
        return self.scores.get(key, 0.0)

    def best(self, count: int) -> list[SectionKey]:
        """Return the ``count`` best sections, by key; of those that tie for last place, the first."""
        return best_of(self.scores, count)


def best_of(scores: Mapping[int, float], count: int) -> list[int]:
    """Return the ``count`` keys with the highest scores, sorted; of those that tie for last, the lowest."""
    if len(scores) <= count:
        return sorted(scores)
    least = heapq.nlargest(count, scores.values())[-1]
    found = [key for key, score in scores.items() if score > least]
    ties = sorted(key for key, score in scores.items() if score == least)
    return sorted(found + ties[: count - len(found)])


def score_lists(
    corpus: Corpus,
    factors: Mapping[str, list[float]],
    evidence: Sequence[Evidence[Counts]],
    weights: Weights,
    allowed: Sequence[bool] | None,
    most_pages: int,
) -> FirstPass:
    """Score the ``allowed`` pages (all, for ``None``), and the sections of the ``most_pages`` best."""
    sums = _Sums(len(corpus.pages), weights.saturation)
    inherited: list[dict[int, float]] = []
    for item in evidence:
        meta, whole = _page_x(corpus, factors, item)
        inherited.append(meta)
        sums.add(whole, item)
    by_page = sums.finish(weights.page_coverage)
    ranked = {
        page: value * page_factor(corpus.pages[page], weights)
        for page, value in by_page.items()
        if allowed is None or allowed[page]
    }
    candidates = best_of(ranked, most_pages)
    scores: dict[SectionKey, float] = {}
    own: dict[SectionKey, float] = {}
    gains = [rarity * item.weight for rarity, item in zip(sums.rarities, evidence, strict=True)]
    counter = SectionCounter(evidence)
    usual = [(weights.fields[name], weights.fields[name].usual) for name in SECTION_FIELDS]
    k1 = weights.saturation
    tokens = corpus.section_tokens(candidates)
    for page in candidates:
        from_page = weights.page_share * by_page[page]
        factor = weights.scale * page_factor(corpus.pages[page], weights)
        shares = [weights.inherited * meta.get(page, 0.0) for meta in inherited]
        for number, parts in enumerate(tokens[page]):
            counted = [
                (counter.count(part), weight.factor(len(part), length))
                for part, (weight, length) in zip(parts, usual, strict=True)
            ]
            total = cover = 0.0
            for at, share in enumerate(shares):
                x = 0.0
                for counts, each in counted:
                    if at in counts:
                        x += counts[at] * each
                x += share
                if x > 0.0:
                    total += gains[at] * (x / (k1 + x))
                    if not evidence[at].is_phrase:
                        cover += sums.rarities[at]
            share_of_words = cover / sums.whole if sums.whole else 0.0
            raised = share_of_words * share_of_words * share_of_words * weights.coverage + 1.0
            key = key_of(page, number)
            own[key] = total * raised
            scores[key] = (own[key] + from_page) * factor
    return FirstPass(scores, own, by_page, sums.frequencies)


class SectionCounter:
    """Counts the words and phrases of a query in the tokens of a section."""

    def __init__(self, evidence: Sequence[Evidence[Any]]) -> None:
        self._forms: dict[bytes, list[tuple[int, float]]] = {}
        self._phrases = []
        for at, item in enumerate(evidence):
            if item.is_phrase:
                self._phrases.append(
                    (at, item.term.split(" ")[0].encode(), phrase_pattern(item.term.split(" ")))
                )
            for form, weight in item.forms.items():
                self._forms.setdefault(form, []).append((at, weight))

    def count(self, tokens: bytes) -> dict[int, float]:
        """Return how often each word or phrase, by its number, is in ``tokens``."""
        counts: dict[int, float] = {}
        forms = self._forms
        for token in tokens.split():
            if token in forms:
                for at, weight in forms[token]:
                    counts[at] = counts.get(at, 0.0) + weight
        for at, first, pattern in self._phrases:
            if first in tokens and (found := len(pattern.findall(tokens + b" "))):
                counts[at] = float(found)
        return counts


class _Sums:
    """Adds up saturated counts and coverage of pages."""

    def __init__(self, total: int, saturation: float) -> None:
        self.total = total
        self.saturation = saturation
        self.sums: dict[int, float] = {}
        self.cover: dict[int, float] = {}
        self.whole = 0.0
        self.frequencies: list[int] = []
        self.rarities: list[float] = []

    def add(self, counted: dict[int, float], item: Evidence[Counts]) -> None:
        """Add one word that is on the pages of ``counted``, weighed as x."""
        k1 = self.saturation
        rarity = idf(self.total, len(counted)) if counted else 0.0
        self.frequencies.append(len(counted))
        self.rarities.append(rarity)
        gain = rarity * item.weight
        get = self.sums.get
        self.sums.update([(page, get(page, 0.0) + gain * (x / (k1 + x))) for page, x in counted.items()])
        if not item.is_phrase:
            self.whole += rarity
            get = self.cover.get
            self.cover.update([(page, get(page, 0.0) + rarity) for page in counted])

    def finish(self, boost: float) -> dict[int, float]:
        """Return the sums, raised by the cube of the coverage."""
        whole = self.whole or 1.0
        cover = self.cover
        found = {}
        for page, value in self.sums.items():
            share = cover.get(page, 0.0) / whole
            found[page] = value * (share * share * share * boost + 1.0)
        return found


def _page_x(
    corpus: Corpus, factors: Mapping[str, list[float]], item: Evidence[Counts]
) -> tuple[dict[int, float], dict[int, float]]:
    """Return x of each page that holds the word: of what is said about the page, and of all."""
    if len(item.counts) == 1 and item.counts[0][1] == 1.0:
        counts: Mapping[int, float] = item.counts[0][0]
    else:
        summed: dict[int, float] = {}
        for part, each in item.counts:
            for unit, count in part.items():
                summed[unit] = summed.get(unit, 0.0) + each * count
        counts = summed
    columns = _columns(corpus, counts)
    x: dict[int, float] = {}
    for name in META_FIELDS:
        _add(x, columns[name], factors[name])
    meta = dict(x)
    _add(x, columns["text"], factors["text"])
    return meta, x


_Column = tuple[list[int], list[float]]
"""Numbers of pages and how much each has."""


def _add(total: dict[int, float], column: _Column, factor: list[float]) -> None:
    get = total.get
    total.update([(page, get(page, 0.0) + count * factor[page]) for page, count in zip(*column, strict=True)])


def _columns(corpus: Corpus, counts: Mapping[int, float]) -> dict[str, _Column]:
    """Cut counts by unit into counts by page for each field."""
    units = sorted(counts)
    size = len(corpus.pages)
    found: dict[str, _Column] = {}
    at = 0
    for name in PAGE_FIELDS:
        start = corpus.starts[name]
        end = bisect_left(units, start + size, at)
        own = units[at:end]
        found[name] = ([unit - start for unit in own], [counts[unit] for unit in own])
        at = end
    return found


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one word or phrase adds to a section and to its page, before coverage, and in which fields."""

    fields: tuple[str, ...]
    rarity: float
    section: float
    page: float


def contributions(
    corpus: Corpus,
    factors: Mapping[str, list[float]],
    evidence: Sequence[Evidence[Any]],
    frequencies: Iterable[int],
    weights: Weights,
    key: SectionKey,
) -> list[Contribution]:
    """Take apart what each word adds to a section: the same formula, for one section."""
    page = page_of(key)
    counter = SectionCounter(evidence)
    above = {name: counter.count(corpus.page_text(name, page)) for name in PAGE_FIELDS}
    parts: SectionFields = corpus.section_tokens((page,))[page][key - key_of(page, 0)]
    own = dict(zip(SECTION_FIELDS, map(counter.count, parts), strict=True))
    sizes = dict(zip(SECTION_FIELDS, map(len, parts), strict=True))
    k1 = weights.saturation
    found = []
    for at, (item, frequency) in enumerate(zip(evidence, frequencies, strict=True)):
        meta = sum(above[name].get(at, 0.0) * factors[name][page] for name in META_FIELDS)
        whole = meta + above["text"].get(at, 0.0) * factors["text"][page]
        x = weights.inherited * meta
        for name in SECTION_FIELDS:
            weight = weights.fields[name]
            x += own[name].get(at, 0.0) * weight.factor(sizes[name], weight.usual)
        rarity = idf(len(corpus.pages), frequency)
        names = [name for name, counts in own.items() if at in counts]
        names += [name for name in META_FIELDS if at in above[name]]
        found.append(
            Contribution(
                tuple(names),
                rarity,
                item.weight * rarity * (x / (k1 + x)) if x else 0.0,
                item.weight * rarity * (whole / (k1 + whole)) if whole else 0.0,
            )
        )
    return found
