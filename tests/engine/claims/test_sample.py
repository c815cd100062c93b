"""The identity sample bundle shows what can happen to a claim."""

from __future__ import annotations

from pathlib import Path

import pytest
from openknowledge.engine.bundle.bundle import read_bundle
from openknowledge.engine.claims.access import apply_access
from openknowledge.engine.claims.claimset import read_claims
from openknowledge.engine.claims.conflicts import conflicts, duplicates
from openknowledge.engine.claims.evidence import EvidenceStore
from openknowledge.engine.claims.factset import FactSet

from tests.engine.claims.conftest import NOW

ROOT = Path(__file__).resolve().parents[3] / "corpora/identity"
SHARED = Path(__file__).resolve().parents[3] / "../shared/corpora"
CLAIM = "auth:claim/"


@pytest.fixture(scope="module")
def facts() -> FactSet:
    bundle = read_bundle(ROOT)
    return FactSet.everything(read_claims(bundle, now=NOW, evidence=EvidenceStore(bundle.root)))


def test_one_claim_is_quarantined_and_the_others_answer(facts: FactSet) -> None:
    assert [entry.claim_id for entry in facts.quarantined] == [CLAIM + "device-trust-duration"]
    assert len(facts.claims) > 20


def test_a_verified_a_superseded_and_a_rejected_claim_are_there(facts: FactSet) -> None:
    assert facts.by_id[CLAIM + "session-idle-timeout-production"].trust_tier == "human-reviewed"
    assert facts.by_id[CLAIM + "session-absolute-timeout-production"].trust_tier == "machine-confirmed"
    assert facts.by_id[CLAIM + "signing-key-rotation-180"].status == "superseded"
    assert facts.by_id[CLAIM + "session-cookie-samesite-none"].status == "rejected"


def test_one_claim_is_stale_by_date_and_one_by_evidence(facts: FactSet) -> None:
    found = {
        name: [(r.reason, r.evidence) for r in reasons] for name, reasons in facts.claim_set.stale.items()
    }
    assert found == {
        CLAIM + "directory-replication-lag": [("date", "")],
        CLAIM + "access-token-lifetime-partner": [("digest-changed", "deployed")],
    }


def test_two_claims_conflict_and_two_repeat_each_other(facts: FactSet) -> None:
    (conflict,) = conflicts(facts)
    assert [claim.id.removeprefix(CLAIM) for claim in conflict.claims] == [
        "access-token-lifetime-first-party-deployed",
        "access-token-lifetime-first-party-policy",
    ]
    (group,) = duplicates(facts)
    assert len(group) == 2


def test_the_restricted_claim_is_there_for_its_team_alone(facts: FactSet) -> None:
    name = CLAIM + "break-glass-holder-count"
    assert name not in apply_access(facts)[0].by_id
    assert name in apply_access(facts, ["team:identity-security"])[0].by_id


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published sample bundles are not here")
@pytest.mark.parametrize("name", ["acme_retail", "ga4"])
def test_bundles_without_claims_have_no_claim_issues(name: str) -> None:
    found = read_claims(read_bundle(SHARED / name), now=NOW)
    assert (found.issues, found.claims) == ((), ())
    assert FactSet.everything(found).to_json()["valid"] is True
