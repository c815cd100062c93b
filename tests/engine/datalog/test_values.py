"""Values: what they are, how they are written, how they compare."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.datalog import Name, display, display_atom, parse_ground_atom, value_type
from openknowledge.engine.datalog.closed_world import compare, moment
from openknowledge.engine.datalog.values import COMPARISONS, ValueRefused, instant, normalised, sort_key

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
DATES = st.sampled_from(
    [
        "2024-01-01",
        "2024-01-01T00:00:00Z",
        "2024-01-01T01:00:00+01:00",
        "2023-12-31T24:00:00",
        "2024-01-01T00:00:00.5Z",
        "2024-01-01T00:00:00.45",
        "2024-02-30",
        "2024-01-01T25:00:00",
        "2024-01-01Z",
        "2024-01-01+02:00",
        "2024-1-1",
        "0000-01-01",
        "2024-01-01T00:00",
        "2024-01-01T00:00:60",
    ]
)
VALUES = st.one_of(
    TEXT,
    DATES,
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["/a", "/b/c", "/a.b-c"]).map(Name),
)


@settings(deadline=None)
@given(st.lists(VALUES, max_size=5))
def test_a_displayed_atom_is_read_back_as_it_was(values: list[object]) -> None:
    row = tuple(map(normalised, values))
    assert parse_ground_atom(display_atom("p", row)) == ("p", row)


@settings(deadline=None)
@given(TEXT)
def test_a_displayed_string_is_one_printable_line(text: str) -> None:
    assert display(text).isprintable()


@settings(deadline=None, max_examples=400)
@given(VALUES, VALUES, st.sampled_from(sorted(COMPARISONS)))
def test_the_engine_and_the_checker_compare_alike(left: object, right: object, operator: str) -> None:
    first, second = normalised(left), normalised(right)
    assert COMPARISONS[operator](first, second) == compare(first, operator, second)


@pytest.mark.parametrize(
    ("left", "operator", "right", "holds"),
    [
        (1, "=", 1.0, True),
        (2, "<", 10, True),
        ("2", "<", "10", False),
        ("a", "<", "b", True),
        ("é", ">", "z", True),
        ("2024-01-01", "=", "2024-01-01T00:00:00Z", True),
        ("2024-01-01T00:30:00+01:00", "<", "2024-01-01T00:00:00Z", True),
        ("2024-01-01T00:00:00.50", "=", "2024-01-01T00:00:00.5", True),
        ("2024-01-01", "<", "later", True),
        (1, "<", "a", False),
        (1, ">", "a", False),
        (1, "!=", "a", True),
        (1, "=", "1", False),
        (Name("/a"), "=", "/a", False),
        (Name("/a"), "<", Name("/b"), True),
        (Name("/a"), "<=", "/b", False),
    ],
)
def test_comparison(left: object, operator: str, right: object, holds: bool) -> None:
    assert COMPARISONS[operator](left, right) is holds  # type: ignore[arg-type]


@given(DATES)
def test_an_instant_is_the_same_to_the_checker(text: str) -> None:
    assert (instant(text) is None) == (moment(text) is None)


@pytest.mark.parametrize(
    "value", [True, False, None, b"x", (1,), float("nan"), float("inf"), 10**401, "\ud800"]
)
def test_what_is_no_value_is_refused(value: object) -> None:
    with pytest.raises(ValueRefused):
        normalised(value)


def test_a_whole_float_is_an_integer() -> None:
    assert repr(normalised(-0.0)) == "0"
    assert repr(normalised(3.0)) == "3"


def test_types_are_string_number_and_name() -> None:
    assert [value_type(v) for v in ("a", 1, 1.5, Name("/n"))] == ["string", "number", "number", "name"]


def test_the_order_of_min_and_max_is_numbers_dates_strings_names() -> None:
    mixed = [Name("/a"), "zebra", "2024-01-02", "2024-01-01T12:00:00Z", 7, -1.5]
    expected = [-1.5, 7, "2024-01-01T12:00:00Z", "2024-01-02", "zebra", Name("/a")]
    assert sorted(mixed, key=sort_key) == expected
