"""What may happen to a claim, who may do it, and which lines of the page change."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from openknowledge.engine import limits
from openknowledge.engine.clock import Clock, fixed_clock
from openknowledge.engine.operations.apply import apply_proposal
from openknowledge.engine.operations.lifecycle import (
    approve_authority,
    archive_claim,
    dispute_claim,
    link_claim,
    reconcile_claim,
    reject_claim,
    supersede_claim,
    verify_claim,
)
from openknowledge.engine.operations.lock import BundleLock, LockTimeoutError
from openknowledge.engine.operations.transaction import writing

from .conftest import ARTIFACT, NOW, SHA, Sample

CLOCK: Clock = fixed_clock(NOW)
AT = "2026-11-30T12:00:00Z"
NOTES = hashlib.sha256(b"notes\n").hexdigest()


def verify(sample: Sample, claim: str = "ex:idle", by: str = "human:ann") -> Any:
    return verify_claim(sample.root, claim, approved_by=by, clock=CLOCK)


def add(sample: Sample, **changes: Any) -> None:
    apply_proposal(sample.root, sample.propose(**changes))


# link


def test_link_adds_the_reference_and_the_profile_mark(sample: Sample) -> None:
    before = sample.files()
    report = link_claim(sample.root, "https://example.org/idle", "guide.md")
    assert sample.changed_lines(before) == [
        'guide.md: +openknowledge_claim_profile: "1"',
        "guide.md: +claim_refs:",
        "guide.md: +  - ex:idle",
    ]
    assert (report["action"], report["claimId"], report["document"]) == ("link", "ex:idle", "guide.md")
    assert sample.valid()


def test_link_keeps_the_references_sorted(sample: Sample) -> None:
    for name in ("ex:m", "ex:a", "ex:z"):
        add(sample, id=name)
    for name in ("ex:m", "ex:z", "ex:idle", "ex:a"):
        link_claim(sample.root, name, "guide.md")
    assert "claim_refs:\n  - ex:a\n  - ex:idle\n  - ex:m\n  - ex:z\n" in sample.text("guide.md")


def test_link_twice_changes_nothing_in_whichever_spelling(sample: Sample) -> None:
    sample.replace(
        "guide.md",
        "title: Guide\n",
        'title: Guide\nopenknowledge_claim_profile: "1"\nclaim_refs: [https://example.org/idle]\n',
    )
    before = sample.files()
    assert link_claim(sample.root, "ex:idle", "./guide.md")["changed"] is False
    assert sample.files() == before


def test_a_link_to_no_claim_or_from_no_page_is_refused(sample: Sample) -> None:
    assert "there is no claim" in sample.refused(lambda: link_claim(sample.root, "ex:nope", "guide.md"))
    assert "no such file" in sample.refused(lambda: link_claim(sample.root, "ex:idle", "nope.md"))
    sample.write("bare.md", "# No frontmatter\n")
    assert "no frontmatter" in sample.refused(lambda: link_claim(sample.root, "ex:idle", "bare.md"))


# dispute


def test_dispute_changes_one_line(sample: Sample) -> None:
    before = sample.files()
    assert dispute_claim(sample.root, "ex:idle")["changed"] is True
    assert sample.changed_lines(before) == [
        "page.md: -    status: supported",
        "page.md: +    status: disputed",
    ]
    assert sample.valid()
    assert dispute_claim(sample.root, "ex:idle")["changed"] is False


def test_dispute_keeps_the_verification(sample: Sample) -> None:
    verify(sample)
    before = sample.claim("ex:idle")["verification"]
    dispute_claim(sample.root, "ex:idle")
    assert sample.claim("ex:idle")["verification"] == before


# verify


def test_verify_records_who_when_and_what_the_evidence_was(sample: Sample) -> None:
    verify(sample)
    claim = sample.claim("ex:idle")
    assert claim["status"] == "verified"
    assert claim["verification"] == {
        "method": "claim-review",
        "by": "human:ann",
        "at": AT,
        "evidence_refs": ["notes", "settings"],
        "evidence_versions": [
            {
                "evidence_ref": "notes",
                "source_ref": "live",
                "resource": "sources/notes.txt",
                "sha256": NOTES,
                "by": "human:ann",
                "at": AT,
            },
            {
                "evidence_ref": "settings",
                "source_ref": "pinned",
                "resource": "sources/settings.txt",
                "sha256": SHA,
                "by": "human:ann",
                "at": AT,
            },
        ],
    }
    assert sample.valid()
    assert sample.store().claim_set.claim("ex:idle").trust_tier == "human-reviewed"


def test_verify_leaves_every_other_line_alone(sample: Sample) -> None:
    before = sample.files()
    verify(sample)
    lines = sample.changed_lines(before)
    assert [line for line in lines if ": -" in line] == ["page.md: -    status: supported"]
    assert len(lines) == 2 + 7 + 12 + 1


def test_the_time_is_that_of_the_clock_in_utc(sample: Sample) -> None:
    noon = datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    verify_claim(sample.root, "ex:idle", approved_by="human:ann", clock=fixed_clock(noon))
    assert sample.claim("ex:idle")["verification"]["at"] == "2026-05-01T10:00:00Z"


def test_a_remote_resource_has_no_recorded_version(sample: Sample) -> None:
    add(sample, evidence=[{"id": "e", "sourceRef": "remote"}])
    verify(sample, "ex:new")
    assert sample.claim("ex:new")["verification"] == {
        "method": "claim-review",
        "by": "human:ann",
        "at": AT,
        "evidence_refs": ["e"],
    }


def test_changed_evidence_makes_a_verified_claim_stale(sample: Sample) -> None:
    verify(sample)
    assert not sample.store().claim_set.stale
    sample.write("sources/notes.txt", "other notes\n")
    assert [reason.evidence for reason in sample.store().claim_set.stale["ex:idle"]] == ["notes"]


def test_a_pinned_source_whose_live_bytes_differ_cannot_be_verified(sample: Sample) -> None:
    sample.write("sources/settings.txt", ARTIFACT + "more\n")
    message = sample.refused(lambda: verify(sample))
    assert f"is pinned to sha256 {SHA}" in message
    assert "sources/settings.txt" in message


@pytest.mark.parametrize("gone", ["sources/notes.txt", "sources/settings.txt"])
def test_missing_live_evidence_cannot_be_verified(sample: Sample, gone: str) -> None:
    (sample.root / gone).unlink()
    assert "does not exist" in sample.refused(lambda: verify(sample))


@pytest.mark.parametrize("by", ["human:a", "github:a", "process:a", " human:a "])
def test_people_and_processes_may_verify(sample: Sample, by: str) -> None:
    verify(sample, by=by)
    assert sample.claim("ex:idle")["verification"]["by"] == by.strip()


BAD_ACTORS = [
    "",
    "human:",
    "ann",
    "agent:x",
    "Human:x",
    "docs-agent/2.4",
    "human:a b",
    "human:a\nstatus: x",
    ":x",
]


@pytest.mark.parametrize("by", BAD_ACTORS)
def test_nobody_else_may_verify(sample: Sample, by: str) -> None:
    sample.refused(lambda: verify(sample, by=by))


def test_the_longest_actor_is_taken_and_one_character_more_is_not(sample: Sample) -> None:
    longest = "human:" + "a" * (limits.ACTOR_CHARACTERS - 6)
    assert "at most 256 characters" in sample.refused(lambda: verify(sample, by=longest + "a"))
    verify(sample, by=longest)


def test_a_verified_claim_is_not_verified_again(sample: Sample) -> None:
    verify(sample)
    assert "was verified by human:ann at 2026-11-30T12:00:00Z already" in sample.refused(
        lambda: verify(sample)
    )


def test_a_disputed_claim_is_verified_anew_and_keeps_its_recorded_versions(sample: Sample) -> None:
    verify(sample)
    first = sample.claim("ex:idle")["verification"]
    dispute_claim(sample.root, "ex:idle")
    base = sample.store()
    later = fixed_clock(datetime(2026, 12, 1, tzinfo=UTC))
    verify_claim(sample.root, "ex:idle", approved_by="github:bob", clock=later)
    second = sample.claim("ex:idle")["verification"]
    assert (second["by"], second["at"]) == ("github:bob", "2026-12-01T00:00:00Z")
    assert second["evidence_versions"][:2] == first["evidence_versions"]
    assert len(second["evidence_versions"]) == 4
    assert sample.store().validate_claims(base)["lifecycleIssues"] == []


def test_a_claim_in_quarantine_is_not_verified(sample: Sample) -> None:
    sample.replace("page.md", "predicate: ex:idleTimeout", "predicate: ex:undeclared")
    assert "quarantined" in sample.refused(lambda: verify(sample))


# reject, archive, supersede


@pytest.mark.parametrize(
    ("operation", "status"),
    [(reject_claim, "rejected"), (archive_claim, "archived")],
    ids=["reject", "archive"],
)
def test_a_decision_is_recorded(sample: Sample, operation: Callable[..., Any], status: str) -> None:
    before = sample.files()
    operation(sample.root, "ex:idle", approved_by="human:ann", reason="no longer so", clock=CLOCK)
    assert sample.changed_lines(before) == [
        "page.md: -    status: supported",
        f"page.md: +    status: {status}",
        "page.md: +    decisions:",
        f"page.md: +      - action: {status}",
        "page.md: +        by: human:ann",
        f'page.md: +        at: "{AT}"',
        "page.md: +        reason: no longer so",
    ]
    assert sample.valid()


@pytest.mark.parametrize("operation", [reject_claim, archive_claim, supersede_claim])
@pytest.mark.parametrize("by", [*BAD_ACTORS, "process:x"])
def test_only_people_decide(sample: Sample, operation: Callable[..., Any], by: str) -> None:
    sample.refused(lambda: operation(sample.root, "ex:idle", approved_by=by, reason="r"))


def test_a_claim_that_was_relied_on_is_not_rejected_without_a_reason(sample: Sample) -> None:
    message = sample.refused(lambda: reject_claim(sample.root, "ex:idle", approved_by="human:ann"))
    assert "rejecting what was relied on needs a reason" in message


def test_a_proposed_claim_may_be_rejected_without_a_reason(sample: Sample) -> None:
    add(sample)
    reject_claim(sample.root, "ex:new", approved_by="human:ann", clock=CLOCK)
    assert sample.claim("ex:new")["decisions"] == [{"action": "rejected", "by": "human:ann", "at": AT}]


def test_a_verified_claim_must_be_disputed_before_it_is_rejected(sample: Sample) -> None:
    verify(sample)
    message = sample.refused(lambda: reject_claim(sample.root, "ex:idle", approved_by="human:a", reason="r"))
    assert "dispute it before it is rejected" in message
    dispute_claim(sample.root, "ex:idle")
    reject_claim(sample.root, "ex:idle", approved_by="human:a", reason="r")
    assert sample.valid()


def test_a_verified_claim_may_be_archived_and_keeps_its_verification(sample: Sample) -> None:
    verify(sample)
    before = sample.claim("ex:idle")["verification"]
    archive_claim(sample.root, "ex:idle", approved_by="github:ann")
    assert sample.claim("ex:idle")["verification"] == before
    assert sample.valid()


def test_a_claim_in_quarantine_may_be_rejected(sample: Sample) -> None:
    sample.replace("page.md", "predicate: ex:idleTimeout", "predicate: ex:undeclared")
    before = sample.issues()
    reject_claim(sample.root, "ex:idle", approved_by="human:ann", reason="nobody declared that")
    assert sample.claim("ex:idle")["status"] == "rejected"
    assert sample.issues() == before


def test_a_claim_declared_twice_is_not_decided(sample: Sample) -> None:
    sample.write("copy.md", sample.text())
    message = sample.refused(lambda: reject_claim(sample.root, "ex:idle", approved_by="human:a", reason="r"))
    assert "is declared 2 times" in message


def test_supersede_needs_a_successor_that_says_so(sample: Sample) -> None:
    def supersede(successor: str = "") -> Any:
        return supersede_claim(
            sample.root, "ex:idle", approved_by="human:ann", successor=successor, clock=CLOCK
        )

    assert "no claim lists" in sample.refused(supersede)
    add(sample, id="ex:other")
    assert "does not list" in sample.refused(lambda: supersede("ex:other"))
    assert "cannot succeed itself" in sample.refused(lambda: supersede("ex:idle"))
    assert "there is no claim" in sample.refused(lambda: supersede("ex:nope"))
    add(sample, id="ex:next", relations={"supersedes": ["ex:idle"]})
    before = sample.files()
    supersede("ex:next")
    assert sample.changed_lines(before)[:2] == [
        "page.md: -    status: supported",
        "page.md: +    status: superseded",
    ]
    assert sample.valid()


def test_a_rejected_successor_does_not_count(sample: Sample) -> None:
    add(sample, id="ex:next", relations={"supersedes": ["ex:idle"]})
    reject_claim(sample.root, "ex:next", approved_by="human:ann")
    message = sample.refused(lambda: supersede_claim(sample.root, "ex:idle", approved_by="human:ann"))
    assert "was rejected" in message


OPERATIONS: list[Callable[[Sample], Any]] = [
    lambda sample: dispute_claim(sample.root, "ex:idle"),
    lambda sample: verify(sample),
    lambda sample: reject_claim(sample.root, "ex:idle", approved_by="human:a", reason="r"),
    lambda sample: archive_claim(sample.root, "ex:idle", approved_by="human:a"),
    lambda sample: supersede_claim(sample.root, "ex:idle", approved_by="human:a"),
    lambda sample: reconcile_claim(sample.root, "ex:idle", approved_by="human:a"),
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_was_ended_stays_ended(sample: Sample, operation: Callable[[Sample], Any]) -> None:
    archive_claim(sample.root, "ex:idle", approved_by="human:ann", clock=CLOCK)
    assert "archived" in sample.refused(lambda: operation(sample))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_dry_run_writes_nothing(sample: Sample, operation: Callable[[Sample], Any]) -> None:
    before = sample.files()
    report = dispute_claim(sample.root, "ex:idle", dry_run=True)
    assert (report["changed"], report["dryRun"]) == (True, True)
    assert "+    status: disputed\n" in report["diff"]
    assert sample.files() == before


def test_an_unknown_option_is_an_error(sample: Sample) -> None:
    with pytest.raises(TypeError):
        dispute_claim(sample.root, "ex:idle", dryrun=True)  # type: ignore[call-arg]


def test_a_reason_has_a_limit(sample: Sample) -> None:
    message = sample.refused(
        lambda: archive_claim(sample.root, "ex:idle", approved_by="human:a", reason="x" * 4_097)
    )
    assert "at most 4096" in message


# reconcile


def reconcile(sample: Sample, claim: str = "ex:idle", by: str = "human:bob") -> Any:
    later = fixed_clock(datetime(2026, 12, 1, tzinfo=UTC))
    return reconcile_claim(sample.root, claim, approved_by=by, clock=later)


def test_reconcile_appends_only_what_changed_and_makes_the_claim_fresh(sample: Sample) -> None:
    verify(sample)
    base = sample.store()
    sample.write("sources/notes.txt", "other notes\n")
    recorded = sample.claim("ex:idle")["verification"]["evidence_versions"]
    reconcile(sample)
    found = sample.claim("ex:idle")["verification"]["evidence_versions"]
    assert found[:2] == recorded
    assert [(version["evidence_ref"], version["by"]) for version in found[2:]] == [("notes", "human:bob")]
    assert not sample.store().claim_set.stale
    assert sample.valid()
    assert sample.store().validate_claims(base)["lifecycleIssues"] == []


def test_reconcile_marks_the_page_when_all_its_claims_are_verified_and_fresh(sample: Sample) -> None:
    verify(sample)
    reconcile(sample)
    page = sample.store().bundle.by_path["page.md"]
    assert page.fields["verified"] == [{"by": "human:bob", "at": "2026-12-01T00:00:00Z"}]


def test_reconcile_takes_the_mark_away_when_a_claim_of_the_page_is_not_verified(sample: Sample) -> None:
    verify(sample)
    add(sample)
    before = sample.files()
    reconcile(sample)
    assert sample.changed_lines(before) == [
        "page.md: -verified: [{ by: human:old, at: 2026-01-01T00:00:00Z }]"
    ]


def test_a_rejected_claim_does_not_stand_in_the_way_of_the_mark(sample: Sample) -> None:
    verify(sample)
    add(sample)
    reject_claim(sample.root, "ex:new", approved_by="human:ann")
    reconcile(sample)
    assert sample.store().bundle.by_path["page.md"].fields["verified"][0]["by"] == "human:bob"


def test_a_claim_stale_by_date_keeps_the_page_from_being_marked(sample: Sample) -> None:
    sample.replace("page.md", "    status: supported", "    status: supported\n    stale_after: 2026-06-01")
    verify(sample)
    reconcile(sample)
    assert "verified" not in sample.store().bundle.by_path["page.md"].fields


def test_reconcile_on_github_is_no_reason_to_refuse(sample: Sample) -> None:
    verify(sample)
    reconcile(sample, by="github:bob")
    assert sample.store().bundle.by_path["page.md"].fields["verified"][0]["by"] == "github:bob"


def test_only_verified_claims_are_reconciled(sample: Sample) -> None:
    assert "is supported; only a verified claim" in sample.refused(lambda: reconcile(sample))


def test_reconcile_refuses_a_pinned_source_whose_live_bytes_differ(sample: Sample) -> None:
    verify(sample)
    sample.write("sources/settings.txt", ARTIFACT + "more\n")
    assert "pin the source again" in sample.refused(lambda: reconcile(sample))


# approve-authority


def test_approving_an_authority_adds_one_field(sample: Sample) -> None:
    before = sample.files()
    report = approve_authority(sample.root, "page.md", "live", approved_by="human:ann")
    assert sample.changed_lines(before) == [
        "page.md: -  - { id: live, resource: sources/notes.txt, role: authoritative }",
        "page.md: +  - { id: live, resource: sources/notes.txt, role: authoritative, "
        "authority_approved_by: human:ann }",
    ]
    assert (report["sourceId"], report["document"]) == ("live", "page.md")
    assert sample.valid()


def test_approving_twice_changes_nothing_and_another_approver_is_refused(sample: Sample) -> None:
    approve_authority(sample.root, "page.md", "live", approved_by="human:ann")
    assert approve_authority(sample.root, "page.md", "live", approved_by="human:ann")["changed"] is False
    message = sample.refused(lambda: approve_authority(sample.root, "page.md", "live", approved_by="human:b"))
    assert "was approved by human:ann already" in message


def test_only_an_authoritative_source_can_be_approved(sample: Sample) -> None:
    message = sample.refused(
        lambda: approve_authority(sample.root, "page.md", "pinned", approved_by="human:a")
    )
    assert "has no role" in message
    message = sample.refused(lambda: approve_authority(sample.root, "page.md", "nope", approved_by="human:a"))
    assert "its sources: live, pinned, remote" in message


@pytest.mark.parametrize("by", [*BAD_ACTORS, "process:x"])
def test_only_people_approve_authorities(sample: Sample, by: str) -> None:
    sample.refused(lambda: approve_authority(sample.root, "page.md", "live", approved_by=by))


def test_a_locked_bundle_says_who_holds_it(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = writing.__wrapped__.__kwdefaults__  # type: ignore[attr-defined]
    monkeypatch.setitem(waited, "timeout", 0.05)
    with BundleLock(sample.root, command="okn claims apply"):
        with pytest.raises(LockTimeoutError, match=r"locked by process \d+ \(okn claims apply\) since"):
            dispute_claim(sample.root, "ex:idle")
        assert dispute_claim(sample.root, "ex:idle", dry_run=True)["changed"] is True
