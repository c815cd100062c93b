"""Packs found sections into a budget of tokens: what answers best first, with the pages' own context."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openknowledge.engine.bundle.sections import estimate_tokens
from openknowledge.engine.errors import UsageError
from openknowledge.engine.search.corpus import SECTION_FIELDS, SectionKey, key_of, number_of, page_of
from openknowledge.engine.search.expansion import Candidate
from openknowledge.engine.search.results import (
    SCHEMA_VERSION,
    bound_claims,
    issues_of,
    route_of,
    section_identity,
    trust_signals,
)
from openknowledge.engine.search.rounding import round2

if TYPE_CHECKING:
    from openknowledge.engine.search.index import Profiles, Ranking, SearchIndex
    from openknowledge.engine.search.routes import VectorRoute
    from openknowledge.schemas.search import ContextResult, ContextSource

DEFAULT_BUDGET = 2_400
SEEDS = 5
SAME_PAGE = 2
CHILDREN = 2
CONTEXT_SECTIONS = 4
CONTEXT_SHARE = 0.8
RUNES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Wanted:
    """A section to pack. Of ``priority`` 2 are the seeds, 1 what belongs to them, 0 the rest."""

    candidate: Candidate
    priority: int


def packing_order(ranking: Ranking, found: list[Candidate], *, no_expand: bool) -> list[Wanted]:
    """Return the sections in the order in which they are packed, each once."""
    index = ranking.index
    direct = [candidate for candidate in found if not candidate.neighbor]
    order: dict[int, Wanted] = {}

    def want(candidate: Candidate, priority: int) -> bool:
        if candidate.section in order:
            return False
        order[candidate.section] = Wanted(candidate, priority)
        return True

    seeds = direct[:SEEDS]
    for candidate in seeds:
        want(candidate, 2)
    if direct:
        top_page = page_of(direct[0].section)
        same = [candidate for candidate in direct[SEEDS:] if page_of(candidate.section) == top_page]
        for candidate in same[:SAME_PAGE]:
            want(candidate, 1)
    if not no_expand:
        added = 0
        for seed in seeds:
            for section in hierarchy(index, seed.section):
                if added == CONTEXT_SECTIONS:
                    break
                score = round2(seed.score * CONTEXT_SHARE)
                added += want(Candidate(section, score, relation="document-context"), 1)
    covered = {word for wanted in order.values() for word in words_of(ranking, wanted.candidate.section)}
    for candidate in direct:
        if candidate.section not in order and (words := words_of(ranking, candidate.section) - covered):
            covered |= words
            want(candidate, 0)
    for candidate in [*direct, *(candidate for candidate in found if candidate.neighbor)]:
        want(candidate, 0)
    return list(order.values())


def words_of(ranking: Ranking, key: SectionKey) -> set[int]:
    """Return the numbers of the query's words that the headings or the text of a section hold."""
    corpus = ranking.index.corpus
    forms = ranking.forms
    tokens = [token for name in SECTION_FIELDS for token in corpus.section_text(name, key).split()]
    return {forms[token] for token in tokens if token in forms}


def hierarchy(index: SearchIndex, key: SectionKey) -> list[SectionKey]:
    """Return the closest section above a section on its page, and the first two directly below it."""
    page, own = page_of(key), number_of(key)
    sections = index.corpus.pages[page].sections
    path, level = sections[own].heading_path, sections[own].level
    if level == 0:
        return []
    found = []
    for number in range(own - 1, -1, -1):
        above = sections[number]
        if 0 < above.level < level and above.heading_path == path[: len(above.heading_path)]:
            found.append(number)
            break
    children: list[int] = []
    for number in range(own + 1, len(sections)):
        if sections[number].level <= level or len(children) == CHILDREN:
            break
        if sections[number].heading_path[:-1] == path:
            children.append(number)
    return [key_of(page, number) for number in found + children]


def truncate(text: str, budget: int) -> str:
    """Return whole lines of ``text`` while they fit into ``budget`` tokens; else its first characters."""
    kept = ""
    for line in text.split("\n"):
        longer = f"{kept}\n{line}" if kept else line
        if estimate_tokens(longer) > budget:
            break
        kept = longer
    return kept.rstrip() or text[: RUNES_PER_TOKEN * budget]


def pack(ranking: Ranking, order: list[Wanted], budget: int) -> list[tuple[Candidate, str]]:
    """Return the sections that fit into ``budget`` tokens with the text to show of each."""
    index = ranking.index
    packed: list[tuple[Candidate, str]] = []
    left = budget
    deferred: list[Candidate] = []

    def cut(candidate: Candidate) -> None:
        if left > 0 and (text := truncate(index.section(candidate.section).text, left)):
            packed.append((candidate, text))

    for wanted in order:
        candidate = wanted.candidate
        if wanted.priority < 2 and deferred and deferred_seed(order, deferred[0]):
            cut(deferred[0])
            return packed
        section = index.section(candidate.section)
        if section.estimated_tokens <= left:
            packed.append((candidate, section.text))
            left -= section.estimated_tokens
        elif wanted.priority == 1:
            cut(candidate)
            return packed
        else:
            deferred.append(candidate)
    if deferred:
        cut(deferred[0])
    return packed


def deferred_seed(order: list[Wanted], candidate: Candidate) -> bool:
    """Whether ``candidate`` is one of the seeds."""
    return any(wanted.candidate is candidate and wanted.priority == 2 for wanted in order)


def pack_context(
    index: SearchIndex,
    query: str,
    *,
    budget: int = DEFAULT_BUDGET,
    limit: int = 12,
    no_expand: bool = False,
    types: Iterable[str] = (),
    tags: Iterable[str] = (),
    fuzzy: bool = True,
    explain: bool = False,
    profiles: Profiles | None = None,
    route: VectorRoute | None = None,
) -> ContextResult:
    """Return sections for ``query`` within ``budget`` tokens (a token is taken as four characters).

    Raises ``UsageError`` for a budget or limit below 1 and ``LimitError`` for a query that is too long.
    """
    if budget < 1:
        raise UsageError(f"budget must be at least 1, not {budget}")
    ranking, found = index.ranked(
        query,
        limit=limit,
        no_expand=no_expand,
        types=tuple(types),
        tags=tuple(tags),
        fuzzy=fuzzy,
        route=route,
    )
    packed = pack(ranking, packing_order(ranking, found, no_expand=no_expand), budget)
    sources = [
        context_source(ranking, candidate, text, profiles, explain=explain) for candidate, text in packed
    ]
    return {
        "schemaVersion": SCHEMA_VERSION,
        "root": str(index.bundle.root),
        "revision": {"specVersion": index.bundle.spec, "indexSha256": index.bundle.index_sha256},
        "query": query,
        "budget": budget,
        "estimatedTokens": sum(source["estimatedTokens"] for source in sources),
        "limit": limit,
        "route": route_of(filtered=bool(ranking.filters), no_expand=no_expand),
        "sources": sources,
        "issues": issues_of(index),
    }


def context_source(
    ranking: Ranking, candidate: Candidate, text: str, profiles: Profiles | None, *, explain: bool
) -> ContextSource:
    """Return one source of a packet."""
    index = ranking.index
    section = index.section(candidate.section)
    page = index.page(candidate.section)
    source: dict[str, Any] = section_identity(index, section)
    source["kind"] = page.kind
    if page.type:
        source["type"] = page.type
    source["title"] = page.title
    source["heading"] = section.heading
    source["headingPath"] = list(section.heading_path)
    source["headingLevel"] = section.level
    source["lineStart"] = section.line_start
    source["lineEnd"] = section.line_end
    source["score"] = candidate.score
    source["estimatedTokens"] = estimate_tokens(text)
    source["relation"] = candidate.relation
    source["markdown"] = text
    if text != section.text:
        source["truncated"] = True
    source.update(trust_signals(index, page))
    if profiles is not None and (profile := bound_claims(profiles(page), section)) is not None:
        source["claimProfile"] = profile
    if explain:
        from openknowledge.engine.search.explain import explanation

        source["explain"] = explanation(ranking, candidate)
    return source  # type: ignore[return-value]
