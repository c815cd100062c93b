"""Starting a command imports only what it uses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("numpy", "networkx", "bm25s", "pyoxigraph", "pyDatalog", "mcp", "pydantic", "rich", "yaml")

SCRIPT = """
import sys
from openknowledge.cli.main import run
code = run(sys.argv[1:])
sys.stdout.flush()
print("imported:", *[name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""


def imported(*arguments: str) -> set[str]:
    """Run a command in a fresh interpreter and return which heavy modules it imported."""
    script = SCRIPT.replace("{heavy!r}", repr(HEAVY))
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True, cwd=ROOT
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("imported:")
    return set(last.split()[1:])


def test_the_version_imports_nothing_heavy() -> None:
    assert imported("--version") == set()


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["--help"], set()),
        (["validate", "corpora/http"], {"yaml"}),
        (["list", "corpora/http"], {"yaml"}),
        (["get", "corpora/http", "index.md"], {"yaml"}),
        (["search", "corpora/http", "cache"], {"yaml"}),
        (["query", "corpora/http", "--sparql", "ASK { ?s ?p ?o }"], {"yaml", "pyoxigraph"}),
        (["query", "corpora/http", "--datalog", 'tag(D, "caching")'], {"yaml"}),
        (["export", "rdf", "corpora/http"], {"yaml"}),
        (["export", "graph", "corpora/http"], {"yaml"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_imports_only_what_it_uses(arguments: list[str], allowed: set[str]) -> None:
    assert imported(*arguments) <= allowed
