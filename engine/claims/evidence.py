"""Reads evidence artifacts: inside the bundle, through no symbolic link, bounded, each once per run."""

from __future__ import annotations

import errno
import hashlib
import os
import posixpath
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from openknowledge.engine import limits

State = Literal["read", "missing", "not-regular", "too-large", "unresolvable"]
"""What became of an artifact. ``unresolvable`` is what cannot be trusted: links, errors, changes."""

EVIDENCE_FOLDER = ".openknowledge/evidence/"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class Artifact:
    """An artifact as it was when it was read: its digest, or why there is none."""

    path: str
    state: State
    sha256: str = ""
    problem: str = ""


def is_remote(resource: str) -> bool:
    """Whether ``resource`` names something outside: it has a scheme or a host."""
    return resource.startswith("//") or _SCHEME.match(resource) is not None


def local_path(resource: str, document: str, root: Path | None = None) -> str | None:
    """Return the bundle-relative path that a local ``resource`` of ``document`` names, or ``None``.

    ``resource`` is a relative URL path: query and fragment do not count, it is percent-decoded and joined to
    the document's directory. It is ``None`` for a remote resource and for one that leaves the bundle. With
    ``root`` an absolute path is accepted too: one below ``root``, else one that starts at the bundle's root.
    """
    if is_remote(resource):
        return None
    path = unquote(resource.partition("#")[0].partition("?")[0])
    if not path or "\0" in path or "\ufffd" in path or (os.sep != "/" and os.sep in path):
        return None
    if path.startswith("/"):
        if root is None:
            return None
        base = str(root).rstrip("/") + "/"
        joined = path[len(base) :] if path.startswith(base) else path.lstrip("/")
    else:
        joined = posixpath.join(posixpath.dirname(document), path)
    cleaned = posixpath.normpath(joined)
    if cleaned in (".", "..") or cleaned.startswith(("../", "/")):
        return None
    return cleaned


class EvidenceStore:
    """The artifacts of one bundle during one run.

    Every digest is kept; the bytes only of the artifact that was asked for last, so ask for all that is
    wanted of one before going on to the next. ``evidence_root`` is another directory that holds
    ``.openknowledge/evidence/``.
    """

    def __init__(self, root: Path, *, evidence_root: Path | None = None) -> None:
        self.root = root
        self._evidence_root = evidence_root
        self._known: dict[str, Artifact] = {}
        self._last: tuple[str, bytes] = ("", b"")
        self.searched = 0

    def artifact(self, path: str) -> Artifact:
        """Return what is known of the artifact at the bundle-relative ``path``; read it if it is new."""
        found = self._known.get(path)
        if found is None:
            found = self._read(path)
        return found

    def data(self, path: str) -> bytes:
        """Return the bytes of an artifact whose state is ``read``."""
        if self._last[0] != path:
            found = self._read(path)
            if found.state != "read":
                return b""
        return self._last[1]

    def _read(self, path: str) -> Artifact:
        root = self.root
        if self._evidence_root is not None and path.startswith(EVIDENCE_FOLDER):
            root = self._evidence_root
        try:
            data = read_inside(root, path, limits.EVIDENCE_BYTES)
        except Refused as refused:
            found = Artifact(path, refused.state, problem=refused.problem)
        else:
            found = Artifact(path, "read", hashlib.sha256(data).hexdigest())
            self._last = (path, data)
        before = self._known.get(path)
        if before is not None and before != found:
            found = Artifact(path, "unresolvable", problem="changed while it was being checked")
        self._known[path] = found
        return found


class Refused(Exception):
    """A file that is not read, and why."""

    def __init__(self, state: State, problem: str) -> None:
        super().__init__(problem)
        self.state: State = state
        self.problem = problem


_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_ROOT_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER_FLAGS = _ROOT_FLAGS | getattr(os, "O_NOFOLLOW", 0)
_BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd


def read_inside(root: Path, path: str, largest: int) -> bytes:
    """Return the bytes of the regular file at ``path`` below ``root``, at most ``largest``.

    Each folder on the way is opened from the one before, so no symbolic link is followed even if somebody
    puts one there meanwhile. Raises ``Refused``.
    """
    *folders, name = path.split("/")
    if not _BY_DESCRIPTOR:
        return _read_by_path(root, folders, name, largest)
    at = _open(str(root), _ROOT_FLAGS, None)
    try:
        for folder in folders:
            _check(folder, at, is_folder=True)
            below = _open(folder, _FOLDER_FLAGS, at)
            os.close(at)
            at = below
        _check(name, at, is_folder=False)
        descriptor = _open(name, _FLAGS, at)
    finally:
        os.close(at)
    return _read_descriptor(descriptor, largest)


def _read_by_path(root: Path, folders: list[str], name: str, largest: int) -> bytes:
    at = str(root)
    for folder in folders:
        at = os.path.join(at, folder)  # noqa: PTH118 - names are checked one by one
        _check(at, None, is_folder=True)
    at = os.path.join(at, name)  # noqa: PTH118
    _check(at, None, is_folder=False)
    return _read_descriptor(_open(at, _FLAGS, None), largest)


def _check(name: str, at: int | None, *, is_folder: bool) -> None:
    try:
        mode = os.stat(name, dir_fd=at, follow_symlinks=False).st_mode
    except (OSError, ValueError) as error:
        raise _refusal(error) from None
    if stat.S_ISLNK(mode):
        raise Refused("unresolvable", "is reached through a symbolic link")
    if is_folder:
        if not stat.S_ISDIR(mode):
            raise Refused("missing", "does not exist")
    elif stat.S_ISDIR(mode):
        raise Refused("not-regular", "is a directory, not a regular file")
    elif not stat.S_ISREG(mode):
        raise Refused("not-regular", "is not a regular file")


def _open(name: str, flags: int, at: int | None) -> int:
    try:
        return os.open(name, flags, dir_fd=at)
    except (OSError, ValueError) as error:
        raise _refusal(error) from None


def _refusal(error: OSError | ValueError) -> Refused:
    code = error.errno if isinstance(error, OSError) else None
    if code in (errno.ENOENT, errno.ENOTDIR):
        return Refused("missing", "does not exist")
    if code == errno.ELOOP:
        return Refused("unresolvable", "is reached through a symbolic link")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Refused("unresolvable", f"cannot be read: {reason}")


def _read_descriptor(descriptor: int, largest: int) -> bytes:
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise Refused("not-regular", "is not a regular file")
        if before.st_size > largest:
            raise Refused("too-large", f"is larger than {largest} bytes")
        chunks: list[bytes] = []
        left = largest + 1
        while left and (chunk := os.read(descriptor, min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
        data = b"".join(chunks)
        after = os.fstat(descriptor)
    except OSError as error:
        raise _refusal(error) from None
    finally:
        os.close(descriptor)
    if len(data) != before.st_size or _mark(before) != _mark(after):
        raise Refused("unresolvable", "changed while it was read")
    return data


def _mark(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns
