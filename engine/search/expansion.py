"""Follows links one step from what was found: a linked section may hold the answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.links import link_kind
from openknowledge.engine.search.corpus import SectionKey, key_of, page_of
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
        self._pages = index.corpus.pages
        self._numbers = {page.path: number for number, page in enumerate(self._pages)}
        self._all: Backlinks | None = None
        self._asked = 0
        self._targets: dict[int, list[Step]] = {}
        self._anchors: dict[int, dict[str, int]] = {}

    def targets(self, page: int) -> list[Step]:
        """Return a step for each link on a page that leads to a section, in order."""
        known = self._targets.get(page)
        if known is None:
            known = self._targets[page] = list(self._resolve(page))
        return known

    def _resolve(self, page: int) -> Iterator[Step]:
        document = self._pages[page]
        links = document.outline.links
        if not links or not document.sections:
            return
        starts = [section.line_start for section in document.sections]
        source = 0
        for link in links:
            while source + 1 < len(starts) and starts[source + 1] <= link.line:
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
            if not anchor:
                if self._pages[number].sections:
                    yield Step(key_of(page, source), key_of(number, 0), exact=False)
            elif (target := self._anchors_of(number).get(anchor)) is not None:
                yield Step(key_of(page, source), key_of(number, target), exact=True)

    def _anchors_of(self, page: int) -> dict[str, int]:
        known = self._anchors.get(page)
        if known is None:
            known = self._anchors[page] = {}
            for number, section in enumerate(self._pages[page].sections):
                for anchor in section.anchors:
                    known.setdefault(anchor, number)
        return known

    def outgoing(self, key: SectionKey) -> list[SectionKey]:
        """Return the sections that the links of a section lead to, without repeats."""
        return list(dict.fromkeys(step.target for step in self.targets(page_of(key)) if step.source == key))

    def backlinks(self, pages: Set[int]) -> Backlinks:
        """Return the links that lead to ``pages`` (or more).

        The first time, only pages with a link that may lead there are looked at; then all, to be remembered.
        """
        if self._all is not None:
            return self._all
        self._asked += 1
        if self._asked > 1:
            self._all = self._collect(range(len(self._pages)))
            return self._all
        return self._collect(may_link_to(self._pages, pages))

    def _collect(self, pages: Iterable[int]) -> Backlinks:
        found = Backlinks()
        for page in pages:
            for step in self.targets(page):
                if step.exact:
                    found.to_section.setdefault(step.target, []).append(step.source)
                else:
                    found.to_page.setdefault(page_of(step.target), []).append(step.source)
        return found


@dataclass(frozen=True, slots=True)
class Step:
    """A link between sections. One to a page as a whole leads to its first section, not ``exact``."""

    source: SectionKey
    target: SectionKey
    exact: bool


@dataclass(slots=True)
class Backlinks:
    """From which sections links come: exactly to a section, or to a page as a whole."""

    to_section: dict[int, list[int]] = field(default_factory=dict)
    to_page: dict[int, list[int]] = field(default_factory=dict)

    def to(self, section: int, page: int) -> list[int]:
        """Return the sections that link to ``section`` or to its ``page``, without repeats."""
        return list(dict.fromkeys([*self.to_section.get(section, ()), *self.to_page.get(page, ())]))


# A link can be written so that the name of its target does not stand in the text.
_DISGUISED = re.compile(rb"%[0-9A-Fa-f]{2}|\\[!-/:-@\[-`{-~]|&#?[0-9A-Za-z]+;")
_TO_ROOT = re.compile(rb"(?:\(|\]:)\s*<?/[)#?\s>]")
_RELATIVE = (b"(.", b"<.", b": .", b"( .")


def may_link_to(pages: Sequence[Document], wanted: Set[int]) -> list[int]:
    """Return the pages that may link to one of ``wanted``, by their bytes, without parsing them."""
    names: set[bytes] = set()
    folders: list[str] = []
    for page in wanted:
        folder, _, name = pages[page].path.rpartition("/")
        texts = [name]
        if name.lower() == "index.md":
            texts.append(folder.rpartition("/")[2])
            folders.append(folder)
        names.update(unicodedata.normalize(form, text).encode() for text in texts for form in ("NFC", "NFD"))
    names.discard(b"")
    stems = tuple(name[: -len(b".md")] for name in names if name.endswith(b".md"))
    others = [name for name in names if not name.endswith(b".md")]
    return [
        number
        for number, page in enumerate(pages)
        if number in wanted or _may_link(page, stems, others, folders)
    ]


def _may_link(
    page: Document, stems: tuple[bytes, ...], names: Sequence[bytes], folders: Sequence[str]
) -> bool:
    data = page.data
    for before in data.split(b".md")[:-1]:
        if before.endswith(stems):
            return True
    for name in names:
        if name in data:
            return True
    if (b"%" in data or b"\\" in data or b"&" in data) and _DISGUISED.search(data):
        return True
    return any(_may_name_folder(page.path, data, folder) for folder in folders)


def _may_name_folder(path: str, data: bytes, folder: str) -> bool:
    """Whether the page at ``path`` may link to the index of ``folder`` without naming it."""
    if not folder and _TO_ROOT.search(data):
        return True
    below = not folder or path.startswith(folder + "/")
    return below and any(mark in data for mark in _RELATIVE)


def expand(ranking: Ranking, seeds: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Return the first ``limit`` of the ranked candidates and the neighbours of ``seeds``, best first.

    The target of a seed's link gets 0.55 of its score, a section that links to a seed 0.45. A section that
    was ranked anyway is raised where that is more; any other becomes a neighbour with the best such score.
    """
    index = ranking.index
    graph = index.links
    backlinks = graph.backlinks({page_of(seed.section) for seed in seeds})
    found: dict[int, Candidate] = {seed.section: replace(seed) for seed in seeds}
    # with enough seeds, whatever scores less than the last of them is cut off again
    least = seeds[-1].score if len(seeds) >= limit else 0.0
    for seed in seeds:
        for relation, share, sections in (
            ("outgoing-link", OUTGOING, graph.outgoing(seed.section)),
            ("backlink", BACKLINK, backlinks.to(seed.section, page_of(seed.section))),
        ):
            score = round2(seed.score * share)
            for section in sections:
                if section == seed.section or (score < least and section not in found):
                    continue
                if ranking.filters.admit(index.page(section)):
                    why = f"{relation} {index.section(seed.section).id}"
                    _reach(ranking, found, section, score, relation, why)
    order = list(found.values())
    order.sort(key=lambda candidate: (-candidate.score, *_tie(candidate)))
    return order[:limit]


def _reach(
    ranking: Ranking, found: dict[int, Candidate], section: SectionKey, score: float, relation: str, why: str
) -> None:
    """Let a link that is worth ``score`` lead to ``section``."""
    other = found.get(section)
    if other is None:
        if ranking.first.score(section) > 0.0 or section in (ranking.vectors or ()):
            other = found[section] = replace(ranking.candidate(section))
        else:
            found[section] = Candidate(section, score, relation=relation, by_graph=True, links=(why,))
            return
    if other.relation == "direct":
        other.by_graph = True
        other.links = (*other.links, why)
    if score > other.score or (score == other.score and other.neighbor and relation < other.relation):
        other.score = score
        if other.neighbor:
            other.relation = relation
            other.links = (why,)


def _tie(candidate: Candidate) -> tuple[bool, str, int]:
    return (candidate.neighbor, candidate.relation, candidate.section)
