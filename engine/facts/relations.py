"""The relation table: every base relation, declared once with its columns and the RDF it renders to.

Datalog relations, the RDF graph and ``docs/vocabulary.md`` all come from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ColumnKind = Literal[
    "document", "section", "claim", "actor", "term", "resource", "text", "boolean", "number", "time"
]
"""What a column holds, and with that which RDF term its values become.

``document``, ``section``, ``claim`` and ``actor`` name things with an IRI; ``term`` is an IRI or CURIE;
``resource`` is an IRI if it is an absolute one, else a string; the rest are literals.
"""


@dataclass(frozen=True, slots=True)
class Column:
    """One argument of a relation."""

    name: str
    kind: ColumnKind


@dataclass(frozen=True, slots=True)
class Pattern:
    """A triple that each fact of a relation renders to.

    ``subject`` and ``object`` name columns. An object ``<curie>`` is a constant, and ``=column`` is the
    column's value as a string. With ``optional``, an object that is the empty string gives no triple.
    """

    subject: str
    predicate: str
    object: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """One base relation. ``about`` is the sentence that a fact of it states."""

    name: str
    columns: tuple[Column, ...]
    about: str
    rdf: tuple[Pattern, ...] = ()
    group: Literal["documents", "claims", "derived"] = "documents"

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return len(self.columns)

    @property
    def signature(self) -> str:
        """The relation as it is written in rules, with its column names."""
        return f"{self.name}({', '.join(column.name for column in self.columns)})"


def _columns(text: str) -> tuple[Column, ...]:
    parts = [part.strip().partition(":") for part in text.split(",")]
    return tuple(Column(name, kind.strip() or "text") for name, _, kind in parts)  # type: ignore[arg-type]


def _relation(name: str, columns: str, about: str, *rdf: Pattern) -> Relation:
    return Relation(name, _columns(columns), about, rdf)


def _claim_relation(name: str, columns: str, about: str, *rdf: Pattern) -> Relation:
    return Relation(name, _columns(columns), about, rdf, "claims")


DOCUMENT_RELATIONS: tuple[Relation, ...] = (
    _relation(
        "document",
        "document: document, path, type",
        'a page with its bundle-relative path and its type (`""` for index and log pages)',
        Pattern("document", "rdf:type", "<okn:Document>"),
        Pattern("document", "okn:documentId", "=document"),
        Pattern("document", "okn:path", "path"),
        Pattern("document", "dcterms:type", "type", optional=True),
    ),
    _relation(
        "document_title",
        "document: document, title",
        "the title of a page",
        Pattern("document", "dcterms:title", "title"),
    ),
    _relation(
        "document_description",
        "document: document, description",
        "the description in a page's frontmatter",
        Pattern("document", "dcterms:description", "description"),
    ),
    _relation(
        "document_resource",
        "document: document, resource: resource",
        "the asset that a page describes",
        Pattern("document", "schema:about", "resource"),
    ),
    _relation(
        "document_status",
        "document: document, status",
        "the lifecycle status of a page: draft, stable or deprecated",
        Pattern("document", "okn:status", "status"),
    ),
    _relation(
        "document_trust",
        "document: document, tier",
        "the trust tier of a page: unverified, machine-confirmed or human-reviewed",
        Pattern("document", "okn:trustTier", "tier"),
    ),
    _relation(
        "document_stale",
        "document: document, stale: boolean",
        'whether a page has passed its stale_after, `"true"` or `"false"`',
        Pattern("document", "okn:stale", "stale"),
    ),
    _relation(
        "document_stale_after",
        "document: document, time: time",
        "the instant from which a page is stale",
        Pattern("document", "okn:staleAfter", "time"),
    ),
    _relation(
        "document_generated",
        "document: document, actor, time: time",
        'who or what wrote the page\'s text, and when (`""` when not stated)',
        Pattern("document", "prov:wasAttributedTo", "actor"),
        Pattern("document", "prov:generatedAtTime", "time", optional=True),
    ),
    _relation(
        "document_verified",
        "document: document, actor, time: time",
        'who or what checked the page, and when (`""` when not stated)',
        Pattern("document", "okn:verifiedBy", "actor"),
        Pattern("document", "okn:verifiedAt", "time", optional=True),
    ),
    _relation(
        "tag",
        "document: document, tag",
        "a tag of a page",
        Pattern("document", "schema:keywords", "tag"),
    ),
    _relation(
        "document_source",
        "document: document, source, resource: resource",
        'a source of a page: its id (`""` when it has none) and its resource',
        Pattern("document", "dcterms:source", "resource"),
    ),
    _relation(
        "source_document",
        "document: document, source, target: document",
        "a source of a page that is itself a page of the bundle",
        Pattern("document", "prov:wasDerivedFrom", "target"),
    ),
    _relation(
        "section",
        "section: section, document: document, heading, locator",
        "a section of a page, with the locator that names its exact text",
        Pattern("section", "rdf:type", "<okn:Section>"),
        Pattern("section", "okn:sectionId", "=section"),
        Pattern("section", "dcterms:isPartOf", "document"),
        Pattern("section", "dcterms:title", "heading"),
        Pattern("section", "okn:locator", "locator"),
    ),
    _relation(
        "subsection",
        "section: section, parent: section",
        "a section that stands below another one's heading",
        Pattern("section", "dcterms:isPartOf", "parent"),
    ),
    _relation(
        "anchor",
        "section: section, anchor",
        "a name by which links reach a section: its slug, explicit ids, slugs of its lower headings",
        Pattern("section", "okn:anchor", "anchor"),
    ),
    _relation(
        "link",
        "section: section, target: document, anchor",
        'a link from a section to a page (or to a path where no page is), with the anchor or `""`',
        Pattern("section", "dcterms:references", "target"),
    ),
    _relation(
        "document_link",
        "document: document, target: document",
        "a link from a page to a page (or to a path where no page is)",
        Pattern("document", "dcterms:references", "target"),
    ),
    _relation(
        "section_link",
        "section: section, target: section",
        "a link from a section to the section that holds the link's anchor",
        Pattern("section", "schema:mentions", "target"),
    ),
    _relation(
        "asset",
        "path",
        "a file of the bundle that is not a page",
    ),
)

CLAIM_RELATIONS: tuple[Relation, ...] = (
    _claim_relation(
        "claim",
        "claim: claim, subject: term, predicate: term, object",
        "a typed claim: subject, predicate and object value",
        Pattern("claim", "rdf:type", "<okn:ClaimOccurrence>"),
        Pattern("claim", "rdf:subject", "subject"),
        Pattern("claim", "rdf:predicate", "predicate"),
        Pattern("claim", "rdf:object", "object"),
    ),
    _claim_relation(
        "status",
        "claim: claim, status",
        "the lifecycle status of a claim",
        Pattern("claim", "okn:status", "status"),
    ),
    _claim_relation(
        "trust",
        "claim: claim, tier",
        "the trust tier of a claim: unverified, machine-confirmed or human-reviewed",
        Pattern("claim", "okn:trustTier", "tier"),
    ),
    _claim_relation(
        "stale",
        "claim: claim, stale: boolean",
        'whether a claim is stale, by date or by evidence: `"true"` or `"false"`',
        Pattern("claim", "okn:stale", "stale"),
    ),
    _claim_relation(
        "valid_time",
        "claim: claim, from: time, until: time",
        'when a claim holds: from the first instant until before the second (`""` when open)',
        Pattern("claim", "okn:validFrom", "from", optional=True),
        Pattern("claim", "okn:validUntil", "until", optional=True),
    ),
    _claim_relation(
        "source",
        "claim: claim, document, locator",
        "the path of the page on which a claim stands, and the locator of its place",
        Pattern("claim", "prov:wasDerivedFrom", "document"),
    ),
    _claim_relation(
        "scope",
        "claim: claim, dimension: term, value",
        "a dimension in which a claim is limited",
        Pattern("claim", "okn:scope", "dimension"),
    ),
    _claim_relation(
        "object_metadata",
        "claim: claim, datatype: term, language, unit: term, quantity_kind: term",
        'what the object value is (`""` for what is not stated)',
        Pattern("claim", "okn:objectDatatype", "datatype", optional=True),
        Pattern("claim", "okn:objectLanguage", "language", optional=True),
        Pattern("claim", "qudt:unit", "unit", optional=True),
        Pattern("claim", "qudt:hasQuantityKind", "quantity_kind", optional=True),
    ),
    _claim_relation(
        "evidence",
        "claim: claim, evidence, stance",
        "a piece of evidence and its stance: supports, opposes or contextualizes",
        Pattern("claim", "okn:evidence", "evidence"),
    ),
    _claim_relation(
        "relation",
        "claim: claim, kind, target: claim",
        "what a claim states about another: supersedes, contradicts or derived_from",
    ),
    _claim_relation(
        "claim_in",
        "claim: claim, document: document, section: section",
        'the page and section a claim is bound to (`""` when it is about the whole page)',
    ),
    _claim_relation(
        "claim_ref",
        "document: document, claim: claim",
        "a page that depends on a claim",
        Pattern("document", "okn:referencesClaim", "claim"),
    ),
    _claim_relation(
        "slot", "claim: claim, slot: term", "the slot of a claim", Pattern("claim", "okn:slot", "slot")
    ),
    _claim_relation(
        "owner", "claim: claim, owner", "an owner of a claim", Pattern("claim", "okn:owner", "owner")
    ),
    _claim_relation(
        "evidence_source",
        "claim: claim, evidence, document: document, source",
        "the source, declared on a page, that a piece of evidence cites",
    ),
    _claim_relation("verified_by", "claim: claim, actor, time: time", "who verified a claim, and when"),
    _claim_relation(
        "entity",
        "entity: term, type: term",
        "an entity and one of its types",
        Pattern("entity", "rdf:type", "type"),
    ),
    _claim_relation(
        "entity_label",
        "entity: term, label, kind",
        'a label of an entity, `"preferred"` or `"alternate"`',
    ),
    _claim_relation(
        "predicate",
        "predicate: term, object_kind",
        "a declared predicate: literal, entity or quantity",
        Pattern("predicate", "okn:objectKind", "object_kind"),
    ),
    _claim_relation(
        "maximum_count",
        "predicate: term, count: number",
        "how many values of a predicate may hold at once",
        Pattern("predicate", "okn:maximumCount", "count"),
    ),
    _claim_relation(
        "claim_number",
        "claim: claim, number: number, unit: term",
        'the object of a claim as a number, with its unit (`""` when none)',
    ),
)


def _derived(name: str, columns: str, about: str, *rdf: Pattern) -> Relation:
    return Relation(name, _columns(columns), about, rdf, "derived")


DERIVED_RELATIONS: tuple[Relation, ...] = (
    _derived(
        "linked",
        "document: document, other: document",
        "a page links to another page",
        Pattern("document", "okn:linked", "other"),
    ),
    _derived(
        "reachable",
        "document: document, other: document",
        "by following links one comes from a page to the other",
        Pattern("document", "okn:reachable", "other"),
    ),
    _derived(
        "broken_link",
        "section: section, target, anchor",
        "a section links to something that is not in the bundle",
        Pattern("section", "okn:brokenLink", "target"),
    ),
    _derived(
        "missing_anchor",
        "section: section, document: document, anchor",
        "a section links to an anchor that the page does not have",
        Pattern("section", "okn:missingAnchor", "anchor"),
    ),
    _derived(
        "orphan",
        "document: document",
        "no page links to this concept page",
        Pattern("document", "rdf:type", "<okn:Orphan>"),
    ),
    _derived(
        "derives_from",
        "document: document, other: document",
        "a page cites another page of the bundle in its sources",
        Pattern("document", "okn:derivesFrom", "other"),
    ),
    _derived(
        "depends_on",
        "document: document, other: document",
        "a page links to another one or cites it",
        Pattern("document", "okn:dependsOn", "other"),
    ),
    _derived(
        "depends_transitively",
        "document: document, other: document",
        "a page depends on another one over any number of steps",
        Pattern("document", "okn:dependsTransitively", "other"),
    ),
    _derived(
        "stale_page",
        "document: document",
        "a page has passed its own stale_after",
        Pattern("document", "rdf:type", "<okn:StalePage>"),
    ),
    _derived(
        "affected_by_stale",
        "document: document, stale: document",
        "a page depends, over any number of steps, on a page that is stale",
        Pattern("document", "okn:affectedByStale", "stale"),
    ),
    _derived(
        "page_verification_outdated",
        "document: document",
        "every verification of the page is older than its text",
        Pattern("document", "rdf:type", "<okn:PageVerificationOutdated>"),
    ),
    _derived(
        "active",
        "claim: claim",
        "a claim holds now: it is live, has begun and has not run out",
        Pattern("claim", "rdf:type", "<okn:ActiveClaim>"),
    ),
    _derived(
        "superseded_by",
        "claim: claim, later: claim",
        "a later claim says that it supersedes this one",
        Pattern("claim", "okn:supersededBy", "later"),
    ),
    _derived(
        "stale_claim",
        "claim: claim, reason",
        "a claim is stale, by its date or by what became of its evidence",
        Pattern("claim", "okn:staleReason", "reason"),
    ),
    _derived(
        "claim_verification_outdated",
        "claim: claim, verified: time, written: time",
        "the text of a claim's page was written after the claim was verified",
        Pattern("claim", "rdf:type", "<okn:ClaimVerificationOutdated>"),
    ),
    _derived(
        "relies_on_stale",
        "document: document, claim: claim",
        "a page refers to a stale claim",
        Pattern("document", "okn:reliesOnStale", "claim"),
    ),
    _derived(
        "conflict",
        "claim: claim, other: claim",
        "two active claims that cannot both hold",
        Pattern("claim", "okn:conflictsWith", "other"),
    ),
    _derived(
        "duplicate",
        "claim: claim, first: claim",
        "a live claim repeats another one",
        Pattern("claim", "okn:duplicateOf", "first"),
    ),
    _derived(
        "affected_claim",
        "claim: claim, other: claim",
        "a claim is derived from this one over any number of steps",
        Pattern("claim", "okn:affectsClaim", "other"),
    ),
    _derived(
        "affected_document",
        "claim: claim, document: document, kind",
        "a page depends on the claim; kind says how",
        Pattern("claim", "okn:affectsDocument", "document"),
    ),
)
"""The conclusions of the built-in rules that have a place in the RDF graph."""

RELATIONS: Mapping[str, Relation] = {
    relation.name: relation for relation in (*DOCUMENT_RELATIONS, *CLAIM_RELATIONS)
}
"""The base relations by name."""
