"""The store that is given out is the bundle as it is, and is not read again while nothing changes."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openknowledge.engine.errors import OpenKnowledgeError, UsageError
from openknowledge.engine.store import Store
from openknowledge.mcp import freshness
from openknowledge.mcp.freshness import Snapshots

from tests.mcp.conftest import Wire, page

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def snapshots(small: Path, clock: Hand) -> Snapshots:
    return Snapshots(str(small), clock=clock)


def look_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at files as if they had been written long before, so that their times tell of every change."""
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 10**11)


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at files later."""
    look_later(monkeypatch)


def text_of(store: Store, path: str) -> str:
    return store.bundle.by_path[path].data.decode()


def test_an_unchanged_bundle_is_not_read_again(snapshots: Snapshots) -> None:
    first = snapshots.current()
    assert all(snapshots.current() is first for _ in range(5))
    assert snapshots.refreshes == 1


@pytest.mark.usefixtures("quiet")
def test_an_unchanged_bundle_is_judged_by_states_alone(
    snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = snapshots.current()

    def refuse(*_: object) -> None:
        raise AssertionError("a file was read")

    monkeypatch.setattr(freshness, "read_file", refuse)
    monkeypatch.setattr(freshness, "walk", refuse)
    monkeypatch.setattr(Store, "refreshed", refuse)
    assert snapshots.current() is first


Change = Callable[[Path], None]
CHANGES: dict[str, Change] = {
    "an edit": lambda root: _write(root / "guides/walrus.md", page("Walrus", "It swims.")),
    "an edit of the same length": lambda root: _write(
        root / "guides/walrus.md", page("Walrus", "The walrus sleeps on sea.")
    ),
    "an added page": lambda root: _write(root / "guides/new.md", page("New", "Text.")),
    "an added page in a new folder": lambda root: _write(root / "a/b/new.md", page("New", "Text.")),
    "a deleted page": lambda root: (root / "guides/walrus.md").unlink(),
    "a renamed page": lambda root: _rename(root / "guides/walrus.md", root / "guides/seal.md"),
    "a replaced page": lambda root: _replace(
        root / "guides/walrus.md", page("Walrus", "The walrus sleeps on sea.")
    ),
    "a deleted folder": lambda root: shutil.rmtree(root / "guides"),
    "a moved folder": lambda root: _rename(root / "guides", root / "handbook"),
    "an added file": lambda root: _write(root / "notes.txt", "x"),
    "a page that is no longer UTF-8": lambda root: _write_bytes(root / "guides/walrus.md", b"\xff"),
    "a page that becomes a link": lambda root: _link(root / "guides/walrus.md", root / "guides/heron.md"),
}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _write_bytes(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _rename(old: Path, new: Path) -> None:
    old.rename(new)


def _replace(path: Path, text: str) -> None:
    other = path.with_suffix(".tmp")
    other.write_text(text)
    other.replace(path)


def _link(path: Path, target: Path) -> None:
    path.unlink()
    path.symlink_to(target)


@pytest.mark.parametrize("settled", [True, False], ids=["settled", "just written"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_change_is_seen_by_the_next_call(
    snapshots: Snapshots, small: Path, change: Change, settled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if settled:
        look_later(monkeypatch)
    before = snapshots.current()
    change(small)
    after = snapshots.current()
    assert after is not before
    expected = Store.open(small)
    assert after.revision == expected.revision
    assert after.bundle.assets == expected.bundle.assets
    assert after.bundle.issues == expected.bundle.issues


@pytest.mark.usefixtures("quiet")
def test_a_changed_page_is_read_and_the_others_are_kept(snapshots: Snapshots, small: Path) -> None:
    before = snapshots.current()
    CHANGES["an edit"](small)
    after = snapshots.current()
    assert after.bundle.by_path["guides/heron.md"] is before.bundle.by_path["guides/heron.md"]
    assert after.bundle.by_path["guides/walrus.md"] is not before.bundle.by_path["guides/walrus.md"]


def test_an_edit_without_a_trace_in_the_times_is_seen(
    snapshots: Snapshots, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two edits within one tick of the file system's clock, with a call between them."""
    path = small / "guides/walrus.md"
    snapshots.current()
    real = os.stat, os.lstat, os.fstat
    same = path.lstat()

    def blind(answer: os.stat_result) -> os.stat_result:
        return same if answer.st_ino == same.st_ino else answer

    monkeypatch.setattr(os, "stat", lambda *a, **k: blind(real[0](*a, **k)))
    monkeypatch.setattr(os, "lstat", lambda *a, **k: blind(real[1](*a, **k)))
    monkeypatch.setattr(os, "fstat", lambda *a, **k: blind(real[2](*a, **k)))
    monkeypatch.setattr(freshness, "_BY_FOLDER", False)
    CHANGES["an edit of the same length"](small)
    assert "on sea" in text_of(snapshots.current(), "guides/walrus.md")


def test_times_are_trusted_once_they_are_old(snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots.current()
    read: list[str] = []
    real = freshness.read_file
    monkeypatch.setattr(freshness, "read_file", lambda path: (read.append(path), real(path))[1])
    snapshots.current()
    assert read  # the bundle was written a moment ago
    look_later(monkeypatch)
    snapshots.current()
    read.clear()
    snapshots.current()
    assert read == []


@pytest.mark.usefixtures("quiet")
def test_a_change_of_another_file_gives_a_new_store(snapshots: Snapshots, small: Path) -> None:
    before = snapshots.current()
    (small / "picture.png").write_bytes(b"other")
    after = snapshots.current()
    assert after is not before
    assert after.bundle.by_path["index.md"] is before.bundle.by_path["index.md"]
    assert snapshots.current() is after


@pytest.mark.usefixtures("quiet")
def test_a_folder_that_was_touched_does_not_cost_a_new_store(snapshots: Snapshots, small: Path) -> None:
    before = snapshots.current()
    (small / "guides/.lock").write_text("x")
    (small / "guides/.lock").unlink()
    assert snapshots.current() is before


@pytest.mark.usefixtures("quiet")
def test_midnight_gives_a_new_store(snapshots: Snapshots, clock: Hand) -> None:
    before = snapshots.current()
    clock.now = NOW + timedelta(hours=11, minutes=59)
    assert snapshots.current() is before
    clock.now = NOW + timedelta(hours=12)
    assert snapshots.current() is not before


@pytest.mark.usefixtures("quiet")
def test_a_page_becomes_stale_at_its_instant(small: Path, clock: Hand) -> None:
    (small / "guides/walrus.md").write_text(page("Walrus", "Text.", stale_after="2026-11-30T12:00:05Z"))
    snapshots = Snapshots(str(small), clock=clock)

    def stale() -> bool:
        entries = snapshots.current().inventory()["entries"]
        return next(entry for entry in entries if entry["path"] == "guides/walrus.md")["okf02"]["stale"]

    assert stale() is False
    clock.now = NOW + timedelta(seconds=4)
    assert stale() is False
    clock.now = NOW + timedelta(seconds=5)
    assert stale() is True


@pytest.mark.usefixtures("quiet")
def test_a_clock_that_goes_back_gives_a_new_store(snapshots: Snapshots, clock: Hand) -> None:
    before = snapshots.current()
    clock.now = NOW - timedelta(seconds=1)
    assert snapshots.current() is not before


def test_a_missing_directory_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(OpenKnowledgeError, match="No such file"):
        Snapshots(str(tmp_path / "nowhere"))


def test_an_unknown_version_is_refused_at_the_start(small: Path) -> None:
    with pytest.raises(UsageError):
        Snapshots(str(small), spec="9.9")


Edit = tuple[str, str, str]
NAMES = st.sampled_from(["a.md", "b.md", "c.txt", "d/e.md", "d/f.txt"])
EDITS = st.lists(
    st.tuples(st.sampled_from(["write", "delete", "append"]), NAMES, st.sampled_from("xyz")), max_size=12
)


@given(EDITS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_after_any_edits_the_store_is_what_opening_anew_gives(
    tmp_path_factory: pytest.TempPathFactory, edits: list[Edit]
) -> None:
    root = tmp_path_factory.mktemp("edits")
    snapshots = Snapshots(str(root), clock=Hand())
    snapshots.current()
    for action, name, text in edits:
        path = root / name
        if action == "delete":
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(exist_ok=True)
            with path.open("a" if action == "append" else "w") as stream:
                stream.write(text)
        found, expected = snapshots.current(), Store.open(root)
        assert found.revision == expected.revision
        assert found.bundle.assets == expected.bundle.assets
        assert found.bundle.directories == expected.bundle.directories


@pytest.fixture
def watched(start: Callable[..., Wire], small: Path) -> Wire:
    wire = start(small)
    wire.initialize()
    return wire


def paths(wire: Wire, query: str) -> list[str]:
    found = wire.tool("openknowledge_search", {"query": query})["result"]["structuredContent"]
    return [source["path"] for source in found["sources"]]


def test_over_the_pipe_every_call_sees_the_bundle_as_it_is(watched: Wire, small: Path) -> None:
    assert paths(watched, "quagga") == []
    for number in range(20):
        (small / "guides/new.md").write_text(page("New", f"The quagga of round {number}."))
        assert "guides/new.md" in paths(watched, f"quagga {number}")
        (small / "guides/new.md").unlink()
        assert paths(watched, "quagga") == []


def test_results_carry_the_revision_they_are_about(watched: Wire, small: Path) -> None:
    for tool in ("openknowledge_validate", "openknowledge_claims_stale"):
        found = watched.tool(tool)["result"]["structuredContent"]
        assert found["revision"] == Store.open(small).revision
    (small / "guides/new.md").write_text(page("New", "Text."))
    found = watched.tool("openknowledge_search", {"query": "new"})["result"]["structuredContent"]
    assert found["revision"] == Store.open(small).revision
