"""The engines that the Datalog benchmarks compare, each run in a process of its own.

A run gives wall time and peak memory of the process, from handing over the facts to having all derived facts
counted. Start-up of Python and imports are not counted. Ratios are taken within one run of the benchmark.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Rows = list[tuple[int, ...]]


@dataclass(frozen=True)
class Problem:
    """A program in the languages of the engines, with its facts and the predicate whose facts are counted."""

    name: str
    rules: str
    goal: str
    arity: int
    facts: dict[str, Rows]
    sql: str = ""


def run_openknowledge(problem: Problem, *, proofs: int = 0) -> dict[str, Any]:
    """Derive everything; then, apart, rebuild some proofs."""
    from openknowledge.engine.datalog import evaluate

    start = time.perf_counter()
    model = evaluate(problem.rules, problem.facts)
    count = len(model[problem.goal])
    seconds = time.perf_counter() - start
    rows = sorted(model[problem.goal])[:: max(1, count // max(1, proofs))][:proofs] if proofs else []
    start = time.perf_counter()
    heights = [model.proof(problem.goal, row).height for row in rows]
    return {
        "count": count,
        "seconds": seconds,
        "proofs": len(heights),
        "proof_seconds": time.perf_counter() - start,
        "height": max(heights, default=0),
    }


def run_clingo(problem: Problem) -> dict[str, Any]:
    """Ground and solve with clingo; facts go in as text, which is its only way in."""
    import clingo

    start = time.perf_counter()
    control = clingo.Control(["--warn=none"])
    facts = "".join(
        f"{name}({','.join(map(str, row))})." for name, rows in problem.facts.items() for row in rows
    )
    control.add("base", [], facts + problem.rules)
    control.ground([("base", [])])
    count = sum(1 for _ in control.symbolic_atoms.by_signature(problem.goal, problem.arity))
    return {"count": count, "seconds": time.perf_counter() - start}


def run_pydatalog(problem: Problem) -> dict[str, Any]:
    """Ask pyDatalog for every fact of the goal."""
    from openknowledge.engine.datalog import parse_rules
    from pyDatalog import Logic, pyEngine

    start = time.perf_counter()
    Logic()

    def literal(atom: Any) -> Any:
        terms = [
            pyEngine.Var(str(t)) if str(t)[0].isupper() else pyEngine.Const(t.value) for t in atom.arguments
        ]
        return pyEngine.Literal(atom.predicate, terms)

    for name, rows in problem.facts.items():
        for row in rows:
            fact = pyEngine.Literal(name, [pyEngine.Const(value) for value in row])
            pyEngine.assert_(pyEngine.Clause(fact, []))  # noqa: PT009 - pyDatalog's name
    for rule in parse_rules(problem.rules):
        pyEngine.assert_(pyEngine.Clause(literal(rule.head), [literal(premise) for premise in rule.premises]))  # noqa: PT009 - pyDatalog's name
    free = [pyEngine.Var(f"A{column}") for column in range(problem.arity)]
    count = len(pyEngine.Literal(problem.goal, free).ask())
    return {"count": count, "seconds": time.perf_counter() - start}


def run_duckdb(problem: Problem) -> dict[str, Any]:
    """Run the recursive query of the problem."""
    import duckdb

    start = time.perf_counter()
    database = duckdb.connect()
    for name, rows in problem.facts.items():
        columns = ", ".join(f"c{i} INTEGER" for i in range(len(rows[0])))
        database.execute(f"CREATE TABLE {name} ({columns})")
        values = ", ".join(f"({','.join(map(str, row))})" for row in rows)
        database.execute(f"INSERT INTO {name} VALUES {values}")
    count = database.execute(problem.sql).fetchone()[0]
    return {"count": count, "seconds": time.perf_counter() - start}


ENGINES: dict[str, Callable[..., dict[str, Any]]] = {
    "openknowledge": run_openknowledge,
    "clingo": run_clingo,
    "pyDatalog": run_pydatalog,
    "DuckDB": run_duckdb,
}


def measured(script: str, engine: str, *arguments: str, limit: float = 300.0) -> dict[str, Any]:
    """Run ``script`` again as a process that answers for one engine; return its numbers."""
    command = [sys.executable, script, "--engine", engine, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"stopped after {limit:g} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["failed"])[-1]}
    numbers: dict[str, Any] = json.loads(done.stdout)
    return numbers


def main(script: str, problems: dict[str, Callable[[], Problem]], pydatalog: set[str]) -> None:
    """Compare the engines on each problem; pyDatalog only on those named, which it does in a few minutes."""
    if "--engine" in sys.argv:
        engine = sys.argv[sys.argv.index("--engine") + 1]
        problem = problems[sys.argv[-1]]()
        options = {"proofs": 1_000} if engine == "openknowledge" else {}
        numbers = ENGINES[engine](problem, **options)
        numbers["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(numbers))
        return
    for name, make in problems.items():
        problem = make()
        facts = sum(map(len, problem.facts.values()))
        print(f"\n{problem.name} ({facts:,} facts)")
        base: float | None = None
        for engine in ENGINES:
            unable = {"pyDatalog": name not in pydatalog, "DuckDB": not problem.sql}
            if unable.get(engine):
                continue
            numbers = measured(script, engine, name)
            if "error" in numbers:
                print(f"  {engine:14} {numbers['error']}")
                continue
            base = base or numbers["seconds"]
            line = f"  {engine:14} {numbers['seconds']:8.2f} s  {numbers['megabytes']:6.0f} MB"
            line += f"  {numbers['count']:>9,} facts"
            if engine != "openknowledge":
                line += f"  openknowledge takes {base / numbers['seconds']:.3f} of its time"
            else:
                line += f"  {numbers['proofs']:,} proofs, up to height {numbers['height']}: "
                line += f"{numbers['proof_seconds']:.2f} s more"
            print(line)
