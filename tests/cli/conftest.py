"""Running the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from openknowledge.cli.main import run


@dataclass(frozen=True)
class Done:
    """What a command printed and returned."""

    code: int
    out: str
    err: str


@pytest.fixture
def okn(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Done]:
    """Return a function that runs one command line."""

    def call(*arguments: str) -> Done:
        capfdbinary.readouterr()
        code = run([str(argument) for argument in arguments])
        import sys

        sys.stdout.flush()
        sys.stderr.flush()
        captured = capfdbinary.readouterr()
        return Done(code, captured.out.decode(), captured.err.decode())

    return call
