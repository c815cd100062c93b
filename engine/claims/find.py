"""Finds claims and entities by words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from openknowledge.engine import limits
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.machine import entity_json, occurrence_json
from openknowledge.engine.claims.model import Claim, Entity
from openknowledge.engine.claims.results import envelope
from openknowledge.engine.errors import LimitError

if TYPE_CHECKING:
    from openknowledge.schemas.claims import EntityResult, FindResult

EXACT_ID = 100
ID_CONTAINS = 50
TERM_MATCH = 5
PREFERRED, PREFERRED_CONTAINS = 80, 35
ALTERNATE, ALTERNATE_CONTAINS = 70, 25

_SEPARATORS = re.compile(r"[\s.\-_]+")
Scored = tuple[int, list[str]]


def find_claims(facts: FactSet, query: str, *, limit: int | None = None) -> FindResult:
    """Return the claims that match ``query``, best first; none for a blank one.

    A claim scores by its id, and for each word of the query that is found anywhere in it. Raises
    ``LimitError`` for a query that is too long.
    """
    wanted = _checked(query)
    hits: list[tuple[int, list[str], Claim]] = []
    if wanted:
        terms = [term for term in _SEPARATORS.split(wanted) if term]
        names = {wanted, facts.terms.canonical[query.strip()].lower()} - {""}
        for claim in facts.claims:
            score, reasons = _score(claim, wanted, names, terms)
            if score:
                hits.append((score, reasons, claim))
    hits.sort(key=lambda hit: (-hit[0], hit[2].id, hit[2].path))
    kept = hits if limit is None else hits[:limit]
    results = [
        {"score": score, "reasons": reasons, **occurrence_json(claim, facts)}
        for score, reasons, claim in kept
    ]
    found: FindResult = envelope(
        facts, {"query": query, "results": results, "truncated": len(kept) < len(hits)}
    )
    return found


def _checked(query: str) -> str:
    if len(query) > limits.TEXT_QUERY_RUNES:
        raise LimitError(
            f"the query has {len(query)} characters; at most {limits.TEXT_QUERY_RUNES} are allowed",
            limit="TEXT_QUERY_RUNES",
        )
    return query.strip().lower()


def _score(claim: Claim, wanted: str, names: set[str], terms: list[str]) -> Scored:
    score = 0
    reasons = []
    identifier = claim.id.lower()
    if identifier in names:
        score, reasons = EXACT_ID, ["exact_id"]
    elif wanted in identifier:
        score, reasons = ID_CONTAINS, ["id_contains"]
    text = haystack(claim)
    matches = sum(1 for term in terms if term in text)
    if matches:
        score += TERM_MATCH * matches
        reasons.append("term_match")
    return score, reasons


def haystack(claim: Claim) -> str:
    """Return the lower-case text in which the words of a query are looked for."""
    parts = [
        claim.id,
        claim.slot,
        claim.subject,
        claim.predicate,
        claim.path,
        claim.document.title,
        claim.object.normalised,
        *(f"{dimension} {value.text}" for dimension, value in claim.scope),
    ]
    for item in claim.evidence:
        parts += (item.id, item.source_ref, item.role, item.stance)
    return "\n".join(parts).lower()


def find_entities(facts: FactSet, query: str, *, limit: int | None = None) -> EntityResult:
    """Return the entities that match ``query``, best first, deprecated ones too, each with who uses it.

    Id, preferred label and the first matching alternate label add up. Raises ``LimitError`` for a query that
    is too long.
    """
    wanted = _checked(query)
    hits: list[tuple[int, list[str], Entity]] = []
    if wanted:
        names = {wanted, facts.terms.canonical[query.strip()].lower()} - {""}
        for entity in facts.ontology.entities.values():
            score, reasons = _score_entity(entity, wanted, names)
            if score:
                hits.append((score, reasons, entity))
    hits.sort(key=lambda hit: (-hit[0], hit[2].id))
    kept = hits if limit is None else hits[:limit]
    used = _users(facts, {entity.id for _, _, entity in kept})
    results: list[dict[str, Any]] = [
        {
            "score": score,
            "reasons": reasons,
            "entity": entity_json(entity),
            "referencedBy": used.get(entity.id, []),
        }
        for score, reasons, entity in kept
    ]
    found: EntityResult = envelope(facts, {"query": query, "results": results})
    return found


def _score_entity(entity: Entity, wanted: str, names: set[str]) -> Scored:
    score = 0
    reasons = []
    identifier = entity.id.lower()
    if identifier in names:
        score += EXACT_ID
        reasons.append("exact_id")
    elif wanted in identifier:
        score += ID_CONTAINS
        reasons.append("id_contains")
    label = entity.pref_label.lower()
    if label == wanted:
        score += PREFERRED
        reasons.append("preferred_label")
    elif wanted in label:
        score += PREFERRED_CONTAINS
        reasons.append("preferred_label_contains")
    alias = next((text.lower() for text in entity.alt_labels if wanted in text.lower()), None)
    if alias == wanted:
        score += ALTERNATE
        reasons.append("alternate_label")
    elif alias is not None:
        score += ALTERNATE_CONTAINS
        reasons.append("alternate_label_contains")
    return score, reasons


def _users(facts: FactSet, entities: set[str]) -> dict[str, list[str]]:
    """Return, for each entity, the ids of the claims that have it as subject or object."""
    users: dict[str, list[str]] = {}
    if entities:
        for claim in facts.claims:
            for name in {claim.subject, claim.object.ref}:
                if name in entities:
                    users.setdefault(name, []).append(claim.id)
    return users
