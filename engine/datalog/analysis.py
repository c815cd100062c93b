"""What must hold of rules before they run: no facts, safe variables, one arity, known relations, strata."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from openknowledge.engine import limits as bounds
from openknowledge.engine.datalog.errors import DatalogError, shorten
from openknowledge.engine.datalog.parser import RuleText, parse_rules
from openknowledge.engine.datalog.syntax import (
    AGGREGATES,
    Aggregate,
    Atom,
    Comparison,
    FunctionTerm,
    Negation,
    Rule,
    Term,
    Variable,
    Wildcard,
)
from openknowledge.engine.errors import Span

SAFE_PROFILE = "openknowledge.safe/v1"
CLOSED_WORLD_PROFILE = "openknowledge.closed-world/v1"
PROFILES = (SAFE_PROFILE, CLOSED_WORLD_PROFILE)


class Catalogue(Protocol):
    """The base relations there are. ``FactBase`` is one."""

    def names(self) -> frozenset[str]:
        """Return the names of all base relations."""
        ...

    def arity(self, name: str) -> int | None:
        """Return the number of columns, ``None`` if it cannot be told."""
        ...

    def is_empty(self, name: str) -> bool:
        """Return whether the relation holds no fact."""
        ...


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Parsed rules of one or more texts, in order, with the texts for messages."""

    rules: tuple[Rule, ...]
    texts: Mapping[str, RuleText]
    by_head: Mapping[str, tuple[int, ...]] = field(repr=False)

    def error(self, code: str, problem: str, span: Span, source: str) -> DatalogError:
        """Return the error for a place in the text named ``source``."""
        return DatalogError(code, problem, text=self.texts[source].text, span=span, source=source)

    def reached(self, predicate: str) -> frozenset[str]:
        """Return ``predicate`` and all predicates that its derivation can look at."""
        seen = {predicate}
        pending = [predicate]
        while pending:
            for index in self.by_head.get(pending.pop(), ()):
                for atom in body_atoms(self.rules[index]):
                    if atom.predicate not in seen:
                        seen.add(atom.predicate)
                        pending.append(atom.predicate)
        return frozenset(seen)


def body_atoms(rule: Rule) -> Iterator[Atom]:
    """Yield the atoms of all premises, negated ones too."""
    for premise in rule.premises:
        if isinstance(premise, Atom):
            yield premise
        elif isinstance(premise, Negation):
            yield premise.atom


def read_rules(texts: Iterable[RuleText]) -> RuleSet:
    """Parse ``texts``; their source names are made different where they are not. Raises ``DatalogError``."""
    named: dict[str, RuleText] = {}
    rules: list[Rule] = []
    for text in texts:
        source = text.source
        count = 2
        while source in named:
            source = f"{text.source} ({count})"
            count += 1
        named[source] = text
        rules.extend(parse_rules(text.text, source))
    by_head: dict[str, list[int]] = {}
    for index, rule in enumerate(rules):
        by_head.setdefault(rule.head.predicate, []).append(index)
    return RuleSet(tuple(rules), named, {head: tuple(indexes) for head, indexes in by_head.items()})


def checked_profile(profile: str) -> str:
    """Return the name of the profile, the safe one for a blank name. Raises ``UnsupportedProfile``."""
    if not profile:
        return SAFE_PROFILE
    if profile not in PROFILES:
        from openknowledge.engine.errors import UsageError

        raise UsageError(
            f"unsupported Datalog rule profile {shorten(profile)!r}; there are {' and '.join(PROFILES)}"
        )
    return profile


# Checks that need the rules alone


def check_query(query: Atom, text: str, source: str = "query") -> None:
    """Raise ``DatalogError`` for a query with function terms or too many arguments."""
    for place, term in enumerate(query.arguments, 1):
        if isinstance(term, (FunctionTerm, Aggregate)):
            problem = function_problem(term, place, query.predicate)
            raise DatalogError("function-term", problem, text=text, span=term.span, source=source)
    if len(query.arguments) > bounds.ATOM_ARGUMENTS:
        problem = (
            f"the query has {len(query.arguments)} arguments; at most {bounds.ATOM_ARGUMENTS} are allowed"
        )
        raise DatalogError("query", problem, text=text, span=query.span, source=source)


def function_problem(term: Term, place: int, predicate: str) -> str:
    """Return the message that refuses ``term`` as argument ``place`` of ``predicate``."""
    shown = shorten(" ".join(str(term).split()))
    called = str(term).split("(", 1)[0].strip()
    if called in AGGREGATES:
        return (
            f"argument {place} of {shorten(predicate)} is {shown}: an aggregate of one variable, such as "
            f"{called}(X), is allowed as an argument of a head only"
        )
    return (
        f"argument {place} of {shorten(predicate)} is the function term {shown}; arguments are variables, "
        "strings, numbers, /names or _"
    )


def check_rules(rules: RuleSet, profile: str) -> None:
    """Raise ``DatalogError`` for the first rule that no program of this profile may have.

    Refused are clauses without premises, function terms, and negation outside the closed-world profile.
    """
    for rule in rules.rules:
        for code, problem, span in rule_problems(rule, profile):
            raise rules.error(code, problem, span, rule.source)


Problem = tuple[str, str, Span]


def rule_problems(rule: Rule, profile: str) -> Iterator[Problem]:
    """Yield what ``profile`` refuses in ``rule``: code, message and place."""
    if not rule.premises:
        shown = shorten(str(rule.head))
        yield (
            "base-fact",
            f"Datalog rules cannot assert new base facts: {shown} has no premises",
            rule.span,
        )
    for atom in (rule.head, *body_atoms(rule)):
        for place, term in enumerate(atom.arguments, 1):
            if isinstance(term, FunctionTerm) or (isinstance(term, Aggregate) and atom is not rule.head):
                yield "function-term", function_problem(term, place, atom.predicate), term.span
        if len(atom.arguments) > bounds.ATOM_ARGUMENTS:
            problem = (
                f"this atom has {len(atom.arguments)} arguments; at most {bounds.ATOM_ARGUMENTS} are allowed"
            )
            yield "arity", problem, atom.span
    for comparison in rule.comparisons():
        for term in (comparison.left, comparison.right):
            if isinstance(term, (FunctionTerm, Aggregate)):
                yield (
                    "function-term",
                    f"a comparison has the function term {shorten(str(term))}; its sides are variables, "
                    "strings, numbers or /names",
                    term.span,
                )
    if len(rule.premises) > bounds.RULE_PREMISES:
        problem = f"this rule has {len(rule.premises)} premises; at most {bounds.RULE_PREMISES} are allowed"
        yield "syntax", problem, rule.span
    if profile != CLOSED_WORLD_PROFILE:
        for negation in rule.negations():
            yield (
                "profile",
                f"negation is part of the profile {CLOSED_WORLD_PROFILE}; choose that profile to use it",
                negation.span,
            )


# Analysis


def check_program(
    rules: RuleSet,
    catalogue: Catalogue,
    query: Atom | None = None,
    query_text: str = "",
    *,
    empty_is_unknown: bool = True,
) -> None:
    """Raise ``DatalogError`` for what is wrong with the program as a whole.

    Checked in this order: safe variables, arities (also of the query), premises that name no known relation
    (with ``empty_is_unknown``, none that holds a fact), negation and aggregation through recursion.
    """
    for rule in rules.rules:
        for code, problem, span in safety_problems(rule):
            raise rules.error(code, problem, span, rule.source)
    arities = Arities(catalogue)
    for rule in rules.rules:
        for problem, span in arities.problems(rule):
            raise rules.error("arity", problem, span, rule.source)
    if query is not None:
        for problem, span in arities.atom_problems(query):
            raise DatalogError("arity", problem, text=query_text, span=span, source="query")
    for rule in rules.rules:
        for problem, span in unknown_problems(rule, rules, catalogue, empty_is_unknown=empty_is_unknown):
            raise rules.error("unknown-predicate", problem, span, rule.source)
    for code, problem, span, source in stratification_problems(rules.rules):
        raise rules.error(code, problem, span, source)


def safety_problems(rule: Rule) -> Iterator[Problem]:
    """Yield the variables that no positive premise binds: code, message and place."""
    bound = {variable.name for atom in rule.atoms() for variable in atom.variables()}
    for term in rule.head.arguments:
        if isinstance(term, Wildcard):
            yield (
                "unsafe",
                "_ in the head of a rule has no value; use a variable that a premise binds",
                term.span,
            )
        variable = term.variable if isinstance(term, Aggregate) else term
        if isinstance(variable, Variable) and variable.name not in bound:
            yield "unsafe", _unsafe(variable, "the head"), variable.span
    for premise in rule.premises:
        if isinstance(premise, Negation):
            for variable in premise.atom.variables():
                if variable.name not in bound:
                    yield "unsafe", _unsafe(variable, "a negated premise"), variable.span
        elif isinstance(premise, Comparison):
            for term in (premise.left, premise.right):
                if isinstance(term, Wildcard):
                    yield "unsafe", "_ in a comparison has no value", term.span
                elif isinstance(term, Variable) and term.name not in bound:
                    yield "unsafe", _unsafe(term, "a comparison"), term.span


def _unsafe(variable: Variable, place: str) -> str:
    return (
        f"the variable {shorten(variable.name)} in {place} is unsafe: no positive premise binds it "
        "(comparisons and negated premises do not)"
    )


class Arities:
    """The number of arguments of each predicate, from base relations and from the first use in rules."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._names = catalogue.names()
        self._known: dict[str, tuple[int, str] | None] = {}

    def problems(self, rule: Rule) -> Iterator[tuple[str, Span]]:
        """Yield the atoms of ``rule`` whose arity differs, and remember the others."""
        for atom in (rule.head, *body_atoms(rule)):
            yield from self.atom_problems(atom, f"{rule.source}:{atom.span.line}")

    def atom_problems(self, atom: Atom, place: str | None = None) -> Iterator[tuple[str, Span]]:
        """Yield what is wrong with the arity of ``atom``; without ``place`` it sets no arity itself."""
        name, used = atom.predicate, len(atom.arguments)
        if name not in self._known:
            arity = self._catalogue.arity(name) if name in self._names else None
            if arity is not None:
                self._known[name] = (arity, "as a base relation")
        known = self._known.get(name)
        if known is None:
            if place is not None:
                self._known[name] = (used, f"in {place}")
        elif known[0] != used:
            yield (
                f"{shorten(name)} has {used} argument{'s' * (used != 1)} here, but {known[0]} {known[1]}",
                atom.span,
            )


def unknown_problems(
    rule: Rule, rules: RuleSet, catalogue: Catalogue, *, empty_is_unknown: bool = True
) -> Iterator[tuple[str, Span]]:
    """Yield the premises of ``rule`` whose predicate is neither derived nor a base relation with facts.

    Base relations without facts are known to built-in texts, and to all without ``empty_is_unknown``.
    """
    lenient = rules.texts[rule.source].built_in or not empty_is_unknown
    names = catalogue.names()
    for atom in body_atoms(rule):
        name = atom.predicate
        if name in rules.by_head:
            continue
        if name in names:
            if lenient or not catalogue.is_empty(name):
                continue
            problem = f"the relation {shorten(name)} has no facts here, so no rule can use it"
        else:
            problem = f"unknown relation {shorten(name)}"
        yield problem + suggestion(name, {*names, *rules.by_head} - {name}), atom.span


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return ``"; did you mean a, b?"`` with the names nearest to ``name``, or nothing."""
    if len(name) > 200:
        return ""
    near = nearest(name, names)
    return f"; did you mean {', '.join(near)}?" if near else ""


def nearest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """Return up to ``count`` of ``names`` that resemble ``name``, best first."""
    candidates = sorted(candidate for candidate in names if len(candidate) <= 200)
    lowered: dict[str, str] = {}
    for candidate in candidates:
        lowered.setdefault(candidate.lower(), candidate)
    found = difflib.get_close_matches(name.lower(), list(lowered), n=count, cutoff=0.6)
    return [lowered[match] for match in found]


# Strata


@dataclass(frozen=True, slots=True)
class Dependency:
    """Deriving ``head`` looks at ``premise``. ``kind``: ``positive``, ``negation`` or ``aggregation``."""

    head: str
    premise: str
    kind: str
    rule: Rule
    span: Span


def dependencies(rules: Iterable[Rule]) -> Iterator[Dependency]:
    """Yield the dependencies between predicates, rule by rule."""
    for rule in rules:
        aggregates = rule.is_aggregate
        for premise in rule.premises:
            if isinstance(premise, Negation):
                yield Dependency(rule.head.predicate, premise.atom.predicate, "negation", rule, premise.span)
            elif isinstance(premise, Atom):
                kind = "aggregation" if aggregates else "positive"
                yield Dependency(rule.head.predicate, premise.predicate, kind, rule, premise.span)


def stratification_problems(rules: Sequence[Rule]) -> Iterator[tuple[str, str, Span, str]]:
    """Yield each recursion that passes through a negation or an aggregate, with its cycle spelled out."""
    edges: dict[str, list[Dependency]] = {}
    for dependency in dependencies(rules):
        edges.setdefault(dependency.head, []).append(dependency)
    component = components({head: [d.premise for d in found] for head, found in edges.items()})
    for found in edges.values():
        for dependency in found:
            same = component.get(dependency.premise) == component[dependency.head]
            if dependency.kind == "positive" or not same:
                continue
            cycle = _cycle(dependency, edges, component)
            through = "negation" if dependency.kind == "negation" else "aggregation"
            yield (
                f"cyclic-{through}",
                f"{through} through recursion: {cycle}; the rules have no stratification",
                dependency.span,
                dependency.rule.source,
            )


def components(graph: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the number of the strongly connected component of each node (Tarjan's algorithm, 1972)."""
    numbers: dict[str, int] = {}
    low: dict[str, int] = {}
    result: dict[str, int] = {}
    stack: list[str] = []
    for root in graph:
        if root in numbers:
            continue
        numbers[root] = low[root] = len(numbers)
        stack.append(root)
        work: list[tuple[str, Iterator[str]]] = [(root, iter(graph.get(root, ())))]
        while work:
            node, successors = work[-1]
            for successor in successors:
                if successor not in numbers:
                    numbers[successor] = low[successor] = len(numbers)
                    stack.append(successor)
                    work.append((successor, iter(graph.get(successor, ()))))
                    break
                if successor not in result:
                    low[node] = min(low[node], numbers[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == numbers[node]:
                    while True:
                        member = stack.pop()
                        result[member] = numbers[node]
                        if member == node:
                            break
    return result


def _cycle(start: Dependency, edges: Mapping[str, list[Dependency]], component: Mapping[str, int]) -> str:
    """Return the shortest way from the premise of ``start`` back to its head, written with arrows."""
    came: dict[str, Dependency] = {}
    queue = [start.premise]
    for node in queue:
        if node == start.head:
            break
        for dependency in edges.get(node, ()):
            target = dependency.premise
            if (
                component.get(target) == component[start.head]
                and target not in came
                and target != start.premise
            ):
                came[target] = dependency
                queue.append(target)
    way: list[Dependency] = []
    node = start.head
    while node != start.premise:
        way.append(came[node])
        node = came[node].head
    way.append(start)
    way.reverse()
    arrows: Callable[[Dependency], str] = lambda d: {  # noqa: E731 - a table, used once
        "positive": "needs",
        "negation": "needs not",
        "aggregation": "aggregates",
    }[d.kind]
    shown = [f"{shorten(d.head, 40)} {arrows(d)} {shorten(d.premise, 40)}" for d in way[:12]]
    return ", ".join(shown) + (", …" if len(way) > 12 else "")
