"""The RDF view: deterministic, complete, and the same facts as Datalog sees."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.facts.rdf import RDF_FORMATS, is_absolute_iri
from openknowledge.engine.facts.terms import nquads_object
from openknowledge.engine.store import Store

CORPORA = Path(__file__).resolve().parents[3] / "corpora"
CLOCK = fixed_clock(datetime(2026, 11, 30, tzinfo=UTC))


def test_the_same_bytes_give_the_same_quads_from_any_root(tmp_path: Path) -> None:
    shutil.copytree(CORPORA / "identity", tmp_path / "elsewhere")
    here = Store.open(CORPORA / "identity", clock=CLOCK).export_rdf("nquads")
    assert here == Store.open(tmp_path / "elsewhere", clock=CLOCK).export_rdf("nquads")


def test_quads_are_unique_sorted_and_in_the_graph_of_the_revision() -> None:
    store = Store.open(CORPORA / "identity", clock=CLOCK)
    lines = store.export_rdf("nquads").decode().splitlines()
    graph = f"<urn:openknowledge:revision:{store.bundle.index_sha256}> ."
    assert len(lines) == len(set(lines)) > 100
    assert all(line.endswith(graph) for line in lines)
    assert store.triples == sorted(store.triples)


@pytest.mark.parametrize("rdf_format", [name for name in RDF_FORMATS if name not in ("nquads", "json")])
def test_every_syntax_holds_the_same_triples(rdf_format: str) -> None:
    store = Store.open(CORPORA / "identity", clock=CLOCK)
    syntaxes = {
        "turtle": pyoxigraph.RdfFormat.TURTLE,
        "ntriples": pyoxigraph.RdfFormat.N_TRIPLES,
        "trig": pyoxigraph.RdfFormat.TRIG,
        "jsonld": pyoxigraph.RdfFormat.JSON_LD,
    }
    parsed = pyoxigraph.parse(store.export_rdf(rdf_format), format=syntaxes[rdf_format])  # type: ignore[arg-type]
    nquads = pyoxigraph.parse(store.export_rdf("nquads"), format=pyoxigraph.RdfFormat.N_QUADS)
    assert {str(quad.triple) for quad in parsed} == {str(quad.triple) for quad in nquads}


def test_the_json_dataset_has_every_quad() -> None:
    store = Store.open(CORPORA / "identity", clock=CLOCK)
    dataset = json.loads(store.export_rdf("json"))
    assert len(dataset["quads"]) == len(store.triples)
    assert dataset["graphIri"].endswith(store.bundle.index_sha256)


@given(st.text())
@settings(deadline=None)
def test_any_literal_survives_nquads(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    string = "http://www.w3.org/2001/XMLSchema#string"
    line = f"<urn:s> <urn:p> {nquads_object('literal', text, string, '')} <urn:g> .\n"
    (quad,) = pyoxigraph.parse(line.encode(), format=pyoxigraph.RdfFormat.N_QUADS)
    assert isinstance(quad.object, pyoxigraph.Literal)
    assert quad.object.value == text


@pytest.mark.parametrize(
    "text", ["https://e.org/a b", "https://e.org/<x>", "page.md", "http://a\n", "ftp://x"]
)
def test_what_is_no_absolute_iri_stays_a_string(text: str) -> None:
    assert not is_absolute_iri(text)


def test_datalog_and_sparql_see_the_same_tags() -> None:
    store = Store.open(CORPORA / "http", clock=CLOCK)
    query = "SELECT ?d ?t { ?p schema:keywords ?t ; okn:documentId ?d }"
    bindings = store.sparql(query)["bindings"]
    found = {(row["values"]["d"]["value"], row["values"]["t"]["value"]) for row in bindings}
    assert found == set(store.facts.rows("tag"))
