"""Reads and parses many pages, on two cores where that pays.

With many pages a forked process parses half of them and sends back what it found, without their text. The
result is the same as without it: whatever the other process does not deliver is parsed here.
"""

from __future__ import annotations

import marshal
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress

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
    if len(paths) >= WORTH_A_PROCESS and _can_fork():
        half = len(paths) * 12 // 25  # the parent also reads and unpacks what the child parsed
        helper = _Helper(prefix, paths[-half:])
        first = [(path, _parse(prefix, path, None)) for path in paths[:-half]]
        parsed = helper.results()
        yield from first
        paths = paths[-half:]
    for path in paths:
        yield path, _parse(prefix, path, parsed.get(path))


def _parse(prefix: str, path: str, parsed: Parsed | None) -> Document | Issue:
    try:
        data, state = read_file(prefix + path)
        if parsed is not None and parsed[0] == len(data) and parsed[1] == state.changed_ns:
            return unpack_parsed(path, data, state, parsed[2])
        return parse_document(path, data, state)
    except OSError as error:
        return Issue(path, "bundle-read", "error", f"cannot read file: {error.strerror}")
    except UnicodeDecodeError as error:
        return utf8_issue(path, error)


def _can_fork() -> bool:
    """Whether a fork is safe (Linux, one thread) and there is a second core to use."""
    return sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1 and threading.active_count() == 1


class _Helper:
    """A forked process that parses some pages."""

    def __init__(self, prefix: str, paths: Sequence[str]) -> None:
        self._reader, writer = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            code = 1
            try:
                os.close(self._reader)
                _work(prefix, paths, writer)
                code = 0
            finally:
                os._exit(code)
        os.close(writer)

    def results(self) -> dict[str, Parsed]:
        """Return what the process found, by path; nothing when it failed."""
        chunks = []
        try:
            while chunk := os.read(self._reader, _CHUNK):
                chunks.append(chunk)
        finally:
            os.close(self._reader)
            _, status = os.waitpid(self._child, 0)
        if status != 0:
            return {}
        found: dict[str, Parsed] = marshal.loads(b"".join(chunks))  # noqa: S302 - written by this program
        return found


def _work(prefix: str, paths: Sequence[str], writer: int) -> None:
    found: dict[str, Parsed] = {}
    for path in paths:
        # what cannot be read or parsed is met again, and reported, by the parent
        with suppress(OSError, UnicodeDecodeError, ValueError):
            data, state = read_file(prefix + path)
            found[path] = (len(data), state.changed_ns, pack_parsed(parse_document(path, data)))
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
