"""Replies have a size that an agent can use, and say what they leave out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine import limits
from openknowledge.mcp.replies import (
    ENVELOPE_BYTES,
    cited_issues,
    fit,
    fits,
    tool_result,
    wire_size,
    with_shorter_profiles,
)
from openknowledge.mcp.wire import encode

from tests.mcp.conftest import Wire, page

KIB = 1024
TEXTS = st.text(max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


@given(st.dictionaries(TEXTS, VALUES, max_size=6))
@settings(deadline=None)
def test_the_size_on_the_wire_is_never_underestimated(structured: dict[str, Any]) -> None:
    assert len(encode(tool_result(structured))) <= wire_size(structured) + ENVELOPE_BYTES


def result(**lists: int) -> dict[str, Any]:
    return {
        "root": "/",
        **{
            name: [{"path": f"{number}.md", "x": "y" * 50} for number in range(count)]
            for name, count in lists.items()
        },
    }


def test_what_fits_is_left_alone() -> None:
    small = result(matches=5)
    assert fit(small, ("matches",), "ask again") is small


def test_the_least_important_list_is_shortened_first() -> None:
    found = fit(result(issues=200, matches=200), ("issues", "matches"), "ask again", limit=40 * KIB)
    assert found["truncation"]["lists"][0]["field"] == "issues"
    assert len(found["matches"]) == 200 or found["issues"] == []
    assert found["truncation"]["rest"] == "ask again"


def test_the_next_list_is_shortened_when_the_first_is_empty() -> None:
    found = fit(result(issues=3, matches=2000), ("issues", "matches"), "ask again", limit=40 * KIB)
    assert [cut["field"] for cut in found["truncation"]["lists"]] == ["issues", "matches"]
    assert 0 < len(found["matches"]) < 2000


def test_the_beginning_of_a_list_is_kept_and_its_length_is_told() -> None:
    whole = result(matches=2000)
    found = fit(whole, ("matches",), "ask again", limit=40 * KIB)
    shown = len(found["matches"])
    assert found["matches"] == whole["matches"][:shown]
    assert found["truncation"]["lists"] == [{"field": "matches", "shown": shown, "total": 2000}]


def test_a_nested_list_is_shortened_in_its_place() -> None:
    whole = {"impact": result(documents=2000), "other": 1}
    found = fit(whole, ("impact.documents", "impact.nowhere", "missing.list"), "ask again", limit=40 * KIB)
    assert len(found["impact"]["documents"]) < 2000
    assert len(whole["impact"]["documents"]) == 2000  # type: ignore[index]


@given(st.integers(0, 400), st.integers(0, 400), st.integers(4, 64))
@settings(deadline=None)
def test_whatever_is_shortened_fits(first: int, second: int, size: int) -> None:
    found = fit(result(a=first, b=second), ("a", "b"), "ask again", limit=size * KIB)
    assert fits(found, size * KIB)
    assert len(encode(tool_result(found))) <= size * KIB


def test_issues_are_those_of_the_cited_pages_with_their_number() -> None:
    issues = [{"path": f"{number % 3}.md", "message": str(number)} for number in range(90)]
    found = cited_issues(issues, ["1.md", "1.md", "9.md"])
    assert found["issuesTotal"] == 30
    assert len(found["issues"]) == limits.REPLY_ISSUES
    assert {issue["path"] for issue in found["issues"]} == {"1.md"}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A server of a bundle with long pages in a script of three bytes a letter, and very many issues."""
    root = tmp_path_factory.mktemp("large")
    (root / "index.md").write_text("# Index\n")
    words = "海象 在冰上睡覺 " * 6
    for number in range(40):
        sections = "\n".join(f"## 海象 {part}\n\n" + "\n".join([words] * 40) + "\n" for part in range(8))
        (root / f"walrus-{number:02}.md").write_text(page(f"海象 {number}", sections))
    links = "\n".join(f"* [broken {number}](missing/page-{number}.md)" for number in range(4000))
    (root / "broken.md").write_text(page("Broken lantern", "The broken lantern.\n\n" + links))
    (root / "wrong.md").write_text("---\ntitle: no type\n---\n\n# Wrong\n")
    wire = Wire(root)
    wire.initialize()
    yield wire
    wire.kill()
    shutil.rmtree(root)


def raw(wire: Wire, name: str, arguments: dict[str, Any]) -> bytes:
    wire.send(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    )
    line = wire.lines.get(timeout=60)
    assert line is not None
    return line


def test_the_largest_packet_fits_into_a_reply(large: Wire) -> None:
    line = raw(large, "openknowledge_search", {"query": "海象", "budget": 32_000, "limit": 50})
    assert len(line) <= 256 * KIB
    found = json.loads(line)["result"]["structuredContent"]
    assert found["budget"] == 32_000
    assert len(found["sources"]) > 5
    assert "ask more narrowly" in found["truncation"]["rest"]
    assert found["estimatedTokens"] == sum(source["estimatedTokens"] for source in found["sources"])


def test_a_usual_packet_is_whole(large: Wire) -> None:
    line = raw(large, "openknowledge_search", {"query": "海象"})
    assert len(line) < 64 * KIB
    assert "truncation" not in json.loads(line)["result"]["structuredContent"]


def test_a_search_reply_carries_twenty_issues_of_its_pages_and_their_number(large: Wire) -> None:
    found = json.loads(raw(large, "openknowledge_search", {"query": "broken lantern"}))["result"][
        "structuredContent"
    ]
    assert found["sources"][0]["path"] == "broken.md"
    assert len(found["issues"]) == 20
    assert found["issuesTotal"] == 4000
    assert {issue["path"] for issue in found["issues"]} == {"broken.md"}


def test_a_search_reply_without_issues_says_so(large: Wire) -> None:
    found = json.loads(raw(large, "openknowledge_search", {"query": "海象"}))["result"]["structuredContent"]
    assert (found["issues"], found["issuesTotal"]) == ([], 0)


def test_a_long_validation_report_is_cut_keeps_its_errors_and_its_numbers_and_says_how_to_get_the_rest(
    large: Wire,
) -> None:
    line = raw(large, "openknowledge_validate", {})
    assert 256 * KIB < len(line) <= 1024 * KIB
    found = json.loads(line)["result"]["structuredContent"]
    assert found["summary"]["issueCount"] > 4000
    assert len(found["errors"]) == found["summary"]["errorCount"] > 0
    assert len(found["warnings"]) < found["summary"]["warningCount"]
    cuts = {cut["field"]: cut for cut in found["truncation"]["lists"]}
    assert cuts["warnings"] == {
        "field": "warnings",
        "shown": len(found["warnings"]),
        "total": found["summary"]["warningCount"],
    }
    assert cuts["issues"]["shown"] == len(found["issues"]) == len(found["errors"]) + len(found["warnings"])
    assert found["truncation"]["rest"].startswith("run: okn validate ")


def test_a_short_validation_report_is_whole(server: Wire) -> None:
    found = server.tool("openknowledge_validate")["result"]["structuredContent"]
    assert "truncation" not in found
    assert len(found["issues"]) == found["summary"]["issueCount"]


def test_text_and_structure_of_a_result_are_the_same(server: Wire) -> None:
    answer = server.tool("openknowledge_search", {"query": "key rotation"})["result"]
    assert [part["type"] for part in answer["content"]] == ["text"]
    assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"]
    assert ": " not in answer["content"][0]["text"][:20]
    assert set(answer) == {"content", "structuredContent"}


def test_a_page_with_hundreds_of_claims_does_not_push_out_what_was_found() -> None:
    claims = [{"id": f"ex:c/{number}", "text": "x" * 500} for number in range(400)]
    profile = {"profile": "1", "ontology": {"entities": ["y" * 90_000]}, "claims": claims, "claimRefs": []}
    found = {"sources": [{"path": "p.md", "claimProfile": profile}, {"path": "q.md"}]}
    reply = with_shorter_profiles(found, "read")
    assert fits(reply)
    assert [source["path"] for source in reply["sources"]] == ["p.md", "q.md"]
    shown = reply["sources"][0]["claimProfile"]["claims"]
    assert shown == claims[: len(shown)]
    assert reply["truncation"] == {
        "lists": [
            {"field": "sources.0.claimProfile.claims", "shown": len(shown), "total": 400},
            {"field": "sources.0.claimProfile.ontology", "shown": 0, "total": 1},
        ],
        "rest": "read",
    }


def test_claims_that_fit_are_not_shortened() -> None:
    found = {"sources": [{"claimProfile": {"claims": [{"id": "x"}], "claimRefs": []}}]}
    assert with_shorter_profiles(found, "read") == found
