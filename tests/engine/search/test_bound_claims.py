from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.bundle.bundle import Bundle, bundle_from_files
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.search.index import SearchIndex
from openknowledge.engine.search.packing import pack_context
from openknowledge.engine.search.render import render_context, render_matches
from openknowledge.engine.search.results import bound_claims

ANCHORS = ["alpha", "beta", "gamma", "deep", "marked", "nowhere", "top"]
TEXT = """# Zebra

zebra

## Alpha

zebra

<a id="marked"></a>

## Beta

zebra

#### Deep

zebra

## Gamma

zebra
"""
OWNERS = {
    "zebra": "zebra",
    "top": "zebra",
    "alpha": "alpha",
    "marked": "beta",
    "beta": "beta",
    "deep": "beta",
}
OWNERS |= {"gamma": "gamma"}


def claim(identifier: str, anchor: str) -> dict[str, Any]:
    found = {"id": identifier, "subject": "x:a", "predicate": "x:b", "object": {"value": 5}}
    found |= {"status": "supported", "trustTier": "unverified", "stale": True}
    return {**found, "sectionRef": f"#{anchor}"} if anchor else found


def bundle() -> Bundle:
    return bundle_from_files(Path("/b"), [("one.md", TEXT.encode()), ("two.md", TEXT.encode())])


placements = st.dictionaries(
    st.integers(0, 9).map(lambda n: f"x:claim/{n}"),
    st.tuples(st.sampled_from(["one.md", "two.md"]), st.sampled_from(["", *ANCHORS])),
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(placements)
def test_a_section_shows_its_own_claims_and_those_of_its_whole_page(
    placed: dict[str, tuple[str, str]],
) -> None:
    def profiles(page: Document) -> dict[str, Any]:
        claims = [claim(name, anchor) for name, (path, anchor) in placed.items() if path == page.path]
        return {"profile": "openknowledge.claims/v1", "claims": claims, "claimRefs": []}

    index = SearchIndex(bundle())
    packet = pack_context(index, "zebra", budget=10_000, limit=50, profiles=profiles)
    assert len(packet["sources"]) == 8
    for source in [*packet["sources"], *index.search("zebra", limit=50, profiles=profiles)["results"]]:
        shown = {found["id"] for found in source["claimProfile"]["claims"]}
        own = source["id"].partition("#")[2]
        expected = {
            name
            for name, (path, anchor) in placed.items()
            if path == source["path"] and (not anchor or OWNERS.get(anchor) == own)
        }
        assert shown == expected


def test_a_page_without_claims_has_no_profile() -> None:
    result = SearchIndex(bundle()).search("zebra", profiles=lambda _page: None)["results"][0]
    assert "claimProfile" not in result


def test_other_parts_of_the_profile_are_kept() -> None:
    section = next(bundle().sections)
    profile = {"profile": "p", "claimRefs": ["x:y"], "claims": [claim("x:c", "gamma")]}
    assert bound_claims(profile, section) == {"profile": "p", "claimRefs": ["x:y"], "claims": []}


def test_claims_are_shown_to_people_with_status_and_staleness() -> None:
    index = SearchIndex(bundle())

    def profiles(_page: Document) -> dict[str, Any]:
        return {"claims": [claim("x:c", "")]}

    shown = "x:c: x:a x:b 5 (supported, unverified, stale)"
    assert shown in render_context(pack_context(index, "zebra", profiles=profiles))
    assert shown in render_matches(index.search("zebra", profiles=profiles))
