"""The outline of a page: headings, links, footnotes, code and what is hidden, each in its place."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.bundle.markdown import Outline, outline

START = "<!-- okf-annotation: agent-context -->"
END = "<!-- /okf-annotation -->"
FOOTER = "<!-- okf-footer: agent-maintenance -->"


def _headings(text: str) -> list[tuple[int, int, str, str]]:
    return [(h.line, h.level, h.text, h.slug) for h in outline(text).headings]


def _hrefs(text: str) -> list[str]:
    return [link.href for link in outline(text).links]


def _problems(found: Outline) -> list[tuple[int, str]]:
    assert {(p.rule, p.severity) for p in found.problems} <= {("markdown-syntax", "warning")}
    return [(problem.line, problem.message) for problem in found.problems]


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", "text\n"])
def test_a_page_without_markup_has_an_empty_outline(text: str) -> None:
    assert outline(text) == Outline()


def test_headings_of_every_level_are_found_with_their_lines() -> None:
    text = "# A\n\n## B\n### C\n#### D\n##### E\n###### F\n####### no\n#no\n"
    assert _headings(text) == [
        (1, 1, "A", "a"), (3, 2, "B", "b"), (4, 3, "C", "c"), (5, 4, "D", "d"), (6, 5, "E", "e"),
        (7, 6, "F", "f"),
    ]  # fmt: skip


def test_lines_are_those_of_the_file() -> None:
    found = outline("\n# A\n[x](y.md)\n", first_line=5)
    assert (found.headings[0].line, found.links[0].at) == (6, (7, 1))


def test_setext_headings_end_on_their_underline() -> None:
    found = outline("A\nb\n===\n\nC\n---\n").headings
    assert [(h.line, h.last_line, h.level, h.text) for h in found] == [(1, 3, 1, "A b"), (5, 6, 2, "C")]


@pytest.mark.parametrize(
    "text",
    ["```\n# A\n```\n", "~~~\n# A\n~~~\n", "    # A\n", "> # A\n", "- # A\n", "1. # A\n",
    "<div>\n# A\n</div>\n",
     "<!--\n# A\n-->\n", "<pre>\n# A\n\n# B\n</pre>\n", "[^x]: # A\n", "\\# A\n", "- a\n\n  # A\n",
     "````\n```\n# A\n````\n"],
)  # fmt: skip
def test_what_stands_in_code_quotes_lists_or_html_is_no_heading(text: str) -> None:
    assert _headings(text) == []


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("# A *b* **c** `d` ~~e~~", "A b c d e"),
        ("# [A](b.md) c", "A c"),
        ("# ![alt](b.png) c", "alt c"),
        ("# A &amp; B \\# c", "A & B # c"),
        ("# A   b\t c #", "A b c"),
        ("# A <b>c</b>", "A c"),
        ("# A[^x] b\n\n[^x]: y", "A b"),
        ("#", ""),
        ("A  \nb\n===", "A b"),
        ("A\\\nb\n===", "A b"),
    ],
)
def test_the_text_of_a_heading_is_what_a_reader_sees(markdown: str, text: str) -> None:
    assert [heading.text for heading in outline(markdown + "\n").headings] == [text]


def test_repeated_slugs_are_counted_over_all_levels() -> None:
    assert [h.slug for h in outline("# A\n## a\n#### A!\n# A\n").headings] == ["a", "a-2", "a-3", "a-4"]


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("[a](b.md)", "b.md"),
        ('[a](b.md "t")', "b.md"),
        ("[a](b.md 't')", "b.md"),
        ("[a](<b c.md>)", "b c.md"),
        ("[a]()", ""),
        ("[a](b(c).md)", "b(c).md"),
        ("[a](b\\(c.md)", "b(c.md"),
        ("[a](\nb.md\n)", "b.md"),
        ("[a][r]\n\n[r]: b.md", "b.md"),
        ("[r][]\n\n[r]: b.md 't'", "b.md"),
        ("[R]\n\n[r]: <b c.md>", "b c.md"),
        ("![a](b.png)", "b.png"),
        ("<http://a.b/c>", "http://a.b/c"),
        ("<me@example.com>", "mailto:me@example.com"),
        ("**[a](b.md)**", "b.md"),
        ("> [a](b.md)", "b.md"),
        ("- [a](b.md)", "b.md"),
        ("# [a](b.md)", "b.md"),
        ("|x|\n|-|\n|[a](b.md)|", "b.md"),
        ("x[^1]\n\n[^1]: [a](b.md)", "b.md"),
        ("[a `]` b](c.md)", "c.md"),
        ("[a](b&amp;c.md)", "b&c.md"),
    ],
)
def test_each_form_of_a_link_is_one_link(text: str, href: str) -> None:
    assert _hrefs(text + "\n") == [href]


@pytest.mark.parametrize(
    "text",
    ["`[a](b.md)`", "```\n[a](b.md)\n```", "    [a](b.md)", "\\[a](b.md)", "<!-- [a](b.md) -->", "[a] (b.md)",
     '<a href="b.md">x</a>', "[a][r]", "http://a.b/c", "[a](b c.md)",
     "<pre>\n[a](b.md)\n</pre>",
     f"{START}\n[a](b.md)\n{END}", f"{FOOTER}\n\n[a](b.md)", f"x\n\n{FOOTER}\n\n# A\n\n[a](b.md)"],
)  # fmt: skip
def test_what_a_reader_does_not_see_as_a_link_is_none(text: str) -> None:
    assert _hrefs(text + "\n") == []


def test_an_image_in_a_link_gives_both() -> None:
    links = outline("[![alt](i.png)](b.md)\n").links
    assert [(link.href, link.is_image) for link in links] == [("b.md", False), ("i.png", True)]


@pytest.mark.parametrize(
    ("text", "line", "at"),
    [
        ("a\nb [x](y)\n", 1, (2, 3)),
        ("a\n\nb\n[x](y)\n", 3, (4, 1)),
        ("- a\n- b\n  [x](y)\n", 2, (3, 3)),
        ("- a\n  - b\n    [x](y)\n", 2, (3, 5)),
        ("- a\n  - b\n\n  [x](y)\n", 1, (4, 3)),
        ("|a|b|\n|-|-|\n|c|d|\n|e|[x](y)|\n", 4, (4, 4)),
        ("|a|[x](y)|\n|-|-|\n", 1, (1, 4)),
        ("> a\n> [x](y)\n", 1, (2, 3)),
        ("a\n\n> b\n>\n> [x](y)\n", 3, (5, 3)),
        ("é🎉 [x](y)\n", 1, (1, 4)),
        ("## a [x](y)\n", 1, (1, 6)),
        ("- a\n\nb\n[x](y)\n", 3, (4, 1)),
        ("z[^1]\n\n[^1]: a\n    [x](y)\n", 3, (4, 5)),
    ],
)
def test_a_link_has_the_line_of_its_block_and_its_own_place(
    text: str, line: int, at: tuple[int, int]
) -> None:
    (link,) = outline(text).links
    assert (link.line, link.at) == (line, at)


def test_code_blocks_are_found_with_their_lines() -> None:
    found = outline("a\n\n```py\nx\n```\n\n    y\n\n- ~~~\n  z\n  ~~~\n")
    assert (found.code_blocks, found.code_lines) == (3, [(3, 5), (7, 7), (9, 11)])


def test_an_unclosed_fence_reaches_to_the_end() -> None:
    assert outline("a\n\n```\nx\n\n# y\n").code_lines == [(3, 6)]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("<!-- c -->\na\n", [(1, 1)]),
        ("a\n<!-- c\n\nd -->\nb\n", [(2, 4)]),
        ("<!-- a -->\n<!-- b -->\n", [(1, 1), (2, 2)]),
        ("a <!-- c --> b\n", []),
        ("```\n<!-- c -->\n```\n", []),
        ("- <!-- c -->\n", [(1, 1)]),
        ("<!-- not closed\n\na\n", [(1, 3)]),
        ('a\n\n<a id="x"></a>\n', [(3, 3)]),
        ("<div>\n</div>\n", []),
    ],
)
def test_lines_of_comments_and_anchors_are_hidden(text: str, hidden: list[tuple[int, int]]) -> None:
    assert outline(text).hidden_lines == hidden


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ('<a id="x"></a>', "x"),
        ("<a id='x'></a>", "x"),
        ('<A ID="x"></A>', "x"),
        ('  <a id="x"></a>  ', "x"),
        ('<a class="c" id="x" name="y"></a>', "x"),
        ('<a name="y" hidden id = "x" ></a>', "x"),
        ('<a id="x"> </a>', "x"),
        ('<a title=" id=\'z\'" id="x"></a>', "x"),
        ('<a id="ü y"></a>', "ü y"),
    ],
)
def test_a_line_that_is_one_empty_anchor_element_is_an_explicit_id(row: str, name: str) -> None:
    assert outline(f"a\n\n{row}\n\n# B\n").explicit_ids == [(name, 3)]


@pytest.mark.parametrize(
    "row",
    ['<a id="x">t</a>', 'a <a id="x"></a>', '<a id="x"></a> b', '<a name="x"></a>', '<b id="x"></b>',
    '<a id=""></a>',
     "<a id=x></a>", '<a id="x"/>', '<a id="x">', '`<a id="x"></a>`', '> <a id="x"></a>',
     '    <a id="x"></a>',
     '<!-- <a id="x"></a> -->', '<ab id="x"></ab>', '<a data-id="x"></a>', '<a id="x" <b></a>'],
)  # fmt: skip
def test_anything_else_is_no_explicit_id(row: str) -> None:
    assert outline(f"a\n\n{row}\n\n# B\n").explicit_ids == []


@pytest.mark.parametrize(
    "text",
    ['```\n<a id="x"></a>\n```\n', f'{START}\n<a id="x"></a>\n{END}\n', f'{FOOTER}\n<a id="x"></a>\n',
    '> q\n<a id="x"></a>\n'],
)  # fmt: skip
def test_ids_in_code_agent_blocks_and_quotes_do_not_count(text: str) -> None:
    assert outline(text).explicit_ids == []


def test_html_ids_and_names_are_known() -> None:
    found = outline(
        '<h2 id="a">x</h2>\n\ntext <span class="k" id=\'b\'>y</span> <a name="c">\n\n```\n<i id="d">\n```\n'
    )
    assert found.html_ids == {"a", "b", "c"}


def test_a_known_annotation_is_hidden_to_its_end() -> None:
    found = outline(f"# A\n\n{START}\n# B\n\n- [x](y)\n{END}\n\n# C\n")
    assert [heading.text for heading in found.headings] == ["A", "C"]
    assert (found.hidden_lines, found.links, found.problems) == ([(3, 7)], [], [])


def test_an_annotation_end_has_its_own_line() -> None:
    found = outline(f"{START}\na {END}\n  {END}\n{END} b\n{END}\n# C\n")
    assert found.hidden_lines[0] == (1, 5)


@pytest.mark.parametrize("inside", ["```\nx", "<div>\nx", "<!-- x", "<pre>\n", "~~~~\n```", "<script>"])
def test_a_block_that_an_annotation_leaves_open_ends_with_it(inside: str) -> None:
    found = outline(f"# A\n\n{START}\n{inside}\n{END}\n\n# B\n\n[x](y)\n")
    assert [heading.text for heading in found.headings] == ["A", "B"]
    assert [link.at for link in found.links] == [(7 + inside.count("\n") + 2, 1)]
    assert found.hidden_lines == [(3, 5 + inside.count("\n"))]


def test_many_annotations_with_open_blocks_cost_no_more_than_a_few_passes() -> None:
    start = time.process_time()
    outline(f"{START}\n```\n{END}\n\n" * 5_000)
    assert time.process_time() - start < 3


def test_an_unknown_annotation_is_a_comment_with_a_warning() -> None:
    found = outline("<!-- okf-annotation: what else -->\n# A\n")
    assert _problems(found) == [(1, 'unknown OKF annotation capability "what else"')]
    assert (found.hidden_lines, len(found.headings)) == ([(1, 1)], 1)


def test_an_unclosed_annotation_is_a_comment_with_a_warning() -> None:
    found = outline(f"{START}\n# A\n")
    assert [line for line, message in _problems(found) if message.startswith("annotation is not closed")] == [
        1
    ]
    assert (found.hidden_lines, len(found.headings)) == ([(1, 1)], 1)


def test_a_nested_annotation_is_warned_about() -> None:
    found = outline(f"{START}\na\n{START}\n{END}\n# A\n")
    assert _problems(found) == [(3, "annotations cannot be nested")]
    assert found.hidden_lines == [(1, 4)]


def test_a_stray_annotation_end_is_warned_about() -> None:
    assert _problems(outline(f"a\n\n{END}\n")) == [(3, "annotation end marker without a start")]


def test_markers_in_code_are_code() -> None:
    assert outline(f"```\n{START}\n{FOOTER}\n{END}\n```\n\n# A\n").problems == []


def test_the_agent_footer_swallows_the_rest() -> None:
    found = outline(f"# A\n\n{FOOTER}\n\n# B\n\n<a id='x'></a>\n[^y] ```\n")
    assert [heading.text for heading in found.headings] == ["A"]
    assert (found.hidden_lines, found.footnotes, found.explicit_ids) == ([(3, 9)], [], [])


def test_a_nul_is_warned_about_where_it_stands() -> None:
    found = outline("# A\n\né\x00b\x00\n")
    assert [(p.line, p.column, p.message) for p in found.problems] == [
        (3, 2, "NUL character in the text; remove it")
    ]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("a[^x] b[^y-1]\n\n[^x]: z\n", [("x", 1, 2), ("y-1", 1, 8), ("x", 3, 1)]),
        ("é[^x]\n", [("x", 1, 2)]),
        ("`[^x]` [^y]\n", [("y", 1, 8)]),
        ("`` [^x] ``\n`a` [^y] `b`\n", [("y", 2, 5)]),
        ("```\n[^x]\n```\n    [^y]\n", []),
        ("<!-- [^x] -->\n", []),
        ("[^a b] [^] [c]\n", []),
        ("- [^ü]\n", [("ü", 1, 3)]),
    ],
)
def test_footnote_labels_outside_of_code_are_found(text: str, labels: list[tuple[str, int, int]]) -> None:
    assert outline(text).footnotes == labels


HOSTILE = {
    "open brackets": "[" * 50_000,
    "open images": "![" * 50_000,
    "open links": "[a](" * 30_000,
    "closing brackets": "]" * 50_000,
    "empty brackets": "[]" * 50_000,
    "angle brackets": "<" * 50_000,
    "open tags": "<a " * 50_000,
    "open instructions": "a <?" * 50_000,
    "open declarations": "a <!A" * 50_000,
    "open comments": "a <!--" * 50_000,
    "open cdata": "a <![CDATA[" * 30_000,
    "backticks": "`" * 50_000,
    "runs of backticks": "".join("`" * n + " " for n in range(300)),
    "open emphasis": "*a_ " * 30_000,
    "nested emphasis": "*a **a " * 20_000,
    "tildes": "~~a ~b " * 20_000,
    "backslashes": "\\" * 100_000,
    "ampersands": "&" * 100_000,
    "entities": "&amp;" * 30_000,
    "quotes in quotes": ">" * 10_000 + "a\n",
    "lists in lists": "- " * 10_000 + "a\n",
    "indented lists": "".join("  " * n + "- a\n" for n in range(1_500)),
    "quotes and lists": "> - " * 10_000 + "a\n",
    "numbers": "1. " * 10_000 + "a\n",
    "rules": "- - -\n" * 20_000,
    "one long line": "a" * 1_000_000,
    "long line of links": "[a](b.md) " * 30_000,
    "long line of links beyond ASCII": "é [a](b.md) " * 30_000,
    "long line of references": "[a][b] " * 30_000 + "\n\n[b]: x\n",
    "long line of autolinks": "<http://a> " * 30_000,
    "long line of footnotes": "é[^a] `c` " * 30_000,
    "open footnotes": "[^" * 50_000,
    "footnotes in footnotes": "[^a]: " * 20_000 + "\n",
    "10,000 footnotes": "".join(f"a[^{n}]\n\n[^{n}]: b\n\n" for n in range(10_000)),
    "10,000 definitions": "".join(f"[r{n}]: x\n" for n in range(10_000))
    + "".join(f"[r{n}] " for n in range(10_000)),
    "open definitions": "[a\n" * 30_000,
    "a definition whose title stays open": "[a]: b '\n" * 20_000,
    "a long table": "|a|b|\n|-|-|\n" + "|c|d|\n" * 20_000,
    "a wide table": "|a" * 10_000 + "|\n" + "|-" * 10_000 + "|\n" + "|c" * 10_000 + "|\n",
    "a wide table with short rows": "|a" * 3_000 + "|\n" + "|-" * 3_000 + "|\n" + "|c|\n" * 3_000,
    "10,000 headings": "".join(f"# {n % 7}\n\nx\n\n" for n in range(10_000)),
    "10,000 underlined headings": "a\n=\n" * 10_000,
    "a paragraph that becomes a heading": "a\n" * 50_000 + "=\n",
    "100,000 comments": "<!-- c -->\n" * 100_000,
    "comments in lists": "- <!-- c -->\n" * 20_000,
    "unclosed comments": "<!-- c\n\n" * 30_000,
    "annotations": f"{START}\nx\n{END}\n\n" * 10_000,
    "annotations that stay open": f"{START}\n\n" * 10_000,
    "annotations that stay open, one end": f"{START}\n\n" * 10_000 + END,
    "unknown annotations": "<!-- okf-annotation: x -->\n\n" * 10_000,
    "annotation ends": f"{END}\n\n" * 10_000,
    "a marker full of blanks": "<!-- okf-annotation:" + " " * 100_000 + "x\n",
    "a marker full of blanks inside": f"{START}\n<!-- okf-annotation:" + " " * 100_000 + "x\n" + END,
    "footers": f"{FOOTER}\n\n" * 10_000,
    "anchors": '<a id="x"></a>\n\n' * 20_000,
    "an anchor of many ids": "<a" + ' id="x"' * 100_000 + "\n",
    "an anchor of many ids, closed": "<a" + ' id="x"' * 100_000 + "></a>\n",
    "an anchor of many blanks": "<a" + " " * 100_000 + 'id="x"></a>\n',
    "tags with long attributes": ("<a " + "b " * 1_500 + "\n") * 100,
    "ids that stay open": ("<a" + " id='" * 800 + "\n") * 50,
    "fences": "```\n" * 30_001,
    "code spans": "`c` [^1] " * 20_000,
    "html": "<div>\n\n" * 20_000,
    "NUL": "\x00" * 100_000,
    "lone carriage returns": "a\r# b\r" * 20_000,
    "tabs": "\t" * 100_000 + "a\n",
    "blank lines": "a" + "\n" * 200_000 + "b\n",
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_markdown_is_read_in_little_time(text: str) -> None:
    start = time.process_time()
    outline(text)
    assert time.process_time() - start < 3


pieces = st.sampled_from(
    ["# a", "## b c", "#### d", "a", "é🎉 x", "", "", "    ", "- a", "  - b", "1. c", "> q", "> # a", "```",
    "~~~", "===", "---",
     "[x](y.md)", "é [x](y.md#z) ![i](j)", "<http://a>", "[r]", "[r]: u", "[^f]", "[^f]: note", "`c`",
     "|a|b|", "|-|-|",
     "<!-- c -->", "<!--", "-->", START, END, FOOTER, '<a id="x"></a>', "<div>", "</div>", "\x00", "a\rb",
     "\t", "*e* [x](y)"]
)  # fmt: skip
bodies = st.lists(pieces, max_size=20).map("\n".join)


@settings(max_examples=300)
@given(bodies, st.integers(1, 9))
def test_every_place_of_an_outline_is_what_it_claims_to_be(body: str, first_line: int) -> None:
    found = outline(body, first_line)
    rows = body.split("\n")
    last = first_line + len(rows) - 1
    for link in found.links:
        line, column = link.at
        assert first_line <= link.line <= line <= last
        assert rows[line - first_line][column - 1] in "[!<"
    for heading in found.headings:
        assert first_line <= heading.line <= heading.last_line <= last
        own = rows[heading.line - first_line].lstrip()
        assert own.startswith("#") or heading.last_line > heading.line
    for label, line, column in found.footnotes:
        assert rows[line - first_line][column - 1 :].startswith(f"[^{label}]")
    for name, line in found.explicit_ids:
        assert f'id="{name}"' in rows[line - first_line]
    for start, end in [*found.hidden_lines, *found.code_lines]:
        assert first_line <= start <= end <= last
    for problem in found.problems:
        assert first_line <= problem.line <= last


@given(bodies, st.integers(1, 50))
def test_lines_move_with_the_first_line_and_nothing_else_changes(body: str, offset: int) -> None:
    one, other = outline(body, 1), outline(body, 1 + offset)
    assert [h.line + offset for h in one.headings] == [h.line for h in other.headings]
    assert [(k.href, k.line + offset) for k in one.links] == [(k.href, k.line) for k in other.links]


@given(bodies)
def test_headings_and_links_stay_in_order(body: str) -> None:
    found = outline(body)
    assert [h.line for h in found.headings] == sorted({h.line for h in found.headings})
    assert [k.at for k in found.links] == sorted({k.at for k in found.links})
    assert found.hidden_lines == sorted(found.hidden_lines)


def test_the_lines_of_a_large_page_are_right_too() -> None:
    body = "word é\n\n" * 300_000 + "# End\n\n[x](y)\n"
    found = outline(body)
    assert (found.headings[0].line, found.links[0].at) == (600_001, (600_003, 1))
