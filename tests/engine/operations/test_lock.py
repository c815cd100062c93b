from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.lock import LOCK, BundleLock, LockTimeoutError, read_holder

NOON = fixed_clock(datetime(2026, 11, 30, 12, tzinfo=UTC))


def lock(root: Path, timeout: float = 0.1, command: str = "okn claims apply") -> BundleLock:
    return BundleLock(root, command=command, timeout=timeout, clock=NOON)


def test_a_second_writer_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    expected = (
        rf"locked by process {os.getpid()} \(okn claims apply\) since 2026-11-30T12:00:00Z; waited 0\.1 s"
    )
    with lock(tmp_path), pytest.raises(LockTimeoutError, match=expected):
        lock(tmp_path).acquire()


def test_the_lock_is_free_after_the_block_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with lock(tmp_path):
        assert (tmp_path / LOCK).is_file()
    assert list(tmp_path.iterdir()) == []
    with lock(tmp_path):
        pass


def test_the_lock_is_free_after_an_exception(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="inside"), lock(tmp_path):
        raise ValueError("inside")
    with lock(tmp_path):
        pass


def test_other_files_of_the_state_directory_stay(tmp_path: Path) -> None:
    (tmp_path / ".openknowledge").mkdir()
    (tmp_path / ".openknowledge" / "evals.yaml").write_text("x")
    with lock(tmp_path):
        pass
    assert [path.name for path in (tmp_path / ".openknowledge").iterdir()] == ["evals.yaml"]


def test_a_waiter_gets_the_lock_when_it_is_given_up(tmp_path: Path) -> None:
    first = lock(tmp_path)
    first.acquire()
    timer = threading.Timer(0.15, first.release)
    timer.start()
    try:
        with lock(tmp_path, timeout=5):
            pass
    finally:
        timer.join()


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path;"
        "from openknowledge.engine.operations.lock import BundleLock;"
        "BundleLock(Path(sys.argv[1]), command='doomed').acquire(); print('held', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with pytest.raises(LockTimeoutError, match=rf"process {child.pid} \(doomed\)"):
        lock(tmp_path).acquire()

    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()

    assert (tmp_path / LOCK).exists()
    with lock(tmp_path):
        holder = read_holder(tmp_path)
        assert holder is not None
        assert holder.pid == os.getpid()


def test_only_one_of_many_threads_is_inside_at_a_time(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(5):
            with lock(tmp_path, timeout=30):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.001)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 30


@pytest.mark.parametrize("content", [b"", b"not json", b"[1]", b'{"pid": "x"}', b"\xff", b"[" * 4000])
def test_a_lock_file_that_says_nothing_useful_still_locks_nobody_out(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".openknowledge").mkdir()
    (tmp_path / LOCK).write_bytes(content)
    assert read_holder(tmp_path) is None
    with lock(tmp_path):
        pass


def test_a_linked_state_directory_is_refused(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "bundle", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    (root / ".openknowledge").symlink_to(elsewhere)
    with pytest.raises(OpenKnowledgeError, match="symbolic link"):
        lock(root).acquire()
    assert list(elsewhere.iterdir()) == []


def test_a_pipe_in_the_place_of_the_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".openknowledge").mkdir()
    os.mkfifo(tmp_path / LOCK)
    with pytest.raises(OpenKnowledgeError, match="not a regular file"):
        lock(tmp_path).acquire()


def test_the_holders_text_is_shown_without_control_characters(tmp_path: Path) -> None:
    with lock(tmp_path, command="evil\x1b[2J\n" + "x" * 1000):
        holder = read_holder(tmp_path)
        assert holder is not None
        assert holder.command.isprintable()
        assert len(holder.command) <= 200
