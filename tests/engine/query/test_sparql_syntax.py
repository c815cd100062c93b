from __future__ import annotations

import contextlib

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.errors import OpenKnowledgeError, TextError
from openknowledge.engine.query.sparql_grammar import describe, find_fault
from openknowledge.engine.query.sparql_query import Dataset, check_query
from openknowledge.engine.query.sparql_syntax import syntax_error
from openknowledge.engine.query.sparql_tokens import QueryText, TokenKind, tokenize

DATASET = Dataset(ox.Store, "urn:x:revision", None, {"x": "urn:x:"})


def error_of(text: str) -> TextError:
    """Return the error that a user sees for a query which the engine refuses."""
    query = check_query(text, DATASET, graph_results=True)
    with pytest.raises(SyntaxError) as caught:
        ox.Store().query(query.engine_text, prefixes=dict(query.prefixes))
    return syntax_error(query, str(caught.value))


def fault_of(text: str) -> tuple[str, str] | None:
    tokens = [token for token in tokenize(QueryText(text)) if token.kind is not TokenKind.COMMENT]
    fault = find_fault(tokens)
    return None if fault is None else (fault.token.text if fault.token else "", describe(fault))


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("SELECT * { ?s ?p ?o", 1, 20, "ends too early: expected '}'"),
        ("SELECT * { ?s ?p }", 1, 18, "unexpected }: expected an IRI"),
        ("SELECT * WHERE\n?s ?p ?o", 2, 1, r"unexpected \?s: expected '{'"),
        ("SELECT ?s, ?p { ?s ?p ?o }", 1, 10, "unexpected ,"),
        ("SELECT COUNT(*) { ?s ?p ?o }", 1, 8, "unexpected COUNT: expected a variable, '\\('"),
        ("SELECT (COUNT(*)) { ?s ?p ?o }", 1, 17, r"unexpected \): expected AS"),
        ("SELECT * { ?s ?p ?o } ORDER ?s", 1, 29, r"unexpected \?s: expected BY"),
        ("SELECT * { ?s ?p ?o } LIMIT", 1, 28, "expected a number"),
        ("SELECT * { ?s ?p ?o }\r\n}", 2, 1, "unexpected }: expected the end of the query"),
        ("SELECT * {\n  ?s ?p ?o .\n  OPTIONL { } }", 3, 3, "Did you mean OPTIONAL"),
        ("SELECT * { ?s ?p ?o FILTER ?o > 5 }", 1, 28, r"unexpected \?o"),
        ("SELECT * { ?s ?p 'service' # a service\n ; ; . , }", 2, 8, "unexpected ,"),
        ("ASK { ?s <a> ?o }", 1, 10, "an IRI starts with a scheme"),
        ("SELECT * { ?s ?p ?o } GROUP BY ?s", 1, 1, "GROUP BY"),
        ("SELECT ?x (COUNT(?y) AS ?n) { ?x ?p ?y }", 1, 1, "unbound"),
        ("SELECT * { ?s ?p 1 } LIMIT 1 LIMIT 2", 1, 30, "unexpected LIMIT"),
        ("DESCRIBE", 1, 9, "ends too early"),
        ("CONSTRUCT { ?s ?p ?o FILTER(1) } {}", 1, 22, "unexpected FILTER"),
        ("SELECT * { VALUES (?a) { (1) 2 } }", 1, 30, "unexpected 2"),
    ],
)
def test_a_syntax_error_points_to_its_token(text: str, line: int, column: int, problem: str) -> None:
    error = error_of(text)
    assert (error.span.line, error.span.column) == (line, column)
    with pytest.raises(TextError, match=problem):
        raise error


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { BIND(1 AS ?x) BIND(2 AS ?x) }",
        "SELECT * { VALUES (?a ?b) { (1) } }",
        "SELECT * { FILTER(ABS(1, 2)) }",
        "ASK { ?s <<( ?p ?o }",
    ],
)
def test_a_fault_beyond_the_grammar_has_a_place_too(text: str) -> None:
    error = error_of(text)
    assert error.span.line == 1
    assert 1 < error.span.column <= len(text) + 1


def test_the_caret_stands_under_the_fault() -> None:
    assert error_of("SELECT * {\n  ?s\tOPTIONL ?o }").message.splitlines()[1:] == [
        "      ?s OPTIONL ?o }",
        "         ^^^^^^^",
    ]


def test_a_long_token_is_shown_in_part() -> None:
    assert len(error_of("ASK { ?s ?p } " + "x" * 5000).message) < 600


def test_a_message_of_an_unknown_kind_is_passed_on() -> None:
    query = check_query("ASK {}", DATASET)
    assert "something odd" in syntax_error(query, "something odd").message


VALID = [
    "PREFIX y: <urn:y:> BASE <urn:b:> SELECT DISTINCT ?s (COUNT(*) AS ?n) FROM <urn:x:revision> { ?s a y:c } "
    "GROUP BY ?s (1 + 2 AS ?k) HAVING (COUNT(?s) > 1) ORDER BY DESC(?n) ?s LIMIT 1 OFFSET 2",
    "SELECT * WHERE { ?s x:a/x:b*|^x:c? ?o , "
    "[ x:d ( 1 ?x 'a'@en ) ] ; !(x:a|^a) [] . { } UNION { ?a ?b true } }",
    "SELECT * { { SELECT ?s { ?s ?p ?o } LIMIT 1 } MINUS { ?s ?p 1.5e3 } "
    "OPTIONAL { GRAPH ?g { ?s ?p -1 } } }",
    "SELECT * { FILTER(?a + 1 -1 * 2 < 3 && !BOUND(?b) "
    "|| ?c NOT IN (1, 'x'^^x:t) && NOT EXISTS { ?s ?p ?o }) }",
    "SELECT (GROUP_CONCAT(DISTINCT ?x; SEPARATOR=', ') AS ?y) "
    "{ VALUES (?x ?z) { (1 UNDEF) (x:a '''b''') } } VALUES ?x { 1 }",
    "ASK { BIND(IF(REGEX(?a, 'b', 'i'), x:f(1, ?b), NOW()) AS ?c) FILTER x:g() VALUES () { () } }",
    "CONSTRUCT { ?s ?p _:b . } WHERE { ?s ?p ?o }", "CONSTRUCT WHERE { ?s ?p ?o . }",
    "DESCRIBE x:a ?s { ?s ?p ?o }", "DESCRIBE x:a", "ASK { () x:p [] . [ x:p 1 ] . ( 1 ) x:q 2 }",
    "select*{?s ?p ?o.?s ?p ?o}order by abs(?s)",
    "SELECT ?x { ?x !a ?y ; (x:a/x:b)+ ?z FILTER(+?a = - ?b) }",
]  # fmt: skip


@pytest.mark.parametrize("text", VALID)
def test_the_grammar_takes_what_the_engine_takes(text: str) -> None:
    with contextlib.suppress(RuntimeError):  # an unknown function is well-formed
        ox.Store().query(text, prefixes={"x": "urn:x:"})
    assert fault_of(text) is None


MORE = [
    "?v",
    "x:a",
    "1",
    "'s'",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ".",
    ";",
    ",",
    "a",
    "/",
    "|",
    "^",
    "FILTER",
    "AS",
    "BY",
]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(VALID), st.data())
def test_an_engines_refusal_of_a_changed_query_gets_a_place(text: str, data: st.DataObject) -> None:
    pieces = [token.text for token in tokenize(QueryText(text))]
    at = data.draw(st.integers(0, len(pieces) - 1))
    pieces[at : at + data.draw(st.integers(0, 2))] = data.draw(st.lists(st.sampled_from(MORE), max_size=2))
    changed = " ".join(pieces)
    try:
        query = check_query(changed, DATASET, graph_results=True)
    except OpenKnowledgeError:
        return
    try:
        ox.Store().query(query.engine_text, prefixes=dict(query.prefixes))
    except RuntimeError:
        return
    except SyntaxError as refusal:
        error = syntax_error(query, str(refusal))
        if error.span.line != 1 or error.span.column > len(changed) + 1:
            pytest.fail(error.message)
    else:
        assert fault_of(changed) is None, changed
