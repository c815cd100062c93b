"""Why a fact does not follow."""

from __future__ import annotations

import pytest
from openknowledge.engine.datalog import CLOSED_WORLD_PROFILE, DatalogError, FactBase, Limits, RuleText
from openknowledge.engine.datalog.absence import Attempt, WhyNot, render_why_not, why_not

BASE = FactBase(
    {
        "edge": [("a", "b"), ("b", "c"), ("x", "d")],
        "size": [("a", 3), ("b", 9)],
        "far": [(f"n{i}", f"n{i + 1}") for i in range(400)],
    }
)
RULES = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).
big(X) :- edge(X, _), size(X, N), N > 5.
degree(X, count(Y)) :- edge(X, Y).
source(X) :- edge(X, _), !path(_, X).
special("a", Y) :- edge(Y, _).
"""


def explain(atom: str, rules: str = RULES) -> WhyNot:
    return why_not(atom, rules, BASE, profile=CLOSED_WORLD_PROFILE)


def only(atom: str) -> Attempt:
    (attempt,) = explain(atom).attempts
    return attempt


def test_the_first_premise_that_fails_is_shown_with_what_comes_near() -> None:
    first, second = explain('path("a", "d")').attempts
    assert (first.satisfied, first.failed, first.place, first.reason) == ((), 'edge("a","d")', 1, "no-fact")
    assert first.nearest == ('edge("a","b")', 'edge("x","d")')
    assert (second.satisfied, second.failed, second.place) == (('path("a","b")',), 'edge("b","d")', 2)
    assert second.nearest == ('edge("b","c")', 'edge("x","d")')


def test_a_comparison_is_shown_with_its_values() -> None:
    attempt = only('big("a")')
    assert attempt.satisfied == ('edge("a",_)', 'size("a",3)')
    assert (attempt.failed, attempt.place, attempt.reason) == ("3 > 5", 3, "comparison-fails")


def test_a_negation_is_shown_with_the_fact_in_its_way() -> None:
    attempt = only('source("b")')
    assert (attempt.failed, attempt.reason) == ('!path(_,"b")', "fact-present")
    assert attempt.nearest == ('path("a","b")',)


def test_an_aggregate_is_shown_with_the_value_it_has() -> None:
    attempt = only('degree("a", 2)')
    assert (attempt.failed, attempt.reason, attempt.nearest) == (
        'degree("a",2)',
        "other-aggregate",
        ('degree("a",1)',),
    )


def test_a_rule_whose_head_differs_is_left_out() -> None:
    assert explain('special("b", "a")').attempts == ()


def test_an_atom_with_variables_asks_why_there_is_none_at_all() -> None:
    attempt = only("big(X)") if not explain("big(X)").holds else None
    assert explain("big(X)").holds
    assert attempt is None
    (failing,) = explain("none(X)", "none(X) :- edge(X, X).").attempts
    assert failing.failed == "edge(X,X)"


def test_a_fact_that_follows_is_shown_with_its_proof() -> None:
    why = explain('path("a", "c")')
    assert why.holds
    assert why.proof is not None
    assert why.proof.height == 2


def test_an_unknown_predicate_has_suggestions() -> None:
    why = explain('pth("a", "c")')
    assert (why.known, why.suggestions) == (False, ("path",))


def test_a_base_relation_shows_the_facts_most_like_it() -> None:
    assert explain('edge("a", "z")').nearest == ('edge("a","b")',)
    assert explain('edge("q", "z")').nearest == ('edge("a","b")', 'edge("b","c")', 'edge("x","d")')


def test_the_explanation_is_goal_directed() -> None:
    rules = "t(X, Y) :- far(X, Y). t(X, Z) :- t(X, Y), far(Y, Z)."
    why = why_not('t("n390", "n2")', rules, BASE, limits=Limits(created_facts=2_000))
    assert [attempt.failed for attempt in why.attempts] == ['far("n390","n2")', 'far("n391","n2")']


def test_rules_are_checked_first() -> None:
    with pytest.raises(DatalogError, match="unknown relation nope"):
        explain("p(X)", "p(X) :- nope(X).")


def test_the_rule_is_named_with_its_text_and_line() -> None:
    why = why_not('path("a", "d")', [RuleText("\n\npath(X, Y) :- edge(X, Y).", "mine.dl")], BASE)
    (attempt,) = why.attempts
    assert (attempt.source, attempt.line, attempt.rule) == ("mine.dl", 3, "path(X,Y) :- edge(X,Y).")
    assert attempt.rule_id == "rule:347bcf705c61ee22"


def test_the_text_is_an_indented_list() -> None:
    assert render_why_not(explain('big("a")')) == (
        'big("a") does not follow\n'
        "  rules:4  big(X) :- edge(X,_), size(X,N), N > 5.\n"
        '    holds    edge("a",_)\n'
        '    holds    size("a",3)\n'
        "    fails    3 > 5  (premise 3)\n"
        "  facts like it:\n"
        '    big("b")'
    )
    assert render_why_not(explain('path("a", "c")')) == 'path("a","c") follows; ask for its proof'
    assert "similar names: path" in render_why_not(explain('pth("a")'))
