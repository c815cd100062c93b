"""Words for people: text from a bundle as one line, and numbers of things."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Return ``text`` with what is not printable as escapes, so that nothing can pose as another line.

    >>> printable("a\nb\x1b[31m")
    'a\\nb\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join([character if character.isprintable() else _escaped(character) for character in text])


def quantity(number: int, noun: str) -> str:
    """Return ``number`` with ``noun``, which gets an s but for one.

    >>> quantity(1, "page"), quantity(0, "page")
    ('1 page', '0 pages')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
