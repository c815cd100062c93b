"""Section focus: which section of a page speaks most directly of the query's words."""

from __future__ import annotations

from collections.abc import Sequence

from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.bundle.slugs import normalise
from openknowledge.engine.search.rounding import round8

STOP_WORDS = frozenset(
    """
    a an and are as at be by do does for from how i in is it of on or the this to we what when where which who
    with
    """.split()  # noqa: SIM905 - a list of literals is not readable
)
SHORTEST_TERM = 3
LONGEST_EXTRA = 2
HEADING_WEIGHT = 0.75
SPECIFIC_HEADING = 0.02


def focus_terms(text: str) -> tuple[str, ...]:
    """Return the words of a query that count: normalised, unique, no stop words, three letters or more."""
    words = normalise(text).split()
    return tuple(
        dict.fromkeys(word for word in words if len(word) >= SHORTEST_TERM and word not in STOP_WORDS)
    )


def matches(term: str, token: str) -> bool:
    """Whether ``token`` speaks of ``term``: equal, longer, or shorter by two letters at most."""
    if token == term or token.startswith(term):
        return True
    return len(token) >= SHORTEST_TERM and len(term) - len(token) <= LONGEST_EXTRA and term.startswith(token)


def count_matches(terms: Sequence[str], text: str) -> int:
    """Return how many of ``terms`` the text speaks of."""
    lowered = text.lower() if text.isascii() else None
    wanted = [term for term in terms if lowered is None or _start(term) in lowered]
    if not wanted:
        return 0
    tokens = set(normalise(text).split())
    return sum(1 for term in wanted if term in tokens or any(matches(term, token) for token in tokens))


def _start(term: str) -> str:
    """Return what every token that matches ``term`` starts with."""
    return term[: max(SHORTEST_TERM, len(term) - LONGEST_EXTRA)]


def focus_score(terms: Sequence[str], section: Section) -> float:
    """Return how directly ``section`` speaks of ``terms``: 0 without a match in its text.

    round8(body matches / terms + 0.75 * heading matches / terms + 0.02); the last two only under a heading
    that is below another.
    """
    if not terms:
        return 0.0
    body = count_matches(terms, section.text)
    if not body:
        return 0.0
    score = body / len(terms)
    if len(section.heading_path) > 1:
        score += HEADING_WEIGHT * count_matches(terms, section.heading) / len(terms) + SPECIFIC_HEADING
    return round8(score)
