"""A server in a process of its own, spoken to in raw lines."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
IDENTITY = ROOT / "corpora/identity"
NOW = "2026-11-30T12:00:00Z"
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tests", "version": "1.0"},
}
SECONDS = 30.0


def okn_command() -> list[str]:
    """Return how the installed command is started."""
    return [str(Path(sys.executable).with_name("okn"))]


def server_command(bundle: Path | str, *options: str) -> list[str]:
    """Return the command line of a server."""
    return [*okn_command(), "--now", NOW, "mcp", *options, str(bundle)]


class Wire:
    """One server process. Lines that it prints are collected by a thread, so that a test never hangs."""

    def __init__(self, bundle: Path | str, *options: str, **popen: Any) -> None:
        self.process = subprocess.Popen(
            server_command(bundle, *options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **popen,
        )
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self.errors = b""
        self._readers = [
            threading.Thread(target=self._collect),
            threading.Thread(target=self._collect_errors),
        ]
        for reader in self._readers:
            reader.start()
        self.number = 0

    def _collect(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _collect_errors(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.errors += line

    def send_raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        """Write one message as a line."""
        self.send_raw(json.dumps(message).encode() + b"\n")

    def receive(self, seconds: float = SECONDS) -> Any:
        """Return the next message; ``None`` when there are no more."""
        line = self.lines.get(timeout=seconds)
        return None if line is None else json.loads(line)

    def exchange(self, data: bytes) -> Any:
        """Write one line of bytes and return the next message."""
        self.send_raw(data + b"\n")
        return self.receive()

    def ask(self, method: str, params: Any = None, **extra: Any) -> Any:
        """Return the response to a request, which carries the id of the request."""
        self.number += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self.number, "method": method, **extra}
        if params is not None:
            message["params"] = params
        self.send(message)
        answer = self.receive()
        assert answer["id"] == self.number
        return answer

    def tool(self, name: str, arguments: Any = None) -> Any:
        """Return the response to a call of a tool."""
        params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
        return self.ask("tools/call", params)

    def initialize(self, version: str = "2025-11-25") -> Any:
        """Do the handshake and return what the server says of itself."""
        answer = self.ask("initialize", {**INITIALIZE, "protocolVersion": version})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    def close(self) -> int:
        """Close the server's input and return its exit code."""
        if self.process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        return self.ended()

    def ended(self) -> int:
        """Wait for the end and return the exit code."""
        code = self.process.wait(SECONDS)
        for reader in self._readers:
            reader.join(SECONDS)
        return code

    def kill(self) -> None:
        """End it in any case."""
        if self.process.poll() is None:
            self.process.kill()
        self.close()


@pytest.fixture
def start() -> Iterator[Callable[..., Wire]]:
    """Start servers that end with the test."""
    started: list[Wire] = []

    def begin(bundle: Path | str = IDENTITY, *options: str, **popen: Any) -> Wire:
        wire = Wire(bundle, *options, **popen)
        started.append(wire)
        return wire

    yield begin
    for wire in started:
        wire.kill()


@pytest.fixture(scope="module")
def server() -> Iterator[Wire]:
    """One initialized server of the identity bundle for all tests of a module."""
    wire = Wire(IDENTITY)
    wire.initialize()
    yield wire
    wire.kill()


@pytest.fixture
def fresh(start: Callable[..., Wire]) -> Wire:
    """A server that has not been spoken to."""
    return start()


@pytest.fixture
def identity(tmp_path: Path) -> Path:
    """A copy of the identity bundle, to change."""
    return Path(shutil.copytree(IDENTITY, tmp_path / "identity"))


def page(title: str, text: str, **fields: str) -> str:
    """Return a page."""
    front = "".join(
        f"{name}: {value}\n" for name, value in {"type": "Guide", "title": title, **fields}.items()
    )
    return f"---\n{front}---\n\n# {title}\n\n{text}\n"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A bundle of three pages and a picture."""
    root = tmp_path / "small"
    (root / "guides").mkdir(parents=True)
    (root / "index.md").write_text("# Index\n\n* [Walrus](guides/walrus.md)\n")
    (root / "guides/walrus.md").write_text(page("Walrus", "The walrus sleeps on ice."))
    (root / "guides/heron.md").write_text(page("Heron", "The heron waits in reeds."))
    (root / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    os.utime(root / "picture.png", (0, 1_700_000_000))
    return root
