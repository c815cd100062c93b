from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.errors import TextError
from openknowledge.engine.query.sparql_tokens import QueryText, Token, TokenKind, tokenize

FRAGMENTS = [
    "SELECT", "service", "a", "x:", "x:y.z", ":", "?v", "$v", "<urn:a>", "<", "<=", "'s'", '"s"',
    '"""l"\n"""', "'''", '"', "'", "\\", "\\u0053", "#c\n", "#", "\n", "\r", "\r\n", " ", "{", "}", "(", ")",
    "[", "]", ".", ";", ",", "1", "1.5e3", "-", "+", "@en", "^^", "^", "||", "|", "&&", "&", "%41", "é",
    "_:b", "<<", ">>", "\ufeff", "\x00", "\u2028", "BASE", "<rel>", "<?a&&?b>",
]  # fmt: skip
texts = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join))


def tokens_of(text: str) -> list[Token]:
    return list(tokenize(QueryText(text)))


def kinds_of(text: str) -> list[tuple[str, str]]:
    return [(token.kind.value, token.text) for token in tokens_of(text)]


@settings(max_examples=400, deadline=None)
@given(texts)
def test_any_text_gives_tokens_or_a_fault_with_a_place_in_it(text: str) -> None:
    try:
        tokens_of(text)
        return
    except TextError as caught:
        error = caught
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert 1 <= error.span.line <= len(lines)
    assert 1 <= error.span.column <= len(lines[error.span.line - 1]) + 2


@settings(max_examples=400, deadline=None)
@given(texts)
def test_the_tokens_and_the_blanks_between_them_are_the_text(text: str) -> None:
    try:
        tokens = tokens_of(text)
    except TextError:
        return
    end = 0
    for token in tokens:
        assert text[end : token.start].strip(" \t\r\n") == ""
        assert text[token.start : token.end] == token.text
        end = token.end
    assert text[end:].strip(" \t\r\n") == ""


@given(st.text(alphabet="ab\n\r", max_size=30), st.data())
def test_a_span_counts_lines_as_editors_do(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] == "\r\n":
        return
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    span = QueryText(text).span(offset)
    assert (span.line, span.column) == (len(before), len(before[-1]) + 1)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<http://example.org/a#b>", TokenKind.IRI),
        (r"<urn:\u00e9>", TokenKind.IRI),
        ("x:a.b", TokenKind.PREFIXED_NAME),
        (":", TokenKind.PREFIXED_NAME),
        ("a-b.c:d%41\\~:e", TokenKind.PREFIXED_NAME),
        ("_:b.1", TokenKind.BLANK_NODE),
        ("?größe", TokenKind.VARIABLE),
        ("$1", TokenKind.VARIABLE),
        ("'it\\'s # not a comment'", TokenKind.STRING),
        ('"{ \\" }"', TokenKind.STRING),
        ("'''a''b\n'c\\''''", TokenKind.STRING),
        ('"""a""b\n"c"""', TokenKind.STRING),
        ("@de-AT", TokenKind.LANGUAGE),
        ("@ar--rtl", TokenKind.LANGUAGE),
        ("1", TokenKind.NUMBER),
        (".5", TokenKind.NUMBER),
        ("1.e5", TokenKind.NUMBER),
        ("1.5E-3", TokenKind.NUMBER),
        ("SELECT", TokenKind.WORD),
        ("# all of it ' \" <", TokenKind.COMMENT),
        ("<<(", TokenKind.PUNCTUATION),
    ],
)
def test_this_text_is_one_token(text: str, kind: TokenKind) -> None:
    assert [(token.kind, token.text) for token in tokens_of(text)] == [(kind, text)]


def test_a_dot_ends_a_name_unless_the_name_goes_on() -> None:
    assert [text for _, text in kinds_of("x:a. x:b.c .")] == ["x:a", ".", "x:b.c", "."]


def test_a_comment_ends_at_the_line() -> None:
    assert [text for _, text in kinds_of("# a\r# b\nASK")] == ["# a", "# b", "ASK"]


def test_comparisons_without_blanks_are_no_iri() -> None:
    assert [text for _, text in kinds_of("?a<?b&&?c>?d")] == ["?a", "<", "?b", "&&", "?c", ">", "?d"]


def test_a_relative_iri_is_one_after_a_base() -> None:
    assert ("IRI", "<?b>") in kinds_of("BASE <urn:x> <?b>")


@pytest.mark.parametrize(
    ("text", "problem", "column"),
    [
        ("ASK { 'a\n' }", "no closing '", 7),
        ('ASK { """a" }', 'no closing """', 7),
        ('ASK { "a\\q" }', "unknown escape", 9),
        ('ASK { "\\u12" }', "unknown escape", 8),
        ("ASK { <http://a b> }", "an IRI cannot contain ' '", 16),
        ("ASK { <http://a", "no closing '>'", 7),
        ("ASK % {}", "unexpected character '%'", 5),
        ("\\u0041SK {}", "only in strings and IRIs", 1),
        ("ASK \x00 {}", r"unexpected character '\\x00'", 5),
    ],
)
def test_this_fault_is_named_with_its_column(text: str, problem: str, column: int) -> None:
    with pytest.raises(TextError, match=problem) as caught:
        tokens_of(text)
    assert (caught.value.span.line, caught.value.span.column) == (1, column)


@pytest.mark.parametrize(
    "piece",
    [
        "a.",
        "<a",
        "x:.",
        "a:a.",
        "<<",
        "<a:/<",
        "?",
        "1.",
        '"""a',
        "''''",
        "\\",
        "_:a.",
        "@a-",
        "a:%4",
        "<\\u0041",
    ],
)
def test_the_time_grows_only_with_the_length(piece: str) -> None:
    def seconds(length: int) -> float:
        best = float("inf")
        for _ in range(3):
            start = time.process_time()  # what else the machine does is left out
            with contextlib.suppress(TextError):
                tokens_of(piece * length)
            best = min(best, time.process_time() - start)
        return best

    seconds(100)
    assert seconds(16_000) < 100 * max(seconds(1_000), 0.001)
