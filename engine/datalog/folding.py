"""Aggregates: the solutions of a rule's premises folded into one fact per group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Protocol

from openknowledge.engine.datalog.base import Row
from openknowledge.engine.datalog.clauses import Fold
from openknowledge.engine.datalog.errors import shorten
from openknowledge.engine.datalog.limits import Budget
from openknowledge.engine.datalog.syntax import Rule
from openknowledge.engine.datalog.values import Name, Value, display, sort_key
from openknowledge.engine.errors import OpenKnowledgeError


class Table(Protocol):
    """Numbers to values and back."""

    def number(self, value: Value) -> int:
        """Return the number of ``value``."""
        ...

    def value(self, number: int) -> Value:
        """Return the value of ``number``."""
        ...


class AggregateError(OpenKnowledgeError):
    """A ``sum`` over something that is no number, or too large."""


def folded(
    fold: Fold, solutions: Iterable[tuple[tuple[int, ...], int]], table: Table, budget: Budget
) -> Iterator[tuple[Row, int]]:
    """Yield the encoded fact of each group with its round: the last round of any of its solutions.

    ``solutions`` are the distinct values of all variables of the premises, with their rounds.
    """
    keys = tuple(column for function, column in fold.arguments if function is None and column >= 0)
    groups: dict[tuple[int, ...], list[tuple[tuple[int, ...], int]]] = {}
    for count, (solution, round_) in enumerate(solutions):
        if not count % 10_000:
            budget.check_time()
        key = tuple(solution[column] for column in keys)
        groups.setdefault(key, []).append((solution, round_))
    for key, members in groups.items():
        budget.check_time()
        known = dict(zip(keys, key, strict=True))
        row: list[int] = []
        for function, column in fold.arguments:
            if function is None:
                row.append(known[column] if column >= 0 else fold.constants[-1 - column])
            else:
                values = [table.value(solution[column]) for solution, _ in members]
                row.append(table.number(aggregate(function, values, fold.rule)))
        yield (row[0] if len(row) == 1 else tuple(row)), max(round_ for _, round_ in members)


def aggregate(function: str, values: list[Value], rule: Rule) -> Value:
    """Return ``function`` over ``values``, one for each solution of the premises.

    ``count`` counts different values; ``sum`` adds every one; ``min`` and ``max`` use the total order of
    ``sort_key``. A sum is exact, and rounded once where fractions are in it, so that no order of adding can
    be seen in it. Raises ``AggregateError``.
    """
    if function == "count":
        return len(set(values))
    if function == "sum":
        return _sum(values, rule)
    return min(values, key=sort_key) if function == "min" else max(values, key=sort_key)


def _sum(values: list[Value], rule: Rule) -> Value:
    whole = 0
    fractions = Fraction(0)
    exact = True
    for value in values:
        if isinstance(value, (str, Name)):
            raise AggregateError(
                f"sum met {shorten(display(value))}, which is not a number, in the rule: "
                f"{shorten(str(rule), 200)}"
            )
        if isinstance(value, int):
            whole += value
        else:
            exact = False
            fractions += Fraction(value)
    if exact:
        total: int | float = whole
    else:
        precise = whole + fractions
        try:
            total = precise.numerator if precise.denominator == 1 else float(precise)
        except OverflowError:
            total = float("inf")
        if isinstance(total, float) and total.is_integer():
            total = int(total)
    if (isinstance(total, float) and total == float("inf")) or abs(total) >= 10**400:
        raise AggregateError(f"the sum is too large in the rule: {shorten(str(rule), 200)}")
    return total
