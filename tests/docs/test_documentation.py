"""The documentation is true: generated pages are current, examples run, everything is mentioned."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from openknowledge.cli.main import app
from openknowledge.cli.reference import reference
from openknowledge.engine.analysis.builtin_rules import builtin_rule_files
from openknowledge.engine.facts.relations import DERIVED_RELATIONS, RELATIONS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "corpora/README.md"]
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOW = "2026-11-30T12:00:00Z"


def okn_path() -> str:
    """Return the installed command."""
    return str(Path(sys.executable).with_name("okn"))


def console_examples() -> list[Any]:
    """Return every command of every console block, with what it must print."""
    found = []
    for page in PAGES:
        for block in CONSOLE.findall(page.read_text(encoding="utf-8")):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                found.append(pytest.param(command, output, id=f"{page.name}: {command[:60]}"))
    return found


def matches(expected: str, actual: str) -> bool:
    """Whether ``actual`` is what ``expected`` says; ``...`` alone stands for lines, inside one for text."""
    pattern = ""
    for line in expected.splitlines():
        if line == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.fullmatch(pattern, actual) is not None


@pytest.mark.parametrize(("command", "expected"), console_examples())
def test_an_example_prints_what_the_page_says(command: str, expected: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "okn"
    done = subprocess.run(
        [okn_path(), "--now", NOW, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert matches(expected, done.stdout), (
        f"\n--- printed\n{done.stdout}{done.stderr}\n--- expected\n{expected}"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for block in PYTHON.findall(page.read_text(encoding="utf-8")):
        if ">>>" not in block:
            exec(compile(block, page.name, "exec"), {"__name__": "example"})


def test_the_commands_page_is_up_to_date() -> None:
    text = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    assert text == reference(), "run python -m openknowledge.cli.reference > docs/commands.md"


def leaf_commands(group: Any, prefix: str = "okn") -> dict[str, Any]:
    """Return every command by its full name."""
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        full = f"{prefix} {name}"
        found |= leaf_commands(command, full) if getattr(command, "commands", None) else {full: command}
    return found


COMMANDS = leaf_commands(typer.main.get_command(app))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_documented(name: str) -> None:
    text = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert section
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option":
            assert f"`{parameter.opts[0]}`" in section


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_an_example(name: str) -> None:
    assert f"{name} " in (COMMANDS[name].help or "") + " "
    assert "Example" in COMMANDS[name].help


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_does(name: str) -> None:
    assert all(parameter.help for parameter in COMMANDS[name].params)


def test_every_relation_is_in_the_vocabulary() -> None:
    text = (ROOT / "docs/vocabulary.md").read_text(encoding="utf-8")
    for relation in [*RELATIONS.values(), *DERIVED_RELATIONS]:
        assert f"`{relation.signature}`" in text


def test_every_built_in_rule_file_is_documented() -> None:
    text = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    for file in builtin_rule_files():
        assert f"`{file.name}.dl`" in text or f"rules/{file.name}.dl" in text


def test_links_between_pages_of_the_documentation_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
