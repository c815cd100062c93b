"""``okn check`` as a user and a CI job meet it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Okn = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[2]
PAGE = "---\ntype: Note\ntitle: {0}\n---\n\n# {0}\n\nText of {0}. {1}\n"


@pytest.fixture
def kb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle with one stale page and one broken link, in the current directory."""
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "kb"
    root.mkdir()
    stale = PAGE.format("A", "").replace("title: A\n", "title: A\nstale_after: 2026-01-01T00:00:00Z\n")
    (root / "a.md").write_text(stale)
    (root / "b.md").write_text(PAGE.format("B", "[x](gone.md)"))
    return root


def test_it_prints_findings_and_fails(okn: Okn, kb: Path) -> None:
    done = okn("check", "kb")
    assert done.code == 1
    assert done.out.splitlines() == [
        "a.md:4:14: high: this page is stale since 2026-01-01T00:00:00Z [stale]",
        "b.md:8:12: medium: link target 'gone.md' does not exist [link-target]",
        "fail: 1 high, 1 medium in 2 pages (fails on high)",
    ]
    assert done.err == ""


@pytest.mark.parametrize(
    ("fail_on", "skip", "code"),
    [("high", [], 1), ("none", [], 0), ("high", ["stale"], 0), ("medium", ["stale"], 1), ("low", ["*"], 0)],
)
def test_the_exit_code_follows_the_threshold(
    okn: Okn, kb: Path, fail_on: str, skip: list[str], code: int
) -> None:
    options = [option for name in skip for option in ("--skip", name)]
    assert okn("check", "kb", "--fail-on", fail_on, *options).code == code


def test_several_formats_are_written_in_one_run(okn: Okn, kb: Path) -> None:
    done = okn(
        "check",
        "kb",
        "--format",
        "github",
        "--out",
        "sarif=s.json",
        "--out",
        "junit=j.xml",
        "--out",
        "json=c.json",
        "--out",
        "markdown=m.md",
        "--out",
        "text=t.txt",
    )
    assert done.code == 1
    assert done.out.startswith("::error file=kb/a.md,line=4,col=14,title=stale::")
    assert json.loads(Path("s.json").read_text())["version"] == "2.1.0"
    assert json.loads(Path("c.json").read_text())["summary"]["high"] == 1
    assert Path("j.xml").read_text().startswith("<?xml")
    assert "`kb/a.md:4`" in Path("m.md").read_text()
    assert Path("t.txt").read_text().endswith("(fails on high)\n")


def test_quiet_prints_nothing_and_still_writes_reports(okn: Okn, kb: Path) -> None:
    done = okn("check", "kb", "-q", "--out", "json=c.json")
    assert (done.code, done.out) == (1, "")
    assert Path("c.json").exists()


UPDATE = ["--baseline", "b.json", "--update-baseline"]
WRONG = [
    (["--format", "xml"], 2, "unknown format 'xml'"),
    (["--out", "report.sarif"], 2, "is not FORMAT=FILE"),
    (["--out", "sarif="], 2, "is not FORMAT=FILE"),
    (["--out", "pdf=x"], 2, "unknown format 'pdf'"),
    (["--out", "json=x", "--out", "sarif=./x"], 2, "two outputs to one file"),
    (["--out", "json=x", "--out", "sarif=link"], 2, "two outputs to one file"),
    (["--out", "json=none/x"], 1, "there is no folder 'none'"),
    (["--out", "json=kb"], 1, "it is a folder"),
    (["--fail-on", "severe"], 2, "unknown --fail-on 'severe'"),
    (["--only", "stail"], 2, "did you mean stale"),
    (["--skip", "nope-*"], 2, "unknown rule 'nope-*'"),
    (["--explain", "nope"], 2, "unknown rule 'nope'"),
    (["--update-baseline"], 2, "need --baseline FILE"),
    (["--baseline", "b.json"], 2, "No such file"),
    (["--baseline", "b.json", "--reason", "x"], 2, "are for --update-baseline"),
    (["--baseline", "none/b.json", "--update-baseline"], 1, "there is no folder 'none'"),
    (["--baseline", "b.json", "--out", "json=b.json", "--update-baseline"], 2, "two outputs to one file"),
    (UPDATE, 2, "--reason TEXT"),
    ([*UPDATE, "--reason", "x", "--until", "2020-01-01"], 2, "in the past"),
]


@pytest.mark.parametrize(("options", "code", "message"), WRONG)
def test_a_wrong_command_line_is_refused_and_nothing_is_written(
    okn: Okn, kb: Path, options: list[str], code: int, message: str
) -> None:
    Path("link").symlink_to("x")
    before = sorted(os.listdir())
    done = okn("check", "kb", *options)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert sorted(os.listdir()) == before


def test_no_report_is_left_when_one_cannot_be_made(
    okn: Okn, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import openknowledge.engine.analysis.reporting.sarif as sarif
    from openknowledge.engine.errors import OpenKnowledgeError

    def refuse(_outcome: object) -> str:
        raise OpenKnowledgeError("no sarif today")

    monkeypatch.setattr(sarif, "sarif_report", refuse)
    done = okn("check", "kb", "--out", "json=c.json", "--out", "sarif=s.json")
    assert done.code == 1
    assert "no sarif today" in done.err
    assert not Path("c.json").exists()


def test_a_bundle_that_is_not_there_is_said(okn: Okn, kb: Path) -> None:
    done = okn("check", "nowhere")
    assert done.code == 1
    assert "cannot open bundle 'nowhere'" in done.err


def test_explain_shows_the_proof_below_the_finding(okn: Okn, kb: Path) -> None:
    out = okn("check", "kb", "--explain", "stale").out.splitlines()
    assert out[1].strip().startswith('expired_page("a")')
    assert any('document_stale("a","true")' in line and "a.md:4" in line for line in out)


def test_the_rules_are_listed_with_policies(okn: Okn, kb: Path) -> None:
    (kb / ".openknowledge.toml").write_text('[policy]\nrules = ["p.dl"]\n')
    (kb / "p.dl").write_text('finding("low", P, "m") :- document(P, _, _).\n')
    done = okn("check", "kb", "--rules")
    assert done.code == 0
    for name in ("claim-conflict", "link-target", "missing-owner", "p.dl", "policy-error"):
        assert name in done.out


def test_a_policy_that_cannot_be_judged_fails_even_when_nothing_else_may(okn: Okn, kb: Path) -> None:
    (kb / ".openknowledge.toml").write_text('[policy]\nrules = ["p.dl"]\n')
    (kb / "p.dl").write_text("finding(")
    done = okn("check", "kb", "--fail-on", "none")
    assert done.code == 1
    assert "p.dl:1:9: high: " in done.out


# The baseline


def accept(okn: Okn) -> Any:
    return okn("check", "kb", *UPDATE, "--reason", "later", "--until", "2099-01-01")


def test_accepted_findings_pass_and_new_ones_fail(okn: Okn, kb: Path) -> None:
    done = accept(okn)
    assert (done.code, done.err) == (0, "b.json: 2 findings accepted (2 new, 0 gone)\n")
    done = okn("check", "kb", "--baseline", "b.json", "--fail-on", "low")
    assert done.code == 0
    assert done.out.endswith("pass: no findings (2 accepted) in 2 pages (fails on low)\n")
    assert "(accepted until 2099-01-01: later)" in done.out
    (kb / "c.md").write_text(PAGE.format("C", "[y](gone.md)"))
    done = okn("check", "kb", "--baseline", "b.json", "--fail-on", "low")
    assert done.code == 1
    assert "1 medium (2 accepted)" in done.out


def test_an_accepted_finding_may_move_to_another_line(okn: Okn, kb: Path) -> None:
    accept(okn)
    page = kb / "b.md"
    page.write_text(page.read_text().replace("# B\n", "# B\n\nMore text.\n"))
    assert okn("check", "kb", "--baseline", "b.json", "--fail-on", "low").code == 0


def test_what_is_past_its_day_fails_again_and_is_said(okn: Okn, kb: Path) -> None:
    accept(okn)
    done = okn("--now", "2099-01-02", "check", "kb", "--baseline", "b.json")
    assert done.code == 1
    assert "was accepted until 2099-01-01, which has passed: later" in done.out


def test_what_is_gone_is_said_and_dropped_by_an_update(okn: Okn, kb: Path) -> None:
    accept(okn)
    (kb / "b.md").write_text(PAGE.format("B", ""))
    done = okn("check", "kb", "--baseline", "b.json")
    assert done.code == 0
    assert "(link-target in b.md) is gone: remove it with --update-baseline" in done.out
    done = okn("check", "kb", "--baseline", "b.json", "--update-baseline")
    assert (done.code, done.err) == (0, "b.json: 1 findings accepted (0 new, 1 gone)\n")


def test_a_policy_error_cannot_be_accepted(okn: Okn, kb: Path) -> None:
    (kb / ".openknowledge.toml").write_text('[policy]\nrules = ["p.dl"]\n')
    (kb / "p.dl").write_text("finding(")
    done = accept(okn)
    assert done.code == 1
    assert "cannot be accepted" in done.err
    assert not Path("b.json").exists()


# Progress


def test_progress_is_silent_for_short_work_and_off_a_terminal(okn: Okn, kb: Path) -> None:
    assert okn("check", "kb").err == ""


SLOW = """
import sys, time
from openknowledge.cli.progress import progress
with progress() as tell:
    tell("counting")
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        time.sleep(0.05)
"""


@pytest.mark.parametrize(("seconds", "shown"), [("1.6", True), ("0.2", False)])
def test_progress_shows_on_a_terminal_after_a_second_and_is_cleared(seconds: str, shown: bool) -> None:
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", SLOW, seconds], stderr=theirs, check=True)
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 4096):
            text += chunk
    except OSError:  # the terminal has no more to say
        pass
    os.close(ours)
    assert (b"counting ... 1 s" in text) is shown
    assert not shown or text.endswith(b"\r")
