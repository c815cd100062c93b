"""Plain tables for a terminal."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

_MINTED = "https://openknowledge.dev/.well-known/semantic/"


def shorten(iri: str, prefixes: object) -> str:
    """Return an IRI in the shortest form a person can read: its CURIE, or the key of a minted one."""
    if iri.startswith(_MINTED):
        return unquote(iri.removeprefix(_MINTED).partition("/")[2])
    if isinstance(prefixes, Mapping):
        best = max(
            (name for name, namespace in prefixes.items() if iri.startswith(namespace) and iri != namespace),
            key=lambda name: len(prefixes[name]),
            default=None,
        )
        if best is not None:
            return f"{best}:{iri.removeprefix(prefixes[best])}"
    return iri


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows in aligned columns, cut to the width of the terminal, with a count below."""
    cells = [[_clean(cell) for cell in row] for row in (header, *rows)]
    if not header:
        return f"{len(rows)} rows\n"
    width = max(shutil.get_terminal_size((120, 40)).columns, 40)
    widths = [max(_width(row[index]) for row in cells) for index in range(len(header))]
    room = width - 2 * (len(widths) - 1)
    while sum(widths) > room and max(widths) > 12:
        widest = widths.index(max(widths))
        widths[widest] -= min(widths[widest] - 12, sum(widths) - room)
    lines = []
    for number, row in enumerate(cells):
        lines.append("  ".join(_fit(cell, size) for cell, size in zip(row, widths, strict=True)).rstrip())
        if number == 0:
            lines.append("  ".join("-" * size for size in widths))
    lines.append(f"{len(rows)} row{'' if len(rows) == 1 else 's'}")
    return "\n".join(lines) + "\n"


def _clean(text: str) -> str:
    return "".join([character if character.isprintable() else " " for character in text])


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def _fit(text: str, size: int) -> str:
    if _width(text) <= size:
        return text + " " * (size - _width(text))
    kept = ""
    for character in text:
        if _width(kept + character) > size - 1:
            break
        kept += character
    return kept + "…" + " " * (size - 1 - _width(kept))
