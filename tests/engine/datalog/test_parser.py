"""The grammar: what is read, what is written back, and where errors point."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.datalog import DatalogError, Name, parse_query, parse_rules
from openknowledge.engine.datalog.syntax import Aggregate, Comparison, Negation, rule_id


def only(text: str) -> str:
    (rule,) = parse_rules(text)
    return str(rule)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("p(X):-q(X).", "p(X) :- q(X)."),
        ("p( X , Y )  :-  q(X) ,r( Y ) .", "p(X,Y) :- q(X), r(Y)."),
        ("p(X) :- q(X), not r(X, _).", "p(X) :- q(X), !r(X,_)."),
        ('p(X) :- q(X, "a\\u0041\\n\\"\\\\").', 'p(X) :- q(X,"aA\\n\\"\\\\").'),
        ("p(X) :- q(X, 1.50, -3, 2e2, /n/a.b).", "p(X) :- q(X,1.5,-3,200,/n/a.b)."),
        ("p(X) :- q(X,N), N>=3, N != 4.", "p(X) :- q(X,N), N >= 3, N != 4."),
        ("t(D, count(S)) :- s(S, D). % end", "t(D,count(S)) :- s(S,D)."),
        ("# first\np(X) :- # inside\n q(X).", "p(X) :- q(X)."),
        ("Ok() :- Q().", "Ok() :- Q()."),
        ("p(_X) :- q(_X).", "p(_X) :- q(_X)."),
        ('p(X) :- q(X), X = "a\nb".', 'p(X) :- q(X), X = "a\\nb".'),
        ('p(X) :- q(X,"\\u{1F600}\\ud83d\\ude00\\x41").', 'p(X) :- q(X,"😀😀A").'),
    ],
)
def test_rules_have_one_canonical_text(text: str, canonical: str) -> None:
    assert only(text) == canonical
    assert only(canonical) == canonical


def test_the_rule_id_is_the_start_of_the_digest_of_the_text() -> None:
    (rule,) = parse_rules("path(X, Y) :- edge(X, Y).")
    assert rule.rule_id == rule_id("path(X,Y) :- edge(X,Y).") == "rule:347bcf705c61ee22"


def test_premises_are_of_three_kinds() -> None:
    (rule,) = parse_rules("p(max(X)) :- q(X), !r(X), X < 3.")
    assert [type(p).__name__ for p in rule.premises] == ["Atom", "Negation", "Comparison"]
    assert isinstance(rule.head.arguments[0], Aggregate)
    assert isinstance(rule.premises[1], Negation)
    assert isinstance(rule.premises[2], Comparison)


def test_a_query_may_end_with_a_mark() -> None:
    assert str(parse_query('p("a", X)?')) == str(parse_query('p("a",X).')) == 'p("a",X)'


def test_a_name_is_not_a_string() -> None:
    assert parse_query("p(/a)").arguments[0].value == Name("/a")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("p(X) :- q(X)", 1, 13, 'expected "," or "." after a premise, found the end of the text'),
        ("p(X) :- q(X),\n  r(X", 2, 6, 'expected "," or ")" after an argument, found the end of the text'),
        ("p(X) q(X).", 1, 6, 'expected ":-" and premises after the head of a rule, found "q"'),
        ("p(X) : q(X).", 1, 6, 'expected ":-" between head and premises'),
        ("p(X) :- .", 1, 9, 'expected a premise (an atom, "!" and an atom, or a comparison), found "."'),
        (
            "p(X) :- q(X,).",
            1,
            13,
            'expected an argument (a Variable, "string", number, /name or _), found ")"',
        ),
        ("p(x) :- q(X).", 1, 3, '"x" is neither a variable nor a constant'),
        ("p(X) :- q('a').", 1, 11, "strings are written between double quotes, not '"),
        ('p(X) :- q("a).', 1, 11, 'this string has no closing "'),
        ('p(X) :- q("\\q").', 1, 12, "unknown escape \\q"),
        ('p(X) :- q("\\ud800").', 1, 12, "\\ud800 is not a Unicode character"),
        ('p(X) :- q("\\u{110000}").', 1, 12, "\\u{110000} is not a Unicode character"),
        ("p(X + 1) :- q(X).", 1, 5, 'unexpected "+"'),
        ("p(X) :- q(X), X == 3.", 1, 18, 'expected an argument (a Variable, "string", number, /name or _)'),
        ("!p(X) :- q(X).", 1, 1, "the head of a rule cannot be negated"),
        ("not(X) :- q(X).", 1, 1, "the head of a rule cannot be negated"),
        ("p(X) :- q(X), X.", 1, 16, "expected a comparison"),
        ("p(X) :- q.", 1, 10, 'expected "(" after the predicate q'),
        ("p(X) :- q(1e999).", 1, 11, "the number 1e999 is too large"),
        (f"p(X) :- q({'9' * 401}).", 1, 11, "this number has 401 characters; at most 400 are read"),
        ("p(X) :- q(X)\0.", 1, 13, "unexpected character U+0000"),
        ("p(X) :- q(٣).", 1, 11, "has digits outside 0-9"),
        ("% only\n  (", 2, 3, 'expected a predicate, found "("'),
    ],
)
def test_an_error_points_at_its_place(text: str, line: int, column: int, problem: str) -> None:
    with pytest.raises(DatalogError) as caught:
        parse_rules(text, "my.dl")
    error = caught.value
    assert (error.span.line, error.span.column) == (line, column)
    assert problem in error.problem
    assert error.message.startswith(f"my.dl:{line}:{column}: ")
    assert error.code == "syntax"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the query is empty"),
        (" \n\t", "the query is empty"),
        ("% nothing", "the query is only a comment"),
        ("!p(X)", "a query is one positive atom, without negation"),
        ("not p(X)", "a query is one positive atom, without negation"),
        ("X < 3", "a query is one atom; put comparisons into a rule"),
        ("p(X), q(X)", 'a query is one atom, but "," follows it; put joins into a rule'),
        ("p(X) :- q(X).", 'a query is one atom, but ":-" follows it'),
    ],
)
def test_what_is_not_one_atom_is_no_query(text: str, problem: str) -> None:
    with pytest.raises(DatalogError) as caught:
        parse_query(text)
    assert problem in caught.value.problem
    assert caught.value.code == "query"


def test_the_message_shows_the_line_with_a_caret() -> None:
    with pytest.raises(DatalogError) as caught:
        parse_rules("a(X) :- b(X).\np(X) :- q(x).", "my.dl")
    assert caught.value.message.splitlines()[1:] == ["    p(X) :- q(x).", "              ^"]


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet=st.sampled_from('pqXY_(),.:-!=<> "\\n/1%#\n\té\0'), max_size=40))
def test_any_text_is_rules_or_an_error_in_its_place(text: str) -> None:
    lines = text.count("\n") + 1
    try:
        rules = parse_rules(text)
    except DatalogError as caught:
        line = caught.span.line
    else:
        line = 1
        assert parse_rules("\n".join(map(str, rules))) == rules
    assert 1 <= line <= lines


@pytest.mark.parametrize("depth", [1, 1_000, 50_000])
def test_nesting_of_any_depth_is_refused_without_recursion(depth: int) -> None:
    (rule,) = parse_rules("p(X) :- q(" + "f(" * depth + "X" + ")" * depth + ").")
    assert str(rule.premises[0]).startswith("q(f(")
