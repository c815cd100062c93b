"""A proposal is applied to the bytes it was made for: all of it and nothing else, or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.apply import apply_proposal
from openknowledge.engine.operations.disk import Disk
from openknowledge.engine.operations.lock import BundleLock
from openknowledge.engine.operations.proposals import decode_claim_proposal, encode_proposal
from openknowledge.engine.operations.transaction import recover

from .conftest import Sample

ADDED = [
    "page.md: +  - id: ex:new",
    "page.md: +    slot: ex:slot-place",
    "page.md: +    subject: ex:alpha",
    "page.md: +    predicate: ex:runsIn",
    "page.md: +    object:",
    "page.md: +      ref: ex:production",
    "page.md: +    evidence:",
    "page.md: +      - id: e1",
    "page.md: +        source_ref: live",
    "page.md: +        stance: supports",
    "page.md: +        role: primary",
    "page.md: +    status: proposed",
]


def test_only_the_lines_of_the_claim_are_added(sample: Sample) -> None:
    before = sample.files()
    report = apply_proposal(sample.root, sample.propose())
    assert sample.changed_lines(before) == ADDED
    assert report == {
        "schemaVersion": "1",
        "action": "apply",
        "root": str(sample.root),
        "claimId": "ex:new",
        "document": "page.md",
        "changed": True,
    }
    assert sample.valid()


def test_git_sees_only_these_lines_and_no_other_file(sample: Sample) -> None:
    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e@x", *arguments],
            cwd=sample.root,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "start")
    apply_proposal(sample.root, sample.propose())
    assert git("status", "--short") == " M page.md\n"
    changed = [line for line in git("diff", "-U0").splitlines() if line[:1] in "+-" and line[:3] != "+++"]
    assert changed[1:] == [line.partition(": ")[2] for line in ADDED]


def test_crlf_and_a_byte_order_mark_stay(sample: Sample) -> None:
    sample.write("page.md", "\ufeff" + sample.text().replace("\n", "\r\n"))
    before = sample.files()
    apply_proposal(sample.root, sample.propose())
    assert sample.changed_lines(before) == [line + "\r" for line in ADDED]


def test_the_mode_of_the_page_stays(sample: Sample) -> None:
    (sample.root / "page.md").chmod(0o640)
    apply_proposal(sample.root, sample.propose())
    assert (sample.root / "page.md").stat().st_mode & 0o777 == 0o640


def test_a_dry_run_checks_shows_and_writes_nothing(sample: Sample) -> None:
    before = sample.files()
    report = apply_proposal(sample.root, sample.propose(), dry_run=True)
    assert sample.files() == before
    assert (report["changed"], report["dryRun"]) == (True, True)
    assert "+  - id: ex:new\n" in report["diff"]


def test_a_dry_run_refuses_what_would_be_refused(sample: Sample) -> None:
    proposal = sample.propose(predicate="ex:undeclared")
    assert "claim edit is invalid" in sample.refused(
        lambda: apply_proposal(sample.root, proposal, dry_run=True)
    )


def test_a_second_time_it_is_stale_and_says_that_the_claim_exists(sample: Sample) -> None:
    proposal = sample.propose()
    apply_proposal(sample.root, proposal)
    message = sample.refused(lambda: apply_proposal(sample.root, proposal))
    assert "the proposal is stale because page.md changed" in message
    assert 'claim occurrence id already exists: "ex:new"' in message


def test_one_byte_edited_in_between_makes_it_stale(sample: Sample) -> None:
    proposal = sample.propose()
    sample.write("page.md", sample.text() + " ")
    message = sample.refused(lambda: apply_proposal(sample.root, proposal))
    assert "the proposal is stale because page.md changed" in message
    assert "exists" not in message


def test_of_two_proposals_for_one_page_the_second_is_stale(sample: Sample) -> None:
    first, second = sample.propose(), sample.propose(id="ex:second")
    apply_proposal(sample.root, first)
    assert "stale" in sample.refused(lambda: apply_proposal(sample.root, second))
    apply_proposal(sample.root, sample.propose(id="ex:second"))
    assert sample.valid()


def test_the_id_must_be_new_in_the_whole_bundle(sample: Sample) -> None:
    sample.replace("guide.md", "title: Guide\n", "title: Guide\nsources: [{ id: s, resource: page.md }]\n")
    proposal = sample.propose(
        "guide.md", id="https://example.org/idle", evidence=[{"id": "e", "sourceRef": "s"}]
    )
    message = sample.refused(lambda: apply_proposal(sample.root, proposal))
    assert message == 'claim occurrence id already exists: "https://example.org/idle"'


def test_an_id_of_a_broken_claim_is_taken_as_well(sample: Sample) -> None:
    sample.replace("page.md", "    status: supported", "    status: nonsense")
    proposal = sample.propose(id="ex:idle")
    assert "already exists" in sample.refused(lambda: apply_proposal(sample.root, proposal))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"predicate": "ex:undeclared"}, "ex:undeclared"),
        ({"subject": "ex:nobody"}, "ex:nobody"),
        ({"subject": "ex:old"}, "ex:beta"),
        ({"id": "nope:new"}, "nope:new"),
        ({"relations": {"derivedFrom": ["ex:missing"]}}, "ex:missing"),
        ({"object": {"value": "x"}}, "object"),
    ],
)
def test_what_would_be_an_issue_is_refused(sample: Sample, changes: dict[str, Any], message: str) -> None:
    proposal = sample.propose(**changes)
    said = sample.refused(lambda: apply_proposal(sample.root, proposal))
    assert said.startswith("claim edit is invalid: page.md:")
    assert message in said


def test_issues_that_were_there_before_do_not_matter(sample: Sample) -> None:
    sample.replace("guide.md", "[Alpha](page.md)", "[Alpha](gone.md)")
    before = sample.issues()
    assert before
    apply_proposal(sample.root, sample.propose())
    assert sample.issues() == before


def test_an_issue_that_appears_only_on_the_disk_brings_the_old_bytes_back(sample: Sample) -> None:
    proposal = sample.propose()
    artifact = next(path for path in sample.files() if path.endswith("artifact.txt"))
    before = sample.text()

    def hook(step: str, path: Path) -> None:
        if step == "rename" and path.name == "page.md":
            sample.write(artifact, "somebody replaced it")

    with pytest.raises(OpenKnowledgeError, match=r"claim edit is invalid: .*tampering"):
        apply_proposal(sample.root, proposal, disk=Disk(hook))
    assert sample.text() == before
    assert not list(sample.root.rglob("*.tmp"))


# What is no proposal


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def apply(proposal: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        holder: Any = proposal
        for step in parents:
            holder = holder[int(step)] if isinstance(holder, list) else holder[step]
        if value is ...:
            del holder[last]
        else:
            holder[int(last) if isinstance(holder, list) else last] = value

    return apply


EXTRA_CLAIM = {"op": "replace", "path": "/claims/0/status", "value": "verified"}
BAD_PROPOSALS: list[tuple[str, Callable[[dict[str, Any]], None], str]] = [
    ("an unknown field", change("note", "x"), "note is an unknown field"),
    ("an unknown field of a claim", change("claim.note", "x"), "claim.note is an unknown field"),
    ("an unknown field of the patch", change("patch.0.note", 1), "patch[0].note is an unknown field"),
    ("another status", change("claim.status", "verified"), "claim.status must be proposed, not verified"),
    ("a verification", change("claim.verification", {}), "claim.verification is an unknown field"),
    ("no reason", change("reason", ...), "reason is missing"),
    ("no patch", change("patch", ...), "patch is missing"),
    ("an empty patch", change("patch", []), "patch should have at least 1 item"),
    ("another type", change("type", "x"), "type must be openknowledge.claim-proposal"),
    ("another version", change("version", 2), "version must be 1, not 2"),
    ("a boolean version", change("version", True), "version must be 1"),
    ("another action", change("action", "delete"), "action must be create"),
    ("a digest that is none", change("documentSha256", "abc"), "documentSha256 should match pattern"),
    ("a digest of other bytes", change("documentSha256", "0" * 64), "stale because page.md changed"),
    ("another page", change("document", "guide.md"), "stale because guide.md changed"),
    ("a missing page", change("document", "nope.md"), "there is no such file"),
    ("no confidence", change("confidence", 0), "confidence should be greater than 0"),
    ("a reason of blanks", change("reason", " "), "reason must not be blank"),
    ("..", change("document", "x/../page.md"), "the path has the segment .."),
    ("an absolute path", change("document", "/etc/passwd"), "the path is absolute"),
    ("NUL", change("document", "page.md\0"), "NUL"),
    ("a drive letter", change("document", "C:page.md"), "drive letter"),
    ("a backslash", change("document", "..\\page.md"), "backslash"),
    ("a patch elsewhere", change("patch.0.path", "/title"), "reaches outside what may be changed here"),
    (
        "a patch from elsewhere",
        change("patch.0", {"op": "move", "path": "/claims/-", "from": "/title"}),
        "outside",
    ),
    ("a patch of everything", change("patch.0.path", ""), "may not be changed"),
    (
        "a patch that adds nothing",
        change("patch.0", {"op": "test", "path": "/claims/0/id", "value": "ex:idle"}),
        "does not add",
    ),
    (
        "another claim in the patch",
        change("patch.0.value.object", {"ref": "ex:beta"}),
        "other than exactly the proposed",
    ),
    (
        "another type of value",
        change("patch.0.value.object", {"value": True}),
        "other than exactly the proposed",
    ),
]


@pytest.mark.parametrize(
    ("edit", "message"), [(e, m) for _, e, m in BAD_PROPOSALS], ids=[n for n, _, _ in BAD_PROPOSALS]
)
def test_a_bad_proposal_is_refused(
    sample: Sample, edit: Callable[[dict[str, Any]], None], message: str
) -> None:
    proposal = sample.propose()
    edit(proposal)
    assert message in sample.refused(lambda: apply_proposal(sample.root, proposal))


SIDE_EFFECTS: list[tuple[dict[str, Any], str]] = [
    (EXTRA_CLAIM, "changes or removes what claims holds already"),
    ({"op": "remove", "path": "/claims/0"}, "changes or removes what claims holds already"),
    (
        {"op": "add", "path": "/claims/-", "value": {"id": "ex:third"}},
        "other than exactly the proposed claim",
    ),
    ({"op": "replace", "path": "/verified", "value": []}, "changes verified, which only a reviewer's"),
    (
        {"op": "replace", "path": "/sources/0/sha256", "value": "0" * 64},
        "changes or removes what sources holds",
    ),
    (
        {"op": "add", "path": "/sources/-", "value": {"id": "s", "authority_approved_by": "human:x"}},
        "adds a source that is approved as authoritative",
    ),
    (
        {"op": "replace", "path": "/openknowledge_claim_profile", "value": "2"},
        "sets openknowledge_claim_profile",
    ),
    ({"op": "remove", "path": "/openknowledge_claim_profile"}, "sets openknowledge_claim_profile"),
    ({"op": "remove", "path": "/sources"}, "takes sources away"),
]


@pytest.mark.parametrize(("operation", "message"), SIDE_EFFECTS, ids=[m for _, m in SIDE_EFFECTS])
def test_a_patch_may_not_do_more_than_the_proposal_says(
    sample: Sample, operation: dict[str, Any], message: str
) -> None:
    proposal = sample.propose()
    proposal["patch"].append(operation)
    assert message in sample.refused(lambda: apply_proposal(sample.root, proposal))


def test_a_patch_may_bring_a_source_and_a_reference_along(sample: Sample) -> None:
    proposal = sample.propose()
    source = {"id": "more", "resource": "https://example.org/more"}
    proposal["patch"] += [
        {"op": "add", "path": "/sources/-", "value": source},
        {"op": "add", "path": "/claim_refs", "value": ["ex:idle"]},
    ]
    apply_proposal(sample.root, proposal)
    assert sample.valid()
    assert "claim_refs:\n  - ex:idle\n" in sample.text()


def test_a_symbolic_link_in_place_of_the_page_is_refused(sample: Sample) -> None:
    proposal = sample.propose()
    (sample.root / "page.md").rename(sample.root / "elsewhere.txt")
    (sample.root / "page.md").symlink_to("elsewhere.txt")
    with pytest.raises(OpenKnowledgeError, match="symbolic link"):
        apply_proposal(sample.root, proposal)


def test_a_written_proposal_is_read_back(sample: Sample) -> None:
    proposal = sample.propose()
    text = encode_proposal(proposal)
    assert text.endswith("}\n")
    assert '\n  "version": 1,\n' in text
    assert decode_claim_proposal(text.encode()) == proposal


def test_bytes_that_are_ten_megabytes_or_repeat_a_field_are_refused(sample: Sample) -> None:
    text = encode_proposal(sample.propose())
    for data, message in (
        (b" " * 10_000_000 + text.encode(), "larger than"),
        (text.replace('"version": 1,', '"version": 1, "version": 1,').encode(), '"version" is there twice'),
        (text.encode() + b"x", "not JSON: extra data"),
    ):
        with pytest.raises(OpenKnowledgeError, match=message):
            decode_claim_proposal(data)


# When writing fails


def test_a_read_only_page_is_refused(sample: Sample) -> None:
    proposal = sample.propose()
    (sample.root / "page.md").chmod(0o444)
    assert "read-only" in sample.refused(lambda: apply_proposal(sample.root, proposal))


@pytest.mark.parametrize(
    ("code", "message"), [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "no permission to write here")]
)
@pytest.mark.parametrize("step", ["create", "write", "fsync", "rename"])
def test_a_write_that_fails_changes_nothing(sample: Sample, step: str, code: int, message: str) -> None:
    proposal = sample.propose()
    failed = []

    def hook(name: str, path: Path) -> None:
        if name == step and "page.md" in str(path) + sample.root.name and not failed:
            failed.append(path)
            raise OSError(code, os.strerror(code), str(path))
        if name == step and not failed:
            failed.append(path)
            raise OSError(code, os.strerror(code), str(path))

    said = sample.refused(lambda: apply_proposal(sample.root, proposal, disk=Disk(hook)))
    assert message in said


def test_a_page_changed_between_check_and_rename_is_not_overwritten(sample: Sample) -> None:
    proposal = sample.propose()

    def hook(name: str, path: Path) -> None:
        if name == "rename" and path.name == "page.md":
            path.write_bytes(b"---\ntype: X\n---\nsomebody else\n")

    with pytest.raises(OpenKnowledgeError, match="changed meanwhile"):
        apply_proposal(sample.root, proposal, disk=Disk(hook))
    assert sample.text() == "---\ntype: X\n---\nsomebody else\n"


@pytest.mark.skipif(os.name == "nt", reason="forks")
def test_a_process_killed_at_any_step_leaves_the_old_or_the_new_state(sample: Sample) -> None:
    proposal = sample.propose()
    before = sample.files()
    seen = set()
    for step in range(200):
        child = os.fork()
        if child == 0:
            left = [step]

            def hook(name: str, path: Path, left: list[int] = left) -> None:
                left[0] -= 1
                if left[0] < 0:
                    os._exit(9)

            try:
                apply_proposal(sample.root, proposal, disk=Disk(hook))
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        with BundleLock(sample.root, command="test"):
            recover(sample.root)
        found = sample.files()
        new = sample.changed_lines(before) == ADDED
        assert found == before or (new and set(found) == set(before))
        seen.add(new)
        sample.write("page.md", before["page.md"].decode())
        if os.waitstatus_to_exitcode(status) == 0:
            break
    else:
        pytest.fail("the apply has more steps than expected")
    assert seen == {False, True}


def test_of_two_applies_at_once_one_wins_and_the_other_says_why(sample: Sample) -> None:
    proposal = sample.propose()
    said: list[str] = []
    start = threading.Barrier(2)

    def run() -> None:
        start.wait()
        try:
            apply_proposal(sample.root, proposal)
            said.append("applied")
        except OpenKnowledgeError as error:
            said.append(error.message)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(message == "applied" for message in said) == [False, True]
    assert any("stale" in message for message in said)
    assert sample.valid()


def test_an_interrupted_change_is_ended_first_and_reported(sample: Sample) -> None:
    proposal = sample.propose()
    if os.name == "nt":
        pytest.skip("forks")
    child = os.fork()
    if child == 0:

        def hook(name: str, path: Path) -> None:
            if name == "fsync-directory" and (sample.root / "page.md").read_bytes().count(b"ex:new"):
                os._exit(9)

        try:
            apply_proposal(sample.root, proposal, disk=Disk(hook))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert "ex:new" in sample.text()
    report = apply_proposal(sample.root, proposal)
    assert [entry["action"] for entry in report["recovered"]] == ["undone"]
    assert sample.text().count("id: ex:new") == 1
