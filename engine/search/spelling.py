"""Words of a vocabulary that a misspelt, glued or partial word may mean. All work is bounded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from openknowledge.engine import limits

SHORTEST_CONTAINED = 4
SHORTEST_COMPOUND_PART = 3


def allowed_distance(word: str) -> int:
    """Return how many edits a match may be away: 0 up to 3 letters, 1 up to 7, else 2."""
    return 0 if len(word) <= 3 else 1 if len(word) <= 7 else 2


def edit_distance(left: str, right: str, most: int) -> int:
    """Return the edit distance (insert, delete, replace, swap), or ``most + 1`` when it is more."""
    if abs(len(left) - len(right)) > most:
        return most + 1
    if left == right:
        return 0
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        current = [i]
        for j, b in enumerate(right, start=1):
            cost = previous[j - 1] + (a != b)
            cost = min(cost, previous[j] + 1, current[j - 1] + 1)
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > most:
            return most + 1
        before, previous = previous, current
    return min(previous[-1], most + 1)


class Vocabulary:
    """The tokens of a corpus with how often each occurs, arranged for looking up words that are not in it."""

    def __init__(self, counts: Mapping[bytes, int]) -> None:
        self.counts = counts

    @cached_property
    def _by_length(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for form in self.counts:
            word = form.decode()
            found.setdefault(len(word), []).append(word)
        return found

    @cached_property
    def _text(self) -> bytes:
        return b" " + b" ".join(self.counts) + b" "

    def near(self, word: str) -> list[tuple[bytes, int]]:
        """Return the words at the smallest distance from ``word`` that is allowed, with that distance.

        The most frequent come first. Numbers have no near words.
        """
        most = allowed_distance(word)
        if most == 0 or word.isdigit():
            return []
        letters = frozenset(word)
        candidates: list[tuple[int, int, bytes]] = []
        for size in range(len(word) - most, len(word) + most + 1):
            for text in self._by_length.get(size, ()):
                # an edit brings in or takes away at most one letter
                if len(letters.difference(text)) > most or text.isdigit():
                    continue
                distance = edit_distance(word, text, most)
                if distance <= most:
                    most = distance
                    form = text.encode()
                    candidates.append((distance, -self.counts[form], form))
        candidates.sort()
        best = candidates[: limits.SEARCH_NEAR_WORDS]
        return [(form, distance) for distance, _, form in best if distance == most]

    def containing(self, word: str) -> list[bytes]:
        """Return the most frequent words that hold ``word`` inside or at their end."""
        if len(word) < SHORTEST_CONTAINED and word.isascii():
            return []
        part = word.encode()
        text = self._text
        found = set()
        at = text.find(part)
        while at >= 0:
            end = text.index(b" ", at)
            found.add(text[text.rindex(b" ", 0, at + 1) + 1 : end])
            at = text.find(part, end)
        best = sorted(found, key=lambda form: (-self.counts[form], form))
        return best[: limits.SEARCH_NEAR_WORDS]

    def split(self, word: str) -> list[bytes]:
        """Return the two words that ``word`` is glued from: the most frequent such pair; else nothing."""
        best: tuple[int, list[bytes]] | None = None
        for at in range(SHORTEST_COMPOUND_PART, len(word) - SHORTEST_COMPOUND_PART + 1):
            left, right = word[:at].encode(), word[at:].encode()
            count = min(self.counts.get(left, 0), self.counts.get(right, 0))
            if count and (best is None or count > best[0]):
                best = (count, [left, right])
        return best[1] if best else []
