"""The ontology: what pages declare, and where they contradict each other."""

from __future__ import annotations

import pytest

from tests.engine.claims.conftest import claim, claims_of, line_of, page


def ontology(text: str) -> str:
    rows = "".join(f"  {row}\n" for row in text.rstrip().split("\n"))
    return f"---\ntype: T\nclaim_ontology:\n{rows}---\n"


@pytest.mark.parametrize(
    ("text", "needle", "message"),
    [
        ("colours: [red]", "colours", 'claim_ontology contains unknown field "colours"'),
        (
            "entities: { id: ex:a }",
            "entities",
            "claim_ontology.entities must be a list of mappings, not a mapping",
        ),
        ("entities: [ex:a]", "entities", "claim_ontology.entities[0] must be a mapping, not a string"),
        ("namespaces: [a]", "namespaces", "claim_ontology.namespaces must map prefixes to IRIs, not a list"),
        ("entities:\n  - types: [ex:T]", "types", "claim_ontology.entities[0].id must be a string, not null"),
        (
            "entities:\n  - id: a",
            "id: a",
            'entities[0].id "a" must be an absolute IRI or use a declared namespace',
        ),
        ("entities:\n  - id: ex:a\n    colour: red", "colour", 'entities[0] contains unknown field "colour"'),
        (
            "entities:\n  - id: ex:a\n    types: ex:T",
            "types",
            "entities[0].types must be a list of terms, not a string",
        ),
        (
            "entities:\n  - id: ex:a\n    types: [T]",
            "types",
            'entities[0].types[0] "T" must be an absolute IRI',
        ),
        (
            "entities:\n  - id: ex:a\n    pref_label: ''",
            "pref_label",
            "entities[0].pref_label must not be blank",
        ),
        ("entities:\n  - id: ex:a\n    alt_labels: b", "alt_labels", "alt_labels must be a list of strings"),
        (
            "entities:\n  - id: ex:a\n    deprecated: 1",
            "deprecated",
            "deprecated must be true or false, not a number",
        ),
        (
            "entities:\n  - id: ex:a\n    replaced_by: ex:gate",
            "replaced_by",
            "entities[0].replaced_by needs deprecated: true beside it",
        ),
        (
            "entities:\n  - id: ex:a\n    deprecated: true\n    replaced_by: ex:none",
            "replaced_by",
            'entity "ex:a" replaced_by "ex:none" is not declared in claim_ontology.entities',
        ),
        (
            "entities:\n  - id: ex:a\n    deprecated: true\n    replaced_by: ex:old-gate",
            "replaced_by",
            'entity "ex:a" replaced_by "ex:old-gate" is deprecated itself',
        ),
        (
            "entities:\n  - id: ex:a\n    deprecated: true\n    replaced_by: ex:a",
            "replaced_by",
            'entity "ex:a" replaced_by "ex:a" is the entity itself',
        ),
        (
            "predicates:\n  - id: ex:p\n    object_kind: number",
            "object_kind",
            '"number" is not one of literal, entity',
        ),
        (
            "predicates:\n  - id: ex:p\n    maximum_count: 0",
            "maximum_count",
            "maximum_count must be a whole number above",
        ),
        (
            "predicates:\n  - id: ex:p\n    maximum_count: true",
            "maximum_count",
            "must be a whole number above 0",
        ),
        (
            "predicates:\n  - id: ex:p\n    datatype: integer",
            "datatype",
            'predicates[0].datatype "integer" must be',
        ),
        ("predicates:\n  - id: ex:p\n    required_scope: ex:d", "required_scope", "must be a list of terms"),
        ("evidence_roles:\n  - id: log", "id: log", 'evidence_roles[0].id "log" must be an absolute IRI'),
        (
            "evidence_roles:\n  - id: ex:r\n    label: x",
            "label",
            'evidence_roles[0] contains unknown field "label"',
        ),
        (
            "entities:\n  - id: ex:gate\n    types: [ex:Other]",
            "id: ex:gate",
            'entity "ex:gate" is declared more than once: differently in ontology.md',
        ),
        (
            "predicates:\n  - id: ex:free\n    maximum_count: 1",
            "id: ex:free",
            'predicate "ex:free" is declared more than once',
        ),
        (
            "evidence_roles:\n  - id: ex:role/log",
            "id: ex:role/log",
            'evidence role "ex:role/log" is declared more than once',
        ),
        (
            "entities:\n  - id: ex:a\n    pref_label: VAULT",
            "pref_label",
            'label "VAULT" of entity "ex:a" is ambiguous: "ex:vault" has it too',
        ),
        (
            "entities:\n  - id: ex:a\n    alt_labels: [b, ' Front   DOOR ']",
            "alt_labels",
            'label "Front   DOOR" of entity "ex:a" is ambiguous: "ex:gate" has it too',
        ),
    ],
)
def test_a_broken_declaration_is_named_with_its_line(text: str, needle: str, message: str) -> None:
    written = ontology(text)
    found = claims_of({"page.md": written}).issues
    assert len(found) == 1, found
    assert (found[0].path, found[0].rule) == ("page.md", "claim-profile")
    assert message in found[0].message
    assert found[0].line == line_of(written, needle)


def test_a_label_of_a_deprecated_entity_may_be_used_again() -> None:
    assert claims_of({"page.md": ontology("entities:\n  - id: ex:a\n    pref_label: Old gate")}).issues == ()


def test_the_same_declaration_on_two_pages_is_one() -> None:
    repeated = ontology(
        "entities:\n  - id: https://example.com/k/team\n    types: [ex:Team, ex:Team]\n    pref_label: Team"
    )
    found = claims_of({"page.md": repeated})
    assert found.issues == ()
    assert found.ontology.home("entity", "ex:team").path == "ontology.md"


def test_a_page_that_redeclares_a_predicate_does_not_silence_those_who_use_it() -> None:
    bad = ontology("predicates:\n  - id: ex:free\n    object_kind: entity")
    found = claims_of({"use.md": page(claim()), "worse.md": bad})
    assert [item.id for item in found.claims] == ["ex:c/one"]
    assert [entry.document for entry in found.quarantined] == ["worse.md"]


def test_an_entity_with_a_fault_is_not_declared() -> None:
    bad = ontology("entities:\n  - id: ex:new\n    types: [T]")
    found = claims_of({"bad.md": bad, "use.md": page(claim(subject="ex:new"))})
    assert [issue.path for issue in found.issues] == ["bad.md", "use.md"]
    assert found.claims == ()


def test_an_ontology_that_is_no_mapping_is_refused() -> None:
    text = "---\ntype: T\nclaim_ontology: [a]\n---\n"
    (issue,) = claims_of({"page.md": text}).issues
    assert (issue.line, issue.message) == (3, "claim_ontology must be a mapping, not a list")
