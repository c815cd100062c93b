"""Rules, proofs and explanations from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
IDENTITY = str(ROOT / "corpora/identity")
Okn = Callable[..., Any]
NOW = ("--now", "2026-11-30T12:00:00Z")
IDLE = "auth:claim/session-idle-timeout-production"


@pytest.fixture
def saved(okn: Okn, tmp_path: Path) -> Path:
    """Return the file of a saved result."""
    file = tmp_path / "result.json"
    query = ["query", IDENTITY, "--datalog", "affected_by_stale(X, Y)", "--format", "json", "--out", file]
    assert okn(*NOW, *query).code == 0
    return file


def test_a_datalog_result_names_its_revision_instant_and_proofs(saved: Path) -> None:
    result = json.loads(saved.read_text())
    assert result["engine"]["name"] == "openknowledge-datalog"
    assert result["asOf"] == "2026-11-30T12:00:00Z"
    assert all(row["proof"]["atom"] == row["atom"] for row in result["results"])
    assert all(row["sources"] for row in result["results"])


def test_a_saved_result_is_accepted(okn: Okn, saved: Path) -> None:
    done = okn("proof", "check", saved, IDENTITY)
    assert done.code == 0
    assert "proofs hold at revision" in done.out


def test_the_check_is_made_as_of_the_result(okn: Okn, saved: Path) -> None:
    assert okn("--now", "2000-01-01", "proof", "check", saved, IDENTITY).code == 0


def test_a_changed_value_is_named_and_refused(okn: Okn, saved: Path) -> None:
    text = saved.read_text().replace("session-store-failover", "session-store-failure", 1)
    saved.write_text(text)
    done = okn("proof", "check", saved, IDENTITY)
    assert done.code == 1
    assert done.out.startswith("results[0]")


def test_a_result_of_another_bundle_is_refused(okn: Okn, saved: Path) -> None:
    done = okn("proof", "check", saved, ROOT / "corpora/http")
    assert done.code == 1
    assert "is about revision" in done.err


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"results": 3}', "[" * 100_000, '{"results": []}'])
def test_what_is_no_result_is_refused(okn: Okn, tmp_path: Path, text: str) -> None:
    file = tmp_path / "r.json"
    file.write_text(text)
    done = okn("proof", "check", file, IDENTITY)
    assert done.code == 1
    assert done.err.startswith("okn: ")


@pytest.mark.parametrize(
    ("output_format", "word"),
    [("text", "└─"), ("dot", "digraph"), ("mermaid", "flowchart"), ("prov", "prov:wasGeneratedBy")],
)
def test_a_proof_is_shown_in_each_format(okn: Okn, saved: Path, output_format: str, word: str) -> None:
    assert word in okn("proof", "show", saved, "--format", output_format).out


def test_explain_gives_file_and_line_of_every_leaf(okn: Okn) -> None:
    done = okn(*NOW, "query", IDENTITY, "--datalog", "stale_page(X)", "--explain")
    assert "[runbooks/session-store-failover.md:10]" in done.out


def test_verify_says_that_pydatalog_agrees(okn: Okn) -> None:
    done = okn(*NOW, "query", IDENTITY, "--datalog", "conflict(A, B)", "--verify", "--format", "json")
    assert done.code == 0
    assert "verified: pyDatalog finds the same 2 answers" in done.err


def test_rules_of_the_user_build_on_built_in_ones(okn: Okn, tmp_path: Path) -> None:
    rules = tmp_path / "own.dl"
    rules.write_text('risky(P) :- relies_on_stale(P, C), trust(C, "human-reviewed").\n')
    done = okn(*NOW, "query", IDENTITY, "--datalog", "risky(P)", "--rules", rules, "--format", "json")
    result = json.loads(done.out)
    assert [row["atom"] for row in result["results"]] == ['risky("walkthrough")']
    assert result["rules"] == [{"source": str(rules), "text": rules.read_text()}]


def test_a_definition_of_the_user_replaces_the_built_in_one(okn: Okn, tmp_path: Path) -> None:
    rules = tmp_path / "own.dl"
    rules.write_text('orphan(P) :- document(P, _, "Glossary").\n')
    done = okn("query", IDENTITY, "--datalog", "orphan(P)", "--rules", rules, "--format", "json")
    assert [row["atom"] for row in json.loads(done.out)["results"]] == ['orphan("glossary")']


def test_a_fault_in_rules_points_into_the_file(okn: Okn, tmp_path: Path) -> None:
    rules = tmp_path / "own.dl"
    rules.write_text("p(X) :- document(X, _, _).\nq(X) :- document(X _, _).\n")
    done = okn("query", IDENTITY, "--datalog", "q(X)", "--rules", rules)
    assert done.code == 1
    assert f"{rules}:2:20" in done.err
    assert "^" in done.err


def test_negation_needs_the_closed_world_profile(okn: Okn, tmp_path: Path) -> None:
    rules = tmp_path / "own.dl"
    rules.write_text("lonely(P) :- document(P, _, _), !linked_to(P).\n")
    query = ["query", IDENTITY, "--datalog", "lonely(P)", "--rules", rules]
    refused = okn(*query)
    assert refused.code == 1
    assert "openknowledge.closed-world/v1" in refused.err
    assert okn(*query, "--profile", "openknowledge.closed-world/v1").code == 0


def test_an_unknown_profile_is_wrong_usage(okn: Okn) -> None:
    done = okn("query", IDENTITY, "--datalog", "orphan(P)", "--profile", "x")
    assert done.code == 2
    assert "unsupported Datalog rule profile" in done.err


def test_an_unknown_predicate_in_the_query_is_an_empty_answer(okn: Okn) -> None:
    done = okn("query", IDENTITY, "--datalog", "nothing(X)", "--format", "json")
    assert (done.code, json.loads(done.out)["results"]) == (0, [])


def test_why_not_goes_down_to_the_comparison_that_fails(okn: Okn) -> None:
    done = okn(*NOW, "why-not", f'stale("{IDLE}", "true")', IDENTITY)
    assert done.code == 0
    assert 'fails    "2035-01-01" <= "2026-11-30"' in done.out


def test_why_not_says_which_difference_keeps_claims_from_conflicting(okn: Okn) -> None:
    first = "auth:claim/access-token-lifetime-first-party-deployed"
    expected = {
        "staging": "scope_key",
        "2025": "<",
    }
    for name, word in expected.items():
        other = f"auth:claim/access-token-lifetime-first-party-{name}"
        answer = json.loads(okn(*NOW, "why-not", f'conflict("{first}", "{other}")', IDENTITY, "--json").out)
        assert word in answer["attempts"][0]["failed"], name


def test_why_not_of_what_follows_says_so(okn: Okn) -> None:
    done = okn(*NOW, "why-not", 'stale_page("runbooks/session-store-failover")', IDENTITY)
    assert "follows" in done.out


def test_why_not_suggests_names(okn: Okn) -> None:
    assert "stale_page" in okn("why-not", 'stale_pag("x")', IDENTITY).out


def test_rule_files_are_listed_and_shown(okn: Okn) -> None:
    listed = json.loads(okn("rules", "list", "--json").out)["files"]
    assert {"links", "documents", "freshness", "conflicts", "impact"} <= {file["name"] for file in listed}
    assert okn("rules", "show", "links").out.startswith("# Links:")
    missing = okn("rules", "show", "nope")
    assert missing.code == 2
    assert "choose one of" in missing.err


def test_the_linter_finds_what_is_wrong_and_what_is_doubtful(okn: Okn, tmp_path: Path) -> None:
    rules = tmp_path / "bad.dl"
    rules.write_text(
        "a(X) :- documnt(X, _, _).\n"
        "b(X) :- tag(X, Y).\n"
        "c(X, Y) :- orphan(X), stale_page(Y).\n"
        "d(X) :- document(X, _, _), !e(X).\n"
        "e(X) :- document(X, _, _), !d(X).\n"
    )
    done = okn("rules", "check", rules, "--json")
    assert done.code == 1
    found = {(finding["line"], finding["severity"]) for finding in json.loads(done.out)["findings"]}
    assert {(1, "error"), (2, "warning"), (3, "warning")} <= found
    text = okn("rules", "check", rules).out
    assert "did you mean document" in text
    assert "d" in text
    assert "e" in text


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("results", 0, "sources", 0, "locator"), "okf+sha256://0/x#1"),
        (("results", 0, "sources", 0, "lineStart"), 999),
        (("results", 0, "sources"), []),
        (("results", 0, "kind"), "asserted-fact"),
        (("results", 0, "values", 0, "value"), "other"),
        (("policy", "removedClaims"), 0),
        (("engine", "version"), "9.9.9"),
        (("ruleProfile",), "mine"),
        (("schemaVersion",), "2"),
        (("revision", "specVersion"), "0.1"),
        (("truncated",), "no"),
    ],
)
def test_anything_in_a_saved_result_that_is_not_so_is_refused(
    okn: Okn, saved: Path, path: tuple[str | int, ...], value: object
) -> None:
    result = json.loads(saved.read_text())
    holder = result
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    saved.write_text(json.dumps(result))
    done = okn("proof", "check", saved, IDENTITY)
    assert done.code == 1
    assert done.out or done.err


@pytest.mark.parametrize("option", [["--verify"], ["--explain"], ["--rules", "x.dl"], ["--profile", "x"]])
def test_options_for_datalog_are_refused_without_it(okn: Okn, option: list[str]) -> None:
    done = okn("query", IDENTITY, "--sparql", "ASK { ?s ?p ?o }", *option)
    assert done.code == 2
    assert "are for queries with --datalog" in done.err


JUDGEMENTS = {
    "stale": (["claims", "stale", IDENTITY, "--within", "4000d"], 7),
    "conflicts": (["claims", "conflicts", IDENTITY], 2),
    "impact": (["claims", "impact", "auth:claim/access-token-lifetime-partner", "--path", IDENTITY], 12),
    "show": (["claims", "show", "auth:claim/directory-replication-lag", "--path", IDENTITY], 1),
}


def judgement(okn: Okn, tmp_path: Path, name: str) -> Path:
    """Return the file of a saved judgement on claims."""
    file = tmp_path / f"{name}.json"
    okn(*NOW, *JUDGEMENTS[name][0], "--json", "--out", file)
    return file


@pytest.mark.parametrize("name", JUDGEMENTS)
def test_a_saved_judgement_on_claims_is_accepted(okn: Okn, tmp_path: Path, name: str) -> None:
    done = okn("proof", "check", judgement(okn, tmp_path, name), IDENTITY)
    assert done.code == 0
    assert done.out.startswith(f"{JUDGEMENTS[name][1]} proof")


@pytest.mark.parametrize("name", JUDGEMENTS)
def test_a_judgement_about_another_fact_than_its_proof_is_refused(
    okn: Okn, tmp_path: Path, name: str
) -> None:
    file = judgement(okn, tmp_path, name)
    text = file.read_text()
    for key in ('"atom": "', '"atoms": [\n'):
        if key in text:
            text = text.replace(key, key + ('"x", ' if key.endswith("[\n") else "x"), 1)
            break
    file.write_text(text)
    done = okn("proof", "check", file, IDENTITY)
    assert done.code == 1
    assert "proof" in done.out


def test_a_judgement_whose_proof_was_taken_out_is_refused(okn: Okn, tmp_path: Path) -> None:
    file = judgement(okn, tmp_path, "stale")
    result = json.loads(file.read_text())
    del result["results"][0]["reasons"][0]["proof"]
    file.write_text(json.dumps(result))
    done = okn("proof", "check", file, IDENTITY)
    assert done.code == 1
    assert "results[0].reasons[0]" in done.out


def test_the_proofs_of_a_judgement_can_be_shown(okn: Okn, tmp_path: Path) -> None:
    done = okn("proof", "show", judgement(okn, tmp_path, "conflicts"))
    assert "over_maximum(" in done.out


@pytest.mark.parametrize("relation", ["source_file(A, B, C, D)", "source_observed(A, B, C, D)"])
def test_what_audit_rules_look_at_does_not_show_restricted_sources(okn: Okn, relation: str) -> None:
    query = ["query", IDENTITY, "--datalog", relation, "--format", "json"]
    hidden = okn(*query).out
    shown = okn(*query, "--access", "team:identity-security").out
    assert "break-glass" not in hidden
    assert ("break-glass" in shown) == relation.startswith("source_observed")


def test_strict_refuses_and_names_what_may_be_seen(okn: Okn) -> None:
    done = okn("claims", "stale", IDENTITY, "--strict")
    assert done.code == 1
    assert "1 claim is invalid and --strict allows none" in done.err


def test_a_result_under_a_profile_that_its_rules_are_not_of_is_refused(okn: Okn, tmp_path: Path) -> None:
    rules, saved = tmp_path / "own.dl", tmp_path / "result.json"
    rules.write_text("lone(X) :- document(X, _, _), !document_link(X, _).")
    profile = "openknowledge.closed-world/v1"
    okn(
        *NOW,
        "query",
        IDENTITY,
        "--datalog",
        "lone(X)",
        "--rules",
        rules,
        "--profile",
        profile,
        "--out",
        saved,
    )
    assert okn("proof", "check", saved, IDENTITY).code == 0
    saved.write_text(saved.read_text().replace('"openknowledge.closed-world/v1"', '"openknowledge.safe/v1"'))
    done = okn("proof", "check", saved, IDENTITY)
    assert done.code == 1
    assert "the rules are not ones of openknowledge.safe/v1" in done.out


def test_a_result_with_a_key_twice_is_refused(okn: Okn, saved: Path) -> None:
    saved.write_text(saved.read_text().replace("{", '{"query": "other(X)", ', 1))
    done = okn("proof", "check", saved, IDENTITY)
    assert done.code == 1
    assert "an object has a key twice" in done.err


def test_rules_that_no_query_takes_do_not_pass_the_check(okn: Okn, tmp_path: Path) -> None:
    file = tmp_path / "large.dl"
    file.write_text("# " + "x" * 66_000 + "\np(X) :- tag(X, _).\n")
    done = okn("rules", "check", file)
    assert done.code == 1
    assert "66,0" in done.out
    assert done.out.endswith("1 error, 0 warnings\n")
