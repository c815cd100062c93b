"""Limits that hold: work ends in time, and its memory comes back."""

from __future__ import annotations

import gc
import threading
import time
import tracemalloc

import pytest
from openknowledge.engine.datalog import FactBase, Gate, Limits, evaluate, prepare
from openknowledge.engine.datalog.limits import Budget
from openknowledge.engine.errors import LimitError

NUMBERS = {"n": [(i,) for i in range(1_000)]}
NEVER_NARROW = "p(X) :- n(X), n(Y), n(Z), n(W), X < Y, Y < Z, Z < W, W < X."
GRACE = 0.1


def elapsed_until_stopped(query: str, rules: str, base: FactBase, limits: Limits) -> tuple[float, LimitError]:
    question = prepare(query, rules, limits=limits)
    start = time.process_time()
    with pytest.raises(LimitError) as caught:
        question.answer(base)
    return time.process_time() - start, caught.value


STOPPED = {
    "joins that never narrow": NEVER_NARROW,
    "a join that is all loops": "p(X) :- n(X), n(Y), n(Z), n(W), X != Y, Y != Z, Z = W, W != Z.",
    "premises that only count": "p(count(X)) :- n(X), n(Y), n(Z).",
    "pairs in groups": "q(X, Y) :- n(X), n(Y). p(X) :- q(X, Y), q(Y, Z), q(Z, W), W < X, X < W.",
    "a long join": "p(A) :- " + ", ".join(f"n({v})" for v in "ABCDEFGHIJKLMNOP") + ", A < B, B < A.",
    "recursion": "p(X) :- q(X, _, _). q(X, Y, Z) :- n(X), n(Y), n(Z). q(X, Y, Z) :- q(Y, Z, X).",
}


@pytest.mark.parametrize("rules", STOPPED.values(), ids=STOPPED)
def test_work_ends_at_its_deadline(rules: str) -> None:
    taken, error = elapsed_until_stopped("p(X)", rules, FactBase(NUMBERS), Limits(seconds=0.25))
    assert error.limit == "QUERY_SECONDS"
    assert "stopped after its time limit of 0.25 s; narrow the query" in error.message
    assert taken < 0.25 + 3 * GRACE  # three times what is promised, without what else the machine does


def test_loading_base_facts_ends_at_the_deadline() -> None:
    def load(_name: str) -> object:
        return ((i, i + 1) for i in range(10**9))

    base = FactBase(load=load, arities={"e": 2}, empty=())  # type: ignore[arg-type]
    taken, error = elapsed_until_stopped("e(X, Y)", "", base, Limits(seconds=0.25))
    assert error.limit == "QUERY_SECONDS"
    assert taken < 0.25 + 3 * GRACE


def test_a_proof_that_takes_too_long_ends_too() -> None:
    rules = "p(X) :- n(X), n(Y), n(Z), n(W), X <= Y, Y <= Z, Z <= W, W <= X, Y <= W."
    seconds = iter([0.0] * 40 + [100.0] * 10_000)
    question = prepare("p(7)", rules, limits=Limits(seconds=1))
    with pytest.raises(LimitError):
        question.answer(FactBase(NUMBERS), now=lambda: next(seconds))


@pytest.mark.parametrize(("most", "fits"), [(10_000, True), (9_999, False)])
def test_created_facts_are_counted_exactly_at_the_end(most: int, fits: bool) -> None:
    numbers = {"n": [(i,) for i in range(100)]}
    rules = "pair(X, Y) :- n(X), n(Y)."
    if fits:
        assert len(evaluate(rules, numbers, Limits(created_facts=most))["pair"]) == 10_000
    else:
        with pytest.raises(LimitError, match="create more than 9,999 facts, the limit of created facts"):
            evaluate(rules, numbers, Limits(created_facts=most))


def test_too_many_facts_end_the_work_early() -> None:
    rules = "t(X, Y, Z) :- n(X), n(Y), n(Z)."
    taken, error = elapsed_until_stopped(
        "t(X, Y, Z)", rules, FactBase(NUMBERS), Limits(created_facts=100_000)
    )
    assert error.limit == "CREATED_FACTS"
    assert taken < 2


@pytest.mark.parametrize(("most", "fits"), [(1_000, True), (999, False)])
def test_base_facts_are_counted_over_what_is_reached(most: int, fits: bool) -> None:
    base = FactBase({**NUMBERS, "unused": [(i,) for i in range(5_000)]})
    question = prepare("p(X)", "p(X) :- n(X). q(X) :- unused(X).", limits=Limits(base_facts=most))
    if fits:
        assert len(question.answer(base).rows) == 1_000
    else:
        with pytest.raises(LimitError, match="more than 999 facts, the limit of base facts"):
            question.answer(base)


def test_the_memory_of_stopped_work_is_free_when_the_error_is_seen() -> None:
    base = FactBase(NUMBERS)
    rules = "t(X, Y, Z) :- n(X), n(Y), n(Z)."
    elapsed_until_stopped("t(X, Y, Z)", rules, base, Limits(created_facts=1_000))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        error = elapsed_until_stopped("t(X, Y, Z)", rules, base, Limits(created_facts=300_000))[1]
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before > 20_000_000
    assert kept - before < 1_000_000
    assert error.limit == "CREATED_FACTS"


def test_a_limit_error_keeps_no_frame_of_the_evaluator() -> None:
    error = elapsed_until_stopped("p(X)", NEVER_NARROW, FactBase(NUMBERS), Limits(seconds=0.05))[1]
    assert error.__cause__ is None
    assert error.__context__ is None
    names = []
    trace = error.__traceback__
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert "run" not in names
    assert "f0" not in names


def test_a_stopped_query_leaves_the_base_facts_usable() -> None:
    rows = iter([(i,) for i in range(50_000)])
    base = FactBase({"n": rows})
    with pytest.raises(LimitError):
        prepare("n(X)", limits=Limits(base_facts=30_000)).answer(base)
    assert len(prepare("n(X)").answer(base).rows) == 50_000


def test_a_gate_lets_no_more_through_than_it_has_slots() -> None:
    gate = Gate(2)
    inside: list[int] = []
    most: list[int] = []
    lock = threading.Lock()

    def work() -> None:
        with gate.enter(Budget(Limits(seconds=30))):
            with lock:
                inside.append(1)
                most.append(len(inside))
            time.sleep(0.01)
            with lock:
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 2
    assert len(most) == 8


def test_a_full_gate_refuses_at_the_deadline() -> None:
    gate = Gate(1)
    question = prepare("n(X)", limits=Limits(seconds=0.05))
    with (
        gate.enter(Budget()),
        pytest.raises(LimitError, match="1 evaluations are running already") as caught,
    ):
        question.answer(FactBase(NUMBERS), gate=gate)
    assert caught.value.limit == "CONCURRENT_EVALUATIONS"


def test_a_slot_is_free_again_after_an_error() -> None:
    gate = Gate(1)
    for _ in range(3):
        with pytest.raises(LimitError):
            prepare("p(X)", NEVER_NARROW, limits=Limits(seconds=0.02)).answer(FactBase(NUMBERS), gate=gate)
    assert len(prepare("n(X)").answer(FactBase(NUMBERS), gate=gate).rows) == 1_000


def test_waiting_for_another_thread_to_load_ends_at_the_deadline() -> None:
    begun, done = threading.Event(), threading.Event()

    def load(_name: str) -> list[tuple[int]]:
        begun.set()
        done.wait(10)
        return [(1,)]

    base = FactBase(load=load, arities={"n": 1}, empty=())
    other = threading.Thread(target=lambda: prepare("n(X)").answer(base))
    other.start()
    begun.wait(10)
    taken, error = elapsed_until_stopped("n(X)", "", base, Limits(seconds=0.1))
    done.set()
    other.join()
    assert error.limit == "QUERY_SECONDS"
    assert taken < 0.1 + 3 * GRACE


def test_evaluations_in_several_threads_share_a_fact_base() -> None:
    base = FactBase({"e": [(i, (i * 7 + 3) % 500) for i in range(500)]})
    rules = "t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z)."
    expected = len(
        prepare("t(3, X)", rules).answer(FactBase({"e": [(i, (i * 7 + 3) % 500) for i in range(500)]})).rows
    )
    found: list[int] = []

    def work(start: int) -> None:
        rows = prepare("t(3, X)", rules + f" s{start}(X) :- t({start}, X).").answer(base).rows
        found.append(len(rows))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert found == [expected] * 6
