"""Measures the MCP server through its pipe: start, warm calls, calls right after an edit, and memory.

usage: python benchmarks/mcp.py [--documents 1000] [--calls 200] [--endurance 10000]

Times are given as they are and as a ratio to ``ping`` on the same connection, which is what a call costs
without any work. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

QUESTIONS = (
    "token rotation retry window",
    "quota escalation replica backoff",
    "how is a canary rollback reviewed",
    "currency margin forecast",
    "certificate renewal",
)
CLIENT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Server:
    """A server in a process of its own, asked over its pipes."""

    def __init__(self, bundle: Path) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [str(Path(sys.executable).with_name("okn")), "mcp", str(bundle)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.number = 0
        self.ask("initialize", CLIENT)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        """Write one line."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the result of one request."""
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params or {}})
        assert self.process.stdout
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self.number, answer
        return answer["result"]  # type: ignore[no-any-return]

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return what a tool gives."""
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        assert not result.get("isError"), result
        return result["structuredContent"]  # type: ignore[no-any-return]

    def timed(self, method: str, params: dict[str, Any] | None = None) -> float:
        """Return how many milliseconds one request takes."""
        start = time.perf_counter()
        self.ask(method, params)
        return 1000 * (time.perf_counter() - start)

    def memory(self) -> float:
        """Return the resident memory in MiB, 0 where that is not known."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0.0
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def stop(self) -> None:
        """End it as a client does: by closing its input."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(10)


def search(number: int) -> dict[str, Any]:
    """Return the parameters of the search with this number."""
    return {"name": "openknowledge_search", "arguments": {"query": QUESTIONS[number % len(QUESTIONS)]}}


def shown(name: str, milliseconds: float, unit: float) -> None:
    """Print one line of the report."""
    print(f"{name:<42}{milliseconds:>10.1f} ms{milliseconds / unit:>10.1f} x ping")


def changes(server: Server, bundle: Path, unit: float) -> None:
    """Time the call right after an edit, an addition and a deletion, each of which must be seen."""
    page = next(path for path in sorted(bundle.rglob("*.md")) if path.name != "index.md")
    before = page.read_text()
    added = page.with_name("added-page.md")
    text = "---\ntype: Guide\ntitle: Zanzibar\n---\n\n# Zanzibar\n\nA zyzzyva beetle.\n"

    def found(word: str) -> bool:
        return any(
            word in source["markdown"]
            for source in server.tool("openknowledge_search", query=word)["sources"]
        )

    for name, act, word, expected in (
        ("after an edit", lambda: page.write_text(before + "\nThe quagga grazes.\n"), "quagga", True),
        ("after the edit is undone", lambda: page.write_text(before), "quagga", False),
        ("after a page was added", lambda: added.write_text(text), "zyzzyva", True),
        ("after it was deleted", added.unlink, "zyzzyva", False),
    ):
        act()
        start = time.perf_counter()
        assert found(word) is expected, name
        shown(f"search {name}", 1000 * (time.perf_counter() - start), unit)


def main() -> None:
    """Run the measurements and print them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument(
        "--endurance", type=int, default=0, help="number of calls over which memory is watched"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder)
        generator = Path(__file__).with_name("corpus.py")
        subprocess.run(
            [sys.executable, str(generator), folder, "--documents", str(options.documents)], check=True
        )
        server = Server(bundle)
        first = 1000 * (time.perf_counter() - server.started)
        cold = server.timed("tools/call", search(0))
        for number in range(10):
            server.timed("tools/call", search(number))
            server.timed("ping")
        pings, calls = [], []
        for number in range(options.calls):
            pings.append(server.timed("ping"))
            calls.append(server.timed("tools/call", search(number)))
        unit = statistics.median(pings)
        print(f"{options.documents} documents, {options.calls} calls")
        shown("initialize answered, from start", first, unit)
        shown("first search", cold, unit)
        shown("ping, median", unit, unit)
        shown("search, median", statistics.median(calls), unit)
        shown("search, 95th of 100", statistics.quantiles(calls, n=100)[94], unit)
        changes(server, bundle, unit)
        if options.endurance:
            warm = options.endurance // 10
            for number in range(warm):
                server.timed("tools/call", search(number))
            start = server.memory()
            for number in range(options.endurance - warm):
                server.timed("tools/call", search(number))
            print(
                f"memory: {start:.1f} MiB after {warm} calls, "
                f"{server.memory():.1f} MiB after {options.endurance}"
            )
        server.stop()


if __name__ == "__main__":
    main()
