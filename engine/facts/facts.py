"""The facts of one bundle: each relation's rows, built when first asked for, with where they were read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial

from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.facts.compile import BUILDERS, Fact, Row
from openknowledge.engine.facts.provenance import Provenance

Source = Callable[[], Iterable[Fact]]
"""Gives the facts of one relation; called once."""


class Facts:
    """The base relations of a bundle at an instant.

    ``claims`` gives the relations that come from typed claims. Rows of a relation are unique and sorted; a
    row that was read in several places has several provenances, in the order of the bundle.
    """

    def __init__(self, bundle: Bundle, now: datetime, claims: Mapping[str, Source] | None = None) -> None:
        # most relations need the text of every page; reading it all at once is cheapest
        bundle.read_outlines()
        self.bundle = bundle
        self.now = now
        self._sources: dict[str, Source] = {
            name: partial(builder, bundle, now) for name, builder in BUILDERS.items()
        }
        self._sources.update(claims or {})
        self._places: dict[str, dict[Row, list[Provenance]]] = {}

    @property
    def names(self) -> list[str]:
        """The relations that can be asked for, sorted."""
        return sorted(self._sources)

    def rows(self, name: str) -> list[Row]:
        """Return the rows of relation ``name``, sorted; none for an unknown name."""
        return list(self._load(name))

    def places(self, name: str, row: Row) -> list[Provenance]:
        """Return where ``row`` of relation ``name`` was read; none when it is not a fact."""
        return self._load(name).get(row, [])

    def __contains__(self, fact: tuple[str, Row]) -> bool:
        name, row = fact
        return row in self._load(name)

    def _load(self, name: str) -> dict[Row, list[Provenance]]:
        loaded = self._places.get(name)
        if loaded is None:
            loaded = {}
            source = self._sources.get(name)
            for row, place in source() if source else ():
                known = loaded.get(row)
                if known is None:
                    loaded[row] = [place]
                else:
                    known.append(place)
            loaded = dict(sorted(loaded.items(), key=_sort_key))
            self._places[name] = loaded
        return loaded


def _sort_key(item: tuple[Row, object]) -> tuple[tuple[int, float, str], ...]:
    # numbers before strings, so that a column of both still has one order
    return tuple([(1, 0.0, value) if isinstance(value, str) else (0, float(value), "") for value in item[0]])
