"""The first pass: a fielded BM25 score for every section and page that holds a word of the query.

BM25F (Robertson, Zaragoza, Taylor 2004): counts are weighted and normalised by length in each field, added
up over the fields, then saturated once:

    x(t) = sum over fields of weight * count / (1 - b + b * length / average length)
    score = sum over words of idf(t) * x / (k1 + x),   idf = ln(1 + (N - df + 0.5) / (df + 0.5))

A section is scored by its own fields and, a tenth each, those of its page; a page by its fields and the text
of all its sections. Both are raised by the cube of their coverage, the share of the query's words (weighted
by idf) that they hold. The lexical score of a section is its own plus a share of its page's.

The same arithmetic stands here twice: on dicts, for one query over text that was just read, and (in
``arrays.py``) on numpy arrays. Operations and their order are the same, so are the results, to the bit.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Protocol

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.search.corpus import PAGE_FIELDS, SECTION_FIELDS, Corpus
from openknowledge.engine.search.evidence import Evidence
from openknowledge.engine.search.hits import Counts, phrase_pattern


@dataclass(frozen=True, slots=True)
class FieldWeight:
    """How much an occurrence in a field weighs, and how strongly (0 to 1) the field's length counts."""

    weight: float
    length: float


@dataclass(frozen=True, slots=True)
class Weights:
    """The constants of ranking, as measured on the development questions."""

    saturation: float = 2.2
    fields: dict[str, FieldWeight] = field(
        default_factory=lambda: {
            "title": FieldWeight(4.0, 0.3),
            "description": FieldWeight(3.0, 0.3),
            "path": FieldWeight(2.0, 0.3),
            "metadata": FieldWeight(2.0, 0.6),
            "heading": FieldWeight(5.0, 0.3),
            "headingPath": FieldWeight(1.5, 0.3),
            "body": FieldWeight(1.0, 0.3),
            "pageHeading": FieldWeight(1.0, 0.6),
            "pageBody": FieldWeight(1.0, 0.6),
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
PAGE_SUMS = {"pageHeading": ("heading", "headingPath"), "pageBody": ("body",)}


@dataclass(frozen=True, slots=True)
class Factors:
    """What one occurrence in each unit adds to x: the field's weight over the unit's length norm.

    ``pageHeading`` and ``pageBody`` are those of all sections of a page together.
    """

    by_field: dict[str, list[float]]


def factors_of(corpus: Corpus, weights: Weights) -> Factors:
    """Return the factors of every unit."""
    lengths = dict(corpus.lengths)
    first = corpus.first_section
    for name, field_names in PAGE_SUMS.items():
        sums = [0] * len(corpus.pages)
        for part in field_names:
            own = list(accumulate(lengths[part], initial=0))
            sums = [
                total + own[end] - own[start]
                for total, start, end in zip(sums, first, first[1:], strict=False)
            ]
        lengths[name] = sums
    found = {}
    for name, sizes in lengths.items():
        weight, b = weights.fields[name].weight, weights.fields[name].length
        average = sum(sizes) / len(sizes) if sizes and any(sizes) else 1.0
        base = 1.0 - b
        share = b / average
        found[name] = [weight / (base + share * size) for size in sizes]
    return Factors(found)


def page_factor(page: Document, weights: Weights) -> float:
    """Return the factor of a page: less for those that only list others, or copy what others state."""
    secondary = page.kind == "index" or page.path.startswith(MACHINE_FOLDER)
    return weights.secondary_page if secondary else 1.0


def idf(total: int, having: int) -> float:
    """Return how telling it is to be one of ``having`` among ``total``."""
    return math.log(1.0 + (total - having + 0.5) / (having + 0.5))


class FirstPass(Protocol):
    """Lexical scores of all sections, not rounded. A section that holds nothing of the query has 0."""

    def score(self, section: int) -> float:
        """Return the lexical score of a section."""

    def own_score(self, section: int) -> float:
        """Return what of the score is due to the section's own fields."""

    def page_score(self, page: int) -> float:
        """Return the score of a page."""

    def best(self, count: int) -> list[int]:
        """Return the ``count`` best sections, by number; of those that tie for last place, the first."""

    frequencies: list[tuple[int, int]]
    """For each word or phrase, in how many sections and pages it is."""

    def matching(self) -> Sequence[int]:
        """Return all sections with a score, by number."""


@dataclass(slots=True)
class ListPass:
    """A first pass over dicts."""

    own: dict[int, float]
    pages: dict[int, float]
    scores: dict[int, float]
    frequencies: list[tuple[int, int]]

    def score(self, section: int) -> float:
        return self.scores.get(section, 0.0)

    def own_score(self, section: int) -> float:
        return self.own.get(section, 0.0)

    def page_score(self, page: int) -> float:
        return self.pages.get(page, 0.0)

    def best(self, count: int) -> list[int]:
        scores = self.scores
        if len(scores) <= count:
            return sorted(scores)
        least = heapq.nlargest(count, scores.values())[-1]
        found = [section for section, score in scores.items() if score > least]
        ties = sorted(section for section, score in scores.items() if score == least)
        return sorted(found + ties[: count - len(found)])

    def matching(self) -> Sequence[int]:
        return sorted(self.scores)


def score_lists(
    corpus: Corpus,
    factors: Factors,
    evidence: Sequence[Evidence[Counts]],
    weights: Weights,
    allowed: Sequence[bool] | None,
) -> ListPass:
    """Score the sections of the ``allowed`` pages (all, for ``None``)."""
    sections = _Sums(len(corpus.sections), weights.saturation)
    pages = _Sums(len(corpus.pages), weights.saturation)
    for item in evidence:
        section_x, page_x = _weighted_counts(corpus, factors, item, weights.inherited)
        sections.add(section_x, item)
        pages.add(page_x, item)
    own = sections.finish(weights.coverage)
    by_page = pages.finish(weights.page_coverage)
    scores = {}
    first = corpus.first_section
    for page, value in by_page.items():
        if allowed is not None and not allowed[page]:
            continue
        factor = weights.scale * page_factor(corpus.pages[page], weights)
        from_page = weights.page_share * value
        for section in range(first[page], first[page + 1]):
            scores[section] = (own.get(section, 0.0) + from_page) * factor
    frequencies = list(zip(sections.frequencies, pages.frequencies, strict=True))
    return ListPass(own, by_page, scores, frequencies)


class _Sums:
    """Adds up saturated counts and coverage for sections, or for pages."""

    def __init__(self, total: int, saturation: float) -> None:
        self.total = total
        self.saturation = saturation
        self.sums: dict[int, float] = {}
        self.cover: dict[int, float] = {}
        self.whole = 0.0
        self.frequencies: list[int] = []

    def add(self, counted: dict[int, float], item: Evidence[Counts]) -> None:
        """Add one word that is in the units of ``counted``, weighed as x."""
        self.frequencies.append(len(counted))
        if not counted:
            return
        k1 = self.saturation
        rarity = idf(self.total, len(counted))
        gain = rarity * item.weight
        sums = self.sums
        if sums:
            get = sums.get
            sums.update([(unit, get(unit, 0.0) + gain * (x / (k1 + x))) for unit, x in counted.items()])
        else:
            self.sums = {unit: gain * (x / (k1 + x)) for unit, x in counted.items()}
        if item.is_phrase:
            return
        self.whole += rarity
        cover = self.cover
        if cover:
            get = cover.get
            cover.update([(unit, get(unit, 0.0) + rarity) for unit in counted])
        else:
            self.cover = dict.fromkeys(counted, rarity)

    def finish(self, boost: float) -> dict[int, float]:
        """Return the sums, raised by the cube of the coverage."""
        whole = self.whole or 1.0
        cover = self.cover
        found = {}
        for unit, value in self.sums.items():
            share = cover.get(unit, 0.0) / whole
            found[unit] = value * (1.0 + boost * (share * share * share))
        return found


def _weighted_counts(
    corpus: Corpus, factors: Factors, item: Evidence[Counts], inherited: float
) -> tuple[dict[int, float], dict[int, float]]:
    """Return x, as above, of each section and page that holds the word."""
    if len(item.counts) == 1 and item.counts[0][1] == 1.0:
        counts: Mapping[int, float] = item.counts[0][0]
    else:
        summed: dict[int, float] = {}
        for part, each in item.counts:
            for unit, count in part.items():
                summed[unit] = summed.get(unit, 0.0) + each * count
        counts = summed
    by_field = _split(corpus, counts)
    section_x: dict[int, float] = {}
    for name in SECTION_FIELDS:
        section_x = _add(section_x, by_field[name], factors.by_field[name])
    page_x: dict[int, float] = {}
    for name in PAGE_FIELDS:
        page_x = _add(page_x, by_field[name], factors.by_field[name])
    first = corpus.first_section
    for page, x in page_x.items():
        share = inherited * x
        for section in range(first[page], first[page + 1]):
            section_x[section] = section_x.get(section, 0.0) + share
    page_of = corpus.page_of
    for name, field_names in PAGE_SUMS.items():
        sums: dict[int, float] = {}
        for part_name in field_names:
            for section, amount in zip(*by_field[part_name], strict=True):
                page = page_of[section]
                sums[page] = sums.get(page, 0.0) + amount
        page_x = _add(page_x, (list(sums), list(sums.values())), factors.by_field[name])
    return section_x, page_x


_Column = tuple[list[int], list[float]]
"""Numbers of units and how much each has."""


def _add(total: dict[int, float], counts: _Column, factor: list[float]) -> dict[int, float]:
    if not total:
        return {number: count * factor[number] for number, count in zip(*counts, strict=True)}
    get = total.get
    total.update(
        [(number, get(number, 0.0) + count * factor[number]) for number, count in zip(*counts, strict=True)]
    )
    return total


def _split(corpus: Corpus, counts: Mapping[int, float]) -> dict[str, _Column]:
    """Cut counts by unit into counts by number for each field."""
    units = sorted(counts)
    bounds = [*corpus.starts.values(), len(corpus.ends)]
    found: dict[str, _Column] = {}
    at = 0
    for index, name in enumerate(corpus.starts):
        end = bisect_left(units, bounds[index + 1], at)
        own = units[at:end]
        start = bounds[index]
        found[name] = ([unit - start for unit in own], [counts[unit] for unit in own])
        at = end
    return found


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one word or phrase adds to a section and to its page, before coverage, and in which fields."""

    fields: tuple[str, ...]
    section_idf: float
    section: float
    page_idf: float
    page: float


def contribution(
    corpus: Corpus,
    factors: Factors,
    item: Evidence[Any],
    frequency: tuple[int, int],
    weights: Weights,
    section: int,
) -> Contribution:
    """Take apart what ``item`` adds to ``section``: the same formula, for one section."""
    page = corpus.page_of[section]
    k1 = weights.saturation

    def count(name: str, number: int) -> float:
        text = corpus.unit_text(name, number) + b" "
        if item.is_phrase:
            return float(len(phrase_pattern(item.term.split(" ")).findall(text)))
        return sum(item.forms.get(token, 0.0) for token in text.split())

    def weighed(name: str, number: int, amount: float) -> float:
        return amount * factors.by_field[name][number]

    own = {name: count(name, section) for name in SECTION_FIELDS}
    above = {name: count(name, page) for name in PAGE_FIELDS}
    section_x = sum(weighed(name, section, amount) for name, amount in own.items())
    page_x = sum(weighed(name, page, amount) for name, amount in above.items())
    section_x += weights.inherited * page_x
    for name, parts in PAGE_SUMS.items():
        numbers = range(corpus.first_section[page], corpus.first_section[page + 1])
        page_x += weighed(name, page, sum(count(part, number) for part in parts for number in numbers))
    section_idf = idf(len(corpus.sections), frequency[0]) if frequency[0] else 0.0
    page_idf = idf(len(corpus.pages), frequency[1])
    return Contribution(
        tuple(name for name, amount in {**own, **above}.items() if amount),
        section_idf,
        item.weight * section_idf * (section_x / (k1 + section_x)) if section_x else 0.0,
        page_idf,
        item.weight * page_idf * (page_x / (k1 + page_x)) if page_x else 0.0,
    )
