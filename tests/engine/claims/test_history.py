"""What may not happen to claims between two states of a bundle."""

from __future__ import annotations

from typing import Any

import pytest
from openknowledge.engine.claims.history import TRANSITIONS, validate_claims
from openknowledge.engine.claims.model import STATUSES

from tests.engine.claims.conftest import claim, claims_of, line_of, page

REVIEW = "{ method: m, by: human:ada, at: 2026-05-01, evidence_refs: [e] }"
EVIDENCE = "\n    - { id: e, source_ref: notes }"


def with_status(status: str, **fields: Any) -> str:
    given: dict[str, Any] = {"status": status, "evidence": EVIDENCE}
    if status in ("verified", "disputed", "superseded", "archived", "rejected"):
        given["verification"] = REVIEW
    if status in ("rejected", "superseded", "archived"):
        given["decisions"] = f"[{{ action: {status}, by: human:ada, at: 2026-06-01 }}]"
    return claim("ex:c/one", **{**given, **fields})


SUCCESSOR = claim("ex:c/next", relations="{ supersedes: [ex:c/one] }")


def messages(before: str, after: str) -> list[str]:
    base = claims_of({"page.md": before})
    assert base.issues == ()
    result = validate_claims(claims_of({"page.md": after}), base=base, against="HEAD")
    assert result["against"] == "HEAD"
    for issue in result["lifecycleIssues"]:
        assert issue["rule"] == "claim-history"
    assert result["valid"] is (not result["issues"] and not result["lifecycleIssues"])
    return [issue["message"] for issue in result["lifecycleIssues"]]


@pytest.mark.parametrize("before", ["supported", "verified", "disputed"])
@pytest.mark.parametrize("after", STATUSES)
def test_a_protected_claim_takes_only_the_steps_that_are_allowed(before: str, after: str) -> None:
    found = messages(page(with_status(before) + SUCCESSOR), page(with_status(after) + SUCCESSOR))
    found = [text for text in found if "verification" not in text]
    if after in TRANSITIONS[before]:
        assert found == []
    else:
        assert found == [
            f'claim "ex:c/one" may not go from {before} to {after}; allowed: {", ".join(TRANSITIONS[before])}'
        ]


@pytest.mark.parametrize("before", ["extracted", "proposed"])
def test_a_claim_that_nobody_relied_on_may_change_and_go(before: str) -> None:
    assert messages(page(with_status(before)), page(with_status("supported", object="{ value: 5 }"))) == []
    assert messages(page(with_status(before)), page()) == []


@pytest.mark.parametrize("before", ["supported", "verified", "disputed"])
def test_a_protected_claim_may_not_disappear(before: str) -> None:
    (found,) = messages(page(with_status(before)), page())
    assert f'claim "ex:c/one" was {before} and may not disappear' in found


def test_a_claim_may_move_to_another_page() -> None:
    base = claims_of({"page.md": page(with_status("supported"))})
    moved = claims_of({"page.md": page(), "other.md": page(with_status("supported"))})
    assert validate_claims(moved, base=base)["lifecycleIssues"] == []


def test_a_claim_that_can_no_longer_be_read_has_not_disappeared() -> None:
    found = messages(page(with_status("supported")), page(with_status("supported", colour="red")))
    assert found == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slot": "ex:s/other"}, "its slot may not change"),
        ({"subject": "ex:vault"}, "its subject may not change"),
        ({"object": "{ value: other }"}, "its object may not change"),
        ({"scope": "{ ex:a: { value: b } }"}, "its scope may not change"),
        ({"valid_time": "{ from: 2026-01-01 }"}, "its valid_time may not change"),
        (
            {"evidence": "\n    - { id: e, source_ref: notes, stance: opposes }"},
            "its evidence may not change",
        ),
    ],
)
def test_what_a_protected_claim_says_may_not_change(change: dict[str, str], message: str) -> None:
    after = page(with_status("verified", **change))
    base = claims_of({"page.md": page(with_status("verified"))})
    (issue,) = validate_claims(claims_of({"page.md": after}), base=base)["lifecycleIssues"]
    assert message in issue["message"]
    field = next(iter(change))
    assert issue["line"] == line_of(after, f"{field}:")


def test_an_open_end_may_be_closed_but_not_moved() -> None:
    opened = with_status("supported", valid_time="{ from: 2026-01-01 }")
    closed = with_status("supported", valid_time="{ from: 2026-01-01, until: 2026-12-01 }")
    moved = with_status("supported", valid_time="{ from: 2026-01-01, until: 2026-12-02 }")
    assert messages(page(opened), page(closed)) == []
    assert len(messages(page(closed), page(moved))) == 1
    assert len(messages(page(closed), page(opened))) == 1


def version(digit: str) -> str:
    seen = f"evidence_ref: e, source_ref: notes, resource: r, sha256: {digit * 64}"
    return f"{{ {seen}, by: human:ada, at: 2026-05-01 }}"


def verified(*versions: str, by: str = "human:ada", refs: str = "[e]") -> str:
    recorded = f"evidence_refs: {refs}, evidence_versions: [{', '.join(versions)}]"
    text = f"{{ method: m, by: {by}, at: 2026-05-01, {recorded} }}"
    return page(with_status("verified", verification=text))


def test_recorded_evidence_versions_are_only_added_to() -> None:
    assert messages(verified(version("a")), verified(version("a"), version("b"))) == []
    for after in (verified(version("b"), version("a")), verified(), verified(version("b"))):
        (found,) = messages(verified(version("a")), after)
        assert "has lost or changed recorded evidence_versions" in found


def test_a_recorded_verification_may_not_be_rewritten_or_dropped() -> None:
    assert "changed after it was recorded" in messages(verified(), verified(by="human:bob"))[0]
    assert "has lost evidence_refs" in messages(verified(), verified(refs="[]"))[0]
    archived = with_status("archived", verification=None)
    assert "has lost its verification" in messages(page(with_status("verified")), page(archived))[0]


def test_a_disputed_claim_may_be_verified_anew() -> None:
    renewed = "{ method: m, by: human:bob, at: 2026-07-01 }"
    assert messages(page(with_status("disputed")), page(with_status("verified", verification=renewed))) == []


@pytest.mark.parametrize("reviewed", [False, True])
def test_removing_a_reference_needs_a_human_verification_of_the_page(reviewed: bool) -> None:
    review = "verified: [{ by: human:ada, at: 2026-05-01T00:00:00Z }]\n" if reviewed else ""
    before = page(with_status("supported"), extra=f"claim_refs: [ex:c/one]\n{review}")
    after = page(with_status("supported"), extra=review)
    found = messages(before, after)
    assert bool(found) is not reviewed
    if found:
        assert 'claim_refs no longer names "ex:c/one"' in found[0]


@pytest.mark.parametrize("approved", [False, True])
def test_a_new_authority_needs_an_approval_and_is_listed(approved: bool) -> None:
    approval = "  authority_approved_by: human:ada\n" if approved else ""
    plain = "- id: notes\n  resource: https://example.com/notes\n"
    after = page(claim(), sources=f"{plain}  role: authoritative\n{approval}")
    base = claims_of({"page.md": page(claim(), sources=plain)})
    result = validate_claims(claims_of({"page.md": after}), base=base)
    change = {"path": "page.md", "sourceId": "notes", "resource": "https://example.com/notes"}
    assert result["authorityChanges"] == [{**change, "approvedBy": "human:ada"} if approved else change]
    assert bool(result["lifecycleIssues"]) is not approved
    if not approved:
        assert result["lifecycleIssues"][0]["line"] == line_of(after, "role: authoritative")
    same = validate_claims(claims_of({"page.md": after}), base=claims_of({"page.md": after}))
    assert same["authorityChanges"] == []


def test_an_approval_of_an_authority_may_not_be_taken_away() -> None:
    plain = "- id: notes\n  resource: https://example.com/notes\n  role: authoritative\n"
    approved = claims_of({"page.md": page(claim(), sources=f"{plain}  authority_approved_by: human:ada\n")})
    (issue,) = validate_claims(claims_of({"page.md": page(claim(), sources=plain)}), base=approved)[
        "lifecycleIssues"
    ]
    assert 'source "notes" became authoritative or lost its approval' in issue["message"]


def test_without_a_base_the_report_has_the_claim_issues_alone() -> None:
    result = validate_claims(claims_of({"page.md": page(claim(status="sure"))}))
    assert "against" not in result
    assert result["valid"] is False
    assert (result["lifecycleIssues"], result["authorityChanges"]) == ([], [])
    assert result["quarantined"][0]["claimId"] == "ex:c/one"
    assert validate_claims(claims_of({}))["valid"] is True
