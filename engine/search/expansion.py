"""Follows links one step from what was found: a linked section may hold the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from openknowledge.engine.bundle.links import link_kind
from openknowledge.engine.search.rounding import round2

if TYPE_CHECKING:
    from openknowledge.engine.search.index import Ranking, SearchIndex

OUTGOING = 0.55
BACKLINK = 0.45


@dataclass(slots=True)
class Candidate:
    """A section with its scores. ``before_rerank`` is the score before similarity was added.

    ``links`` says from where a neighbour, or a raised section, has its score.
    """

    section: int
    score: float
    lexical: float = 0.0
    before_rerank: float = 0.0
    vector: float = 0.0
    near: float = 0.0
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
        self._incoming: tuple[dict[int, list[int]], dict[int, list[int]]] | None = None

    def targets(self, page: int) -> Iterator[tuple[int, int, bool]]:
        """Yield ``(source section, target section, whether exact)`` for each link on a page, in order.

        A link without a fragment leads to the target page's first section and is not exact.
        """
        corpus = self._corpus
        document = corpus.pages[page]
        source, end = corpus.first_section[page], corpus.first_section[page + 1]
        if source == end:
            return
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

    def incoming(self, section: int) -> list[int]:
        """Return the sections that link to a section, or to its page as a whole."""
        if self._incoming is None:
            to_section: dict[int, list[int]] = {}
            to_page: dict[int, list[int]] = {}
            for page in range(len(self._corpus.pages)):
                if not self._corpus.pages[page].outline.links:
                    continue
                for source, target, exact in self.targets(page):
                    if exact:
                        to_section.setdefault(target, []).append(source)
                    else:
                        to_page.setdefault(self._corpus.page_of[target], []).append(source)
            self._incoming = (to_section, to_page)
        to_section, to_page = self._incoming
        page = self._corpus.page_of[section]
        return list(dict.fromkeys([*to_section.get(section, ()), *to_page.get(page, ())]))


def expand(ranking: Ranking, seeds: Sequence[Candidate]) -> list[Candidate]:
    """Return the ranked candidates and the neighbours of ``seeds``, best first.

    The target of a seed's link gets 0.55 of its score, a section that links to a seed 0.45. A section that
    was ranked anyway is raised where that is more; any other becomes a neighbour with the best such score.
    """
    index = ranking.index
    graph = index.links
    found: dict[int, Candidate] = {seed.section: replace(seed) for seed in seeds}
    for seed in seeds:
        reached = [(target, "outgoing-link", OUTGOING) for target in graph.outgoing(seed.section)]
        reached += [(source, "backlink", BACKLINK) for source in graph.incoming(seed.section)]
        for section, relation, share in reached:
            if section == seed.section or not ranking.filters.admit(index.page(section)):
                continue
            score = round2(seed.score * share)
            why = f"{relation} {index.section(seed.section).id}"
            other = found.get(section)
            if other is None:
                if ranking.first.score(section) > 0.0:
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
    return order


def _tie(candidate: Candidate) -> tuple[bool, str, int]:
    return (candidate.neighbor, candidate.relation, candidate.section)
