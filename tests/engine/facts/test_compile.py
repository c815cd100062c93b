"""A bundle compiled to facts: rows and where each was read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from openknowledge.engine.bundle.bundle import bundle_from_files
from openknowledge.engine.facts.facts import Facts

NOW = datetime(2026, 11, 30, tzinfo=UTC)

PAGE = """---
type: Guide
title: Sign in
description: How to sign in.
resource: https://example.com/login
tags: [auth, web]
generated: { by: writer/1, at: 2026-05-01T00:00:00Z }
verified: { by: human:ann, at: 2026-06-01T00:00:00Z }
status: stable
stale_after: 2026-11-30T00:00:00Z
sources:
  - id: policy
    resource: policy.md
  - resource: https://example.com/x
---

# Sign in

Read [the policy](policy.md#scope "why") and [nothing](gone.md), see [logo](logo.png).

## Details

[Back](#sign-in) to the [root](/).
"""
POLICY = "---\ntype: Policy\n---\n\n# Policy\n\n## Scope\n\nAll.\n"


def facts_of(**files: str) -> Facts:
    named = {name.replace("__", "/").replace("_md", ".md"): text for name, text in files.items()}
    return Facts(bundle_from_files(Path("/b"), [(n, t.encode()) for n, t in named.items()]), NOW)


def sample() -> Facts:
    pages = [("guide.md", PAGE), ("policy.md", POLICY), ("index.md", "# Home\n\n* [g](guide.md)\n")]
    files = [(name, text.encode()) for name, text in pages] + [("logo.png", b"\x89PNG")]
    return Facts(bundle_from_files(Path("/b"), files), NOW)


def test_pages_become_documents_with_path_and_type() -> None:
    assert sample().rows("document") == [
        ("guide", "guide.md", "Guide"),
        ("index", "index.md", ""),
        ("policy", "policy.md", "Policy"),
    ]


def test_metadata_becomes_one_relation_each() -> None:
    facts = sample()
    assert ("guide", "stable") in facts.rows("document_status")
    assert ("guide", "human-reviewed") in facts.rows("document_trust")
    assert ("policy", "unverified") in facts.rows("document_trust")
    assert facts.rows("document_generated") == [("guide", "writer/1", "2026-05-01T00:00:00Z")]
    assert facts.rows("document_verified") == [("guide", "human:ann", "2026-06-01T00:00:00Z")]
    assert facts.rows("document_stale_after") == [("guide", "2026-11-30T00:00:00Z")]
    assert facts.rows("tag") == [("guide", "auth"), ("guide", "web")]
    assert facts.rows("document_resource") == [("guide", "https://example.com/login")]
    assert facts.rows("document_description") == [("guide", "How to sign in.")]


def test_reserved_pages_have_no_status_trust_or_staleness() -> None:
    facts = sample()
    for name in ("document_status", "document_trust", "document_stale"):
        assert "index" not in {row[0] for row in facts.rows(name)}


def test_a_page_is_stale_from_its_very_instant() -> None:
    assert ("guide", "true") in sample().rows("document_stale")


def test_sources_keep_id_and_resource_and_know_pages_of_the_bundle() -> None:
    facts = sample()
    assert facts.rows("document_source") == [
        ("guide", "", "https://example.com/x"),
        ("guide", "policy", "policy.md"),
    ]
    assert facts.rows("source_document") == [("guide", "policy", "policy")]


def test_links_lead_from_sections_to_pages_files_and_to_nothing() -> None:
    assert sample().rows("link") == [
        ("guide#details", "index", ""),
        ("guide#sign-in", "gone", ""),
        ("guide#sign-in", "logo.png", ""),
        ("guide#sign-in", "policy", "scope"),
        ("index#home", "guide", ""),
    ]


def test_section_links_lead_to_the_section_that_holds_the_anchor() -> None:
    assert sample().rows("section_link") == [
        ("guide#details", "guide#sign-in"),
        ("guide#sign-in", "policy#scope"),
    ]


def test_files_that_are_no_pages_are_assets() -> None:
    assert sample().rows("asset") == [("logo.png",)]


def test_a_subsection_knows_its_parent() -> None:
    assert sample().rows("subsection") == [("guide#details", "guide#sign-in")]


def test_a_fact_of_the_frontmatter_says_its_line() -> None:
    facts = sample()
    (place,) = facts.places("tag", ("guide", "web"))
    assert place.to_json()["lineStart"] == 6
    (source,) = facts.places("document_source", ("guide", "", "https://example.com/x"))
    assert source.to_json()["lineStart"] == 14


def test_a_fact_of_the_text_says_its_line_and_the_locator_of_its_section() -> None:
    facts = sample()
    (place,) = facts.places("link", ("guide#sign-in", "gone", ""))
    shown = place.to_json()
    section = next(s for s in facts.bundle.by_id["guide"].sections if s.id == "guide#sign-in")
    assert (shown["lineStart"], shown["lineEnd"]) == (19, 19)
    assert shown["locator"] == facts.bundle.locator(section)


def test_a_fact_read_twice_has_both_places() -> None:
    facts = facts_of(a_md="---\ntype: T\n---\n\n[x](b.md)\n\n[y](b.md)\n", b_md=POLICY)
    assert [place.line for place in facts.places("document_link", ("a", "b"))] == [5, 7]


def test_an_unknown_relation_has_no_rows() -> None:
    assert sample().rows("nothing") == []


def test_membership_is_by_relation_and_row() -> None:
    facts = sample()
    assert ("tag", ("guide", "web")) in facts
    assert ("tag", ("guide", "nope")) not in facts
