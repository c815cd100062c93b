"""Frontmatter: where it starts and ends, what is in it, and why something is not frontmatter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openknowledge.engine import limits
from openknowledge.engine.bundle.document import decode_page, parse_document
from openknowledge.engine.bundle.frontmatter import Frontmatter, split_frontmatter

Found = list[tuple[str, str, int, int, str]]

REPEATED = 'frontmatter key "a" is repeated; later value wins'
OPENING = ("frontmatter-format", "opening frontmatter marker must be exactly ---", 1, 1, "warning")


def _problems(front: Frontmatter) -> Found:
    return [(p.rule, p.message, p.line, p.column, p.severity) for p in front.problems]


def test_a_page_is_split_at_its_markers() -> None:
    front = split_frontmatter("---\ntype: T\n---\n\n# A\n")
    assert (front.present, front.data, front.source) == (True, {"type": "T"}, "type: T\n")
    assert (front.body, front.body_line) == ("\n# A\n", 4)


def test_a_page_without_markers_is_all_body() -> None:
    front = split_frontmatter("# A\n\n---\n\nb\n")
    assert (front.present, front.body, front.body_line, front.problems) == (False, "# A\n\n---\n\nb\n", 1, [])


@pytest.mark.parametrize(
    "text", ["", "\n", "---", "--", "----\na: b\n---\n", "--- a\nb: c\n---\n", "- - -\n", "x---\n"]
)
def test_no_text_at_all_is_lost_or_raises(text: str) -> None:
    front = split_frontmatter(text)
    assert front.body == text or not front.closed


def test_the_closing_marker_may_end_the_file_without_a_line_break() -> None:
    front = split_frontmatter("---\ntype: T\n---")
    assert (front.data, front.body, front.body_line, front.problems) == ({"type": "T"}, "", 4, [])


@pytest.mark.parametrize(
    "text", ["---\n---\n# A\n", "---\n\n---\n# A\n", "---\n# c\n---\n# A\n", "---\n~\n---\n# A\n"]
)
def test_an_empty_block_is_frontmatter_without_fields(text: str) -> None:
    front = split_frontmatter(text)
    assert (front.present, front.data, front.body, front.problems) == (True, {}, "# A\n", [])
    assert front.body_line == text.count("\n")


@pytest.mark.parametrize("value", ["a --- b", "--- a", "---a", "'---'", "a---", "|\n  ---\n  b", "|-\n ---"])
def test_a_marker_inside_a_value_does_not_close(value: str) -> None:
    front = split_frontmatter(f"---\ntitle: {value}\ntype: T\n---\nbody\n")
    assert front.data["type"] == "T"
    assert "---" in front.data["title"]
    assert front.body == "body\n"


def test_a_line_that_only_starts_like_the_marker_does_not_close() -> None:
    front = split_frontmatter("---\ntype: T\n----\n---\nbody\n")
    assert front.body == "body\n"


@pytest.mark.parametrize("opening", ["--- ", " ---", "---\t", "\t--- "])
def test_an_inexact_opening_marker_opens_with_a_warning(opening: str) -> None:
    front = split_frontmatter(f"{opening}\ntype: T\n---\n")
    assert front.data == {"type": "T"}
    assert _problems(front) == [OPENING]


@pytest.mark.parametrize("closing", ["--- ", "---\t", "--- \t "])
def test_an_inexact_closing_marker_closes_with_a_warning(closing: str) -> None:
    front = split_frontmatter(f"---\ntype: T\n{closing}\nbody\n")
    assert (front.data, front.body) == ({"type": "T"}, "body\n")
    message = "closing frontmatter marker must be exactly ---"
    assert _problems(front) == [("frontmatter-format", message, 3, 1, "warning")]


def test_an_indented_marker_does_not_close() -> None:
    assert not split_frontmatter("---\ntype: T\n ---\nbody\n").closed


@pytest.mark.parametrize(
    "text", ["---", "---\n", "---\ntype: T\n", "---\ntype: T\n\n# A\n\nbody", "---\n# A\n ---\n"]
)
def test_an_unclosed_block_is_an_error_and_leaves_no_body(text: str) -> None:
    front = split_frontmatter(text)
    assert (front.present, front.body, front.data) == (True, "", {})
    message = "frontmatter block is not closed: add a line --- after the last key"
    assert _problems(front) == [("frontmatter", message, 1, 1, "error")]


@pytest.mark.parametrize(
    ("blank", "line"), [("\n", 2), ("\n\n", 3), ("  \n", 2), (" \n\t\n", 3), ("\u00a0\n", 2)]
)
def test_blank_lines_before_the_opening_marker_are_explained(blank: str, line: int) -> None:
    front = split_frontmatter(f"{blank}---\ntype: T\n---\n")
    assert not front.present
    message = f"frontmatter must start on line 1, but the opening --- is on line {line}"
    assert _problems(front) == [("frontmatter-format", message, line, 1, "warning")]


def test_a_rule_after_blank_lines_and_text_is_no_frontmatter() -> None:
    assert split_frontmatter("\nText.\n\n---\n").problems == []


def test_lone_carriage_returns_are_explained() -> None:
    front = split_frontmatter("---\rtype: T\r---\r# A\r")
    message = "frontmatter is not recognised: the lines end in CR alone; save the file with LF or CRLF"
    assert _problems(front) == [("frontmatter-format", message, 1, 1, "warning")]


@pytest.mark.parametrize(
    ("source", "message", "line", "column"),
    [
        ("a: [\n", "did not find expected node content", 3, 1),
        ("type: T\nb: : c\n", "mapping values are not allowed in this context", 3, 4),
        ("type: T\n\tb: c\n", "found a tab character that violates indentation", 3, 1),
        ("type: T\na: \x00\n", "control character U+0000 is not allowed in YAML", 3, 4),
        ("- a\n", "frontmatter must be a YAML mapping", 2, 1),
        ("text\n", "frontmatter must be a YAML mapping", 2, 1),
        ("12\n", "frontmatter must be a YAML mapping", 2, 1),
        ("a: " + "[" * 100 + "]" * 100 + "\n", "nested deeper than 100 levels", 2, 103),
        ("a: &a [*a]\n", "alias *a refers to a value that contains it", 2, 8),
    ],
)
def test_frontmatter_that_cannot_be_read_says_where_in_the_file(
    source: str, message: str, line: int, column: int
) -> None:
    front = split_frontmatter(f"---\n{source}---\n\n# A\n")
    assert (front.present, front.data, front.body, front.broken) == (True, {}, "\n# A\n", True)
    ((rule, found, *place, severity),) = _problems(front)
    assert (rule, place, severity) == ("frontmatter", [line, column], "error")
    assert message in found


def test_repeated_keys_are_warned_about_with_their_lines() -> None:
    front = split_frontmatter("---\na: 1\nb: {a: 1, a: 2}\na: 3\n---\n")
    assert front.data == {"a": 3, "b": {"a": 2}}
    assert _problems(front) == [
        ("frontmatter-format", REPEATED, 3, 11, "warning"),
        ("frontmatter-format", REPEATED, 4, 1, "warning"),
    ]


def test_frontmatter_at_the_limit_is_read() -> None:
    source = "a: " + "x" * (limits.FRONTMATTER_BYTES - 4) + "\n"
    assert len(split_frontmatter(f"---\n{source}---\n").data["a"]) == limits.FRONTMATTER_BYTES - 4


def test_the_limit_counts_bytes() -> None:
    source = "a: " + "é" * (limits.FRONTMATTER_BYTES // 2 - 1) + "\n"
    assert split_frontmatter(f"---\n{source}---\n").broken


def test_frontmatter_past_the_limit_is_an_error() -> None:
    source = "a: " + "x" * (limits.FRONTMATTER_BYTES - 3) + "\n"
    front = split_frontmatter(f"---\n{source}---\nbody\n")
    message = f"frontmatter is larger than {limits.FRONTMATTER_BYTES} bytes"
    assert _problems(front) == [("frontmatter", message, 1, 1, "error")]
    assert front.body == "body\n"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("type",), (2, 1)),
        (("sources",), (3, 1)),
        (("sources", 0), (4, 5)),
        (("sources", 0, "id"), (4, 5)),
        (("sources", 1, "resource"), (6, 5)),
        (("sources", 1, "title"), (6, 5)),
        (("sources", 7), (3, 1)),
        (("nothing",), (1, 1)),
        ((), (1, 1)),
    ],
)
def test_a_position_is_that_of_the_key_or_of_the_nearest_known_parent(
    path: tuple[str | int, ...], place: tuple[int, int]
) -> None:
    source = "type: T\nsources:\n  - id: a\n    resource: b\n  - resource: c\n"
    assert split_frontmatter(f"---\n{source}---\n").position(*path) == place


def test_positions_count_code_points() -> None:
    front = split_frontmatter("---\nü: {é: 1, 🎉: {a: 1}}\n---\n")
    assert front.position("ü", "🎉", "a") == (2, 15)


def test_a_page_without_frontmatter_has_everything_at_its_start() -> None:
    assert split_frontmatter("# A\n").position("type") == (1, 1)


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    document = parse_document("a.md", b"\xef\xbb\xbf---\ntype: T\n---\n# A\n")
    assert (document.type, document.frontmatter.problems) == ("T", [])


def test_a_second_byte_order_mark_is_text() -> None:
    assert decode_page(b"\xef\xbb\xbf\xef\xbb\xbfa") == "\ufeffa"


def test_crlf_is_read_as_lf_and_lone_carriage_returns_stay() -> None:
    assert decode_page(b"a\r\nb\rc\n\r\n") == "a\nb\rc\n\n"


def test_crlf_and_lf_give_the_same_page() -> None:
    raw = b"---\ntype: T\nd: |\n  a\n  b\n---\n\n# A\n\n- x\n\n```\ny\n```\n"
    unix, dos = parse_document("a.md", raw), parse_document("a.md", raw.replace(b"\n", b"\r\n"))
    assert (unix.fields, unix.outline, unix.sections) == (dos.fields, dos.outline, dos.sections)


lines = st.lists(
    st.sampled_from(
        ["---", "--- ", " ---", "----", "a: 1", "a: 2", "- x", "", "  ", "# h", "text", "b: |", "  c", "..."]
    ),
    max_size=10,
)


@given(lines, st.booleans())
def test_front_and_body_together_are_the_page(rows: list[str], ends: bool) -> None:
    text = "\n".join(rows) + ("\n" if ends else "")
    front = split_frontmatter(text)
    if not front.present:
        assert front.body == text
    elif front.closed:
        before = text[: len(text) - len(front.body)]
        assert before.count("\n") + (not before.endswith("\n")) == front.body_line - 1
        head, _, rest = before.partition("\n")
        assert head.strip() == "---"
        assert rest.startswith(front.source)
        assert rest[len(front.source) :].strip() == "---"
    else:
        assert all(row.rstrip(" \t") != "---" for row in rows[1:])


@given(lines)
def test_lines_of_problems_are_lines_of_the_file(rows: list[str]) -> None:
    front = split_frontmatter("\n".join(rows))
    assert all(1 <= problem.line <= max(1, len(rows)) for problem in front.problems)
