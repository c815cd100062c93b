"""Changes to knowledge: what is taken from outside, checked strictly, and what comes back."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from openknowledge.engine import limits
from openknowledge.schemas.claims import Evidence, ObjectValue, Relations, ValidTime
from openknowledge.schemas.common import Policy, Revision
from openknowledge.schemas.mcp import (
    Arguments,
    EvidenceArguments,
    ObjectArguments,
    RelationArguments,
    Term,
    ValidTimeArguments,
)
from pydantic import Field
from typing_extensions import TypedDict

Status = Literal[
    "extracted", "proposed", "supported", "verified", "disputed", "rejected", "superseded", "archived"
]
Owner = Annotated[str, Field(min_length=1, max_length=limits.TERM_RUNES)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Path = Annotated[str, Field(min_length=1, max_length=4_096)]
Reason = Annotated[str, Field(min_length=1, max_length=limits.PROPOSAL_TEXT_RUNES)]
Confidence = Annotated[float, Field(gt=0, le=1)]


class EvidenceInput(EvidenceArguments):
    """One piece of evidence; stance and role have the defaults of the claim profile."""

    stance: Literal["supports", "opposes", "contextualizes"] = "supports"
    role: Annotated[str, Field(min_length=1, max_length=limits.TERM_RUNES)] = "primary"


class ClaimInput(Arguments):
    """A claim that is to be written. Its status becomes ``proposed``, whatever it is here."""

    id: Term
    slot: Term
    subject: Term
    predicate: Term
    object: ObjectArguments
    scope: dict[Term, ObjectArguments] = Field(default_factory=dict)
    evidence: Annotated[list[EvidenceInput], Field(min_length=1, max_length=limits.PROPOSED_EVIDENCE)]
    owners: Annotated[list[Owner], Field(max_length=100)] = Field(default_factory=list)
    status: Status = "proposed"
    valid_time: ValidTimeArguments | None = None
    stale_after: Annotated[str | None, Field(min_length=10, max_length=10)] = None
    relations: RelationArguments | None = None
    section_ref: Annotated[str | None, Field(min_length=2, max_length=limits.TERM_RUNES)] = None


class PatchInput(Arguments):
    """One operation of an RFC 6902 JSON Patch."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: str
    value: Any = None
    from_: Annotated[str | None, Field(alias="from")] = None


class ClaimProposalInput(Arguments):
    """A claim proposal as it comes from outside."""

    type: Literal["openknowledge.claim-proposal"]
    version: Literal[1]
    action: Literal["create"]
    document: Path
    document_sha256: Digest
    claim: ClaimInput
    reason: Reason
    confidence: Confidence
    patch: Annotated[list[PatchInput], Field(min_length=1, max_length=limits.PATCH_OPERATIONS)]


class EntityProposalInput(Arguments):
    """An entity proposal as it comes from outside."""

    type: Literal["openknowledge.entity-proposal"]
    version: Literal[1]
    action: Literal["add_alias", "merge"]
    document: Path
    document_sha256: Digest
    entity_id: Term
    alias: Annotated[str | None, Field(min_length=1, max_length=limits.TERM_RUNES)] = None
    merge_from: Term | None = None
    merge_document: Path | None = None
    merge_document_sha256: Digest | None = None
    reason: Reason
    confidence: Confidence


class ProposedClaim(TypedDict):
    """The claim of a proposal."""

    id: str
    slot: str
    subject: str
    predicate: str
    object: ObjectValue
    scope: NotRequired[dict[str, ObjectValue]]
    evidence: list[Evidence]
    owners: NotRequired[list[str]]
    status: str
    validTime: NotRequired[ValidTime]
    staleAfter: NotRequired[str]
    relations: NotRequired[Relations]
    sectionRef: NotRequired[str]


PatchOperation = TypedDict(
    "PatchOperation",
    {"op": str, "path": str, "value": NotRequired[Any], "from": NotRequired[str]},
)
"""One operation of an RFC 6902 JSON Patch on the frontmatter."""


class ClaimProposal(TypedDict):
    """A claim that somebody wants to add to a page, bound to the page's bytes."""

    type: str
    version: int
    action: str
    document: str
    documentSha256: str
    claim: ProposedClaim
    reason: str
    confidence: float
    patch: list[PatchOperation]


class Recovered(TypedDict):
    """What was done about a change that an earlier run left unfinished."""

    id: str
    action: str
    paths: list[str]
    conflicts: list[str]


class Mutation(TypedDict):
    """What an operation did. ``diff`` is there when it was only tried."""

    schemaVersion: str
    action: str
    root: str
    claimId: NotRequired[str]
    sourceId: NotRequired[str]
    document: str
    changed: bool
    dryRun: NotRequired[bool]
    diff: NotRequired[str]
    recovered: NotRequired[list[Recovered]]


class EntityProposal(TypedDict):
    """A label to add to an entity, or an entity to merge into another one."""

    type: str
    version: int
    action: str
    document: str
    documentSha256: str
    entityId: str
    alias: NotRequired[str]
    mergeFrom: NotRequired[str]
    mergeDocument: NotRequired[str]
    mergeDocumentSha256: NotRequired[str]
    reason: str
    confidence: float


class EntityReference(TypedDict):
    """A place in a claim that names an entity."""

    claimId: str
    document: str
    field: str


class EntityReplacement(TypedDict):
    """A deprecated entity that names another one as its replacement."""

    entityId: str
    document: str


class EntityImpact(TypedDict):
    """What an entity proposal touches."""

    action: str
    entityId: str
    mergeFrom: NotRequired[str]
    documents: list[str]
    references: list[EntityReference]
    replacements: NotRequired[list[EntityReplacement]]


class EntityMutation(TypedDict):
    """What applying an entity proposal did."""

    schemaVersion: str
    root: str
    action: str
    entityId: str
    mergeFrom: NotRequired[str]
    approvedBy: str
    changed: bool
    impact: EntityImpact
    dryRun: NotRequired[bool]
    diff: NotRequired[str]
    recovered: NotRequired[list[Recovered]]


class Receipt(TypedDict):
    """What was captured, from where, when and for which source."""

    type: str
    version: int
    id: str
    sha256: str
    bytes: int
    mediaType: str
    artifact: str
    originalResource: str
    finalResource: NotRequired[str]
    capturedAt: str
    document: str
    sourceId: str
    sourceType: NotRequired[str]
    author: NotRequired[str]
    publisher: NotRequired[str]
    license: NotRequired[str]
    access: NotRequired[list[str]]


class PinResult(TypedDict):
    """A source that was pinned; ``capture`` is the receipt at the path ``receipt``."""

    schemaVersion: str
    root: str
    document: str
    sourceId: str
    artifact: str
    sha256: str
    bytes: int
    mediaType: str
    receipt: str
    changed: bool
    capture: Receipt
    recovered: NotRequired[list[Recovered]]


class QuotedEvidence(TypedDict):
    """Evidence with the words of the artifact around it."""

    id: str
    sourceRef: str
    stance: str
    role: str
    resource: NotRequired[str]
    title: NotRequired[str]
    artifact: NotRequired[str]
    line: NotRequired[int]
    before: NotRequired[str]
    quote: NotRequired[str]
    after: NotRequired[str]
    problem: NotRequired[str]


class ReviewedClaim(TypedDict):
    """Another claim that a proposal meets, in words."""

    id: str
    path: str
    status: str
    trustTier: str
    words: str


class ReviewedRelation(ReviewedClaim):
    """A claim that the proposal supersedes, contradicts or derives from, and what depends on that claim."""

    kind: str
    dependents: list[str]
    derivedClaims: list[str]


class ReviewedConflict(TypedDict):
    """Claims that cannot all hold once the proposal is applied."""

    maximumCount: int
    objectCount: int
    claims: list[ReviewedClaim]


class Review(TypedDict):
    """What somebody needs to know to accept or refuse one proposal."""

    source: str
    document: str
    title: str
    claimId: str
    words: str
    claim: ProposedClaim
    reason: str
    confidence: float
    applies: bool
    problems: list[str]
    evidence: list[QuotedEvidence]
    sectionText: NotRequired[str]
    conflicts: list[ReviewedConflict]
    duplicates: list[ReviewedClaim]
    sameQuestion: list[ReviewedClaim]
    relations: list[ReviewedRelation]
    becomesStale: list[str]
    dependents: list[str]
    evals: list[str]
    diff: str


class ReviewResult(TypedDict):
    """Reviews of several proposals against one revision of a bundle."""

    schemaVersion: str
    root: str
    revision: Revision
    evaluatedAt: str
    reviews: list[Review]
    policy: Policy
