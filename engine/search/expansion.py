"""Follows links one step from what was found: a linked section may hold the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from openknowledge.engine.bundle.links import link_kind, split_href
from openknowledge.engine.search.rounding import round2

if TYPE_CHECKING:
    from openknowledge.engine.search.index import Ranking, SearchIndex

OUTGOING = 0.55
BACKLINK = 0.45


@dataclass(slots=True)
class Candidate:
    """A section with its scores. ``links`` says where a neighbour or raised section has its score from."""

    section: int
    score: float
    lexical: float = 0.0
    vector: float = 0.0
    relation: str = "direct"
    by_graph: bool = False
    links: tuple[str, ...] = ()

    @property
    def neighbor(self) -> bool:
        """Whether only a link led here."""
        return self.relation != "direct"


class LinkGraph:
    """The links between sections, found page by page when asked for."""

    def __init__(self, index: SearchIndex) -> None:
        self._bundle = index.bundle
        self._corpus = index.corpus
        self._numbers = {page.path: number for number, page in enumerate(index.corpus.pages)}
        self._all: Backlinks | None = None
        self._asked = 0
        self._targets: dict[int, list[tuple[int, int, bool]]] = {}

    def targets(self, page: int) -> Iterator[tuple[int, int, bool]]:
        """Yield ``(source section, target section, whether exact)`` for each link on a page, in order.

        A link without a fragment leads to the target page's first section and is not exact.
        """
        if self._corpus.first_section[page] == self._corpus.first_section[page + 1]:
            return
        known = self._targets.get(page)
        if known is not None:
            yield from known
            return
        yield from self._targets.setdefault(page, list(self._resolve(page)))

    def _resolve(self, page: int) -> Iterator[tuple[int, int, bool]]:
        corpus = self._corpus
        document = corpus.pages[page]
        source, end = corpus.first_section[page], corpus.first_section[page + 1]
        for link in document.outline.links:
            while source + 1 < end and corpus.sections[source + 1].line_start <= link.line:
                source += 1
            kind = link_kind(link.href)
            if kind == "external":
                continue
            if kind == "anchor":
                path, anchor = document.path, unquote(link.href[1:])
            else:
                resolved = self._bundle.resolver.resolve(link.href, document.path)
                path, anchor = resolved.path, resolved.anchor
            number = self._numbers.get(path)
            if number is None:
                continue
            first, last = corpus.first_section[number], corpus.first_section[number + 1]
            if not anchor:
                if first < last:
                    yield source, first, False
                continue
            for target in range(first, last):
                if anchor in corpus.sections[target].anchors:
                    yield source, target, True
                    break

    def outgoing(self, section: int) -> list[int]:
        """Return the sections that the links of a section lead to, without repeats."""
        page = self._corpus.page_of[section]
        return list(dict.fromkeys(target for source, target, _ in self.targets(page) if source == section))

    def backlinks(self, pages: Set[int]) -> Backlinks:
        """Return the links that lead to ``pages`` (or more).

        The first time, only pages with a link that may lead there are looked at; then all, to be remembered.
        """
        if self._all is not None:
            return self._all
        self._asked += 1
        if self._asked > 1:
            self._all = self._collect(range(len(self._corpus.pages)))
            return self._all
        return self._collect(self._may_link_to(pages))

    def _collect(self, pages: Iterable[int]) -> Backlinks:
        found = Backlinks()
        for page in pages:
            for source, target, exact in self.targets(page):
                if exact:
                    found.to_section.setdefault(target, []).append(source)
                else:
                    found.to_page.setdefault(self._corpus.page_of[target], []).append(source)
        return found

    def _may_link_to(self, pages: Set[int]) -> list[int]:
        """Return the pages with a link whose last path segment could name one of ``pages``."""
        names: set[str] = set()
        for page in pages:
            folder, _, name = self._corpus.pages[page].path.rpartition("/")
            names.add(name)
            if name.lower() == "index.md":
                names.update((folder.rpartition("/")[2], "", ".", ".."))
        found = []
        for number, document in enumerate(self._corpus.pages):
            if number in pages:
                found.append(number)
                continue
            for link in document.outline.links:
                href = link.href
                last = href.rpartition("/")[2] if "#" not in href and "?" not in href else _last_segment(href)
                if last in names or "%" in href or not href.isascii():
                    found.append(number)
                    break
        return found


def _last_segment(href: str) -> str:
    return split_href(href)[0].rpartition("/")[2]


@dataclass(slots=True)
class Backlinks:
    """From which sections links come: exactly to a section, or to a page as a whole."""

    to_section: dict[int, list[int]] = field(default_factory=dict)
    to_page: dict[int, list[int]] = field(default_factory=dict)

    def to(self, section: int, page: int) -> list[int]:
        """Return the sections that link to ``section`` or to its ``page``, without repeats."""
        return list(dict.fromkeys([*self.to_section.get(section, ()), *self.to_page.get(page, ())]))


def expand(ranking: Ranking, seeds: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Return the first ``limit`` of the ranked candidates and the neighbours of ``seeds``, best first.

    The target of a seed's link gets 0.55 of its score, a section that links to a seed 0.45. A section that
    was ranked anyway is raised where that is more; any other becomes a neighbour with the best such score.
    """
    index = ranking.index
    graph = index.links
    backlinks = graph.backlinks({index.corpus.page_of[seed.section] for seed in seeds})
    found: dict[int, Candidate] = {seed.section: replace(seed) for seed in seeds}
    # with enough seeds, what scores less than the last of them will be cut off again
    least = seeds[-1].score if len(seeds) >= limit else 0.0
    highest_similarity = index.weights.vector + 0.01
    for seed in seeds:
        reached = [(target, "outgoing-link", OUTGOING) for target in graph.outgoing(seed.section)]
        sources = backlinks.to(seed.section, index.corpus.page_of[seed.section])
        reached += [(source, "backlink", BACKLINK) for source in sources]
        for section, relation, share in reached:
            if section == seed.section or not ranking.filters.admit(index.page(section)):
                continue
            score = round2(seed.score * share)
            why = f"{relation} {index.section(seed.section).id}"
            other = found.get(section)
            if other is None:
                lexical = ranking.first.score(section)
                if max(score, lexical + highest_similarity) < least:
                    continue
                if lexical > 0.0 or section in (ranking.vectors or ()):
                    other = found[section] = replace(ranking.candidate(section))
                else:
                    found[section] = Candidate(section, score, relation=relation, by_graph=True, links=(why,))
                    continue
            if other.relation == "direct":
                other.by_graph = True
                other.links = (*other.links, why)
            if score > other.score or (score == other.score and other.neighbor and relation < other.relation):
                other.score = score
                if other.neighbor:
                    other.relation = relation
                    other.links = (why,)
    order = list(found.values())
    order.sort(key=lambda candidate: (-candidate.score, *_tie(candidate)))
    return order[:limit]


def _tie(candidate: Candidate) -> tuple[bool, str, int]:
    return (candidate.neighbor, candidate.relation, candidate.section)
