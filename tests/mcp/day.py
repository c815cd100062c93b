"""A working day of an agent: what it asks, and what must come of it, whichever client it uses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from openknowledge.engine.store import Store

from tests.mcp.conftest import NOW, okn_command

PARTNER = "auth:claim/access-token-lifetime-partner"
PAGE = "tokens/access-token.md"
PROPOSED: dict[str, Any] = {
    "document": PAGE,
    "claim": {
        "id": "auth:claim/access-token-lifetime-partner-deployed",
        "slot": "auth:slot/access-token-lifetime",
        "subject": "auth:token/access-token",
        "predicate": "auth:tokenLifetime",
        "object": {
            "value": 10,
            "datatype": "xsd:integer",
            "unit": "unit:MIN",
            "quantityKind": "quantitykind:Time",
        },
        "scope": {
            "auth:dimension/client-class": {"ref": "auth:client/partner"},
            "auth:dimension/environment": {"ref": "auth:environment/production"},
        },
        "evidence": [
            {
                "id": "deployed",
                "sourceRef": "issuer-settings",
                "stance": "supports",
                "role": "auth:role/deployed-settings",
                "selector": {"type": "text_quote", "exact": '"partner": 600'},
            }
        ],
        "relations": {"contradicts": [PARTNER]},
        "sectionRef": "#lifetime",
    },
    "reason": "The settings of 2026-09-17 give partner clients 600 seconds; the claim says 15 minutes.",
    "confidence": 0.9,
}
RULES = 'review(Claim,Owner) :- stale(Claim,"true"), owner(Claim,Owner).'
STEPS: list[list[Any]] = [
    ["tools"],
    ["resources"],
    ["read", f"openknowledge://bundle/{PAGE}"],
    ["call", "openknowledge_search", {"query": "how long does a partner's access token live", "limit": 8}],
    ["call", "openknowledge_validate", {}],
    ["call", "openknowledge_query", {"datalog": {"query": "review(Claim,Owner)", "rules": RULES}}],
    [
        "call",
        "openknowledge_query",
        {
            "text": "partner token lifetime",
            "sparql": "SELECT ?page ?title { ?page dcterms:title ?title } ORDER BY ?title LIMIT 5",
        },
    ],
    ["call", "openknowledge_claims_find", {"query": "access token lifetime partner"}],
    ["call", "openknowledge_claims_stale", {}],
    ["call", "openknowledge_claims_impact", {"claimId": PARTNER}],
    ["call", "openknowledge_claims_impact", {"claimId": "auth:claim/unheard-of"}],
    ["call", "openknowledge_claims_propose", PROPOSED],
    ["call", "openknowledge_nope", {}],
    ["read", "openknowledge://bundle/../secret.md"],
]


def bytes_of(bundle: Path) -> dict[str, bytes]:
    """Return every file of a bundle."""
    return {
        str(path.relative_to(bundle)): path.read_bytes()
        for path in sorted(bundle.rglob("*"))
        if path.is_file()
    }


def proofs_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return the proof of an answer of rules."""
    proof: dict[str, Any] = row["datalog"]["proof"]
    return proof


def check(bundle: Path, results: list[Any], not_found: int) -> dict[str, Any]:
    """Check what a client got for ``STEPS`` and return the proposal."""
    tools, resources, page, *calls, unknown, forbidden = results
    schemas = {tool["name"]: tool["outputSchema"] for tool in tools}
    assert [tool["name"].removeprefix("openknowledge_") for tool in tools] == [
        "search",
        "validate",
        "query",
        "claims_find",
        "claims_stale",
        "claims_impact",
        "claims_propose",
    ]
    assert PAGE in [resource["name"] for resource in resources]
    assert page[0]["text"] == (bundle / PAGE).read_text()
    failed = calls.pop(-2)
    assert failed["isError"] is True
    assert "auth:claim/unheard-of" in failed["content"][0]["text"]
    for step, result in zip(
        [step for step in STEPS if step[0] == "call"], [*calls[:-1], failed, calls[-1]], strict=False
    ):
        if result is not failed:
            assert not result.get("isError"), result
            Draft202012Validator(schemas[step[1]]).validate(result["structuredContent"])
            assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    search, report, reviewed, mixed, found, stale, impact, proposal = (
        result["structuredContent"] for result in calls
    )
    revision = Store.open(bundle).revision
    for reply in (search, report, reviewed, mixed, found, stale, impact):
        assert reply["revision"] == revision
    assert PAGE in [source["path"] for source in search["sources"]]
    assert report["summary"]["errorCount"] == 1
    rows = reviewed["results"]
    assert rows
    assert all(row["kind"] == "derived-fact" for row in rows)
    assert proofs_of(rows[0])["kind"] == "rule"
    assert proofs_of(rows[0])["inputs"]
    assert {route["name"] for route in mixed["routes"]} >= {"bm25", "sparql"}
    assert found["matches"][0]["claim"]["id"] == PARTNER
    assert PARTNER in [claim["claim"]["id"] for claim in stale["claims"]]
    assert "walkthrough.md" in impact["impact"]["dependents"]
    assert proposal["document"] == PAGE
    assert proposal["claim"]["status"] == "proposed"
    assert_error(unknown, -32602, "Unknown tool")
    assert_error(forbidden, not_found, "Resource not found")
    return dict(proposal)


def assert_error(result: Any, code: int, text: str) -> None:
    """Check that a client got this error."""
    assert result["error"]["code"] == code
    assert text in result["error"]["message"]


def apply(bundle: Path, proposal: dict[str, Any], folder: Path) -> None:
    """Apply a proposal as a person does, from its file."""
    file = folder / "proposal.json"
    file.write_text(json.dumps(proposal), encoding="utf-8")
    command = [*okn_command(), "--now", NOW, "claims", "apply", str(file), "--path", str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def check_day(
    bundle: Path,
    before: dict[str, bytes],
    results: list[Any],
    folder: Path,
    not_found: int = -32002,
) -> None:
    """Check a day: what the client got, that nothing was written, that the proposal can be applied."""
    proposal = check(bundle, results, not_found)
    assert bytes_of(bundle) == before
    apply(bundle, proposal, folder)
    after = bytes_of(bundle)
    assert [
        name for name in after if not name.startswith(".openknowledge") and after[name] != before.get(name)
    ] == [PAGE]
    claims = Store.open(bundle).claims_find(PROPOSED["claim"]["id"])["matches"]
    assert [match["claim"]["status"] for match in claims][:1] == ["proposed"]
