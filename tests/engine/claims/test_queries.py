"""Finding and showing claims and entities, and suggesting sections for new ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from openknowledge.engine import limits
from openknowledge.engine.claims.evals import eval_root, read_eval_cases
from openknowledge.engine.claims.find import find_claims, find_entities
from openknowledge.engine.claims.impact import claim_impact, impact_dot
from openknowledge.engine.claims.show import show_claim
from openknowledge.engine.claims.suggest import suggest_claims
from openknowledge.engine.errors import LimitError, OpenKnowledgeError

from tests.engine.claims.conftest import claim, facts_of, page

ITEMS = (
    claim("ex:c/idle-timeout", slot="ex:s/idle", evidence="\n    - { id: deployed, source_ref: notes }")
    + claim("ex:c/idle", scope="{ ex:where: { ref: ex:prod } }", object="{ value: Blue }")
    + claim("ex:c/other", slot="ex:s/idle", object="{ ref: ex:vault }")
)


def found(query: str) -> list[tuple[str, int, list[str]]]:
    result = find_claims(facts_of({"page.md": page(ITEMS)}), query)
    return [(entry["claim"]["id"], entry["score"], entry["reasons"]) for entry in result["results"]]


@pytest.mark.parametrize("query", ["ex:c/idle", "EX:C/IDLE", "https://example.com/k/c/idle"])
def test_the_id_itself_is_the_best_match(query: str) -> None:
    first = found(query)[0]
    assert first[0] == "ex:c/idle"
    assert first[1] >= 100
    assert first[2][0] == "exact_id"


def test_part_of_an_id_and_each_word_add_up() -> None:
    assert found("idle-timeout") == [
        ("ex:c/idle-timeout", 60, ["id_contains", "term_match"]),
        ("ex:c/idle", 5, ["term_match"]),
        ("ex:c/other", 5, ["term_match"]),
    ]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("blue", "ex:c/idle"),
        ("ex:where ex:prod", "ex:c/idle"),
        ("deployed", "ex:c/idle-timeout"),
        ("vault", "ex:c/other"),
    ],
)
def test_words_are_looked_for_in_object_scope_and_evidence(query: str, name: str) -> None:
    assert found(query)[0][0] == name


@pytest.mark.parametrize("query", ["", "  ", "zebra"])
def test_a_blank_query_and_one_without_a_hit_find_nothing(query: str) -> None:
    assert found(query) == []


def test_results_are_cut_after_they_are_sorted_and_say_so() -> None:
    facts = facts_of({"page.md": page(ITEMS)})
    result = find_claims(facts, "idle", limit=1)
    assert [entry["claim"]["id"] for entry in result["results"]] == ["ex:c/idle"]
    assert result["truncated"] is True
    assert find_claims(facts, "idle", limit=3)["truncated"] is False


@pytest.mark.parametrize(
    ("length", "fits"), [(limits.TEXT_QUERY_RUNES, True), (limits.TEXT_QUERY_RUNES + 1, False)]
)
def test_a_query_has_a_longest_length(length: int, fits: bool) -> None:
    facts = facts_of({})
    for find in (find_claims, find_entities):
        if fits:
            find(facts, "x" * length)
        else:
            with pytest.raises(LimitError, match="at most 4096"):
                find(facts, "x" * length)


def entities(query: str) -> list[tuple[str, int, list[str]]]:
    result = find_entities(facts_of({"page.md": page(ITEMS)}), query)
    return [(entry["entity"]["id"], entry["score"], entry["reasons"]) for entry in result["results"]]


def test_entities_are_found_by_id_and_label() -> None:
    assert entities("ex:gate")[0] == ("ex:gate", 100, ["exact_id"])
    assert entities("gate") == [
        ("ex:gate", 130, ["id_contains", "preferred_label"]),
        ("ex:old-gate", 85, ["id_contains", "preferred_label_contains"]),
    ]
    assert entities("front door") == [("ex:gate", 70, ["alternate_label"])]
    assert entities("door") == [("ex:gate", 25, ["alternate_label_contains"])]
    assert entities("") == []


def test_an_entity_tells_which_claims_use_it() -> None:
    result = find_entities(facts_of({"page.md": page(ITEMS)}), "vault")
    assert result["results"][0]["referencedBy"] == ["ex:c/other"]
    gate = find_entities(facts_of({"page.md": page(ITEMS)}), "ex:gate")
    assert gate["results"][0]["referencedBy"] == ["ex:c/idle", "ex:c/idle-timeout", "ex:c/other"]


def test_showing_a_claim_tells_its_slot_relations_and_references() -> None:
    items = (
        claim(
            "ex:c/new",
            valid_time="{ from: 2026-01-01 }",
            relations="{ supersedes: [ex:c/old], derived_from: [ex:c/bad] }",
        )
        + claim(
            "ex:c/old",
            status="superseded",
            decisions="[{ action: superseded, by: human:ada, at: 2026-01-01 }]",
            valid_time="{ from: 2025-01-01, until: 2026-01-01 }",
        )
        + claim("ex:c/child", slot="ex:s/other", relations="{ derived_from: [ex:c/new] }")
        + claim("ex:c/bad", status="sure")
    )
    facts = facts_of({"page.md": page(items), "r.md": page(extra="claim_refs: [ex:c/new]")})
    result = show_claim(facts, "https://example.com/k/c/new")
    assert result["occurrence"]["path"] == "page.md"
    assert [(entry["id"], entry["active"]) for entry in result["slot"]] == [
        ("ex:c/old", False),
        ("ex:c/new", True),
    ]
    assert result["relations"] == [
        {"kind": "supersedes", "id": "ex:c/old", "present": True},
        {"kind": "derived_from", "id": "ex:c/bad", "present": False},
    ]
    assert result["relatedFrom"] == [{"kind": "derived_from", "id": "ex:c/child", "present": True}]
    assert result["references"] == ["r.md"]
    assert result["line"] == facts.by_id["ex:c/new"].line


def test_a_claim_that_is_not_there_is_answered_with_the_nearest_names() -> None:
    with pytest.raises(OpenKnowledgeError, match="did you mean ex:c/idle"):
        show_claim(facts_of({"page.md": page(ITEMS)}), "ex:c/idel")


# Suggestions

BODY = """\
# Page

Lead.

<a id="known"></a>
## Bound

Text.

## The vault

#### Detail

The front door has a lock. Ünïcode.

## Empty

## Twice

a

## Twice

b
"""


def test_sections_without_a_claim_are_suggested() -> None:
    text = page(claim(section_ref='"#known"', slot="ex:s/own"), body=BODY)
    other = page(claim("ex:c/v", subject="ex:vault", slot="ex:s/vault") + claim("ex:c/g", slot="ex:s/gate"))
    result = suggest_claims(facts_of({"guide/My Page.md": text, "other.md": other}), "guide/My Page")
    assert [(entry["sectionRef"], entry["heading"]) for entry in result["results"]] == [
        ("#page", "Page"),
        ("#the-vault", "The vault"),
        ("#twice", "Twice"),
        ("#twice-2", "Twice"),
    ]
    vault = result["results"][1]
    assert vault["document"] == "guide/My Page.md"
    assert vault["excerpt"] == "The front door has a lock. Ünïcode."
    assert vault["suggestedOccurrenceId"] == "okn:claim/knowledge/my-page/the-vault"
    assert vault["sourceIds"] == ["notes"]
    assert vault["reuseSlots"] == ["ex:s/gate", "ex:s/own", "ex:s/vault"]
    assert vault["status"] == "candidate"
    assert result["results"][0]["reuseSlots"] == ["ex:s/own"]


def test_an_excerpt_is_cut_between_characters() -> None:
    text = page(sources="", body="# Page\n\n" + "é" * 400 + "\n")
    (entry,) = suggest_claims(facts_of({"page.md": text}), "page.md")["results"]
    assert entry["excerpt"] == "é" * 250
    assert entry["sourceIds"] == []


def test_a_suggested_section_can_be_referred_to() -> None:
    text = page(claim(section_ref='"#known"'), body=BODY)
    for entry in suggest_claims(facts_of({"page.md": text}), "page.md")["results"]:
        bound = page(claim(section_ref=f'"{entry["sectionRef"]}"'), body=BODY)
        assert facts_of({"page.md": bound}).claim_set.issues == ()


def test_without_a_page_every_concept_page_is_looked_at() -> None:
    files = {"a.md": page(body="# A\n\nx\n"), "index.md": "# I\n\nx\n"}
    assert {entry["document"] for entry in suggest_claims(facts_of(files))["results"]} == {
        "a.md",
        "ontology.md",
    }


def test_a_page_that_is_not_there_is_an_error() -> None:
    with pytest.raises(OpenKnowledgeError, match="there is no page"):
        suggest_claims(facts_of({}), "none.md")


# Evaluation datasets

DATASET = """\
type: openknowledge.eval
version: 1
id: support
cases:
  - id: one
    question: How long?
    agents: [desk]
    expect:
      sources: [page.md#page, other.md]
      citations: { sources: [/cited.md] }
  - just text
"""


def test_cases_come_from_the_nearest_folder_above(tmp_path: Path) -> None:
    root = tmp_path / "a/b"
    root.mkdir(parents=True)
    folder = tmp_path / ".openknowledge/evals"
    folder.mkdir(parents=True)
    (folder / "support.yaml").write_text(DATASET)
    (folder / "broken.yml").write_text("type: [")
    (folder / "other.yaml").write_text("type: openknowledge.retrieval-eval\ncases: [{ id: x }]\n")
    (folder / "notes.txt").write_text(DATASET)
    (folder / "latin.yml").write_bytes(b"\xff")
    (folder / "large.yml").write_text(DATASET + "#" * limits.CONFIG_BYTES)
    (folder / "link.yml").symlink_to(folder / "support.yaml")
    assert eval_root(root) == folder
    (case,) = read_eval_cases(eval_root(root))
    assert (case.dataset, case.id, case.agents) == ("support", "one", ("desk",))
    assert case.paths == ("cited.md", "other.md", "page.md")
    nearer = root / ".openknowledge/evals"
    nearer.mkdir(parents=True)
    assert eval_root(root) == nearer
    assert read_eval_cases(nearer) == []


@pytest.mark.parametrize(("allowed", "expected"), [(2, 2), (1, 1)])
def test_only_so_many_datasets_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: int, expected: int
) -> None:
    monkeypatch.setattr(limits, "EVAL_FILES", allowed)
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(DATASET)
    assert len(read_eval_cases(tmp_path)) == expected


def test_a_graph_of_what_depends_on_a_claim() -> None:
    items = claim("ex:c/one") + claim("ex:c/two", relations="{ derived_from: [ex:c/one] }")
    facts = facts_of({"page.md": page(items), 'odd".md': page(sources="", extra="claim_refs: [ex:c/two]")})
    dot = impact_dot(claim_impact(facts, "ex:c/one"))
    assert dot.startswith("digraph impact {\n")
    assert '"ex:c/one" -> "ex:c/two" [label="derived_from"];' in dot
    assert '"ex:c/two" -> "odd\\".md" [label="refers-derived"];' in dot
    assert dot.endswith("}\n")
