from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.search.index import SearchIndex
from openknowledge.engine.search.render import describe_trust, render_matches
from openknowledge.engine.search.scoring import WEIGHTS, idf
from openknowledge.engine.search.snippets import FormMatcher, highlight, snippet

NOW = fixed_clock(datetime(2026, 11, 30, tzinfo=UTC))


def test_a_result_names_its_section_exactly(bundle: Bundle) -> None:
    result = SearchIndex(bundle, clock=NOW).search("fifteen minutes", no_expand=True)["results"][0]
    section = next(s for s in bundle.sections if s.id == "guides/tokens#lifetime")
    assert result["locator"] == bundle.locator(section)
    assert result["contentSha256"] == section.content_sha256
    assert result["headingPath"] == ["Access tokens", "Lifetime"]
    assert (result["lineStart"], result["lineEnd"]) == (section.line_start, section.line_end)
    assert result["estimatedTokens"] == section.estimated_tokens
    assert (result["kind"], result["type"], result["title"]) == ("concept", "Guide", "Access tokens")
    assert result["relation"] == "direct"


def test_matches_name_the_fields_that_hold_a_word(bundle: Bundle) -> None:
    result = SearchIndex(bundle).search("token lifetime", no_expand=True)["results"][0]
    assert result["matches"] == [
        "body", "description", "filename", "heading", "headingPath", "metadata", "path", "title", "vector",
    ]  # fmt: skip


def test_a_result_says_how_far_its_page_can_be_trusted(bundle: Bundle) -> None:
    index = SearchIndex(bundle, clock=NOW)
    tokens = index.search("fifteen", no_expand=True)["results"][0]
    assert (tokens["trustTier"], tokens["status"], tokens["stale"]) == ("human-reviewed", "stable", False)
    keys = index.search("ninety", no_expand=True)["results"][0]
    assert (keys["trustTier"], keys["stale"]) == ("unverified", True)


def test_a_verification_older_than_the_text_is_outdated(make_bundle: object) -> None:
    text = (
        "---\ntitle: T\ngenerated: { by: a/1, at: 2026-03-01T00:00:00Z }\n"
        "verified: { by: human:b, at: 2026-02-01T00:00:00Z }\n---\n# Token\n\nA token.\n"
    )
    result = SearchIndex(make_bundle({"a.md": text})).search("token")["results"][0]  # type: ignore[operator]
    assert result["verificationOutdated"] is True
    assert "verification outdated" in describe_trust(result)


def test_the_score_of_one_word_is_the_documented_formula(make_bundle: object) -> None:
    files = {"a.md": "# One\n\nzebra zebra lion\n", "b.md": "# Two\n\nlion\n", "c.md": "# Six\n\ntiger owl\n"}
    result = SearchIndex(make_bundle(files)).search("zebra", no_expand=True)["results"][0]  # type: ignore[operator]
    body = len("# One\n\nzebra zebra lion") + 1
    texts = [len("# One\n\nzebra zebra lion\n") + 1, len("# Two\n\nlion\n") + 1]
    average = sum([*texts, len("# Six\n\ntiger owl\n") + 1]) / 3

    def saturated(field: str, length: int, usual: float) -> float:
        weight = WEIGHTS.fields[field]
        x = 2 * weight.weight / (1 - weight.length + weight.length * length / usual)
        return idf(3, 1) * x / (WEIGHTS.saturation + x)

    section = saturated("body", body, 512.0) * (1 + WEIGHTS.coverage)
    page = saturated("text", texts[0], average) * (1 + WEIGHTS.page_coverage)
    expected = WEIGHTS.scale * (section + WEIGHTS.page_share * page)
    assert result["lexicalScore"] == pytest.approx(expected, abs=0.005)


def test_idf_is_that_of_bm25() -> None:
    assert idf(10, 3) == math.log(1 + 7.5 / 3.5)


def test_rerank_adds_a_twentieth_of_the_similarity(bundle: Bundle) -> None:
    for result in SearchIndex(bundle).search("access token", no_expand=True)["results"]:
        similarity = result.get("vectorScore", 0.0)
        assert result["rerankScore"] == pytest.approx(result["lexicalScore"] + 0.05 * similarity, abs=0.00501)
        assert result["score"] == result["rerankScore"]


def test_pages_that_only_list_others_count_less(bundle: Bundle) -> None:
    explained = SearchIndex(bundle).search("home", no_expand=True, explain=True)["results"][0]
    assert explained["path"] == "index.md"
    assert explained["explain"]["pageFactor"] == WEIGHTS.secondary_page


def test_the_explanation_adds_up(bundle: Bundle) -> None:
    index = SearchIndex(bundle)
    for query in ("rotate keys", "access token lifetime", "rotaton machne", '"short-lived"'):
        for result in index.search(query, explain=True, no_expand=True)["results"]:
            found = result["explain"]
            score = found["sectionScore"] + found["pageShare"] * found["pageScore"]
            assert result["lexicalScore"] == pytest.approx(score * 10 * found["pageFactor"], abs=0.01)
            own = sum(term["section"] for term in found["terms"])
            assert own <= found["sectionScore"] + 0.001 <= own * (1 + WEIGHTS.coverage) + 0.01


def test_the_explanation_names_words_forms_fields_and_what_is_missing(bundle: Bundle) -> None:
    found = SearchIndex(bundle).search("rotaton qqqqqqqq", explain=True)["results"][0]["explain"]
    assert found["terms"][0]["kind"] == "fuzzy"
    assert found["terms"][0]["forms"] == ["rotation"]
    assert "heading" in found["terms"][0]["fields"]
    assert found["missingTerms"] == ["qqqqqqqq"]
    assert "fuzzy 'rotaton' as rotation" in found["text"]


def test_the_list_for_people_shows_place_and_trust(bundle: Bundle) -> None:
    text = render_matches(SearchIndex(bundle, clock=NOW).search("ninety days", no_expand=True))
    assert "guides/keys.md:" in text
    assert "unverified, stable, stale" in text
    assert render_matches(SearchIndex(bundle).search("qqqqqqqqq")) == "Nothing found.\n"


def test_terminal_codes_in_titles_are_not_shown(make_bundle: object) -> None:
    files = {"a.md": '---\ntitle: "red \\x1b[31m token"\n---\n# T\n\ntoken\n'}
    assert "\x1b" not in render_matches(SearchIndex(make_bundle(files)).search("token"))  # type: ignore[operator]


def test_the_snippet_is_the_first_line_that_matches() -> None:
    matches = FormMatcher([b"token"])
    text = "# Token\n\nFirst line.\n- [ ] a Token here\nlater token"
    assert snippet(text, "", matches) == "[ ] a Token here"
    assert snippet("# H\n\nnothing", "about a token", matches) == "about a token"
    assert snippet("# H\n\n1. nothing", "unrelated", matches) == "nothing"


def test_a_long_snippet_is_cut() -> None:
    line = "token " + "x" * 300
    shown = snippet(line, "", FormMatcher([b"token"]))
    assert shown == line[:179] + "..."
    assert snippet("token" + "x" * 175, "", FormMatcher([b"q"])) == "token" + "x" * 175


def test_the_highlight_is_the_visible_phrase_or_word() -> None:
    matches = FormMatcher([b"token", b"cafe"])
    assert highlight(["An Access  Token here"], "access token", matches) == "Access  Token"
    assert highlight(["see [the **Token**](token.md)"], "tokens of", matches) == "Token"
    assert highlight(["le Café"], "cafe", matches) == "Café"
    assert highlight(["none"], "x", matches) == ""
