"""Writes ``docs/commands.md`` from the commands themselves.

Run ``python -m openknowledge.cli.reference > docs/commands.md`` after changing a command.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

import typer
from openknowledge.cli.main import app

_INTRODUCTION = """# Commands

Every command and option, from the program's own help.
`PATH` is the bundle's directory, by default the current one.
Exit codes: 0 success, 1 a failed check or operation, 2 wrong usage.
"""


def reference() -> str:
    """Return the page."""
    root: Any = typer.main.get_command(app)
    parts = [_INTRODUCTION, "## okn", "", "Options before a command.", "", *_options(root)]
    for name, command in _commands(root, "okn"):
        parts += ["", f"## {name}", "", *_description(command), "", f"`{_usage(name, command)}`", ""]
        parts += _options(command)
    return "\n".join(parts).rstrip("\n") + "\n"


def _commands(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        full = f"{prefix} {name}"
        if getattr(command, "commands", None):
            yield from _commands(command, full)
        else:
            yield full, command


def _description(command: Any) -> list[str]:
    lines = inspect.cleandoc(command.help or "").replace("\b\n", "").split("\n")
    shown: list[str] = []
    in_example = False
    for line in lines:
        if line.startswith("  ") and not in_example:
            shown.append("```sh")
            in_example = True
        elif in_example and not line.startswith("  "):
            shown.append("```")
            in_example = False
        shown.append(line.strip() if in_example else line)
        if line.rstrip(":") in ("Examples", "Start with"):
            shown.append("")
    return [*shown, "```"] if in_example else shown


def _usage(name: str, command: Any) -> str:
    words = [name, "[OPTIONS]"]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            label = parameter.metavar or parameter.name.upper()
            words.append(label if parameter.required else f"[{label}]")
    return " ".join(words)


def _options(command: Any) -> list[str]:
    rows = []
    for parameter in command.params:
        if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False):
            names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
            value = "" if parameter.is_flag else f" {parameter.metavar or 'VALUE'}"
            default = parameter.default
            shown = (
                "" if callable(default) or default in (None, False, "", [], ()) else f" Default: {default}."
            )
            text = " ".join((parameter.help or "").split()).replace("|", "\\|")
            rows.append(f"| {names}{value.replace('|', chr(92) + '|')} | {text}{shown} |")
    return ["| Option | Meaning |", "|---|---|", *rows] if rows else []


if __name__ == "__main__":
    sys.stdout.write(reference())
