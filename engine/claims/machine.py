"""Claims and fact sets as JSON, with the names and the order of keys that programs rely on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.okf import Source
from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.claims.factset import FactSet, SourceFact, source_key
from openknowledge.engine.claims.model import (
    PROFILE,
    Claim,
    Decision,
    Entity,
    Evidence,
    EvidenceRole,
    ObjectValue,
    Predicate,
    Scalar,
    Selector,
    Verification,
)
from openknowledge.engine.claims.ontology import Declared
from openknowledge.engine.claims.profile import uses_profile
from openknowledge.engine.claims.relations import is_verification_outdated

if TYPE_CHECKING:
    from openknowledge.schemas import claims as shapes
    from openknowledge.schemas import facts as fact_shapes
    from openknowledge.schemas.common import Issue as IssueJson

SCHEMA_VERSION = "1"
_EXACT = 2**53
Item = TypeVar("Item")


def _compact(items: dict[str, Any], *optional: str) -> Any:
    """Return ``items`` without those of the ``optional`` keys that hold nothing (0 is something)."""
    return {
        key: value
        for key, value in items.items()
        if key not in optional or value or (value == 0 and value is not False)
    }


def number_json(value: Scalar) -> Scalar:
    """Return a scalar as JSON shows it: a fraction without digits behind the point is a whole number."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return value


def object_json(found: ObjectValue) -> shapes.ObjectValue:
    """Return an object or scope value."""
    items = {
        "ref": found.ref,
        "value": None if found.value is None else number_json(found.value),
        "datatype": found.datatype,
        "language": found.language,
        "unit": found.unit,
        "quantityKind": found.quantity_kind,
    }
    result: shapes.ObjectValue = _compact(items, "ref", "datatype", "language", "unit", "quantityKind")
    if found.value is None:
        del result["value"]
    return result


def selector_json(selector: Selector) -> shapes.Selector:
    """Return a selector."""
    items = {
        "type": selector.type,
        "exact": selector.exact,
        "prefix": selector.prefix,
        "suffix": selector.suffix,
        "value": selector.value,
        "start": selector.start,
        "end": selector.end,
        "page": selector.page,
        "conformsTo": selector.conforms_to,
    }
    result: shapes.Selector = _compact(items, *(key for key in items if key != "type"))
    return result


def evidence_json(item: Evidence) -> shapes.Evidence:
    """Return one item of evidence."""
    items = {
        "id": item.id,
        "sourceRef": item.source_ref,
        "stance": item.stance,
        "role": item.role,
        "selector": None if item.selector is None else selector_json(item.selector),
        "observedAt": item.observed_at,
    }
    result: shapes.Evidence = _compact(items, "selector", "observedAt")
    return result


def verification_json(found: Verification) -> shapes.Verification:
    """Return a verification."""
    items = {
        "method": found.method,
        "by": found.by,
        "at": found.at,
        "evidenceRefs": list(found.evidence_refs),
        "evidenceVersions": [
            {
                "evidenceRef": version.evidence_ref,
                "sourceRef": version.source_ref,
                "resource": version.resource,
                "sha256": version.sha256,
                "by": version.by,
                "at": version.at,
            }
            for version in found.evidence_versions
        ],
    }
    result: shapes.Verification = _compact(items, "evidenceRefs", "evidenceVersions")
    return result


def decision_json(found: Decision) -> shapes.Decision:
    """Return a decision."""
    items = {"action": found.action, "by": found.by, "at": found.at, "reason": found.reason}
    result: shapes.Decision = _compact(items, "reason")
    return result


def valid_time_json(claim: Claim) -> shapes.ValidTime:
    """Return the time of a claim; ``{}`` when it is open at both ends."""
    result: shapes.ValidTime = _compact(
        {"from": claim.valid_from, "until": claim.valid_until}, "from", "until"
    )
    return result


def scope_json(claim: Claim) -> dict[str, shapes.ObjectValue]:
    """Return the scope of a claim by dimension."""
    return {dimension: object_json(value) for dimension, value in claim.scope}


def claim_json(claim: Claim, facts: FactSet) -> shapes.Claim:
    """Return a claim as the holder of ``facts`` sees it."""
    reasons = facts.stale(claim)
    verification = claim.verification
    items = {
        "id": claim.id,
        "slot": claim.slot,
        "subject": claim.subject,
        "predicate": claim.predicate,
        "object": object_json(claim.object),
        "scope": scope_json(claim),
        "evidence": [evidence_json(item) for item in claim.evidence],
        "owners": list(claim.owners),
        "status": claim.status,
        "trustTier": claim.trust_tier,
        "validTime": valid_time_json(claim),
        "stale": bool(reasons),
        "staleEvidence": sorted({reason.evidence for reason in reasons if reason.evidence}),
        "staleAfter": claim.stale_after,
        "verification": None if verification is None else verification_json(verification),
        "verificationOutdated": is_verification_outdated(claim),
        "decisions": [decision_json(found) for found in claim.decisions],
        "relations": _relations_json(claim, facts),
        "sectionRef": claim.section_ref,
        "declaringPath": claim.path,
    }
    result: shapes.Claim = _compact(
        items,
        "scope",
        "staleEvidence",
        "staleAfter",
        "verification",
        "verificationOutdated",
        "decisions",
        "sectionRef",
    )
    return result


def _relations_json(claim: Claim, facts: FactSet) -> shapes.Relations:
    result: shapes.Relations = {}
    for kind, target in facts.related(claim):
        if kind == "supersedes":
            result.setdefault("supersedes", []).append(target)
        elif kind == "contradicts":
            result.setdefault("contradicts", []).append(target)
        else:
            result.setdefault("derivedFrom", []).append(target)
    return result


def claim_source_json(source: Source) -> shapes.ClaimSource:
    """Return a source as it stands beside a claim."""
    items = {
        "id": source.id,
        "resource": source.resource,
        "liveResource": source.live_resource,
        "observe": source.observe,
        "sha256": source.sha256,
        "role": source.role,
        "authorityApprovedBy": source.authority_approved_by,
    }
    result: shapes.ClaimSource = _compact(
        items, "liveResource", "observe", "sha256", "role", "authorityApprovedBy"
    )
    return result


def occurrence_json(claim: Claim, facts: FactSet) -> shapes.Occurrence:
    """Return a claim with its page and the sources that it cites."""
    items = {
        "path": claim.path,
        "title": claim.document.title,
        "claim": claim_json(claim, facts),
        "sources": [claim_source_json(source) for source in cited_sources(claim, facts)],
    }
    result: shapes.Occurrence = _compact(items, "title")
    return result


def cited_sources(claim: Claim, facts: FactSet) -> list[Source]:
    """Return the sources that the evidence of a claim cites, by id."""
    known = facts.sources_of(claim.document)
    cited = sorted({item.source_ref for item in claim.evidence})
    return [known[name] for name in cited if name in known]


# Pages


def claim_profile_json(
    document: Document, facts: FactSet, section: Section | None = None
) -> shapes.ClaimProfile | None:
    """Return the claims of a page, or of one of its sections; ``None`` when the page has no claim fields.

    A section has the claims bound to one of its anchors, and those bound to no section.
    """
    declared = facts.ontology.declared.get(document.path)
    if declared is None and not uses_profile(document):
        return None
    items = {
        "profile": PROFILE,
        "ontology": None if declared is None else _ontology_json(declared),
        "claims": [
            claim_json(claim, facts)
            for claim in facts.claims_of(document)
            if section is None or not claim.section_ref or claim.section_ref[1:] in section.anchors
        ],
        "claimRefs": facts.references_of(document),
    }
    result: shapes.ClaimProfile = _compact(items, "ontology")
    return result


def _ontology_json(declared: Declared) -> shapes.Ontology:
    items = {
        "namespaces": dict(sorted(declared.namespaces.items())),
        "entities": [entity_json(item) for item in declared.entities],
        "predicates": [predicate_json(item) for item in declared.predicates],
        "evidenceRoles": [role_json(item) for item in declared.evidence_roles],
    }
    result: shapes.Ontology = _compact(items, *items)
    return result


# The ontology


def entity_json(entity: Entity) -> shapes.Entity:
    """Return an entity."""
    items = {
        "id": entity.id,
        "types": list(entity.types),
        "prefLabel": entity.pref_label,
        "altLabels": list(entity.alt_labels),
        "deprecated": entity.deprecated,
        "replacedBy": entity.replaced_by,
    }
    result: shapes.Entity = _compact(items, "prefLabel", "deprecated", "replacedBy")
    return result


def predicate_json(predicate: Predicate) -> shapes.Predicate:
    """Return a predicate."""
    items = {
        "id": predicate.id,
        "subjectTypes": list(predicate.subject_types),
        "objectKind": predicate.object_kind,
        "datatype": predicate.datatype,
        "quantityKind": predicate.quantity_kind,
        "canonicalUnit": predicate.canonical_unit,
        "requiredScope": list(predicate.required_scope),
        "maximumCount": predicate.maximum_count or None,
        "prefLabel": predicate.pref_label,
    }
    result: shapes.Predicate = _compact(
        items, "objectKind", "datatype", "quantityKind", "canonicalUnit", "maximumCount", "prefLabel"
    )
    return result


def role_json(role: EvidenceRole) -> shapes.EvidenceRole:
    """Return an evidence role."""
    result: shapes.EvidenceRole = _compact({"id": role.id, "prefLabel": role.pref_label}, "prefLabel")
    return result


# The fact set


def issue_json(issue: Issue) -> IssueJson:
    """Return an issue with its place."""
    return {
        "path": issue.path,
        "line": issue.line,
        "column": issue.column,
        "rule": issue.rule,
        "severity": issue.severity,
        "message": issue.message,
    }


def fact_set_json(facts: FactSet, issues: Iterable[Issue] = ()) -> fact_shapes.FactSet:
    """Return the fact set. ``issues`` are what else is wrong in the bundle; claim issues are added."""
    ontology = facts.ontology
    found = {*issues, *facts.issues()}
    result: fact_shapes.FactSet = {
        "schemaVersion": SCHEMA_VERSION,
        "root": str(facts.bundle.root),
        "revision": facts.revision,
        "valid": not facts.quarantined,
        "namespaces": [{"prefix": prefix, "iri": iri} for prefix, iri in facts.terms.items()],
        "entities": [entity_json(item) for item in _by_id(ontology.entities)],
        "predicates": [predicate_json(item) for item in _by_id(ontology.predicates)],
        "evidenceRoles": [role_json(item) for item in _by_id(ontology.evidence_roles)],
        "sources": [_source_json(fact) for fact in facts.sources],
        "claims": [_claim_fact(claim, facts) for claim in facts.claims],
        "evidence": sorted(
            (_evidence_fact(claim, item) for claim in facts.claims for item in claim.evidence),
            key=lambda item: item["key"],
        ),
        "relations": sorted(
            (
                {"sourceId": claim.id, "kind": kind, "targetId": target}
                for claim in facts.claims
                for kind, target in facts.related(claim)
            ),
            key=lambda item: (item["sourceId"], item["kind"], item["targetId"]),
        ),
        "references": [
            {"claimId": reference.claim_id, "document": reference.document.path}
            for reference in facts.references
        ],
        "policy": facts.policy,
    }
    if found:
        ordered = sorted(found, key=lambda issue: issue.sort_key)
        result["issues"] = [issue_json(issue) for issue in ordered]
    return result


def _by_id(items: Mapping[str, Item]) -> list[Item]:
    return [items[name] for name in sorted(items)]


def _source_json(fact: SourceFact) -> fact_shapes.SourceFact:
    source = fact.source
    items = {
        "key": fact.key,
        "document": fact.document.path,
        "id": source.id,
        "resource": source.resource,
        "title": source.title,
        "author": source.author,
        "observe": source.observe,
        "sha256": source.sha256,
        "role": source.role,
        "access": sorted(set(source.access)),
        "authorityApprovedBy": source.authority_approved_by,
    }
    result: fact_shapes.SourceFact = _compact(
        items, "title", "author", "observe", "sha256", "role", "access", "authorityApprovedBy"
    )
    return result


def evidence_key(claim: Claim, item: Evidence) -> str:
    """Return what names a piece of evidence in the whole bundle."""
    return f"{claim.id}#{item.id}"


def _claim_fact(claim: Claim, facts: FactSet) -> fact_shapes.ClaimFact:
    verification = claim.verification
    items = {
        "id": claim.id,
        "slot": claim.slot,
        "subject": claim.subject,
        "predicate": claim.predicate,
        "object": object_json(claim.object),
        "status": claim.status,
        "trustTier": claim.trust_tier,
        "owners": list(claim.owners),
        "scope": [{"key": dimension, "value": object_json(value)} for dimension, value in claim.scope],
        "validTime": valid_time_json(claim),
        "stale": bool(facts.stale(claim)),
        "staleAfter": claim.stale_after,
        "verification": None if verification is None else verification_json(verification),
        "decisions": [decision_json(found) for found in claim.decisions],
        "sectionRef": claim.section_ref,
        "evidenceKeys": sorted(evidence_key(claim, item) for item in claim.evidence),
        "provenance": facts.place(claim).to_json(),
    }
    result: fact_shapes.ClaimFact = _compact(items, "staleAfter", "verification", "decisions", "sectionRef")
    return result


def _evidence_fact(claim: Claim, item: Evidence) -> fact_shapes.EvidenceFact:
    items = {
        "key": evidence_key(claim, item),
        "claimId": claim.id,
        "id": item.id,
        "sourceKey": source_key(claim.document, item.source_ref),
        "sourceRef": item.source_ref,
        "stance": item.stance,
        "role": item.role,
        "selector": None if item.selector is None else selector_json(item.selector),
        "observedAt": item.observed_at,
    }
    result: fact_shapes.EvidenceFact = _compact(items, "selector", "observedAt")
    return result
