"""What depends on a claim: pages, claims derived from it, evaluation cases. Nothing else is named."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.instants import format_instant
from openknowledge.engine.bundle.links import link_kind
from openknowledge.engine.claims.access import is_visible
from openknowledge.engine.claims.evals import EvalCase
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.machine import cited_sources, claim_source_json, occurrence_json
from openknowledge.engine.claims.model import Claim
from openknowledge.engine.claims.results import atom, envelope

if TYPE_CHECKING:
    from openknowledge.schemas.claims import AffectedDocument, DerivedClaim, ImpactResult
    from openknowledge.schemas.claims import EvalCase as EvalCaseJson


def claim_impact(facts: FactSet, identifier: str, *, cases: Iterable[EvalCase] = ()) -> ImpactResult:
    """Return everything that depends on the claim ``identifier``, transitively, with the ways there.

    Raises ``OpenKnowledgeError`` when there is no such claim.
    """
    claim = facts.claim(identifier)
    derived = derived_claims(facts, claim)
    affected = _affected_documents(facts, claim, derived)
    by_kind: dict[str, set[str]] = {}
    for entry in affected:
        by_kind.setdefault(entry["kind"], set()).add(entry["document"])
    documents = {entry["document"] for entry in affected}
    evals = [_case_json(case, documents) for case in cases if not documents.isdisjoint(case.paths)]
    found: ImpactResult = envelope(
        facts,
        {
            "evaluatedAt": format_instant(facts.now),
            "claimId": claim.id,
            "occurrences": [occurrence_json(claim, facts)],
            "dependents": sorted(by_kind.get("refers", ())),
            "linkedDocuments": sorted(by_kind.get("links", ())),
            "sharedSourceDocuments": sorted(by_kind.get("shares-source", ())),
            "derivedClaims": derived,
            "affected": affected,
            "documents": sorted(documents),
            "sources": [claim_source_json(source) for source in cited_sources(claim, facts)],
            "evals": sorted(evals, key=lambda case: (case["dataset"], case["caseId"])),
        },
    )
    return found


def derived_claims(facts: FactSet, claim: Claim) -> list[DerivedClaim]:
    """Return the claims derived from ``claim`` over any number of steps, with a shortest way to each."""
    children: dict[str, list[str]] = {}
    for other in facts.claims:
        for origin in other.derived_from:
            children.setdefault(origin, []).append(other.id)
    ways: dict[str, list[str]] = {claim.id: []}
    queue = deque([claim.id])
    while queue:
        current = queue.popleft()
        for child in children.get(current, ()):
            if child not in ways:
                ways[child] = (
                    [*ways[current], current] if len(ways[current]) < _LONGEST_WAY else ways[current]
                )
                queue.append(child)
    del ways[claim.id]
    return [
        {
            "id": name,
            "path": facts.by_id[name].path,
            "via": ways[name],
            "atom": atom("affected_claim", claim.id, name),
        }
        for name in sorted(ways)
    ]


_LONGEST_WAY = 64
"""Claims that are named on the way to a derived one; of a longer chain, the first so many."""


def _affected_documents(facts: FactSet, claim: Claim, derived: list[DerivedClaim]) -> list[AffectedDocument]:
    home = claim.document
    found: dict[tuple[str, str], list[str]] = {(home.path, "declares"): []}
    references: dict[str, list[str]] = {}
    for reference in facts.references:
        references.setdefault(reference.claim_id, []).append(reference.document.path)
    for path in references.get(claim.id, ()):
        found[path, "refers"] = []
    for path in _linking(facts, home.path):
        found[path, "links"] = []
    resources = {source.resource for source in cited_sources(claim, facts)}
    for document in facts.bundle.documents:
        if document is not home and "sources" in document.fields:
            visible = _visible_resources(facts, document)
            if not resources.isdisjoint(visible):
                found[document.path, "shares-source"] = []
    for entry in derived:
        found.setdefault((entry["path"], "derived"), [entry["id"]])
        for path in references.get(entry["id"], ()):
            found.setdefault((path, "refers-derived"), [entry["id"]])
    by_path = facts.bundle.by_path
    return [
        {
            "document": path,
            "kind": kind,
            "via": via,
            "atom": atom("affected_document", claim.id, by_path[path].id, kind),
        }
        for (path, kind), via in sorted(found.items())
    ]


def _visible_resources(facts: FactSet, document: Document) -> list[str]:
    is_open = document.path not in facts.hidden
    return [
        source.resource
        for source in document.metadata.sources
        if source.resource and (is_open or is_visible(source, facts.granted))
    ]


def _linking(facts: FactSet, path: str) -> list[str]:
    """Return the other pages with a link to the page at ``path``."""
    bundle = facts.bundle
    found = []
    for document in bundle.documents:
        if document.path != path and any(
            bundle.resolver.resolve(link.href, document.path).path == path
            for link in document.outline.links
            if link_kind(link.href) == "local"
        ):
            found.append(document.path)
    return found


def _case_json(case: EvalCase, documents: set[str]) -> EvalCaseJson:
    return {
        "dataset": case.dataset,
        "caseId": case.id,
        "question": case.question,
        "agents": list(case.agents),
        "paths": sorted(documents.intersection(case.paths)),
    }


def impact_dot(result: ImpactResult) -> str:
    """Return an impact result as a Graphviz graph: an arrow leads from a claim to what depends on it."""
    root = result["claimId"]
    lines = ["digraph impact {", "  rankdir=LR;", f"  {_dot(root)} [shape=box, style=bold];"]
    for claim in result["derivedClaims"]:
        lines.append(f"  {_dot(claim['id'])} [shape=box];")
        origin = claim["via"][-1] if claim["via"] else root
        lines.append(f'  {_dot(origin)} -> {_dot(claim["id"])} [label="derived_from"];')
    for entry in result["affected"]:
        lines.append(f"  {_dot(entry['document'])} [shape=note];")
        origin = entry["via"][-1] if entry["via"] else root
        lines.append(f"  {_dot(origin)} -> {_dot(entry['document'])} [label={_dot(entry['kind'])}];")
    for case in result["evals"]:
        name = f"{case['dataset']}: {case['caseId']}"
        lines.append(f"  {_dot(name)} [shape=oval];")
        lines += [f'  {_dot(path)} -> {_dot(name)} [label="expected by"];' for path in case["paths"]]
    return "\n".join([*dict.fromkeys(lines), "}", ""])


def _dot(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
