"""The arguments that the tools of the MCP server take, and the shapes of what they give back.

Arguments come from a client and are validated strictly: no unknown names, no conversions between types. The
input schemas that the server publishes are generated from these models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from openknowledge.engine import limits
from openknowledge.schemas.claims import ImpactResult, ScoredOccurrence, StaleOccurrence
from openknowledge.schemas.common import Issue, Policy, Revision
from openknowledge.schemas.hybrid import HybridAnswer
from openknowledge.schemas.search import ContextResult
from openknowledge.schemas.validation import ValidationReport
from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

DEFAULT_BUDGET = 2_400
DEFAULT_LIMIT = 12
PROFILES = ("openknowledge.safe/v1", "openknowledge.closed-world/v1")


def _schema_minimum_of_one(schema: dict[str, Any]) -> None:
    # 0 is accepted as "the default"; a client that asks the schema is told to leave the field out
    schema["minimum"] = 1


class Arguments(BaseModel):
    """What every set of arguments has in common: strict types, and no names but the given ones."""

    model_config = ConfigDict(
        extra="forbid", strict=True, alias_generator=to_camel, allow_inf_nan=False, hide_input_in_errors=True
    )


class NoArguments(Arguments):
    """No arguments."""


class Filters(Arguments):
    """Restricts pages to one of the types and one of the tags; each list may be left out."""

    types: Annotated[
        list[str],
        Field(
            max_length=limits.FILTER_VALUES,
            description="Page types to keep, such as Guide or Policy; any of them.",
        ),
    ] = []
    tags: Annotated[
        list[str], Field(max_length=limits.FILTER_VALUES, description="Tags to keep; any of them.")
    ] = []


Limit = Annotated[
    int,
    Field(
        ge=0,
        le=limits.SEARCH_RESULTS,
        description="Results at most.",
        json_schema_extra=_schema_minimum_of_one,
    ),
]


class SearchArguments(Arguments):
    """Arguments of ``openknowledge_search``."""

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=limits.TEXT_QUERY_RUNES,
            description="What you want to know, in words; the terms that the pages would use work best.",
        ),
    ]
    budget: Annotated[
        int,
        Field(
            ge=0,
            le=limits.SEARCH_BUDGET,
            description="Size of the packet of text in estimated tokens.",
            json_schema_extra=_schema_minimum_of_one,
        ),
    ] = DEFAULT_BUDGET
    limit: Limit = DEFAULT_LIMIT
    no_expand: Annotated[
        bool,
        Field(description="Take only sections that match; do not follow links and headings from them."),
    ] = False
    filters: Annotated[Filters, Field(description="Restricts pages by type and tag.")] = Filters()


class DatalogArguments(Arguments):
    """A question in Datalog."""

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=limits.DATALOG_QUERY_BYTES,
            description='One atom, such as stale(Claim,"true"); capitalised names are variables.',
        ),
    ]
    rules: Annotated[
        str,
        Field(
            max_length=limits.RULE_BYTES,
            description='Rules of your own, such as late(C,O) :- stale(C,"true"), owner(C,O). '
            "They may use every base relation and the heads of the built-in rules.",
        ),
    ] = ""
    rule_profile: Annotated[
        str,
        Field(
            description="closed-world allows negation (!atom) in rules; safe is the default.",
            json_schema_extra={"enum": list(PROFILES)},
        ),
    ] = ""


def _any_route(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"required": [name]} for name in ("text", "sparql", "datalog")]


class QueryArguments(Arguments):
    """Arguments of ``openknowledge_query``."""

    model_config = ConfigDict(json_schema_extra=_any_route)

    text: Annotated[
        str,
        Field(max_length=limits.TEXT_QUERY_RUNES, description="Words to rank sections by, as in a search."),
    ] = ""
    sparql: Annotated[
        str,
        Field(
            max_length=limits.QUERY_BYTES,
            description="A SPARQL 1.1 SELECT query over the bundle's graph. The usual prefixes (okn, "
            "dcterms, prov, rdf, rdfs, schema, skos, xsd) need no declaration.",
        ),
    ] = ""
    datalog: Annotated[
        DatalogArguments | None, Field(description="A question in Datalog; answers carry their proof.")
    ] = None
    limit: Limit = DEFAULT_LIMIT


class ClaimsFindArguments(Arguments):
    """Arguments of ``openknowledge_claims_find``."""

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=limits.TEXT_QUERY_RUNES,
            description="A claim id or a part of one, or words of its subject, predicate, object or scope.",
        ),
    ]


class ClaimsImpactArguments(Arguments):
    """Arguments of ``openknowledge_claims_impact``."""

    claim_id: Annotated[
        str,
        Field(
            min_length=3,
            max_length=limits.CLAIM_ID_BYTES,
            description="The id, as openknowledge_claims_find gives it.",
        ),
    ]


Term = Annotated[
    str,
    Field(
        min_length=3,
        max_length=limits.TERM_RUNES,
        description="An absolute IRI, or prefix:name with a prefix that the bundle declares.",
    ),
]


class ObjectArguments(Arguments):
    """What a claim says of its subject: a reference or a value, never both."""

    ref: Term | None = None
    value: Annotated[str | bool | int | float | None, Field(description="A text, number or truth value.")] = (
        None
    )
    datatype: Term | None = None
    language: Annotated[str | None, Field(min_length=1, max_length=64)] = None
    unit: Term | None = None
    quantity_kind: Term | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> ObjectArguments:
        if (self.ref is None) == (self.value is None):
            raise ValueError("give exactly one of ref and value")
        return self


_SELECTOR_NEEDS: dict[str, tuple[str, ...]] = {
    "text_quote": ("exact",),
    "text_position": ("start", "end"),
    "data_position": ("start", "end"),
    "fragment": ("value",),
    "page": ("page",),
    "media_fragment": ("value",),
}


def _needs_by_type(schema: dict[str, Any]) -> None:
    schema["allOf"] = [
        {
            "if": {"properties": {"type": {"const": kind}}, "required": ["type"]},
            "then": {"required": list(names)},
        }
        for kind, names in _SELECTOR_NEEDS.items()
    ]


class SelectorArguments(Arguments):
    """Where in a source the evidence stands."""

    model_config = ConfigDict(json_schema_extra=_needs_by_type)

    type: Literal["text_quote", "text_position", "data_position", "fragment", "page", "media_fragment"]
    exact: Annotated[str | None, Field(min_length=1, description="The quoted text, exactly.")] = None
    prefix: Annotated[str | None, Field(description="The text directly before the quote.")] = None
    suffix: Annotated[str | None, Field(description="The text directly after the quote.")] = None
    value: Annotated[str | None, Field(min_length=1, description="A heading's anchor or an explicit id.")] = (
        None
    )
    start: Annotated[int | None, Field(ge=0)] = None
    end: Annotated[int | None, Field(ge=0)] = None
    page: Annotated[int | None, Field(ge=1)] = None
    conforms_to: Term | None = None

    @model_validator(mode="after")
    def _complete(self) -> SelectorArguments:
        missing = [name for name in _SELECTOR_NEEDS[self.type] if getattr(self, name) is None]
        if missing:
            raise ValueError(f"a selector of type {self.type} needs {' and '.join(missing)}")
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise ValueError("start must be before end")
        return self


class EvidenceArguments(Arguments):
    """One piece of evidence: which source of the page says it, and where."""

    id: Annotated[str, Field(min_length=1, max_length=limits.TERM_RUNES)]
    source_ref: Annotated[
        str,
        Field(min_length=1, max_length=limits.TERM_RUNES, description="The id of a source of the same page."),
    ]
    stance: Literal["supports", "opposes", "contextualizes"]
    role: Annotated[
        str,
        Field(
            min_length=1,
            max_length=limits.TERM_RUNES,
            description="primary, secondary, corroborating, method, or a role that the bundle declares.",
        ),
    ]
    selector: SelectorArguments | None = None
    observed_at: Annotated[str | None, Field(min_length=1, max_length=64)] = None


class ValidTimeArguments(Arguments):
    """When the claim holds: from, inclusive, until, exclusive. Dates or RFC 3339."""

    from_: Annotated[str | None, Field(alias="from", min_length=1, max_length=64)] = None
    until: Annotated[str | None, Field(min_length=1, max_length=64)] = None


class RelationArguments(Arguments):
    """Other claims that this one replaces, contradicts or was derived from."""

    supersedes: list[Term] = []
    contradicts: list[Term] = []
    derived_from: list[Term] = []


class ClaimArguments(Arguments):
    """A claim as an agent proposes it."""

    id: Term
    slot: Term
    subject: Term
    predicate: Term
    object: ObjectArguments
    scope: Annotated[
        dict[Term, ObjectArguments], Field(description="The dimensions within which the claim holds.")
    ] = {}
    evidence: Annotated[list[EvidenceArguments], Field(min_length=1, max_length=limits.PROPOSED_EVIDENCE)]
    status: Literal["proposed"] = "proposed"
    valid_time: ValidTimeArguments | None = None
    stale_after: Annotated[str | None, Field(description="YYYY-MM-DD", min_length=10, max_length=10)] = None
    relations: RelationArguments | None = None
    section_ref: Annotated[
        str | None, Field(min_length=2, max_length=limits.TERM_RUNES, description="# and an id on the page.")
    ] = None


class ClaimsProposeArguments(Arguments):
    """Arguments of ``openknowledge_claims_propose``."""

    document: Annotated[
        str,
        Field(
            min_length=1,
            max_length=limits.PROPOSAL_TEXT_RUNES,
            description="The page that would hold the claim, by path.",
        ),
    ]
    claim: ClaimArguments
    reason: Annotated[
        str,
        Field(
            min_length=1,
            max_length=limits.PROPOSAL_TEXT_RUNES,
            description="Why the claim should be accepted, for a reviewer.",
        ),
    ]
    confidence: Annotated[
        float,
        Field(gt=0, le=1, description="How sure you are that the source was read correctly; not its truth."),
    ]


class Cut(TypedDict):
    """A list that was shortened so that the reply has a size that an agent can use."""

    field: str
    shown: int
    total: int


class Truncation(TypedDict):
    """What was left out of a reply, and how to get it."""

    lists: list[Cut]
    rest: str


class SearchReply(ContextResult):
    """A packet of sections. ``issues`` are those of the cited pages, ``issuesTotal`` is their number."""

    issuesTotal: int  # noqa: N815 - a TypedDict through its base
    truncation: NotRequired[Truncation]


class ValidateReply(ValidationReport):
    """The validation report. The numbers in ``summary`` are of all issues, also when the lists are cut."""

    revision: Revision
    truncation: NotRequired[Truncation]


class QueryReply(HybridAnswer):
    """Ranked answers of all routes, each with its sources and, for rules, its proof."""

    truncation: NotRequired[Truncation]


class ClaimsFindReply(TypedDict):
    """The claims that match, best first."""

    schemaVersion: str
    query: str
    root: str
    revision: Revision
    matches: list[ScoredOccurrence]
    issues: list[Issue]
    issuesTotal: int
    policy: NotRequired[Policy]
    truncation: NotRequired[Truncation]


class ClaimsStaleReply(TypedDict):
    """The claims that need another look, with what made them stale."""

    schemaVersion: str
    root: str
    revision: Revision
    claims: list[StaleOccurrence]
    issues: list[Issue]
    issuesTotal: int
    policy: NotRequired[Policy]
    truncation: NotRequired[Truncation]


class ClaimsImpactReply(TypedDict):
    """What depends on a claim."""

    schemaVersion: str
    root: str
    revision: Revision
    impact: ImpactResult
    truncation: NotRequired[Truncation]


class ProposalReply(TypedDict):
    """A proposal, complete: what ``okn claims apply`` takes. Nothing was written."""

    type: str
    version: int
    action: str
    document: str
    documentSha256: str
    claim: dict[str, JsonValue]
    reason: str
    confidence: float
    patch: list[dict[str, JsonValue]]
