"""The values of facts: strings, numbers and names; how they are written, typed and compared."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

from openknowledge.engine.errors import OpenKnowledgeError


@dataclass(frozen=True, slots=True)
class Name:
    """A symbolic constant, written ``/like/this``. It never equals the string with the same text."""

    text: str

    def __str__(self) -> str:
        return self.text


Value = str | int | float | Name

DIGITS = 400
"""Longest number, in digits: above every finite double, below the point where conversion becomes slow."""

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LARGEST = 10**DIGITS


class ValueRefused(OpenKnowledgeError):
    """A value that cannot be part of a fact."""


def normalised(value: object) -> Value:
    """Return ``value`` as facts hold it; raise ``ValueRefused`` for anything but text, numbers and names.

    A float that is a whole number becomes an integer, so that equal numbers have one representation.
    """
    if isinstance(value, bool):
        raise ValueRefused(f'{value} is a truth value; write it as the string "{str(value).lower()}"')
    if isinstance(value, str):
        text = str.__str__(value)
        if not text.isascii():
            _refuse_surrogates(text)
        return text
    if isinstance(value, int):
        number = int.__int__(value)
        if not -_LARGEST < number < _LARGEST:
            raise ValueRefused(f"a number of more than {DIGITS} digits is too long for a fact")
        return number
    if isinstance(value, float):
        real = float.__float__(value)
        if not math.isfinite(real):
            raise ValueRefused(f"{real!r} is not a finite number")
        return int(real) if real.is_integer() else real
    if isinstance(value, Name):
        _refuse_surrogates(value.text)
        return value
    raise ValueRefused(f"a fact holds text, numbers and names, not a value of type {type(value).__name__}")


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueRefused(f"the text {text[:40]!a} is not valid Unicode") from None


def quoted(text: str) -> str:
    """Return ``text`` between double quotes, with escapes that the rule language reads back."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_ESCAPES.get(ch) or _written(ch) for ch in text) + '"'


def _written(ch: str) -> str:
    if ch.isprintable():
        return ch
    code = ord(ch)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\u{{{code:x}}}"


def display(value: Value) -> str:
    """Return ``value`` as it stands in the display string of an atom: strings quoted, numbers bare."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Name):
        return value.text
    return repr(value)


def display_atom(predicate: str, values: tuple[Value, ...]) -> str:
    """Return the display string of a ground atom: ``pred("a",1)``."""
    return f"{predicate}({','.join(map(display, values))})"


def value_type(value: Value) -> str:
    """Return the type of ``value`` as results name it: ``string``, ``name`` or ``number``."""
    if isinstance(value, str):
        return "string"
    return "name" if isinstance(value, Name) else "number"


# Comparison

_INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,40}))?)?(Z|[+-]\d\d:\d\d)?", re.ASCII
)

Instant = tuple[int, str]
Comparison = Callable[[Value, Value], bool]


@lru_cache(maxsize=65_536)
def instant(text: str) -> Instant | None:
    """Return the point in time that an ``xsd:date`` or ``xsd:dateTime`` stands for, or ``None``.

    A date is its first moment; a missing offset is UTC. The pair is seconds since the year 1 and the digits
    of the fraction, so that it orders exactly, whatever the precision.
    """
    if len(text) < 10 or text[4:5] != "-":
        return None
    match = _INSTANT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        days = date(int(year), int(month), int(day)).toordinal()
    except ValueError:
        return None
    h, m, s = int(hour or 0), int(minute or 0), int(second or 0)
    fraction = (fraction or "").rstrip("0")
    if m > 59 or s > 59 or h > 24 or (h == 24 and (m or s or fraction)):
        return None
    offset = 0
    if zone and zone != "Z":
        zone_hours, zone_minutes = int(zone[1:3]), int(zone[4:6])
        if zone_hours > 14 or zone_minutes > 59:
            return None
        offset = (zone_hours * 3600 + zone_minutes * 60) * (1 if zone[0] == "+" else -1)
    return days * 86_400 + h * 3600 + m * 60 + s - offset, fraction


def _ordered(test: Callable[[Any, Any], bool]) -> Comparison:
    def holds(left: Value, right: Value) -> bool:
        if isinstance(left, str):
            if not isinstance(right, str):
                return False
            first, second = instant(left), instant(right)
            if first is not None and second is not None:
                return test(first, second)
            return test(left, right)
        if isinstance(left, Name):
            return isinstance(right, Name) and test(left.text, right.text)
        if isinstance(right, (str, Name)):
            return False
        return test(left, right)

    return holds


def _equal(left: Value, right: Value) -> bool:
    if left == right:
        return True
    if isinstance(left, str) and isinstance(right, str):
        first = instant(left)
        return first is not None and first == instant(right)
    return False


COMPARISONS: dict[str, Comparison] = {
    "=": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
}
"""The comparisons of the rule language. Numbers compare by value, strings by code point, and two strings
that are both dates or dateTimes by instant. Values of different kinds are never equal and never ordered."""


SortKey = tuple[int, object, str]


def sort_key(value: Value) -> SortKey:
    """Return the key of the total order that ``min`` and ``max`` use.

    Numbers come before dates (by instant, then text), dates before other strings, strings before names.
    """
    if isinstance(value, str):
        when = instant(value)
        return (1, when, value) if when is not None else (2, value, "")
    if isinstance(value, Name):
        return (3, value.text, "")
    return (0, value, "")
