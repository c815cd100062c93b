"""The evaluation itself, and the choice of the rows that survive a limit: what the child process does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import pyoxigraph


class Nodes(Protocol):
    """A row as the engine gives it: a solution or a triple."""

    def __getitem__(self, index: int, /) -> object: ...


class Term(NamedTuple):
    """An RDF term: ``type`` is iri, literal, blank or triple; what does not apply is an empty string.

    The value of a triple term is its text in N-Triples. Terms are ordered as rows are: by type, value,
    datatype and language, by code point.
    """

    type: str
    value: str
    datatype: str = ""
    language: str = ""
    direction: str = ""


UNBOUND = Term("", "")
Row = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be evaluated, in the engine's terms.

    ``default_graph`` is None when the query says itself which graphs it reads. ``variables`` come first, in
    this order, among the columns of the result; ``ordered`` keeps the rows in the engine's order.
    """

    text: str
    prefixes: Mapping[str, str]
    default_graph: str | None
    named_graphs: Sequence[str]
    variables: Sequence[str]
    ordered: bool
    max_rows: int


def pack_order(order: Order, store: pyoxigraph.Store) -> bytes:
    """Return an order with its data as ``unpack_order`` takes them, for a process that shares no memory."""
    import pyoxigraph as ox

    head = json.dumps(asdict(order)).encode()
    return len(head).to_bytes(4) + head + (store.dump(format=ox.RdfFormat.N_QUADS) or b"")


def unpack_order(packed: bytes) -> Callable[[], bytes]:
    """Load what ``pack_order`` made, and return the task that evaluates it."""
    import pyoxigraph as ox

    size = int.from_bytes(packed[:4])
    order = Order(**json.loads(packed[4 : 4 + size]))
    store = ox.Store()
    store.bulk_load(packed[4 + size :], format=ox.RdfFormat.N_QUADS)
    return lambda: evaluate_order(store, order)


def evaluate_order(store: pyoxigraph.Store, order: Order) -> bytes:
    """Return the answer to an order as JSON. What is wrong with the query is an answer, not an exception."""
    try:
        answer = _answer(store, order)
    except SyntaxError as error:
        answer = {"syntax": str(error)}
    except OSError as error:
        answer = {"failure": f"it tried to leave the process ({error})"}
    except (ValueError, RuntimeError) as error:
        answer = {"failure": str(error)}
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()


def _answer(store: pyoxigraph.Store, order: Order) -> dict[str, object]:
    import pyoxigraph as ox

    if order.default_graph is None:
        found = store.query(order.text, prefixes=dict(order.prefixes))
    else:
        found = store.query(
            order.text,
            prefixes=dict(order.prefixes),
            default_graph=[ox.NamedNode(order.default_graph)],
            named_graphs=[ox.NamedNode(graph) for graph in order.named_graphs],
        )
    if isinstance(found, ox.QueryBoolean):
        return {"boolean": bool(found)}
    if isinstance(found, ox.QuerySolutions):
        names = [variable.value for variable in found.variables]
        variables = [name for name in order.variables if name in names]
        variables += [name for name in names if name not in variables]
        choose = first_rows if order.ordered else smallest_rows
        rows, truncated = choose(found, order.max_rows, [names.index(name) for name in variables])
        return {"variables": variables, "rows": rows, "truncated": truncated}
    rows, truncated = smallest_rows(found, order.max_rows, range(3), distinct=True)
    return {"triples": rows, "truncated": truncated}


def first_rows(found: Iterable[Nodes], limit: int, columns: Sequence[int]) -> tuple[list[Row], bool]:
    """Return at most ``limit`` rows in the order in which they come, and whether there are more."""
    rows = [tuple(term_of(row[column]) for column in columns) for row in islice(found, limit + 1)]
    return rows[:limit], len(rows) > limit


def smallest_rows(
    found: Iterable[Nodes], limit: int, columns: Sequence[int], *, distinct: bool = False
) -> tuple[list[Row], bool]:
    """Return the ``limit`` smallest rows in order, and whether there are more; holds a few times as many.

    ``distinct`` counts equal rows once.
    """
    kept: list[Row] = []
    largest: Row | None = None  # of those that can still be among the result, once there are enough
    for row in found:
        if largest is not None and _is_beyond(row, columns, largest):
            continue
        kept.append(tuple([term_of(row[column]) for column in columns]))
        if len(kept) >= 4 * limit + 1024:
            kept = _sorted(kept, distinct=distinct)[: limit + 1]
            largest = kept[-1] if len(kept) > limit else None
    kept = _sorted(kept, distinct=distinct)
    return kept[:limit], len(kept) > limit


def _is_beyond(row: Nodes, columns: Sequence[int], largest: Row) -> bool:
    """Return whether a row is not before ``largest``, looking at no more of it than needed."""
    for column, bound in zip(columns, largest, strict=True):
        node: Any = row[column]
        kind = _KINDS[type(node).__name__]
        if kind != bound.type:
            return kind > bound.type
        if (kind == "iri" or kind == "literal") and node.value != bound.value:
            return bool(node.value > bound.value)
        term = term_of(node)
        if term != bound:
            return term > bound
    return True


def _sorted(rows: Iterable[Row], *, distinct: bool) -> list[Row]:
    return sorted(set(rows) if distinct else rows)


def term_of(node: Any) -> Term:
    """Return a term of pyoxigraph, or None for an unbound variable, as a ``Term``."""
    kind = _KINDS[type(node).__name__]
    if kind == "iri" or kind == "blank":
        return _new(Term, (kind, node.value, "", "", ""))
    if kind == "literal":
        if node.language is None:
            return _new(Term, (kind, node.value, node.datatype.value, "", ""))
        direction = "" if node.direction is None else str(node.direction)
        return Term(kind, node.value, "", node.language, direction)
    return Term(kind, f"<<( {node} )>>") if kind else UNBOUND


# By the classes' names, so that importing this module does not import pyoxigraph.
_KINDS = {"NoneType": "", "NamedNode": "iri", "Literal": "literal", "BlankNode": "blank", "Triple": "triple"}

_new: Callable[[type[Term], tuple[str, str, str, str, str]], Term] = tuple.__new__
