"""The ontology as SHACL: an independent engine finds what validation finds."""

from __future__ import annotations

from typing import Any

import pytest
from openknowledge.engine.claims.claimset import ClaimSet
from openknowledge.engine.claims.conflicts import conflicts
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.rdf import claim_triples
from openknowledge.engine.claims.shacl import SHAPES, shacl_turtle
from openknowledge.engine.facts.terms import nquads_line

from tests.engine.claims.conftest import claim, claims_of, page

pyshacl = pytest.importorskip("pyshacl")

QUANTITY = "{ value: 30, unit: unit:MIN, quantity_kind: quantitykind:Time }"
SCOPE = "{ ex:environment: { ref: ex:prod } }"


def timed(name: str, **fields: Any) -> str:
    given = {"predicate": "ex:timeout", "slot": f"ex:s/{name}", "object": QUANTITY, "scope": SCOPE}
    return claim(f"ex:c/{name}", **{**given, **fields})


ITEMS = (
    timed("sound")
    + timed("datatype", object="{ value: 0.5, unit: unit:MIN, quantity_kind: quantitykind:Time }")
    + timed("text", object="{ value: soon, unit: unit:MIN, quantity_kind: quantitykind:Time }")
    + timed("class", subject="ex:team")
    + timed("deprecated", subject="ex:old-gate")
    + timed("scope", scope=None)
    + timed("other-scope", scope="{ ex:where: { ref: ex:prod } }")
    + timed("unit", object="{ value: 30, unit: unit:HR, quantity_kind: quantitykind:Time }")
    + timed("no-unit", object="{ value: 30 }")
    + claim("ex:c/entity", predicate="ex:dependsOn", object="{ value: text }")
    + claim("ex:c/entity-sound", predicate="ex:dependsOn", object="{ ref: ex:vault }")
    + claim("ex:c/literal", predicate="ex:name", object="{ ref: ex:vault }")
    + claim("ex:c/free", object="{ value: 1 }")
)
CONSTRAINTS = {
    "datatype": ("object.datatype must be",),
    "class": ("has none of the types",),
    "object-kind": ("object must be a", "object needs unit and quantity_kind"),
    "unit": ("object.unit must be",),
    "quantity-kind": ("object.quantity_kind must be",),
    "required-scope": ("scope lacks",),
    "deprecated": ("subject", "is deprecated"),
}


def everything(claims: ClaimSet) -> FactSet:
    """Return the facts of all claims that could be read, quarantined ones too."""
    written = tuple(sorted((item for page in claims.pages for item in page.claims), key=lambda item: item.id))
    return FactSet(claims, written, claims.references, (), {}, frozenset())


def violations(facts: FactSet) -> set[tuple[str, str]]:
    """Return claim and constraint of every violation that pySHACL finds."""
    import rdflib

    data = rdflib.Dataset()
    text = "".join(nquads_line(triple, "urn:x:g") for triple in claim_triples(facts))
    data.parse(data=text, format="nquads")
    graph = rdflib.Graph()
    for triple in data.graph(rdflib.URIRef("urn:x:g")):
        graph.add(triple)
    shapes = rdflib.Graph().parse(data=shacl_turtle(facts), format="turtle")
    _, report, _ = pyshacl.validate(graph, shacl_graph=shapes, advanced=False, inference="none")
    shacl = rdflib.Namespace("http://www.w3.org/ns/shacl#")
    found = set()
    for result in report.subjects(rdflib.RDF.type, shacl.ValidationResult):
        shape = str(report.value(result, shacl.sourceShape))
        value = str(report.value(result, shacl.value))
        if shape.startswith(SHAPES) and (report.value(None, shacl.result, result) is not None):
            found.add((facts.terms.compact(value), shape.removeprefix(SHAPES).split("/")[1]))
    return found


def test_pyshacl_finds_the_same_violations_as_validation() -> None:
    claims = claims_of({"page.md": page(ITEMS)})
    expected = set()
    for finding in claims.findings:
        for constraint, words in CONSTRAINTS.items():
            if constraint == "deprecated":
                matches = all(word in finding.message for word in words)
            else:
                matches = any(word in finding.message for word in words)
            if matches:
                expected.add((finding.claim_id, constraint))
    assert {constraint for _, constraint in expected} == set(CONSTRAINTS)
    assert violations(everything(claims)) == expected


def test_pyshacl_finds_the_same_conflicts() -> None:
    items = (
        timed("a", slot="ex:s/t")
        + timed("b", slot="ex:s/t", object=QUANTITY.replace("30", "20"))
        + timed(
            "c",
            slot="ex:s/t",
            object=QUANTITY.replace("30", "20"),
            scope="{ ex:environment: { ref: ex:staging } }",
        )
        + timed("d", slot="ex:s/u", object=QUANTITY.replace("30", "20"))
        + timed("e", slot="ex:s/v", valid_time="{ until: 2026-01-01 }")
        + timed(
            "f",
            slot="ex:s/v",
            object=QUANTITY.replace("30", "20"),
            valid_time="{ from: 2026-01-01T00:00:00Z }",
        )
        + timed(
            "g",
            slot="ex:s/w",
            status="rejected",
            decisions="[{ action: rejected, by: human:ada, at: 2026-01-01 }]",
        )
        + timed("h", slot="ex:s/w", object=QUANTITY.replace("30", "20"))
        + "".join(claim(f"ex:c/says{n}", predicate="ex:says", object=f"{{ value: v{n} }}") for n in range(3))
    )
    claims = claims_of({"page.md": page(items)})
    assert claims.issues == ()
    facts = everything(claims)
    expected = {(item.id, "maximum-count") for conflict in conflicts(facts) for item in conflict.claims}
    assert len(expected) == 5
    assert violations(facts) == expected


def test_shapes_are_the_same_for_the_same_ontology() -> None:
    assert shacl_turtle(everything(claims_of({}))) == shacl_turtle(
        everything(claims_of({"a.md": page(claim())}))
    )
