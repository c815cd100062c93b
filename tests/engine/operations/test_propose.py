"""A proposal is checked before anybody reviews it, and changes nothing."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from openknowledge.engine import limits
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.propose import prepare_proposal, propose_claim

from .conftest import PAGE, Sample, new_claim


def propose(sample: Sample, document: str = "page.md", **changes: Any) -> Any:
    return propose_claim(
        sample.store(), document=document, claim=new_claim(**changes), reason="because", confidence=0.5
    )


def test_a_proposal_names_the_bytes_and_carries_the_patch(sample: Sample) -> None:
    proposal = propose(sample)
    assert proposal["type"] == "openknowledge.claim-proposal"
    assert (proposal["version"], proposal["action"]) == (1, "create")
    assert proposal["documentSha256"] == hashlib.sha256(PAGE.encode()).hexdigest()
    assert [operation["path"] for operation in proposal["patch"]] == ["/claims/-"]
    assert proposal["patch"][0]["value"]["evidence"][0]["source_ref"] == "live"


def test_its_fields_stand_in_one_order(sample: Sample) -> None:
    assert list(propose(sample)) == [
        "type",
        "version",
        "action",
        "document",
        "documentSha256",
        "claim",
        "reason",
        "confidence",
        "patch",
    ]


def test_the_status_becomes_proposed(sample: Sample) -> None:
    proposal = propose(sample, status="verified")
    assert proposal["claim"]["status"] == "proposed"
    assert proposal["patch"][0]["value"]["status"] == "proposed"


def test_nothing_is_written(sample: Sample) -> None:
    before = sample.files()
    propose(sample)
    assert sample.files() == before


def test_a_page_without_claims_gets_the_profile_mark(sample: Sample) -> None:
    sample.replace("guide.md", "title: Guide\n", "title: Guide\nsources: [{ id: s, resource: page.md }]\n")
    proposal = propose(sample, "guide.md", evidence=[{"id": "e", "sourceRef": "s"}])
    assert [operation["path"] for operation in proposal["patch"]] == [
        "/openknowledge_claim_profile",
        "/claims",
    ]


def test_a_path_is_normalised(sample: Sample) -> None:
    assert propose(sample, "./sources/../page.md")["document"] == "page.md"


def test_equal_input_gives_equal_proposals(sample: Sample) -> None:
    assert propose(sample) == propose(sample)


def test_an_id_that_exists_and_terms_nobody_declared_are_left_to_apply(sample: Sample) -> None:
    store = sample.store()
    taken = prepare_proposal(
        store, document="page.md", claim=new_claim(id="ex:idle"), reason="r", confidence=1
    )
    assert taken.objections == ['claim occurrence id already exists: "ex:idle"']
    undeclared = prepare_proposal(
        store, document="page.md", claim=new_claim(predicate="nope:p"), reason="r", confidence=1
    )
    assert any("nope:p" in objection for objection in undeclared.objections)


def test_the_diff_shows_only_added_lines(sample: Sample) -> None:
    prepared = prepare_proposal(
        sample.store(), document="page.md", claim=new_claim(), reason="r", confidence=1
    )
    changed = [line for line in prepared.diff.splitlines()[2:] if line[0] in "+-"]
    assert changed[0] == "+  - id: ex:new"
    assert all(line.startswith("+") for line in changed)


def test_every_field_of_a_claim_is_written_as_pages_write_it(sample: Sample) -> None:
    proposal = propose(
        sample,
        object={
            "value": 5,
            "datatype": "xsd:integer",
            "unit": "unit:MIN",
            "quantityKind": "quantitykind:Time",
        },
        scope={"ex:in": {"ref": "ex:production"}},
        owners=["team:a"],
        validTime={"from": "2026-01-01", "until": "2027-01-01"},
        staleAfter="2026-12-24",
        relations={"supersedes": ["ex:idle"], "derivedFrom": ["ex:idle"], "contradicts": []},
        sectionRef="#timeout",
        evidence=[
            {
                "id": "e",
                "sourceRef": "pinned",
                "stance": "opposes",
                "role": "method",
                "observedAt": "2026-01-02",
                "selector": {"type": "text_position", "start": 0, "end": 3, "conformsTo": "ex:format"},
            }
        ],
    )
    assert proposal["patch"][0]["value"] == {
        "id": "ex:new",
        "slot": "ex:slot-place",
        "subject": "ex:alpha",
        "predicate": "ex:runsIn",
        "object": {
            "value": 5,
            "datatype": "xsd:integer",
            "unit": "unit:MIN",
            "quantity_kind": "quantitykind:Time",
        },
        "scope": {"ex:in": {"ref": "ex:production"}},
        "evidence": [
            {
                "id": "e",
                "source_ref": "pinned",
                "stance": "opposes",
                "role": "method",
                "selector": {"type": "text_position", "start": 0, "end": 3, "conforms_to": "ex:format"},
                "observed_at": "2026-01-02",
            }
        ],
        "owners": ["team:a"],
        "status": "proposed",
        "valid_time": {"from": "2026-01-01", "until": "2027-01-01"},
        "stale_after": "2026-12-24",
        "relations": {"derived_from": ["ex:idle"], "supersedes": ["ex:idle"]},
        "section_ref": "#timeout",
    }


QUOTE = {"type": "text_quote", "exact": "is 30 minutes"}


def quoting(**selector: Any) -> list[dict[str, Any]]:
    return [{"id": "e", "sourceRef": "pinned", "selector": selector}]


BAD_CLAIMS: list[tuple[dict[str, Any], str]] = [
    ({"colour": "red"}, "colour is an unknown field"),
    ({"source_ref": "x"}, "source_ref is an unknown field; JSON writes sourceRef"),
    ({"slot": None}, "slot is missing"),
    ({"slot": 1}, "slot should be a valid string"),
    ({"verification": {"by": "human:x"}}, "a proposed claim has no verification"),
    ({"decisions": []}, "a proposed claim has no decisions"),
    ({"id": "no-colon"}, 'id "no-colon" must be an absolute IRI or prefix:name; it has no colon'),
    ({"subject": "alpha"}, 'subject "alpha" must be'),
    ({"object": {"ref": "alpha"}}, 'object.ref "alpha" must be'),
    ({"object": {"ref": "ex:a", "value": 1}}, "give exactly one of ref and value"),
    ({"object": {}}, "give exactly one of ref and value"),
    ({"object": {"value": "x", "unit": "unit:MIN"}}, "object.unit needs quantity_kind"),
    (
        {"object": {"value": "x", "language": "en", "datatype": "xsd:string"}},
        "object.language needs datatype",
    ),
    ({"evidence": []}, "evidence should have at least 1 item"),
    ({"evidence": [{"id": "e", "sourceRef": "live"}] * 2}, 'evidence "e" is duplicated'),
    ({"evidence": [{"id": "e", "sourceRef": "nowhere"}]}, '"nowhere" is no source of page.md; its sources: '),
    ({"evidence": [{"id": "e", "sourceRef": "live", "stance": "maybe"}]}, "evidence[0].stance should be"),
    (
        {"evidence": quoting(type="text_quote", exact="31 minutes")},
        "exact must occur exactly once; it does not",
    ),
    ({"evidence": quoting(type="text_quote", exact="timeout")}, "it occurs more than once"),
    ({"evidence": quoting(**QUOTE, prefix="never")}, "prefix does not stand directly before exact"),
    ({"evidence": quoting(type="text_quote")}, "text_quote needs exact"),
    ({"evidence": quoting(type="text_position", start=5, end=5)}, "start must be before end"),
    ({"evidence": quoting(type="data_position", start=0, end=10_000)}, "end 10000 is beyond the artifact"),
    ({"evidence": quoting(type="page", page=1)}, "cannot be verified here"),
    ({"evidence": [{"id": "e", "sourceRef": "live", "selector": QUOTE}]}, "is not observe: pinned"),
    ({"sectionRef": "#nowhere"}, "must match exactly one explicit HTML id"),
    ({"sectionRef": "timeout"}, "section_ref"),
    ({"validTime": {"from": "2026-02-02", "until": "2026-02-01"}}, "must be before valid_time.until"),
    ({"validTime": {"from": "yesterday"}}, "must be YYYY-MM-DD or an RFC 3339"),
    ({"staleAfter": "2026-02-30"}, "must be a date YYYY-MM-DD"),
    ({"owners": None, "scope": {"ex:a": {"ref": "nocolon"}}}, 'scope.ex:a.ref "nocolon" must be'),
    ({"relations": {"supersedes": ["abc"]}}, 'relations.supersedes "abc" must be'),
    ({"object": {"ref": "ex:a b"}}, "must be an absolute IRI or use a declared namespace"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_CLAIMS, ids=[message for _, message in BAD_CLAIMS])
def test_a_bad_claim_is_refused(sample: Sample, changes: dict[str, Any], message: str) -> None:
    assert message in sample.refused(lambda: propose(sample, **changes))


def test_null_is_refused_with_its_place(sample: Sample) -> None:
    claim = new_claim() | {"scope": {"ex:a": None}}
    with pytest.raises(OpenKnowledgeError, match=r"scope.ex:a must not be null"):
        propose_claim(sample.store(), document="page.md", claim=claim, reason="r", confidence=1)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("nope.md", "there is no such file"),
        ("../page.md", "the path has the segment .."),
        ("/etc/passwd", "the path is absolute"),
        ("C:\\x.md", "backslash"),
        ("C:/x.md", "drive letter"),
        ("a\0.md", "NUL"),
        ("", "the path is empty"),
        ("sources/notes.txt", "not a page of this bundle"),
        (".git/x.md", ".git is not part of the bundle"),
    ],
)
def test_a_document_that_is_no_page_is_refused(sample: Sample, document: str, message: str) -> None:
    assert message in sample.refused(lambda: propose(sample, document))


def test_pinned_evidence_is_never_edited(sample: Sample) -> None:
    path = ".openknowledge/evidence/sha256/x/artifact.md"
    sample.write(path, "---\ntype: T\nsources: [{ id: live, resource: x }]\n---\n\n# T\n")
    assert "pinned evidence is never edited" in sample.refused(lambda: propose(sample, path))


def test_a_symbolic_link_is_not_followed(sample: Sample) -> None:
    (sample.root / "link.md").symlink_to(sample.root / "page.md")
    assert "symbolic link" in sample.refused(lambda: propose(sample, "link.md"))


def test_a_changed_artifact_is_tampering(sample: Sample) -> None:
    path = next(path for path in sample.files() if path.endswith("artifact.txt"))
    sample.write(path, "The idle timeout\nis 30 minutes!\n")
    assert "possible tampering" in sample.refused(lambda: propose(sample, evidence=quoting(**QUOTE)))


def test_a_restricted_source_is_not_known_to_who_may_not_see_it(sample: Sample) -> None:
    sample.replace("page.md", "    title: Settings\n", "    title: Settings\n    access: [team:secret]\n")
    assert "is no source of page.md" in sample.refused(lambda: propose(sample, evidence=quoting(**QUOTE)))
    store = sample.store(access=["team:secret"])
    claim = new_claim(evidence=quoting(**QUOTE))
    assert propose_claim(store, document="page.md", claim=claim, reason="r", confidence=1)["claim"]


def test_a_source_without_a_resource_is_refused(sample: Sample) -> None:
    sample.replace("page.md", "resource: https://example.org/doc", "title: none")
    evidence = [{"id": "e", "sourceRef": "remote"}]
    assert "needs a resource" in sample.refused(lambda: propose(sample, evidence=evidence))


@pytest.mark.parametrize("confidence", [0, -0.1, 1.0001, float("nan"), float("inf"), True, "1"])
def test_confidence_is_above_0_and_at_most_1(sample: Sample, confidence: Any) -> None:
    with pytest.raises(OpenKnowledgeError, match="confidence must be a number above 0 and at most 1"):
        propose_claim(
            sample.store(), document="page.md", claim=new_claim(), reason="r", confidence=confidence
        )


@pytest.mark.parametrize("confidence", [1, 1e-9])
def test_the_bounds_of_confidence_are_accepted(sample: Sample, confidence: float) -> None:
    found = propose_claim(
        sample.store(), document="page.md", claim=new_claim(), reason="r", confidence=confidence
    )
    assert found["confidence"] == confidence


def test_the_longest_reason_is_taken_and_one_byte_more_is_not(sample: Sample) -> None:
    longest = "é" * (limits.PROPOSAL_TEXT_RUNES // 2)
    for reason, message in ((longest + "x", "bytes; at most 4096"), ("", "blank"), (" \n", "blank")):
        with pytest.raises(OpenKnowledgeError, match=message):
            propose_claim(sample.store(), document="page.md", claim=new_claim(), reason=reason, confidence=1)
    propose_claim(sample.store(), document="page.md", claim=new_claim(), reason=longest, confidence=1)


def test_the_most_evidence_is_taken_and_one_more_is_not(sample: Sample) -> None:
    many = [{"id": f"e{number}", "sourceRef": "live"} for number in range(limits.PROPOSED_EVIDENCE + 1)]
    propose(sample, evidence=many[:-1])
    assert "evidence should have at most 100 items" in sample.refused(lambda: propose(sample, evidence=many))


def test_frontmatter_that_cannot_be_read_must_be_repaired_first(sample: Sample) -> None:
    sample.replace("page.md", "type:   Service", "type: [unclosed")
    assert "must be repaired" in sample.refused(lambda: propose(sample))


def test_claims_that_aliases_share_are_not_edited(sample: Sample) -> None:
    sample.replace("page.md", "claims:\n", "copy: *c\nclaims: &c\n")
    sample.replace("page.md", "copy: *c\n", "")
    sample.replace("page.md", "        source_ref: live\n", "        source_ref: live\ncopy: *c\n")
    assert "anchor &c" in sample.refused(lambda: propose(sample))
