"""The audit: categories, ids, targets, evidence, and the baseline of sources."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine.analysis.audit import (
    CATEGORIES,
    Audit,
    audit_report,
    read_source_baseline,
    run_audit,
    source_baseline,
)
from openknowledge.engine.analysis.bundle_digest import bundle_sha256
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.errors import OpenKnowledgeError, UsageError
from openknowledge.engine.store import Store

SOURCE = "owner: a\nsources:\n  - { id: web, resource: https://example.com/ }\n"
FILE = "owner: a\nsources:\n  - { id: file, resource: f.txt }\n"
SUPPORT = "[{ id: web, source_ref: web }]"


@pytest.fixture
def audit(bundle: Callable[[Any], Path], make: Any) -> Callable[..., Audit]:
    """Return a function that writes a bundle and audits it."""

    def run(files: dict[str, str], recorded: Any = ()) -> Audit:
        root = bundle({"o.md": make.ONTOLOGY.replace("type:", f"{SOURCE}type:", 1), **files})
        return run_audit(Store.open(root, clock=fixed_clock(make.NOW)), recorded)

    return run


def shown(found: Audit) -> list[tuple[str, str, list[str], list[dict[str, str]]]]:
    report = audit_report(found, "0" * 64)
    return [
        (item["category"], item["severity"], item["targets"], item["evidence"]) for item in report["findings"]
    ]


def test_a_page_without_source_and_owner_is_two_findings(audit: Any, make: Any) -> None:
    assert shown(audit({"a.md": make.page("A")})) == [
        ("missing-owner", "medium", ["a.md"], [{"path": "a.md", "field": "owner", "value": "none"}]),
        ("missing-source", "medium", ["a.md"], [{"path": "a.md", "field": "sources", "value": "none"}]),
    ]


def test_a_page_past_its_date_is_stale(audit: Any, make: Any) -> None:
    page = make.page("A", front=SOURCE + "stale_after: 2020-01-01T00:00:00Z\n")
    evidence = [{"path": "a.md", "field": "stale_after", "value": "2020-01-01T00:00:00Z"}]
    assert shown(audit({"a.md": page})) == [("stale", "high", ["a.md"], evidence)]


def test_a_link_that_leads_nowhere_is_found_with_its_text(audit: Any, make: Any) -> None:
    page = make.page("A", front=SOURCE, text="[x](gone.md#y) [z](o.md) [img](no.png)")
    assert shown(audit({"a.md": page})) == [
        ("broken-dependency", "high", ["a.md"], [{"path": "a.md", "field": "link", "value": value}])
        for value in sorted(["gone.md#y", "no.png"], key=identity)
    ]


def identity(href: str) -> str:
    evidence = [{"path": "a.md", "field": "link", "value": href}]
    text = json.dumps(
        {"Category": "broken-dependency", "Targets": ["a.md"], "Evidence": evidence}, separators=(",", ":")
    )
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def test_the_id_is_over_category_targets_and_evidence(audit: Any, make: Any) -> None:
    page = make.page("A", front=SOURCE, text="[x](gone.md)")
    (finding,) = audit_report(audit({"a.md": page}), "")["findings"]
    assert finding["id"] == identity("gone.md")


def test_the_id_escapes_what_html_would_read(audit: Any, make: Any) -> None:
    page = make.page("A", front=SOURCE, text="[x](gone.md?a&b)")
    (finding,) = audit_report(audit({"a.md": page}), "")["findings"]
    text = (
        '{"Category":"broken-dependency","Targets":["a.md"],'
        '"Evidence":[{"path":"a.md","field":"link","value":"gone.md?a\\u0026b"}]}'
    )
    assert finding["id"] == hashlib.sha256(text.encode()).hexdigest()[:20]


def test_pages_with_one_text_are_one_finding(audit: Any, make: Any) -> None:
    body = make.page("A", front=SOURCE, text="Same.")
    pages = {f"{name}.md": body.replace("title: A", f"title: {name}") for name in "cab"}
    assert shown(audit(pages)) == [
        (
            "identical-body",
            "medium",
            ["a.md", "b.md", "c.md"],
            [{"field": "documents", "value": "a.md, b.md, c.md"}],
        )
    ]


def test_conflicting_claims_name_both_objects_and_the_pages_that_refer_to_them(audit: Any, make: Any) -> None:
    files = {
        "a.md": make.page("A", make.claim("x", 1, evidence=SUPPORT), front=SOURCE),
        "b.md": make.page("B", make.claim("y", 2, evidence=SUPPORT), front=SOURCE),
        "c.md": make.page("C", front=SOURCE + "claim_refs: [ex:claim/y]\n"),
    }
    ((category, severity, targets, evidence),) = shown(audit(files))
    assert (category, severity, targets) == ("claim-conflict", "high", ["a.md", "b.md", "c.md"])
    assert evidence == [
        {"field": "claimKey", "value": "ex:slot/limit subject=ex:gateway predicate=ex:limit scope={}"},
        {
            "path": "a.md",
            "field": "claims.ex:claim/x.object",
            "value": '{"value":1,"datatype":"xsd:integer"}',
        },
        {
            "path": "b.md",
            "field": "claims.ex:claim/y.object",
            "value": '{"value":2,"datatype":"xsd:integer"}',
        },
    ]


def test_equal_claims_with_equal_sources_are_duplicates(audit: Any, make: Any) -> None:
    claims = [make.claim(name, 1, evidence=SUPPORT) for name in "xy"]
    found = shown(audit({"a.md": make.page("A", *claims, front=SOURCE)}))
    assert [(category, severity) for category, severity, _, _ in found] == [("claim-duplicate", "medium")]


def test_a_claim_without_evidence_is_found(audit: Any, make: Any) -> None:
    found = shown(audit({"a.md": make.page("A", make.claim("x", 1), front=SOURCE)}))
    evidence = [{"path": "a.md", "field": "claims.ex:claim/x.source", "value": "none"}]
    assert found == [("claim-missing-evidence", "medium", ["a.md"], evidence)]


def test_a_claim_that_breaks_the_profile_is_found(audit: Any, make: Any) -> None:
    claim = make.claim("x", 1, subject="ex:unheard", evidence=SUPPORT)
    ((category, severity, targets, evidence),) = shown(audit({"a.md": make.page("A", claim, front=SOURCE)}))
    assert (category, severity, targets) == ("claim-invalid", "high", ["a.md"])
    assert evidence[0]["field"] == "claim-profile"
    assert "ex:unheard" in evidence[0]["value"]


def test_a_source_file_that_is_gone_is_found(audit: Any, make: Any) -> None:
    found = audit({"a.md": make.page("A", front=FILE)})
    evidence = [{"path": "a.md", "field": "source.resource", "value": "f.txt"}]
    assert shown(found) == [("missing-source-resource", "high", ["a.md"], evidence)]
    assert audit_report(found, "")["sources"] == {"current": 2, "changed": 0, "missing": 1}


@pytest.mark.parametrize("resource", ["f.txt", "./f.txt", "/f.txt", "f.txt#part", "sub/", "sub"])
def test_a_source_that_is_there_is_not_missing(audit: Any, make: Any, resource: str) -> None:
    page = make.page("A", front=FILE.replace("f.txt", resource))
    assert shown(audit({"a.md": page, "f.txt": "x", "sub/index.md": "# Sub\n"})) == []


@pytest.mark.parametrize("front", ["okf_publish: false\n", ""])
def test_index_log_untyped_and_unpublished_pages_are_skipped(audit: Any, make: Any, front: str) -> None:
    files = {"index.md": "# Home\n", "log.md": "# Log\n", "a.md": make.page("A", front=front)}
    assert len(shown(audit(files))) == (0 if front else 2)


def test_a_pinned_copy_of_a_page_is_not_audited(audit: Any, make: Any) -> None:
    assert shown(audit({".openknowledge/evidence/sha256/0/artifact.md": make.page("A")})) == []


def test_graver_findings_come_first(audit: Any, make: Any) -> None:
    files = {"a.md": make.page("A", text="[x](gone.md)"), "b.md": make.page("B", front=FILE)}
    severities = [severity for _, severity, _, _ in shown(audit(files))]
    assert severities == ["high", "high", "medium", "medium"]


def test_with_proofs_each_finding_proves_itself(audit: Any, make: Any) -> None:
    found = audit({"a.md": make.page("A", text="[x](gone.md)")})
    for finding in audit_report(found, "", proofs=True)["findings"]:
        assert finding["proofs"][0]["atom"].startswith(CATEGORIES[finding["category"]].head + "(")


# Sources that change


def recorded(audit: Any, files: dict[str, str], path: Path) -> Any:
    path.write_text(json.dumps(source_baseline(audit(files), "0" * 64)))
    return read_source_baseline(path)


def test_a_source_that_changed_since_the_baseline_is_found(audit: Any, make: Any, tmp_path: Path) -> None:
    page = make.page("A", front=FILE)
    before = recorded(audit, {"a.md": page, "f.txt": "old"}, tmp_path / "b.json")
    found = audit({"a.md": page, "f.txt": "new"}, before)
    ((category, severity, targets, evidence),) = shown(found)
    assert (category, severity, targets) == ("source-changed", "high", ["a.md"])
    old, new = (
        hashlib.sha256(f"file:{hashlib.sha256(text).hexdigest()}".encode()).hexdigest()
        for text in (b"old", b"new")
    )
    assert [(item["field"], item["value"]) for item in evidence] == [
        ("source.currentFingerprint", new),
        ("source.previousFingerprint", old),
        ("source.resource", "f.txt"),
    ]
    assert audit_report(found, "")["sources"]["changed"] == 1


def test_the_baseline_is_not_updated_while_a_change_is_open(audit: Any, make: Any, tmp_path: Path) -> None:
    page = make.page("A", front=FILE)
    before = recorded(audit, {"a.md": page, "f.txt": "old"}, tmp_path / "b.json")
    with pytest.raises(UsageError, match=r"1 changed source is open: look at a\.md"):
        source_baseline(audit({"a.md": page, "f.txt": "new"}, before), "0" * 64)


def cited(make: Any, text: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()
    review = (
        "verification:\n  method: review\n  by: human:ann\n  at: 2026-01-01\n  evidence_versions:\n"
        f"    - {{ evidence_ref: e, source_ref: file, resource: f.txt, sha256: {digest}, by: human:ann, at: "
        "2026-01-01 }"
    )
    claim = make.claim("x", 1, status="verified", evidence="[{ id: e, source_ref: file }]", extra=review)
    return make.page("A", claim, front=FILE)


def test_a_change_is_closed_by_the_review_of_the_claims_that_cite_it(
    audit: Any, make: Any, tmp_path: Path
) -> None:
    before = recorded(audit, {"a.md": cited(make, "old"), "f.txt": "old"}, tmp_path / "b.json")
    stale = audit({"a.md": cited(make, "old"), "f.txt": "new"}, before)
    assert [(category, targets) for category, _, targets, _ in shown(stale)] == [
        ("claim-evidence-stale", ["a.md"]),
        ("source-changed", ["a.md", "ex:claim/x"]),
    ]
    assert shown(audit({"a.md": cited(make, "new"), "f.txt": "new"}, before)) == []


def test_fingerprints_of_remote_sources_need_no_network(audit: Any, make: Any) -> None:
    front = (
        "sources:\n  - { id: a, resource: 'https://x.example/', last_modified: '2026-01-01T00:00:00Z' }\n"
        f"  - {{ id: b, resource: 'https://y.example/', observe: pinned, sha256: {'a' * 64} }}\n"
    )
    found = audit({"a.md": make.page("A", front=front)})
    prints = {source.id: source.fingerprint for source in found.sources if source.document == "a.md"}
    assert prints == {
        "a": hashlib.sha256(b"https://x.example/\x002026-01-01T00:00:00Z").hexdigest(),
        "b": hashlib.sha256(b"pinned:" + b"a" * 64).hexdigest(),
    }


SOURCE_ENTRY = {"document": "a.md", "resource": "f", "fingerprint": "0" * 64, "exists": True}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"type": "openknowledge.check-baseline"}, "not a baseline of okn audit"),
        ({"version": 2}, "version 2 is not supported"),
        ({"extra": 1}, "unknown field 'extra'"),
        ({"bundleSha256": "x"}, "64 hexadecimal digits"),
        ({"sources": [SOURCE_ENTRY, SOURCE_ENTRY]}, "there twice"),
        ({"sources": [{**SOURCE_ENTRY, "document": "b.md"}, SOURCE_ENTRY]}, "out of order"),
        ({"sources": [{**SOURCE_ENTRY, "fingerprint": "0"}]}, r"sources\[0\] must be"),
        ({"sources": [{**SOURCE_ENTRY, "why": 1}]}, r"sources\[0\] must be"),
        ({"sources": [{**SOURCE_ENTRY, "exists": "yes"}]}, r"sources\[0\] must be"),
    ],
)
def test_a_wrong_baseline_is_refused_with_its_fault(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    content = {
        "type": "openknowledge.audit-source-baseline",
        "version": 1,
        "bundleSha256": "0" * 64,
        "sources": [],
        **changes,
    }
    path = tmp_path / "b.json"
    path.write_text(json.dumps(content))
    with pytest.raises(UsageError, match=message):
        read_source_baseline(path)


# The digest over all files


def record(kind: bytes, path: str, data: bytes) -> bytes:
    raw = path.encode()
    return kind + len(raw).to_bytes(8, "big") + raw + len(data).to_bytes(8, "big") + data


def test_the_bundle_digest_is_over_folders_files_and_links_in_the_order_of_a_walk(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/x.md").write_bytes(b"x")
    (tmp_path / "b.md").write_bytes(b"y")
    (tmp_path / "link").symlink_to("b.md")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_bytes(b"z")
    parts = [
        record(b"d", "b", b""),
        record(b"f", "b/x.md", b"x"),
        record(b"f", "b.md", b"y"),
        record(b"l", "link", b"b.md"),
    ]
    assert bundle_sha256(tmp_path) == hashlib.sha256(b"".join(parts)).hexdigest()


def test_a_file_that_cannot_be_read_has_no_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_bytes(b"x")
    opened = Path.open

    def refuse(self: Path, *arguments: Any, **options: Any) -> Any:
        if self.name == "a.md":
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(OpenKnowledgeError, match=r"cannot read 'a\.md' for the bundle's digest: Permission"):
        bundle_sha256(tmp_path)
