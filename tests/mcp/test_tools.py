"""What the tools say of themselves, and what they answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from tests.mcp.conftest import Wire, page
from tests.mcp.day import PROPOSED, bytes_of

NAMES = [
    "openknowledge_search",
    "openknowledge_validate",
    "openknowledge_query",
    "openknowledge_claims_find",
    "openknowledge_claims_stale",
    "openknowledge_claims_impact",
    "openknowledge_claims_propose",
]


@pytest.fixture(scope="module")
def tools(server: Wire) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in server.ask("tools/list")["result"]["tools"]}


def found(wire: Wire, name: str, **arguments: Any) -> dict[str, Any]:
    result = wire.tool(f"openknowledge_{name}", arguments)["result"]
    assert not result.get("isError"), result
    structured: dict[str, Any] = result["structuredContent"]
    return structured


def failure(wire: Wire, name: str, **arguments: Any) -> str:
    result = wire.tool(f"openknowledge_{name}", arguments)["result"]
    assert result["isError"] is True
    assert set(result) == {"content", "isError"}
    text: str = result["content"][0]["text"]
    return text


def test_the_tools_are_listed_in_their_order(tools: dict[str, Any]) -> None:
    assert list(tools) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_says_what_it_is_for(tools: dict[str, Any], name: str) -> None:
    tool = tools[name]
    assert set(tool) == {"name", "title", "description", "inputSchema", "outputSchema", "annotations"}
    assert tool["title"]
    assert "Use " in tool["description"]
    assert tool["annotations"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }


def objects(schema: Any) -> list[dict[str, Any]]:
    """Return every part of a schema that describes an object with named members."""
    if isinstance(schema, list):
        return [part for item in schema for part in objects(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if "properties" in schema and schema.get("type") == "object" else []
    return own + [part for value in schema.values() for part in objects(value)]


@pytest.mark.parametrize("name", NAMES)
def test_input_schemas_are_strict_and_have_nothing_to_look_up(tools: dict[str, Any], name: str) -> None:
    schema = tools[name]["inputSchema"]
    for validator in (Draft7Validator, Draft202012Validator):
        validator.check_schema(schema)
    assert schema["type"] == "object"
    assert objects(schema)
    assert all(part["additionalProperties"] is False for part in objects(schema))
    assert "$ref" not in json.dumps(schema)
    assert '"null"' not in json.dumps(schema)


@pytest.mark.parametrize("name", NAMES)
def test_output_schemas_are_schemas_of_objects(tools: dict[str, Any], name: str) -> None:
    schema = tools[name]["outputSchema"]
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["required"]


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("openknowledge_search", {"query": {"type": "string", "minLength": 1, "maxLength": 4096}}),
        (
            "openknowledge_search",
            {"budget": {"type": "integer", "minimum": 1, "maximum": 32_000, "default": 2400}},
        ),
        ("openknowledge_search", {"limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 12}}),
        ("openknowledge_search", {"noExpand": {"type": "boolean", "default": False}}),
        ("openknowledge_query", {"sparql": {"type": "string", "maxLength": 32_768}}),
        ("openknowledge_claims_impact", {"claimId": {"type": "string", "minLength": 3, "maxLength": 256}}),
    ],
)
def test_bounds_are_in_the_schema(tools: dict[str, Any], name: str, schema: dict[str, Any]) -> None:
    (argument, wanted), *_ = schema.items()
    given = tools[name]["inputSchema"]["properties"][argument]
    assert {key: given[key] for key in wanted} == wanted


def test_required_arguments_are_in_the_schema(tools: dict[str, Any]) -> None:
    required = {name: tool["inputSchema"].get("required", []) for name, tool in tools.items()}
    assert required == {
        "openknowledge_search": ["query"],
        "openknowledge_validate": [],
        "openknowledge_query": [],
        "openknowledge_claims_find": ["query"],
        "openknowledge_claims_stale": [],
        "openknowledge_claims_impact": ["claimId"],
        "openknowledge_claims_propose": ["document", "claim", "reason", "confidence"],
    }
    assert tools["openknowledge_query"]["inputSchema"]["anyOf"] == [
        {"required": ["text"]},
        {"required": ["sparql"]},
        {"required": ["datalog"]},
    ]


def test_the_schema_of_a_proposal_accepts_one_and_refuses_half_of_one(tools: dict[str, Any]) -> None:
    validator = Draft202012Validator(tools["openknowledge_claims_propose"]["inputSchema"])
    validator.validate(PROPOSED)
    claim = PROPOSED["claim"]
    half = {**claim["evidence"][0], "selector": {"type": "text_quote"}}
    assert not validator.is_valid({**PROPOSED, "claim": {**claim, "evidence": [half]}})
    assert not validator.is_valid({**PROPOSED, "claim": {**claim, "status": "verified"}})
    assert not validator.is_valid({**PROPOSED, "claim": {**claim, "evidence": []}})


def test_the_list_of_tools_is_small_enough_for_an_agent(server: Wire) -> None:
    shown = server.ask("tools/list")["result"]["tools"]
    assert len(json.dumps(shown)) < 128 * 1024
    assert len(json.dumps([{**tool, "outputSchema": None} for tool in shown])) < 24 * 1024


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", {"query": "key rotation"}),
        ("search", {"query": "nothing like it zzzz"}),
        ("validate", {}),
        ("query", {"text": "key rotation"}),
        ("query", {"datalog": {"query": "claim(A,B,C,D)"}}),
        ("query", {"datalog": {"query": "p(X)", "rules": "p(X) :- document(X,_,_).", "ruleProfile": ""}}),
        ("query", {"sparql": "SELECT ?s ?o { ?s dcterms:title ?o }"}),
        ("claims_find", {"query": "lifetime"}),
        ("claims_find", {"query": "zzzz"}),
        ("claims_stale", {}),
        ("claims_impact", {"claimId": "auth:claim/access-token-lifetime-partner"}),
        ("claims_propose", PROPOSED),
    ],
    ids=str,
)
def test_replies_fit_their_output_schema(
    server: Wire, tools: dict[str, Any], name: str, arguments: dict[str, Any]
) -> None:
    schema = tools[f"openknowledge_{name}"]["outputSchema"]
    Draft202012Validator(schema).validate(found(server, name, **arguments))


def test_the_search_keeps_to_its_budget_and_filters(server: Wire) -> None:
    reply = found(server, "search", query="token lifetime", budget=300, filters={"types": ["Token"]})
    assert 0 < reply["estimatedTokens"] <= 300
    assert {source["type"] for source in reply["sources"]} == {"Token"}


def test_no_expand_leaves_the_neighbours_out(server: Wire) -> None:
    reply = found(server, "search", query="token lifetime", noExpand=True)
    assert {source["relation"] for source in reply["sources"]} == {"direct"}


def test_the_validation_does_not_follow_the_settings_of_the_bundle(
    start: Callable[..., Wire], small: Path
) -> None:
    (small / "guides/new.md").write_text(page("New", "[nowhere](nowhere.md)"))
    (small / ".openknowledge.toml").write_text('[validation.rules]\nlink-target = "off"\n')
    wire = start(small)
    wire.initialize()
    report = found(wire, "validate")
    assert report["policy"] == {}
    assert [issue["rule"] for issue in report["issues"]] == ["link-target"]


def test_answers_of_rules_carry_their_proof(server: Wire) -> None:
    rules = 'review(C,O) :- stale(C,"true"), owner(C,O).'
    reply = found(server, "query", datalog={"query": "review(C,O)", "rules": rules})
    row = reply["results"][0]
    assert row["kind"] == "derived-fact"
    assert [step["atom"].partition("(")[0] for step in row["datalog"]["proof"]["inputs"]] == [
        "stale",
        "owner",
    ]
    assert row["sources"]


def test_negation_needs_its_profile(server: Wire) -> None:
    rules = 'fresh(C) :- claim(C,_,_,_), !stale(C,"true").'
    datalog = {"query": "fresh(C)", "rules": rules}
    assert "openknowledge.closed-world/v1" in failure(server, "query", datalog=datalog)
    closed = {**datalog, "ruleProfile": "openknowledge.closed-world/v1"}
    assert found(server, "query", datalog=closed)["results"]


def test_an_unknown_profile_is_a_failure_of_the_tool(server: Wire) -> None:
    datalog = {"query": "p(X)", "ruleProfile": "prolog"}
    assert "unsupported Datalog rule profile" in failure(server, "query", datalog=datalog)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"datalog": {"query": "stale(C,"}}, "^"),
        ({"datalog": {"query": "p(X)", "rules": "p(X) :- nowhere(X)."}}, "nowhere"),
        ({"datalog": {"query": "p(X)", "rules": 'p("x").'}}, "cannot assert"),
        ({"sparql": "SELECT ?s {"}, "^"),
        ({"sparql": "ASK {}"}, "SELECT"),
        ({"sparql": "SELECT * { SERVICE <http://example.com/> { ?s ?p ?o } }"}, "SERVICE"),
        ({"sparql": "INSERT DATA { <a:a> <a:b> <a:c> }"}, ""),
    ],
    ids=str,
)
def test_what_is_wrong_in_a_query_is_told_to_the_agent(
    server: Wire, arguments: dict[str, Any], said: str
) -> None:
    assert said in failure(server, "query", **arguments)


SECTIONS = ", ".join(f"section({name},_,_,_)" for name in "ABCD")
SLOW = {
    "datalog": {"datalog": {"query": "p(A)", "rules": f"p(A) :- {SECTIONS}, A < B, B < C, C < D, D < A."}},
    "sparql": {"sparql": "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"},
}


@pytest.mark.parametrize("arguments", SLOW.values(), ids=list(SLOW))
def test_a_slow_query_ends_at_its_limit_and_the_next_request_is_answered(
    server: Wire, arguments: dict[str, Any]
) -> None:
    began = time.monotonic()
    assert "stopped" in failure(server, "query", **arguments)
    assert time.monotonic() - began < 20
    assert server.ask("ping")["result"] == {}
    assert found(server, "query", text="key rotation")["results"]


def restricted(root: Path) -> None:
    """Write a bundle whose one claim rests on a restricted source."""
    (root / "ontology.md").write_text(
        '---\ntype: Ontology\ntitle: Ontology\nopenknowledge_claim_profile: "1"\nclaim_ontology:\n'
        "  namespaces: { x: 'https://example.com/x#' }\n"
        "  entities: [{ id: x:thing, types: [x:Thing], pref_label: thing }]\n"
        "  predicates: [{ id: x:says, object_kind: literal }]\n---\n\n# Ontology\n"
    )
    (root / "secret.md").write_text(
        "---\ntype: Guide\ntitle: Secret\nsources:\n"
        "  - { id: vault, resource: 'https://example.com/vault', access: [team:vault] }\n"
        'openknowledge_claim_profile: "1"\nclaims:\n'
        "  - id: x:claim/hidden\n    slot: x:slot/hidden\n    subject: x:thing\n    predicate: x:says\n"
        "    object: { value: xyzzy }\n    evidence: [{ id: e, source_ref: vault }]\n"
        "---\n\n# Secret\n\nNothing.\n"
    )


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A server of such a bundle."""
    root = tmp_path_factory.mktemp("restricted")
    restricted(root)
    wire = Wire(root)
    wire.initialize()
    yield wire
    wire.kill()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("query", {"datalog": {"query": "claim(A,B,C,D)"}}),
        ("query", {"datalog": {"query": "p(A,B)", "rules": "p(A,B) :- document(A,_,B)."}}),
        ("query", {"sparql": "SELECT ?s ?p ?o { ?s ?p ?o }", "limit": 50}),
        ("claims_find", {"query": "hidden"}),
        ("claims_stale", {}),
    ],
    ids=str,
)
def test_what_rests_on_restricted_sources_is_not_served(
    guarded: Wire, name: str, arguments: dict[str, Any]
) -> None:
    reply = found(guarded, name, **arguments)
    assert "xyzzy" not in json.dumps(reply)
    assert reply["policy"]["removedClaims"] == 1


def test_a_restricted_claim_is_unknown_to_those_who_ask_for_its_impact(guarded: Wire) -> None:
    assert "x:claim/hidden" in failure(guarded, "claims_impact", claimId="x:claim/hidden")


def test_a_proposal_writes_nothing(start: Callable[..., Wire], identity: Path) -> None:
    before = bytes_of(identity)
    wire = start(identity)
    wire.initialize()
    assert found(wire, "claims_propose", **PROPOSED)["claim"]["id"] == PROPOSED["claim"]["id"]
    assert bytes_of(identity) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"document": "nowhere.md"}, "nowhere.md"),
        ({"document": "../outside.md"}, ".."),
        ({"document": "/etc/passwd"}, "/etc/passwd"),
        ({"reason": "   "}, "reason"),
    ],
    ids=str,
)
def test_a_proposal_that_cannot_be_applied_is_refused_in_words(
    server: Wire, change: dict[str, Any], said: str
) -> None:
    assert said in failure(server, "claims_propose", **{**PROPOSED, **change})


def test_a_quotation_that_is_not_in_the_source_is_refused(server: Wire) -> None:
    evidence = {
        **PROPOSED["claim"]["evidence"][0],
        "selector": {"type": "text_quote", "exact": '"partner": 900'},
    }
    claim = {**PROPOSED["claim"], "evidence": [evidence]}
    assert "deployed" in failure(server, "claims_propose", **{**PROPOSED, "claim": claim})


def test_memory_does_not_grow_with_the_number_of_calls(start: Callable[..., Wire], small: Path) -> None:
    wire = start(small)
    wire.initialize()
    status = Path(f"/proc/{wire.process.pid}/status")
    if not status.exists():
        pytest.skip("the system does not tell how much memory a process has")

    def memory() -> int:
        return int(status.read_text().partition("VmRSS:")[2].split()[0])

    calls = [
        ("openknowledge_search", {"query": "walrus"}),
        ("openknowledge_claims_find", {"query": "walrus"}),
        ("openknowledge_query", {"datalog": {"query": "document(A,B,C)"}}),
        ("openknowledge_validate", {}),
    ]

    def ask(times: int) -> None:
        for number in range(times):
            name, arguments = calls[number % len(calls)]
            params = {"name": name, "arguments": {**arguments}}
            if "query" in arguments:
                params["arguments"]["query"] = f"walrus {number % 500}"  # type: ignore[index]
            wire.ask("tools/call", params)
            wire.ask("resources/list")

    ask(200)
    before = memory()
    ask(800)
    assert memory() - before < 2_000  # KiB


def test_memory_does_not_grow_with_the_number_of_edits(start: Callable[..., Wire], small: Path) -> None:
    for number in range(40):
        (small / f"guides/{number}.md").write_text(page(f"Page {number}", "Words of a page. " * 200))
    wire = start(small)
    wire.initialize()
    status = Path(f"/proc/{wire.process.pid}/status")
    if not status.exists():
        pytest.skip("the system does not tell how much memory a process has")

    def edit(times: int) -> int:
        for number in range(times):
            (small / "guides/walrus.md").write_text(page("Walrus", f"The walrus sleeps {number} times."))
            found(wire, "search", query="walrus sleeps")
            found(wire, "search", query="walrus ice")
        return int(status.read_text().partition("VmRSS:")[2].split()[0])

    before = edit(30)
    assert edit(60) - before < 8_000  # KiB
