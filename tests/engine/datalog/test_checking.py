"""The proof checker: what it refuses, where, and why."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from openknowledge.engine.datalog import CLOSED_WORLD_PROFILE, FactBase, Name, RuleText, evaluate, prepare
from openknowledge.engine.datalog.checking import ProofChecker
from openknowledge.engine.errors import LimitError

RULES = """
reach(X, Y) :- link(X, Y).
reach(X, Z) :- reach(X, Y), link(Y, Z).
dead(X) :- reach(_, X), !link(X, _).
degree(X, count(Y)) :- link(X, Y).
busy(X) :- degree(X, N), N >= 2.
total(sum(N)) :- weight(_, N).
"""
FACTS: dict[str, list[tuple[Any, ...]]] = {
    "link": [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")],
    "weight": [("a", 5), ("b", 5), ("c", 0.5)],
}


def checker(facts: dict[str, list[tuple[Any, ...]]] = FACTS, rules: str = RULES) -> ProofChecker:
    return ProofChecker(rules, lambda name: facts.get(name, ()))


def proof_of(name: str, row: tuple[Any, ...]) -> dict[str, Any]:
    return evaluate(RULES, FACTS, profile=CLOSED_WORLD_PROFILE).proof(name, row).to_json()


def complaint(proof: object, facts: dict[str, list[tuple[Any, ...]]] = FACTS) -> str:
    finding = checker(facts).check_proof(proof)
    assert finding is not None
    return str(finding)


EVERY_KIND = [
    ("link", ("a", "b")),
    ("reach", ("a", "d")),
    ("dead", ("d",)),
    ("degree", ("a", 2)),
    ("busy", ("a",)),
    ("total", (10.5,)),
]


@pytest.mark.parametrize(("name", "row"), EVERY_KIND)
def test_a_proof_of_each_kind_is_accepted(name: str, row: tuple[Any, ...]) -> None:
    assert checker().check_proof(proof_of(name, row)) is None


def test_a_leaf_that_is_no_longer_there_is_named() -> None:
    proof = proof_of("reach", ("a", "d"))
    facts = {**FACTS, "link": [row for row in FACTS["link"] if row != ("c", "d")]}
    assert complaint(proof, facts) == 'proof.inputs[1]: link("c","d"): this is not a base fact'


def change(path: list[int], key: str, value: object) -> Callable[[dict[str, Any]], None]:
    def apply(proof: dict[str, Any]) -> None:
        for place in path:
            proof = proof["inputs"][place]
        proof[key] = value

    return apply


def without_input(place: int) -> Callable[[dict[str, Any]], None]:
    return lambda proof: proof["inputs"].pop(place)


def cite_itself(proof: dict[str, Any]) -> None:
    proof["inputs"][0] = copy.deepcopy(proof)


REFUSED: list[tuple[str, tuple[Any, ...], Callable[[dict[str, Any]], None], str]] = [
    (
        "reach",
        ("a", "c"),
        change([], "ruleId", "rule:0000000000000000"),
        'proof: reach("a","c"): the ruleId of this rule is rule:',
    ),
    (
        "reach",
        ("a", "c"),
        change([], "rule", "reach(X,Y) :- reach(X,Y)."),
        'proof: reach("a","c"): the program has no rule reach(X,Y) :- reach(X,Y).',
    ),
    ("reach", ("a", "c"), change([], "rule", None), 'proof: reach("a","c"): the program has no rule None'),
    (
        "reach",
        ("a", "c"),
        change([], "atom", 'reach("a", "c")'),
        'proof: reach("a", "c"): this atom is not written in its one display form',
    ),
    (
        "reach",
        ("a", "c"),
        change([], "atom", "reach(X)"),
        'proof: reach(X): this is not a fact: "X" is not a',
    ),
    (
        "reach",
        ("a", "c"),
        change([], "atom", 'reach("b","c")'),
        'proof.inputs[0]: link("a","c"): premise 1 of the rule needs link("b","c")',
    ),
    ("reach", ("a", "c"), change([], "kind", "axiom"), 'proof: reach("a","c"): there is no kind of step'),
    (
        "reach",
        ("a", "c"),
        change([0], "kind", "comparison"),
        'proof.inputs[0]: link("a","c"): premise 1 of the rule needs a fact',
    ),
    (
        "reach",
        ("a", "c"),
        change([0], "atom", 'link("a","b")'),
        'proof.inputs[0]: link("a","b"): premise 1 of the rule needs link("a","c")',
    ),
    (
        "reach",
        ("a", "d"),
        without_input(1),
        'proof: reach("a","d"): the rule has 2 premises, but there are 1 inputs',
    ),
    (
        "reach",
        ("a", "d"),
        lambda proof: proof["inputs"].reverse(),
        'proof.inputs[0]: link("c","d"): premise 1 of the rule needs reach("a",Y)',
    ),
    (
        "reach",
        ("a", "d"),
        cite_itself,
        'proof.inputs[1]: link("c","d"): premise 2 of the rule needs link("d","d")',
    ),
    (
        "dead",
        ("d",),
        change([1], "atom", '!link("e",_)'),
        'proof.inputs[1]: !link("e",_): the rule needs the closed-world-absence !link("d",_) here',
    ),
    (
        "degree",
        ("a", 2),
        change([], "atom", 'degree("a",3)'),
        'proof: degree("a",3): count(Y) is 2',
    ),
    (
        "degree",
        ("a", 2),
        without_input(0),
        'proof.inputs[0]: degree("a",2): the aggregate is also over link("a","b")',
    ),
    (
        "degree",
        ("a", 2),
        lambda proof: proof["inputs"].append(copy.deepcopy(proof["inputs"][0])),
        'proof.inputs[2]: degree("a",2): the aggregate is not over link("a","b")',
    ),
    (
        "degree",
        ("a", 2),
        change([], "kind", "rule"),
        'proof: degree("a",2): the rule of this step is not of the kind rule',
    ),
    (
        "busy",
        ("a",),
        change([1], "atom", "3 >= 2"),
        "proof.inputs[1]: 3 >= 2: the rule needs the comparison 2 >= 2 here",
    ),
    ("total", (10.5,), change([], "atom", "total(5.5)"), "proof: total(5.5): sum(N) is 10.5"),
    (
        "link",
        ("a", "b"),
        change([], "atom", 'link("b","a")'),
        'proof: link("b","a"): this is not a base fact',
    ),
    ("link", ("a", "b"), change([], "inputs", None), 'proof: link("a","b"): a step has a list of inputs'),
    ("link", ("a", "b"), change([], "atom", 7), "proof: a step has an atom, as text"),
    (
        "link",
        ("a", "b"),
        change([], "note", "x"),
        'proof: link("a","b"): a step of kind asserted has the keys',
    ),
]


@pytest.mark.parametrize(("name", "row", "mutate", "message"), REFUSED)
def test_a_changed_proof_is_refused_by_name(
    name: str, row: tuple[Any, ...], mutate: Callable[[dict[str, Any]], None], message: str
) -> None:
    proof = proof_of(name, row)
    mutate(proof)
    assert complaint(proof).startswith(message)


def test_a_step_that_proves_itself_is_refused() -> None:
    rules = "p(X) :- q(X). q(X) :- p(X). p(X) :- a(X)."
    first = evaluate(rules, {"a": [(1,)]}).proof("q", (1,)).to_json()
    second = {**copy.deepcopy(first["inputs"][0]), "inputs": [copy.deepcopy(first)]}
    second.update(ruleId="rule:" + "0" * 16)
    inner = evaluate("p(X) :- q(X). q(X) :- a(X).", {"a": [(1,)]}).proof("p", (1,)).to_json()
    circular = {**first, "inputs": [{**inner, "inputs": [first]}]}
    finding = ProofChecker(rules, lambda name: [(1,)] if name == "a" else ()).check_proof(circular)
    assert finding is not None
    assert (finding.path, finding.reason) == (
        "proof.inputs[0].inputs[0]",
        "this step is used to prove itself",
    )


def test_a_rule_proof_of_a_base_fact_is_refused() -> None:
    proof = proof_of("reach", ("a", "b"))
    facts = {**FACTS, "reach": [("a", "b")]}
    assert (
        complaint(proof, facts) == 'proof: reach("a","b"): this is a base fact, so no rule is needed for it'
    )


def test_an_absence_is_established_anew() -> None:
    proof = proof_of("dead", ("d",))
    facts = {**FACTS, "link": [*FACTS["link"], ("d", "e")]}
    assert complaint(proof, facts).endswith("a fact matches, so this is not absent")


def test_an_absence_of_a_derived_fact_is_established_by_the_rules() -> None:
    rules = "t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z). top(X) :- n(X), !t(_, X)."
    facts: dict[str, list[tuple[Any, ...]]] = {"e": [(1, 2), (2, 3)], "n": [(1,), (3,)]}
    proof = evaluate(rules, facts, profile=CLOSED_WORLD_PROFILE).proof("top", (1,)).to_json()
    assert checker(facts, rules).check_proof(proof) is None
    finding = checker({**facts, "e": [*facts["e"], (3, 1)]}, rules).check_proof(proof)
    assert finding is not None
    assert finding.path == "proof.inputs[1]"


@pytest.mark.parametrize(
    "proof", [None, 7, "proof", [], {}, {"kind": "rule"}, {"kind": [], "atom": "", "inputs": []}]
)
def test_what_is_no_proof_is_refused(proof: object) -> None:
    assert checker().check_proof(proof) is not None


def test_a_bare_absence_proves_nothing() -> None:
    step = {"kind": "closed-world-absence", "atom": '!link("z",_)', "inputs": []}
    assert "proves nothing by itself" in complaint(step)


def test_a_proof_of_any_height_is_checked_without_recursion() -> None:
    count = 5_000
    rules = "n(X) :- zero(X). n(Y) :- n(X), next(X, Y)."
    facts: dict[str, list[tuple[Any, ...]]] = {"zero": [(0,)], "next": [(i, i + 1) for i in range(count)]}
    proof = evaluate(rules, facts).proof("n", (200,)).to_json()
    assert checker(facts, rules).check_proof(proof) is None
    nested: dict[str, Any] = {"kind": "asserted", "atom": "zero(0)", "inputs": []}
    for _ in range(50_000):
        nested = {"kind": "rule", "atom": "n(0)", "ruleId": "", "rule": "", "inputs": [nested]}
    assert checker(facts, rules).check_proof(nested) is not None


def test_a_proof_of_too_many_steps_is_refused() -> None:
    limited = ProofChecker(RULES, lambda name: FACTS.get(name, ()), steps=5)
    finding = limited.check_proof(proof_of("reach", ("a", "d")))
    assert finding is None
    finding = ProofChecker(RULES, lambda name: FACTS.get(name, ()), steps=3).check_proof(
        proof_of("reach", ("a", "d"))
    )
    assert finding is not None
    assert finding.reason == "the proof has more than 3 steps"


def test_checking_ends_at_its_deadline() -> None:
    rules = "p(X) :- n(X), !q(X). q(X) :- n(X), n(Y), n(Z), X < Y, Y < Z, Z < X."
    facts: dict[str, list[tuple[Any, ...]]] = {"n": [(i,) for i in range(2_000)]}
    step = {
        "kind": "rule",
        "atom": "p(1)",
        "ruleId": evaluate(rules, {"n": [(1,)]}, profile=CLOSED_WORLD_PROFILE).proof("p", (1,)).rule_id,
        "rule": "p(X) :- n(X), !q(X).",
        "inputs": [
            {"kind": "asserted", "atom": "n(1)", "inputs": []},
            {"kind": "closed-world-absence", "atom": "!q(1)", "inputs": []},
        ],
    }
    limited = ProofChecker(rules, lambda name: facts.get(name, ()), seconds=0.2)
    with pytest.raises(LimitError, match=r"checking the proof was stopped after its time limit of 0\.2 s"):
        limited.check_proof(step)


# Whole results


def result() -> dict[str, Any]:
    answer = prepare('reach("a", X)', RULES, profile=CLOSED_WORLD_PROFILE).answer(FactBase(FACTS))
    return {"query": 'reach("a", X)', "results": [row.to_json() for row in answer.rows]}


def test_a_saved_result_is_accepted() -> None:
    assert checker().check_result(result()) == []


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            ("query",),
            'reach("b", X)',
            'results[0]: reach("a","b"): the row does not match the query reach("b",X)',
        ),
        (("query",), "", "query: the query is empty"),
        (("results",), "none", "results: a result has a list of results"),
        (("results", 1), 7, "results[1]: a row is an object"),
        (("results", 1, "kind"), "asserted-fact", 'results[1]: reach("a","c"): the kind of the row must be'),
        (
            ("results", 1, "atom"),
            'reach("a","z")',
            'results[1].proof: reach("a","z"): the proof is for another',
        ),
        (("results", 1, "predicate"), "link", 'results[1]: reach("a","c"): the predicate differs'),
        (("results", 1, "values"), [], 'results[1]: reach("a","c"): the values differ'),
        (("results", 1, "proof"), None, 'results[1].proof: reach("a","c"): the row has no proof'),
        (("results", 2, "proof", "inputs", 1, "atom"), 'link("b","d")', "results[2].proof.inputs[1]: link"),
    ],
)
def test_a_changed_result_is_refused(path: tuple[Any, ...], value: object, message: str) -> None:
    changed = result()
    target: Any = changed
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    assert str(checker().check_result(changed)[0]).startswith(message)


def test_rows_that_come_twice_or_out_of_order_are_refused() -> None:
    twice = result()
    twice["results"].append(copy.deepcopy(twice["results"][-1]))
    turned = result()
    turned["results"].reverse()
    for changed in (twice, turned):
        findings = checker().check_result(changed)
        assert findings
        assert findings[0].reason == "rows come once each and in the order of their atoms"


def test_names_and_numbers_are_checked_as_values() -> None:
    rules = "p(X, Y) :- q(X, Y)."
    facts: dict[str, list[tuple[Any, ...]]] = {"q": [(Name("/a"), 2.0)]}
    (row,) = prepare("p(X, Y)", rules).answer(FactBase(facts)).rows
    data = {"query": "p(X, Y)", "results": [row.to_json()]}
    assert ProofChecker([RuleText(rules)], lambda name: facts.get(name, ())).check_result(data) == []
    data["results"][0]["values"][0]["type"] = "string"
    assert ProofChecker([RuleText(rules)], lambda name: facts.get(name, ())).check_result(data)


@pytest.mark.parametrize("value", [True, 2.0, "2"])
def test_a_value_of_another_type_is_refused(value: object) -> None:
    (row,) = prepare('degree("a", N)', RULES, profile=CLOSED_WORLD_PROFILE).answer(FactBase(FACTS)).rows
    data = row.to_json()
    data["values"][1]["value"] = value
    finding = checker().check_row(data)
    assert finding is not None
    assert finding.reason == "the values differ from those in the atom"


def test_findings_are_safe_to_print() -> None:
    step = {"kind": "asserted", "atom": "\x1b[31m\ud800", "inputs": []}
    assert complaint(step).isprintable()
    step = {"kind": "rule", "atom": "p(1)", "ruleId": "", "rule": "\x1b]0;", "inputs": []}
    assert complaint(step).isprintable()
