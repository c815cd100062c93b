"""Arguments of tools: the bounds, one past them, and everything that is none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mcp.conftest import Wire

SEARCH, QUERY = "openknowledge_search", "openknowledge_query"
VALIDATE, FIND = "openknowledge_validate", "openknowledge_claims_find"
STALE, IMPACT, PROPOSE = (
    "openknowledge_claims_stale",
    "openknowledge_claims_impact",
    "openknowledge_claims_propose",
)
TOOLS = (SEARCH, VALIDATE, QUERY, FIND, STALE, IMPACT, PROPOSE)
CLAIM = {
    "id": "auth:claim/x",
    "slot": "auth:slot/x",
    "subject": "auth:s",
    "predicate": "auth:p",
    "object": {"value": 1},
    "evidence": [{"id": "e", "sourceRef": "s", "stance": "supports", "role": "primary"}],
}
PROPOSAL = {"document": "x.md", "claim": CLAIM, "reason": "because", "confidence": 0.5}


def reason(answer: dict[str, Any]) -> str:
    error = answer["error"]
    assert (error["code"], error["message"]) == (-32602, "Invalid params")
    return str(error["data"]["reason"])


@pytest.mark.parametrize(
    "name", ["nope", "openknowledge_Search", "search", " openknowledge_search", "openknowledge"]
)
def test_an_unknown_tool_is_named(server: Wire, name: str) -> None:
    assert server.tool(name, {})["error"] == {
        "code": -32602,
        "message": "Unknown tool",
        "data": {"name": name},
    }


@pytest.mark.parametrize(
    "params", [None, {}, {"name": ""}, {"name": " "}, {"name": 5}, {"name": None}, {"name": [SEARCH]}]
)
def test_a_tool_needs_a_name(server: Wire, params: Any) -> None:
    reason(server.ask("tools/call", params))


@pytest.mark.parametrize("arguments", [[], "x", 5, True, [{"query": "x"}]], ids=repr)
@pytest.mark.parametrize("name", TOOLS)
def test_arguments_must_be_an_object(server: Wire, name: str, arguments: Any) -> None:
    reason(server.ask("tools/call", {"name": name, "arguments": arguments}))


@pytest.mark.parametrize("params", [{}, {"arguments": None}, {"arguments": {}}], ids=str)
@pytest.mark.parametrize("name", [VALIDATE, STALE])
def test_missing_arguments_count_as_none(server: Wire, name: str, params: dict[str, Any]) -> None:
    assert "structuredContent" in server.ask("tools/call", {"name": name, **params})["result"]


def test_more_beside_the_arguments_is_tolerated(server: Wire) -> None:
    params = {"name": STALE, "task": 5, "more": [1], "_meta": {"progressToken": "t"}, "inputResponses": "x"}
    assert "structuredContent" in server.ask("tools/call", params)["result"]


@pytest.mark.parametrize("name", TOOLS)
def test_an_unknown_argument_is_named(server: Wire, name: str) -> None:
    valid = {
        SEARCH: {"query": "x"},
        QUERY: {"text": "x"},
        FIND: {"query": "x"},
        IMPACT: {"claimId": "abc"},
        PROPOSE: PROPOSAL,
    }
    said = reason(server.tool(name, {**valid.get(name, {}), "access": ["internal"]}))
    assert said == "access: unknown field"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [(SEARCH, {}), (QUERY, {}), (FIND, {}), (IMPACT, {}), (SEARCH, {"limit": 3}), (QUERY, {"limit": 3})],
    ids=str,
)
def test_a_missing_argument_is_refused(server: Wire, name: str, arguments: dict[str, Any]) -> None:
    reason(server.tool(name, arguments))


WRONG_TYPES: list[tuple[str, dict[str, Any]]] = [
    *[(SEARCH, {"query": value}) for value in (1, True, ["x"], {"x": 1}, 1.5)],
    *[(SEARCH, {"query": "x", "limit": value}) for value in ("5", 5.0, True, [5], {})],
    *[(SEARCH, {"query": "x", "budget": value}) for value in ("5", 5.0, False)],
    *[(SEARCH, {"query": "x", "noExpand": value}) for value in (0, 1, "true")],
    *[
        (SEARCH, {"query": "x", "filters": value})
        for value in ([], "Guide", {"types": "Guide"}, {"tags": [1]})
    ],
    (SEARCH, {"query": "x", "filters": {"kinds": []}}),
    (SEARCH, {"query": "x", "no_expand": True}),
    (SEARCH, {"Query": "x"}),
    *[(QUERY, {"text": value}) for value in (1, [], {})],
    *[(QUERY, {"sparql": value}) for value in (1, [], {})],
    *[(QUERY, {"datalog": value}) for value in ("stale(X,Y)", [], 1)],
    *[(QUERY, {"datalog": {"query": value}}) for value in (1, [], {})],
    (QUERY, {"datalog": {"query": "stale(X,Y)", "rule_profile": ""}}),
    (QUERY, {"datalog": {"query": "stale(X,Y)", "rules": ["a(X) :- b(X)."]}}),
    (FIND, {"query": 1}),
    (IMPACT, {"claimId": 12345}),
    (IMPACT, {"claim_id": "auth:claim/x"}),
    (PROPOSE, {**PROPOSAL, "confidence": "1"}),
    (PROPOSE, {**PROPOSAL, "confidence": True}),
    (PROPOSE, {**PROPOSAL, "document": 1}),
    (PROPOSE, {**PROPOSAL, "claim": []}),
    (PROPOSE, {**PROPOSAL, "claim": {**CLAIM, "evidence": {}}}),
    (PROPOSE, {**PROPOSAL, "claim": {**CLAIM, "object": {"value": [1]}}}),
    (PROPOSE, {**PROPOSAL, "claim": {**CLAIM, "object": {"value": 1, "x": 1}}}),
    (PROPOSE, {**PROPOSAL, "claim": {**CLAIM, "verification": {}}}),
    (PROPOSE, {**PROPOSAL, "claim": {**CLAIM, "valid_time": {}}}),
]


@pytest.mark.parametrize(("name", "arguments"), WRONG_TYPES, ids=str)
def test_a_wrong_type_or_name_is_refused_with_the_reason(
    server: Wire, name: str, arguments: dict[str, Any]
) -> None:
    assert reason(server.tool(name, arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "place"),
    [
        (SEARCH, {"query": None}, "query"),
        (SEARCH, {"query": "x", "limit": None}, "limit"),
        (SEARCH, {"query": "x", "filters": {"types": None}}, "filters.types"),
        (SEARCH, {"query": "x", "filters": {"types": ["a", None]}}, "filters.types.1"),
        (QUERY, {"text": "x", "datalog": None}, "datalog"),
        (IMPACT, {"claimId": None}, "claimId"),
        (PROPOSE, {**PROPOSAL, "claim": {**CLAIM, "staleAfter": None}}, "claim.staleAfter"),
    ],
    ids=str,
)
def test_a_null_is_refused_with_its_place(
    server: Wire, name: str, arguments: dict[str, Any], place: str
) -> None:
    assert reason(server.tool(name, arguments)) == f"{place}: must not be null; leave it out"


GOOD_BOUNDS: list[tuple[str, dict[str, Any]]] = [
    (SEARCH, {"query": "x" * 4096}),
    (SEARCH, {"query": "日" * 4096}),
    (SEARCH, {"query": "key", "budget": 1}),
    (SEARCH, {"query": "key", "budget": 32_000}),
    (SEARCH, {"query": "key", "limit": 1}),
    (SEARCH, {"query": "key", "limit": 50}),
    (SEARCH, {"query": "key", "filters": {"types": ["x"] * 50, "tags": ["x"] * 50}}),
    (SEARCH, {"query": "key", "filters": {}}),
    (FIND, {"query": "x" * 4096}),
    (FIND, {"query": " "}),
]


@pytest.mark.parametrize(("name", "arguments"), GOOD_BOUNDS, ids=lambda value: str(value)[:50])
def test_a_value_at_its_bound_is_accepted(server: Wire, name: str, arguments: dict[str, Any]) -> None:
    assert "structuredContent" in server.tool(name, arguments)["result"]


BAD_BOUNDS: list[tuple[str, dict[str, Any]]] = [
    (SEARCH, {"query": ""}),
    (SEARCH, {"query": " \t\n"}),
    (SEARCH, {"query": "x" * 4097}),
    *[(SEARCH, {"query": "x", "budget": value}) for value in (-1, 32_001, 2**63, 10**30)],
    *[(SEARCH, {"query": "x", "limit": value}) for value in (-1, 51, 2**63, -(10**30))],
    (SEARCH, {"query": "x", "filters": {"types": ["x"] * 51}}),
    (SEARCH, {"query": "x", "filters": {"tags": ["x"] * 51}}),
    (QUERY, {"text": "x" * 4097}),
    (QUERY, {"text": " "}),
    (QUERY, {"text": "", "sparql": "", "limit": 5}),
    (QUERY, {"sparql": "#" + "x" * 32_768}),
    (QUERY, {"sparql": "#" + "é" * 16_384}),
    (QUERY, {"datalog": {}}),
    (QUERY, {"datalog": {"query": ""}}),
    (QUERY, {"datalog": {"query": "  "}}),
    (QUERY, {"datalog": {"query": "p(X)" + " " * 4093}}),
    (QUERY, {"datalog": {"query": "p(X)#" + "é" * 2046}}),
    (QUERY, {"datalog": {"query": "p(X)", "rules": "#" * 65_537}}),
    (QUERY, {"datalog": {"query": "p(X)", "rules": "#" + "é" * 32_768}}),
    *[(QUERY, {"text": "x", "limit": value}) for value in (-1, 51)],
    (FIND, {"query": ""}),
    (FIND, {"query": "x" * 4097}),
    (IMPACT, {"claimId": "ab"}),
    (IMPACT, {"claimId": "   "}),
    (IMPACT, {"claimId": "x" * 257}),
    (IMPACT, {"claimId": "é" * 129}),
]


@pytest.mark.parametrize(("name", "arguments"), BAD_BOUNDS, ids=lambda value: str(value)[:50])
def test_a_value_past_its_bound_is_refused(server: Wire, name: str, arguments: dict[str, Any]) -> None:
    reason(server.tool(name, arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        (QUERY, {"sparql": "x" * 40_000}, "sparql: has 40000 bytes in UTF-8; at most 32768"),
        (QUERY, {"datalog": {"query": "é" * 4_097}}, "datalog.query: has 8194 bytes in UTF-8; at most 4096"),
        (IMPACT, {"claimId": "x" * 300}, "claimId: has 300 bytes in UTF-8; at most 256"),
    ],
)
def test_what_is_bounded_in_bytes_says_so(
    server: Wire, name: str, arguments: dict[str, Any], words: str
) -> None:
    assert words in reason(server.tool(name, arguments))


def test_a_number_of_thousands_of_digits_is_out_of_bounds(server: Wire) -> None:
    line = (
        b'{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"openknowledge_search",'
        b'"arguments":{"query":"x","limit":' + b"9" * 5_000 + b"}}}"
    )
    answer = server.exchange(line)
    assert answer["id"] == "big"
    reason(answer)


def test_zero_means_the_default(server: Wire) -> None:
    found = server.tool(SEARCH, {"query": "key rotation", "budget": 0, "limit": 0})["result"][
        "structuredContent"
    ]
    assert (found["budget"], found["limit"]) == (2400, 12)
    assert found == server.tool(SEARCH, {"query": "key rotation"})["result"]["structuredContent"]


def test_the_query_is_trimmed(server: Wire) -> None:
    found = server.tool(SEARCH, {"query": "  key rotation\n"})["result"]["structuredContent"]
    assert found["query"] == "key rotation"


INCOMPLETE: list[tuple[dict[str, Any], str]] = [
    ({}, "document: is required"),
    ({**PROPOSAL, "document": ""}, "document"),
    ({**PROPOSAL, "document": "x" * 4097}, "document"),
    ({**PROPOSAL, "reason": ""}, "reason"),
    ({**PROPOSAL, "reason": "x" * 4097}, "reason"),
    ({**PROPOSAL, "confidence": 0}, "confidence"),
    ({**PROPOSAL, "confidence": 1.01}, "confidence"),
    ({**PROPOSAL, "confidence": -1}, "confidence"),
    ({**PROPOSAL, "claim": {**CLAIM, "id": "x"}}, "claim.id"),
    ({**PROPOSAL, "claim": {**CLAIM, "id": "x:" + "y" * 2047}}, "claim.id"),
    ({**PROPOSAL, "claim": {**CLAIM, "evidence": []}}, "claim.evidence"),
    ({**PROPOSAL, "claim": {**CLAIM, "evidence": CLAIM["evidence"] * 101}}, "claim.evidence"),
    ({**PROPOSAL, "claim": {**CLAIM, "status": "verified"}}, "claim.status"),
    ({**PROPOSAL, "claim": {**CLAIM, "object": {}}}, "exactly one of ref and value"),
    ({**PROPOSAL, "claim": {**CLAIM, "object": {"ref": "a:b", "value": 1}}}, "exactly one of ref and value"),
    (
        {
            **PROPOSAL,
            "claim": {**CLAIM, "evidence": [{**CLAIM["evidence"][0], "selector": {"type": "text_quote"}}]},
        },  # type: ignore[index]
        "a selector of type text_quote needs exact",
    ),
    (
        {
            **PROPOSAL,
            "claim": {
                **CLAIM,
                "evidence": [
                    {**CLAIM["evidence"][0], "selector": {"type": "text_position", "start": 5, "end": 5}}
                ],  # type: ignore[index]
            },
        },
        "start must be before end",
    ),
]


@pytest.mark.parametrize(("arguments", "said"), INCOMPLETE, ids=lambda value: str(value)[:60])
def test_an_incomplete_proposal_is_a_result_that_an_agent_can_read(
    server: Wire, arguments: dict[str, Any], said: str
) -> None:
    result = server.tool(PROPOSE, arguments)["result"]
    assert result["isError"] is True
    assert said in result["content"][0]["text"]


def test_an_unknown_claim_is_a_result_that_an_agent_can_read(server: Wire) -> None:
    result = server.tool(IMPACT, {"claimId": "auth:claim/unheard-of"})["result"]
    assert result["isError"] is True
    assert "auth:claim/unheard-of" in result["content"][0]["text"]
    assert "structuredContent" not in result
