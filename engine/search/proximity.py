"""How closely the words of a query stand together in a section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openknowledge.engine.search.corpus import Corpus
from openknowledge.engine.search.evidence import Evidence

WINDOW = 3
_LONGEST_TEXT = 65_536


def adjacency(
    corpus: Corpus, section: int, evidence: Sequence[Evidence[Any]], forms: Mapping[bytes, int]
) -> float:
    """Return which share of the query's neighbouring words stand within three tokens of each other.

    Looks at the heading and the text of the section. 0 for a query of one word.
    """
    words = sum(not item.is_phrase for item in evidence)
    if words < 2:
        return 0.0
    found = 0
    pairs: set[int] = set()
    for name in ("heading", "body"):
        last: dict[int, int] = {}
        for at, token in enumerate(corpus.unit_text(name, section)[:_LONGEST_TEXT].split()):
            word = forms.get(token)
            if word is None:
                continue
            for other, pair in ((word - 1, word - 1), (word + 1, word)):
                if pair not in pairs and at - last.get(other, -WINDOW - 1) <= WINDOW:
                    pairs.add(pair)
                    found += 1
            last[word] = at
    return found / (words - 1)
