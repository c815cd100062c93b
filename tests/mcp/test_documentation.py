"""The page on agents is true: its requests are sent, and the responses are what it shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer
from openknowledge.cli.main import app
from openknowledge.mcp import errors
from openknowledge.mcp.tools import TOOLS

from tests.mcp.conftest import ROOT, Wire, okn_command

PAGE = ROOT / "docs/agents.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
REST = "..."


def blocks(kind: str) -> list[str]:
    return [
        "\n".join(line.removeprefix(match[1]) for line in match[3].splitlines())
        for match in BLOCK.finditer(TEXT)
        if match[2] == kind
    ]


def pairs() -> Iterator[Any]:
    """Return each request with the response that follows it."""
    found = [json.loads(block) for block in blocks("json")]
    for request, response in pairwise(found):
        if "arguments" in request or "method" in request:
            name = request.get("name") or request["method"]
            yield pytest.param(request, response, id=f"{name} {json.dumps(request)[:60]}")


def differs(expected: Any, actual: Any, place: str = "") -> str:
    """Return where ``actual`` is not what the page shows; that may leave out members and ends."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name, value in expected.items():
            if name not in actual:
                return f"{place}.{name} is missing"
            if found := differs(value, actual[name], f"{place}.{name}"):
                return found
        return ""
    if isinstance(expected, list) and isinstance(actual, list):
        shown = expected[:-1] if expected[-1:] == [REST] else expected
        if len(actual) < len(shown) or (len(shown) == len(expected) and len(actual) != len(shown)):
            return f"{place} has {len(actual)} items"
        return next(
            (
                found
                for at, value in enumerate(shown)
                if (found := differs(value, actual[at], f"{place}[{at}]"))
            ),
            "",
        )
    if isinstance(expected, str) and isinstance(actual, str) and expected.endswith(REST):
        return "" if actual.startswith(expected.removesuffix(REST)) else f"{place} is {actual!r}"
    return "" if expected == actual else f"{place} is {actual!r}"


@pytest.mark.parametrize(("request_shown", "response_shown"), list(pairs()))
def test_a_request_gets_the_response_that_the_page_shows(
    server: Wire, request_shown: dict[str, Any], response_shown: dict[str, Any]
) -> None:
    if "method" in request_shown:
        actual = server.ask(request_shown["method"], request_shown["params"])["result"]
    else:
        actual = server.ask("tools/call", request_shown)["result"]["structuredContent"]
    assert differs(response_shown, actual) == ""


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_is_shown_with_a_request(tool: Any) -> None:
    assert f"### {tool.name}\n" in TEXT
    assert f'"name": "{tool.name}"' in TEXT


def commands() -> Iterator[tuple[str, list[str]]]:
    """Return every command that a configuration gives."""
    for block in blocks("json"):
        content = json.loads(block)
        for servers in (content.get("mcpServers"), content.get("servers")):
            for entry in (servers or {}).values():
                yield entry["command"], entry["args"]
    for block in blocks("toml"):
        for entry in tomllib.loads(block)["mcp_servers"].values():
            yield entry["command"], entry["args"]


def test_every_configuration_starts_the_command_as_it_is() -> None:
    group = typer.main.get_command(app)
    found = list(commands())
    assert len(found) == 3
    for command, (name, *arguments) in found:
        assert command == "okn"
        group.commands[name].make_context(name, list(arguments))  # type: ignore[attr-defined]


def test_the_program_runs(tmp_path: Path) -> None:
    (program,) = blocks("py")
    file = tmp_path / "program.py"
    file.write_text(program)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, str(file)],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "keys/key-rotation.md" in done.stdout


def test_every_error_is_documented() -> None:
    codes = {
        value
        for name, value in vars(errors).items()
        if name.isupper() and isinstance(value, int) and value < 0
    }
    assert all(f"| {code} |" in TEXT for code in codes)


def test_links_within_the_page_lead_to_a_heading() -> None:
    headings = re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)
    slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(#([^)]+)\)", TEXT):
        assert target in slugs


def test_the_proposal_of_the_page_can_be_applied(
    start: Callable[..., Wire], identity: Path, tmp_path: Path
) -> None:
    requests = [json.loads(block) for block in blocks("json")]
    request = next(found for found in requests if found.get("name") == "openknowledge_claims_propose")
    wire = start(identity)
    wire.initialize()
    proposal = wire.ask("tools/call", request)["result"]["structuredContent"]
    (tmp_path / "proposal.json").write_text(json.dumps(proposal))
    (command,) = [block for block in blocks("sh") if "claims apply" in block]
    arguments = command.strip().replace("/home/me/knowledge", str(identity)).split()
    done = subprocess.run(
        [*okn_command(), *arguments[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "access-token-lifetime-partner-deployed" in (identity / "tokens/access-token.md").read_text()
