"""Writes JSON values as YAML that a YAML 1.2 and a YAML 1.1 reader read back as exactly the same values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openknowledge.engine.errors import OpenKnowledgeError

Quote = str
"""The preferred quotes of strings: ``""`` (none where none are needed), ``'`` or ``"``."""

KEY_CHARACTERS = 1_000
"""libyaml and YAML 1.2 look at most 1,024 characters ahead for the colon of a key."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The page's own way of laying out block style.

    ``step`` is the indentation of a mapping below its key, ``sequence_step`` that of a sequence below its key
    (0 where dashes stand under the key), ``dash_width`` the distance from a dash to its item.
    """

    step: int = 2
    sequence_step: int = 2
    dash_width: int = 2


def is_block_value(value: object) -> bool:
    """Return whether ``value`` takes lines of its own in block style: a non-empty list or mapping."""
    return isinstance(value, (dict, list)) and bool(value)


def block_lines(value: object, indent: int, layout: Layout, quote: Quote = "") -> list[str]:
    """Return the lines of a non-empty list or mapping in block style, its first column at ``indent``."""
    pad = " " * indent
    lines: list[str] = []
    if isinstance(value, Mapping):
        for key, item in value.items():
            lines.extend(pair_lines(key, item, indent, layout))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            dash = pad + "-" + " " * (layout.dash_width - 1)
            if is_block_value(item):
                below = block_lines(item, indent + layout.dash_width, layout)
                lines.append(dash + below[0][indent + layout.dash_width :])
                lines.extend(below[1:])
            else:
                lines.append(dash + inline(item, quote=quote))
    return lines


def pair_lines(key: str, value: object, indent: int, layout: Layout) -> list[str]:
    """Return the lines of one entry of a block mapping whose keys stand at ``indent``."""
    start = " " * indent + key_text(key) + ":"
    if not is_block_value(value):
        return [f"{start} {inline(value)}"]
    step = layout.step if isinstance(value, Mapping) else layout.sequence_step
    return [start, *block_lines(value, indent + step, layout)]


def inline(value: object, *, in_flow: bool = False, quote: Quote = "") -> str:
    """Return ``value`` on one line: a scalar, or a collection in flow style."""
    if isinstance(value, Mapping):
        pairs = (
            f"{key_text(key, in_flow=True, quote=quote)}: {inline(item, in_flow=True, quote=quote)}"
            for key, item in value.items()
        )
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(inline(item, in_flow=True, quote=quote) for item in value) + "]"
    return scalar_text(value, in_flow=in_flow, quote=quote)


def key_text(key: str, *, in_flow: bool = False, quote: Quote = "") -> str:
    """Return ``key`` as an implicit key. Raises ``OpenKnowledgeError`` for one that is too long or empty."""
    if not key:
        raise OpenKnowledgeError("a mapping key may not be empty")
    text = scalar_text(key, in_flow=in_flow, quote=quote)
    if len(text) > KEY_CHARACTERS:
        raise OpenKnowledgeError(
            f"the mapping key {key[:40]!r}... is longer than {KEY_CHARACTERS} characters when written"
        )
    return text


def scalar_text(value: object, *, in_flow: bool = False, quote: Quote = "") -> str:
    """Return the YAML of a JSON scalar; strings stay plain only where every reader takes them for strings."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    if not isinstance(value, str):
        raise TypeError(f"not a JSON value: {type(value).__name__}")
    if quote == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if not quote and _is_plain(value, in_flow=in_flow):
        return value
    return _double_quoted(value)


def _float_text(value: float) -> str:
    if not math.isfinite(value):
        raise OpenKnowledgeError(f"{value} is not a JSON number")
    text = repr(value)
    mantissa, exponent_mark, exponent = text.partition("e")
    if exponent_mark and "." not in mantissa:
        # YAML 1.1 takes 1e+16 for a string: its floats need a point.
        return f"{mantissa}.0e{exponent}"
    return text


# Beginning with a letter, or with ./ or ../, rules out numbers, dates, times and every indicator at once.
_RELATIVE = r"(?:(?:\.{1,2}/)+\.?(?=\w))?"
_PLAIN = re.compile(
    _RELATIVE + r"(?!\d)\w(?:[\w\-./@+%=~();!$*&?']|:(?=[\w/])|(?<! )#|[,\[\]{}|<>\"]| (?=[^ #]))*\Z"
)
_PLAIN_IN_FLOW = re.compile(_RELATIVE + r"(?!\d)\w(?:[\w\-./@+%=~();!$*&']|:(?=[\w/])|(?<! )#| (?=[^ #]))*\Z")
_RESERVED = frozenset(
    "y n yes no on off true false null nil none inf nan infinity undefined".split()  # noqa: SIM905
)


def _is_plain(value: str, *, in_flow: bool) -> bool:
    pattern = _PLAIN_IN_FLOW if in_flow else _PLAIN
    return (
        pattern.match(value) is not None
        and value.lstrip("./")[0].isalpha()
        and value.lower() not in _RESERVED
        and value.isprintable()
    )


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def _double_quoted(value: str) -> str:
    parts = []
    for character in value:
        if character in _ESCAPES:
            parts.append(_ESCAPES[character])
        elif character.isprintable():
            parts.append(character)
        else:
            code = ord(character)
            width = "x" if code < 0x100 else "u" if code < 0x10000 else "U"
            parts.append(f"\\{width}{code:0{ {'x': 2, 'u': 4, 'U': 8}[width] }x}")
    return '"' + "".join(parts) + '"'
