"""Goal-directed evaluation: the magic-sets rewriting of a program for a query with given arguments.

A rule of a demanded predicate first asks whether its head is demanded, and demands from its premises only
what the head's given arguments and the premises before them ask for. Predicates that a negation or aggregate
looks at are evaluated in full, and so is everything they need, so that the rewritten program is stratified
whenever the original is.

Every instance of a rule that derives a demanded fact has all its premises demanded, whatever the order in
which the premises pass on their values. So all proofs of a demanded fact are there, smallest ones too. Their
heights are not the rounds of the rewritten program, where a fact also waits for its demand; ``heights`` is
the second program, which is given the demands complete and whose rounds are the heights in the original.

Magic sets: F. Bancilhon, D. Maier, Y. Sagiv, J. Ullman, "Magic Sets and Other Strange Ways to Implement Logic
Programs" (1986); C. Beeri, R. Ramakrishnan, "On the Power of Magic" (1991).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from openknowledge.engine.datalog.clauses import Clause, Fold, Literal, LoweredRule, Predicate, Test

Columns = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Adorned:
    """The part of ``predicate`` that is demanded with values in ``columns``."""

    predicate: str
    columns: Columns


@dataclass(frozen=True, slots=True)
class Magic:
    """The values with which ``predicate`` is demanded in ``columns``."""

    predicate: str
    columns: Columns


@dataclass(frozen=True, slots=True)
class Stored:
    """The base relation under the name of a predicate that rules derive too."""

    predicate: str


@dataclass(frozen=True, slots=True)
class Rewriting:
    """The rewritten program.

    ``clauses`` finds the facts and the demands. ``heights`` has the same clauses for facts alone, over
    complete demands; ``imports`` yield the base facts among them. ``full`` are the predicates evaluated in
    full, ``adorned`` the others.
    """

    goal: Adorned
    clauses: tuple[Clause, ...]
    heights: tuple[Clause, ...]
    imports: tuple[Clause, ...]
    folds: tuple[Fold, ...]
    full: frozenset[str]
    adorned: tuple[Adorned, ...]
    magic: tuple[Magic, ...]


def rewrite(
    rules: Sequence[LoweredRule],
    predicate: str,
    constants: Mapping[int, int],
    stored: frozenset[str],
) -> Rewriting | None:
    """Return the rewriting for a query of ``predicate`` with ``constants`` in some columns.

    ``stored`` names the base relations. ``None`` means that nothing is gained: no argument is given, or the
    predicate must be evaluated in full anyway.
    """
    by_head: dict[str, list[LoweredRule]] = {}
    for rule in rules:
        by_head.setdefault(rule.rule.head.predicate, []).append(rule)
    full = _closure(_non_monotonic(rules), by_head)
    columns = tuple(sorted(constants))
    while columns and predicate not in full:
        rewriter = _Rewriter(by_head, full, stored)
        unrestricted = rewriter.run(Adorned(predicate, columns))
        if not unrestricted:
            return rewriter.result(Adorned(predicate, columns), [constants[column] for column in columns])
        full = _closure(full | unrestricted, by_head)
    return None


def _non_monotonic(rules: Iterable[LoweredRule]) -> set[str]:
    found: set[str] = set()
    for rule in rules:
        found.update(str(literal.predicate) for literal in rule.clause.negative)
        if rule.fold is not None:
            found.add(rule.rule.head.predicate)
            found.update(str(literal.predicate) for literal in rule.clause.positive)
    return found


def _closure(start: Iterable[str], by_head: Mapping[str, Sequence[LoweredRule]]) -> set[str]:
    """Return the derived predicates among ``start`` and all that they need."""
    seen: set[str] = set()
    pending = list(start)
    while pending:
        name = pending.pop()
        if name in seen or name not in by_head:
            continue
        seen.add(name)
        for rule in by_head[name]:
            pending.extend(str(lit.predicate) for lit in (*rule.clause.positive, *rule.clause.negative))
    return seen


class _Rewriter:
    def __init__(
        self, by_head: Mapping[str, Sequence[LoweredRule]], full: set[str], stored: frozenset[str]
    ) -> None:
        self.by_head = by_head
        self.full = full
        self.stored = stored
        self.goals: dict[Adorned, None] = {}
        self.demands: dict[Clause, None] = {}
        self.clauses: list[Clause] = []
        self.imports: list[Clause] = []

    def run(self, goal: Adorned) -> set[str]:
        """Rewrite from ``goal`` on; return the predicates found to be demanded without any given argument."""
        unrestricted: set[str] = set()
        pending = [goal]
        self.goals[goal] = None
        while pending:
            current = pending.pop()
            for rule in self.by_head[current.predicate]:
                for found in self._rule(current, rule.clause):
                    if not found.columns:
                        unrestricted.add(found.predicate)
                    elif found not in self.goals:
                        self.goals[found] = None
                        pending.append(found)
            if current.predicate in self.stored:
                self._import(current)
        return unrestricted

    def result(self, goal: Adorned, values: Sequence[int]) -> Rewriting:
        magic = Magic(goal.predicate, goal.columns)
        given = Literal(magic, tuple(-1 - place for place in range(len(values))))
        seed = Clause(given, (), (), (), tuple(values), 0)
        full = [rule for name in sorted(self.full) for rule in self.by_head[name]]
        rest = [rule.clause for rule in full]
        return Rewriting(
            goal=goal,
            clauses=(seed, *self.demands, *self.clauses, *self.imports, *rest),
            heights=(*self.clauses, *rest),
            imports=tuple(self.imports),
            folds=tuple(rule.fold for rule in full if rule.fold is not None),
            full=frozenset(self.full),
            adorned=tuple(self.goals),
            magic=tuple(Magic(found.predicate, found.columns) for found in self.goals),
        )

    def _import(self, goal: Adorned) -> None:
        arity = len(self.by_head[goal.predicate][0].rule.head.arguments)
        arguments = tuple(range(arity))
        demand = Literal(Magic(goal.predicate, goal.columns), goal.columns)
        stored = Literal(Stored(goal.predicate), arguments)
        self.imports.append(Clause(Literal(goal, arguments), (demand, stored), (), (), (), arity))

    def _rule(self, goal: Adorned, clause: Clause) -> list[Adorned]:
        """Rewrite one clause for one goal; return what its premises demand."""
        given = tuple(clause.head.arguments[column] for column in goal.columns)
        demand = Literal(Magic(goal.predicate, goal.columns), given)
        bound = demand.variables()
        waiting = list(clause.positive)
        before: list[Literal] = [demand]
        demanded: list[Adorned] = []
        placed: dict[int, Literal] = {}
        places = {id(literal): place for place, literal in enumerate(clause.positive)}
        while waiting:
            literal = max(waiting, key=lambda lit: self._preference(lit, bound))
            waiting.remove(literal)
            name = literal.predicate
            if isinstance(name, str) and name in self.by_head and name not in self.full:
                columns = tuple(
                    column for column, arg in enumerate(literal.arguments) if arg < 0 or arg in bound
                )
                wanted = Adorned(name, columns)
                demanded.append(wanted)
                if columns:
                    values = tuple(literal.arguments[column] for column in columns)
                    self._demand(Literal(Magic(name, columns), values), before, clause, bound)
                    renamed = Literal(wanted, literal.arguments)
                else:
                    renamed = literal
            else:
                renamed = literal
            placed[places[id(literal)]] = renamed
            before.append(renamed)
            bound |= literal.variables()
        positive = (demand, *(placed[place] for place in sorted(placed)))
        head = Literal(goal, clause.head.arguments)
        self.clauses.append(replace(clause, head=head, positive=positive))
        return demanded

    def _preference(self, literal: Literal, bound: set[int]) -> tuple[bool, bool, float]:
        """Prefer premises that share a value with what is known, base relations, and many given columns."""
        given = sum(1 for argument in literal.arguments if argument < 0 or argument in bound)
        derived = literal.predicate in self.by_head and literal.predicate not in self.full
        return given > 0, not derived, given / max(1, len(literal.arguments))

    def _demand(self, head: Literal, before: Sequence[Literal], clause: Clause, bound: set[int]) -> None:
        if len(before) == 1 and before[0] == head:
            return
        tests: tuple[Test, ...] = tuple(test for test in clause.tests if test.variables() <= bound)
        self.demands[Clause(head, tuple(before), (), tests, clause.constants, clause.width)] = None


def predicates_of(clauses: Iterable[Clause]) -> Iterable[tuple[Predicate, int]]:
    """Yield every predicate in ``clauses`` with its arity."""
    for clause in clauses:
        for literal in (clause.head, *clause.positive, *clause.negative):
            yield literal.predicate, len(literal.arguments)
