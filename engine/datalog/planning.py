"""The order in which a clause joins its premises, and the index each step needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from openknowledge.engine.datalog.base import IndexSpec
from openknowledge.engine.datalog.clauses import ANY, Clause, Literal, Predicate


class Statistics(Protocol):
    """What the planner knows of relations."""

    def matches(self, predicate: Predicate, bound: Sequence[int]) -> float:
        """Return about how many rows of ``predicate`` fit given values for the ``bound`` columns."""
        ...


@dataclass(frozen=True, slots=True)
class Delta:
    """Loop over the newest rows of a premise. ``binds`` gives a variable for each column, or its test."""

    binds: tuple[int, ...]
    fresh: tuple[bool, ...]
    grouped: bool


@dataclass(frozen=True, slots=True)
class Lookup:
    """Loop over what index ``slot`` holds under ``key`` (over all of it, when the key is empty).

    ``binds`` are the arguments of the columns that come out; ``fresh`` tells which get their value here, the
    others are repeated variables and are compared.
    """

    slot: int
    key: tuple[int, ...]
    binds: tuple[int, ...]
    fresh: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """Go on only if index ``slot`` has ``key``; with ``pair``, if it has the value ``pair`` under ``key``.

    ``positive`` false turns the test around.
    """

    slot: int
    key: tuple[int, ...]
    pair: int | None
    positive: bool


@dataclass(frozen=True, slots=True)
class Compare:
    """Go on only if comparison function ``slot`` holds."""

    slot: int
    left: int
    right: int


Step = Delta | Lookup | Member | Compare


@dataclass(frozen=True, slots=True)
class Shape:
    """All that generated code depends on. Two clauses of one shape share their code.

    ``head`` are the arguments emitted; ``grouped`` tells whether the head's relation keeps its rows as
    groups; ``given`` are the variables bound before the first step; ``watched`` tells whether loops look at
    the clock.
    """

    steps: tuple[Step, ...]
    head: tuple[int, ...]
    grouped: bool
    collect: bool
    given: tuple[int, ...]
    constants: int
    indexes: int
    comparisons: int
    watched: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A shape with the relations and comparisons of its slots. ``delta`` is the premise looped first."""

    shape: Shape
    indexes: tuple[tuple[Predicate, IndexSpec], ...]
    negated: frozenset[int]
    comparisons: tuple[str, ...]
    delta: Predicate | None


def plan(
    clause: Clause,
    statistics: Statistics,
    *,
    delta: int | None = None,
    grouped_delta: bool = False,
    given: frozenset[int] = frozenset(),
    collect: tuple[int, ...] | None = None,
    watched: bool = False,
    check: Callable[[], None] | None = None,
) -> Plan:
    """Return the plan of ``clause``, with premise ``delta`` first, the others by selectivity.

    With ``collect`` the plan finds the values of these variables, given those of ``given``, and otherwise
    the rows of the head. It loops only over columns that something still needs.
    """
    return _Planner(clause, statistics, given, collect, check).plan(delta, grouped_delta, watched)


class _Planner:
    def __init__(
        self,
        clause: Clause,
        statistics: Statistics,
        given: frozenset[int],
        collect: tuple[int, ...] | None,
        check: Callable[[], None] | None,
    ) -> None:
        self.check = check or (lambda: None)
        self.clause = clause
        self.statistics = statistics
        self.given = given
        self.collect = collect
        self.bound = set(given)
        self.steps: list[Step] = []
        self.indexes: list[tuple[Predicate, IndexSpec]] = []
        self.negated: set[int] = set()
        self.comparisons: list[str] = []
        self.waiting_tests = list(clause.tests)
        self.waiting_negative = list(clause.negative)

    def plan(self, delta: int | None, grouped_delta: bool, watched: bool) -> Plan:
        order = self._order(delta)
        self._filters()
        for place, literal in enumerate(order):
            self.check()
            later = order[place + 1 :]
            if place == 0 and delta is not None:
                self._delta(literal, grouped_delta)
            else:
                self._join(literal, later)
            self._filters()
        head = self.clause.head.arguments if self.collect is None else self.collect
        shape = Shape(
            steps=tuple(self.steps),
            head=head,
            grouped=self.collect is None and len(head) == 2,
            collect=self.collect is not None,
            given=tuple(sorted(self.given)),
            constants=len(self.clause.constants),
            indexes=len(self.indexes),
            comparisons=len(self.comparisons),
            watched=watched,
        )
        first = self.clause.positive[delta].predicate if delta is not None else None
        return Plan(shape, tuple(self.indexes), frozenset(self.negated), tuple(self.comparisons), first)

    def _order(self, delta: int | None) -> list[Literal]:
        waiting = list(self.clause.positive)
        bound = set(self.given)
        order: list[Literal] = []
        if delta is not None:
            order.append(waiting.pop(delta))
            bound |= order[0].variables()
        uses = [literal.variables() for literal in waiting]
        costs = [self._cost(literal, bound) for literal in waiting]
        while waiting:
            self.check()
            best = costs.index(min(costs))
            chosen = waiting.pop(best)
            del costs[best]
            fresh = uses.pop(best) - bound
            order.append(chosen)
            if fresh:
                bound |= fresh
                for place, used in enumerate(uses):
                    if not fresh.isdisjoint(used):
                        costs[place] = self._cost(waiting[place], bound)
        return order

    def _cost(self, literal: Literal, bound: set[int]) -> float:
        columns = [
            column for column, argument in enumerate(literal.arguments) if argument < 0 or argument in bound
        ]
        return self.statistics.matches(literal.predicate, columns)

    def _needed(self, later: Sequence[Literal]) -> set[int]:
        needed = self.clause.head.variables() if self.collect is None else set(self.collect)
        for literal in (*later, *self.waiting_negative):
            needed |= literal.variables()
        for test in self.waiting_tests:
            needed |= test.variables()
        return needed

    def _delta(self, literal: Literal, grouped: bool) -> None:
        fresh: list[bool] = []
        for argument in literal.arguments:
            is_new = argument >= 0 and argument not in self.bound
            fresh.append(is_new)
            if is_new:
                self.bound.add(argument)
        self.steps.append(Delta(literal.arguments, tuple(fresh), grouped))

    def _join(self, literal: Literal, later: Sequence[Literal]) -> None:
        arguments = literal.arguments
        key_columns = tuple(c for c, a in enumerate(arguments) if a < 0 or a in self.bound)
        needed = self._needed(later)
        repeated = {a for a in arguments if arguments.count(a) > 1}
        out_columns = tuple(
            c for c, a in enumerate(arguments) if c not in key_columns and (a in needed or a in repeated)
        )
        key = tuple(arguments[column] for column in key_columns)
        if not out_columns:
            self._member(literal.predicate, key_columns, key, len(arguments), positive=True)
            return
        slot = self._slot(literal.predicate, (key_columns, out_columns))
        binds = tuple(arguments[column] for column in out_columns)
        fresh: list[bool] = []
        for argument in binds:
            fresh.append(argument not in self.bound)
            self.bound.add(argument)
        self.steps.append(Lookup(slot, key, binds, tuple(fresh)))

    def _member(
        self,
        predicate: Predicate,
        columns: tuple[int, ...],
        key: tuple[int, ...],
        arity: int,
        *,
        positive: bool,
    ) -> None:
        if arity == 2 and len(columns) == 2:
            # both columns of a pair are known: look into the group of the first, no pair need be made
            slot = self._slot(predicate, ((0,), (1,)))
            self.steps.append(Member(slot, key[:1], key[1], positive))
        else:
            slot = self._slot(predicate, (columns, ()))
            self.steps.append(Member(slot, key, None, positive))
        if not positive:
            self.negated.add(slot)

    def _slot(self, predicate: Predicate, spec: IndexSpec) -> int:
        self.indexes.append((predicate, spec))
        return len(self.indexes) - 1

    def _filters(self) -> None:
        for test in list(self.waiting_tests):
            if test.variables() <= self.bound:
                self.waiting_tests.remove(test)
                self.comparisons.append(test.operator)
                self.steps.append(Compare(len(self.comparisons) - 1, test.left, test.right))
        for literal in list(self.waiting_negative):
            if literal.variables() <= self.bound:
                self.waiting_negative.remove(literal)
                columns = tuple(c for c, a in enumerate(literal.arguments) if a != ANY)
                key = tuple(literal.arguments[column] for column in columns)
                self._member(literal.predicate, columns, key, len(literal.arguments), positive=False)
