from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.paths import is_plain_directory, resolve_in_bundle, split_relative


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    root = tmp_path / "bundle"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "page.md").write_text("x")
    (tmp_path / "outside.md").write_text("secret")
    return root


def test_a_file_of_the_bundle_is_resolved(bundle: Path) -> None:
    assert resolve_in_bundle(bundle, "docs/page.md") == bundle / "docs" / "page.md"


@pytest.mark.parametrize(
    ("relative", "why"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("../outside.md", r"segment \.\."),
        ("docs/../../outside.md", r"segment \.\."),
        ("./docs/page.md", r"segment \."),
        ("docs//page.md", "empty segment"),
        ("docs/", "empty segment"),
        ("docs\\page.md", "backslash"),
        ("..\\outside.md", "backslash"),
        ("C:/x.md", "drive letter"),
        ("c:x.md", "drive letter"),
        ("docs/pa\0ge.md", "NUL"),
        (".git/config", r"\.git"),
        ("docs/.GIT/config", r"\.git"),
        ("docs/\ud800.md", "file name"),
    ],
)
@pytest.mark.parametrize("may_be_missing", [False, True])
def test_an_unclean_path_is_refused_with_its_reason(
    bundle: Path, relative: str, why: str, may_be_missing: bool
) -> None:
    with pytest.raises(OpenKnowledgeError, match=why):
        resolve_in_bundle(bundle, relative, may_be_missing=may_be_missing)


def test_a_missing_file_is_refused_unless_it_may_be_missing(bundle: Path) -> None:
    with pytest.raises(OpenKnowledgeError, match="no such file"):
        resolve_in_bundle(bundle, "docs/new.md")
    assert resolve_in_bundle(bundle, "docs/new.md", may_be_missing=True) == bundle / "docs" / "new.md"
    assert resolve_in_bundle(bundle, "a/b/new.md", may_be_missing=True) == bundle / "a" / "b" / "new.md"


def test_a_link_to_a_file_is_refused(bundle: Path) -> None:
    (bundle / "link.md").symlink_to("docs/page.md")
    with pytest.raises(OpenKnowledgeError, match=r"link\.md is a symbolic link"):
        resolve_in_bundle(bundle, "link.md")


def test_a_dangling_link_is_refused_even_if_the_file_may_be_missing(bundle: Path) -> None:
    (bundle / "link.md").symlink_to("../new.md")
    with pytest.raises(OpenKnowledgeError, match="symbolic link"):
        resolve_in_bundle(bundle, "link.md", may_be_missing=True)


def test_a_linked_directory_on_the_way_is_refused_and_named(bundle: Path) -> None:
    (bundle / "out").symlink_to("..")
    with pytest.raises(OpenKnowledgeError, match=r"out/outside\.md: out is a symbolic link"):
        resolve_in_bundle(bundle, "out/outside.md")


def test_a_directory_is_no_file(bundle: Path) -> None:
    with pytest.raises(OpenKnowledgeError, match="not a regular file"):
        resolve_in_bundle(bundle, "docs")


def test_a_pipe_is_no_file(bundle: Path) -> None:
    os.mkfifo(bundle / "pipe.md")
    with pytest.raises(OpenKnowledgeError, match="not a regular file"):
        resolve_in_bundle(bundle, "pipe.md")


def test_a_file_is_no_directory(bundle: Path) -> None:
    with pytest.raises(OpenKnowledgeError, match=r"docs/page\.md is not a directory"):
        resolve_in_bundle(bundle, "docs/page.md/x.md", may_be_missing=True)


def test_a_name_too_long_for_the_system_is_refused_without_a_traceback(bundle: Path) -> None:
    with pytest.raises(OpenKnowledgeError, match="too long"):
        resolve_in_bundle(bundle, "x" * 5000 + ".md")


def test_the_root_itself_may_be_a_link(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(bundle)
    assert resolve_in_bundle(tmp_path / "alias", "docs/page.md").read_text() == "x"


def test_a_plain_directory_has_no_link_on_the_way(bundle: Path) -> None:
    (bundle / "out").symlink_to(bundle / "docs")
    assert is_plain_directory(bundle, "docs")
    assert not is_plain_directory(bundle, "out")
    assert not is_plain_directory(bundle, "nowhere")


@given(st.text(st.sampled_from("ab./\\:\0~C"), max_size=12))
def test_a_path_that_is_accepted_stays_below_the_root(relative: str) -> None:
    try:
        segments = split_relative(relative)
    except OpenKnowledgeError:
        return
    joined = os.path.normpath(os.path.join("/root", *segments))
    assert joined == "/root/" + relative
