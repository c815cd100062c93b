"""Fixtures for every test: bundles made on the spot, real bundles where they are at hand, a fixed clock."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from openknowledge.engine.clock import Clock, fixed_clock

MakeBundle = Callable[[Mapping[str, str | bytes]], Path]

settings.register_profile(
    "project",
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("project")

_SHARED = Path(__file__).resolve().parents[1] / "../shared"


@pytest.fixture
def make_bundle(tmp_path: Path) -> MakeBundle:
    """Write files, given by bundle-relative path, into a new directory and return it."""
    made = 0

    def make(files: Mapping[str, str | bytes]) -> Path:
        nonlocal made
        made += 1
        root = tmp_path / f"bundle{made}"
        root.mkdir()
        for name, content in files.items():
            path = os.fsencode(root) + b"/" + os.fsencode(name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
        return root

    return make


@pytest.fixture
def clock() -> Clock:
    """A clock that always shows noon UTC of 30 November 2026."""
    return fixed_clock(datetime(2026, 11, 30, 12, tzinfo=UTC))


@pytest.fixture(scope="session")
def shared_corpora() -> Path:
    """The directory of real bundles that lies beside the checkout; skips the test where it is absent."""
    return _beside("corpora")


@pytest.fixture(scope="session")
def shared_inputs() -> Path:
    """The directory with the generator of reported inputs; skips the test where it is absent."""
    return _beside("inputs")


def _beside(name: str) -> Path:
    path = _SHARED / name
    if not path.is_dir():
        pytest.skip(f"no {name} beside the checkout")
    return path.resolve()
