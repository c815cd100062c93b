"""Why a fact does not follow, down to the base facts that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from openknowledge.engine import limits as bounds
from openknowledge.engine.analysis.builtin_rules import program_texts
from openknowledge.engine.datalog import (
    CLOSED_WORLD_PROFILE,
    FactBase,
    Limits,
    RuleText,
    parse_rules,
    prepare,
)
from openknowledge.engine.datalog.absence import Attempt, WhyNot, render_why_not, why_not
from openknowledge.engine.datalog.analysis import nearest
from openknowledge.engine.facts.facts import Facts

DEEPEST = 4
"""How many rules below each other are looked into."""


@dataclass(frozen=True, slots=True)
class Absence:
    """Why an atom does not follow, and in ``below``, by the failed premise, why that does not."""

    why: WhyNot
    below: dict[str, Absence] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether the fact follows after all."""
        return self.why.holds

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as plain data."""
        shown: dict[str, Any] = {"schemaVersion": "1", **self._part()}
        return shown

    def _part(self) -> dict[str, Any]:
        why = self.why
        part: dict[str, Any] = {"atom": why.atom, "holds": why.holds, "known": why.known}
        if why.proof is not None:
            part["proof"] = why.proof.to_json()
        part["suggestions"] = list(why.suggestions)
        part["nearest"] = list(why.nearest)
        part["attempts"] = [self._attempt(attempt) for attempt in why.attempts]
        return part

    def _attempt(self, attempt: Attempt) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "ruleId": attempt.rule_id,
            "rule": attempt.rule,
            "source": attempt.source,
            "line": attempt.line,
            "satisfied": list(attempt.satisfied),
            "failed": attempt.failed,
            "place": attempt.place,
            "reason": attempt.reason,
            "nearest": list(attempt.nearest),
        }
        if attempt.failed in self.below:
            shown["because"] = self.below[attempt.failed]._part()
        return shown

    def __str__(self) -> str:
        parts = [render_why_not(self.why).rstrip("\n") + "\n"]
        for absence in self.below.values():
            nested = str(absence).rstrip("\n")
            parts.append("".join(f"  {line}\n" for line in nested.split("\n")))
        return "\n".join(parts)


def explain_absence(atom: str, facts: Facts, base: FactBase, rules: Sequence[RuleText] = ()) -> Absence:
    """Return why ``atom`` does not follow by ``rules`` and the built-in ones; variables match anything.

    Raises ``DatalogError`` for a fault in the atom or the rules, ``LimitError`` at a limit.
    """
    limits = Limits(
        seconds=bounds.QUERY_SECONDS_MAX,
        base_facts=bounds.BASE_FACTS,
        created_facts=bounds.DERIVED_GRAPH_FACTS,
        query_bytes=bounds.QUERY_BYTES,
        rule_bytes=bounds.RULE_BYTES,
    )
    # the user's text alone first, so that a fault in it is met before anything else
    prepare(atom, rules, profile=CLOSED_WORLD_PROFILE, limits=limits)
    texts = program_texts(rules)
    whole = prepare(atom, texts, profile=CLOSED_WORLD_PROFILE, limits=limits)
    for name in whole.predicates & base.names():
        facts.rows(name)
    heads = {rule.head.predicate for text in texts for rule in parse_rules(text.text, text.source)}

    def explain(wanted: str, depth: int, seen: frozenset[str]) -> Absence:
        why = why_not(wanted, texts, base, profile=CLOSED_WORLD_PROFILE, limits=limits)
        below: dict[str, Absence] = {}
        if depth < DEEPEST:
            for attempt in why.attempts:
                name = attempt.failed.partition("(")[0]
                inner = attempt.failed
                if attempt.reason == "no-fact" and name in heads and inner not in seen and inner not in below:
                    below[inner] = explain(inner, depth + 1, seen | {inner})
        if not why.known:
            name = wanted.partition("(")[0].strip()
            why = replace(why, suggestions=tuple(nearest(name, heads | base.names())))
        return Absence(why, below)

    return explain(atom, 1, frozenset({str(whole.query)}))
