"""``okn diff``, ``okn audit`` and ``okn init`` as a user meets them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Okn = Callable[..., Any]


def git(*arguments: str, when: str = "2026-11-01T12:00:00Z") -> str:
    identity = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.com",
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_DATE": when,
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    done = subprocess.run(
        ["git", *arguments], env={**os.environ, **identity}, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def kb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, okn: Okn) -> Path:
    """A new bundle, committed, below the current directory."""
    monkeypatch.chdir(tmp_path)
    okn("--now", "2026-11-01", "init", "kb")
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    return tmp_path / "kb"


def drift(kb: Path) -> None:
    (kb / "sources/support-terms.txt").write_text("First answer: within 9 hours\n")


def test_a_clean_tree_has_no_difference(okn: Okn, kb: Path) -> None:
    done = okn("diff", "HEAD", "kb")
    assert done.code == 0
    assert done.out.endswith("nothing changed\n")


def test_the_working_tree_is_compared_with_what_is_not_committed(okn: Okn, kb: Path) -> None:
    drift(kb)
    done = okn("--now", "2026-11-02", "diff", "main", "kb")
    assert done.code == 0
    assert "became stale:" in done.out
    assert "services/support.md:17:5: high: evidence terms of claim ex:claim/support-first-answer" in done.out


def test_fail_on_makes_new_findings_fail(okn: Okn, kb: Path) -> None:
    drift(kb)
    assert okn("--now", "2026-11-02", "diff", "HEAD", "kb", "--fail-on", "high").code == 1
    assert okn("--now", "2026-11-02", "diff", "HEAD", "kb", "--fail-on", "none").code == 0


def test_two_revisions_are_compared_without_looking_at_the_tree(okn: Okn, kb: Path) -> None:
    drift(kb)
    git("commit", "-qam", "two", when="2026-11-02T12:00:00Z")
    (kb / "index.md").write_text("dirty")
    report = json.loads(okn("diff", "HEAD~1", "HEAD", "--path", "kb", "--json").out)
    assert [finding["rule"] for finding in report["newFindings"]] == ["claim-evidence-stale"]
    assert report["pages"] == []
    assert report["base"]["asOf"] == "2026-11-01T12:00:00Z"
    assert report["head"] == {
        "name": "HEAD",
        "commit": git("rev-parse", "HEAD"),
        "indexSha256": report["base"]["indexSha256"],
        "asOf": "2026-11-02T12:00:00Z",
    }


def test_the_report_has_the_declared_shape(okn: Okn, kb: Path) -> None:
    from openknowledge.schemas.diff import DiffReport
    from pydantic import TypeAdapter

    drift(kb)
    (kb / "new.md").write_text(
        "---\ntype: Note\nclaim_refs: [ex:claim/support-first-answer]\n"
        'openknowledge_claim_profile: "1"\n---\n\n# New\n'
    )
    page = kb / "services/support.md"
    page.write_text(page.read_text().replace("value: 8", "value: 9"))
    report = json.loads(okn("--now", "2026-11-02", "diff", "HEAD", "kb", "--json").out)
    TypeAdapter(DiffReport).validate_python(report, strict=True)
    assert [(change["id"], change["change"]) for change in report["claims"]] == [
        ("ex:claim/support-first-answer", "changed")
    ]
    assert report["claims"][0]["fields"][0]["field"] == "object"
    affected = {(item["subject"], item["how"], item["changed"]) for item in report["affected"]}
    assert affected == {("new", "refers", True), ("index", "links", False), ("log", "links", False)}
    text = okn("--now", "2026-11-02", "diff", "HEAD", "kb").out
    assert "  2 pages more link to their pages or cite the same sources\n" in text


def test_markdown_is_a_comment_with_proofs_folded(okn: Okn, kb: Path) -> None:
    drift(kb)
    text = okn("--now", "2026-11-02", "diff", "HEAD", "kb", "--format", "markdown").out
    assert text.startswith("## What this does to the knowledge\n")
    assert "### Became stale" in text
    assert "`kb/services/support.md:17`" in text
    assert "<details><summary>proof</summary>" in text


def test_dots_name_two_revisions_and_three_dots_where_they_parted(okn: Okn, kb: Path) -> None:
    git("checkout", "-q", "-b", "topic")
    (kb / "topic.md").write_text("---\ntype: Note\n---\n\n# Topic\n")
    git("add", "-A")
    git("commit", "-qm", "topic")
    git("checkout", "-q", "main")
    (kb / "main.md").write_text("---\ntype: Note\n---\n\n# Main\n")
    git("add", "-A")
    git("commit", "-qm", "main")

    def pages(*arguments: str) -> list[tuple[str, str]]:
        report = json.loads(okn("diff", *arguments, "--json").out)
        return [(page["change"], page["path"]) for page in report["pages"]]

    assert pages("main..topic", "kb") == [("removed", "main.md"), ("added", "topic.md")]
    assert pages("main...topic", "kb") == [("added", "topic.md")]
    assert pages("main", "topic", "kb", "--merge-base") == [("added", "topic.md")]


def test_a_bundle_that_has_moved_is_compared_with_where_it_was(okn: Okn, kb: Path) -> None:
    git("mv", "kb", "knowledge")
    git("commit", "-qm", "move")
    done = okn("diff", "HEAD~1", "HEAD", "knowledge")
    assert done.code == 1
    assert "the directory 'knowledge' did not exist" in done.err
    done = okn("diff", "HEAD~1", "HEAD", "knowledge", "--base-path", "kb")
    assert (done.code, "nothing changed" in done.out) == (0, True)


def test_a_name_that_is_a_revision_and_a_directory_is_not_guessed(okn: Okn, kb: Path) -> None:
    git("branch", "kb")
    done = okn("diff", "HEAD", "kb")
    assert done.code == 2
    assert "is a git revision and a directory" in done.err
    assert okn("diff", "HEAD", "--path", "kb").code == 0


WRONG = [
    (["diff", "nope", "kb"], 1, "there is no git revision 'nope'"),
    (["diff", "--", "--output=x", "kb"], 1, "there is no git revision '--output=x'"),
    (["diff", "HEAD", "kb", "--format", "xml"], 2, "unknown format 'xml'"),
    (["diff", "HEAD", "HEAD", "kb", "--path", "kb"], 2, "given twice"),
    (["diff", "a..b", "kb", "kb"], 2, "one too many"),
    (["diff", "HEAD", "kb", "--out", "json=none/x"], 1, "there is no folder"),
    (["diff", "HEAD", "kb", "--fail-on", "x"], 2, "unknown --fail-on"),
    (["--at", "HEAD", "diff", "HEAD", "kb"], 2, "leave --at out"),
    (["--at", "HEAD", "init", "new"], 2, "leave --at out"),
    (["audit", "kb", "--format", "xml"], 2, "unknown format 'xml'"),
    (["audit", "kb", "--update-baseline"], 2, "needs --baseline"),
    (["audit", "kb", "--baseline", "none.json"], 2, "No such file"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG)
def test_a_wrong_command_line_is_refused(
    okn: Okn, kb: Path, arguments: list[str], code: int, message: str
) -> None:
    done = okn(*arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


def test_outside_a_repository_the_message_says_so(
    okn: Okn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text("# A\n")
    done = okn("diff", "HEAD")
    assert done.code == 1
    assert "not a git repository" in done.err


# At a revision


def test_any_read_command_sees_the_bundle_as_it_was(okn: Okn, kb: Path) -> None:
    drift(kb)
    git("rm", "-q", "--cached", "-r", "kb")
    assert okn("--now", "2026-11-02", "check", "kb").code == 1
    assert okn("--at", "HEAD", "check", "kb", "--fail-on", "low").code == 0
    done = okn("--at", "HEAD", "audit", "kb", "--json")
    assert json.loads(done.out)["evaluatedAt"] == "2026-11-01T12:00:00Z"
    (kb / "index.md").unlink()
    assert "index.md" in okn("--at", "HEAD", "list", "kb").out
    assert okn("--at", "HEAD", "claims", "stale", "kb").code == 0
    done = okn("--at", "HEAD", "query", "kb", "--datalog", 'claim(C, S, P, "8")', "--format", "json")
    assert len(json.loads(done.out)["results"]) == 1


def test_relative_dates_are_judged_as_of_the_commit_unless_told_otherwise(okn: Okn, kb: Path) -> None:
    assert okn("--at", "HEAD", "check", "kb").code == 0
    done = okn("--at", "HEAD", "--now", "2030-01-01", "check", "kb")
    assert done.code == 1
    assert "[claim-stale]" in done.out


# Audit


def test_an_audit_prints_findings_and_passes_unless_told_to_fail(okn: Okn, kb: Path) -> None:
    done = okn("audit", "kb")
    assert done.code == 0
    assert done.out.splitlines()[0].startswith("medium: The page names no source [missing-source ")
    assert okn("audit", "kb", "--fail-on", "medium").code == 1
    assert okn("audit", "kb", "--fail-on", "high").code == 0


def test_an_audit_compares_sources_with_its_baseline(okn: Okn, kb: Path) -> None:
    page = kb / "services/support.md"
    extra = "  - id: live\n    resource: ../sources/support-terms.txt\n"
    page.write_text(page.read_text().replace("sources:\n", "sources:\n" + extra))
    done = okn("audit", "kb", "--baseline", "s.json", "--update-baseline")
    assert done.err == "s.json: 2 sources recorded\n"
    drift(kb)
    report = json.loads(okn("audit", "kb", "--baseline", "s.json", "--json").out)
    assert "source-changed" in [finding["category"] for finding in report["findings"]]
    done = okn("audit", "kb", "--baseline", "s.json", "--update-baseline")
    assert done.code == 2
    assert "is not updated while 1 changed source is open" in done.err


def test_an_audit_report_has_the_declared_shape(okn: Okn, kb: Path) -> None:
    from openknowledge.engine.analysis.bundle_digest import bundle_sha256
    from openknowledge.schemas.audit import AuditReport, AuditSourceBaseline
    from pydantic import TypeAdapter

    drift(kb)
    report = json.loads(okn("audit", "kb", "--json", "--proofs").out)
    TypeAdapter(AuditReport).validate_python(report, strict=True)
    assert report["bundle"]["sha256"] == bundle_sha256(kb)
    okn("audit", "kb", "--baseline", "s.json", "--update-baseline")
    TypeAdapter(AuditSourceBaseline).validate_python(json.loads(Path("s.json").read_text()), strict=True)


def test_an_audit_as_markdown_names_targets_and_evidence(okn: Okn, kb: Path) -> None:
    text = okn("audit", "kb", "--format", "markdown").out
    assert text.startswith("# Audit\n")
    assert "- look at `ontology.md`" in text


# Init


def test_a_new_bundle_passes_and_is_not_made_twice(okn: Okn, kb: Path) -> None:
    assert okn("check", "kb", "--fail-on", "low").code == 0
    before = {path: path.read_bytes() for path in kb.rglob("*") if path.is_file()}
    done = okn("init", "kb")
    assert done.code == 1
    assert "nothing was written: index.md, log.md" in done.err
    assert {path: path.read_bytes() for path in kb.rglob("*") if path.is_file()} == before


def test_a_bundle_is_made_beside_what_is_there(okn: Okn, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("---\ntype: Note\n---\n\n# Mine\n")
    assert okn("init", tmp_path).code == 0
    assert okn("check", tmp_path).code == 0


@pytest.mark.parametrize("taken", ["index.md", "policy", "sources/support-terms.txt", "services"])
def test_one_file_that_exists_keeps_all_others_from_being_written(
    okn: Okn, tmp_path: Path, taken: str
) -> None:
    path = tmp_path / taken
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    done = okn("init", tmp_path)
    assert done.code == 1
    assert "already exists" in done.err
    assert [item for item in tmp_path.rglob("*") if item.is_file()] == [path]


def test_a_link_is_not_written_through(okn: Okn, tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb/index.md").symlink_to(tmp_path / "elsewhere.md")
    assert okn("init", tmp_path / "kb").code == 1
    assert not (tmp_path / "elsewhere.md").exists()


def test_a_folder_that_cannot_be_made_is_said(okn: Okn, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = okn("init", tmp_path / "file/kb")
    assert done.code == 1
    assert "cannot make the folder" in done.err


def test_pinned_evidence_is_read_only(okn: Okn, kb: Path) -> None:
    (artifact,) = kb.rglob("artifact.txt")
    assert artifact.stat().st_mode & 0o222 == 0
