"""A shape to a Python function, by way of Python's own syntax tree.

The tree is built node by node from a ``Shape``, which holds nothing but small integers and flags: no text
of a rule, no name and no constant of a user is in it. Relations, constants and comparison functions reach
the function as arguments, under names that are a letter and a number.

The function has the parameters ``tick, total, new, delta``, one for each index, constant and comparison of
the shape, and one for each given variable. It adds the rows it derives to ``new`` unless ``total`` has them.
``tick`` is called every few thousand steps and returns how many to go until the next call; it raises to end
the work.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from openknowledge.engine.datalog.planning import Compare, Delta, Lookup, Member, Shape, Step

LOOPS_PER_FUNCTION = 12
"""Python nests at most 20 blocks; a longer join goes on in a further function."""

EMPTY: frozenset[int] = frozenset()

Join = Callable[..., int]


@lru_cache(maxsize=4_096)
def compiled(shape: Shape) -> Join:
    """Return the function for ``shape``."""
    tree = _Generator(shape).module()
    code = compile(tree, "<datalog join>", "exec", dont_inherit=True, optimize=2)
    namespace: dict[str, Any] = {"__builtins__": {}, "EMPTY": EMPTY}
    exec(code, namespace)  # noqa: S102 - the tree is ours: integers and flags of a checked rule, no text
    join: Join = namespace["f0"]
    return join


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _method(target: ast.expr, method: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(target, method, ast.Load()), list(arguments), [])


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([_store(name)], value)


def _compare(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> ast.Compare:
    return ast.Compare(left, [operator], [right])


def _not(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


class _Generator:
    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.functions: list[ast.stmt] = []
        self.waiting: list[tuple[int, int, list[str]]] = []
        self.parameters = [
            "tick",
            "total",
            "new",
            "delta",
            *(f"i{slot}" for slot in range(shape.indexes)),
            *(f"c{slot}" for slot in range(shape.constants)),
            *(f"t{slot}" for slot in range(shape.comparisons)),
        ]
        self.carrier = _carrier(shape)
        self.hoist = self._hoisted()

    def module(self) -> ast.Module:
        self.waiting.append((0, 0, [f"v{variable}" for variable in self.shape.given]))
        while self.waiting:
            self._function(*self.waiting.pop())
        module = ast.Module(list(reversed(self.functions)), [])
        return ast.fix_missing_locations(module)

    def _function(self, number: int, first: int, variables: list[str]) -> None:
        """Write function ``number``: the steps from ``first`` on, and what follows in further functions."""
        extra = ["n"] if number and self.shape.watched else []
        body: list[ast.stmt] = []
        if not number and self.shape.watched:
            body.append(_assign("n", ast.Call(_name("tick"), [], [])))
        self._steps(body, number, first, list(variables), in_loop=False, loops=0)
        body.append(ast.Return(_name("n") if self.shape.watched else ast.Constant(0)))
        parameters = [*self.parameters, *extra, *variables]
        arguments = ast.arguments([], [ast.arg(name) for name in parameters], None, [], [], None, [])
        self.functions.append(ast.FunctionDef(f"f{number}", arguments, body, [], None))

    def _steps(
        self, body: list[ast.stmt], number: int, at: int, variables: list[str], *, in_loop: bool, loops: int
    ) -> None:
        """Append the code of the steps from ``at`` on to ``body``; loops nest, tests jump out."""
        for place in range(at, len(self.shape.steps)):
            step = self.shape.steps[place]
            if isinstance(step, (Compare, Member)):
                body.append(self._guard(self._test(step), in_loop=in_loop))
                continue
            if place == self.carrier:
                inner = self._carried(body, step, variables, in_loop=in_loop)
                if inner is not None:
                    self._hoisting(inner, place)
                    self._steps(inner, number, place + 1, variables, in_loop=True, loops=loops + 1)
                    return
                continue
            if loops >= LOOPS_PER_FUNCTION:
                self._continue_elsewhere(body, number, place, variables)
                return
            inner, deeper = self._loop(body, step, place, variables)
            self._steps(inner, number, place + 1, variables, in_loop=True, loops=loops + deeper)
            return
        self._emit(body)

    def _continue_elsewhere(
        self, body: list[ast.stmt], number: int, place: int, variables: list[str]
    ) -> None:
        extra = [n for n in ("w", "tx", "nx") if n not in variables and self._defined(n, place)]
        passed = [*variables, *extra]
        self.waiting.append((number + 1, place, passed))
        names = [*self.parameters, *(["n"] if self.shape.watched else []), *passed]
        call = ast.Call(_name(f"f{number + 1}"), [_name(name) for name in names], [])
        body.append(_assign("n", call) if self.shape.watched else ast.Expr(call))

    def _defined(self, name: str, place: int) -> bool:
        if name == "w":
            return self.carrier is not None and self.carrier < place
        return self.hoist is not None and self.hoist < place

    # Steps

    def _argument(self, argument: int) -> ast.expr:
        return _name(f"v{argument}") if argument >= 0 else _name(f"c{-1 - argument}")

    def _row(self, arguments: tuple[int, ...]) -> ast.expr:
        if len(arguments) == 1:
            return self._argument(arguments[0])
        return ast.Tuple([self._argument(argument) for argument in arguments], ast.Load())

    def _guard(self, test: ast.expr, *, in_loop: bool) -> ast.stmt:
        """Leave this turn of the loop, or the function outside of loops, unless ``test`` holds."""
        leave: ast.stmt = ast.Continue()
        if not in_loop:
            leave = ast.Return(_name("n") if self.shape.watched else ast.Constant(0))
        return ast.If(_not(test), [leave], [])

    def _test(self, step: Compare | Member) -> ast.expr:
        if isinstance(step, Compare):
            return ast.Call(
                _name(f"t{step.slot}"), [self._argument(step.left), self._argument(step.right)], []
            )
        index = _name(f"i{step.slot}")
        operator: ast.cmpop = ast.In() if step.positive else ast.NotIn()
        if step.pair is None:
            return _compare(self._row(step.key), operator, index)
        group = _method(index, "get", self._row(step.key), _name("EMPTY"))
        return _compare(self._argument(step.pair), operator, group)

    def _values(self, step: Lookup) -> ast.expr:
        index = _name(f"i{step.slot}")
        return _method(index, "get", self._row(step.key), _name("EMPTY")) if step.key else index

    def _loop(
        self, body: list[ast.stmt], step: Step, place: int, variables: list[str]
    ) -> tuple[list[ast.stmt], int]:
        """Append the loop of ``step``; return where its inner code goes, and how many loops it nests."""
        if isinstance(step, Delta) and step.grouped:
            target, tests = self._targets(step.binds, step.fresh, variables)
            first, second = target
            inner: list[ast.stmt] = []
            outer: list[ast.stmt] = []
            pair = ast.Tuple([first, _store("ys")], ast.Store())
            body.append(ast.For(pair, _method(_name("delta"), "items"), outer, []))
            early = place == self.hoist and step.fresh[0] and step.binds[0] == self.shape.head[0]
            self._hoisting(outer if early else inner, place)
            outer.append(ast.For(second, _name("ys"), inner, []))
            self._turn(inner, tests)
            return inner, 2
        if isinstance(step, Delta):
            values: ast.expr = _name("delta")
        elif isinstance(step, Lookup):
            values = self._values(step)
        else:
            raise AssertionError("only deltas and lookups loop")
        target, tests = self._targets(step.binds, step.fresh, variables)
        row: ast.expr = target[0] if len(target) == 1 else ast.Tuple(list(target), ast.Store())
        inner = []
        if not target:
            row = _store("unused")
        body.append(ast.For(row, values, inner, []))
        self._hoisting(inner, place)
        self._turn(inner, tests)
        return inner, 1

    def _targets(
        self, binds: tuple[int, ...], fresh: tuple[bool, ...], variables: list[str]
    ) -> tuple[list[ast.expr], list[ast.expr]]:
        """Return what a loop assigns to, and the tests that repeated variables and constants then need."""
        targets: list[ast.expr] = []
        tests: list[ast.expr] = []
        for place, (argument, is_new) in enumerate(zip(binds, fresh, strict=True)):
            if is_new:
                targets.append(_store(f"v{argument}"))
                variables.append(f"v{argument}")
            else:
                targets.append(_store(f"x{place}"))
                tests.append(_compare(_name(f"x{place}"), ast.Eq(), self._argument(argument)))
        return targets, tests

    def _turn(self, inner: list[ast.stmt], tests: list[ast.expr]) -> None:
        """Begin the turn of a loop: count it, then go on only if ``tests`` hold."""
        self._count(inner, ast.Constant(1))
        inner.extend(self._guard(test, in_loop=True) for test in tests)

    def _count(self, body: list[ast.stmt], amount: ast.expr) -> None:
        if self.shape.watched:
            body.append(ast.AugAssign(_store("n"), ast.Sub(), amount))
            late = _compare(_name("n"), ast.Lt(), ast.Constant(0))
            body.append(ast.If(late, [_assign("n", ast.Call(_name("tick"), [], []))], []))

    # The head

    def _carried(
        self, body: list[ast.stmt], step: Step, variables: list[str], *, in_loop: bool
    ) -> list[ast.stmt] | None:
        """Bind ``w`` to the whole set of values for the head's last column, instead of looping over it."""
        if isinstance(step, Lookup):
            body.append(_assign("w", self._values(step)))
            body.append(self._guard(_name("w"), in_loop=in_loop))
            return None
        inner: list[ast.stmt] = []
        if not isinstance(step, Delta):
            raise AssertionError("only deltas and lookups carry a set")
        targets, tests = self._targets(step.binds[:1], step.fresh[:1], variables)
        body.append(
            ast.For(
                ast.Tuple([targets[0], _store("w")], ast.Store()), _method(_name("delta"), "items"), inner, []
            )
        )
        self._turn(inner, tests)
        return inner

    def _hoisted(self) -> int | None:
        """Return the step after which the head's first column is known, if loops follow it."""
        if not self.shape.grouped or self.shape.head[0] < 0:
            return None
        first = self.shape.head[0]
        for place, step in enumerate(self.shape.steps):
            if isinstance(step, (Delta, Lookup)) and any(
                argument == first and is_new for argument, is_new in zip(step.binds, step.fresh, strict=True)
            ):
                later = self.shape.steps[place + 1 :]
                return place if any(isinstance(s, Lookup) for s in later) else None
        return None

    def _hoisting(self, inner: list[ast.stmt], place: int) -> None:
        if place == self.hoist:
            first = self._argument(self.shape.head[0])
            inner.append(_assign("tx", _method(_name("total"), "get", first, _name("EMPTY"))))
            inner.append(_assign("nx", ast.Subscript(_name("new"), first, ast.Load())))

    def _emit(self, body: list[ast.stmt]) -> None:
        shape = self.shape
        if shape.collect:
            body.append(ast.Expr(_method(_name("new"), "add", self._tuple(shape.head))))
            return
        if not shape.grouped:
            body.append(_assign("row", self._row(shape.head)))
            add = ast.Expr(_method(_name("new"), "add", _name("row")))
            body.append(ast.If(_compare(_name("row"), ast.NotIn(), _name("total")), [add], []))
            return
        first, second = (self._argument(argument) for argument in shape.head)
        hoisted = self.hoist is not None
        known: ast.expr = _name("tx")
        if not hoisted:
            known = _method(_name("total"), "get", first, _name("EMPTY"))
        group: ast.expr = _name("nx") if hoisted else ast.Subscript(_name("new"), first, ast.Load())
        if self.carrier is None:
            add = ast.Expr(_method(group, "add", second))
            body.append(ast.If(_compare(second, ast.NotIn(), known), [add], []))
            return
        # counted by size: one turn of such a loop can derive any number of rows
        self._count(body, _method(_name("w"), "__len__"))
        body.append(_assign("fresh", _method(_name("w"), "difference", known)))
        body.append(ast.If(_name("fresh"), [ast.Expr(_method(group, "update", _name("fresh")))], []))

    def _tuple(self, arguments: tuple[int, ...]) -> ast.expr:
        return ast.Tuple([self._argument(argument) for argument in arguments], ast.Load())


def _carrier(shape: Shape) -> int | None:
    """Return the step whose values for the head's last column can be taken as a set.

    That is so when exactly this step gives the variable its value, in a column of its own, and nothing but
    the head needs it.
    """
    if not shape.grouped:
        return None
    first, second = shape.head
    if second < 0 or first == second or second in shape.given:
        return None
    binding: int | None = None
    for place, step in enumerate(shape.steps):
        if isinstance(step, Compare):
            uses = [step.left, step.right]
        elif isinstance(step, Member):
            uses = [*step.key, *([] if step.pair is None else [step.pair])]
        elif isinstance(step, Lookup):
            uses = [*step.key, *step.binds]
            if step.binds == (second,) and second not in step.key:
                binding, uses = place, list(step.key)
        else:
            uses = list(step.binds)
            if step.grouped and step.binds[1] == second and step.binds[0] != second:
                binding, uses = place, [step.binds[0]]
        if second in uses:
            return None
    return binding
