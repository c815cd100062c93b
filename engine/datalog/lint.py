"""A linter for rule files: what is wrong, and what is probably not meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from openknowledge.engine.datalog.analysis import (
    CLOSED_WORLD_PROFILE,
    Arities,
    Catalogue,
    RuleSet,
    read_rules,
    rule_problems,
    safety_problems,
    stratification_problems,
    unknown_problems,
)
from openknowledge.engine.datalog.errors import DatalogError, shorten
from openknowledge.engine.datalog.parser import RuleText, parse_rules
from openknowledge.engine.datalog.syntax import Aggregate, Atom, Comparison, Negation, Rule, Variable
from openknowledge.engine.errors import Span

ERROR = "error"
_MOST = 100
"""Findings that each take a search through all names or rules are given up to this number."""

WARNING = "warning"

CODES = {
    "syntax": "the text is not in the grammar; its other rules are not looked at",
    "base-fact": "a clause without premises",
    "function-term": "a function term or a misplaced aggregate as an argument",
    "profile": "negation outside the closed-world profile",
    "unsafe": "a variable that no positive premise binds",
    "arity": "a predicate with different numbers of arguments",
    "unknown-predicate": "a premise that names no relation",
    "cyclic-negation": "negation through recursion",
    "cyclic-aggregation": "aggregation through recursion",
    "unused-variable": "a variable that occurs once",
    "cartesian-product": "premises that share no variable",
    "duplicate-rule": "a rule that says the same as one before",
    "duplicate-premise": "a premise that a rule has twice",
    "self-premise": "a rule whose head is one of its premises, which yields nothing new",
    "unreachable-rule": "a rule that nothing asked for can reach",
    "never-derived": "a rule that waits for itself: no chain of rules leads from facts to it",
    "constant-comparison": "a comparison of two constants",
}
"""What the linter finds, by code. All up to ``cyclic-aggregation`` are errors, the rest warnings."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One finding: its place (1-based), ``severity`` (``error`` or ``warning``), ``code`` and message.

    ``rule_id`` is the rule that it is about, ``None`` where the text does not parse.
    """

    source: str
    line: int
    column: int
    severity: str
    code: str
    message: str
    rule_id: str | None = None


class NoCatalogue:
    """A catalogue for rules that are looked at without base relations."""

    def names(self) -> frozenset[str]:
        """Return no names."""
        return frozenset()

    def arity(self, name: str) -> int | None:
        """Return that the arity of ``name`` is unknown."""
        del name
        return None

    def is_empty(self, name: str) -> bool:
        """Return that nothing is known to hold facts under ``name``."""
        del name
        return True


def lint(
    rules: str | Iterable[RuleText],
    catalogue: Catalogue | None = None,
    *,
    profile: str = CLOSED_WORLD_PROFILE,
    asked: Collection[str] | None = None,
) -> list[LintFinding]:
    """Return what is wrong or doubtful in ``rules``, in the order of the texts and their lines.

    ``catalogue`` declares the base relations; without one, unknown premises are not looked for. ``asked``
    are the predicates that will be queried; rules that none of them reaches are reported. Texts that are
    ``built_in`` take part as context and are not reported on.

    >>> [f.message for f in lint("p(X) :- q(X, Y).")]
    ['the variable Y occurs only once; write _ if its value is not needed']
    """
    texts = [RuleText(rules)] if isinstance(rules, str) else list(rules)
    findings: list[LintFinding] = []
    sound: list[RuleText] = []
    for text in texts:
        try:
            parse_rules(text.text, text.source)
        except DatalogError as error:
            place = (error.span.line, error.span.column)
            findings.append(LintFinding(text.source, *place, ERROR, error.code, error.problem))
        else:
            sound.append(text)
    ruleset = read_rules(sound)
    findings.extend(_Linter(ruleset, catalogue, profile, asked).findings())
    order = {text.source: place for place, text in enumerate(texts)}
    own = [f for f in findings if f.source not in ruleset.texts or not ruleset.texts[f.source].built_in]
    return sorted(own, key=lambda f: (order.get(f.source, len(order)), f.line, f.column, f.code, f.message))


class _Linter:
    def __init__(
        self, rules: RuleSet, catalogue: Catalogue | None, profile: str, asked: Collection[str] | None
    ) -> None:
        self.rules = rules
        self.catalogue = catalogue
        self.profile = profile
        self.asked = asked
        self.rule_ids = {id(rule): rule.rule_id for rule in rules.rules}

    def findings(self) -> Iterator[LintFinding]:
        arities = Arities(self.catalogue or NoCatalogue())
        seen: dict[str, Rule] = {}
        unknown_left = _MOST
        for rule in self.rules.rules:
            for code, problem, span in (*rule_problems(rule, self.profile), *safety_problems(rule)):
                yield self.finding(rule, span, ERROR, code, problem)
            for problem, span in arities.problems(rule):
                yield self.finding(rule, span, ERROR, "arity", problem)
            if self.catalogue is not None and unknown_left > 0:
                unknown = unknown_problems(rule, self.rules, self.catalogue, empty_is_unknown=False)
                for problem, span in unknown:
                    unknown_left -= 1
                    yield self.finding(rule, span, ERROR, "unknown-predicate", problem)
            yield from self.doubts(rule)
            first = seen.setdefault(_normal_form(rule), rule)
            if first is not rule:
                problem = f"this says the same as the rule at {first.source}:{first.span.line}"
                yield self.finding(rule, rule.span, WARNING, "duplicate-rule", problem)
        for code, problem, span, source in islice(stratification_problems(self.rules.rules), _MOST):
            rule = next(r for r in self.rules.rules if r.source == source and _within(r, span))
            yield self.finding(rule, span, ERROR, code, problem)
        yield from self.unreachable()
        yield from self.never_derived()

    def finding(self, rule: Rule, span: Span, severity: str, code: str, message: str) -> LintFinding:
        rule_id = self.rule_ids[id(rule)]
        return LintFinding(rule.source, span.line, span.column, severity, code, message, rule_id)

    def doubts(self, rule: Rule) -> Iterator[LintFinding]:
        for variable in _single_variables(rule):
            problem = (
                f"the variable {shorten(variable.name)} occurs only once; write _ if its value is not needed"
            )
            yield self.finding(rule, variable.span, WARNING, "unused-variable", problem)
        parts = _unconnected(rule)
        if len(parts) > 1:
            shown = " and ".join(shorten(str(part), 40) for part in parts[:4])
            problem = f"{shown} share no variable, so every combination of their facts is made"
            yield self.finding(rule, parts[1].span, WARNING, "cartesian-product", problem)
        premises: set[str] = set()
        for premise in rule.premises:
            if str(premise) in premises:
                problem = f"{shorten(str(premise))} is a premise of this rule already"
                yield self.finding(rule, premise.span, WARNING, "duplicate-premise", problem)
            premises.add(str(premise))
            if isinstance(premise, Atom) and str(premise) == str(rule.head):
                problem = "the head is one of the premises, so this rule yields nothing new"
                yield self.finding(rule, premise.span, WARNING, "self-premise", problem)
            if isinstance(premise, Comparison) and not any(premise.variables()):
                problem = f"{shorten(str(premise))} compares constants: the rule holds always or never by it"
                yield self.finding(rule, premise.span, WARNING, "constant-comparison", problem)

    def unreachable(self) -> Iterator[LintFinding]:
        if self.asked is None:
            return
        reached: set[str] = set()
        for name in self.asked:
            reached |= self.rules.reached(name)
        for rule in self.rules.rules:
            if rule.head.predicate not in reached:
                shown = ", ".join(shorten(name) for name in sorted(self.asked)[:5])
                problem = f"nothing that is asked for ({shown}) needs {shorten(rule.head.predicate)}"
                yield self.finding(rule, rule.span, WARNING, "unreachable-rule", problem)

    def never_derived(self) -> Iterator[LintFinding]:
        """Yield the rules that recursion without a beginning keeps from ever deriving anything."""
        known = self.catalogue.names() if self.catalogue is not None else frozenset()
        needs = {
            id(rule): {premise.predicate for premise in rule.premises if isinstance(premise, Atom)}
            for rule in self.rules.rules
        }
        # what no rule defines is a base relation, or reported as unknown
        waiting = {rule.head.predicate for rule in self.rules.rules} - known
        while begun := {
            rule.head.predicate
            for rule in self.rules.rules
            if rule.head.predicate in waiting and not needs[id(rule)] & waiting
        }:
            waiting -= begun
        for rule in self.rules.rules:
            if rule.head.predicate in waiting and rule.head.predicate not in needs[id(rule)]:
                ends = ", ".join(shorten(name) for name in sorted(needs[id(rule)] & waiting))
                problem = f"this can never hold, for want of {ends}: no chain of rules leads from facts to it"
                yield self.finding(rule, rule.span, WARNING, "never-derived", problem)


def _single_variables(rule: Rule) -> Iterator[Variable]:
    """Yield the variables with one occurrence, but for names that start with ``_``, and unsafe ones."""
    occurrences: dict[str, list[Variable]] = {}
    places: list[Variable] = []
    for term in rule.head.arguments:
        if isinstance(term, Aggregate):
            places.append(term.variable)
        elif isinstance(term, Variable):
            places.append(term)
    for premise in rule.premises:
        places.extend(premise.atom.variables() if isinstance(premise, Negation) else premise.variables())
    for variable in places:
        occurrences.setdefault(variable.name, []).append(variable)
    bound = {id(variable) for atom in rule.atoms() for variable in atom.variables()}
    for name, found in occurrences.items():
        if len(found) == 1 and not name.startswith("_") and id(found[0]) in bound:
            yield found[0]


def _unconnected(rule: Rule) -> list[Atom]:
    """Return one positive premise of each group that shares variables; comparisons connect groups.

    Premises without variables are tests, and are left out.
    """
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for premise in rule.premises:
        names = [v.name for v in (premise.atom if isinstance(premise, Negation) else premise).variables()]
        for name in names[1:]:
            parent[root(name)] = root(names[0])
    groups: dict[str, Atom] = {}
    for atom in rule.atoms():
        first = next(atom.variables(), None)
        if first is not None:
            groups.setdefault(root(first.name), atom)
    return list(groups.values())


def _normal_form(rule: Rule) -> str:
    """Return the text with variables numbered by first use, so that renaming them makes no difference."""
    numbers: dict[str, str] = {}

    def renamed(name: str) -> str:
        return numbers.setdefault(name, f"V{len(numbers)}")

    def atom_text(atom: Atom) -> str:
        shown = [
            f"{term.function}({renamed(term.variable.name)})"
            if isinstance(term, Aggregate)
            else renamed(term.name)
            if isinstance(term, Variable)
            else str(term)
            for term in atom.arguments
        ]
        return f"{atom.predicate}({','.join(shown)})"

    parts = [atom_text(rule.head)]
    for premise in rule.premises:
        if isinstance(premise, Comparison):
            sides = [renamed(s.name) if isinstance(s, Variable) else str(s) for s in _sides(premise)]
            parts.append(f"{sides[0]} {premise.operator} {sides[1]}")
        elif isinstance(premise, Negation):
            parts.append("!" + atom_text(premise.atom))
        else:
            parts.append(atom_text(premise))
    return " ".join(parts)


def _sides(comparison: Comparison) -> Sequence[object]:
    return comparison.left, comparison.right


def _within(rule: Rule, span: Span) -> bool:
    spans = [premise.span for premise in rule.premises]
    return span in spans
