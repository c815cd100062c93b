"""The proofs of a saved result in the forms that people and tools want."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openknowledge.engine.datalog.prov import proof_turtle
from openknowledge.engine.datalog.render import proof_dot, proof_from_json, proof_mermaid, proof_text
from openknowledge.engine.errors import OpenKnowledgeError, UsageError
from openknowledge.engine.query.claims import is_judgement, proofs_in


def render_result(result: Mapping[str, Any], output_format: str) -> str:
    """Return the proofs in ``result`` as ``text``, ``dot``, ``mermaid`` or ``prov`` (PROV-O in Turtle).

    Whether they hold is not looked at. Raises ``OpenKnowledgeError`` for a result of another shape and
    ``UsageError`` for another format.
    """
    if is_judgement(result):
        proofs = [proof_from_json(step) for step in proofs_in(result)]
    else:
        rows = result.get("results")
        if not isinstance(rows, list):
            raise OpenKnowledgeError("a result has a list of results")
        proofs = []
        for place, row in enumerate(rows):
            if not isinstance(row, dict) or "proof" not in row:
                raise OpenKnowledgeError(f"results[{place}] has no proof")
            proofs.append(proof_from_json(row["proof"]))
    if output_format == "text":
        return "\n".join(proof_text(proof) for proof in proofs)
    if output_format == "dot":
        return proof_dot(proofs)
    if output_format == "mermaid":
        return proof_mermaid(proofs)
    if output_format == "prov":
        return proof_turtle(proofs)
    raise UsageError(f"unknown proof format {output_format!r}; choose text, dot, mermaid or prov")
