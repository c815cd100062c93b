"""Base facts: relations as dense numbers, with the indexes that evaluations share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Any, cast

from openknowledge.engine.datalog.errors import FactsError
from openknowledge.engine.datalog.limits import Budget
from openknowledge.engine.datalog.values import Name, Value, ValueRefused, normalised

Row = Any
"""One fact inside the engine: the number of its value for one column, else a tuple of numbers."""

IndexSpec = tuple[tuple[int, ...], tuple[int, ...]]
"""The columns that are looked up, and the columns that come out."""

Index = Any
"""A set of rows or keys, or a dict from key to a set or list of rows; see ``index_of``."""

Load = Callable[[str], Iterable[Sequence[object]]]

_CHUNK = 20_000
_PLAIN = frozenset({str, int, float, Name})
SAMPLE = 4_096


class Numbers(dict[Value, int]):
    """The number of each value, given when it is first asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.values_by_number: list[Value] = []

    def __missing__(self, value: Value) -> int:
        plain = normalised(value)
        if plain in self and (plain is not value):
            return self[plain]
        number = len(self.values_by_number)
        self.values_by_number.append(plain)
        self[plain] = number
        return number


class Relation:
    """An immutable relation of encoded rows, with indexes built when first used and kept."""

    def __init__(self, name: str, arity: int | None, rows: list[Row]) -> None:
        self.name = name
        self.arity = arity
        self.rows = rows
        self._indexes: dict[IndexSpec, Index] = {}
        self._distinct: dict[int, float] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.rows)

    def index(self, spec: IndexSpec, budget: Budget) -> Index:
        """Return the index ``spec``; build it first if it is not there. Raises ``LimitError`` when late."""
        found = self._indexes.get(spec)
        if found is None:
            with budget.holding(self._lock):
                found = self._indexes.get(spec)
                if found is None:
                    found = empty_index(spec, self.arity or 0)
                    for rows in chunks(self.rows):
                        budget.check_time()
                        extend_index(found, spec, self.arity or 0, rows)
                    self._indexes[spec] = found
        return found

    def distinct(self, column: int) -> float:
        """Return about how many different values ``column`` has, from a fixed sample."""
        known = self._distinct.get(column)
        if known is None:
            step = max(1, len(self.rows) // SAMPLE)
            sample = self.rows[::step]
            column_values = sample if self.arity == 1 else [row[column] for row in sample]
            different = len(set(column_values))
            unique = len(sample) == 0 or different / len(sample) > 0.9
            known = float(max(1, different * step if unique else different))
            self._distinct[column] = known
        return known


class FactBase:
    """Named relations of base facts, encoded when first used; it keeps what it has encoded and indexed.

    Share one between evaluations: the second query over the same relation finds it loaded. It is safe to use
    from several threads.

    >>> base = FactBase({"edge": [("a", "b"), ("b", "c")]})
    >>> base.arity("edge"), len(base.relation("edge"))
    (2, 2)
    """

    def __init__(
        self,
        relations: Mapping[str, Iterable[Sequence[object]]] | None = None,
        *,
        load: Load | None = None,
        arities: Mapping[str, int] | None = None,
        empty: Collection[str] | None = None,
    ) -> None:
        """Take the relations themselves, or a way to get them.

        ``relations`` maps names to rows. With ``load`` the rows of a relation come from ``load(name)`` when a
        program first reaches it; ``arities`` then declares every name with its number of columns, and
        ``empty`` may name those known to hold nothing, so that they need not be loaded to find out.
        """
        if (relations is None) == (load is None):
            raise ValueError("give either relations or load")
        self._source = relations
        self._load = load
        self._arities = dict(arities or {})
        self._empty = None if empty is None else frozenset(empty)
        self._opened: dict[str, Iterable[Sequence[object]]] = {}
        self._relations: dict[str, Relation] = {}
        self._lock = threading.RLock()
        self.numbers = Numbers()

    def names(self) -> frozenset[str]:
        """Return the names of all declared relations, empty ones too."""
        return frozenset(self._arities) | frozenset(self._source or ())

    def arity(self, name: str) -> int | None:
        """Return the number of columns of ``name``; ``None`` when it is unknown or has no row to tell."""
        if name in self._arities or name not in self.names():
            return self._arities.get(name)
        loaded = self._relations.get(name)
        if loaded is not None:
            return loaded.arity
        first = self._first(name)
        return len(first) if isinstance(first, Sequence) else None

    def is_empty(self, name: str) -> bool:
        """Return whether the declared relation ``name`` holds no fact."""
        if self._empty is not None:
            return name in self._empty
        loaded = self._relations.get(name)
        return not loaded.rows if loaded is not None else self._first(name) is None

    def relation(self, name: str, budget: Budget | None = None) -> Relation:
        """Return the relation ``name``, loaded and encoded.

        Raises ``KeyError`` for an undeclared name, ``FactsError`` for rows that are no facts, ``LimitError``
        when the budget ends first.
        """
        found = self._relations.get(name)
        if found is not None:
            return found
        budget = budget or Budget()
        with budget.holding(self._lock):
            found = self._relations.get(name)
            if found is None:
                found = self._encode(name, budget)
                self._relations[name] = found
                self._opened.pop(name, None)
        return found

    def _rows(self, name: str) -> Iterable[Sequence[object]]:
        opened = self._opened.get(name)
        if opened is None:
            if self._load is not None:
                if name not in self._arities:
                    raise KeyError(name)
                opened = self._load(name)
            else:
                opened = cast("Mapping[str, Iterable[Sequence[object]]]", self._source)[name]
            self._opened[name] = opened
        return opened

    def _first(self, name: str) -> Sequence[object] | None:
        with self._lock:
            source = self._rows(name)
            iterator = iter(source)
            first = next(iterator, None)
            if iterator is source and first is not None:
                self._opened[name] = chain((first,), iterator)
            return first

    def _encode(self, name: str, budget: Budget) -> Relation:
        source = self._rows(name)
        iterator = iter(source)
        read_once = iterator is source
        taken: list[Sequence[object]] = []
        declared = self._arities.get(name)
        rows: dict[Row, None] = {}
        try:
            while block := list(islice(iterator, _CHUNK)):
                if read_once:
                    taken.extend(block)
                declared = self._add(name, declared, block, rows)
                budget.check_time()
                budget.check_base(len(rows))
        except BaseException:
            if read_once:
                self._opened[name] = chain(taken, iterator)
            raise
        return Relation(name, declared, list(rows))

    def _add(
        self, name: str, declared: int | None, block: list[Sequence[object]], rows: dict[Row, None]
    ) -> int | None:
        for row in block:
            if isinstance(row, (str, bytes)) or not isinstance(row, Sequence):
                raise FactsError(
                    f"a row of the relation {name} is a {type(row).__name__}, not a tuple: {row!r:.80}"
                )
            if declared is None:
                declared = len(row)
            if len(row) != declared:
                raise FactsError(
                    f"the relation {name} has {declared} columns, but a row has {len(row)}: {row!r:.80}"
                )
        plain = set(map(type, chain.from_iterable(block))) <= _PLAIN
        number = self.numbers.__getitem__
        try:
            if not plain:
                block = [tuple(map(normalised, row)) for row in block]
            if declared == 1:
                rows.update(dict.fromkeys([number(cast("Value", row[0])) for row in block]))
            else:
                rows.update(
                    dict.fromkeys([tuple(map(number, cast("Sequence[Value]", row))) for row in block])
                )
        except ValueRefused as error:
            raise FactsError(f"a row of the relation {name} cannot be used: {error.message}") from None
        return declared


# Indexes


def index_kind(spec: IndexSpec, arity: int) -> str:
    """Return what the index is: ``rows`` or ``keys`` (sets), ``sets`` or ``lists`` (dicts of them)."""
    bound, out = spec
    if not bound:
        return "rows"
    if not out:
        return "keys"
    return "lists" if len(out) > 1 and len(bound) + len(out) == arity else "sets"


def empty_index(spec: IndexSpec, arity: int) -> Index:
    """Return the index ``spec`` of a relation without rows."""
    return set() if index_kind(spec, arity) in ("rows", "keys") else {}


def extend_index(index: Index, spec: IndexSpec, arity: int, rows: Iterable[Row]) -> None:
    """Add encoded ``rows``, none of them in it yet, to ``index``."""
    bound, out = spec
    kind = index_kind(spec, arity)
    if kind == "rows":
        index.update(rows if len(out) == arity else map(_getter(out, arity), rows))
    elif kind == "keys":
        index.update(map(_getter(bound, arity), rows))
    else:
        key_of, value_of = _getter(bound, arity), _getter(out, arity)
        get = index.get
        if kind == "lists":
            for row in rows:
                key = key_of(row)
                values = get(key)
                if values is None:
                    index[key] = [value_of(row)]
                else:
                    values.append(value_of(row))
        else:
            for row in rows:
                key = key_of(row)
                values = get(key)
                if values is None:
                    index[key] = {value_of(row)}
                else:
                    values.add(value_of(row))


def _getter(columns: tuple[int, ...], arity: int) -> Callable[[Row], Row]:
    if len(columns) == arity:
        return _same
    if not columns:
        return _nothing
    return itemgetter(*columns)


def _same(row: Row) -> Row:
    return row


def _nothing(_row: Row) -> Row:
    return ()


def chunks(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield ``rows`` in parts small enough to look at the clock between them."""
    if len(rows) <= _CHUNK:
        yield rows
        return
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK]
