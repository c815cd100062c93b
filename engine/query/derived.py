"""The derived graph: what the built-in rules conclude, as triples beside what the bundle asserts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from openknowledge.engine import limits as bounds
from openknowledge.engine.analysis.builtin_rules import builtin_texts
from openknowledge.engine.datalog import CLOSED_WORLD_PROFILE, FactBase, Limits, prepare
from openknowledge.engine.errors import LimitError
from openknowledge.engine.facts.compile import Row
from openknowledge.engine.facts.facts import Facts
from openknowledge.engine.facts.rdf import Renderer
from openknowledge.engine.facts.relations import DERIVED_RELATIONS, Relation
from openknowledge.engine.facts.terms import RDF_TYPE, Triple, expand


def mentioned(query: str) -> list[Relation]:
    """Return the derived relations whose conclusions ``query`` may ask for.

    Those whose term stands in the text; all of them when it names none but leaves the predicate open.
    """
    named = [relation for relation in DERIVED_RELATIONS if any(name in query for name in _names(relation))]
    return named or [relation for relation in DERIVED_RELATIONS if relation.rdf]


def _names(relation: Relation) -> Iterator[str]:
    for pattern in relation.rdf:
        term = pattern.object[1:-1] if expand(pattern.predicate) == RDF_TYPE else pattern.predicate
        yield term.partition(":")[2]


def derived_triples(
    facts: Facts, base: FactBase, relations: Iterable[Relation], renderer: Renderer
) -> list[Triple]:
    """Return the triples of what the built-in rules conclude in ``relations``, unique and sorted.

    Raises ``LimitError`` when a relation has too many conclusions.
    """
    limits = Limits(
        seconds=bounds.QUERY_SECONDS_MAX,
        base_facts=bounds.BASE_FACTS,
        created_facts=bounds.DERIVED_GRAPH_FACTS,
    )
    found: set[Triple] = set()
    for relation in relations:
        query = f"{relation.name}({', '.join('_' * relation.arity)})"
        prepared = prepare(query, builtin_texts(), profile=CLOSED_WORLD_PROFILE, limits=limits)
        for name in prepared.predicates & base.names():
            facts.rows(name)
        try:
            rows = prepared.rows(base)
        except LimitError as error:
            reason = error.message.partition(";")[0]
            raise LimitError(
                f"the conclusions okn:{next(_names(relation))} cannot all be derived for SPARQL: {reason}; "
                "name another term in the query, or ask for a part of them with okn query --datalog",
                limit=error.limit,
            ) from None
        found.update(renderer.triples(relation, cast("Iterable[Row]", rows)))
    return sorted(found)
