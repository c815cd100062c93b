"""The linter: what it finds, where, and what it leaves alone."""

from __future__ import annotations

import pytest
from openknowledge.engine.datalog import SAFE_PROFILE, FactBase, RuleText
from openknowledge.engine.datalog.lint import CODES, LintFinding, lint

BASE = FactBase(
    {"edge": [(1, 2)], "node": [(1,)], "nothing": []}, arities={"edge": 2, "node": 1, "nothing": 1}
)


def findings(rules: str, **options: object) -> list[LintFinding]:
    return lint(rules, BASE, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rules", "code", "line", "column", "message"),
    [
        ("p(X) :- edge(X, Y).", "unused-variable", 1, 17, "the variable Y occurs only once; write _"),
        (
            "p(X) :- node(X), edge(Y, Y).",
            "cartesian-product",
            1,
            18,
            "node(X) and edge(Y,Y) share no variable",
        ),
        (
            "p(X) :- node(X).\np(Y) :- node(Y).",
            "duplicate-rule",
            2,
            1,
            "this says the same as the rule at rules:1",
        ),
        (
            "p(X) :- node(X), node(X).",
            "duplicate-premise",
            1,
            18,
            "node(X) is a premise of this rule already",
        ),
        ("p(X) :- node(X), p(X).", "self-premise", 1, 18, "the head is one of the premises"),
        ("p(X) :- node(X), 1 < 2.", "constant-comparison", 1, 18, "1 < 2 compares constants"),
        ("p(X) :- node(Y), Y > 1.", "unsafe", 1, 3, "the variable X in the head is unsafe"),
        ("p(X) :- node(X).\nq(X) :- p(X, X).", "arity", 2, 9, "p has 2 arguments here, but 1 in rules:1"),
        ("p(X) :- edge(X).", "arity", 1, 9, "edge has 1 argument here, but 2 as a base relation"),
        ("p(X) :- edgy(X, X).", "unknown-predicate", 1, 9, "unknown relation edgy; did you mean edge?"),
        ("p(X) :- node(X), !q(X).\nq(X) :- p(X).", "cyclic-negation", 1, 18, "p needs not q, q needs p"),
        (
            "p(count(X)) :- p(X).",
            "cyclic-aggregation",
            1,
            16,
            "aggregation through recursion: p aggregates p",
        ),
        ("p(1).", "base-fact", 1, 1, "Datalog rules cannot assert new base facts"),
        ("p(X) :- node(f(X)).", "function-term", 1, 14, "argument 1 of node is the function term f(X)"),
        ("p(X) :- node(X)", "syntax", 1, 16, 'expected "," or "."'),
    ],
)
def test_each_fault_is_found_in_its_place(
    rules: str, code: str, line: int, column: int, message: str
) -> None:
    found = [f for f in findings(rules) if f.code == code]
    assert [(f.line, f.column) for f in found] == [(line, column)]
    assert message in found[0].message
    assert found[0].severity == ("error" if list(CODES).index(code) < 9 else "warning")
    assert (found[0].rule_id or "rule:").startswith("rule:")


def test_negation_outside_its_profile_is_found() -> None:
    (found,) = findings("p(X) :- node(X), !edge(X, _).", profile=SAFE_PROFILE)
    assert (found.code, found.severity) == ("profile", "error")


def test_a_rule_that_nothing_asks_for_is_found() -> None:
    rules = "p(X) :- q(X).\nq(X) :- node(X).\nr(X) :- node(X)."
    (found,) = findings(rules, asked=["p"])
    assert (found.code, found.line) == ("unreachable-rule", 3)
    assert found.message == "nothing that is asked for (p) needs r"


@pytest.mark.parametrize(
    "rules",
    [
        "p(X) :- edge(X, _Y).",
        "p(X) :- edge(X, _).",
        "p(X, Y) :- edge(X, Y).\np(X, Z) :- p(X, Y), edge(Y, Z).",
        "p(X, Y) :- node(X), node(Y), X < Y.",
        "p(X) :- node(X), edge(1, 2).",
        "p(X) :- nothing(X).",
        "n(X, count(Y)) :- edge(X, Y).",
        "p(X) :- node(X), !edge(X, _).",
        "",
        "# only a comment",
    ],
)
def test_sound_rules_have_no_findings(rules: str) -> None:
    assert findings(rules) == []


def test_without_a_catalogue_unknown_relations_are_not_looked_for() -> None:
    assert lint("p(X) :- anything(X).") == []


def test_findings_come_in_the_order_of_texts_and_lines() -> None:
    texts = [
        RuleText("p(X) :- q(X, Y).", "b.dl"),
        RuleText("(", "a.dl"),
        RuleText("q(X,Y) :- r(X,Y,Z).", "c.dl"),
    ]
    assert [(f.source, f.code) for f in lint(texts)] == [
        ("b.dl", "unused-variable"),
        ("a.dl", "syntax"),
        ("c.dl", "unused-variable"),
    ]


def test_texts_that_ship_are_context_only() -> None:
    texts = [
        RuleText("q(X) :- node(X), edge(Y, Y).", "shipped.dl", built_in=True),
        RuleText("p(X) :- q(X).", "mine.dl"),
    ]
    assert lint(texts, BASE) == []


def test_every_code_is_explained() -> None:
    assert all(text and not text.endswith(".") for text in CODES.values())


def test_rules_that_wait_for_each_other_are_reported() -> None:
    found = lint(
        "p(X) :- q(X).\nq(X) :- p(X).\nr(X) :- p(X).\ns(X) :- b(X).\ns(X) :- s(X), b(X).",
        FactBase({"b": [("x",)]}),
    )
    assert [(f.line, f.code) for f in found if f.code != "self-premise"] == [
        (n, "never-derived") for n in (1, 2, 3)
    ]
    assert found[0].message == "this can never hold, for want of q: no chain of rules leads from facts to it"
