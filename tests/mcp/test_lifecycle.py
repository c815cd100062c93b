"""From the first line to the end of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine.version import __version__

from tests.mcp.conftest import IDENTITY, INITIALIZE, Wire, server_command

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NOT_INITIALIZED = {"code": -32000, "message": "Server not initialized"}
METHODS = ("tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read")


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_a_known_protocol_version_is_agreed_to(fresh: Wire, version: str) -> None:
    assert fresh.initialize(version)["protocolVersion"] == version


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-28"])
def test_for_an_unknown_version_the_newest_with_a_handshake_is_offered(fresh: Wire, version: str) -> None:
    assert fresh.initialize(version)["protocolVersion"] == "2025-11-25"


def test_the_server_says_who_it_is_and_what_it_can(fresh: Wire) -> None:
    found = fresh.initialize()
    assert found["capabilities"] == {"resources": {}, "tools": {}}
    assert found["serverInfo"] == {"name": "openknowledge", "title": "Open Knowledge", "version": __version__}
    assert isinstance(found["instructions"], str)
    assert found["instructions"]
    assert set(found) == {"protocolVersion", "capabilities", "serverInfo", "instructions"}


@pytest.mark.parametrize("method", [*METHODS, "nope", "notifications/initialized"])
def test_before_initialize_everything_is_refused(server_never_initialized: Wire, method: str) -> None:
    assert server_never_initialized.ask(method, {})["error"] == NOT_INITIALIZED


@pytest.fixture(scope="module")
def server_never_initialized() -> Any:
    wire = Wire(IDENTITY)
    yield wire
    wire.kill()


def test_before_initialize_ping_is_answered(fresh: Wire) -> None:
    assert fresh.ask("ping")["result"] == {}
    assert fresh.initialize()["protocolVersion"] == "2025-11-25"


def test_before_initialize_the_notification_that_it_is_over_changes_nothing(fresh: Wire) -> None:
    fresh.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert fresh.ask("tools/list")["error"] == NOT_INITIALIZED
    fresh.ask("initialize", INITIALIZE)
    assert fresh.ask("tools/list")["error"] == NOT_INITIALIZED


def test_between_initialize_and_the_notification_only_ping_is_answered(fresh: Wire) -> None:
    fresh.ask("initialize", INITIALIZE)
    assert [fresh.ask(method, {})["error"] for method in METHODS] == [NOT_INITIALIZED] * len(METHODS)
    assert fresh.ask("ping")["result"] == {}
    fresh.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert fresh.ask("tools/list")["result"]["tools"]


@pytest.mark.parametrize("early", [True, False], ids=["before", "after"])
def test_a_second_initialize_is_refused(fresh: Wire, early: bool) -> None:
    fresh.ask("initialize", INITIALIZE)
    if not early:
        fresh.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert fresh.ask("initialize", INITIALIZE)["error"] == {
        "code": -32600,
        "message": "Server already initialized",
    }
    assert fresh.ask("ping")["result"] == {}


BAD_INITIALIZE: list[Any] = [
    None,
    [],
    "text",
    {},
    {**INITIALIZE, "protocolVersion": None},
    {**INITIALIZE, "protocolVersion": ""},
    {**INITIALIZE, "protocolVersion": "  "},
    {**INITIALIZE, "protocolVersion": 20251125},
    {**INITIALIZE, "capabilities": None},
    {**INITIALIZE, "capabilities": []},
    {**INITIALIZE, "capabilities": True},
    {**INITIALIZE, "clientInfo": None},
    {**INITIALIZE, "clientInfo": "tests"},
    {**INITIALIZE, "clientInfo": {}},
    {**INITIALIZE, "clientInfo": {"name": "x"}},
    {**INITIALIZE, "clientInfo": {"version": "1"}},
    {**INITIALIZE, "clientInfo": {"name": " ", "version": "1"}},
    {**INITIALIZE, "clientInfo": {"name": "x", "version": ""}},
    {**INITIALIZE, "clientInfo": {"name": 1, "version": "1"}},
    {name: value for name, value in INITIALIZE.items() if name != "capabilities"},
    {name: value for name, value in INITIALIZE.items() if name != "protocolVersion"},
]


@pytest.mark.parametrize("params", BAD_INITIALIZE, ids=str)
def test_an_incomplete_initialize_is_refused(server_never_initialized: Wire, params: Any) -> None:
    error = server_never_initialized.ask("initialize", params)["error"]
    assert (error["code"], error["message"]) == (-32602, "Invalid params")
    assert error["data"]["reason"]


def test_after_a_refused_initialize_a_right_one_is_accepted(fresh: Wire) -> None:
    fresh.ask("initialize", {})
    assert fresh.initialize()["serverInfo"]["name"] == "openknowledge"
    assert fresh.ask("tools/list")["result"]["tools"]


def test_what_a_client_says_beyond_the_necessary_does_not_matter(fresh: Wire) -> None:
    extra = {
        "capabilities": {"roots": 5, "sampling": True, "experimental": {"x": 1}, "unheard": []},
        "clientInfo": {"name": "x", "version": "1", "title": 5, "icons": "no", "more": {}},
        "trace": 1,
        "_meta": {"progressToken": [1]},
    }
    assert fresh.ask("initialize", {**INITIALIZE, **extra})["result"]["protocolVersion"] == "2025-11-25"


def envelope(version: str = "2026-07-28", **more: Any) -> dict[str, Any]:
    prefix = "io.modelcontextprotocol"
    meta = {
        f"{prefix}/protocolVersion": version,
        f"{prefix}/clientInfo": {"name": "tests", "version": "1"},
        f"{prefix}/clientCapabilities": {},
    }
    return {"_meta": meta, **more}


def test_the_protocol_without_handshake_is_spoken_too(fresh: Wire) -> None:
    found = fresh.ask("server/discover", envelope())["result"]
    assert found["supportedVersions"] == ["2026-07-28"]
    assert found["capabilities"] == {"resources": {}, "tools": {}}
    assert fresh.ask("tools/list", envelope())["result"]["tools"]
    call = envelope(name="openknowledge_search", arguments={"query": "key rotation"})
    answer = fresh.ask("tools/call", call)["result"]
    assert answer["structuredContent"]["sources"]
    assert answer["resultType"] == "complete"


def test_without_handshake_errors_are_the_same(fresh: Wire) -> None:
    call = envelope(name="nope")
    assert fresh.ask("tools/call", call)["error"] == {
        "code": -32602,
        "message": "Unknown tool",
        "data": {"name": "nope"},
    }
    assert fresh.ask("prompts/list", envelope())["error"] == {"code": -32601, "message": "Method not found"}


def test_an_unknown_version_without_handshake_is_refused_with_those_that_are_known(fresh: Wire) -> None:
    error = fresh.ask("tools/list", envelope("2031-01-01"))["error"]
    assert error["code"] == -32022
    assert error["data"]["supported"] == ["2026-07-28"]


def test_a_handshake_after_requests_without_one_is_refused(fresh: Wire) -> None:
    fresh.ask("tools/list", envelope())
    assert fresh.ask("initialize", INITIALIZE)["error"]["code"] == -32022


def test_the_end_of_the_input_is_a_good_end(start: Callable[..., Wire]) -> None:
    wire = start()
    wire.initialize()
    assert wire.close() == 0
    assert wire.errors == b""


def test_input_that_is_empty_from_the_start_is_a_good_end(start: Callable[..., Wire]) -> None:
    assert start().close() == 0


def test_everything_asked_is_answered_before_the_end(start: Callable[..., Wire]) -> None:
    wire = start()
    wire.initialize()
    for number in range(100, 120):
        wire.send(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": "openknowledge_validate"},
            }
        )
    assert wire.close() == 0
    assert [wire.receive()["id"] for _ in range(20)] == list(range(100, 120))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
@pytest.mark.parametrize("busy", [False, True], ids=["waiting", "answering"])
def test_a_signal_ends_the_server_at_once(
    start: Callable[..., Wire], name: str, code: int, busy: bool
) -> None:
    wire = start()
    wire.initialize()
    wire.ask("ping")
    if busy:
        sections = ", ".join(f"section({name},_,_,_)" for name in "ABCD")
        slow = f"p(A) :- {sections}, A < B, B < C, C < D, D < A."
        arguments = {"datalog": {"query": "p(A)", "rules": slow}}
        call = {"name": "openknowledge_query", "arguments": arguments}
        wire.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        time.sleep(0.3)
    sent = time.monotonic()
    wire.process.send_signal(getattr(signal, name))
    assert wire.ended() == code
    assert time.monotonic() - sent < 20
    assert b"Traceback" not in wire.errors


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_client_that_never_reads_holds_the_server_up_but_not_its_end(start: Callable[..., Wire]) -> None:
    process = subprocess.Popen(
        server_command(IDENTITY), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin
    os.set_blocking(process.stdin.fileno(), False)
    line = (
        b'{"jsonrpc":"2.0","id":"' + b"x" * 2_000 + b'","method":"ping"}\n'
    )  # short enough to be written whole
    written = 0
    quiet = time.monotonic() + 3
    while time.monotonic() < quiet and written < 20_000_000:
        try:
            written += os.write(process.stdin.fileno(), line)
        except BlockingIOError:
            time.sleep(0.05)
    assert 60_000 < written < 1_000_000  # it has stopped reading: nothing piles up
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 143
    assert b"Traceback" not in errors


def test_a_client_that_closes_its_reading_end_ends_the_server_with_an_error() -> None:
    process = subprocess.Popen(
        server_command(IDENTITY), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    process.stdout.close()
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    assert process.wait(30) == 1
    assert process.stderr
    errors = process.stderr.read()
    assert b"it has closed its end" in errors
    assert b"Traceback" not in errors
    process.stderr.close()
    process.stdin.close()


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [*server_command("")[:-1], *arguments]
    return subprocess.run(command, input=b"", capture_output=True, timeout=60, check=False, **options)


def test_a_missing_directory_is_a_failure(tmp_path: Path) -> None:
    done = run(str(tmp_path / "nowhere"))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"No such file or directory" in done.stderr


def test_a_file_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = run(str(tmp_path / "file"))
    assert (done.returncode, done.stdout) == (1, b"")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--spec", "9.9", str(IDENTITY)),
        ("--log-level", "loud", str(IDENTITY)),
        ("--unheard-of",),
        (str(IDENTITY), str(IDENTITY)),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_wrong_command_line_is_a_usage_error(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, b"")


def test_the_bundle_is_the_current_directory_unless_named(small: Path) -> None:
    assert run(cwd=small).returncode == 0


def test_the_log_level_sets_what_is_said_on_standard_error(start: Callable[..., Wire]) -> None:
    said = {}
    for level in ("info", "off"):
        wire = start(IDENTITY, "--log-level", level)
        wire.send_raw(b"broken\n")
        wire.close()
        said[level] = wire.errors
    assert b"not JSON" in said["info"]
    assert said["off"] == b""
