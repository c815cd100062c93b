"""The store: one snapshot, every view of it, and what it takes to stay true."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from openknowledge.engine import Store, limits
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.errors import LimitError, OpenKnowledgeError, UsageError

CORPORA = Path(__file__).resolve().parents[2] / "corpora"
NOON = fixed_clock(datetime(2026, 11, 30, 12, tzinfo=UTC))
PAGE = "---\ntype: T\ntitle: A\nstale_after: 2026-12-24T18:00:00Z\n---\n\n# A\n\nText.\n\n## B\n\nMore.\n"
RESTRICTED = "auth:claim/break-glass-holder-count"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text(PAGE, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def identity() -> Store:
    return Store.open(CORPORA / "identity", clock=NOON)


def test_nothing_changed_gives_the_same_store(root: Path) -> None:
    store = Store.open(root, clock=NOON)
    assert store.refreshed(NOON) is store


def test_a_changed_page_gives_a_new_store_and_costs_that_page(root: Path) -> None:
    (root / "b.md").write_text("---\ntype: T\n---\n", encoding="utf-8")
    store = Store.open(root, clock=NOON)
    (root / "b.md").write_text("---\ntype: Other\n---\n", encoding="utf-8")
    fresh = store.refreshed(NOON)
    assert fresh.bundle.by_id["b"].type == "Other"
    assert fresh.bundle.index_sha256 != store.bundle.index_sha256


def test_an_added_and_a_deleted_page_are_seen(root: Path) -> None:
    store = Store.open(root, clock=NOON)
    (root / "new.md").write_text("---\ntype: T\n---\n", encoding="utf-8")
    (root / "a.md").unlink()
    assert [page.id for page in store.refreshed(NOON).bundle.documents] == ["new"]


def test_changed_settings_are_seen(root: Path) -> None:
    store = Store.open(root, clock=NOON)
    (root / ".openknowledge.toml").write_text('[validation.rules]\nlink-target = "error"\n')
    assert store.refreshed(NOON).config.overrides == {"link-target": "error"}


def test_a_page_that_became_stale_since_makes_a_new_store_without_reading(root: Path) -> None:
    store = Store.open(root, clock=NOON)
    before = fixed_clock(datetime(2026, 11, 30, 23, tzinfo=UTC))
    assert store.refreshed(before) is store
    after = store.refreshed(fixed_clock(datetime(2026, 12, 24, 18, tzinfo=UTC)))
    assert after is not store
    assert after.datalog("stale_page(X)")["results"]
    assert after.bundle.documents[0] is store.bundle.documents[0]


def test_the_search_index_outlives_a_new_day(root: Path) -> None:
    store = Store.open(root, clock=NOON)
    assert store.search("text")["results"][0]["stale"] is False
    later = store.refreshed(fixed_clock(datetime(2027, 1, 1, tzinfo=UTC)))
    assert later.search("text")["results"][0]["stale"] is True
    assert store.search("text")["results"][0]["stale"] is False


def test_two_stores_do_not_know_of_each_other(root: Path) -> None:
    first = Store.open(root, clock=NOON)
    second = Store.open(CORPORA / "http", clock=NOON)
    assert first.facts.rows("document") == [("a", "a.md", "T")]
    assert len(second.facts.rows("document")) > 100


@pytest.mark.parametrize(
    ("reference", "identifier", "lines"),
    [
        ("a.md", "a", (1, 14)),
        ("a", "a", (1, 14)),
        ("/a.md", "a", (1, 14)),
        ("a#b", "a#b", (11, 14)),
        ("a.md#B", "a#b", (11, 14)),
        ("a#top", "a#a", (7, 10)),
    ],
)
def test_get_finds_pages_and_sections(
    root: Path, reference: str, identifier: str, lines: tuple[int, int]
) -> None:
    found = Store.open(root, clock=NOON).get(reference)
    assert (found["id"], (found["lineStart"], found["lineEnd"])) == (identifier, lines)


@pytest.mark.parametrize("reference", ["../a.md", "/etc/passwd", "nope", "", "a#nope", "#"])
def test_get_refuses_what_is_not_in_the_bundle(root: Path, reference: str) -> None:
    with pytest.raises(OpenKnowledgeError, match=r"no page|no section"):
        Store.open(root, clock=NOON).get(reference)


def test_get_finds_a_file_whose_name_has_a_hash(tmp_path: Path) -> None:
    (tmp_path / "a#b.md").write_text("---\ntype: T\n---\n\nx\n", encoding="utf-8")
    assert Store.open(tmp_path).get("a#b.md")["path"] == "a#b.md"


def test_a_row_names_the_claims_it_binds(identity: Store) -> None:
    query = "SELECT ?c { ?c okn:slot auth:slot\\/session-idle-timeout }"
    rows = identity.sparql(query)["bindings"]
    by_claim = {
        row["values"]["c"]["value"].rpartition("/")[2]: [source["document"] for source in row["sources"]]
        for row in rows
    }
    assert by_claim["session-idle-timeout-production"] == ["services/session-service.md"]
    assert by_claim["session-idle-timeout-2022"] == ["policies/session-policy.md"]


def test_a_count_does_not_pick_up_claims_with_an_equal_looking_object(identity: Store) -> None:
    result = identity.sparql("SELECT (COUNT(*) AS ?n) { ?c a okn:ClaimOccurrence }")
    assert result["bindings"][0]["sources"] == []


def test_without_a_label_restricted_knowledge_is_nowhere(identity: Store) -> None:
    answers = [
        identity.sparql("SELECT ?s ?p ?o { ?s ?p ?o }", limit=1000),
        identity.datalog("claim(C, S, P, O)"),
        identity.find_claims("break glass"),
        identity.fact_set_json(),
        identity.context("how many break glass holders"),
        json.loads(identity.export_rdf("json")),
    ]
    for answer in answers:
        assert RESTRICTED not in json.dumps(answer)
    assert identity.policy["removedClaims"] == 1


def test_with_the_label_it_is_an_answer_like_any_other() -> None:
    store = Store.open(CORPORA / "identity", clock=NOON, access=["team:identity-security"])
    atoms = [row["atom"] for row in store.datalog(f'claim("{RESTRICTED}", S, P, O)')["results"]]
    assert len(atoms) == 1
    assert store.policy["removedClaims"] == 0


def test_a_label_that_is_none_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="access label"):
        Store.open(CORPORA / "identity", access=["everyone"])


def test_every_structured_answer_lists_what_is_in_quarantine(identity: Store) -> None:
    for policy in (
        identity.sparql("ASK { ?s ?p ?o }")["policy"],
        identity.datalog("stale_page(X)")["policy"],
        identity.stale_claims()["policy"],
        identity.claim_conflicts()["policy"],
        identity.hybrid(text="token")["policy"],
    ):
        assert [entry["claimId"] for entry in policy["quarantined"]] == ["auth:claim/device-trust-duration"]


def test_strict_refuses_what_would_be_set_aside() -> None:
    store = Store.open(CORPORA / "identity", clock=NOON, strict=True)
    with pytest.raises(OpenKnowledgeError, match="--strict"):
        store.datalog("stale_page(X)")


def test_judgements_on_claims_carry_proofs_that_the_checker_accepts(identity: Store) -> None:
    from openknowledge.engine.analysis.builtin_rules import builtin_texts
    from openknowledge.engine.datalog.checking import ProofChecker

    checker = ProofChecker(builtin_texts(), identity.facts.rows)  # type: ignore[arg-type]
    proofs = [reason["proof"] for claim in identity.stale_claims()["results"] for reason in claim["reasons"]]
    proofs += [conflict["proof"] for conflict in identity.claim_conflicts()["conflicts"]]
    impact = identity.claim_impact("auth:claim/access-token-lifetime-partner")
    proofs += [entry["proof"] for entry in impact["affected"]]
    assert len(proofs) >= 12
    assert [checker.check_proof(proof) for proof in proofs] == [None] * len(proofs)


def test_the_derived_graph_is_filled_only_as_far_as_a_query_asks(identity: Store) -> None:
    store = Store.open(CORPORA / "identity", clock=NOON)
    store.sparql("SELECT ?a { GRAPH ?g { ?a okn:conflictsWith ?b } }")
    assert store._derived == {"conflict"}


def test_a_hybrid_answer_fuses_the_routes(identity: Store) -> None:
    answer = identity.hybrid(
        text="access token lifetime for partners",
        sparql="SELECT ?c { ?c okn:stale true ; a okn:ClaimOccurrence }",
        datalog={"query": 'stale(C, "true")'},
        include_stale=True,
    )
    assert [route["name"] for route in answer["routes"]] == [
        "bm25",
        "vector",
        "section-focus",
        "sparql",
        "datalog",
    ]
    assert answer["results"][0]["sources"][0]["document"] == "services/token-issuer.md"


def test_the_proofs_of_a_long_chain_of_claims_are_bounded(tmp_path: Path) -> None:
    head = """---
type: T
openknowledge_claim_profile: "1"
claim_ontology:
  namespaces: {ex: "https://example.com/"}
  entities: [{id: "ex:a", types: ["ex:T"], pref_label: A}]
  predicates: [{id: "ex:p", object_kind: literal, pref_label: p}]
claims:
"""
    claims = [
        f'  - {{id: "ex:k{n}", slot: "ex:s{n}", subject: "ex:a", predicate: "ex:p", object: {{value: {n}}}'
        + (f', relations: {{derived_from: ["ex:k{n - 1}"]}}' if n else "")
        + "}\n"
        for n in range(300)
    ]
    (tmp_path / "p.md").write_text(head + "".join(claims) + "---\n# P\n", encoding="utf-8")
    store = Store.open(tmp_path, clock=NOON)
    result = store.claim_impact("ex:k0")
    assert len(result["derivedClaims"]) == 299
    assert len(json.dumps(result, indent=2)) < 10_000_000
    proved = {entry["id"]: "proof" in entry for entry in result["derivedClaims"]}
    assert (proved["ex:k1"], proved["ex:k50"], proved["ex:k299"]) == (True, True, False)
    last = next(entry for entry in result["derivedClaims"] if entry["id"] == "ex:k299")
    assert last["unproved"] == "its proof is deeper than 64 rule applications"
    findings = store.check_proofs(json.loads(json.dumps(result)))
    assert {found.reason[:10] for found in findings} == {"not proved"}


def test_conclusions_that_are_too_many_for_sparql_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DERIVED_GRAPH_FACTS", 50)
    with pytest.raises(
        LimitError, match="the conclusions okn:reachable cannot all be derived for SPARQL"
    ) as caught:
        Store.open(CORPORA / "http", clock=NOON).sparql("SELECT ?x { GRAPH ?g { ?x okn:reachable ?y } }")
    assert caught.value.message.endswith("ask for a part of them with okn query --datalog")
