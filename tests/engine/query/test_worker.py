from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from openknowledge.engine import limits
from openknowledge.engine.errors import LimitError, OpenKnowledgeError
from openknowledge.engine.query import worker
from openknowledge.engine.query.worker import Bounds, run_forked, run_spawned

pytestmark = pytest.mark.skipif(not worker.can_fork(), reason="needs fork")

SHORT = Bounds(seconds=0.2)


def forever() -> bytes:
    while True:
        pass


def children() -> list[str]:
    """Return the ids of this process's children, zombies too."""
    ps = subprocess.Popen(["ps", "-o", "pid=", "--ppid", str(os.getpid())], stdout=subprocess.PIPE, text=True)
    return [pid for pid in ps.communicate()[0].split() if int(pid) != ps.pid]


def open_files() -> list[str]:
    return sorted(os.listdir("/dev/fd"))


def prepare(payload: bytes) -> Callable[[], bytes]:
    """Prepare a task for ``run_spawned``: what the payload names."""
    tasks: dict[bytes, Callable[[], bytes]] = {
        b"echo": lambda: payload,
        b"forever": forever,
        b"exit": lambda: os._exit(3),
        b"memory": lambda: bytes(1 << 40),
    }
    return tasks[payload.partition(b" ")[0]]


SPAWN = f"{Path(__file__).stem}:prepare"


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the spawned interpreter find this file."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def test_the_answer_comes_back() -> None:
    assert run_forked(lambda: b"answer", Bounds()) == b"answer"


def test_a_large_answer_comes_back_whole() -> None:
    assert run_forked(lambda: bytes(50_000_000), Bounds(seconds=30)) == bytes(50_000_000)


def test_an_empty_answer_comes_back() -> None:
    assert run_forked(lambda: b"", Bounds()) == b""


def test_the_result_may_be_as_large_as_the_limit() -> None:
    assert len(run_forked(lambda: bytes(1000), Bounds(result_bytes=1000))) == 1000


def test_a_result_one_byte_over_the_limit_is_refused() -> None:
    with pytest.raises(LimitError, match="1,000 bytes") as caught:
        run_forked(lambda: bytes(1001), Bounds(result_bytes=1000))
    assert caught.value.limit == "QUERY_RESULT_BYTES"


def test_an_endless_task_is_stopped_at_its_deadline() -> None:
    start = time.monotonic()
    with pytest.raises(LimitError, match=r"deadline of 0\.2 s") as caught:
        run_forked(forever, SHORT)
    assert time.monotonic() - start < 15
    assert caught.value.limit == "QUERY_SECONDS"


def test_no_child_and_no_zombie_stays_after_a_timeout() -> None:
    before = children()
    with pytest.raises(LimitError):
        run_forked(forever, SHORT)
    assert children() == before


def test_no_file_stays_open_whatever_happened() -> None:
    before = open_files()
    run_forked(lambda: b"", Bounds())
    for task, bounds in (
        (forever, SHORT),
        (lambda: os._exit(7), Bounds()),
        (lambda: bytes(10), Bounds(result_bytes=1)),
    ):
        with pytest.raises(OpenKnowledgeError):
            run_forked(task, bounds)
    assert open_files() == before


def test_a_task_that_takes_too_much_memory_ends_with_the_limit_named() -> None:
    with pytest.raises(LimitError, match="64 MiB") as caught:
        run_forked(lambda: bytes(200 * limits.MIB), Bounds(memory_bytes=64 * limits.MIB))
    assert caught.value.limit == "QUERY_MEMORY_BYTES"


def test_a_task_within_its_memory_ends_well() -> None:
    bounds = Bounds(memory_bytes=256 * limits.MIB)
    assert run_forked(lambda: str(len(bytes(100 * limits.MIB))).encode(), bounds) == b"104857600"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM])
def test_a_child_that_dies_of_a_signal_is_reported_with_its_name(number: signal.Signals) -> None:
    def die() -> bytes:
        os.kill(os.getpid(), number)
        return b""

    with pytest.raises(OpenKnowledgeError, match=number.name):
        run_forked(die, Bounds())


def test_a_child_killed_by_the_system_is_reported_as_out_of_memory() -> None:
    def die() -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    with pytest.raises(LimitError, match="memory"):
        run_forked(die, Bounds())


def test_an_exception_of_the_task_is_reported_in_one_line() -> None:
    def fail() -> bytes:
        raise KeyError("what")

    with pytest.raises(OpenKnowledgeError, match="failed: KeyError: 'what'"):
        run_forked(fail, Bounds())


def test_the_child_can_open_no_socket() -> None:
    def connect() -> bytes:
        socket.socket()
        return b"open"

    with pytest.raises(OpenKnowledgeError, match="Too many open files"):
        run_forked(connect, Bounds())


def test_the_child_keeps_none_of_the_parents_files() -> None:
    reading, writing = os.pipe()
    try:

        def write() -> bytes:
            os.write(writing, b"x")
            return b"written"

        with pytest.raises(OpenKnowledgeError, match="Bad file descriptor"):
            run_forked(write, Bounds())
    finally:
        os.close(reading)
        os.close(writing)


def test_what_the_child_prints_goes_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    def speak() -> bytes:
        os.write(1, b"out")
        os.write(2, b"err")
        return b"done"

    assert run_forked(speak, Bounds()) == b"done"
    assert capfd.readouterr() == ("", "")


def test_a_cancelled_evaluation_ends_at_once_and_says_context() -> None:
    start = time.monotonic()
    with pytest.raises(OpenKnowledgeError, match="context was cancelled"):
        run_forked(forever, Bounds(seconds=30), cancelled=lambda: time.monotonic() > start + 0.1)
    assert time.monotonic() - start < 15
    assert children() == []


def test_one_evaluation_more_than_allowed_waits_and_then_says_so() -> None:
    def run() -> None:
        with pytest.raises(LimitError):
            run_forked(forever, Bounds(seconds=1.0))

    running = [threading.Thread(target=run) for _ in range(limits.CONCURRENT_EVALUATIONS)]
    for thread in running:
        thread.start()
    time.sleep(0.3)
    with pytest.raises(LimitError, match="being evaluated already") as caught:
        run_forked(lambda: b"", SHORT)
    for thread in running:
        thread.join()
    assert caught.value.limit == "CONCURRENT_EVALUATIONS"
    assert run_forked(lambda: b"again", Bounds()) == b"again"


def test_many_threads_get_their_own_answers() -> None:
    answers: dict[int, bytes] = {}

    def ask(number: int) -> None:
        answers[number] = run_forked(lambda: str(number).encode() * 100_000, Bounds(seconds=20))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: str(number).encode() * 100_000 for number in range(12)}


def run_endless_child(seconds: int) -> tuple[subprocess.Popen[str], int]:
    """Start a process that runs an endless task in a child. Return it and the child's id."""
    script = f"""
import os
from openknowledge.engine.query import worker
fork = worker._fork
def noting_fork():
    if pid := fork():
        print(pid, flush=True)
    return pid
worker._fork = noting_fork
def forever():
    while True: pass
try:
    worker.run_forked(forever, worker.Bounds(seconds={seconds}))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    return parent, int(parent.stdout.readline())


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.startswith("Z")


def wait_until_gone(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not is_running(pid):
            return True
        time.sleep(0.02)
    return False


def test_an_interrupt_of_the_parent_kills_the_child() -> None:
    parent, child = run_endless_child(30)
    parent.send_signal(signal.SIGINT)
    out, err = parent.communicate(timeout=20)
    assert (out.strip(), err) == ("interrupted", "")
    assert wait_until_gone(child, 10)


def test_a_child_whose_parent_was_killed_ends_at_its_deadline() -> None:
    parent, child = run_endless_child(1)
    parent.kill()
    parent.communicate(timeout=20)
    assert wait_until_gone(child, 5)


def test_a_process_that_cannot_be_started_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(worker, "_fork", fail)
    before = open_files()
    with pytest.raises(OpenKnowledgeError, match=r"No process could be run for the query: .*unavailable"):
        run_forked(lambda: b"", Bounds())
    assert open_files() == before


def test_a_spawned_task_gives_the_same_answer(importable: None) -> None:
    assert run_spawned(SPAWN, b"echo \x00\xff\n\r\n", Bounds()) == b"echo \x00\xff\n\r\n"


def test_a_spawned_task_takes_a_large_payload(importable: None) -> None:
    payload = b"echo " + bytes(5_000_000)
    assert run_spawned(SPAWN, payload, Bounds()) == payload


def test_a_spawned_task_is_stopped_at_its_deadline(importable: None) -> None:
    with pytest.raises(LimitError, match=r"deadline of 0\.2 s"):
        run_spawned(SPAWN, b"forever", SHORT)
    assert children() == []


def test_a_spawned_task_that_exits_is_reported(importable: None) -> None:
    with pytest.raises(OpenKnowledgeError, match="exit code 3"):
        run_spawned(SPAWN, b"exit", Bounds())


def test_a_spawned_task_that_takes_too_much_memory_is_reported(importable: None) -> None:
    with pytest.raises(LimitError, match="memory"):
        run_spawned(SPAWN, b"memory", Bounds())


def test_a_spawned_task_that_cannot_be_prepared_is_reported(importable: None) -> None:
    with pytest.raises(OpenKnowledgeError, match="failed: KeyError"):
        run_spawned(SPAWN, b"unknown", Bounds())


def test_a_spawned_task_can_be_cancelled(importable: None) -> None:
    start = time.monotonic()
    with pytest.raises(OpenKnowledgeError, match="context was cancelled"):
        run_spawned(SPAWN, b"forever", Bounds(seconds=30), cancelled=lambda: time.monotonic() > start + 0.3)
    assert children() == []


def test_a_spawned_child_that_never_gets_ready_is_stopped(importable: None) -> None:
    with pytest.raises(LimitError, match="deadline"):
        run_spawned(SPAWN, b"echo", Bounds(seconds=0.001, load_seconds=0.001))
