"""Runs an evaluation in a child process, so that it can be stopped at any moment and leaves nothing behind.

A native engine cannot be interrupted inside a process. A child can: at its deadline it is killed, and the
operating system takes back all it held. Where the platform can fork, the child inherits the loaded data and
starts within milliseconds; elsewhere a new interpreter is started and given the data (``run_spawned``).

The child can open no file and no socket: on POSIX systems its limit of open files is zero.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, NoReturn

from openknowledge.engine import limits
from openknowledge.engine.errors import LimitError, OpenKnowledgeError

if sys.platform != "win32":
    import fcntl
    import resource

Task = Callable[[], bytes]
"""What a child does: it returns its answer as bytes. What it imports must be imported before it starts."""

Cancelled = Callable[[], bool]
"""Returns true as soon as nobody waits for the answer any more."""

_HEADER = 9  # a tag of one byte, and the length of what follows
_RESULT, _TOO_LARGE, _NO_MEMORY, _FAILED = b"R", b"L", b"M", b"F"
_POLL_SECONDS = 0.05
_DEADLINE_STATUS = 124  # as the coreutils' timeout has it
_EVALUATIONS = threading.BoundedSemaphore(limits.CONCURRENT_EVALUATIONS)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What an evaluation may take. ``what`` is its name in messages, ``load_seconds`` for ``run_spawned``."""

    what: str = "query"
    seconds: float = limits.QUERY_SECONDS
    memory_bytes: int = limits.QUERY_MEMORY_BYTES
    result_bytes: int = limits.QUERY_RESULT_BYTES
    load_seconds: float = limits.QUERY_LOAD_SECONDS


class _DeadlineError(Exception):
    """The time is up."""


def can_fork() -> bool:
    """Return whether this platform has ``fork``."""
    return hasattr(os, "fork")


def run_forked(task: Task, bounds: Bounds, *, cancelled: Cancelled | None = None) -> bytes:
    """Return what ``task`` returns, evaluated in a forked child.

    The time counts from the call and includes waiting for one of the process's slots. The child is gone when
    this function returns or raises, whatever happens, also at KeyboardInterrupt.

    Raises ``LimitError`` when time, memory, the size of the result or the number of concurrent evaluations
    reaches its bound, and ``OpenKnowledgeError`` when the evaluation is cancelled, fails or crashes.
    """
    deadline = time.monotonic() + bounds.seconds
    with _slot(deadline, bounds, cancelled):
        return _fork_and_wait(task, bounds, deadline, cancelled)


def run_spawned(prepare: str, payload: bytes, bounds: Bounds, *, cancelled: Cancelled | None = None) -> bytes:
    """Return what a task returns, evaluated in a new interpreter.

    ``prepare`` names a function as ``module:function``; it is called in the child with ``payload`` and
    returns the task. The time of the task counts from then; starting and preparing have
    ``bounds.load_seconds`` of their own.

    Raises as ``run_forked`` does.
    """
    deadline = time.monotonic() + bounds.seconds + bounds.load_seconds
    with _slot(deadline, bounds, cancelled):
        return _spawn_and_wait(prepare, payload, bounds, deadline, cancelled)


@contextmanager
def _slot(deadline: float, bounds: Bounds, cancelled: Cancelled | None) -> Iterator[None]:
    while not _EVALUATIONS.acquire(timeout=max(0.0, min(_POLL_SECONDS, deadline - time.monotonic()))):
        _check_cancelled(bounds, cancelled)
        if time.monotonic() >= deadline:
            raise LimitError(
                f"{limits.CONCURRENT_EVALUATIONS} queries are being evaluated already, and none ended within "
                f"{bounds.seconds:g} s. Try again later.",
                limit="CONCURRENT_EVALUATIONS",
            )
    try:
        yield
    finally:
        _EVALUATIONS.release()


def _check_cancelled(bounds: Bounds, cancelled: Cancelled | None) -> None:
    if cancelled is not None and cancelled():
        raise OpenKnowledgeError(f"The {bounds.what} was stopped because its context was cancelled.")


# The parent of a forked child


def _fork_and_wait(task: Task, bounds: Bounds, deadline: float, cancelled: Cancelled | None) -> bytes:
    with contextlib.ExitStack() as ours:
        child = code = 0
        try:
            with contextlib.ExitStack() as childs:
                answer_fd, answer_end = _pipe(ours, childs)
                trouble_fd, trouble_end = _pipe(ours, childs)
                with _interrupts_later():
                    child = _fork()
                    if child == 0:
                        _be_child(task, answer_end, trouble_end, bounds, deadline)
            received = _receive(answer_fd, bounds, deadline, cancelled)
        except _DeadlineError:
            raise _deadline_error(bounds) from None
        except OSError as error:
            raise OpenKnowledgeError(f"No process could be run for the {bounds.what}: {error}") from None
        finally:
            if child:
                code = _end(child)
        # A child of another thread may still hold the other end for a moment, so do not wait for its end.
        os.set_blocking(trouble_fd, False)
        trouble = b""
        with contextlib.suppress(BlockingIOError):
            trouble = os.read(trouble_fd, 4096)
        return _answer_of(received, code, trouble, bounds)


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    read_end, write_end = os.pipe()
    reader.callback(os.close, read_end)
    writer.callback(os.close, write_end)
    return read_end, write_end


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Let Ctrl-C wait until the child's id is known, so that it can be killed, and never meet the child."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _fork() -> int:
    # The child runs nothing but the task, on data that no other thread changes.
    warnings.filterwarnings(
        "ignore", message=".*multi-threaded.*", category=DeprecationWarning, module=__name__
    )
    return os.fork()


def _receive(fd: int, bounds: Bounds, deadline: float, cancelled: Cancelled | None) -> bytes:
    """Return the bytes of one frame, or fewer if the child closed its end before."""
    received = bytearray()
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    expected = _HEADER
    while len(received) < expected:
        left = deadline - time.monotonic()
        if left <= 0:
            raise _DeadlineError
        if not poll.poll(1000 * (min(left, _POLL_SECONDS) if cancelled else left)):
            _check_cancelled(bounds, cancelled)
            continue
        chunk = os.read(fd, 1 << 20)
        if not chunk:
            break
        received += chunk
        if len(received) >= _HEADER:
            expected = _HEADER + int.from_bytes(received[1:_HEADER])
    return bytes(received)


def _end(child: int) -> int:
    """Kill and reap a child. Return its exit code (negative for a signal), or 0 if another has reaped it."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    try:
        try:
            _, status = os.waitpid(child, 0)
        except KeyboardInterrupt:
            os.waitpid(child, 0)  # it is dying, and must not stay a zombie
            raise
        return os.waitstatus_to_exitcode(status)
    except ChildProcessError:
        return 0


def _answer_of(received: bytes, code: int, trouble: bytes, bounds: Bounds) -> bytes:
    tag, size, content = received[:1], received[1:_HEADER], received[_HEADER:]
    if len(size) == _HEADER - 1 and len(content) == int.from_bytes(size):
        if tag == _RESULT:
            return content
        if tag == _TOO_LARGE:
            raise LimitError(
                f"The result of the {bounds.what} has over {bounds.result_bytes:,} bytes; ask for less.",
                limit="QUERY_RESULT_BYTES",
            )
        if tag == _NO_MEMORY:
            raise _memory_error(bounds)
        raise OpenKnowledgeError(f"The {bounds.what} failed: {content.decode(errors='replace')}")
    raise _crash(code, trouble, bounds)


def _crash(code: int, trouble: bytes, bounds: Bounds) -> OpenKnowledgeError:
    if code in (-getattr(signal, "SIGALRM", 14), _DEADLINE_STATUS):
        return _deadline_error(bounds)
    if b"memory" in trouble or code == -getattr(signal, "SIGKILL", 9):  # the latter: the system ran out of it
        return _memory_error(bounds)
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return OpenKnowledgeError(
        f"The {bounds.what} ended its evaluation process ({how}). A query with very many nested calls or "
        "patterns can do this: make it simpler."
    )


def _deadline_error(bounds: Bounds) -> LimitError:
    return LimitError(
        f"The {bounds.what} was stopped at its deadline of {bounds.seconds:g} s (context deadline exceeded). "
        "Make it more selective, or allow it more time.",
        limit="QUERY_SECONDS",
    )


def _memory_error(bounds: Bounds) -> LimitError:
    return LimitError(
        f"The {bounds.what} was stopped because it needs more than {bounds.memory_bytes // limits.MIB:,} MiB "
        "of memory. Make it more selective: a pattern that shares no variable with another multiplies rows.",
        limit="QUERY_MEMORY_BYTES",
    )


# The child. It is tested from its parent, where the coverage of lines cannot see it.


def _be_child(  # pragma: no cover
    task: Task, answer_end: int, trouble_end: int, bounds: Bounds, deadline: float
) -> NoReturn:
    status = 1
    try:
        gc.disable()  # a collection would copy the pages shared with the parent
        answer_end = _keep_only(answer_end, trouble_end)
        _arrange_signals(deadline)
        _limit_resources(bounds)
        _write(answer_end, _frame(task, bounds))
        status = 0
    finally:
        # Nothing of the parent's may run here: no handlers, no buffers, no pending exception.
        os._exit(status)


def _keep_only(answer_end: int, trouble_end: int) -> int:  # pragma: no cover
    """Close all that the parent had open but the two pipes. Return where the answer goes now."""
    # A native library that reports a failed allocation must not wait for somebody to read it.
    os.set_blocking(trouble_end, False)
    nothing = os.open(os.devnull, os.O_RDWR)
    sources = [fcntl.fcntl(fd, fcntl.F_DUPFD, 4) for fd in (nothing, nothing, trouble_end, answer_end)]
    for target, fd in enumerate(sources):
        os.dup2(fd, target)
    try:
        opened = [int(name) for name in os.listdir("/dev/fd")]  # noqa: PTH208
    except OSError:
        opened = list(range(4096))
    for fd in opened:
        if fd > 3:
            with contextlib.suppress(OSError):
                os.close(fd)
    return 3


def _arrange_signals(deadline: float) -> None:  # pragma: no cover
    """Let every signal end the child, and an alarm, so that it ends even when its parent is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.setitimer(signal.ITIMER_REAL, max(0.001, deadline - time.monotonic()) + _POLL_SECONDS)


def _limit_resources(bounds: Bounds) -> None:  # pragma: no cover
    """Cap the memory, and forbid new files and sockets, where the platform can."""
    if sys.platform == "win32":
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123 - pathlib is not needed in a child
            used = int(statm.read().split()[0]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = used + bounds.memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == -1 else min(wanted, hard), hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def _frame(task: Task, bounds: Bounds) -> bytes:  # pragma: no cover
    try:
        content = task()
        tag = _RESULT
        if len(content) > bounds.result_bytes:
            tag, content = _TOO_LARGE, b""
    except MemoryError:
        tag, content = _NO_MEMORY, b""
    except BaseException as error:  # a panic of a native library is no Exception
        return _failure(error)
    return tag + len(content).to_bytes(_HEADER - 1) + content


def _failure(error: BaseException) -> bytes:  # pragma: no cover
    content = f"{type(error).__name__}: {error}".encode(errors="replace")[:4096]
    return _FAILED + len(content).to_bytes(_HEADER - 1) + content


def _write(fd: int, content: bytes) -> None:  # pragma: no cover
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


# A spawned child and its parent


def _spawn_and_wait(
    prepare: str, payload: bytes, bounds: Bounds, deadline: float, cancelled: Cancelled | None
) -> bytes:
    job = json.dumps(
        [prepare, bounds.what, bounds.seconds, bounds.memory_bytes, bounds.result_bytes]
    ).encode()
    to_send: bytes | None = len(job).to_bytes(4) + job + payload
    child = subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import spawned; spawned()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry or os.getcwd() for entry in sys.path)},  # noqa: PTH109
    )
    with child:
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise _deadline_error(bounds)
                try:
                    received, trouble = child.communicate(
                        to_send, timeout=min(left, _POLL_SECONDS) if cancelled else left
                    )
                    break
                except subprocess.TimeoutExpired:
                    to_send = None
                    _check_cancelled(bounds, cancelled)
        finally:
            child.kill()
            child.wait()
    return _answer_of(received, child.returncode, trouble, bounds)


def spawned() -> NoReturn:  # pragma: no cover
    """Be the child of ``run_spawned``: read a job from standard input, and write its answer to the output."""
    source: BinaryIO = sys.stdin.buffer
    size = int.from_bytes(source.read(4))
    prepare, what, seconds, memory_bytes, result_bytes = json.loads(source.read(size))
    bounds = Bounds(what, seconds, memory_bytes, result_bytes)
    module, _, function = prepare.partition(":")
    status = 1
    try:
        task: Task = getattr(importlib.import_module(module), function)(source.read())
        # The engine works without holding the interpreter, so that this thread can end the process.
        watchdog = threading.Timer(seconds, os._exit, (_DEADLINE_STATUS,))
        watchdog.daemon = True
        watchdog.start()
        _limit_resources(bounds)
        frame = _frame(task, bounds)
    except BaseException as error:
        frame = _failure(error)
    with contextlib.suppress(BaseException):
        _write(1, frame)
        status = 0
    os._exit(status)
