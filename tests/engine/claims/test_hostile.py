"""Whatever a page says, it is answered with issues, never with a failure."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.claims.access import apply_access
from openknowledge.engine.claims.conflicts import find_conflicts
from openknowledge.engine.claims.find import find_claims
from openknowledge.engine.claims.history import validate_claims
from openknowledge.engine.claims.rdf import claim_triples
from openknowledge.engine.claims.relations import claim_sources
from openknowledge.engine.claims.shacl import shacl_turtle
from openknowledge.engine.claims.stale import stale_claims
from openknowledge.engine.claims.suggest import suggest_claims
from openknowledge.engine.datalog.values import normalised

from tests.engine.claims.conftest import claims_of

SCALARS: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    2**70,
    1.5,
    "",
    " ",
    "a",
    "ex:a",
    "ex:gate",
    "ex:free",
    "ex:c/one",
    "ex:c/two",
    "https://example.com/k/c/one",
    "urn:x",
    "xsd:integer",
    "rdf:langString",
    "en",
    "verified",
    "superseded",
    "2026-01-01",
    "2026-01-01T00:00:00Z",
    "#page",
    "human:ada",
    "notes",
    "pinned",
    "f" * 64,
    "\u0000",
    '"quoted"',
    "ß\u0301\U0001f600",
    "a\nb",
]
KEYS = [
    "id",
    "slot",
    "subject",
    "predicate",
    "object",
    "scope",
    "evidence",
    "owners",
    "status",
    "valid_time",
    "stale_after",
    "verification",
    "relations",
    "section_ref",
    "decisions",
    "ref",
    "value",
    "datatype",
    "language",
    "unit",
    "quantity_kind",
    "source_ref",
    "stance",
    "role",
    "selector",
    "observed_at",
    "type",
    "exact",
    "prefix",
    "suffix",
    "start",
    "end",
    "page",
    "conforms_to",
    "method",
    "by",
    "at",
    "evidence_refs",
    "evidence_versions",
    "evidence_ref",
    "resource",
    "sha256",
    "action",
    "reason",
    "supersedes",
    "contradicts",
    "derived_from",
    "from",
    "until",
    "namespaces",
    "entities",
    "predicates",
    "evidence_roles",
    "types",
    "pref_label",
    "alt_labels",
    "deprecated",
    "replaced_by",
    "subject_types",
    "object_kind",
    "required_scope",
    "maximum_count",
    "access",
    "observe",
    "live_resource",
    "claims",
    "claim_refs",
    "claim_ontology",
    "sources",
    "openknowledge_claim_profile",
    "owner",
    "ex",
    "http",
]


def wild(rng: random.Random, depth: int) -> Any:
    """Return a value of a random shape."""
    kind = rng.random()
    if depth == 0 or kind < 0.5:
        return rng.choice(SCALARS)
    if kind < 0.75:
        return [wild(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice(KEYS): wild(rng, depth - 1) for _ in range(rng.randrange(5))}


def mutated(value: Any, rng: random.Random, rate: float) -> Any:
    """Return ``value`` with some of its parts replaced, dropped or repeated."""
    if rng.random() < rate:
        return wild(rng, 3)
    if isinstance(value, dict):
        found = {key: mutated(item, rng, rate) for key, item in value.items() if rng.random() > rate / 2}
        if rng.random() < rate:
            found[rng.choice(KEYS)] = wild(rng, 2)
        return found
    if isinstance(value, list):
        return [mutated(item, rng, rate) for item in value for _ in range(1 + (rng.random() < rate / 2))]
    return value


SOUND: dict[str, Any] = {
    "type": "Service",
    "openknowledge_claim_profile": "1",
    "owners": ["team:a"],
    "sources": [
        {"id": "notes", "resource": "https://example.com/n", "access": ["team:red"]},
        {"id": "open", "resource": "files/a.txt", "observe": "pinned", "sha256": "f" * 64},
    ],
    "claim_refs": ["ex:c/one"],
    "claim_ontology": {
        "namespaces": {"more": "https://example.com/more/"},
        "entities": [{"id": "more:thing", "types": ["more:T"], "pref_label": "Thing"}],
        "predicates": [{"id": "more:says", "object_kind": "literal", "maximum_count": 1}],
    },
    "claims": [
        {
            "id": "ex:c/one",
            "slot": "ex:s/one",
            "subject": "ex:gate",
            "predicate": "ex:timeout",
            "object": {"value": 30, "unit": "unit:MIN", "quantity_kind": "quantitykind:Time"},
            "scope": {"ex:environment": {"ref": "ex:prod"}},
            "evidence": [{"id": "e", "source_ref": "open", "selector": {"type": "fragment", "value": "a"}}],
            "status": "verified",
            "valid_time": {"from": "2026-01-01", "until": "2027-01-01T00:00:00Z"},
            "stale_after": "2026-06-01",
            "verification": {
                "method": "m",
                "by": "human:ada",
                "at": "2026-05-01",
                "evidence_refs": ["e"],
                "evidence_versions": [
                    {
                        "evidence_ref": "e",
                        "source_ref": "open",
                        "resource": "files/a.txt",
                        "sha256": "f" * 64,
                        "by": "human:ada",
                        "at": "2026-05-01",
                    }
                ],
            },
            "relations": {"supersedes": ["ex:c/two"], "derived_from": ["ex:c/three"]},
        },
        {
            "id": "ex:c/two",
            "slot": "ex:s/one",
            "subject": "more:thing",
            "predicate": "more:says",
            "object": {"value": "hello", "language": "en"},
            "evidence": [{"id": "e", "source_ref": "notes"}],
            "status": "superseded",
            "decisions": [{"action": "superseded", "by": "human:ada", "at": "2026-05-01"}],
            "section_ref": "#page",
        },
        {
            "id": "ex:c/three",
            "slot": "ex:s/three",
            "subject": "ex:gate",
            "predicate": "ex:free",
            "object": {"ref": "more:thing"},
        },
    ],
}


def text_of(fields: Any) -> str:
    """Return a page with these fields (JSON is YAML)."""
    return f"---\n{json.dumps(fields, ensure_ascii=True, indent=1)}\n---\n\n# Page\n\nText.\n"


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.02, 0.05, 0.15, 0.4]))
def test_no_frontmatter_makes_anything_fail(seed: int, rate: float) -> None:
    rng = random.Random(seed)
    files = {
        f"page{number}.md": text_of(mutated(SOUND if number == 0 else {"type": "T"}, rng, rate))
        for number in range(2)
    }
    claims = claims_of(files)
    if rate == 0.0:
        assert claims.issues == ()
    for issue in claims.issues:
        lines = files.get(issue.path, "").split("\n")
        assert issue.path not in files or 1 <= issue.line <= len(lines)
        assert issue.message.isprintable()
    assert claims.valid is (claims.issues == ())
    for granted in ((), ("team:red",)):
        facts, _ = apply_access(claims, granted)
        json.dumps(facts.to_json(), allow_nan=False).encode()
        for source in claim_sources(facts).values():
            for row, place in source():
                assert row == tuple(normalised(value) for value in row)
                assert place.to_json()["locator"].startswith("okf+sha256://")
        _loads(claim_triples(facts, reifiers=True))
        for result in (find_claims(facts, "ex"), stale_claims(facts, within=30), find_conflicts(facts)):
            json.dumps(result, allow_nan=False)
        suggest_claims(facts)
        shacl_turtle(facts)
    validate_claims(claims, base=claims_of({"page0.md": text_of(SOUND)}))


def _loads(triples: Any) -> None:
    import pyoxigraph
    from openknowledge.engine.facts.rdf import write_nquads

    data = write_nquads(triples, "urn:x:g")
    found = list(pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.N_QUADS))
    assert len(found) == len(triples)
