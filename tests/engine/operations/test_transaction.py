from __future__ import annotations

import errno
import json
import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from openknowledge.engine import limits
from openknowledge.engine.errors import LimitError, OpenKnowledgeError
from openknowledge.engine.operations.disk import Disk
from openknowledge.engine.operations.journal import TRANSACTIONS
from openknowledge.engine.operations.lock import BundleLock
from openknowledge.engine.operations.transaction import (
    StaleFileError,
    Transaction,
    recover,
    sha256_hex,
    writing,
)

Files = dict[str, bytes]
OLD: Files = {"a.md": b"old a", "docs/b.md": b"old b\r\n", "c.md": b"old c"}
NEW: Files = {"a.md": b"new a", "docs/b.md": b"new b\r\n", "c.md": b"", "new/deep/d.bin": b"\x00\xff"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return fill(tmp_path / "bundle")


def fill(root: Path) -> Path:
    (root / "docs").mkdir(parents=True)
    for path, data in OLD.items():
        (root / path).write_bytes(data)
    (root / "a.md").chmod(0o640)
    return root


def files_of(root: Path) -> Files:
    """Every file below ``root``, also the hidden ones."""
    return {
        str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()
    }


def directories_of(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir()}


def staged(root: Path, new: Files = NEW, disk: Disk | None = None) -> Transaction:
    transaction = Transaction(root, disk=disk)
    for path, data in new.items():
        transaction.stage(path, data, expected=sha256_hex(OLD[path]) if path in OLD else None)
    return transaction


# What a commit does


def test_a_commit_writes_every_file_and_leaves_nothing_else(root: Path) -> None:
    assert staged(root).commit() is True
    assert files_of(root) == NEW
    assert directories_of(root) == {"docs", "new", "new/deep"}


def test_the_file_mode_stays(root: Path) -> None:
    staged(root).commit()
    assert stat.S_IMODE((root / "a.md").stat().st_mode) == 0o640


def test_a_new_file_follows_the_umask(root: Path) -> None:
    before = os.umask(0o027)
    try:
        staged(root).commit()
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "new/deep/d.bin").stat().st_mode) == 0o640


def test_nothing_is_written_where_the_bytes_are_the_same(root: Path) -> None:
    steps: list[str] = []
    disk = Disk(lambda step, path: steps.append(step))
    verified: list[bool] = []
    assert staged(root, dict(OLD), disk).commit(lambda: verified.append(True)) is False
    assert steps == []
    assert verified == [True]


def test_every_file_is_on_the_disk_before_its_rename_and_the_directory_after_it(root: Path) -> None:
    steps: list[tuple[str, str]] = []
    disk = Disk(lambda step, path: steps.append((step, path.name)))
    staged(root, {"a.md": b"new a"}, disk).commit()
    names = [step for step, _ in steps]
    rename = steps.index(("rename", "a.md"))
    created = max(i for i, (step, name) in enumerate(steps) if step == "create" and name.endswith("-0.tmp"))
    assert names[created:rename].count("fsync") >= 1
    assert names[rename + 1] == "fsync-directory"
    noted = steps.index(("fsync-directory", "transactions"))
    assert noted < created


# What is checked before anything is written


def test_a_file_with_other_bytes_than_expected_is_refused(root: Path) -> None:
    transaction = staged(root)
    (root / "c.md").write_bytes(b"other")
    with pytest.raises(StaleFileError, match=r"c\.md: the file changed meanwhile"):
        transaction.commit()
    assert files_of(root) == {**OLD, "c.md": b"other"}


def test_a_removed_file_is_refused(root: Path) -> None:
    transaction = staged(root)
    (root / "c.md").unlink()
    with pytest.raises(StaleFileError, match=r"c\.md: the file was removed meanwhile"):
        transaction.commit()


def test_a_new_file_that_exists_is_refused(root: Path) -> None:
    transaction = Transaction(root)
    transaction.stage("a.md", b"x", expected=None)
    with pytest.raises(StaleFileError, match="exists already"):
        transaction.commit()


def test_a_read_only_file_is_refused(root: Path) -> None:
    (root / "c.md").chmod(0o444)
    with pytest.raises(OpenKnowledgeError, match=r"c\.md: the file is read-only"):
        staged(root).commit()
    assert files_of(root) == OLD


def test_a_link_is_refused(root: Path) -> None:
    (root / "link.md").symlink_to("a.md")
    with pytest.raises(OpenKnowledgeError, match="symbolic link"):
        Transaction(root).stage("link.md", b"x", expected=sha256_hex(b"old a"))


def test_a_file_that_becomes_a_link_before_the_commit_is_refused(root: Path, tmp_path: Path) -> None:
    transaction = staged(root)
    (tmp_path / "outside").write_bytes(OLD["a.md"])
    (root / "a.md").unlink()
    (root / "a.md").symlink_to(tmp_path / "outside")
    with pytest.raises(OpenKnowledgeError, match="symbolic link"):
        transaction.commit()
    assert (tmp_path / "outside").read_bytes() == OLD["a.md"]


def test_a_path_outside_is_refused(root: Path) -> None:
    with pytest.raises(OpenKnowledgeError, match=r"segment \.\."):
        Transaction(root).stage("../x.md", b"x", expected=None)


def test_one_file_twice_is_refused(root: Path) -> None:
    transaction = staged(root)
    with pytest.raises(OpenKnowledgeError, match="staged twice"):
        transaction.stage("a.md", b"x", expected=sha256_hex(OLD["a.md"]))


def test_the_number_of_files_is_bounded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TRANSACTION_FILES", 2)
    transaction = Transaction(root)
    transaction.stage("x1", b"", expected=None)
    transaction.stage("x2", b"", expected=None)
    with pytest.raises(LimitError, match="at most 2 files"):
        transaction.stage("x3", b"", expected=None)


# Verification


def test_a_failed_verification_brings_old_bytes_and_modes_back(root: Path) -> None:
    def verify() -> None:
        assert files_of(root).items() >= NEW.items()
        raise OpenKnowledgeError("claim edit is invalid: x")

    with pytest.raises(OpenKnowledgeError, match=r"^claim edit is invalid: x$"):
        staged(root).commit(verify)
    assert files_of(root) == OLD
    assert directories_of(root) == {"docs"}
    assert stat.S_IMODE((root / "a.md").stat().st_mode) == 0o640


def test_an_interrupt_during_verification_undoes_too(root: Path) -> None:
    def verify() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        staged(root).commit(verify)
    assert files_of(root) == OLD


def test_what_an_editor_wrote_during_verification_is_not_overwritten_by_the_undo(root: Path) -> None:
    def verify() -> None:
        (root / "a.md").write_bytes(b"typed by hand")
        raise OpenKnowledgeError("no")

    with pytest.raises(OpenKnowledgeError, match=r"no; a\.md changed once more"):
        staged(root).commit(verify)
    found = files_of(root)
    saved = {path: data for path, data in found.items() if path.endswith(".old")}
    assert {path: found[path] for path in OLD} == {**OLD, "a.md": b"typed by hand"}
    assert b"old a" in saved.values()
    assert recover(root) == []
    assert files_of(root) == found


# Failures of single steps


def steps_of_a_commit(tmp_path: Path) -> list[tuple[str, str]]:
    steps: list[tuple[str, str]] = []
    root = fill(tmp_path / "probe")
    staged(root, disk=Disk(lambda step, path: steps.append((step, str(path.relative_to(root)))))).commit()
    return steps


def failing_at(number: int, failure: BaseException) -> Callable[[str, Path], None]:
    count = 0

    def hook(step: str, path: Path) -> None:
        nonlocal count
        count += 1
        if count == number + 1:
            raise failure

    return hook


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_whichever_step_fails_the_files_are_all_old_or_all_new(tmp_path: Path, code: int) -> None:
    total = len(steps_of_a_commit(tmp_path))
    assert total > 40
    refused = 0
    for number in range(total):
        root = fill(tmp_path / f"{code}-{number}")
        disk = Disk(failing_at(number, OSError(code, os.strerror(code))))
        try:
            staged(root, disk=disk).commit()
        except OpenKnowledgeError as error:
            refused += 1
            assert "cannot " in error.message  # noqa: PT017
            assert files_of(root) == OLD, number
            assert directories_of(root) == {"docs"}, number
        else:
            found = files_of(root)
            assert {path: found[path] for path in NEW} == NEW
            recover(root)
            assert files_of(root) == NEW
    assert refused > 30


def test_a_full_disk_is_named_with_the_file(root: Path) -> None:
    def hook(step: str, path: Path) -> None:
        if step == "write" and path.parent.name == "docs":
            raise OSError(errno.ENOSPC, "x")

    with pytest.raises(OpenKnowledgeError, match=r"^cannot write docs/b\.md: the disk is full$"):
        staged(root, disk=Disk(hook)).commit()
    assert files_of(root) == OLD


def test_a_real_limit_of_the_system_on_file_size_changes_nothing(root: Path) -> None:
    def child() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        with pytest.raises(OpenKnowledgeError, match="larger than this process may write"):
            staged(root, {"a.md": b"x" * 10_000, "c.md": b"new"}).commit()

    assert in_child(child) == 0
    assert files_of(root) == OLD


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_write_permission_is_refused(root: Path) -> None:
    (root / "docs").chmod(0o555)
    try:
        with pytest.raises(OpenKnowledgeError, match=r"cannot write docs/b\.md: no permission"):
            staged(root).commit()
    finally:
        (root / "docs").chmod(0o755)
    assert files_of(root) == OLD


def test_an_unprivileged_process_is_refused_in_a_directory_of_somebody_else(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    root = fill(tmp_path / "bundle")

    def child() -> None:
        for path in (root, *root.rglob("*")):
            os.chown(path, 65534, 65534)
        (root / "docs").chmod(0o555)
        for parent in root.parents:
            if parent.stat().st_mode & 0o005 != 0o005:
                parent.chmod(parent.stat().st_mode | 0o005)
        os.setgid(65534)
        os.setuid(65534)
        with pytest.raises(
            OpenKnowledgeError, match=r"^cannot write docs/b\.md: no permission to write here$"
        ):
            staged(root).commit()

    assert in_child(child) == 0
    assert files_of(root) == OLD


# Other editors


@pytest.mark.parametrize("path", sorted(OLD))
def test_a_page_changed_between_check_and_rename_is_refused_and_keeps_the_other_edit(
    root: Path, path: str
) -> None:
    def hook(step: str, at: Path) -> None:
        if step == "rename" and at == root / path:
            at.write_bytes(b"somebody else")

    with pytest.raises(StaleFileError, match=f"{path}: the file changed meanwhile"):
        staged(root, disk=Disk(hook)).commit()
    assert files_of(root) == {**OLD, path: b"somebody else"}


def test_a_new_file_that_appears_before_it_is_placed_stays(root: Path) -> None:
    def hook(step: str, at: Path) -> None:
        if step == "link":
            at.write_bytes(b"somebody else")

    with pytest.raises(StaleFileError, match="exists already"):
        staged(root, disk=Disk(hook)).commit()
    assert files_of(root) == {**OLD, "new/deep/d.bin": b"somebody else"}


def test_a_page_replaced_by_a_link_between_check_and_rename_is_refused(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(OLD["c.md"])

    def hook(step: str, at: Path) -> None:
        if step == "rename" and at == root / "c.md":
            at.unlink()
            at.symlink_to(outside)

    with pytest.raises(OpenKnowledgeError, match="symbolic link"):
        staged(root, disk=Disk(hook)).commit()
    assert outside.read_bytes() == OLD["c.md"]


# Dying at every step


def in_child(work: Callable[[], None]) -> int:
    """Run ``work`` in a forked process; return its exit code (1 for an exception)."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def dying_at(number: int) -> Disk:
    count = 0

    def hook(step: str, path: Path) -> None:
        nonlocal count
        if count == number:
            os._exit(9)
        count += 1

    return Disk(hook)


def refuse() -> None:
    raise OpenKnowledgeError("refused")


def commit_or_refuse(root: Path, disk: Disk, verify: Callable[[], None] | None) -> None:
    try:
        staged(root, disk=disk).commit(verify)
    except OpenKnowledgeError as error:
        if error.message != "refused":
            raise


def assert_no_file_is_half_written(root: Path) -> None:
    found = files_of(root)
    for path, data in NEW.items():
        assert found.get(path) in (OLD.get(path), data), path


@pytest.mark.parametrize("verify", [None, refuse])
def test_a_process_killed_at_any_step_leaves_the_old_or_the_new_state(
    tmp_path: Path, verify: Callable[[], None] | None
) -> None:
    outcomes: list[str] = []
    number = 0
    while True:
        root = fill(tmp_path / str(number))
        code = commit_dying(root, number, verify)
        assert code in (0, 9), number
        assert_no_file_is_half_written(root)
        recover(root)
        found = files_of(root)
        assert found in (OLD, NEW), number
        assert directories_of(root) in ({"docs"}, {"docs", "new", "new/deep"})
        assert stat.S_IMODE((root / "a.md").stat().st_mode) == 0o640
        outcomes.append("old" if found == OLD else "new")
        if code == 0:
            break
        number += 1
    assert number > 40
    if verify is None:
        assert outcomes == sorted(outcomes, reverse=True)
        assert {"old", "new"} == set(outcomes)
    else:
        assert set(outcomes) == {"old"}


def commit_dying(root: Path, number: int, verify: Callable[[], None] | None = None) -> int:
    return in_child(lambda: commit_or_refuse(root, dying_at(number), verify))


def recover_dying(root: Path, number: int) -> int:
    def work() -> None:
        recover(root, disk=dying_at(number))

    return in_child(work)


@pytest.mark.parametrize("wanted", [OLD, NEW])
def test_a_recovery_that_is_itself_killed_at_any_step_is_recovered_again(
    tmp_path: Path, wanted: Files
) -> None:
    steps = steps_of_a_commit(tmp_path)
    middle = steps.index(("rename", "docs/b.md")) + 1
    committed = max(i for i, (step, _) in enumerate(steps) if step == "rename") + 2
    number = 0
    while True:
        root = fill(tmp_path / str(number))
        assert commit_dying(root, middle if wanted == OLD else committed) == 9
        code = recover_dying(root, number)
        assert_no_file_is_half_written(root)
        recover(root)
        assert files_of(root) == wanted, number
        if code == 0:
            break
        number += 1
    assert number > 3


def test_recovery_says_what_it_did(root: Path) -> None:
    steps = len(steps_of_a_commit(root.parent / "x"))
    assert commit_dying(root, steps // 2) == 9
    (done,) = recover(root)
    assert done.action == "undone"
    assert done.paths == ("a.md", "c.md", "docs/b.md", "new/deep/d.bin")
    assert done.conflicts == ()
    assert recover(root) == []


def test_recovery_leaves_a_file_that_was_edited_after_the_crash_and_keeps_the_old_bytes(
    tmp_path: Path,
) -> None:
    steps = steps_of_a_commit(tmp_path)
    after_all = [i for i, (step, _) in enumerate(steps) if step == "link"][-1] + 2
    root = fill(tmp_path / "bundle")
    assert commit_dying(root, after_all) == 9
    (root / "c.md").write_bytes(b"edited after the crash")

    (done,) = recover(root)

    assert done.conflicts == ("c.md",)
    found = files_of(root)
    assert found["c.md"] == b"edited after the crash"
    assert found["a.md"] == OLD["a.md"]
    assert b"old c" in [data for path, data in found.items() if path.endswith(".old")]


def test_writing_recovers_under_the_lock_before_it_begins(root: Path) -> None:
    steps = len(steps_of_a_commit(root.parent / "x"))
    assert commit_dying(root, steps // 2) == 9
    with writing(root, command="test", timeout=0.1) as recovered:
        assert [done.action for done in recovered] == ["undone"]
        assert {path: (root / path).read_bytes() for path in OLD} == OLD
        with pytest.raises(OpenKnowledgeError, match="locked by"):
            BundleLock(root, command="other", timeout=0.01).acquire()
        staged(root).commit()
    assert files_of(root) == NEW


# Several writers


def test_of_two_writers_of_one_change_the_second_is_told_that_the_file_changed(root: Path) -> None:
    first, second = staged(root, {"a.md": b"one"}), staged(root, {"a.md": b"two"})
    with writing(root, command="first"):
        first.commit()
    with (
        writing(root, command="second"),
        pytest.raises(StaleFileError, match=r"a\.md: the file changed meanwhile"),
    ):
        second.commit()
    assert (root / "a.md").read_bytes() == b"one"


def test_no_change_of_many_processes_is_lost(root: Path) -> None:
    def work(letter: bytes) -> None:
        for _ in range(10):
            with writing(root, command="append", timeout=60):
                data = (root / "a.md").read_bytes()
                transaction = Transaction(root)
                transaction.stage("a.md", data + letter, expected=sha256_hex(data))
                transaction.commit()

    children = []
    for letter in (b"A", b"B", b"C", b"D"):
        child = os.fork()
        if child == 0:
            try:
                work(letter)
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]
    found = (root / "a.md").read_bytes().removeprefix(OLD["a.md"])
    assert sorted(found) == sorted(b"ABCD" * 10)
    assert directories_of(root) == {"docs"}


# Journals that came with somebody else's bundle


def plant(root: Path, **changes: object) -> Path:
    identifier = "0" * 32
    journal: dict[str, object] = {
        "type": "openknowledge.transaction",
        "version": 1,
        "id": identifier,
        "state": "replacing",
        "files": [{"path": "a.md", "old": sha256_hex(b"evil"), "new": sha256_hex(OLD["a.md"])}],
        "directories": [],
        **changes,
    }
    directory = root / TRANSACTIONS
    (directory / identifier).mkdir(parents=True)
    (directory / identifier / "0.old").write_bytes(b"evil")
    location = directory / f"{identifier}.json"
    location.write_text(json.dumps(journal))
    return location


@pytest.mark.parametrize(
    "path", ["../outside.md", "/etc/passwd", "link/outside.md", ".git/config", "docs\\b.md", "a\0.md", "link"]
)
def test_a_planted_journal_reaches_nothing_outside_the_bundle(root: Path, path: str) -> None:
    outside = root.parent / "outside.md"
    outside.write_bytes(b"secret")
    (root / "link").symlink_to("..")
    plant(root, files=[{"path": path, "old": sha256_hex(b"evil"), "new": sha256_hex(b"secret")}])
    with pytest.raises(OpenKnowledgeError):
        recover(root)
    assert outside.read_bytes() == b"secret"


def test_a_planted_journal_removes_no_directory_outside_the_bundle(root: Path) -> None:
    outside = root.parent / "empty"
    outside.mkdir()
    (root / "link").symlink_to("..")
    plant(root, files=[], directories=["link/empty"])
    recover(root)
    assert outside.is_dir()


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"state": "done"},
        {"id": "1" * 32},
        {"files": [{"path": "a.md", "old": None}]},
        {"files": [{"path": "a.md", "old": "x", "new": "y"}]},
        {"files": "a.md"},
        {"files": [{"path": "a.md", "old": None, "new": "0" * 64}] * 2},
        {"directories": [1]},
        {"directories": None},
    ],
)
def test_a_journal_that_is_not_one_is_refused_and_named(root: Path, changes: dict[str, object]) -> None:
    location = plant(root, **changes)
    with pytest.raises(OpenKnowledgeError, match=location.name):
        recover(root)
    assert (root / "a.md").read_bytes() == OLD["a.md"]


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b"\xff", b"null"])
def test_a_broken_journal_is_refused_without_a_traceback(root: Path, data: bytes) -> None:
    plant(root).write_bytes(data)
    with pytest.raises(OpenKnowledgeError, match="not a journal"):
        recover(root)


def test_the_size_of_a_journal_is_bounded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    location = plant(root, state="committed")
    size = location.stat().st_size
    monkeypatch.setattr(limits, "JOURNAL_BYTES", size - 1)
    with pytest.raises(OpenKnowledgeError, match="larger than"):
        recover(root)
    monkeypatch.setattr(limits, "JOURNAL_BYTES", size)
    assert [done.action for done in recover(root)] == ["completed"]


def test_other_files_in_the_transactions_directory_stay(root: Path) -> None:
    (root / TRANSACTIONS).mkdir(parents=True)
    (root / TRANSACTIONS / "notes.txt").write_text("mine")
    assert recover(root) == []
    assert (root / TRANSACTIONS / "notes.txt").read_text() == "mine"


def test_a_linked_transactions_directory_is_refused(root: Path, tmp_path: Path) -> None:
    (root / ".openknowledge").mkdir()
    (root / TRANSACTIONS).symlink_to(tmp_path)
    with pytest.raises(OpenKnowledgeError, match="symbolic link"):
        recover(root)
    with pytest.raises(OpenKnowledgeError, match="symbolic link"):
        staged(root).commit()
    assert {path: (root / path).read_bytes() for path in OLD} == OLD
