"""Why a fact does not follow: for each rule that could yield it, the first premise that fails."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from openknowledge.engine.datalog.analysis import RuleSet, check_program, nearest
from openknowledge.engine.datalog.base import FactBase
from openknowledge.engine.datalog.closed_world import substituted
from openknowledge.engine.datalog.limits import NO_LIMITS, Budget, Limits, releasing
from openknowledge.engine.datalog.model import Model
from openknowledge.engine.datalog.parser import RuleText, parse_query
from openknowledge.engine.datalog.proof import Proof
from openknowledge.engine.datalog.query import prepare
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
from openknowledge.engine.datalog.values import COMPARISONS, Value, display, display_atom
from openknowledge.engine.errors import LimitError

NO_FACT = "no-fact"
FACT_PRESENT = "fact-present"
COMPARISON_FAILS = "comparison-fails"
OTHER_AGGREGATE = "other-aggregate"

_PREFIX = " premises"
"""The head of the rules made here. No text can name it, since it starts with a space."""

_SHOWN = 3
_CANDIDATES = 2_000
_SCANNED = 50_000


@dataclass(frozen=True, slots=True)
class Attempt:
    """A rule whose head matches, and where it fails.

    ``satisfied`` are the premises before, with the values of the attempt that went furthest (the first in
    display order); ``failed`` is the premise that fails, number ``place`` in the rule, and ``reason`` one of
    ``no-fact``, ``fact-present`` (for a negation), ``comparison-fails`` and ``other-aggregate``. ``nearest``
    are facts that would nearly do; for ``fact-present`` and ``other-aggregate`` the facts in the way.
    """

    rule_id: str
    rule: str
    source: str
    line: int
    satisfied: tuple[str, ...]
    failed: str
    place: int
    reason: str
    nearest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why ``atom`` does not follow. ``proof`` is set, and nothing else, when it does follow after all.

    ``known`` tells whether any rule or base relation has its predicate; ``suggestions`` are the predicates
    with the most similar names if not. ``nearest`` are facts of the same predicate.
    """

    atom: str
    proof: Proof | None
    known: bool
    suggestions: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    nearest: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the fact follows after all."""
        return self.proof is not None


def why_not(
    atom: str,
    rules: str | Iterable[RuleText],
    facts: FactBase,
    *,
    profile: str = "",
    limits: Limits = NO_LIMITS,
    now: Callable[[], float] = time.monotonic,
) -> WhyNot:
    """Return why no fact matches ``atom``, whose arguments may be variables.

    The search asks the engine how many premises of each rule can hold together, so it is as goal-directed as
    a query. Raises what ``prepare`` and ``answer`` raise.

    >>> base = FactBase({"edge": [("a", "b"), ("b", "c")]})
    >>> rules = "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z)."
    >>> why = why_not('path("a", "d")', rules, base)
    >>> [(attempt.satisfied, attempt.failed, attempt.nearest) for attempt in why.attempts]
    ... # doctest: +NORMALIZE_WHITESPACE
    [((), 'edge("a","d")', ('edge("a","b")',)),
     (('path("a","b")',), 'edge("b","d")', ('edge("b","c")',))]
    """
    texts = [RuleText(rules)] if isinstance(rules, str) else list(rules)
    checked = prepare(atom, texts, profile=profile, limits=limits)
    budget = Budget(limits, now)

    def work() -> WhyNot:
        check_program(checked.rules, facts, checked.query, atom)
        return _Search(checked.rules, facts, budget).explain(checked.query)

    return releasing(work)


class _Search:
    def __init__(self, rules: RuleSet, facts: FactBase, budget: Budget) -> None:
        self.rules = rules
        self.facts = facts
        self.budget = budget

    def explain(self, query: Atom) -> WhyNot:
        shown = str(query)
        model, rows = self.ask(query)
        if rows:
            first = min(rows, key=lambda row: display_atom(query.predicate, row))
            return WhyNot(shown, model.proof(query.predicate, first), True, (), (), ())
        names = self.facts.names() | set(self.rules.by_head)
        known = query.predicate in names
        suggestions = () if known else tuple(nearest(query.predicate, names))
        attempts = tuple(
            attempt
            for index in self.rules.by_head.get(query.predicate, ())
            if (attempt := self.attempt(self.rules.rules[index], query)) is not None
        )
        return WhyNot(shown, None, known, suggestions, attempts, self.near(query) if known else ())

    def ask(self, query: Atom, extra: Rule | None = None) -> tuple[Model, list[tuple[Value, ...]]]:
        """Return a model and the rows that match ``query``, with one more rule if given."""
        rules = self.rules
        if extra is not None:
            by_head = {**rules.by_head, _PREFIX: (len(rules.rules),)}
            rules = RuleSet((*rules.rules, extra), rules.texts, by_head)
        model = Model(rules, self.facts, self.budget, rules.reached(query.predicate))
        return model, [model.decoded(row) for row in model.derive_for(query)]

    # One rule

    def attempt(self, rule: Rule, query: Atom) -> Attempt | None:
        given = _unified(rule.head, query)
        if given is None:
            return None
        premises = _ordered(rule)
        # premises hold together up to some number of them: find it by halving
        low, high = 0, len(premises)
        best: Mapping[str, Value] = given
        while low < high:
            middle = (low + high + 1) // 2
            found = self.satisfied(rule, [premise for _, premise in premises[:middle]], given)
            if found is None:
                high = middle - 1
            else:
                low, best = middle, found
        if low == len(premises):
            return self.other_aggregate(rule, query, best, premises)
        place, failed = premises[low]
        shown = substituted(failed, best)
        satisfied = tuple(str(substituted(premise, best)) for _, premise in premises[:low])
        if isinstance(shown, Comparison):
            return _attempt(rule, satisfied, str(shown), place, COMPARISON_FAILS, ())
        if isinstance(shown, Negation):
            return _attempt(rule, satisfied, str(shown), place, FACT_PRESENT, self.matching(shown.atom))
        return _attempt(rule, satisfied, str(shown), place, NO_FACT, self.near(shown))

    def satisfied(
        self, rule: Rule, premises: Sequence[Premise], given: Mapping[str, Value]
    ) -> Mapping[str, Value] | None:
        """Return the first values, in display order, for which ``premises`` hold; ``None`` for none."""
        positive = [premise for premise in premises if isinstance(premise, Atom)]
        names = sorted({variable.name for atom in positive for variable in atom.variables()})
        if not positive:
            return given if self._filters_hold(premises) else None
        head = Atom(_PREFIX, tuple(map(Variable, names)))
        made = Rule(head, tuple(premises), rule.span, rule.source)
        terms: list[Term] = [Constant(given[name]) if name in given else Variable(name) for name in names]
        _, rows = self.ask(Atom(_PREFIX, tuple(terms)), made)
        if not rows:
            return None
        first = min(rows, key=lambda row: tuple(map(display, row)))
        return {**given, **dict(zip(names, first, strict=True))}

    def _filters_hold(self, premises: Sequence[Premise]) -> bool:
        """Return whether premises without variables hold: ground comparisons and negations."""
        for premise in premises:
            if isinstance(premise, Negation) and self.matching(premise.atom):
                return False
            if isinstance(premise, Comparison) and not _compared(premise):
                return False
        return True

    def other_aggregate(
        self, rule: Rule, query: Atom, best: Mapping[str, Value], premises: Sequence[tuple[int, Premise]]
    ) -> Attempt | None:
        """Return that the group has another aggregate; all premises of a plain rule cannot hold."""
        if not rule.is_aggregate:
            return None
        terms: list[Term] = []
        for term, asked in zip(rule.head.arguments, query.arguments, strict=True):
            terms.append(Wildcard() if isinstance(term, Aggregate) else asked)
        satisfied = tuple(str(substituted(premise, best)) for _, premise in premises)
        facts = self.matching(Atom(query.predicate, tuple(terms)))
        return _attempt(rule, satisfied, str(query), 0, OTHER_AGGREGATE, facts)

    # Facts to show

    def matching(self, atom: Atom) -> tuple[str, ...]:
        """Return the first facts that match ``atom``."""
        _, rows = self.ask(atom)
        return tuple(heapq.nsmallest(_SHOWN, (display_atom(atom.predicate, row) for row in rows)))

    def near(self, atom: Atom) -> tuple[str, ...]:
        """Return the facts most like ``atom``: most equal arguments first, then the most similar text."""
        bound = [c for c, term in enumerate(atom.arguments) if isinstance(term, Constant)]
        candidates: set[tuple[Value, ...]] = set()
        for column in bound:
            terms = list(atom.arguments)
            terms[column] = Wildcard()
            candidates.update(self._first(Atom(atom.predicate, tuple(_apart(terms)))))
        if not candidates:
            for column in bound:
                wide: list[Term] = [Wildcard() for _ in atom.arguments]
                wide[column] = atom.arguments[column]
                candidates.update(self._first(Atom(atom.predicate, tuple(wide))))
        if not candidates and self._is_small(atom.predicate):
            candidates.update(self._first(Atom(atom.predicate, tuple(Wildcard() for _ in atom.arguments))))
        ranked = heapq.nsmallest(_SHOWN, candidates, key=lambda row: _distance(atom, row))
        return tuple(display_atom(atom.predicate, row) for row in ranked)

    def _first(self, atom: Atom) -> list[tuple[Value, ...]]:
        """Return the first matching rows; none when they cannot be found within the limit on facts."""
        try:
            _, rows = self.ask(atom)
        except LimitError as error:
            if error.limit != "CREATED_FACTS":
                raise
            return []
        return heapq.nsmallest(_CANDIDATES, rows, key=lambda row: tuple(map(display, row)))

    def _is_small(self, predicate: str) -> bool:
        if predicate in self.rules.by_head:
            return True
        names = self.facts.names()
        return predicate in names and len(self.facts.relation(predicate, self.budget)) <= _SCANNED


def _attempt(
    rule: Rule, satisfied: tuple[str, ...], failed: str, place: int, reason: str, found: tuple[str, ...]
) -> Attempt:
    return Attempt(
        rule_id=rule.rule_id,
        rule=str(rule),
        source=rule.source,
        line=rule.span.line,
        satisfied=satisfied,
        failed=failed,
        place=place,
        reason=reason,
        nearest=found,
    )


def _compared(comparison: Comparison) -> bool:
    left, right = comparison.left, comparison.right
    if not isinstance(left, Constant) or not isinstance(right, Constant):
        raise AssertionError("a checked comparison without premises before it has constants only")
    return COMPARISONS[comparison.operator](left.value, right.value)


def _unified(head: Atom, query: Atom) -> dict[str, Value] | None:
    """Return the values that the query gives to variables of the head, ``None`` if they do not match."""
    if len(head.arguments) != len(query.arguments):
        return None
    given: dict[str, Value] = {}
    for term, asked in zip(head.arguments, query.arguments, strict=True):
        if not isinstance(asked, Constant):
            continue
        if isinstance(term, Constant):
            if term.value != asked.value:
                return None
        elif isinstance(term, Variable) and given.setdefault(term.name, asked.value) != asked.value:
            return None
    return given


def _ordered(rule: Rule) -> list[tuple[int, Premise]]:
    """Return the premises with their places, each filter behind the premises that bind its variables."""
    waiting = [(place, premise) for place, premise in enumerate(rule.premises, 1)]
    bound: set[str] = set()
    ordered: list[tuple[int, Premise]] = []
    while waiting:
        for entry in waiting:
            premise = entry[1]
            if isinstance(premise, Atom):
                bound |= {variable.name for variable in premise.variables()}
                break
            variables = premise.atom.variables() if isinstance(premise, Negation) else premise.variables()
            if {variable.name for variable in variables} <= bound:
                break
        ordered.append(entry)
        waiting.remove(entry)
    return ordered


def _apart(terms: Sequence[Term]) -> Iterator[Term]:
    """Yield ``terms`` with every variable a wildcard, so that nothing else has to be equal."""
    return (Wildcard() if isinstance(term, Variable) else term for term in terms)


def _distance(atom: Atom, row: Sequence[Value]) -> tuple[int, float, str]:
    different = 0
    similarity = 0.0
    for term, value in zip(atom.arguments, row, strict=True):
        if isinstance(term, Constant) and term.value != value:
            different += 1
            left, right = display(term.value)[:200], display(value)[:200]
            similarity += SequenceMatcher(None, left, right, autojunk=False).ratio()
    return different, -similarity, display_atom(atom.predicate, tuple(row))


def render_why_not(why: WhyNot) -> str:
    """Return the explanation as indented text."""
    if why.proof is not None:
        return f"{why.proof.atom} follows; ask for its proof"
    lines = [f"{why.atom} does not follow"]
    if not why.known:
        lines.append(f"  no rule and no relation is called {parse_query(why.atom).predicate}")
        if why.suggestions:
            lines.append(f"  similar names: {', '.join(why.suggestions)}")
    elif not why.attempts:
        lines.append("  no rule has a head that matches, and no base fact does")
    for attempt in why.attempts:
        lines.append(f"  {attempt.source}:{attempt.line}  {attempt.rule}")
        lines.extend(f"    holds    {premise}" for premise in attempt.satisfied)
        label = {FACT_PRESENT: "because", OTHER_AGGREGATE: "instead"}.get(attempt.reason, "nearest")
        numbered = f"  (premise {attempt.place})" if attempt.place else ""
        lines.append(f"    fails    {attempt.failed}{numbered}")
        lines.extend(f"    {label:<8} {fact}" for fact in attempt.nearest)
    if why.nearest:
        lines.append("  facts like it:")
        lines.extend(f"    {fact}" for fact in why.nearest)
    return "\n".join(lines)
