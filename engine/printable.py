"""Text from a bundle as one line that a terminal shows as it is."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Return ``text`` with what is not printable as escapes, so that nothing can pose as another line.

    >>> printable("a\nb\x1b[31m")
    'a\\nb\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join([character if character.isprintable() else _escaped(character) for character in text])


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
