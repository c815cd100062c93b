"""Proofs as text, DOT, Mermaid and PROV-O."""

from __future__ import annotations

from typing import Any

import pyoxigraph
import pytest
from openknowledge.engine import limits
from openknowledge.engine.datalog import CLOSED_WORLD_PROFILE, Proof, evaluate
from openknowledge.engine.datalog.prov import iri, literal, proof_turtle
from openknowledge.engine.datalog.render import proof_dot, proof_from_json, proof_mermaid, proof_text
from openknowledge.engine.errors import OpenKnowledgeError

NASTY = 'x"\n<b>&]};--\u202e#'
RULES = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), path(Y, Z), X != Z, !bad(X, _).
"""
PROV = "http://www.w3.org/ns/prov#"


def proof() -> Proof:
    facts = {"edge": [("a", NASTY), (NASTY, "c")], "bad": [("z", 1)]}
    return evaluate(RULES, facts, profile=CLOSED_WORLD_PROFILE).proof("path", ("a", "c"))


def simple() -> Proof:
    rules = "p(X) :- a(X), a(X). q(X) :- p(X), p(X), !b(X), X < 3."
    return evaluate(rules, {"a": [(1,)], "b": [(2,)]}, profile=CLOSED_WORLD_PROFILE).proof("q", (1,))


def test_text_is_a_tree_with_places() -> None:
    assert proof_text(simple(), lambda name, row: [f"{name}.md:{row[0]}"]) == (
        "q(1)  by q(X) :- p(X), p(X), !b(X), X < 3.\n"
        "├─ p(1)  by p(X) :- a(X), a(X).\n"
        "│  ├─ a(1)  [a.md:1]\n"
        "│  └─ a(1)  [a.md:1]\n"
        "├─ p(1)  (proved above)\n"
        "├─ !b(1)  [no such fact]\n"
        "└─ 1 < 3  [holds]\n"
    )


def test_text_without_places_says_what_is_asserted() -> None:
    assert "a(1)  [asserted]" in proof_text(simple())


def test_every_line_of_text_is_printable() -> None:
    assert all(line.isprintable() for line in proof_text(proof()).splitlines())


def test_dot_has_a_node_for_each_step_and_rule() -> None:
    assert proof_dot([simple()]).splitlines() == [
        "digraph proof {",
        "  rankdir=BT;",
        '  node [fontname="sans-serif"];',
        '  f0 [shape=box, label="a(1)"];',
        '  f1 [shape=ellipse, label="p(1)"];',
        '  r1 [shape=plaintext, label="p(X) :- a(X), a(X)."];',
        "  r1 -> f1;",
        '  f0 -> r1 [label="1"];',
        '  f0 -> r1 [label="2"];',
        '  f2 [shape=diamond, label="!b(1)"];',
        '  f3 [shape=diamond, label="1 < 3"];',
        '  f4 [shape=ellipse, label="q(1)"];',
        '  r4 [shape=plaintext, label="q(X) :- p(X), p(X), !b(X), X < 3."];',
        "  r4 -> f4;",
        '  f1 -> r4 [label="1"];',
        '  f1 -> r4 [label="2"];',
        '  f2 -> r4 [label="3"];',
        '  f3 -> r4 [label="4"];',
        "}",
    ]


def test_text_of_facts_cannot_leave_its_label() -> None:
    for line in proof_dot([proof()]).splitlines():
        inner = line.partition('label="')[2]
        if inner:
            unescaped = inner.replace("\\\\", "").replace('\\"', "")
            assert unescaped.count('"') == 1
    for line in proof_mermaid([proof()]).splitlines()[1:]:
        if '"' in line:
            label = line.split('"')[1]
            assert line.count('"') == 2
            assert not set("<>&[]{};") - {";"} & set(label)


def test_mermaid_has_the_same_nodes() -> None:
    lines = proof_mermaid([simple()]).splitlines()
    assert lines[:6] == [
        "flowchart BT",
        '  f0["a(1)"]',
        '  f1("p(1)")',
        '  r1>"p(X) :- a(X), a(X)."]',
        "  r1 --> f1",
        "  f0 -->|1| r1",
    ]


def quads(text: str) -> list[pyoxigraph.Triple]:
    return list(pyoxigraph.parse(text.encode(), format=pyoxigraph.RdfFormat.TURTLE))


def test_prov_is_turtle_with_entities_activities_and_plans() -> None:
    triples = quads(proof_turtle([proof()], lambda _name, row: [f"https://example.org/{row[1]}"]))
    kinds: dict[str, int] = {}
    for triple in triples:
        if triple.predicate.value.endswith("#type"):
            name = triple.object.value.removeprefix(PROV)  # type: ignore[union-attr]
            kinds[name] = kinds.get(name, 0) + 1
    # facts: two edges, three paths, one comparison, one absence; two rules are entities too
    assert kinds == {
        "SoftwareAgent": 1,
        "Entity": 9,
        "Activity": 3,
        "Association": 3,
        "Usage": 6,
        "Plan": 2,
    }
    values = {t.object.value for t in triples if t.predicate.value == f"{PROV}value"}  # type: ignore[union-attr]
    assert proof().atom in values
    assert set(map(str, {proof().rule})) <= values
    sources = {t.object.value for t in triples if t.predicate.value == f"{PROV}hadPrimarySource"}  # type: ignore[union-attr]
    assert "https://example.org/c" in sources


def test_prov_of_the_same_proof_is_the_same_bytes() -> None:
    assert proof_turtle([proof()]) == proof_turtle([proof_from_json(proof().to_json())])


@pytest.mark.parametrize("text", ["", NASTY, "\\u0041", "\0\x7f\x85", "é😀", '"""'])
def test_any_text_is_a_turtle_string(text: str) -> None:
    (triple,) = quads(f"<urn:a> <urn:b> {literal(text)} .")
    assert triple.object.value == text  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["urn:x:a b", 'https://e.org/<>"{}|^`\\', "https://e.org/é"])
def test_any_text_is_a_turtle_iri(text: str) -> None:
    (triple,) = quads(f"<urn:a> <urn:b> {iri(text)} .")
    assert isinstance(triple.object, pyoxigraph.NamedNode)


def test_a_proof_comes_back_from_its_plain_data() -> None:
    again = proof_from_json(proof().to_json())
    assert proof_text(again) == proof_text(proof())
    assert again.height == proof().height
    assert [leaf.row for leaf in again.leaves()] == [leaf.row for leaf in proof().leaves()]


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"kind": "rule", "atom": "p(1)"},
        {"kind": "magic", "atom": "p(1)", "inputs": []},
        {"kind": "asserted", "atom": "p(X)", "inputs": []},
        {"kind": "rule", "atom": "p(1)", "rule": 7, "inputs": []},
        {"kind": "rule", "atom": "p(1)", "inputs": [7]},
    ],
)
def test_what_is_no_proof_is_an_error(data: Any) -> None:
    with pytest.raises(OpenKnowledgeError):
        proof_from_json(data)


def test_plain_data_of_any_depth_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PROOF_STEPS", 2_000)
    data: dict[str, Any] = {"kind": "asserted", "atom": "p(1)", "inputs": []}
    for count in range(1, 2_001):
        if count == 2_000:
            assert proof_from_json(data).height == 1_999
        data = {"kind": "rule", "atom": "p(1)", "ruleId": "r", "rule": "x", "inputs": [data]}
    with pytest.raises(OpenKnowledgeError, match="more than 2,000 steps"):
        proof_from_json(data)
