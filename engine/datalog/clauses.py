"""Rules lowered for evaluation: variables as positions, constants through a table, aggregates split off."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from openknowledge.engine.datalog.syntax import (
    Aggregate,
    Atom,
    Constant,
    Negation,
    Rule,
    Term,
    Variable,
    Wildcard,
)
from openknowledge.engine.datalog.values import Value

Predicate = Hashable
"""A relation inside the engine: the name of a predicate, or a tuple for one that the engine made."""

ANY = 1 << 30
"""The argument of a negated literal that matches everything."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A predicate with arguments: a variable's position (>= 0), ``-1 - i`` for constant ``i``, or ``ANY``."""

    predicate: Predicate
    arguments: tuple[int, ...]

    def variables(self) -> set[int]:
        """Return the positions of the variables."""
        return {argument for argument in self.arguments if 0 <= argument < ANY}


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison of two arguments."""

    operator: str
    left: int
    right: int

    def variables(self) -> set[int]:
        """Return the positions of the variables."""
        return {argument for argument in (self.left, self.right) if argument >= 0}


@dataclass(frozen=True, slots=True)
class Clause:
    """One rule as the evaluator runs it. ``width`` is the number of variables."""

    head: Literal
    positive: tuple[Literal, ...]
    negative: tuple[Literal, ...]
    tests: tuple[Test, ...]
    constants: tuple[int, ...]
    width: int


@dataclass(frozen=True, slots=True)
class Fold:
    """The second half of an aggregate rule: rows of ``solutions`` folded into facts of ``head``.

    ``arguments`` gives, for each argument of the head, the aggregate's name or ``None``, and the column of
    ``solutions`` (or ``-1 - i`` for a constant).
    """

    head: Predicate
    solutions: Predicate
    arguments: tuple[tuple[str | None, int], ...]
    constants: tuple[int, ...]
    rule: Rule


@dataclass(frozen=True, slots=True)
class LoweredRule:
    """A rule's clause and, when it aggregates, its fold. ``names`` are the variables by position."""

    rule: Rule
    clause: Clause
    fold: Fold | None
    names: tuple[str, ...]


class _Scope:
    """The variables and constants of one rule."""

    def __init__(self, number: Callable[[Value], int]) -> None:
        self._number = number
        self.positions: dict[str, int] = {}
        self.names: list[str] = []
        self.constants: list[int] = []

    def argument(self, term: Term, *, negated: bool = False) -> int:
        if isinstance(term, Variable):
            position = self.positions.get(term.name)
            if position is None:
                position = self.positions[term.name] = self._fresh(term.name)
            return position
        if isinstance(term, Wildcard):
            return ANY if negated else self._fresh("_")
        if isinstance(term, Constant):
            self.constants.append(self._number(term.value))
            return -len(self.constants)
        raise AssertionError("a checked rule has only variables and constants in its premises")

    def _fresh(self, name: str) -> int:
        self.names.append(name)
        return len(self.names) - 1

    def literal(self, atom: Atom, *, negated: bool = False) -> Literal:
        arguments = tuple(self.argument(term, negated=negated) for term in atom.arguments)
        return Literal(atom.predicate, arguments)


def lower(rule: Rule, index: int, number: Callable[[Value], int]) -> LoweredRule:
    """Return ``rule``, which must be checked, lowered. ``index`` tells it from the program's other rules."""
    scope = _Scope(number)
    positive = tuple(scope.literal(atom) for atom in rule.atoms())
    negative = tuple(scope.literal(negation.atom, negated=True) for negation in rule.negations())
    tests = tuple(
        Test(comparison.operator, scope.argument(comparison.left), scope.argument(comparison.right))
        for comparison in rule.comparisons()
    )
    if not rule.is_aggregate:
        head = scope.literal(rule.head)
        width = len(scope.names)
        clause = Clause(head, positive, negative, tests, tuple(scope.constants), width)
        return LoweredRule(rule, clause, None, tuple(scope.names))
    width = len(scope.names)
    solutions: Predicate = ("solutions", index)
    body = Clause(
        Literal(solutions, tuple(range(width))), positive, negative, tests, tuple(scope.constants), width
    )
    arguments: list[tuple[str | None, int]] = []
    for term in rule.head.arguments:
        if isinstance(term, Aggregate):
            arguments.append((term.function, scope.argument(term.variable)))
        else:
            arguments.append((None, scope.argument(term)))
    fold = Fold(rule.head.predicate, solutions, tuple(arguments), tuple(scope.constants), rule)
    return LoweredRule(rule, body, fold, tuple(scope.names))


def premise_order(rule: Rule) -> Iterable[tuple[str, int]]:
    """Yield, per premise in the order of the text, its kind and its place among those of that kind."""
    counts = {"positive": 0, "negative": 0, "test": 0}
    for premise in rule.premises:
        kind = (
            "positive"
            if isinstance(premise, Atom)
            else "negative"
            if isinstance(premise, Negation)
            else "test"
        )
        yield kind, counts[kind]
        counts[kind] += 1


def levels(clauses: Sequence[Clause], folds: Sequence[Fold]) -> dict[Predicate, int]:
    """Return the level at which each derived predicate is complete.

    A predicate lies at least as high as what it needs, and higher than what it negates or folds. The program
    must be stratified: the levels are the least solution, found by raising them until nothing changes.
    """
    level: dict[Predicate, int] = {clause.head.predicate: 0 for clause in clauses}
    level.update((fold.head, 0) for fold in folds)
    needs: dict[Predicate, set[tuple[Predicate, int]]] = {}
    for clause in clauses:
        for literal in clause.positive:
            if literal.predicate in level:
                needs.setdefault(literal.predicate, set()).add((clause.head.predicate, 0))
        for literal in clause.negative:
            if literal.predicate in level:
                needs.setdefault(literal.predicate, set()).add((clause.head.predicate, 1))
    for fold in folds:
        needs.setdefault(fold.solutions, set()).add((fold.head, 1))
    pending = list(level)
    while pending:
        predicate = pending.pop()
        for user, step in needs.get(predicate, ()):
            if level[user] < level[predicate] + step:
                level[user] = level[predicate] + step
                pending.append(user)
    return level
