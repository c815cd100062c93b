from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openknowledge.engine.search import hits
from openknowledge.engine.search.analysis import (
    Stems,
    camel_parts,
    encode_texts,
    fold,
    read_query,
)
from openknowledge.engine.search.hits import ScannedText


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Café CRÈME", "cafe creme"),
        ("Łódź, Straße & Ærø", "lodz strasse aero"),
        ("Ёлка и йод", "елка и йод"),
        ("Άλφα ΤΈΛΟΣ τέλος", "αλφα τελοσ τελοσ"),
        ("ﬁle № １２", "file no 12"),
        ("snake_case kebab-case", "snake case kebab case"),
        ("/etc/hosts v1.2.3", "etc hosts v1 2 3"),
        ("東京都", "東京 京都"),
        ("字", "字"),
        ("ver東京2", "ver 東京 2"),
        ("שָׁלוֹם", "שלום"),
        ("नमस्ते", "नमस्ते"),
        ("co\u00adoperate zero\u200bwidth", "cooperate zero width"),
        ("\x00\x07", ""),
    ],
)
def test_text_is_folded_into_tokens(text: str, tokens: str) -> None:
    assert fold(text).split() == tokens.split()


def test_composed_and_decomposed_letters_fold_alike() -> None:
    assert fold("e\u0301te\u0301 \u0439") == fold("\u00e9t\u00e9 \u0438\u0306")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("getUserName", ["get", "user", "name"]),
        ("parseHTTPHeader", ["parse", "http", "header"]),
        ("HTTPServer", ["http", "server"]),
        ("plain Word ALLCAPS", []),
        ("2026-05-01T08:00:00Z", []),
    ],
)
def test_camel_case_has_parts(text: str, parts: list[str]) -> None:
    assert camel_parts(text) == parts


@given(st.lists(st.text(max_size=30), max_size=8))
def test_every_text_has_its_own_tokens_in_the_buffer(texts: list[str]) -> None:
    buffer, sizes = encode_texts(texts)
    assert len(sizes) == len(texts)
    at = 0
    for text, size in zip(texts, sizes, strict=True):
        own = buffer[at : at + size].decode().split()
        assert own == fold(text).split() + camel_parts(text)
        at += size
    assert buffer[at:].strip() == b""


def test_a_word_and_its_inflections_have_one_stem() -> None:
    stems = Stems()
    assert stems("rotation") == stems("rotate") == stems("rotating")
    assert stems("документы") == stems("документов")
    assert stems("sha256") == "sha256"


def test_stop_words_do_not_count_beside_other_words() -> None:
    query = read_query("how do I rotate the key", Stems())
    assert [term.token for term in query.terms] == ["rotate", "key"]


def test_stop_words_count_when_there_is_nothing_else() -> None:
    assert [term.token for term in read_query("what is it", Stems()).terms] == ["what", "is", "it"]


def test_words_of_one_stem_count_once() -> None:
    assert [term.token for term in read_query("keys key KEY", Stems()).terms] == ["keys"]


def test_phrases_are_identifiers_quotations_and_the_whole_query() -> None:
    query = read_query('find "access token" in key_ring', Stems())
    assert set(query.phrases) == {
        ("key", "ring"),
        ("access", "token"),
        ("find", "access", "token", "in", "key", "ring"),
    }


def test_a_phrase_is_counted_alike_one_by_one_and_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["key ring key  ring", "key", "ring key ring", "keyring", "a key"] * 3
    buffer, sizes = encode_texts(texts)
    source = ScannedText(buffer, list(accumulate(sizes)), Stems())
    every = dict.fromkeys(range(len(texts)), 1)
    one_by_one = source.phrase(("key", "ring"), [every])
    monkeypatch.setattr(hits, "_FEW_UNITS", 0)
    assert source.phrase(("key", "ring"), [every]) == one_by_one
    assert one_by_one == {0: 2, 2: 1, 5: 2, 7: 1, 10: 2, 12: 1}
