"""Trust, lifecycle and sources as a page states them; unusable values count as absent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openknowledge.engine.bundle.okf import (
    ACCESS_LABEL,
    ACTOR,
    Event,
    metadata_of,
    text_list,
    text_of,
    verified_list,
)
from openknowledge.engine.bundle.slugs import WHITESPACE

AT = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("verified", "tier"),
    [
        (None, "unverified"),
        ([], "unverified"),
        ("human:a", "unverified"),
        ([{"at": AT}], "unverified"),
        ([{"by": 5, "at": AT}], "unverified"),
        ([{"by": "bot/1", "at": AT}], "machine-confirmed"),
        ({"by": "bot/1"}, "machine-confirmed"),
        ([{"by": "process:x"}], "machine-confirmed"),
        ([{"by": "bot/1"}, {"by": "human:a"}], "human-reviewed"),
        ({"by": "human:a"}, "human-reviewed"),
        ([{"by": "superhuman:a"}], "machine-confirmed"),
    ],
)
def test_the_trust_tier_comes_from_the_verifying_actors(verified: Any, tier: str) -> None:
    assert metadata_of({"verified": verified}).trust_tier == tier


@pytest.mark.parametrize(
    ("stale_after", "stale"),
    [
        ("2026-11-30T12:00:00Z", True),
        ("2026-11-30T12:00:01Z", False),
        ("2026-11-30T14:00:00+02:00", True),
        ("2020-01-01", False),
        ("2020-01-01T00:00:00", False),
        ("soon", False),
        (20200101, False),
        (None, False),
    ],
)
def test_a_page_is_stale_from_its_instant_on_and_never_by_a_date(stale_after: Any, stale: bool) -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert metadata_of({"stale_after": stale_after}).is_stale(now) is stale


@pytest.mark.parametrize(
    ("status", "shown"),
    [(None, "stable"), ("draft", "draft"), ("", "stable"), (3, "stable"), (" new ", "new")],
)
def test_the_status_is_stable_unless_stated(status: Any, shown: str) -> None:
    assert metadata_of({"status": status}).status == shown


@pytest.mark.parametrize(
    ("generated", "verified", "outdated"),
    [
        ({"by": "b/1", "at": "2026-08-01T00:00:00Z"}, {"by": "human:a", "at": AT}, True),
        ({"by": "b/1", "at": AT}, {"by": "human:a", "at": AT}, False),
        ({"by": "b/1", "at": "2026-08-01T00:00:00Z"}, [], False),
        ({"by": "b/1"}, {"by": "human:a", "at": AT}, False),
        (None, {"by": "human:a", "at": AT}, False),
        ({"by": "b/1", "at": "2026-08-01T00:00:00Z"}, [{"by": "a/1", "at": AT}, {"by": "a/1"}], False),
    ],
)
def test_a_verification_is_outdated_when_all_are_older_than_the_text(
    generated: Any, verified: Any, outdated: bool
) -> None:
    assert metadata_of({"generated": generated, "verified": verified}).verification_outdated is outdated


def test_sources_are_the_mappings_of_the_list_with_their_places() -> None:
    sources = metadata_of(
        {"sources": ["x", {"id": " a ", "resource": "u", "access": "team:b", "n": 1}]}
    ).sources
    assert [(s.index, s.id, s.resource, s.access, s.raw["n"]) for s in sources] == [
        (1, "a", "u", ("team:b",), 1)
    ]


def test_an_event_needs_an_actor() -> None:
    assert metadata_of({"generated": {"at": AT}}).generated is None
    assert metadata_of({"generated": {"by": "b/1"}}).generated == Event("b/1", "")


@pytest.mark.parametrize("actor", ["human:a", "process:nightly", "bot/1.0", "bot/1/2", "human:a@b.c"])
def test_actors_are_producers_people_and_processes(actor: str) -> None:
    assert ACTOR.match(actor)


@pytest.mark.parametrize(
    "actor", ["human:", "process: x", "bot", "/1", "bot/", "team:a", "a b/1", "x:y/1", "bot/1\n"]
)
def test_other_words_are_no_actors(actor: str) -> None:
    assert not ACTOR.match(actor)


@pytest.mark.parametrize(
    ("label", "right"),
    [("profile:a", True), ("agent:x", True), ("team:ü", True), ("use_case:a-b", True), ("team:", False),
     ("team:a b", False), ("role:a", False), ("team:a\n", False)],
)  # fmt: skip
def test_access_labels_have_a_known_kind_and_one_word(label: str, right: bool) -> None:
    assert bool(ACCESS_LABEL.match(label)) is right


@given(st.text(alphabet=WHITESPACE + "ab\x1c\x1f\u200b"))
def test_text_is_trimmed_of_the_interoperable_white_space_alone(text: str) -> None:
    assert text_of(text) == text.strip(WHITESPACE)


@pytest.mark.parametrize("value", [None, 1, 1.5, True, [], {}, b"x"])
def test_what_is_no_string_has_no_text(value: Any) -> None:
    assert text_of(value) == ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a", ("a",)), (["a", 1, " b ", ""], ("a", "b")), (None, ()), ({"a": 1}, ()), ("", ())],
)
def test_a_list_of_texts_may_be_one_text(value: Any, expected: tuple[str, ...]) -> None:
    assert text_list(value) == expected


def test_a_bare_verification_is_a_list_of_one() -> None:
    assert verified_list({"by": "a"}) == [{"by": "a"}]
    assert verified_list("a") == []
