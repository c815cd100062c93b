"""Search over the sections of one bundle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openknowledge.engine import limits
from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.bundle.slugs import normalise
from openknowledge.engine.clock import Clock, system_clock
from openknowledge.engine.errors import LimitError, UsageError
from openknowledge.engine.search.analysis import Query, Stems, read_query
from openknowledge.engine.search.corpus import Corpus, SectionKey, build_corpus
from openknowledge.engine.search.evidence import Evidence, gather
from openknowledge.engine.search.expansion import Candidate, LinkGraph, expand
from openknowledge.engine.search.hits import ScannedText
from openknowledge.engine.search.rounding import round2
from openknowledge.engine.search.scoring import (
    CANDIDATE_PAGES,
    WEIGHTS,
    FirstPass,
    Weights,
    page_factors,
    score_lists,
)
from openknowledge.engine.search.vectors import LEAST_SIMILARITY, LocalVectors, Sparse, sparse

if TYPE_CHECKING:
    from openknowledge.engine.search.arrays import ArrayScorer
    from openknowledge.engine.search.embeddings import Endpoint
    from openknowledge.engine.search.postings import IndexedText
    from openknowledge.engine.search.routes import VectorRoute
    from openknowledge.schemas.search import SearchResultSet

DEFAULT_LIMIT = 12
SCANNED_TERMS = 16  # more words than this are not looked for one by one

Profiles = Callable[[Document], Mapping[str, Any] | None]
"""Gives the ``claimProfile`` of a page, unfiltered; ``None`` when the page has none."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Restricts pages: one of the ``types`` and one of the ``tags``, compared trimmed and without case."""

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @classmethod
    def of(cls, types: Iterable[str] = (), tags: Iterable[str] = ()) -> Filters:
        """Return filters from texts as given; blank ones are left out."""
        return cls(_folded(types), _folded(tags))

    def __bool__(self) -> bool:
        return bool(self.types or self.tags)

    def admit(self, page: Document) -> bool:
        """Whether ``page`` passes."""
        if self.types and page.type.strip().casefold() not in self.types:
            return False
        return not self.tags or any(tag.strip().casefold() in self.tags for tag in page.tags)


NO_FILTERS = Filters()


def _folded(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip().casefold() for text in texts if text.strip()))


@dataclass
class Ranking:
    """All that one query gave: its words' evidence, the first pass, and a way to score any section."""

    index: SearchIndex
    query: Query
    evidence: Sequence[Evidence[Any]]
    first: FirstPass
    filters: Filters
    query_vector: Sparse
    vectors: dict[int, float] | None = None
    """The similarities of a vector route; without one, those of ranked sections are made here."""
    _scored: dict[int, Candidate] = field(default_factory=dict)

    @cached_property
    def forms(self) -> dict[bytes, int]:
        """Every token that counts for the query, with the number of its word."""
        found: dict[bytes, int] = {}
        for number, item in enumerate(self.evidence):
            for form in item.forms:
                found.setdefault(form, number)
        return found

    def candidate(self, section: int) -> Candidate:
        """Return the final score of a section that holds something of the query."""
        found = self._scored.get(section)
        if found is None:
            found = self._scored[section] = self._score(section)
        return found

    def _score(self, section: int) -> Candidate:
        lexical = round2(self.first.score(section))
        similarity = self.similarity(section)
        share = self.index.weights.vector * similarity
        # a section that only the vector route found has its score from there
        score = lexical if lexical else round2(share * max(1.0, self.best_lexical))
        return Candidate(
            section,
            score=round2(score + share),
            lexical=lexical,
            vector=similarity,
        )

    def similarity(self, section: int) -> float:
        """Return the similarity of a section to the query; 0 where the vector route did not find it."""
        if self.vectors is not None:
            return self.vectors.get(section, 0.0)
        if not self.query_vector:
            return 0.0
        similarity = self.index.vectors.similarity(self.query_vector, section)
        return similarity if similarity >= LEAST_SIMILARITY else 0.0

    @cached_property
    def best_lexical(self) -> float:
        """The highest lexical score."""
        return max((round2(self.first.score(section)) for section in self.first.best(1)), default=0.0)

    def top(self, count: int) -> list[Candidate]:
        """Return the ``count`` best sections, by score, path and line.

        Similarity adds at most ``weights.vector``, so it is computed only where it can change the order.
        """
        pool = self.first.best(max(50, 5 * count))
        lexical = sorted((self.first.score(section) for section in pool), reverse=True)
        least = (lexical[count - 1] if len(lexical) >= count else 0.0) - self.index.weights.vector - 0.01
        pool = [section for section in pool if self.first.score(section) >= least]
        pool = list(dict.fromkeys([*pool, *(self.vectors or ())]))
        found = [self.candidate(section) for section in pool]
        found.sort(key=lambda candidate: (-candidate.score, candidate.section))
        return found[:count]


class SearchIndex:
    """Ranks the sections of a bundle for questions.

    Nothing is built before the first question; that one scans the text. From the second on, an inverted
    index over the same tokens answers. Both give the same results.
    """

    def __init__(self, bundle: Bundle, *, clock: Clock = system_clock, weights: Weights = WEIGHTS) -> None:
        self.bundle = bundle
        self.clock = clock
        self.weights = weights
        self.stems = Stems()
        self._asked = 0

    @classmethod
    def build(cls, bundle: Bundle, *, clock: Clock = system_clock) -> SearchIndex:
        """Return the index of ``bundle``; its parts are made when first asked for."""
        return cls(bundle, clock=clock)

    @cached_property
    def corpus(self) -> Corpus:
        """The text of the bundle as tokens."""
        return build_corpus(self.bundle)

    @cached_property
    def factors(self) -> dict[str, list[float]]:
        """What occurrences weigh in each field of each page."""
        return page_factors(self.corpus, self.weights)

    def prepare(self) -> None:
        """Build the inverted index now, for a process that will answer many questions."""
        self._asked = max(self._asked, 1)
        _ = self.scorer, self.indexed

    @cached_property
    def scanned(self) -> ScannedText:
        """Finds words by scanning."""
        return ScannedText(self.corpus.text, self.corpus.ends, self.stems)

    @cached_property
    def indexed(self) -> IndexedText:
        """Finds words in an inverted index."""
        from openknowledge.engine.search.postings import IndexedText

        return IndexedText(self.corpus.text, self.corpus.ends, self.stems)

    @cached_property
    def scorer(self) -> ArrayScorer:
        """Scores what ``indexed`` found."""
        from openknowledge.engine.search.arrays import ArrayScorer

        return ArrayScorer(self.corpus, self.factors, self.weights, self.stems)

    @cached_property
    def vectors(self) -> LocalVectors:
        """The local vectors."""
        return LocalVectors(self.corpus)

    def local_route(self) -> VectorRoute:
        """Return the vector route over hashed words and trigrams."""
        from openknowledge.engine.search.routes import LocalRoute

        return LocalRoute(self.vectors)

    def embedding_route(self, endpoint: Endpoint, cache: Path | None = None) -> VectorRoute:
        """Return the vector route over the model behind ``endpoint``, with its ``cache`` file if given."""
        from openknowledge.engine.search.embeddings import EmbeddingClient
        from openknowledge.engine.search.routes import EmbeddingRoute

        return EmbeddingRoute(self.corpus, EmbeddingClient(endpoint), cache)

    @cached_property
    def links(self) -> LinkGraph:
        """The links between sections."""
        return LinkGraph(self)

    def rank(
        self,
        query: str,
        *,
        filters: Filters = NO_FILTERS,
        fuzzy: bool = True,
        route: VectorRoute | None = None,
        vector_limit: int = 50,
        most_pages: int | None = CANDIDATE_PAGES,
    ) -> Ranking:
        """Score the sections of the ``most_pages`` best pages (all, for ``None``) for ``query``.

        With a ``route``, its ``vector_limit`` most similar sections are added. Without one, the similarity of
        local vectors only helps to order what was found by words: on its own it finds noise.

        Raises ``LimitError`` for a query of more than ``TEXT_QUERY_RUNES`` characters.
        """
        if len(query) > limits.TEXT_QUERY_RUNES:
            raise LimitError(
                f"the query has {len(query)} characters; at most {limits.TEXT_QUERY_RUNES} are accepted",
                limit="TEXT_QUERY_RUNES",
            )
        read = read_query(query, self.stems)
        allowed = [filters.admit(page) for page in self.corpus.pages] if filters else None
        self._asked += 1
        most = len(self.corpus.pages) if most_pages is None else most_pages
        evidence: Sequence[Evidence[Any]]
        first: FirstPass
        if self._asked == 1 and len(read.terms) <= SCANNED_TERMS:
            scanned = evidence = gather(read, self.scanned, fuzzy=fuzzy)
            first = score_lists(self.corpus, self.factors, scanned, self.weights, allowed, most)
        else:
            evidence = gather(read, self.indexed, fuzzy=fuzzy)
            first = self.scorer.score(evidence, allowed, most)
        if route is not None:
            near = route.nearest(query, vector_limit, allowed)
            return Ranking(self, read, evidence, first, filters, [], near)
        vector = sparse(self.vectors.vector(normalise(query)))
        return Ranking(self, read, evidence, first, filters, vector)

    def ranked(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        no_expand: bool = False,
        types: Iterable[str] = (),
        tags: Iterable[str] = (),
        fuzzy: bool = True,
        route: VectorRoute | None = None,
    ) -> tuple[Ranking, list[Candidate]]:
        """Return the ranking of ``query`` and its first ``limit`` candidates, links followed or not.

        Raises ``UsageError`` for a limit below 1 and ``LimitError`` as ``rank`` does.
        """
        if limit < 1:
            raise UsageError(f"limit must be at least 1, not {limit}")
        filters = Filters.of(types, tags)
        pool = max(50, 5 * limit)
        ranking = self.rank(
            query,
            filters=filters,
            fuzzy=fuzzy,
            route=route,
            vector_limit=pool,
            most_pages=max(CANDIDATE_PAGES, 2 * limit),
        )
        found = ranking.top(limit)
        if not no_expand:
            found = expand(ranking, found, limit)
        return ranking, found

    def page(self, key: SectionKey) -> Document:
        """Return the page of a section."""
        return self.corpus.page(key)

    def section(self, key: SectionKey) -> Section:
        """Return a section."""
        return self.corpus.section(key)

    def search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        no_expand: bool = False,
        types: Iterable[str] = (),
        tags: Iterable[str] = (),
        fuzzy: bool = True,
        explain: bool = False,
        profiles: Profiles | None = None,
        route: VectorRoute | None = None,
    ) -> SearchResultSet:
        """Return the sections found for ``query``; see ``results.search_results``."""
        from openknowledge.engine.search.results import search_results

        return search_results(
            self,
            query,
            limit=limit,
            no_expand=no_expand,
            types=types,
            tags=tags,
            fuzzy=fuzzy,
            explain=explain,
            profiles=profiles,
            route=route,
        )
