"""The access filter: what is restricted is not there, in no view of the facts."""

from __future__ import annotations

import json

import pytest
from openknowledge.engine.claims.access import apply_access, granted_labels, is_visible
from openknowledge.engine.claims.conflicts import find_conflicts
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.find import find_claims, find_entities
from openknowledge.engine.claims.impact import claim_impact
from openknowledge.engine.claims.machine import claim_profile_json
from openknowledge.engine.claims.rdf import claim_triples
from openknowledge.engine.claims.relations import BUILDERS, claim_sources
from openknowledge.engine.claims.show import show_claim
from openknowledge.engine.claims.stale import stale_claims
from openknowledge.engine.claims.suggest import suggest_claims
from openknowledge.engine.errors import OpenKnowledgeError, UsageError

from tests.engine.claims.conftest import claim, claims_of, page

SOURCES = """\
- id: open
  resource: https://example.com/open
- id: secret
  resource: https://example.com/hush-hush
  access: [team:red, profile:admin]
"""
SECRET = "hidden-value"


def pages() -> dict[str, str]:
    items = (
        claim(
            "ex:c/open",
            evidence="\n    - { id: a, source_ref: open }",
            relations="{ contradicts: [ex:c/secret] }",
        )
        + claim(
            "ex:c/secret",
            predicate="ex:name",
            object=f"{{ value: {SECRET} }}",
            evidence="\n    - { id: a, source_ref: open }"
            "\n    - { id: b, source_ref: secret, stance: opposes }",
            stale_after="2020-01-01",
            relations="{ derived_from: [ex:c/open] }",
        )
        + claim("ex:c/other", predicate="ex:name", object="{ value: other }")
        + claim("ex:c/bare")
    )
    return {
        "page.md": page(items, sources=SOURCES),
        "refers.md": page(extra="claim_refs: [ex:c/secret, ex:c/bare]"),
        "broken.md": page(
            claim("ex:c/broken-secret", status="sure", evidence="\n    - { id: a, source_ref: secret }"),
            sources=SOURCES,
        ),
    }


def seen(*labels: str) -> FactSet:
    return apply_access(claims_of(pages()), labels)[0]


def test_a_claim_goes_with_any_of_its_evidence_whatever_the_stance() -> None:
    facts = seen()
    assert [item.id for item in facts.claims] == ["ex:c/bare", "ex:c/open", "ex:c/other"]


def test_one_shared_label_is_enough() -> None:
    assert [item.id for item in seen("team:red").claims] == [
        "ex:c/bare",
        "ex:c/open",
        "ex:c/other",
        "ex:c/secret",
    ]
    assert [item.id for item in seen("profile:admin", "team:x").claims] == [
        item.id for item in seen("team:red").claims
    ]
    assert len(seen("team:blue").claims) == 3


def test_the_policy_counts_what_was_taken_out() -> None:
    facts, policy = apply_access(claims_of(pages()), ["team:blue", "team:blue"])
    assert policy["allowedAccess"] == ["team:blue"]
    assert (policy["removedSources"], policy["removedClaims"]) == (2, 1)
    assert facts.policy == policy
    assert seen("team:red").policy["removedSources"] == 0


def test_the_revision_stays_the_same() -> None:
    assert seen().revision == seen("team:red").revision


def test_relations_and_references_go_with_a_claim_that_is_hidden() -> None:
    facts = seen()
    rows = {name: [row for row, _ in source()] for name, source in claim_sources(facts).items()}
    assert rows["relation"] == []
    assert rows["claim_ref"] == [("refers", "ex:c/bare")]
    assert [row[1] for row in rows["document_source"] if row[0] == "page"] == ["open"]


def test_a_public_source_without_an_id_stays_on_a_page_with_restricted_ones() -> None:
    sources = SOURCES + "- resource: https://example.com/nameless\n"
    sources += "- resource: https://example.com/nameless-secret\n  access: team:red\n"
    facts = apply_access(claims_of({"page.md": page(claim(), sources=sources)}))[0]
    found = [row[2] for row, _ in claim_sources(facts)["document_source"]()]
    assert found == ["https://example.com/open", "https://example.com/nameless"]


def test_restricted_knowledge_is_in_no_view() -> None:
    facts = seen()
    views = [
        facts.to_json(),
        find_claims(facts, "ex"),
        find_claims(facts, SECRET)["results"],
        find_entities(facts, "gate"),
        stale_claims(facts, within=10_000),
        find_conflicts(facts),
        claim_impact(facts, "ex:c/open"),
        show_claim(facts, "ex:c/open"),
        suggest_claims(facts, "page.md"),
        claim_profile_json(facts.bundle.by_path["page.md"], facts),
        claim_triples(facts, reifiers=True),
        [row for name in BUILDERS for row, _ in claim_sources(facts)[name]()],
        [entry.claim_id for entry in facts.quarantined],
        [entry.target for entry in facts.dangling],
        [issue.message for issue in facts.issues()],
    ]
    for view in views:
        text = json.dumps(view)
        for word in ("ex:c/secret", "k/c/secret", SECRET, "hush-hush", "broken-secret", "team:red"):
            assert word not in text


def test_whoever_may_see_it_sees_all_of_it() -> None:
    text = json.dumps(seen("team:red").to_json())
    for word in ("ex:c/secret", SECRET, "hush-hush", "broken-secret"):
        assert word in text


def test_asking_for_a_hidden_claim_says_the_same_as_asking_for_none() -> None:
    facts = seen()
    messages = []
    for name in ("ex:c/secret", "ex:c/broken-secret", "ex:c/nothing-of"):
        with pytest.raises(OpenKnowledgeError) as caught:
            facts.claim(name)
        messages.append(caught.value.message.replace(name, "X").partition(";")[0])
    assert set(messages) == {'there is no claim "X" in this bundle'}


@pytest.mark.parametrize("access", ["{ team: red }", "[]x", "[7]", "['']", "null", "everyone"])
def test_access_that_cannot_be_read_hides_the_source_from_everybody(access: str) -> None:
    sources = f"- id: secret\n  resource: https://example.com/hush-hush\n  access: {access}\n"
    if access == "[]x":
        sources = sources.replace("[]x", '["team:"]')
    text = page(claim(evidence="\n    - { id: a, source_ref: secret }"), sources=sources)
    facts, _ = apply_access(claims_of({"page.md": text}), ["team:red"])
    assert facts.claims == ()
    assert "hush-hush" not in json.dumps(facts.to_json())


def test_access_on_a_page_without_claims_counts_too() -> None:
    sources = "- id: secret\n  resource: https://example.com/hush-hush\n  access: team:red\n"
    text = page(sources=sources).replace('openknowledge_claim_profile: "1"\n', "")
    found = claims_of({"page.md": text})
    assert "hush-hush" not in json.dumps(apply_access(found)[0].to_json())
    assert "hush-hush" in json.dumps(apply_access(found, ["team:red"])[0].to_json())


def test_an_empty_list_of_labels_is_public() -> None:
    sources = "- id: s\n  resource: https://example.com/s\n  access: []\n"
    found = claims_of({"page.md": page(claim(evidence="\n    - { id: a, source_ref: s }"), sources=sources)})
    assert len(apply_access(found)[0].claims) == 1
    assert is_visible(found.claims[0].document.metadata.sources[0], ())


@pytest.mark.parametrize("label", ["", "red", "team:", "team:a b", "group:red"])
def test_a_grant_must_be_a_label(label: str) -> None:
    with pytest.raises(UsageError, match="is not an access label"):
        granted_labels([label])


def test_ontology_of_a_restricted_page_stays_visible() -> None:
    assert "ex:gate" in json.dumps(seen().to_json()["entities"])
