"""Words of a vocabulary that a misspelt, glued or partial word may mean. All work is bounded."""

from __future__ import annotations

from collections.abc import Mapping

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


def near_words(word: str, vocabulary: Mapping[bytes, int]) -> list[tuple[bytes, int]]:
    """Return the words within the allowed distance with their distances: nearest, then most frequent first.

    When any are at the smallest distance found, those further away are left out.
    """
    most = allowed_distance(word)
    if most == 0 or word.isdigit():
        return []
    size = len(word)
    letters = frozenset(word)
    candidates: list[tuple[int, int, bytes]] = []
    for form in vocabulary:
        # UTF-8 has up to four bytes for a letter: the length in bytes bounds the number of letters
        if len(form) < size - most or len(form) > (size + most) * 4:
            continue
        text = form.decode()
        if abs(len(text) - size) > most or len(letters.difference(text)) > most or text.isdigit():
            continue
        distance = edit_distance(word, text, most)
        if distance <= most:
            candidates.append((distance, -vocabulary[form], form))
    candidates.sort()
    nearest = candidates[0][0] if candidates else 0
    return [
        (form, distance)
        for distance, _, form in candidates[: limits.SEARCH_NEAR_WORDS]
        if distance == nearest
    ]


def contained(word: str, vocabulary: Mapping[bytes, int]) -> list[bytes]:
    """Return the most frequent words that hold ``word`` inside or at their end."""
    if len(word) < SHORTEST_CONTAINED and word.isascii():
        return []
    part = word.encode()
    found = sorted((-count, form) for form, count in vocabulary.items() if part in form)
    return [form for _, form in found[: limits.SEARCH_NEAR_WORDS]]


def split_compound(word: str, vocabulary: Mapping[bytes, int]) -> list[bytes]:
    """Return the two words of the vocabulary that ``word`` is glued from: the most frequent such pair."""
    best: tuple[int, list[bytes]] | None = None
    for at in range(SHORTEST_COMPOUND_PART, len(word) - SHORTEST_COMPOUND_PART + 1):
        left, right = word[:at].encode(), word[at:].encode()
        count = min(vocabulary.get(left, 0), vocabulary.get(right, 0))
        if count and (best is None or count > best[0]):
            best = (count, [left, right])
    return best[1] if best else []
