"""Deterministic local vectors: hashed words and trigrams, no model and no download.

Every token of a normalised text adds ``w:<token>`` with weight 1 and each of its windows of three characters
``c:<window>`` with weight 0.35, in one of 256 buckets by a 32-bit FNV-1a hash over code points. Vectors are
scaled to length 1 in 32-bit floats; similarity is their cosine, from 0 to 1.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.slugs import normalise
from openknowledge.engine.search.corpus import Corpus, SectionKey, page_of

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
Sparse = list[tuple[int, float]]
_MARGIN = 1e-5  # 32-bit sums of numpy may differ by less than this from the exact cosine
_CHUNK = 4_096


class LocalVectors:
    """Makes vectors, remembering the buckets of each token and the vectors of the sections asked for."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._buckets: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._page_texts: dict[int, str] = {}
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

    def section_text(self, key: SectionKey) -> str:
        """Return the normalised text of all fields of a section."""
        return f"{self._page_text(page_of(key))} {self._own_text(key)}"

    def _page_text(self, number: int) -> str:
        text = self._page_texts.get(number)
        if text is None:
            text = self._page_texts[number] = normalise(_page_fields(self.corpus.pages[number]))
        return text

    def _own_text(self, key: SectionKey) -> str:
        section = self.corpus.section(key)
        return normalise(" ".join([section.heading, *section.heading_path, section.id, section.text]))

    def section(self, key: SectionKey) -> Vector:
        """Return the vector of a section."""
        found = self._sections.get(key)
        if found is None:
            found = self._sections[key] = self.vector(self.section_text(key))
        return found

    def similarity(self, query: Sparse, key: SectionKey) -> float:
        """Return the cosine between ``query`` and a section, from 0 to 1."""
        return sparse_cosine(query, self.section(key))

    def nearest(
        self, query: Vector, count: int, allowed: Sequence[bool] | None = None
    ) -> dict[SectionKey, float]:
        """Return the ``count`` most similar sections with their similarities, of at least 0.25, best first.

        ``allowed`` says for each page whether its sections count. Sections that tie are in their order.
        """
        import numpy as np

        if not any(query):
            return {}
        keys = self.corpus.section_keys
        rough = self._matrix @ np.asarray(query, np.float32)
        if allowed is not None:
            rough = np.where([allowed[page_of(key)] for key in keys], rough, 0.0)
        found = np.flatnonzero(rough >= LEAST_SIMILARITY - _MARGIN)
        if len(found) > count:
            least = np.partition(rough[found], len(found) - count)[len(found) - count]
            found = found[rough[found] >= least - _MARGIN]
        places = sparse(query)
        exact = [(self.similarity(places, keys[row]), keys[row]) for row in found.tolist()]
        exact.sort(key=lambda pair: (-pair[0], pair[1]))
        return {key: score for score, key in exact[:count] if score >= LEAST_SIMILARITY}

    @cached_property
    def _matrix(self) -> Any:
        """The vectors of all sections in 32-bit floats, made in one go."""
        import numpy as np

        corpus = self.corpus
        pages = self._counts([self._page_text(number) for number in range(len(corpus.pages))])
        every = corpus.section_keys
        matrix = np.zeros((len(every), DIMENSIONS), np.float32)
        for start in range(0, len(every), _CHUNK):
            keys = every[start : start + _CHUNK]
            counts = self._counts([self._own_text(key) for key in keys])
            counts += pages[[page_of(key) for key in keys]]
            lengths = np.sqrt((counts * counts).sum(axis=1, keepdims=True))
            matrix[start : start + len(keys)] = counts / np.where(lengths == 0.0, 1.0, lengths)
        return matrix

    def _counts(self, texts: Sequence[str]) -> Any:
        """Return the weighted counts of each text, not scaled."""
        import numpy as np

        numbers: dict[str, int] = {}
        tokens: list[int] = []
        sizes = []
        for text in texts:
            own = [numbers.setdefault(token, len(numbers)) for token in text.split()]
            tokens.extend(own)
            sizes.append(len(own))
        buckets: list[int] = []
        weights: list[float] = []
        firsts = [0]
        known = self._buckets
        for token in numbers:
            found = known.get(token)
            if found is None:
                found = known[token] = token_buckets(token)
            buckets.extend((found[0], *found[1]))
            weights.extend([1.0] + [WINDOW_WEIGHT] * len(found[1]))
            firsts.append(len(buckets))
        counts = np.zeros((len(texts), DIMENSIONS))
        if not tokens:
            return counts
        ids = np.asarray(tokens)
        rows = np.repeat(np.arange(len(texts)), sizes)
        begin = np.asarray(firsts[:-1])[ids]
        many = np.asarray(firsts[1:])[ids] - begin
        offsets = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        places = np.repeat(begin, many) + offsets
        cells = np.repeat(rows, many) * DIMENSIONS + np.asarray(buckets)[places]
        flat = np.bincount(cells, np.asarray(weights)[places], len(texts) * DIMENSIONS)
        return flat.reshape(counts.shape)


def scaled(words: list[int], windows: list[int]) -> Vector:
    """Return the vector of these counts, of length 1 unless they are all 0."""
    raw = array("f", [word + WINDOW_WEIGHT * window for word, window in zip(words, windows, strict=True)])
    length = math.sqrt(math.fsum(value * value for value in raw))
    return array("f", [value / length for value in raw]) if length else raw


def cosine(left: Vector, right: Vector) -> float:
    """Return the cosine of two vectors of length 1, clamped to 0..1."""
    return sparse_cosine(sparse(left), right)


def sparse(vector: Vector) -> Sparse:
    """Return the places of ``vector`` that are not 0, with their values."""
    return [(at, value) for at, value in enumerate(vector) if value]


def sparse_cosine(left: Sparse, right: Vector) -> float:
    """Return the cosine of two vectors of length 1, the first of them sparse, clamped to 0..1."""
    return min(1.0, max(0.0, math.fsum([value * right[at] for at, value in left])))


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


def _page_fields(page: Document) -> str:
    name = page.path.rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    parts = [page.title, stem, page.path, page.type, page.kind, page.description]
    return " ".join([*parts, metadata_text(page.fields)])
