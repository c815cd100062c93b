"""Proofs as data: what a fact rests on, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from openknowledge.engine.datalog.limits import NO_LIMITS, Budget
from openknowledge.engine.datalog.values import Value

ASSERTED = "asserted"
RULE = "rule"
AGGREGATE = "aggregate"
ABSENCE = "closed-world-absence"
COMPARISON = "comparison"
KINDS = (ASSERTED, RULE, AGGREGATE, ABSENCE, COMPARISON)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Proof:
    """One step and, in ``inputs``, the proofs of what it uses. Equal facts share one object.

    ``kind`` is

    - ``asserted``: a base fact;
    - ``rule``: derived; ``inputs`` has one proof per premise, in the order of the rule;
    - ``aggregate``: derived by a rule with an aggregate; ``inputs`` has every premise instance of every
      solution in the group once, by premise and then by display string;
    - ``closed-world-absence``: no fact matches the negated premise ``atom``;
    - ``comparison``: the comparison ``atom`` holds.

    ``height`` is the number of rule applications on the longest path down. ``row`` has the values of a fact,
    ``None`` for absences and comparisons.
    """

    kind: str
    atom: str
    predicate: str = ""
    row: tuple[Value, ...] | None = None
    rule_id: str | None = None
    rule: str | None = None
    inputs: tuple[Proof, ...] = ()
    height: int = field(default=0)

    def __repr__(self) -> str:
        return f"<Proof {self.kind} of {self.atom}, height {self.height}>"

    def steps(self) -> Iterator[Proof]:
        """Yield every different step once, premises before what they prove."""
        return steps_of([self])

    def leaves(self) -> tuple[Proof, ...]:
        """Return the asserted facts the proof rests on, each once, in display order."""
        return tuple(sorted((s for s in self.steps() if s.kind == ASSERTED), key=lambda s: s.atom))

    def size(self) -> int:
        """Return the number of steps of the proof written as a tree."""
        return sizes([self])[id(self)]

    def to_json(self, budget: Budget | None = None) -> dict[str, Any]:
        """Return the proof as nested plain data: ``kind``, ``atom``, ``ruleId``, ``rule``, ``inputs``.

        Steps that several others use are written out each time. Raises ``LimitError`` before writing when
        that exceeds the budget's ``proof_steps``.
        """
        (budget or Budget(NO_LIMITS)).check_steps(self.size())
        # one dict per distinct step would alias; whoever edits the result must find a tree
        written = _written(self)
        stack = [(self, written)]
        while stack:
            proof, target = stack.pop()
            for child in proof.inputs:
                data = _written(child)
                target["inputs"].append(data)
                if child.inputs:
                    stack.append((child, data))
        return written


def _written(proof: Proof) -> dict[str, Any]:
    written: dict[str, Any] = {"kind": proof.kind, "atom": proof.atom}
    if proof.rule_id is not None:
        written["ruleId"] = proof.rule_id
        written["rule"] = proof.rule
    written["inputs"] = []
    return written


def steps_of(proofs: list[Proof]) -> Iterator[Proof]:
    """Yield every different step of ``proofs`` once, premises before what they prove."""
    seen: set[int] = set()
    for root in proofs:
        stack: list[tuple[Proof, bool]] = [(root, False)]
        while stack:
            proof, done = stack.pop()
            if done:
                yield proof
            elif id(proof) not in seen:
                seen.add(id(proof))
                stack.append((proof, True))
                stack.extend((child, False) for child in reversed(proof.inputs))


def sizes(proofs: list[Proof]) -> dict[int, int]:
    """Return, by ``id``, how many steps each step of ``proofs`` has when written as a tree."""
    result: dict[int, int] = {}
    for step in steps_of(proofs):
        result[id(step)] = 1 + sum(result[id(child)] for child in step.inputs)
    return result
