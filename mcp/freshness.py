"""Keeps one store of the bundle and gives it out for as long as it is true.

A look at every file's and directory's state (``lstat``) tells whether anything has changed; no file is read
for it. A file's times advance in steps, so a file that changed just before it was read
might change once more without a trace: such files are compared by content until that moment is past.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from openknowledge.engine.bundle.bundle import Bundle, spec_version
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.instants import parse_instant
from openknowledge.engine.bundle.walk import bundle_root, read_file, walk
from openknowledge.engine.clock import Clock, system_clock
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.store import Store

log = logging.getLogger("openknowledge.mcp")

SETTLED_NS = 2_000_000_000
"""A change this long ago has left its trace in the file's times; the coarsest clock in use steps by 2 s."""
_WATCHED_SECONDS = 4.0  # a file whose time lies in the future is compared by content for this long
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)

State = tuple[int, int, int, int]


def _state(info: os.stat_result) -> State:
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino


@dataclass(slots=True)
class Unsettled:
    """A file that changed just before it was read, and the bytes that were read."""

    data: bytes
    changed_ns: int
    until: float


@dataclass(frozen=True, slots=True)
class Changes:
    """What is not as it was read: pages by path, whose state may be the same; whether other files are."""

    anything: bool = False
    unseen: frozenset[str] = frozenset()
    other_files: bool = False


NO_CHANGES = Changes()


@dataclass(slots=True)
class Folder:
    """One directory as it was listed, and the files in it as they were read."""

    path: str
    state: State | None
    names: list[bytes]
    states: list[State | None]


_OPEN_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_BY_FOLDER = os.stat in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")


class Watch:
    """The state of every file and directory of a bundle as it was read."""

    def __init__(self, bundle: Bundle, started_ns: int) -> None:
        """Take the states of ``bundle``, whose reading began at ``started_ns`` (``time.time_ns``)."""
        self._bundle = bundle
        self._prefix = str(bundle.root).rstrip(os.sep) + os.sep
        self._horizon = started_ns - SETTLED_NS
        self._until = time.monotonic() + _WATCHED_SECONDS
        self._unsettled: dict[str, Unsettled] = {}
        self._directory_changed_ns = 0
        self._folders: dict[str, Folder] = {}
        self._others: dict[str, State | None] = {}
        for rel in ("", *sorted(bundle.directories)):
            state = self._lstat(rel)
            self._folders[rel] = Folder(self._prefix + rel, state, [], [])
            if state is not None and state[2] >= self._horizon:
                self._directory_changed_ns = max(self._directory_changed_ns, state[2])
        for page in bundle.documents:
            known = page.state
            if known is None:  # it had changed just before it was read
                self._add(page.path, self._lstat(page.path), page.data)
            else:
                state = (known.size, known.modified_ns, known.changed_ns, known.inode)
                self._add(page.path, state, page.data)
        for rel in (*bundle.assets, *bundle.undecoded):
            self._others[rel] = self._lstat(rel)
            self._add(rel, self._others[rel], None)

    def _lstat(self, rel: str) -> State | None:
        try:
            return _state(os.lstat(self._prefix + rel))
        except OSError:
            return None

    def _add(self, rel: str, state: State | None, data: bytes | None) -> None:
        folder, _, name = rel.rpartition("/")
        self._folders[folder].names.append(os.fsencode(name))
        self._folders[folder].states.append(state)
        if state is None or max(state[1], state[2]) < self._horizon:
            return
        if data is None:
            data = self._read(rel)
        if data is not None:
            self._unsettled[rel] = Unsettled(data, max(state[1], state[2]), self._until)

    def _read(self, rel: str) -> bytes | None:
        try:
            return read_file(self._prefix + rel)[0]
        except OSError:
            return None

    def changes(self) -> Changes:
        """Return what has changed since the bundle was read."""
        try:
            same = all(map(_same_by_folder if _BY_FOLDER else _same_by_path, self._folders.values()))
        except OSError:
            same = False
        if same and not self._unsettled and not self._directory_changed_ns:
            return NO_CHANGES
        unseen = self._unseen()
        if same:
            return unseen
        others = unseen.other_files or any(self._lstat(rel) != state for rel, state in self._others.items())
        return Changes(True, unseen.unseen, others)

    def _unseen(self) -> Changes:
        """Look into what changed just before it was read; forget what is settled by now."""
        pages, others = set(), False
        for rel, known in list(self._unsettled.items()):
            asked_ns, asked = time.time_ns(), time.monotonic()
            data = self._read(rel)
            if data != known.data:
                if rel in self._bundle.by_path:
                    pages.add(rel)
                else:
                    others = True
            elif asked_ns - known.changed_ns > SETTLED_NS or asked > known.until:
                del self._unsettled[rel]
        names = bool(self._directory_changed_ns) and self._names_differ()
        return Changes(bool(pages or others or names), frozenset(pages), others)

    def _names_differ(self) -> bool:
        asked_ns, asked = time.time_ns(), time.monotonic()
        found, bundle = walk(bundle_root(self._prefix)), self._bundle
        known = sorted([*(page.path for page in bundle.documents), *bundle.undecoded])
        issues = [issue for issue in bundle.issues if issue.path not in bundle.undecoded]
        if (
            found.documents != known
            or tuple(found.assets) != bundle.assets
            or found.directories != bundle.directories
            or found.issues != issues
        ):
            return True
        if asked_ns - self._directory_changed_ns > SETTLED_NS or asked > self._until:
            self._directory_changed_ns = 0
        return False


def _same_by_folder(folder: Folder) -> bool:
    """Whether a directory and its files are as they were: asked of the open directory, which is quicker."""
    stat = os.stat
    descriptor = os.open(folder.path, _OPEN_FOLDER)
    try:
        if _state(os.fstat(descriptor)) != folder.state:
            return False
        for name, state in zip(folder.names, folder.states, strict=True):
            info = stat(name, dir_fd=descriptor, follow_symlinks=False)
            if (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino) != state:
                return False
    finally:
        os.close(descriptor)
    return True


def _same_by_path(folder: Folder) -> bool:
    if _state(os.lstat(folder.path)) != folder.state:
        return False
    prefix = os.fsencode(folder.path.rstrip(os.sep) + os.sep)
    return all(
        _state(os.lstat(prefix + name)) == state
        for name, state in zip(folder.names, folder.states, strict=True)
    )


class Calendar:
    """Knows when what pages say may count differently although nobody changes them.

    That is at midnight in UTC, at which dates pass, and at every instant that is written in a page's
    frontmatter, whatever it means there.
    """

    def __init__(self) -> None:
        self._written: dict[str, tuple[Document, tuple[datetime, ...]]] = {}

    def next_instant(self, pages: Iterable[Document], now: datetime) -> datetime:
        """Return the first such instant after ``now``. What is known of a page is not looked up again."""
        found = datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=1)
        written = {}
        for page in pages:
            known = self._written.get(page.path)
            if known is None or known[0] is not page:
                texts = _INSTANT.findall(page.frontmatter.source)
                known = page, tuple(moment for text in texts if (moment := parse_instant(text)) is not None)
            written[page.path] = known
            for moment in known[1]:
                if now < moment < found:
                    found = moment
        self._written = written
        return found


class Snapshots:
    """Gives the store of the bundle as it is now."""

    def __init__(self, path: str, *, spec: str = "latest", clock: Clock = system_clock) -> None:
        """Check ``path`` and ``spec``, without reading the bundle.

        Raises ``OpenKnowledgeError`` when there is no such directory, ``UsageError`` for an unknown ``spec``.
        """
        self.root = str(bundle_root(path))
        self.spec = spec_version(spec)
        self.clock = clock
        self.refreshes = 0
        self.replaced = False
        self._store: Store | None = None
        self._watch: Watch | None = None
        self._calendar = Calendar()
        self._until = datetime.min.replace(tzinfo=UTC)

    def current(self) -> Store:
        """Return a store that is true now: the last one, unless a file or the time says otherwise.

        Raises ``OpenKnowledgeError`` when the directory cannot be read any more.
        """
        store, watch = self._store, self._watch
        now = self.clock()
        if store is None or watch is None:
            return self._keep(lambda: Store.open(self.root, spec=self.spec, clock=self.clock))
        changes = watch.changes()
        if not changes.anything and store.now <= now < self._until:
            return store
        return self._keep(lambda: self._refreshed(store, changes))

    def _keep(self, read: Callable[[], Store]) -> Store:
        started = time.time_ns()
        fresh = read()
        if fresh is not self._store:
            self.refreshes += 1
            self.replaced = self._store is not None
            log.info("read the bundle: %d pages, revision %s", len(fresh.bundle.documents), _short(fresh))
        self._watch = Watch(fresh.bundle, started)
        self._until = self._calendar.next_instant(fresh.bundle.documents, fresh.now)
        self._store = fresh
        return fresh

    def _refreshed(self, store: Store, changes: Changes) -> Store:
        if changes.unseen:
            pages = tuple(page for page in store.bundle.documents if page.path not in changes.unseen)
            known = Store(replace(store.bundle, documents=pages), store.now, store.config)
            return Store.open(self.root, spec=self.spec, clock=self.clock, previous=known)
        # claims may rest on what is in files that are no pages
        return store.refreshed(self.clock, other_files_changed=changes.other_files)


def _short(store: Store) -> str:
    return store.revision["indexSha256"][:12]


def check_directory(path: str) -> None:
    """Raise ``OpenKnowledgeError`` when ``path`` is no directory that can be listed."""
    try:
        with os.scandir(bundle_root(path)):
            return
    except OSError as error:
        raise OpenKnowledgeError(f"cannot read bundle {path!r}: {error.strerror}") from None
