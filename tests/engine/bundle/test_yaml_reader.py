"""YAML 1.2 core from untrusted text: the two readers agree, repeated keys are found, all is bounded."""

from __future__ import annotations

import io
import json
import math
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine import limits
from openknowledge.engine.bundle import yaml_reader
from openknowledge.engine.bundle.yaml_reader import positions, read_events, read_yaml, resolve_scalar

CORE = [
    ("no", "no"), ("yes", "yes"), ("on", "on"), ("off", "off"), ("y", "y"), ("No", "No"),
    ("1_000", "1_000"), ("12:30:45", "12:30:45"), ("1:30", "1:30"), ("0755", 755), ("010", 10), ("-07", -7),
    ("2026-08-22", "2026-08-22"), ("2026-08-22T10:00:00Z", "2026-08-22T10:00:00Z"),
    ("1e3", 1000.0), ("1E-3", 0.001), ("-1.5e+2", -150.0), (".5", 0.5), ("1.", 1.0), ("1.10", 1.1), ("+1", 1),
    ("0", 0), ("-0", 0), ("0x1F", 31), ("0o10", 8), ("0b1", "0b1"), ("0X1F", "0X1F"), ("0o8", "0o8"),
    ("1e", "1e"),
    ("~", None), ("null", None), ("Null", None), ("NULL", None), ("nULL", "nULL"), ("", None),
    ("true", True), ("True", True), ("TRUE", True), ("false", False), ("tRUE", "tRUE"),
    (".inf", math.inf), ("-.inf", -math.inf), ("+.INF", math.inf), (".Inf", math.inf), ("inf", "inf"),
    ("nan", "nan"),
    ("++1", "++1"), ("+-1", "+-1"), ("1-", "1-"), ("-", "-"), (".", "."), ("1.2.3", "1.2.3"), ("=", "="),
    ("<<", "<<"),
]  # fmt: skip
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False)
    | st.text(
        alphabet=st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\u2028\u2029")
    )
    | st.sampled_from(
        ["no", "1e3", "0o7", "a: b", "- x", "#", "x #y", "~", " ", "\n", "a\nb\n", "'", '"', "&a", "*a"]
    )
)
KEYS = st.text(alphabet="abé: -#'\"01~", min_size=1, max_size=6).filter(
    lambda key: key[0] != ":"
) | st.sampled_from(["null", "1", "true", "~"])
VALUES = st.recursive(
    LEAVES, lambda v: st.lists(v, max_size=4) | st.dictionaries(KEYS, v, max_size=4), max_leaves=12
)
MAPPINGS = st.dictionaries(KEYS, VALUES, max_size=5)
PIECES = [
    "a", "b", "k", "x y", ": ", ":\n", ":", " ", "\n", "\n  ", "\n    ", "- ", "-", "\n- ", "\n  - ", '"',
    "'", "{", "}",
    "[", "]", ", ", ",", "#", " # c", "|", ">", "|\n  ", ">-\n  ", "1", "1.5", "0x1F", "0755", "1e3", "~",
    "null", "true",
    "no", ".inf", "+", "2026-01-01", "12:30:45", "\t", "\\", "\\n", "é", "🎉", "&a ", "*a", "!!str ", "! ",
    "? ", "%", "@",
    "`", "---", "...", "<<", "=", "\u00a0", "\u2028", "\x85", "::", '"a": ', "{a: b}", "{a: b, c: d}",
    "[a, b]",
    "{a: http://x}", "a: b", "k: v\n", "''", '""', "-   ", '"\n  ', "- - ", "-0", "+1", ".5", "|+\n  ",
    "|2\n  ", " |\n",
]  # fmt: skip


def _json(value: Any) -> str:
    """Write JSON with YAML's words for what JSON lacks."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub(r'("(?:[^"\\]|\\.)*")|(-?)Infinity', lambda m: m[1] or f"{m[2]}.inf", text)


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    return one == other or (one != one and other != other)


@pytest.mark.parametrize(("text", "value"), CORE)
def test_a_plain_scalar_is_what_yaml_1_2_core_says(text: str, value: Any) -> None:
    assert _same(resolve_scalar(text), value)


@pytest.mark.parametrize(("text", "value"), CORE)
@pytest.mark.parametrize(
    "layout", ["k: {}\n", "k: {} # c\n", "k: {}", "- k: {}\n", "k:\n  - {}\n", "x: &a y\nk: {}\n"]
)
def test_a_plain_scalar_is_the_same_wherever_it_stands(layout: str, text: str, value: Any) -> None:
    if text == "-":
        return  # an empty list there
    found = read_yaml(layout.format(text)).value
    found = found[0] if isinstance(found, list) else found
    found = found["k"][0] if isinstance(found["k"], list) else found["k"]
    assert _same(found, value)


def test_nan_is_not_a_number() -> None:
    assert math.isnan(read_yaml("k: .nan\n").value["k"])


@settings(max_examples=400)
@given(
    st.lists(st.sampled_from(PIECES), max_size=16).map("".join), st.sampled_from(["", "k: ", "type: X\nk: "])
)
def test_the_fast_reader_and_the_event_reader_agree_on_any_text(text: str, start: str) -> None:
    text = start + text + "\n"
    fast, exact = read_yaml(text), read_events(text)
    assert _same(fast.value, exact.value)
    assert fast.problems == exact.problems


@given(MAPPINGS)
def test_json_is_read_back(value: dict[str, Any]) -> None:
    assert _same(read_yaml(_json(value) + "\n").value, value)


@given(MAPPINGS)
def test_what_a_yaml_1_2_writer_writes_is_read_back(value: dict[str, Any]) -> None:
    from ruamel.yaml import YAML

    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.allow_unicode = True
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    out = io.StringIO()
    writer.dump(value, out)
    assert _same(read_yaml(out.getvalue()).value, value)


@given(MAPPINGS)
def test_reading_through_either_reader_gives_positions_of_every_value(value: dict[str, Any]) -> None:
    text = "".join(f"{_json(key)}: {_json(item)}\n" for key, item in value.items())
    found = positions(text)
    assert [found[(key,)] for key in value] == [(line, 1) for line in range(1, len(value) + 1)]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("a: 1\na: 2\n", [("a", 2, 1)]),
        ("a: 1\n'a': 2\n", [("a", 2, 1)]),
        ("a:\n  b: 1\n  c: 2\n  b: 3\n", [("b", 4, 3)]),
        ("l:\n  - x: 1\n    x: 2\n", [("x", 3, 5)]),
        ("a: {b: 1, b: 2}\n", [("b", 1, 11)]),
        ('{"a": 1, "a": 2}\n', [("a", 1, 10)]),
        ("a: [{b: {c: 1, c: 2}}]\n", [("c", 1, 16)]),
        ("a: 1\na: 2\na: 3\n", [("a", 2, 1), ("a", 3, 1)]),
        ("a: x:y\nb: 'q: r'\nb: http://x\n", [("b", 3, 1)]),
        ("a: |\n  b: 1\n  b: 2\n", []),
        ("a: {b: 1}\nc: {b: 1}\n", []),
        ("a: 'b: 1'\nb: 2\n", []),
    ],
)
def test_repeated_keys_are_found_at_any_depth(text: str, keys: list[tuple[str, int, int]]) -> None:
    expected = [
        (f'frontmatter key "{k}" is repeated; later value wins', line, column) for k, line, column in keys
    ]
    assert [(p.message, p.line, p.column) for p in read_yaml(text).problems] == expected


@given(MAPPINGS, st.integers(0, 6), st.booleans())
def test_a_key_repeated_anywhere_is_found(value: dict[str, Any], depth: int, in_list: bool) -> None:
    inner = "{r: 1, r: 2}"
    for level in range(depth):
        inner = f"[{inner}]" if in_list else f"{{k{level}: {inner}}}"
    text = "".join(f"{_json(key)}: {_json(item)}\n" for key, item in value.items())
    found = read_yaml(f"{text}zz: {inner}\n")
    assert [p.message for p in found.problems] == ['frontmatter key "r" is repeated; later value wins']


def test_the_later_of_two_equal_keys_wins() -> None:
    assert read_yaml("a: 1\nb: 2\na: 3\n").value == {"a": 3, "b": 2}


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("a: [\n", "did not find expected node content", 2, 1),
        ("a: b: c\n", "mapping values are not allowed in this context", 1, 5),
        ("a: 'x\n", "found unexpected end of stream", 2, 1),
        ("a:\n\tb: 1\n", "found character that cannot start any token", 2, 1),
        ("a: @x\n", "found character that cannot start any token", 1, 4),
        ("1: x\n", "mapping keys must be non-empty strings", 1, 1),
        ("? [a]\n: x\n", "mapping keys must be non-empty strings", 1, 3),
        ("'': x\n", "mapping keys must be non-empty strings", 1, 1),
        ("~: x\n", "mapping keys must be non-empty strings", 1, 1),
        ("a: 1\n--- b\n", "more than one YAML document; keep one", 2, 1),
        ("a: *b\n", "alias *b has no anchor before it", 1, 4),
        ("a: &b [*b]\n", "alias *b refers to a value that contains it", 1, 8),
        ("a: &b {c: *b}\n", "alias *b refers to a value that contains it", 1, 11),
        ("a: !!python/object:os.system x\n", "tag !!python/object:os.system is not allowed here", 1, 4),
        ("a: !x y\n", "tag !x is not allowed here", 1, 4),
        ("a: !!map [x]\n", "tag !!map is not allowed here", 1, 4),
        ("a: !!int x\n", "'x' is not a int", 1, 4),
        ("a: !!bool 1\n", "'1' is not a bool", 1, 4),
        ("a: b\x00c\n", "control character U+0000 is not allowed in YAML", 1, 5),
        ("a: 1\nb: c\x1b\n", "control character U+001B is not allowed in YAML", 2, 5),
        ("a: \ufffe\n", "character U+FFFE is not allowed in YAML", 1, 4),
        ("a: " + "1" * 4301 + "\n", "an integer of more than 4300 digits is not accepted; quote it", 1, 4),
        ("a: 0x" + "f" * 3501 + "\n", "an integer of more than 3500 digits is not accepted; quote it", 1, 4),
        ("a: 0o" + "7" * 3501 + "\n", "an integer of more than 3500 digits is not accepted; quote it", 1, 4),
    ],
)
def test_what_cannot_be_read_says_where(text: str, message: str, line: int, column: int) -> None:
    result = read_yaml(text)
    assert result.failed
    assert result.value is None
    problem = result.problems[-1]
    assert message in problem.message
    assert (problem.line, problem.column) == (line, column)


@pytest.mark.parametrize("text", ["1" * 4300, "0x" + "f" * 3500, "0o" + "7" * 3500])
def test_the_longest_integers_can_be_written_again(text: str) -> None:
    assert str(read_yaml(f"a: {text}\n").value["a"]).isdigit()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: !!str 1\n", {"a": "1"}),
        ("a: ! 1\n", {"a": "1"}),
        ("a: !!float 1\n", {"a": 1.0}),
        ("a: !!int '1'\n", {"a": 1}),
        ("a: !!null ''\n", {"a": None}),
        ("a: !!map {b: 1}\nc: !!seq [x]\n", {"a": {"b": 1}, "c": ["x"]}),
        ("a: &x [1]\nb: *x\n", {"a": [1], "b": [1]}),
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
        ("a: {b: &x y}\n&z c: *x\n", {"a": {"b": "y"}, "c": "y"}),
        ("", None),
        ("# only a comment\n", None),
        ("a: 1\n...\n", {"a": 1}),
        ("<<: {a: 1}\n", {"<<": {"a": 1}}),
    ],
)
def test_core_tags_anchors_and_aliases_are_read(text: str, value: Any) -> None:
    assert _same(read_yaml(text).value, value)


@pytest.mark.parametrize("opening", ["[", "{a: "])
def test_depth_is_bounded_and_the_limit_itself_is_allowed(opening: str) -> None:
    def nested(depth: int) -> str:
        closing = "]" if opening == "[" else "}"
        return f"k: {opening * depth}x{closing * depth}\n"

    assert not read_yaml(nested(limits.FRONTMATTER_DEPTH - 1)).failed
    assert read_yaml(nested(limits.FRONTMATTER_DEPTH)).problems[0].message == "nested deeper than 100 levels"


def test_depth_by_indentation_and_flow_together_is_bounded() -> None:
    def nested(indent: int, flow: int) -> str:
        block = "".join(" " * level + "k:\n" for level in range(indent))
        return f"{block}{' ' * indent}k: {'[' * flow}{']' * flow}\n"

    for indent in range(30, 100, 3):
        for flow in range(0, 101 - indent, 5):
            assert not read_yaml(nested(indent, limits.FRONTMATTER_DEPTH - 1 - indent)).failed
            assert read_yaml(nested(indent, limits.FRONTMATTER_DEPTH - indent + flow)).failed


@pytest.mark.parametrize("gap", [1, 2, 3, 7])
def test_depth_by_indentation_alone_is_bounded(gap: int) -> None:
    text = "k:\n" + ("-" + " " * gap) * 20_000 + "x\n"
    assert read_yaml(text).problems[0].message == "nested deeper than 100 levels"


def _aliases(count: int) -> str:
    return "a: &a [" + "x, " * 9_999 + "]\nb: [" + "*a, " * count + "]\n"


def test_aliases_expand_up_to_the_limit() -> None:
    assert not read_yaml(_aliases(limits.FRONTMATTER_ALIAS_NODES // 10_000)).failed


def test_aliases_past_the_limit_are_refused() -> None:
    problem = read_yaml(_aliases(limits.FRONTMATTER_ALIAS_NODES // 10_000 + 1)).problems[0]
    assert problem.message == "aliases expand to more than 100000 values"


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)
HOSTILE = {
    "alias bomb": BOMB,
    "alias bomb of mappings": BOMB.replace("[x", "[{y: x}"),
    "colons in a flow mapping that does not close": "x: {a: b" + ":c" * 50_000 + "\n",
    "words in a flow mapping that does not close": "x: {a: " + "b " * 50_000 + "\n",
    "entries of a flow mapping that does not close": "x: {" + "a: b, " * 20_000 + "\n",
    "open lists": "a: " + "[" * 100_000,
    "open mappings": "a: " + "{a: " * 50_000,
    "complex keys": "? " * 50_000 + "\n",
    "dashes": "-" * 100_000 + "\n",
    "lists in lists": "- " * 50_000 + "x\n",
    "tab after dash": "a:\n" + "-\t" * 50_000 + "x\n",
    "quotes": "a: " + "'" * 100_001 + "\n",
    "an open string": 'a: "' + "x\n" * 50_000,
    "one long key": '"' + "k" * 200_000 + '": v\n',
    "colons": "a" + ":" * 100_000 + "\n",
    "anchors": "".join(f"k{n}: &a{n} x\n" for n in range(20_000)),
    "aliases": "a: &a x\nl:\n" + "  - *a\n" * 20_000,
    "repeated keys": "k: v\n" * 20_000,
    "comments": "# c\n" * 50_000,
    "blank lines": "a: b\n" + "\n" * 200_000 + "c: d\n",
    "blanks": "a:" + " " * 200_000 + "b\n",
    "digits": "a: " + "1" * 200_000 + "\n",
    "a long fraction": "a: 0." + "1" * 200_000 + "x\n",
    "exclamation marks": "a: " + "!" * 100_000 + "\n",
    "asterisks": "a: " + "*" * 100_000 + "\n",
    "directives": "%TAG ! x\n" * 20_000 + "---\na: b\n",
    "a block scalar": "a: |\n" + " x\n" * 50_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_read_or_refused_in_little_time(text: str) -> None:
    start = time.process_time()
    read_yaml(text)
    positions(text)
    assert time.process_time() - start < 3


def test_harmless_text_takes_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_reader, "read_events", lambda _text: pytest.fail("took the slow way"))
    text = "type: Guide\ntags: [a, b]\ngenerated: { by: bot/1, at: 2026-01-01T00:00:00Z }\nl:\n  - u: http://x/y\n"
    assert read_yaml(text).value["tags"] == ["a", "b"]
