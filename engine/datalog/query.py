"""Questions to rules: checked first, then answered over base facts, with a proof for every row."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from openknowledge.engine.datalog.analysis import (
    RuleSet,
    body_atoms,
    check_program,
    check_query,
    check_rules,
    checked_profile,
    read_rules,
)
from openknowledge.engine.datalog.base import FactBase, Row
from openknowledge.engine.datalog.limits import NO_LIMITS, Budget, Gate, Limits, releasing
from openknowledge.engine.datalog.model import Model
from openknowledge.engine.datalog.parser import RuleText, parse_query
from openknowledge.engine.datalog.proof import ASSERTED, Proof, sizes
from openknowledge.engine.datalog.syntax import Atom
from openknowledge.engine.datalog.values import Value, display_atom, value_type
from openknowledge.engine.errors import LimitError

ASSERTED_FACT = "asserted-fact"
DERIVED_FACT = "derived-fact"
_BLOCK = 5_000


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One row of an answer: its ``kind``, display string, values, and proof."""

    kind: str
    atom: str
    predicate: str
    values: tuple[Value, ...]
    proof: Proof

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain data, without the sources, which only the owner of the facts knows."""
        return {
            "kind": self.kind,
            "atom": self.atom,
            "predicate": self.predicate,
            "values": [{"type": value_type(value), "value": plain(value)} for value in self.values],
            "proof": self.proof.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of an answer in display order, cut at the limit on results if ``truncated``."""

    query: Atom
    profile: str
    rows: tuple[AnswerRow, ...]
    truncated: bool
    model: Model


def plain(value: Value) -> str | int | float:
    """Return ``value`` as JSON holds it: a name as its text."""
    return value if isinstance(value, (str, int, float)) else value.text


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query with its rules, parsed and checked as far as that needs no facts."""

    query: Atom
    query_text: str
    rules: RuleSet
    profile: str
    limits: Limits

    @property
    def predicates(self) -> frozenset[str]:
        """The predicates that the answer depends on; base relations not among them need not be loaded."""
        return self.rules.reached(self.query.predicate)

    def answer(
        self,
        facts: FactBase,
        *,
        gate: Gate | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> Answer:
        """Return the answer over ``facts``.

        Raises ``DatalogError`` for what analysis finds, ``LimitError`` for a limit that was reached, and
        ``ProofDepthError`` when a row has no proof within the depth.
        """
        budget = Budget(self.limits, now)
        with gate.enter(budget) if gate is not None else nullcontext():
            return releasing(lambda: self._answer(facts, budget))

    def rows(self, facts: FactBase, *, now: Callable[[], float] = time.monotonic) -> list[tuple[Value, ...]]:
        """Return the rows that match, without proofs, in no particular order. Errors as for ``answer``."""
        budget = Budget(self.limits, now)

        def work() -> list[tuple[Value, ...]]:
            check_program(self.rules, facts, self.query, self.query_text)
            model = Model(self.rules, facts, budget, self.predicates)
            return [model.decoded(row) for row in model.derive_for(self.query)]

        return releasing(work)

    def proofs(
        self, facts: FactBase, rows: Iterable[Sequence[Value]], *, now: Callable[[], float] = time.monotonic
    ) -> list[Proof | None]:
        """Return the proof of each of ``rows`` of the predicate asked for; ``None`` where none follows.

        Errors as for ``answer``.
        """
        budget = Budget(self.limits, now)
        wanted = [tuple(row) for row in rows]

        def work() -> list[Proof | None]:
            check_program(self.rules, facts, self.query, self.query_text)
            model = Model(self.rules, facts, budget, self.predicates)
            known = {model.decoded(row) for row in model.derive_for(self.query)}
            name = self.query.predicate
            return [model.proof(name, row) if row in known else None for row in wanted]

        return releasing(work)

    def _answer(self, facts: FactBase, budget: Budget) -> Answer:
        check_program(self.rules, facts, self.query, self.query_text)
        model = Model(self.rules, facts, budget, self.predicates)
        rows = model.derive_for(self.query)
        kept, truncated = self._first(model, rows, budget)
        answers: list[AnswerRow] = []
        name = self.query.predicate
        for atom, place in kept:
            proof = model.proof_of(name, rows[place])
            kind = ASSERTED_FACT if proof.kind == ASSERTED else DERIVED_FACT
            answers.append(AnswerRow(kind, atom, name, model.decoded(rows[place]), proof))
        if self.limits.proof_steps is not None:
            size = sizes([row.proof for row in answers])
            budget.check_steps(sum(size[id(row.proof)] for row in answers))
        return Answer(self.query, self.profile, tuple(answers), truncated, model)

    def _first(self, model: Model, rows: Sequence[Row], budget: Budget) -> tuple[list[tuple[str, int]], bool]:
        """Return the display strings of ``rows`` with their places, sorted and cut, and if any was cut."""
        name = self.query.predicate
        most = self.limits.results
        kept: list[tuple[str, int]] = []
        for start in range(0, len(rows), _BLOCK):
            budget.check_time()
            kept.extend(
                (display_atom(name, model.decoded(rows[place])), place)
                for place in range(start, min(start + _BLOCK, len(rows)))
            )
            if most is not None and len(kept) > most:
                kept = heapq.nsmallest(most, kept)
        return sorted(kept), most is not None and len(rows) > most


def prepare(
    query: str,
    rules: str | Iterable[RuleText] = (),
    *,
    profile: str = "",
    limits: Limits = NO_LIMITS,
) -> Prepared:
    """Return ``query`` with ``rules``, checked in this order.

    Bytes of the query, bytes of the rules, profile, grammar of the query, its terms, grammar of the rules,
    what the profile allows. What needs the base relations (``DatalogError`` for unsafe variables, arities,
    unknown relations, recursion through negation) is checked by ``answer``. Of texts that are ``built_in``
    only the rules that the query or the other rules reach take part.

    Raises ``LimitError``, ``UsageError`` for an unknown profile, and ``DatalogError``.
    """
    texts = [RuleText(rules)] if isinstance(rules, str) else list(rules)
    _check_bytes("query", [query], limits.query_bytes, "QUERY_BYTES")
    _check_bytes("rules", [text.text for text in texts if not text.built_in], limits.rule_bytes, "RULE_BYTES")
    profile = checked_profile(profile)
    atom = parse_query(query)
    check_query(atom, query)
    ruleset = _without_unreached(read_rules(texts), atom.predicate)
    check_rules(ruleset, profile)
    return Prepared(atom, query, ruleset, profile, limits)


def _check_bytes(what: str, texts: Iterable[str], most: int | None, limit: str) -> None:
    if most is None:
        return
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    if size > most:
        verb = "has" if what == "query" else "have"
        raise LimitError(f"the Datalog {what} {verb} {size:,} bytes; the limit is {most} bytes", limit=limit)


def _without_unreached(rules: RuleSet, predicate: str) -> RuleSet:
    built_in = {source for source, text in rules.texts.items() if text.built_in}
    if not built_in:
        return rules
    reached = set(rules.reached(predicate))
    for rule in rules.rules:
        if rule.source not in built_in:
            for atom in body_atoms(rule):
                reached |= rules.reached(atom.predicate)
    kept = tuple(
        rule for rule in rules.rules if rule.source not in built_in or rule.head.predicate in reached
    )
    by_head: dict[str, tuple[int, ...]] = {}
    for index, rule in enumerate(kept):
        by_head[rule.head.predicate] = (*by_head.get(rule.head.predicate, ()), index)
    return RuleSet(kept, rules.texts, by_head)


def evaluate(
    rules: str | Iterable[RuleText],
    relations: Mapping[str, Iterable[Sequence[object]]] | FactBase,
    limits: Limits = NO_LIMITS,
    *,
    profile: str = "",
) -> Model:
    """Return all that follows from ``rules`` over ``relations``.

    ``rules`` is one text or several with names; ``relations`` maps names to rows of text, numbers and
    ``Name``s, or is a ``FactBase`` to share between calls. Nothing is limited unless ``limits`` says so.
    Rules with negation need ``profile="openknowledge.closed-world/v1"``.

    Raises ``DatalogError`` for faults in the rules, ``FactsError`` for rows that are no facts, and
    ``LimitError``.

    >>> model = evaluate('''
    ...     path(X, Y) :- edge(X, Y).
    ...     path(X, Z) :- path(X, Y), edge(Y, Z).
    ... ''', {"edge": [(1, 2), (2, 3)]})
    >>> sorted(model["path"])
    [(1, 2), (1, 3), (2, 3)]
    >>> (1, 3) in model["path"]
    True
    >>> proof = model.proof("path", (1, 3))
    >>> proof.rule
    'path(X,Z) :- path(X,Y), edge(Y,Z).'
    >>> [step.atom for step in proof.inputs], proof.height
    (['path(1,2)', 'edge(2,3)'], 2)
    """
    texts = [RuleText(rules)] if isinstance(rules, str) else list(rules)
    _check_bytes("rules", [text.text for text in texts if not text.built_in], limits.rule_bytes, "RULE_BYTES")
    profile = checked_profile(profile)
    ruleset = read_rules(texts)
    check_rules(ruleset, profile)
    facts = relations if isinstance(relations, FactBase) else FactBase(relations)
    budget = Budget(limits)

    def work() -> Model:
        check_program(ruleset, facts, empty_is_unknown=False)
        predicates = set(ruleset.by_head) | {
            atom.predicate for rule in ruleset.rules for atom in body_atoms(rule)
        }
        model = Model(ruleset, facts, budget, predicates)
        model.derive()
        return model

    return releasing(work)
