"""Whatever a client sends, the server lives, prints only messages, and answers what must be answered."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.mcp.conftest import Wire, page

MESSAGES = 10_000
BATCH = 50
METHODS = [
    "ping",
    "initialize",
    "notifications/initialized",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "prompts/list",
    "nope",
    "",
]
TOOLS = [
    f"openknowledge_{name}"
    for name in (
        "search",
        "validate",
        "claims_find",
        "claims_stale",
        "claims_impact",
        "claims_propose",
        "query",
    )
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "query": VALUES | st.sampled_from(["walrus", "heron ice", "a" * 5000]),
        "limit": VALUES | st.integers(-1, 60),
        "budget": VALUES | st.integers(-1, 40_000),
        "noExpand": VALUES,
        "filters": VALUES | st.just({"types": ["Guide"]}),
        "claimId": VALUES,
        "text": VALUES | st.just("walrus"),
        "sparql": VALUES | st.sampled_from(["SELECT * { ?s ?p ?o } LIMIT 3", "ASK {}", "SELECT"]),
        "datalog": VALUES
        | st.fixed_dictionaries(
            {"query": st.sampled_from(["document(A,B,C)", "p(X)", "p("])},
            optional={"rules": VALUES | st.just("p(X) :- document(X,_,_)."), "ruleProfile": VALUES},
        ),
        "document": VALUES,
        "claim": VALUES,
        "reason": VALUES,
        "confidence": VALUES,
        "extra": VALUES,
    },
)
PARAMS = VALUES | st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(TOOLS) | VALUES,
        "arguments": ARGUMENTS | VALUES,
        "uri": VALUES | st.sampled_from(["openknowledge://bundle/index.md", "openknowledge://bundle/../x"]),
        "cursor": VALUES | st.sampled_from(["", "djE6MA", "djE6MTAw"]),
        "_meta": VALUES,
    },
)
ENVELOPES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={
        "id": st.integers(0, 10**6) | st.text(max_size=5) | VALUES,
        "method": st.sampled_from(METHODS) | VALUES,
        "params": PARAMS,
    },
) | st.fixed_dictionaries({}, optional={"jsonrpc": VALUES, "id": VALUES, "method": VALUES, "result": VALUES})
CALLS = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "id": st.integers(0, 10**6),
        "method": st.just("tools/call"),
        "params": st.fixed_dictionaries({"name": st.sampled_from(TOOLS), "arguments": ARGUMENTS}),
    }
)
LINES = (
    st.builds(lambda value: json.dumps(value, ensure_ascii=False).encode(), ENVELOPES | CALLS | VALUES)
    | st.builds(lambda value: json.dumps(value).encode(), ENVELOPES)
    | st.binary(max_size=60)
)


def damaged(line: bytes, where: int, how: int, byte: int) -> bytes:
    """Return ``line`` with a byte removed, replaced or doubled."""
    at = where % (len(line) + 1)
    return line[:at] + (b"" if how == 0 else bytes([byte]) * how) + line[at + 1 :]


MANY = st.lists(
    LINES | st.builds(damaged, LINES, st.integers(0, 1000), st.integers(0, 2), st.integers(0, 255)),
    min_size=BATCH,
    max_size=BATCH,
)


def expected(line: bytes) -> tuple[bool, Any]:
    """Return whether a line must be answered, and the id that the answer must carry."""
    text = line.strip()
    if not text:
        return False, None
    if text.startswith(b"["):
        return True, None
    try:
        message = json.loads(text.decode("utf-8", "strict"), parse_constant=_refuse)
        json.dumps(message, ensure_ascii=False).encode()
    except ValueError:
        return True, None
    if not isinstance(message, dict):
        return True, None
    if "method" not in message and ("result" in message or "error" in message):
        return False, None
    method, version, has_id, found = (
        message.get("method", ""),
        message.get("jsonrpc", ""),
        "id" in message,
        message.get("id"),
    )
    good_id = isinstance(found, str) or (type(found) is int and -(2**63) <= found < 2**63)
    if not isinstance(method, str) or not isinstance(version, str) or (has_id and not good_id):
        return True, None
    if version != "2.0" or not method.strip():
        return True, found if has_id else None
    return has_id, found


def _refuse(text: str) -> Any:
    raise ValueError(text)


def is_response(message: Any) -> bool:
    """Whether this is a response of JSON-RPC 2.0, as the protocol has it."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or "id" not in message:
        return False
    if set(message) == {"jsonrpc", "id", "result"}:
        return isinstance(message["result"], dict)
    error = message.get("error")
    return (
        set(message) == {"jsonrpc", "id", "error"}
        and isinstance(error, dict)
        and type(error.get("code")) is int
        and isinstance(error.get("message"), str)
        and set(error) <= {"code", "message", "data"}
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    found = tmp_path_factory.mktemp("random")
    (found / "index.md").write_text("# Index\n")
    (found / "walrus.md").write_text(page("Walrus", "It sleeps on ice."))
    yield found
    shutil.rmtree(found)


@pytest.fixture(scope="module")
def ready(root: Path) -> Iterator[Wire]:
    wire = Wire(root)
    wire.initialize()
    yield wire
    assert wire.close() == 0, wire.errors
    assert b"Traceback" not in wire.errors


@pytest.fixture(scope="module")
def untouched(root: Path) -> Iterator[Wire]:
    wire = Wire(root)
    yield wire
    assert wire.close() == 0, wire.errors
    assert b"Traceback" not in wire.errors


def check(wire: Wire, lines: list[bytes]) -> None:
    flat = [part for line in lines for part in line.split(b"\n")]
    end = f"end-{random.random()}"
    wire.send_raw(
        b"".join(line + b"\n" for line in flat)
        + json.dumps({"jsonrpc": "2.0", "id": end, "method": "ping"}).encode()
        + b"\n"
    )
    answers = []
    while True:
        raw = wire.lines.get(timeout=30)
        assert raw is not None, wire.errors
        answer = json.loads(raw.decode("utf-8", "strict"))
        assert is_response(answer), answer
        if answer["id"] == end:
            break
        answers.append(answer["id"])
    assert answers == [found for must, found in map(expected, flat) if must]


@given(MANY)
@settings(
    max_examples=MESSAGES // BATCH * 3 // 4,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
@seed(20261130)
def test_random_messages_to_a_server_that_is_ready(ready: Wire, lines: list[bytes]) -> None:
    check(ready, lines)


@given(MANY)
@settings(
    max_examples=MESSAGES // BATCH // 4, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
@seed(20261130)
def test_random_messages_to_a_server_before_the_handshake(untouched: Wire, lines: list[bytes]) -> None:
    check(untouched, lines)
