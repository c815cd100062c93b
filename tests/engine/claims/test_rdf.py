"""Claims as RDF: the triples of every kind, literal forms, order, and the same claims as in the rules."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.claims.claimset import read_claims
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.rdf import claim_triples
from openknowledge.engine.claims.relations import claim_sources
from openknowledge.engine.claims.terms import OA, OKN, PROV, QUDT, RDF, SKOS, XSD
from openknowledge.engine.facts.rdf import write_nquads

from tests.engine.claims.conftest import NOW, ONTOLOGY, bundle_of, claim, facts_of, page

K = "https://example.com/k/"
BODY = "# Page\n\nLead.\n\n## Words\n\nText.\n"
TEXT = page(
    claim(
        "ex:c/old",
        status="archived",
        decisions="[{ action: archived, by: human:ada, at: 2026-05-02, reason: Old. }]",
    )
    + claim(
        "ex:c/one",
        object="{ value: 30, unit: unit:MIN, quantity_kind: quantitykind:Time }",
        scope="{ ex:where: { ref: ex:prod }, ex:lang: { value: Hallo, language: DE } }",
        evidence="\n    - id: e/1\n      source_ref: notes\n      role: ex:role/log\n"
        "      observed_at: 2026-01-01\n"
        "      selector: { type: text_position, start: 0, end: 4, exact: Idle }",
        owners="[team:a]",
        status="verified",
        valid_time="{ from: 2026-01-01, until: 2027-01-01T00:00:00Z }",
        stale_after="2030-01-01",
        verification="{ method: m, by: human:ada, at: 2026-05-01T00:00:00Z, evidence_refs: [e/1] }",
        relations="{ supersedes: [ex:c/old], contradicts: [ex:c/old], derived_from: [ex:c/old] }",
        section_ref='"#words"',
    ),
    sources="- id: notes\n  resource: https://example.com/notes\n  title: Notes\n  author: human:ada\n"
    "  observe: manual\n  role: authoritative\n  authority_approved_by: human:ada\n  access: []\n",
    body=BODY,
)


def facts() -> FactSet:
    return facts_of({"a b/page.md": TEXT, "refers.md": page(extra="claim_refs: [ex:c/one]")})


def about(subject: str) -> set[tuple[str, str, str, str]]:
    """Return predicate, object, datatype and language of every triple with this subject."""
    return {
        (predicate, value, datatype, language)
        for found, predicate, _, value, datatype, language in claim_triples(facts())
        if found == subject
    }


def minted(kind: str, key: str) -> str:
    return f"https://openknowledge.dev/.well-known/semantic/{facts().bundle.index_sha256}/{kind}/{key}"


def test_a_claim_has_all_its_triples() -> None:
    string, integer, boolean = XSD + "string", XSD + "integer", XSD + "boolean"
    document = minted("document", "a%20b%2Fpage.md")
    place = facts().place(facts().by_id["ex:c/one"]).to_json()
    assert about(K + "c/one") == {
        (RDF + "type", OKN + "ClaimOccurrence", "", ""),
        (OKN + "slot", K + "s/free", "", ""),
        (RDF + "subject", K + "gate", "", ""),
        (RDF + "predicate", K + "free", "", ""),
        (RDF + "object", "30", integer, ""),
        (OKN + "status", "verified", string, ""),
        (OKN + "trustTier", "human-reviewed", string, ""),
        (OKN + "stale", "false", boolean, ""),
        (OKN + "staleAfter", "2030-01-01", string, ""),
        (OKN + "sectionRef", "#words", string, ""),
        (OKN + "owner", "team:a", string, ""),
        (OKN + "objectDatatype", integer, "", ""),
        (QUDT + "unit", "http://qudt.org/vocab/unit/MIN", "", ""),
        (QUDT + "hasQuantityKind", "http://qudt.org/vocab/quantitykind/Time", "", ""),
        (OKN + "scope", minted("scope", "ex:c%2Fone%23ex:where"), "", ""),
        (OKN + "scope", minted("scope", "ex:c%2Fone%23ex:lang"), "", ""),
        (OKN + "validFrom", "2026-01-01", XSD + "date", ""),
        (OKN + "validUntil", "2027-01-01T00:00:00Z", XSD + "dateTime", ""),
        (OKN + "evidence", minted("evidence", "ex:c%2Fone%23e%2F1"), "", ""),
        (OKN + "verification", minted("verification", "ex:c%2Fone"), "", ""),
        (OKN + "supersedes", K + "c/old", "", ""),
        (OKN + "contradicts", K + "c/old", "", ""),
        (PROV + "wasDerivedFrom", K + "c/old", "", ""),
        (PROV + "wasDerivedFrom", document, "", ""),
        (OKN + "lineStart", str(place["lineStart"]), integer, ""),
        (OKN + "lineEnd", str(place["lineEnd"]), integer, ""),
    }


def test_every_claim_has_its_direct_triple_whatever_its_status() -> None:
    assert (K + "free", "yes-it-is", XSD + "string", "") in about(K + "gate")
    assert (K + "free", "30", XSD + "integer", "") in about(K + "gate")


def test_scope_verification_and_decision_have_nodes() -> None:
    assert about(minted("scope", "ex:c%2Fone%23ex:lang")) == {
        (OKN + "scopeDimension", K + "lang", "", ""),
        (RDF + "value", "Hallo", "", "de"),
        (OKN + "valueDatatype", RDF + "langString", "", ""),
        (OKN + "valueLanguage", "de", XSD + "string", ""),
    }
    assert about(minted("scope", "ex:c%2Fone%23ex:where")) == {
        (OKN + "scopeDimension", K + "where", "", ""),
        (RDF + "value", K + "prod", "", ""),
    }
    assert about(minted("verification", "ex:c%2Fone")) == {
        (OKN + "method", "m", XSD + "string", ""),
        (OKN + "by", "human:ada", XSD + "string", ""),
        (OKN + "at", "2026-05-01T00:00:00Z", XSD + "dateTime", ""),
        (OKN + "evidenceRef", "e/1", XSD + "string", ""),
    }
    assert about(minted("decision", "ex:c%2Fold%230")) == {
        (OKN + "action", "archived", XSD + "string", ""),
        (OKN + "by", "human:ada", XSD + "string", ""),
        (OKN + "at", "2026-05-02", XSD + "date", ""),
        (OKN + "reason", "Old.", XSD + "string", ""),
    }


def test_evidence_is_an_annotation_with_its_selector() -> None:
    key = "ex:c%2Fone%23e%2F1"
    assert about(minted("evidence", key)) == {
        (RDF + "type", OA + "Annotation", "", ""),
        (OKN + "claim", K + "c/one", "", ""),
        (OKN + "source", minted("source", "a%20b%2Fpage.md%23notes"), "", ""),
        (OKN + "evidenceId", "e/1", XSD + "string", ""),
        (OKN + "sourceRef", "notes", XSD + "string", ""),
        (OKN + "stance", "supports", XSD + "string", ""),
        (OKN + "role", "ex:role/log", XSD + "string", ""),
        (OKN + "observedAt", "2026-01-01", XSD + "date", ""),
        (OA + "hasSelector", minted("selector", key), "", ""),
    }
    assert about(minted("selector", key)) == {
        (OKN + "selectorType", "text_position", XSD + "string", ""),
        (OKN + "exact", "Idle", XSD + "string", ""),
        (OKN + "start", "0", XSD + "integer", ""),
        (OKN + "end", "4", XSD + "integer", ""),
    }


def test_sources_pages_and_ontology_have_their_triples() -> None:
    source = about(minted("source", "a%20b%2Fpage.md%23notes"))
    assert (OKN + "declaredIn", minted("document", "a%20b%2Fpage.md"), "", "") in source
    assert (OKN + "authorityApprovedBy", "human:ada", XSD + "string", "") in source
    assert (SKOS + "prefLabel", "Notes", XSD + "string", "") in source
    assert len(source) == 9
    document = about(minted("document", "a%20b%2Fpage.md"))
    assert (OKN + "documentId", "a b/page", XSD + "string", "") in document
    assert len([item for item in document if item[0] == OKN + "contentSha256"]) == 2
    assert (OKN + "referencesClaim", K + "c/one", "", "") in about(minted("document", "refers.md"))
    assert about(K + "old-gate") == {
        (RDF + "type", K + "Service", "", ""),
        (SKOS + "prefLabel", "Old gate", XSD + "string", ""),
        (OKN + "deprecated", "true", XSD + "boolean", ""),
        (OKN + "replacedBy", K + "gate", "", ""),
    }
    assert (OKN + "maximumCount", "1", XSD + "integer", "") in about(K + "timeout")
    assert (OKN + "requiredScope", K + "environment", "", "") in about(K + "timeout")
    assert (RDF + "type", OKN + "EvidenceRole", "", "") in about(K + "role/log")


@pytest.mark.parametrize(
    ("written", "value", "datatype"),
    [
        ("{ value: true }", "true", "boolean"),
        ("{ value: 7 }", "7", "integer"),
        ("{ value: 1234567.5 }", "1.2345675e+06", "decimal"),
        ("{ value: 0.5, datatype: xsd:double }", "0.5", "double"),
        ("{ value: 2026-01-01, datatype: xsd:date }", "2026-01-01", "date"),
        ("{ value: '60' }", "60", "string"),
    ],
)
def test_literals_have_their_form_and_datatype(written: str, value: str, datatype: str) -> None:
    found = facts_of({"page.md": page(claim(object=written))})
    objects = [triple[2:] for triple in claim_triples(found) if triple[:2] == (K + "c/one", RDF + "object")]
    assert objects == [("literal", value, XSD + datatype, "")]


def test_triples_are_unique_and_sorted() -> None:
    triples = claim_triples(facts())
    assert triples == sorted(set(triples))


def test_an_rdf_store_reads_all_of_it_and_finds_no_blank_node() -> None:
    import pyoxigraph

    data = write_nquads(claim_triples(facts(), reifiers=True), "urn:x:g")
    quads = list(pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.N_QUADS))
    assert len(quads) == len(claim_triples(facts(), reifiers=True))
    assert not any(
        isinstance(term, pyoxigraph.BlankNode) for quad in quads for term in (quad.subject, quad.object)
    )


def test_each_claim_reifies_its_statement_on_demand() -> None:
    import pyoxigraph

    added = set(claim_triples(facts(), reifiers=True)) - set(claim_triples(facts()))
    assert len(added) == 2
    (quad,) = [
        quad
        for quad in pyoxigraph.parse(write_nquads(added, "urn:x:g"), format=pyoxigraph.RdfFormat.N_QUADS)
        if quad.subject.value == K + "c/one"
    ]
    assert quad.predicate.value == RDF + "reifies"
    statement = quad.object
    assert isinstance(statement, pyoxigraph.Triple)
    assert (statement.subject.value, statement.predicate.value) == (K + "gate", K + "free")
    assert statement.object == pyoxigraph.Literal("30", datatype=pyoxigraph.NamedNode(XSD + "integer"))


# The same claims in RDF and in the rules

VALUES = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.booleans().map(lambda value: "true" if value else "false"),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: f"{value!r}"),
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=8).map(
        lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    ),
)
OBJECTS = st.one_of(
    VALUES.map(lambda value: f"{{ value: {value} }}"),
    st.sampled_from(["ex:vault", "https://example.com/k/gate", "https://other.example/x", "urn:x:y"]).map(
        lambda term: f"{{ ref: '{term}' }}"
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(OBJECTS, st.sampled_from(["ex:gate", "https://example.com/k/vault"])), max_size=6))
def test_claims_in_rules_and_in_sparql_are_the_same(items: list[tuple[str, str]]) -> None:
    import pyoxigraph

    text = "".join(
        claim(f"ex:c/{n}", object=found, subject=subject) for n, (found, subject) in enumerate(items)
    )
    found = facts_of({"page.md": page(text)})
    expand = found.terms.expand
    store = pyoxigraph.Store()
    store.bulk_load(write_nquads(claim_triples(found), "urn:x:g"), format=pyoxigraph.RdfFormat.N_QUADS)
    query = (
        f"SELECT ?c ?s ?p ?o WHERE {{ GRAPH ?g {{ ?c a <{OKN}ClaimOccurrence> ; <{RDF}subject> ?s ; "
        f"<{RDF}predicate> ?p ; <{RDF}object> ?o }} }}"
    )

    def shown(text: str, number: bool) -> object:
        return float(text) if number else text

    sparql = {
        (
            row["c"].value,
            row["s"].value,
            row["p"].value,
            shown(row["o"].value, row["o"].datatype.value in (XSD + "decimal", XSD + "integer"))
            if isinstance(row["o"], pyoxigraph.Literal)
            else row["o"].value,
        )
        for row in store.query(query)
    }
    rules = set()
    for row, _ in claim_sources(found)["claim"]():
        identifier, subject, predicate, value = row
        source = found.by_id[str(identifier)].object
        numeric = isinstance(source.value, int | float) and not isinstance(source.value, bool)
        object_ = expand(str(value)) if source.ref else shown(str(value), numeric)
        rules.add((expand(str(identifier)), expand(str(subject)), expand(str(predicate)), object_))
    assert rules == sparql


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_the_same_pages_give_the_same_bytes_from_any_root(seed: int) -> None:
    rng = random.Random(seed)
    items = [
        claim(f"ex:c/{n}", object=f"{{ value: {rng.randrange(5)} }}", owners=f"[o{rng.randrange(3)}]")
        for n in range(6)
    ]
    files = {f"p{n}.md": page("".join(items[n * 2 : n * 2 + 2])) for n in range(3)}

    def nquads(root: str) -> bytes:
        bundle = bundle_of({"ontology.md": ONTOLOGY, **files}, Path(root))
        return write_nquads(claim_triples(FactSet.everything(read_claims(bundle, now=NOW))), "urn:x:g")

    assert nquads("/one") == nquads("/another/root")
