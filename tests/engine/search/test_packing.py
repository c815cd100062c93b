from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.bundle.bundle import Bundle, bundle_from_files
from openknowledge.engine.bundle.sections import estimate_tokens
from openknowledge.engine.errors import UsageError
from openknowledge.engine.search.corpus import key_of, page_of
from openknowledge.engine.search.expansion import Candidate
from openknowledge.engine.search.index import SearchIndex
from openknowledge.engine.search.packing import (
    Wanted,
    hierarchy,
    pack,
    pack_context,
    packing_order,
    truncate,
)
from openknowledge.engine.search.render import render_context


def sized(sizes: dict[str, int]) -> SearchIndex:
    """An index of one section per name; its text has exactly that many tokens, in lines of two."""
    files = []
    for name, tokens in sizes.items():
        text = f"# {name}\n\n"
        files.append((f"{name}.md", (text + "word ab\n" * 500)[: tokens * 4].encode()))
    return SearchIndex(bundle_from_files(Path("/bundle"), files))


def packed(sizes: dict[str, int], priorities: list[int], budget: int) -> list[tuple[str, int]]:
    index = sized(sizes)
    order = [Wanted(Candidate(key_of(at, 0), 1.0), priority) for at, priority in enumerate(priorities)]
    ranking = index.rank("word")
    return [
        (index.section(candidate.section).path[:-3], estimate_tokens(text))
        for candidate, text in pack(ranking, order, budget)
    ]


def test_what_fits_is_taken_whole() -> None:
    assert packed({"a": 10, "b": 20}, [2, 2], 30) == [("a", 10), ("b", 20)]


def test_a_seed_that_is_too_big_is_cut_before_lesser_sections() -> None:
    assert packed({"a": 10, "b": 50, "c": 10, "d": 5}, [2, 2, 2, 0], 30) == [("a", 10), ("c", 10), ("b", 9)]


def test_a_companion_that_is_too_big_is_cut_and_ends_the_packing() -> None:
    assert packed({"a": 10, "b": 50, "c": 5}, [2, 1, 0], 30) == [("a", 10), ("b", 19)]


def test_a_lesser_section_that_is_too_big_waits_for_the_end() -> None:
    assert packed({"a": 10, "b": 50, "c": 5}, [2, 0, 0], 30) == [("a", 10), ("c", 5), ("b", 15)]


def test_nothing_is_cut_into_no_room() -> None:
    assert packed({"a": 10, "b": 50}, [2, 0], 10) == [("a", 10)]


def test_truncation_keeps_whole_lines() -> None:
    assert truncate("one two\nthree four\nfive", 5) == "one two\nthree four"


def test_truncation_of_a_long_line_keeps_four_characters_for_a_token() -> None:
    assert truncate("x" * 100, 3) == "x" * 12


def test_the_order_is_seeds_companions_context_coverage_rest(make_bundle: object) -> None:
    page = "# Zebra\n\nzebra\n" + "".join(f"\n## Part {n}\n\nzebra\n" for n in range(8))
    files = {
        "a.md": page,
        "b.md": "# Other\n\nlion\n",
        "c.md": "# More\n\nzebra zebra\n\n### Deep\n\nnothing\n",
    }
    index = SearchIndex(make_bundle(files))  # type: ignore[operator]
    ranking, found = index.ranked("zebra lion", limit=12)
    order = packing_order(ranking, found, no_expand=False)
    assert [wanted.candidate.section for wanted in order[:5]] == [c.section for c in found[:5]]
    assert [wanted.priority for wanted in order[:5]] == [2] * 5
    top_page = page_of(found[0].section)
    companions = [w for w in order[5:7] if w.priority == 1]
    assert all(page_of(w.candidate.section) == top_page for w in companions)
    context = [w for w in order if w.candidate.relation == "document-context"]
    assert len(context) <= 4
    assert all(w.priority == 1 for w in context)
    assert len({w.candidate.section for w in order}) == len(order)


def test_context_is_the_closest_section_above_and_two_below(bundle: Bundle) -> None:
    index = SearchIndex(bundle)
    names = {index.section(key).id: key for key in index.corpus.section_keys}
    above_and_below = [index.section(n).id for n in hierarchy(index, names["guides/keys#rotation"])]
    assert above_and_below == ["guides/keys#signing-keys", "guides/keys#emergency", "guides/keys#planned"]


def test_context_has_four_fifths_of_its_seeds_score(bundle: Bundle) -> None:
    packet = pack_context(SearchIndex(bundle), "ninety days", limit=1)
    seed = next(source for source in packet["sources"] if source["id"] == "guides/keys#rotation")
    context = [source for source in packet["sources"] if source["relation"] == "document-context"]
    assert context
    assert {source["score"] for source in context} == {round(seed["score"] * 0.8 + 1e-9, 2)}


def test_no_context_is_added_when_links_are_not_followed(bundle: Bundle) -> None:
    packet = pack_context(SearchIndex(bundle), "ninety days", no_expand=True)
    assert {source["relation"] for source in packet["sources"]} == {"direct"}


def test_a_cut_source_still_names_the_whole_section(bundle: Bundle) -> None:
    packet = pack_context(SearchIndex(bundle), "ninety days", budget=1)
    (source,) = packet["sources"]
    section = next(section for section in bundle.sections if section.id == source["id"])
    assert source["markdown"] == section.text[:4]
    assert source["truncated"] is True
    assert source["contentSha256"] == section.content_sha256
    assert source["estimatedTokens"] == packet["estimatedTokens"] == 1


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_below_one_is_refused(bundle: Bundle, budget: int) -> None:
    with pytest.raises(UsageError, match="budget must be at least 1"):
        pack_context(SearchIndex(bundle), "token", budget=budget)


def test_the_packet_for_people_shows_where_each_source_is_from(bundle: Bundle) -> None:
    packet = pack_context(SearchIndex(bundle), "fifteen minutes", limit=1, no_expand=True)
    text = render_context(packet)
    source = packet["sources"][0]
    assert f"{source['path']}:{source['lineStart']}-{source['lineEnd']}" in text
    assert source["locator"] in text
    assert "human-reviewed, stable, current" in text
    assert source["markdown"] in text


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(2, 80), st.sampled_from([2, 2, 1, 0])), min_size=1, max_size=12),
    st.integers(1, 150),
)
def test_a_packet_never_exceeds_its_budget(items: list[tuple[int, int]], budget: int) -> None:
    items.sort(key=lambda item: -item[1])
    sizes = {f"p{at:02d}": size for at, (size, _) in enumerate(items)}
    taken = packed(sizes, [priority for _, priority in items], budget)
    assert sum(tokens for _, tokens in taken) <= budget
    assert len({name for name, _ in taken}) == len(taken)
