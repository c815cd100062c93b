"""Proofs as text trees, DOT and Mermaid. What a proof is, is ``proof.Proof``; this only prints it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from openknowledge.engine import limits as bounds
from openknowledge.engine.datalog.errors import DatalogError, shorten
from openknowledge.engine.datalog.parser import parse_ground_atom
from openknowledge.engine.datalog.proof import (
    ABSENCE,
    AGGREGATE,
    ASSERTED,
    COMPARISON,
    KINDS,
    RULE,
    Proof,
    steps_of,
)
from openknowledge.engine.datalog.values import Value
from openknowledge.engine.errors import OpenKnowledgeError

Places = Callable[[str, tuple[Value, ...]], Sequence[str]]
"""Returns where a base fact was read, such as ``["guides/index.md:12"]``."""

_LABEL = 300


def proof_from_json(step: object) -> Proof:
    """Return a proof from plain data as ``Proof.to_json`` writes it; equal steps become one object.

    Only the form is looked at, not whether the proof holds: that is the checker's work. Raises
    ``OpenKnowledgeError`` for data of another form or with more than ``PROOF_STEPS`` steps.
    """
    made: dict[tuple[str, str, str | None, tuple[int, ...]], Proof] = {}
    done: list[Proof] = []
    stack: list[tuple[Mapping[str, Any], bool]] = [(_step(step), False)]
    steps = 0
    while stack:
        data, ready = stack.pop()
        inputs = data["inputs"]
        if not ready:
            steps += 1
            if steps > bounds.PROOF_STEPS:
                raise OpenKnowledgeError(f"the proof has more than {bounds.PROOF_STEPS:,} steps")
            stack.append((data, True))
            stack.extend((_step(child), False) for child in reversed(inputs))
            continue
        children = tuple(done[len(done) - len(inputs) :]) if inputs else ()
        del done[len(done) - len(inputs) :]
        key = (data["kind"], data["atom"], data.get("rule"), tuple(map(id, children)))
        known = made.get(key)
        if known is None:
            known = made[key] = _made(data, children)
        done.append(known)
    return done[0]


def _step(step: object) -> Mapping[str, Any]:
    if not isinstance(step, Mapping):
        raise OpenKnowledgeError("a proof step is an object with kind, atom and inputs")
    kind, atom, inputs = step.get("kind"), step.get("atom"), step.get("inputs")
    if kind not in KINDS or not isinstance(atom, str) or not isinstance(inputs, (list, tuple)):
        raise OpenKnowledgeError(
            f"a proof step has one of the kinds {', '.join(KINDS)}, an atom, and a list of inputs; found "
            f"{shorten(repr(kind))} {shorten(repr(atom), 200)}"
        )
    for key in ("rule", "ruleId"):
        if not isinstance(step.get(key), (str, type(None))):
            raise OpenKnowledgeError(f"the {key} of the step {shorten(atom, 200)} is not text")
    return step


def _made(data: Mapping[str, Any], inputs: tuple[Proof, ...]) -> Proof:
    kind, atom = data["kind"], data["atom"]
    predicate, row = "", None
    if kind in (ASSERTED, RULE, AGGREGATE):
        try:
            predicate, row = parse_ground_atom(atom)
        except DatalogError as error:
            raise OpenKnowledgeError(f"the step {shorten(atom, 200)} is no fact: {error.problem}") from None
    height = 1 + max((child.height for child in inputs), default=0) if kind in (RULE, AGGREGATE) else 0
    return Proof(kind, atom, predicate, row, data.get("ruleId"), data.get("rule"), inputs, height)


# Text


def proof_text(proof: Proof, places: Places | None = None) -> str:
    """Return the proof as an indented tree, one step a line, each base fact with where it was read.

    A derivation that several steps share is written out once, and referred to after that.
    """
    lines: list[str] = []
    shown: set[int] = set()
    stack: list[tuple[Proof, str, str]] = [(proof, "", "")]
    while stack:
        step, lead, below = stack.pop()
        again = bool(step.inputs) and id(step) in shown
        lines.append(lead + _line(step, places, again=again))
        if again:
            continue
        shown.add(id(step))
        last = len(step.inputs) - 1
        stack.extend(
            (child, below + ("└─ " if place == last else "├─ "), below + ("   " if place == last else "│  "))
            for place, child in reversed(list(enumerate(step.inputs)))
        )
    return "\n".join(map(str.rstrip, lines)) + "\n"


def _line(step: Proof, places: Places | None, *, again: bool) -> str:
    if again:
        return f"{step.atom}  (proved above)"
    if step.kind == ASSERTED:
        found = places(step.predicate, step.row or ()) if places is not None else ()
        return f"{step.atom}  [{', '.join(found)}]" if found else f"{step.atom}  [asserted]"
    if step.kind == ABSENCE:
        return f"{step.atom}  [no such fact]"
    if step.kind == COMPARISON:
        return f"{step.atom}  [holds]"
    return f"{step.atom}  by {step.rule}"


# Graphs


def proof_dot(proofs: Sequence[Proof], places: Places | None = None) -> str:
    """Return the proofs as one DOT graph: facts point to what they follow from, by way of their rule."""
    lines = ["digraph proof {", "  rankdir=BT;", '  node [fontname="sans-serif"];']
    numbers: dict[int, int] = {}
    for step in steps_of(list(proofs)):
        number = numbers[id(step)] = len(numbers)
        lines.append(f"  f{number} [shape={_DOT_SHAPES[step.kind]}, label={_dot(_label(step, places))}];")
        if step.rule is not None:
            lines.append(f"  r{number} [shape=plaintext, label={_dot(step.rule)}];")
            lines.append(f"  r{number} -> f{number};")
            lines.extend(
                f'  f{numbers[id(child)]} -> r{number} [label="{place}"];'
                for place, child in enumerate(step.inputs, 1)
            )
    return "\n".join([*lines, "}"]) + "\n"


_DOT_SHAPES = {
    ASSERTED: "box",
    RULE: "ellipse",
    AGGREGATE: "ellipse",
    ABSENCE: "diamond",
    COMPARISON: "diamond",
}


def _dot(text: str) -> str:
    escaped = shorten(text, _LABEL).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _label(step: Proof, places: Places | None) -> str:
    if step.kind == ASSERTED and places is not None:
        found = places(step.predicate, step.row or ())
        if found:
            return f"{shorten(step.atom, _LABEL - 100)}  [{shorten(', '.join(found), 90)}]"
    return step.atom


def proof_mermaid(proofs: Sequence[Proof], places: Places | None = None) -> str:
    """Return the proofs as one Mermaid flowchart, with the same nodes as ``proof_dot``."""
    lines = ["flowchart BT"]
    numbers: dict[int, int] = {}
    for step in steps_of(list(proofs)):
        number = numbers[id(step)] = len(numbers)
        left, right = _MERMAID_SHAPES[step.kind]
        lines.append(f"  f{number}{left}{_mermaid(_label(step, places))}{right}")
        if step.rule is not None:
            lines.append(f"  r{number}>{_mermaid(step.rule)}]")
            lines.append(f"  r{number} --> f{number}")
            lines.extend(
                f"  f{numbers[id(child)]} -->|{place}| r{number}"
                for place, child in enumerate(step.inputs, 1)
            )
    return "\n".join(lines) + "\n"


_MERMAID_SHAPES = {
    ASSERTED: ("[", "]"),
    RULE: ("(", ")"),
    AGGREGATE: ("(", ")"),
    ABSENCE: ("{{", "}}"),
    COMPARISON: ("{{", "}}"),
}
_PLAIN = re.compile(r"[^\w .,:/()!?=\-]")


def _mermaid(text: str) -> str:
    """Return ``text`` as a quoted label, all that Mermaid or HTML could read otherwise as character codes."""
    return '"' + _PLAIN.sub(lambda match: f"#{ord(match.group())};", shorten(text, _LABEL)) + '"'
