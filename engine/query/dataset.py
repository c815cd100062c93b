"""Loads the triples of a snapshot into an RDF store, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from openknowledge.engine.facts.rdf import write_nquads
from openknowledge.engine.facts.terms import Triple
from openknowledge.engine.query.sparql import check_dataset_size

if TYPE_CHECKING:
    from pyoxigraph import Store

_BATCH = 100_000


def add_triples(store: Store, triples: Sequence[Triple], graph: str) -> None:
    """Add ``triples`` to the named ``graph`` of ``store``."""
    import pyoxigraph

    for start in range(0, len(triples), _BATCH):
        data = write_nquads(triples[start : start + _BATCH], graph)
        store.bulk_load(data, format=pyoxigraph.RdfFormat.N_QUADS)


def load_store(triples: Callable[[], Sequence[Triple]], graph: str, max_quads: int) -> Callable[[], Store]:
    """Return a function that gives the store with ``triples`` in ``graph``, filled at its first call.

    The function raises ``LimitError`` when there are more than ``max_quads`` triples.
    """

    @cache
    def load() -> Store:
        import pyoxigraph

        found = triples()
        check_dataset_size(len(found), max_quads)
        store = pyoxigraph.Store()
        add_triples(store, found, graph)
        return store

    return load
