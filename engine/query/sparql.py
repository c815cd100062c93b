"""The SPARQL profile: SELECT, ASK and, where allowed, CONSTRUCT and DESCRIBE over one revision of a bundle.

A query is checked first (``check_query``), then evaluated in a process of its own that ends at a deadline
(``solve``), and its answer is shown in one of several formats. No query can open a network connection.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from typing import Literal

from openknowledge.engine import limits
from openknowledge.engine.errors import OpenKnowledgeError, UsageError
from openknowledge.engine.query import sparql_rows
from openknowledge.engine.query.sparql_query import (
    Dataset,
    ParsedQuery,
    QueryForm,
    check_dataset_size,
    check_query,
)
from openknowledge.engine.query.sparql_results import (
    GraphFormat,
    ResultFormat,
    Solutions,
    SourcesOf,
    json_result,
    read_answer,
    serialize_results,
    serialize_triples,
)
from openknowledge.engine.query.sparql_rows import Order, Term
from openknowledge.engine.query.sparql_syntax import syntax_error
from openknowledge.engine.query.worker import Bounds, Cancelled, can_fork, run_forked, run_spawned
from openknowledge.schemas.common import Policy, Provenance, Revision
from openknowledge.schemas.sparql import SparqlResult

__all__ = [
    "Dataset",
    "GraphFormat",
    "ParsedQuery",
    "QueryForm",
    "ResultFormat",
    "Solutions",
    "SourcesOf",
    "Term",
    "check_dataset_size",
    "check_query",
    "evaluate",
    "json_result",
    "serialize_results",
    "serialize_triples",
    "solve",
]


def solve(
    dataset: Dataset,
    query: ParsedQuery,
    *,
    max_results: int = limits.RESULTS,
    timeout: float = limits.QUERY_SECONDS,
    memory_bytes: int = limits.QUERY_MEMORY_BYTES,
    cancelled: Cancelled | None = None,
    process: Literal["fork", "spawn"] | None = None,
) -> Solutions:
    """Return what a query finds, at most ``max_results`` rows or triples.

    Which rows survive is defined: with an ORDER BY the first ones; without, the first ones when sorted by the
    terms of each variable in turn (type, value, datatype, language; code points). A query's own LIMIT that is
    not larger than ``max_results`` is left to the engine, and its rows are then sorted in the same way.

    ``timeout`` is in seconds from when the dataset is loaded. ``max_results`` and ``timeout`` of zero or less
    mean the defaults. ``cancelled`` is asked again and again while the query runs. ``process`` chooses how
    the child process is made; by default it is forked where the platform can.

    Raises ``TextError`` for a syntax error, ``LimitError`` when the query reaches a limit, ``UsageError`` for
    a timeout that is no number, ``OpenKnowledgeError`` when the evaluation fails or is cancelled.
    """
    if not math.isfinite(timeout):
        raise UsageError(f"a timeout is a number of seconds, not {timeout}")
    bounds = Bounds(
        what="SPARQL query",
        seconds=timeout if timeout > 0 else limits.QUERY_SECONDS,
        memory_bytes=memory_bytes,
    )
    order = Order(
        text=query.engine_text,
        prefixes=query.prefixes,
        default_graph=None if query.names_graphs else dataset.revision_graph,
        named_graphs=dataset.graphs,
        variables=query.variables if query.selects_all else (),
        ordered=query.ordered,
        max_rows=max_results if max_results > 0 else limits.RESULTS,
    )
    store = dataset.load()
    if process == "spawn" or not can_fork():
        prepare = f"{sparql_rows.__name__}:unpack_order"
        answer = run_spawned(prepare, sparql_rows.pack_order(order, store), bounds, cancelled=cancelled)
    else:
        answer = run_forked(partial(sparql_rows.evaluate_order, store, order), bounds, cancelled=cancelled)
    return _solutions(query, answer)


def _solutions(query: ParsedQuery, answer: bytes) -> Solutions:
    content = json.loads(answer)
    if "syntax" in content:
        raise syntax_error(query, content["syntax"])
    if "failure" in content:
        raise OpenKnowledgeError(f"The SPARQL query failed: {content['failure']}")
    return read_answer(query.form, content)


def _no_sources(_: Sequence[Term]) -> Sequence[Provenance]:
    return ()


def evaluate(
    dataset: Dataset,
    query: ParsedQuery,
    *,
    root: str,
    revision: Revision,
    policy: Policy,
    sources_of: SourcesOf = _no_sources,
    max_results: int = limits.RESULTS,
    timeout: float = limits.QUERY_SECONDS,
    cancelled: Cancelled | None = None,
) -> SparqlResult:
    """Return the JSON result of a SELECT or ASK query. Raises as ``solve`` and ``json_result`` do."""
    solutions = solve(dataset, query, max_results=max_results, timeout=timeout, cancelled=cancelled)
    return json_result(solutions, root=root, revision=revision, policy=policy, sources_of=sources_of)
