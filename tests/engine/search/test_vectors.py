from __future__ import annotations

import math
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.slugs import normalise
from openknowledge.engine.search.corpus import build_corpus
from openknowledge.engine.search.vectors import LocalVectors, bucket, cosine, metadata_text, sparse

WORDS = ["token", "access", "key", "rotation", "café", "machine", "zzz"]


def fnv(feature: str) -> int:
    """The whole 32-bit hash, as it is documented."""
    value = 2166136261
    for character in feature:
        value = ((value ^ ord(character)) * 16777619) % 2**32
    return value % 256


@given(st.text(max_size=20))
def test_the_bucket_is_the_hash_modulo_256(feature: str) -> None:
    assert bucket(feature) == fnv(feature)


@given(st.lists(st.text("abcdé東", min_size=1, max_size=6), max_size=8))
def test_a_vector_is_made_of_words_and_windows(tokens: list[str]) -> None:
    raw = [0.0] * 256
    for token in tokens:
        raw[fnv("w:" + token)] += 1.0
        for at in range(len(token) - 2):
            raw[fnv("c:" + token[at : at + 3])] += 0.35
    length = math.sqrt(sum(value * value for value in raw))
    expected = [value / length if length else 0.0 for value in raw]
    made = LocalVectors.__new__(LocalVectors)
    made._buckets = {}
    assert list(made.vector(" ".join(tokens))) == pytest.approx(expected, abs=1e-6)


def test_the_cosine_is_clamped() -> None:
    assert cosine(array("f", [1.0, 0.0]), array("f", [-1.0, 0.0])) == 0.0
    assert cosine(array("f", [1.0, 0.0]), array("f", [1.0000001, 0.0])) == 1.0


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.sampled_from(["token", "access", "key", "rotation", "café", "machine", "zzz"]), max_size=4
    ).map(" ".join)
)
def test_the_nearest_sections_are_those_that_one_by_one_are_nearest(query: str) -> None:
    vectors = LocalVectors(build_corpus(BUNDLE[0]))
    asked = vectors.vector(normalise(query))
    every = [(vectors.similarity(sparse(asked), key), key) for key in vectors.corpus.section_keys]
    every = sorted([pair for pair in every if pair[0] >= 0.25], key=lambda pair: (-pair[0], pair[1]))
    assert list(vectors.nearest(asked, 3).items()) == [(number, score) for score, number in every[:3]]


BUNDLE: list[Bundle] = []


@pytest.fixture(autouse=True)
def _bundle(bundle: Bundle) -> None:
    BUNDLE[:] = [bundle]


def test_pages_that_are_not_allowed_are_left_out(bundle: Bundle) -> None:
    vectors = LocalVectors(build_corpus(bundle))
    asked = vectors.vector("access token")
    allowed = [page.path == "guides/keys.md" for page in bundle.documents]
    found = vectors.nearest(asked, 50, allowed)
    assert {vectors.corpus.page(key).path for key in found} <= {"guides/keys.md"}


def test_metadata_is_keys_and_scalars_with_keys_sorted() -> None:
    assert metadata_text({"b": [1, {"z": True, "a": None}], "a": "x"}) == "a x b 1 a z true"
