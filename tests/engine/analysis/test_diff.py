"""Differences between two states of a bundle, case by case."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine.analysis.diff import Diff, Side, compare
from openknowledge.engine.analysis.reporting.diff import diff_markdown, diff_text
from openknowledge.engine.analysis.reporting.markdown import LONGEST
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.store import Store

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SOURCE = "sources:\n  - { id: web, resource: https://example.com/ }\n"
SUPPORT = "[{ id: web, source_ref: web }]"
Files = dict[str, str]


@pytest.fixture
def differ(tmp_path: Path, make: Any) -> Callable[..., Diff]:
    """Return a function that compares two bundles, each judged at a moment of its own."""

    def run(before: Files, after: Files, then: datetime = NOW, now: datetime = NOW) -> Diff:
        sides = []
        for name, files, moment in (("before", before, then), ("after", after, now)):
            root = tmp_path / name
            for path, text in {"o.md": make.ONTOLOGY, **files}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            sides.append(Side.of(Store.open(root, clock=fixed_clock(moment)), name))
        return compare(*sides)

    return run


def test_the_findings_of_a_page_that_was_renamed_are_neither_new_nor_fixed(differ: Any, make: Any) -> None:
    page = make.page("A", front="stale_after: 2020-01-01T00:00:00Z\n", text="[x](/gone.md)")
    diff = differ({"a.md": page}, {"deep/b.md": page})
    assert [(change.kind, change.before, change.path) for change in diff.pages] == [
        ("renamed", "a.md", "deep/b.md")
    ]
    assert (diff.new, diff.fixed) == ([], [])


def test_of_several_pages_with_the_same_bytes_each_is_renamed_once(differ: Any, make: Any) -> None:
    page = make.page("A")
    diff = differ({"a.md": page, "b.md": page}, {"c.md": page, "d.md": page, "e.md": page})
    assert [(change.kind, change.before, change.path) for change in diff.pages] == [
        ("renamed", "a.md", "c.md"),
        ("renamed", "b.md", "d.md"),
        ("added", "", "e.md"),
    ]


def test_time_alone_moves_a_claim_in_its_lifecycle(differ: Any, make: Any) -> None:
    claim = make.claim("a", 1, evidence=SUPPORT, extra="valid_time: { until: 2026-06-01 }")
    files = {"a.md": make.page("A", claim, front=SOURCE)}
    (change,) = differ(files, files, datetime(2026, 5, 31, tzinfo=UTC), NOW).claims
    assert (change.kind, change.fields) == ("lifecycle", (("active", True, False),))


def test_time_alone_makes_a_claim_stale(differ: Any, make: Any) -> None:
    claim = make.claim("a", 1, evidence=SUPPORT, extra="stale_after: 2026-06-01")
    files = {"a.md": make.page("A", claim, front=SOURCE)}
    diff = differ(files, files, datetime(2026, 5, 31, tzinfo=UTC), NOW)
    assert [finding.rule for finding in diff.new] == ["claim-stale"]
    assert (diff.claims, diff.pages) == ([], [])
    assert differ(files, files).is_empty


def test_a_changed_claim_names_its_fields_before_and_after(differ: Any, make: Any) -> None:
    one = make.claim("a", 1, evidence=SUPPORT)
    two = make.claim("a", 2, evidence=SUPPORT, extra="stale_after: 2030-01-01")
    diff = differ({"a.md": make.page("A", one, front=SOURCE)}, {"a.md": make.page("A", two, front=SOURCE)})
    (change,) = diff.claims
    assert change.fields == (
        ("object", {"value": 1, "datatype": "xsd:integer"}, {"value": 2, "datatype": "xsd:integer"}),
        ("staleAfter", None, "2030-01-01"),
    )
    assert 'object: {"value": 1, "datatype": "xsd:integer"} -> {"value": 2,' in diff_text(diff)


def test_an_edit_of_another_field_of_the_page_is_no_change_of_its_claims(differ: Any, make: Any) -> None:
    claim = make.claim("a", 1, evidence=SUPPORT)
    before = make.page("A", claim, front=SOURCE)
    diff = differ({"a.md": before}, {"a.md": before.replace("title: A", "title: B")})
    assert diff.claims == []
    assert [(change.frontmatter, change.sections) for change in diff.pages] == [(True, ())]


def test_what_depended_on_a_claim_that_is_gone_is_named(differ: Any, make: Any) -> None:
    page = make.page("A", make.claim("a", 1, evidence=SUPPORT), front=SOURCE)
    guide = make.page("Guide", front="claim_refs: [ex:claim/a]\n")
    diff = differ({"a.md": page, "guide.md": guide}, {"guide.md": guide})
    assert [(change.kind, change.id) for change in diff.claims] == [("removed", "ex:claim/a")]
    assert [(item.subject, item.how, item.path, item.line) for item in diff.affected] == [
        ("guide", "refers", "guide.md", 4)
    ]
    assert diff.affected[0].proof.leaves()


def test_sections_are_added_removed_and_changed(differ: Any, make: Any) -> None:
    before = make.page("A", text="Text.\n\n## One\n\n1\n\n## Two\n\n2")
    after = make.page("A", text="Text.\n\n## Two\n\n3\n\n## New\n\n4")
    (change,) = differ({"a.md": before}, {"a.md": after}).pages
    assert [(section.kind, section.id, section.line) for section in change.sections] == [
        ("changed", "a#two", 10),
        ("added", "a#new", 14),
        ("removed", "a#one", 10),
    ]


def test_new_findings_fail_from_the_threshold_on(differ: Any, make: Any) -> None:
    diff = differ({"a.md": make.page("A")}, {"a.md": make.page("A", text="[x](gone.md)")})
    assert [diff.failed(limit) for limit in ("none", "low", "medium", "high")] == [False, True, True, False]


def test_findings_that_were_there_before_never_fail(differ: Any, make: Any) -> None:
    files = {"a.md": make.page("A", text="[x](gone.md)")}
    assert not differ(files, {**files, "b.md": make.page("B")}).failed("low")


def test_a_policy_that_cannot_be_judged_fails_only_where_something_may(differ: Any, make: Any) -> None:
    broken = {".openknowledge.toml": '[policy]\nrules = ["p.dl"]\n', "p.dl": "finding("}
    diff = differ({}, broken)
    assert diff.failed("high")
    assert not diff.failed("none")


def test_a_comment_is_never_too_long_for_a_forge(differ: Any, make: Any) -> None:
    pages = {f"{number}.md": make.page(f"P{number}", text=f"[x](gone{number}.md)") for number in range(700)}
    text = diff_markdown(differ({}, pages))
    assert len(text) <= LONGEST
    assert text.endswith("`okn diff` to see it all._\n")


def test_names_in_a_comment_are_shown_as_they_are(differ: Any, make: Any) -> None:
    diff = differ({}, {"a|b`c.md": make.page("A", text="[x](<gone|@me.md>)")})
    text = diff_markdown(diff)
    assert "@me" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ``")]
    assert rows == ["| `` a\\|b`c.md `` | added |  |"]


def test_the_same_two_states_give_the_same_comment(differ: Any, make: Any) -> None:
    before, after = {"a.md": make.page("A")}, {"b.md": make.page("B", text="[x](gone.md)")}
    assert diff_markdown(differ(before, after)) == diff_markdown(differ(before, after))
