"""Claims that cannot all hold, and claims that repeat each other."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openknowledge.engine.bundle.instants import format_instant
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.freshness import valid_end, valid_start
from openknowledge.engine.claims.machine import occurrence_json, scope_json
from openknowledge.engine.claims.model import ENDED, Claim
from openknowledge.engine.claims.relations import source_set
from openknowledge.engine.claims.results import atom, envelope

if TYPE_CHECKING:
    from openknowledge.schemas.claims import Conflict as ConflictJson
    from openknowledge.schemas.claims import ConflictResult, Duplicate


@dataclass(frozen=True, slots=True)
class Conflict:
    """Active claims under one comparison key that have more different objects than may hold at once."""

    key: str
    claims: tuple[Claim, ...]
    objects: int
    maximum: int

    @property
    def atom(self) -> str:
        """The fact that proves the conflict."""
        return atom("over_maximum", self.key, self.objects, self.maximum)


def conflicts(facts: FactSet) -> list[Conflict]:
    """Return every conflict at the instant of the facts, in the order of the keys.

    Active claims all hold now, so those under one key share an instant; what matters is how many different
    objects they have.
    """
    maximum = {
        predicate.id: predicate.maximum_count
        for predicate in facts.ontology.predicates.values()
        if predicate.maximum_count
    }
    groups: dict[str, list[Claim]] = defaultdict(list)
    for claim in facts.claims:
        if claim.predicate in maximum and facts.active(claim):
            groups[claim.comparison_key].append(claim)
    found = []
    for key in sorted(groups):
        claims = groups[key]
        most = maximum[claims[0].predicate]
        if len(claims) > most and (count := len({claim.object.normalised for claim in claims})) > most:
            found.append(Conflict(key, tuple(claims), count, most))
    return found


def duplicates(facts: FactSet) -> list[tuple[Claim, ...]]:
    """Return the groups of live claims with equal key, object, time and cited sources, each by id."""
    groups: dict[tuple[str, ...], list[Claim]] = defaultdict(list)
    for claim in facts.claims:
        if claim.status not in ENDED:
            signature = (
                claim.comparison_key,
                claim.object.normalised,
                valid_start(claim),
                valid_end(claim),
                source_set(claim),
            )
            groups[signature].append(claim)
    return [tuple(groups[signature]) for signature in sorted(groups) if len(groups[signature]) > 1]


def find_conflicts(facts: FactSet) -> ConflictResult:
    """Return conflicts and duplicates, each with the facts (``atom``) whose proofs the rules give."""
    dependents: dict[str, set[str]] = defaultdict(set)
    for reference in facts.references:
        dependents[reference.claim_id].add(reference.document.path)
    found: ConflictResult = envelope(
        facts,
        {
            "evaluatedAt": format_instant(facts.now),
            "conflicts": [_conflict_json(conflict, facts, dependents) for conflict in conflicts(facts)],
            "duplicates": [_duplicate_json(claims, facts) for claims in duplicates(facts)],
        },
    )
    return found


def _conflict_json(conflict: Conflict, facts: FactSet, dependents: dict[str, set[str]]) -> ConflictJson:
    first = conflict.claims[0]
    pages = set().union(*(dependents.get(claim.id, set()) for claim in conflict.claims))
    return {
        "key": conflict.key.split("\x1f"),
        "slot": first.slot,
        "subject": first.subject,
        "predicate": first.predicate,
        "scope": scope_json(first),
        "maximumCount": conflict.maximum,
        "objectCount": conflict.objects,
        "occurrences": [occurrence_json(claim, facts) for claim in conflict.claims],
        "dependents": sorted(pages),
        "atom": conflict.atom,
    }


def _duplicate_json(claims: tuple[Claim, ...], facts: FactSet) -> Duplicate:
    first, *later = claims
    return {
        "key": first.comparison_key.split("\x1f"),
        "occurrences": [occurrence_json(claim, facts) for claim in claims],
        "atoms": [atom("duplicate", claim.id, first.id) for claim in later],
    }
