from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Iterator

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine import limits
from openknowledge.engine.errors import LimitError, OpenKnowledgeError, TextError
from openknowledge.engine.query.sparql import Dataset, ParsedQuery, check_dataset_size, check_query

REVISION, DERIVED = "urn:x:revision", "urn:x:derived"
PREFIXES = {"x": "urn:x:", "": "urn:e:", "service": "urn:s:"}


def never() -> ox.Store:
    raise AssertionError("a check must not load the dataset")


def check(text: str, *, graph_results: bool = False, prefixes: dict[str, str] = PREFIXES) -> ParsedQuery:
    return check_query(text, Dataset(never, REVISION, DERIVED, prefixes), graph_results=graph_results)


def refusal(text: str, *, graph_results: bool = False) -> str:
    with pytest.raises(OpenKnowledgeError) as caught:
        check(text, graph_results=graph_results)
    return caught.value.message


@pytest.mark.parametrize(
    "text", ["", " \n\t", "# only a comment", "PREFIX y: <urn:y:>", "\ufeff", "BASE <urn:x>"]
)
def test_a_query_that_asks_nothing_is_empty(text: str) -> None:
    assert "empty" in refusal(text)


def test_a_query_may_have_as_many_bytes_as_allowed() -> None:
    text = "ASK {}#" + "é" * ((limits.QUERY_BYTES - 7) // 2)
    assert check(text + "x" * (limits.QUERY_BYTES - len(text.encode()))).form == "ask"


def test_one_byte_more_is_refused_and_the_message_says_bytes() -> None:
    assert "32,769 bytes" in refusal("ASK {}#" + "x" * (limits.QUERY_BYTES - 6))


def test_brackets_may_be_nested_as_deep_as_allowed() -> None:
    depth = limits.QUERY_NESTING
    assert check("ASK" + "{" * depth + "}" * depth).form == "ask"


def test_one_bracket_more_is_refused() -> None:
    depth = limits.QUERY_NESTING + 1
    with pytest.raises(LimitError, match="128 levels"):
        check("ASK" + "{" * depth + "}" * depth)


def test_half_a_surrogate_pair_is_refused_with_its_place() -> None:
    with pytest.raises(TextError, match="surrogate") as caught:
        check('ASK {\n ?s ?p "\ud800" }')
    assert (caught.value.span.line, caught.value.span.column) == (2, 9)


@pytest.mark.parametrize("form", ["select", "ask"])
def test_this_form_is_found_behind_a_prologue(form: str) -> None:
    text = f"# SELECT\nBASE <urn:x:>\nprefix y: <urn:y#ASK> PREFIX : <urn:z> {form}*{{}}"
    assert check(text).form == form


@pytest.mark.parametrize("form", ["CONSTRUCT", "DESCRIBE", "Construct"])
def test_a_form_that_gives_triples_is_refused_where_rows_are_wanted(form: str) -> None:
    assert f"SPARQL query type {form.upper()} is not allowed; use SELECT or ASK" in refusal(f"{form} {{}}")


@pytest.mark.parametrize("form", ["CONSTRUCT", "DESCRIBE"])
def test_a_form_that_gives_triples_is_accepted_where_they_are_wanted(form: str) -> None:
    assert check(f"{form} {{}} WHERE {{}}", graph_results=True).form == form.lower()


@pytest.mark.parametrize("graph_results", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { x:a x:b x:c }", "DELETE WHERE { ?s ?p ?o }", "LOAD <http://127.0.0.1/>", "CLEAR ALL",
        "DROP GRAPH x:a", "create graph x:a", "COPY x:a TO x:b", "MOVE x:a TO x:b", "ADD x:a TO x:b",
        "WITH x:a DELETE { ?s ?p ?o } WHERE {}", "PREFIX y: <urn:y> LOAD <urn:a>", "SELECT * {} ; LOAD <http://a/>",
        "ASK {};\n#\nDROP ALL",
    ],
)  # fmt: skip
def test_an_update_is_refused_by_its_name(text: str, graph_results: bool) -> None:
    message = refusal(text, graph_results=graph_results)
    assert re.search("SPARQL query type [A-Z]+ is not allowed; use SELECT", message)


def test_what_is_no_query_is_told_how_one_starts() -> None:
    assert "starts with SELECT or ASK" in refusal("FIND ALL")


def test_the_words_of_updates_are_free_in_names_and_strings() -> None:
    assert check("SELECT ?load { ?load x:insert 'DROP ALL' ; x:delete ?x }").form == "select"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { SERVICE <http://127.0.0.1/> { ?s ?p ?o } }",
        "SELECT * { service\n<http://127.0.0.1/> { } }",
        "SELECT * { SeRvIcE SILENT ?s { } }",
        "SELECT * { SERVICE#comment\n x:a { } }",
        "SELECT*{SERVICE<http://127.0.0.1/>{}}",
        "SELECT * { ?s ?p 1SERVICE <http://127.0.0.1/> { } }",
        "SELECT * { 'a'SERVICE <http://127.0.0.1/> { } }",
        "SELECT * { { SELECT * { SERVICE x:a { } } } }",
        "ASK { FILTER EXISTS { SERVICE x:a { } } }",
        "CONSTRUCT { } WHERE { SERVICE x:a { } }",
        "SELECT * { # '\nSERVICE x:a { } #'\n }",
        "SELECT * { ?s ?p '#' . SERVICE x:a { } }",
        "SELECT * { ?s ?p '''\n''' . SERVICE x:a { } }",
    ],
)
def test_service_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(TextError, match="SERVICE is not allowed") as caught:
        check(text, graph_results=True)
    line = re.split("\n", text)[caught.value.span.line - 1]
    assert line[caught.value.span.column - 1 :].upper().startswith("SERVICE")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { trueSERVICE x:a { } }",
        "SELECT * { service:a { } }",
        "SELECT * { ?s ?p true service:a { } }",
        "SELECT * { service:a#{\n{ } }",
        "SELECT * { \\u0053ERVICE x:a { } }",
        "SELECT * { SERVICESILENT x:a { } }",
        "SELECT * { SERVICEx:a { } }",
        "PREFIX servicex: <urn:y> SELECT * { SERVICEx:a { } }",
        "PREFIX SERVICEx: <urn:y> SELECT * { SERVICEx:a { } }",
    ],
)
def test_what_an_engine_could_take_for_service_is_refused(text: str) -> None:
    with pytest.raises(TextError):
        check(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?service { ?service ?p ?o }",
        "SELECT * { ?s ?p 'SERVICE <http://127.0.0.1/> { }' }",
        "SELECT * { ?s ?p 'a\\' SERVICE x:a { }' }",
        'SELECT * { ?s ?p """a" SERVICE x:a { }""" }',
        "SELECT * { ?s x:service ?o . service:a ?p service:b . }",
        "SELECT * { GRAPH service:g { ?s ?p ?o } }",
        "SELECT * { ?s <http://example.org/SERVICE#service> ?o }",
        "SELECT * { ?s ?p ?o } # SERVICE <http://127.0.0.1/> { }",
        "SELECT * { _:service ?p 'a'@service }",
    ],
)
def test_the_word_service_is_free_elsewhere(text: str) -> None:
    assert check(text).form == "select"


def test_the_engine_gets_no_service_within_strings_iris_and_comments() -> None:
    text = "SELECT * { ?s <urn:Service> 'a service' } # SERVICE"
    assert "service" not in check(text).engine_text.lower()


def test_the_meaning_of_strings_and_iris_stays() -> None:
    text = "SELECT ?a ?b { BIND('a\\\\service' AS ?a) BIND(<urn:SERVICE> AS ?b) }"
    found = ox.Store().query(check(text).engine_text)
    assert isinstance(found, ox.QuerySolutions)
    (row,) = found
    assert (row["a"].value, row["b"].value) == ("a\\service", "urn:SERVICE")


@given(st.text(alphabet="s'\"# ervice", max_size=40))
def test_offsets_of_the_engine_text_lead_back(noise: str) -> None:
    text = f"ASK #{noise}\n{{ ?s ?p 'service', <urn:service> ; ?q $r }} # service"
    query = check(text)
    for mark in ("ASK", "{", "?s", ",", ";", "?q", "$r", "}"):
        assert query.offset_of(query.engine_text.index(mark)) == text.index(mark)
    assert query.offset_of(len(query.engine_text)) == len(text)


class Trap:
    """A port on this machine that counts who connects."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.visits = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.visits += 1
            connection.close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}/"


@pytest.fixture(scope="module")
def trap() -> Iterator[Trap]:
    found = Trap()
    yield found
    found.socket.close()


def ask_unprotected(query: ParsedQuery, known: dict[str, str]) -> None:
    """Evaluate as the worker does, but in this process, which may open connections."""
    try:
        found = ox.Store().query(query.engine_text, prefixes={**known, **query.prefixes})
        if isinstance(found, ox.QuerySolutions):
            list(found)
    except (SyntaxError, OSError, ValueError):
        pass


@pytest.mark.parametrize(
    "text",
    [
        "BASE <urn:b:> SELECT * {FILTER(1<'x>') SERVICE <T> {} #'\n}",
        "BASE <urn:b:> SELECT * {FILTER(1<1)SERVICE:a#>\n{}}",
        "SELECT * {FILTER(1<x:a)SERVICE:a#>\n{}}",
        "SELECT * {SERVICEx:a {}}",
        "SELECT * {SERVICESILENTx:a {}}",
        "SELECT * {service:a {}}",
        "SELECT * {?s ?p true . service:a {}}",
    ],
)
def test_this_query_connects_unless_it_is_checked(trap: Trap, text: str) -> None:
    known = {"x": trap.address, "": trap.address, "service": "urn:s:"}
    text = text.replace("<T>", f"<{trap.address}>")
    before = trap.visits
    with contextlib.suppress(OSError):
        found = ox.Store().query(text, prefixes=known)
        assert isinstance(found, ox.QuerySolutions)
        list(found)
    unchecked = trap.visits
    with contextlib.suppress(OpenKnowledgeError):
        ask_unprotected(check(text, prefixes=known), known)
    assert (unchecked > before, trap.visits) == (True, unchecked)


PIECES = [
    "SERVICE", "service", "SERVICE SILENT", "SERVICEx:a", "service:a", "service:", "x:a", ":a", "<T>", "<",
    ">", "'", '"', "'''", '"""', "#", "\n", " ", "{", "}", "{}", "{?s ?p ?o}", "(", ")", ".", ";",
    "FILTER(1<1)", "FILTER(1<'x>')", "FILTER(1<1)SERVICE:a#>\n{}", "'x>'", "1", "true", "a", "?s ?p", "?s",
    "\\u0053", "\\", "GRAPH", "GRAPH service:a", "BIND(1 AS ?z)", "OPTIONAL", "[]", "<'x>", "#>\n",
    "<urn:service#x>", "'service'", "?service", "BASE <urn:b:>",
]  # fmt: skip


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8), st.sampled_from(["", "}", "#'\n}", "'}"]))
def test_no_accepted_query_connects_however_it_is_put_together(
    trap: Trap, pieces: list[str], closing: str
) -> None:
    known = {"x": trap.address, "": trap.address, "service": trap.address, "SERVICEx": "urn:x:"}
    text = "SELECT * {" + "".join(pieces).replace("<T>", f"<{trap.address}>") + closing
    try:
        query = check(text, prefixes=known)
    except OpenKnowledgeError:
        return
    before = trap.visits
    ask_unprotected(query, known)
    assert trap.visits == before


@pytest.mark.parametrize(
    "clause",
    [
        "FROM <http://127.0.0.1/>", "FROM NAMED <urn:other>", "from x:other", "FROM<urn:x:revision2>",
        "FROM <urn:x:revision> FROM <urn:y>", "FROM #\n<urn:y>", "FROM <rel>",
    ],
)  # fmt: skip
def test_from_of_another_graph_is_refused(clause: str) -> None:
    assert "FROM cannot name" in refusal(f"SELECT * {clause} {{ ?s ?p ?o }}")


@pytest.mark.parametrize(
    "clause",
    [
        "FROM <urn:x:revision>", "FROM NAMED <urn:x:derived>", "FROM x:revision FROM NAMED x:derived",
        r"FROM <urn:x:\u0072evision>",
    ],
)  # fmt: skip
def test_from_of_an_own_graph_is_accepted(clause: str) -> None:
    assert check(f"SELECT * {clause} {{ ?s ?p ?o }}").names_graphs


def test_from_is_free_in_names_and_strings() -> None:
    assert not check("SELECT ?from { ?from x:from 'FROM <http://127.0.0.1/>' }").names_graphs


def test_an_undeclared_prefix_is_named_with_similar_ones() -> None:
    message = refusal("SELECT * { ?s servce:a ?o }")
    assert "the prefix servce: is not declared" in message
    assert "Did you mean service:?" in message


def test_an_unclosed_iri_is_not_called_a_prefix_only() -> None:
    assert "lacks its '>'" in refusal("SELECT * { ?s <urn:a b> ?o }")


def test_only_the_predefined_prefixes_that_are_used_go_to_the_engine() -> None:
    assert check("SELECT * { ?s x:a ?o }").prefixes == {"x": "urn:x:"}


def test_a_prefix_of_the_query_wins_over_a_predefined_one() -> None:
    assert check("PREFIX x: <urn:y:> SELECT * { ?s x:a ?o }").prefixes == {}


@pytest.mark.parametrize(
    "text", ["PREFIX x <urn:a> ASK {}", "PREFIX x:a <urn:a> ASK {}", "PREFIX x:", "PREFIX"]
)
def test_a_wrong_prefix_line_is_shown_how_to_write(text: str) -> None:
    assert "PREFIX name: <IRI>" in refusal(text)


@pytest.mark.parametrize(
    ("text", "ordered", "limit"),
    [
        ("SELECT * { ?s ?p ?o }", False, None),
        ("SELECT * { ?s ?p ?o } LIMIT 5", False, 5),
        ("SELECT * { ?s ?p ?o } order by ?s OFFSET 3 limit 7", True, 7),
        ("SELECT * { { SELECT ?s { ?s ?p ?o } ORDER BY ?s LIMIT 5 } }", False, None),
        ("SELECT * { { SELECT ?s { ?s ?p ?o } LIMIT 5 } } ORDER BY ?s", True, None),
        ("SELECT ?limit { ?limit x:order 'ORDER BY ?s LIMIT 5' } # LIMIT 5", False, None),
        ("SELECT * { ?s ?p ?o } LIMIT 5 VALUES ?x { 1 }", False, 5),
        ("SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING (COUNT(*) > 1) ORDER BY DESC(?s)", True, None),
        ("SELECT * { ?s ?p ?o } LIMIT " + "9" * 5000, False, None),
        ("SELECT * { ?s ?p '}' . } LIMIT 5", False, 5),
    ],
)
def test_the_outermost_order_and_limit_are_found(text: str, ordered: bool, limit: int | None) -> None:
    query = check(text)
    assert (query.ordered, query.row_limit) == (ordered, limit)


def test_the_variables_of_select_all_keep_the_order_of_the_query() -> None:
    query = check("SELECT DISTINCT * { ?z x:a ?m . ?a x:b ?z }")
    assert (query.selects_all, query.variables) == (True, ("z", "m", "a"))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80) | st.lists(st.sampled_from([*PIECES, "SELECT *", "ASK", "FROM"])).map("".join))
def test_any_text_is_accepted_or_refused_in_words(text: str) -> None:
    with contextlib.suppress(OpenKnowledgeError):
        assert check(text).form in {"select", "ask"}


def test_a_dataset_may_have_as_many_quads_as_allowed() -> None:
    check_dataset_size(250_000, 250_000)


def test_one_quad_more_is_refused_and_the_message_says_quads() -> None:
    with pytest.raises(LimitError, match="250,001 quads"):
        check_dataset_size(250_001, 250_000)
