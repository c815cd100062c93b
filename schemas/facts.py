"""The semantic fact set: what all claims of a bundle say, as one flat document."""

from __future__ import annotations

from typing import NotRequired

from openknowledge.schemas.claims import (
    Decision,
    Entity,
    EvidenceRole,
    ObjectValue,
    Predicate,
    Selector,
    ValidTime,
    Verification,
)
from openknowledge.schemas.common import Issue, Policy, Provenance, Revision
from typing_extensions import TypedDict


class Namespace(TypedDict):
    """A prefix and the IRI that it stands for."""

    prefix: str
    iri: str


class SourceFact(TypedDict):
    """A source of a page."""

    key: str
    document: str
    id: str
    resource: str
    title: NotRequired[str]
    author: NotRequired[str]
    observe: NotRequired[str]
    sha256: NotRequired[str]
    role: NotRequired[str]
    access: NotRequired[list[str]]
    authorityApprovedBy: NotRequired[str]


class ScopeItem(TypedDict):
    """A dimension in which a claim is limited, and its value."""

    key: str
    value: ObjectValue


class ClaimFact(TypedDict):
    """A claim occurrence and where it stands."""

    id: str
    slot: str
    subject: str
    predicate: str
    object: ObjectValue
    status: str
    trustTier: str
    owners: list[str]
    scope: list[ScopeItem]
    validTime: ValidTime
    stale: bool
    staleAfter: NotRequired[str]
    verification: NotRequired[Verification]
    decisions: NotRequired[list[Decision]]
    sectionRef: NotRequired[str]
    evidenceKeys: list[str]
    provenance: Provenance


class EvidenceFact(TypedDict):
    """A piece of evidence of a claim."""

    key: str
    claimId: str
    id: str
    sourceKey: str
    sourceRef: str
    stance: str
    role: str
    selector: NotRequired[Selector]
    observedAt: NotRequired[str]


class RelationFact(TypedDict):
    """What a claim states about another one."""

    sourceId: str
    kind: str
    targetId: str


class ReferenceFact(TypedDict):
    """A page that depends on a claim."""

    claimId: str
    document: str


class FactSet(TypedDict):
    """All claims of a bundle with what they rest on. Arrays are sorted, and empty rather than absent."""

    schemaVersion: str
    root: str
    revision: Revision
    valid: bool
    namespaces: list[Namespace]
    entities: list[Entity]
    predicates: list[Predicate]
    evidenceRoles: list[EvidenceRole]
    sources: list[SourceFact]
    claims: list[ClaimFact]
    evidence: list[EvidenceFact]
    relations: list[RelationFact]
    references: list[ReferenceFact]
    issues: NotRequired[list[Issue]]
    policy: NotRequired[Policy]
