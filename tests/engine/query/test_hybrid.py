from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.bundle.bundle import bundle_from_files
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.errors import OpenKnowledgeError, Span, TextError, UsageError
from openknowledge.engine.query.focus import focus_score, focus_terms
from openknowledge.engine.query.hybrid import (
    DatalogRoute,
    Policies,
    PolicyClaim,
    RouteError,
    SparqlRoute,
    hybrid,
    reciprocal,
)
from openknowledge.engine.search.index import SearchIndex

FILES = {
    "keys.md": (
        "---\ntype: Guide\ntags: [a]\n---\n# Keys\n\nA key signs tokens.\n\n"
        "## Rotation\n\nRotate the key every ninety days.\n\n## Storage\n\nA vault.\n"
    ),
    "tokens.md": "---\ntype: Note\n---\n# Tokens\n\nA token is signed with a key.\n",
    "owl.md": "# Owl\n\nHoots at night.\n",
}


def make_index() -> SearchIndex:
    files = [(path, text.encode()) for path, text in FILES.items()]
    return SearchIndex(bundle_from_files(Path("/bundle"), files))


def source(index: SearchIndex, section_id: str, **changes: Any) -> dict[str, Any]:
    section = next(section for section in index.bundle.sections if section.id == section_id)
    found = {
        "document": section.path,
        "documentId": section.path[:-3],
        "locator": index.bundle.locator(section),
        "contentSha256": section.content_sha256,
        "lineStart": section.line_start,
        "lineEnd": section.line_end,
    }
    return {key: value for key, value in {**found, **changes}.items() if value is not None}


def select(*rows: Mapping[str, Any], kind: str = "select") -> SparqlRoute:
    return SparqlRoute("SELECT ?x", lambda most: {"queryType": kind, "bindings": list(rows)[:most]})


def facts(*rows: Mapping[str, Any]) -> DatalogRoute:
    return DatalogRoute("p(X)", lambda most: {"results": list(rows)[:most]})


def row(value: str, *sources: Mapping[str, Any]) -> dict[str, Any]:
    return {"values": {"x": {"type": "literal", "value": value}}, "sources": list(sources)}


def fact(atom: str, kind: str, *sources: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "atom": atom, "sources": list(sources)}


def by_key(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {result["key"]: result for result in answer["results"]}


def text_result(answer: Mapping[str, Any], section_id: str) -> dict[str, Any]:
    found = [r for r in answer["results"] if r["kind"] == "retrieved-text" and r["text"]["id"] == section_id]
    return dict(found[0])


def routes_of(result: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [(component["route"], component["rank"]) for component in result["components"]]


def test_routes_are_listed_in_order_with_reasons() -> None:
    answer = hybrid(make_index(), text="key", sparql=select(), datalog=facts())
    assert [route["name"] for route in answer["routes"]] == [
        "bm25",
        "vector",
        "section-focus",
        "sparql",
        "datalog",
    ]
    assert answer["routes"][1]["reason"] == "deterministic local hash vector requested"
    assert answer["fusion"] == {"method": "rrf", "rankConstant": 60}


def test_what_was_asked_is_repeated() -> None:
    rules = DatalogRoute("p(X)", lambda most: {"results": []}, "p(a).", "openknowledge.safe/v1")
    answer = hybrid(make_index(), text="key", sparql=select(), datalog=rules, limit=3, types=iter(["Guide"]))
    assert answer["query"] == {
        "text": "key",
        "sparql": "SELECT ?x",
        "datalog": {"query": "p(X)", "rules": "p(a).", "ruleProfile": "openknowledge.safe/v1"},
        "limit": 3,
        "filters": {"types": ["Guide"]},
    }


@pytest.mark.parametrize(("rank", "score"), [(1, 0.01639344), (2, 0.01612903), (60, 0.00833333)])
def test_the_share_of_a_rank_has_eight_decimals(rank: int, score: float) -> None:
    assert reciprocal(rank) == score


def test_a_score_is_the_sum_of_its_components() -> None:
    answer = hybrid(make_index(), text="rotate the key", limit=50)
    for result in answer["results"]:
        total = sum(1 / (60 + component["rank"]) for component in result["components"])
        assert result["score"] == pytest.approx(total, abs=3e-8)
        assert result["score"] == round(sum(c["rrfScore"] for c in result["components"]), 8)
        assert routes_of(result) == sorted(routes_of(result))


def test_ranks_follow_the_raw_scores_of_each_route() -> None:
    answer = hybrid(make_index(), text="rotate the key", limit=50)
    for name in ("bm25", "vector"):
        found = [
            (component["rank"], component["rawScore"], result["key"])
            for result in answer["results"]
            for component in result["components"]
            if component["route"] == name
        ]
        assert [rank for rank, _, _ in sorted(found)] == list(range(1, len(found) + 1))
        assert [key for _, _, key in sorted(found)] == [
            key for _, _, key in sorted(found, key=lambda item: (-item[1], item[2]))
        ]


def test_each_page_has_one_focused_section() -> None:
    index = make_index()
    answer = hybrid(index, text="rotate the key", limit=50)
    focused: dict[str, list[Any]] = {}
    for result in answer["results"]:
        for component in result["components"]:
            if component["route"] == "section-focus":
                focused.setdefault(result["text"]["path"], []).append((result["text"]["id"], component))
    assert all(len(found) == 1 for found in focused.values())
    identifier, component = focused["keys.md"][0]
    assert identifier == "keys#rotation"
    section = next(section for section in index.bundle.sections if section.id == identifier)
    assert component["rawScore"] == focus_score(focus_terms("rotate the key"), section) == 1.02


def test_a_text_result_carries_the_search_result_and_its_section_as_source() -> None:
    index = make_index()
    result = text_result(hybrid(index, text="ninety"), "keys#rotation")
    assert result["text"]["heading"] == "Rotation"
    assert result["sources"] == [source(index, "keys#rotation", documentId="keys#rotation")]
    locator = result["text"]["locator"]
    assert result["key"] == f"text:{locator}:keys#rotation:9:12"


def test_rows_and_facts_are_ranked_as_they_come() -> None:
    answer = hybrid(
        make_index(),
        sparql=select(row("b"), row("a")),
        datalog=facts(fact("p(1)", "asserted-fact"), fact("p(2)", "derived-fact")),
    )
    assert sorted((r["kind"], routes_of(r)) for r in answer["results"]) == [
        ("asserted-fact", [("datalog", 1)]),
        ("asserted-fact", [("sparql", 1)]),
        ("asserted-fact", [("sparql", 2)]),
        ("derived-fact", [("datalog", 2)]),
    ]
    assert [result["score"] for result in answer["results"]] == [0.01639344] * 2 + [0.01612903] * 2
    assert answer["results"][-1]["kind"] == "derived-fact"


def test_keys_are_digests_of_binding_and_atom() -> None:
    answer = hybrid(make_index(), sparql=select(row("<b>")), datalog=facts(fact('p("a")', "asserted-fact")))
    binding = '{"x":{"type":"literal","value":"\\u003cb\\u003e"}}'
    assert set(by_key(answer)) == {
        "sparql:" + hashlib.sha256(binding.encode()).hexdigest(),
        "datalog:" + hashlib.sha256(json.dumps('p("a")').encode()).hexdigest(),
    }


def test_a_row_that_comes_twice_is_one_result_with_two_ranks() -> None:
    answer = hybrid(make_index(), sparql=select(row("a"), row("a")))
    assert [routes_of(result) for result in answer["results"]] == [[("sparql", 1), ("sparql", 2)]]


def test_a_section_gains_from_a_row_that_was_read_there() -> None:
    index = make_index()
    alone = text_result(hybrid(index, text="key", limit=50), "keys#rotation")
    joined = hybrid(
        index,
        text="key",
        limit=50,
        sparql=select(row("a"), row("b", source(index, "keys#rotation"))),
        datalog=facts(fact("p(1)", "derived-fact", source(index, "keys#rotation"))),
    )
    found = text_result(joined, "keys#rotation")
    assert set(routes_of(found)) - set(routes_of(alone)) == {("sparql-source", 2), ("datalog-source", 1)}
    assert found["score"] == round(alone["score"] + reciprocal(2) + reciprocal(1), 8)


@pytest.mark.parametrize(
    "changes",
    [
        {"locator": "okf+sha256://other"},
        {"document": "tokens.md"},
        {"lineStart": 100, "lineEnd": 101},
        {"lineStart": None, "lineEnd": None},
    ],
)
def test_a_row_that_was_read_elsewhere_is_not_joined(changes: dict[str, Any]) -> None:
    index = make_index()
    rows = select(row("a", source(index, "keys#rotation", **changes)))
    answer = hybrid(index, text="key", limit=50, sparql=rows)
    routes = {name for result in answer["results"] for name, _ in routes_of(result)}
    assert "sparql-source" not in routes


def test_a_join_adds_no_section() -> None:
    index = make_index()
    answer = hybrid(index, text="ninety", limit=50, sparql=select(row("a", source(index, "owl#owl"))))
    assert "owl#owl" not in [r["text"]["id"] for r in answer["results"] if "text" in r]


def test_filters_restrict_the_text() -> None:
    answer = hybrid(make_index(), text="key", types=["note"], limit=50)
    assert {result["text"]["path"] for result in answer["results"]} == {"tokens.md"}


def test_the_limit_cuts_the_fused_order() -> None:
    every = hybrid(make_index(), text="key token", limit=50)["results"]
    cut = hybrid(make_index(), text="key token", limit=2)["results"]
    assert [result["key"] for result in cut] == [result["key"] for result in every[:2]]


def test_routes_are_asked_for_enough_rows() -> None:
    asked: list[int] = []

    def run(most: int) -> dict[str, Any]:
        asked.append(most)
        return {"queryType": "select", "bindings": [], "results": []}

    for limit in (1, 12, 50):
        hybrid(make_index(), sparql=SparqlRoute("q", run), datalog=DatalogRoute("q", run), limit=limit)
    assert asked == [50, 50, 60, 60, 250, 250]


# Faults


def test_asking_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="ask something"):
        hybrid(make_index(), text="  ")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit: int) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        hybrid(make_index(), text="key", limit=limit)


def test_an_ask_query_is_refused() -> None:
    with pytest.raises(OpenKnowledgeError, match=r"^hybrid SPARQL route requires a SELECT query$"):
        hybrid(make_index(), text="key", sparql=select(kind="ask"))


def broken(_most: int) -> dict[str, Any]:
    raise TextError("expected a term", text="SELECT {", span=Span(1, 8))


@pytest.mark.parametrize(
    ("name", "routes"),
    [
        ("sparql", {"sparql": SparqlRoute("q", broken)}),
        ("datalog", {"datalog": DatalogRoute("q", broken)}),
    ],
)
def test_a_route_that_fails_fails_the_query_and_is_named(name: str, routes: dict[str, Any]) -> None:
    with pytest.raises(RouteError, match=f"the {name} route failed: .*expected a term") as raised:
        hybrid(make_index(), text="key", **routes)
    assert (raised.value.route, raised.value.line) == (name, 1)


def test_a_text_that_is_too_long_fails_the_text_route() -> None:
    with pytest.raises(RouteError, match="the text route failed: the query has 4097"):
        hybrid(make_index(), text="a" * 4_097)


# Policies


def claim(identifier: str, status: str = "verified", *, stale: bool = False, at: str = "") -> PolicyClaim:
    return PolicyClaim(identifier, "keys.md", status, stale, at)


CLAIMS = [
    claim("c:good"),
    claim("c:old", stale=True, at="rotation"),
    claim("c:gone", "rejected", at="storage"),
]


def rejected(answer: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    return [(r["route"], r["reason"], r["count"]) for r in answer["rejections"]]


def test_policies_report_what_they_removed_in_order() -> None:
    policies = Policies(claims=CLAIMS, hidden=[claim("c:secret")], hidden_sources=3)
    assert rejected(hybrid(make_index(), sparql=select(), policies=policies)) == [
        ("access-policy", "source access not granted", 3),
        ("access-policy", "claim depends on inaccessible evidence", 1),
        ("lifecycle-policy", "claim status or staleness excluded", 2),
    ]


def test_a_section_bound_to_a_removed_claim_is_left_out_and_counted() -> None:
    answer = hybrid(make_index(), text="key vault", limit=50, policies=Policies(claims=CLAIMS))
    found = {result["text"]["id"] for result in answer["results"]}
    assert "keys#keys" in found
    assert found.isdisjoint({"keys#rotation", "keys#storage"})
    assert rejected(answer)[-1] == ("lifecycle-policy", "section is bound to a claim that is excluded", 2)


def test_a_section_bound_to_a_hidden_claim_is_left_out_and_counted() -> None:
    hidden = [claim("c:secret", at="rotation")]
    answer = hybrid(make_index(), text="ninety", limit=50, policies=Policies(hidden=hidden))
    assert "keys#rotation" not in {result["text"]["id"] for result in answer["results"]}
    assert rejected(answer)[-1] == (
        "access-policy",
        "section is bound to a claim that is not accessible",
        1,
    )


def test_a_claim_of_the_same_anchor_on_another_page_removes_nothing() -> None:
    other = PolicyClaim("c:x", "tokens.md", "rejected", False, "rotation")
    answer = hybrid(make_index(), text="ninety", policies=Policies(claims=[other]))
    assert "keys#rotation" in {result["text"]["id"] for result in answer["results"]}


def test_stale_claims_pass_when_they_are_included() -> None:
    policies = Policies(claims=CLAIMS, include_stale=True)
    answer = hybrid(make_index(), text="key vault", limit=50, policies=policies)
    found = {result["text"]["id"] for result in answer["results"]}
    assert "keys#rotation" in found
    assert "keys#storage" not in found


def test_statuses_can_be_chosen() -> None:
    policies = Policies(claims=CLAIMS, include_stale=True, statuses=("rejected",))
    assert [found.id for found in policies.excluded] == ["c:good", "c:old"]


statuses = st.sampled_from(["verified", "rejected", "proposed", "archived"])
anchors = st.sampled_from(["", "rotation", "storage", "keys"])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(statuses, st.booleans(), anchors), max_size=5), st.booleans())
def test_no_claim_that_the_policies_remove_is_shown(
    drawn: Sequence[tuple[str, bool, str]], include_stale: bool
) -> None:
    shown_as_json = [
        {"id": f"c:{at}", "status": status, "stale": stale, "sectionRef": f"#{anchor}" if anchor else ""}
        for at, (status, stale, anchor) in enumerate(drawn)
    ]

    def profiles(page: Document) -> Mapping[str, Any] | None:
        return {"claims": shown_as_json} if page.path == "keys.md" else None

    claims = [PolicyClaim.of(found, "keys.md") for found in shown_as_json]
    policies = Policies(claims=claims, include_stale=include_stale)
    answer = hybrid(make_index(), text="key vault", limit=50, policies=policies, profiles=profiles)
    removed = {found.id for found in policies.excluded}
    bound = {found.section_ref for found in policies.excluded}
    for result in answer["results"]:
        if result["text"]["path"] != "keys.md":
            continue
        anchor = result["text"]["id"].partition("#")[2]
        assert anchor not in bound
        expected = {
            f"c:{at}"
            for at, (_, _, own) in enumerate(drawn)
            if own in ("", anchor) and f"c:{at}" not in removed
        }
        assert {found["id"] for found in result["text"]["claimProfile"]["claims"]} == expected
