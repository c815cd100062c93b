"""The official TypeScript client, in one release for each protocol version, through a working day."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conftest import server_command
from tests.mcp.day import STEPS, bytes_of, check_day

FOLDER = Path(__file__).with_name("typescript")
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


@pytest.fixture(scope="module")
def node() -> str:
    """Node.js with the clients installed."""
    found, npm = shutil.which("node"), shutil.which("npm")
    if found is None or npm is None:
        pytest.skip("node and npm are needed to run the TypeScript client")
    if not (FOLDER / "node_modules" / f"sdk-{VERSIONS[-1]}").is_dir():
        done = subprocess.run(
            [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
            cwd=FOLDER,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        if done.returncode != 0:
            pytest.skip(f"npm cannot install the TypeScript client: {done.stderr[-300:]}")
    return found


def run(node: str, version: str, bundle: Path, steps: list[Any]) -> dict[str, Any]:
    done = subprocess.run(
        [node, str(FOLDER / "day.mjs"), version],
        input=json.dumps({"command": server_command(bundle), "steps": steps}),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("version", VERSIONS)
def test_a_working_day(node: str, version: str, identity: Path, tmp_path: Path) -> None:
    before = bytes_of(identity)
    day = run(node, version, identity, STEPS)
    assert day["agreed"] == version
    assert day["server"]["name"] == "openknowledge"
    check_day(identity, before, day["results"], tmp_path)
