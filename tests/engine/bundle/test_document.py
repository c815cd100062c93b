"""One page: what its name makes it, and what it says of itself."""

from __future__ import annotations

import pytest
from openknowledge.engine.bundle.document import derived_title, document_id, kind_of, parse_document


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.md", "a"),
        ("d/a.b.md", "d/a.b"),
        ("A.MD", "A"),
        ("a.markdown", "a"),
        ("a.MarkDown", "a"),
        (".md", ""),
    ],
)
def test_the_id_is_the_path_without_its_extension(path: str, name: str) -> None:
    assert document_id(path) == name


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("index.md", "index"), ("d/INDEX.MD", "index"), ("log.md", "log"), ("d/Log.md", "log"), ("a.md",
        "concept"),
        ("index.markdown", "concept"), ("log.markdown", "concept"), ("myindex.md", "concept"),
        ("index.md/a.md", "concept"),
    ],
)  # fmt: skip
def test_the_name_tells_the_kind(path: str, kind: str) -> None:
    assert kind_of(path) == kind


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("d/sign-in_flow.md", "Sign in flow"),
        ("über-uns.md", "über uns"),
        (".md", "Untitled"),
        ("API.md", "API"),
        ("-.md", "Untitled"),
    ],
)
def test_a_title_is_derived_from_the_file_name(path: str, title: str) -> None:
    assert derived_title(path) == title


@pytest.mark.parametrize(
    ("front", "title"),
    [
        ("title: ' A b '", "A b"),
        ("title: 5", "P"),
        ("title: ''", "P"),
        ("title: [a]", "P"),
        ("x: y", "P"),
        ("title: no", "no"),
    ],
)
def test_the_title_is_that_of_the_frontmatter_if_it_is_a_text(front: str, title: str) -> None:
    assert parse_document("p.md", f"---\n{front}\n---\n".encode()).title == title


@pytest.mark.parametrize(("path", "title"), [("d/index.md", "Index"), ("log.md", "Log")])
def test_reserved_pages_have_fixed_titles_and_neither_type_nor_description(path: str, title: str) -> None:
    page = parse_document(path, b"---\ntype: T\ntitle: X\ndescription: D\n---\n")
    assert (page.reserved, page.title, page.type, page.description) == (True, title, "", "")


def test_type_description_resource_and_tags_are_trimmed_texts() -> None:
    page = parse_document("a.md", b"---\ntype: ' T '\ndescription: d \nresource: [x]\ntags: [a, 2, b]\n---\n")
    assert (page.type, page.description, page.resource, page.tags) == ("T", "d", "", ("a", "b"))


def test_a_page_with_broken_frontmatter_has_no_fields_but_a_body() -> None:
    page = parse_document("a.md", b"---\na: [\n---\n\n# A\n\nb\n")
    assert page.fields == {}
    assert [section.id for section in page.sections] == ["a#a"]
    assert [problem.rule for problem in page.problems] == ["frontmatter"]


def test_metadata_is_read_once() -> None:
    page = parse_document("a.md", b"---\nstatus: draft\n---\n")
    assert page.metadata.status == "draft"
    assert page.metadata is page.metadata
