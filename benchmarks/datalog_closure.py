"""Transitive closure of a layered graph: ``python benchmarks/datalog_closure.py``.

20 layers of 100 nodes, two random edges forward from each node (seed 1): 3,783 edges, 797,007 derived facts.
pyDatalog takes minutes for that, so it gets 8 layers of 30 nodes.
"""

from __future__ import annotations

import random

from datalog_engines import Problem, main

RULES = "path(X,Y) :- edge(X,Y). path(X,Z) :- path(X,Y), edge(Y,Z)."
SQL = """
WITH RECURSIVE path(a, b) AS (
    SELECT c0, c1 FROM edge UNION SELECT path.a, edge.c1 FROM path JOIN edge ON path.b = edge.c0
) SELECT count(*) FROM path
"""


def layered(layers: int, width: int, seed: int = 1) -> Problem:
    rnd = random.Random(seed)
    edges: set[tuple[int, ...]] = set()
    for layer in range(layers - 1):
        for node in range(width):
            for _ in range(2):
                edges.add((layer * width + node, (layer + 1) * width + rnd.randrange(width)))
    name = f"transitive closure, {layers} layers of {width} nodes"
    return Problem(name, RULES, "path", 2, {"edge": sorted(edges)}, SQL)


def chain(length: int) -> Problem:
    edges: list[tuple[int, ...]] = [(i, i + 1) for i in range(length)]
    return Problem(f"transitive closure, a chain of {length} nodes", RULES, "path", 2, {"edge": edges}, SQL)


if __name__ == "__main__":
    main(
        __file__,
        {"large": lambda: layered(20, 100), "small": lambda: layered(8, 30), "chain": lambda: chain(1_000)},
        pydatalog={"small"},
    )
