"""A bundle: what is in it, how its pages are found, and what a second reading takes from the first."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openknowledge.engine.bundle import reading
from openknowledge.engine.bundle.bundle import bundle_from_files, read_bundle, spec_version
from openknowledge.engine.errors import OpenKnowledgeError, UsageError

if TYPE_CHECKING:
    from tests.conftest import MakeBundle


@pytest.mark.parametrize(
    ("text", "version"), [("0.1", "0.1"), ("0.2", "0.2"), ("latest", "0.2"), ("", "0.2")]
)
def test_spec_versions_are_known(text: str, version: str) -> None:
    assert spec_version(text) == version


@pytest.mark.parametrize("text", ["0.3", "1", "0.2 ", "LATEST"])
def test_an_unknown_spec_version_names_the_choices(text: str) -> None:
    with pytest.raises(UsageError, match=r"unknown spec version .*; choose 0\.1, 0\.2 or latest"):
        spec_version(text)


def test_an_empty_directory_is_an_empty_bundle(tmp_path: Path) -> None:
    bundle = read_bundle(tmp_path)
    assert (bundle.documents, bundle.assets, bundle.issues, list(bundle.sections)) == ((), (), (), [])
    assert bundle.index_sha256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_bundle_of_an_index_alone_has_one_page(make_bundle: MakeBundle) -> None:
    bundle = read_bundle(make_bundle({"index.md": "# Home\n\nText.\n"}))
    assert [(d.path, d.kind) for d in bundle.documents] == [("index.md", "index")]


def test_no_such_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OpenKnowledgeError, match="cannot open bundle"):
        read_bundle(tmp_path / "nowhere")


def test_of_two_pages_with_one_id_the_first_by_path_has_it(make_bundle: MakeBundle) -> None:
    bundle = read_bundle(make_bundle({"a.md": "1", "a.markdown": "2", "b.MD": "3", "b.md": "4"}))
    assert [bundle.by_id[name].path for name in ("a", "b")] == ["a.markdown", "b.MD"]
    assert bundle.by_path["a.md"].data == b"1"


@pytest.mark.parametrize(
    ("reference", "path"),
    [("a.md", "a.md"), ("a", "a.md"), ("d/b", "d/b.md"), ("d", "d/index.md"), ("d/", "d/index.md"),
    ("/a.md", "a.md"),
     ("./a.md", "a.md"), ("x%20y.md", "x y.md"), ("", "index.md")],
)  # fmt: skip
def test_a_page_is_found_by_path_id_or_folder(make_bundle: MakeBundle, reference: str, path: str) -> None:
    bundle = read_bundle(
        make_bundle(dict.fromkeys(["a.md", "index.md", "d/index.md", "d/b.md", "x y.md"], "x"))
    )
    found = bundle.document_at(reference)
    assert found is not None
    assert found.path == path


@pytest.mark.parametrize("reference", ["b", "d/gone", "../a.md", "/etc/passwd", "a.md/", "i.png"])
def test_what_is_no_page_is_not_found(make_bundle: MakeBundle, reference: str) -> None:
    bundle = read_bundle(make_bundle({"a.md": "x", "d/b.md": "x", "i.png": "x"}))
    assert bundle.document_at(reference) is None


def test_local_links_come_with_their_targets(make_bundle: MakeBundle) -> None:
    text = "[a](b.md#x) [b](#y) [c](http://d) ![d](i.png) [e](<mailto:x>) [f](gone.md)\n"
    bundle = read_bundle(make_bundle({"a.md": text, "b.md": "", "i.png": ""}))
    found = [(t.path, t.anchor, t.exists) for _, t in bundle.local_links(bundle.by_path["a.md"])]
    assert found == [("b.md", "x", True), ("i.png", "", True), ("gone.md", "", False)]


def test_undecodable_pages_are_no_pages_but_links_to_them_are_not_broken(make_bundle: MakeBundle) -> None:
    bundle = read_bundle(make_bundle({"a.md": "[x](b.md)", "b.md": b"\xff"}))
    assert bundle.undecoded == ("b.md",)
    assert [target.exists for _, target in bundle.local_links(bundle.documents[0])] == [True]


@pytest.fixture
def read_paths(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read, in order."""
    names: list[str] = []
    read = reading.read_file

    def note(path: str) -> object:
        names.append(os.path.basename(path))
        return read(path)

    monkeypatch.setattr(reading, "read_file", note)
    return names


def _settle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the files that were just written look old enough to be relied on."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 10_000_000_000)


def test_a_second_reading_reads_only_what_changed(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch, read_paths: list[str]
) -> None:
    root = make_bundle({"a.md": "a", "b.md": "b", "c.md": "c"})
    _settle(monkeypatch)
    first = read_bundle(root)
    (root / "b.md").write_text("changed")
    (root / "c.md").unlink()
    (root / "d.md").write_text("new")
    read_paths.clear()
    second = read_bundle(root, previous=first)
    assert read_paths == ["b.md", "d.md"]
    assert [(d.path, d.data) for d in second.documents] == [
        ("a.md", b"a"),
        ("b.md", b"changed"),
        ("d.md", b"new"),
    ]
    assert second.documents[0] is first.documents[0]


def test_a_page_changed_just_now_is_read_again_whatever_its_state_says(
    make_bundle: MakeBundle, read_paths: list[str]
) -> None:
    root = make_bundle({"a.md": "a"})
    first = read_bundle(root)
    read_bundle(root, previous=first)
    assert read_paths == ["a.md", "a.md"]


def test_a_page_that_became_a_symbolic_link_is_no_page_any_more(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_bundle({"a.md": "a", "b.md": "b"})
    _settle(monkeypatch)
    first = read_bundle(root)
    (root / "a.md").unlink()
    (root / "a.md").symlink_to("b.md")
    second = read_bundle(root, previous=first)
    assert [document.path for document in second.documents] == ["b.md"]
    assert [issue.path for issue in second.issues] == ["a.md"]


def test_a_bundle_of_bytes_equals_the_one_on_disk(make_bundle: MakeBundle) -> None:
    files: dict[str, str | bytes] = {
        "b.md": "# B\n\nx",
        "d/a.md": "[x](../b.md)",
        "d/i.png": "x",
        "e/c.md": b"\xff",
    }
    disk = read_bundle(make_bundle(files))
    memory = bundle_from_files(
        disk.root, [(n, c if isinstance(c, bytes) else c.encode()) for n, c in files.items()]
    )
    assert (memory.index_sha256, memory.assets, memory.directories) == (
        disk.index_sha256,
        disk.assets,
        disk.directories,
    )
    assert (memory.issues, memory.undecoded) == (disk.issues, disk.undecoded)
    assert [section.id for section in memory.sections] == [section.id for section in disk.sections]


@pytest.mark.parametrize("name", ["acme_retail", "ga4"])
def test_real_bundles_are_read_without_an_issue(shared_corpora: Path, name: str) -> None:
    bundle = read_bundle(shared_corpora / name)
    assert bundle.issues == ()
    assert all(document.sections for document in bundle.documents)
