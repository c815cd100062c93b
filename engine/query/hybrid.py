"""One answer from text, graph and rules: the routes' rankings fused by reciprocal ranks.

A candidate's score is the sum of 1 / (60 + rank) over the routes that found it (Cormack, Clarke, Büttcher
2009). A section gains from a row of the graph or of the rules whose source it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from openknowledge.engine.bundle.digests import sha256_hex
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.errors import OpenKnowledgeError, UsageError
from openknowledge.engine.query.focus import focus_score, focus_terms
from openknowledge.engine.search.corpus import page_of
from openknowledge.engine.search.index import Filters, Profiles, Ranking, SearchIndex
from openknowledge.engine.search.results import SCHEMA_VERSION, search_result
from openknowledge.engine.search.rounding import round8

if TYPE_CHECKING:
    from openknowledge.engine.search.routes import VectorRoute
    from openknowledge.schemas.common import Policy, Provenance
    from openknowledge.schemas.hybrid import (
        Component,
        ComponentRoute,
        HybridAnswer,
        HybridQuery,
        HybridResult,
        HybridRoute,
        Rejection,
    )

RANK_CONSTANT = 60
DEFAULT_LIMIT = 12
STATUSES = ("disputed", "extracted", "proposed", "supported", "verified")
NOT_SELECT = "hybrid SPARQL route requires a SELECT query"

Kind = Literal["retrieved-text", "asserted-fact", "derived-fact"]
_KIND_ORDER = {"retrieved-text": 0, "asserted-fact": 1, "derived-fact": 2}


class RouteError(OpenKnowledgeError):
    """A route of a hybrid query failed, and so did the query. ``route`` says which."""

    def __init__(self, route: str, error: OpenKnowledgeError) -> None:
        super().__init__(f"the {route} route failed: {error.message}", path=error.path, line=error.line)
        self.route = route
        self.kind = error.kind
        self.exit_code = error.exit_code


@dataclass(frozen=True, slots=True)
class SparqlRoute:
    """A SELECT query and what evaluates it: takes the most rows wanted, returns the JSON result."""

    query: str
    run: Callable[[int], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class DatalogRoute:
    """A Datalog query, its rules, and what evaluates it: takes the most rows wanted, returns the JSON."""

    query: str
    run: Callable[[int], Mapping[str, Any]]
    rules: str = ""
    rule_profile: str = ""


@dataclass(frozen=True, slots=True)
class PolicyClaim:
    """What the policies need to know of a claim. ``path`` is its page, ``section_ref`` without ``#``."""

    id: str
    path: str
    status: str
    stale: bool
    section_ref: str = ""

    @classmethod
    def of(cls, claim: Mapping[str, Any], path: str) -> PolicyClaim:
        """Return the claim whose JSON is ``claim``, declared on the page at ``path``."""
        reference = str(claim.get("sectionRef") or "").removeprefix("#")
        return cls(claim["id"], path, claim["status"], bool(claim.get("stale")), reference)


@dataclass(frozen=True, slots=True)
class Policies:
    """What may be shown.

    ``claims`` are those that passed the access filter, ``hidden`` those that did not, ``hidden_sources`` the
    number of sources that did not. A claim is shown when its status is one of ``statuses`` and it is not
    stale, or stale claims are included.
    """

    claims: Sequence[PolicyClaim] = ()
    hidden: Sequence[PolicyClaim] = ()
    hidden_sources: int = 0
    statuses: tuple[str, ...] = STATUSES
    include_stale: bool = False

    def admits(self, status: str, *, stale: bool) -> bool:
        """Whether the lifecycle filter lets a claim pass."""
        return status in self.statuses and (self.include_stale or not stale)

    @property
    def excluded(self) -> list[PolicyClaim]:
        """The claims that the lifecycle filter removes."""
        return [claim for claim in self.claims if not self.admits(claim.status, stale=claim.stale)]


@dataclass(slots=True)
class _Candidate:
    kind: Kind
    key: str
    sources: list[Provenance]
    section: int = -1
    row: Mapping[str, Any] | None = None
    components: dict[tuple[ComponentRoute, int], Component] = field(default_factory=dict)

    def add(self, route: ComponentRoute, rank: int, raw: float | None) -> None:
        """Add a rank in a route, once."""
        if (route, rank) in self.components:
            return
        component: Component = {"route": route, "rank": rank, "rrfScore": reciprocal(rank)}
        if raw is not None:
            component = {"route": route, "rank": rank, "rawScore": raw, "rrfScore": reciprocal(rank)}
        self.components[route, rank] = component

    @property
    def score(self) -> float:
        return round8(sum(component["rrfScore"] for component in self.components.values()))


def reciprocal(rank: int) -> float:
    """Return the share of a rank, from 1: 1 / (60 + rank), rounded to 8 decimals."""
    return round8(1.0 / (RANK_CONSTANT + rank))


def pool_size(limit: int) -> int:
    """Return how many sections and rows the routes are asked for."""
    return max(50, 5 * limit)


def hybrid(
    index: SearchIndex,
    *,
    text: str = "",
    sparql: SparqlRoute | None = None,
    datalog: DatalogRoute | None = None,
    limit: int = DEFAULT_LIMIT,
    types: Iterable[str] = (),
    tags: Iterable[str] = (),
    policies: Policies = Policies(),
    profiles: Profiles | None = None,
    route: VectorRoute | None = None,
    policy: Policy | None = None,
) -> HybridAnswer:
    """Return the fused answer of the given routes.

    ``profiles`` gives the claims of a page that passed the access filter; ``route`` replaces the local
    vectors; ``policy`` is shown as it is. Raises ``UsageError`` when nothing is asked or ``limit`` is below
    1, ``RouteError`` when a route fails: what the others found is not shown as if it were all.
    """
    if limit < 1:
        raise UsageError(f"limit must be at least 1, not {limit}")
    if not text.strip() and sparql is None and datalog is None:
        raise UsageError("ask something: text, a SPARQL query or a Datalog query")
    types, tags = tuple(types), tuple(tags)
    filters = Filters.of(types, tags)
    routes: list[HybridRoute] = []
    candidates: dict[str, _Candidate] = {}
    ranking: Ranking | None = None
    left_out = {"access-policy": 0, "lifecycle-policy": 0}
    if text.strip():
        used = route or index.local_route()
        try:
            ranking = _rank_text(index, text, limit, filters, used, local=route is None)
            reason = used.reason
        except OpenKnowledgeError as error:
            raise RouteError("text", error) from error
        routes += [
            {"name": "bm25", "reason": "non-empty text query"},
            {"name": "vector", "reason": reason},
            {
                "name": "section-focus",
                "reason": "best section per retrieved document from term coverage and specific heading match",
            },
        ]
        candidates, left_out = _text_candidates(ranking, policies, _rank_all(ranking))
    if sparql is not None:
        routes.append({"name": "sparql", "reason": "explicit graph query supplied"})
        _add_rows(candidates, "sparql", _sparql_rows(sparql, pool_size(limit)))
    if datalog is not None:
        routes.append({"name": "datalog", "reason": "explicit logical query supplied"})
        _add_rows(candidates, "datalog", _datalog_rows(datalog, pool_size(limit)))
    order = sorted(
        candidates.values(),
        key=lambda candidate: (-candidate.score, _KIND_ORDER[candidate.kind], candidate.key),
    )
    answer: HybridAnswer = {
        "schemaVersion": SCHEMA_VERSION,
        "root": str(index.bundle.root),
        "revision": {"specVersion": index.bundle.spec, "indexSha256": index.bundle.index_sha256},
        "query": _query_json(text, sparql, datalog, limit, types, tags),
        "routes": routes,
        "fusion": {"method": "rrf", "rankConstant": RANK_CONSTANT},
        "results": [
            _result(candidate, ranking, _shown_claims(profiles, policies)) for candidate in order[:limit]
        ],
        "rejections": _rejections(policies, left_out),
    }
    if policy is not None:
        answer["policy"] = policy
    return answer


def _rank_text(
    index: SearchIndex, text: str, limit: int, filters: Filters, route: VectorRoute, *, local: bool
) -> Ranking:
    pool = pool_size(limit)
    return index.rank(
        text,
        filters=filters,
        fuzzy=True,
        route=route,
        vector_limit=pool_size(pool) if local else pool,
        most_pages=None,
    )


def _rank_all(ranking: Ranking) -> list[int]:
    """Return every section that words or vectors found."""
    return sorted({*ranking.first.scores, *(ranking.vectors or ())})


def _text_candidates(
    ranking: Ranking, policies: Policies, found: Sequence[int]
) -> tuple[dict[str, _Candidate], dict[str, int]]:
    """Return the text candidates with their ranks, and how many sections each policy left out."""
    index = ranking.index
    lifecycle = _bound(policies.excluded)
    access = _bound(policies.hidden)
    left_out = {"access-policy": 0, "lifecycle-policy": 0}
    by_section: dict[int, _Candidate] = {}
    for number in found:
        section = index.section(number)
        if any((section.path, anchor) in access for anchor in section.anchors):
            left_out["access-policy"] += 1
            continue
        if any((section.path, anchor) in lifecycle for anchor in section.anchors):
            left_out["lifecycle-policy"] += 1
            continue
        locator = index.bundle.locator(section)
        key = f"text:{locator}:{section.id}:{section.line_start}:{section.line_end}"
        source: Provenance = {
            "document": section.path,
            "documentId": section.id,
            "locator": locator,
            "contentSha256": section.content_sha256,
            "lineStart": section.line_start,
            "lineEnd": section.line_end,
        }
        by_section[number] = _Candidate("retrieved-text", key, [source], number)
    lexical = {number: ranking.candidate(number).lexical for number in by_section}
    _rank(by_section, "bm25", lexical)
    vectors = ranking.vectors or {}
    _rank(by_section, "vector", {number: vectors[number] for number in vectors if number in by_section})
    _add_focus(ranking, by_section)
    return {candidate.key: candidate for candidate in by_section.values()}, left_out


def _bound(claims: Iterable[PolicyClaim]) -> set[tuple[str, str]]:
    return {(claim.path, claim.section_ref) for claim in claims if claim.section_ref}


def _rank(by_section: Mapping[int, _Candidate], route: ComponentRoute, scores: Mapping[int, float]) -> None:
    """Give ranks by score, then key, to the sections with a score."""
    order = sorted(
        (number for number, score in scores.items() if score > 0.0),
        key=lambda number: (-scores[number], by_section[number].key),
    )
    for rank, number in enumerate(order, start=1):
        by_section[number].add(route, rank, scores[number])


def _add_focus(ranking: Ranking, by_section: Mapping[int, _Candidate]) -> None:
    terms = focus_terms(ranking.query.text)
    index = ranking.index
    best: dict[int, tuple[float, str, int]] = {}
    reached: dict[int, float] = {}
    for number, candidate in by_section.items():
        page = page_of(number)
        reached[page] = max(reached.get(page, 0.0), candidate.score)
        score = focus_score(terms, index.section(number))
        if score <= 0.0:
            continue
        held = best.get(page)
        if held is None or (-score, candidate.key) < (-held[0], held[1]):
            best[page] = (score, candidate.key, number)
    order = sorted(best.items(), key=lambda item: (-reached[item[0]], -item[1][0], item[1][1]))
    for rank, (_, (score, _, number)) in enumerate(order, start=1):
        by_section[number].add("section-focus", rank, score)


@dataclass(frozen=True, slots=True)
class _Row:
    kind: Kind
    key: str
    content: Mapping[str, Any]


def _sparql_rows(route: SparqlRoute, most: int) -> list[_Row]:
    try:
        result = route.run(most)
    except OpenKnowledgeError as error:
        raise RouteError("sparql", error) from error
    if result.get("queryType") != "select":
        raise OpenKnowledgeError(NOT_SELECT)
    return [
        _Row("asserted-fact", "sparql:" + sha256_hex(_compact(_ordered(row["values"])).encode()), row)
        for row in result["bindings"]
    ]


def _datalog_rows(route: DatalogRoute, most: int) -> list[_Row]:
    try:
        result = route.run(most)
    except OpenKnowledgeError as error:
        raise RouteError("datalog", error) from error
    return [
        _Row(row["kind"], "datalog:" + sha256_hex(_compact(row["atom"]).encode()), row)
        for row in result["results"]
    ]


def _ordered(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a binding with its variables sorted; the fields of a term keep their order."""
    return {name: values[name] for name in sorted(values)}


def _compact(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _add_rows(
    candidates: dict[str, _Candidate], route: Literal["sparql", "datalog"], rows: Sequence[_Row]
) -> None:
    """Add the rows at their ranks, and to each section that is a source of one, the row's rank."""
    joined: ComponentRoute = "sparql-source" if route == "sparql" else "datalog-source"
    by_locator: dict[tuple[str, str], list[_Candidate]] = {}
    for candidate in candidates.values():
        if candidate.kind == "retrieved-text":
            own = candidate.sources[0]
            by_locator.setdefault((own["document"], own["locator"]), []).append(candidate)
    for rank, row in enumerate(rows, start=1):
        sources: list[Provenance] = list(row.content["sources"])
        found = candidates.get(row.key)
        if found is None:
            found = candidates[row.key] = _Candidate(row.kind, row.key, sources, row=row.content)
        found.add(route, rank, 1.0)
        for source in sources:
            for candidate in by_locator.get((source["document"], source["locator"]), ()):
                if _overlap(candidate.sources[0], source):
                    candidate.add(joined, rank, 1.0)


def _overlap(left: Provenance, right: Provenance) -> bool:
    if "lineStart" not in right or "lineEnd" not in right:
        return False
    return left["lineStart"] <= right["lineEnd"] and right["lineStart"] <= left["lineEnd"]


def _shown_claims(profiles: Profiles | None, policies: Policies) -> Profiles | None:
    """Return ``profiles`` without the claims that the lifecycle filter removes."""
    if profiles is None:
        return None
    given = profiles

    def filtered(page: Document) -> Mapping[str, Any] | None:
        profile = given(page)
        if profile is None:
            return None
        claims = [
            claim
            for claim in profile.get("claims", ())
            if policies.admits(claim["status"], stale=bool(claim.get("stale")))
        ]
        return {**profile, "claims": claims}

    return filtered


def _result(candidate: _Candidate, ranking: Ranking | None, profiles: Profiles | None) -> HybridResult:
    components = sorted(candidate.components.values(), key=lambda item: (item["route"], item["rank"]))
    result: HybridResult = {
        "kind": candidate.kind,
        "key": candidate.key,
        "score": candidate.score,
        "components": components,
        "sources": candidate.sources,
    }
    if candidate.row is not None:
        if candidate.key.startswith("sparql:"):
            result["sparql"] = dict(candidate.row)
        else:
            result["datalog"] = dict(candidate.row)
    elif ranking is not None:
        result["text"] = search_result(ranking, ranking.candidate(candidate.section), profiles)
    return result


def _rejections(policies: Policies, left_out: Mapping[str, int]) -> list[Rejection]:
    counted: list[Rejection] = [
        {
            "route": "access-policy",
            "reason": "source access not granted",
            "count": policies.hidden_sources,
        },
        {
            "route": "access-policy",
            "reason": "claim depends on inaccessible evidence",
            "count": len(policies.hidden),
        },
        {
            "route": "lifecycle-policy",
            "reason": "claim status or staleness excluded",
            "count": len(policies.excluded),
        },
        {
            "route": "access-policy",
            "reason": "section is bound to a claim that is not accessible",
            "count": left_out["access-policy"],
        },
        {
            "route": "lifecycle-policy",
            "reason": "section is bound to a claim that is excluded",
            "count": left_out["lifecycle-policy"],
        },
    ]
    return [rejection for rejection in counted if rejection["count"]]


def _query_json(
    text: str,
    sparql: SparqlRoute | None,
    datalog: DatalogRoute | None,
    limit: int,
    types: Iterable[str],
    tags: Iterable[str],
) -> HybridQuery:
    query: HybridQuery = {"filters": {}}
    if text.strip():
        query["text"] = text
    if sparql is not None:
        query["sparql"] = sparql.query
    if datalog is not None:
        query["datalog"] = {"query": datalog.query}
        if datalog.rules:
            query["datalog"]["rules"] = datalog.rules
        if datalog.rule_profile:
            query["datalog"]["ruleProfile"] = datalog.rule_profile
    query["limit"] = limit
    if types := list(types):
        query["filters"]["types"] = types
    if tags := list(tags):
        query["filters"]["tags"] = tags
    return query
