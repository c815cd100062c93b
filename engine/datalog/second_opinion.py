"""The same answers from pyDatalog, an independent implementation of Datalog.

pyDatalog is handed its own term objects, never text: predicates are called ``p0``, ``p1`` and values are
numbers of a table, so nothing of a user's reaches it. It keeps its state in one place per thread; that place
is set up afresh for each question and put back afterwards, so that no two questions see each other's facts.

Predicates that need each other are asked together, after those that they need, which have become facts by
then: so negation is stratified. Aggregates are computed here over pyDatalog's solutions: its own ones mean
something else.

pyDatalog cannot be stopped, and may search for ever where recursive goals wait for each other. So recursion
is unrolled here, round by round, each a flat program for pyDatalog. Only with a time limit, in a process of
its own that ends with it, pyDatalog is first left to recur by itself: it is much faster where the query has
arguments, and usually done.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from openknowledge.engine.datalog.analysis import components
from openknowledge.engine.datalog.closed_world import compare, fold, numbered
from openknowledge.engine.datalog.errors import shorten
from openknowledge.engine.datalog.parser import RuleText, parse_query, parse_rules
from openknowledge.engine.datalog.syntax import (
    Aggregate,
    Atom,
    Constant,
    Negation,
    Rule,
    Term,
    Variable,
)
from openknowledge.engine.datalog.values import Name, Value, display_atom, normalised
from openknowledge.engine.errors import LimitError, OpenKnowledgeError

Facts = Callable[[str], Iterable[Sequence[Value]]]
Row = tuple[Value, ...]


class Disagreement(OpenKnowledgeError):
    """pyDatalog has other answers. ``missing`` and ``surplus`` are atoms, seen from the answer checked."""

    def __init__(self, message: str, missing: tuple[str, ...], surplus: tuple[str, ...]) -> None:
        super().__init__(message)
        self.missing = missing
        self.surplus = surplus


def verify(
    query: str,
    rules: str | Iterable[RuleText],
    facts: Facts,
    rows: Iterable[Sequence[Value]],
    *,
    total: int | None = None,
    seconds: float | None = None,
) -> int:
    """Check ``rows``, the answer to ``query``, against pyDatalog; return how many answers it finds.

    ``total`` is the number of answers where ``rows`` are only the first of them. Raises ``Disagreement``
    with the facts that differ, and ``LimitError`` when pyDatalog takes longer than ``seconds``.
    """
    expected = second_opinion(query, rules, facts, seconds=seconds)
    given = {tuple(map(normalised, row)) for row in rows}
    predicate = parse_query(query).predicate
    surplus = tuple(sorted(display_atom(predicate, row) for row in given - expected))
    missing: tuple[str, ...] = ()
    if total is None or total <= len(given):
        missing = tuple(sorted(display_atom(predicate, row) for row in expected - given))
    if surplus or missing or (total is not None and total != len(expected)):
        parts = []
        if missing:
            parts.append(f"it also finds {_listed(missing)}")
        if surplus:
            parts.append(f"it does not find {_listed(surplus)}")
        if not parts:
            parts.append(f"it finds {len(expected)} answers, not {total}")
        message = f"pyDatalog, the second opinion, disagrees: {'; '.join(parts)}"
        raise Disagreement(message, missing, surplus)
    return len(expected)


def _listed(atoms: Sequence[str]) -> str:
    shown = ", ".join(shorten(atom, 200) for atom in atoms[:10])
    return f"{shown} and {len(atoms) - 10} more" if len(atoms) > 10 else shown


def second_opinion(
    query: str, rules: str | Iterable[RuleText], facts: Facts, *, seconds: float | None = None
) -> set[Row]:
    """Return pyDatalog's answers to ``query``: the rows of its predicate that match.

    ``rules`` must have passed the checks of ``prepare`` and ``answer``. With ``seconds`` the work is done in
    a process that ends after that time, with ``LimitError``.
    """
    texts = [RuleText(rules)] if isinstance(rules, str) else list(rules)
    parsed = [rule for text in texts for rule in parse_rules(text.text, text.source)]
    question = encoded(parse_query(query), parsed, facts)
    found: list[tuple[int, ...]] | None = None
    if seconds is None:
        found = answered(question)
    elif any(_recursive(clause, stratum) for stratum in question.strata for clause in stratum):
        seconds /= 2
        with suppress(LimitError):
            found = _in_process(replace(question, unroll=False), seconds)
    if found is None:
        found = _in_process(question, seconds or 0.0)
    values = question.values
    return {tuple(values[number] for number in row) for row in found}


def _in_process(question: Question, seconds: float) -> list[tuple[int, ...]]:
    """Answer in a process that ends after ``seconds``."""
    command = [sys.executable, "-m", "openknowledge.engine.datalog.second_opinion"]
    try:
        done = subprocess.run(
            command, input=question.dumped(), capture_output=True, timeout=seconds, check=False, text=True
        )
    except subprocess.TimeoutExpired:
        message = f"pyDatalog, the second opinion, was stopped after {seconds:g} s"
        raise LimitError(message, limit="QUERY_SECONDS") from None
    if done.returncode:
        reason = shorten((done.stderr.strip().splitlines() or ["no reason given"])[-1], 300)
        raise OpenKnowledgeError(f"pyDatalog, the second opinion, failed: {reason}")
    answer = json.loads(done.stdout)
    question.values.extend(map(_plain, answer["values"]))
    return [tuple(row) for row in answer["rows"]]


# The question as numbers


@dataclass(frozen=True, slots=True)
class Clause:
    """A rule over numbers. A term is ``["v", name]`` for a variable, or ``["c", number]`` for a value."""

    head: str
    terms: list[list[Any]]
    atoms: list[list[Any]]
    negations: list[list[Any]]
    comparisons: list[list[Any]]
    folds: list[str | None]


@dataclass(frozen=True, slots=True)
class Question:
    """A query with the rules and facts it reaches, in strata. ``values`` gives the value of each number."""

    predicate: str
    terms: list[list[Any]]
    strata: list[list[Clause]]
    facts: dict[str, list[list[int]]]
    values: list[Value]
    unroll: bool = True

    def dumped(self) -> str:
        """Return the question as JSON."""
        strata = [[[getattr(clause, name) for name in _FIELDS] for clause in group] for group in self.strata]
        values = [{"name": value.text} if isinstance(value, Name) else value for value in self.values]
        return json.dumps([self.predicate, self.terms, strata, self.facts, values, self.unroll])


_FIELDS = ("head", "terms", "atoms", "negations", "comparisons", "folds")


def loaded(text: str) -> Question:
    """Return the question that ``dumped`` wrote."""
    predicate, terms, strata, facts, values, unroll = json.loads(text)
    groups = [[Clause(*fields) for fields in group] for group in strata]
    return Question(predicate, terms, groups, facts, list(map(_plain, values)), unroll)


def _plain(value: Any) -> Value:
    plain: Value = Name(value["name"]) if isinstance(value, dict) else value
    return plain


class _Numbers:
    def __init__(self) -> None:
        self.values: list[Value] = []
        self._numbers: dict[Value, int] = {}

    def __call__(self, value: Value) -> int:
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers[value] = len(self.values)
            self.values.append(value)
        return known


def encoded(query: Atom, rules: Sequence[Rule], facts: Facts) -> Question:
    """Return the question whether ``query`` follows, with everything that it reaches."""
    by_head: dict[str, list[Rule]] = {}
    for rule in rules:
        by_head.setdefault(rule.head.predicate, []).append(rule)
    reached = [query.predicate]
    names: dict[str, str] = {query.predicate: "p0"}
    for name in reached:
        for rule in by_head.get(name, ()):
            for used in _uses(rule):
                if used not in names:
                    names[used] = f"p{len(names)}"
                    reached.append(used)
    number = _Numbers()
    level = _levels([rule for name in reached for rule in by_head.get(name, ())])
    strata: list[list[Clause]] = [[] for _ in range(max(level.values(), default=0) + 1)]
    for name in reached:
        for rule in by_head.get(name, ()):
            strata[level[name]].append(_clause(numbered(rule), names, number))
    base = {
        names[name]: [[number(normalised(value)) for value in row] for row in facts(name)] for name in reached
    }
    free = ({"_": f"_{column}"}.get(str(term), str(term)) for column, term in enumerate(query.arguments))
    terms = [
        ["c", number(term.value)] if isinstance(term, Constant) else ["v", name]
        for term, name in zip(query.arguments, free, strict=True)
    ]
    return Question("p0", terms, strata, base, number.values)


def _uses(rule: Rule) -> Iterator[str]:
    for premise in rule.premises:
        if isinstance(premise, Atom):
            yield premise.predicate
        elif isinstance(premise, Negation):
            yield premise.atom.predicate


def _levels(rules: Sequence[Rule]) -> dict[str, int]:
    """Return a level for each derived predicate: above all it needs, but for those that need each other."""
    needs: dict[str, list[str]] = {}
    for rule in rules:
        needs.setdefault(rule.head.predicate, []).extend(_uses(rule))
    component = components(needs)
    level = dict.fromkeys(needs, 0)
    changed = True
    while changed:
        changed = False
        for head, used in needs.items():
            for name in used:
                least = level.get(name, -1) + (component[name] != component[head])
                if level[head] < least:
                    level[head] = least
                    changed = True
    return level


def _clause(rule: Rule, names: Mapping[str, str], number: _Numbers) -> Clause:
    def term(given: Term) -> list[Any]:
        if isinstance(given, Constant):
            return ["c", number(given.value)]
        if isinstance(given, Aggregate):
            return ["v", given.variable.name]
        return ["v", given.name] if isinstance(given, Variable) else ["v", ""]

    def atom(given: Atom) -> list[Any]:
        return [names[given.predicate], [term(argument) for argument in given.arguments]]

    return Clause(
        names[rule.head.predicate],
        [term(argument) for argument in rule.head.arguments],
        [atom(premise) for premise in rule.atoms()],
        [atom(premise.atom) for premise in rule.negations()],
        [[c.operator, term(c.left), term(c.right)] for c in rule.comparisons()],
        [argument.function if isinstance(argument, Aggregate) else None for argument in rule.head.arguments],
    )


# pyDatalog


@contextmanager
def _fresh_state() -> Iterator[Any]:
    """Give pyDatalog an empty state in this thread, and put back what was there."""
    from pyDatalog import Logic, pyEngine  # type: ignore[import-untyped]

    before = getattr(Logic.tl, "logic", None)
    Logic()
    try:
        yield pyEngine
    finally:
        if before is None:
            del Logic.tl.logic
        else:
            Logic.tl.logic = before


def answered(question: Question) -> list[tuple[int, ...]]:
    """Return pyDatalog's answers, as numbers; values that aggregates yield are added to the question's."""
    with _fresh_state() as engine:
        return _Session(engine, question).answers()


def _recursive(clause: Clause, stratum: Sequence[Clause]) -> bool:
    heads = {other.head for other in stratum}
    return any(name in heads for name, _ in clause.atoms)


def _variants(clause: Clause, newest: Mapping[str, str] | None) -> Iterator[Clause]:
    """Yield ``clause`` with one premise after the other taken from the newest facts; as it is at first."""
    if newest is None:
        yield clause
        return
    for place, (name, terms) in enumerate(clause.atoms):
        if name in newest:
            atoms = [*clause.atoms[:place], [newest[name], terms], *clause.atoms[place + 1 :]]
            yield replace(clause, atoms=atoms)


class _Session:
    def __init__(self, engine: Any, question: Question) -> None:
        self.engine = engine
        self.question = question
        self.numbers = {value: number for number, value in enumerate(question.values)}
        self._helpers = 0

    def answers(self) -> list[tuple[int, ...]]:
        question = self.question
        for name, rows in question.facts.items():
            self._known(name, len(rows[0]) if rows else 0)
            for row in rows:
                self._fact(name, row)
        for place, clauses in enumerate(question.strata):
            for clause in clauses:
                self._known(clause.head, len(clause.terms))
                for used, terms in (*clause.atoms, *clause.negations):
                    self._known(used, len(terms))
            for clause in clauses:
                if any(clause.folds):
                    self._aggregate(clause)
            plain = [clause for clause in clauses if not any(clause.folds)]
            if question.unroll and any(_recursive(clause, clauses) for clause in plain):
                self._unrolled(plain)
            else:
                self._stratum(plain, last=place == len(question.strata) - 1)
        self._known(question.predicate, len(question.terms))
        return self._ask(question.predicate, question.terms)

    def _stratum(self, clauses: Sequence[Clause], *, last: bool) -> None:
        """Give pyDatalog the rules; but for the last stratum, make facts of what they yield."""
        rules = [self._rule(clause.head, clause.terms, clause) for clause in clauses]
        for rule in rules:
            self._add(rule)
        if last:
            return
        for clause in {clause.head: clause for clause in clauses}.values():
            free = [["v", f"a{column}"] for column in range(len(clause.terms))]
            for row in self._ask(clause.head, free):
                self._fact(clause.head, row)
        for rule in rules:
            self.engine.retract(rule)

    def _unrolled(self, clauses: Sequence[Clause]) -> None:
        """Apply the rules to facts alone until they yield nothing new."""
        inside = {clause.head for clause in clauses}
        known: dict[str, set[tuple[int, ...]]] = {
            name: set(map(tuple, self.question.facts.get(name, ()))) for name in inside
        }
        newest: dict[str, str] | None = None
        while True:
            fresh: dict[str, set[tuple[int, ...]]] = {}
            for clause in clauses:
                for body in _variants(clause, newest):
                    fresh.setdefault(clause.head, set()).update(self._yielded(body))
            newest = {}
            for name, rows in fresh.items():
                rows -= known[name]
                known[name] |= rows
                if rows:
                    self._helpers += 1
                    newest[name] = f"h{self._helpers}"
                    self._known(newest[name], len(next(iter(rows))))
                for row in rows:
                    self._fact(name, row)
                    self._fact(newest[name], row)
            if not newest:
                return

    def _yielded(self, clause: Clause) -> set[tuple[int, ...]]:
        self._helpers += 1
        helper = f"h{self._helpers}"
        self._known(helper, len(clause.terms))
        rule = self._rule(helper, clause.terms, clause)
        self._add(rule)
        rows = set(self._ask(helper, [["v", f"a{column}"] for column in range(len(clause.terms))]))
        self.engine.retract(rule)
        return rows

    def _add(self, clause: Any) -> None:
        self.engine.assert_(clause)  # noqa: PT009 - pyDatalog's name for adding a clause

    def _known(self, name: str, arity: int) -> None:
        predicate = self.engine.Pred(name, max(arity, 1))
        predicate.prearity = max(arity, 1)
        self.engine.insert(predicate)

    def _term(self, term: Sequence[Any]) -> Any:
        return self.engine.Var(term[1]) if term[0] == "v" else self.engine.Const(term[1])

    def _literal(self, name: str, terms: Sequence[Sequence[Any]]) -> Any:
        # pyDatalog has no predicates without arguments
        shown = [self._term(term) for term in terms] or [self.engine.Const(-1)]
        return self.engine.Literal(name, shown)

    def _fact(self, name: str, row: Sequence[int]) -> None:
        self._add(self.engine.Clause(self._literal(name, [["c", number] for number in row]), []))

    def _rule(self, head: str, terms: Sequence[Sequence[Any]], clause: Clause) -> Any:
        body = [self._literal(name, arguments) for name, arguments in clause.atoms]
        for operator, left, right in clause.comparisons:
            body.append(self._literal(self._comparison(operator), [left, right]))
        for name, arguments in clause.negations:
            bound = [term for term in arguments if term != ["v", ""]]
            if len(bound) < len(arguments):
                name = self._projected(name, arguments)
            body.append(self._literal(f"~{name}", bound))
        return self.engine.Clause(self._literal(head, terms), body)

    def _projected(self, name: str, arguments: Sequence[Sequence[Any]]) -> str:
        """Define a predicate for the columns of ``name`` that are given; return its name."""
        self._helpers += 1
        helper = f"h{self._helpers}"
        columns = [["v", f"a{column}"] for column in range(len(arguments))]
        kept = [column for column, term in zip(columns, arguments, strict=True) if term != ["v", ""]]
        self._known(helper, len(kept))
        body = [self._literal(name, columns)]
        self._add(self.engine.Clause(self._literal(helper, kept), body))
        return helper

    def _comparison(self, operator: str) -> str:
        name = f"compare {operator}"
        predicate = self.engine.Pred(name, 2)
        if predicate.prim is None:
            values = self.question.values

            def holds(literal: Any, subgoal: Any) -> None:
                left, right = (values[term.id] for term in literal.terms)
                if compare(left, operator, right):
                    subgoal.fact(True)

            predicate.prim = holds
            self.engine.insert(predicate)
        return name

    def _aggregate(self, clause: Clause) -> None:
        names = sorted(
            {term[1] for _, terms in clause.atoms for term in terms if term[0] == "v"}
            | {term[1] for term in clause.terms if term[0] == "v"}
        )
        self._helpers += 1
        helper = f"h{self._helpers}"
        columns = [["v", name] for name in names]
        self._known(helper, len(columns))
        self._add(self._rule(helper, columns, clause))
        groups: dict[tuple[int, ...], list[dict[str, int]]] = {}
        for row in self._ask(helper, columns):
            solution = dict(zip(names, row, strict=True))
            key = tuple(
                solution[term[1]]
                for term, function in zip(clause.terms, clause.folds, strict=True)
                if function is None and term[0] == "v"
            )
            groups.setdefault(key, []).append(solution)
        for members in groups.values():
            fact: list[int] = []
            for term, function in zip(clause.terms, clause.folds, strict=True):
                if function is not None:
                    members_values = [self.question.values[member[term[1]]] for member in members]
                    fact.append(self._number(fold(function, members_values)))
                else:
                    fact.append(members[0][term[1]] if term[0] == "v" else term[1])
            self._fact(clause.head, fact)

    def _number(self, value: Value | None) -> int:
        if value is None:
            raise OpenKnowledgeError("an aggregate has no value")
        known = self.numbers.get(value)
        if known is None:
            known = self.numbers[value] = len(self.question.values)
            self.question.values.append(value)
        return known

    def _ask(self, name: str, terms: Sequence[Sequence[Any]]) -> list[tuple[int, ...]]:
        distinct = [["v", f"a{column}"] if term[0] == "v" else term for column, term in enumerate(terms)]
        found = self._literal(name, distinct).ask()
        if found is True:
            return [tuple(term[1] for term in terms)]
        rows: list[tuple[int, ...]] = []
        for row in found:
            numbers = tuple(row[: len(terms)])
            if all(
                (numbers[i] == numbers[j]) or terms[i] != terms[j]
                for i in range(len(terms))
                for j in range(i)
            ):
                rows.append(numbers)
        return rows


def main() -> None:
    """Answer the question on standard input, on standard output."""
    question = loaded(sys.stdin.read())
    before = len(question.values)
    rows = answered(question)
    added = [{"name": value.text} if isinstance(value, Name) else value for value in question.values[before:]]
    sys.stdout.write(json.dumps({"rows": rows, "values": added}))


if __name__ == "__main__":
    main()
