"""Derived relations: rows with the round in which each first appeared, and indexes that grow by rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from openknowledge.engine.datalog.base import (
    SAMPLE,
    Index,
    IndexSpec,
    Row,
    chunks,
    empty_index,
    extend_index,
)
from openknowledge.engine.datalog.limits import Budget

Fresh = Any
"""The rows of one round: for pairs a dict from first column to a set of second ones, else a list of rows."""

PAIR = ((0,), (1,))
_SMALL = 8


class Derived:
    """The rows of one derived relation.

    Pairs are kept in groups, ``{first: {second, ...}}``, since unions and differences of whole groups are the
    fastest joins Python has. Other rows are the keys of one dict, with their round.
    """

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.grouped = arity == 2
        self.groups: dict[int, set[int]] = {}
        self.rows: dict[Row, int] = {}
        self.rounds: dict[int, Fresh] = {}
        self.round_order: list[int] = []
        self.size = 0
        self._compacted: set[int] = set()
        self._indexes: dict[IndexSpec, Index] = {}
        self._rounds_of_group: dict[int, dict[int, int]] = {}
        self._groups_by_round: dict[int, list[tuple[int, Any]]] | None = None

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Row]:
        if self.grouped:
            return ((first, second) for first, group in self.groups.items() for second in group)
        return iter(self.rows)

    def __contains__(self, row: Row) -> bool:
        if self.grouped:
            return row[1] in self.groups.get(row[0], ())
        return row in self.rows

    def distinct(self, column: int) -> float:
        """Return about how many different values ``column`` has, from the first rows."""
        if self.grouped and column == 0:
            return float(max(1, len(self.groups)))
        values = [row if self.arity == 1 else row[column] for row in islice(iter(self), SAMPLE)]
        different = len(set(values))
        unique = different > 0.9 * len(values)
        return max(1.0, different * self.size / max(1, len(values)) if unique else float(different))

    @property
    def total(self) -> Any:
        """What generated code looks into for rows that are known already."""
        return self.groups if self.grouped else self.rows

    def add_round(self, round_: int, fresh: Fresh) -> int:
        """Take over ``fresh``, rows that are new in ``round_``; return how many they are."""
        self.rounds[round_] = fresh
        self.round_order.append(round_)
        if self.grouped:
            count = 0
            groups = self.groups
            for first, seconds in fresh.items():
                count += len(seconds)
                known = groups.get(first)
                if known is None:
                    groups[first] = set(seconds)
                else:
                    known |= seconds
        else:
            count = len(fresh)
            self.rows.update(dict.fromkeys(fresh, round_))
        self.size += count
        return count

    def compact(self, round_: int) -> None:
        """Hold the rows of ``round_``, which no join needs next, in less memory."""
        if self.grouped and round_ in self.rounds:
            self._compacted.add(round_)
            fresh = self.rounds[round_]
            for first, seconds in fresh.items():
                if len(seconds) < _SMALL:
                    fresh[first] = tuple(seconds)

    def fresh(self, round_: int) -> Fresh:
        """Return the rows of ``round_`` as joins loop over them; falsy when there are none."""
        fresh = self.rounds.get(round_, ())
        if round_ in self._compacted:
            self._compacted.discard(round_)
            for first, seconds in fresh.items():
                if type(seconds) is tuple:
                    fresh[first] = set(seconds)
        return fresh

    def fresh_rows(self, round_: int) -> Iterable[Row]:
        """Return the rows of ``round_`` one by one."""
        fresh = self.rounds.get(round_)
        if fresh is None:
            return ()
        if self.grouped:
            return ((first, second) for first, seconds in fresh.items() for second in seconds)
        return list(fresh)

    def rows_with_rounds(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield every row, always as a tuple, with its round."""
        for round_ in self.round_order:
            for row in self.fresh_rows(round_):
                yield (row,) if self.arity == 1 else row, round_

    def round_of(self, row: Row) -> int | None:
        """Return the round in which ``row`` first appeared, ``None`` if it is not here."""
        if not self.grouped:
            return self.rows.get(row)
        first, second = row
        known = self._rounds_of_group.get(first)
        if known is None:
            if self._groups_by_round is None:
                self._groups_by_round = {}
                for round_, fresh in self.rounds.items():
                    for key, seconds in fresh.items():
                        self._groups_by_round.setdefault(key, []).append((round_, seconds))
            known = {}
            for round_, seconds in self._groups_by_round.get(first, ()):
                known.update(dict.fromkeys(seconds, round_))
            self._rounds_of_group[first] = known
        return known.get(second)

    def index(self, spec: IndexSpec, budget: Budget) -> Index:
        """Return the index ``spec`` over all rows; only for a relation that is complete."""
        alias = self.alias(spec)
        if alias is not None:
            return alias
        found = self._indexes.get(spec)
        if found is None:
            found = empty_index(spec, self.arity)
            for rows in chunks(list(self)):
                budget.check_time()
                extend_index(found, spec, self.arity, rows)
            self._indexes[spec] = found
        return found

    def alias(self, spec: IndexSpec) -> Index | None:
        """Return the structure that serves as index ``spec`` without being built, if there is one."""
        if self.grouped:
            return self.groups if spec == PAIR else None
        return self.rows if spec[0] and len(spec[0]) == self.arity else None


class View:
    """The indexes over the rows of a derived relation up to the current round, as one level sees them."""

    def __init__(self, relation: Derived, *, own: bool) -> None:
        self.relation = relation
        self.own = own
        self._indexes: dict[IndexSpec, Index] = {}
        self._seen = 0

    def index(self, spec: IndexSpec) -> Index:
        """Return index ``spec``; it grows with ``advance``."""
        if self.own:
            alias = self.relation.alias(spec)
            if alias is not None:
                return alias
        found = self._indexes.get(spec)
        if found is None:
            found = self._indexes[spec] = empty_index(spec, self.relation.arity)
            for round_ in self.relation.round_order[: self._seen]:
                extend_index(found, spec, self.relation.arity, self.relation.fresh_rows(round_))
        return found

    def advance(self, round_: int) -> None:
        """Make the rows of all rounds up to ``round_`` visible."""
        order = self.relation.round_order
        while self._seen < len(order) and order[self._seen] <= round_:
            for spec, index in self._indexes.items():
                rows = self.relation.fresh_rows(order[self._seen])
                extend_index(index, spec, self.relation.arity, rows)
            self._seen += 1
