"""Deterministic local vectors: hashed words and trigrams, no model and no download.

Every token of a normalised text adds ``w:<token>`` with weight 1 and each of its windows of three characters
``c:<window>`` with weight 0.35, in one of 256 buckets by a 32-bit FNV-1a hash over code points. Vectors are
scaled to length 1 in 32-bit floats; similarity is their cosine, from 0 to 1.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.slugs import normalise
from openknowledge.engine.search.corpus import Corpus

DIMENSIONS = 256
WINDOW_WEIGHT = 0.35
LEAST_SIMILARITY = 0.25

_OFFSET = 2166136261 % DIMENSIONS
_PRIME = 16777619 % DIMENSIONS


def bucket(feature: str) -> int:
    """Return the hash of ``feature`` modulo 256.

    Both steps of FNV-1a, xor and multiplication, keep the low eight bits apart from the others, so the hash
    modulo 256 is the hash of the low bits alone.
    """
    value = _OFFSET
    for character in feature:
        value = ((value ^ ord(character)) * _PRIME) % DIMENSIONS
    return value


def token_buckets(token: str) -> tuple[int, tuple[int, ...]]:
    """Return the bucket of the word and those of its windows."""
    windows = tuple(bucket("c:" + token[at : at + 3]) for at in range(len(token) - 2))
    return bucket("w:" + token), windows


Vector = Sequence[float]


class LocalVectors:
    """Makes vectors, remembering the buckets of each token and the vectors of the sections asked for."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._buckets: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._page_tokens: dict[int, tuple[str, str]] = {}
        self._sections: dict[int, Vector] = {}

    def vector(self, normalised: str) -> Vector:
        """Return the vector of a normalised text; all zeros for an empty one."""
        words = [0] * DIMENSIONS
        windows = [0] * DIMENSIONS
        known = self._buckets
        for token in normalised.split():
            found = known.get(token)
            if found is None:
                found = known[token] = token_buckets(token)
            words[found[0]] += 1
            for at in found[1]:
                windows[at] += 1
        return scaled(words, windows)

    def section_text(self, number: int) -> str:
        """Return the normalised text of all fields of a section."""
        section = self.corpus.sections[number]
        page_number = self.corpus.page_of[number]
        parts = self._page_tokens.get(page_number)
        if parts is None:
            parts = self._page_tokens[page_number] = _page_parts(self.corpus.pages[page_number])
        return normalise(
            " ".join(
                [
                    parts[0],
                    section.heading,
                    " ".join(section.heading_path),
                    parts[1],
                    section.id,
                    section.text,
                ]
            )
        )

    def section(self, number: int) -> Vector:
        """Return the vector of a section."""
        found = self._sections.get(number)
        if found is None:
            found = self._sections[number] = self.vector(self.section_text(number))
        return found

    def similarity(self, query: Vector, number: int) -> float:
        """Return the cosine between ``query`` and a section, from 0 to 1."""
        return cosine(query, self.section(number))


def scaled(words: list[int], windows: list[int]) -> Vector:
    """Return the vector of these counts, of length 1 unless they are all 0."""
    raw = array("f", [word + WINDOW_WEIGHT * window for word, window in zip(words, windows, strict=True)])
    length = math.sqrt(math.fsum(value * value for value in raw))
    return array("f", [value / length for value in raw]) if length else raw


def cosine(left: Vector, right: Vector) -> float:
    """Return the cosine of two vectors of length 1, clamped to 0..1."""
    products = [value * right[at] for at, value in enumerate(left) if value]
    return min(1.0, max(0.0, math.fsum(products)))


def metadata_text(value: Any) -> str:
    """Return the keys and scalar texts of frontmatter: keys sorted, lists in order, nested maps inside."""
    parts: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            for key in sorted(item, reverse=True):
                waiting.append(item[key])
                waiting.append(key)
        elif isinstance(item, list):
            waiting.extend(reversed(item))
        elif item is True or item is False:
            parts.append("true" if item else "false")
        elif item is not None:
            parts.append(str(item))
    return " ".join(parts)


def _page_parts(page: Document) -> tuple[str, str]:
    name = page.path.rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    rest = " ".join([stem, page.path, page.type, page.kind, page.description, metadata_text(page.fields)])
    return page.title, rest
