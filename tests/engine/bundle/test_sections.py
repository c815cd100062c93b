"""Sections: where they begin and end, what they are called, and that together they are the page."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.bundle.document import Document, parse_document
from openknowledge.engine.bundle.sections import Section, estimate_tokens


def _document(text: str) -> Document:
    return parse_document("d/p.md", text.encode())


def _sections(text: str) -> list[Section]:
    return _document(text).sections


def _ranges(text: str) -> list[tuple[str, int, int]]:
    return [(section.slug, section.line_start, section.line_end) for section in _sections(text)]


def _anchors(text: str) -> dict[str, list[str]]:
    return {section.slug: section.anchors for section in _sections(text)}


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", "---\ntype: T\n---\n", "<!-- only a comment -->\n"])
def test_a_page_without_text_has_no_section(text: str) -> None:
    assert _sections(text) == []


def test_a_page_without_headings_is_one_section() -> None:
    (section,) = _sections("---\ntype: T\n---\n\na\n\nb\n")
    assert (section.id, section.heading, section.level, section.heading_path) == (
        "d/p#top",
        "Top",
        0,
        ("Top",),
    )
    assert (section.line_start, section.line_end, section.text) == (4, 8, "a\n\nb")
    assert section.anchors == ["top"]


def test_text_before_the_first_heading_is_a_section_of_its_own() -> None:
    assert _ranges("a\n\n# B\n\nc\n") == [("top", 1, 2), ("b", 3, 6)]


def test_blank_lines_before_the_first_heading_are_no_section() -> None:
    assert _ranges("\n\n# B\n\nc\n") == [("b", 3, 6)]


def test_headings_of_level_1_to_3_begin_a_section_and_deeper_ones_do_not() -> None:
    text = "# A\na\n## B\nb\n### C\nc\n#### D\nd\n##### E\ne\n###### F\nf\n"
    assert _ranges(text) == [("a", 1, 2), ("b", 3, 4), ("c", 5, 13)]


def test_a_section_knows_its_ancestors() -> None:
    text = "# A\na\n### B\nb\n## C\nc\n### D\nd\n# E\ne\n## F\nf\n"
    assert [section.heading_path for section in _sections(text)] == [
        ("A",), ("A", "B"), ("A", "C"), ("A", "C", "D"), ("E",), ("E", "F"),
    ]  # fmt: skip


def test_the_last_section_reaches_to_the_end_with_its_blank_lines() -> None:
    assert _ranges("# A\na\n\n\n") == [("a", 1, 5)]


def test_a_section_without_a_final_line_break_ends_on_its_last_line() -> None:
    assert _ranges("# A\na") == [("a", 1, 2)]


def test_text_is_trimmed_and_holds_the_heading() -> None:
    assert _sections("# A\n\n  b\n\n\u00a0\n# C\nd")[0].text == "# A\n\n  b"


def test_hidden_lines_are_blank_in_the_text() -> None:
    annotation = "<!-- okf-annotation: agent-context -->\nd\n<!-- /okf-annotation -->\n"
    text = f'# A\n<!-- c -->\nb\n\n<a id="x"></a>\n\n{annotation}e\n'
    assert _sections(text)[0].text == "# A\n\nb\n\n\n\n\n\n\ne"


def test_a_section_that_holds_only_hidden_lines_is_skipped() -> None:
    assert _ranges("# A\n<!-- c -->\n# B\nb\n") == [("b", 3, 5)]


def test_headings_in_code_do_not_cut() -> None:
    assert _ranges("# A\n```\n# B\n```\n") == [("a", 1, 5)]


def test_an_underlined_heading_begins_a_section() -> None:
    assert _ranges("A\n===\na\n\nB\n---\nb\n") == [("a", 1, 4), ("b", 5, 8)]


def test_an_underlined_heading_without_text_is_skipped() -> None:
    assert _ranges("A\n===\n\nB\n---\nb\n") == [("b", 4, 7)]


@pytest.mark.parametrize("inner", ["", "\n", "\n \n", "#### D\n", "#### D\n\n##### E\n", "#\n"])
def test_a_section_of_blank_lines_and_deeper_headings_is_skipped(inner: str) -> None:
    assert [slug for slug, _, _ in _ranges(f"# A\n{inner}## B\nb\n")] == ["b"]


def test_repeated_headings_have_numbered_ids_over_all_levels() -> None:
    text = "# A\na\n#### A\n## A\nb\n# A\nc\n"
    assert [section.id for section in _sections(text)] == ["d/p#a", "d/p#a-3", "d/p#a-4"]


def test_skipped_headings_count_for_the_numbers() -> None:
    assert [section.slug for section in _sections("# A\n# A\na\n")] == ["a-2"]


def test_the_first_section_is_also_top() -> None:
    assert _anchors("# A\na\n# B\nb\n") == {"a": ["a", "top"], "b": ["b"]}


def test_deeper_headings_are_anchors_of_the_section_they_stand_in() -> None:
    assert _anchors("# A\na\n#### B\n##### C\n# D\nd\n#### E\n") == {
        "a": ["a", "b", "c", "top"],
        "d": ["d", "e"],
    }


def test_deeper_headings_before_the_first_boundary_belong_to_the_lead() -> None:
    assert _anchors("x\n#### B\n# A\na\n") == {"top": ["top", "b"], "a": ["a"]}
    assert _anchors("#### B\nx\n") == {"top": ["top", "b"]}


def test_the_anchor_of_a_heading_without_text_goes_to_the_first_deeper_section() -> None:
    assert _anchors("# A\n## B\nb\n## C\nc\n") == {"b": ["b", "a", "top"], "c": ["c"]}


def test_anchors_of_several_headings_without_text_go_down_together() -> None:
    assert _anchors("# A\n## B\n#### X\n### C\nc\n") == {"c": ["c", "a", "b", "x", "top"]}


def test_the_anchor_of_a_heading_without_text_does_not_go_to_a_section_that_is_not_deeper() -> None:
    assert _anchors("# A\n# B\nb\n") == {"b": ["b", "top"]}
    assert _anchors("# Z\nz\n# A\n## B\n# C\nc\n") == {"z": ["z", "top"], "c": ["c"]}


def test_the_anchor_of_a_heading_without_text_is_handed_down_once() -> None:
    assert _anchors("# A\n## B\nb\n### C\nc\n")["c"] == ["c"]


@pytest.mark.parametrize("gap", ["", "\n"])
def test_an_explicit_id_just_before_a_heading_names_the_section_below(gap: str) -> None:
    assert "x" in _anchors(f'# A\na\n\n<a id="x"></a>\n{gap}# B\nb\n')["b"]


def test_an_explicit_id_further_before_a_heading_names_the_section_it_stands_in() -> None:
    anchors = _anchors('# A\na\n\n<a id="x"></a>\n\n\n# B\nb\n')
    assert ("x" in anchors["a"], "x" in anchors["b"]) == (True, False)


def test_an_explicit_id_before_a_heading_without_text_names_the_next_section() -> None:
    assert "x" in _anchors('# A\na\n\n<a id="x"></a>\n\n# B\n## C\nc\n')["c"]


def test_an_explicit_id_before_the_first_heading_names_its_section() -> None:
    assert _anchors('<a id="x"></a>\n\n# B\nb\n') == {"b": ["b", "top", "x"]}


def test_an_explicit_id_after_the_last_section_in_a_heading_without_text_names_nothing() -> None:
    assert _anchors('# A\na\n\n# B\n\n<a id="x"></a>\n') == {"a": ["a", "top"]}


def test_a_repeated_explicit_id_is_one_anchor() -> None:
    text = '# A\na\n\n<a id="x"></a>\n\nb\n\n<a id="x"></a>\n\nc\n'
    assert _anchors(text) == {"a": ["a", "top", "x"]}


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), (" \n", 0), ("a", 1), ("abcd", 1), ("abcde", 2), (" é🎉ab ", 1)]
)
def test_tokens_are_estimated_as_a_quarter_of_the_code_points(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_a_line_belongs_to_the_section_that_holds_it_else_to_the_first() -> None:
    document = _document("---\ntype: T\n---\n# A\na\n# B\n# C\nc\n")
    slugs = {
        line: found.slug if (found := document.section_at(line)) else "" for line in (1, 4, 5, 6, 7, 9, 99)
    }
    assert slugs == {1: "a", 4: "a", 5: "a", 6: "a", 7: "c", 9: "c", 99: "a"}


def test_a_page_without_sections_holds_no_line_and_no_anchor() -> None:
    document = _document("")
    assert (
        document.section_at(1),
        document.section_with_anchor(""),
        document.section_with_anchor("top"),
    ) == (None,) * 3


def test_a_section_is_found_by_any_of_its_anchors() -> None:
    document = _document('# A\na\n## B\n#### C\nb\n\n<a id="X y"></a>\n')
    found = {name: document.section_with_anchor(name) for name in ("", "a", "top", "c", "X y")}
    assert {name: section.slug for name, section in found.items() if section} == {
        "": "a", "a": "a", "top": "a", "c": "b", "X y": "b",
    }  # fmt: skip
    assert document.section_with_anchor("nothing") is None


pieces = st.sampled_from(
    ["# A", "## B", "### C", "#### D", "# A #", "text", "", "", " ", "- item", "> quote", "```", "===",
    "---", "<!-- c -->",
     "<!--", "-->", '<a id="x"></a>', "<!-- okf-annotation: agent-context -->", "<!-- /okf-annotation -->",
     "<!-- okf-footer: agent-maintenance -->", "é🎉", "\u00a0"]
)  # fmt: skip
bodies = st.lists(pieces, max_size=25).map("\n".join)
fronts = st.sampled_from(["", "---\ntype: T\n---\n", "---\n---\n"])


@settings(max_examples=300)
@given(fronts, bodies)
def test_sections_and_what_is_skipped_partition_the_body(front: str, body: str) -> None:
    document = _document(front + body)
    first_line, body = document.frontmatter.body_line, document.frontmatter.body
    rows = body.split("\n")
    boundaries = [heading for heading in document.outline.headings if heading.level <= 3]
    hidden = {line for start, end in document.outline.hidden_lines for line in range(start, end + 1)}
    owner: dict[int, str] = {}
    for section in document.sections:
        for line in range(section.line_start, section.line_end + 1):
            assert line not in owner, "a line belongs to one section"
            owner[line] = section.id
        own = [r if n not in hidden else "" for n, r in enumerate(rows, first_line)]
        cut = own[section.line_start - first_line : section.line_end - first_line + 1]
        assert "\n".join(cut).strip() == section.text
    underlines = {line for h in boundaries for line in range(h.line, h.last_line + 1)}
    for number, row in enumerate(rows, first_line):
        if number not in owner and row.strip() and number not in hidden:
            assert row.lstrip().startswith("#") or number in underlines, "only headings are left out"


@given(fronts, bodies)
def test_every_boundary_begins_a_section_or_holds_headings_only(front: str, body: str) -> None:
    document = _document(front + body)
    starts = {section.line_start for section in document.sections}
    emitted = {section.line_start: section for section in document.sections if section.level}
    for heading in document.outline.headings:
        if heading.level <= 3 and heading.line in starts and heading.line in emitted:
            assert emitted[heading.line].heading == heading.text
    ids = [section.id for section in document.sections if section.level]
    assert len(ids) == len({heading.line for heading in document.outline.headings if heading.line in emitted})


@given(fronts, bodies)
def test_every_heading_slug_is_an_anchor_unless_nothing_deeper_follows_it(front: str, body: str) -> None:
    document = _document(front + body)
    anchors = [name for section in document.sections for name in section.anchors]
    if document.sections:
        assert "top" in document.sections[0].anchors
    for section in document.sections:
        assert section.slug in section.anchors
    for heading in document.outline.headings:
        assert anchors.count(heading.slug) <= 2  # "a" may be an explicit id as well


@pytest.mark.parametrize(
    "text",
    ["# a\n" * 20_000, "# a\n\nx\n\n" * 20_000, "# a\n## b\n### c\n#### d\nx\n" * 5_000, "#### a\n" * 30_000,
     "# a\n\nx\n\n" + "".join(f'<a id="x{n}"></a>\n\n' for n in range(20_000)),
     "a\n=\n" * 20_000, "<!-- c -->\n" * 50_000],
)  # fmt: skip
def test_many_headings_anchors_or_comments_are_cut_in_little_time(text: str) -> None:
    document = _document(text)
    start = time.process_time()
    sections = document.sections
    for line in range(0, 40_000, 2):
        document.section_at(line)
        document.section_with_anchor(f"x{line}")
    assert time.process_time() - start < 3
    assert sections is document.sections
