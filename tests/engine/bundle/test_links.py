"""Links: what kind they are, where they lead, and that none leaves the bundle unseen."""

from __future__ import annotations

import posixpath
import unicodedata
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openknowledge.engine.bundle.links import Resolver, Target, link_kind, split_href

FILES = [
    "index.md",
    "a.md",
    "d/index.md",
    "d/b.md",
    "d/e/c.md",
    "d/x y.md",
    "img.png",
    "100%.md",
    "a%20b.md",
    "q?.md",
]
FOLDERS = ["d", "d/e"]


@pytest.fixture
def resolver() -> Resolver:
    return Resolver([name for name in FILES if name.endswith(".md")], ["img.png"], FOLDERS)


@pytest.mark.parametrize(
    ("href", "kind"),
    [
        ("#x", "anchor"), ("#", "anchor"), ("", "external"), ("//host/x", "external"), ("http://a/b",
        "external"),
        ("mailto:a@b", "external"), ("a:b.md", "external"), ("javascript:x", "external"), ("./a:b.md",
        "local"),
        ("d/a:b.md", "local"), ("a.md", "local"), ("/a.md", "local"), ("?q", "local"), ("a.md#x:y", "local"),
        ("a.md?x:y", "local"), ("..", "local"), ("a@b.c", "local"),
    ],
)  # fmt: skip
def test_the_form_of_a_link_tells_its_kind(href: str, kind: str) -> None:
    assert link_kind(href) == kind


@pytest.mark.parametrize(
    ("href", "document", "path"),
    [
        ("/a.md", "d/e/c.md", "a.md"),
        ("a.md", "index.md", "a.md"),
        ("b.md", "d/index.md", "d/b.md"),
        ("./b.md", "d/index.md", "d/b.md"),
        ("../a.md", "d/b.md", "a.md"),
        ("../../a.md", "d/e/c.md", "a.md"),
        ("e/../b.md", "d/b.md", "d/b.md"),
        ("e//c.md", "d/b.md", "d/e/c.md"),
        ("/./d/./b.md", "a.md", "d/b.md"),
        ("a.md?x=1", "index.md", "a.md"),
        ("a.md?x=1#f", "index.md", "a.md"),
        ("x%20y.md", "d/b.md", "d/x y.md"),
        ("%2e%2e/a.md", "d/b.md", "a.md"),
        ("d%2Fb.md", "a.md", "d/b.md"),
        ("img.png", "a.md", "img.png"),
        ("100%.md", "a.md", "100%.md"),
        ("100%25.md", "a.md", "100%.md"),
        ("a%20b.md", "a.md", "a%20b.md"),
        ("q%3F.md", "a.md", "q?.md"),
        ("/", "d/b.md", "index.md"),
        ("d/", "a.md", "d/index.md"),
        ("d", "a.md", "d/index.md"),
        (".", "d/b.md", "d/index.md"),
        ("..", "d/b.md", "index.md"),
        ("../", "d/b.md", "index.md"),
        ("/d/e/..", "a.md", "d/index.md"),
    ],
)
def test_a_link_leads_to_a_file(resolver: Resolver, href: str, document: str, path: str) -> None:
    target = resolver.resolve(href, document)
    assert (target.path, target.exists, target.outside) == (path, True, False)


@pytest.mark.parametrize(
    ("href", "document", "path"),
    [
        ("gone.md", "a.md", "gone.md"),
        ("gone.md", "d/b.md", "d/gone.md"),
        ("d/e/", "a.md", "d/e/index.md"),
        ("d/e", "a.md", "d/e/index.md"),
        ("gone/", "a.md", "gone/index.md"),
        ("a.md/", "index.md", "a.md/index.md"),
        ("a", "index.md", "a"),
        ("A.md", "index.md", "A.md"),
        ("x%zz.md", "a.md", "x%zz.md"),
        ("a.md%00", "a.md", "a.md\x00"),
    ],
)
def test_a_link_to_nothing_says_where_it_would_lead(
    resolver: Resolver, href: str, document: str, path: str
) -> None:
    target = resolver.resolve(href, document)
    assert (target.path, target.exists, target.outside) == (path, False, False)


@pytest.mark.parametrize(
    "href",
    [
        "..",
        "../a.md",
        "../../etc/passwd",
        "/../a.md",
        "/..",
        "%2e%2e/a.md",
        "d/../../a.md",
        "..%2Fa.md",
        "../",
    ],
)
def test_a_link_out_of_the_bundle_leads_outside(resolver: Resolver, href: str) -> None:
    target = resolver.resolve(href, "a.md")
    assert (target.exists, target.outside) == (False, True)


@pytest.mark.parametrize(
    ("href", "anchor"),
    [
        ("a.md#x", "x"),
        ("a.md#x%20y", "x y"),
        ("a.md#", ""),
        ("a.md", ""),
        ("a.md#a#b", "a#b"),
        ("a.md#%C3%BC", "ü"),
    ],
)
def test_the_fragment_is_unescaped(resolver: Resolver, href: str, anchor: str) -> None:
    assert resolver.resolve(href, "index.md").anchor == anchor


def test_a_fragment_may_hold_a_question_mark() -> None:
    assert split_href("a.md#x?y") == ("a.md", "x?y")


def test_a_name_in_another_normal_form_is_the_same_name() -> None:
    nfd = unicodedata.normalize("NFD", "d/übung.md")
    resolver = Resolver([nfd], [], ["d"])
    assert resolver.resolve("übung.md", "d/a.md") == Target(nfd, "", True)


def test_with_both_normal_forms_each_link_finds_its_own() -> None:
    forms = [unicodedata.normalize(form, "é.md") for form in ("NFC", "NFD")]
    resolver = Resolver(forms, [], [])
    assert [resolver.resolve(form, "a.md").path for form in forms] == forms


def test_an_index_in_capitals_is_found_when_there_is_no_other() -> None:
    assert Resolver(["d/INDEX.MD"], [], ["d"]).resolve("d/", "a.md").path == "d/INDEX.MD"
    assert Resolver(["d/INDEX.MD", "d/index.md"], [], ["d"]).resolve("d/", "a.md").path == "d/index.md"
    assert Resolver(["d/index.md", "d/index.MD"], [], ["d"]).resolve("d/", "a.md").path == "d/index.md"


def test_an_index_with_the_long_extension_is_no_index() -> None:
    assert not Resolver(["d/index.markdown"], [], ["d"]).resolve("d/", "a.md").exists


segments = st.sampled_from(["a", "b", "a.md", "b.md", "index.md", "..", ".", "", "é.md", "x y.md", "n%.md"])
paths = st.lists(segments.filter(lambda s: s not in ("..", ".", "")), min_size=1, max_size=3).map("/".join)


@given(
    st.lists(paths, max_size=6),
    st.lists(segments, min_size=1, max_size=5).map("/".join),
    paths,
    st.booleans(),
)
def test_resolving_agrees_with_a_simple_model(
    files: list[str], href: str, document: str, escape: bool
) -> None:
    files = [path for path in files if not any(other.startswith(path + "/") for other in files)]
    folders = {"/".join(path.split("/")[:n]) for path in files for n in range(1, path.count("/") + 1)}
    if link_kind(href) != "local" or not href:
        return
    written = quote(href, safe="/") if escape else href
    found = Resolver(files, [], folders).resolve(written, document)

    joined = posixpath.normpath(
        posixpath.join("/" if href[0] == "/" else "/" + posixpath.dirname(document), href)
    )
    depth, outside = (0 if href[0] == "/" else document.count("/")), False
    for part in href.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        outside = outside or depth < 0
    path = joined.strip("/")
    if path in folders | {""} or href.endswith("/"):
        path = f"{path}/index.md".lstrip("/")
    if outside:
        assert not found.exists or unquote(href) != href
    else:
        assert (found.path, found.exists) == (path, path in files)


@given(st.lists(paths, max_size=5), st.text(max_size=12), paths)
def test_whatever_a_link_says_an_existing_target_is_a_file_of_the_bundle(
    files: list[str], href: str, document: str
) -> None:
    target = Resolver(files, [], []).resolve(href, document)
    assert not target.exists or target.path in files


@given(paths, paths)
def test_every_file_can_be_linked_from_the_root_by_its_escaped_path(path: str, document: str) -> None:
    resolver = Resolver([path], [], [])
    assert resolver.resolve("/" + quote(path), document) == Target(path, "", True)
