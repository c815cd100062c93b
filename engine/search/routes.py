"""The vector route of a search: hashed vectors made here, or a model behind an embedding service."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from openknowledge.engine.bundle.slugs import normalise
from openknowledge.engine.search.corpus import Corpus, page_of
from openknowledge.engine.search.embedding_cache import read_cache, write_cache
from openknowledge.engine.search.embeddings import (
    LOCAL_MODEL,
    EmbeddingClient,
    EmbeddingModel,
    embedding_text,
    input_key,
    unit_vector,
)
from openknowledge.engine.search.rounding import round2
from openknowledge.engine.search.vectors import LocalVectors


class VectorRoute(Protocol):
    """Finds sections by the similarity of vectors."""

    @property
    def model(self) -> EmbeddingModel:
        """The model that makes the vectors."""

    @property
    def reason(self) -> str:
        """Why the route was taken, for a result."""

    def nearest(self, query: str, count: int, allowed: Sequence[bool] | None) -> dict[int, float]:
        """Return the ``count`` most similar sections of ``allowed`` pages, best first, with similarities."""


class LocalRoute:
    """Hashed words and trigrams."""

    reason = "deterministic local hash vector requested"
    model = LOCAL_MODEL

    def __init__(self, vectors: LocalVectors) -> None:
        self._vectors = vectors

    def nearest(self, query: str, count: int, allowed: Sequence[bool] | None) -> dict[int, float]:
        """Return the most similar sections; those below 0.25 are left out."""
        return self._vectors.nearest(self._vectors.vector(normalise(query)), count, allowed)


class EmbeddingRoute:
    """Vectors from a service, kept in a cache file where one is named."""

    def __init__(self, corpus: Corpus, client: EmbeddingClient, cache: Path | None = None) -> None:
        self._corpus = corpus
        self._client = client
        self._cache = cache
        self._matrix: Any = None

    @property
    def model(self) -> EmbeddingModel:
        """The model behind the service. Raises ``EmbeddingError``."""
        return self._client.model

    @property
    def reason(self) -> str:
        """Which provider and model were asked for."""
        return f"embedding provider {self.model.provider}/{self.model.id} requested"

    def nearest(self, query: str, count: int, allowed: Sequence[bool] | None) -> dict[int, float]:
        """Return the most similar sections by similarity rounded to 2 decimals, path and line.

        Raises ``EmbeddingError`` when the service fails; there is no other answer then.
        """
        import numpy as np

        keys = self._corpus.section_keys
        if not query.strip() or not keys:
            return {}
        matrix = self._vectors()
        asked = np.asarray(unit_vector(self._client.embed([query])[0]), np.float64)
        scores = np.clip(matrix @ asked, 0.0, 1.0)
        found = [
            (round2(score), key)
            for key, score in zip(keys, scores.tolist(), strict=True)
            if allowed is None or allowed[page_of(key)]
        ]
        found.sort(key=lambda pair: (-pair[0], pair[1]))
        return {key: score for score, key in found[:count] if score > 0.0}

    def _vectors(self) -> Any:
        import numpy as np

        if self._matrix is None:
            corpus = self._corpus
            texts = [embedding_text(corpus.page(key), corpus.section(key)) for key in corpus.section_keys]
            keys = [input_key(text) for text in texts]
            known = read_cache(self._cache, self.model) if self._cache else {}
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            made: dict[str, array[float]] = dict(
                zip(missing, self._client.embed(list(missing.values())), strict=True)
            )
            if self._cache and made:
                write_cache(self._cache, self.model, {**known, **made})
            known.update(made)
            self._matrix = np.asarray([unit_vector(known[key]) for key in keys], np.float64)
        return self._matrix
