"""Normalised text and heading slugs."""

from __future__ import annotations

import re
from functools import lru_cache

_FOLDS = {
    "a": "áàâäãåāăą",
    "c": "čćĉċ",
    "d": "ďđ",
    "e": "éèêëěēėę",
    "i": "íìîïīįı",
    "n": "ňñń",
    "o": "óòôöõőō",
    "r": "řŕ",
    "s": "šśŝş",
    "t": "ťţ",
    "u": "úůùûüűū",
    "y": "ýÿ",
    "z": "žźż",
}
_FOLD_TABLE = {ord(letter): plain for plain, letters in _FOLDS.items() for letter in letters}
_ASCII_RUN = re.compile(r"[^a-z0-9]+")
# Go's whitespace, which is what trimming means for the interoperable values
WHITESPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def _is_digit(character: str) -> bool:
    # decimal digits of any script, not superscripts or fractions
    return character.isdecimal()


def _lower(text: str) -> str:
    # rune by rune: one code point gives one, so that "İ" does not become two
    return "".join([low if len(low := character.lower()) == 1 else low[0] for character in text])


def normalise(text: str) -> str:
    """Return ``text`` in lower case with Latin diacritics folded and every other run as one space."""
    if text.isascii():
        return _ASCII_RUN.sub(" ", text.lower()).strip()
    folded = _lower(text).translate(_FOLD_TABLE)
    spaced = "".join(
        [character if character.isalpha() or _is_digit(character) else " " for character in folded]
    )
    return " ".join(spaced.split())


@lru_cache(maxsize=65_536)
def slug(text: str) -> str:
    """Return the slug of a heading; ``section`` when nothing is left of it."""
    return normalise(text).replace(" ", "-") or "section"


class SlugCounter:
    """Numbers repeated slugs of one document: the second use of a base gets ``-2``, the third ``-3``."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def take(self, heading: str) -> str:
        """Return the slug for the next heading with this text."""
        base = slug(heading)
        count = self._seen.get(base, 0) + 1
        self._seen[base] = count
        return base if count == 1 else f"{base}-{count}"
