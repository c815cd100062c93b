"""The one source of time. Everything that depends on "now" takes a clock, so that a run can be repeated."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Returns the current instant as an aware UTC ``datetime``."""


def system_clock() -> datetime:
    """Return the machine's current instant in UTC."""
    return datetime.now(UTC)


def fixed_clock(instant: datetime) -> Clock:
    """Return a clock that always shows ``instant`` (an aware ``datetime``)."""
    if instant.tzinfo is None:
        raise ValueError("a clock needs an instant with an offset")
    moment = instant.astimezone(UTC)
    return lambda: moment
