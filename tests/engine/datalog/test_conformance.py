"""The core sections of the public suite ``datalog-conformance``, run through an adapter.

The suite's YAML is read from the installed package; its pytest plugin takes no part. The adapter spells rules
the way this language does: a bare word in an argument is a variable there whatever its first letter, and the
final full stop may be missing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from typing import Any

import pytest
import yaml
from openknowledge.engine.datalog import CLOSED_WORLD_PROFILE, DatalogError, FactsError, Model, evaluate

SECTIONS = ("basic", "recursion", "negation", "errors")
CORE_CASES = 114  # its README says 111; three cases named review_v2 came later

OUTSIDE_THE_LANGUAGE = {
    "souffle_plus_A": "computes a+b; function terms are refused as arguments",
    "subtraction_chains_are_left_associative": "computes 1-2-3; function terms are refused as arguments",
    "crepe_unbound_variable": "computes x + y; function terms are refused before variables are looked at",
}

UNSAFE_HEADS = {"projectedX", "projectedY", "projectedZ", "projectedXY", "projectedXZ", "projectedYZ"}
OUTSIDE_THE_LANGUAGE.update(
    {
        f"nemo_negation_{head}": "has a variable in a negated premise only, which is unsafe here (as it is in"
        " the case unsafe_negation_variable_only_in_negative_literal of the same suite)"
        for head in UNSAFE_HEADS
    }
)
"""Their rules are left out of the program that they share with the other cases of their file."""

ERROR_CODES = {
    "arity_mismatch": {"arity", "facts"},
    "cyclic_negation": {"cyclic-negation"},
    "unbound_variable": {"unsafe"},
    "safety_violations": {"unsafe"},
    "SafetyViolationError": {"unsafe"},
}

TOKEN = re.compile(r'"[^"]*"|[A-Za-z_]\w*|\s+|:-|.', re.DOTALL)


def suite_files() -> list[str]:
    root = files("datalog_conformance") / "_tests"
    return sorted(
        f"{section}/{entry.name}"
        for section in SECTIONS
        for entry in (root / section).iterdir()
        if entry.name.endswith(".yaml")
    )


def suite_text(name: str) -> str:
    return (files("datalog_conformance") / "_tests" / name).read_text("utf-8")


def cases_in(name: str) -> list[dict[str, Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content = yaml.load(suite_text(name), loader)  # both loaders are safe ones
    cases: list[dict[str, Any]] = content.get("tests", [content])
    return cases


def spelled(rule: str) -> str:
    """Return ``rule`` with variables that start with ``V`` and a full stop at its end."""
    parts = TOKEN.findall(rule)
    written: list[str] = []
    depth = 0
    for place, part in enumerate(parts):
        following = next((later for later in parts[place + 1 :] if not later.isspace()), "")
        depth += {"(": 1, ")": -1}.get(part, 0)
        is_word = part[0].isalpha() or (part[0] == "_" and len(part) > 1)
        if is_word and depth > 0 and following != "(":
            part = f"V{part}"
        written.append(part)
    text = "".join(written).strip()
    return text if text.endswith(".") else f"{text}."


def heads(rule: str) -> str:
    return rule.split("(", 1)[0].strip()


def evaluated(program: dict[str, Any], rules_of: set[str] | None = None) -> Model:
    """Return the model of a program, or of its rules for the heads ``rules_of`` alone."""
    relations = {name: [tuple(row) for row in rows] for name, rows in program.get("facts", {}).items()}
    written = [
        spelled(rule)
        for rule in program.get("rules") or []
        if (heads(rule) in rules_of if rules_of is not None else heads(rule) not in UNSAFE_HEADS)
    ]
    rules = "\n".join(written)
    for predicate in re.findall(r"(\w+)\s*\(", rules):
        relations.setdefault(predicate, [])  # the suite does not declare relations that hold nothing
    model = evaluate(rules, relations, profile=CLOSED_WORLD_PROFILE)
    for name in relations:
        len(model[name])  # relations that no rule reaches are read, and checked, when they are asked for
    return model


@lru_cache(maxsize=1)
def shared(_facts: int, _rules: int, holder: Holder) -> Model:
    return evaluated(holder.program)


class Holder:
    """A program that is equal to any other, so that only identities of its parts tell programs apart."""

    def __init__(self, program: dict[str, Any]) -> None:
        self.program = program

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


def check(case: dict[str, Any]) -> None:
    program = case["program"]
    if "expect_error" in case:
        with pytest.raises((DatalogError, FactsError)) as caught:
            evaluated(program)
        code = caught.value.code if isinstance(caught.value, DatalogError) else "facts"
        assert code in ERROR_CODES[case["expect_error"]], case["name"]
        return
    # cases of one file share facts and rules through YAML anchors; they are evaluated once
    model = shared(id(program.get("facts")), id(program.get("rules")), Holder(program))
    for predicate, rows in case["expect"].items():
        actual = set(model[predicate]) if predicate in model else set()
        assert actual == {tuple(row) for row in rows}, f"{case['name']}: {predicate}"


@pytest.mark.parametrize("name", suite_files())
def test_the_cases_of_the_suite_pass(name: str) -> None:
    for case in cases_in(name):
        if case["name"] not in OUTSIDE_THE_LANGUAGE:
            check(case)


@pytest.mark.parametrize("name", sorted(OUTSIDE_THE_LANGUAGE))
def test_a_case_outside_the_language_is_refused(name: str) -> None:
    where = [file for file in suite_files() if f"name: {name}\n" in suite_text(file)]
    case = next(case for case in cases_in(where[0]) if case["name"] == name)
    rules_of = {name.removeprefix("nemo_negation_")} if name.startswith("nemo") else None
    with pytest.raises(DatalogError) as caught:
        evaluated(case["program"], rules_of)
    assert caught.value.code == ("unsafe" if rules_of else "syntax")


def test_the_core_sections_are_all_there() -> None:
    count = sum(len(re.findall(r"^(?:- )?name: ", suite_text(name), re.MULTILINE)) for name in suite_files())
    assert count == CORE_CASES
