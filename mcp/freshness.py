"""Keeps one store of the bundle and gives it out for as long as it is true.

A look at every file's and directory's state (``lstat``) tells whether anything has changed; no file is read
for it. A file's times have a granularity of some milliseconds, so a file that changed just before it was read
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
from openknowledge.engine.bundle.instants import parse_instant
from openknowledge.engine.bundle.walk import bundle_root, read_file, walk
from openknowledge.engine.clock import Clock, system_clock
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.store import Store

log = logging.getLogger("openknowledge.mcp")

SETTLED_NS = 100_000_000
"""A change this long ago has left its trace in the file's times; the coarsest clock in use ticks at 10 ms."""
_WATCHED_SECONDS = 2.0  # a file whose time lies in the future is compared by content for this long
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
        self._paths: list[bytes] = []
        self._states: list[State | None] = []
        for page in bundle.documents:
            state = page.state
            known = None
            if state is not None:
                known = (state.size, state.modified_ns, state.changed_ns, state.inode)
            self._add(page.path, known, page.data)
        self._first_other = len(self._paths)
        for rel in (*bundle.assets, *bundle.undecoded):
            self._add(rel, self._lstat(rel))
        self._first_directory = len(self._paths)
        for rel in ("", *sorted(bundle.directories)):
            state_now = self._lstat(rel)
            self._paths.append(os.fsencode(self._prefix + rel))
            self._states.append(state_now)
            if state_now is not None and state_now[2] >= self._horizon:
                self._directory_changed_ns = max(self._directory_changed_ns, state_now[2])

    def _lstat(self, rel: str) -> State | None:
        try:
            return _state(os.lstat(self._prefix + rel))
        except OSError:
            return None

    def _add(self, rel: str, state: State | None, data: bytes | None = None) -> None:
        self._paths.append(os.fsencode(self._prefix + rel))
        self._states.append(state)
        if state is None or state[2] < self._horizon:
            return
        if data is None:
            data = self._read(rel)
        if data is not None:
            self._unsettled[rel] = Unsettled(data, state[2], self._until)

    def _read(self, rel: str) -> bytes | None:
        try:
            return read_file(self._prefix + rel)[0]
        except OSError:
            return None

    def changes(self) -> Changes:
        """Return what has changed since the bundle was read."""
        lstat = os.lstat
        try:
            for path, state in zip(self._paths, self._states, strict=True):
                info = lstat(path)
                if (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino) != state:
                    break
            else:
                if not self._unsettled and not self._directory_changed_ns:
                    return NO_CHANGES
                return self._unseen()
        except OSError:
            pass
        others = any(
            self._lstat(os.fsdecode(path).removeprefix(self._prefix)) != state
            for path, state in zip(
                self._paths[self._first_other : self._first_directory],
                self._states[self._first_other : self._first_directory],
                strict=True,
            )
        )
        unseen = self._unseen()
        return Changes(True, unseen.unseen, others or unseen.other_files)

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


def next_instant(texts: Iterable[str], now: datetime) -> datetime:
    """Return the first instant after ``now`` at which what ``texts`` say may count differently.

    That is the next midnight in UTC, at which dates pass, or an instant that is written in one of them.
    """
    midnight = datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=1)
    found = (parse_instant(written) for text in texts for written in _INSTANT.findall(text))
    return min([midnight, *(moment for moment in found if moment is not None and moment > now)])


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
        self._until = next_instant((page.frontmatter.source for page in fresh.bundle.documents), fresh.now)
        self._store = fresh
        return fresh

    def _refreshed(self, store: Store, changes: Changes) -> Store:
        if changes.unseen:
            pages = tuple(page for page in store.bundle.documents if page.path not in changes.unseen)
            known = Store(replace(store.bundle, documents=pages), store.now, store.config)
            return Store.open(self.root, spec=self.spec, clock=self.clock, previous=known)
        fresh = store.refreshed(self.clock)
        if fresh is store and changes.other_files:
            # no page has changed, but claims may rest on what is in the other files
            return Store.open(self.root, spec=self.spec, clock=self.clock, previous=store)
        return fresh


def _short(store: Store) -> str:
    return store.revision["indexSha256"][:12]


def check_directory(path: str) -> None:
    """Raise ``OpenKnowledgeError`` when ``path`` is no directory that can be listed."""
    try:
        with os.scandir(bundle_root(path)):
            return
    except OSError as error:
        raise OpenKnowledgeError(f"cannot read bundle {path!r}: {error.strerror}") from None
