"""Claims as commands and the server show them."""

from __future__ import annotations

from typing import NotRequired

from openknowledge.schemas.common import Issue, Policy, Provenance, Quarantined, Revision
from openknowledge.schemas.datalog import ProofStep
from typing_extensions import TypedDict

Scalar = str | int | float | bool


class ObjectValue(TypedDict):
    """The object of a claim, or the value of a scope dimension: a ref or a value."""

    ref: NotRequired[str]
    value: NotRequired[Scalar]
    datatype: NotRequired[str]
    language: NotRequired[str]
    unit: NotRequired[str]
    quantityKind: NotRequired[str]


class Selector(TypedDict):
    """Which part of an artifact is the evidence."""

    type: str
    exact: NotRequired[str]
    prefix: NotRequired[str]
    suffix: NotRequired[str]
    value: NotRequired[str]
    start: NotRequired[int]
    end: NotRequired[int]
    page: NotRequired[int]
    conformsTo: NotRequired[str]


class Evidence(TypedDict):
    """One item of evidence."""

    id: str
    sourceRef: str
    stance: str
    role: str
    selector: NotRequired[Selector]
    observedAt: NotRequired[str]


class EvidenceVersion(TypedDict):
    """What a piece of evidence was when somebody looked at it."""

    evidenceRef: str
    sourceRef: str
    resource: str
    sha256: str
    by: str
    at: str


class Verification(TypedDict):
    """Who confirmed a claim, how and when."""

    method: str
    by: str
    at: str
    evidenceRefs: NotRequired[list[str]]
    evidenceVersions: NotRequired[list[EvidenceVersion]]


class Decision(TypedDict):
    """Who ended a claim, when and why."""

    action: str
    by: str
    at: str
    reason: NotRequired[str]


ValidTime = TypedDict("ValidTime", {"from": NotRequired[str], "until": NotRequired[str]})
"""When a claim holds, half-open; a missing end is open."""


class Relations(TypedDict):
    """What a claim states about other claims."""

    supersedes: NotRequired[list[str]]
    contradicts: NotRequired[list[str]]
    derivedFrom: NotRequired[list[str]]


class Claim(TypedDict):
    """One claim occurrence."""

    id: str
    slot: str
    subject: str
    predicate: str
    object: ObjectValue
    scope: NotRequired[dict[str, ObjectValue]]
    evidence: list[Evidence]
    owners: list[str]
    status: str
    trustTier: str
    validTime: ValidTime
    stale: bool
    staleEvidence: NotRequired[list[str]]
    staleAfter: NotRequired[str]
    verification: NotRequired[Verification]
    verificationOutdated: NotRequired[bool]
    decisions: NotRequired[list[Decision]]
    relations: Relations
    sectionRef: NotRequired[str]
    declaringPath: NotRequired[str]


class Entity(TypedDict):
    """Something that claims can be about."""

    id: str
    types: list[str]
    prefLabel: NotRequired[str]
    altLabels: list[str]
    deprecated: NotRequired[bool]
    replacedBy: NotRequired[str]


class Predicate(TypedDict):
    """What can be said of an entity, and how."""

    id: str
    subjectTypes: list[str]
    objectKind: NotRequired[str]
    datatype: NotRequired[str]
    quantityKind: NotRequired[str]
    canonicalUnit: NotRequired[str]
    requiredScope: list[str]
    maximumCount: NotRequired[int]
    prefLabel: NotRequired[str]


class EvidenceRole(TypedDict):
    """A declared role of evidence."""

    id: str
    prefLabel: NotRequired[str]


class Ontology(TypedDict):
    """What one page declares."""

    namespaces: NotRequired[dict[str, str]]
    entities: NotRequired[list[Entity]]
    predicates: NotRequired[list[Predicate]]
    evidenceRoles: NotRequired[list[EvidenceRole]]


class ClaimProfile(TypedDict):
    """The claims of one page."""

    profile: str
    ontology: NotRequired[Ontology]
    claims: list[Claim]
    claimRefs: list[str]


class ClaimSource(TypedDict):
    """A source that a claim's evidence cites."""

    id: str
    resource: str
    liveResource: NotRequired[str]
    observe: NotRequired[str]
    sha256: NotRequired[str]
    role: NotRequired[str]
    authorityApprovedBy: NotRequired[str]


class Occurrence(TypedDict):
    """A claim with the page on which it stands and the sources that it cites."""

    path: str
    title: NotRequired[str]
    claim: Claim
    sources: list[ClaimSource]


class ScoredOccurrence(Occurrence):
    """An occurrence found by a query, and why."""

    score: int
    reasons: list[str]


class FindResult(TypedDict):
    """The claims that a query finds, best first."""

    schemaVersion: str
    root: str
    revision: Revision
    query: str
    results: list[ScoredOccurrence]
    truncated: bool
    policy: Policy


class SlotEntry(TypedDict):
    """One answer to the question of a slot, among all that were ever given."""

    id: str
    path: str
    object: ObjectValue
    status: str
    validTime: ValidTime
    active: bool
    stale: bool


class RelatedClaim(TypedDict):
    """A claim at the other end of a relation; ``present`` is false for one in quarantine."""

    kind: str
    id: str
    present: bool


class OutdatedVerification(TypedDict):
    """Why a verification no longer covers what it was about, and the fact that proves it."""

    reason: str
    verifiedAt: str
    changedAt: str
    atom: str
    proof: NotRequired[ProofStep]
    unproved: NotRequired[str]


class ShowResult(TypedDict):
    """Everything about one claim."""

    schemaVersion: str
    root: str
    revision: Revision
    evaluatedAt: str
    occurrence: Occurrence
    active: bool
    provenance: Provenance
    line: int
    slot: list[SlotEntry]
    relations: list[RelatedClaim]
    relatedFrom: list[RelatedClaim]
    references: list[str]
    staleReasons: list[StaleReason]
    verificationOutdated: list[OutdatedVerification]
    policy: Policy


class StaleReason(TypedDict):
    """One reason why a claim is stale, since when, and the fact that proves it."""

    reason: str
    evidence: NotRequired[str]
    since: str
    recordedSha256: NotRequired[str]
    currentSha256: NotRequired[str]
    resource: NotRequired[str]
    atom: str
    proof: NotRequired[ProofStep]
    unproved: NotRequired[str]


class StaleOccurrence(Occurrence):
    """A stale claim with every reason."""

    reasons: list[StaleReason]


class UpcomingOccurrence(Occurrence):
    """A claim that is fresh and will be stale by its date."""

    staleFrom: str
    atom: str
    proof: NotRequired[ProofStep]
    unproved: NotRequired[str]


class StaleResult(TypedDict):
    """The claims that are stale at an instant, and those that will be."""

    schemaVersion: str
    root: str
    revision: Revision
    evaluatedAt: str
    within: NotRequired[int]
    results: list[StaleOccurrence]
    upcoming: list[UpcomingOccurrence]
    outdatedVerifications: list[OutdatedClaim]
    policy: Policy


class OutdatedClaim(TypedDict):
    """A verified claim whose page or section was written again after the verification."""

    claimId: str
    path: str
    trustTier: str
    reason: str
    verifiedAt: str
    changedAt: str
    atom: str
    proof: NotRequired[ProofStep]
    unproved: NotRequired[str]


class Conflict(TypedDict):
    """Active claims that answer one question with more different objects than may hold at once."""

    key: list[str]
    slot: str
    subject: str
    predicate: str
    scope: dict[str, ObjectValue]
    maximumCount: int
    objectCount: int
    occurrences: list[Occurrence]
    dependents: list[str]
    atom: str
    proof: NotRequired[ProofStep]
    unproved: NotRequired[str]


class Duplicate(TypedDict):
    """Claims that say the same of the same, for the same time and from the same sources."""

    key: list[str]
    occurrences: list[Occurrence]
    atoms: list[str]
    proofs: NotRequired[list[ProofStep]]


class ConflictResult(TypedDict):
    """What cannot all hold, and what is said more than once."""

    schemaVersion: str
    root: str
    revision: Revision
    evaluatedAt: str
    conflicts: list[Conflict]
    duplicates: list[Duplicate]
    policy: Policy


class DerivedClaim(TypedDict):
    """A claim that was derived from another one; ``via`` are the claims from that one to this."""

    id: str
    path: str
    via: list[str]
    atom: str
    proof: NotRequired[ProofStep]
    unproved: NotRequired[str]


class AffectedDocument(TypedDict):
    """A page that depends on a claim, how, and the fact that proves it."""

    document: str
    kind: str
    via: list[str]
    atom: str
    proof: NotRequired[ProofStep]
    unproved: NotRequired[str]


class EvalCase(TypedDict):
    """A case of an evaluation dataset that expects a page with the claim."""

    dataset: str
    caseId: str
    question: str
    agents: list[str]
    paths: list[str]


class ImpactResult(TypedDict):
    """What depends on a claim."""

    schemaVersion: str
    root: str
    revision: Revision
    evaluatedAt: str
    claimId: str
    occurrences: list[Occurrence]
    dependents: list[str]
    linkedDocuments: list[str]
    sharedSourceDocuments: list[str]
    derivedClaims: list[DerivedClaim]
    affected: list[AffectedDocument]
    documents: list[str]
    sources: list[ClaimSource]
    evals: list[EvalCase]
    policy: Policy


class Suggestion(TypedDict):
    """A section that no claim is bound to yet."""

    document: str
    sectionRef: str
    heading: str
    excerpt: str
    suggestedOccurrenceId: str
    sourceIds: list[str]
    reuseSlots: list[str]
    status: str


class SuggestResult(TypedDict):
    """The sections of a page for which a claim could be written."""

    schemaVersion: str
    root: str
    revision: Revision
    results: list[Suggestion]
    policy: Policy


class FoundEntity(TypedDict):
    """An entity that a query finds, why, and which claims use it."""

    score: int
    reasons: list[str]
    entity: Entity
    referencedBy: list[str]


class EntityResult(TypedDict):
    """The entities that a query finds, best first."""

    schemaVersion: str
    root: str
    revision: Revision
    query: str
    results: list[FoundEntity]
    policy: Policy


class DanglingRelation(TypedDict):
    """A relation or reference that leads to a claim in quarantine."""

    source: str
    kind: str
    target: str


class AuthorityChange(TypedDict):
    """A source that became authoritative since the base."""

    path: str
    sourceId: str
    resource: str
    approvedBy: NotRequired[str]


class ClaimValidation(TypedDict):
    """What is wrong with the claims of a bundle, and with how they changed since a base."""

    schemaVersion: str
    root: str
    against: NotRequired[str]
    valid: bool
    issues: list[Issue]
    lifecycleIssues: list[Issue]
    authorityChanges: list[AuthorityChange]
    outdatedVerifications: list[OutdatedClaim]
    quarantined: list[Quarantined]
    dangling: list[DanglingRelation]
