"""Makes claim proposals: everything that can be checked before anybody reviews is checked here."""

from __future__ import annotations

import math
import posixpath
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from openknowledge.engine.bundle.document import Document, parse_document
from openknowledge.engine.bundle.okf import Source
from openknowledge.engine.claims.anchors import Anchors
from openknowledge.engine.claims.evidence import EvidenceStore
from openknowledge.engine.claims.findings import Finding, kind_of, shown
from openknowledge.engine.claims.model import PROFILE_MARK, Claim
from openknowledge.engine.claims.profile import MARK, ProfileReader
from openknowledge.engine.claims.selectors import SelectorChecker, selector_task
from openknowledge.engine.claims.terms import Namespaces, is_prefix
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.patch import edit_frontmatter
from openknowledge.engine.operations.proposals import (
    CLAIM_PROPOSAL,
    PATCHABLE,
    check_claim_input,
    check_reason,
    claim_fields,
)
from openknowledge.engine.operations.transaction import sha256_hex
from openknowledge.engine.operations.workspace import judge, judged, page_diff, page_of, with_page

if TYPE_CHECKING:
    from openknowledge.engine.store import Store
    from openknowledge.schemas.operations import ClaimProposal, PatchOperation, ProposedClaim


@dataclass(frozen=True)
class PreparedProposal:
    """A proposal with the page that it would lead to."""

    proposal: ClaimProposal
    store: Store
    document: Document
    new_data: bytes

    @property
    def diff(self) -> str:
        """What would change in the page, as a unified diff."""
        return page_diff(self.document.path, self.document.data, self.new_data)

    @cached_property
    def objections(self) -> list[str]:
        """Why applying the proposal would be refused as the bundle is now; empty when it would not."""
        store = self.store
        claim_id = self.proposal["claim"]["id"]
        if (store.claim_set.ontology.terms.canonical[claim_id] or claim_id) in known_ids(
            store.claim_set.pages
        ):
            return [f"claim occurrence id already exists: {shown(claim_id)}"]
        after = judge(with_page(store.bundle, {self.document.path: self.new_data}), store.config, store.now)
        return [f"{issue.path}:{issue.line}: {issue.message}" for issue in after.new_issues(judged(store))]


def propose_claim(
    store: Store, *, document: str, claim: Mapping[str, Any], reason: str, confidence: float
) -> ClaimProposal:
    """Return the proposal to add ``claim`` (JSON with camelCase keys) to a page. Nothing is written.

    ``document`` is the page's path in the bundle, ``reason`` is for the reviewer, ``confidence`` says how
    surely the source was read correctly. The claim becomes ``proposed``. Raises ``OpenKnowledgeError`` for
    anything that no reviewer should have to look at: bad fields, evidence that is not where it is said to be,
    a section that does not exist. Whether the id is new and the terms are declared is left to ``apply``.
    """
    return prepare_proposal(
        store, document=document, claim=claim, reason=reason, confidence=confidence
    ).proposal


def prepare_proposal(
    store: Store, *, document: str, claim: Mapping[str, Any], reason: str, confidence: float
) -> PreparedProposal:
    """Return a proposal with the page it leads to. Arguments and errors as for ``propose_claim``."""
    check_reason(reason, "the proposal")
    check_confidence(confidence)
    page = page_of(store.bundle, normalised_path(document))
    checked = check_claim_input(claim)
    _check_terms(checked)
    if page.frontmatter.broken:
        raise OpenKnowledgeError(f"{page.path}: the frontmatter must be repaired first", path=page.path)
    patch = _addition(page, claim_fields(checked))
    try:
        new_data = edit_frontmatter(page.data, patch, allowed=PATCHABLE)
    except OpenKnowledgeError as error:
        raise OpenKnowledgeError(f"{page.path}: {error.message}", path=page.path, line=error.line) from None
    _check_claim(store, page, new_data, checked)
    proposal: ClaimProposal = {
        "type": CLAIM_PROPOSAL,
        "version": 1,
        "action": "create",
        "document": page.path,
        "documentSha256": sha256_hex(page.data),
        "claim": checked,
        "reason": reason,
        "confidence": confidence,
        "patch": patch,
    }
    return PreparedProposal(proposal, store, page, new_data)


def normalised_path(path: str) -> str:
    """Return ``path`` without ``.`` and doubled slashes; others refuse what leaves the bundle."""
    if not path or "\0" in path or "\\" in path or path.startswith("/"):
        return path
    return posixpath.normpath(path)


def check_confidence(confidence: float) -> None:
    """Raise ``OpenKnowledgeError`` unless 0 < ``confidence`` <= 1."""
    number = isinstance(confidence, (int, float)) and not isinstance(confidence, bool)
    if not number or not math.isfinite(confidence) or not 0 < confidence <= 1:
        raise OpenKnowledgeError(
            f"confidence must be a number above 0 and at most 1, not {confidence}; it says how surely the "
            "source was read correctly, not whether it is true"
        )


def known_ids(pages: Any) -> set[str]:
    """Return the id of every claim on ``pages``, also of those that are set aside."""
    found = {claim.id for page in pages for claim in page.claims}
    return found | {name for page in pages for name, _ in page.broken}


def _check_terms(claim: ProposedClaim) -> None:
    for key, term in _terms(claim):
        if ":" not in term:
            raise OpenKnowledgeError(
                f"the claim: {key} {shown(term)} must be an absolute IRI or prefix:name; it has no colon"
            )
    names = Counter(item["id"].strip() for item in claim["evidence"])
    repeated = next((name for name, count in names.items() if count > 1), None)
    if repeated is not None:
        raise OpenKnowledgeError(f"the claim: evidence {shown(repeated)} is duplicated")


def _terms(claim: ProposedClaim) -> list[tuple[str, str]]:
    found = [
        ("id", claim["id"]),
        ("slot", claim["slot"]),
        ("subject", claim["subject"]),
        ("predicate", claim["predicate"]),
    ]
    values = [("object", claim["object"])]
    for dimension, value in claim.get("scope", {}).items():
        found.append(("scope", dimension))
        values.append((f"scope.{dimension}", value))
    for name, value in values:
        parts = (("ref", "ref"), ("datatype", "datatype"), ("unit", "unit"), ("quantityKind", "quantityKind"))
        found += [(f"{name}.{key}", str(value[key])) for key, _ in parts if key in value]  # type: ignore[literal-required]
    for kind, targets in claim.get("relations", {}).items():
        found += [(f"relations.{kind}", str(target)) for target in targets]  # type: ignore[attr-defined]
    return found


def _addition(page: Document, fields: dict[str, Any]) -> list[PatchOperation]:
    """Return the patch that adds a claim to ``page``."""
    patch: list[PatchOperation] = []
    if MARK not in page.fields:
        patch.append({"op": "add", "path": f"/{MARK}", "value": PROFILE_MARK})
    held = page.fields.get("claims")
    if held is None:
        patch.append({"op": "add", "path": "/claims", "value": [fields]})
    elif isinstance(held, list):
        patch.append({"op": "add", "path": "/claims/-", "value": fields})
    else:
        raise OpenKnowledgeError(f"{page.path}: claims must be a list, not {kind_of(held)}", path=page.path)
    return patch


# What the page and the artifacts say


def _check_claim(store: Store, page: Document, new_data: bytes, proposed: ProposedClaim) -> None:
    claim = _read_claim(store, page, new_data, proposed)
    sources = store.fact_set.sources_of(page)
    checker = SelectorChecker(EvidenceStore(store.root))
    for item in claim.evidence:
        source: Source | None = sources.get(item.source_ref)
        name = f"evidence {shown(item.id)}"
        if source is None:
            known = ", ".join(sorted(sources)) or "none"
            ref = shown(item.source_ref)
            raise OpenKnowledgeError(
                f"{name}: sourceRef {ref} is no source of {page.path}; its sources: {known}"
            )
        if not source.resource:
            raise OpenKnowledgeError(f"{name}: source {shown(source.id)} of {page.path} needs a resource")
        if item.selector is not None:
            problem = checker.problem(selector_task(item, source, page.path))
            if problem:
                raise OpenKnowledgeError(problem)
    anchors = Anchors(page)
    if claim.section_ref and not anchors.has_one(claim.section_ref):
        raise OpenKnowledgeError(f"{page.path}: {anchors.problem(claim.section_ref)}")


def _read_claim(store: Store, page: Document, new_data: bytes, proposed: ProposedClaim) -> Claim:
    """Return the claim as the profile reads it. Raises ``OpenKnowledgeError`` for what is wrong in its form.

    Prefixes that no page declares yet get a stand-in: whether they are declared is known when it is applied.
    """
    terms = store.claim_set.ontology.terms
    prefixes = {term.partition(":")[0] for _, term in _terms(proposed)}
    prefixes |= {item["role"].partition(":")[0] for item in proposed["evidence"] if ":" in item["role"]}
    unknown = {
        prefix: f"https://undeclared.invalid/{prefix}/"
        for prefix in prefixes
        if prefix not in terms.by_prefix and is_prefix(prefix) and prefix not in ("http", "https", "urn")
    }
    findings: list[Finding] = []
    reader = ProfileReader(Namespaces({**terms.by_prefix, **unknown}), findings)
    written = parse_document(page.path, new_data)
    index = len(written.fields["claims"]) - 1
    found = reader.read(written)
    for finding in findings:
        if finding.index == index:
            raise OpenKnowledgeError(finding.message)
    claim = next((claim for claim in found.claims if claim.index == index), None)
    if claim is None:
        raise OpenKnowledgeError(f"{page.path}: the claim cannot be read back")
    return claim
