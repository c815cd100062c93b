"""Proofs checked by code that shares nothing with the evaluator but the parser and its syntax tree.

A proof comes from outside, as plain data, and nothing in it is believed. Every step must follow from its
inputs by a rule of the program, every asserted leaf must be a base fact, and what a step claims about facts
that are not there (absence, completeness of an aggregate) is established anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openknowledge.engine import limits as bounds
from openknowledge.engine.datalog.closed_world import (
    ClosedWorld,
    Facts,
    compare,
    fold,
    instances,
    substituted,
)
from openknowledge.engine.datalog.errors import DatalogError, shorten
from openknowledge.engine.datalog.parser import RuleText, parse_ground_atom, parse_query, parse_rules
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
    rule_id,
)
from openknowledge.engine.datalog.values import Name, Value

_LEAVES = {"asserted", "closed-world-absence", "comparison"}
_DERIVED = {"rule", "aggregate"}
_LEAF_KEYS = {"kind", "atom", "inputs"}
_DERIVED_KEYS = {"kind", "atom", "ruleId", "rule", "inputs"}
_ROW_KINDS = {"asserted": "asserted-fact", "rule": "derived-fact", "aggregate": "derived-fact"}


@dataclass(frozen=True, slots=True)
class Finding:
    """A step that does not hold: ``path`` such as ``results[0].proof.inputs[1]``, its atom, and why."""

    path: str
    atom: str
    reason: str

    def __str__(self) -> str:
        shown = f" {shorten(self.atom, 200)}:" if self.atom else ""
        return f"{self.path or 'result'}:{shown} {shorten(self.reason, 1_000)}"


class _Rejected(Exception):
    def __init__(self, path: str, atom: str, reason: str) -> None:
        super().__init__(reason)
        self.finding = Finding(path, atom, reason)


@dataclass(frozen=True, slots=True)
class _Task:
    path: str
    step: Mapping[str, Any]
    above: _Above | None


@dataclass(frozen=True, slots=True)
class _Above:
    """The atoms on the way from the root to a step."""

    atom: str
    above: _Above | None


class ProofChecker:
    """Checks proofs against rules and base facts.

    ``facts(name)`` returns the rows of a base relation, none for an unknown name. ``seconds`` bounds the work
    of one ``ProofChecker``; what takes longer ends in ``LimitError``.
    """

    def __init__(
        self,
        rules: str | Iterable[RuleText],
        facts: Facts,
        *,
        holds: Callable[[str, tuple[Value, ...]], bool] | None = None,
        seconds: float | None = None,
        steps: int = 4 * bounds.PROOF_STEPS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """``holds`` tells whether one fact is a base fact, where there is a faster way than ``facts``.

        Raises ``DatalogError`` when the rules do not parse.
        """
        texts = [RuleText(rules)] if isinstance(rules, str) else list(rules)
        self._rules: dict[str, Rule] = {}
        for text in texts:
            for rule in parse_rules(text.text, text.source):
                self._rules.setdefault(str(rule), rule)
        self._world = ClosedWorld(tuple(self._rules.values()), facts, seconds, now)
        self._holds = holds or self._world.asserted
        self._steps = steps
        self._checked: set[tuple[str, int]] = set()

    def check_result(self, result: object) -> list[Finding]:
        """Return what is wrong with a saved result, one finding per row at most; nothing when all holds.

        Of ``result`` the query and the rows are read: each row must match the query, agree with its proof,
        and be proved by it. No row may come twice, and the rows must be in display order.
        """
        if not isinstance(result, Mapping):
            return [Finding("", "", "a result is an object")]
        rows = result.get("results")
        if not isinstance(rows, Sequence) or isinstance(rows, str):
            return [Finding("results", "", "a result has a list of results")]
        findings: list[Finding] = []
        query: Atom | None = None
        try:
            query = parse_query(_text(result.get("query")))
        except DatalogError as error:
            findings.append(Finding("query", "", error.problem))
        previous: str | None = None
        for place, row in enumerate(rows):
            path = f"results[{place}]"
            finding = self.check_row(row, path, query)
            if finding is not None:
                findings.append(finding)
                continue
            atom = row["atom"]
            if previous is not None and atom <= previous:
                reason = "rows come once each and in the order of their atoms"
                findings.append(Finding(path, atom, reason))
            previous = atom
        return findings

    def check_row(self, row: object, path: str = "results[0]", query: Atom | None = None) -> Finding | None:
        """Return what is wrong with one row of a result, ``None`` when it holds."""
        try:
            self._row(row, path, query)
        except _Rejected as rejected:
            return rejected.finding
        return None

    def check_proof(self, proof: object, path: str = "proof") -> Finding | None:
        """Return the first step of ``proof`` that does not hold, ``None`` when all do."""
        try:
            self._proof(proof, path)
        except _Rejected as rejected:
            return rejected.finding
        return None

    def _row(self, row: object, path: str, query: Atom | None) -> None:
        if not isinstance(row, Mapping):
            raise _Rejected(path, "", "a row is an object")
        atom = _text(row.get("atom"))
        proof = row.get("proof")
        if not isinstance(proof, Mapping):
            raise _Rejected(f"{path}.proof", atom, "the row has no proof")
        if proof.get("atom") != atom:
            raise _Rejected(f"{path}.proof", atom, "the proof is for another atom than its row")
        predicate, values = _ground(path, atom)
        if row.get("predicate") != predicate:
            raise _Rejected(path, atom, "the predicate differs from the one in the atom")
        if not _same(row.get("values"), [_typed(value) for value in values]):
            raise _Rejected(path, atom, "the values differ from those in the atom")
        expected = _ROW_KINDS.get(_text(proof.get("kind")))
        if row.get("kind") != expected:
            raise _Rejected(path, atom, f"the kind of the row must be {expected}, as its proof says")
        if query is not None and not _answers(query, predicate, values):
            raise _Rejected(path, atom, f"the row does not match the query {shorten(str(query), 200)}")
        self._proof(proof, f"{path}.proof")

    def _proof(self, proof: object, path: str) -> None:
        budget = self._steps
        tasks: list[_Task] = [_Task(path, _step(path, proof), None)]
        while tasks:
            budget -= 1
            if budget < 0:
                raise _Rejected(path, "", f"the proof has more than {self._steps:,} steps")
            task = tasks.pop()
            self._world.check_time()
            inputs = self._check(task)
            above = _Above(task.step["atom"], task.above)
            for place in range(len(inputs) - 1, -1, -1):
                child = f"{task.path}.inputs[{place}]"
                tasks.append(_Task(child, _step(child, inputs[place]), above))

    def _check(self, task: _Task) -> Sequence[object]:
        """Check one step against its own inputs; return these, to be checked in turn."""
        step, path = task.step, task.path
        kind, atom, inputs = step["kind"], step["atom"], step["inputs"]
        if kind in _LEAVES:
            if set(step) != _LEAF_KEYS:
                raise _Rejected(
                    path, atom, f"a step of kind {kind} has the keys {', '.join(sorted(_LEAF_KEYS))}"
                )
            if inputs:
                raise _Rejected(path, atom, f"a step of kind {kind} has no inputs")
            if kind == "asserted":
                predicate, values = _ground(path, atom)
                if not self._holds(predicate, values):
                    raise _Rejected(path, atom, "this is not a base fact")
            # absences and comparisons are established where the rule that needs them is checked
            elif task.above is None:
                raise _Rejected(path, atom, f"a step of kind {kind} proves nothing by itself")
            return ()
        if kind not in _DERIVED:
            raise _Rejected(path, atom, f"there is no kind of step called {shorten(str(kind))}")
        if set(step) != _DERIVED_KEYS:
            raise _Rejected(
                path, atom, f"a step of kind {kind} has the keys {', '.join(sorted(_DERIVED_KEYS))}"
            )
        above = task.above
        while above is not None:
            if above.atom == atom:
                raise _Rejected(path, atom, "this step is used to prove itself")
            above = above.above
        rule = self._rule(path, step)
        if rule.is_aggregate != (kind == "aggregate"):
            raise _Rejected(path, atom, f"the rule of this step is not of the kind {kind}")
        predicate, values = _ground(path, atom)
        if self._holds(predicate, values):
            raise _Rejected(path, atom, "this is a base fact, so no rule is needed for it")
        if kind == "rule":
            self._by_rule(path, rule, atom, predicate, values, inputs)
        else:
            self._by_aggregate(path, rule, atom, predicate, values, inputs)
        return tuple(inputs)

    def _rule(self, path: str, step: Mapping[str, Any]) -> Rule:
        text = step["rule"]
        rule = self._rules.get(text) if isinstance(text, str) else None
        if rule is None:
            raise _Rejected(path, step["atom"], f"the program has no rule {shorten(str(text), 200)}")
        if step["ruleId"] != rule_id(str(rule)):
            raise _Rejected(path, step["atom"], f"the ruleId of this rule is {rule_id(str(rule))}")
        return rule

    def _by_rule(
        self,
        path: str,
        rule: Rule,
        atom: str,
        predicate: str,
        values: tuple[Value, ...],
        inputs: Sequence[object],
    ) -> None:
        if len(inputs) != len(rule.premises):
            reason = f"the rule has {len(rule.premises)} premises, but there are {len(inputs)} inputs"
            raise _Rejected(path, atom, reason)
        binding: dict[str, Value] = {}
        if rule.head.predicate != predicate or not _unify(rule.head.arguments, values, binding):
            raise _Rejected(path, atom, "the head of the rule does not match")
        steps = [_step(f"{path}.inputs[{place}]", given) for place, given in enumerate(inputs)]
        for place, (premise, given) in enumerate(zip(rule.premises, steps, strict=True)):
            if isinstance(premise, Atom):
                child = f"{path}.inputs[{place}]"
                found, row = _ground(child, given["atom"])
                if given["kind"] in ("closed-world-absence", "comparison"):
                    raise _Rejected(child, given["atom"], f"premise {place + 1} of the rule needs a fact")
                if found != premise.predicate or not _unify(premise.arguments, row, binding):
                    shown = shorten(str(substituted(premise, binding)), 200)
                    raise _Rejected(child, given["atom"], f"premise {place + 1} of the rule needs {shown}")
        for place, (premise, given) in enumerate(zip(rule.premises, steps, strict=True)):
            if not isinstance(premise, Atom):
                self._without_fact(f"{path}.inputs[{place}]", premise, given, binding)

    def _without_fact(
        self, path: str, premise: Premise, step: Mapping[str, Any], binding: Mapping[str, Value]
    ) -> None:
        expected = substituted(premise, binding)
        kind = "comparison" if isinstance(premise, Comparison) else "closed-world-absence"
        if step["kind"] != kind or step["atom"] != str(expected):
            reason = f"the rule needs the {kind} {shorten(str(expected), 200)} here"
            raise _Rejected(path, step["atom"], reason)
        if isinstance(expected, Comparison):
            left, right = _constant(expected.left), _constant(expected.right)
            if left is None or right is None or not compare(left, expected.operator, right):
                raise _Rejected(path, step["atom"], "the comparison does not hold")
        elif isinstance(expected, Negation) and self._world.matches(expected.atom):
            raise _Rejected(path, step["atom"], "a fact matches, so this is not absent")

    def _by_aggregate(
        self,
        path: str,
        rule: Rule,
        atom: str,
        predicate: str,
        values: tuple[Value, ...],
        inputs: Sequence[object],
    ) -> None:
        group: dict[str, Value] = {}
        plain = [(term, value) for term, value in zip(rule.head.arguments, values, strict=False)]
        if rule.head.predicate != predicate or len(rule.head.arguments) != len(values):
            raise _Rejected(path, atom, "the head of the rule does not match")
        keys = [(term, value) for term, value in plain if not isinstance(term, Aggregate)]
        if not _unify([term for term, _ in keys], [value for _, value in keys], group):
            raise _Rejected(path, atom, "the head of the rule does not match")
        solutions = self._world.solutions(rule, group)
        if not solutions:
            raise _Rejected(path, atom, "nothing satisfies the premises of this aggregate")
        for term, value in plain:
            if isinstance(term, Aggregate):
                actual = fold(term.function, [solution[term.variable.name] for solution in solutions])
                if actual is None or type(actual) is not type(value) or actual != value:
                    shown = "no value" if actual is None else str(Constant(actual))
                    raise _Rejected(path, atom, f"{term} is {shown}")
        expected = instances(rule, solutions)
        steps = [_step(f"{path}.inputs[{place}]", given) for place, given in enumerate(inputs)]
        found = [step["atom"] for step in steps]
        if found != [shown for _, shown in expected]:
            place = next(
                (i for i, (a, (_, b)) in enumerate(zip(found, expected, strict=False)) if a != b),
                min(len(found), len(expected)),
            )
            child = f"{path}.inputs[{place}]"
            if place < len(expected):
                raise _Rejected(child, atom, f"the aggregate is also over {shorten(expected[place][1], 200)}")
            raise _Rejected(child, atom, f"the aggregate is not over {shorten(found[place], 200)}")
        for place, (step, (kind, _)) in enumerate(zip(steps, expected, strict=True)):
            is_fact = step["kind"] not in ("closed-world-absence", "comparison")
            if step["kind"] != kind and not (kind == "fact" and is_fact):
                raise _Rejected(f"{path}.inputs[{place}]", step["atom"], f"this must be a {kind}")


def _step(path: str, step: object) -> Mapping[str, Any]:
    """Return ``step`` if it has the form of a proof step."""
    if not isinstance(step, Mapping):
        raise _Rejected(path, "", "a step is an object")
    atom = step.get("atom")
    if not isinstance(atom, str):
        raise _Rejected(path, "", "a step has an atom, as text")
    if not isinstance(step.get("kind"), str):
        raise _Rejected(path, atom, "a step has a kind, as text")
    inputs = step.get("inputs")
    if not isinstance(inputs, (list, tuple)):
        raise _Rejected(path, atom, "a step has a list of inputs")
    return step


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _ground(path: str, atom: str) -> tuple[str, tuple[Value, ...]]:
    try:
        predicate, values = parse_ground_atom(atom)
    except DatalogError as error:
        raise _Rejected(path, atom, f"this is not a fact: {error.problem}") from None
    if str(Atom(predicate, tuple(map(Constant, values)))) != atom:
        raise _Rejected(path, atom, "this atom is not written in its one display form")
    return predicate, values


def _typed(value: Value) -> dict[str, object]:
    if isinstance(value, Name):
        return {"type": "name", "value": value.text}
    return {"type": "string" if isinstance(value, str) else "number", "value": value}


def _same(given: object, expected: Sequence[Mapping[str, object]]) -> bool:
    """Return whether the values of a row are the expected ones, in type too: ``true`` is not 1."""
    if not isinstance(given, (list, tuple)) or len(given) != len(expected):
        return False
    return all(
        found == value and type(found["value"]) is type(value["value"])
        for found, value in zip(given, expected, strict=True)
    )


def _unify(terms: Sequence[Term], values: Sequence[Value], binding: dict[str, Value]) -> bool:
    if len(terms) != len(values):
        return False
    for term, value in zip(terms, values, strict=True):
        if isinstance(term, Constant):
            if term.value != value:
                return False
        elif isinstance(term, Variable):
            if binding.setdefault(term.name, value) != value:
                return False
        elif not isinstance(term, Wildcard):
            return False
    return True


def _answers(query: Atom, predicate: str, values: tuple[Value, ...]) -> bool:
    return query.predicate == predicate and _unify(query.arguments, values, {})


def _constant(term: Term) -> Value | None:
    return term.value if isinstance(term, Constant) else None
