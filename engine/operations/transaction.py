"""Writes one or several files of a bundle: all of them or none, whenever the process may die.

The order is: save the old bytes and a journal; write the new bytes to temporary files beside their targets;
note in the journal that replacing begins; rename one after the other, each after a last look at the target's
bytes; let the caller verify; note in the journal that the change is committed; tidy up. Everything is brought
to the disk before the next step relies on it. A run that finds a journal undoes the change unless it was
committed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from openknowledge.engine import limits
from openknowledge.engine.clock import Clock, system_clock
from openknowledge.engine.errors import LimitError, OpenKnowledgeError
from openknowledge.engine.operations.disk import Disk, FileState, explained, read_state
from openknowledge.engine.operations.journal import (
    TRANSACTIONS,
    Journal,
    JournalFile,
    State,
    decode_journal,
    is_journal_name,
    is_transaction_id,
)
from openknowledge.engine.operations.lock import STATE_DIRECTORY, BundleLock
from openknowledge.engine.operations.paths import is_plain_directory, resolve_in_bundle


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of ``data`` in lower-case hex."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was done about one interrupted change.

    ``conflicts`` are files that somebody else changed after the interruption: they stay as they are, and the
    old bytes stay saved in ``.openknowledge/transactions``.
    """

    id: str
    action: Literal["undone", "completed", "discarded"]
    paths: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Staged:
    path: str
    data: bytes
    expected: str | None
    mode: int = 0o666


class StaleFileError(OpenKnowledgeError):
    """A file no longer holds the bytes that the change was made for."""


class Transaction:
    """A change to files of the bundle at ``root``. The caller holds the bundle's lock.

    ``disk`` makes the system calls; tests give one with a hook.
    """

    def __init__(self, root: Path, *, disk: Disk | None = None) -> None:
        self._root = root
        self._disk = disk or Disk()
        self._staged: dict[str, _Staged] = {}

    def stage(self, path: str, data: bytes, *, expected: str | None, mode: int = 0o666) -> None:
        """Note that the bundle-relative ``path`` is to hold ``data``.

        ``expected`` is the SHA-256 of the bytes that the file holds now, ``None`` when it is to be created
        (with the directories above it, and with ``mode`` less the umask). Nothing is written before
        ``commit``. Raises ``OpenKnowledgeError`` for an unsafe path and ``LimitError`` for too many files.
        """
        resolve_in_bundle(self._root, path, may_be_missing=expected is None)
        if path in self._staged:
            raise OpenKnowledgeError(f"{path}: staged twice in one change", path=path)
        if len(self._staged) >= limits.TRANSACTION_FILES:
            raise LimitError(
                f"one change may touch at most {limits.TRANSACTION_FILES} files", limit="TRANSACTION_FILES"
            )
        self._staged[path] = _Staged(path, data, expected, mode)

    def commit(self, verify: Callable[[], None] | None = None) -> bool:
        """Write everything that is staged; return whether any byte changed.

        ``verify`` runs when all files are in place; if it raises, the old bytes and modes come back and its
        exception goes on. Raises ``StaleFileError`` when a file does not hold the expected bytes, also at the
        last moment before its rename, and ``OpenKnowledgeError`` when something cannot be written. After any
        exception the files are as they were.
        """
        changes: list[tuple[_Staged, FileState | None]] = []
        for staged in sorted(self._staged.values(), key=lambda staged: staged.path):
            state = self._current(staged)
            if state is None or state.data != staged.data:
                changes.append((staged, state))
        if not changes:
            if verify is not None:
                verify()
            return False
        _Commit(self._root, self._disk, changes).run(verify)
        return True

    def _current(self, staged: _Staged) -> FileState | None:
        state = _look(self._root, staged.path, staged.expected)
        writable = os.access(self._root / staged.path, os.W_OK)
        if state is not None and not (writable and state.mode & 0o222):
            raise OpenKnowledgeError(
                f"{staged.path}: the file is read-only; make it writable first", path=staged.path
            )
        return state


def _look(root: Path, path: str, expected: str | None) -> FileState | None:
    """Return the file's state if it holds the expected bytes. Raises ``StaleFileError`` if it does not."""
    target = resolve_in_bundle(root, path, may_be_missing=True)
    try:
        state = read_state(target)
    except OSError as error:
        raise explained(error, "read", path) from None
    if expected is None:
        if state is not None:
            raise StaleFileError(f"{path}: the file exists already", path=path)
    elif state is None:
        raise StaleFileError(f"{path}: the file was removed meanwhile", path=path)
    elif sha256_hex(state.data) != expected:
        raise StaleFileError(
            f"{path}: the file changed meanwhile (sha256 {sha256_hex(state.data)}, expected {expected}); "
            "nothing was written",
            path=path,
        )
    return state


class _Commit:
    """One run of ``Transaction.commit``."""

    def __init__(self, root: Path, disk: Disk, changes: list[tuple[_Staged, FileState | None]]) -> None:
        self.root = root
        self.disk = disk
        self.changes = changes
        files = tuple(
            JournalFile(staged.path, staged.expected, sha256_hex(staged.data)) for staged, _ in changes
        )
        self.journal = Journal(secrets.token_hex(16), "prepared", files, self._missing_directories())
        self.doing = ("write", changes[0][0].path)

    def run(self, verify: Callable[[], None] | None) -> None:
        try:
            self._prepare()
            self._write_new()
            self._note("replacing")
            self._replace()
            if verify is not None:
                verify()
            self._note("committed")
        except BaseException as error:
            self._undo(error)
            if isinstance(error, OSError):
                raise explained(error, *self.doing) from error
            raise
        # The change is made. What cannot be tidied now is tidied by the next run.
        with suppress(OSError):
            _discard(self.root, self.disk, self.journal)

    def _missing_directories(self) -> tuple[str, ...]:
        missing: dict[str, None] = {}
        for staged, state in self.changes:
            if state is None:
                parents = [str(parent) for parent in reversed(Path(staged.path).parents)][1:]
                for parent in parents:
                    relative = parent.replace(os.sep, "/")
                    if not (self.root / parent).is_dir() and relative not in missing:
                        missing[relative] = None
        return tuple(sorted(missing))

    def _prepare(self) -> None:
        self.doing = ("prepare the change in", TRANSACTIONS)
        saved = self.journal.saved_directory(self.root)
        resolve_in_bundle(self.root, f"{TRANSACTIONS}/{saved.name}.json", may_be_missing=True)
        for directory in (self.root / STATE_DIRECTORY, self.root / TRANSACTIONS, saved):
            if self.disk.make_directory(directory):
                self.disk.sync_directory(directory.parent)
        for index, (_, state) in enumerate(self.changes):
            if state is not None:
                path = self.journal.saved(self.root, index)
                self.disk.create(path, state.data, mode=state.mode, owner=state.owner)
        self.disk.sync_directory(saved)
        self._note("prepared")

    def _note(self, state: State) -> None:
        self.doing = ("note the change in", TRANSACTIONS)
        journal = replace(self.journal, state=state)
        location = journal.location(self.root)
        temporary = location.with_name(f"{journal.id}.{state}.tmp")
        self.disk.create(temporary, journal.encode())
        self.disk.replace(temporary, location)
        self.journal = journal
        self.disk.sync_directory(location.parent)

    def _write_new(self) -> None:
        for directory in self.journal.directories:
            self.doing = ("create the directory", directory)
            if self.disk.make_directory(self.root / directory):
                self.disk.sync_directory((self.root / directory).parent)
        for index, (staged, state) in enumerate(self.changes):
            self.doing = ("write", staged.path)
            temporary = self.journal.temporary(self.root / staged.path, index)
            if state is None:
                self.disk.create(temporary, staged.data, mode=staged.mode)
            else:
                self.disk.create(temporary, staged.data, mode=state.mode, owner=state.owner)

    def _replace(self) -> None:
        for index, (staged, state) in enumerate(self.changes):
            self.doing = ("write", staged.path)
            target = self.root / staged.path
            temporary = self.journal.temporary(target, index)
            if state is None:
                try:
                    self.disk.place_new(temporary, target)
                except FileExistsError:
                    raise StaleFileError(
                        f"{staged.path}: the file exists already", path=staged.path
                    ) from None
            else:
                self.disk.replace(temporary, target, before=self._last_look(staged))
            self.disk.sync_directory(target.parent)

    def _last_look(self, staged: _Staged) -> Callable[[], None]:
        def look() -> None:
            _look(self.root, staged.path, staged.expected)

        return look

    def _undo(self, error: BaseException) -> None:
        try:
            if self.journal.state == "committed":
                # The note may not be on the disk: from here on nobody may take the change for committed.
                self._note("replacing")
            conflicts = _undo(self.root, self.disk, self.journal)
        except OSError as second:
            reason = explained(second, "restore", self.doing[1])
            raise OpenKnowledgeError(
                f"{error}; undoing it failed as well ({reason}): the next run that writes will undo it"
            ) from error
        if conflicts:
            raise OpenKnowledgeError(_conflict_message(str(error), conflicts)) from error


def _conflict_message(why: str, conflicts: tuple[str, ...]) -> str:
    return (
        f"{why}; {', '.join(conflicts)} changed once more while the change was undone and stays as it is: "
        f"the bytes from before are saved in {TRANSACTIONS}"
    )


def _undo(root: Path, disk: Disk, journal: Journal) -> tuple[str, ...]:
    """Bring back what the change replaced; return the files that somebody else changed since."""
    conflicts: list[str] = []
    for index in range(len(journal.files) - 1, -1, -1):
        file = journal.files[index]
        target = resolve_in_bundle(root, file.path, may_be_missing=True)
        if journal.state != "prepared" and not _restore(root, disk, journal, index, target):
            conflicts.append(file.path)
    for index, file in enumerate(journal.files):
        disk.remove(journal.temporary(root / file.path, index))
        disk.remove(journal.restoring(root / file.path, index))
    for directory in reversed(journal.directories):
        if is_plain_directory(root, directory):
            disk.remove_directory_if_empty(root / directory)
    if conflicts:
        location = journal.location(root)
        disk.replace(location, location.with_suffix(".conflict"))
        return tuple(sorted(conflicts))
    _discard(root, disk, journal)
    return ()


def _restore(root: Path, disk: Disk, journal: Journal, index: int, target: Path) -> bool:
    """Bring one file back; return false if it is neither as before nor as the change made it."""
    file = journal.files[index]
    temporary = journal.temporary(target, index)
    state = read_state(target)
    if file.old is None:
        if state is None:
            return True
        if os.path.lexists(temporary) and not temporary.samefile(target):
            return True  # never placed: this file is somebody else's
        if sha256_hex(state.data) != file.new:
            return False
        disk.remove(target)
    elif os.path.lexists(temporary) or (state is not None and sha256_hex(state.data) == file.old):
        return True
    else:
        if state is None or sha256_hex(state.data) != file.new:
            return False
        saved = journal.saved(root, index)
        before = read_state(saved)
        if before is None or sha256_hex(before.data) != file.old:
            return False
        _put_back(disk, before, saved, target, journal.restoring(target, index))
    disk.sync_directory(target.parent)
    return True


def _put_back(disk: Disk, state: FileState, saved: Path, target: Path, temporary: Path) -> None:
    """Rename ``saved`` over ``target``: that needs no space, so a full disk does not stop it."""
    try:
        disk.replace(saved, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        disk.remove(temporary)
        disk.create(temporary, state.data, mode=state.mode, owner=state.owner)
        disk.replace(temporary, target)


def _discard(root: Path, disk: Disk, journal: Journal) -> None:
    """Remove the journal, then what it saved: without its journal that is known to be rubbish."""
    location = journal.location(root)
    if location.parent.is_dir():
        disk.remove(location)
        disk.sync_directory(location.parent)
    for state in ("prepared", "replacing", "committed"):
        disk.remove(location.with_name(f"{journal.id}.{state}.tmp"))
    _remove_saved(disk, journal.saved_directory(root))
    _tidy(root, disk)


def _remove_saved(disk: Disk, directory: Path) -> None:
    if directory.is_symlink() or not directory.is_dir():
        return
    for path in sorted(directory.iterdir()):
        if path.suffix == ".old" and path.stem.isdecimal():
            disk.remove(path)
    disk.remove_directory_if_empty(directory)


def _tidy(root: Path, disk: Disk) -> None:
    if disk.remove_directory_if_empty(root / TRANSACTIONS):
        disk.remove_directory_if_empty(root / STATE_DIRECTORY)


def recover(root: Path, *, disk: Disk | None = None) -> list[Recovery]:
    """Undo or complete every change that an earlier run left unfinished. The caller holds the bundle's lock.

    Returns what was done, in the order of ids. Raises ``OpenKnowledgeError`` for a journal that is not one of
    ours or reaches outside the bundle, and when a file cannot be restored.
    """
    disk = disk or Disk()
    directory = resolve_in_bundle(root, f"{TRANSACTIONS}/x.json", may_be_missing=True).parent
    done: list[Recovery] = []
    try:
        if not directory.is_dir():
            _tidy(root, disk)
            return []
        names = sorted(entry.name for entry in os.scandir(directory))
        journals = {name[: -len(".json")] for name in names if is_journal_name(name)}
        for identifier in sorted(journals):
            done.append(_recover_one(root, disk, f"{identifier}.json"))
        for name in names:
            identifier = name.split(".")[0]
            if identifier in journals or not is_transaction_id(identifier):
                continue
            if f"{identifier}.conflict" in names:
                continue
            if _remove_rubbish(disk, directory / name):
                done.append(Recovery(identifier, "discarded"))
        _tidy(root, disk)
    except OSError as error:
        raise explained(error, "recover an interrupted change in", TRANSACTIONS) from error
    return done


def _recover_one(root: Path, disk: Disk, name: str) -> Recovery:
    state = read_state(root / TRANSACTIONS / name)
    journal = decode_journal(b"" if state is None else state.data, name)
    paths = tuple(file.path for file in journal.files)
    if journal.state == "committed":
        _discard(root, disk, journal)
        return Recovery(journal.id, "completed", paths)
    return Recovery(journal.id, "undone", paths, _undo(root, disk, journal))


def _remove_rubbish(disk: Disk, path: Path) -> bool:
    """Remove what a run left that died before its journal was written, or after it was removed."""
    if path.suffix == ".tmp":
        disk.remove(path)
        return True
    if path.suffix == "":
        _remove_saved(disk, path)
        return True
    return False


@contextmanager
def writing(
    root: Path,
    *,
    command: str,
    timeout: float = limits.LOCK_SECONDS,
    clock: Clock = system_clock,
    disk: Disk | None = None,
) -> Iterator[list[Recovery]]:
    """Hold the bundle's lock, after ending what an earlier run left unfinished. Yields what that was.

    Raises what ``BundleLock`` and ``recover`` raise.
    """
    with BundleLock(root, command=command, timeout=timeout, clock=clock):
        yield recover(root, disk=disk)
