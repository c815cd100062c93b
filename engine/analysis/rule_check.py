"""Checks rule files against the relations there are and the built-in rules they can build on."""

from __future__ import annotations

from collections.abc import Sequence

from openknowledge.engine.analysis.builtin_rules import builtin_texts
from openknowledge.engine.datalog import DatalogError, RuleText, parse_rules
from openknowledge.engine.datalog.analysis import checked_profile
from openknowledge.engine.datalog.lint import LintFinding, lint
from openknowledge.engine.query.datalog import BASE_RELATIONS


class Vocabulary:
    """The base relations as a catalogue; which of them hold facts depends on a bundle."""

    def names(self) -> frozenset[str]:
        """Return the names of the base relations."""
        return frozenset(BASE_RELATIONS)

    def arity(self, name: str) -> int | None:
        """Return the number of columns of a base relation."""
        relation = BASE_RELATIONS.get(name)
        return relation.arity if relation is not None else None

    def is_empty(self, name: str) -> bool:
        """Return that nothing is known to be empty."""
        del name
        return False


def check_rule_texts(texts: Sequence[RuleText], profile: str) -> list[LintFinding]:
    """Return what is wrong or doubtful in ``texts``, taken together and on top of the built-in rules.

    Raises ``UsageError`` for an unknown profile.
    """
    heads: set[str] = set()
    for text in texts:
        try:
            heads |= {rule.head.predicate for rule in parse_rules(text.text, text.source)}
        except DatalogError:
            continue  # the linter reports the text
    return lint([*texts, *builtin_texts(heads)], Vocabulary(), profile=checked_profile(profile))
