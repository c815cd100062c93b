"""Files of these tests live in memory where the system allows it: they sync thousands of times."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.propose import propose_claim
from openknowledge.engine.store import Store

MEMORY = Path("/dev/shm")

if os.name == "nt":  # these fork, kill and link as only POSIX systems can
    collect_ignore = ["test_lock.py", "test_paths.py", "test_transaction.py", "test_transaction_histories.py"]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as directory:
        yield Path(directory)


NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
ARTIFACT = "The idle timeout\nis 30 minutes.\n\nThe absolute timeout is 12 hours.\n"
SHA = hashlib.sha256(ARTIFACT.encode()).hexdigest()
FOLDER = f".openknowledge/evidence/sha256/{SHA}"

INDEX = '---\nokf_version: "0.2"\n---\n\n# Sample\n\n* [Page](page.md)\n'
ONTOLOGY = """---
type: Ontology
title: Ontology
openknowledge_claim_profile: "1"
claim_ontology:
  namespaces: { ex: "https://example.org/" }
  entities:
    - { id: ex:alpha, types: [ex:Service], pref_label: Alpha, alt_labels: [first] }
    - id: ex:beta   # the second one
      types: [ex:Service, ex:Thing]
      pref_label: Beta
    - id: ex:old
      types: [ex:Service]
      pref_label: Old
      deprecated: true
      replaced_by: ex:beta
    - id: ex:production
      types: [ex:Environment]
      pref_label: Production
  predicates:
    - id: ex:idleTimeout
      pref_label: idle timeout
      subject_types: [ex:Service]
      object_kind: literal
      datatype: xsd:integer
      maximum_count: 1
    - id: ex:runsIn
      object_kind: entity
    - id: ex:note
      object_kind: literal
---

# Ontology
"""
PAGE = f"""---
# what this page is
type:   Service
title: 'Alpha'
verified: [{{ by: human:old, at: 2026-01-01T00:00:00Z }}]
sources:
  - id: pinned
    resource: {FOLDER}/artifact.txt
    live_resource: sources/settings.txt
    observe: pinned   # on purpose
    sha256: {SHA}
    title: Settings
  - {{ id: live, resource: sources/notes.txt, role: authoritative }}
  - id: remote
    resource: https://example.org/doc
openknowledge_claim_profile: "1"
claims:
  - id: ex:idle
    slot: ex:slot-idle
    subject: ex:alpha
    predicate: ex:idleTimeout
    object: {{ value: 30, datatype: xsd:integer }}   # minutes
    status: supported
    section_ref: "#timeout"
    evidence:
      - id: settings
        source_ref: pinned
        selector: {{ type: text_quote, exact: "is 30 minutes" }}
      - id: notes
        source_ref: live
---

# Alpha

<a id="timeout"></a>
## Timeout

Thirty minutes.

## Other

Text, which ends without a line feed."""
LINKED = """---
type: Guide
title: Guide
---

# Guide

See [Alpha](page.md).
"""


def new_claim(**changes: Any) -> dict[str, Any]:
    """Return a claim that can be proposed for ``page.md``; ``None`` takes a field away."""
    claim: dict[str, Any] = {
        "id": "ex:new",
        "slot": "ex:slot-place",
        "subject": "ex:alpha",
        "predicate": "ex:runsIn",
        "object": {"ref": "ex:production"},
        "evidence": [{"id": "e1", "sourceRef": "live"}],
    }
    claim |= changes
    return {key: value for key, value in claim.items() if value is not None}


@dataclass
class Sample:
    """A small bundle, and what tests do with it."""

    root: Path

    def store(self, **options: Any) -> Store:
        return Store.open(self.root, clock=fixed_clock(NOW), **options)

    def propose(self, document: str = "page.md", **changes: Any) -> dict[str, Any]:
        proposal = propose_claim(
            self.store(), document=document, claim=new_claim(**changes), reason="because", confidence=0.9
        )
        return json.loads(json.dumps(proposal))

    def text(self, path: str = "page.md") -> str:
        return (self.root / path).read_bytes().decode()

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(text.encode())

    def replace(self, path: str, old: str, new: str) -> None:
        text = self.text(path)
        assert old in text
        self.write(path, text.replace(old, new))

    def files(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }

    def claim(self, name: str) -> dict[str, Any]:
        """Return a claim as its page writes it."""
        for document in self.store().bundle.documents:
            for claim in document.fields.get("claims", []):
                if claim.get("id") == name:
                    return claim
        raise AssertionError(f"no claim {name}")

    def issues(self) -> list[tuple[str, str]]:
        return [(issue.path, issue.message) for issue in self.store().issues()]

    def valid(self) -> bool:
        return self.store().validate_claims()["valid"]

    def changed_lines(self, before: dict[str, bytes]) -> list[str]:
        """Return the lines that were taken away (-) or added (+) since, as ``git diff`` shows them."""
        found = []
        after = self.files()
        for path in sorted({*before, *after}):
            old, new = before.get(path, b"").decode(), after.get(path, b"").decode()
            for line in difflib.unified_diff(old.split("\n"), new.split("\n"), n=0, lineterm=""):
                if line[:1] in "+-" and not line.startswith(("+++", "---")):
                    found.append(f"{path}: {line}")
        return found

    def refused(self, operation: Callable[[], Any]) -> str:
        """Return the message with which ``operation`` is refused; nothing may have changed."""
        before = self.files()
        with pytest.raises(OpenKnowledgeError) as caught:
            operation()
        assert self.files() == before
        return caught.value.message


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    found = Sample(tmp_path / "bundle")
    for path, text in {
        "index.md": INDEX,
        "ontology.md": ONTOLOGY,
        "page.md": PAGE,
        "guide.md": LINKED,
        "sources/settings.txt": ARTIFACT,
        "sources/notes.txt": "notes\n",
        f"{FOLDER}/artifact.txt": ARTIFACT,
    }.items():
        found.write(path, text)
    return found
