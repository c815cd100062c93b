from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine import limits
from openknowledge.engine.bundle.frontmatter import split_frontmatter
from openknowledge.engine.errors import LimitError, OpenKnowledgeError
from openknowledge.engine.operations.json_patch import check_patch, parse_pointer, pointer
from openknowledge.engine.operations.patch import edit_frontmatter, split_page

CORPORA = Path(__file__).resolve().parents[3] / "../shared/corpora"

PAGE = """\
---
# The page
type: Metric   # kind
title: 'It''s'
claims:
  # first
  - id: okn:a
    slot: s   # the slot
    object: {value: 1, datatype: xsd:integer}

  # second
  - id: okn:b
    note: |  # as written
      text
      more

tags: []
refs: [a, "b"]
# the end
---
Body
"""


def edit(page: str, *operations: dict[str, Any], **options: Any) -> str:
    return edit_frontmatter(page.encode(), list(operations), **options).decode()


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def remove(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


def changed(yaml: str, *operations: dict[str, Any]) -> str:
    page = edit(f"---\n{yaml}---\n", *operations)
    assert page.startswith("---\n")
    assert page.endswith("---\n")
    return page[4:-4]


# How each change looks on the page

LOOKS = [
    # a scalar, in its own quotes
    ("a: x  # c\n", replace("/a", "q"), "a: q  # c\n"),
    ("a: 'x'\n", replace("/a", "it's"), "a: 'it''s'\n"),
    ('a: "x"\n', replace("/a", "q"), 'a: "q"\n'),
    ("a: 'x'\n", replace("/a", "two\nlines"), 'a: "two\\nlines"\n'),
    ("a: 'x'\n", replace("/a", 5), "a: 5\n"),
    ("a: one\n  two  # c\nb: 1\n", replace("/a", "x"), "a: x  # c\nb: 1\n"),
    ("a:\n  one  # c\nb: 1\n", replace("/a", "x"), "a:\n  x  # c\nb: 1\n"),
    ("a: |  # c\n  one\n\n  two\n\nb: 1\n", replace("/a", "x"), "a: x  # c\n\nb: 1\n"),
    ("a: >-\n  one\nb: 1\n", replace("/a", True), "a: true\nb: 1\n"),
    ("a:  # c\nb: 1\n", replace("/a", "x"), "a: x  # c\nb: 1\n"),
    ("a: &x 1\nb: 2\n", replace("/a", 3), "a: &x 3\nb: 2\n"),
    ("a: &x !!str 1\n", replace("/a", 3), "a: &x 3\n"),
    ("a: !!str 1\n", replace("/a", 3), "a: 3\n"),
    ("? a\n: x\n", replace("/a", "q"), "? a\n: q\n"),
    ("'k': x\n\"ž\": q\n", replace("/ž", "z"), "'k': x\n\"ž\": z\n"),
    ("a/b~c: x\n", replace("/a~1b~0c", "q"), "a/b~c: q\n"),
    ("a: 1\na: 2\n", replace("/a", 3), "a: 1\na: 3\n"),
    # what other readers would take for something else
    ("a: x\n", replace("/a", "no"), 'a: "no"\n'),
    ("a: 2025-01-01\n", replace("/a", "2026-11-30"), 'a: "2026-11-30"\n'),
    ("a: x\n", replace("/a", "12:30:45"), 'a: "12:30:45"\n'),
    ("a: x\n", replace("/a", 1e16), "a: 1.0e+16\n"),
    # a collection for a scalar
    ("a: x  # c\nb: 1\n", replace("/a", {"k": [1]}), "a:  # c\n  k:\n    - 1\nb: 1\n"),
    ("a: |  # c\n  one\nb: 1\n", replace("/a", [1]), "a:  # c\n  - 1\nb: 1\n"),
    ("a:\nb: 1\n", replace("/a", ["x"]), "a:\n  - x\nb: 1\n"),
    ("l:\n- x\n- q\n", replace("/l/0", {"a": 1, "b": 2}), "l:\n- a: 1\n  b: 2\n- q\n"),
    ("l:\n- x  # c\n- q\n", replace("/l/0", {"a": 1, "b": 2}), "l:\n-  # c\n  a: 1\n  b: 2\n- q\n"),
    ("l:\n-\n- q\n", replace("/l/0", [1, 2]), "l:\n- - 1\n  - 2\n- q\n"),
    # a scalar for a collection
    ("a:  # c\n  # inner\n  - 1\n  - 2\nb: 1\n", replace("/a", "x"), "a: x  # c\n  # inner\nb: 1\n"),
    ("l:\n- a: 1\n  b: 2  # c\n- q\n", replace("/l/0", 5), "l:\n- 5  # c\n- q\n"),
    # a collection for a collection
    ("a:\n  x: 1\nb: 1\n", replace("/a", {"q": 2}), "a:\n  q: 2\nb: 1\n"),
    ("a:\n- x\nb: 1\n", replace("/a", {"q": 2}), "a:\n  q: 2\nb: 1\n"),
    # flow style stays flow style
    ("a: {x: 1, q: [2]}\n", replace("/a/x", {"z": [1, "k: v"]}), 'a: {x: {z: [1, "k: v"]}, q: [2]}\n'),
    ("a: {x: , q}\n", replace("/a/x", 1), "a: {x: 1 , q}\n"),
    ("a: {x: , q}\n", replace("/a/q", 1), "a: {x: , q: 1}\n"),
    ('a: {"x":1}\n', replace("/a/x", "q"), 'a: {"x":"q"}\n'),
    # adding
    ("a: 1\n", add("/b", "x"), "a: 1\nb: x\n"),
    ("a: |+\n  text\n\n", add("/b", 1), "a: |+\n  text\n\nb: 1\n"),
    ("a: 1  # c\n# end\n", add("/b", 1), "a: 1  # c\nb: 1\n# end\n"),
    ("a: {}\n", add("/a/x", 1), "a:\n  x: 1\n"),
    ("a: []\n", add("/a/-", {"x": 1, "q": 2}), "a:\n  - x: 1\n    q: 2\n"),
    ("a: [[]]\n", add("/a/0/-", 1), "a: [[1]]\n"),
    ("a: [ # c\n  ]\n", add("/a/-", 1), "a: [1 # c\n  ]\n"),
    ("{}\n", add("/a", 1), "a: 1\n"),
    ("", add("/a", [1]), "a:\n  - 1\n"),
    ("# only a comment\n", add("/a", 1), "# only a comment\na: 1\n"),
    ("a: {x: 1}\n", add("/a/q", 2), "a: {x: 1, q: 2}\n"),
    ("a: [1, 2,]\n", add("/a/-", 3), "a: [1, 2, 3,]\n"),
    ("a: [\n  1,\n  2  # two\n]\n", add("/a/-", 3), "a: [\n  1,\n  2,  # two\n  3\n]\n"),
    ("a: [\n  1,\n  2,  # two\n]\n", add("/a/-", 3), "a: [\n  1,\n  2,  # two\n  3,\n]\n"),
    ("a: [1, 3]\n", add("/a/1", 2), "a: [1, 2, 3]\n"),
    ("a: ['x']\n", add("/a/-", "q"), "a: ['x', 'q']\n"),
    ("l:\n- x\n", add("/l/-", "q"), "l:\n- x\n- q\n"),
    ("l:\n  # about x\n  - x\n", add("/l/0", "w"), "l:\n  - w\n  # about x\n  - x\n"),
    ("l:\n- - x\n", add("/l/0/0", "w"), "l:\n- - w\n  - x\n"),
    (
        "a:\n    b:\n        c: 1\n",
        add("/a/d", {"e": [1]}),
        "a:\n    b:\n        c: 1\n    d:\n        e:\n          - 1\n",
    ),
    ("a:\n- x\nb: 1\n", add("/c", ["q"]), "a:\n- x\nb: 1\nc:\n- q\n"),
    # removing
    ("a: 1\nb: 2  # c\nc: 3\n", remove("/b"), "a: 1\nc: 3\n"),
    ("a: 1\n", remove("/a"), ""),
    ("# c\na: 1\n# d\n", remove("/a"), "# c\n# d\n"),
    ("a:\n  - x\nb: 1\n", remove("/a/0"), "a: []\nb: 1\n"),
    ("a:\n  x: 1\nb: 1\n", remove("/a/x"), "a: {}\nb: 1\n"),
    ("l:\n- a: 1\n  b: 2\n", remove("/l/0/a"), "l:\n- b: 2\n"),
    ("l:\n- a: 1\n  # c\n  b: 2\n", remove("/l/0/a"), "l:\n-\n  # c\n  b: 2\n"),
    ("l:\n- a: 1\n- q\n", remove("/l/0/a"), "l:\n- {}\n- q\n"),
    ("? a\n: x\nb: 1\n", remove("/a"), "b: 1\n"),
    ("a: [1, 2, 3]\n", remove("/a/0"), "a: [2, 3]\n"),
    ("a: [1, 2, 3]\n", remove("/a/2"), "a: [1, 2]\n"),
    ("a: [1,]\n", remove("/a/0"), "a: []\n"),
    ("a: [\n  1,  # one\n  2  # two\n]\n", remove("/a/0"), "a: [\n  2  # two\n]\n"),
    ("a: [\n  1,  # one\n  2  # two\n]\n", remove("/a/1"), "a: [\n  1  # one\n]\n"),
    ("a: |+\n  text\nb: 1\n\nc: 2\n", remove("/b"), "a: |+\n  text\nc: 2\n"),
    # moving and copying
    ("a: 1\nb: {}\n", {"op": "move", "from": "/a", "path": "/b/c"}, "b:\n  c: 1\n"),
    ("a: [x]\nb: 1\n", {"op": "copy", "from": "/a", "path": "/c"}, "a: [x]\nb: 1\nc:\n  - x\n"),
]


@pytest.mark.parametrize(("before", "operation", "after"), LOOKS)
def test_a_change_looks_as_if_made_by_hand(before: str, operation: dict[str, Any], after: str) -> None:
    assert changed(before, operation) == after


@pytest.mark.parametrize(("before", "operation", "after"), LOOKS)
def test_with_crlf_every_line_ends_in_crlf(before: str, operation: dict[str, Any], after: str) -> None:
    page = ("---\n" + before + "---\n").replace("\n", "\r\n")
    assert edit(page, operation) == ("---\n" + after + "---\n").replace("\n", "\r\n")


def test_new_values_take_the_indentation_of_their_neighbours() -> None:
    wide = "l:\n    -   a: 1\n        b: 2\nm:\n      k: 1\n"
    assert changed(wide, add("/l/-", {"c": 1, "d": {"e": [1]}})) == (
        "l:\n    -   a: 1\n        b: 2\n"
        "    -   c: 1\n        d:\n              e:\n                  -   1\n"
        "m:\n      k: 1\n"
    )


def test_a_claim_is_added_with_nothing_else_touched() -> None:
    claim = {"id": "okn:c", "object": {"value": 60, "unit": "unit:MIN"}, "evidence": [{"id": "e1"}]}
    expected = PAGE.replace(
        "      more\n",
        "      more\n  - id: okn:c\n    object:\n      value: 60\n      unit: unit:MIN\n"
        "    evidence:\n      - id: e1\n",
    )
    assert edit(PAGE, add("/claims/-", claim)) == expected


# Pages


@pytest.mark.parametrize("start", ["---", " ---", "---  ", "\ufeff---"])
@pytest.mark.parametrize("end", ["---", "---  ", "---\t"])
@pytest.mark.parametrize("body", ["", "\n", "\nBody", "\n\n---\na: 9\n---\n", "\r\nmixed\n"])
def test_markers_byte_order_mark_and_body_stay(start: str, end: str, body: str) -> None:
    assert edit(f"{start}\na: 1\n{end}{body}", replace("/a", 2)) == f"{start}\na: 2\n{end}{body}"


def test_a_body_that_is_not_utf_8_stays() -> None:
    assert (
        edit_frontmatter(b"---\na: 1\n---\n\xff\xfe\n", [replace("/a", 2)]) == b"---\na: 2\n---\n\xff\xfe\n"
    )


@pytest.mark.parametrize("page", ["", "text", "\n---\na: 1\n---\n", "--- x\n---\n", "---\ra: 1\r---\r"])
def test_a_page_without_frontmatter_is_refused(page: str) -> None:
    with pytest.raises(OpenKnowledgeError, match="no frontmatter"):
        edit(page, add("/a", 1))


@pytest.mark.parametrize(
    "page", ["---", "---\n", "---\na: 1\n", "---\na: 1\n --- \n", "---\na: 1\n---\u00a0\n"]
)
def test_an_unclosed_frontmatter_is_refused(page: str) -> None:
    with pytest.raises(OpenKnowledgeError, match="not closed"):
        edit(page, add("/a", 1))


@pytest.mark.parametrize(
    ("yaml", "why"),
    [
        ("a: [1\n", "repaired"),
        ("a: *x\n", "no anchor"),
        ("- 1\n", "must be a YAML mapping"),
        ("text\n", "must be a YAML mapping"),
        ("null\n", "must be a YAML mapping"),
        ("1: a\n", "non-empty strings"),
        ("a: !custom x\n", "tag !custom"),
        ("a: &x [*x]\n", "contains it"),
        ("a: 1\n--- {b: 2}\n", "document"),
        ("a: b\x07\n", "U\\+0007"),
    ],
)
def test_a_broken_frontmatter_is_refused_with_its_reason(yaml: str, why: str) -> None:
    with pytest.raises(OpenKnowledgeError, match=why):
        edit(f"---\n{yaml}---\n", add("/b", 1))


def test_an_error_names_the_line_of_the_page() -> None:
    with pytest.raises(OpenKnowledgeError) as refused:
        edit("---\na: 1\nb: [\n---\n", add("/c", 1))
    assert refused.value.line is not None
    assert refused.value.line >= 3


def test_frontmatter_that_is_not_utf_8_is_refused_with_its_line() -> None:
    with pytest.raises(OpenKnowledgeError, match="not valid UTF-8") as refused:
        edit_frontmatter(b"---\na: 1\nb: \xff\n---\n", [replace("/a", 2)])
    assert refused.value.line == 3


def test_pages_are_split_as_the_reader_splits_them() -> None:
    for page in ("---\na: 1\n---\nx\n", " --- \nb: 2\n---  \n---\n", "---\n---\n", "---\na: |\n  ---\n---\n"):
        parts = split_page(page.encode())
        assert parts.yaml.decode() == split_frontmatter(page).source
        assert parts.before + parts.yaml + parts.after == page.encode()


@pytest.mark.skipif(not CORPORA.is_dir(), reason="the sample bundles are not here")
def test_real_pages_keep_every_other_line() -> None:
    pages = [path for path in sorted(CORPORA.rglob("*.md")) if path.read_bytes().startswith(b"---")]
    assert len(pages) > 10
    for path in pages:
        data = path.read_bytes()
        new = edit_frontmatter(data, [add("/claim_refs", ["okn:x"]), add("/claim_refs/-", "okn:y")])
        lines, kept = new.splitlines(keepends=True), data.splitlines(keepends=True)
        inserted = [b"claim_refs:\n", b"  - okn:x\n", b"  - okn:y\n"]
        assert [line for line in lines if line.strip() not in {i.strip() for i in inserted}] == kept, path
        assert edit_frontmatter(new, [remove("/claim_refs")]) == data, path


# Anchors and repeated keys


SHARED = "base: &b\n  x: 1\nuse: *b\nother: &o 5\n"


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (replace("/base/x", 2), r"/base carries the anchor &b"),
        (add("/base/y", 2), r"/base carries the anchor &b"),
        (remove("/base/x"), r"/base carries the anchor &b"),
        (replace("/base", 2), r"the anchor &b would go, but the alias on line 4"),
        (remove("/base"), r"the anchor &b would go"),
        (replace("/use/x", 2), r"/use is the alias \*b"),
        (add("/use/y", 2), r"/use is the alias \*b"),
    ],
)
def test_a_value_that_aliases_share_is_not_changed(operation: dict[str, Any], why: str) -> None:
    with pytest.raises(OpenKnowledgeError, match=why):
        changed(SHARED, operation)


def test_an_alias_itself_may_be_replaced_or_removed() -> None:
    assert changed(SHARED, replace("/use", 1)) == SHARED.replace("*b", "1")
    assert changed(SHARED, remove("/use")) == SHARED.replace("use: *b\n", "")


def test_an_anchor_nobody_refers_to_stays_with_the_new_value() -> None:
    assert changed(SHARED, replace("/other", 6)) == SHARED.replace("&o 5", "&o 6")


def test_a_value_may_go_together_with_all_aliases_to_what_is_in_it() -> None:
    assert changed("a:\n  b: &x 1\n  c: *x\nd: 2\n", remove("/a")) == "d: 2\n"


def test_a_repeated_key_is_not_removed_since_the_earlier_value_would_come_back() -> None:
    with pytest.raises(OpenKnowledgeError, match="'a' is repeated"):
        changed("a: 1\na: 2\n", remove("/a"))


@pytest.mark.parametrize(
    ("yaml", "operation", "why"),
    [
        ("a: [x: 1]\n", add("/a/0/y", 2), "single pair without braces"),
        ("? a\nb: 1\n", replace("/a", 1), "a key without a colon"),
    ],
)
def test_a_rare_form_is_refused_with_advice(yaml: str, operation: dict[str, Any], why: str) -> None:
    with pytest.raises(OpenKnowledgeError, match=rf"patch operation 1 .*{why}.*; "):
        changed(yaml, operation)


# Patches


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({}, "op must be one of"),
        ({"op": "merge", "path": "/a"}, "op must be one of"),
        ({"op": ["add"], "path": "/a"}, "op must be one of"),
        ({"op": "add", "value": 1}, "needs path"),
        ({"op": "add", "path": 1, "value": 1}, "needs path"),
        ({"op": "add", "path": "/a"}, "add needs a value"),
        ({"op": "move", "path": "/a"}, "needs from"),
        ({"op": "move", "from": "/a", "path": "/a/b"}, "into itself"),
        ({"op": "add", "path": "a", "value": 1}, "must start with /"),
        ({"op": "add", "path": "/a~2", "value": 1}, "write ~ as ~0"),
        ({"op": "add", "path": "/a~", "value": 1}, "write ~ as ~0"),
        ({"op": "replace", "path": "", "value": {}}, "as a whole may not be changed"),
        ({"op": "add", "path": "/a", "value": float("nan")}, "not a JSON number"),
        ({"op": "add", "path": "/a", "value": float("inf")}, "not a JSON number"),
        ({"op": "add", "path": "/a", "value": {1: 2}}, "keys must be non-empty strings"),
        ({"op": "add", "path": "/a", "value": {"": 2}}, "keys must be non-empty strings"),
        ({"op": "add", "path": "/a", "value": "\ud800"}, "half a surrogate"),
        ({"op": "add", "path": "/a", "value": b"x"}, "bytes is not a JSON value"),
        ({"op": "add", "path": "/a", "value": 10**4001}, "more than 4,000 digits"),
        ({"op": "add", "path": "/", "value": 1}, "may not be empty"),
        ("add", "must be an object"),
    ],
)
def test_a_malformed_operation_is_refused_by_its_number(operation: Any, why: str) -> None:
    good = {"op": "test", "path": "/x", "value": 1}
    with pytest.raises(OpenKnowledgeError, match=rf"patch operation 2.*{why}"):
        edit_frontmatter(b"---\nx: 1\n---\n", [good, operation])


@pytest.mark.parametrize("patch", ["[]", b"[]", {"op": "add"}, None, 5])
def test_a_patch_is_a_list(patch: Any) -> None:
    with pytest.raises(OpenKnowledgeError, match="list of operations"):
        check_patch(patch)


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (replace("/nope", 1), "there is no key 'nope'"),
        (remove("/nope"), "there is no key 'nope'"),
        (add("/nope/x", 1), "/nope does not exist; add it first"),
        (add("/claims/3", 1), "there is no index 3: the list holds 2"),
        (replace("/claims/2", 1), "there is no index 2"),
        (replace("/claims/-", 1), "'-' is not an index"),
        (replace("/claims/01", 1), "'01' is not an index"),
        (replace("/claims/-1", 1), "'-1' is not an index"),
        (replace("/claims/1e0", 1), "'1e0' is not an index"),
        (replace("/claims/\u0661", 1), "is not an index"),
        (replace("/claims/" + "9" * 30, 1), "is not an index"),
        (add("/type/x", 1), "/type is a text, not a mapping or list"),
        ({"op": "test", "path": "/type", "value": "Table"}, "the page holds 'Metric', not 'Table'"),
        ({"op": "test", "path": "/claims/0/object/value", "value": True}, "the page holds 1, not True"),
        ({"op": "test", "path": "/nope", "value": None}, "/nope does not exist"),
        ({"op": "copy", "from": "/nope", "path": "/x"}, "/nope does not exist"),
    ],
)
def test_an_operation_that_does_not_apply_says_why(operation: dict[str, Any], why: str) -> None:
    with pytest.raises(OpenKnowledgeError, match=rf"^patch operation 1 \(.*\): .*{why}"):
        edit(PAGE, operation)


def test_a_test_that_holds_changes_nothing() -> None:
    value = {"value": 1.0, "datatype": "xsd:integer"}
    assert edit(PAGE, {"op": "test", "path": "/claims/0/object", "value": value}) == PAGE


def test_members_that_rfc_6902_does_not_name_are_ignored() -> None:
    assert edit(PAGE, {"op": "remove", "path": "/tags", "comment": "x"}) == PAGE.replace("tags: []\n", "")


def test_many_replacements_of_scalars_are_made_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "---\n" + "".join(f"k{n}: v{n}  # c{n}\n" for n in range(900)) + "---\n"
    monkeypatch.setattr(limits, "PATCH_WORK_BYTES", len(page))
    assert edit(page, *(replace(f"/k{n}", f"w{n}") for n in range(900))) == page.replace("v", "w")


def test_later_operations_see_what_earlier_ones_did() -> None:
    patch = [
        replace("/a", "x"),
        {"op": "test", "path": "/a", "value": "x"},
        replace("/b", {}),
        add("/b/c", [1]),
        replace("/a", "z"),
        {"op": "copy", "from": "/a", "path": "/d"},
        replace("/b/c/0", 2),
        replace("/b/c/0", 3),
    ]
    assert changed("a: 1\nb: 2\n", *patch) == "a: z\nb:\n  c:\n    - 3\nd: z\n"


def test_when_one_operation_fails_none_is_made() -> None:
    with pytest.raises(OpenKnowledgeError, match="patch operation 2"):
        edit(PAGE, remove("/tags"), remove("/tags"))


ROOTS = {"claims", "claim_refs", "sources", "verified"}


@pytest.mark.parametrize(
    "operation",
    [
        replace("/type", "x"),
        add("/owner", "x"),
        add("/claims~1x", 1),
        {"op": "move", "from": "/title", "path": "/claims/0/x"},
        {"op": "copy", "from": "/title", "path": "/claims/0/x"},
        {"op": "test", "path": "/title", "value": "It's"},
    ],
)
def test_an_operation_that_reaches_outside_the_allowed_keys_is_refused(operation: dict[str, Any]) -> None:
    with pytest.raises(
        OpenKnowledgeError, match=r"reaches outside what may be changed here .*claim_refs, claims"
    ):
        edit(PAGE, operation, allowed=ROOTS)
    assert edit(PAGE, replace("/claims/0/id", "okn:z"), allowed=ROOTS) == PAGE.replace("okn:a", "okn:z")


# Limits


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_the_depth_of_a_value_is_bounded() -> None:
    page = "---\nx: 1\n---\n"
    deepest = nested(limits.FRONTMATTER_DEPTH - 1)
    assert json.loads(json.dumps(deepest)) == deepest
    edit(page, add("/a", deepest))
    with pytest.raises(LimitError, match="nested deeper than 100"):
        edit(page, add("/a", nested(10_000)))
    with pytest.raises(OpenKnowledgeError, match="deeper than 100"):
        edit(page, add("/a", nested(limits.FRONTMATTER_DEPTH)))


def test_the_depth_of_a_pointer_is_bounded() -> None:
    assert len(parse_pointer("/a" * limits.FRONTMATTER_DEPTH)) == limits.FRONTMATTER_DEPTH
    with pytest.raises(LimitError, match="deeper"):
        parse_pointer("/a" * (limits.FRONTMATTER_DEPTH + 1))


def test_the_size_of_a_patch_is_bounded() -> None:
    size = limits.PROPOSAL_BYTES - len("/a")
    check_patch([add("/a", "x" * size)])
    with pytest.raises(LimitError, match="larger than 4194304 bytes"):
        check_patch([add("/a", "x" * (size + 1))])


def test_the_number_of_operations_is_bounded() -> None:
    check_patch([remove("/a")] * limits.PATCH_OPERATIONS)
    with pytest.raises(LimitError, match="at most 1000"):
        check_patch([remove("/a")] * (limits.PATCH_OPERATIONS + 1))


def test_the_work_of_a_patch_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    page, patch = "---\na: 1\n---\n", [replace("/a", 2), replace("/a", 3)]
    monkeypatch.setattr(limits, "PATCH_WORK_BYTES", 2 * len("a: 1\n"))
    edit(page, *patch)
    monkeypatch.setattr(limits, "PATCH_WORK_BYTES", 2 * len("a: 1\n") - 1)
    with pytest.raises(LimitError, match="too much work"):
        edit(page, *patch)


def test_the_size_of_the_result_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "---\na: 1\n---\n"
    monkeypatch.setattr(limits, "FRONTMATTER_BYTES", len("a: 1\nb: xxxxx\n"))
    edit(page, add("/b", "xxxxx"))
    with pytest.raises(OpenKnowledgeError, match="larger than"):
        edit(page, add("/b", "xxxxxx"))


def test_a_key_longer_than_readers_look_ahead_is_refused() -> None:
    page = "---\nx: 1\n---\n"
    edit(page, add("/" + "k" * 1000, 1))
    with pytest.raises(OpenKnowledgeError, match="longer than 1000 characters"):
        edit(page, add("/" + "k" * 1001, 1))


def test_pointers_survive_a_round_trip() -> None:
    for tokens in ((), ("",), ("a/b", "~", "~1", "", "é")):
        assert parse_pointer(pointer(tokens)) == tokens
