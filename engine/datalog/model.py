"""The facts that follow from rules and base facts, and their proofs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from openknowledge.engine.datalog.analysis import RuleSet
from openknowledge.engine.datalog.base import FactBase, Index, IndexSpec, Relation, Row, chunks
from openknowledge.engine.datalog.clauses import Clause, LoweredRule, Predicate, lower
from openknowledge.engine.datalog.demand import Rewriting, Stored, predicates_of, rewrite
from openknowledge.engine.datalog.errors import ProofDepthError, shorten
from openknowledge.engine.datalog.evaluation import Evaluation, Program, ValueTable
from openknowledge.engine.datalog.limits import Budget, releasing
from openknowledge.engine.datalog.proof import ASSERTED, Proof
from openknowledge.engine.datalog.proving import Prover
from openknowledge.engine.datalog.relations import Derived
from openknowledge.engine.datalog.syntax import Atom, Constant, Variable
from openknowledge.engine.datalog.values import Value, display_atom, normalised
from openknowledge.engine.errors import OpenKnowledgeError


class Rows(Collection[tuple[Value, ...]]):
    """The rows of one relation, decoded as they are read, in no particular order."""

    def __init__(self, model: Model, name: str) -> None:
        self._model = model
        self._name = name

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        return self._model.rows(self._name)

    def __len__(self) -> int:
        return self._model.count(self._name)

    def __contains__(self, row: object) -> bool:
        return isinstance(row, (tuple, list)) and self._model.holds(self._name, row)

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {self._name}>"


class Model:
    """What holds. ``model["path"]`` has the rows of a relation, ``model.proof("path", row)`` a proof."""

    def __init__(self, rules: RuleSet, facts: FactBase, budget: Budget, predicates: Iterable[str]) -> None:
        """Load what ``predicates`` need and prepare the rules; ``derive`` then does the work."""
        self._rules = rules
        self._budget = budget
        self._names = frozenset(predicates)
        self._facts = facts
        self._declared = facts.names()
        self._base: dict[Predicate, Relation] = {}
        total = 0
        for name in sorted(self._names & self._declared):
            relation = facts.relation(name, budget)
            total += len(relation)
            budget.check_base(total)
            self._base[name] = relation
        self._table = ValueTable(facts.numbers, facts.numbers.values_by_number)
        self._lowered: list[LoweredRule] = []
        self._by_head: dict[str, list[LoweredRule]] = {}
        for index, rule in enumerate(rules.rules):
            if rule.head.predicate in self._names:
                lowered = lower(rule, index, self._table.number)
                self._lowered.append(lowered)
                self._by_head.setdefault(rule.head.predicate, []).append(lowered)
        self._derived: dict[Predicate, Derived] = {}
        self._heights: Callable[[], dict[Predicate, Derived]] | None = None
        self._prover: Prover | None = None

    # Deriving

    def derive(self) -> None:
        """Derive everything that the rules yield. Raises ``LimitError``."""
        clauses = tuple(rule.clause for rule in self._lowered)
        folds = tuple(rule.fold for rule in self._lowered if rule.fold is not None)
        program = Program(clauses, folds, self._arities(clauses), frozenset(self._by_head))
        seeded = [name for name in self._by_head if name in self._base]
        evaluation = Evaluation(program, self._base, self._table, self._budget, seeded)
        evaluation.run()
        self._derived = {name: evaluation.derived[name] for name in self._by_head}

    def derive_for(self, query: Atom) -> list[Row]:
        """Derive what ``query`` needs and return its encoded rows. Raises ``LimitError``."""
        name = query.predicate
        constants = {
            column: self._table.number(term.value)
            for column, term in enumerate(query.arguments)
            if isinstance(term, Constant)
        }
        rewriting = None
        if name in self._by_head and constants:
            stored = frozenset(str(predicate) for predicate in self._base)
            rewriting = rewrite(self._lowered, name, constants, stored)
        if rewriting is None:
            if name in self._by_head:
                self.derive()
            return self.matching(query)
        evaluation = self._demanded(rewriting)
        rows = self._select(evaluation.derived[rewriting.goal], query, constants)
        magic: dict[Predicate, Relation] = {
            predicate: Relation("demand", len(predicate.columns), list(evaluation.derived[predicate]))
            for predicate in rewriting.magic
            if predicate in evaluation.derived
        }
        self._heights = lambda: self._with_heights(rewriting, magic)
        return rows

    def _demanded(self, rewriting: Rewriting) -> Evaluation:
        facts = frozenset((*rewriting.adorned, *rewriting.full))
        program = Program(rewriting.clauses, rewriting.folds, self._arities(rewriting.clauses), facts)
        seeded = [name for name in rewriting.full if name in self._base]
        evaluation = Evaluation(program, self._all_base(), self._table, self._budget, sorted(seeded))
        evaluation.run()
        return evaluation

    def _with_heights(
        self, rewriting: Rewriting, magic: Mapping[Predicate, Relation]
    ) -> dict[Predicate, Derived]:
        """Evaluate again over complete demands, so that rounds are heights in the program as written."""
        clauses = (*rewriting.heights, *rewriting.imports)
        facts = frozenset((*rewriting.adorned, *rewriting.full))
        arities = self._arities(clauses)
        program = Program(rewriting.heights, rewriting.folds, arities, facts, rewriting.imports)
        base = {**self._all_base(), **magic}
        for demanded in rewriting.magic:
            base.setdefault(demanded, Relation("demand", len(demanded.columns), []))
        seeded = sorted(name for name in rewriting.full if name in self._base)
        evaluation = Evaluation(program, base, self._table, self._budget, seeded)
        evaluation.run()
        result: dict[Predicate, Derived] = {name: evaluation.derived[name] for name in rewriting.full}
        parts: dict[str, list[Derived]] = {}
        for adorned in rewriting.adorned:
            if adorned in evaluation.derived:
                parts.setdefault(adorned.predicate, []).append(evaluation.derived[adorned])
        for name, found in parts.items():
            result[name] = found[0] if len(found) == 1 else _merged(found)
        return result

    def _all_base(self) -> dict[Predicate, Relation]:
        return {**self._base, **{Stored(str(name)): relation for name, relation in self._base.items()}}

    def _arities(self, clauses: Iterable[Clause]) -> dict[Predicate, int]:
        arities = dict(predicates_of(clauses))
        for name, rules in self._by_head.items():
            arities[name] = len(rules[0].rule.head.arguments)
        return arities

    # Reading

    def __getitem__(self, name: str) -> Rows:
        if name not in self._names and name not in self._declared:
            raise KeyError(name)
        return Rows(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_head or name in self._declared

    def names(self) -> tuple[str, ...]:
        """Return the names of all relations in the model, derived and base, sorted."""
        return tuple(sorted(self._declared.union(self._by_head)))

    def count(self, name: str) -> int:
        """Return the number of rows of ``name``."""
        return len(self._readable(name) or ())

    def rows(self, name: str) -> Iterator[tuple[Value, ...]]:
        """Yield the rows of ``name``, in no particular order."""
        relation = self._readable(name)
        if relation is not None:
            arity = relation.arity or 0
            for row in relation.rows if isinstance(relation, Relation) else relation:
                yield self._table.row(row, arity)

    def holds(self, name: str, row: Sequence[object]) -> bool:
        """Return whether the fact is in the model."""
        if self._is_aside(name):
            return self._holds_aside(name, row)
        encoded = self._encoded(row)
        return encoded is not None and self.round_of(name, encoded) is not None

    def _is_aside(self, name: str) -> bool:
        """Return whether ``name`` is a base relation that the rules do not reach; it is loaded when read."""
        return name in self._declared and name not in self._names

    def _readable(self, name: str) -> Relation | Derived | None:
        return self._facts.relation(name, self._budget) if self._is_aside(name) else self._relation(name)

    def _holds_aside(self, name: str, row: Sequence[object]) -> bool:
        relation = self._facts.relation(name, self._budget)
        # the base's own numbers: this evaluation may have given a value another before the relation came
        numbers = [self._facts.numbers.get(normalised(value)) for value in row]
        if None in numbers or relation.arity != len(numbers):
            return False
        return self._has_row(relation, numbers[0] if len(numbers) == 1 else tuple(numbers))

    def matching(self, query: Atom) -> list[Row]:
        """Return the encoded rows that match ``query``, in no particular order."""
        relation = self._relation(query.predicate)
        if relation is None:
            return []
        constants: dict[int, int] = {}
        for column, term in enumerate(query.arguments):
            if isinstance(term, Constant):
                number = self._table.known(term.value)
                if number is None:
                    return []
                constants[column] = number
        return self._select(relation, query, constants)

    def _select(self, relation: Relation | Derived, query: Atom, constants: Mapping[int, int]) -> list[Row]:
        arity = len(query.arguments)
        groups: dict[str, list[int]] = {}
        for column, term in enumerate(query.arguments):
            if isinstance(term, Variable):
                groups.setdefault(term.name, []).append(column)
        repeated = [columns for columns in groups.values() if len(columns) > 1]
        rows = self._bound_rows(relation, constants, arity)
        if not repeated:
            return rows
        found: list[Row] = []
        for block in chunks(rows):
            self._budget.check_time()
            found.extend(
                row for row in block if all(len({row[c] for c in columns}) == 1 for columns in repeated)
            )
        return found

    def _bound_rows(
        self, relation: Relation | Derived, constants: Mapping[int, int], arity: int
    ) -> list[Row]:
        if not constants or relation.arity is None:
            return relation.rows if isinstance(relation, Relation) else list(relation)
        bound = tuple(sorted(constants))
        key = constants[bound[0]] if len(bound) == 1 else tuple(constants[column] for column in bound)
        if len(bound) == arity:
            return [key] if self._has(relation, key) else []
        out = tuple(column for column in range(arity) if column not in constants)
        rows: list[Row] = []
        for block in chunks(list(relation.index((bound, out), self._budget).get(key, ()))):
            self._budget.check_time()
            rows.extend(_completed(constants, out, part, arity) for part in block)
        return rows

    def _has(self, relation: Relation | Derived, row: Row) -> bool:
        if isinstance(relation, Derived):
            return row in relation
        arity = relation.arity or 0
        return row in relation.index((tuple(range(arity)), ()), self._budget)

    def _relation(self, name: str) -> Relation | Derived | None:
        derived = self._complete().get(name)
        return derived if derived is not None else self._base.get(name)

    def _complete(self) -> dict[Predicate, Derived]:
        if self._heights is not None:
            self._derived = self._heights()
            self._heights = None
        return self._derived

    def _encoded(self, row: Sequence[object]) -> Row | None:
        numbers: list[int] = []
        for value in row:
            number = self._table.known(normalised(value))
            if number is None:
                return None
            numbers.append(number)
        return numbers[0] if len(numbers) == 1 else tuple(numbers)

    def decoded(self, row: Row) -> tuple[Value, ...]:
        """Return the values of an encoded row."""
        return tuple(map(self._table.value, row if isinstance(row, tuple) else (row,)))

    # Proofs

    def proof(self, name: str, row: Sequence[object]) -> Proof:
        """Return the proof of a fact: well-founded, of minimal height, the same on every run.

        Raises ``OpenKnowledgeError`` when the fact does not hold, ``ProofDepthError`` when its height is
        beyond ``proof_depth``, and ``LimitError`` when the time is over.
        """
        encoded = self._encoded(row)
        if self._is_aside(name) and self._holds_aside(name, row):
            values = tuple(map(normalised, row))
            return Proof(ASSERTED, display_atom(name, values), name, values)
        if encoded is None or self.round_of(name, encoded) is None:
            shown = shorten(display_atom(name, tuple(map(normalised, row))), 200)
            raise OpenKnowledgeError(f"{shown} does not hold, so it has no proof")
        return releasing(lambda: self.proof_of(name, encoded))

    def proof_of(self, name: str, row: Row) -> Proof:
        """Return the proof of an encoded row that holds; see ``proof``."""
        depth = self._budget.limits.proof_depth
        height = self.round_of(name, row)
        if depth is not None and height is not None and height > depth:
            raise ProofDepthError(
                f"no reproducible proof within depth {depth}: the smallest proof of "
                f"{shorten(display_atom(name, self.decoded(row)), 200)} has depth {height}"
            )
        if self._prover is None:
            self._prover = Prover(self, self._budget)
        return self._prover.prove(name, row)

    # What the prover asks for

    def rules_for(self, predicate: str) -> Sequence[LoweredRule]:
        """Return the rules with this head, in the order of their text."""
        return self._by_head.get(predicate, ())

    def is_asserted(self, predicate: str, row: Row) -> bool:
        """Return whether an encoded row is a base fact."""
        relation = self._base.get(predicate)
        return relation is not None and relation.arity is not None and self._has_row(relation, row)

    def _has_row(self, relation: Relation, row: Row) -> bool:
        if relation.arity == 2:
            return row[1] in relation.index(((0,), (1,)), self._budget).get(row[0], ())
        return self._has(relation, row)

    def round_of(self, predicate: str, row: Row) -> int | None:
        """Return the height of the smallest proof of an encoded row, ``None`` if it does not hold."""
        arity = len(row) if isinstance(row, tuple) else 1
        derived = self._complete().get(predicate)
        if derived is not None:
            return derived.round_of(row) if derived.arity == arity else None
        relation = self._base.get(predicate)
        if relation is None or relation.arity != arity:
            return None
        return 0 if self._has_row(relation, row) else None

    def index(self, predicate: Predicate, spec: IndexSpec) -> Index:
        """Return an index over all facts of a predicate."""
        relation = self._relation(str(predicate))
        if relation is None:
            arity = len({*spec[0], *spec[1]})
            relation = Relation(str(predicate), arity, [])
        return relation.index(spec, self._budget)

    def matches(self, predicate: Predicate, bound: Sequence[int]) -> float:
        """Return about how many facts of ``predicate`` fit given values in the columns ``bound``."""
        relation = self._relation(str(predicate))
        if relation is None or not len(relation):
            return 0.0
        if len(bound) == relation.arity:
            return 0.5
        estimate = float(len(relation))
        for column in bound:
            estimate /= relation.distinct(column)
        return max(estimate, 0.6)

    def value(self, number: int) -> Value:
        """Return the value with this number."""
        return self._table.value(number)

    def test(self, operator: str) -> Callable[[int, int], bool]:
        """Return a comparison over numbers."""
        return self._table.test(operator)


def _completed(constants: Mapping[int, int], out: Sequence[int], part: Row, arity: int) -> Row:
    row = [0] * arity
    for column, number in constants.items():
        row[column] = number
    for column, number in zip(out, part if isinstance(part, tuple) else (part,), strict=True):
        row[column] = number
    return row[0] if arity == 1 else tuple(row)


def _merged(parts: Sequence[Derived]) -> Derived:
    """Return the union; where a row is in several parts, its rounds there are the same."""
    rounds: dict[Row, int] = {}
    for part in parts:
        for number in part.round_order:
            for row in part.fresh_rows(number):
                rounds[row] = min(number, rounds.get(row, number))
    merged = Derived(parts[0].arity)
    by_round: dict[int, list[Row]] = {}
    for row, number in rounds.items():
        by_round.setdefault(number, []).append(row)
    for number in sorted(by_round):
        rows = by_round[number]
        if not merged.grouped:
            merged.add_round(number, rows)
            continue
        groups: dict[int, set[int]] = {}
        for first, second in rows:
            groups.setdefault(first, set()).add(second)
        merged.add_round(number, groups)
    return merged
