"""Generated code: what is in it, and how deep it may nest."""

from __future__ import annotations

import types
from collections.abc import Iterator

import pytest
from openknowledge.engine.datalog import codegen, evaluate
from openknowledge.engine.datalog.planning import Shape


def constants_of(code: types.CodeType) -> Iterator[object]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from constants_of(constant)
        else:
            yield constant


def names_of(code: types.CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_varnames)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_of(constant)


def test_nothing_of_a_user_is_in_generated_code(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[codegen.Join] = []
    original = codegen.compiled.__wrapped__

    def compiled(shape: Shape) -> codegen.Join:
        made.append(original(shape))
        return made[-1]

    monkeypatch.setattr("openknowledge.engine.datalog.evaluation.compiled", compiled)
    rules = 'danger(Secret, "payload") :- victim(Secret, Other), victim(Other, "payload"), Secret != 4711.'
    evaluate(rules, {"victim": [("a", "b"), ("b", "payload")]})
    assert made
    for join in made:
        assert set(map(type, constants_of(join.__code__))) <= {int, type(None), str, tuple}
        text = " ".join([*map(str, constants_of(join.__code__)), *names_of(join.__code__)]).lower()
        for word in ("danger", "secret", "payload", "victim", "other", "4711"):
            assert word not in text


def test_generated_code_has_no_builtins() -> None:
    join = codegen.compiled(Shape((), (-1,), False, False, (), 1, 0, 0, False))
    assert join.__globals__["__builtins__"] == {}


@pytest.mark.parametrize("count", [2, 11, 12, 13, 24, 25, 40, 200])
def test_joins_of_any_length_run(count: int) -> None:
    premises = ", ".join(f"e(X{i}, X{i + 1})" for i in range(count))
    edges = [(i, i + 1) for i in range(count + 1)]
    for head in (f"p(X0, X{count})", f"p(X{count}, X0)", f"p(X0, X{count // 2}, X{count})"):
        model = evaluate(f"{head} :- {premises}.", {"e": edges})
        assert len(model["p"]) == 2
        row = min(model["p"], key=str)
        assert len(model.proof("p", row).inputs) == count


def test_rules_of_one_shape_share_their_code() -> None:
    codegen.compiled.cache_clear()
    rules = "".join(f"p{i}(X, Y) :- e(X, Z), e(Z, Y), e(Y, {i}).\n" for i in range(50))
    evaluate(rules, {"e": [(1, 2)]})
    assert codegen.compiled.cache_info().currsize == 1


def test_a_row_of_200_columns_goes_through() -> None:
    names = ",".join(f"X{i}" for i in range(200))
    model = evaluate(f"q({names}) :- p({names}).", {"p": [tuple(range(200))]})
    assert list(model["q"]) == [tuple(range(200))]
