"""The quick look at a page's anchors says what the Markdown parser says."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.bundle.document import parse_document
from openknowledge.engine.claims.anchors import Anchors

PIECES = [
    '<a id="x"></a>\n',
    '<a id="x"></a>\n\n',
    "<a id='x'></a>\n",
    '  <a id="x"></a>\n',
    '<a id="y"></a>\n',
    '<A name="n" ID="x" ></a>\n',
    "# x\n",
    "## X\n\n",
    "x\n===\n\n",
    "Text.\n",
    "\n",
    "> quoted\n",
    "- item\n",
    "- > quoted item\n",
    "1. > quoted\n",
    "```\n",
    "~~~~\n",
    "    indented\n",
    "\tindented\n",
    " \t code\n",
    "<!-- comment\n",
    "-->\n",
    "<!-- okf-annotation: agent-context -->\n",
    "<!-- /okf-annotation -->\n",
    "<!-- okf-footer: agent-maintenance -->\n",
    "<div>\n",
    "<script>\n",
    "</script>\n",
    "<pre>\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "a -> b\n",
    "> \n",
    "[^n]: note\n",
    '`<a id="x"></a>`\n',
    'Text <a id="x"></a>\n',
    "\u2028>\n",
    "\x0b> q\n",
]


@settings(max_examples=1_500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=9))
def test_a_quick_look_never_contradicts_the_parser(pieces: list[str]) -> None:
    data = ("---\na: 1\n---\n" + "".join(pieces)).encode()
    quick, slow = parse_document("a.md", data), parse_document("a.md", data)
    assert slow.outline is not None
    assert slow.is_outlined
    for reference in ("#x", "#y"):
        assert Anchors(quick).has_one(reference) == Anchors(slow).has_one(reference)


def test_a_plain_page_is_not_parsed() -> None:
    document = parse_document("a.md", b'# Title\n\nText.\n\n<a id="x"></a>\n## Section\n\nText.\n')
    assert Anchors(document).has_one("#x")
    assert not document.is_outlined
