"""Same generation in a random tree: ``python benchmarks/datalog_same_generation.py``.

2,000 people, each but the first with a random parent among those before (seed 1). pyDatalog gets 150.
"""

from __future__ import annotations

import random

from datalog_engines import Problem, main

RULES = "sg(X,Y) :- parent(X,P), parent(Y,P). sg(X,Y) :- parent(X,U), sg(U,V), parent(Y,V)."
SQL = """
WITH RECURSIVE sg(a, b) AS (
    SELECT x.c0, y.c0 FROM parent x JOIN parent y ON x.c1 = y.c1
    UNION
    SELECT x.c0, y.c0 FROM sg JOIN parent x ON x.c1 = sg.a JOIN parent y ON y.c1 = sg.b
) SELECT count(*) FROM sg
"""


def tree(people: int, seed: int = 1) -> Problem:
    rnd = random.Random(seed)
    parents: list[tuple[int, ...]] = [
        (child, rnd.randrange(max(0, child - 400), child)) for child in range(1, people)
    ]
    return Problem(f"same generation, {people} people", RULES, "sg", 2, {"parent": parents}, SQL)


if __name__ == "__main__":
    main(__file__, {"large": lambda: tree(4_000), "small": lambda: tree(150)}, pydatalog={"small"})
