"""What the built-in checks find, where, and by which proof."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openknowledge.engine.analysis.audit_facts import AUDIT_RELATIONS, plain_text
from openknowledge.engine.analysis.builtin_rules import program_texts
from openknowledge.engine.analysis.checks import CHECKS
from openknowledge.engine.analysis.conclusions import Conclusions
from openknowledge.engine.analysis.findings import SEVERITIES, Finding
from openknowledge.engine.claims.relations import SUPPORT_RELATIONS
from openknowledge.engine.datalog.checking import ProofChecker
from openknowledge.engine.errors import UsageError
from openknowledge.engine.store import Store

Check = Callable[..., list[Finding]]
SOURCE = "sources:\n  - { id: web, resource: https://example.com/ }\n"
SUPPORT = "[{ id: web, source_ref: web }]"
ROOT = Path(__file__).resolve().parents[3]
SHARED = ROOT / "../shared/corpora"


def brief(findings: list[Finding]) -> list[tuple[str, str, str, int]]:
    return [(finding.rule, finding.subject, finding.path, finding.line) for finding in findings]


def test_a_clean_bundle_has_no_findings(check: Check, make: Any) -> None:
    assert check({"a.md": make.page("A"), "index.md": "# Home\n"}) == []


def test_an_issue_of_validation_is_a_finding_on_its_line(check: Check, make: Any) -> None:
    (finding,) = check({"a.md": make.page("A", text="[x](gone.md)")})
    assert brief([finding]) == [("link-target", "a.md", "a.md", 8)]
    assert (finding.severity, finding.proof.kind) == ("medium", "asserted")


def test_the_settings_of_the_bundle_make_a_warning_grave(check: Check, make: Any) -> None:
    settings = '[validation.rules]\nlink-target = "error"\n'
    (finding,) = check({"a.md": make.page("A", text="[x](gone.md)"), ".openknowledge.toml": settings})
    assert finding.severity == "high"


def test_a_page_past_its_date_is_stale(check: Check, make: Any) -> None:
    page = make.page("A", front="tags: [x]\nstale_after: 2026-11-30T00:00:00Z\n")
    (finding,) = check({"a.md": page})
    assert brief([finding]) == [("stale", "a", "a.md", 5)]
    assert [leaf.atom for leaf in finding.proof.leaves()] == [
        'document("a","a.md","Note")',
        'document_stale("a","true")',
    ]


def test_a_page_is_not_stale_before_its_date(check: Check, make: Any) -> None:
    assert check({"a.md": make.page("A", front="stale_after: 2026-11-30T00:00:01Z\n")}) == []


@pytest.mark.parametrize("front", ["okf_publish: false\n", ""])
def test_an_unpublished_page_is_not_audited(check: Check, make: Any, front: str) -> None:
    page = make.page("A", front=front + "stale_after: 2020-01-01T00:00:00Z\n")
    assert len(check({"a.md": page})) == (0 if front else 1)


def test_a_claim_past_its_day_is_stale_on_the_line_of_the_day(check: Check, make: Any) -> None:
    claim = make.claim("a", 1, extra="stale_after: 2026-11-30", evidence=SUPPORT)
    (finding,) = check({"o.md": make.ONTOLOGY, "a.md": make.page("A", claim, front=SOURCE)})
    assert brief([finding]) == [("claim-stale", "ex:claim/a", "a.md", 15)]


@pytest.mark.parametrize("status", ["archived", "rejected"])
def test_a_claim_that_has_ended_is_never_stale(check: Check, make: Any, status: str) -> None:
    decided = f"stale_after: 2020-01-01\ndecisions: [{{ action: {status}, by: human:ann, at: 2026-01-01 }}]"
    claim = make.claim("a", 1, status=status, extra=decided)
    assert check({"o.md": make.ONTOLOGY, "a.md": make.page("A", claim)}) == []


def test_a_claim_whose_time_is_over_needs_no_fresh_evidence(check: Check, make: Any) -> None:
    claim = make.claim("a", 1, extra="stale_after: 2020-01-01\nvalid_time: { until: 2026-01-01 }")
    assert check({"o.md": make.ONTOLOGY, "a.md": make.page("A", claim)}) == []


def reviewed(make: Any, text: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return make.page(
        "A",
        make.claim(
            "a",
            1,
            status="verified",
            evidence="[{ id: e, source_ref: file }]",
            extra="verification:\n  method: review\n  by: human:ann\n  at: 2026-01-01\n  evidence_versions:\n"
            f"    - {{ evidence_ref: e, source_ref: file, resource: f.txt, sha256: {digest}, "
            "by: human:ann, at: 2026-01-01 }",
        ),
        front="sources:\n  - { id: file, resource: f.txt }\n",
    )


def test_evidence_that_changed_makes_its_claim_stale(check: Check, make: Any) -> None:
    files = {"o.md": make.ONTOLOGY, "a.md": reviewed(make, "old"), "f.txt": "new"}
    (finding,) = check(files)
    assert (finding.rule, finding.subject, finding.severity) == ("claim-evidence-stale", "ex:claim/a", "high")
    assert "no longer the file that was reviewed" in finding.message


def test_evidence_that_is_as_it_was_is_no_finding(check: Check, make: Any) -> None:
    assert check({"o.md": make.ONTOLOGY, "a.md": reviewed(make, "old"), "f.txt": "old"}) == []


def test_a_source_file_that_is_gone_is_found_at_the_source(check: Check, make: Any) -> None:
    found = check({"o.md": make.ONTOLOGY, "a.md": reviewed(make, "old")})
    assert ("missing-source-resource", "a", "a.md", 5) in brief(found)


def test_two_answers_to_one_question_conflict_once(check: Check, make: Any) -> None:
    one, two = make.claim("a", 1, evidence=SUPPORT), make.claim("b", 2, evidence=SUPPORT)
    (finding,) = check({"o.md": make.ONTOLOGY, "a.md": make.page("A", one, two, front=SOURCE)})
    assert brief([finding]) == [("claim-conflict", "ex:claim/a", "a.md", 8)]
    assert finding.message.startswith("claim ex:claim/a says 1, but ex:claim/b says 2 (a.md:15)")


def test_the_same_claim_twice_is_a_duplicate(check: Check, make: Any) -> None:
    one, two = make.claim("a", 1, evidence=SUPPORT), make.claim("b", 1, evidence=SUPPORT)
    (finding,) = check({"o.md": make.ONTOLOGY, "a.md": make.page("A", one, two, front=SOURCE)})
    assert (finding.rule, finding.subject) == ("claim-duplicate", "ex:claim/b")


def test_a_claim_without_evidence_is_found(check: Check, make: Any) -> None:
    (finding,) = check({"o.md": make.ONTOLOGY, "a.md": make.page("A", make.claim("a", 1))})
    assert (finding.rule, finding.severity) == ("claim-missing-evidence", "medium")


def test_a_claim_that_says_it_contradicts_another_is_found(check: Check, make: Any) -> None:
    one = make.claim("a", 1, evidence=SUPPORT)
    two = make.claim(
        "b", 2, subject="ex:queue", evidence=SUPPORT, extra="relations: { contradicts: [ex:claim/a] }"
    )
    (finding,) = check({"o.md": make.ONTOLOGY, "a.md": make.page("A", one, two, front=SOURCE)})
    assert (finding.rule, finding.subject) == ("claim-contradiction", "ex:claim/b")


def test_a_claim_derived_from_one_that_ended_is_found(check: Check, make: Any) -> None:
    ended = make.claim(
        "a",
        1,
        status="archived",
        evidence=SUPPORT,
        extra="decisions: [{ action: archived, by: human:ann, at: 2026-01-01 }]",
    )
    other = make.claim(
        "b", 2, subject="ex:queue", evidence=SUPPORT, extra="relations: { derived_from: [ex:claim/a] }"
    )
    (finding,) = check({"o.md": make.ONTOLOGY, "a.md": make.page("A", ended, other, front=SOURCE)})
    assert (finding.rule, finding.subject) == ("claim-rests-on-ended", "ex:claim/b")
    assert finding.message.endswith("which is archived")


def test_a_page_that_refers_to_a_stale_claim_is_found(check: Check, make: Any) -> None:
    claim = make.claim("a", 1, extra="stale_after: 2026-01-01", evidence=SUPPORT)
    files = {
        "o.md": make.ONTOLOGY,
        "a.md": make.page("A", claim, front=SOURCE),
        "b.md": make.page("B", front="claim_refs: [ex:claim/a]\n"),
    }
    assert ("relies-on-stale", "b", "b.md", 4) in brief(check(files))


def test_a_review_older_than_the_text_is_found(check: Check, make: Any) -> None:
    front = (
        "generated: { by: a/1, at: 2026-05-01T00:00:00Z }\n"
        "verified: [{ by: human:ann, at: 2026-04-01T00:00:00Z }]\n"
    )
    (finding,) = check({"a.md": make.page("A", front=front)})
    assert (finding.rule, finding.severity, finding.line) == ("review-outdated", "low", 5)


def test_pages_with_the_same_text_or_title_are_found_once_each(check: Check, make: Any) -> None:
    same = make.page("A", text="Same text.")
    found = check({"a.md": same, "b.md": same.replace("title: A", "title: a!"), "c.md": same})
    assert brief(found) == [
        ("identical-body", "b", "b.md", 1),
        ("duplicate-title", "b", "b.md", 3),
        ("identical-body", "c", "c.md", 1),
        ("duplicate-title", "c", "c.md", 3),
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("aB1 .,\n#*", max_size=30), min_size=2, max_size=5))
def test_texts_are_identical_exactly_when_their_plain_forms_are(
    make: Any, tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    long = "words " * 40  # longer than the beginning by which texts are told apart first
    root = tmp_path_factory.mktemp("texts")
    for number, text in enumerate(texts):
        root.joinpath(f"{number}.md").write_text(f"---\ntype: T\n---\n\n{long}{text}\n")
    found = {finding.subject for finding in make.judged(root, only=["identical-body"]).findings}
    plain = [plain_text(long + text) for text in texts]
    assert found == {str(number) for number, text in enumerate(plain) if text in plain[:number]}


@pytest.mark.parametrize(
    ("front", "rule"), [("", "missing-owner"), ("owners: [team:a]\n", ""), ("owner: team:a\n", "")]
)
def test_a_page_without_owner_is_found_on_request(check: Check, make: Any, front: str, rule: str) -> None:
    found = check({"a.md": make.page("A", front=front)}, only=["missing-owner"])
    assert [finding.rule for finding in found] == ([rule] if rule else [])


def test_a_page_without_source_is_found_on_request(check: Check, make: Any) -> None:
    assert [f.rule for f in check({"a.md": make.page("A")}, only=["missing-*"])] == [
        "missing-owner",
        "missing-source",
    ]
    assert check({"a.md": make.page("A", front=SOURCE)}, only=["missing-source"]) == []


def test_only_and_skip_choose_rules_by_name_and_pattern(check: Check, make: Any) -> None:
    files = {"a.md": make.page("A", text="[x](gone.md)", front="stale_after: 2020-01-01T00:00:00Z\n")}
    assert [f.rule for f in check(files)] == ["stale", "link-target"]
    assert [f.rule for f in check(files, only=["st*"])] == ["stale"]
    assert [f.rule for f in check(files, skip=["stale", "claim-*"])] == ["link-target"]


def test_an_unknown_rule_is_refused_with_the_nearest(check: Check, make: Any) -> None:
    with pytest.raises(UsageError, match="unknown rule 'claim-stail'; did you mean claim-stale"):
        check({"a.md": make.page("A")}, only=["claim-stail"])


def test_the_same_issue_on_two_lines_is_two_findings(check: Check, make: Any) -> None:
    found = check({"a.md": make.page("A", text="[x](gone.md)\n\n[y](gone.md)")})
    assert [(finding.line, finding.number) for finding in found] == [(8, 1), (10, 2)]
    assert len({finding.id for finding in found}) == 2


def test_restricted_claims_are_checked_too(check: Check, make: Any) -> None:
    hidden = "sources:\n  - { id: web, resource: https://example.com/, access: [team:a] }\n"
    claim = make.claim("a", 1, extra="stale_after: 2020-01-01", evidence=SUPPORT)
    found = check({"o.md": make.ONTOLOGY, "a.md": make.page("A", claim, front=hidden)})
    assert [finding.rule for finding in found] == ["claim-stale"]


def test_every_check_has_a_severity_a_summary_and_a_name_of_its_own() -> None:
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    assert all(check.severity in SEVERITIES and check.summary for check in CHECKS)


def test_every_relation_of_the_audit_is_there(make: Any, tmp_path: Path) -> None:
    tmp_path.joinpath("a.md").write_text(make.page("A"))
    conclusions = Conclusions(Store.open(tmp_path))
    known = set(conclusions.facts.names)
    assert {relation.name for relation in AUDIT_RELATIONS} <= known
    declared = {relation.name for relation in (*AUDIT_RELATIONS, *SUPPORT_RELATIONS)}
    for relation in AUDIT_RELATIONS:
        assert all(len(row) == relation.arity for row in conclusions.facts.rows(relation.name))
    assert len(declared) == len(AUDIT_RELATIONS) + len(SUPPORT_RELATIONS)


# The sample bundles


def test_the_identity_bundle_has_the_findings_that_its_walkthrough_explains(make: Any) -> None:
    found = make.judged(ROOT / "corpora/identity").findings
    assert {(finding.rule, finding.subject) for finding in found if finding.severity == "high"} == {
        ("claim-profile", "proposals/device-trust.md"),
        ("claim-stale", "auth:claim/directory-replication-lag"),
        ("claim-evidence-stale", "auth:claim/access-token-lifetime-partner"),
        ("claim-conflict", "auth:claim/access-token-lifetime-first-party-deployed"),
        ("stale", "runbooks/session-store-failover"),
    }


def test_the_http_bundle_is_clean(make: Any) -> None:
    assert make.judged(ROOT / "corpora/http").findings == []


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published bundles are not here")
def test_the_published_bundles_have_the_known_error_and_nothing_else(make: Any) -> None:
    assert make.judged(SHARED / "ga4").findings == []
    assert brief(make.judged(SHARED / "acme_retail").findings) == [("log-frontmatter", "log.md", "log.md", 1)]


def test_every_proof_of_the_identity_bundle_is_accepted_by_the_proof_checker(make: Any) -> None:
    run = make.judged(ROOT / "corpora/identity")
    facts = run.conclusions.facts
    checker = ProofChecker(
        program_texts([]), facts.rows, holds=lambda name, row: (name, row) in facts, seconds=60.0
    )
    rows = [
        {
            "kind": "derived-fact",
            "atom": finding.proof.atom,
            "predicate": finding.proof.predicate,
            "values": [{"type": "string", "value": value} for value in finding.proof.row or ()],
            "sources": [],
            "proof": finding.proof.to_json(),
        }
        for finding in run.findings
        if finding.proof.inputs
    ]
    assert len(rows) == 9
    for row in rows:
        result = {"query": row["atom"], "ruleProfile": "", "results": [row], "truncated": False}
        assert checker.check_result(result) == []


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_findings_do_not_depend_on_the_hash_seed(hash_seed: str) -> None:
    import os
    import subprocess
    import sys

    code = (
        "import sys; from openknowledge.cli.main import run; "
        f"sys.exit(run(['--now', '2026-11-30', 'check', {str(ROOT / 'corpora/identity')!r}, '--json']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    _OUTPUTS.add(done.stdout)
    assert len(_OUTPUTS) == 1


_OUTPUTS: set[bytes] = set()
