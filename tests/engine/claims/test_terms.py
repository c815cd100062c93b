"""Terms: one canonical form for each IRI."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.claims.terms import BUILT_IN, Namespaces, is_iri, is_prefix

from tests.engine.claims.conftest import ONTOLOGY, bundle_of, claim, claims_of, line_of, page

TERMS = Namespaces(
    {"ex": "https://example.com/k/", "deep": "https://example.com/k/deep/", "u": "urn:example:"}
)


@pytest.mark.parametrize(
    ("term", "canonical"),
    [
        ("ex:a", "ex:a"),
        ("https://example.com/k/a", "ex:a"),
        ("ex:deep/a", "deep:a"),
        ("https://example.com/k/deep/a", "deep:a"),
        ("urn:example:x", "u:x"),
        ("urn:other:x", "urn:other:x"),
        ("http://www.w3.org/2001/XMLSchema#integer", "xsd:integer"),
        ("https://elsewhere.example/a", "https://elsewhere.example/a"),
        ("ex:a/b:c", "ex:a/b:c"),
        ("ex:%41", "ex:%41"),
        ("ex:Übersicht", "ex:Übersicht"),
    ],
)
def test_the_canonical_form_is_the_curie_with_the_longest_namespace(term: str, canonical: str) -> None:
    assert TERMS.canonical[term] == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "ex",
        "ex:",
        ":a",
        "no:a",
        "http://",
        "https://",
        "urn:",
        "ftp://example.com/a",
        "ex:a b",
        'ex:a"b',
        "ex:a<b",
        "ex:a^b",
        "ex:a`b",
        "ex:a\\b",
        "ex:a{b}",
        "ex:a|b",
        "ex:a\nb",
        "ex:a\x7f",
        "ex:%zz",
        "ex:a[1]",
        "https://example.com:port/",
        "https://example.com/#a#b",
    ],
)
def test_what_is_no_iri_and_no_declared_curie_is_no_term(text: str) -> None:
    assert TERMS.canonical[text] == ""


def test_of_two_prefixes_for_one_namespace_the_built_in_one_is_canonical() -> None:
    terms = Namespaces({"a": BUILT_IN["unit"], "z": "https://z.example/", "y": "https://z.example/"})
    assert terms.canonical["a:MIN"] == "unit:MIN"
    assert terms.canonical["z:x"] == terms.canonical["y:x"] == "y:x"


_LOCAL = st.text(st.sampled_from("abc/:.-_%41#é"), min_size=1, max_size=8)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["ex", "deep", "u", "xsd", "unit"]), _LOCAL)
def test_a_canonical_form_keeps_the_iri_and_is_its_own_canonical_form(prefix: str, local: str) -> None:
    term = f"{prefix}:{local}"
    found = TERMS.canonical[term]
    if found:
        assert TERMS.expand(found) == TERMS.by_prefix[prefix] + local
        assert TERMS.canonical[found] == found
        assert TERMS.canonical[TERMS.expand(found)] in ("", found)


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=12))
def test_an_rdf_store_takes_every_iri_that_is_accepted(text: str) -> None:
    from pyoxigraph import NamedNode

    for iri in (text, f"https://example.com/{text}", f"urn:x:{text}"):
        if is_iri(iri):
            NamedNode(iri)


@pytest.mark.parametrize("prefix", ["http", "HTTPS", "urn", "", "1a", "a b", "a:b", "é"])
def test_a_prefix_is_a_plain_name_and_no_scheme(prefix: str) -> None:
    assert not is_prefix(prefix)


# Namespaces of a bundle


def ontology(namespaces: str) -> str:
    return f"---\ntype: T\nclaim_ontology:\n  namespaces:\n{namespaces}---\n"


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (
            "    unit: https://example.com/unit/\n",
            'prefix "unit" is built in as http://qudt.org/vocab/unit/ and may not',
        ),
        (
            "    ex: https://other.example/\n",
            'prefix "ex" is https://example.com/k/ in ontology.md; it cannot be',
        ),
        ("    http: https://other.example/\n", 'prefix "http" is the scheme of absolute IRIs'),
        ("    a b: https://other.example/\n", 'prefix "a b" must be letters, digits'),
        ("    q: other\n", 'prefix "q" must be an absolute IRI, not "other"'),
        ("    q: 'https://other.example/a b'\n", 'prefix "q" must be an absolute IRI'),
        ("    q: 5\n", 'prefix "q" must be an absolute IRI, not "5"'),
        ("    q: ex:deeper/\n", '"ex:deeper/" uses the prefix "ex"; write the namespace out in full'),
        ("    q: q:x/\n", '"q:x/" uses the prefix "q"; write the namespace out in full'),
    ],
)
def test_a_namespace_is_one_absolute_iri_for_the_whole_bundle(declaration: str, message: str) -> None:
    text = ontology(declaration)
    (issue,) = claims_of({"page.md": text}).issues
    assert issue.rule == "claim-profile"
    assert message in issue.message
    assert issue.line == line_of(text, declaration.split(":", maxsplit=1)[0].strip() + ":")


def test_namespaces_that_refer_to_each_other_in_a_circle_are_refused_on_both_pages() -> None:
    one, other = ontology("    one: other:x/\n"), ontology("    other: one:y/\n")
    found = claims_of({"a.md": one, "b.md": other})
    assert [(issue.path, issue.line) for issue in found.issues] == [("a.md", 5), ("b.md", 5)]


def test_of_two_pages_that_disagree_on_a_prefix_the_first_is_right() -> None:
    found = claims_of({"page.md": ontology("    ex: https://other.example/\n"), "use.md": page(claim())})
    assert found.ontology.terms.expand("ex:a") == "https://example.com/k/a"
    assert [item.path for item in found.claims] == ["use.md"]


def test_the_same_declaration_on_two_pages_is_no_fault() -> None:
    repeated = ontology("    ex: https://example.com/k/\n    unit: http://qudt.org/vocab/unit/\n")
    assert claims_of({"page.md": repeated}).issues == ()


def test_a_namespace_of_another_scheme_is_accepted() -> None:
    found = claims_of({"page.md": ontology("    t: 'tag:example.com,2026:'\n")})
    assert found.issues == ()
    assert found.ontology.terms.expand("t:x") == "tag:example.com,2026:x"


def test_ids_that_differ_in_their_spelling_alone_are_one_claim() -> None:
    found = claims_of({"a.md": page(claim("ex:c/one")), "b.md": page(claim("https://example.com/k/c/one"))})
    (issue,) = found.issues
    assert issue.path == "b.md"
    assert 'claim "ex:c/one" is not globally unique' in issue.message


def test_references_and_ontology_are_found_whatever_the_spelling() -> None:
    full = "https://example.com/k/"
    item = claim(
        "ex:c/two",
        subject=f"{full}gate",
        predicate=f"{full}free",
        relations=f"{{ contradicts: ['{full}c/one'] }}",
    )
    found = claims_of(
        {"a.md": page(claim("ex:c/one") + item, extra=f"claim_refs: ['{full}c/one', ex:c/one]")}
    )
    assert found.issues == ()
    assert found.claims[1].contradicts == ("ex:c/one",)
    assert len(found.references) == 1


def test_every_bundle_knows_the_built_in_namespaces() -> None:
    from openknowledge.engine.claims.claimset import read_claims

    from tests.engine.claims.conftest import NOW

    found = read_claims(bundle_of({}), now=NOW)
    assert dict(found.ontology.terms.items()) == dict(BUILT_IN)
    assert "claim_ontology" in ONTOLOGY
