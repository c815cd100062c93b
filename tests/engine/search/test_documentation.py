from __future__ import annotations

import re
from pathlib import Path

from openknowledge.engine import limits
from openknowledge.engine.search.expansion import BACKLINK, OUTGOING
from openknowledge.engine.search.scoring import CANDIDATE_PAGES, WEIGHTS

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "search.md").read_text(encoding="utf-8")
NAMES = {
    "title": "title",
    "description": "description",
    "path": "path",
    "other frontmatter": "metadata",
    "heading": "heading",
    "headings above": "headingPath",
    "section text": "body",
    "page text": "text",
}


def test_the_documented_weights_are_those_in_use() -> None:
    rows = re.findall(r"\|? ([a-z ]+?) \| ([0-9.]+) \| (0\.[0-9]+) \|", TEXT)
    documented = {
        NAMES[name]: (float(weight), float(length)) for name, weight, length in rows if name in NAMES
    }
    assert documented == {name: (own.weight, own.length) for name, own in WEIGHTS.fields.items()}


def test_the_documented_formulas_have_the_constants_in_use() -> None:
    assert f"x / ({WEIGHTS.saturation} + x)" in TEXT
    assert f"the {CANDIDATE_PAGES} best" in TEXT
    assert f"1 + {WEIGHTS.coverage} * coverage" in TEXT
    assert WEIGHTS.coverage == WEIGHTS.page_coverage
    assert f"{WEIGHTS.scale:g} * (section + {WEIGHTS.page_share} * page), * {WEIGHTS.secondary_page}" in TEXT
    assert f"lexical score + {WEIGHTS.vector} * similarity" in TEXT
    assert WEIGHTS.inherited == 0.1
    assert f"gets {OUTGOING} of its score" in TEXT
    assert f"a result {BACKLINK}" in TEXT


def test_the_documented_bounds_are_those_in_use() -> None:
    assert f"question | {limits.TEXT_QUERY_RUNES:,} characters; the first {limits.SEARCH_TERMS}" in TEXT
    assert f"and {limits.SEARCH_PHRASES} phrases" in TEXT
    assert f"up to {limits.SEARCH_FUZZY_RUNES} letters; the {limits.SEARCH_NEAR_WORDS} most" in TEXT
    assert f"1 to {limits.RESULTS:,}; {limits.SEARCH_RESULTS} for" in TEXT
    assert f"1 to {limits.SEARCH_BUDGET:,} tokens" in TEXT
    assert f"1 to {limits.EMBEDDING_DIMENSIONS:,} dimensions" in TEXT
