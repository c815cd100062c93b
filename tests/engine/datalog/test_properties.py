"""Random stratified programs: the evaluator, its proofs and their checker against plain reference code."""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openknowledge.engine.datalog import (
    CLOSED_WORLD_PROFILE,
    FactBase,
    Model,
    RuleText,
    evaluate,
    parse_rules,
    prepare,
)
from openknowledge.engine.datalog.checking import ProofChecker
from openknowledge.engine.datalog.syntax import (
    Aggregate,
    Atom,
    Comparison,
    Constant,
    Negation,
    Rule,
    Variable,
)

SETTINGS = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

Row = tuple[object, ...]
Fact = tuple[str, Row]


# A program generator


@dataclass(frozen=True)
class Case:
    """Rules, one per entry, and base relations."""

    rules: tuple[str, ...]
    relations: dict[str, list[Row]]

    @property
    def text(self) -> str:
        return "\n".join(self.rules)


ARITIES = {"a": 1, "e": 2, "f": 2, "t": 3, "p": 1, "q": 2, "r": 2, "s": 2, "u": 3, "w": 0, "n": 2, "m": 1}
LEVELS = [["q", "r", "p"], ["s", "w"], ["u", "n"], ["m", "p2"]]
ARITIES["p2"] = 1
VALUES: list[object] = [1, 2, 3, "a", "b"]


def _term(rnd: random.Random, names: list[str], *, wild: bool) -> str:
    roll = rnd.random()
    if roll < 0.12:
        return repr_value(rnd.choice(VALUES))
    if wild and roll < 0.22:
        return "_"
    return rnd.choice(names)


def repr_value(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _atom(rnd: random.Random, name: str, names: list[str], *, wild: bool = True) -> str:
    terms = [_term(rnd, names, wild=wild) for _ in range(ARITIES[name])]
    return f"{name}({', '.join(terms)})"


def random_case(rnd: random.Random, *, comparisons: bool = True, aggregates: bool = True) -> Case:
    base = ["a", "e", "f", "t"]
    relations: dict[str, list[Row]] = {}
    for name in base:
        rows = {tuple(rnd.choice(VALUES) for _ in range(ARITIES[name])) for _ in range(rnd.randint(1, 6))}
        relations[name] = sorted(rows, key=repr)
    rules: list[str] = []
    below = list(base)
    for level in LEVELS[: rnd.randint(1, len(LEVELS))]:
        usable = below + level
        for head in level:
            for _ in range(rnd.randint(1, 3)):
                rules.append(_rule(rnd, head, usable, below, comparisons, aggregates))
        below = below + level
        if rnd.random() < 0.2:
            extra = rnd.choice(base)
            if all(extra not in rule for rule in rules):
                continue
    if rnd.random() < 0.3:
        name = rnd.choice(["q", "r", "p"])
        relations[name] = [tuple(rnd.choice(VALUES) for _ in range(ARITIES[name])) for _ in range(2)]
    rnd.shuffle(rules)
    return Case(tuple(rules), relations)


def _rule(
    rnd: random.Random, head: str, usable: list[str], below: list[str], comparisons: bool, aggregates: bool
) -> str:
    names = ["X", "Y", "Z", "V"][: rnd.randint(2, 4)]
    aggregated = aggregates and len(below) > 4 and ARITIES[head] > 0 and rnd.random() < 0.25
    pool = below if aggregated else usable
    body = [_atom(rnd, rnd.choice(pool), names) for _ in range(rnd.randint(1, 3))]
    bound = sorted({name for name in names if any(_has(atom, name) for atom in body)})
    if not bound:
        body.append("e(X, Y)")
        bound = ["X", "Y"]
    if rnd.random() < 0.3 and len(below) > 4:
        negated = _atom(rnd, rnd.choice(below), bound)
        body.insert(rnd.randint(0, len(body)), f"!{negated}")
    if comparisons and rnd.random() < 0.25:
        operator = rnd.choice(["=", "!=", "<", "<=", ">", ">="])
        body.insert(
            rnd.randint(0, len(body)), f"{rnd.choice(bound)} {operator} {_term(rnd, bound, wild=False)}"
        )
    terms = [_term(rnd, bound, wild=False) for _ in range(ARITIES[head])]
    if aggregated:
        function = rnd.choice(["count", "min", "max"])
        terms[rnd.randrange(len(terms))] = f"{function}({rnd.choice(bound)})"
    return f"{head}({', '.join(terms)}) :- {', '.join(body)}."


def _has(atom: str, name: str) -> bool:
    return name in atom.split("(", 1)[1]


@st.composite
def cases(draw: st.DrawFn, **options: bool) -> Case:
    return random_case(draw(st.randoms(use_true_random=False)), **options)


# Reference code: as plain as it can be


class Reference:
    """The model by naive iteration, level by level, and all heights by relaxation over all rule instances."""

    def __init__(self, case: Case) -> None:
        self.rules = [without_wildcards(rule) for rule in parse_rules(case.text)]
        self.base: set[Fact] = {(name, row) for name, rows in case.relations.items() for row in rows}
        self.facts = set(self.base)
        derived: set[str] = set()
        for level in LEVELS:
            rules = [rule for rule in self.rules if rule.head.predicate in level]
            for rule in rules:
                if rule.is_aggregate:
                    self.facts |= set(self.aggregated(rule))
            plain = [rule for rule in rules if not rule.is_aggregate]
            while True:
                new = {self.head(rule, binding) for rule in plain for binding in self.bindings(rule)}
                if new <= self.facts:
                    break
                self.facts |= new
            derived.update(level)
        self.heights = self._heights()

    def head(self, rule: Rule, binding: dict[str, object]) -> Fact:
        return rule.head.predicate, tuple(value_of(term, binding) for term in rule.head.arguments)

    def bindings(self, rule: Rule) -> Iterator[dict[str, object]]:
        found: list[dict[str, object]] = [{}]
        for premise in rule.atoms():
            rows = [row for name, row in self.facts if name == premise.predicate]
            found = [
                b for binding in found for row in rows if (b := match(premise, row, binding)) is not None
            ]
        for binding in found:
            if all(
                self.holds(premise, binding) for premise in rule.premises if not isinstance(premise, Atom)
            ):
                yield binding

    def holds(self, premise: object, binding: dict[str, object]) -> bool:
        if isinstance(premise, Negation):
            atom = premise.atom
            return not any(
                name == atom.predicate and match(atom, row, binding) is not None for name, row in self.facts
            )
        assert isinstance(premise, Comparison)
        return compare(value_of(premise.left, binding), premise.operator, value_of(premise.right, binding))

    def groups(self, rule: Rule) -> dict[Row, list[dict[str, object]]]:
        groups: dict[Row, list[dict[str, object]]] = {}
        for binding in self.bindings(rule):
            key = tuple(
                value_of(term, binding) for term in rule.head.arguments if not isinstance(term, Aggregate)
            )
            groups.setdefault(key, []).append(binding)
        return groups

    def aggregated(self, rule: Rule) -> Iterator[Fact]:
        for members in self.groups(rule).values():
            yield rule.head.predicate, self.folded(rule, members)

    def folded(self, rule: Rule, members: list[dict[str, object]]) -> Row:
        row: list[object] = []
        for term in rule.head.arguments:
            if not isinstance(term, Aggregate):
                row.append(value_of(term, members[0]))
                continue
            values = {member[term.variable.name] for member in members}
            ordered = sorted(values, key=lambda value: (isinstance(value, str), value))
            row.append({"count": len(values), "min": ordered[0], "max": ordered[-1]}[term.function])
        return tuple(row)

    def _heights(self) -> dict[Fact, int]:
        instances: list[tuple[Fact, list[Fact]]] = []
        for rule in self.rules:
            if rule.is_aggregate:
                for members in self.groups(rule).values():
                    fact = rule.head.predicate, self.folded(rule, members)
                    instances.append((fact, [f for b in members for f in self.premises(rule, b)]))
            else:
                instances.extend((self.head(rule, b), self.premises(rule, b)) for b in self.bindings(rule))
        heights = dict.fromkeys(self.base, 0)
        changed = True
        while changed:
            changed = False
            for fact, premises in instances:
                if all(premise in heights for premise in premises):
                    height = 1 + max((heights[premise] for premise in premises), default=0)
                    if height < heights.get(fact, 10**9):
                        heights[fact] = height
                        changed = True
        return heights

    def premises(self, rule: Rule, binding: dict[str, object]) -> list[Fact]:
        found: list[Fact] = []
        for atom in rule.atoms():
            for name, row in self.facts:
                if name == atom.predicate and (m := match(atom, row, binding)) is not None and m == binding:
                    found.append((name, row))
                    break
        return found


def without_wildcards(rule: Rule) -> Rule:
    fresh = itertools.count()

    def named(atom: Atom) -> Atom:
        terms = [Variable(f"_{next(fresh)}") if str(term) == "_" else term for term in atom.arguments]
        return Atom(atom.predicate, tuple(terms))

    premises = tuple(named(premise) if isinstance(premise, Atom) else premise for premise in rule.premises)
    return Rule(rule.head, premises)


def value_of(term: object, binding: dict[str, object]) -> object:
    if isinstance(term, Constant):
        return term.value
    assert isinstance(term, Variable)
    return binding[term.name]


def match(atom: Atom, row: Row, binding: dict[str, object]) -> dict[str, object] | None:
    extended = dict(binding)
    for term, value in zip(atom.arguments, row, strict=True):
        if isinstance(term, Constant):
            if term.value != value or isinstance(term.value, str) != isinstance(value, str):
                return None
        elif isinstance(term, Variable) and extended.setdefault(term.name, value) != value:
            return None
    return extended


def compare(left: object, operator: str, right: object) -> bool:
    if isinstance(left, str) != isinstance(right, str):
        return operator == "!="
    assert isinstance(left, (int, str))
    assert isinstance(right, (int, str))
    order = (left > right) - (left < right)  # type: ignore[operator]
    return {
        "=": order == 0,
        "!=": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[operator]


def solved(case: Case) -> Model:
    return evaluate(case.text, case.relations, profile=CLOSED_WORLD_PROFILE)


def facts_of(model: Model) -> set[Fact]:
    return {(name, row) for name in model.names() for row in model[name]}


def checker_for(case: Case) -> ProofChecker:
    return ProofChecker(case.text, lambda name: case.relations.get(name, ()))


# Properties


@SETTINGS
@given(cases())
def test_a_random_program_has_the_facts_of_naive_evaluation(case: Case) -> None:
    assert facts_of(solved(case)) == Reference(case).facts


@SETTINGS
@given(cases())
def test_every_proof_has_the_least_height_there_is(case: Case) -> None:
    model, reference = solved(case), Reference(case)
    for name, row in reference.facts:
        assert model.proof(name, row).height == reference.heights[name, row]


@SETTINGS
@given(cases())
def test_the_checker_accepts_the_proof_of_every_fact(case: Case) -> None:
    model, checker = solved(case), checker_for(case)
    for name, row in facts_of(model):
        assert checker.check_proof(model.proof(name, row).to_json()) is None


@SETTINGS
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_rules_and_facts_changes_no_fact_and_no_height(case: Case, rnd: random.Random) -> None:
    rules = list(case.rules)
    rnd.shuffle(rules)
    relations = {name: rnd.sample(rows, len(rows)) for name, rows in case.relations.items()}
    model, other = solved(case), solved(Case(tuple(rules), relations))
    facts = facts_of(model)
    assert facts == facts_of(other)
    for name, row in facts:
        assert model.proof(name, row).height == other.proof(name, row).height


@SETTINGS
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_facts_changes_no_proof(case: Case, rnd: random.Random) -> None:
    relations = {name: rnd.sample(rows, len(rows)) for name, rows in case.relations.items()}
    model, other = solved(case), solved(Case(case.rules, relations))
    for name, row in facts_of(model):
        assert model.proof(name, row).to_json() == other.proof(name, row).to_json()


@SETTINGS
@given(cases(), st.randoms(use_true_random=False))
def test_a_bound_query_has_the_rows_and_proofs_of_the_whole_model(case: Case, rnd: random.Random) -> None:
    model = solved(case)
    base = FactBase(case.relations)
    for name in model.names():
        arity = ARITIES[name]
        for _ in range(2):
            terms = [rnd.choice([repr_value(rnd.choice(VALUES)), "X", "Y", "_"]) for _ in range(arity)]
            query = f"{name}({', '.join(terms)})"
            asked = prepare(query, [RuleText(case.text)], profile=CLOSED_WORLD_PROFILE)
            answer = asked.answer(base)
            pattern = asked.query
            expected = {row for row in model[name] if match(pattern, row, {}) is not None}
            assert {row.values for row in answer.rows} == expected
            for row in answer.rows:
                assert row.proof.to_json() == model.proof(name, row.values).to_json()


# Mutations

Path = tuple[int, ...]


def steps_in(proof: dict) -> Iterator[dict]:
    stack = [proof]
    while stack:
        step = stack.pop()
        yield step
        stack.extend(step["inputs"])


def mutations(proof: dict, rnd: random.Random) -> Iterator[tuple[str, dict]]:
    """Yield copies of ``proof`` with one change each."""
    count = sum(1 for _ in steps_in(proof))
    chosen = rnd.sample(range(count), min(count, 6))
    for place in chosen:
        for change in CHANGES:
            mutated = copy.deepcopy(proof)
            step = next(itertools.islice(steps_in(mutated), place, None))
            before = copy.deepcopy(mutated)
            change(step, rnd)
            if mutated != before:
                yield change.__name__, mutated


def change_kind(step: dict, rnd: random.Random) -> None:
    kinds = ["asserted", "rule", "aggregate", "closed-world-absence", "comparison", "other"]
    step["kind"] = rnd.choice([kind for kind in kinds if kind != step["kind"]])


def change_atom(step: dict, rnd: random.Random) -> None:
    step["atom"] = step["atom"].replace("1", "7").replace('"a"', '"c"') if rnd.random() < 0.7 else "zz()"


def change_atom_spacing(step: dict, rnd: random.Random) -> None:
    step["atom"] = step["atom"].replace("(", "( ")


def change_rule_id(step: dict, rnd: random.Random) -> None:
    if "ruleId" in step:
        step["ruleId"] = "rule:0000000000000000"


def change_rule(step: dict, rnd: random.Random) -> None:
    if "rule" in step:
        step["rule"] = step["rule"].replace(" :- ", " :- a(X), ")


def drop_rule(step: dict, rnd: random.Random) -> None:
    step.pop("rule", None)


def drop_input(step: dict, rnd: random.Random) -> None:
    if step["inputs"]:
        step["inputs"].pop(rnd.randrange(len(step["inputs"])))


def repeat_input(step: dict, rnd: random.Random) -> None:
    if step["inputs"]:
        step["inputs"].append(copy.deepcopy(step["inputs"][0]))


def swap_inputs(step: dict, rnd: random.Random) -> None:
    step["inputs"].reverse()


def cite_itself(step: dict, rnd: random.Random) -> None:
    if step["inputs"]:
        step["inputs"][rnd.randrange(len(step["inputs"]))] = copy.deepcopy(step)


def add_key(step: dict, rnd: random.Random) -> None:
    step["note"] = "trust me"


def give_leaf_an_input(step: dict, rnd: random.Random) -> None:
    if not step["inputs"]:
        step["inputs"] = [{"kind": "asserted", "atom": "a(1)", "inputs": []}]


CHANGES = [
    change_kind,
    change_atom,
    change_atom_spacing,
    change_rule_id,
    change_rule,
    drop_rule,
    drop_input,
    repeat_input,
    swap_inputs,
    cite_itself,
    add_key,
    give_leaf_an_input,
]


@SETTINGS
@given(cases(), st.randoms(use_true_random=False))
def test_the_checker_rejects_every_single_mutation_of_a_proof(case: Case, rnd: random.Random) -> None:
    model, checker = solved(case), checker_for(case)
    facts = sorted(facts_of(model), key=repr)
    for name, row in rnd.sample(facts, min(len(facts), 5)):
        proof = model.proof(name, row).to_json()
        for change, mutated in mutations(proof, rnd):
            if mutated["atom"] != proof["atom"] and mutated["kind"] == "asserted" and not mutated["inputs"]:
                continue  # a whole proof of another fact
            assert checker.check_proof(mutated) is not None, (change, mutated)


@pytest.mark.parametrize("seed", range(3))
def test_the_generator_makes_programs_with_every_construct(seed: int) -> None:
    text = "".join(random_case(random.Random(seed * 100 + i)).text for i in range(100))
    for construct in ("!", "count(", "min(", "<=", "_", '"a"', "w()"):
        assert construct in text
