"""Glob patterns over paths."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.analysis.globs import is_relative_pattern, matches


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("policy/*.dl", "policy/a.dl"),
        ("*.md", "a.md"),
        ("?.md", "a.md"),
        ("**/*.md", "a.md"),
        ("**/*.md", "x/y/a.md"),
        ("a/**/b", "a/b"),
        ("a/**/b", "a/x/y/b"),
        ("a/**", "a/b/c"),
        ("**", "a"),
        ("a*c*e", "abcde"),
    ],
)
def test_a_pattern_matches(pattern: str, path: str) -> None:
    assert matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.md", "x/a.md"),
        ("policy/*.dl", "policy/old/a.dl"),
        ("?.md", "ab.md"),
        ("a/**/b", "a/bc"),
        ("a", "ab"),
        ("a/*", "a"),
        ("a**b", "a/b"),
    ],
)
def test_a_pattern_does_not_match(pattern: str, path: str) -> None:
    assert not matches(pattern, path)


@pytest.mark.parametrize("pattern", ["", "/a", "../a", "a/../b", "./a", "a//b", "a\\b"])
def test_a_pattern_that_leaves_the_bundle_is_none(pattern: str) -> None:
    assert not is_relative_pattern(pattern)


def test_many_stars_take_no_time_to_fail() -> None:
    started = time.process_time()
    assert not matches("*a" * 200 + "b", "a" * 2_000)
    assert not matches("**/a/" * 100 + "b", "/".join("a" * 1_000))
    assert time.process_time() - started < 5


def as_expression(pattern: str) -> str:
    parts = []
    for part in pattern.split("/"):
        if part == "**":
            parts.append("(?:[^/]+/)*")
        else:
            text = "".join("[^/]*" if c == "*" else "[^/]" if c == "?" else re.escape(c) for c in part)
            parts.append(text + "/")
    return "".join(parts)


part = st.sampled_from(["**", "*", "a", "b", "a*", "*b", "?", "ab"])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(part, min_size=1, max_size=4).map("/".join),
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join),
)
def test_matching_agrees_with_a_regular_expression(pattern: str, path: str) -> None:
    assert matches(pattern, path) == bool(re.fullmatch(as_expression(pattern), path + "/"))
