"""Attaches proofs to what is said about claims: every judgement names a fact, and the rules prove it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from openknowledge.engine import limits as bounds
from openknowledge.engine.analysis.builtin_rules import builtin_texts
from openknowledge.engine.datalog import (
    CLOSED_WORLD_PROFILE,
    FactBase,
    Limits,
    Proof,
    display,
    parse_ground_atom,
    prepare,
)
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.facts.facts import Facts


def prove_atoms(atoms: list[str], facts: Facts, base: FactBase) -> dict[str, Proof]:
    """Return the proof of each ground atom by the built-in rules.

    Raises ``OpenKnowledgeError`` for an atom that does not follow: a finding without a proof is an error of
    this program, and nobody should rely on it.
    """
    by_predicate: dict[tuple[str, int], dict[str, tuple[Any, ...]]] = {}
    for text in atoms:
        predicate, row = parse_ground_atom(text)
        by_predicate.setdefault((predicate, len(row)), {})[text] = row
    found: dict[str, Proof] = {}
    limits = Limits(seconds=bounds.QUERY_SECONDS_MAX, created_facts=bounds.DERIVED_GRAPH_FACTS)
    for (predicate, arity), rows in sorted(by_predicate.items()):
        first = next(iter(rows.values()))
        # one claim asks for one claim's facts; many ask for all
        same = len({row[0] for row in rows.values()}) == 1 and isinstance(first[0], str)
        arguments = [display(first[0]) if same else "_", *["_"] * (arity - 1)]
        query = f"{predicate}({', '.join(arguments)})"
        prepared = prepare(query, builtin_texts(), profile=CLOSED_WORLD_PROFILE, limits=limits)
        for name in prepared.predicates & base.names():
            facts.rows(name)
        for text, proof in zip(rows, prepared.proofs(base, rows.values()), strict=True):
            if proof is None:
                raise OpenKnowledgeError(f"no proof was found for {text}; please report this")
            found[text] = proof
    return found


def with_proofs(result: dict[str, Any], facts: Facts, base: FactBase) -> dict[str, Any]:
    """Return ``result`` with a ``proof`` beside every ``atom`` in it (and ``proofs`` beside ``atoms``)."""
    holders = list(_holders(result))
    atoms = [text for holder in holders for text in _atoms(holder)]
    proofs = prove_atoms(list(dict.fromkeys(atoms)), facts, base)
    for holder in holders:
        if "atom" in holder:
            holder["proof"] = proofs[holder["atom"]].to_json()
        if "atoms" in holder:
            holder["proofs"] = [proofs[text].to_json() for text in holder["atoms"]]
    return result


def _atoms(holder: dict[str, Any]) -> list[str]:
    return [*([holder["atom"]] if "atom" in holder else []), *holder.get("atoms", [])]


def _holders(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "atom" in value or "atoms" in value:
            yield value
        for item in value.values():
            yield from _holders(item)
    elif isinstance(value, list):
        for item in value:
            yield from _holders(item)
