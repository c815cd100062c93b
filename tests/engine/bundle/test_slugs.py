"""Slugs: normalised headings, numbered where they repeat."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openknowledge.engine.bundle.slugs import SlugCounter, normalise, slug

FOLDS = {
    "a": "áàâäãåāăą", "c": "čćĉċ", "d": "ďđ", "e": "éèêëěēėę", "i": "íìîïīįı", "n": "ňñń", "o": "óòôöõőō",
    "r": "řŕ", "s": "šśŝş", "t": "ťţ", "u": "úůùûüűū", "y": "ýÿ", "z": "žźż",
}  # fmt: skip


@pytest.mark.parametrize(("plain", "letter"), [(p, letter) for p, group in FOLDS.items() for letter in group])
def test_each_letter_of_the_fold_table_becomes_its_plain_letter(plain: str, letter: str) -> None:
    assert normalise(letter) == plain


@pytest.mark.parametrize("letter", [c for group in FOLDS.values() for c in group if c != "ı"])
def test_capital_letters_fold_like_small_ones(letter: str) -> None:
    assert normalise(letter.upper()) == normalise(letter)


@pytest.mark.parametrize("text", ["łódźß", "ø", "æ", "łąka", "жук", "漢字", "שלום", "θ"])
def test_letters_outside_of_the_table_stay(text: str) -> None:
    kept = {"ó": "o", "ź": "z", "ą": "a"}
    assert normalise(text) == "".join(kept.get(letter, letter) for letter in text)


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Getting started", "getting-started"),
        ("  What's  new?! (2026) ", "what-s-new-2026"),
        ("snake_case and CamelCase", "snake-case-and-camelcase"),
        ("İstanbul", "istanbul"),
        ("x²", "x"),
        ("٣ apples", "٣-apples"),
        ("!!!", "section"),
        ("", "section"),
        ("🎉", "section"),
    ],
)
def test_a_slug_joins_the_normalised_words_with_hyphens(heading: str, expected: str) -> None:
    assert slug(heading) == expected


def test_the_second_use_of_a_base_gets_2_and_the_third_3() -> None:
    counter = SlugCounter()
    assert [counter.take(text) for text in ("Setup", "setup!", "Other", "SETUP")] == [
        "setup", "setup-2", "other", "setup-3",
    ]  # fmt: skip


def test_headings_without_letters_are_numbered_too() -> None:
    counter = SlugCounter()
    assert [counter.take("?"), counter.take("!")] == ["section", "section-2"]


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(st.text())
def test_a_slug_is_its_own_slug(text: str) -> None:
    assert slug(slug(text)) == slug(text)


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_the_ascii_way_gives_what_the_general_way_gives(text: str) -> None:
    assert normalise(text) == normalise("ж" + " " + text).removeprefix("ж").strip()


@given(st.lists(st.sampled_from(["a", "A!", "b", "?", "c d", "C-D"])))
def test_numbers_count_the_earlier_uses_of_the_same_base(headings: list[str]) -> None:
    counter = SlugCounter()
    for index, heading in enumerate(headings):
        uses = sum(slug(earlier) == slug(heading) for earlier in headings[: index + 1])
        expected = slug(heading) if uses == 1 else f"{slug(heading)}-{uses}"
        assert counter.take(heading) == expected
