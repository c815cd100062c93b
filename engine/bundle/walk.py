"""Walks a bundle's directory: what is there, without following a single symbolic link."""

from __future__ import annotations

import errno
import os
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path

from openknowledge.engine import limits
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.errors import OpenKnowledgeError

MARKDOWN_SUFFIXES = (".md", ".markdown")
SKIPPED_DIRECTORY = ".git"


@dataclass(slots=True)
class Inventory:
    """The regular files of a bundle as sorted bundle-relative paths with ``/``; what could not be read."""

    documents: list[str] = field(default_factory=list)
    assets: list[str] = field(default_factory=list)
    directories: set[str] = field(default_factory=set)
    issues: list[Issue] = field(default_factory=list)


def bundle_root(path: str | os.PathLike[str]) -> Path:
    """Return ``path`` made absolute lexically (symlinks of the root itself stay).

    Raises ``OpenKnowledgeError`` when there is no such directory.
    """
    root = Path(os.path.abspath(path))  # noqa: PTH100 - lexical on purpose: Path.resolve follows links
    try:
        mode = root.stat().st_mode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise OpenKnowledgeError(f"cannot open bundle {str(path)!r}: {reason}") from None
    if not stat.S_ISDIR(mode):
        raise OpenKnowledgeError(f"cannot open bundle {str(path)!r}: it is a file, not a directory")
    return root


def walk(root: Path) -> Inventory:
    """List every regular file below ``root``, skipping directories named ``.git``.

    Symbolic links, special files and names that are not UTF-8 are left out, each with an issue.
    """
    found = Inventory()
    pending = [""]
    while pending:
        prefix = pending.pop()
        try:
            with os.scandir(os.path.join(root, prefix)) as entries:  # noqa: PTH118 - in the hot path
                for entry in entries:
                    try:
                        _visit(entry, prefix + entry.name, found, pending)
                    except OSError as error:  # it went away, or its file system does not tell what it is
                        found.issues.append(
                            _unreadable(prefix + entry.name, f"cannot read: {error.strerror}")
                        )
        except OSError as error:
            if not prefix:
                raise OpenKnowledgeError(f"cannot read bundle {str(root)!r}: {error.strerror}") from None
            found.issues.append(_unreadable(prefix.rstrip("/"), f"cannot list directory: {error.strerror}"))
    found.documents.sort()
    found.assets.sort()
    found.issues.sort(key=lambda issue: issue.sort_key)
    return found


def _visit(entry: os.DirEntry[str], rel: str, found: Inventory, pending: list[str]) -> None:
    if entry.is_symlink():
        found.issues.append(_unreadable(rel, "symbolic links are not followed inside a bundle; left out"))
    elif entry.is_dir(follow_symlinks=False):
        if entry.name != SKIPPED_DIRECTORY:
            found.directories.add(rel)
            pending.append(rel + "/")
    elif not _is_utf8(rel):
        found.issues.append(_unreadable(rel, "file name is not valid UTF-8; left out"))
    elif not entry.is_file(follow_symlinks=False):
        found.issues.append(_unreadable(rel, "not a regular file (a pipe, socket or device); left out"))
    elif rel.lower().endswith(MARKDOWN_SUFFIXES):
        found.documents.append(rel)
    else:
        found.assets.append(rel)


def _is_utf8(name: str) -> bool:
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unreadable(rel: str, message: str) -> Issue:
    raw = rel.encode("utf-8", "surrogateescape")
    return Issue(raw.decode("utf-8", "backslashreplace"), "bundle-read", "error", message)


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells that a file is still the one that was read: size, times and inode."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int

    @classmethod
    def of(cls, info: os.stat_result) -> FileState:
        """Return the state recorded in a ``stat`` result."""
        return cls(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


_SETTLED_NS = 2_000_000_000
"""The coarsest step of a file system's clock: what changed within it may change again without a trace."""

_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


def read_file(path: str, limit: int = limits.PAGE_BYTES) -> tuple[bytes, FileState | None]:
    """Return the bytes of the regular file at ``path``, and its state unless it changed just now.

    Raises ``OSError`` when it cannot be read, is a symbolic link, is not a regular file or is larger than
    ``limit`` bytes.
    """
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(0, "not a regular file")
        size = info.st_size
        data = b"" if size > limit else os.read(descriptor, size + 1)
        if len(data) != size:  # too large, or it changes while it is read
            data = _read_rest(descriptor, data, size, limit)
    finally:
        os.close(descriptor)
    settled = time.time_ns() - max(info.st_ctime_ns, info.st_mtime_ns) > _SETTLED_NS
    return data, FileState.of(info) if settled else None


def _read_rest(descriptor: int, data: bytes, size: int, limit: int) -> bytes:
    chunks = [data]
    total = len(data)
    while size <= limit:
        chunk = os.read(descriptor, 1 << 20)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        total += len(chunk)
        size = max(size, total)
    raise OSError(errno.EFBIG, f"larger than {limit} bytes")
