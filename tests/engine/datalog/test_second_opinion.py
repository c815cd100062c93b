"""pyDatalog as a second opinion: it agrees, it is isolated, and it can be stopped."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.datalog import CLOSED_WORLD_PROFILE, Name, evaluate
from openknowledge.engine.datalog.second_opinion import Disagreement, second_opinion, verify
from openknowledge.engine.errors import LimitError

CLOSURE = "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z)."
EDGES: list[tuple[Any, ...]] = [(1, 2), (2, 3), (3, 1), (4, 5)]


def facts(**relations: Sequence[tuple[Any, ...]]) -> Any:
    def rows(name: str) -> Iterable[tuple[Any, ...]]:
        return relations.get(name, ())

    return rows


@pytest.mark.parametrize("seconds", [None, 30.0])
def test_it_finds_the_closure_of_a_cycle(seconds: float | None) -> None:
    expected = set(evaluate(CLOSURE, {"edge": EDGES})["path"])
    assert second_opinion("path(X, Y)", CLOSURE, facts(edge=EDGES), seconds=seconds) == expected
    bound = second_opinion("path(1, Y)", CLOSURE, facts(edge=EDGES), seconds=seconds)
    assert bound == {(1, 1), (1, 2), (1, 3)}


@pytest.mark.parametrize(
    ("rules", "query", "expected"),
    [
        ("q(X) :- p(X, _), !r(X, _).", "q(X)", {("a",)}),
        ("q(X) :- p(X, N), N > 2.", "q(X)", {("b",)}),
        ("q(count(X)) :- p(X, _).", "q(N)", {(2,)}),
        ("q(sum(N)) :- p(_, N).", "q(N)", {(4.5,)}),
        ("q(X, max(N)) :- p(X, N).", 'q("b", N)', {("b", 3.5)}),
        ("q() :- p(_, 1).", "q()", {()}),
        ("q(X, X) :- p(X, _).", "q(X, X)", {("a", "a"), ("b", "b")}),
        ("q(X, \"__import__('os')\") :- p(X, 1).", "q(X, Y)", {("a", "__import__('os')")}),
    ],
)
@pytest.mark.parametrize("seconds", [None, 30.0])
def test_it_knows_every_construct(rules: str, query: str, expected: set[Any], seconds: float | None) -> None:
    given = facts(p=[("a", 1), ("b", 3.5)], r=[("b", 0)])
    assert second_opinion(query, rules, given, seconds=seconds) == expected


def test_values_of_all_kinds_come_back() -> None:
    rows: list[tuple[Any, ...]] = [(Name("/n"), 'q"\n', 10**30, 0.1)]
    assert second_opinion("p(A,B,C,D)", "", facts(p=rows), seconds=30.0) == set(rows)


def test_agreement_counts_the_answers() -> None:
    rows = evaluate(CLOSURE, {"edge": EDGES})["path"]
    assert verify("path(X, Y)", CLOSURE, facts(edge=EDGES), rows) == len(rows)


def test_a_difference_names_the_facts() -> None:
    with pytest.raises(Disagreement) as caught:
        verify("path(1, Y)", CLOSURE, facts(edge=EDGES), [(1, 1), (1, 2), (1, 4)])
    error = caught.value
    assert (error.missing, error.surplus) == (("path(1,3)",), ("path(1,4)",))
    assert error.message == (
        "pyDatalog, the second opinion, disagrees: it also finds path(1,3); it does not find path(1,4)"
    )


def test_a_cut_answer_is_compared_by_number() -> None:
    assert verify("path(1, Y)", CLOSURE, facts(edge=EDGES), [(1, 1)], total=3) == 3
    with pytest.raises(Disagreement, match="it finds 3 answers, not 4"):
        verify("path(1, Y)", CLOSURE, facts(edge=EDGES), [(1, 1)], total=4)


def test_two_questions_do_not_see_each_others_facts() -> None:
    assert second_opinion("p(X)", "", facts(p=[(1,)])) == {(1,)}
    assert second_opinion("p(X)", "", facts(p=[(2,)])) == {(2,)}
    assert second_opinion("p(X)", "p(X) :- q(X).", facts(q=[(3,)])) == {(3,)}


def test_questions_in_threads_do_not_see_each_others_facts() -> None:
    found: dict[int, object] = {}

    def work(number: int) -> None:
        found[number] = second_opinion("path(X, Y)", CLOSURE, facts(edge=[(number, number + 1)]))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: {(number, number + 1)} for number in range(4)}


def test_what_a_program_keeps_in_pydatalog_is_left_alone() -> None:
    from pyDatalog import Logic, pyEngine

    Logic()
    mine = pyEngine.Literal("mine", [pyEngine.Const(1)])
    pyEngine.assert_(pyEngine.Clause(mine, []))  # noqa: PT009 - pyDatalog's name
    assert second_opinion("mine(X)", "", facts(mine=[(7,)])) == {(7,)}
    assert pyEngine.Literal("mine", [pyEngine.Var("X")]).ask() == [(1,)]
    Logic()


def test_a_question_that_takes_too_long_is_stopped() -> None:
    numbers = [(i,) for i in range(300)]
    with pytest.raises(LimitError, match=r"pyDatalog, the second opinion, was stopped after 1 s"):
        second_opinion("p(X,Y,Z)", "p(X,Y,Z) :- n(X), n(Y), n(Z).", facts(n=numbers), seconds=1.0)


def random_program(rnd: random.Random) -> tuple[str, dict[str, list[tuple[Any, ...]]]]:
    """Return rules in two strata over two base relations, recursive and with negation."""
    names = ["X", "Y", "Z"]

    def atom(name: str) -> str:
        arguments = [rnd.choice([*names, *names, "_", str(rnd.randint(1, 4))]) for _ in range(2)]
        return f"{name}({', '.join(arguments)})"

    rules: list[str] = []
    for head, usable, negated in (
        ("p", ["e", "f", "p", "q"], []),
        ("q", ["e", "p", "q"], []),
        ("r", ["p", "q", "e"], ["p", "q", "f"]),
    ):
        for _ in range(rnd.randint(1, 3)):
            body = [atom(rnd.choice(usable)) for _ in range(rnd.randint(1, 3))]
            bound = [name for name in names if any(name in premise for premise in body)] or ["1"]
            if negated and rnd.random() < 0.6:
                body.append(f"!{rnd.choice(negated)}({rnd.choice(bound)}, {rnd.choice([*bound, '_'])})")
            rules.append(f"{head}({rnd.choice(bound)}, {rnd.choice(bound)}) :- {', '.join(body)}.")
    rows = {
        name: [(rnd.randint(1, 4), rnd.randint(1, 4)) for _ in range(rnd.randint(1, 6))]
        for name in ("e", "f")
    }
    return "\n".join(rules), rows


@settings(deadline=None, max_examples=60)
@given(st.randoms(use_true_random=False))
def test_random_stratified_programs_agree(rnd: random.Random) -> None:
    rules, relations = random_program(rnd)
    model = evaluate(rules, relations, profile=CLOSED_WORLD_PROFILE)
    for name in ("p", "q", "r"):
        verify(f"{name}(X, Y)", rules, facts(**relations), model[name])
