"""A new bundle is a good one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine.analysis.init_bundle import PAGE, POLICY, SOURCE, new_bundle
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.store import Store

NOW = datetime(2026, 11, 30, 8, 30, 15, 123456, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, data in new_bundle(NOW).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_it_validates_without_a_warning(root: Path) -> None:
    assert Store.open(root, clock=fixed_clock(NOW)).validate()["summary"]["status"] == "pass"


def test_it_has_no_finding_of_any_rule_that_a_gate_runs(root: Path, make: Any) -> None:
    run = make.judged(root, NOW)
    assert run.findings == []
    assert not run.errors


def test_its_claim_rests_on_pinned_evidence_that_is_verified(root: Path) -> None:
    (claim,) = Store.open(root, clock=fixed_clock(NOW)).claim_set.claims
    assert claim.path == PAGE
    assert claim.verification is not None
    assert claim.document.metadata.sources[0].observe == "pinned"


def test_its_claim_becomes_stale_when_the_source_changes(root: Path, make: Any) -> None:
    (root / SOURCE).write_text("Support terms: within 9 hours\n")
    assert [finding.rule for finding in make.judged(root, NOW).findings] == ["claim-evidence-stale"]


def test_its_policy_finds_what_it_is_about(root: Path, make: Any) -> None:
    page = root / PAGE
    page.write_text(page.read_text().replace("owners: [team:support]\n", ""))
    assert [finding.rule for finding in make.judged(root, NOW).findings] == [POLICY]


def test_it_is_the_same_at_the_same_moment() -> None:
    assert new_bundle(NOW) == new_bundle(NOW)
    assert all(b"T08:30:15Z" in data or b"123456" not in data for data in new_bundle(NOW).values())
