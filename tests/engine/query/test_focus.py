from __future__ import annotations

import pytest
from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.query.focus import count_matches, focus_score, focus_terms, matches


def section(text: str, *path: str) -> Section:
    return Section("a#x", "a.md", path[-1], len(path), path, 1, 2, text, ["x"])


def test_terms_are_unique_words_of_three_letters_without_stop_words() -> None:
    assert focus_terms("How do I rotate the Key, or a KEY of an ID?") == ("rotate", "key")


@pytest.mark.parametrize(
    ("term", "token", "met"),
    [
        ("key", "key", True),
        ("key", "keyring", True),
        ("tokens", "token", True),
        ("tokened", "token", True),
        ("tokenise", "token", False),
        ("keys", "ke", False),
        ("abcd", "ab", False),
        ("ring", "keyring", False),
    ],
)
def test_a_term_meets_equal_longer_and_slightly_shorter_tokens(term: str, token: str, met: bool) -> None:
    assert matches(term, token) is met
    assert count_matches([term], f"Some {token.upper()}.") == int(met)


def test_without_a_match_in_the_text_the_score_is_zero() -> None:
    assert focus_score(("key",), section("nothing", "Top", "Key")) == 0.0


def test_the_score_is_the_documented_sum() -> None:
    terms = ("rotate", "signing", "key")
    assert focus_score(terms, section("a key to rotate", "Top", "Key")) == 0.93666667
    assert focus_score(terms, section("a key to rotate", "Key")) == 0.66666667


def test_accents_are_folded() -> None:
    assert count_matches(["cafe"], "Le Café") == 1
