"""The official Python client, with and without handshake, through a working day."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp import Client
from tests.mcp.conftest import server_command
from tests.mcp.day import PAGE, STEPS, bytes_of, check_day

MODES = ("legacy", "auto", *MODERN_PROTOCOL_VERSIONS)


def dumped(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def take(client: Client, step: list[Any]) -> Any:
    action, *rest = step
    try:
        if action == "tools":
            return [dumped(tool) for tool in (await client.list_tools()).tools]
        if action == "resources":
            found, cursor = [], None
            while True:
                part = await client.list_resources(cursor=cursor)
                found += [dumped(resource) for resource in part.resources]
                cursor = part.next_cursor
                if cursor is None:
                    return found
        if action == "read":
            return [dumped(content) for content in (await client.read_resource(rest[0])).contents]
        return dumped(await client.call_tool(*rest))
    except MCPError as error:
        return {"error": dumped(error.error)}


def connect(bundle: Path, mode: str) -> Client:
    command, *arguments = server_command(bundle)
    return Client(StdioServerParameters(command=command, args=arguments), mode=mode)


async def day(bundle: Path, mode: str) -> tuple[str, list[Any]]:
    async with connect(bundle, mode) as client:
        return client.protocol_version, [await take(client, step) for step in STEPS]


@pytest.mark.parametrize("mode", MODES)
def test_a_working_day(mode: str, identity: Path, tmp_path: Path) -> None:
    before = bytes_of(identity)
    version, results = anyio.run(day, identity, mode)
    assert version == ("2025-11-25" if mode == "legacy" else MODERN_PROTOCOL_VERSIONS[-1])
    check_day(identity, before, results, tmp_path, -32002 if mode == "legacy" else -32602)


async def edit(bundle: Path) -> tuple[str, str]:
    uri = f"openknowledge://bundle/{PAGE}"
    async with connect(bundle, "legacy") as client:
        before = (await client.read_resource(uri)).contents[0]
        (bundle / PAGE).write_text((bundle / PAGE).read_text() + "\nThe quagga.\n")
        found = await client.call_tool("openknowledge_search", {"query": "quagga"})
        after = (await client.read_resource(uri)).contents[0]
        assert found.structured_content
        assert found.structured_content["sources"][0]["path"] == PAGE
        return before.text, after.text  # type: ignore[union-attr]


def test_an_edit_between_two_calls_is_seen(identity: Path) -> None:
    before, after = anyio.run(edit, identity)
    assert after == before + "\nThe quagga.\n"
