"""JSON from outside is read strictly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openknowledge.engine import limits
from openknowledge.engine.errors import LimitError, OpenKnowledgeError, TextError
from openknowledge.engine.operations.strict_json import decode_object

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_an_object_is_read() -> None:
    assert decode_object(b'{"a": [1, "\\u00e9", 2.5, null]}', what="it") == {"a": [1, "é", 2.5, None]}


@given(st.dictionaries(st.text(), values, max_size=4))
def test_every_object_is_read_back(value: dict[str, Any]) -> None:
    assert decode_object(json.dumps(value).encode(), what="it") == value


@given(st.binary(max_size=60))
def test_any_bytes_are_an_object_or_refused(data: bytes) -> None:
    try:
        found = decode_object(data, what="it")
    except OpenKnowledgeError:
        return
    assert isinstance(found, dict)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 1}', 'the field "a" is there twice'),
        ('{"x": {"b": 1, "b": 2}}', 'the field "b" is there twice'),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ('{"a": 1e999}', "the number 1e999 is too large"),
        ('{"a": "\\ud800"}', "half a surrogate pair"),
        ('{"\\udc00": 1}', "half a surrogate pair"),
        ('{"a": ["\\ud800"]}', "half a surrogate pair"),
        ("[1]", "it must be a JSON object"),
        ("1", "it must be a JSON object"),
        ('{"a": ' + "9" * 5_000 + "}", "too many digits"),
    ],
)
def test_what_json_cannot_say_is_refused(text: str, message: str) -> None:
    with pytest.raises(OpenKnowledgeError, match=message.replace("[", r"\[")):
        decode_object(text.encode(), what="it")


@pytest.mark.parametrize("text", ["", "{", '{"a": 1} x', '{"a": 1}{}', "{'a': 1}", '{"a": 1,}', "\ufeff{}"])
def test_what_is_not_json_is_shown_with_its_place(text: str) -> None:
    with pytest.raises(TextError, match=r"it:1:\d+: not JSON"):
        decode_object(text.encode(), what="it")


def test_bytes_that_are_not_utf8_are_refused_with_the_offset() -> None:
    with pytest.raises(OpenKnowledgeError, match="not UTF-8: byte at offset 6"):
        decode_object(b'{"a":"\xff"}', what="it")


def test_the_largest_size_is_read_and_one_byte_more_is_not() -> None:
    text = b'{"a":"' + b"x" * (limits.PROPOSAL_BYTES - 8) + b'"}'
    assert len(decode_object(text, what="it")["a"]) == limits.PROPOSAL_BYTES - 8
    with pytest.raises(LimitError, match="larger than"):
        decode_object(text + b" ", what="it")


def test_the_deepest_nesting_is_read_and_one_level_more_is_not() -> None:
    def nested(levels: int) -> bytes:
        return b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"

    decode_object(nested(limits.FRONTMATTER_DEPTH), what="it")
    with pytest.raises(LimitError, match="nested deeper"):
        decode_object(nested(limits.FRONTMATTER_DEPTH + 1), what="it")


def test_brackets_inside_strings_are_no_nesting() -> None:
    decode_object(json.dumps({"a": "[" * 500 + '"\\'}).encode(), what="it")


def test_ten_thousand_levels_and_endless_strings_are_refused_at_once() -> None:
    for text in ('{"a":' * 10_000, '"' + '\\"' * 1_000_000, "[" * 1_000_000):
        with pytest.raises(OpenKnowledgeError):
            decode_object(text.encode(), what="it")
