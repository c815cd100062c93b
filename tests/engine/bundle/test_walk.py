"""The walk: every regular file, no symbolic link, each thing left out with its reason."""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
import time
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openknowledge.engine import limits
from openknowledge.engine.bundle import walk as walking
from openknowledge.engine.bundle.walk import bundle_root, read_file, walk
from openknowledge.engine.errors import OpenKnowledgeError

if TYPE_CHECKING:
    from tests.conftest import MakeBundle

NOT_FOLLOWED = "symbolic links are not followed inside a bundle; left out"
needs_permissions = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all"
)
posix_names = pytest.mark.skipif(sys.platform != "linux", reason="file systems that take any byte in a name")


def test_a_missing_path_is_one_line_saying_so(tmp_path: Path) -> None:
    with pytest.raises(
        OpenKnowledgeError, match=r"^cannot open bundle '.*nowhere': No such file or directory$"
    ):
        bundle_root(tmp_path / "nowhere")


def test_a_file_instead_of_a_directory_is_one_line_saying_so(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    with pytest.raises(OpenKnowledgeError, match=r"it is a file, not a directory$"):
        bundle_root(tmp_path / "a.md")


def test_a_path_with_a_nul_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OpenKnowledgeError, match="cannot open bundle"):
        bundle_root(str(tmp_path) + "\x00")


def test_the_root_is_made_absolute_without_following_its_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert bundle_root(tmp_path / "real" / ".." / "link") == tmp_path / "link"


def test_a_root_that_is_a_symbolic_link_is_read(tmp_path: Path, make_bundle: MakeBundle) -> None:
    (tmp_path / "link").symlink_to(make_bundle({"a.md": "x"}))
    assert walk(bundle_root(tmp_path / "link")).documents == ["a.md"]


def test_an_empty_directory_has_nothing(tmp_path: Path) -> None:
    found = walk(tmp_path)
    assert (found.documents, found.assets, found.issues) == ([], [], [])


def test_pages_are_told_from_assets_by_extension_whatever_its_case(make_bundle: MakeBundle) -> None:
    root = make_bundle(
        dict.fromkeys(("a.md", "b.MD", "c.Markdown", "d.mdx", "e", "f.md.txt", ".md", "g.markdown"), "")
    )
    found = walk(root)
    assert found.documents == [".md", "a.md", "b.MD", "c.Markdown", "g.markdown"]
    assert found.assets == ["d.mdx", "e", "f.md.txt"]


def test_only_directories_named_git_are_skipped(make_bundle: MakeBundle) -> None:
    names = [
        ".git/a.md",
        "x/.git/b.md",
        ".github/c.md",
        ".openknowledge/d.md",
        ".hidden.md",
        "node_modules/e.md",
    ]
    found = walk(make_bundle(dict.fromkeys([*names, "y/.git"], "")))
    assert found.documents == [".github/c.md", ".hidden.md", ".openknowledge/d.md", "node_modules/e.md"]
    assert found.assets == ["y/.git"]


def test_paths_are_sorted_by_their_bytes(make_bundle: MakeBundle) -> None:
    names = ["a/b.md", "a-b.md", "a.md", "Z.md", "é.md", "z.md", "\U0001f389.md", "\uffee.md"]
    documents = walk(make_bundle(dict.fromkeys(names, ""))).documents
    assert documents == sorted(documents, key=os.fsencode)
    assert len(documents) == len(names)


@posix_names
@pytest.mark.parametrize(
    "name",
    [
        "with space", "#hash", "100%", "a%20b", "'single'", '"double"', "line\nbreak", "back\\slash",
        "tab\t", "?",
        unicodedata.normalize("NFC", "übung"), unicodedata.normalize("NFD", "übung"),
        "\u202e", "x" * 252, "*", ":",
    ],
)  # fmt: skip
def test_every_file_name_is_listed_as_it_is(make_bundle: MakeBundle, name: str) -> None:
    found = walk(make_bundle({f"{name}.md": "x"}))
    assert (found.documents, found.issues) == ([f"{name}.md"], [])


@posix_names
def test_names_that_differ_in_case_or_normal_form_are_different_files(make_bundle: MakeBundle) -> None:
    names = ["A.md", "a.md", unicodedata.normalize("NFC", "é.md"), unicodedata.normalize("NFD", "é.md")]
    assert sorted(walk(make_bundle(dict.fromkeys(names, ""))).documents) == sorted(names)


@posix_names
def test_a_name_that_is_not_utf8_is_left_out_with_an_issue(make_bundle: MakeBundle) -> None:
    root = make_bundle({"a.md": ""})
    (root / os.fsdecode(b"caf\xe9.md")).write_bytes(b"")
    (root / os.fsdecode(b"d\xff")).mkdir()
    (root / os.fsdecode(b"d\xff") / "b.md").write_bytes(b"")
    found = walk(root)
    assert found.documents == ["a.md"]
    assert [(i.path, i.rule, i.message) for i in found.issues] == [
        ("caf\\xe9.md", "bundle-read", "file name is not valid UTF-8; left out"),
        ("d\\xff/b.md", "bundle-read", "file name is not valid UTF-8; left out"),
    ]


@pytest.mark.parametrize(
    "target", ["a.md", "d", ".", "..", "/etc/hostname", "/etc", "loop", "nowhere", "d/b.md"]
)
def test_a_symbolic_link_is_an_error_that_names_it_and_is_not_followed(
    make_bundle: MakeBundle, target: str
) -> None:
    root = make_bundle({"a.md": "", "d/b.md": ""})
    for name in ("loop", "link.md", "d/link", ".git"):
        (root / name).symlink_to(target)
    found = walk(root)
    assert found.documents == ["a.md", "d/b.md"]
    assert found.assets == []
    assert [(i.path, i.rule, i.severity, i.message) for i in found.issues] == [
        (path, "bundle-read", "error", NOT_FOLLOWED) for path in (".git", "d/link", "link.md", "loop")
    ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_and_sockets_are_errors_and_nobody_waits_for_them(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_bundle({"a.md": ""})
    os.mkfifo(root / "pipe.md")
    monkeypatch.chdir(root)  # the path of a socket may not be long
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.md")
        found = walk(root)
    assert found.documents == ["a.md"]
    assert [(i.path, i.message) for i in found.issues] == [
        (path, "not a regular file (a pipe, socket or device); left out") for path in ("pipe.md", "socket.md")
    ]


def test_a_directory_too_deep_for_the_system_is_an_issue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(25):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    Path("a.md").touch()
    found = walk(tmp_path)
    monkeypatch.undo()
    assert found.documents == []
    assert [(i.rule, i.message) for i in found.issues] == [
        ("bundle-read", "cannot list directory: File name too long")
    ]


@needs_permissions
def test_an_unreadable_directory_is_an_issue_and_the_rest_is_read(make_bundle: MakeBundle) -> None:
    root = make_bundle({"a.md": "", "d/b.md": ""})
    (root / "d").chmod(0)
    found = walk(root)
    (root / "d").chmod(0o755)
    assert found.documents == ["a.md"]
    assert [(i.path, i.message) for i in found.issues] == [("d", "cannot list directory: Permission denied")]


def test_a_directory_that_vanishes_during_the_walk_is_an_issue(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_bundle({"a.md": "", "d/b.md": ""})
    scandir = os.scandir

    def scan(path: str) -> object:
        if path.endswith("d/"):
            (root / "d" / "b.md").unlink()
            (root / "d").rmdir()
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scan)
    found = walk(root)
    assert found.documents == ["a.md"]
    assert [(i.path, i.message) for i in found.issues] == [
        ("d", "cannot list directory: No such file or directory")
    ]


def test_an_entry_that_cannot_be_looked_at_does_not_hide_the_others(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_bundle({"a.md": "", "b.md": "", "c.md": ""})
    visit = walking._visit

    def fail(entry: os.DirEntry[str], *rest: object) -> None:
        if entry.name == "b.md":
            raise OSError(errno.EIO, "Input/output error")
        visit(entry, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(walking, "_visit", fail)
    found = walk(root)
    assert found.documents == ["a.md", "c.md"]
    assert [(i.path, i.message) for i in found.issues] == [("b.md", "cannot read: Input/output error")]


def test_a_root_that_cannot_be_listed_is_refused(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scan(_path: str) -> object:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "scandir", scan)
    with pytest.raises(OpenKnowledgeError, match=r"cannot read bundle '.*': Permission denied"):
        walk(make_bundle({}))


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    assert read_file(str(tmp_path / "a"))[0] == b"x" * 3_000_000


@pytest.mark.parametrize("kind", ["symlink", "directory", "pipe", "missing"])
def test_only_regular_files_are_opened(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    if kind == "symlink":
        path.symlink_to("/etc/hostname")
    elif kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(OSError):  # noqa: PT011 - whichever error the system has for it
        read_file(str(path))


def test_a_file_at_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 10)
    assert read_file(str(tmp_path / "a"), 10)[0] == b"x" * 10


def test_a_file_past_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 11)
    with pytest.raises(OSError, match="larger than 10 bytes"):
        read_file(str(tmp_path / "a"), 10)


def test_a_page_without_end_costs_no_memory(tmp_path: Path) -> None:
    with open(tmp_path / "a", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match=f"larger than {limits.PAGE_BYTES} bytes"):
        read_file(str(tmp_path / "a"))


def _growing(monkeypatch: pytest.MonkeyPatch, path: Path, extra: bytes) -> None:
    """Let the file grow between the moment its size is asked for and the first read."""
    fstat = os.fstat

    def grow(descriptor: int) -> os.stat_result:
        info = fstat(descriptor)
        with open(path, "ab") as file:
            file.write(extra)
        return info

    monkeypatch.setattr(os, "fstat", grow)


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"x")
    _growing(monkeypatch, tmp_path / "a", b"y" * 2_000_000)
    assert read_file(str(tmp_path / "a"))[0] == b"x" + b"y" * 2_000_000


def test_a_file_that_grows_past_the_limit_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"x")
    _growing(monkeypatch, tmp_path / "a", b"y" * 2_000_000)
    with pytest.raises(OSError, match="larger than 1000 bytes"):
        read_file(str(tmp_path / "a"), 1000)


def test_a_file_changed_just_now_has_no_state_to_rely_on(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    assert read_file(str(tmp_path / "a"))[1] is None


def test_a_file_left_alone_for_a_while_has_a_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"x")
    later = time.time_ns() + 3_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: later)
    state = read_file(str(tmp_path / "a"))[1]
    assert state is not None
    assert (state.size, state.inode) == (1, os.stat(tmp_path / "a")[stat.ST_INO])
