"""Derived values: trust, activity and staleness, each as of a given instant."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from openknowledge.engine import limits
from openknowledge.engine.bundle.bundle import read_bundle
from openknowledge.engine.claims.claimset import ClaimSet, read_claims
from openknowledge.engine.claims.evidence import EvidenceStore
from openknowledge.engine.claims.freshness import is_active

from tests.engine.claims.conftest import NOW, claim, claims_of, claims_on_disk, page, write


@pytest.mark.parametrize(
    ("status", "by", "tier"),
    [
        ("verified", "human:ada", "human-reviewed"),
        ("verified", "github:ada", "human-reviewed"),
        ("verified", "process:sync", "machine-confirmed"),
        ("supported", "human:ada", "unverified"),
        ("disputed", "human:ada", "unverified"),
    ],
)
def test_the_trust_tier_is_that_of_the_verifier(status: str, by: str, tier: str) -> None:
    verification = f"{{ method: m, by: {by}, at: 2026-05-01 }}"
    (found,) = claims_of({"a.md": page(claim(status=status, verification=verification))}).claims
    assert found.trust_tier == tier


@pytest.mark.parametrize(
    ("valid_time", "status", "active"),
    [
        (None, "supported", True),
        ("{ from: 2026-11-30 }", "supported", True),
        ("{ from: 2026-12-01 }", "supported", False),
        ("{ until: 2026-11-30 }", "supported", False),
        ("{ until: 2026-12-01 }", "supported", True),
        ("{ from: 2026-11-30T12:00:00Z }", "supported", True),
        ("{ until: 2026-11-30T12:00:00Z }", "supported", False),
        ("{ from: 2026-11-30T13:00:00+02:00 }", "supported", True),
        ("{ from: 2026-11-30T11:00:00-02:00 }", "supported", False),
        (None, "rejected", False),
        (None, "archived", False),
    ],
)
def test_a_claim_is_active_in_its_half_open_time_unless_it_was_ended(
    valid_time: str | None, status: str, active: bool
) -> None:
    decided = status in ("rejected", "archived")
    decisions = f"[{{ action: {status}, by: human:ada, at: 2026-05-01 }}]" if decided else None
    text = page(claim(valid_time=valid_time, status=status, decisions=decisions))
    (found,) = claims_of({"a.md": text}).claims
    assert is_active(found, NOW) is active


@pytest.mark.parametrize(
    ("day", "now", "stale"),
    [
        ("2026-11-30", datetime(2026, 11, 30, tzinfo=UTC), True),
        ("2026-12-01", datetime(2026, 11, 30, 23, 59, tzinfo=UTC), False),
        # still the 29th in UTC, already the 30th in the east
        ("2026-11-30", datetime(2026, 11, 30, 1, tzinfo=timezone(timedelta(hours=13))), False),
        # already the 30th in UTC, still the 29th in the west
        ("2026-11-30", datetime(2026, 11, 29, 23, tzinfo=timezone(timedelta(hours=-8))), True),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC), True),
        ("2024-02-29", datetime(2024, 2, 28, tzinfo=UTC), False),
    ],
)
def test_a_claim_is_stale_from_its_day_on_in_utc(day: str, now: datetime, stale: bool) -> None:
    found = claims_of({"a.md": page(claim(stale_after=day))}, now)
    assert bool(found.stale) is stale
    if stale:
        (reason,) = found.stale["ex:c/one"]
        assert (reason.reason, reason.evidence, reason.since) == ("date", "", day)


# Evidence

TEXT = b"Idle for 30 minutes.\n"
DIGEST = hashlib.sha256(TEXT).hexdigest()


def reviewed(
    *,
    source: str = "s",
    resource: str = "live.txt",
    digest: str = DIGEST,
    cited: str = "s",
    more: str = "",
    at: str = "2026-05-01T08:00:00Z",
) -> str:
    seen = f"evidence_ref: e, source_ref: {source}, resource: {resource}, sha256: {digest}"
    version = f"{{ {seen}, by: human:ada, at: {at} }}"
    versions = f"evidence_versions:\n      - {version}{more}"
    return claim(
        status="verified",
        evidence=f"\n    - {{ id: e, source_ref: {cited} }}",
        verification=f"\n    method: m\n    by: human:ada\n    at: {at}\n    {versions}",
    )


def judged(root: Path, text: str, sources: str = "- id: s\n  resource: live.txt\n") -> ClaimSet:
    write(root, {"page.md": page(text, sources=sources), "live.txt": TEXT})
    found = claims_on_disk(root)
    assert found.issues == ()
    return found


def reasons(found: ClaimSet) -> list[str]:
    return [reason.reason for reason in found.stale.get("ex:c/one", ())]


def test_evidence_that_is_what_was_reviewed_is_fresh(tmp_path: Path) -> None:
    assert reasons(judged(tmp_path, reviewed())) == []


def test_evidence_without_recorded_versions_is_never_stale_by_itself(tmp_path: Path) -> None:
    text = claim(status="verified", verification="{ method: m, by: human:ada, at: 2026-05-01 }")
    assert reasons(judged(tmp_path, text)) == []


@pytest.mark.parametrize(
    ("text", "sources", "expected"),
    [
        (reviewed(digest="f" * 64), "- id: s\n  resource: live.txt\n", ["digest-changed"]),
        (reviewed(source="t"), "- id: s\n  resource: live.txt\n", ["source-moved"]),
        (reviewed(resource="old.txt"), "- id: s\n  resource: live.txt\n", ["resource-moved"]),
        (reviewed(), "- id: s\n  resource: pinned.txt\n  live_resource: live.txt\n", []),
        (reviewed(resource="gone.txt"), "- id: s\n  resource: gone.txt\n", ["file-missing"]),
        (reviewed(resource="folder"), "- id: s\n  resource: folder\n", ["file-not-regular"]),
        (reviewed(resource="large.bin"), "- id: s\n  resource: large.bin\n", ["file-too-large"]),
        (reviewed(resource="link.txt"), "- id: s\n  resource: link.txt\n", ["file-unresolvable"]),
        (reviewed(resource="../x.txt"), "- id: s\n  resource: ../x.txt\n", ["file-unresolvable"]),
        (reviewed(resource="/live.txt"), "- id: s\n  resource: /live.txt\n", []),
        (reviewed(resource="https://e.example/"), "- id: s\n  resource: https://e.example/\n", []),
        (
            reviewed(resource="https://e.example/1"),
            "- id: s\n  resource: https://e.example/2\n",
            ["resource-moved"],
        ),
    ],
)
def test_evidence_that_is_no_longer_what_was_reviewed_is_stale(
    tmp_path: Path, text: str, sources: str, expected: list[str]
) -> None:
    write(tmp_path, {"folder/x": b"", "large.bin": b"0" * (limits.EVIDENCE_BYTES + 1)})
    (tmp_path / "link.txt").symlink_to(tmp_path / "live.txt")
    found = judged(tmp_path, text, sources)
    assert reasons(found) == expected
    for reason in found.stale.get("ex:c/one", ()):
        assert (reason.evidence, reason.since) == ("e", "2026-05-01T08:00:00Z")


def test_evidence_that_the_claim_no_longer_has_is_gone(tmp_path: Path) -> None:
    text = reviewed().replace("- { id: e, source_ref: s }", "- { id: f, source_ref: s }")
    assert reasons(judged(tmp_path, text)) == ["source-gone"]


def test_of_several_versions_the_last_counts(tmp_path: Path) -> None:
    seen = f"evidence_ref: e, source_ref: s, resource: live.txt, sha256: {DIGEST}"
    later = f"\n      - {{ {seen}, by: human:ada, at: 2026-06-01 }}"
    assert reasons(judged(tmp_path, reviewed(digest="f" * 64, more=later))) == []


def test_a_claim_may_be_stale_for_several_reasons(tmp_path: Path) -> None:
    text = reviewed(digest="f" * 64, source="t") + "  stale_after: 2026-01-01\n"
    assert reasons(judged(tmp_path, text)) == ["date", "source-moved", "digest-changed"]


def test_nothing_is_compared_when_no_artifact_may_be_opened(tmp_path: Path) -> None:
    write(tmp_path, {"page.md": page(reviewed(digest="f" * 64), sources="- id: s\n  resource: live.txt\n")})
    assert reasons(read_claims(read_bundle(tmp_path), now=NOW)) == []


def test_staleness_follows_the_file(tmp_path: Path) -> None:
    judged(tmp_path, reviewed())
    (tmp_path / "live.txt").write_bytes(b"Idle for 20 minutes.\n")
    assert reasons(claims_on_disk(tmp_path)) == ["digest-changed"]
    (tmp_path / "live.txt").unlink()
    assert reasons(claims_on_disk(tmp_path)) == ["file-missing"]
    bundle = read_bundle(tmp_path)
    past = read_claims(bundle, now=datetime(2020, 1, 1, tzinfo=UTC), evidence=EvidenceStore(bundle.root))
    assert reasons(past) == ["file-missing"]
