"""Claims among each other: identity, references, chains, and what a fault keeps out."""

from __future__ import annotations

import pytest
from openknowledge.engine.claims.claimset import cycles, read_claims
from openknowledge.engine.errors import OpenKnowledgeError

from tests.engine.claims.conftest import NOW, ONTOLOGY, bundle_of, claim, claims_of, line_of, page

ENDED = "[{ action: superseded, by: human:ada, at: 2026-05-01 }]"


def supersedes(*targets: str) -> str:
    return f"{{ supersedes: [{', '.join(targets)}] }}"


def test_an_id_is_unique_in_the_whole_bundle_and_the_later_page_is_at_fault() -> None:
    later = page(claim("ex:c/other") + claim("ex:c/one"))
    found = claims_of({"a.md": page(claim("ex:c/one")), "b.md": later})
    (issue,) = found.issues
    assert (issue.path, issue.line) == ("b.md", line_of(later, "id: ex:c/one"))
    assert issue.message == 'claim "ex:c/one" is not globally unique: a.md declares it too'


def test_no_copy_of_a_repeated_id_is_believed() -> None:
    found = claims_of({"a.md": page(claim("ex:c/one")), "b.md": page(claim("ex:c/one") + claim("ex:c/two"))})
    assert [item.id for item in found.claims] == ["ex:c/two"]
    assert [(entry.document, entry.claim_id) for entry in found.quarantined] == [
        ("a.md", "ex:c/one"),
        ("b.md", "ex:c/one"),
    ]


def test_copies_are_checked_against_the_last_page_that_declares_the_id() -> None:
    cited = claim("ex:c/one", evidence="\n    - { id: a, source_ref: here }")
    here = "- id: here\n  resource: https://example.com/h\n"
    found = claims_of({"a.md": page(cited, sources=here), "b.md": page(claim("ex:c/one"))})
    assert any('source_ref "here" is no source of this page' in issue.message for issue in found.issues)


def test_a_reference_must_name_a_claim() -> None:
    text = page(extra="claim_refs:\n  - ex:c/one\n  - ex:c/none")
    found = claims_of({"a.md": page(claim("ex:c/one")), "b.md": text})
    (issue,) = found.issues
    assert (issue.path, issue.line) == ("b.md", line_of(text, "ex:c/none"))
    assert issue.message == 'claim_refs names "ex:c/none", which is no claim of this bundle'


@pytest.mark.parametrize(
    ("refs", "message"),
    [
        ("ex:c/one", "claim_refs must be a list of terms, not a string"),
        ("[5]", "claim_refs[0] must be a string, not a number"),
        ("[' ']", "claim_refs[0] must not be blank"),
        ("[one]", 'claim_refs[0] "one" must be an absolute IRI or use a declared namespace'),
    ],
)
def test_references_are_a_list_of_terms(refs: str, message: str) -> None:
    found = claims_of({"a.md": page(claim("ex:c/one"), extra=f"claim_refs: {refs}")})
    assert [issue.message for issue in found.issues] == [message]


def test_a_cycle_of_supersedes_is_named_once_and_keeps_out_its_members_alone() -> None:
    items = (
        claim("ex:c/a", relations=supersedes("ex:c/b"))
        + claim("ex:c/b", relations=supersedes("ex:c/c"))
        + claim("ex:c/c", relations=supersedes("ex:c/a"))
        + claim("ex:c/above", relations=supersedes("ex:c/a"))
        + claim("ex:c/free")
    )
    text = page(items)
    found = claims_of({"a.md": text})
    (issue,) = found.issues
    assert issue.message == 'claim supersedes relation contains a cycle at "ex:c/a"'
    assert issue.line == line_of(text, "supersedes")
    assert [item.id for item in found.claims] == ["ex:c/above", "ex:c/free"]
    assert [entry.claim_id for entry in found.quarantined] == ["ex:c/a", "ex:c/b", "ex:c/c"]
    assert [(entry.source, entry.target) for entry in found.dangling] == [("ex:c/above", "ex:c/a")]


def _chain(length: int, *, closed: bool) -> str:
    items = []
    for number in range(length):
        target = number - 1 if number else (length - 1 if closed else None)
        relations = supersedes(f"ex:c/{target}") if target is not None else None
        ended = number < length - 1
        items.append(
            claim(
                f"ex:c/{number}",
                status="superseded" if ended else "supported",
                decisions=ENDED if ended else None,
                relations=relations,
            )
        )
    return page("".join(items))


def test_a_chain_of_five_thousand_is_read_without_recursion() -> None:
    found = claims_of({"a.md": _chain(5_000, closed=False)})
    assert found.issues == ()
    assert len(found.claims) == 5_000


def test_a_cycle_of_five_thousand_is_found() -> None:
    found = claims_of({"a.md": _chain(5_000, closed=True)})
    assert [issue.message for issue in found.issues] == [
        'claim supersedes relation contains a cycle at "ex:c/0"'
    ]
    assert found.claims == ()


def test_cycles_are_the_strongly_connected_components() -> None:
    graph = {"a": ["b"], "b": ["a", "c"], "c": ["d"], "d": ["c"], "e": ["a"], "f": []}
    assert list(cycles(graph)) == [["a", "b"], ["c", "d"]]


def test_a_cycle_through_derived_from_is_allowed() -> None:
    items = claim("ex:c/a", relations="{ derived_from: [ex:c/b] }") + claim(
        "ex:c/b", relations="{ derived_from: [ex:c/a] }"
    )
    assert claims_of({"a.md": page(items)}).issues == ()


def test_a_superseded_claim_with_a_successor_is_sound() -> None:
    old = claim("ex:c/old", status="superseded", decisions=ENDED)
    assert (
        claims_of(
            {"a.md": page(old), "b.md": page(claim("ex:c/new", relations=supersedes("ex:c/old")))}
        ).issues
        == ()
    )


@pytest.mark.parametrize(
    ("body", "reference", "found"),
    [
        ('<a id="here"></a>\n## Words\n\nText.\n', "#here", None),
        ("## Here\n\nText.\n", "#here", None),
        ('<a id="here"></a>\n## Here\n\nText.\n', "#here", None),
        ('<a id="here"></a>\n\nText.\n\n<a id="here"></a>\n\nMore.\n', "#here", "found 2"),
        ("## A\n\nx\n\n## A\n\ny\n\n## A-2\n\nz\n", "#a-2", "found 0, and 2 headings with that slug"),
        ("Text.\n", "#here", "found 0, and 0 headings with that slug"),
    ],
)
def test_a_section_ref_names_one_explicit_id_or_else_one_heading(
    body: str, reference: str, found: str | None
) -> None:
    issues = claims_of({"a.md": page(claim(section_ref=f'"{reference}"'), body=body)}).issues
    if found is None:
        assert issues == ()
    else:
        assert [found in issue.message for issue in issues] == [True]


# Quarantine


def test_one_bad_claim_keeps_out_itself_alone() -> None:
    found = claims_of({"a.md": page(claim("ex:c/bad", status="sure") + claim("ex:c/good"))})
    assert [item.id for item in found.claims] == ["ex:c/good"]
    assert [(entry.document, entry.claim_id, entry.rule) for entry in found.quarantined] == [
        ("a.md", "ex:c/bad", "claim-profile")
    ]
    assert not found.valid


def test_a_fault_of_the_page_keeps_out_all_its_claims_and_no_others() -> None:
    bad = page(claim("ex:c/a")).replace('openknowledge_claim_profile: "1"\n', "")
    found = claims_of({"a.md": bad, "b.md": page(claim("ex:c/b"))})
    assert [item.id for item in found.claims] == ["ex:c/b"]
    (entry,) = found.quarantined
    assert (entry.document, entry.claim_id) == ("a.md", "")


def test_a_relation_to_a_quarantined_claim_stays_and_is_reported() -> None:
    good = claim("ex:c/good", relations="{ derived_from: [ex:c/bad] }")
    text = page(claim("ex:c/bad", status="sure") + good, extra="")
    found = claims_of({"a.md": text, "b.md": page(extra="claim_refs: [ex:c/bad]")})
    assert [item.id for item in found.claims] == ["ex:c/good"]
    assert found.claims[0].derived_from == ("ex:c/bad",)
    assert [(e.source, e.kind, e.target) for e in found.dangling] == [
        ("b.md", "claim_ref", "ex:c/bad"),
        ("ex:c/good", "derived_from", "ex:c/bad"),
    ]


def test_strict_refuses_and_says_where_the_first_fault_is() -> None:
    text = page(claim(status="sure"))
    bundle = bundle_of({"ontology.md": ONTOLOGY, "a.md": text})
    with pytest.raises(OpenKnowledgeError, match="--strict") as caught:
        read_claims(bundle, now=NOW, strict=True)
    assert (caught.value.path, caught.value.line) == ("a.md", line_of(text, "status:"))


def test_strict_accepts_a_sound_bundle() -> None:
    bundle = bundle_of({"ontology.md": ONTOLOGY, "a.md": page(claim())})
    assert read_claims(bundle, now=NOW, strict=True).valid


def test_asking_for_a_quarantined_claim_says_why_it_is_kept_out() -> None:
    found = claims_of({"a.md": page(claim("ex:c/bad", status="sure"))})
    with pytest.raises(OpenKnowledgeError, match=r"is quarantined: .* status"):
        found.claim("https://example.com/k/c/bad")
    with pytest.raises(OpenKnowledgeError, match="there is no claim"):
        found.claim("ex:c/none")


def test_both_spec_versions_read_claims_alike() -> None:
    from openknowledge.engine.bundle.bundle import bundle_from_files

    files = [("ontology.md", ONTOLOGY.encode()), ("a.md", page(claim(status="sure")).encode())]
    found = [
        read_claims(bundle_from_files(bundle_of({}).root, files, spec=spec), now=NOW).issues
        for spec in ("0.1", "0.2")
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 1
