"""The system calls that write, each announced to a hook first, and their errors in plain words."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from openknowledge.engine.errors import OpenKnowledgeError

Hook = Callable[[str, Path], None]
"""Called with the name of a step and its path before each system call that writes. It may raise or exit."""

_NO_LINKS = frozenset(
    {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES}
)


@dataclass(frozen=True, slots=True)
class FileState:
    """The bytes of a regular file with what else a replacement keeps."""

    data: bytes
    mode: int
    owner: tuple[int, int]


class Disk:
    """Writes through the operating system. ``hook`` lets tests stop, fail or interfere before any step."""

    def __init__(self, hook: Hook | None = None) -> None:
        self._hook = hook

    def _step(self, name: str, path: Path) -> None:
        if self._hook is not None:
            self._hook(name, path)

    def create(
        self, path: Path, data: bytes, *, mode: int = 0o666, owner: tuple[int, int] | None = None
    ) -> None:
        """Create ``path``, which must not exist, with ``data`` on the disk.

        ``mode`` is subject to the umask unless ``owner`` is given: then both are set as they are.
        """
        self._step("create", path)
        flags = (
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        )
        descriptor = os.open(path, flags, mode if owner is None else 0o600)
        try:
            view = memoryview(data)
            while view:
                self._step("write", path)
                view = view[os.write(descriptor, view) :]
            if owner is not None:
                self._take_over(path, descriptor, mode, owner)
            self._step("fsync", path)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _take_over(self, path: Path, descriptor: int, mode: int, owner: tuple[int, int]) -> None:
        if os.name != "nt":
            now = os.fstat(descriptor)
            if (now.st_uid, now.st_gid) != owner:
                self._step("chown", path)
                try:
                    os.fchown(descriptor, *owner)
                except PermissionError:
                    # Only root may give a file away. The content is what matters, as with git and editors.
                    mode &= ~(stat.S_ISUID | stat.S_ISGID)
        self._step("chmod", path)
        path.chmod(mode)

    def replace(self, source: Path, target: Path, *, before: Callable[[], None] | None = None) -> None:
        """Rename ``source`` over ``target``; ``before`` is the last check and may raise."""
        self._step("rename", target)
        if before is not None:
            before()
        source.replace(target)

    def place_new(self, source: Path, target: Path) -> None:
        """Rename ``source`` to ``target``, which must not exist. Raises ``FileExistsError``."""
        self._step("link", target)
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if target.exists() or target.is_symlink():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
            source.replace(target)
            return
        self._step("unlink", source)
        source.unlink()

    def remove(self, path: Path) -> None:
        """Remove the file ``path`` if it is there."""
        if os.path.lexists(path):
            self._step("unlink", path)
            path.unlink(missing_ok=True)

    def make_directory(self, path: Path) -> bool:
        """Create the directory ``path``; return false if it was there."""
        if path.is_dir():
            return False
        self._step("mkdir", path)
        try:
            path.mkdir()
        except FileExistsError:
            return False
        return True

    def remove_directory_if_empty(self, path: Path) -> bool:
        """Remove the directory ``path`` if it is there and empty; return whether it is gone."""
        try:
            with os.scandir(path) as found:
                if next(found, None) is not None:
                    return False
            self._step("rmdir", path)
            path.rmdir()
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise
        return True

    def sync_directory(self, path: Path) -> None:
        """Bring the entries of the directory ``path`` to the disk, where the system can."""
        if os.name == "nt":
            return
        self._step("fsync-directory", path)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(descriptor)


def read_state(path: Path) -> FileState | None:
    """Return the state of the regular file ``path``, ``None`` when there is none. Follows no link.

    Raises ``OSError``, also for what is not a regular file.
    """
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return FileState(stream.read(), stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid))


_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT if hasattr(errno, "EDQUOT") else -1: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than this process may write",
    errno.EACCES: "no permission to write here",
    errno.EPERM: "the system does not permit it",
    errno.EROFS: "the file system is read-only",
    errno.ELOOP: "it is a symbolic link; links are not followed",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EIO: "the disk reports an error",
    errno.EMFILE: "too many files are open",
}


def explained(error: OSError, doing: str, relative: str) -> OpenKnowledgeError:
    """Return ``error`` as the message for the user: what could not be done to which path, and why."""
    reason = _REASONS.get(error.errno or 0) or error.strerror or str(error)
    return OpenKnowledgeError(f"cannot {doing} {relative}: {reason}", path=relative)
