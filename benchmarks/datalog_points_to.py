"""A points-to analysis of a random program: ``python benchmarks/datalog_points_to.py``.

Inclusion-based, field-insensitive: new objects, copies, loads and stores over 3,000 variables (seed 1).
Two predicates that need each other, which DuckDB's recursive query cannot say. pyDatalog gets 60 variables.
"""

from __future__ import annotations

import random

from datalog_engines import Problem, main

RULES = """
points(V,O) :- new(V,O).
points(V,O) :- copy(V,W), points(W,O).
points(V,O) :- load(V,P), points(P,A), holds(A,O).
holds(A,O) :- store(P,W), points(P,A), points(W,O).
"""


def program(variables: int, seed: int = 1) -> Problem:
    rnd = random.Random(seed)

    def pairs(count: int) -> list[tuple[int, ...]]:
        return sorted({(rnd.randrange(variables), rnd.randrange(variables)) for _ in range(count)})

    objects = variables // 4
    facts: dict[str, list[tuple[int, ...]]] = {
        "new": sorted(
            {(rnd.randrange(variables), variables + rnd.randrange(objects)) for _ in range(objects)}
        ),
        "copy": pairs(int(variables * 1.1)),
        "load": pairs(variables // 5),
        "store": pairs(variables // 6),
    }
    return Problem(f"points-to, {variables} variables", RULES, "points", 2, facts)


if __name__ == "__main__":
    main(__file__, {"large": lambda: program(3_000), "small": lambda: program(60)}, pydatalog={"small"})
