"""The access filter: restricted knowledge is taken out before anything is projected, counted or proved."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.okf import ACCESS_LABEL, Source, text_of
from openknowledge.engine.claims.claimset import ClaimSet
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.findings import RULE, Quarantined, shown
from openknowledge.engine.claims.sources import has_access
from openknowledge.engine.errors import UsageError

if TYPE_CHECKING:
    from openknowledge.schemas.common import Policy

RESTRICTED_PAGE = "the page has an error in its claims; it also has restricted sources, so no more is shown"
RESTRICTED_MESSAGE = "the claim has an error that involves restricted knowledge, so no more is shown"
_QUOTED = re.compile(r'"([^"]*)"')


def granted_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return granted access labels, unique and sorted. Raises ``UsageError`` for one that is no label."""
    found = set()
    for label in labels:
        text = text_of(label)
        if ACCESS_LABEL.match(text) is None:
            raise UsageError(
                f"{shown(label)} is not an access label: use profile:, agent:, team: or use_case: and a name"
            )
        found.add(text)
    return tuple(sorted(found))


def is_visible(source: Source, granted: Iterable[str]) -> bool:
    """Whether ``source`` has no access labels, or shares one with ``granted``.

    Access that cannot be read is never public.
    """
    if "access" not in source.raw:
        return True
    value = source.raw["access"]
    labels = [value] if isinstance(value, str) else value
    if not isinstance(labels, list):
        return False
    return not labels or any(text_of(label) in granted for label in labels)


def apply_access(facts: FactSet | ClaimSet, granted: Iterable[str] = ()) -> tuple[FactSet, Policy]:
    """Return the facts that the holder of the labels ``granted`` may see, and what was taken out.

    A claim goes with any of its evidence, whatever the stance; relations go with either of their claims. The
    quarantine is filtered alike. Raises ``UsageError`` for a label that is none.
    """
    claim_set = facts.claim_set if isinstance(facts, FactSet) else facts
    labels = granted_labels(granted)
    hidden: dict[str, frozenset[str]] = {}
    removed_sources = 0
    for document in claim_set.bundle.documents:
        if not has_access(document):
            continue
        sources = claim_set.sources_of(document)
        names = frozenset(name for name, source in sources.items() if not is_visible(source, labels))
        if names or any(not is_visible(source, labels) for source in document.metadata.sources):
            hidden[document.path] = names
            removed_sources += sum(1 for name in names if sources[name].resource)
    kept = []
    removed = set()
    for claim in claim_set.claims:
        names = hidden.get(claim.path, frozenset())
        if names and any(item.source_ref in names for item in claim.evidence):
            removed.add(claim.id)
        else:
            kept.append(claim)
    quarantined, out = _visible_quarantine(claim_set, hidden)
    gone = frozenset(removed | out)
    found = FactSet(
        claim_set,
        tuple(kept),
        tuple(reference for reference in claim_set.references if reference.claim_id not in gone),
        quarantined,
        hidden,
        gone,
        labels,
        len(removed),
        removed_sources,
    )
    return found, found.policy


def _visible_quarantine(
    claim_set: ClaimSet, hidden: dict[str, frozenset[str]]
) -> tuple[tuple[Quarantined, ...], set[str]]:
    """Return the entries that may be seen, and the ids of quarantined claims that may not."""
    if not hidden:
        return claim_set.quarantined, set()
    by_path = claim_set.bundle.by_path
    out: set[str] = set()
    for path, names in hidden.items():
        out |= _restricted_claims(by_path[path], names, claim_set)
    entries = set()
    for entry in claim_set.quarantined:
        if entry.claim_id in out:
            continue
        if entry.document in hidden and not entry.claim_id:
            entry = Quarantined(entry.document, "", RULE, RESTRICTED_PAGE)
        elif not out.isdisjoint(_QUOTED.findall(entry.message)):
            entry = Quarantined(entry.document, entry.claim_id, RULE, RESTRICTED_MESSAGE)
        entries.add(entry)
    return tuple(sorted(entries)), out - set(claim_set.by_id)


def _restricted_claims(document: Document, hidden: frozenset[str], claim_set: ClaimSet) -> set[str]:
    """Return the ids of the claims on a page whose evidence is hidden, or cannot be read at all."""
    raw = document.fields.get("claims")
    found = set()
    canonical = claim_set.ontology.terms.canonical
    for item in raw if isinstance(raw, list) else ():
        if isinstance(item, dict) and _is_restricted(item.get("evidence", []), document, hidden, claim_set):
            name = text_of(item.get("id"))
            found.add(canonical[name] or name)
    return found - {""}


def _is_restricted(evidence: Any, document: Document, hidden: frozenset[str], claim_set: ClaimSet) -> bool:
    if not isinstance(evidence, list):
        return True
    known = claim_set.sources_of(document)
    for item in evidence:
        name = text_of(item.get("source_ref")) if isinstance(item, dict) else ""
        if name in hidden or name not in known:
            return True
    return False
