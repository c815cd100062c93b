"""What every result of a question about claims begins and ends with."""

from __future__ import annotations

from typing import Any

from openknowledge.engine.claims.factset import FactSet


def envelope(facts: FactSet, items: dict[str, Any]) -> Any:
    """Return ``items`` between the bundle's identity and what was kept out of the answer."""
    return {
        "schemaVersion": "1",
        "root": str(facts.bundle.root),
        "revision": facts.revision,
        **items,
        "policy": facts.policy,
    }


def atom(predicate: str, *values: str | int | float) -> str:
    """Return a fact as the rule language writes it: what a proof can be asked for."""
    from openknowledge.engine.datalog.values import display_atom

    return display_atom(predicate, values)
