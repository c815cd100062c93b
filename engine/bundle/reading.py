"""Reads and parses many pages, on two cores where that pays.

With many pages a forked process parses half of them and sends back what it found, without their text. The
result is the same as without it: whatever the other process does not deliver is parsed here.
"""

from __future__ import annotations

import marshal
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Self

from openknowledge.engine.bundle.document import (
    Document,
    Parsed,
    pack_parsed,
    parse_document,
    unpack_parsed,
)
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.walk import read_file

WORTH_A_PROCESS = 600
"""From this number of pages on, a second process saves more time than it costs."""
_CHUNK = 1 << 20


def parse_files(prefix: str, paths: Sequence[str]) -> Iterator[tuple[str, Document | Issue]]:
    """Read and parse the files at ``prefix`` + each of ``paths``, in order.

    Gives a document, or the issue that tells why there is none.
    """
    parsed: dict[str, Parsed] = {}
    half = len(paths) * 12 // 25  # the parent also reads and unpacks what the child parsed
    if len(paths) >= WORTH_A_PROCESS and _can_fork() and (child := _fork_worker(prefix, paths[-half:])):
        with _Helper(*child) as helper:
            first = [(path, _parse(prefix, path, None)) for path in paths[:-half]]
            parsed = helper.results()
        yield from first
        paths = paths[-half:]
    for path in paths:
        yield path, _parse(prefix, path, parsed.get(path))


def _parse(prefix: str, path: str, parsed: Parsed | None) -> Document | Issue:
    try:
        data, state = read_file(prefix + path)
        if parsed is not None and parsed[0] == hash(data):
            return unpack_parsed(path, data, state, parsed[1])
        return parse_document(path, data, state)
    except OSError as error:
        return Issue(path, "bundle-read", "error", f"cannot read file: {error.strerror}")
    except UnicodeDecodeError as error:
        return utf8_issue(path, error)


def _can_fork() -> bool:
    """Whether a fork is safe (Linux, one thread) and there is a second core to use."""
    return sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1 and threading.active_count() == 1


def _fork_worker(prefix: str, paths: Sequence[str]) -> tuple[int, int] | None:
    """Start a process that parses ``paths``; return its id and the pipe it writes to, if it could start."""
    try:
        reader, writer = os.pipe()
    except OSError:
        return None
    try:
        child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        return None
    if child == 0:
        code = 1
        try:
            os.close(reader)
            _work(prefix, paths, writer)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    return child, reader


class _Helper:
    """A forked process that parses some pages."""

    def __init__(self, child: int, reader: int) -> None:
        self._child = child
        self._reader = reader

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        """Let go of the process, whether it was heard or not."""
        os.close(self._reader)
        if self._child:
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGKILL)
            self._wait()

    def _wait(self) -> int:
        child, self._child = self._child, 0
        try:
            return os.waitpid(child, 0)[1]
        except ChildProcessError:  # the host program ignores its children, so nobody knows how this one ended
            return -1

    def results(self) -> dict[str, Parsed]:
        """Return what the process found, by path; nothing when it failed."""
        chunks = []
        while chunk := os.read(self._reader, _CHUNK):
            chunks.append(chunk)
        if self._wait() != 0:
            return {}
        found: dict[str, Parsed] = marshal.loads(b"".join(chunks))  # noqa: S302 - written by this program
        return found


def _work(prefix: str, paths: Sequence[str], writer: int) -> None:
    found: dict[str, Parsed] = {}
    for path in paths:
        # what cannot be read or parsed is met again, and reported, by the parent
        with suppress(OSError, UnicodeDecodeError, ValueError):
            data, _ = read_file(prefix + path)
            # a fork hashes with its parent's secret, so equal hashes mean that both read the same bytes
            found[path] = (hash(data), pack_parsed(parse_document(path, data)))
    view = memoryview(marshal.dumps(found))
    while view:
        view = view[os.write(writer, view) :]


def utf8_issue(path: str, error: UnicodeDecodeError) -> Issue:
    """Return the issue for a page that is not UTF-8, at the first wrong byte."""
    before = error.object[: error.start]
    line = before.count(b"\n") + 1
    column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
    message = f"not valid UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start}"
    return Issue(path, "utf-8", "error", message, line, column)
