"""Bundles read from git's objects: which revision, which files, and what is refused."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openknowledge.engine import limits
from openknowledge.engine.analysis.bundle_digest import bundle_sha256
from openknowledge.engine.analysis.git_revisions import (
    GitObjects,
    config_at,
    find_commit,
    find_repository,
    merge_base,
    read_revision,
    store_at,
)
from openknowledge.engine.bundle.bundle import read_bundle
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.errors import LimitError, OpenKnowledgeError, UsageError

PAGE = "---\ntype: T\n---\n\n# A\n\nText.\n"


def test_a_commit_is_read_as_it_was_and_not_as_the_tree_is_now(repository: Any) -> None:
    first = repository.commit({"kb/a.md": PAGE})
    repository.commit({"kb/a.md": PAGE + "More.\n", "kb/b.md": PAGE})
    repository.write({"kb/a.md": "dirty"})
    bundle = read_revision(repository.root / "kb", first).bundle
    assert [document.path for document in bundle.documents] == ["a.md"]
    assert bundle.documents[0].data.decode() == PAGE


def test_the_time_of_the_commit_is_the_clock(repository: Any) -> None:
    repository.commit({"a.md": PAGE}, "2026-03-04T05:06:07+02:00")
    assert store_at(repository.root, "HEAD").now == datetime(2026, 3, 4, 3, 6, 7, tzinfo=UTC)


def test_a_clock_that_is_given_wins(repository: Any) -> None:
    repository.commit({"a.md": PAGE})
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    assert store_at(repository.root, "HEAD", fixed_clock(moment)).now == moment


def test_settings_and_files_beside_the_pages_come_from_the_commit(repository: Any) -> None:
    repository.commit({"a.md": PAGE, ".openknowledge.toml": '[policy]\nrules = ["x.dl"]\n', "f.txt": "old"})
    repository.write({".openknowledge.toml": "", "f.txt": "new"})
    revision = read_revision(repository.root, "HEAD")
    assert config_at(revision.files).policy_rules == ("x.dl",)
    assert revision.files.data("f.txt") == b"old"
    assert revision.files.artifact("gone.txt").state == "missing"


@pytest.mark.parametrize("name", ["main", "HEAD", "HEAD~0", "v1", "HEAD@{0}", ":/change"])
def test_a_revision_may_be_named_in_any_of_gits_ways(repository: Any, name: str) -> None:
    commit = repository.commit({"a.md": PAGE})
    repository.git("tag", "-a", "v1", "-m", "one")
    assert read_revision(repository.root, name).commit.id == commit


@pytest.mark.parametrize("name", ["--all", "-h", "--output=/tmp/x", "--batch-all-objects", "nope", "HEAD~9"])
def test_a_name_that_looks_like_an_option_is_only_a_name(repository: Any, name: str) -> None:
    repository.commit({"a.md": PAGE})
    with pytest.raises(OpenKnowledgeError, match="there is no git revision"):
        read_revision(repository.root, name)


@pytest.mark.parametrize("name", ["", "  ", "HEAD\nHEAD", "a\0b"])
def test_a_text_that_can_be_no_revision_is_a_wrong_command_line(repository: Any, name: str) -> None:
    repository.commit({"a.md": PAGE})
    with pytest.raises(UsageError, match="is not a git revision"):
        read_revision(repository.root, name)


def test_a_tree_or_file_is_no_revision(repository: Any) -> None:
    repository.commit({"a.md": PAGE})
    with pytest.raises(OpenKnowledgeError, match="names a blob, not a commit"):
        read_revision(repository.root, "HEAD:a.md")


def test_outside_a_repository_the_message_says_so(tmp_path: Path) -> None:
    with pytest.raises(OpenKnowledgeError, match="not a git repository"):
        read_revision(tmp_path, "HEAD")


def test_a_missing_git_is_said(repository: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OpenKnowledgeError, match="git is not installed"):
        find_repository(repository.root)


def test_a_bundle_that_did_not_exist_yet_is_said_with_its_directory(repository: Any) -> None:
    first = repository.commit({"a.md": PAGE})
    repository.commit({"docs/kb/a.md": PAGE})
    with pytest.raises(OpenKnowledgeError, match="'docs' did not exist at") as error:
        read_revision(repository.root / "docs/kb", first)
    assert "give the path that it had then" in error.value.message


def test_a_bundle_that_is_gone_now_can_be_read_where_it_was(repository: Any) -> None:
    first = repository.commit({"old/kb/a.md": PAGE})
    repository.git("mv", "old", "new")
    repository.commit()
    assert not (repository.root / "old").exists()
    assert [page.path for page in read_revision(repository.root / "old/kb", first).bundle.documents] == [
        "a.md"
    ]


def test_a_bare_repository_is_read_by_the_path_in_its_trees(repository: Any, tmp_path: Path) -> None:
    repository.commit({"kb/a.md": PAGE})
    bare = tmp_path / "bare.git"
    repository.git("clone", "-q", "--bare", ".", str(bare))
    assert [page.path for page in read_revision(bare / "kb", "main").bundle.documents] == ["a.md"]
    assert [page.path for page in read_revision(bare, "main").bundle.documents] == ["kb/a.md"]


def test_a_shallow_clone_says_how_to_get_the_history(repository: Any, tmp_path: Path) -> None:
    first = repository.commit({"a.md": PAGE})
    repository.commit({"a.md": PAGE + "x\n"})
    shallow = tmp_path / "shallow"
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.root}", str(shallow))
    assert read_revision(shallow, "HEAD").bundle.documents
    with pytest.raises(OpenKnowledgeError, match="fetch-depth: 0"):
        read_revision(shallow, first)


def test_the_commit_where_two_histories_parted_is_found(repository: Any) -> None:
    first = repository.commit({"a.md": PAGE})
    repository.git("checkout", "-q", "-b", "topic")
    repository.commit({"b.md": PAGE})
    repository.git("checkout", "-q", "main")
    repository.commit({"c.md": PAGE})
    with GitObjects(find_repository(repository.root)) as objects:
        one, other = find_commit(objects, "main"), find_commit(objects, "topic")
        assert merge_base(objects, one, other).id == first


def test_histories_without_a_common_commit_are_said(repository: Any) -> None:
    repository.commit({"a.md": PAGE})
    repository.git("checkout", "-q", "--orphan", "other")
    repository.commit({"b.md": PAGE})
    with GitObjects(find_repository(repository.root)) as objects:
        one, other = find_commit(objects, "main"), find_commit(objects, "other")
        with pytest.raises(OpenKnowledgeError, match="no common ancestor"):
            merge_base(objects, one, other)


def test_links_and_submodules_are_reported_and_left_out(repository: Any) -> None:
    repository.commit({"a.md": PAGE})
    (repository.root / "link.md").symlink_to("a.md")
    repository.git("add", "link.md")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    repository.git("commit", "-q", "-m", "change")
    bundle = read_revision(repository.root, "HEAD").bundle
    assert [(issue.path, issue.rule) for issue in bundle.issues] == [
        ("link.md", "bundle-read"),
        ("module", "bundle-read"),
    ]
    assert [page.path for page in bundle.documents] == ["a.md"]


NAMES = ["ä ö.md", 'quote".md', "tab\tname.md", "line\nbreak.md", "back\\slash.md", "--option.md", "ü/é/x.md"]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_git_quotes_are_read_as_they_are(repository: Any, name: str) -> None:
    repository.commit({name: PAGE})
    assert [page.path for page in read_revision(repository.root, "HEAD").bundle.documents] == [name]


def test_a_name_that_is_not_utf_8_is_reported(repository: Any) -> None:
    (repository.root / os.fsdecode(b"\xff.md")).write_text(PAGE)
    repository.commit({"a.md": PAGE})
    bundle = read_revision(repository.root, "HEAD").bundle
    assert [(issue.path, issue.message) for issue in bundle.issues] == [
        ("\\xff.md", "file name is not valid UTF-8; left out")
    ]


def test_a_page_that_is_not_utf_8_is_reported_at_its_byte(repository: Any) -> None:
    repository.root.joinpath("a.md").write_bytes(b"# A\n\xff\n")
    repository.commit()
    bundle = read_revision(repository.root, "HEAD").bundle
    assert [(issue.rule, issue.line) for issue in bundle.issues] == [("utf-8", 2)]
    assert bundle.undecoded == ("a.md",)


def test_a_repository_in_a_repository_is_no_part_of_the_bundle(repository: Any) -> None:
    commit = repository.commit({"a.md": PAGE, "sub/b.md": PAGE})
    tree, blob = repository.git("rev-parse", "HEAD^{tree}"), repository.git("rev-parse", "HEAD:a.md")
    entries = subprocess.run(
        ["git", "mktree"],
        input=f"040000 tree {tree}\t.git\n100644 blob {blob}\ta.md\n".encode(),
        cwd=repository.root,
        capture_output=True,
        check=True,
    ).stdout.decode()
    hostile = repository.git("commit-tree", entries.strip(), "-p", commit, "-m", "x")
    assert [page.path for page in read_revision(repository.root, hostile).bundle.documents] == ["a.md"]


def test_variables_that_point_git_elsewhere_are_not_passed_on(
    repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit({"a.md": PAGE})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "broken")
    assert read_revision(repository.root, "HEAD").commit.id == commit


def test_nothing_that_the_repository_configures_is_run(repository: Any, tmp_path: Path) -> None:
    repository.commit({"a.md": PAGE, ".gitattributes": "*.md filter=evil diff=evil textconv\n"})
    trace = tmp_path / "ran"
    for key in (
        "filter.evil.smudge",
        "diff.evil.textconv",
        "core.pager",
        "core.fsmonitor",
        "core.sshCommand",
    ):
        repository.git("config", key, f"touch {trace}")
    hook = repository.root / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {trace}\n")
    hook.chmod(0o755)
    assert read_revision(repository.root, "HEAD").bundle.documents
    assert not trace.exists()


def test_objects_that_a_partial_clone_lacks_are_not_fetched(repository: Any, tmp_path: Path) -> None:
    repository.commit({"a.md": PAGE})
    repository.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    repository.git(
        "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repository.root}", str(partial)
    )
    with pytest.raises(OpenKnowledgeError, match="partial clone"):
        read_revision(partial, "HEAD")


def test_pages_with_the_same_bytes_are_taken_from_the_other_revision(repository: Any) -> None:
    repository.commit({"a.md": PAGE, "b.md": PAGE})
    first = read_revision(repository.root, "HEAD").bundle
    repository.commit({"b.md": PAGE + "x\n"})
    second = read_revision(repository.root, "HEAD", known=first).bundle
    assert second.by_path["a.md"] is first.by_path["a.md"]
    assert second.by_path["b.md"] is not first.by_path["b.md"]


def test_a_bundle_may_have_as_many_files_as_the_limit_and_no_more(
    repository: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({f"{name}.md": PAGE for name in "abc"})
    monkeypatch.setattr(limits, "GIT_TREE_ENTRIES", 3)
    assert len(read_revision(repository.root, "HEAD").bundle.documents) == 3
    monkeypatch.setattr(limits, "GIT_TREE_ENTRIES", 2)
    with pytest.raises(LimitError) as error:
        read_revision(repository.root, "HEAD")
    assert error.value.limit == "GIT_TREE_ENTRIES"


def test_a_path_may_be_as_long_as_the_limit_and_no_longer(
    repository: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"abc.md": PAGE})
    monkeypatch.setattr(limits, "GIT_PATH_CHARACTERS", 6)
    assert read_revision(repository.root, "HEAD").bundle.documents
    monkeypatch.setattr(limits, "GIT_PATH_CHARACTERS", 5)
    bundle = read_revision(repository.root, "HEAD").bundle
    assert [issue.rule for issue in bundle.issues] == ["bundle-read"]


def test_a_file_larger_than_evidence_may_be_is_not_loaded(
    repository: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"a.md": PAGE, "big.txt": "12345"})
    monkeypatch.setattr(limits, "EVIDENCE_BYTES", 5)
    assert read_revision(repository.root, "HEAD").files.artifact("big.txt").state == "read"
    monkeypatch.setattr(limits, "EVIDENCE_BYTES", 4)
    assert read_revision(repository.root, "HEAD").files.artifact("big.txt").state == "too-large"


def test_the_digest_over_all_files_is_that_of_a_checkout(repository: Any) -> None:
    repository.commit({"a.md": PAGE, "a/b.txt": "b", "a.b/c": "", "é/x.md": PAGE})
    (repository.root / "link").symlink_to("a.md")
    repository.commit()
    assert read_revision(repository.root, "HEAD").files.bundle_sha256() == bundle_sha256(repository.root)


name = st.text("ab.é -", min_size=1, max_size=4).filter(lambda text: text.strip(".") and text != ".git")
path = st.lists(name, min_size=1, max_size=3).map("/".join)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(path, st.sampled_from([PAGE, "x", ""]), max_size=6))
def test_any_tree_is_read_as_its_checkout_is(
    repository_class: Any, tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> None:
    kept: dict[str, str] = {}
    for key, text in files.items():
        clashes = any(key.startswith(other + "/") or other.startswith(key + "/") for other in kept)
        if not clashes and key.lower() not in {other.lower() for other in kept}:
            kept[key] = text
    repository = repository_class(tmp_path_factory.mktemp("any"))
    repository.commit(
        {f"kb/{key}.md" if text == PAGE else f"kb/{key}": text for key, text in kept.items()} | {"kb/z": ""}
    )
    root = repository.root / "kb"
    there, here = read_revision(root, "HEAD").bundle, read_bundle(root)
    assert there.index_sha256 == here.index_sha256
    assert (there.assets, there.directories) == (here.assets, here.directories)
