"""Reads and parses many pages, on two cores where that pays.

With many pages a forked process does half of the work and sends back what it found, without the texts. The
result is the same as without it: whatever the other process does not deliver is done here.
"""

from __future__ import annotations

import marshal
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NoReturn, Self, TypeVar

from openknowledge.engine.bundle.document import (
    Document,
    Packed,
    pack_frontmatter,
    pack_outline,
    parse_document,
    unpack_frontmatter,
    unpack_outline,
)
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.walk import read_file

WORTH_A_PROCESS = 600
"""From this number of pages on, a second process saves more time than it costs."""
_CHUNK = 1 << 20
T = TypeVar("T")


def parse_files(prefix: str, paths: Sequence[str]) -> Iterator[tuple[str, Document | Issue]]:
    """Read and parse the files at ``prefix`` + each of ``paths``, in order.

    Gives a document, or the issue that tells why there is none.
    """
    own, shared = _shares(paths)
    with _Helper((lambda: _parse_all(prefix, shared)) if shared else None) as helper:
        first = [(path, _parse(prefix, path, None)) for path in own]
        parsed: dict[str, Packed] = helper.result() or {}
    yield from first
    for path in shared:
        yield path, _parse(prefix, path, parsed.get(path))


def read_outlines(documents: Sequence[Document]) -> None:
    """Parse the Markdown of all ``documents`` that were not asked for it yet."""
    wanting = [document for document in documents if not document.is_outlined]
    for document in wanting:
        document.reader = None
    own, shared = _shares(wanting)
    with _Helper((lambda: [pack_outline(document) for document in shared]) if shared else None) as helper:
        for document in own:
            _ = document.outline
        packed: list[Packed] = helper.result() or []
    for document, found in zip(shared, packed, strict=False):
        unpack_outline(document, found)


def read_outlines_together(documents: Sequence[Document]) -> None:
    """Let ``documents`` parse their Markdown one by one as asked for, but all at once when many are."""
    batch = _OutlineBatch(documents) if len(documents) >= WORTH_A_PROCESS else None
    for document in documents:
        document.reader = batch


class _OutlineBatch:
    """Counts the pages whose Markdown is asked for, and at some point parses that of all others."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._patience = max(32, len(documents) // 8)

    def asked(self) -> None:
        """Take note that one more outline is wanted."""
        self._patience -= 1
        if self._patience < 0:
            documents, self._documents = self._documents, ()
            read_outlines(documents)


def _parse(prefix: str, path: str, parsed: Packed | None) -> Document | Issue:
    try:
        data, state = read_file(prefix + path)
        if parsed is not None and parsed[0] == hash(data):
            return unpack_frontmatter(path, data, state, parsed[1])
        return parse_document(path, data, state)
    except OSError as error:
        return Issue(path, "bundle-read", "error", f"cannot read file: {error.strerror}")
    except UnicodeDecodeError as error:
        return utf8_issue(path, error)


def _parse_all(prefix: str, paths: Sequence[str]) -> dict[str, Packed]:
    found: dict[str, Packed] = {}
    for path in paths:
        # what cannot be read or parsed is met again, and reported, by the parent
        with suppress(OSError, UnicodeDecodeError):
            data, _ = read_file(prefix + path)
            # a fork hashes with its parent's secret, so equal hashes mean that both read the same bytes
            found[path] = (hash(data), pack_frontmatter(parse_document(path, data)))
    return found


def _shares(items: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """Split ``items`` into those to work on here and those for a second process, which may be none."""
    if len(items) < WORTH_A_PROCESS or not _can_fork():
        return items, ()
    half = len(items) * 12 // 25  # this process also unpacks what the other one found
    return items[:-half], items[-half:]


def _can_fork() -> bool:
    """Whether a fork is safe (Linux, one thread) and there is a second core to use."""
    return sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1 and threading.active_count() == 1


class _Helper:
    """A forked process that works while this one does, and then hands over what ``work`` gave."""

    def __init__(self, work: Callable[[], Any] | None) -> None:
        self._child = 0
        self._reader = -1
        if work is not None:
            with suppress(OSError):  # no process or pipe to be had: the work is done here
                self._start(work)

    def _start(self, work: Callable[[], Any]) -> None:
        self._reader, writer = os.pipe()
        try:
            self._child = os.fork()
            if self._child == 0:
                _work(work, writer)
        finally:
            os.close(writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        """Let go of the process, whether it was heard or not."""
        if self._reader >= 0:
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

    def result(self) -> Any:
        """Return what the process found; ``None`` when it failed."""
        if not self._child:
            return None
        chunks = []
        while chunk := os.read(self._reader, _CHUNK):
            chunks.append(chunk)
        if self._wait() != 0:
            return None
        return marshal.loads(b"".join(chunks))  # noqa: S302 - written by this program


def _work(work: Callable[[], Any], writer: int) -> NoReturn:
    code = 1
    try:
        view = memoryview(marshal.dumps(work()))
        while view:
            view = view[os.write(writer, view) :]
        code = 0
    finally:
        os._exit(code)


def utf8_issue(path: str, error: UnicodeDecodeError) -> Issue:
    """Return the issue for a page that is not UTF-8, at the first wrong byte."""
    before = error.object[: error.start]
    line = before.count(b"\n") + 1
    column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
    message = f"not valid UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start}"
    return Issue(path, "utf-8", "error", message, line, column)
