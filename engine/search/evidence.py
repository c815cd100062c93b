"""What each word of a query counts for: its forms, longer words, and near misses where nothing else is."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from openknowledge.engine import limits
from openknowledge.engine.search.analysis import Query, QueryTerm
from openknowledge.engine.search.hits import TextSource

C = TypeVar("C", bound=Sized)
Kind = Literal["exact", "prefix", "part", "compound", "fuzzy", "phrase"]

# How much of an occurrence other than the word's own forms counts. Powers of two, so that sums of counts are
# exact in floating point and do not depend on the order in which they are made.
LONGER_BESIDE_EXACT = 0.0625
LONGER_ALONE = 0.5
PART = 0.5
NEAR = (1.0, 0.5, 0.25)
PHRASE_WEIGHT = 1.0


@dataclass(frozen=True, slots=True)
class Evidence(Generic[C]):
    """One word or phrase of a query as the bundle has it.

    ``counts`` are pairs of counts and what one occurrence weighs; ``forms`` gives the weight of each token.
    A phrase adds to the score with ``weight`` and is not asked for when coverage is computed.
    """

    term: str
    kind: Kind
    counts: tuple[tuple[C, float], ...]
    forms: Mapping[bytes, float]
    weight: float = 1.0

    @property
    def is_phrase(self) -> bool:
        """Whether this is a sequence of words."""
        return self.kind == "phrase"


def gather(query: Query, source: TextSource[C], *, fuzzy: bool) -> list[Evidence[C]]:
    """Return the evidence for the words of ``query`` in order, then its phrases, where there is any."""
    found: list[Evidence[C]] = []
    for term in query.terms[: limits.SEARCH_TERMS]:
        found.extend(_word(term, source, fuzzy=fuzzy))
    for phrase in query.phrases[: limits.SEARCH_PHRASES]:
        within = _holding(phrase, query, found)
        if within is None:
            continue
        counts = source.phrase(phrase, within)
        if len(counts):
            found.append(Evidence(" ".join(phrase), "phrase", ((counts, 1.0),), {}, PHRASE_WEIGHT))
    return found


def _holding(phrase: tuple[str, ...], query: Query, found: list[Evidence[C]]) -> list[C] | None:
    """Return the counts of the scored words in ``phrase``: it can only be where they all are.

    ``None`` when one of them is nowhere.
    """
    known = {form.decode(): item for item in found for form, weight in item.forms.items() if weight == 1.0}
    scored = {term.token for term in query.terms[: limits.SEARCH_TERMS]}
    within = []
    for token in dict.fromkeys(phrase):
        if token in known:
            within.append(known[token].counts[0][0])
        elif token in scored:
            return None
    return within


def _word(term: QueryTerm, source: TextSource[C], *, fuzzy: bool) -> list[Evidence[C]]:
    hits = source.word(term)
    if len(hits.exact):
        forms = dict.fromkeys(hits.forms, 1.0)
        if not len(hits.longer):
            return [Evidence(term.token, "exact", ((hits.exact, 1.0),), forms)]
        forms.update(dict.fromkeys(hits.longer_forms, LONGER_BESIDE_EXACT))
        counts = ((hits.exact, 1.0), (hits.longer, LONGER_BESIDE_EXACT))
        return [Evidence(term.token, "exact", counts, forms)]
    if len(hits.longer):
        forms = dict.fromkeys(hits.longer_forms, LONGER_ALONE)
        return [Evidence(term.token, "prefix", ((hits.longer, LONGER_ALONE),), forms)]
    if term.optional or not fuzzy or len(term.token) > limits.SEARCH_FUZZY_RUNES:
        return []
    return _near(term, source)


def _near(term: QueryTerm, source: TextSource[C]) -> list[Evidence[C]]:
    """Return evidence for a word that no token starts with: what it is glued from, part of, or close to."""
    vocabulary = source.vocabulary
    word = term.token
    if inside := vocabulary.containing(word):
        return [Evidence(word, "part", ((source.forms(inside), PART),), dict.fromkeys(inside, PART))]
    near = vocabulary.near(word)
    if not near or near[0][1] > 1:
        parts = vocabulary.split(word)
        if parts:
            return [
                Evidence(part.decode(), "compound", ((source.forms([part]), 1.0),), {part: 1.0})
                for part in parts
            ]
    if not near:
        return []
    counts = tuple((source.forms([form]), NEAR[distance]) for form, distance in near)
    return [Evidence(word, "fuzzy", counts, {form: NEAR[distance] for form, distance in near})]
