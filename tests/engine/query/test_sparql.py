from __future__ import annotations

import csv
import io
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine import limits
from openknowledge.engine.errors import LimitError, OpenKnowledgeError, TextError, UsageError
from openknowledge.engine.query.sparql import (
    Dataset,
    GraphFormat,
    ResultFormat,
    Solutions,
    Term,
    check_query,
    evaluate,
    serialize_results,
    serialize_triples,
    solve,
)
from openknowledge.engine.query.sparql_results import node_of
from openknowledge.engine.query.sparql_rows import (
    UNBOUND,
    Order,
    evaluate_order,
    pack_order,
    smallest_rows,
    term_of,
    unpack_order,
)
from openknowledge.engine.query.worker import Bounds, run_forked
from openknowledge.schemas.common import Policy, Provenance, Revision
from openknowledge.schemas.sparql import SparqlResult

REVISION, DERIVED = "urn:openknowledge:revision:" + "0" * 64, "urn:openknowledge:derived:" + "0" * 64
AT: Revision = {"specVersion": "0.2", "indexSha256": "0" * 64}
POLICY: Policy = {"allowedAccess": ["team"], "removedSources": 1, "removedClaims": 2}
PEOPLE = """
<urn:x:bee> <urn:x:label> "Bee"@en .
<urn:x:ant> <urn:x:label> "Ant"@en .
<urn:x:cat> <urn:x:label> "Cat" .
<urn:x:ant> <urn:x:age> "2"^^<http://www.w3.org/2001/XMLSchema#integer> .
<urn:x:bee> <urn:x:age> "10"^^<http://www.w3.org/2001/XMLSchema#integer> .
<urn:x:bee> <urn:x:knows> <urn:x:ant> .
<urn:x:cat> <urn:x:knows> <urn:x:bee> .
"""


def store_of(asserted: str, derived: str = "") -> ox.Store:
    store = ox.Store()
    for text, graph in ((asserted, REVISION), (derived, DERIVED)):
        for triple in ox.parse(text, format=ox.RdfFormat.N_TRIPLES):
            store.add(ox.Quad(triple.subject, triple.predicate, triple.object, ox.NamedNode(graph)))
    return store


STORE = store_of(PEOPLE, "<urn:x:cat> <urn:x:knows> <urn:x:ant> .")
DATASET = Dataset(lambda: STORE, REVISION, DERIVED, {"x": "urn:x:", "wrong": "not an iri"})
Process = Literal["fork", "spawn"]


def ask(
    text: str, *, max_results: int = 1000, timeout: float = 20.0, process: Process | None = None
) -> Solutions:
    query = check_query(text, DATASET, graph_results=True)
    return solve(DATASET, query, max_results=max_results, timeout=timeout, process=process)


def values(found: Solutions) -> list[tuple[str, ...]]:
    return [tuple(term.value for term in row) for row in found.rows]


def test_a_select_gives_its_variables_and_sorted_rows() -> None:
    found = ask("SELECT ?who ?label { ?who x:label ?label }")
    assert found.variables == ("who", "label")
    assert values(found) == [("urn:x:ant", "Ant"), ("urn:x:bee", "Bee"), ("urn:x:cat", "Cat")]


def test_a_select_of_everything_has_the_variables_in_the_order_of_the_query() -> None:
    assert ask("SELECT * { ?z x:knows ?m . ?a x:age ?y FILTER(?m = ?a) }").variables == ("z", "m", "a", "y")


@pytest.mark.parametrize(("text", "answer"), [("ASK { x:ant ?p ?o }", True), ("ASK { x:dog ?p ?o }", False)])
def test_an_ask_gives_a_boolean(text: str, answer: bool) -> None:
    assert ask(text) == Solutions("ask", boolean=answer)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "7"),
        ("SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }", "8"),
        (f"SELECT (COUNT(*) AS ?n) {{ GRAPH <{DERIVED}> {{ ?s ?p ?o }} }}", "1"),
        (f"SELECT (COUNT(*) AS ?n) FROM <{DERIVED}> {{ ?s ?p ?o }}", "1"),
        (f"SELECT (COUNT(*) AS ?n) FROM <{DERIVED}> FROM <{REVISION}> {{ ?s ?p ?o }}", "8"),
        (f"SELECT (COUNT(*) AS ?n) FROM NAMED <{DERIVED}> {{ ?s ?p ?o }}", "0"),
        (f"SELECT (COUNT(*) AS ?n) FROM NAMED <{DERIVED}> {{ GRAPH ?g {{ ?s ?p ?o }} }}", "1"),
        (f"SELECT (COUNT(*) AS ?n) {{ ?a x:knows ?b GRAPH <{DERIVED}> {{ ?a x:knows ?c }} }}", "1"),
    ],
)
def test_the_default_graph_is_what_was_asserted_and_each_graph_has_its_name(text: str, count: str) -> None:
    assert values(ask(text)) == [(count,)]


def test_a_prefix_of_the_query_wins_over_a_predefined_one() -> None:
    assert values(ask("PREFIX x: <urn:y:> SELECT (x:a AS ?v) {}")) == [("urn:y:a",)]


def test_a_base_resolves_relative_iris() -> None:
    assert values(ask("BASE <http://e.org/a/> SELECT (<../b> AS ?v) {}")) == [("http://e.org/b",)]


def test_a_byte_order_mark_is_no_part_of_a_query() -> None:
    assert ask("\ufeffASK {}").boolean is True


def test_strings_come_back_as_they_are() -> None:
    text = "größer 🐝 \\u00e9 { } # \\n \x00"
    assert values(ask(f"SELECT ('{text}' AS ?v) {{}}")) == [("größer 🐝 é { } # \n \x00",)]


def test_a_prefix_that_is_no_iri_breaks_only_queries_that_use_it() -> None:
    with pytest.raises(OpenKnowledgeError, match="Invalid prefix IRI 'not an iri' for wrong"):
        ask("ASK { wrong:a ?p ?o }")


def test_a_syntax_error_has_a_line_and_a_column() -> None:
    with pytest.raises(TextError, match=r"q\.rq:2:6: unexpected }"):
        solve(DATASET, check_query("ASK {\n x:a }", DATASET, source="q.rq"))


def test_an_unknown_function_is_reported() -> None:
    with pytest.raises(OpenKnowledgeError, match="custom function <urn:x:f> is not supported"):
        ask("SELECT * { BIND(x:f(1) AS ?v) }")


# Which rows survive


def test_rows_without_an_order_are_sorted_before_they_are_cut() -> None:
    found = ask("SELECT ?s ?o { ?s x:knows|x:label ?o }", max_results=3)
    assert values(found) == [("urn:x:ant", "Ant"), ("urn:x:bee", "urn:x:ant"), ("urn:x:bee", "Bee")]
    assert found.truncated


def test_rows_in_an_order_keep_it() -> None:
    found = ask("SELECT ?s { ?s x:label ?l } ORDER BY DESC(?l)", max_results=2)
    assert (values(found), found.truncated) == ([("urn:x:cat",), ("urn:x:bee",)], True)


def test_an_own_limit_within_the_bound_is_no_truncation() -> None:
    found = ask("SELECT ?s { ?s x:label ?l } ORDER BY ?l LIMIT 2", max_results=2)
    assert (values(found), found.truncated) == ([("urn:x:ant",), ("urn:x:bee",)], False)


def test_an_own_limit_over_the_bound_is_cut_to_the_smallest_rows() -> None:
    found = ask("SELECT ?s { ?s x:label ?l } LIMIT 3", max_results=2)
    assert (values(found), found.truncated) == ([("urn:x:ant",), ("urn:x:bee",)], True)


def test_exactly_as_many_rows_as_allowed_are_no_truncation() -> None:
    assert not ask("SELECT ?s { ?s x:label ?l }", max_results=3).truncated


def test_unbound_variables_come_before_bound_ones() -> None:
    found = ask("SELECT ?age ?s { ?s x:label ?l OPTIONAL { ?s x:age ?age } }")
    assert values(found) == [("", "urn:x:cat"), ("10", "urn:x:bee"), ("2", "urn:x:ant")]


def term_with(
    kind: str, value: str, datatypes: str = "", languages: str = "", directions: str = ""
) -> st.SearchStrategy[Term]:
    """Return a strategy for terms of one kind; each argument but the first lists choices, split at blanks."""
    choices = [st.sampled_from(listed.split(" ")) for listed in (value, datatypes, languages, directions)]
    return st.tuples(st.just(kind), *choices).map(lambda parts: Term(*parts))


BOUND = st.one_of(
    term_with("iri", "urn:a urn:b urn:c"),
    term_with("literal", "a é", "urn:t urn:u"),
    term_with("literal", "a", "", "de en"),
    term_with("literal", "a", "", "ar", "ltr rtl"),
    term_with("blank", "b1 b2"),
    st.just(Term("triple", '<<( <urn:a> <urn:b> "c" )>>')),
)
terms = st.one_of(BOUND, st.just(UNBOUND))


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.tuples(terms, terms), min_size=1, max_size=40),
    copies=st.sampled_from([1, 3, 100]),
    limit=st.integers(1, 60),
    distinct=st.booleans(),
    randomness=st.randoms(use_true_random=False),
)
def test_the_smallest_rows_are_those_that_sorting_all_would_give(
    rows: list[tuple[Term, Term]], copies: int, limit: int, distinct: bool, randomness: random.Random
) -> None:
    pairs = [(row, [None if term == UNBOUND else node_of(term) for term in row]) for row in rows] * copies
    randomness.shuffle(pairs)
    every = [row for row, _ in pairs]
    expected = sorted(set(every) if distinct else every)
    found, truncated = smallest_rows([nodes for _, nodes in pairs], limit, (0, 1), distinct=distinct)
    assert (found, truncated) == (expected[:limit], len(expected) > limit)


@given(BOUND)
def test_a_term_becomes_a_node_and_back(term: Term) -> None:
    assert term_of(node_of(term)) == term


def test_the_rows_of_a_large_result_are_the_smallest() -> None:
    columns = " ".join(f"(x:n{n:03})" for n in range(999, -1, -1))
    text = f"SELECT ?a ?b {{ VALUES (?a) {{ {columns} }} VALUES (?b) {{ {columns} }} }}"
    start = time.monotonic()
    found = ask(text, timeout=30)
    assert [row[1] for row in values(found)] == [f"urn:x:n{n:03}" for n in range(1000)]
    assert {row[0] for row in values(found)} == {"urn:x:n000"}
    assert found.truncated
    assert time.monotonic() - start < 25


# The JSON result


def result(text: str) -> SparqlResult:
    return evaluate(DATASET, check_query(text, DATASET), root="/r", revision=AT, policy=POLICY)


def test_the_json_result_has_these_fields() -> None:
    found = result("SELECT ?l { x:bee x:label ?l }")
    assert found == {
        "schemaVersion": "1",
        "root": "/r",
        "revision": AT,
        "engine": {"name": "oxigraph", "version": ox.__version__},
        "queryType": "select",
        "variables": ["l"],
        "bindings": [{"values": {"l": {"type": "literal", "value": "Bee", "language": "en"}}, "sources": []}],
        "truncated": False,
        "policy": POLICY,
    }


def test_the_json_result_of_an_ask_has_a_boolean_and_no_bindings() -> None:
    found = result("ASK {}")
    assert (found["boolean"], found["bindings"], found["variables"]) == (True, [], [])


def test_every_literal_without_a_language_has_its_datatype() -> None:
    bindings = result("SELECT ?v { VALUES ?v { 1 'a' 'a'@EN x:t } }")["bindings"]
    assert [row["values"]["v"] for row in bindings] == [
        {"type": "iri", "value": "urn:x:t"},
        {"type": "literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#integer"},
        {"type": "literal", "value": "a", "language": "en"},
        {"type": "literal", "value": "a", "datatype": "http://www.w3.org/2001/XMLSchema#string"},
    ]


def test_an_unbound_variable_is_absent() -> None:
    assert result("SELECT ?a ?b { BIND(1 AS ?a) }")["bindings"][0]["values"].keys() == {"a"}


def test_a_triple_term_and_a_direction_have_a_place_in_json() -> None:
    (row,) = result("SELECT * { BIND(<<( x:a x:b 'c'@en )>> AS ?t) BIND('d'@ar--rtl AS ?d) }")["bindings"]
    assert row["values"] == {
        "t": {"type": "triple", "value": '<<( <urn:x:a> <urn:x:b> "c"@en )>>'},
        "d": {"type": "literal", "value": "d", "language": "ar", "direction": "rtl"},
    }


def test_a_blank_node_has_its_type() -> None:
    (row,) = result("SELECT (BNODE() AS ?b) {}")["bindings"]
    assert row["values"]["b"]["type"] == "blank"


def test_the_sources_of_each_surviving_row_are_asked_by_its_terms() -> None:
    asked: list[list[Term]] = []
    place: Provenance = {"document": "a.md", "documentId": "a", "locator": "l", "contentSha256": "0"}

    def sources_of(terms: Sequence[Term]) -> list[Provenance]:
        asked.append(list(terms))
        return [place]

    query = check_query("SELECT ?s ?none ?l { ?s x:label ?l }", DATASET)
    found = evaluate(
        DATASET, query, root="", revision=AT, policy=POLICY, sources_of=sources_of, max_results=1
    )
    assert asked == [[Term("iri", "urn:x:ant"), Term("literal", "Ant", "", "en")]]
    assert found["bindings"][0]["sources"] == [place]


def test_triples_have_no_place_in_the_json_result() -> None:
    query = check_query("DESCRIBE x:ant", DATASET, graph_results=True)
    with pytest.raises(UsageError, match="DESCRIBE"):
        evaluate(DATASET, query, root="", revision=AT, policy=POLICY)


# The other formats


def test_csv_has_a_header_and_plain_values() -> None:
    text = serialize_results(ask("SELECT ?s ?l { ?s x:label ?l }"), "csv").decode()
    assert list(csv.reader(io.StringIO(text))) == [
        ["s", "l"], ["urn:x:ant", "Ant"], ["urn:x:bee", "Bee"], ["urn:x:cat", "Cat"],
    ]  # fmt: skip


def test_tsv_has_terms_in_turtle() -> None:
    text = serialize_results(ask("SELECT ?s ?l { ?s x:label ?l }"), "tsv").decode()
    assert text.splitlines()[:2] == ["?s\t?l", '<urn:x:ant>\t"Ant"@en']


def test_srj_is_the_json_of_the_recommendation() -> None:
    found = json.loads(serialize_results(ask("SELECT ?s { ?s x:label 'Cat' }"), "srj"))
    assert found == {
        "head": {"vars": ["s"]},
        "results": {"bindings": [{"s": {"type": "uri", "value": "urn:x:cat"}}]},
    }


@pytest.mark.parametrize("name", ["srj", "xml", "tsv"])
def test_the_rows_can_be_read_back_from_this_format(name: ResultFormat) -> None:
    found = ask("SELECT * { ?s ?p ?o OPTIONAL { ?o x:age ?age } } ORDER BY ?age")
    formats = {"srj": "JSON", "xml": "XML", "tsv": "TSV"}
    data = serialize_results(found, name)
    again = ox.parse_query_results(data, format=getattr(ox.QueryResultsFormat, formats[name]))
    assert isinstance(again, ox.QuerySolutions)
    assert [tuple(map(term_of, row)) for row in again] == list(found.rows)


@pytest.mark.parametrize("name", ["srj", "xml", "csv", "tsv"])
def test_a_boolean_can_be_written_in_this_format(name: ResultFormat) -> None:
    assert b"true" in serialize_results(ask("ASK {}"), name)


@pytest.mark.parametrize("name", ["srj", "xml", "tsv"])
def test_terms_of_rdf_1_2_can_be_written_in_this_format(name: ResultFormat) -> None:
    data = serialize_results(ask("SELECT (<<( x:a x:b 'c' )>> AS ?t) ('d'@ar--rtl AS ?d) {}"), name)
    assert b"urn:x:b" in data
    assert b"rtl" in data


@pytest.mark.parametrize("name", ["turtle", "ntriples", "nquads", "trig", "jsonld"])
def test_constructed_triples_can_be_read_back_from_this_format(name: GraphFormat) -> None:
    found = ask("CONSTRUCT { ?b x:known ?a } WHERE { ?a x:knows ?b }")
    data = serialize_triples(found, name, prefixes={"x": "urn:x:"})
    formats = {
        "turtle": "TURTLE",
        "ntriples": "N_TRIPLES",
        "nquads": "N_QUADS",
        "trig": "TRIG",
        "jsonld": "JSON_LD",
    }
    quads = ox.parse(data, format=getattr(ox.RdfFormat, formats[name]))
    read = {(quad.subject.value, quad.predicate.value, quad.object.value) for quad in quads}
    assert read == {("urn:x:ant", "urn:x:known", "urn:x:bee"), ("urn:x:bee", "urn:x:known", "urn:x:cat")}


def test_turtle_uses_the_prefixes() -> None:
    found = ask("CONSTRUCT WHERE { ?a x:knows ?b }")
    assert b"x:bee x:knows x:ant" in serialize_triples(found, "turtle", prefixes={"x": "urn:x:"})


def test_triples_are_cut_to_the_smallest_distinct_ones() -> None:
    found = ask("CONSTRUCT { ?s x:is x:thing } WHERE { ?s ?p ?o }", max_results=2)
    assert [triple[0].value for triple in found.triples] == ["urn:x:ant", "urn:x:bee"]
    assert found.truncated


def test_a_description_has_the_triples_of_its_subject() -> None:
    found = ask("DESCRIBE x:cat")
    assert {triple[1].value for triple in found.triples} == {"urn:x:label", "urn:x:knows"}


@pytest.mark.parametrize(
    ("text", "write"), [("ASK {}", serialize_triples), ("DESCRIBE x:a", serialize_results)]
)
def test_a_format_of_the_other_kind_is_refused_with_the_choices(text: str, write: object) -> None:
    name = "turtle" if write is serialize_triples else "csv"
    with pytest.raises(UsageError, match="use one of the formats"):
        write(ask(text), name)  # type: ignore[operator]


@pytest.mark.parametrize("write", [serialize_triples, serialize_results])
def test_an_unknown_format_is_refused_with_the_choices(write: object) -> None:
    with pytest.raises(UsageError, match=r"unknown .* format pdf; use one of"):
        write(ask("ASK {}"), "pdf")  # type: ignore[operator]


# Limits, and the process


def product(patterns: int) -> str:
    return " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(patterns))


ENDLESS = f"SELECT (COUNT(*) AS ?n) {{ {product(30)} }}"


@pytest.mark.parametrize(
    "text",
    [
        ENDLESS,
        f"ASK {{ {product(30)} FILTER(CONCAT(STR(?a0), STR(?c29)) = 'nothing') }}",
        f"SELECT * {{ {product(30)} FILTER(REGEX(CONCAT(STR(?a0), STR(?c29)), '^(a|aa)+$')) }}",
    ],
)
def test_a_query_without_end_is_stopped_and_the_next_one_answers(text: str) -> None:
    start = time.monotonic()
    with pytest.raises(LimitError, match=r"SPARQL query was stopped at its deadline of 0\.3 s") as caught:
        ask(text, timeout=0.3)
    assert time.monotonic() - start < 15
    assert caught.value.limit == "QUERY_SECONDS"
    assert ask("ASK {}").boolean is True


def test_a_regular_expression_of_death_ends() -> None:
    victim = "a" * 5000
    text = f"ASK {{ FILTER(REGEX('{victim}!', '^(a+)+$') || REGEX('{victim}!', '^(([a-z])+.)+[A-Z]$')) }}"
    assert ask(text).boolean is False


def test_an_expression_that_grows_without_end_reaches_the_memory_limit() -> None:
    doubled = " ".join(f"BIND(CONCAT(?v{n}, ?v{n}) AS ?v{n + 1})" for n in range(40))
    query = check_query(f"SELECT ?v40 {{ BIND('0123456789' AS ?v0) {doubled} }}", DATASET)
    with pytest.raises(LimitError, match="128 MiB") as caught:
        solve(DATASET, query, timeout=20, memory_bytes=128 * limits.MIB)
    assert caught.value.limit == "QUERY_MEMORY_BYTES"


def test_sorting_a_cartesian_product_reaches_the_memory_limit() -> None:
    query = check_query(f"SELECT * {{ {product(9)} }} ORDER BY ?a0", DATASET)
    with pytest.raises(LimitError, match="64 MiB"):
        solve(DATASET, query, timeout=60, memory_bytes=64 * limits.MIB)


def test_what_overflows_the_engines_stack_ends_only_the_query() -> None:
    with pytest.raises(OpenKnowledgeError, match="simpler"):
        ask("ASK { FILTER(" + "!" * 30_000 + "1) }")
    assert ask("ASK {}").boolean is True


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_the_memory_of_a_stopped_query_is_given_back() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = resident()
    for _ in range(3):
        with pytest.raises(LimitError):
            ask(f"SELECT * {{ {product(9)} }} ORDER BY ?a0", timeout=0.3)
    assert resident() - before < 20 * limits.MIB


def test_a_cancelled_query_says_context() -> None:
    query = check_query(ENDLESS, DATASET)
    with pytest.raises(OpenKnowledgeError, match="context was cancelled"):
        solve(DATASET, query, timeout=20, cancelled=lambda: True)


@pytest.mark.parametrize("timeout", [float("nan"), float("inf")])
def test_a_timeout_that_is_no_number_is_refused(timeout: float) -> None:
    with pytest.raises(UsageError, match="number of seconds"):
        ask("ASK {}", timeout=timeout)


def test_zero_means_the_defaults() -> None:
    assert len(ask("SELECT * { ?s ?p ?o }", max_results=0, timeout=0).rows) == 7


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p ?o } ORDER BY DESC(?o) LIMIT 4",
        "SELECT * { GRAPH ?g { ?s ?p ?o } }",
        "ASK { x:ant ?p ?o }",
        "CONSTRUCT WHERE { ?s x:knows ?o }",
    ],
)
def test_a_spawned_process_gives_the_same_answer(text: str) -> None:
    assert ask(text, process="spawn") == ask(text, process="fork")


def test_a_spawned_process_is_stopped_too() -> None:
    with pytest.raises(LimitError, match=r"deadline of 0\.3 s"):
        ask(ENDLESS, timeout=0.3, process="spawn")


def test_a_service_that_slipped_through_would_find_no_network() -> None:
    text = "SELECT * { SERVICE <http://127.0.0.1:1234/> { ?s ?p ?o } }"
    order = Order(text, {}, REVISION, (REVISION,), variables=(), ordered=False, max_rows=1)
    answer = json.loads(run_forked(lambda: evaluate_order(STORE, order), Bounds()))
    assert "Too many open files" in answer["failure"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p ?o }",
        "SELECT * { ?s ?p ?o } ORDER BY ?o ?s",
        "ASK {}",
        "CONSTRUCT WHERE { ?s x:knows ?o }",
        f"SELECT * FROM <{DERIVED}> {{ ?s ?p ?o }}",
        "SELECT * { BIND(x:f(1) AS ?v) }",
        "SELECT * { }}",
    ],
)
@pytest.mark.parametrize("ordered", [True, False])
def test_an_order_has_the_same_answer_in_any_process(text: str, ordered: bool) -> None:
    graph = None if "FROM" in text else REVISION
    order = Order(text, {"x": "urn:x:"}, graph, (REVISION, DERIVED), ("s", "p"), ordered, max_rows=5)
    here = evaluate_order(STORE, order)
    assert here == run_forked(lambda: evaluate_order(STORE, order), Bounds())
    if not ordered:  # else the rows have the order of the store
        assert here == unpack_order(pack_order(order, STORE))()


def test_importing_the_sparql_modules_imports_no_engine() -> None:
    script = (
        "import sys, openknowledge.engine.query.sparql; print({'pyoxigraph', 'pydantic'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "set()\n"


def test_checking_a_query_loads_no_dataset() -> None:
    def load() -> ox.Store:
        raise AssertionError

    assert check_query("ASK {}", Dataset(load, REVISION)).form == "ask"
