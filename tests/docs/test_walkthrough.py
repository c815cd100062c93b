"""The walkthrough of the identity bundle shows what its commands really print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

CORPORA = Path(__file__).resolve().parents[2] / "corpora"
PAGE = CORPORA / "identity/walkthrough.md"
NOW = "2026-11-30T12:00:00Z"
EXAMPLE = re.compile(r"<!-- output: okn (.*?) -->\n```text\n(.*?)```\n", re.DOTALL)


def printed(command: str) -> str:
    """Return what a command prints when it is run beside the bundle."""
    okn = str(Path(sys.executable).with_name("okn"))
    arguments = shlex.split(command)
    if arguments[0] == "query":
        arguments += ["--format", "table"]
    environment = {**os.environ, "COLUMNS": "120"}
    done = subprocess.run(
        [okn, "--now", NOW, *arguments],
        capture_output=True,
        text=True,
        cwd=CORPORA,
        env=environment,
        check=False,
    )
    return done.stdout


def examples() -> list[tuple[str, str]]:
    """Return every command of the page with the output shown below it."""
    return EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))


def test_the_walkthrough_has_its_examples() -> None:
    assert len(examples()) == 10


@pytest.mark.parametrize(("command", "shown"), examples(), ids=[command for command, _ in examples()])
def test_the_walkthrough_shows_what_the_command_prints(command: str, shown: str) -> None:
    assert printed(command) == shown
