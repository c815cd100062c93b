"""Proofs rebuilt from the rounds of an evaluation, when they are asked for.

A fact of round ``h`` follows by some rule from facts of rounds below ``h``. Of all such rule instances the
first counts: rules in the order of their text, then the facts for the premises in display order, from the
first premise to the last. So a proof is well-founded, of minimal height, and always the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from openknowledge.engine.datalog.base import Index, IndexSpec, Row
from openknowledge.engine.datalog.clauses import ANY, Clause, LoweredRule, Predicate, premise_order
from openknowledge.engine.datalog.codegen import compiled
from openknowledge.engine.datalog.folding import aggregate
from openknowledge.engine.datalog.instance import FirstInstance, Join
from openknowledge.engine.datalog.limits import Budget
from openknowledge.engine.datalog.planning import Statistics, plan
from openknowledge.engine.datalog.proof import ABSENCE, AGGREGATE, ASSERTED, COMPARISON, RULE, Proof
from openknowledge.engine.datalog.values import Value, display, display_atom

_STEPS = 2_000


class _TooMany(Exception):
    """A join has found more than was asked for."""


class Source(Statistics, Protocol):
    """The facts and rules that proofs are built from."""

    def rules_for(self, predicate: str) -> Sequence[LoweredRule]:
        """Return the rules with this head, in the order of their text."""
        ...

    def is_asserted(self, predicate: str, row: Row) -> bool:
        """Return whether the fact is a base fact."""
        ...

    def round_of(self, predicate: str, row: Row) -> int | None:
        """Return the height of the fact, ``None`` if it does not hold."""
        ...

    def index(self, predicate: Predicate, spec: IndexSpec) -> Index:
        """Return an index over all facts of a predicate."""
        ...

    def value(self, number: int) -> Value:
        """Return the value with this number."""
        ...

    def test(self, operator: str) -> Callable[[int, int], bool]:
        """Return a comparison over numbers."""
        ...


Fact = tuple[str, Row]
Solution = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Premise:
    """One instantiated premise: a fact to prove, or a leaf that stands for itself."""

    atom: str
    fact: Fact | None
    kind: str


@dataclass(frozen=True, slots=True)
class _Step:
    """How a fact follows: the rule, and its instantiated premises."""

    rule: LoweredRule
    premises: tuple[_Premise, ...]


class Prover:
    """Builds proofs over one model, each fact's once."""

    def __init__(self, source: Source, budget: Budget) -> None:
        self.source = source
        self.budget = budget
        self._proofs: dict[Fact, Proof] = {}
        self._plans: dict[int, Join] = {}
        self._searches: dict[int, FirstInstance] = {}
        self._premises: dict[int, _Instantiation] = {}

    def prove(self, predicate: str, row: Row) -> Proof:
        """Return the proof of a fact that holds. Raises ``LimitError`` when the time is over."""
        goal = (predicate, row)
        stack: list[Fact] = [goal]
        steps: dict[Fact, _Step] = {}
        while stack:
            fact = stack[-1]
            if fact in self._proofs:
                stack.pop()
                continue
            step = steps.get(fact)
            if step is None:
                self.budget.check_time()
                if self.source.is_asserted(*fact):
                    self._proofs[fact] = self._asserted(fact)
                    stack.pop()
                    continue
                step = steps[fact] = self._step(fact)
                missing = [
                    premise.fact
                    for premise in step.premises
                    if premise.fact is not None and premise.fact not in self._proofs
                ]
                if missing:
                    stack.extend(reversed(missing))
                    continue
            self._proofs[fact] = self._derived(fact, step)
            del steps[fact]
            stack.pop()
        return self._proofs[goal]

    def _asserted(self, fact: Fact) -> Proof:
        values = self._values(fact)
        return Proof(ASSERTED, display_atom(fact[0], values), fact[0], values)

    def _derived(self, fact: Fact, step: _Step) -> Proof:
        values = self._values(fact)
        inputs = tuple(
            Proof(premise.kind, premise.atom) if premise.fact is None else self._proofs[premise.fact]
            for premise in step.premises
        )
        instantiation = self._instantiation(step.rule)
        return Proof(
            kind=RULE if step.rule.fold is None else AGGREGATE,
            atom=display_atom(fact[0], values),
            predicate=fact[0],
            row=values,
            rule_id=instantiation.rule_id,
            rule=instantiation.text,
            inputs=inputs,
            height=1 + max((child.height for child in inputs), default=0),
        )

    def _values(self, fact: Fact) -> tuple[Value, ...]:
        row = fact[1]
        return tuple(map(self.source.value, row if isinstance(row, tuple) else (row,)))

    def _step(self, fact: Fact) -> _Step:
        predicate, row = fact
        height = self.source.round_of(predicate, row)
        if height is None:
            raise KeyError(fact)
        numbers: tuple[int, ...] = row if isinstance(row, tuple) else (row,)
        for rule in self.source.rules_for(predicate):
            premises = (
                self._by_rule(rule, numbers, height)
                if rule.fold is None
                else self._by_aggregate(rule, numbers, height)
            )
            if premises is not None:
                return _Step(rule, premises)
        raise AssertionError(f"{predicate} has a fact of round {height} that no rule yields")

    def _by_rule(self, rule: LoweredRule, row: Solution, height: int) -> tuple[_Premise, ...] | None:
        given = _matched(rule.clause.head.arguments, row, rule.clause.constants)
        if given is None:
            return None
        search = self._searches.get(id(rule))
        if search is None:
            search = self._searches[id(rule)] = FirstInstance(rule, self.source, self._joined)
        solution = search.find(given, height)
        return None if solution is None else self._instantiation(rule).premises(solution)

    def _by_aggregate(self, rule: LoweredRule, row: Solution, height: int) -> tuple[_Premise, ...] | None:
        fold = rule.fold
        if fold is None:
            raise AssertionError("only aggregate rules come here")
        arguments = tuple(column for _, column in fold.arguments)
        plain = tuple(place for place, (function, _) in enumerate(fold.arguments) if function is None)
        given = _matched([arguments[p] for p in plain], [row[p] for p in plain], fold.constants)
        if given is None:
            return None
        solutions = self._solutions(rule, given)
        instantiate = self._instantiation(rule)
        if not solutions or not all(instantiate.below(solution, height) for solution in solutions):
            return None
        for place, (function, column) in enumerate(fold.arguments):
            if function is not None:
                values = [self.source.value(solution[column]) for solution in solutions]
                if aggregate(function, values, rule.rule) != self.source.value(row[place]):
                    return None
        found: dict[tuple[int, str], _Premise] = {}
        for solution in solutions:
            for place, premise in enumerate(instantiate.premises(solution)):
                found[place, premise.atom] = premise
        return tuple(found[key] for key in sorted(found))

    def _instantiation(self, rule: LoweredRule) -> _Instantiation:
        found = self._premises.get(id(rule))
        if found is None:
            found = self._premises[id(rule)] = _Instantiation(rule, self.source)
        return found

    def _solutions(self, rule: LoweredRule, given: dict[int, int]) -> list[Solution]:
        """Return the values of all variables for which all premises hold, given some."""
        join = self._plans.get(id(rule))
        if join is None:
            variables = tuple(range(rule.clause.width))
            join = self._plans[id(rule)] = self._joined(rule.clause, frozenset(given), variables)
        return join([given[variable] for variable in sorted(given)]) or []

    def _joined(
        self, clause: Clause, given: frozenset[int], wanted: tuple[int, ...], most: int | None = None
    ) -> Join:
        made = plan(
            clause,
            self.source,
            given=given,
            collect=wanted,
            watched=most is not None or self.budget.deadline is not None,
            check=self.budget.check_time,
        )
        function = compiled(made.shape)
        indexes = [self.source.index(predicate, spec) for predicate, spec in made.indexes]
        tests = [self.source.test(operator) for operator in made.comparisons]

        def join(values: Sequence[int]) -> list[Solution] | None:
            found: set[Solution] = set()

            def tick() -> int:
                self.budget.check_time()
                if most is not None and len(found) > most:
                    raise _TooMany
                return _STEPS

            try:
                function(tick, {}, found, (), *indexes, *clause.constants, *tests, *values)
            except _TooMany:
                return None
            return list(found)

        return join


class _Instantiation:
    """A rule's premises with values put in, in the order of the text."""

    def __init__(self, rule: LoweredRule, source: Source) -> None:
        self.clause = rule.clause
        self.source = source
        self.text = str(rule.rule)
        self.rule_id = rule.rule.rule_id
        self.order = tuple(premise_order(rule.rule))
        self._shown: dict[int, str] = {}

    def below(self, solution: Solution, height: int) -> bool:
        """Return whether all facts of the premises have a smaller height."""
        for literal in self.clause.positive:
            round_ = self.source.round_of(str(literal.predicate), self._row(literal.arguments, solution))
            if round_ is None or round_ >= height:
                return False
        return True

    def premises(self, solution: Solution) -> tuple[_Premise, ...]:
        """Return all premises for one solution."""
        return tuple(self._premise(kind, place, solution) for kind, place in self.order)

    def _premise(self, kind: str, place: int, solution: Solution) -> _Premise:
        clause = self.clause
        if kind == "positive":
            literal = clause.positive[place]
            shown = ",".join(self._show(argument, solution) for argument in literal.arguments)
            row = self._row(literal.arguments, solution)
            return _Premise(f"{literal.predicate}({shown})", (str(literal.predicate), row), ASSERTED)
        if kind == "negative":
            literal = clause.negative[place]
            shown = ",".join(self._show(argument, solution) for argument in literal.arguments)
            return _Premise(f"!{literal.predicate}({shown})", None, ABSENCE)
        test = clause.tests[place]
        left, right = self._show(test.left, solution), self._show(test.right, solution)
        return _Premise(f"{left} {test.operator} {right}", None, COMPARISON)

    def _number(self, argument: int, solution: Solution) -> int:
        return solution[argument] if argument >= 0 else self.clause.constants[-1 - argument]

    def _row(self, arguments: tuple[int, ...], solution: Solution) -> Row:
        if len(arguments) == 1:
            return self._number(arguments[0], solution)
        return tuple(self._number(argument, solution) for argument in arguments)

    def _show(self, argument: int, solution: Solution) -> str:
        if argument == ANY:
            return "_"
        number = self._number(argument, solution)
        shown = self._shown.get(number)
        if shown is None:
            shown = self._shown[number] = display(self.source.value(number))
        return shown


def _matched(arguments: Sequence[int], row: Sequence[int], constants: Sequence[int]) -> dict[int, int] | None:
    """Return the values of the variables among ``arguments`` that make them equal to ``row``."""
    given: dict[int, int] = {}
    for argument, number in zip(arguments, row, strict=True):
        if argument < 0:
            if constants[-1 - argument] != number:
                return None
        elif given.setdefault(argument, number) != number:
            return None
    return given
