"""Glob patterns over bundle-relative paths: ``*`` and ``?`` in a folder, ``**`` over any number of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Piece = TypeVar("Piece")

ANY_FOLDERS = "**"


def is_relative_pattern(pattern: str) -> bool:
    """Whether ``pattern`` can match a path of a bundle: it is relative and stays inside."""
    parts = pattern.split("/")
    return bool(pattern) and "\\" not in pattern and not {"", ".", ".."} & set(parts)


def matches(pattern: str, path: str) -> bool:
    """Whether ``path`` fits ``pattern`` as a whole. Takes time in proportion to the product of their lengths.

    >>> matches("policy/*.dl", "policy/owners.dl"), matches("policy/*.dl", "policy/old/owners.dl")
    (True, False)
    >>> matches("**/*.md", "index.md"), matches("guides/**", "guides/a/b.md")
    (True, True)
    """
    return _fits(pattern.split("/"), path.split("/"), lambda part: part == ANY_FOLDERS, _name_fits)


def _name_fits(pattern: str, name: str) -> bool:
    return _fits(
        list(pattern), list(name), lambda part: part == "*", lambda part, letter: part in ("?", letter)
    )


def _fits(
    pattern: Sequence[Piece],
    items: Sequence[Item],
    is_star: Callable[[Piece], bool],
    fits_one: Callable[[Piece, Item], bool],
) -> bool:
    """Match with stars that stand for any number of items, going back to the last star only."""
    at = place = 0
    star, resume = -1, 0
    while place < len(items):
        if at < len(pattern) and is_star(pattern[at]):
            star, resume = at, place
            at += 1
        elif at < len(pattern) and fits_one(pattern[at], items[place]):
            at += 1
            place += 1
        elif star >= 0:
            resume += 1
            at, place = star + 1, resume
        else:
            return False
    return all(is_star(part) for part in pattern[at:])
