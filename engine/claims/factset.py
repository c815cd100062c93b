"""The semantic fact set: what the claims of a bundle say to whoever asks. Every projection starts here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.okf import Source
from openknowledge.engine.claims.claimset import ClaimSet, Dangling, Reference
from openknowledge.engine.claims.findings import Quarantined, shown
from openknowledge.engine.claims.freshness import EvidenceState, Staleness, is_active
from openknowledge.engine.claims.model import RELATION_KINDS, Claim
from openknowledge.engine.claims.ontology import Ontology
from openknowledge.engine.claims.place import ClaimPlace, claim_section
from openknowledge.engine.claims.terms import Namespaces
from openknowledge.engine.errors import OpenKnowledgeError

if TYPE_CHECKING:
    from openknowledge.schemas.common import Policy, Revision
    from openknowledge.schemas.facts import FactSet as FactSetJson


@dataclass(frozen=True, slots=True)
class SourceFact:
    """A source with an id and a resource, and the page that declares it."""

    document: Document
    source: Source

    @property
    def key(self) -> str:
        """What names the source in the whole bundle."""
        return source_key(self.document, self.source.id)


def source_key(document: Document, identifier: str) -> str:
    """Return the key of a source: the page's path, ``#`` and the source's id."""
    return f"{document.path}#{identifier}"


@dataclass(frozen=True)
class FactSet:
    """The claims that may be seen, with what they rest on.

    ``hidden`` has, by path, the ids of sources that may not be seen; ``quarantined`` the entries that may.
    """

    claim_set: ClaimSet = field(repr=False)
    claims: tuple[Claim, ...]
    references: tuple[Reference, ...]
    quarantined: tuple[Quarantined, ...]
    hidden: Mapping[str, frozenset[str]]
    hidden_claims: frozenset[str]
    granted: tuple[str, ...] = ()
    removed_claims: int = 0
    removed_sources: int = 0

    @classmethod
    def everything(cls, claim_set: ClaimSet) -> FactSet:
        """Return all facts of ``claim_set``, as whoever owns the bundle sees them."""
        return cls(claim_set, claim_set.claims, claim_set.references, claim_set.quarantined, {}, frozenset())

    @property
    def bundle(self) -> Bundle:
        """The bundle that the facts are about."""
        return self.claim_set.bundle

    @property
    def now(self) -> datetime:
        """The instant at which the facts were judged."""
        return self.claim_set.now

    @property
    def ontology(self) -> Ontology:
        """What claims may use. An entity stays visible wherever it is declared."""
        return self.claim_set.ontology

    @property
    def terms(self) -> Namespaces:
        """The namespaces of the bundle."""
        return self.claim_set.ontology.terms

    @property
    def revision(self) -> Revision:
        """Which bytes the facts are about. Access does not change it."""
        return {"specVersion": self.bundle.spec, "indexSha256": self.bundle.index_sha256}

    @property
    def policy(self) -> Policy:
        """What the access filter and the quarantine kept out."""
        return {
            "allowedAccess": list(self.granted),
            "removedSources": self.removed_sources,
            "removedClaims": self.removed_claims,
            "quarantined": quarantined_json(self.quarantined),
        }

    @cached_property
    def by_id(self) -> dict[str, Claim]:
        """The claims by their canonical ids."""
        return {claim.id: claim for claim in self.claims}

    @cached_property
    def sources(self) -> tuple[SourceFact, ...]:
        """The sources with an id and a resource, by key."""
        found = [
            SourceFact(document, source)
            for document in self.bundle.documents
            for source in self.sources_of(document).values()
            if source.resource
        ]
        return tuple(sorted(found, key=lambda fact: fact.key))

    @cached_property
    def dangling(self) -> tuple[Dangling, ...]:
        """The relations and references that lead to a claim in quarantine."""
        if not self.hidden_claims:
            return self.claim_set.dangling
        seen = self.by_id
        paths = {reference.document.path for reference in self.references}
        return tuple(
            entry
            for entry in self.claim_set.dangling
            if entry.target not in self.hidden_claims and (entry.source in seen or entry.source in paths)
        )

    def sources_of(self, document: Document) -> Mapping[str, Source]:
        """Return the sources of a page that may be seen, by id."""
        known = self.claim_set.sources_of(document)
        hidden = self.hidden.get(document.path)
        if hidden is None:
            return known
        return {name: source for name, source in known.items() if name not in hidden}

    @cached_property
    def _by_page(self) -> dict[str, list[Claim]]:
        found: dict[str, list[Claim]] = {}
        for claim in self.claims:
            found.setdefault(claim.path, []).append(claim)
        return found

    @cached_property
    def _references_by_page(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for reference in self.references:
            found.setdefault(reference.document.path, []).append(reference.claim_id)
        return found

    def claims_of(self, document: Document) -> list[Claim]:
        """Return the claims of a page, by id."""
        return self._by_page.get(document.path, [])

    def references_of(self, document: Document) -> list[str]:
        """Return the ids of the claims that a page depends on."""
        return self._references_by_page.get(document.path, [])

    def issues(self) -> list[Issue]:
        """Return the claim issues that may be seen, with their places."""
        found = {
            finding.issue()
            for finding in self.claim_set.findings
            if finding.document.path not in self.hidden and finding.claim_id not in self.hidden_claims
        }
        return sorted(found, key=lambda issue: issue.sort_key)

    def related(self, claim: Claim) -> Iterable[tuple[str, str]]:
        """Yield kind and target of each relation that may be seen."""
        for kind in RELATION_KINDS:
            for target in claim.related(kind):
                if target not in self.hidden_claims:
                    yield kind, target

    def stale(self, claim: Claim) -> tuple[Staleness, ...]:
        """Return why a claim is stale; empty when it is fresh."""
        return self.claim_set.stale.get(claim.id, ())

    def states(self, claim: Claim) -> tuple[EvidenceState, ...]:
        """Return what the reviewed evidence of a claim was and is."""
        return self.claim_set.states.get(claim.id, ())

    def active(self, claim: Claim) -> bool:
        """Whether a claim holds at the instant of the facts."""
        return is_active(claim, self.now)

    def place(self, claim: Claim) -> ClaimPlace:
        """Return where a claim stands."""
        return ClaimPlace(
            self.bundle, claim.document, field=("claims", claim.index), section_ref=claim.section_ref
        )

    def section_id(self, claim: Claim) -> str:
        """Return the id of the section a claim is bound to, ``""`` when it is about the whole page."""
        if not claim.section_ref:
            return ""
        section = claim_section(claim.document, claim.section_ref)
        return section.id if section is not None and claim.section_ref[1:] in section.anchors else ""

    def claim(self, identifier: str) -> Claim:
        """Return the claim that a term names, in any of its spellings.

        Raises ``OpenKnowledgeError`` when there is none that may be seen; the message says so if it is in
        quarantine, and gives the nearest ids otherwise.
        """
        term = self.terms.canonical[identifier.strip()]
        found = self.by_id.get(term)
        if found is not None:
            return found
        kept = next((entry for entry in self.quarantined if term and entry.claim_id == term), None)
        if kept is not None:
            message = f"claim {shown(term)} is quarantined: {kept.message}"
            raise OpenKnowledgeError(message, path=kept.document)
        from difflib import get_close_matches

        near = get_close_matches(term or identifier, list(self.by_id)[:20_000], n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise OpenKnowledgeError(f"there is no claim {shown(identifier)} in this bundle{hint}")

    def to_json(self, issues: Iterable[Issue] = ()) -> FactSetJson:
        """Return the fact set for programs. ``issues`` are what else is wrong in the bundle."""
        from openknowledge.engine.claims.machine import fact_set_json

        return fact_set_json(self, issues)


def quarantined_json(entries: Iterable[Quarantined]) -> list[QuarantinedJson]:
    """Return quarantine entries for programs."""
    found: list[QuarantinedJson] = []
    for entry in entries:
        item: QuarantinedJson = {
            "document": entry.document,
            "claimId": entry.claim_id,
            "rule": entry.rule,
            "message": entry.message,
        }
        if not entry.claim_id:
            del item["claimId"]
        found.append(item)
    return found


if TYPE_CHECKING:
    from openknowledge.schemas.common import Quarantined as QuarantinedJson
