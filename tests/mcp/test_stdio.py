"""Standard output carries the protocol alone, whatever is printed."""

from __future__ import annotations

import json
import subprocess
import sys

NOISY = """
import os, subprocess, sys
from openknowledge.mcp.stdio import claim_stdio
{before}
reader, writer = claim_stdio()
print("from print")
sys.stdout.flush()
os.write(1, b"from the descriptor\\n")
subprocess.run([sys.executable, "-c", "print('from a child')"])
os.system("echo from a shell")
print(repr(sys.stdin.readline()), repr(os.read(0, 10)))
os.write(writer, os.read(reader, 100))
"""


def run(before: str = "", **options: int) -> subprocess.CompletedProcess[bytes]:
    program = NOISY.format(before=before)
    return subprocess.run(
        [sys.executable, "-c", program], input=b"the protocol\n", capture_output=True, check=False, **options
    )


def test_what_libraries_and_children_print_goes_to_standard_error() -> None:
    done = run()
    assert done.stdout == b"the protocol\n"
    for text in (b"from print", b"from the descriptor", b"from a child", b"from a shell"):
        assert text in done.stderr


def test_nobody_else_reads_the_protocol() -> None:
    assert b"'' b''" in run().stderr


def test_what_was_printed_before_is_not_lost() -> None:
    done = run("print('early')")
    assert done.stdout == b"early\nthe protocol\n"


def test_a_closed_standard_error_does_not_bring_prints_into_the_protocol() -> None:
    done = run("os.close(2)")
    assert done.stdout == b"the protocol\n"


def test_a_closed_standard_output_is_reported() -> None:
    from tests.mcp.conftest import IDENTITY, server_command

    command = ["sh", "-c", 'exec "$@" >&-', "sh", *server_command(IDENTITY)]
    done = subprocess.run(command, input=b"", capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr == b"okn: standard output is closed\n"


def test_a_library_that_prints_during_a_call_does_not_disturb_it() -> None:
    from tests.mcp.conftest import IDENTITY

    program = f"""
import sys
from openknowledge.engine.store import Store
from openknowledge.mcp.serve import serve
ask = Store.context
def noisy(self, *a, **k):
    print("a library says hello")
    import os
    os.write(1, b"and so does its C part\\n")
    return ask(self, *a, **k)
Store.context = noisy
serve({str(IDENTITY)!r})
"""
    call = {"name": "openknowledge_search", "arguments": {"query": "key"}}
    lines = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=False)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert b"a library says hello" in done.stderr
    assert b"its C part" in done.stderr
