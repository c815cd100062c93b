"""Bound queries over the links of 10,000 documents: ``python benchmarks/datalog_bound_query.py``.

Documents link three others of their group of 20 (seed 2), so answers are small. Each query is prepared and
answered with proofs over a ``FactBase`` that has loaded the relation: the warm state of a running program.
"""

from __future__ import annotations

import random
import statistics
import time

from openknowledge.engine.datalog import FactBase, Limits, prepare

DOCUMENTS = 10_000
RULES = {
    "recursive premise first": "reachable(X,Y) :- link(X,Y). reachable(X,Z) :- reachable(X,Y), link(Y,Z).",
    "recursive premise last": "reachable(X,Y) :- link(X,Y). reachable(X,Z) :- link(X,Y), reachable(Y,Z).",
    "two recursive premises": "reachable(X,Y) :- link(X,Y). "
    "reachable(X,Z) :- reachable(X,Y), reachable(Y,Z).",
}


def links() -> list[tuple[str, str]]:
    rnd = random.Random(2)
    return [
        (f"doc:{i}", f"doc:{i // 20 * 20 + rnd.randrange(20)}") for i in range(DOCUMENTS) for _ in range(3)
    ]


def main() -> None:
    base = FactBase({"link": links()})
    for name, rules in RULES.items():
        print(name)
        for pattern in ('reachable("doc:#", Y)', 'reachable(X, "doc:#")', 'reachable("doc:#", "doc:0")'):
            times: list[float] = []
            rows = 0
            for number in range(0, DOCUMENTS, 100):
                start = time.perf_counter()
                query = pattern.replace("#", str(number))
                answer = prepare(query, rules, limits=Limits.command_line()).answer(base)
                times.append(1_000 * (time.perf_counter() - start))
                rows += len(answer.rows)
            print(
                f"  {pattern:28} first {times[0]:6.1f} ms, median {statistics.median(times[1:]):5.1f} ms, "
                f"slowest {max(times[1:]):5.1f} ms, {rows / len(times):.1f} rows"
            )


if __name__ == "__main__":
    main()
