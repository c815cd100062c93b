"""The fact set and the JSON of claims: shapes, order, provenance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.claims.claimset import read_claims
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.machine import claim_json, claim_profile_json
from openknowledge.engine.claims.numbers import json_number, rdf_number

from tests.engine.claims.conftest import NOW, ONTOLOGY, bundle_of, claim, facts_of, line_of, page

FULL = claim(
    "ex:c/full",
    object="{ value: 0, language: null }".replace(", language: null", ""),
    scope="{ ex:where: { ref: ex:prod }, ex:when: { value: 1.50 } }",
    evidence="\n    - { id: z, source_ref: notes, selector: { type: page, page: 2, value: '' } }".replace(
        ", value: ''", ""
    )
    + "\n    - { id: a, source_ref: notes, observed_at: 2026-01-01 }",
    owners="[b, a]",
    status="verified",
    valid_time="{ from: 2026-01-01 }",
    stale_after="2026-01-02",
    verification="{ method: m, by: human:ada, at: 2026-05-01, evidence_refs: [a] }",
    relations="{ derived_from: [ex:c/plain] }",
    section_ref='"#words"',
)
BODY = "# Page\n\nLead.\n\n## Words\n\nText.\n"


def files() -> dict[str, str]:
    return {
        "b/page.md": page(claim("ex:c/plain") + FULL, body=BODY),
        "a/refers.md": page(extra="claim_refs: [ex:c/full]"),
    }


def test_the_json_of_a_claim_has_its_keys_in_order_and_leaves_out_what_is_empty() -> None:
    facts = facts_of(files())
    plain, full = claim_json(facts.by_id["ex:c/plain"], facts), claim_json(facts.by_id["ex:c/full"], facts)
    assert list(plain) == [
        "id",
        "slot",
        "subject",
        "predicate",
        "object",
        "evidence",
        "owners",
        "status",
        "trustTier",
        "validTime",
        "stale",
        "relations",
        "declaringPath",
    ]
    assert list(full) == [
        "id",
        "slot",
        "subject",
        "predicate",
        "object",
        "scope",
        "evidence",
        "owners",
        "status",
        "trustTier",
        "validTime",
        "stale",
        "staleAfter",
        "verification",
        "relations",
        "sectionRef",
        "declaringPath",
    ]
    assert full["object"] == {"value": 0, "datatype": "xsd:integer"}
    assert full["evidence"][0] == {
        "id": "z",
        "sourceRef": "notes",
        "stance": "supports",
        "role": "primary",
        "selector": {"type": "page", "page": 2},
    }
    assert full["relations"] == {"derivedFrom": ["ex:c/plain"]}
    assert plain["validTime"] == {}
    assert plain["relations"] == {}


def test_the_fact_set_has_every_array_sorted_and_none_missing() -> None:
    result: dict[str, Any] = dict(facts_of(files()).to_json())
    keys = {
        "namespaces": "prefix",
        "entities": "id",
        "predicates": "id",
        "evidenceRoles": "id",
        "sources": "key",
        "claims": "id",
        "evidence": "key",
    }
    for name, key in keys.items():
        assert result[name], name
        assert [item[key] for item in result[name]] == sorted(item[key] for item in result[name])
    assert result["relations"] == [
        {"sourceId": "ex:c/full", "kind": "derived_from", "targetId": "ex:c/plain"}
    ]
    assert result["references"] == [{"claimId": "ex:c/full", "document": "a/refers.md"}]
    assert [source["key"] for source in result["sources"]] == ["a/refers.md#notes", "b/page.md#notes"]
    assert {"prefix": "ex", "iri": "https://example.com/k/"} in result["namespaces"]
    assert result["valid"] is True
    assert "issues" not in result


def test_an_empty_bundle_has_empty_arrays() -> None:
    facts = FactSet.everything(read_claims(bundle_of({}), now=NOW))
    result: dict[str, Any] = dict(facts.to_json())
    for name in (
        "entities",
        "predicates",
        "evidenceRoles",
        "sources",
        "claims",
        "evidence",
        "relations",
        "references",
    ):
        assert result[name] == []


def test_a_claim_stands_in_the_section_that_it_is_bound_to_else_in_the_first() -> None:
    facts = facts_of(files())
    text = files()["b/page.md"]
    plain, full = (facts.place(facts.by_id[name]) for name in ("ex:c/plain", "ex:c/full"))
    assert plain.to_json()["lineStart"] == line_of(text, "# Page")
    assert (full.to_json()["lineStart"], full.to_json()["documentId"]) == (
        line_of(text, "## Words"),
        "b/page",
    )
    assert full.to_json()["locator"].endswith("#" + full.to_json()["contentSha256"])
    assert full.claim_line == line_of(text, "id: ex:c/full")
    assert facts.section_id(facts.by_id["ex:c/full"]) == "b/page#words"
    assert facts.section_id(facts.by_id["ex:c/plain"]) == ""


def test_of_several_sections_with_the_anchor_the_last_counts() -> None:
    body = '## One\n\n<a id="x"></a>\n\nText.\n\n## X\n\nMore.\n'
    facts = facts_of({"page.md": page(claim(section_ref='"#x"'), body=body)})
    assert facts.section_id(facts.claims[0]) == "page#x"


def test_a_page_without_sections_has_the_digest_of_the_whole_page_and_no_lines() -> None:
    import hashlib

    text = page(claim(), body="").replace("\n", "\r\n")
    facts = facts_of({"page.md": text})
    place = facts.place(facts.claims[0]).to_json()
    assert place["contentSha256"] == hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()
    assert "lineStart" not in place


def test_issues_of_the_bundle_and_of_its_claims_are_one_list_without_repetition() -> None:
    facts = facts_of({"page.md": page(claim(status="sure"))})
    other = Issue("a.md", "link-target", "warning", "broken", 3)
    result = facts.to_json([other, *facts.claim_set.issues])
    assert [(issue["path"], issue.get("rule")) for issue in result["issues"]] == [
        ("a.md", "link-target"),
        ("page.md", "claim-profile"),
    ]
    assert result["valid"] is False


def test_warnings_alone_leave_the_facts_valid() -> None:
    assert facts_of({}).to_json([Issue("a.md", "link-target", "warning", "broken")])["valid"] is True


def test_the_same_pages_give_the_same_facts_from_any_root() -> None:
    def facts_at(root: str) -> dict[str, Any]:
        bundle = bundle_of({"ontology.md": ONTOLOGY, **files()}, Path(root))
        return dict(FactSet.everything(read_claims(bundle, now=NOW)).to_json())

    one, other = facts_at("/one"), facts_at("/other/place")
    assert (one.pop("root"), other.pop("root")) == ("/one", "/other/place")
    assert json.dumps(one) == json.dumps(other)


def test_the_claim_profile_of_a_page_and_of_a_section() -> None:
    facts = facts_of(files())
    document = facts.bundle.by_path["b/page.md"]
    whole = claim_profile_json(document, facts)
    assert whole is not None
    assert whole["profile"] == "openknowledge.claims/v1"
    assert [item["id"] for item in whole["claims"]] == ["ex:c/full", "ex:c/plain"]
    assert "ontology" not in whole
    first, words = document.sections
    sections = [claim_profile_json(document, facts, section) for section in (first, words)]
    assert [[item["id"] for item in found["claims"]] for found in sections if found] == [
        ["ex:c/plain"],
        ["ex:c/full", "ex:c/plain"],
    ]
    ontology = claim_profile_json(facts.bundle.by_path["ontology.md"], facts)
    assert ontology is not None
    assert ontology["ontology"]["namespaces"] == {"ex": "https://example.com/k/"}
    assert ontology["ontology"]["predicates"][0]["maximumCount"] == 1
    refers = claim_profile_json(facts.bundle.by_path["a/refers.md"], facts)
    assert refers is not None
    assert refers["claimRefs"] == ["ex:c/full"]


@pytest.mark.parametrize(
    ("value", "json_text", "rdf_text"),
    [
        (60, "60", "60"),
        (0.5, "0.5", "0.5"),
        (60.0, "60", "60"),
        (123456.7, "123456.7", "123456.7"),
        (1234567.5, "1234567.5", "1.2345675e+06"),
        (1000000.0, "1000000", "1e+06"),
        (999999.0, "999999", "999999"),
        (0.0001, "0.0001", "0.0001"),
        (0.00001, "0.00001", "1e-05"),
        (1e-6, "0.000001", "1e-06"),
        (1.5e-7, "1.5e-7", "1.5e-07"),
        (1e20, "100000000000000000000", "1e+20"),
        (1e21, "1e+21", "1e+21"),
        (-1.25e100, "-1.25e+100", "-1.25e+100"),
        (5e-324, "5e-324", "5e-324"),
        (0.1 + 0.2, "0.30000000000000004", "0.30000000000000004"),
    ],
)
def test_numbers_have_their_two_written_forms(value: float, json_text: str, rdf_text: str) -> None:
    assert json_number(value) == json_text
    assert rdf_number(value) == rdf_text
    assert float(json_text) == float(rdf_text) == value


def test_the_shapes_are_those_that_are_declared() -> None:
    from openknowledge.schemas.facts import FactSet as Shape
    from pydantic import TypeAdapter

    TypeAdapter(Shape).validate_python(facts_of(files()).to_json(), strict=True)
