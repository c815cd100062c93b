"""Every row of the claim profile, each broken alone: the rule, the line of the field, the message."""

from __future__ import annotations

import pytest
from openknowledge.engine.bundle.issues import Issue

from tests.engine.claims.conftest import claim, claims_of, line_of, page

PROFILE = 'openknowledge_claim_profile: "1"\n'


def issue_of(text: str) -> Issue:
    """Return the only issue of a page, after checking that it says what every claim issue says."""
    found = claims_of({"page.md": text})
    assert len(found.issues) == 1, found.issues
    issue = found.issues[0]
    assert (issue.path, issue.rule, issue.severity) == ("page.md", "claim-profile", "error")
    return issue


def evidence(text: str) -> dict[str, str]:
    return {"evidence": f"\n    - {text}"}


FIELDS: list[tuple[str, dict[str, str | None], str, str]] = [
    # name, fields of the claim, text of the line at fault, message
    ("unknown field", {"colour": "red"}, "colour:", 'contains unknown field "colour"'),
    ("no id", {"id": None}, "- slot:", "claims[0] needs id, a non-empty string"),
    ("blank id", {"id": '" "'}, "id:", "claims[0] id must not be blank"),
    ("id is a number", {"id": "5"}, "id: 5", "claims[0] id must be a string, not a number"),
    ("no slot", {"slot": None}, "- id:", "needs slot, a non-empty string"),
    ("no subject", {"subject": None}, "- id:", "needs subject, a non-empty string"),
    ("no predicate", {"predicate": None}, "- id:", "needs predicate, a non-empty string"),
    ("no object", {"object": None}, "- id:", "needs object, a mapping with ref or value"),
    (
        "object is text",
        {"object": "yes"},
        "object:",
        "object must be a mapping with ref or value, not a string",
    ),
    (
        "undeclared prefix",
        {"subject": "nobody:gate"},
        "subject:",
        'subject "nobody:gate" must be an absolute IRI or use a declared namespace',
    ),
    (
        "term without prefix",
        {"slot": "timeouts"},
        "slot:",
        'slot "timeouts" must be an absolute IRI or use a declared namespace',
    ),
    (
        "term with a space",
        {"slot": '"ex:a b"'},
        "slot:",
        'slot "ex:a b" must be an absolute IRI or use a declared namespace',
    ),
    ("status", {"status": "sure"}, "status:", 'status "sure" is not one of extracted, proposed, supported'),
    ("status is a list", {"status": "[verified]"}, "status:", "status must be a string, not a list"),
    ("owners is text", {"owners": "me"}, "owners:", "owners must be a list of strings, not a string"),
    ("blank owner", {"owners": '["", me]'}, "owners:", "owners[0] must not be blank"),
    # objects
    ("ref and value", {"object": "{ ref: ex:gate, value: 1 }"}, "object:", "exactly one of ref and value"),
    (
        "neither",
        {"object": "{ datatype: xsd:string }"},
        "object:",
        "object must have exactly one of ref and value",
    ),
    (
        "ref with datatype",
        {"object": "{ ref: ex:gate, datatype: xsd:string }"},
        "object:",
        "object.datatype is not",
    ),
    (
        "ref with language",
        {"object": "{ ref: ex:gate, language: en }"},
        "object:",
        "object.language is not allowed",
    ),
    (
        "ref with unit",
        {"object": "{ ref: ex:gate, unit: unit:MIN }"},
        "object:",
        "object.unit is not allowed beside",
    ),
    (
        "ref with quantity kind",
        {"object": "{ ref: ex:gate, quantity_kind: quantitykind:Time }"},
        "object:",
        "object.quantity_kind is not allowed beside ref",
    ),
    ("blank value", {"object": '{ value: "  " }'}, "object:", "object.value must not be blank"),
    (
        "value is null",
        {"object": "{ value: null }"},
        "object:",
        "must be a string, number or boolean, not null",
    ),
    (
        "value is a list",
        {"object": "{ value: [1] }"},
        "object:",
        "must be a string, number or boolean, not a list",
    ),
    ("not a number", {"object": "{ value: .nan }"}, "object:", "object.value must be a finite number"),
    ("infinity", {"object": "{ value: -.inf }"}, "object:", "object.value must be a finite number"),
    (
        "too large for a float",
        {"object": "{ value: 1e999 }"},
        "object:",
        "object.value must be a finite number",
    ),
    (
        "4,000 digits",
        {"object": "{ value: " + "7" * 4000 + " }"},
        "object:",
        "object.value has more than 400 digits; write it as a string",
    ),
    (
        "401 digits",
        {"object": "{ value: " + "7" * 401 + " }"},
        "object:",
        "object.value has more than 400 digits; write it as a string",
    ),
    (
        "language with a datatype",
        {"object": "{ value: hello, datatype: xsd:string, language: en }"},
        "object:",
        'object.language needs datatype rdf:langString or none, not "xsd:string"',
    ),
    ("language tag", {"object": "{ value: hello, language: en_US }"}, "object:", "is not a language tag"),
    (
        "language of a number",
        {"object": "{ value: 5, language: en }"},
        "object:",
        "language needs a string value",
    ),
    (
        "langString without language",
        {"object": "{ value: hello, datatype: rdf:langString }"},
        "object:",
        "object.datatype rdf:langString needs language",
    ),
    (
        "unit alone",
        {"object": "{ value: 5, unit: unit:MIN }"},
        "object:",
        "object.unit needs quantity_kind beside",
    ),
    (
        "quantity kind alone",
        {"object": "{ value: 5, quantity_kind: quantitykind:Time }"},
        "object:",
        "object.quantity_kind needs unit beside it",
    ),
    (
        "unknown object field",
        {"object": "{ value: 5, size: 3 }"},
        "object:",
        'object contains unknown field "size"',
    ),
    (
        "ill-typed integer",
        {"object": "{ value: five, datatype: xsd:integer }"},
        "object:",
        'object.value "five" is not a valid xsd:integer',
    ),
    (
        "fraction as integer",
        {"object": "{ value: 1.5, datatype: xsd:integer }"},
        "object:",
        'object.value "1.5" is not a valid xsd:integer',
    ),
    (
        "a day that does not exist",
        {"object": "{ value: 2026-02-29, datatype: xsd:date }"},
        "object:",
        'object.value "2026-02-29" is not a valid xsd:date',
    ),
    # scope
    ("scope is a list", {"scope": "[ex:a]"}, "scope:", "scope must map dimensions to objects, not a list"),
    (
        "scope dimension",
        {"scope": "{ env: { ref: ex:prod } }"},
        "scope:",
        'scope dimension "env" must be an absolute',
    ),
    (
        "scope value",
        {"scope": "{ ex:env: prod }"},
        "scope:",
        "scope.ex:env must be a mapping with ref or value",
    ),
    (
        "scope dimension in two spellings",
        {"scope": "{ ex:env: { ref: ex:prod }, 'https://example.com/k/env': { ref: ex:staging } }"},
        "scope:",
        'scope dimension "ex:env" is given more than once',
    ),
    # evidence
    ("evidence is a mapping", {"evidence": "{ id: a }"}, "evidence:", "evidence must be a list of mappings"),
    ("evidence item", evidence("notes"), "- notes", "evidence[0] must be a mapping, not a string"),
    ("evidence without id", evidence("{ source_ref: notes }"), "source_ref", "needs evidence[0].id"),
    ("evidence without source", evidence("{ id: a }"), "id: a", "needs evidence[0].source_ref"),
    (
        "evidence of no source",
        evidence("{ id: a, source_ref: nothing }"),
        "source_ref",
        'evidence "a" source_ref "nothing" is no source of this page',
    ),
    (
        "evidence twice",
        {
            "evidence": "\n    - { id: a, source_ref: notes }"
            "\n    - { id: a, source_ref: notes, role: method }"
        },
        "role: method",
        'evidence "a" is duplicated',
    ),
    (
        "stance",
        evidence("{ id: a, source_ref: notes, stance: likes }"),
        "stance",
        "is not one of supports, opposes",
    ),
    (
        "undeclared role",
        evidence("{ id: a, source_ref: notes, role: ex:role/none }"),
        "role",
        'evidence[0].role "ex:role/none" is not declared in claim_ontology.evidence_roles',
    ),
    (
        "role that is no term",
        evidence("{ id: a, source_ref: notes, role: hearsay }"),
        "role",
        'evidence[0].role "hearsay" must be primary, secondary, corroborating, method or a term',
    ),
    (
        "observed at",
        evidence("{ id: a, source_ref: notes, observed_at: yesterday }"),
        "observed_at",
        'evidence[0].observed_at "yesterday" must be YYYY-MM-DD or an RFC 3339 timestamp with offset',
    ),
    (
        "unknown evidence field",
        evidence("{ id: a, source_ref: notes, x: 1 }"),
        "x: 1",
        "evidence[0] contains unknown",
    ),
    # selectors
    (
        "selector type",
        evidence("{ id: a, source_ref: notes, selector: { type: xpath } }"),
        "xpath",
        "is not one of",
    ),
    (
        "selector is text",
        evidence("{ id: a, source_ref: notes, selector: top }"),
        "top",
        "selector must be a mapping",
    ),
    (
        "quote without exact",
        evidence("{ id: a, source_ref: notes, selector: { type: text_quote } }"),
        "text_quote",
        "evidence[0].selector of type text_quote needs exact",
    ),
    (
        "position without end",
        evidence("{ id: a, source_ref: notes, selector: { type: text_position, start: 1 } }"),
        "text_position",
        "evidence[0].selector of type text_position needs end",
    ),
    (
        "position backwards",
        evidence("{ id: a, source_ref: notes, selector: { type: data_position, start: 5, end: 5 } }"),
        "data_position",
        "evidence[0].selector needs start < end, not 5 and 5",
    ),
    (
        "negative position",
        evidence("{ id: a, source_ref: notes, selector: { type: text_position, start: -1, end: 5 } }"),
        "text_position",
        "evidence[0].selector.start must be a non-negative integer",
    ),
    (
        "fragment without value",
        evidence("{ id: a, source_ref: notes, selector: { type: fragment } }"),
        "fragment",
        "evidence[0].selector of type fragment needs value",
    ),
    (
        "media fragment without value",
        evidence("{ id: a, source_ref: notes, selector: { type: media_fragment } }"),
        "media_fragment",
        "evidence[0].selector of type media_fragment needs value",
    ),
    (
        "page zero",
        evidence("{ id: a, source_ref: notes, selector: { type: page, page: 0 } }"),
        "page: 0",
        "evidence[0].selector.page must be at least 1",
    ),
    (
        "page without a number",
        evidence("{ id: a, source_ref: notes, selector: { type: page } }"),
        "type: page",
        "evidence[0].selector of type page needs page",
    ),
    (
        "conforms to",
        evidence("{ id: a, source_ref: notes, selector: { type: fragment, value: x, conforms_to: html } }"),
        "conforms_to",
        'evidence[0].selector.conforms_to "html" must be an absolute IRI',
    ),
    # times
    (
        "valid_time is a date",
        {"valid_time": "2026-01-01"},
        "valid_time",
        "valid_time must be a mapping {from, until}",
    ),
    (
        "unknown end",
        {"valid_time": "{ to: 2026-01-01 }"},
        "valid_time",
        'valid_time contains unknown field "to"',
    ),
    (
        "backwards",
        {"valid_time": "{ from: 2026-02-01, until: 2026-01-01 }"},
        "valid_time",
        "must be before valid_time",
    ),
    ("empty time", {"valid_time": "{ from: 2026-02-01, until: 2026-02-01 }"}, "valid_time", "must be before"),
    (
        "backwards through offsets",
        {"valid_time": "{ from: 2026-02-01T01:00:00+01:00, until: 2026-02-01T00:00:00Z }"},
        "valid_time",
        "must be before valid_time.until",
    ),
    (
        "no offset",
        {"valid_time": "{ from: 2026-02-01T00:00:00 }"},
        "valid_time",
        'valid_time.from "2026-02-01T00:00:00" must be YYYY-MM-DD or an RFC 3339 timestamp with offset',
    ),
    (
        "no leap day",
        {"valid_time": "{ from: 2025-02-29 }"},
        "valid_time",
        'valid_time.from "2025-02-29" must be',
    ),
    (
        "stale_after with a time",
        {"stale_after": "2026-01-01T00:00:00Z"},
        "stale_after",
        "must be a date YYYY-MM-DD",
    ),
    ("stale_after on no day", {"stale_after": "2026-13-01"}, "stale_after", "must be a date YYYY-MM-DD"),
    # lifecycle
    (
        "verified without",
        {"status": "verified"},
        "status:",
        "status verified needs verification {method, by, at}",
    ),
    ("verification is text", {"verification": "yes"}, "verification:", "verification must be a mapping"),
    (
        "verification without method",
        {"verification": "{ by: human:ada, at: 2026-05-01 }"},
        "verification:",
        "needs verification.method",
    ),
    (
        "verification without by",
        {"verification": "{ method: m, at: 2026-05-01 }"},
        "verification:",
        "verification.by",
    ),
    (
        "verification without at",
        {"verification": "{ method: m, by: human:a }"},
        "verification:",
        "verification.at",
    ),
    (
        "verifier without colon",
        {"verification": "{ method: m, by: ada, at: 2026-05-01 }"},
        "verification:",
        'verification.by "ada" must contain a colon',
    ),
    (
        "verification at no time",
        {"verification": "{ method: m, by: human:ada, at: soon }"},
        "verification:",
        'verification.at "soon" must be YYYY-MM-DD or an RFC 3339 timestamp',
    ),
    (
        "verification of other evidence",
        {"verification": "{ method: m, by: human:ada, at: 2026-05-01, evidence_refs: [b] }"},
        "verification:",
        'verification.evidence_refs names "b", which is no evidence of this claim',
    ),
    (
        "unknown verification field",
        {"verification": "{ method: m, by: human:ada, at: 2026-05-01, mood: good }"},
        "verification:",
        'verification contains unknown field "mood"',
    ),
    (
        "decisions is a mapping",
        {"decisions": "{ action: rejected }"},
        "decisions:",
        "must be a list of mappings",
    ),
    (
        "decision action",
        {"decisions": "[{ action: verified, by: human:ada, at: 2026-05-01 }]"},
        "decisions:",
        'decisions[0].action "verified" is not one of rejected, superseded, archived',
    ),
    (
        "decided by a process",
        {"decisions": "[{ action: rejected, by: process:x, at: 2026-05-01 }]"},
        "decisions:",
        'decisions[0].by "process:x" must be human:... or github:...',
    ),
    (
        "decision at no time",
        {"decisions": "[{ action: rejected, by: human:ada, at: 2026-02-30 }]"},
        "decisions:",
        'decisions[0].at "2026-02-30" must be',
    ),
    (
        "rejected without decision",
        {"status": "rejected"},
        "status:",
        "needs a decisions entry with action rejected",
    ),
    (
        "archived without decision",
        {"status": "archived"},
        "status:",
        "needs a decisions entry with action archived",
    ),
    (
        "another decision",
        {"status": "rejected", "decisions": "[{ action: archived, by: human:ada, at: 2026-05-01 }]"},
        "status:",
        "status rejected needs a decisions entry with action rejected",
    ),
    (
        "superseded by nobody",
        {"status": "superseded", "decisions": "[{ action: superseded, by: human:ada, at: 2026-05-01 }]"},
        "status:",
        "is superseded, but no other claim lists it under relations.supersedes",
    ),
    # relations
    (
        "relations is a list",
        {"relations": "[ex:c/x]"},
        "relations:",
        "relations must be a mapping, not a list",
    ),
    (
        "unknown relation",
        {"relations": "{ likes: [ex:c/x] }"},
        "relations:",
        'relations contains unknown field "likes"',
    ),
    ("relation is text", {"relations": "{ contradicts: ex:c/x }"}, "relations:", "must be a list of terms"),
    (
        "relation to nothing",
        {"relations": "{ contradicts: [ex:c/x] }"},
        "relations:",
        'relations.contradicts names "ex:c/x", which is no claim of this bundle',
    ),
    (
        "relation to itself",
        {"relations": "{ derived_from: ['https://example.com/k/c/one'] }"},
        "relations:",
        "relations.derived_from names the claim itself",
    ),
    # section
    (
        "section_ref without #",
        {"section_ref": "text"},
        "section_ref:",
        'section_ref "text" must be # and an id',
    ),
    (
        "section_ref to nothing",
        {"section_ref": '"#nowhere"'},
        "section_ref:",
        'section_ref "#nowhere" must match exactly one explicit HTML id in this page; found 0',
    ),
    # ontology
    (
        "undeclared predicate",
        {"predicate": "ex:unheard"},
        "predicate:",
        'predicate "ex:unheard" is not declared in claim_ontology.predicates',
    ),
    (
        "undeclared subject",
        {"subject": "ex:unheard"},
        "subject:",
        'subject "ex:unheard" is not declared in claim_ontology.entities',
    ),
    ("deprecated subject", {"subject": "ex:old-gate"}, "subject:", 'is deprecated; use "ex:gate"'),
    (
        "deprecated object",
        {"object": "{ ref: ex:old-gate }"},
        "object:",
        'object.ref "ex:old-gate" is deprecated; use "ex:gate"',
    ),
    (
        "deprecated in scope",
        {"scope": "{ ex:where: { ref: ex:old-gate } }"},
        "scope:",
        'scope.ex:where.ref "ex:old-gate" is deprecated; use "ex:gate"',
    ),
    (
        "entity kind with a value",
        {"predicate": "ex:dependsOn"},
        "object:",
        'object must be a ref, because "ex:dependsOn" takes an entity',
    ),
    (
        "undeclared object",
        {"predicate": "ex:dependsOn", "object": "{ ref: ex:unheard }"},
        "object:",
        'object.ref "ex:unheard" is not declared in claim_ontology.entities',
    ),
    (
        "literal kind with a ref",
        {"predicate": "ex:name", "object": "{ ref: ex:vault }"},
        "object:",
        'object must be a value, because "ex:name" takes a literal',
    ),
]


@pytest.mark.parametrize(
    ("fields", "needle", "message"), [row[1:] for row in FIELDS], ids=[row[0] for row in FIELDS]
)
def test_a_broken_field_is_named_with_its_line(
    fields: dict[str, str | None], needle: str, message: str
) -> None:
    item = claim(**fields)  # type: ignore[arg-type]
    if fields.get("id", "") is None:
        item = item.replace("- id: ex:c/one\n  ", "- ")
    text = page(item)
    start = line_of(text, "claims:")
    line = start + line_of("\n".join(text.split("\n")[start:]), needle)
    issue = issue_of(text)
    assert message in issue.message
    assert issue.line == line


QUANTITY = "{ value: 30, unit: unit:MIN, quantity_kind: quantitykind:Time }"
TIMED = {"predicate": "ex:timeout", "object": QUANTITY, "scope": "{ ex:environment: { ref: ex:prod } }"}


@pytest.mark.parametrize(
    ("change", "needle", "message"),
    [
        ({"subject": "ex:team"}, "subject:", 'has none of the types of "ex:timeout": ex:Service'),
        ({"object": "{ value: 30 }"}, "object:", "object needs unit and quantity_kind"),
        (
            {"object": "{ value: 30.5, unit: unit:MIN, quantity_kind: quantitykind:Time }"},
            "object:",
            'object.datatype must be "xsd:integer" for "ex:timeout"; it is "xsd:decimal"',
        ),
        (
            {"object": '{ value: "30", unit: unit:MIN, quantity_kind: quantitykind:Time }'},
            "object:",
            'object.datatype must be "xsd:integer" for "ex:timeout"; it is "xsd:string"',
        ),
        (
            {"object": "{ value: 30, unit: unit:HR, quantity_kind: quantitykind:Time }"},
            "object:",
            'object.unit must be "unit:MIN" for "ex:timeout"; it is "unit:HR"',
        ),
        (
            {"object": "{ value: 30, unit: unit:MIN, quantity_kind: quantitykind:Mass }"},
            "object:",
            'object.quantity_kind must be "quantitykind:Time"',
        ),
        ({"scope": None}, "- id:", 'scope lacks "ex:environment", which "ex:timeout" requires'),
    ],
)
def test_what_a_predicate_asks_for_is_checked(
    change: dict[str, str | None], needle: str, message: str
) -> None:
    text = page(claim(**{**TIMED, **change}))  # type: ignore[arg-type]
    found = claims_of({"page.md": text}).issues
    assert message in " / ".join(issue.message for issue in found)
    issue = next(issue for issue in found if message in issue.message)
    start = line_of(text, "claims:")
    assert issue.line == start + line_of("\n".join(text.split("\n")[start:]), needle)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("- [a, b]", "claims[0] must be a mapping, not a list"),
        ("- null", "claims[0] must be a mapping, not null"),
        ("- just text", "claims[0] must be a mapping, not a string"),
    ],
)
def test_a_claim_that_is_no_mapping_is_named_by_its_place(item: str, message: str) -> None:
    text = page(item)
    issue = issue_of(text)
    assert issue.message == message
    assert issue.line == line_of(text, item)


@pytest.mark.parametrize(("value", "kind"), [("", "null"), (" yes", "a string"), (" {a: 1}", "a mapping")])
def test_claims_must_be_a_list(value: str, kind: str) -> None:
    text = f"---\ntype: T\n{PROFILE}claims:{value}\n---\n"
    issue = issue_of(text)
    assert issue.message == f"claims must be a list of mappings, not {kind}"
    assert issue.line == 4


@pytest.mark.parametrize(
    "mark", ["", "openknowledge_claim_profile: 1\n", 'openknowledge_claim_profile: "2"\n']
)
@pytest.mark.parametrize("key", ["claims: []", "claim_refs: []"])
def test_the_profile_must_be_marked(mark: str, key: str) -> None:
    issue = issue_of(f"---\ntype: T\n{mark}{key}\n---\n")
    assert issue.message == 'openknowledge_claim_profile must be "1" when claims or claim_refs are present'
    assert issue.line == (3 if mark else 1)


def test_an_ontology_alone_needs_no_mark() -> None:
    text = "---\ntype: T\nclaim_ontology: { entities: [{ id: ex:new }] }\n---\n"
    assert claims_of({"page.md": text}).issues == ()


VERSION = {
    "evidence_ref": "a",
    "source_ref": "notes",
    "resource": "https://example.com/notes",
    "sha256": "a" * 64,
    "by": "human:ada",
    "at": "2026-05-01",
}


@pytest.mark.parametrize("missing", list(VERSION))
def test_an_evidence_version_needs_all_of_its_fields(missing: str) -> None:
    version = ", ".join(f"{key}: {value}" for key, value in VERSION.items() if key != missing)
    verification = f"{{ method: m, by: human:ada, at: 2026-05-01, evidence_versions: [{{ {version} }}] }}"
    text = page(claim(**evidence("{ id: a, source_ref: notes }"), verification=verification))
    issue = issue_of(text)
    assert f"needs verification.evidence_versions[0].{missing}" in issue.message
    assert issue.line == line_of(text, "verification:")


def test_an_evidence_version_needs_a_whole_digest() -> None:
    version = ", ".join(f"{key}: {value}" for key, value in {**VERSION, "sha256": "A" * 64}.items())
    verification = f"{{ method: m, by: human:ada, at: 2026-05-01, evidence_versions: [{{ {version} }}] }}"
    issue = issue_of(page(claim(**evidence("{ id: a, source_ref: notes }"), verification=verification)))
    assert "evidence_versions[0].sha256 must be 64 lower-case hexadecimal digits" in issue.message


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("observe", "sometimes", 'observe "sometimes" is not one of manual, metadata, fetch, pinned'),
        ("sha256", "abc", "sha256 must be 64 lower-case hexadecimal digits"),
        ("role", "guess", 'role "guess" is not one of authoritative, supporting, contradicting'),
        (
            "authority_approved_by",
            "process:x",
            'authority_approved_by "process:x" must be human:... or github:...',
        ),
        ("authority_approved_by", "human:ada", "authority_approved_by needs role: authoritative beside it"),
        ("author", "5", "author must be a string, not a number"),
        ("live_resource", "[a]", "live_resource must be a string, not a list"),
        ("access", "everyone", 'access "everyone" is not an access label'),
        ("access", "[team:a, 7]", 'access "7" is not an access label'),
        ("access", "{ team: a }", "access must be a list of access labels, not a mapping"),
        ("access", "", "access must be a list of access labels, not null"),
    ],
)
def test_a_source_that_claims_may_cite_is_well_formed(key: str, value: str, message: str) -> None:
    text = page(claim(), sources=f"- id: notes\n  resource: https://example.com/notes\n  {key}: {value}\n")
    issue = issue_of(text)
    assert issue.message.startswith("sources[0].")
    assert message in issue.message
    assert issue.line == line_of(text, f"{key}:")


def test_a_cited_source_needs_a_resource() -> None:
    text = page(claim(**evidence("{ id: a, source_ref: bare }")), sources="- id: bare\n")
    issue = issue_of(text)
    assert 'evidence "a" source "bare" needs a resource' in issue.message
    assert issue.line == line_of(text, "source_ref: bare")


def test_of_sources_with_one_id_the_last_is_used() -> None:
    sources = "- id: twice\n- id: twice\n  resource: https://example.com/second\n"
    found = claims_of({"page.md": page(claim(**evidence("{ id: a, source_ref: twice }")), sources=sources)})
    assert found.issues == ()
    document = found.claims[0].document
    assert found.sources_of(document)["twice"].resource == "https://example.com/second"


def test_every_field_at_once_is_read() -> None:
    text = page(
        claim(
            "ex:c/full",
            object='{ value: "Guten Tag", language: DE-ch }',
            scope="{ ex:where: { ref: ex:prod }, ex:a: { value: true } }",
            evidence="\n    - { id: b, source_ref: notes, stance: opposes, role: ex:role/log, "
            "observed_at: 2024-02-29 }",
            owners='[b, " a ", b]',
            status="verified",
            valid_time="{ from: 2024-02-29, until: 2026-06-01T00:00:00+02:00 }",
            stale_after="2030-01-01",
            verification="{ method: m, by: github:ada, at: 2026-05-01, evidence_refs: [b, b] }",
            decisions="[{ action: archived, by: human:ada, at: 2026-05-01, reason: Because. }]",
            section_ref='"#text"',
        ),
        body="# Page\n\n## Text\n\nWords.\n",
    )
    (found,) = claims_of({"page.md": text}).claims
    assert found.object.language == "de-ch"
    assert found.object.datatype == "rdf:langString"
    assert [dimension for dimension, _ in found.scope] == ["ex:a", "ex:where"]
    assert found.owners == ("a", "b")
    assert found.trust_tier == "human-reviewed"
    assert found.verification is not None
    assert found.verification.evidence_refs == ("b",)
    assert found.decisions[0].reason == "Because."
    assert found.line == line_of(text, "id: ex:c/full")


def test_owners_come_from_the_page_unless_the_claim_names_its_own() -> None:
    text = page(
        claim("ex:c/a") + claim("ex:c/b", owners="[team:b]"), extra="owner: team:x\nowners: [team:a, team:x]"
    )
    first, second = claims_of({"page.md": text}).claims
    assert first.owners == ("team:a", "team:x")
    assert second.owners == ("team:b",)


@pytest.mark.parametrize(
    ("value", "datatype", "text"),
    [
        ("60", "xsd:integer", "60"),
        ('"60"', "xsd:string", "60"),
        ("true", "xsd:boolean", "true"),
        ("0.5", "xsd:decimal", "0.5"),
        ("60.0", "xsd:decimal", "60"),
        ("-0.0", "xsd:decimal", "0"),
        ("1e21", "xsd:decimal", "1e+21"),
        ("7" * 400, "xsd:integer", "7" * 400),
        ("2026-11-30", "xsd:string", "2026-11-30"),
        ("no", "xsd:string", "no"),
    ],
)
def test_the_datatype_is_inferred_from_the_value(value: str, datatype: str, text: str) -> None:
    (found,) = claims_of({"page.md": page(claim(object=f"{{ value: {value} }}"))}).claims
    assert (found.object.datatype, found.object.text) == (datatype, text)


def test_a_number_and_the_same_digits_as_text_are_different_objects() -> None:
    number, text = claims_of(
        {"page.md": page(claim("ex:c/a", object="{ value: 60 }") + claim("ex:c/b", object='{ value: "60" }'))}
    ).claims
    assert number.object.normalised == '{"value":60,"datatype":"xsd:integer"}'
    assert text.object.normalised == '{"value":"60","datatype":"xsd:string"}'


def test_one_page_may_carry_ten_thousand_claims() -> None:
    items = "".join(
        f"- {{ id: ex:c/{n}, slot: ex:s/{n}, subject: ex:gate, predicate: ex:free, "
        f"object: {{ value: {n} }} }}\n"
        for n in range(10_000)
    )
    found = claims_of({"page.md": page(items)})
    assert len(found.claims) == 10_000
    assert found.issues == ()


def test_several_faults_of_one_claim_are_all_named() -> None:
    text = page(claim(slot="5", status="sure", stale_after="soon"))
    assert len(claims_of({"page.md": text}).issues) == 3


def test_claims_of_index_and_log_pages_are_read_too() -> None:
    found = claims_of({"index.md": page(claim("ex:c/a")), "log.md": page(claim("ex:c/b"))})
    assert [item.id for item in found.claims] == ["ex:c/a", "ex:c/b"]


def test_a_page_with_broken_frontmatter_contributes_nothing() -> None:
    found = claims_of({"page.md": page(claim()).replace("type: Service", "type: [")})
    assert found.claims == ()
    assert found.issues == ()
