"""Semi-naive evaluation in rounds.

A fact that holds from the start has height 0. In round ``r`` every rule is applied to the facts of the rounds
before, at least one of them from round ``r - 1``, so a fact first appears in the round that is the height of
its smallest proof. The strata of a program run one after the other, and each starts again with round 1:
what lower strata derived becomes visible round by round, as it was derived. Rounds are therefore heights
across the whole program, not only within a stratum. A negated premise adds no height, so it looks at the
whole of its (complete) relation at once.

Semi-naive evaluation: F. Bancilhon, "Naive Evaluation of Recursively Defined Relations" (1986). That rounds
of a simultaneous fixpoint are minimal proof heights follows by induction on the height.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from openknowledge.engine.datalog.base import Index, IndexSpec, Relation, Row
from openknowledge.engine.datalog.clauses import Clause, Fold, Predicate, levels
from openknowledge.engine.datalog.codegen import compiled
from openknowledge.engine.datalog.folding import folded
from openknowledge.engine.datalog.limits import Budget
from openknowledge.engine.datalog.planning import Plan, plan
from openknowledge.engine.datalog.relations import Derived, Fresh, View
from openknowledge.engine.datalog.values import COMPARISONS, Value

_STEPS = 4_000
"""How many turns of a loop pass between two looks at the clock: well under a millisecond."""

_INTERMEDIATE = 10
"""How many rows that are no facts (demands, bindings of aggregates) may exist per created fact allowed."""

Test = Callable[[int, int], bool]


class ValueTable:
    """Numbers to values for one evaluation: those of the base, and negative ones for values that it lacks."""

    def __init__(self, numbers: Mapping[Value, int], values: Sequence[Value]) -> None:
        self._numbers = numbers
        self._values = values
        self._own: dict[Value, int] = {}
        self._own_values: list[Value] = []

    def number(self, value: Value) -> int:
        """Return the number of ``value``."""
        known = self.known(value)
        if known is None:
            self._own_values.append(value)
            known = self._own[value] = -len(self._own_values)
        return known

    def known(self, value: Value) -> int | None:
        """Return the number of ``value`` if any fact or rule has it."""
        # its own first: the base may come to know a value later, when another relation is loaded
        own = self._own.get(value)
        return self._numbers.get(value) if own is None else own

    def value(self, number: int) -> Value:
        """Return the value of ``number``."""
        return self._values[number] if number >= 0 else self._own_values[-1 - number]

    def row(self, row: Row, arity: int) -> tuple[Value, ...]:
        """Return the values of an encoded row."""
        return (self.value(row),) if arity == 1 else tuple(map(self.value, row))

    def test(self, operator: str) -> Test:
        """Return the comparison ``operator`` over numbers."""
        holds = COMPARISONS[operator]
        value = self.value
        return lambda left, right: holds(value(left), value(right))


@dataclass(frozen=True, slots=True)
class Program:
    """Clauses and folds to evaluate.

    ``initial`` clauses run once, before the first round, over base relations only; what they yield has height
    0. ``arities`` has the arity of every predicate; ``facts`` the derived predicates whose rows are counted
    as created facts.
    """

    clauses: tuple[Clause, ...]
    folds: tuple[Fold, ...]
    arities: Mapping[Predicate, int]
    facts: frozenset[Predicate]
    initial: tuple[Clause, ...] = ()


@dataclass(slots=True)
class _Run:
    """A clause with one premise to take from the newest rows, planned when first needed."""

    clause: Clause
    delta: int | None
    call: Callable[[Fresh, Any], int] | None = field(default=None)


class Evaluation:
    """One evaluation: give it a program and base relations, ``run()`` it, and read ``derived``."""

    def __init__(
        self,
        program: Program,
        base: Mapping[Predicate, Relation],
        table: ValueTable,
        budget: Budget,
        seeded: Iterable[Predicate] = (),
    ) -> None:
        """``seeded`` are derived predicates that start with the rows of the base relation of their name."""
        self.program = program
        self.base = base
        self.table = table
        self.budget = budget
        self.derived: dict[Predicate, Derived] = {}
        heads = [clause.head.predicate for clause in (*program.initial, *program.clauses)]
        for predicate in (*heads, *(fold.head for fold in program.folds)):
            if predicate not in self.derived:
                self.derived[predicate] = Derived(program.arities[predicate])
        self._seeded = tuple(seeded)
        self._created = 0
        self._intermediate = 0
        self._largest = max((len(relation) for relation in base.values()), default=0)

    def run(self) -> None:
        """Derive everything. Raises ``LimitError``."""
        self._start()
        level_of = levels(self.program.clauses, self.program.folds)
        top = max(level_of.values(), default=-1)
        clauses: list[list[Clause]] = [[] for _ in range(top + 1)]
        folds: list[list[Fold]] = [[] for _ in range(top + 1)]
        for clause in self.program.clauses:
            clauses[level_of[clause.head.predicate]].append(clause)
        for fold in self.program.folds:
            folds[level_of[fold.head]].append(fold)
        for level in range(top + 1):
            _Level(self, clauses[level], folds[level]).run()

    def _start(self) -> None:
        for predicate in self._seeded:
            relation = self.base[predicate]
            derived = self.derived[predicate]
            derived.add_round(0, _as_fresh(relation.rows, derived.grouped))
        gathered: dict[Predicate, Any] = {}
        for clause in self.program.initial:
            derived = self.derived[clause.head.predicate]
            new = gathered.setdefault(clause.head.predicate, _collector(derived))
            self.execute(
                plan(clause, self, watched=self.budget.watched, check=self.budget.check_time), clause, (), new
            )
        for predicate, new in gathered.items():
            fresh = _taken(new, self.derived[predicate].grouped)
            if fresh:
                self.derived[predicate].add_round(0, fresh)

    # Statistics for the planner

    def matches(self, predicate: Predicate, bound: Sequence[int]) -> float:
        """Return about how many rows of ``predicate`` fit given values in the columns ``bound``."""
        derived = self.derived.get(predicate)
        if derived is not None:
            rows = max(float(derived.size), 2.0 * self._largest, 1_000.0)
            if len(bound) == self.program.arities[predicate]:
                return 0.5
            return float(rows ** (1.0 - len(bound) / (len(bound) + 1.0)))
        relation = self.base.get(predicate)
        if relation is None or not len(relation):
            return 0.0
        if len(bound) == relation.arity:
            return 0.4
        estimate = float(len(relation))
        for column in bound:
            estimate /= relation.distinct(column)
        return max(estimate, 0.6)

    # Running a plan

    def execute(
        self,
        made: Plan,
        clause: Clause,
        delta: Fresh,
        new: Any,
        view: Callable[[Predicate, IndexSpec, bool], Index] | None = None,
        given: Sequence[int] = (),
    ) -> None:
        """Run ``made`` once, adding to ``new``."""
        self.prepare(made, clause, view or self.complete_index)(delta, new, given)

    def prepare(
        self, made: Plan, clause: Clause, view: Callable[[Predicate, IndexSpec, bool], Index]
    ) -> Callable[[Fresh, Any, Sequence[int]], int]:
        """Return ``made`` as a function of the newest rows, what to add to, and the given variables."""
        join = compiled(made.shape)
        total: Any = {} if made.shape.collect else self.derived[clause.head.predicate].total
        indexes = [
            view(predicate, spec, slot in made.negated) for slot, (predicate, spec) in enumerate(made.indexes)
        ]
        tests = [self.table.test(operator) for operator in made.comparisons]
        counts = clause.head.predicate in self.program.facts
        grouped = made.shape.grouped

        def call(delta: Fresh, new: Any, given: Sequence[int]) -> int:
            tick = partial(self._tick, new, grouped, counts)
            return join(tick, total, new, delta, *indexes, *clause.constants, *tests, *given)

        return call

    def complete_index(self, predicate: Predicate, spec: IndexSpec, _negated: bool = False) -> Index:
        """Return an index over all rows of a relation that is complete."""
        derived = self.derived.get(predicate)
        if derived is not None:
            return derived.index(spec, self.budget)
        relation = self.base.get(predicate)
        if relation is None:
            relation = Relation(str(predicate), self.program.arities[predicate], [])
        return relation.index(spec, self.budget)

    def _tick(self, new: Any, grouped: bool, counts: bool) -> int:
        """Look at the clock and the number of facts; return the turns until the next look."""
        self.budget.check_time()
        pending = sum(map(len, new.values())) if grouped else len(new)
        self.check_count(pending, counts)
        return max(_STEPS, len(new)) if grouped else _STEPS

    def check_count(self, pending: int, counts: bool) -> None:
        """Raise ``LimitError`` when with ``pending`` more rows there are too many."""
        if counts:
            self.budget.check_created(self._created + pending)
        else:
            self.budget.check_created((self._intermediate + pending) // _INTERMEDIATE)

    def created(self, predicate: Predicate, count: int) -> None:
        """Count ``count`` new rows of ``predicate``."""
        counts = predicate in self.program.facts
        if counts:
            self._created += count
        else:
            self._intermediate += count
        self.check_count(0, counts)


class _Level:
    """The clauses whose heads are complete together, run to their fixpoint."""

    def __init__(self, evaluation: Evaluation, clauses: Sequence[Clause], folds: Sequence[Fold]) -> None:
        self.evaluation = evaluation
        self.folds = folds
        self.seeds: list[Clause] = []
        self.runs: dict[Predicate, list[_Run]] = {}
        self.views: dict[Predicate, View] = {}
        self.round = 1
        self.heads = {clause.head.predicate for clause in clauses} | {fold.head for fold in folds}
        derived = evaluation.derived
        for clause in clauses:
            places = [place for place, lit in enumerate(clause.positive) if lit.predicate in derived]
            if not places:
                self.seeds.append(clause)
            for place in places:
                self.runs.setdefault(clause.positive[place].predicate, []).append(_Run(clause, place))

    def run(self) -> None:
        evaluation = self.evaluation
        pending = self._fold()
        active: dict[int, dict[Predicate, None]] = {}
        for predicate in self.runs:
            for round_ in evaluation.derived[predicate].round_order:
                active.setdefault(round_, {})[predicate] = None
        while self.round == 1 or active or pending:
            newest = active.pop(self.round - 1, {})
            gathered: dict[Predicate, Any] = {}
            for predicate in newest:
                if predicate in self.views:
                    self.views[predicate].advance(self.round - 1)
            if self.round == 1:
                for clause in self.seeds:
                    self._apply(_Run(clause, None), (), gathered)
            for predicate in newest:
                fresh = evaluation.derived[predicate].fresh(self.round - 1)
                for run in self.runs[predicate]:
                    self._apply(run, fresh, gathered)
            for predicate in newest:
                evaluation.derived[predicate].compact(self.round - 1)
            for predicate, rows in pending.pop(self.round, {}).items():
                self._inject(predicate, rows, gathered)
            for predicate, new in gathered.items():
                relation = evaluation.derived[predicate]
                taken = _taken(new, relation.grouped)
                if taken:
                    evaluation.created(predicate, relation.add_round(self.round, taken))
                    if predicate in self.runs:
                        active.setdefault(self.round, {})[predicate] = None
            evaluation.budget.check_time()
            self.round += 1

    def _apply(self, run: _Run, fresh: Fresh, gathered: dict[Predicate, Any]) -> None:
        evaluation = self.evaluation
        clause = run.clause
        if run.call is None:
            grouped = (
                run.delta is not None and evaluation.derived[clause.positive[run.delta].predicate].grouped
            )
            made = plan(
                clause,
                evaluation,
                delta=run.delta,
                grouped_delta=grouped,
                watched=evaluation.budget.watched,
                check=evaluation.budget.check_time,
            )
            prepared = evaluation.prepare(made, clause, self._index)
            run.call = lambda delta, new: prepared(delta, new, ())
        head = clause.head.predicate
        new = gathered.get(head)
        if new is None:
            new = gathered[head] = _collector(evaluation.derived[head])
        run.call(fresh, new)

    def _index(self, predicate: Predicate, spec: IndexSpec, negated: bool) -> Index:
        derived = self.evaluation.derived.get(predicate)
        if derived is None or negated:
            return self.evaluation.complete_index(predicate, spec, negated)
        view = self.views.get(predicate)
        if view is None:
            view = self.views[predicate] = View(derived, own=predicate in self.heads)
            view.advance(self.round - 1)
        return view.index(spec)

    def _fold(self) -> dict[int, dict[Predicate, list[Row]]]:
        """Return the facts of the aggregate rules by the round in which they appear."""
        pending: dict[int, dict[Predicate, list[Row]]] = {}
        for fold in self.folds:
            solutions = self.evaluation.derived[fold.solutions]
            for row, round_ in folded(
                fold, solutions.rows_with_rounds(), self.evaluation.table, self.evaluation.budget
            ):
                pending.setdefault(round_, {}).setdefault(fold.head, []).append(row)
        return pending

    def _inject(self, predicate: Predicate, rows: Sequence[Row], gathered: dict[Predicate, Any]) -> None:
        derived = self.evaluation.derived[predicate]
        new = gathered.get(predicate)
        if new is None:
            new = gathered[predicate] = _collector(derived)
        for row in rows:
            if row not in derived:
                if derived.grouped:
                    new[row[0]].add(row[1])
                else:
                    new.add(row)


def _collector(derived: Derived) -> Any:
    return defaultdict(set) if derived.grouped else set()


def _taken(new: Any, grouped: bool) -> Fresh:
    if not grouped:
        return list(new)
    return {first: seconds for first, seconds in new.items() if seconds}


def _as_fresh(rows: Sequence[Row], grouped: bool) -> Fresh:
    if not grouped:
        return list(rows)
    groups: defaultdict[int, set[int]] = defaultdict(set)
    for first, second in rows:
        groups[first].add(second)
    return dict(groups)
