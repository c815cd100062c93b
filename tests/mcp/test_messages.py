"""Lines that are no good, and what each gets."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.mcp.conftest import Wire

MIB = 1024 * 1024
PARSE_ERROR = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
INVALID = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid Request"}}


def pong(request_id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": {}}


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"}",
        b"nonsense",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"',
        b'{"jsonrpc":"2.0","id":1,"method":"ping",}',
        b"{'jsonrpc':'2.0','id':1,'method':'ping'}",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"} {}',
        b'{"jsonrpc":"2.0","id":01,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":Infinity}}',
        b'{"jsonrpc":"2.0","id":1,"method":"pi\tng"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 300 + b"1" + b"}" * 301,
    ],
    ids=lambda line: line[:40].decode(),
)
def test_broken_json_is_a_parse_error(server: Wire, line: bytes) -> None:
    assert server.exchange(line) == PARSE_ERROR


@pytest.mark.parametrize(
    "text",
    [
        b"\xff",
        b"\xc3",
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\\ud800",
        b"\\udc00",
        b"\\udc00\\ud800",
        b"\\ud800x",
    ],
    ids=repr,
)
def test_text_that_is_not_utf_8_is_a_parse_error(server: Wire, text: bytes) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + text + b'"}}'
    assert server.exchange(line) == PARSE_ERROR


def test_a_pair_of_surrogates_is_a_character(server: Wire) -> None:
    assert server.exchange(b'{"jsonrpc":"2.0","id":"\\ud83d\\ude00","method":"ping"}') == pong("😀")


def test_answers_are_utf_8_and_not_escaped(server: Wire) -> None:
    server.send_raw('{"jsonrpc":"2.0","id":"ünï→😀","method":"ping"}\n'.encode())
    assert server.lines.get(timeout=30) == '{"jsonrpc":"2.0","id":"ünï→😀","result":{}}\n'.encode()


@pytest.mark.parametrize("line", [b"", b" ", b"\r", b"\t \r"], ids=repr)
def test_a_blank_line_is_ignored(server: Wire, line: bytes) -> None:
    server.send_raw(line + b"\n")
    assert server.ask("ping") == pong(server.number)


def test_a_carriage_return_before_the_line_feed_does_not_matter(server: Wire) -> None:
    assert server.exchange(b'{"jsonrpc":"2.0","id":7,"method":"ping"}\r') == pong(7)


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b"[1]",
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        b'  [{"jsonrpc":"2.0","method":"ping"}]',
        b"[broken",
        b"null",
        b"true",
        b"12",
        b'"ping"',
        b"{}",
        b'{"jsonrpc":2.0,"id":1,"method":"ping"}',
        b'{"jsonrpc":null,"id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":7}',
        b'{"jsonrpc":"2.0","id":1,"method":null}',
        b'{"jsonrpc":"2.0","id":1,"method":["ping"]}',
        b'{"jsonrpc":"1.0","method":"ping"}',
    ],
    ids=bytes.decode,
)
def test_what_is_no_request_object_is_an_invalid_request(server: Wire, line: bytes) -> None:
    assert server.exchange(line) == INVALID


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":"a","method":"ping"}',
        b'{"jsonrpc":"1.0","id":"a","method":"ping"}',
        b'{"jsonrpc":"","id":"a","method":"ping"}',
        b'{"jsonrpc":"2.0","id":"a"}',
        b'{"jsonrpc":"2.0","id":"a","method":""}',
        b'{"jsonrpc":"2.0","id":"a","method":"  "}',
    ],
    ids=bytes.decode,
)
def test_a_wrong_version_or_blank_method_is_refused_under_the_id_of_the_request(
    server: Wire, line: bytes
) -> None:
    assert server.exchange(line) == {**INVALID, "id": "a"}


@pytest.mark.parametrize(
    "request_id", [0, 1, -1, 2**63 - 1, -(2**63), "", "a", "1", "null", "a" * 2000], ids=repr
)
def test_an_id_may_be_a_string_or_a_64_bit_integer(server: Wire, request_id: Any) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "ping"}).encode()
    assert server.exchange(line) == pong(request_id)


@pytest.mark.parametrize(
    "request_id",
    [
        "null",
        "1.5",
        "1.0",
        "1e3",
        "true",
        "false",
        "{}",
        '{"a":1}',
        "[]",
        "[1]",
        str(2**63),
        str(-(2**63) - 1),
        "1e400",
        "9" * 5_000,
    ],
)
def test_any_other_id_is_an_invalid_request(server: Wire, request_id: str) -> None:
    line = f'{{"jsonrpc":"2.0","id":{request_id},"method":"ping"}}'.encode()
    assert server.exchange(line) == INVALID


@pytest.mark.parametrize(
    "message",
    [
        {"method": "notifications/cancelled", "params": {"requestId": 1}},
        {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}},
        {"method": "notifications/roots/list_changed"},
        {"method": "notifications/unheard-of", "params": [1, 2]},
        {"method": "ping"},
        {"method": "initialize", "params": {}},
        {"method": "tools/call", "params": {"name": "openknowledge_validate"}},
        {"method": "notifications/initialized", "params": "wrong"},
        {"id": 3, "result": {}},
        {"id": 3, "error": {"code": 1, "message": "no"}},
    ],
    ids=lambda message: json.dumps(message)[:60],
)
def test_notifications_and_responses_are_never_answered(server: Wire, message: dict[str, Any]) -> None:
    server.send({"jsonrpc": "2.0", **message})
    assert server.ask("ping") == pong(server.number)


@pytest.mark.parametrize(
    "method", ["nope", "tools/List", " ping", "prompts/list", "resources/subscribe", "server/discover"]
)
def test_an_unknown_method_is_not_found(server: Wire, method: str) -> None:
    assert server.ask(method, {})["error"] == {"code": -32601, "message": "Method not found"}


@pytest.mark.parametrize("params", [[], [1], "text", 5, True, False], ids=repr)
def test_params_must_be_an_object(server: Wire, params: Any) -> None:
    error = server.ask("tools/list", params)["error"]
    assert (error["code"], error["message"]) == (-32602, "Invalid params")


def test_params_may_be_null(server: Wire) -> None:
    assert server.exchange(b'{"jsonrpc":"2.0","id":1,"method":"resources/templates/list","params":null}')[
        "result"
    ] == {"resourceTemplates": []}


@pytest.mark.parametrize("params", [None, {}, {"anything": 1}, [], "text"], ids=repr)
def test_ping_is_always_answered(server: Wire, params: Any) -> None:
    assert server.ask("ping", params) == pong(server.number)


def test_many_requests_in_one_write_are_answered_in_their_order(server: Wire) -> None:
    many = range(1000, 1200)
    server.send_raw(b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % number for number in many))
    assert [server.receive()["id"] for _ in many] == list(many)


def test_a_message_in_small_pieces_is_one_message(server: Wire) -> None:
    for byte in b'{"jsonrpc":"2.0","id":9,"method":"ping"}\n':
        server.send_raw(bytes([byte]))
    assert server.receive() == pong(9)


def line_of(size: int) -> bytes:
    start = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"'
    return start + b"a" * (size - len(start) - 3) + b'"}}'


def test_a_line_of_exactly_one_mebibyte_is_read(server: Wire) -> None:
    assert len(line_of(MIB)) == MIB
    assert server.exchange(line_of(MIB)) == pong(1)


def test_a_line_of_one_byte_more_ends_the_server_with_an_error(fresh: Wire) -> None:
    fresh.send_raw(line_of(MIB + 1) + b"\n")
    assert fresh.receive() == PARSE_ERROR
    assert fresh.receive() is None
    assert fresh.ended() == 1
    assert b"longer than 1048576 bytes" in fresh.errors


def test_a_hundred_megabytes_without_a_line_feed_end_the_server_early(fresh: Wire) -> None:
    sent = 0
    with contextlib.suppress(BrokenPipeError):
        for _ in range(100):
            fresh.send_raw(b"x" * MIB)
            sent += 1
    assert fresh.receive() == PARSE_ERROR
    assert fresh.ended() == 1
    assert sent < 10


def test_requests_before_a_line_that_is_too_long_are_answered(fresh: Wire) -> None:
    fresh.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert fresh.receive() == pong(1)
    fresh.send_raw(b"x" * (MIB + 1))
    assert fresh.receive() == PARSE_ERROR


def test_the_last_line_may_lack_its_line_feed(start: Callable[..., Wire]) -> None:
    wire = start()
    wire.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert wire.close() == 0
    assert wire.receive() == pong(1)


def test_input_that_ends_inside_of_a_message_ends_the_server_without_error(
    start: Callable[..., Wire],
) -> None:
    wire = start()
    wire.send_raw(b'{"jsonrpc":"2.0","id":1,"meth')
    assert wire.close() == 0
    assert wire.receive() == PARSE_ERROR
    assert wire.receive() is None
    assert b"Traceback" not in wire.errors
