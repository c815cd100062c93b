"""Queries: what is checked in which order, and the form of an answer."""

from __future__ import annotations

import pytest
from openknowledge.engine.datalog import (
    CLOSED_WORLD_PROFILE,
    Answer,
    DatalogError,
    FactBase,
    Limits,
    Name,
    ProofDepthError,
    RuleText,
    prepare,
)
from openknowledge.engine.errors import LimitError, OpenKnowledgeError, UsageError

LINKS = {"link": [("a", "b"), ("b", "c"), ("c", "a"), ("d", "d")], "none": [], "named": [(Name("/n"), 1.5)]}
REACH = "reach(X, Y) :- link(X, Y). reach(X, Z) :- reach(X, Y), link(Y, Z)."


def answer(query: str, rules: str = "", profile: str = "", limits: Limits | None = None) -> Answer:
    return prepare(query, rules, profile=profile, limits=limits or Limits()).answer(FactBase(LINKS))


def atoms(query: str, rules: str = "", **options: str) -> list[str]:
    return [row.atom for row in answer(query, rules, **options).rows]


def test_a_base_relation_can_be_asked_without_rules() -> None:
    assert atoms('link("a", X)') == ['link("a","b")']
    assert answer("link(X, Y)").rows[0].kind == "asserted-fact"


def test_a_repeated_variable_must_be_equal() -> None:
    assert atoms("link(X, X)") == ['link("d","d")']
    assert atoms("reach(X, X)", REACH) == [
        'reach("a","a")',
        'reach("b","b")',
        'reach("c","c")',
        'reach("d","d")',
    ]


def test_wildcards_need_not_be_equal() -> None:
    assert len(atoms("link(_, _)")) == 4


def test_a_ground_query_has_one_answer_or_none() -> None:
    assert atoms('reach("a", "a")', REACH) == ['reach("a","a")']
    assert atoms('reach("a", "d")', REACH) == []


def test_rows_come_in_the_order_of_their_display() -> None:
    found = atoms("reach(X, Y)", REACH)
    assert found == sorted(found)
    assert len(found) == 10


def test_rows_are_sorted_before_they_are_cut() -> None:
    cut = answer("reach(X, Y)", REACH, limits=Limits(results=3))
    assert [row.atom for row in cut.rows] == atoms("reach(X, Y)", REACH)[:3]
    assert cut.truncated
    assert not answer("reach(X, Y)", REACH, limits=Limits(results=10)).truncated


def test_an_unknown_predicate_has_no_answers() -> None:
    assert atoms("nothing(X)", REACH) == []


def test_a_row_as_plain_data() -> None:
    (row,) = answer("n(X, Y)", "n(X, Y) :- named(X, Y).").rows
    assert row.to_json() == {
        "kind": "derived-fact",
        "atom": "n(/n,1.5)",
        "predicate": "n",
        "values": [{"type": "name", "value": "/n"}, {"type": "number", "value": 1.5}],
        "proof": {
            "kind": "rule",
            "atom": "n(/n,1.5)",
            "ruleId": "rule:38eb5c3756501496",
            "rule": "n(X,Y) :- named(X,Y).",
            "inputs": [{"kind": "asserted", "atom": "named(/n,1.5)", "inputs": []}],
        },
    }


def test_the_leaves_of_a_proof_are_its_base_facts_once_each() -> None:
    (row,) = answer('reach("a", "a")', REACH).rows
    assert [(leaf.predicate, leaf.row) for leaf in row.proof.leaves()] == [
        ("link", ("a", "b")),
        ("link", ("b", "c")),
        ("link", ("c", "a")),
    ]


def test_only_what_the_query_reaches_is_loaded() -> None:
    asked: list[str] = []

    def load(name: str) -> list[tuple[str, str]]:
        asked.append(name)
        return [("a", "b")]

    base = FactBase(load=load, arities={"link": 2, "other": 2}, empty=())
    rules = REACH + " unrelated(X) :- other(X, _)."
    question = prepare("reach(X, Y)", rules)
    assert question.predicates == {"reach", "link"}
    question.answer(base)
    assert asked == ["link"]


def test_a_base_relation_without_facts_is_unknown_to_a_user() -> None:
    with pytest.raises(DatalogError, match="the relation none has no facts here"):
        answer("p(X)", "p(X) :- none(X).")


def test_a_base_relation_without_facts_is_known_to_rules_that_ship() -> None:
    built_in = RuleText("p(X) :- none(X).", "shipped.dl", built_in=True)
    assert prepare("p(X)", [built_in]).answer(FactBase(LINKS)).rows == ()


def test_built_in_rules_that_nothing_reaches_take_no_part() -> None:
    built_in = RuleText("p(X) :- link(X, _), !link(_, X).", "shipped.dl", built_in=True)
    assert prepare("link(X, Y)", [built_in]).rules.rules == ()
    with pytest.raises(DatalogError, match="closed-world"):
        prepare("q(X)", [built_in, RuleText("q(X) :- p(X).")])


def test_user_rules_build_on_built_in_ones() -> None:
    texts = [RuleText(REACH, "links.dl", built_in=True), RuleText("home(X) :- reach(X, X).", "mine.dl")]
    found = prepare('home("a")', texts).answer(FactBase(LINKS))
    assert [row.atom for row in found.rows] == ['home("a")']


@pytest.mark.parametrize(
    ("query", "rules", "profile", "error"),
    [
        ("q" * 101, "r" * 201, "x", "the Datalog query has 101 bytes; the limit is 100 bytes"),
        ("", "r" * 201, "x", "the Datalog rules have 201 bytes; the limit is 200 bytes"),
        ("", "(", "x", "unsupported Datalog rule profile 'x'"),
        ("", "(", "", "the query is empty"),
        ("p(", "(", "", "expected an argument"),
        ("p(f(X))", "(", "", "argument 1 of p is the function term f(X)"),
        ("p(X)", "p(1). (", "", 'expected a predicate, found "("'),
        ("p(X)", "p(Y) :- q(X). q(1).", "", "Datalog rules cannot assert new base facts"),
        ("p(X)", "p(Y) :- q(X), r(f(X)).", "", "argument 1 of r is the function term f(X)"),
        ("p(X)", "p(Y) :- link(X, _), !q(X).", "", "openknowledge.closed-world/v1"),
        ("p(X)", "p(Y) :- link(X).", "", "the variable Y in the head is unsafe"),
        ("p(X)", "p(X) :- link(X), q(X).", "", "link has 1 argument here, but 2 as a base relation"),
        ("p(X)", "p(X) :- linc(X, _).", "", "unknown relation linc; did you mean link?"),
        (
            "p(X)",
            "p(X) :- link(X, _), !p(X).",
            CLOSED_WORLD_PROFILE,
            "negation through recursion: p needs not p",
        ),
    ],
)
def test_the_first_fault_in_the_fixed_order_is_reported(
    query: str, rules: str, profile: str, error: str
) -> None:
    with pytest.raises((OpenKnowledgeError, UsageError)) as caught:
        answer(query, rules, profile, Limits(query_bytes=100, rule_bytes=200))
    assert error in caught.value.message


@pytest.mark.parametrize("size", [100, 101])
def test_query_bytes_are_counted_in_utf8(size: int) -> None:
    query = 'link("' + "é" * ((size - 12) // 2) + "x" * (size % 2) + '", X)'
    query += " " * (size - len(query.encode()))
    limits = Limits(query_bytes=100)
    if size <= 100:
        assert answer(query, limits=limits).rows == ()
    else:
        with pytest.raises(LimitError, match="101 bytes; the limit is 100 bytes"):
            answer(query, limits=limits)


@pytest.mark.parametrize(("size", "fits"), [(200, True), (201, False)])
def test_rule_bytes_count_all_texts_of_the_user(size: int, fits: bool) -> None:
    first = "p(X) :- link(X, _)."
    texts = [RuleText(first), RuleText("#" * (size - len(first))), RuleText("#" * 999, built_in=True)]
    if fits:
        prepare("p(X)", texts, limits=Limits(rule_bytes=200))
    else:
        with pytest.raises(LimitError, match="201 bytes; the limit is 200 bytes"):
            prepare("p(X)", texts, limits=Limits(rule_bytes=200))


CHAIN = {"next": [(i, i + 1) for i in range(80)]}
STEPS = "reach(X, Y) :- next(X, Y). reach(X, Z) :- reach(X, Y), next(Y, Z)."


def test_a_proof_at_the_depth_limit_is_found() -> None:
    found = prepare("reach(0, 64)", STEPS, limits=Limits(proof_depth=64)).answer(FactBase(CHAIN))
    assert found.rows[0].proof.height == 64


def test_a_proof_beyond_the_depth_limit_fails_the_query() -> None:
    with pytest.raises(ProofDepthError, match=r"^no reproducible proof within depth 64: "):
        prepare("reach(0, 65)", STEPS, limits=Limits(proof_depth=64)).answer(FactBase(CHAIN))


@pytest.mark.parametrize(("steps", "fits"), [(767, True), (766, False)])
def test_written_proofs_are_bounded_before_they_are_written(steps: int, fits: bool) -> None:
    rules = "p0(X) :- link(X, _)." + "".join(f"p{i + 1}(X) :- p{i}(X), p{i}(X)." for i in range(8))
    question = prepare('p8("a")', rules, limits=Limits(proof_steps=steps))
    if fits:
        # a binary tree of rules, with a leaf below each p0
        assert question.answer(FactBase(LINKS)).rows[0].proof.size() == 2**9 - 1 + 2**8 == steps
    else:
        with pytest.raises(LimitError, match="more than 766 steps, the limit of proof steps"):
            question.answer(FactBase(LINKS))


def test_shared_steps_make_no_proof_too_large_to_have() -> None:
    rules = "p0(X) :- link(X, _)." + "".join(f"p{i + 1}(X) :- p{i}(X), p{i}(X)." for i in range(60))
    (row,) = prepare('p60("a")', rules).answer(FactBase(LINKS)).rows
    assert row.proof.size() > 2**60
    assert len(list(row.proof.steps())) == 62
    with pytest.raises(LimitError, match="limit of proof steps"):
        prepare('p60("a")', rules, limits=Limits(proof_steps=250_000)).answer(FactBase(LINKS))


RECURSIONS = {
    "left": "t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z).",
    "right": "t(X, Y) :- e(X, Y). t(X, Z) :- e(X, Y), t(Y, Z).",
    "both": "t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), t(Y, Z).",
}


@pytest.mark.parametrize("rules", RECURSIONS.values(), ids=RECURSIONS)
def test_a_bound_query_derives_only_what_it_needs(rules: str) -> None:
    edges = [(f"{part}-{i}", f"{part}-{i + 1}") for part in range(500) for i in range(8)]
    base = FactBase({"e": edges})
    few = Limits(created_facts=80, proof_depth=64)
    forward = prepare('t("7-0", X)', rules, limits=few).answer(base)
    assert [row.atom for row in forward.rows] == [f't("7-0","7-{i}")' for i in range(1, 9)]
    backward = prepare('t(X, "7-8")', rules, limits=few).answer(base)
    assert len(backward.rows) == 8
    with pytest.raises(LimitError):
        prepare("t(X, Y)", rules, limits=few).answer(base)
