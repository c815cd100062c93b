"""The claim rules over the base relations: every judgement, its proof, and what Python works out itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.cli.claims_text import standing
from openknowledge.engine.analysis.builtin_rules import builtin_texts
from openknowledge.engine.claims.conflicts import conflicts, duplicates, find_conflicts
from openknowledge.engine.claims.evals import EvalCase
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.history import reviewed_sections, validate_claims
from openknowledge.engine.claims.impact import claim_impact
from openknowledge.engine.claims.relations import BUILDERS, SUPPORT_RELATIONS, claim_sources
from openknowledge.engine.claims.show import show_claim
from openknowledge.engine.claims.stale import horizon, stale_claims
from openknowledge.engine.datalog import CLOSED_WORLD_PROFILE, FactBase, Limits, prepare
from openknowledge.engine.datalog.checking import ProofChecker
from openknowledge.engine.facts.facts import Facts
from openknowledge.engine.facts.relations import RELATIONS
from openknowledge.engine.search.render import claim_lines

from tests.engine.claims.conftest import NOW, claim, claims_of, claims_on_disk, facts_of, page, write

ARITY = {relation.name: relation.arity for relation in (*RELATIONS.values(), *SUPPORT_RELATIONS)}
Ask = Callable[[str], list[Any]]


def asker(
    facts: FactSet,
    *,
    last: str = "",
    cases: tuple[EvalCase, ...] = (),
    reviewed: dict[str, str] | None = None,
) -> Ask:
    """Return a function that gives the answers of the built-in rules to a query."""
    table = Facts(facts.bundle, facts.now, claim_sources(facts, horizon=last, cases=cases, reviewed=reviewed))
    base = FactBase(load=table.rows, arities={name: ARITY[name] for name in table.names})

    def ask(query: str) -> list[Any]:
        prepared = prepare(query, builtin_texts(), profile=CLOSED_WORLD_PROFILE, limits=Limits.command_line())
        return list(prepared.answer(base).rows)

    return ask


def atoms(rows: list[Any]) -> set[str]:
    return {row.atom for row in rows}


def test_every_relation_that_is_built_is_declared_with_its_arity() -> None:
    facts = facts_of(
        {
            "page.md": page(
                claim(evidence="\n    - { id: a, source_ref: notes }"), extra="claim_refs: [ex:c/one]"
            )
        }
    )
    sources = claim_sources(facts, horizon="2030-01-01", cases=(EvalCase("d", "c", "q", (), ("page.md",)),))
    assert set(BUILDERS) | {"horizon", "eval_case", "section_reviewed"} == set(sources)
    for name, source in sources.items():
        for row, _ in source():
            assert len(row) == ARITY[name], name


def test_a_claim_has_its_rows_in_every_relation() -> None:
    item = claim(
        object="{ value: 30.0, unit: unit:MIN, quantity_kind: quantitykind:Time }",
        scope="{ ex:where: { ref: ex:prod } }",
        evidence="\n    - { id: e, source_ref: notes, stance: opposes }",
        owners="[team:a]",
        status="verified",
        verification="{ method: m, by: human:ada, at: 2026-05-01 }",
        valid_time="{ until: 2030-01-01 }",
        relations="{ contradicts: [ex:c/two] }",
        section_ref='"#page"',
    )
    facts = facts_of(
        {"page.md": page(item + claim("ex:c/two")), "r.md": page(extra="claim_refs: [ex:c/one]")}
    )

    def rows(name: str) -> list[Any]:
        return [row for row, _ in claim_sources(facts)[name]() if "ex:c/one" in row[:2]]

    locator = facts.place(facts.by_id["ex:c/one"]).locator
    assert rows("claim") == [("ex:c/one", "ex:gate", "ex:free", "30")]
    assert rows("status") == [("ex:c/one", "verified")]
    assert rows("trust") == [("ex:c/one", "human-reviewed")]
    assert rows("stale") == [("ex:c/one", "false")]
    assert rows("valid_time") == [("ex:c/one", "", "2030-01-01")]
    assert rows("source") == [("ex:c/one", "page.md", locator)]
    assert rows("scope") == [("ex:c/one", "ex:where", "ex:prod")]
    assert rows("object_metadata") == [("ex:c/one", "xsd:decimal", "", "unit:MIN", "quantitykind:Time")]
    assert rows("evidence") == [("ex:c/one", "e", "opposes")]
    assert rows("relation") == [("ex:c/one", "contradicts", "ex:c/two")]
    assert rows("claim_in") == [("ex:c/one", "page", "page#page")]
    assert rows("claim_ref") == [("r", "ex:c/one")]
    assert rows("slot") == [("ex:c/one", "ex:s/free")]
    assert rows("owner") == [("ex:c/one", "team:a")]
    assert rows("evidence_source") == [("ex:c/one", "e", "page", "notes")]
    assert rows("verified_by") == [("ex:c/one", "human:ada", "2026-05-01")]
    assert rows("claim_number") == [("ex:c/one", 30, "unit:MIN")]


def test_the_ontology_has_its_rows() -> None:
    facts = facts_of({})
    rows = {name: [row for row, _ in source()] for name, source in claim_sources(facts).items()}
    assert ("ex:gate", "ex:Service") in rows["entity"]
    assert ("ex:gate", "Gate", "preferred") in rows["entity_label"]
    assert ("ex:gate", "front door", "alternate") in rows["entity_label"]
    assert ("ex:timeout", "quantity") in rows["predicate"]
    assert ("ex:timeout", 1) in rows["maximum_count"]


# Freshness


def test_staleness_by_date_and_by_evidence_is_what_python_found_and_has_a_proof(tmp_path: Path) -> None:
    good = hashlib.sha256(b"x").hexdigest()

    def reviewed(name: str, resource: str, digest: str, extra: str = "") -> str:
        seen = f"evidence_ref: e, source_ref: {name}, resource: {resource}, sha256: {digest}"
        versions = f"evidence_versions: [{{ {seen}, by: human:a, at: 2026-05-01 }}]"
        return claim(
            f"ex:c/{name}",
            status="verified",
            evidence=f"\n    - {{ id: e, source_ref: {name} }}",
            verification=f"\n    method: m\n    by: human:a\n    at: 2026-05-01\n    {versions}",
            stale_after=extra or None,
        )

    names = {
        "same": "x.txt",
        "changed": "x.txt",
        "missing": "none.txt",
        "folder": "d",
        "moved": "x.txt",
        "web": "https://e.example/",
    }
    items = reviewed("same", "x.txt", good, "2030-01-01") + reviewed(
        "changed", "x.txt", "f" * 64, "2026-11-30"
    )
    items += reviewed("missing", "none.txt", good) + reviewed("folder", "d", good)
    items += reviewed("moved", "y.txt", good) + reviewed("web", "https://e.example/", good)
    sources = "".join(f"- id: {name}\n  resource: {resource}\n" for name, resource in names.items())
    write(tmp_path, {"page.md": page(items, sources=sources), "x.txt": b"x", "d/y": b""})
    facts = FactSet.everything(claims_on_disk(tmp_path))
    ask = asker(facts)
    expected = {
        f'stale_claim("{name}","{reason.reason}")'
        for name, found in facts.claim_set.stale.items()
        for reason in found
    }
    assert atoms(ask("stale_claim(C,R)")) == expected
    assert len(expected) == 5
    assert {row.values[0] for row in ask('stale(C,"true")')} == set(facts.claim_set.stale)
    result = stale_claims(facts)
    for entry in result["results"]:
        for reason in entry["reasons"]:
            (row,) = ask(reason["atom"])
            assert row.atom == reason["atom"]
            assert row.proof.kind == "rule"


def test_what_will_be_stale_needs_a_day_to_look_ahead_to() -> None:
    items = "".join(claim(f"ex:c/{day}", stale_after=f"2026-12-{day:02d}") for day in (1, 30, 31))
    facts = facts_of({"page.md": page(items + claim("ex:c/now", stale_after="2026-11-30"))})
    last = horizon(facts, 30).isoformat()
    assert last == "2026-12-30"
    result = stale_claims(facts, within=30)
    assert [entry["claim"]["id"] for entry in result["upcoming"]] == ["ex:c/1", "ex:c/30"]
    assert [entry["claim"]["id"] for entry in result["results"]] == ["ex:c/now"]
    assert atoms(asker(facts, last=last)("will_be_stale(C,D)")) == {
        entry["atom"] for entry in result["upcoming"]
    }
    assert asker(facts)("will_be_stale(C,D)") == []


@pytest.mark.parametrize(
    ("verified", "written", "outdated"),
    [
        ("2026-05-01T08:00:00Z", "2026-05-01T09:00:00Z", True),
        ("2026-05-01T08:00:00Z", "2026-05-01T09:00:00+02:00", False),
        ("2026-05-01T08:00:00Z", "2026-05-01T08:00:00Z", False),
        ("2026-05-01", "2026-05-01T09:00:00Z", False),
        ("2026-05-01", "2026-05-02T00:00:00Z", True),
        ("2026-05-01", "2026-06-01", False),
        ("2026-05-01", "some day", False),
    ],
)
def test_a_verification_older_than_the_text_is_shown_with_its_proof(
    verified: str, written: str, outdated: bool
) -> None:
    item = claim(status="verified", verification=f"{{ method: m, by: human:ada, at: {verified} }}")
    facts = facts_of({"page.md": page(item, extra=f"generated: {{ by: w/1, at: {written} }}")})
    result = show_claim(facts, "ex:c/one")
    assert bool(result["verificationOutdated"]) is outdated
    assert result["occurrence"]["claim"]["trustTier"] == "human-reviewed"
    found = atoms(asker(facts)("claim_verification_outdated(C,V,W)"))
    assert found == {entry["atom"] for entry in result["verificationOutdated"]}
    assert found == {entry["atom"] for entry in stale_claims(facts)["outdatedVerifications"]}
    shown = result["occurrence"]["claim"]
    assert shown.get("verificationOutdated", False) is outdated
    assert ("verification outdated" in standing(shown)) is outdated
    (line,) = claim_lines({"claims": [shown]})
    assert ("human-reviewed, verification outdated" in line) is outdated


def test_a_section_that_changed_after_the_verification_is_shown_with_its_proof() -> None:
    item = claim(
        section_ref='"#words"', status="verified", verification="{ method: m, by: human:ada, at: 2026-05-01 }"
    )

    def at(words: str, lead: str = "Lead.", verification: str = "2026-05-01") -> FactSet:
        body = f"# Page\n\n{lead}\n\n## Words\n\n{words}\n"
        return facts_of({"page.md": page(item.replace("2026-05-01", verification), body=body)})

    base, now = at("Old."), at("New.")
    (entry,) = validate_claims(now.claim_set, base=base.claim_set)["outdatedVerifications"]
    assert (entry["claimId"], entry["trustTier"]) == ("ex:c/one", "human-reviewed")
    reviewed = reviewed_sections(base.claim_set, now.claim_set)
    assert atoms(asker(now, reviewed=reviewed)("claim_section_changed(C,R,N)")) == {entry["atom"]}
    assert asker(now)("claim_section_changed(C,R,N)") == []
    for same in (at("Old."), at("Old.", lead="Other lead."), at("New.", verification="2026-06-01")):
        assert validate_claims(same.claim_set, base=base.claim_set)["outdatedVerifications"] == []


# Conflicts

TIMED = {"slot": "ex:s/t", "predicate": "ex:timeout", "scope": "{ ex:environment: { ref: ex:prod } }"}


def timed(name: str, minutes: int, **fields: Any) -> str:
    found = f"{{ value: {minutes}, unit: unit:MIN, quantity_kind: quantitykind:Time }}"
    return claim(f"ex:c/{name}", **{**TIMED, "object": found, **fields})


ENDED = {
    status: {"status": status, "decisions": f"[{{ action: {status}, by: human:ada, at: 2026-05-01 }}]"}
    for status in ("rejected", "superseded", "archived")
}


def test_two_active_objects_where_one_may_hold_conflict_and_the_conflict_has_a_proof() -> None:
    facts = facts_of(
        {"page.md": page(timed("a", 10) + timed("b", 20)), "r.md": page(extra="claim_refs: [ex:c/a]")}
    )
    result = find_conflicts(facts)
    (conflict,) = result["conflicts"]
    assert [entry["claim"]["id"] for entry in conflict["occurrences"]] == ["ex:c/a", "ex:c/b"]
    assert (conflict["maximumCount"], conflict["objectCount"]) == (1, 2)
    assert conflict["dependents"] == ["r.md"]
    ask = asker(facts)
    (row,) = ask(conflict["atom"])
    assert row.proof.kind == "rule"
    assert atoms(ask("conflict(A,B)")) == {'conflict("ex:c/a","ex:c/b")', 'conflict("ex:c/b","ex:c/a")'}


DIFFERENCES: dict[str, tuple[str, str]] = {
    "another scope": (timed("a", 10), timed("b", 20, scope="{ ex:environment: { ref: ex:staging } }")),
    "another version in scope": (
        timed("a", 10, scope="{ ex:environment: { ref: ex:prod }, ex:version: { value: '1' } }"),
        timed("b", 20, scope="{ ex:environment: { ref: ex:prod }, ex:version: { value: '2' } }"),
    ),
    "one without scope dimension": (
        timed("a", 10),
        timed("b", 20, scope="{ ex:environment: { ref: ex:prod }, ex:version: { value: '2' } }"),
    ),
    "a disjoint time": (
        timed("a", 10, valid_time="{ until: 2026-01-01 }"),
        timed("b", 20, valid_time="{ from: 2026-01-01 }"),
    ),
    "another slot": (timed("a", 10), timed("b", 20, slot="ex:s/other")),
    "another subject": (timed("a", 10), timed("b", 20, subject="ex:vault")),
    "the same object": (timed("a", 10), timed("b", 10)),
    "a rejected claim": (timed("a", 10), timed("b", 20, **ENDED["rejected"])),
    "an archived claim": (timed("a", 10), timed("b", 20, **ENDED["archived"])),
    "a superseded claim": (
        timed("a", 10, relations="{ supersedes: [ex:c/b] }"),
        timed("b", 20, **ENDED["superseded"]),
    ),
}


@pytest.mark.parametrize("difference", list(DIFFERENCES))
def test_a_difference_is_no_conflict(difference: str) -> None:
    facts = facts_of({"page.md": page("".join(DIFFERENCES[difference]))})
    assert facts.claim_set.issues == ()
    assert find_conflicts(facts)["conflicts"] == []
    ask = asker(facts)
    assert ask("conflict(A,B)") == []
    assert ask("over_maximum(K,N,M)") == []


def test_a_predicate_may_allow_several_objects_at_once() -> None:
    def says(name: str, text: str) -> str:
        return claim(f"ex:c/{name}", predicate="ex:says", object=f"{{ value: {text} }}")

    two = says("a", "x") + says("b", "y") + says("c", "y")
    assert conflicts(facts_of({"page.md": page(two)})) == []
    (found,) = conflicts(facts_of({"page.md": page(two + says("d", "z"))}))
    assert (found.objects, found.maximum, len(found.claims)) == (3, 2, 4)


def test_a_predicate_without_maximum_never_conflicts() -> None:
    items = "".join(claim(f"ex:c/{n}", object=f"{{ value: {n} }}") for n in range(5))
    assert conflicts(facts_of({"page.md": page(items)})) == []


def test_a_conflict_depends_on_the_day() -> None:
    text = page(timed("a", 10) + timed("b", 20, valid_time="{ from: 2027-01-01 }"))
    assert conflicts(facts_of({"page.md": text})) == []
    later = facts_of({"page.md": text}, NOW + timedelta(days=60))
    assert len(conflicts(later)) == 1
    assert len(asker(later)("over_maximum(K,N,M)")) == 1


def test_claims_that_repeat_each_other_are_duplicates_not_conflicts() -> None:
    cited = {"evidence": "\n    - { id: a, source_ref: notes }"}
    items = timed("a", 10, **cited) + timed("b", 10, evidence="\n    - { id: z, source_ref: notes }")
    items += timed("c", 10) + timed("d", 10, **cited, valid_time="{ from: 2026-01-01 }")
    items += timed("e", 10, **cited, **ENDED["archived"])
    items += timed("f", 10, **cited, valid_time="{ from: 2026-01-01T00:00:00Z }")
    facts = facts_of({"page.md": page(items)})
    assert [[item.id for item in group] for group in duplicates(facts)] == [
        ["ex:c/a", "ex:c/b"],
        ["ex:c/d", "ex:c/f"],
    ]
    wanted = {atom for entry in find_conflicts(facts)["duplicates"] for atom in entry["atoms"]}
    assert atoms(asker(facts)("duplicate(A,B)")) == wanted


DAYS = st.sampled_from([None, "2026-01-01", "2026-11-30", "2026-11-30T12:00:00Z", "2026-12-24"])
ITEM = st.tuples(
    st.sampled_from(["ex:name", "ex:says", "ex:free"]),
    st.integers(0, 3),
    DAYS,
    DAYS,
    st.sampled_from(["supported", "disputed", "rejected"]),
    st.sampled_from(["{ ex:where: { ref: ex:prod } }", None]),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(ITEM, max_size=9), st.sampled_from([-400, 0, 40]))
def test_rules_and_python_agree_on_conflicts_activity_and_duplicates(items: list[Any], days: int) -> None:
    text = ""
    for number, (predicate, value, start, end, status, scope) in enumerate(items):
        if start and end and start >= end:
            start = None
        times = ", ".join(f"{key}: {day}" for key, day in (("from", start), ("until", end)) if day)
        ended = ENDED["rejected"] if status == "rejected" else {"status": status}
        text += claim(
            f"ex:c/{number}",
            predicate=predicate,
            object=f"{{ value: v{value} }}",
            valid_time=f"{{ {times} }}" if times else None,
            scope=scope,
            **ended,
        )
    facts = FactSet.everything(claims_of({"page.md": page(text)}, NOW + timedelta(days=days)))
    assert facts.claim_set.issues == ()
    ask = asker(facts)
    assert {row.values[0] for row in ask("active(C)")} == {
        item.id for item in facts.claims if facts.active(item)
    }
    assert atoms(ask("over_maximum(K,N,M)")) == {conflict.atom for conflict in conflicts(facts)}
    assert {row.values[0] for row in ask("in_conflict(C,K)")} == {
        item.id for conflict in conflicts(facts) for item in conflict.claims
    }
    wanted = {atom for entry in find_conflicts(facts)["duplicates"] for atom in entry["atoms"]}
    assert atoms(ask("duplicate(A,B)")) == wanted


# Impact


def impact_files() -> dict[str, str]:
    root = claim("ex:c/root", evidence="\n    - { id: a, source_ref: notes }")
    derived = claim("ex:c/child", relations="{ derived_from: [ex:c/root] }")
    grandchild = claim("ex:c/grandchild", relations="{ derived_from: [ex:c/child] }")
    other = "- id: other\n  resource: https://example.com/other\n"
    return {
        "home.md": page(root),
        "refers.md": page(sources="", extra="claim_refs: [ex:c/root]"),
        "links.md": page(sources="", body="# L\n\nSee [home](home.md#page).\n"),
        "shares.md": page(),
        "child.md": page(derived, sources=""),
        "grandchild.md": page(grandchild, sources=""),
        "refers-child.md": page(sources="", extra="claim_refs: [ex:c/grandchild]"),
        "unrelated.md": page(claim("ex:c/unrelated"), sources=other, body="# U\n\n[child](child.md)\n"),
        "shares-other.md": page(sources=other),
    }


CASES = (
    EvalCase("set", "hit", "q?", ("desk",), ("child.md", "unrelated.md")),
    EvalCase("set", "miss", "q?", (), ("unrelated.md",)),
)


def test_impact_names_what_depends_and_nothing_else() -> None:
    facts = facts_of(impact_files())
    result = claim_impact(facts, "ex:c/root", cases=CASES)
    assert {(entry["document"], entry["kind"]) for entry in result["affected"]} == {
        ("home.md", "declares"),
        ("refers.md", "refers"),
        ("links.md", "links"),
        ("shares.md", "shares-source"),
        ("child.md", "derived"),
        ("grandchild.md", "derived"),
        ("refers-child.md", "refers-derived"),
    }
    assert result["dependents"] == ["refers.md"]
    assert result["linkedDocuments"] == ["links.md"]
    assert result["sharedSourceDocuments"] == ["shares.md"]
    assert result["documents"] == sorted(entry["document"] for entry in result["affected"])
    assert [(entry["id"], entry["via"]) for entry in result["derivedClaims"]] == [
        ("ex:c/child", ["ex:c/root"]),
        ("ex:c/grandchild", ["ex:c/root", "ex:c/child"]),
    ]
    assert [(case["caseId"], case["paths"], case["agents"]) for case in result["evals"]] == [
        ("hit", ["child.md"], ["desk"])
    ]
    assert [source["id"] for source in result["sources"]] == ["notes"]


def test_impact_is_what_the_rules_say_and_each_edge_has_a_proof() -> None:
    facts = facts_of(impact_files())
    result = claim_impact(facts, "ex:c/root", cases=CASES)
    ask = asker(facts, cases=CASES)
    assert atoms(ask('affected_document("ex:c/root",D,K)')) == {entry["atom"] for entry in result["affected"]}
    assert atoms(ask('affected_claim("ex:c/root",C)')) == {entry["atom"] for entry in result["derivedClaims"]}
    assert atoms(ask('affected_case("ex:c/root",D,C)')) == {'affected_case("ex:c/root","set","hit")'}


@pytest.mark.parametrize("name", ["unrelated.md", "shares-other.md", "ontology.md"])
def test_a_page_that_does_not_depend_is_not_named(name: str) -> None:
    result = claim_impact(facts_of(impact_files()), "ex:c/root", cases=CASES)
    assert name not in result["documents"]


def test_a_circle_of_derivations_ends() -> None:
    items = claim("ex:c/a", relations="{ derived_from: [ex:c/b] }") + claim(
        "ex:c/b", relations="{ derived_from: [ex:c/a] }"
    )
    facts = facts_of({"page.md": page(items)})
    result = claim_impact(facts, "ex:c/a")
    assert [entry["id"] for entry in result["derivedClaims"]] == ["ex:c/b"]
    assert atoms(asker(facts)('affected_claim("ex:c/a",C)')) == {'affected_claim("ex:c/a","ex:c/b")'}


# Lifecycle and policy


def test_lifecycle_follows_a_claim_to_its_latest_successor() -> None:
    items = (
        claim("ex:c/1", **ENDED["superseded"])
        + claim("ex:c/2", relations="{ supersedes: [ex:c/1] }", **ENDED["superseded"])
        + claim("ex:c/3", relations="{ supersedes: [ex:c/2] }")
        + claim("ex:c/4", relations="{ derived_from: [ex:c/1], contradicts: [ex:c/3] }")
    )
    ask = asker(facts_of({"page.md": page(items)}))
    assert atoms(ask("latest(A,B)")) == {'latest("ex:c/1","ex:c/3")', 'latest("ex:c/2","ex:c/3")'}
    assert atoms(ask("ended(A,S)")) == {'ended("ex:c/1","superseded")', 'ended("ex:c/2","superseded")'}
    assert atoms(ask("rests_on_ended(A,B)")) == {'rests_on_ended("ex:c/4","ex:c/1")'}
    assert atoms(ask("open_contradiction(A,B)")) == {'open_contradiction("ex:c/4","ex:c/3")'}


def test_policy_names_what_lacks_an_owner_evidence_or_an_approval() -> None:
    sources = (
        "- id: boss\n  resource: https://e.example/\n  role: authoritative\n"
        "- id: secret\n  resource: https://s.example/\n  access: team:red\n"
    )
    items = (
        claim("ex:c/bare")
        + claim(
            "ex:c/owned", owners="[team:a]", evidence="\n    - { id: a, source_ref: boss, stance: opposes }"
        )
        + claim("ex:c/secret", owners="[team:a]", evidence="\n    - { id: a, source_ref: secret }")
        + claim(
            "ex:c/machine",
            owners="[team:a]",
            status="verified",
            verification="{ method: m, by: process:x, at: 2026-05-01 }",
            evidence="\n    - { id: a, source_ref: boss }",
        )
    )
    files = {
        "page.md": page(items, sources=sources),
        "r.md": page(extra="claim_refs: [ex:c/bare, ex:c/machine]"),
    }
    ask = asker(facts_of(files))
    assert atoms(ask("unowned(C)")) == {'unowned("ex:c/bare")'}
    assert atoms(ask("unsupported(C)")) == {'unsupported("ex:c/bare")'}
    assert atoms(ask("opposed(C,E)")) == {'opposed("ex:c/owned","a")'}
    assert atoms(ask("unapproved_authority(D,S)")) == {'unapproved_authority("page","boss")'}
    assert atoms(ask("restricted_claim(C,L)")) == {'restricted_claim("ex:c/secret","team:red")'}
    assert atoms(ask("verified_by_machine(C,A)")) == {'verified_by_machine("ex:c/machine","process:x")'}
    assert atoms(ask("relies_on_unverified(D,C)")) == {'relies_on_unverified("r","ex:c/bare")'}


def test_a_page_that_refers_to_a_stale_claim_is_named() -> None:
    files = {"page.md": page(claim(stale_after="2026-01-01")), "r.md": page(extra="claim_refs: [ex:c/one]")}
    assert atoms(asker(facts_of(files))("relies_on_stale(D,C)")) == {'relies_on_stale("r","ex:c/one")'}


def test_proofs_are_accepted_by_the_checker() -> None:
    files = {"page.md": page(timed("a", 10, stale_after="2026-01-01") + timed("b", 20)), **impact_files()}
    facts = facts_of(files)
    table = Facts(facts.bundle, facts.now, claim_sources(facts, cases=CASES))
    ask = asker(facts, cases=CASES)
    checker = ProofChecker(builtin_texts(), table.rows)
    queries = [
        "stale_claim(C,R)",
        "over_maximum(K,N,M)",
        "conflict(A,B)",
        'affected_document("ex:c/root",D,K)',
    ]
    for query in queries:
        rows = ask(query)
        assert rows
        for row in rows:
            assert checker.check_row(row.to_json()) is None
