"""Search results as the JSON that clients read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.search.analysis import fold
from openknowledge.engine.search.corpus import META_FIELDS, SECTION_FIELDS, SectionKey, page_of
from openknowledge.engine.search.snippets import FormMatcher, highlight, snippet

if TYPE_CHECKING:
    from openknowledge.engine.search.expansion import Candidate
    from openknowledge.engine.search.index import Profiles, Ranking, SearchIndex
    from openknowledge.engine.search.routes import VectorRoute
    from openknowledge.schemas.common import Issue
    from openknowledge.schemas.search import SearchResult, SearchResultSet

SCHEMA_VERSION = "1"


def bound_claims(profile: Mapping[str, Any] | None, section: Section) -> dict[str, Any] | None:
    """Return the ``claimProfile`` of a page with only the claims that belong to ``section``.

    Those are the claims without a ``sectionRef`` and those whose fragment is one of the section's anchors.
    """
    if profile is None:
        return None
    anchors = set(section.anchors)
    claims = [
        claim
        for claim in profile.get("claims", ())
        if not (reference := claim.get("sectionRef")) or reference.removeprefix("#") in anchors
    ]
    return {**profile, "claims": claims}


def trust_signals(index: SearchIndex, page: Document) -> dict[str, Any]:
    """Return what a page says of its own trust, lifecycle and freshness."""
    metadata = page.metadata
    signals: dict[str, Any] = {
        "trustTier": metadata.trust_tier,
        "status": metadata.status,
        "stale": metadata.is_stale(index.clock()),
    }
    if metadata.verification_outdated:
        signals["verificationOutdated"] = True
    return signals


def section_identity(index: SearchIndex, section: Section) -> dict[str, Any]:
    """Return the fields that name a section, with its locator at this revision."""
    return {
        "path": section.path,
        "id": section.id,
        "locator": index.bundle.locator(section),
        "contentSha256": section.content_sha256,
    }


def matching_fields(ranking: Ranking, key: SectionKey) -> list[str]:
    """Return the names of the fields of a section that hold a word of the query, sorted."""
    corpus = ranking.index.corpus
    page = page_of(key)
    forms = ranking.forms.keys()
    found = {name for name in SECTION_FIELDS if not forms.isdisjoint(corpus.section_text(name, key).split())}
    if "heading" in found:
        found.add("headingPath")
    found.update(name for name in META_FIELDS if not forms.isdisjoint(corpus.page_text(name, page).split()))
    document = corpus.pages[page]
    small = {
        "filename": document.path.rpartition("/")[2].rpartition(".")[0],
        "path": corpus.section(key).id,
        "type": f"{document.type} {document.kind}",
    }
    for name, text in small.items():
        if not forms.isdisjoint([token.encode() for token in fold(text).split()]):
            found.add(name)
    return sorted(found)


def search_result(
    ranking: Ranking, candidate: Candidate, profiles: Profiles | None, *, explain: bool = False
) -> SearchResult:
    """Return one result."""
    index = ranking.index
    section = index.section(candidate.section)
    page = index.page(candidate.section)
    result: dict[str, Any] = section_identity(index, section)
    result["kind"] = page.kind
    if page.type:
        result["type"] = page.type
    result["title"] = page.title
    if page.description:
        result["description"] = page.description
    result["heading"] = section.heading
    result["headingPath"] = list(section.heading_path)
    result["lineStart"] = section.line_start
    result["lineEnd"] = section.line_end
    result["estimatedTokens"] = section.estimated_tokens
    matches = FormMatcher(ranking.forms)
    if shown := snippet(section.text, page.description, matches):
        result["snippet"] = shown
    if marked := highlight((page.title, page.description, section.text), ranking.query.text, matches):
        result["highlightText"] = marked
    result["score"] = candidate.score
    names = [] if candidate.neighbor else matching_fields(ranking, candidate.section)
    if not candidate.neighbor:
        result["lexicalScore"] = candidate.lexical
        if candidate.vector:
            result["vectorScore"] = candidate.vector
            names.append("vector")
        result["rerankScore"] = candidate.score
    if candidate.by_graph:
        names.append("graph")
    result["matches"] = sorted(set(names))
    if candidate.neighbor:
        result["neighbor"] = True
    result["relation"] = candidate.relation
    result.update(trust_signals(index, page))
    if profiles is not None and (profile := bound_claims(profiles(page), section)) is not None:
        result["claimProfile"] = profile
    if explain:
        from openknowledge.engine.search.explain import explanation

        result["explain"] = explanation(ranking, candidate)
    return result  # type: ignore[return-value]


def route_of(*, filtered: bool, no_expand: bool) -> list[str]:
    """Return the names of the steps that a search went through."""
    route = ["bm25", "vector"]
    if filtered:
        route.append("metadata_filter")
    route.append("rerank")
    if not no_expand:
        route.append("link_expansion")
    return route


def issues_of(index: SearchIndex) -> list[Issue]:
    """Return what is wrong in the bundle so that pages are missing from search."""
    return [
        {
            "path": issue.path,
            "rule": issue.rule,
            "severity": issue.severity,
            "message": issue.message,
            "line": issue.line,
        }
        for issue in sorted(index.bundle.issues, key=lambda issue: issue.sort_key)
    ]


def search_results(
    index: SearchIndex,
    query: str,
    *,
    limit: int,
    no_expand: bool = False,
    types: Iterable[str] = (),
    tags: Iterable[str] = (),
    fuzzy: bool = True,
    explain: bool = False,
    profiles: Profiles | None = None,
    route: VectorRoute | None = None,
) -> SearchResultSet:
    """Return the sections found for ``query``, best first.

    A blank query gives no results. Raises ``UsageError`` for a limit below 1 and ``LimitError`` for a query
    that is too long.
    """
    types, tags = tuple(types), tuple(tags)
    ranking, found = index.ranked(
        query, limit=limit, no_expand=no_expand, types=types, tags=tags, fuzzy=fuzzy, route=route
    )
    results = [search_result(ranking, candidate, profiles, explain=explain) for candidate in found]
    answer: SearchResultSet = {
        "schemaVersion": SCHEMA_VERSION,
        "root": str(index.bundle.root),
        "revision": {"specVersion": index.bundle.spec, "indexSha256": index.bundle.index_sha256},
        "query": query,
        "limit": limit,
        "route": route_of(filtered=bool(ranking.filters), no_expand=no_expand),
        "results": results,
    }
    if issues := issues_of(index):
        answer["issues"] = issues
    return answer
