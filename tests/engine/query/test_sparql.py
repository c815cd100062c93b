from __future__ import annotations

import pyoxigraph as ox
import pytest
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.query.sparql import Dataset, check_query, evaluate, solve
from openknowledge.schemas.common import Policy, Revision

REVISION = "urn:openknowledge:revision:" + "0" * 64
AT: Revision = {"specVersion": "0.2", "indexSha256": "0" * 64}
POLICY: Policy = {"allowedAccess": [], "removedSources": 0, "removedClaims": 0}


@pytest.fixture
def dataset() -> Dataset:
    store = ox.Store()
    graph = ox.NamedNode(REVISION)
    for name, label in (("b", "Bee"), ("a", "Ant")):
        subject = ox.NamedNode(f"urn:x:{name}")
        store.add(ox.Quad(subject, ox.NamedNode("urn:x:label"), ox.Literal(label), graph))
    return Dataset(lambda: store, REVISION, prefixes={"x": "urn:x:"})


def test_select_gives_rows_with_typed_terms(dataset: Dataset) -> None:
    query = check_query("SELECT ?s ?l { ?s x:label ?l }", dataset)
    result = evaluate(dataset, query, root="r", revision=AT, policy=POLICY)
    assert [row["values"]["s"]["value"] for row in result["bindings"]] == ["urn:x:a", "urn:x:b"]


def test_service_is_refused_before_evaluation(dataset: Dataset) -> None:
    with pytest.raises(OpenKnowledgeError, match="SERVICE is not allowed"):
        check_query("SELECT * { SERVICE <http://127.0.0.1/> { ?s ?p ?o } }", dataset)


def test_a_cartesian_product_is_stopped_at_its_deadline(dataset: Dataset) -> None:
    patterns = " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(40))
    query = check_query(f"SELECT (COUNT(*) AS ?n) {{ {patterns} }}", dataset)
    with pytest.raises(OpenKnowledgeError, match="deadline"):
        solve(dataset, query, timeout=0.3)
    assert solve(dataset, check_query("ASK { x:a ?p ?o }", dataset)).boolean is True
