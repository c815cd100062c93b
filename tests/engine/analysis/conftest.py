"""Bundles on disk and in git repositories, built by the tests that read them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from openknowledge.engine.analysis.checks import Run, run_checks
from openknowledge.engine.analysis.conclusions import Conclusions
from openknowledge.engine.analysis.findings import Finding
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.store import Store

NOW = datetime(2026, 11, 30, tzinfo=UTC)

ONTOLOGY = """---
type: Ontology
title: Ontology
openknowledge_claim_profile: "1"
claim_ontology:
  namespaces:
    ex: https://example.com/
  entities:
    - { id: "ex:gateway", types: ["ex:Service"], pref_label: Gateway }
    - { id: "ex:queue", types: ["ex:Service"], pref_label: Queue }
  predicates:
    - { id: "ex:limit", object_kind: literal, datatype: "xsd:integer", maximum_count: 1 }
---

# Ontology
"""


class Repository:
    """A git repository whose commits have the times that a test gives them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, when: str = "2026-01-01T12:00:00Z", check: bool = True) -> str:
        """Run git and return what it printed."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@example.com",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.com",
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_DATE": when,
        }
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env=environment, capture_output=True, check=check
        )
        return done.stdout.decode().strip()

    def write(self, files: Mapping[str, str | None]) -> None:
        """Write files; ``None`` removes one."""
        for name, text in files.items():
            path = self.root / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")

    def commit(
        self, files: Mapping[str, str | None] | None = None, when: str = "2026-01-01T12:00:00Z"
    ) -> str:
        """Write files and commit everything; return the commit's id."""
        self.write(files or {})
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "change", when=when)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """An empty repository."""
    return Repository(tmp_path / "repository")


Files = Mapping[str, str | bytes]


@pytest.fixture
def bundle(tmp_path: Path) -> Callable[[Files], Path]:
    """Return a function that writes a bundle and returns its directory."""

    def write(files: Files) -> Path:
        root = tmp_path / "bundle"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return root

    return write


def judged(root: Path, now: datetime = NOW, only: Iterable[str] = (), skip: Iterable[str] = ()) -> Run:
    """Run the checks over the bundle at ``root``."""
    return run_checks(Conclusions(Store.open(root, clock=fixed_clock(now))), only=only, skip=skip)


@pytest.fixture
def check(bundle: Callable[[Files], Path]) -> Callable[..., list[Finding]]:
    """Return a function that writes a bundle, checks it and returns the findings."""

    def run(files: Files, **options: object) -> list[Finding]:
        return judged(bundle(files), **options).findings  # type: ignore[arg-type]

    return run


def claim(
    name: str,
    value: int,
    *,
    subject: str = "ex:gateway",
    status: str = "supported",
    extra: str = "",
    evidence: str = "[]",
) -> str:
    """Return the YAML of one claim about a limit."""
    return (
        f"  - id: ex:claim/{name}\n"
        f"    slot: ex:slot/limit\n"
        f"    subject: {subject}\n"
        f"    predicate: ex:limit\n"
        f"    object: {{ value: {value} }}\n"
        f"    status: {status}\n"
        f"    evidence: {evidence}\n" + "".join(f"    {line}\n" for line in extra.splitlines())
    )


def page(title: str, *claims: str, front: str = "", text: str = "Text.") -> str:
    """Return a page with claims."""
    profile = 'openknowledge_claim_profile: "1"\n' if claims or "claim_refs" in front else ""
    listed = "claims:\n" + "".join(claims) if claims else ""
    return f"---\ntype: Note\ntitle: {title}\n{front}{profile}{listed}---\n\n# {title}\n\n{text}\n"


class Make:
    """The texts that tests build bundles from."""

    ONTOLOGY = ONTOLOGY
    NOW = NOW
    claim = staticmethod(claim)
    page = staticmethod(page)
    judged = staticmethod(judged)


@pytest.fixture
def make() -> type[Make]:
    """Return what builds pages and claims."""
    return Make


@pytest.fixture(scope="session")
def make_class() -> type[Make]:
    """Return what builds pages and claims, for fixtures that live longer than one test."""
    return Make


@pytest.fixture(scope="session")
def repository_class() -> type[Repository]:
    """Return the class of repositories, for fixtures that live longer than one test."""
    return Repository
