"""Dates and instants as OKF writes them: RFC 3339 with an explicit offset, or a date alone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)\Z", re.ASCII)
_INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))\Z", re.ASCII
)


def parse_date(text: str) -> date | None:
    """Return the date that ``YYYY-MM-DD`` names, ``None`` for anything else or a day that does not exist."""
    found = _DATE.match(text)
    if found is None:
        return None
    try:
        return date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return None


@lru_cache(maxsize=65_536)
def parse_instant(text: str) -> datetime | None:
    """Return the UTC instant of an RFC 3339 timestamp with offset, ``None`` for anything else.

    A leap second counts as the second before it; digits beyond microseconds are dropped.
    """
    found = _INSTANT.match(text)
    if found is None:
        return None
    second = min(int(found[6]), 59) if found[6] == "60" else int(found[6])
    micro = int((found[7] or "")[:6].ljust(6, "0"))
    try:
        moment = datetime(
            int(found[1]), int(found[2]), int(found[3]), int(found[4]), int(found[5]), second, micro, UTC
        )
        if found[9]:
            if int(found[10]) > 23 or int(found[11]) > 59:
                return None
            offset = timedelta(hours=int(found[10]), minutes=int(found[11]))
            moment = moment - offset if found[9] == "+" else moment + offset
    except (ValueError, OverflowError):
        return None
    return moment


def is_date_or_instant(text: str) -> bool:
    """Whether ``text`` is a date or an RFC 3339 timestamp with offset."""
    return parse_date(text) is not None or parse_instant(text) is not None


def start_of(text: str) -> datetime | None:
    """Return the instant of a timestamp, or midnight UTC of a date; ``None`` when it is neither."""
    day = parse_date(text)
    if day is not None:
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    return parse_instant(text)


def format_instant(moment: datetime) -> str:
    """Return ``moment`` as RFC 3339 in UTC with ``Z``, without a fraction unless it has one."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
