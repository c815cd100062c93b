"""What the proof checker must know of facts that are absent: a small evaluator of its own.

It is written apart from the engine, over plain values and without code generation or rounds, so that a fault
in one is found by the other. It derives no more than the predicates it is asked about can see.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from fractions import Fraction

from openknowledge.engine.datalog.syntax import (
    Aggregate,
    Atom,
    Comparison,
    Constant,
    Negation,
    Premise,
    Rule,
    Term,
    Variable,
    Wildcard,
)
from openknowledge.engine.datalog.values import Name, Value
from openknowledge.engine.errors import LimitError

Facts = Callable[[str], Iterable[Sequence[Value]]]
Row = tuple[Value, ...]
Binding = dict[str, Value]


class ClosedWorld:
    """The base facts and, for predicates asked about, all that rules derive from them."""

    def __init__(
        self,
        rules: Sequence[Rule],
        facts: Facts,
        seconds: float | None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._facts = facts
        self._now = now
        self._seconds = seconds
        self._deadline = None if seconds is None else now() + seconds
        self._by_head: dict[str, list[Rule]] = {}
        for rule in rules:
            self._by_head.setdefault(rule.head.predicate, []).append(rule)
        self._base: dict[str, frozenset[Row]] = {}
        self._complete: dict[str, set[Row]] = {}
        self._indexes: dict[tuple[str, tuple[int, ...]], dict[Row, list[Row]]] = {}

    def check_time(self) -> None:
        """Raise ``LimitError`` past the deadline."""
        if self._deadline is not None and self._now() > self._deadline:
            message = f"checking the proof was stopped after its time limit of {self._seconds:g} s"
            raise LimitError(message, limit="QUERY_SECONDS")

    def asserted(self, predicate: str, row: Row) -> bool:
        """Return whether a fact is a base fact."""
        return row in self.base(predicate)

    def base(self, predicate: str) -> frozenset[Row]:
        """Return the base facts of a predicate."""
        found = self._base.get(predicate)
        if found is None:
            found = self._base[predicate] = frozenset(
                tuple(map(_normal, row)) for row in self._facts(predicate)
            )
        return found

    def matches(self, atom: Atom) -> bool:
        """Return whether any fact, base or derived, matches ``atom``, whose variables match anything."""
        return next(self._joined(atom, {}, self._rows(atom.predicate)), None) is not None

    def solutions(self, rule: Rule, given: Mapping[str, Value]) -> list[Binding]:
        """Return every way to satisfy the premises, wildcards included, with the ``given`` values."""
        named = numbered(rule)
        for premise in named.premises:
            if not isinstance(premise, Comparison):
                self._rows(premise.predicate if isinstance(premise, Atom) else premise.atom.predicate)
        return list(self._satisfied(named, dict(given)))

    # Deriving

    def _rows(self, predicate: str) -> set[Row]:
        found = self._complete.get(predicate)
        if found is not None:
            return found
        for component in self._components(predicate):
            self._derive(component)
        return self._complete[predicate]

    def _components(self, start: str) -> list[list[str]]:
        """Return what ``start`` sees and is not complete, in groups that need each other, lowest first."""
        order: list[str] = []
        users: dict[str, set[str]] = {}
        seen = {start}
        stack: list[tuple[str, Iterator[str]]] = [(start, iter(self._needs(start)))]
        while stack:
            name, needs = stack[-1]
            for need in needs:
                users.setdefault(need, set()).add(name)
                if need not in seen and need not in self._complete:
                    seen.add(need)
                    stack.append((need, iter(self._needs(need))))
                    break
            else:
                stack.pop()
                order.append(name)
        # Kosaraju: against the edges, in reverse order of completion
        groups: list[list[str]] = []
        placed: set[str] = set()
        for root in reversed(order):
            if root in placed:
                continue
            placed.add(root)
            group = [root]
            for name in group:
                for user in sorted(users.get(name, ())):
                    if user in seen and user not in placed:
                        placed.add(user)
                        group.append(user)
            groups.append(group)
        groups.reverse()
        return groups

    def _needs(self, predicate: str) -> list[str]:
        needs: dict[str, None] = {}
        for rule in self._by_head.get(predicate, ()):
            for premise in rule.premises:
                if isinstance(premise, Atom):
                    needs[premise.predicate] = None
                elif isinstance(premise, Negation):
                    needs[premise.atom.predicate] = None
        return list(needs)

    def _derive(self, component: Sequence[str]) -> None:
        """Derive a group of predicates, all it needs being complete."""
        for name in component:
            self._complete[name] = set(self.base(name))
        rules = [numbered(rule) for name in component for rule in self._by_head.get(name, ())]
        for rule in rules:
            if rule.is_aggregate:
                self._add(rule.head.predicate, self._aggregated(rule))
        rules = [rule for rule in rules if not rule.is_aggregate]
        newest: dict[str, set[Row]] = {}
        for rule in rules:
            fresh = self._add(rule.head.predicate, {_row(rule, b) for b in self._satisfied(rule, {})})
            newest.setdefault(rule.head.predicate, set()).update(fresh)
        inside = set(component)
        while any(newest.values()):
            last, newest = newest, {}
            for rule in rules:
                for premise in rule.premises:
                    if isinstance(premise, Atom) and premise.predicate in inside:
                        rows = last.get(premise.predicate)
                        if rows:
                            found = {_row(rule, b) for b in self._satisfied(rule, {}, premise, rows)}
                            fresh = self._add(rule.head.predicate, found)
                            newest.setdefault(rule.head.predicate, set()).update(fresh)

    def _add(self, predicate: str, rows: set[Row]) -> set[Row]:
        known = self._complete[predicate]
        fresh = rows - known
        known |= fresh
        for (name, columns), index in self._indexes.items():
            if name == predicate:
                for row in fresh:
                    index.setdefault(tuple(row[c] for c in columns if c < len(row)), []).append(row)
        return fresh

    def _aggregated(self, rule: Rule) -> set[Row]:
        groups: dict[Row, list[Binding]] = {}
        keys = [term.name for term in rule.head.arguments if isinstance(term, Variable)]
        for binding in self._satisfied(rule, {}):
            groups.setdefault(tuple(binding[key] for key in keys), []).append(binding)
        rows: set[Row] = set()
        for members in groups.values():
            row: list[Value] = []
            for term in rule.head.arguments:
                if isinstance(term, Aggregate):
                    value = fold(term.function, [member[term.variable.name] for member in members])
                    if value is not None:
                        row.append(value)
                else:
                    row.append(_value(term, members[0]))
            if len(row) == len(rule.head.arguments):
                rows.add(tuple(row))
        return rows

    # Joining

    def _satisfied(
        self, rule: Rule, given: Binding, newest: Atom | None = None, rows: set[Row] | None = None
    ) -> Iterator[Binding]:
        """Yield the bindings that satisfy the premises, ``newest`` only by ``rows``."""
        waiting = [premise for premise in rule.premises if premise is not newest]
        steps: list[Premise] = [] if newest is None else [newest]
        bound = set(given)
        if newest is not None:
            bound |= {variable.name for variable in newest.variables()}
        while waiting:
            chosen = min(waiting, key=lambda premise: _eagerness(premise, bound))
            waiting.remove(chosen)
            steps.append(chosen)
            if isinstance(chosen, Atom):
                bound |= {variable.name for variable in chosen.variables()}
        stack: list[Iterator[Binding]] = [iter([given])]
        while stack:
            self.check_time()
            binding = next(stack[-1], None)
            if binding is None:
                stack.pop()
            elif len(stack) > len(steps):
                yield binding
            else:
                step = steps[len(stack) - 1]
                only = rows if step is newest and newest is not None else None
                stack.append(self._step(step, binding, only))

    def _step(self, premise: Premise, binding: Binding, only: set[Row] | None) -> Iterator[Binding]:
        if isinstance(premise, Comparison):
            left, right = _value(premise.left, binding), _value(premise.right, binding)
            return iter([binding] if compare(left, premise.operator, right) else [])
        if isinstance(premise, Negation):
            rows = self._complete[premise.atom.predicate]
            found = next(self._joined(premise.atom, binding, rows), None)
            return iter([binding] if found is None else [])
        rows = self._complete[premise.predicate]
        return self._joined(premise, binding, rows if only is None else only, indexed=only is None)

    def _joined(
        self, atom: Atom, binding: Binding, rows: set[Row], *, indexed: bool = True
    ) -> Iterator[Binding]:
        known: dict[int, Value] = {}
        for column, term in enumerate(atom.arguments):
            if isinstance(term, Constant):
                known[column] = term.value
            elif isinstance(term, Variable) and term.name in binding:
                known[column] = binding[term.name]
        candidates: Iterable[Row] = list(rows)
        if indexed and known:
            columns = tuple(known)
            index = self._indexes.get((atom.predicate, columns))
            if index is None:
                index = self._indexes[atom.predicate, columns] = {}
                for row in rows:
                    index.setdefault(tuple(row[c] for c in columns if c < len(row)), []).append(row)
            candidates = tuple(index.get(tuple(known.values()), ()))
        for row in candidates:
            if len(row) != len(atom.arguments) or any(row[c] != value for c, value in known.items()):
                continue
            extended = dict(binding)
            for term, value in zip(atom.arguments, row, strict=True):
                if isinstance(term, Variable) and extended.setdefault(term.name, value) != value:
                    break
            else:
                yield extended


def _eagerness(premise: Premise, bound: set[str]) -> tuple[int, int]:
    if isinstance(premise, Atom):
        unbound = len({variable.name for variable in premise.variables()} - bound)
        return (1, unbound)
    variables = premise.atom.variables() if isinstance(premise, Negation) else premise.variables()
    return (0, 0) if {variable.name for variable in variables} <= bound else (2, 0)


def numbered(rule: Rule) -> Rule:
    """Return ``rule`` with each wildcard of a positive premise as a variable of its own."""
    count = 0
    premises: list[Premise] = []
    for premise in rule.premises:
        if isinstance(premise, Atom):
            terms: list[Term] = []
            for term in premise.arguments:
                if isinstance(term, Wildcard):
                    count += 1
                    terms.append(Variable(f"_ {count}"))
                else:
                    terms.append(term)
            premises.append(Atom(premise.predicate, tuple(terms)))
        else:
            premises.append(premise)
    return Rule(rule.head, tuple(premises), rule.span, rule.source)


def substituted(premise: Premise, binding: Mapping[str, Value]) -> Premise:
    """Return ``premise`` with the values of ``binding`` put in."""
    if isinstance(premise, Negation):
        return Negation(_substituted_atom(premise.atom, binding))
    if isinstance(premise, Comparison):
        return Comparison(_put(premise.left, binding), premise.operator, _put(premise.right, binding))
    return _substituted_atom(premise, binding)


def _substituted_atom(atom: Atom, binding: Mapping[str, Value]) -> Atom:
    return Atom(atom.predicate, tuple(_put(term, binding) for term in atom.arguments))


def _put(term: Term, binding: Mapping[str, Value]) -> Term:
    if isinstance(term, Variable) and term.name in binding:
        return Constant(binding[term.name])
    return term


def instances(rule: Rule, solutions: Sequence[Mapping[str, Value]]) -> list[tuple[str, str]]:
    """Return every premise instance of ``solutions`` once, by premise and display string, with its kind."""
    named = numbered(rule)
    found: set[tuple[int, str, str]] = set()
    for place, premise in enumerate(named.premises):
        kind = "fact"
        if not isinstance(premise, Atom):
            kind = "comparison" if isinstance(premise, Comparison) else "closed-world-absence"
        for solution in solutions:
            found.add((place, str(substituted(premise, solution)), kind))
    return [(kind, shown) for _, shown, kind in sorted(found)]


def _row(rule: Rule, binding: Mapping[str, Value]) -> Row:
    return tuple(_value(term, binding) for term in rule.head.arguments)


def _value(term: Term, binding: Mapping[str, Value]) -> Value:
    if isinstance(term, Constant):
        return term.value
    if isinstance(term, Variable):
        return binding[term.name]
    raise AssertionError("a checked rule has a value here")


def _normal(value: Value) -> Value:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


# Comparing and folding, written a second time

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_ZONED = re.compile(r"(.+?)(Z|[+-]\d{2}:\d{2})?", re.ASCII | re.DOTALL)
_CLOCK = re.compile(r"(\d{2}):(\d{2}):(\d{2}(?:\.\d{1,40})?)", re.ASCII)


def moment(text: str) -> Fraction | None:
    """Return the seconds since the year 1 of a date or dateTime, ``None`` for other text."""
    if not _DATE.match(text):
        return None
    zoned = _ZONED.fullmatch(text)
    if zoned is None:
        return None
    body, zone = zoned.groups()
    day, separator, clock = body.partition("T")
    if not _DATE.fullmatch(day) or (separator and not _CLOCK.fullmatch(clock)):
        return None
    try:
        seconds = Fraction(date.fromisoformat(day).toordinal() * 86_400)
    except ValueError:
        return None
    if separator:
        hours, minutes, rest = clock.split(":")
        time_of_day = Fraction(int(hours) * 3600 + int(minutes) * 60) + Fraction(rest)
        if int(minutes) > 59 or Fraction(rest) >= 60 or time_of_day > 86_400:
            return None
        seconds += time_of_day
    if zone and zone != "Z":
        if int(zone[1:3]) > 14 or int(zone[4:6]) > 59:
            return None
        away = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
        seconds += away if zone[0] == "-" else -away
    return seconds


def compare(left: Value, operator: str, right: Value) -> bool:
    """Return whether the comparison holds."""
    if isinstance(left, str) and isinstance(right, str):
        first, second = moment(left), moment(right)
        if first is not None and second is not None:
            order = (first > second) - (first < second)
        else:
            order = (left > right) - (left < right)
    elif isinstance(left, Name) and isinstance(right, Name):
        order = (left.text > right.text) - (left.text < right.text)
    elif isinstance(left, (int, float)) and isinstance(right, (int, float)):
        order = (left > right) - (left < right)
    else:
        return operator == "!="
    return {
        "=": order == 0,
        "!=": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[operator]


def fold(function: str, values: Sequence[Value]) -> Value | None:
    """Return the aggregate of ``values``, ``None`` where there is none."""
    if function == "count":
        return len(set(values))
    if function == "sum":
        total = Fraction(0)
        for value in values:
            if isinstance(value, (str, Name)):
                return None
            total += Fraction(value)
        if total.denominator == 1:
            return int(total)
        try:
            return _normal(float(total))
        except OverflowError:
            return None
    ordered = sorted(values, key=_place)
    return ordered[0] if function == "min" else ordered[-1]


def _place(value: Value) -> tuple[int, Fraction, str]:
    if isinstance(value, Name):
        return (3, Fraction(0), value.text)
    if isinstance(value, str):
        when = moment(value)
        return (2, Fraction(0), value) if when is None else (1, when, value)
    return (0, Fraction(value), "")
