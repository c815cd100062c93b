"""Proofs of the evaluator: which one of many it is, and how they hang together."""

from __future__ import annotations

import pytest
from openknowledge.engine.datalog import CLOSED_WORLD_PROFILE, Model, evaluate
from openknowledge.engine.datalog.proof import Proof
from openknowledge.engine.errors import OpenKnowledgeError


def solve(rules: str, **relations: list[tuple[object, ...]]) -> Model:
    return evaluate(rules, relations, profile=CLOSED_WORLD_PROFILE)


def tree(proof: Proof) -> object:
    """Return the proof as nested tuples of atoms."""
    return (proof.atom, *map(tree, proof.inputs)) if proof.inputs else proof.atom


def test_a_base_fact_is_its_own_proof_even_where_a_rule_yields_it() -> None:
    model = solve("q(X) :- p(X).", p=[(1,)], q=[(1,)])
    proof = model.proof("q", (1,))
    assert (proof.kind, proof.inputs, proof.height) == ("asserted", (), 0)


def test_rules_count_in_the_order_of_their_text() -> None:
    model = solve("q(X) :- b(X). q(X) :- a(X).", a=[(1,)], b=[(1,)])
    assert tree(model.proof("q", (1,))) == ("q(1)", "b(1)")


def test_facts_count_in_display_order_premise_by_premise() -> None:
    edges = [(1, 10), (1, 9), (10, 2), (9, 2)]
    model = solve("two(X, Z) :- e(X, Y), e(Y, Z).", e=edges)
    assert tree(model.proof("two", (1, 2))) == ("two(1,2)", "e(1,10)", "e(10,2)")


def test_a_lower_proof_wins_over_an_earlier_rule() -> None:
    model = solve("q(X) :- r(X). q(X) :- a(X). r(X) :- a(X).", a=[(1,)])
    assert tree(model.proof("q", (1,))) == ("q(1)", "a(1)")


def test_heights_count_across_strata() -> None:
    rules = """
        far(X) :- c(X).
        c(X) :- b(X).
        b(X) :- a(X).
        near(X) :- a(X).
        goal(X) :- far(X), !missing(X).
        goal(X) :- near(X), !missing(X).
    """
    proof = solve(rules, a=[(1,)], missing=[(7,)]).proof("goal", (1,))
    assert proof.height == 2
    assert tree(proof) == ("goal(1)", ("near(1)", "a(1)"), "!missing(1)")


def test_a_cycle_is_never_its_own_reason() -> None:
    model = solve("p(X) :- q(X). q(X) :- p(X). p(X) :- a(X).", a=[(1,)])
    assert tree(model.proof("q", (1,))) == ("q(1)", ("p(1)", "a(1)"))


def test_premises_keep_the_order_of_the_text() -> None:
    proof = solve("q(X) :- !r(X), X < 3, p(X).", p=[(1,)], r=[(2,)]).proof("q", (1,))
    assert [(step.kind, step.atom) for step in proof.inputs] == [
        ("closed-world-absence", "!r(1)"),
        ("comparison", "1 < 3"),
        ("asserted", "p(1)"),
    ]
    assert proof.rule == "q(X) :- !r(X), X < 3, p(X)."


def test_an_absence_shows_its_wildcards() -> None:
    proof = solve("q(X) :- p(X), !e(X, _).", p=[(1,)], e=[(2, 3)]).proof("q", (1,))
    assert proof.inputs[1].atom == "!e(1,_)"


def test_an_aggregate_rests_on_every_premise_of_its_group_once() -> None:
    rules = "n(X, count(Y)) :- e(X, Y), f(Y, _)."
    model = solve(rules, e=[(1, 10), (1, 9)], f=[(10, 1), (10, 2), (9, 1), (8, 8)])
    proof = model.proof("n", (1, 2))
    assert proof.kind == "aggregate"
    assert [step.atom for step in proof.inputs] == ["e(1,10)", "e(1,9)", "f(10,1)", "f(10,2)", "f(9,1)"]


def test_equal_facts_share_one_step() -> None:
    model = solve("p(X, Z) :- e(X, Y), e(Y, Z). q(X) :- p(X, _), p(_, X).", e=[(1, 1)])
    proof = model.proof("q", (1,))
    assert proof.inputs[0] is proof.inputs[1]
    assert len(list(proof.steps())) == 3
    assert proof.size() == 7


def test_steps_come_with_premises_first() -> None:
    model = solve("p(X) :- a(X). q(X) :- p(X).", a=[(1,)])
    assert [step.atom for step in model.proof("q", (1,)).steps()] == ["a(1)", "p(1)", "q(1)"]


def test_a_fact_that_does_not_hold_has_no_proof() -> None:
    model = solve("p(X) :- a(X).", a=[(1,)])
    with pytest.raises(OpenKnowledgeError, match=r"^p\(2\) does not hold, so it has no proof$"):
        model.proof("p", (2,))
    with pytest.raises(OpenKnowledgeError, match="does not hold"):
        model.proof("p", (1, 1))


def test_a_proof_may_be_very_high() -> None:
    count = 3_000
    model = solve(
        "n(X) :- zero(X). n(Y) :- n(X), next(X, Y).", zero=[(0,)], next=[(i, i + 1) for i in range(count)]
    )
    proof = model.proof("n", (count,))
    assert proof.height == count + 1
    assert sum(1 for _ in proof.steps()) == 2 * count + 2
    depth, step = 0, proof.to_json()
    while step["inputs"]:
        depth, step = depth + 1, step["inputs"][0]
    assert depth == count + 1


def test_many_ways_to_prove_a_fact_are_not_all_tried() -> None:
    """Each fact of ``p`` follows in 60 to the power of 4 ways; the first of them is found at once."""
    rules = "p(X) :- a(X), e(X, Y1), e(X, Y2), e(X, Y3), f(Y1, _), f(Y2, _), f(Y3, _), e(X, _)."
    relations = {
        "a": [(1,)],
        "e": [(1, y) for y in range(60)],
        "f": [(y, z) for y in range(60) for z in range(3)],
    }
    proof = evaluate("q(X) :- a(X). " + rules, relations).proof("p", (1,))
    assert [step.atom for step in proof.inputs[:4]] == ["a(1)", "e(1,0)", "e(1,0)", "e(1,0)"]


def test_the_text_of_a_proof_object_is_short() -> None:
    model = solve("p(X) :- a(X).", a=[(1,)])
    assert repr(model.proof("p", (1,))) == "<Proof rule of p(1), height 1>"
