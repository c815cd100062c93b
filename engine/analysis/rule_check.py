"""Checks rule files against the relations there are and the built-in rules they can build on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from openknowledge.engine import limits
from openknowledge.engine.analysis.builtin_rules import builtin_texts
from openknowledge.engine.analysis.policies import HEAD, policy_problems
from openknowledge.engine.datalog import DatalogError, Rule, RuleText, parse_rules
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


_UNUSED = re.compile(r"the variable (\w+) occurs only once")


def check_rule_texts(texts: Sequence[RuleText], profile: str) -> list[LintFinding]:
    """Return what is wrong or doubtful in ``texts``, taken together and on top of the built-in rules.

    Rules that derive findings are also checked as policies. Raises ``UsageError`` for an unknown profile.
    """
    rules: dict[str, Rule] = {}
    for text in texts:
        try:
            rules.update({rule.rule_id: rule for rule in parse_rules(text.text, text.source)})
        except DatalogError:
            continue  # the linter reports the text
    heads = {rule.head.predicate for rule in rules.values()}
    found = lint([*texts, *builtin_texts(heads)], Vocabulary(), profile=checked_profile(profile))
    found = [finding for finding in found if not _fills_a_message(finding, rules)]
    size = 0
    for text in texts:
        size += len(text.text.encode())
        if size > limits.RULE_BYTES:
            message = f"the rules have {size:,} bytes up to here; a query takes {limits.RULE_BYTES:,} bytes"
            found.append(LintFinding(text.source, 1, 1, "error", "too-large", message))
            break
    if HEAD in heads:
        known = {(finding.source, finding.line, finding.message) for finding in found}
        for problem in policy_problems(texts):
            if (problem.path, problem.line, problem.message) not in known:
                place = (problem.path, problem.line, problem.column)
                found.append(LintFinding(*place, "error", problem.rule, problem.message))
    return found


def _fills_a_message(finding: LintFinding, rules: Mapping[str, Rule]) -> bool:
    """Whether a variable that seems unused stands as ``{Variable}`` in the message of a policy."""
    rule = rules.get(finding.rule_id or "")
    unused = _UNUSED.match(finding.message)
    if rule is None or unused is None or rule.head.predicate != HEAD:
        return False
    return any("{" + unused[1] + "}" in str(term) for term in rule.head.arguments)
