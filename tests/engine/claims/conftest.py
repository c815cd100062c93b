"""Bundles with claims, written in a few lines."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from openknowledge.engine.bundle.bundle import Bundle, bundle_from_files, read_bundle
from openknowledge.engine.claims.claimset import ClaimSet, read_claims
from openknowledge.engine.claims.evidence import EvidenceStore
from openknowledge.engine.claims.factset import FactSet

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

ONTOLOGY = """\
---
type: Ontology
openknowledge_claim_profile: "1"
claim_ontology:
  namespaces:
    ex: https://example.com/k/
  entities:
    - id: ex:gate
      types: [ex:Service]
      pref_label: Gate
      alt_labels: [front door]
    - id: ex:vault
      types: [ex:Service]
      pref_label: Vault
    - id: ex:old-gate
      types: [ex:Service]
      pref_label: Old gate
      deprecated: true
      replaced_by: ex:gate
    - id: ex:team
      types: [ex:Team]
      pref_label: Team
    - id: ex:prod
      types: [ex:Environment]
    - id: ex:staging
      types: [ex:Environment]
  predicates:
    - id: ex:timeout
      subject_types: [ex:Service]
      object_kind: quantity
      datatype: xsd:integer
      quantity_kind: quantitykind:Time
      canonical_unit: unit:MIN
      required_scope: [ex:environment]
      maximum_count: 1
    - id: ex:name
      object_kind: literal
      maximum_count: 1
    - id: ex:dependsOn
      object_kind: entity
    - id: ex:says
      maximum_count: 2
    - id: ex:free
  evidence_roles:
    - id: ex:role/log
      pref_label: Log
---

# Ontology

Words.
"""

TIMEOUT = """\
- id: ex:c/timeout
  slot: ex:s/timeout
  subject: ex:gate
  predicate: ex:timeout
  object: { value: 30, unit: unit:MIN, quantity_kind: quantitykind:Time }
  scope:
    ex:environment: { ref: ex:prod }
"""

SOURCES = """\
- id: notes
  resource: https://example.com/notes
"""


def page(
    claims: str = "", *, sources: str = SOURCES, extra: str = "", body: str = "# Page\n\nText.\n"
) -> str:
    """Return a page with ``claims`` (YAML list items); ``extra`` are more frontmatter lines."""
    lines = ["---", "type: Service", "title: Page"]
    if sources:
        lines += ["sources:", textwrap.indent(textwrap.dedent(sources), "  ").rstrip()]
    lines.append('openknowledge_claim_profile: "1"')
    if extra:
        lines.append(textwrap.dedent(extra).rstrip())
    if claims:
        lines += ["claims:", textwrap.indent(textwrap.dedent(claims), "  ").rstrip()]
    return "\n".join([*lines, "---", "", body])


def claim(identifier: str = "ex:c/one", **fields: Any) -> str:
    """Return a sound claim as a YAML list item, in which ``fields`` (YAML text) replace or add keys.

    A field that is ``None`` is left out.
    """
    given: dict[str, Any] = {
        "id": identifier,
        "slot": "ex:s/free",
        "subject": "ex:gate",
        "predicate": "ex:free",
        "object": "{ value: yes-it-is }",
    }
    given.update(fields)
    rows = [f"{key}: {value}" for key, value in given.items() if value is not None]
    return "- " + "\n  ".join(rows) + "\n"


def bundle_of(files: Mapping[str, str], root: Path = Path("/bundle")) -> Bundle:
    return bundle_from_files(root, [(path, text.encode()) for path, text in files.items()])


def claims_of(files: Mapping[str, str], now: datetime = NOW) -> ClaimSet:
    """Return the claims of a bundle in memory: the ontology of this file, and ``files``."""
    return read_claims(bundle_of({"ontology.md": ONTOLOGY, **files}), now=now)


def facts_of(files: Mapping[str, str], now: datetime = NOW) -> FactSet:
    return FactSet.everything(claims_of(files, now))


def claims_on_disk(root: Path, now: datetime = NOW) -> ClaimSet:
    bundle = read_bundle(root)
    return read_claims(bundle, now=now, evidence=EvidenceStore(bundle.root))


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write the ontology and ``files`` below ``root``."""
    for path, content in {"ontology.md": ONTOLOGY, **files}.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())


def line_of(text: str, needle: str, nth: int = 1) -> int:
    """Return the 1-based line on which ``needle`` stands for the ``nth`` time."""
    rows = [number for number, row in enumerate(text.split("\n"), start=1) if needle in row]
    return rows[nth - 1]
