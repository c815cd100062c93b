"""The first pass: a fielded BM25 score for every section and page that holds a word of the query.

BM25F (Robertson, Zaragoza, Taylor 2004): counts are weighted and normalised by length in each field, added
up over the fields, then saturated once:

    x(t) = sum over fields of weight * count / (1 - b + b * length / average length)
    score = sum over words of idf(t) * x / (k1 + x),   idf = ln(1 + (N - df + 0.5) / (df + 0.5))

A section is scored by its own fields, a page by its fields and the text of all its sections. Both are raised
by the cube of their coverage, the share of the query's words (weighted by idf) that they hold. The lexical
score of a section is its own plus a share of its page's.

The same arithmetic stands here twice: on dicts, for one query over text that was just read, and (in
``arrays.py``) on numpy arrays. Operations and their order are the same, so are the results, to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

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

    saturation: float = 1.2
    fields: dict[str, FieldWeight] = field(
        default_factory=lambda: {
            "title": FieldWeight(6.0, 0.3),
            "description": FieldWeight(3.0, 0.3),
            "path": FieldWeight(3.0, 0.3),
            "metadata": FieldWeight(1.0, 0.6),
            "heading": FieldWeight(5.0, 0.3),
            "headingPath": FieldWeight(1.5, 0.3),
            "body": FieldWeight(1.0, 0.6),
            "pageHeading": FieldWeight(2.0, 0.6),
            "pageBody": FieldWeight(1.0, 0.6),
        }
    )
    page_share: float = 0.4
    coverage: float = 1.0
    page_coverage: float = 1.0
    index_page: float = 0.55
    scale: float = 10.0
    adjacency: float = 0.15
    vector: float = 0.05


WEIGHTS = Weights()
PAGE_SUMS = {"pageHeading": ("heading", "headingPath"), "pageBody": ("body",)}


@dataclass(frozen=True, slots=True)
class Norms:
    """What the counts of each unit are divided by; for ``pageHeading`` and ``pageBody``, of each page."""

    by_field: dict[str, list[float]]


def norms_of(corpus: Corpus, weights: Weights) -> Norms:
    """Return the length norms of every unit."""
    lengths = dict(corpus.lengths)
    first = corpus.first_section
    for name, field_names in PAGE_SUMS.items():
        sums = [0] * len(corpus.pages)
        for part in field_names:
            own = lengths[part]
            for page in range(len(sums)):
                sums[page] += sum(own[first[page] : first[page + 1]])
        lengths[name] = sums
    found = {}
    for name, sizes in lengths.items():
        b = weights.fields[name].length
        average = sum(sizes) / len(sizes) if sizes and any(sizes) else 1.0
        base = 1.0 - b
        share = b / average
        found[name] = [base + share * size for size in sizes]
    return Norms(found)


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
        """Return the sections with the ``count`` highest scores and all that tie with the last; by number."""

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
        if len(self.scores) > count:
            least = sorted(self.scores.values(), reverse=True)[count - 1]
            return sorted([section for section, score in self.scores.items() if score >= least])
        return sorted(self.scores)

    def matching(self) -> Sequence[int]:
        return sorted(self.scores)


def score_lists(
    corpus: Corpus,
    norms: Norms,
    evidence: Sequence[Evidence[Counts]],
    weights: Weights,
    allowed: Sequence[bool] | None,
) -> ListPass:
    """Score the sections of the ``allowed`` pages (all, for ``None``)."""
    section_sum: dict[int, float] = {}
    section_cover: dict[int, float] = {}
    page_sum: dict[int, float] = {}
    page_cover: dict[int, float] = {}
    section_whole = page_whole = 0.0
    frequencies = []
    k1 = weights.saturation
    total_sections, total_pages = len(corpus.sections), len(corpus.pages)
    for item in evidence:
        section_x, page_x = _weighted_counts(corpus, norms, item, weights)
        frequencies.append((len(section_x), len(page_x)))
        if section_x:
            rarity = idf(total_sections, len(section_x))
            gain = rarity * item.weight
            for section, x in section_x.items():
                section_sum[section] = section_sum.get(section, 0.0) + gain * (x / (k1 + x))
            if not item.is_phrase:
                section_whole += rarity
                for section in section_x:
                    section_cover[section] = section_cover.get(section, 0.0) + rarity
        rarity = idf(total_pages, len(page_x))
        gain = rarity * item.weight
        for page, x in page_x.items():
            page_sum[page] = page_sum.get(page, 0.0) + gain * (x / (k1 + x))
        if not item.is_phrase:
            page_whole += rarity
            for page in page_x:
                page_cover[page] = page_cover.get(page, 0.0) + rarity
    own = {}
    for section, value in section_sum.items():
        share = section_cover.get(section, 0.0) / section_whole if section_whole else 0.0
        own[section] = value * (1.0 + weights.coverage * (share * share * share))
    pages = {}
    for page, value in page_sum.items():
        share = page_cover.get(page, 0.0) / page_whole if page_whole else 0.0
        pages[page] = value * (1.0 + weights.page_coverage * (share * share * share))
    scores = {}
    first = corpus.first_section
    for page, value in pages.items():
        if allowed is not None and not allowed[page]:
            continue
        factor = weights.scale * (weights.index_page if corpus.pages[page].kind == "index" else 1.0)
        from_page = weights.page_share * value
        for section in range(first[page], first[page + 1]):
            scores[section] = (own.get(section, 0.0) + from_page) * factor
    return ListPass(own, pages, scores, frequencies)


def _weighted_counts(
    corpus: Corpus, norms: Norms, item: Evidence[Counts], weights: Weights
) -> tuple[dict[int, float], dict[int, float]]:
    """Return x, as above, of each section and page that holds the word."""
    if len(item.counts) == 1 and item.counts[0][1] == 1.0:
        counts: dict[int, float] = {**item.counts[0][0]}
    else:
        counts = {}
        for part, each in item.counts:
            for unit, count in part.items():
                counts[unit] = counts.get(unit, 0.0) + each * count
    by_field = _split(corpus, counts)
    section_x: dict[int, float] = {}
    for name in SECTION_FIELDS:
        _add(section_x, by_field[name], weights.fields[name].weight, norms.by_field[name])
    page_x: dict[int, float] = {}
    for name in PAGE_FIELDS:
        _add(page_x, by_field[name], weights.fields[name].weight, norms.by_field[name])
    page_of = corpus.page_of
    for name, field_names in PAGE_SUMS.items():
        sums: dict[int, float] = {}
        for part_name in field_names:
            for section, amount in by_field[part_name].items():
                page = page_of[section]
                sums[page] = sums.get(page, 0.0) + amount
        _add(page_x, sums, weights.fields[name].weight, norms.by_field[name])
    return section_x, page_x


def _add(total: dict[int, float], counts: dict[int, float], weight: float, norm: list[float]) -> None:
    for number, count in counts.items():
        total[number] = total.get(number, 0.0) + weight * count / norm[number]


def _split(corpus: Corpus, counts: dict[int, float]) -> dict[str, dict[int, float]]:
    """Cut counts by unit into counts by number for each field."""
    units = sorted(counts)
    starts = [*corpus.starts.items()]
    found: dict[str, dict[int, float]] = {}
    at = 0
    for index, (name, start) in enumerate(starts):
        end = starts[index + 1][1] if index + 1 < len(starts) else len(corpus.ends)
        own = {}
        while at < len(units) and units[at] < end:
            own[units[at] - start] = counts[units[at]]
            at += 1
        found[name] = own
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
    norms: Norms,
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
        return weights.fields[name].weight * amount / norms.by_field[name][number]

    own = {name: count(name, section) for name in SECTION_FIELDS}
    above = {name: count(name, page) for name in PAGE_FIELDS}
    section_x = sum(weighed(name, section, amount) for name, amount in own.items())
    page_x = sum(weighed(name, page, amount) for name, amount in above.items())
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
