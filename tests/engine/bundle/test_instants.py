"""Dates and instants: what RFC 3339 with an offset allows, and nothing else."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openknowledge.engine.bundle.instants import (
    format_instant,
    is_date_or_instant,
    parse_date,
    parse_instant,
    start_of,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-06-30T14:00:00Z", datetime(2026, 6, 30, 14, tzinfo=UTC)),
        ("2026-06-30t14:00:00z", datetime(2026, 6, 30, 14, tzinfo=UTC)),
        ("2026-06-30 14:00:00Z", datetime(2026, 6, 30, 14, tzinfo=UTC)),
        ("2026-06-30T14:00:00+02:00", datetime(2026, 6, 30, 12, tzinfo=UTC)),
        ("2026-06-30T14:00:00-00:30", datetime(2026, 6, 30, 14, 30, tzinfo=UTC)),
        ("2026-06-30T14:00:00.5Z", datetime(2026, 6, 30, 14, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-06-30T14:00:00.1234567Z", datetime(2026, 6, 30, 14, 0, 0, 123_456, tzinfo=UTC)),
        ("2016-12-31T23:59:60Z", datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
    ],
)
def test_a_timestamp_with_offset_is_an_instant(text: str, expected: datetime) -> None:
    assert parse_instant(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "2026-06-30", "2026-06-30T14:00:00", "2026-06-30T14:00Z", "2026-06-30T14:00:00+0200",
    "2026-06-30T25:00:00Z",
     "2026-06-30T14:60:00Z", "2026-06-30T14:00:61Z", "2026-02-30T14:00:00Z", "2025-02-29T00:00:00Z",
     "2026-6-30T14:00:00Z",
     "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00",
     "2026-06-30T14:00:00+24:00",
     "2026-06-30T14:00:00+00:60", "2026-06-30T14:00:00Z\n", " 2026-06-30T14:00:00Z", "2026-06-30T14:00:00.Z",
     "٢026-06-30T14:00:00Z", "12026-06-30T14:00:00Z", "2026-06-30T14:00:00 Z", "now"],
)  # fmt: skip
def test_anything_else_is_no_instant(text: str) -> None:
    assert parse_instant(text) is None


@pytest.mark.parametrize(
    ("text", "expected"), [("2026-08-22", date(2026, 8, 22)), ("2024-02-29", date(2024, 2, 29))]
)
def test_a_date_is_a_date(text: str, expected: date) -> None:
    assert parse_date(text) == expected


@pytest.mark.parametrize(
    "text", ["2026-8-22", "2026-02-30", "2026-08-22 ", "20260822", "2026-08-22T00:00:00Z", ""]
)
def test_anything_else_is_no_date(text: str) -> None:
    assert parse_date(text) is None


def test_the_start_of_a_date_is_its_midnight() -> None:
    assert start_of("2026-08-22") == datetime(2026, 8, 22, tzinfo=UTC)
    assert start_of("2026-08-22T01:00:00+01:00") == datetime(2026, 8, 22, tzinfo=UTC)
    assert start_of("soon") is None


naive = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1))  # noqa: DTZ001


@given(naive, st.integers(-1439, 1439))
def test_an_instant_is_written_and_read_back(moment: datetime, minutes: int) -> None:
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert parse_instant(format_instant(aware)) == aware
    assert parse_instant(aware.isoformat()) == aware
    assert is_date_or_instant(aware.isoformat())
