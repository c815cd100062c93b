"""One writer per bundle: a file lock that the operating system releases when its holder dies."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from openknowledge.engine import limits
from openknowledge.engine.clock import Clock, system_clock
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.disk import Disk, explained
from openknowledge.engine.operations.paths import resolve_in_bundle

STATE_DIRECTORY = ".openknowledge"
LOCK = f"{STATE_DIRECTORY}/lock"

_POLL_SECONDS = 0.05
_HOLDER_BYTES = 4_096
_COMMAND_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock: process id, since when (RFC 3339), and with what command."""

    pid: int
    since: str
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command}) since {self.since}"


class LockTimeoutError(OpenKnowledgeError):
    """The lock of the bundle was not free in time. ``holder`` is who had it, when that is known."""

    def __init__(self, message: str, holder: Holder | None) -> None:
        super().__init__(message)
        self.holder = holder


class BundleLock:
    """The lock of the bundle at ``root``, for use in a ``with`` statement.

    ``command`` is what a waiting process is told about its holder. Entering waits at most ``timeout`` seconds
    and then raises ``LockTimeoutError`` naming the holder; it raises ``OpenKnowledgeError`` where the lock
    cannot be written. The lock is not re-entrant. The file goes away with the lock, so that none is left in
    the bundle; a file that a killed process left behind is taken over.
    """

    def __init__(
        self,
        root: Path,
        *,
        command: str,
        timeout: float = limits.LOCK_SECONDS,
        clock: Clock = system_clock,
    ) -> None:
        self._root = root
        self._command = command
        self._timeout = timeout
        self._clock = clock
        self._descriptor = -1

    def __enter__(self) -> BundleLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def acquire(self) -> None:
        """Take the lock, or raise as the class says."""
        if self._descriptor >= 0:
            raise RuntimeError("this lock is held already")
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                descriptor = self._try()
            except OSError as error:
                raise explained(error, "lock the bundle with", LOCK) from None
            if descriptor >= 0:
                self._descriptor = descriptor
                return
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                holder = read_holder(self._root)
                raise LockTimeoutError(
                    f"the bundle is locked by {holder or 'another process'}; waited {self._timeout:g} s: "
                    "try again when it has finished",
                    holder,
                )
            time.sleep(min(_POLL_SECONDS, remaining))

    def release(self) -> None:
        """Give the lock up and remove its file. Does nothing when it is not held."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        path = self._root / LOCK
        try:
            if os.name != "nt":
                # Still held: who opened it meanwhile sees that the file is gone, and opens the next one.
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)
        _tidy(self._root, path)

    def _try(self) -> int:
        """Return a descriptor that holds the lock, or -1."""
        path = resolve_in_bundle(self._root, LOCK, may_be_missing=True)
        Disk().make_directory(path.parent)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o644)
        except FileNotFoundError:
            return -1  # another holder removed the empty directory at this moment
        try:
            if _lock(descriptor) and _is_current(descriptor, path):
                self._introduce(descriptor)
                held, descriptor = descriptor, -1
                return held
            return -1
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _introduce(self, descriptor: int) -> None:
        since = self._clock().isoformat(timespec="seconds").replace("+00:00", "Z")
        holder = {"pid": os.getpid(), "since": since, "command": self._command[:_COMMAND_CHARACTERS]}
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, (json.dumps(holder) + "\n").encode())


def read_holder(root: Path) -> Holder | None:
    """Return who wrote the lock file of the bundle at ``root``, ``None`` when that cannot be told."""
    try:
        with (root / LOCK).open("rb") as stream:
            raw = json.loads(stream.read(_HOLDER_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(raw, dict):
        return None
    pid, since, command = raw.get("pid"), raw.get("since"), raw.get("command")
    if not isinstance(pid, int) or not isinstance(since, str) or not isinstance(command, str):
        return None
    return Holder(pid, _printable(since)[:40], _printable(command)[:_COMMAND_CHARACTERS])


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _is_current(descriptor: int, path: Path) -> bool:
    """Whether the locked file is still the one at ``path``, and not one that its last holder removed."""
    held = os.fstat(descriptor)
    if not stat.S_ISREG(held.st_mode):
        raise OpenKnowledgeError(f"{LOCK}: not a regular file; remove it", path=LOCK)
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return (held.st_dev, held.st_ino) == (found.st_dev, found.st_ino)


def _tidy(root: Path, path: Path) -> None:
    """Remove what the lock left: its empty directory, and on Windows the file, which was open until now."""
    disk = Disk()
    try:
        if os.name == "nt":
            disk.remove(path)
        disk.remove_directory_if_empty(root / STATE_DIRECTORY)
    except OSError:
        # The lock is free; a file that stays (another process has it open by now) is taken over next time.
        return


if sys.platform == "win32":
    import msvcrt

    # Windows locks are mandatory: a byte far behind the text leaves the text readable for those who wait.
    _LOCKED_BYTE = 1 << 30

    def _lock(descriptor: int) -> bool:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
