"""The first instance of a rule that yields a fact: premises in the order of the text, facts in display order.

Not every instance is made to find it. Once the head has its values, premises that are not connected through
other variables are independent, and the first instance has the first choice of each group. Within a group all
instances are made and compared where they are few. Else one premise after the other gets its fact: a join,
ordered by selectivity, finds the facts for it that leave the premises connected to it satisfiable; of these
the first in display order is tried first. Both ways find the same instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from openknowledge.engine.datalog.base import Row
from openknowledge.engine.datalog.clauses import Clause, Literal, LoweredRule
from openknowledge.engine.datalog.values import Value, display

Solution = tuple[int, ...]

Join = Callable[[Sequence[int]], list[Solution] | None]
"""Finds values of the variables wanted, from those of the given variables in order of their positions.

``None`` stands for too many."""

_FEW = 200
"""Up to how many instances are compared; the work to find out that there are more is a few times that."""


class Joiner(Protocol):
    """Makes a ``Join`` for a clause, the given and the wanted variables, with the most solutions to find."""

    def __call__(
        self, clause: Clause, given: frozenset[int], wanted: tuple[int, ...], most: int | None = None
    ) -> Join:
        """Return the join."""
        ...


class Heights(Protocol):
    """What the search asks about facts."""

    def round_of(self, predicate: str, row: Row) -> int | None:
        """Return the height of the fact, ``None`` if it does not hold."""
        ...

    def value(self, number: int) -> Value:
        """Return the value with this number."""
        ...


@dataclass(frozen=True, slots=True)
class _Choice:
    """A premise whose fact is to be chosen: its literal, the variables it gets, and the given ones."""

    literal: Literal
    wanted: tuple[int, ...]
    given: tuple[int, ...]
    clause: Clause


@dataclass(slots=True)
class _Group:
    """Premises that are connected, one choice each; ``whole`` joins them all, until it found too many."""

    choices: list[_Choice]
    whole: _Choice | None = field(default=None)


class FirstInstance:
    """Finds the first instance of one rule for facts of its head."""

    def __init__(self, rule: LoweredRule, facts: Heights, joiner: Joiner) -> None:
        self.clause = rule.clause
        self.facts = facts
        self._joiner = joiner
        self._joins: dict[int, Join] = {}
        self._shown: dict[int, str] = {}
        self._filters, self._groups = self._choices()

    def find(self, given: Mapping[int, int], height: int) -> Solution | None:
        """Return the values of all variables in the first instance whose facts are lower than ``height``.

        ``given`` are the values of the head's variables. ``None`` means that there is no such instance.
        """
        values = dict(given)
        if self._filters is not None and not self._join(self._filters, values):
            return None
        for group in self._groups:
            found = self._compared(group, values, height) if group.whole is not None else None
            if found is None:
                found = self._first(group.choices, values, height)
            if not found:
                return None
        return tuple(values[variable] for variable in range(self.clause.width))

    def _compared(self, group: _Group, values: dict[int, int], height: int) -> bool | None:
        """Put the first of all instances into ``values``; ``None`` when they are too many to compare."""
        whole = group.whole
        if whole is None:
            return None
        solutions = self._join(whole, values, _FEW)
        if solutions is None:
            group.whole = None
            return None
        best: tuple[tuple[str, ...], dict[int, int]] | None = None
        for solution in solutions:
            extended = dict(zip(whole.wanted, solution, strict=True))
            if all(self._is_low(choice.literal, values, extended, height) for choice in group.choices):
                key = tuple(self._display(choice.literal, values, extended) for choice in group.choices)
                if best is None or key < best[0]:
                    best = key, extended
        if best is None:
            return False
        values.update(best[1])
        return True

    def _first(self, group: Sequence[_Choice], values: dict[int, int], height: int) -> bool:
        """Put the first choice for every premise of ``group`` into ``values``."""
        stack: list[Iterator[Solution]] = []
        while len(stack) < len(group):
            stack.append(self._candidates(group[len(stack)], values, height))
            while stack:
                chosen = next(stack[-1], None)
                if chosen is not None:
                    values.update(zip(group[len(stack) - 1].wanted, chosen, strict=True))
                    break
                stack.pop()
            else:
                return False
        return True

    def _candidates(self, choice: _Choice, values: Mapping[int, int], height: int) -> Iterator[Solution]:
        found = (self._join(choice, values) or []) if choice.wanted else [()]
        low: list[Solution] = []
        for solution in found:
            extended = dict(zip(choice.wanted, solution, strict=True))
            if self._is_low(choice.literal, values, extended, height):
                low.append(solution)
        if len(low) > 1:
            low.sort(
                key=lambda solution: self._display(
                    choice.literal, values, dict(zip(choice.wanted, solution, strict=True))
                )
            )
        return iter(low)

    def _is_low(
        self, literal: Literal, values: Mapping[int, int], extended: Mapping[int, int], height: int
    ) -> bool:
        round_ = self.facts.round_of(str(literal.predicate), self._row(literal, values, extended))
        return round_ is not None and round_ < height

    def _join(
        self, choice: _Choice, values: Mapping[int, int], most: int | None = None
    ) -> list[Solution] | None:
        join = self._joins.get(id(choice))
        if join is None:
            join = self._joiner(choice.clause, frozenset(choice.given), choice.wanted, most)
            self._joins[id(choice)] = join
        return join([values[variable] for variable in choice.given])

    def _row(self, literal: Literal, values: Mapping[int, int], extended: Mapping[int, int]) -> Row:
        numbers = tuple(
            self.clause.constants[-1 - argument]
            if argument < 0
            else extended[argument]
            if argument in extended
            else values[argument]
            for argument in literal.arguments
        )
        return numbers[0] if len(numbers) == 1 else numbers

    def _display(self, literal: Literal, values: Mapping[int, int], extended: Mapping[int, int]) -> str:
        row = self._row(literal, values, extended)
        return ",".join(map(self._show, row if isinstance(row, tuple) else (row,)))

    def _show(self, number: int) -> str:
        shown = self._shown.get(number)
        if shown is None:
            shown = self._shown[number] = display(self.facts.value(number))
        return shown

    # What depends on the rule alone

    def _choices(self) -> tuple[_Choice | None, list[_Group]]:
        """Return the filters over the head alone, and the premises in independent groups."""
        clause = self.clause
        bound = set(clause.head.variables())
        groups: list[_Group] = []
        waiting = list(range(len(clause.positive)))
        while waiting:
            connected = _connected(clause, waiting[0], waiting, bound)
            groups.append(self._group([place for place in waiting if place in connected], set(bound)))
            waiting = [place for place in waiting if place not in connected]
        tests = tuple(test for test in clause.tests if test.variables() <= bound)
        negative = tuple(literal for literal in clause.negative if literal.variables() <= bound)
        filters = None
        if tests or negative:
            filtering = Clause(clause.head, (), negative, tests, clause.constants, clause.width)
            filters = _Choice(clause.head, (), tuple(sorted(bound)), filtering)
        return filters, groups

    def _group(self, places: Sequence[int], bound: set[int]) -> _Group:
        clause = self.clause
        choices: list[_Choice] = []
        for at, place in enumerate(places):
            literal = clause.positive[place]
            connected = _connected(clause, place, places[at:], bound)
            positive = tuple(clause.positive[p] for p in places[at:] if p in connected)
            reach = bound.union(*(other.variables() for other in positive))
            tests = tuple(t for t in clause.tests if t.variables() <= reach and not t.variables() <= bound)
            negative = tuple(
                n for n in clause.negative if n.variables() <= reach and not n.variables() <= bound
            )
            joined = Clause(clause.head, positive, negative, tests, clause.constants, clause.width)
            given = tuple(sorted(bound & _variables(joined)))
            choices.append(_Choice(literal, tuple(sorted(literal.variables() - bound)), given, joined))
            bound |= literal.variables()
        if len(choices) < 2:
            return _Group(choices)
        first = choices[0]
        wanted = tuple(sorted({variable for choice in choices for variable in choice.wanted}))
        return _Group(choices, _Choice(first.literal, wanted, first.given, first.clause))


def _variables(clause: Clause) -> set[int]:
    literals = set().union(*(literal.variables() for literal in (*clause.positive, *clause.negative)))
    return literals.union(*(test.variables() for test in clause.tests))


def _connected(clause: Clause, start: int, places: Sequence[int], bound: set[int]) -> set[int]:
    """Return the premises among ``places`` that unbound variables connect with premise ``start``."""
    users: dict[int, list[int]] = {}
    links: dict[int, list[int]] = {}
    for place in places:
        for variable in clause.positive[place].variables() - bound:
            users.setdefault(variable, []).append(place)
    parts = [literal.variables() for literal in clause.negative]
    for variables in (*parts, *(test.variables() for test in clause.tests)):
        free = sorted(variables - bound)
        for variable in free[1:]:
            links.setdefault(free[0], []).append(variable)
            links.setdefault(variable, []).append(free[0])
    found = {start}
    pending = sorted(clause.positive[start].variables() - bound)
    seen = set(pending)
    while pending:
        variable = pending.pop()
        for place in users.pop(variable, ()):
            found.add(place)
            for other in clause.positive[place].variables() - bound - seen:
                seen.add(other)
                pending.append(other)
        for other in links.get(variable, ()):
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return found
