"""How text becomes tokens: case and diacritics folded, identifiers split, CJK as bigrams, words stemmed.

Documents and queries go through the same steps, so that both meet in the same tokens:

1. Case is folded, Latin and Greek diacritics are dropped, compatibility forms replaced (``Ⅳ``, full width).
2. Everything but letters, digits and marks of any script separates tokens; so ``snake_case``, ``kebab-case``,
   paths and version numbers become neighbouring tokens, which a phrase finds again as a whole.
3. ``camelCase`` gives the whole and, after the text, its parts.
4. Scripts without spaces between words give overlapping pairs of characters.
5. Words are compared by their stems (Snowball: English, Russian, Greek by script).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from importlib import import_module
from typing import Any

STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being between but by can could did
    do does doing done each for from get had has have having he her here him his how i if in into is it its
    itself just may me might more most much must my no not of off on one only or other our out over own same
    shall she should so some such than that the their them then there these they this those through to too
    under until up upon us very was we were what whats when where whether which while who whom whose why
    will with within without would you your
    """.split()  # noqa: SIM905 - a list of 130 literals is not readable
)

_LONGEST_STEMMED = 40

_ASCII_LOWER = bytes(
    (ord(chr(code).lower()) if chr(code).isalnum() else 32) if code < 128 else code for code in range(256)
)
_CASE_SHAPE = (
    bytes(ord("A") if chr(code).isupper() else ord("a") if chr(code).islower() else 32 for code in range(128))
    + bytes([32]) * 128
)

_WORD = re.compile("[A-Za-z0-9]+")
_MIXED_CASE = re.compile("[a-z][A-Z]|[A-Z]{2}[a-z]")
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+")

_QUOTED = re.compile(r'"([^"]+)"')
_LONGEST_PHRASE = 12

_LETTERS = {
    "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "\u0131": "i", "ħ": "h",
    "ŧ": "t", "\u03c2": "\u03c3",
}  # fmt: skip
# Marks that are dropped: accents, but not on Cyrillic, where they make letters; Hebrew and Arabic points.
_MARKS = re.compile(
    "(?<![\u0400-\u052f])[\u0300-\u036f]+|(?<=[\u0435\u0415])\u0308"
    "|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670]"
)
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_CYRILLIC = re.compile("[\u0400-\u052f]+\\Z")
_GREEK = re.compile("[\u0370-\u03ff\u1f00-\u1fff]+\\Z")


class _Characters(dict[int, str]):
    """Maps a folded character to what stands for it in a token, a space where it separates."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if character in _LETTERS:
            kept = _LETTERS[character]
        elif character.isalnum() or category in ("Mn", "Mc"):
            kept = character
        elif category == "Cf" and character != "\u200b":
            kept = ""  # joiners, direction marks and soft hyphens stand inside words
        else:
            kept = " "
        self[code] = kept
        return kept


_CHARACTERS = _Characters()


def _pairs(run: re.Match[str]) -> str:
    text = run.group()
    if len(text) == 1:
        return f" {text} "
    return " " + " ".join([text[at : at + 2] for at in range(len(text) - 1)]) + " "


def fold(text: str) -> str:
    """Return ``text`` with case and diacritics folded, separators as spaces, unspaced scripts as pairs."""
    if text.isascii():
        return text.encode().translate(_ASCII_LOWER).decode()
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    folded = unicodedata.normalize("NFKC", _MARKS.sub("", folded)).translate(_CHARACTERS)
    return _UNSPACED.sub(_pairs, folded)


def camel_parts(text: str) -> list[str]:
    """Return the lower-case parts of every camelCase word in ``text``, in order."""
    return [
        part.lower()
        for word in _WORD.findall(text)
        if len(word) <= _LONGEST_STEMMED * 2 and _MIXED_CASE.search(word)
        for part in _CAMEL_PART.findall(word)
    ]


def encode_texts(texts: list[str]) -> tuple[bytes, list[int]]:
    """Return the tokens of all ``texts`` in one buffer, and the size of each text's part with one separator.

    In the buffer every token has a space before and after it. The common case, ASCII without camelCase,
    costs a few passes of C code over everything together.
    """
    together = " ".join(["", *texts, ""])
    if not together.isascii():
        parts = [_ascii_parts(text) if text.isascii() else _folded_parts(text) for text in texts]
        sizes = [len(part) + 1 if part.isascii() else len(part.encode()) + 1 for part in parts]
        return " ".join(["", *parts, ""]).encode().translate(_ASCII_LOWER), sizes
    raw = together.encode()
    if _has_camel(raw):
        texts = [_ascii_parts(text) for text in texts]
        raw = " ".join(["", *texts, ""]).encode()
    return raw.translate(_ASCII_LOWER), [len(text) + 1 for text in texts]


def _has_camel(raw: bytes) -> bool:
    shape = raw.translate(_CASE_SHAPE)
    return b"aA" in shape or b"AAa" in shape


def _ascii_parts(text: str) -> str:
    """Return ``text`` with the parts of its camelCase words after it."""
    return f"{text} {' '.join(camel_parts(text))}" if _has_camel(text.encode()) else text


def _folded_parts(text: str) -> str:
    parts = camel_parts(text)
    return f"{fold(text)} {' '.join(parts)}" if parts else fold(text)


class Stems:
    """Stems of tokens, remembered. One per index: the stemmers keep state."""

    def __init__(self) -> None:
        self._stemmers: dict[str, Any] = {}
        self._known: dict[str, str] = {}

    def __call__(self, token: str) -> str:
        """Return the stem of ``token``; tokens with digits, of other scripts or very long are their own."""
        stem = self._known.get(token)
        if stem is None:
            stem = self._known[token] = self._stem(token)
        return stem

    def _stem(self, token: str) -> str:
        if len(token) > _LONGEST_STEMMED or len(token) < 3:
            return token
        if token.isascii():
            return str(self._stemmer("english").stemWord(token)) if token.isalpha() else token
        if _CYRILLIC.match(token):
            return str(self._stemmer("russian").stemWord(token))
        if _GREEK.match(token):
            return str(self._stemmer("greek").stemWord(token))
        return token

    def _stemmer(self, language: str) -> Any:
        found = self._stemmers.get(language)
        if found is None:
            found = self._stemmers[language] = import_module("Stemmer").Stemmer(language)
        return found


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One scored word of a query. ``optional`` ones are dropped when the bundle does not have them."""

    token: str
    stem: str
    optional: bool = False

    @property
    def scan_prefix(self) -> str:
        """What every form of the word starts with: the stem without a last letter that may change."""
        stem = self.stem if self.token.startswith(self.stem[:-1]) else self.token
        return stem[:-1] if len(stem) > 2 and stem[-1] in "iey" and stem.isascii() else stem


@dataclass(frozen=True, slots=True)
class Query:
    """A query as it is scored: single words, and sequences of tokens that count more when found together."""

    text: str
    tokens: tuple[str, ...]
    terms: tuple[QueryTerm, ...]
    phrases: tuple[tuple[str, ...], ...]


def read_query(text: str, stems: Stems) -> Query:
    """Return ``text`` as a query.

    Stop words count only where there is nothing else. Phrases are: the whole query, what stands in double
    quotes, and each identifier, path or number that has several tokens.
    """
    words: list[tuple[str, bool]] = []
    phrases: list[tuple[str, ...]] = []
    tokens: list[str] = []
    for chunk in text.split():
        own = fold(chunk).split()
        tokens.extend(own)
        parts = camel_parts(chunk)
        words.extend((token, bool(parts)) for token in own)
        words.extend((part, False) for part in parts)
        for sequence in (own, parts):
            if len(sequence) > 1:
                phrases.append(tuple(sequence))
    for quoted in _QUOTED.findall(text):
        if len(sequence := fold(quoted).split()) > 1:
            phrases.append(tuple(sequence))
    if 1 < len(tokens) <= _LONGEST_PHRASE:
        phrases.append(tuple(tokens))
    content = [word for word in words if word[0] not in STOP_WORDS and (len(word[0]) > 1 or _says(word[0]))]
    terms: dict[str, QueryTerm] = {}
    for token, optional in content or words:
        stem = stems(token)
        if stem not in terms or (terms[stem].optional and not optional):
            terms[stem] = QueryTerm(token, stem, optional)
    kept = tuple(dict.fromkeys(phrase[:_LONGEST_PHRASE] for phrase in phrases))
    return Query(text, tuple(dict.fromkeys(tokens)), tuple(terms.values()), kept)


def _says(character: str) -> bool:
    return character.isdigit() or not character.isascii()
