"""A review says in words what a proposal claims, quotes its evidence, and tries what would follow."""

from __future__ import annotations

from typing import Any

import pytest
from openknowledge.cli.review_text import review_markdown, review_text
from openknowledge.engine import limits
from openknowledge.engine.errors import LimitError, OpenKnowledgeError
from openknowledge.engine.operations.apply import apply_proposal
from openknowledge.engine.operations.lifecycle import archive_claim, link_claim
from openknowledge.engine.operations.review import review_proposals
from openknowledge.schemas.operations import ReviewResult
from pydantic import TypeAdapter

from .conftest import FOLDER, Sample

QUOTE = {"type": "text_quote", "exact": "12 hours"}
TIMEOUT = {
    "predicate": "ex:idleTimeout",
    "slot": "ex:slot-idle",
    "object": {"value": 45, "datatype": "xsd:integer"},
}


def review(sample: Sample, **changes: Any) -> Any:
    result = review_proposals(sample.store(), [("p.json", sample.propose(**changes))])
    TypeAdapter(ReviewResult).validate_python(result)
    return result["reviews"][0]


def quoted(sample: Sample, selector: dict[str, Any] | None, source: str = "pinned") -> Any:
    item: dict[str, Any] = {"id": "e", "sourceRef": source}
    if selector is not None:
        item["selector"] = selector
    return review(sample, evidence=[item])["evidence"][0]


def test_the_claim_is_said_in_words(sample: Sample) -> None:
    found = review(
        sample,
        scope={"ex:whereItRuns": {"ref": "ex:production"}},
        object={"value": 5, "unit": "unit:MIN", "quantityKind": "quantitykind:Time"},
        validTime={"from": "2026-01-01", "until": "2027-01-01"},
        predicate="ex:note",
    )
    assert found["words"] == (
        "Alpha: note: 5 MIN (where it runs: Production), from 2026-01-01 until 2027-01-01"
    )
    assert review(sample, **TIMEOUT)["words"] == "Alpha: idle timeout: 45"


def test_a_quotation_is_shown_with_what_stands_around_it(sample: Sample) -> None:
    assert quoted(sample, QUOTE) == {
        "id": "e",
        "sourceRef": "pinned",
        "stance": "supports",
        "role": "primary",
        "resource": "sources/settings.txt",
        "title": "Settings",
        "artifact": f"{FOLDER}/artifact.txt",
        "line": 4,
        "before": "The idle timeout\nis 30 minutes.\n\nThe absolute timeout is ",
        "quote": "12 hours",
        "after": ".\n",
    }


@pytest.mark.parametrize(
    ("selector", "quote"),
    [
        ({"type": "text_position", "start": 4, "end": 8}, "idle"),
        ({"type": "data_position", "start": 20, "end": 30}, "30 minutes"),
    ],
)
def test_positions_are_quoted_too(sample: Sample, selector: dict[str, Any], quote: str) -> None:
    assert quoted(sample, selector)["quote"] == quote


def test_evidence_without_a_selector_quotes_nothing(sample: Sample) -> None:
    assert "nothing is quoted" in quoted(sample, None)["problem"]


def test_long_context_is_cut(sample: Sample) -> None:
    from openknowledge.engine.operations.pin import pin_evidence

    sample.write("sources/notes.txt", "a" * 500 + "NEEDLE" + "b" * 500)
    pin_evidence(sample.root, document="page.md", source="live")
    found = quoted(sample, {"type": "text_quote", "exact": "NEEDLE"}, "live")
    assert found["before"] == "…" + "a" * limits.REVIEW_CONTEXT
    assert found["after"] == "b" * limits.REVIEW_CONTEXT + "…"


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.md", "---\ntype: T\n---\n\n# T\n\n## Part one\n\ntext\n"), ("a.html", "<p id=part-one>text")],
)
def test_a_fragment_is_quoted(sample: Sample, name: str, text: str) -> None:
    from openknowledge.engine.operations.pin import pin_evidence

    sample.write(f"sources/{name}", text)
    sample.replace("page.md", "sources/notes.txt", f"sources/{name}")
    pin_evidence(sample.root, document="page.md", source="live")
    found = quoted(sample, {"type": "fragment", "value": "#part-one"}, "live")
    assert "text" in found["quote"]
    assert "problem" not in found


def test_a_conflict_names_the_claims_that_cannot_hold_beside_it(sample: Sample) -> None:
    found = review(sample, **TIMEOUT)
    assert found["applies"] is True
    (conflict,) = found["conflicts"]
    assert (conflict["maximumCount"], conflict["objectCount"]) == (1, 2)
    assert conflict["claims"] == [
        {
            "id": "ex:idle",
            "path": "page.md",
            "status": "supported",
            "trustTier": "unverified",
            "words": "Alpha: idle timeout: 30",
        }
    ]


def test_another_time_is_no_conflict_and_not_the_same_question(sample: Sample) -> None:
    sample.replace(
        "page.md", "    status: supported", "    status: supported\n    valid_time: { until: 2026-06-01 }"
    )
    found = review(sample, **TIMEOUT, validTime={"from": "2026-06-01"})
    assert found["conflicts"] == found["sameQuestion"] == []


def test_a_later_overlap_is_shown_before_it_begins(sample: Sample) -> None:
    found = review(sample, **TIMEOUT, validTime={"from": "2030-01-01"})
    assert found["conflicts"] == []
    assert [claim["id"] for claim in found["sameQuestion"]] == ["ex:idle"]


def test_an_ended_claim_is_no_conflict(sample: Sample) -> None:
    archive_claim(sample.root, "ex:idle", approved_by="human:a")
    found = review(sample, **TIMEOUT)
    assert found["conflicts"] == found["sameQuestion"] == []


def test_a_repetition_is_named(sample: Sample) -> None:
    changes = {
        **TIMEOUT,
        "object": {"value": 30, "datatype": "xsd:integer"},
        "evidence": [{"id": "a", "sourceRef": "pinned"}, {"id": "b", "sourceRef": "live"}],
    }
    assert [claim["id"] for claim in review(sample, **changes)["duplicates"]] == ["ex:idle"]


def test_what_is_superseded_is_shown_with_what_relies_on_it(sample: Sample) -> None:
    link_claim(sample.root, "ex:idle", "guide.md")
    apply_proposal(sample.root, sample.propose(id="ex:child", relations={"derivedFrom": ["ex:idle"]}))
    found = review(sample, **TIMEOUT, relations={"supersedes": ["ex:idle"], "contradicts": ["ex:missing"]})
    by_kind = {relation["kind"]: relation for relation in found["relations"]}
    assert by_kind["supersedes"]["words"] == "Alpha: idle timeout: 30"
    assert by_kind["supersedes"]["dependents"] == ["guide.md", "page.md"]
    assert by_kind["supersedes"]["derivedClaims"] == ["ex:child"]
    assert by_kind["contradicts"]["status"] == "missing"
    assert found["applies"] is False


def test_pages_that_link_here_are_named(sample: Sample) -> None:
    assert review(sample)["dependents"] == ["guide.md", "index.md"]


def test_evaluation_cases_of_the_page_are_named(sample: Sample) -> None:
    sample.write(
        ".openknowledge/evals/q.yaml",
        "type: openknowledge.eval\nversion: 1\nid: questions\ncases:\n"
        "  - id: how-long\n    question: How long?\n    expect: { sources: [page.md] }\n",
    )
    assert review(sample)["evals"] == ["questions: how-long"]


def test_a_claim_that_is_stale_from_the_start_is_said(sample: Sample) -> None:
    assert review(sample, staleAfter="2026-01-01")["becomesStale"] == ["ex:new"]
    assert review(sample, staleAfter="2027-01-01")["becomesStale"] == []


def test_the_section_is_quoted(sample: Sample) -> None:
    assert review(sample, sectionRef="#timeout")["sectionText"] == "Thirty minutes."


def test_a_stale_proposal_cannot_be_applied_but_is_still_shown(sample: Sample) -> None:
    proposal = sample.propose(evidence=[{"id": "e", "sourceRef": "pinned", "selector": QUOTE}])
    sample.write("page.md", sample.text() + "\n")
    (found,) = review_proposals(sample.store(), [("p", proposal)])["reviews"]
    assert found["applies"] is False
    assert "stale because page.md changed" in found["problems"][0]
    assert found["words"] == "Alpha: runs in: Production"
    assert found["evidence"][0]["quote"] == "12 hours"


def test_what_would_be_invalid_is_said(sample: Sample) -> None:
    found = review(sample, predicate="ex:undeclared")
    assert found["applies"] is False
    assert "ex:undeclared" in found["problems"][0]


def test_an_id_that_exists_is_said(sample: Sample) -> None:
    assert review(sample, id="ex:idle")["problems"] == ['claim occurrence id already exists: "ex:idle"']


def test_a_patch_that_does_more_than_it_says_is_found(sample: Sample) -> None:
    proposal = sample.propose()
    proposal["patch"].append({"op": "replace", "path": "/claims/0/status", "value": "verified"})
    (found,) = review_proposals(sample.store(), [("p", proposal)])["reviews"]
    assert "changes or removes what claims holds already" in found["problems"][0]


def test_a_missing_page_is_a_problem_of_that_proposal_alone(sample: Sample) -> None:
    gone = sample.propose() | {"document": "gone.md"}
    first, second = review_proposals(sample.store(), [("a", gone), ("b", sample.propose())])["reviews"]
    assert "no such file" in first["problems"][0]
    assert second["applies"] is True


def test_two_proposals_for_one_page_are_in_each_others_way(sample: Sample) -> None:
    given = [("a", sample.propose()), ("b", sample.propose(id="ex:second"))]
    first, second = review_proposals(sample.store(), given)["reviews"]
    assert first["problems"] == []
    assert "a is for the same page" in second["problems"][0]


def test_restricted_evidence_is_not_quoted_to_who_may_not_see_it(sample: Sample) -> None:
    proposal = sample.propose(evidence=[{"id": "e", "sourceRef": "pinned", "selector": QUOTE}])
    sample.replace("page.md", "    title: Settings\n", "    title: Settings\n    access: [team:secret]\n")
    (hidden,) = review_proposals(sample.store(), [("p", proposal)])["reviews"]
    assert "quote" not in hidden["evidence"][0]
    (seen,) = review_proposals(sample.store(access=["team:secret"]), [("p", proposal)])["reviews"]
    assert seen["evidence"][0]["quote"] == "12 hours"


def test_the_diff_does_not_show_restricted_claims_beside_the_change(sample: Sample) -> None:
    sample.replace("page.md", "    title: Settings\n", "    title: Settings\n    access: [team:secret]\n")
    proposal = sample.propose()
    (hidden,) = review_proposals(sample.store(), [("p", proposal)])["reviews"]
    assert {line[0] for line in hidden["diff"].splitlines()[2:]} <= {"@", "+", "-", "\\"}
    (seen,) = review_proposals(sample.store(access=["team:secret"]), [("p", proposal)])["reviews"]
    assert " " in {line[0] for line in seen["diff"].splitlines()[2:]}


def test_nothing_is_written(sample: Sample) -> None:
    before = sample.files()
    review(sample)
    assert sample.files() == before


def test_the_most_proposals_are_reviewed_and_one_more_is_not(sample: Sample) -> None:
    proposal = sample.propose()
    many = [(str(number), proposal) for number in range(limits.REVIEWED_PROPOSALS + 1)]
    assert len(review_proposals(sample.store(), many[:-1])["reviews"]) == limits.REVIEWED_PROPOSALS
    with pytest.raises(LimitError, match="at most 50"):
        review_proposals(sample.store(), many)


def test_what_is_no_proposal_is_refused_by_its_name(sample: Sample) -> None:
    with pytest.raises(OpenKnowledgeError, match=r"p\.json: type must be openknowledge\.claim-proposal"):
        review_proposals(sample.store(), [("p.json", {"type": "x"})])


# How it is shown

EVIL = "# [x](http://evil) @everyone <script> `code` \x1b[31m *bold*\n- item\n```\nfence"


def evil(sample: Sample) -> Any:
    proposal = sample.propose(predicate="ex:note", object={"value": EVIL})
    proposal["reason"] = EVIL
    return review_proposals(sample.store(), [("p\x1b.json", proposal)])


def test_the_text_has_no_control_characters(sample: Sample) -> None:
    assert "\x1b" not in review_text(evil(sample))


def test_markdown_shows_what_proposals_say_literally(sample: Sample) -> None:
    from openknowledge.engine.bundle.markdown import outline

    text = review_markdown(evil(sample))
    found = outline(text, 1)
    assert [heading.text for heading in found.headings if heading.level < 3] == []
    assert [link.href for link in found.links if "evil" in link.href] == []
    assert "<script>" not in text.replace("\\<script\\>", "").partition("```diff")[0]
    assert "@everyone" not in text.partition("```diff")[0]


def test_the_text_fits_one_screen_without_the_diff(sample: Sample) -> None:
    shown = review_text(review_proposals(sample.store(), [("p", sample.propose(**TIMEOUT))]))
    assert len(shown.partition("Change of the page")[0].splitlines()) < 40
    assert "Conflicts with" in shown
    assert "Alpha: idle timeout: 30" in shown
