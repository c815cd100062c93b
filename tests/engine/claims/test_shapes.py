"""Every result has the shape that its schema declares."""

from __future__ import annotations

from typing import Any

import pytest
from openknowledge.engine.claims.conflicts import find_conflicts
from openknowledge.engine.claims.evals import EvalCase
from openknowledge.engine.claims.find import find_claims, find_entities
from openknowledge.engine.claims.history import validate_claims
from openknowledge.engine.claims.impact import claim_impact
from openknowledge.engine.claims.machine import claim_profile_json
from openknowledge.engine.claims.show import show_claim
from openknowledge.engine.claims.stale import stale_claims
from openknowledge.engine.claims.suggest import suggest_claims
from openknowledge.schemas import claims as shapes
from pydantic import TypeAdapter, with_config

from tests.engine.claims.conftest import claim, facts_of, page

ITEMS = (
    claim(
        "ex:c/one",
        predicate="ex:name",
        scope="{ ex:where: { value: Hallo, language: de } }",
        evidence="\n    - { id: e, source_ref: notes, selector: { type: text_position, start: 0, end: 1 } }",
        status="verified",
        stale_after="2026-01-01",
        verification="{ method: m, by: human:ada, at: 2026-05-01, evidence_refs: [e], evidence_versions: "
        f"[{{ evidence_ref: e, source_ref: old, resource: x, "
        f"sha256: {'a' * 64}, by: human:ada, at: 2026-05-01 }}] }}",
        relations="{ derived_from: [ex:c/two] }",
    )
    + claim("ex:c/two", predicate="ex:name", object="{ value: 1.5 }", stale_after="2026-12-01")
    + claim("ex:c/three", predicate="ex:name", object="{ value: 2 }", relations="{ contradicts: [ex:c/bad] }")
    + claim("ex:c/four", predicate="ex:name", object="{ value: 2 }")
    + claim("ex:c/bad", status="sure")
)
FILES = {
    "page.md": page(ITEMS, extra="generated: { by: w/1, at: 2026-06-01T00:00:00Z }"),
    "refers.md": page(extra="claim_refs: [ex:c/two]"),
}


def results() -> dict[str, tuple[Any, Any]]:
    facts = facts_of(FILES)
    cases = [EvalCase("d", "c", "q", ("a",), ("page.md",))]
    base = facts_of({**FILES, "page.md": FILES["page.md"].replace("# Page", "# Before")}).claim_set
    return {
        "find": (shapes.FindResult, find_claims(facts, "ex")),
        "entities": (shapes.EntityResult, find_entities(facts, "gate")),
        "show": (shapes.ShowResult, show_claim(facts, "ex:c/one")),
        "stale": (shapes.StaleResult, stale_claims(facts, within=30)),
        "conflicts": (shapes.ConflictResult, find_conflicts(facts)),
        "impact": (shapes.ImpactResult, claim_impact(facts, "ex:c/two", cases=cases)),
        "suggest": (shapes.SuggestResult, suggest_claims(facts)),
        "validate": (shapes.ClaimValidation, validate_claims(facts.claim_set, base=base, against="x")),
        "profile": (shapes.ClaimProfile, claim_profile_json(facts.bundle.by_path["page.md"], facts)),
    }


@pytest.mark.parametrize(
    "name", ["find", "entities", "show", "stale", "conflicts", "impact", "suggest", "validate", "profile"]
)
def test_a_result_has_its_declared_shape(name: str) -> None:
    shape, result = results()[name]
    strict = with_config({"extra": "forbid"})(shape)
    TypeAdapter(strict).validate_python(result, strict=True)


def test_the_results_are_not_empty() -> None:
    found = {name: result for name, (_, result) in results().items()}
    assert found["stale"]["results"][0]["reasons"]
    assert found["stale"]["upcoming"]
    assert found["stale"]["outdatedVerifications"]
    assert found["conflicts"]["conflicts"]
    assert found["conflicts"]["duplicates"]
    assert found["impact"]["evals"]
    assert found["validate"]["quarantined"]
    assert found["validate"]["dangling"]
    assert found["validate"]["outdatedVerifications"]
    assert found["suggest"]["results"]
