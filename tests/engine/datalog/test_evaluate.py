"""The library: rules and relations in, a model with proofs out."""

from __future__ import annotations

import doctest
import importlib
import itertools
from pathlib import Path

import pytest
from openknowledge.engine.datalog import (
    CLOSED_WORLD_PROFILE,
    DatalogError,
    FactBase,
    FactsError,
    Name,
    RuleText,
    evaluate,
)
from openknowledge.engine.errors import OpenKnowledgeError

CLOSURE = "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z)."


@pytest.mark.parametrize("module", ["", ".base", ".query", ".absence", ".lint"])
def test_the_examples_of_the_documentation_run(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"openknowledge.engine.datalog{module}"))
    assert (result.failed, result.attempted > 0) == (0, True)


def test_the_examples_of_the_manual_run() -> None:
    manual = Path(__file__).resolve().parents[3] / "docs" / "rules.md"
    result = doctest.testfile(str(manual), module_relative=False, encoding="utf-8")
    assert (result.failed, result.attempted > 10) == (0, True)


def test_a_relation_of_the_model_is_a_collection_of_tuples() -> None:
    model = evaluate(CLOSURE, {"edge": [(1, 2), (2, 3)]})
    assert sorted(model["path"]) == [(1, 2), (1, 3), (2, 3)]
    assert len(model["path"]) == 3
    assert (1, 3) in model["path"]
    assert (3, 1) not in model["path"]
    assert ("1", 3) not in model["path"]
    assert "path" in model
    assert model.names() == ("edge", "path")


def test_an_unknown_name_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        evaluate(CLOSURE, {"edge": [(1, 2)]})["paths"]


def test_values_come_back_as_they_went_in() -> None:
    rows = [("a", 1, 2.5, Name("/n")), ("é\0\n", -7, 1e300, Name("/x/y"))]
    model = evaluate("q(A,B,C,D) :- p(A,B,C,D).", {"p": rows})
    assert set(model["q"]) == set(rows)


def test_numbers_join_by_value_and_not_with_text() -> None:
    model = evaluate("r(X) :- p(X), q(X).", {"p": [(1,), ("1",), (2.0,)], "q": [(1.0,), (2,)]})
    assert sorted(model["r"]) == [(1,), (2,)]


def test_relations_may_be_read_once_only() -> None:
    model = evaluate(CLOSURE, {"edge": iter([(1, 2), (2, 3)])})
    assert len(model["path"]) == 3


def test_rows_may_be_given_in_any_number_of_copies() -> None:
    assert len(evaluate("q(X) :- p(X,_).", {"p": [(1, 2), (1, 2), (1, 3)]})["q"]) == 1


def test_a_fact_base_is_loaded_when_it_is_reached() -> None:
    asked: list[str] = []

    def load(name: str) -> list[tuple[int, int]]:
        asked.append(name)
        return [(1, 2)]

    base = FactBase(load=load, arities={"edge": 2, "other": 2}, empty=())
    evaluate(CLOSURE, base)
    evaluate(CLOSURE, base)
    assert asked == ["edge"]


def test_a_relation_that_no_rule_reaches_is_loaded_when_it_is_read() -> None:
    asked: list[str] = []

    def load(name: str) -> list[tuple[object, ...]]:
        asked.append(name)
        return [("x", "a")] if name == "other" else [("a", "b")]

    base = FactBase(load=load, arities={"edge": 2, "other": 2}, empty=())
    model = evaluate(CLOSURE + ' mark("x", X) :- edge(X, _).', base)
    assert asked == ["edge"]
    assert list(model["other"]) == [("x", "a")]
    assert ("x", "a") in model["other"]
    assert ("x", "b") not in model["other"]
    assert model.proof("other", ("x", "a")).kind == "asserted"
    assert ("x", "a") in model["mark"]
    assert model.proof("mark", ("x", "a")).height == 1


def test_relations_without_rows_may_be_used() -> None:
    assert list(evaluate(CLOSURE, {"edge": []})["path"]) == []


def test_predicates_without_arguments_hold_or_not() -> None:
    model = evaluate("yes() :- p(_). no() :- p(7). both() :- yes(), no().", {"p": [(1,)]})
    assert (list(model["yes"]), list(model["no"]), list(model["both"])) == ([()], [], [])


def test_rules_can_come_from_several_texts() -> None:
    texts = [RuleText("q(X) :- p(X).", "one.dl"), RuleText("r(X) :- q(X).", "two.dl")]
    assert list(evaluate(texts, {"p": [(1,)]})["r"]) == [(1,)]


def test_an_error_names_the_text_it_is_in() -> None:
    texts = [RuleText("q(X) :- p(X).", "one.dl"), RuleText("\nr(Y) :- q(X).", "two.dl")]
    with pytest.raises(DatalogError, match=r"^two\.dl:2:3: the variable Y in the head is unsafe"):
        evaluate(texts, {"p": [(1,)]})


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ((1, 2, 3), "has 2 columns, but a row has 3"),
        ((1, True), "True is a truth value"),
        ((1, None), "not a value of type NoneType"),
        ((1, float("nan")), "nan is not a finite number"),
        ("ab", "is a str, not a tuple"),
        (7, "is a int, not a tuple"),
        (("\ud800", 1), "is not valid Unicode"),
    ],
)
def test_a_row_that_is_no_fact_is_refused(row: object, problem: str) -> None:
    with pytest.raises(FactsError, match="edge") as caught:
        evaluate(CLOSURE, {"edge": [(1, 2), row]})  # type: ignore[list-item]
    assert problem in caught.value.message


def test_a_truth_value_is_refused_even_where_the_number_is_known() -> None:
    with pytest.raises(FactsError):
        evaluate("q(X) :- p(X).", {"p": [(1,), (True,)]})


def test_subclasses_of_text_are_plain_text() -> None:
    class Loud(str):
        def __eq__(self, other: object) -> bool:
            raise AssertionError("the engine compares plain text only")

        __hash__ = str.__hash__

    model = evaluate("q(X) :- p(X).", {"p": [(Loud("a"),)]})
    assert [type(value) for (value,) in model["q"]] == [str]


# Negation, comparisons, aggregates


def solve(rules: str, **relations: list[tuple[object, ...]]) -> dict[str, set[tuple[object, ...]]]:
    model = evaluate(rules, relations, profile=CLOSED_WORLD_PROFILE)
    return {name: set(model[name]) for name in model.names()}


def test_a_wildcard_in_a_negation_means_no_fact_at_all() -> None:
    found = solve("lonely(X) :- node(X), !edge(X,_), !edge(_,X).", node=[(1,), (2,), (3,)], edge=[(1, 2)])
    assert found["lonely"] == {(3,)}


def test_a_negation_may_stand_before_what_binds_it() -> None:
    assert solve("q(X) :- not r(X), p(X).", p=[(1,), (2,)], r=[(2,)])["q"] == {(1,)}


def test_count_counts_different_values() -> None:
    found = solve("n(count(Y)) :- e(_, Y). m(X, count(Y)) :- e(X, Y).", e=[(1, 7), (2, 7), (2, 8)])
    assert found["n"] == {(2,)}
    assert found["m"] == {(1, 1), (2, 2)}


def test_sum_adds_once_for_every_combination_of_facts() -> None:
    assert solve("s(sum(N)) :- c(_, N).", c=[("a", 5), ("b", 5), ("c", 1.5)])["s"] == {(11.5,)}


def test_a_sum_does_not_depend_on_the_order_of_adding() -> None:
    rows: list[tuple[object, ...]] = [(i, n) for i, n in enumerate([1e16, 1.0, -1e16, 0.1, 3])]
    sums = {
        tuple(solve("s(sum(N)) :- c(_, N).", c=list(order))["s"]) for order in itertools.permutations(rows)
    }
    assert sums == {((4.1,),)}


def test_min_and_max_compare_like_their_values() -> None:
    found = solve(
        "lo(min(X)) :- p(X). hi(max(X)) :- p(X). first(min(D)) :- d(D).",
        p=[(10,), (9,), (2.5,)],
        d=[("2024-01-01T00:00:00Z",), ("2024-01-01T00:30:00+01:00",)],
    )
    assert (found["lo"], found["hi"]) == ({(2.5,)}, {(10,)})
    assert found["first"] == {("2024-01-01T00:30:00+01:00",)}


def test_an_empty_group_has_no_aggregate() -> None:
    assert solve("n(count(X)) :- p(X), X > 5.", p=[(1,)])["n"] == set()


def test_aggregates_of_several_kinds_in_one_head() -> None:
    found = solve("t(D, count(N), sum(N), min(N), max(N)) :- c(D, N).", c=[("x", 1), ("x", 4), ("y", 2)])
    assert found["t"] == {("x", 2, 5, 1, 4), ("y", 1, 2, 2, 2)}


def test_an_aggregate_can_be_built_on() -> None:
    rules = "n(X, count(Y)) :- e(X, Y). most(max(N)) :- n(_, N). top(X) :- n(X, N), most(N)."
    assert solve(rules, e=[(1, 2), (1, 3), (2, 3)])["top"] == {(1,)}


def test_a_sum_of_text_is_an_error_that_names_rule_and_value() -> None:
    with pytest.raises(
        OpenKnowledgeError, match=r'sum met "a", which is not a number, in the rule: s\(sum\(X\)\)'
    ):
        solve("s(sum(X)) :- p(X).", p=[("a",)])


def test_a_head_may_add_to_a_base_relation() -> None:
    model = evaluate("edge(X, Z) :- edge(X, Y), edge(Y, Z).", {"edge": [(1, 2), (2, 3)]})
    assert sorted(model["edge"]) == [(1, 2), (1, 3), (2, 3)]
    assert model.proof("edge", (1, 2)).kind == "asserted"
    assert model.proof("edge", (1, 3)).kind == "rule"


@pytest.mark.parametrize(
    "word", ["class", "lambda", "None", "__import__", "__class__", "exec", "f0", "tick", "v0"]
)
def test_words_that_mean_something_to_python_are_only_names(word: str) -> None:
    model = evaluate(f"{word}(__class__, None) :- p(None, __class__).", {"p": [(1, "__import__('os')")]})
    assert list(model[word]) == [("__import__('os')", 1)]


def test_a_million_derived_facts_come_out_without_limits() -> None:
    model = evaluate("pair(X, Y) :- n(X), n(Y).", {"n": [(i,) for i in range(1_000)]})
    assert len(model["pair"]) == 1_000_000
