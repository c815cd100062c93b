from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openknowledge.engine.search.spelling import Vocabulary, allowed_distance, edit_distance


def plain_distance(left: str, right: str) -> int:
    """Optimal string alignment, written the slow way."""
    table = {(i, 0): i for i in range(len(left) + 1)} | {(0, j): j for j in range(len(right) + 1)}
    for i in range(1, len(left) + 1):
        for j in range(1, len(right) + 1):
            best = min(
                table[i - 1, j] + 1,
                table[i, j - 1] + 1,
                table[i - 1, j - 1] + (left[i - 1] != right[j - 1]),
            )
            if i > 1 and j > 1 and left[i - 1] == right[j - 2] and left[i - 2] == right[j - 1]:
                best = min(best, table[i - 2, j - 2] + 1)
            table[i, j] = best
    return table[len(left), len(right)]


words = st.text("abcé", max_size=7)


@given(words, words, st.integers(0, 3))
def test_the_distance_is_exact_up_to_the_bound(left: str, right: str, most: int) -> None:
    assert edit_distance(left, right, most) == min(plain_distance(left, right), most + 1)


@given(st.lists(st.text("abc", min_size=1, max_size=9), max_size=12, unique=True), st.text("abc", max_size=9))
def test_near_words_are_all_words_at_the_smallest_allowed_distance(known: list[str], word: str) -> None:
    vocabulary = Vocabulary({form.encode(): 1 for form in known})
    distances = {form: plain_distance(word, form) for form in known}
    allowed = allowed_distance(word)
    within = {form: distance for form, distance in distances.items() if distance <= allowed}
    nearest = min(within.values(), default=0)
    expected = sorted(form for form, distance in within.items() if distance == nearest) if allowed else []
    assert [form.decode() for form, _ in vocabulary.near(word)] == expected[:8]


@pytest.mark.parametrize(("length", "distance"), [(1, 0), (3, 0), (4, 1), (7, 1), (8, 2), (60, 2)])
def test_longer_words_may_be_further_off(length: int, distance: int) -> None:
    assert allowed_distance("x" * length) == distance


def test_numbers_have_no_near_words() -> None:
    assert Vocabulary({b"1043": 5}).near("1042") == []


def test_frequent_words_come_first() -> None:
    assert Vocabulary({b"tokon": 1, b"taken": 7}).near("token") == [(b"taken", 1), (b"tokon", 1)]


def test_a_part_is_found_inside_of_words() -> None:
    vocabulary = Vocabulary({b"signaturschlussel": 2, b"schlusselbund": 3, b"other": 9})
    assert vocabulary.containing("schlussel") == [b"schlusselbund", b"signaturschlussel"]
    assert vocabulary.containing("the") == []


def test_a_glued_word_is_split_at_its_most_frequent_pair() -> None:
    vocabulary = Vocabulary({b"key": 5, b"ring": 2, b"keyr": 1, b"ing": 1})
    assert vocabulary.split("keyring") == [b"key", b"ring"]
    assert vocabulary.split("unknown") == []
