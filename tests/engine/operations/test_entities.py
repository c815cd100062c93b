"""Labels and merges of entities: over all pages that they touch, or over none."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine import limits
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.disk import Disk
from openknowledge.engine.operations.entities import (
    apply_entity_proposal,
    entity_impact,
    propose_alias,
    propose_merge,
)
from openknowledge.engine.operations.proposals import decode_entity_proposal, encode_proposal

from .conftest import Sample

PAGES = 50


def page(number: int) -> str:
    return f"""---
type: Service
title: Page {number}
openknowledge_claim_profile: "1"
claims:
  - id: ex:c{number}   # keep me
    slot: ex:s{number}
    subject: https://example.org/alpha
    predicate: ex:runsIn
    object: {{ ref: 'ex:alpha' }}
    scope: {{ ex:where: {{ ref: ex:alpha }} }}
---

# Page {number}
"""


def alias(sample: Sample, text: str = "A one", entity: str = "ex:alpha") -> dict[str, Any]:
    return dict(propose_alias(sample.store(), entity, text, reason="because"))


def merge(sample: Sample, entity: str = "ex:beta", old: str = "ex:alpha") -> dict[str, Any]:
    return dict(propose_merge(sample.store(), entity, old, reason="because", confidence=0.5))


def apply(sample: Sample, proposal: dict[str, Any], **options: Any) -> Any:
    return apply_entity_proposal(sample.root, proposal, approved_by="human:ann", **options)


def test_an_alias_is_added_to_the_labels(sample: Sample) -> None:
    before = sample.files()
    report = apply(sample, alias(sample))
    assert sample.changed_lines(before) == [
        "ontology.md: -    - { id: ex:alpha, types: [ex:Service], pref_label: Alpha, alt_labels: [first] }",
        "ontology.md: +    - { id: ex:alpha, types: [ex:Service], pref_label: Alpha, "
        "alt_labels: [first, A one] }",
    ]
    assert (report["action"], report["approvedBy"], report["changed"]) == ("add_alias", "human:ann", True)
    assert sample.valid()


def test_a_first_alias_makes_the_list(sample: Sample) -> None:
    before = sample.files()
    apply(sample, alias(sample, entity="ex:beta"))
    assert sample.changed_lines(before) == [
        "ontology.md: +      alt_labels:",
        "ontology.md: +        - A one",
    ]


def test_every_declaration_of_an_entity_gets_the_alias(sample: Sample) -> None:
    sample.write("again.md", sample.text("ontology.md").replace("title: Ontology", "title: Again"))
    apply(sample, alias(sample))
    assert sample.text("again.md").count("A one") == sample.text("ontology.md").count("A one") == 1
    assert sample.valid()


@pytest.mark.parametrize(
    ("entity", "text", "message"),
    [
        ("ex:alpha", "FIRST", "has the label"),
        ("ex:alpha", " alpha ", "has the label"),
        ("ex:alpha", "  ", "must not be blank"),
        ("ex:alpha", "a\x00b", "printable"),
        ("ex:nope", "x", "there is no entity"),
        ("ex:old", "x", 'is deprecated; use "ex:beta"'),
    ],
)
def test_a_bad_alias_is_refused(sample: Sample, entity: str, text: str, message: str) -> None:
    assert message in sample.refused(lambda: alias(sample, text, entity))


def test_the_longest_alias_is_taken_and_one_character_more_is_not(sample: Sample) -> None:
    alias(sample, "x" * limits.TERM_RUNES)
    assert "at most 2048 characters" in sample.refused(lambda: alias(sample, "x" * (limits.TERM_RUNES + 1)))


def test_a_label_of_another_active_entity_is_refused_on_applying(sample: Sample) -> None:
    proposal = alias(sample, "BETA")
    message = sample.refused(lambda: apply(sample, proposal))
    assert message.startswith("claim edit is invalid: ")
    assert "ambiguous" in message


def test_a_merge_rewrites_references_in_every_spelling_and_leaves_all_else(sample: Sample) -> None:
    sample.write("c1.md", page(1))
    before = sample.files()
    report = apply(sample, merge(sample))
    assert sample.changed_lines(before) == [
        "c1.md: -    subject: https://example.org/alpha",
        "c1.md: +    subject: ex:beta",
        "c1.md: -    object: { ref: 'ex:alpha' }",
        "c1.md: -    scope: { ex:where: { ref: ex:alpha } }",
        "c1.md: +    object: { ref: 'ex:beta' }",
        "c1.md: +    scope: { ex:where: { ref: ex:beta } }",
        "ontology.md: -    - { id: ex:alpha, types: [ex:Service], pref_label: Alpha, alt_labels: [first] }",
        "ontology.md: +    - { id: ex:alpha, types: [ex:Service], pref_label: Alpha, alt_labels: [first], "
        "deprecated: true, replaced_by: ex:beta }",
        "ontology.md: +      alt_labels:",
        "ontology.md: +        - Alpha",
        "ontology.md: +        - first",
        "page.md: -    subject: ex:alpha",
        "page.md: +    subject: ex:beta",
    ]
    assert report["mergeFrom"] == "ex:alpha"
    assert report["impact"]["references"] == [
        {"claimId": "ex:c1", "document": "c1.md", "field": "object.ref"},
        {"claimId": "ex:c1", "document": "c1.md", "field": "scope.ex:where.ref"},
        {"claimId": "ex:c1", "document": "c1.md", "field": "subject"},
        {"claimId": "ex:idle", "document": "page.md", "field": "subject"},
    ]
    assert report["impact"]["documents"] == ["c1.md", "ontology.md", "page.md"]
    assert sample.valid()


def test_types_are_united_and_what_pointed_to_the_old_entity_points_to_the_new(sample: Sample) -> None:
    report = apply(sample, merge(sample, "ex:alpha", "ex:beta"))
    text = sample.text("ontology.md")
    assert "types: [ex:Service, ex:Thing], pref_label: Alpha, alt_labels: [first, Beta] }" in text
    assert text.count("replaced_by: ex:alpha") == 2
    assert report["impact"]["replacements"] == [{"entityId": "ex:old", "document": "ontology.md"}]
    assert sample.valid()


def test_an_old_issue_that_names_the_merged_entity_does_not_stand_in_the_way(sample: Sample) -> None:
    sample.write(
        "c1.md", page(1).replace("https://example.org/alpha", "ex:old").replace("ex:alpha", "ex:beta")
    )
    assert any('"ex:beta"' in message for _, message in sample.issues())
    apply(sample, merge(sample, "ex:alpha", "ex:beta"))


def test_claims_in_quarantine_are_rewritten_too(sample: Sample) -> None:
    sample.write("c1.md", page(1).replace("predicate: ex:runsIn", "predicate: ex:undeclared"))
    apply(sample, merge(sample))
    assert "alpha" not in sample.text("c1.md")


def test_impact_writes_nothing_and_says_what_would_be_touched(sample: Sample) -> None:
    before = sample.files()
    impact = entity_impact(sample.store(), merge(sample))
    assert sample.files() == before
    assert impact == {
        "action": "merge",
        "entityId": "ex:beta",
        "mergeFrom": "ex:alpha",
        "documents": ["ontology.md", "page.md"],
        "references": [{"claimId": "ex:idle", "document": "page.md", "field": "subject"}],
    }


@pytest.mark.parametrize("by", ["agent:unsafe", "process:x", "human:", ""])
def test_only_people_approve(sample: Sample, by: str) -> None:
    proposal = merge(sample)
    message = sample.refused(lambda: apply_entity_proposal(sample.root, proposal, approved_by=by))
    assert "may not approve changes to entities: give human:NAME or github:NAME" in message


def test_a_merge_into_itself_or_of_what_is_deprecated_is_refused(sample: Sample) -> None:
    assert "into itself" in sample.refused(lambda: merge(sample, "ex:alpha", "https://example.org/alpha"))
    assert "is deprecated" in sample.refused(lambda: merge(sample, "ex:alpha", "ex:old"))
    assert "is deprecated" in sample.refused(lambda: merge(sample, "ex:old", "ex:alpha"))


def test_a_second_time_it_is_stale(sample: Sample) -> None:
    proposal = merge(sample)
    apply(sample, proposal)
    assert "stale because ontology.md changed" in sample.refused(lambda: apply(sample, proposal))


def test_each_home_is_bound_by_its_own_digest(sample: Sample) -> None:
    sample.write(
        "more.md",
        "---\ntype: Ontology\ntitle: More\nclaim_ontology:\n  entities: [{ id: ex:gamma }]\n---\n\n# More\n",
    )
    proposal = merge(sample, "ex:beta", "ex:gamma")
    assert proposal["mergeDocument"] == "more.md"
    sample.write("more.md", sample.text("more.md") + "\n")
    assert "stale because more.md changed" in sample.refused(lambda: apply(sample, proposal))
    apply(sample, merge(sample, "ex:beta", "ex:gamma"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"note": 1}, "note is an unknown field"),
        ({"type": "openknowledge.claim-proposal"}, "type must be openknowledge.entity-proposal"),
        ({"action": "delete"}, "action must be add_alias or merge"),
        ({"alias": "x"}, "merge needs mergeFrom"),
        ({"action": "add_alias"}, "add_alias needs alias and no merge fields"),
        ({"document": "../x.md"}, "the path has the segment .."),
        ({"document": "page.md"}, "stale because page.md changed"),
        ({"entityId": "ex:nope"}, "does not declare the entity"),
        ({"mergeFrom": "ex:beta"}, "into itself"),
        ({"confidence": 2}, "confidence should be less than or equal to 1"),
        ({"reason": ""}, "reason should have at least 1 character"),
    ],
)
def test_a_bad_proposal_is_refused(sample: Sample, change: dict[str, Any], message: str) -> None:
    proposal = merge(sample) | change
    assert message in sample.refused(lambda: apply(sample, proposal))


def test_a_written_proposal_is_read_back(sample: Sample) -> None:
    for proposal in (alias(sample), merge(sample)):
        assert decode_entity_proposal(encode_proposal(proposal).encode()) == proposal


def test_a_dry_run_shows_every_page_and_writes_none(sample: Sample) -> None:
    before = sample.files()
    report = apply(sample, merge(sample), dry_run=True)
    assert sample.files() == before
    assert report["diff"].count("+++ b/") == 2


@pytest.fixture
def many(sample: Sample) -> Sample:
    for number in range(PAGES):
        sample.write(f"many/{number:02}.md", page(number))
    return sample


def test_references_on_fifty_pages_are_one_change(many: Sample) -> None:
    report = apply(many, merge(many))
    assert len(report["impact"]["references"]) == 3 * PAGES + 1
    assert all(b"example.org/alpha" not in data for path, data in many.files().items() if "many" in path)
    assert many.valid()


def test_a_failure_on_the_forty_ninth_page_undoes_all(many: Sample) -> None:
    proposal = merge(many)
    renamed: list[str] = []

    def hook(step: str, path: Path) -> None:
        if step == "rename" and path.suffix == ".md":
            renamed.append(path.name)
            if len(renamed) == 49:
                raise OSError(errno.EIO, "boom", str(path))

    assert "the disk reports an error" in many.refused(lambda: apply(many, proposal, disk=Disk(hook)))
    assert len(renamed) > 49


def test_another_editor_on_the_forty_ninth_page_undoes_all_but_his_work(many: Sample) -> None:
    proposal = merge(many)
    before = many.files()
    theirs = b"---\ntype: X\n---\n"

    def hook(step: str, path: Path) -> None:
        if step == "rename" and path.name == "48.md":
            path.write_bytes(theirs)

    with pytest.raises(OpenKnowledgeError, match=r"48\.md: the file changed meanwhile"):
        apply(many, proposal, disk=Disk(hook))
    assert many.files() == before | {"many/48.md": theirs}


def test_a_page_that_shares_the_value_by_an_alias_undoes_all(many: Sample) -> None:
    many.write(
        "many/99.md",
        page(99).replace("ref: 'ex:alpha'", "ref: &a ex:alpha").replace("{ ref: ex:alpha }", "{ ref: *a }"),
    )
    proposal = merge(many)
    assert "many/99.md" in many.refused(lambda: apply(many, proposal))


def test_the_proposal_is_json(sample: Sample) -> None:
    assert json.loads(encode_proposal(merge(sample)))["mergeFrom"] == "ex:alpha"
