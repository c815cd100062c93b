"""Attaches proofs to what is said about claims: every judgement names a fact, and the rules prove it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from openknowledge.engine import limits as bounds
from openknowledge.engine.analysis.builtin_rules import builtin_texts
from openknowledge.engine.datalog import (
    CLOSED_WORLD_PROFILE,
    FactBase,
    Limits,
    Proof,
    display,
    parse_ground_atom,
    prepare,
)
from openknowledge.engine.datalog.checking import Finding, ProofChecker
from openknowledge.engine.datalog.proof import sizes
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.facts.facts import Facts
from openknowledge.engine.query.datalog import check_revision


def prove_atoms(atoms: list[str], facts: Facts, base: FactBase) -> dict[str, Proof]:
    """Return the proof of each ground atom by the built-in rules.

    Raises ``OpenKnowledgeError`` for an atom that does not follow: a finding without a proof is an error of
    this program, and nobody should rely on it.
    """
    by_predicate: dict[tuple[str, int], dict[str, tuple[Any, ...]]] = {}
    for text in atoms:
        predicate, row = parse_ground_atom(text)
        by_predicate.setdefault((predicate, len(row)), {})[text] = row
    found: dict[str, Proof] = {}
    limits = Limits(seconds=bounds.QUERY_SECONDS_MAX, created_facts=bounds.DERIVED_GRAPH_FACTS)
    for (predicate, arity), rows in sorted(by_predicate.items()):
        first = next(iter(rows.values()))
        # one claim asks for one claim's facts; many ask for all
        same = len({row[0] for row in rows.values()}) == 1 and isinstance(first[0], str)
        arguments = [display(first[0]) if same else "_", *["_"] * (arity - 1)]
        query = f"{predicate}({', '.join(arguments)})"
        prepared = prepare(query, builtin_texts(), profile=CLOSED_WORLD_PROFILE, limits=limits)
        for name in prepared.predicates & base.names():
            facts.rows(name)
        for text, proof in zip(rows, prepared.proofs(base, rows.values()), strict=True):
            if proof is None:
                raise OpenKnowledgeError(f"no proof was found for {text}; please report this")
            found[text] = proof
    return found


def with_proofs(result: dict[str, Any], facts: Facts, base: FactBase) -> dict[str, Any]:
    """Return ``result`` with a ``proof`` beside every ``atom`` in it (and ``proofs`` beside ``atoms``).

    Proofs of long chains are written out each with the whole chain. The shortest come first, up to
    ``RESULT_PROOF_WORK``; the others have ``unproved`` in place of ``proof``, which says why.
    """
    holders = list(_holders(result))
    atoms = [text for holder in holders for text in _atoms(holder)]
    proofs = prove_atoms(list(dict.fromkeys(atoms)), facts, base)
    steps = sizes(list(proofs.values()))
    # the further down a step stands, the longer its line: a chain's text grows with the cube of its length
    work = {text: steps[id(proof)] * (1 + proof.height**2 // 16) for text, proof in proofs.items()}
    left = bounds.RESULT_PROOF_WORK
    for holder in sorted(holders, key=lambda holder: work.get(holder.get("atom", ""), 0)):
        if "atom" in holder:
            atom = holder["atom"]
            left -= work[atom]
            if left < 0:
                holder["unproved"] = _why_unproved(proofs[atom])
            else:
                holder["proof"] = proofs[atom].to_json()
        if "atoms" in holder:
            holder["proofs"] = [proofs[text].to_json() for text in holder["atoms"]]
    return result


def _why_unproved(proof: Proof) -> str:
    if proof.height > bounds.PROOF_DEPTH:
        return f"its proof is deeper than {bounds.PROOF_DEPTH} rule applications"
    return f"left out, since all proofs would be too large; okn query --datalog '{proof.atom}' gives this one"


def _atoms(holder: dict[str, Any]) -> list[str]:
    return [*([holder["atom"]] if "atom" in holder else []), *holder.get("atoms", [])]


def _holders(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "atom" in value or "atoms" in value:
            yield value
        for item in value.values():
            yield from _holders(item)
    elif isinstance(value, list):
        for item in value:
            yield from _holders(item)


JUDGEMENTS = ("upcoming", "conflicts", "affected", "staleReasons")
"""A result of a command on claims has one of these; no other saved result does."""


def is_judgement(result: Any) -> bool:
    """Whether ``result`` is the saved result of a command that judges claims."""
    return isinstance(result, dict) and any(name in result for name in JUDGEMENTS)


def check_judgements(result: dict[str, Any], facts: Facts) -> list[Finding]:
    """Check every proof in the saved result of a command on claims, with code apart from the evaluator.

    Raises ``OpenKnowledgeError`` when the result is about another revision.
    """
    check_revision(result, facts)
    checker = ProofChecker(
        builtin_texts(),
        lambda name: cast("Any", facts.rows(name)),
        holds=lambda name, row: (name, cast("Any", row)) in facts,
    )
    findings: list[Finding] = []
    for path, holder in _placed(result, ""):
        atoms = [holder["atom"]] if "atom" in holder else list(holder["atoms"])
        if "unproved" in holder:
            findings.append(Finding(path, str(holder.get("atom", "")), f"not proved: {holder['unproved']}"))
            continue
        proofs = [holder.get("proof")] if "atom" in holder else holder.get("proofs")
        if not isinstance(proofs, list) or len(proofs) != len(atoms):
            findings.append(Finding(path, "", "every atom needs its proof"))
            continue
        for atom, proof in zip(atoms, proofs, strict=True):
            if not isinstance(proof, dict) or proof.get("atom") != atom:
                findings.append(Finding(path, str(atom), "the proof is for another atom"))
            elif (finding := checker.check_proof(proof, f"{path}.proof")) is not None:
                findings.append(finding)
    return findings


def count_proofs(result: dict[str, Any]) -> int:
    """Return how many proofs the saved result of a command on claims carries."""
    return sum(len(_atoms(holder)) for _, holder in _placed(result, ""))


def proofs_in(result: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the proofs in the saved result of a command on claims, as they stand there."""
    for _, holder in _placed(result, ""):
        if "unproved" in holder:
            continue
        proofs = [holder.get("proof")] if "atom" in holder else holder.get("proofs")
        yield from proofs if isinstance(proofs, list) else [proofs]


def _placed(value: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield everything in ``value`` that says an atom, with its place; not what is inside proofs."""
    stack: list[tuple[str, Any]] = [(path, value)]
    while stack:
        here, item = stack.pop()
        if isinstance(item, dict):
            if isinstance(item.get("atom"), str) or isinstance(item.get("atoms"), list):
                yield here, item
            stack.extend(
                (f"{here}.{name}" if here else name, below)
                for name, below in item.items()
                if name not in ("proof", "proofs")
            )
        elif isinstance(item, list):
            stack.extend((f"{here}[{place}]", below) for place, below in enumerate(item))
