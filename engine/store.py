"""The store: one immutable snapshot of a bundle, from which every answer of the product comes."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from openknowledge.engine import limits
from openknowledge.engine.analysis.listing import list_bundle
from openknowledge.engine.analysis.report import validation_report
from openknowledge.engine.bundle.bundle import Bundle, read_bundle, spec_version
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.instants import parse_instant, start_of
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.bundle.slugs import slug
from openknowledge.engine.bundle.validation import Override, apply_overrides, validate_okf
from openknowledge.engine.clock import Clock, fixed_clock, system_clock
from openknowledge.engine.config import Config, read_config
from openknowledge.engine.errors import OpenKnowledgeError, UsageError
from openknowledge.engine.facts.provenance import Provenance, document_sha256
from openknowledge.engine.printable import printable

if TYPE_CHECKING:
    from openknowledge.engine.analysis.document_graph import GraphFormat
    from openknowledge.engine.claims.claimset import ClaimSet
    from openknowledge.engine.claims.evals import EvalCase
    from openknowledge.engine.claims.evidence import EvidenceStore
    from openknowledge.engine.claims.factset import FactSet
    from openknowledge.engine.claims.model import Claim
    from openknowledge.engine.datalog import Answer, AnswerRow, FactBase, RuleText
    from openknowledge.engine.datalog import Limits as DatalogLimits
    from openknowledge.engine.datalog.checking import Finding
    from openknowledge.engine.facts.compile import Fact
    from openknowledge.engine.facts.facts import Facts
    from openknowledge.engine.facts.facts import Source as FactSource
    from openknowledge.engine.facts.rdf import RdfFormat
    from openknowledge.engine.facts.terms import Node, Triple
    from openknowledge.engine.query.absence import Absence
    from openknowledge.engine.query.hybrid import PolicyClaim
    from openknowledge.engine.query.sparql import Dataset, ParsedQuery, Solutions, Term
    from openknowledge.engine.search.index import SearchIndex
    from openknowledge.engine.search.routes import VectorRoute
    from openknowledge.schemas.claims import (
        ClaimValidation,
        ConflictResult,
        EntityResult,
        FindResult,
        ImpactResult,
        ShowResult,
        StaleResult,
        SuggestResult,
    )
    from openknowledge.schemas.common import Policy, Quarantined, Revision
    from openknowledge.schemas.common import Provenance as ProvenanceJson
    from openknowledge.schemas.datalog import DatalogResult
    from openknowledge.schemas.export import BundleExport
    from openknowledge.schemas.facts import FactSet as FactSetJson
    from openknowledge.schemas.get import GetResult
    from openknowledge.schemas.graph import DocumentGraph
    from openknowledge.schemas.hybrid import HybridAnswer
    from openknowledge.schemas.listing import ListResult
    from openknowledge.schemas.operations import ClaimProposal
    from openknowledge.schemas.search import ContextResult, SearchResultSet
    from openknowledge.schemas.sparql import SparqlResult
    from openknowledge.schemas.validation import ValidationReport

PROFILES = ("bundle", "okf")
_CLAIM_FIELDS = frozenset({"claims", "claim_refs", "claim_ontology", "openknowledge_claim_profile"})


class Store:
    """One revision of a bundle at one instant. Each view of it is built when first asked for.

    Open it with ``Store.open``. Stores share nothing: two in one process do not know of each other.
    """

    def __init__(
        self,
        bundle: Bundle,
        now: datetime,
        config: Config | None = None,
        *,
        access: Iterable[str] = (),
        strict: bool = False,
        evidence: EvidenceStore | None = None,
    ) -> None:
        self.bundle = bundle
        self.now = now
        self.config = config or Config()
        self.access = _granted(access)
        self.strict = strict
        self._evidence = evidence

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        spec: str = "latest",
        clock: Clock = system_clock,
        access: Iterable[str] = (),
        strict: bool = False,
        previous: Store | None = None,
    ) -> Store:
        """Read the bundle at ``path`` as it is now.

        ``spec`` is the OKF version to read it by: 0.1, 0.2 or latest. ``access`` are the labels of restricted
        sources that may be used; with ``strict`` a claim that is not valid is refused, not set aside. With
        ``previous``, a store of the same path, pages whose files have not changed are not read again. Raises
        ``OpenKnowledgeError`` when there is no such directory, ``UsageError`` for an unknown ``spec`` or a
        label that is none.
        """
        version = spec_version(spec)
        known = previous.bundle if previous is not None and previous.bundle.spec == version else None
        bundle = read_bundle(path, spec=version, previous=known)
        return cls(bundle, clock(), read_config(bundle.root), access=access, strict=strict)

    def refreshed(self, clock: Clock = system_clock, *, other_files_changed: bool = False) -> Store:
        """Return a store of the bundle as it is now: this one, if nothing has changed.

        Pages are checked by their state, and only changed ones are read. Nothing has changed when the pages
        are the same and no page or claim has become stale, active or inactive since. What evidence rests on
        is looked at again only when ``other_files_changed`` says so. Raises as ``open``.
        """
        now = clock()
        bundle = read_bundle(self.root, spec=self.bundle.spec, previous=self.bundle)
        config = read_config(self.root)
        same_files = bundle.holds_the_same_as(self.bundle) and config == self.config
        if same_files and not other_files_changed and self.now <= now < self._next_change:
            return self
        store = Store(
            self.bundle if same_files else bundle, now, config, access=self.access, strict=self.strict
        )
        if same_files and "search_index" in self.__dict__:
            # the index depends on the text alone; only its clock is the store's own
            index = copy.copy(self.search_index)
            index.clock = fixed_clock(now)
            store.__dict__["search_index"] = index
        return store

    @cached_property
    def _next_change(self) -> datetime:
        """The first instant from which an answer of this store may differ for the same files."""
        tomorrow = datetime(self.now.year, self.now.month, self.now.day, tzinfo=UTC) + timedelta(days=1)
        moments = [parse_instant(page.metadata.stale_after) for page in self.bundle.documents]
        for claim in self.claim_set.claims:
            moments += [start_of(claim.valid_from), start_of(claim.valid_until)]
        return min([tomorrow, *(moment for moment in moments if moment and moment > self.now)])

    @property
    def root(self) -> Path:
        """The bundle's directory, absolute."""
        return self.bundle.root

    @property
    def revision(self) -> Revision:
        """Which bytes every answer of this store is about."""
        return {"specVersion": self.bundle.spec, "indexSha256": self.bundle.index_sha256}

    @property
    def policy(self) -> Policy:
        """What was kept out of the answers."""
        return self.fact_set.policy

    # Claims

    @cached_property
    def _has_claims(self) -> bool:
        """Whether any page says something that claims are made of; most bundles have none."""
        return any(
            not _CLAIM_FIELDS.isdisjoint(page.fields)
            or any("access" in source.raw for source in page.metadata.sources)
            for page in self.bundle.documents
        )

    @cached_property
    def claim_set(self) -> ClaimSet:
        """All typed claims, judged; also those that the access filter takes out."""
        from openknowledge.engine.claims.claimset import read_claims

        return read_claims(self.bundle, now=self.now, evidence=self.evidence)

    @cached_property
    def evidence(self) -> EvidenceStore:
        """The files beside the pages, each read once: on disk, or as they were at a git revision."""
        from openknowledge.engine.claims.evidence import EvidenceStore

        return self._evidence or EvidenceStore(self.root)

    @cached_property
    def fact_set(self) -> FactSet:
        """The claims that may be seen: what every answer starts from.

        When the store is strict, raises ``OpenKnowledgeError`` for an invalid claim that may be seen.
        """
        from openknowledge.engine.claims.access import apply_access

        facts = apply_access(self.claim_set, self.access)[0]
        if self.strict and facts.quarantined:
            first, count = facts.quarantined[0], len(facts.quarantined)
            raise OpenKnowledgeError(
                f"{count} {'claim is' if count == 1 else 'claims are'} invalid and --strict allows none; "
                f"the first: {first.document}: {first.message}",
                path=first.document,
            )
        return facts

    def claim_profile(self, document: Document) -> Mapping[str, Any] | None:
        """Return the claims of a page as results show them; ``None`` when it has none."""
        from openknowledge.engine.claims.machine import claim_profile_json

        return claim_profile_json(document, self.fact_set)

    @cached_property
    def eval_cases(self) -> list[EvalCase]:
        """The cases of the bundle's evaluation datasets, as far as they expect its pages."""
        from openknowledge.engine.claims.evals import eval_root, read_eval_cases

        return read_eval_cases(eval_root(self.root))

    def find_claims(self, query: str, *, limit: int | None = None) -> FindResult:
        """Return the claims that match ``query``, best first. Raises ``LimitError`` for a long query."""
        from openknowledge.engine.claims.find import find_claims

        return find_claims(self.fact_set, query, limit=limit)

    def find_entities(self, query: str, *, limit: int | None = None) -> EntityResult:
        """Return the entities that match ``query``, best first. Raises ``LimitError`` for a long query."""
        from openknowledge.engine.claims.find import find_entities

        return find_entities(self.fact_set, query, limit=limit)

    def show_claim(self, identifier: str) -> ShowResult:
        """Return one claim with evidence, slot, verification and relations; each judgement with its proof.

        Raises ``OpenKnowledgeError`` when there is no such claim.
        """
        from openknowledge.engine.claims.show import show_claim

        return cast("ShowResult", self._proved(show_claim(self.fact_set, identifier), self.facts))

    def stale_claims(self, *, within: int | None = None, proofs: bool = True) -> StaleResult:
        """Return the stale claims; with ``within``, also those stale in so many days.

        Each reason carries its proof, unless ``proofs`` are not wanted.
        """
        from openknowledge.engine.claims.stale import horizon, stale_claims

        found = stale_claims(self.fact_set, within=within)
        if not proofs:
            return found
        last = "" if within is None else horizon(self.fact_set, within).isoformat()
        return cast("StaleResult", self._proved(found, self._facts_until(last) if last else self.facts))

    def claim_conflicts(self) -> ConflictResult:
        """Return the claims that cannot all hold, and those said twice, with proofs."""
        from openknowledge.engine.claims.conflicts import find_conflicts

        return cast("ConflictResult", self._proved(find_conflicts(self.fact_set), self.facts))

    def claim_impact(self, identifier: str) -> ImpactResult:
        """Return what depends on a claim, with the ways there and proofs.

        Raises ``OpenKnowledgeError`` when there is no such claim.
        """
        from openknowledge.engine.claims.impact import claim_impact

        found = claim_impact(self.fact_set, identifier, cases=self.eval_cases)
        return cast("ImpactResult", self._proved(found, self.facts))

    def suggest_claims(self, document: str = "") -> SuggestResult:
        """Return the sections of a page (or of all) for which a claim could be written."""
        from openknowledge.engine.claims.suggest import suggest_claims

        return suggest_claims(self.fact_set, document)

    def validate_claims(self, base: Store | None = None, *, against: str = "") -> ClaimValidation:
        """Return what is wrong with the claims; with ``base``, also how they may not have changed since."""
        from openknowledge.engine.claims.history import validate_claims

        before = base.claim_set if base is not None else None
        return validate_claims(self.claim_set, base=before, against=against)

    def shacl(self) -> str:
        """Return the ontology's constraints as SHACL shapes in Turtle."""
        from openknowledge.engine.claims.shacl import shacl_turtle

        return shacl_turtle(self.fact_set)

    def _proved(self, result: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
        from openknowledge.engine.query.claims import with_proofs
        from openknowledge.engine.query.datalog import fact_base

        base = self.fact_base if facts is self.facts else fact_base(facts)
        return with_proofs(dict(result), facts, base)

    # The same answers in the shapes that agents get

    def claims_find(self, query: str) -> dict[str, Any]:
        """Return ``find_claims`` with its matches, as the server sends them."""
        found = self.find_claims(query)
        head = {"schemaVersion": "1", "query": query, "root": str(self.root)}
        return {**head, "matches": found["results"], "issues": [], "policy": found["policy"]}

    def claims_stale(self) -> dict[str, Any]:
        """Return ``stale_claims`` as the server sends them."""
        found = self.stale_claims()
        head = {"schemaVersion": "1", "root": str(self.root)}
        return {**head, "claims": found["results"], "issues": [], "policy": found["policy"]}

    def claims_impact(self, identifier: str) -> dict[str, Any]:
        """Return ``claim_impact`` as the server sends it."""
        return {"schemaVersion": "1", "root": str(self.root), "impact": self.claim_impact(identifier)}

    def propose_claim(
        self, *, document: str, claim: Mapping[str, Any], reason: str, confidence: float
    ) -> ClaimProposal:
        """Return the proposal to add ``claim`` to a page; nothing is written.

        Arguments and errors as for ``engine.operations.propose.propose_claim``.
        """
        from openknowledge.engine.operations.propose import propose_claim

        return propose_claim(self, document=document, claim=claim, reason=reason, confidence=confidence)

    def fact_set_json(self) -> FactSetJson:
        """Return the semantic fact set: sources, claims, evidence and relations that may be seen."""
        from openknowledge.engine.claims.machine import fact_set_json

        return fact_set_json(self.fact_set, self._okf_issues)

    # What is wrong

    @cached_property
    def _okf_issues(self) -> list[Issue]:
        issues = [*self.config.issues, *validate_okf(self.bundle)]
        root = self.bundle.by_path.get("index.md")
        if root is not None and "corpus_schema" in root.fields:
            from openknowledge.engine.analysis.corpus_schema import check_corpus_schema

            issues += check_corpus_schema(self.bundle)
        return issues

    def issues(
        self, *, profile: str = "bundle", overrides: Mapping[str, Override] | None = None
    ) -> list[Issue]:
        """Return everything that is wrong in the bundle, sorted by path and line.

        ``profile`` ``okf`` leaves out the checks of typed claims. ``overrides`` change severities on top of
        the bundle's own settings. Raises ``UsageError`` for an unknown profile.
        """
        if profile not in PROFILES:
            raise UsageError(f"unknown validation profile {profile!r}; choose one of {', '.join(PROFILES)}")
        claim_issues = self.claim_set.issues if profile == "bundle" and self._has_claims else ()
        return apply_overrides(
            [*self._okf_issues, *claim_issues], {**self.config.overrides, **(overrides or {})}
        )

    def validate(
        self, *, profile: str = "bundle", overrides: Mapping[str, Override] | None = None
    ) -> ValidationReport:
        """Return the validation report. Arguments and errors as for ``issues``."""
        quarantined: Sequence[Quarantined] = ()
        if profile == "bundle" and self._has_claims:
            from openknowledge.engine.claims.factset import quarantined_json

            quarantined = quarantined_json(self.claim_set.quarantined)
        return validation_report(
            self.bundle,
            self.issues(profile=profile, overrides=overrides),
            profile=profile,
            config_path=self.config.path,
            overrides={**self.config.overrides, **(overrides or {})},
            quarantined=quarantined,
            skipped=frozenset({"claim-profile"}) if profile == "okf" else frozenset(),
        )

    # What is there

    def inventory(self) -> ListResult:
        """Return every page and file with what it says of its trust and lifecycle."""
        return list_bundle(self.bundle, self.issues(), self.now, self.claim_profile)

    def get(self, reference: str) -> GetResult:
        """Return one page, or one section of it, as it stands.

        ``reference`` is a path or id, with ``#`` and a section's anchor for a section. Raises
        ``OpenKnowledgeError`` when there is no such page or section, with the nearest names.
        """
        document, section = self._find(reference)
        place = Provenance(self.bundle, document, section)
        lines = document.data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        first, last = (section.line_start, section.line_end) if section else (1, len(lines))
        result: GetResult = {
            "schemaVersion": "1",
            "root": str(self.root),
            "revision": self.revision,
            "id": section.id if section else document.id,
            "path": document.path,
            "kind": document.kind,
            "title": document.title,
            "lineStart": first,
            "lineEnd": last,
            "locator": place.locator,
            "contentSha256": place.content_sha256,
            "text": "\n".join(lines[first - 1 : last]),
        }
        if section:
            result["heading"] = section.heading
            result["headingPath"] = list(section.heading_path)
        else:
            result["documentSha256"] = document_sha256(document)
        if not document.reserved:
            from openknowledge.engine.analysis.listing import okf02

            result["okf02"] = okf02(document.metadata, self.now)
        return result

    def _find(self, reference: str) -> tuple[Document, Section | None]:
        exact = self.bundle.by_path.get(reference) or self.bundle.by_id.get(reference)
        name, mark, anchor = reference.rpartition("#")
        if exact is not None or not mark:
            document = exact or self.bundle.document_at(reference)
            if document is None:
                raise OpenKnowledgeError(_no_page(self.bundle, reference))
            return document, None
        document = self.bundle.document_at(name)
        if document is None:
            raise OpenKnowledgeError(_no_page(self.bundle, name))
        section = document.section_with_anchor(anchor) or document.section_with_anchor(slug(anchor))
        if section is None:
            slugs = [part.slug for part in document.sections]
            known = ", ".join(slugs[:20]) + (", ..." if len(slugs) > 20 else "") if slugs else "none"
            raise OpenKnowledgeError(
                f"page {document.path!r} has no section {anchor!r}; its sections: {known}"
            )
        return document, section

    def graph(self) -> DocumentGraph:
        """Return the pages and how they depend on each other."""
        from openknowledge.engine.analysis.document_graph import document_graph

        return document_graph(self.bundle)

    def export_graph(self, graph_format: GraphFormat) -> bytes:
        """Return the document graph as ``graphml`` or ``dot``."""
        from openknowledge.engine.analysis.document_graph import serialize_graph

        return serialize_graph(self.graph(), graph_format)

    def export_json(self) -> BundleExport:
        """Return every page with frontmatter, sections, links and digests."""
        from openknowledge.engine.analysis.export import export_bundle

        return export_bundle(self.bundle, self.now)

    # Search

    @cached_property
    def search_index(self) -> SearchIndex:
        """The index over all sections; its parts are built by the first question that needs them."""
        from openknowledge.engine.search.index import SearchIndex

        return SearchIndex.build(self.bundle, clock=fixed_clock(self.now))

    def search(
        self,
        query: str,
        *,
        limit: int = 12,
        no_expand: bool = False,
        types: Iterable[str] = (),
        tags: Iterable[str] = (),
        explain: bool = False,
        route: VectorRoute | None = None,
    ) -> SearchResultSet:
        """Return the sections that answer ``query``, best first.

        ``types`` and ``tags`` restrict the pages (any of each list); without ``no_expand`` links are followed
        from what was found. ``route`` replaces the local vectors. Raises ``LimitError`` for a query that
        is too long, ``RouteError`` when the route fails.
        """
        return self.search_index.search(
            query,
            limit=limit,
            no_expand=no_expand,
            types=types,
            tags=tags,
            explain=explain,
            profiles=self.claim_profile,
            route=route,
        )

    def context(
        self,
        query: str,
        *,
        budget: int = 2_400,
        limit: int = 12,
        no_expand: bool = False,
        types: Iterable[str] = (),
        tags: Iterable[str] = (),
        explain: bool = False,
        route: VectorRoute | None = None,
    ) -> ContextResult:
        """Return what answers ``query`` as a packet of at most ``budget`` estimated tokens.

        The other arguments and errors are those of ``search``.
        """
        from openknowledge.engine.search.packing import pack_context

        return pack_context(
            self.search_index,
            query,
            budget=budget,
            limit=limit,
            no_expand=no_expand,
            types=types,
            tags=tags,
            explain=explain,
            profiles=self.claim_profile,
            route=route,
        )

    def hybrid(
        self,
        *,
        text: str | None = None,
        sparql: str | None = None,
        datalog: Mapping[str, str] | None = None,
        limit: int = 12,
        types: Iterable[str] = (),
        tags: Iterable[str] = (),
        structured_max: int | None = None,
        statuses: Sequence[str] | None = None,
        include_stale: bool = False,
        route: VectorRoute | None = None,
        timeout: float = limits.QUERY_SECONDS,
        rules: Sequence[RuleText] = (),
        served: bool = False,
    ) -> HybridAnswer:
        """Return one ranking over text, a SPARQL SELECT query and a Datalog query (at least one of them).

        ``datalog`` has ``query`` and may have ``rules`` and ``ruleProfile``; ``rules`` are more rule texts.
        ``structured_max`` is how many rows the structured routes give, ``statuses`` and ``include_stale``
        which claims may be shown. With ``served`` the limits are those for clients of a server. Raises
        ``RouteError`` naming the route that failed, ``UsageError`` for a question that asks nothing.
        """
        from openknowledge.engine.query.hybrid import STATUSES, DatalogRoute, Policies, SparqlRoute, hybrid

        most = structured_max or min(max(5 * limit, 50), limits.RESULTS)
        graph = None
        if sparql:
            graph = SparqlRoute(sparql, lambda rows: self._select(sparql, min(rows, most), timeout, served))
        logic = None
        if datalog:
            given = datalog.get("rules", "")
            texts = [*rules, *self._rule_texts(given)]
            profile = datalog.get("ruleProfile", "")
            query = datalog["query"]
            logic = DatalogRoute(
                query,
                lambda rows: self._derive_rows(query, texts, profile, min(rows, most), timeout, served),
                given,
                profile,
            )
        policies = Policies(
            claims=self._policy_claims(self.fact_set.claims),
            hidden=self._policy_claims(
                claim for claim in self.claim_set.claims if claim.id in self.fact_set.hidden_claims
            ),
            hidden_sources=self.fact_set.removed_sources,
            statuses=tuple(statuses) if statuses is not None else STATUSES,
            include_stale=include_stale,
        )
        return hybrid(
            self.search_index,
            text=text or "",
            sparql=graph,
            datalog=logic,
            limit=limit,
            types=types,
            tags=tags,
            policies=policies,
            profiles=self.claim_profile,
            route=route,
            policy=self.policy,
        )

    def _policy_claims(self, claims: Iterable[Claim]) -> list[PolicyClaim]:
        from openknowledge.engine.query.hybrid import PolicyClaim

        stale = self.claim_set.stale
        return [
            PolicyClaim(
                claim.id,
                claim.path,
                claim.status,
                bool(stale.get(claim.id)),
                claim.section_ref.removeprefix("#"),
            )
            for claim in claims
        ]

    def _rule_texts(self, text: str) -> list[RuleText]:
        from openknowledge.engine.datalog import RuleText

        return [RuleText(text)] if text else []

    def _select(self, query: str, rows: int, timeout: float, served: bool) -> SparqlResult:
        from openknowledge.engine.query.sparql import check_dataset_size

        if served:
            check_dataset_size(len(self.triples), limits.DATASET_QUADS_SERVED)
        return self.sparql(query, limit=rows, timeout=timeout)

    def _derive_rows(
        self, query: str, rules: Sequence[RuleText], profile: str, rows: int, timeout: float, served: bool
    ) -> DatalogResult:
        from openknowledge.engine.datalog import Limits

        base = Limits.served() if served else Limits.command_line()
        bounds = replace(base, results=rows, seconds=timeout)
        return self.datalog(query, rules=rules, profile=profile, limits=bounds)

    # Facts and RDF

    @cached_property
    def facts(self) -> Facts:
        """The base relations of the bundle."""
        return self._facts_until("")

    def _facts_until(self, horizon: str) -> Facts:
        """The facts with a last day to look ahead to, or ``""``."""
        from openknowledge.engine.claims.access import is_visible
        from openknowledge.engine.claims.relations import claim_sources
        from openknowledge.engine.facts.compile import source_documents
        from openknowledge.engine.facts.facts import Facts

        sources: dict[str, FactSource] = {
            **self._public_audit_sources(),
            **claim_sources(self.fact_set, horizon=horizon, cases=self.eval_cases),
            "issue": self._issue_facts,
        }
        sources["source_document"] = lambda: source_documents(
            self.bundle, lambda source: is_visible(source, self.access)
        )
        return Facts(self.bundle, self.now, sources)

    def _public_audit_sources(self) -> dict[str, FactSource]:
        """What the audit rules look at, without the sources that may not be seen."""
        from openknowledge.engine.analysis.audit_facts import audit_sources
        from openknowledge.engine.claims.access import is_visible

        hidden = {
            (page.id, source.id, source.resource)
            for page in self.bundle.documents
            for source in page.metadata.sources
            if not is_visible(source, self.access)
        }

        def visible(facts: FactSource) -> FactSource:
            return lambda: (fact for fact in facts() if fact[0][:3] not in hidden)

        sources: Mapping[str, FactSource] = audit_sources(self.bundle, self.evidence)
        return {
            name: visible(facts) if hidden and name.startswith("source_") else facts
            for name, facts in sources.items()
        }

    def _issue_facts(self) -> Iterator[Fact]:
        """The issues on pages, as far as they may be seen."""
        visible = [*self._okf_issues, *self.fact_set.issues()]
        for issue in apply_overrides(visible, self.config.overrides):
            document = self.bundle.by_path.get(issue.path)
            if document is not None:
                yield (
                    (issue.path, issue.rule, issue.message),
                    Provenance(self.bundle, document, line=issue.line),
                )

    @cached_property
    def triples(self) -> list[Triple]:
        """Every triple that the bundle asserts, unique and sorted."""
        from openknowledge.engine.claims.rdf import claim_triples
        from openknowledge.engine.facts.rdf import document_triples

        return sorted({*document_triples(self.facts), *claim_triples(self.fact_set)})

    @property
    def prefixes(self) -> Mapping[str, str]:
        """The prefixes that a query may use without declaring them."""
        from openknowledge.engine.facts.terms import NAMESPACES

        return {**NAMESPACES, **dict(self.fact_set.terms.items())}

    def export_rdf(self, rdf_format: RdfFormat, *, reifiers: bool = False) -> bytes:
        """Return the graph of the bundle in an RDF syntax.

        With ``reifiers`` each claim reifies its statement as RDF 1.2 has it. Raises ``UsageError`` for an
        unknown syntax.
        """
        from openknowledge.engine.facts.rdf import dataset_json, serialize
        from openknowledge.engine.facts.terms import revision_graph

        triples = self.triples
        if reifiers:
            from openknowledge.engine.claims.rdf import claim_triples

            triples = sorted({*triples, *claim_triples(self.fact_set, reifiers=True)})
        graph = revision_graph(self.bundle.index_sha256)
        if rdf_format == "json":
            import json

            dataset = dataset_json(triples, graph, str(self.root), self.revision)
            return (json.dumps(dataset, ensure_ascii=False, indent=2) + "\n").encode()
        return serialize(triples, graph, rdf_format, self.prefixes)

    @cached_property
    def dataset(self) -> Dataset:
        """The RDF dataset that SPARQL queries read."""
        from openknowledge.engine.facts.terms import derived_graph, revision_graph
        from openknowledge.engine.query.dataset import load_store
        from openknowledge.engine.query.sparql import Dataset

        revision = self.bundle.index_sha256
        loaded = load_store(lambda: self.triples, revision_graph(revision), limits.DATASET_QUADS)
        return Dataset(loaded, revision_graph(revision), derived_graph(revision), self.prefixes)

    def check_sparql(self, query: str, *, graph_results: bool = False, source: str = "") -> ParsedQuery:
        """Check a SPARQL query without evaluating it.

        Raises ``TextError`` or ``LimitError`` for what is refused.
        """
        from openknowledge.engine.query.sparql import check_query

        return check_query(query, self.dataset, graph_results=graph_results, source=source)

    def _derive_for(self, query: str) -> None:
        """Fill the derived graph with the conclusions that ``query`` may ask for, each relation once."""
        from openknowledge.engine.facts.rdf import Renderer
        from openknowledge.engine.query.dataset import add_triples
        from openknowledge.engine.query.derived import derived_triples, mentioned

        wanted = [relation for relation in mentioned(query) if relation.name not in self._derived]
        if wanted:
            triples = derived_triples(
                self.facts, self.fact_base, wanted, Renderer(self.bundle, self.fact_set.terms.expand)
            )
            add_triples(self.dataset.load(), triples, self.dataset.derived_graph or "")
            self._derived.update(relation.name for relation in wanted)

    @cached_property
    def _derived(self) -> set[str]:
        """The derived relations whose conclusions are in the RDF store."""
        return set()

    def solve_sparql(
        self, query: ParsedQuery, *, limit: int = limits.RESULTS, timeout: float = limits.QUERY_SECONDS
    ) -> Solutions:
        """Evaluate a checked query; ``timeout`` is in seconds. Raises ``LimitError`` at a limit."""
        from openknowledge.engine.query.sparql import solve

        if query.names_graphs or "graph" in query.text.lower():
            self._derive_for(query.text)
        return solve(self.dataset, query, max_results=limit, timeout=timeout)

    def sparql(
        self, query: str, *, limit: int = limits.RESULTS, timeout: float = limits.QUERY_SECONDS
    ) -> SparqlResult:
        """Return the rows of a SELECT or ASK query, each with where its things were read."""
        return self.sparql_json(self.solve_sparql(self.check_sparql(query), limit=limit, timeout=timeout))

    def sparql_json(self, solutions: Solutions) -> SparqlResult:
        """Return solutions as the JSON result."""
        from openknowledge.engine.query.sparql import json_result

        return json_result(
            solutions,
            root=str(self.root),
            revision=self.revision,
            policy=self.policy,
            sources_of=self._sources_of_terms,
        )

    @cached_property
    def _places_by_iri(self) -> dict[str, Provenance]:
        """The place of every page and section, by its IRI."""
        from openknowledge.engine.facts.terms import minted

        revision = self.bundle.index_sha256
        places: dict[str, Provenance] = {}
        for document in self.bundle.documents:
            places[minted(revision, "document", document.path)] = Provenance(self.bundle, document)
            for section in document.sections:
                place = Provenance(self.bundle, document, section)
                places.setdefault(minted(revision, "section", section.id), place)
        return places

    @cached_property
    def _claims_by_term(self) -> dict[Node, list[Provenance]]:
        """The places of the claims whose id, slot, subject, predicate or object is a term."""
        from openknowledge.engine.facts.terms import NAMESPACES

        rdf = NAMESPACES["rdf"]
        parts = {rdf + "subject", rdf + "predicate", rdf + "object", NAMESPACES["okn"] + "slot"}
        facts = self.fact_set
        places = {facts.terms.expand(claim.id): facts.place(claim) for claim in facts.claims}
        found: dict[Node, list[Provenance]] = {("iri", iri, "", ""): [place] for iri, place in places.items()}
        for subject, predicate, *node in self.triples:
            if predicate in parts and subject in places:
                found.setdefault((node[0], node[1], node[2], node[3]), []).append(places[subject])
        return found

    def _sources_of_terms(self, terms: Iterable[Term]) -> Sequence[ProvenanceJson]:
        from openknowledge.engine.query.datalog import unique_sources

        found: list[Provenance] = []
        for term in terms:
            if term.type == "iri" and term.value in self._places_by_iri:
                found.append(self._places_by_iri[term.value])
            found += self._claims_by_term.get((term.type, term.value, term.datatype, term.language), [])
        return unique_sources(found)

    # Rules

    @cached_property
    def fact_base(self) -> FactBase:
        """The base relations as the rule engine reads them; it keeps its indexes between queries."""
        from openknowledge.engine.query.datalog import fact_base

        return fact_base(self.facts)

    def datalog(
        self,
        query: str,
        *,
        rules: Sequence[RuleText] = (),
        profile: str = "",
        limits: DatalogLimits | None = None,
    ) -> DatalogResult:
        """Return the facts that match the atom ``query``, each with its proof and where that was read.

        ``rules`` are rule texts on top of the built-in ones. Raises ``DatalogError`` for a fault in query or
        rules, with its place; ``UsageError`` for an unknown profile; ``LimitError`` at a limit.
        """
        answer = self.answer_datalog(query, rules=rules, profile=profile, limits=limits)
        return self.datalog_json(answer, rules=rules)

    def datalog_json(self, answer: Answer, *, rules: Sequence[RuleText] = ()) -> DatalogResult:
        """Return an answer of ``answer_datalog`` as the JSON result."""
        from openknowledge.engine.query.datalog import result_json

        return result_json(answer, self.facts, rules=rules, policy=self.policy)

    def sources_of_row(self, row: AnswerRow) -> Sequence[ProvenanceJson]:
        """Return where the facts that an answer rests on were read."""
        from openknowledge.engine.query.datalog import places_of, unique_sources

        return unique_sources(places_of(row, self.facts))

    def places_of_fact(self, predicate: str, row: tuple[Any, ...]) -> Sequence[str]:
        """Return ``path:line`` of each place where a base fact was read."""
        places = self.facts.places(predicate, row)
        return [f"{printable(place.document.path)}:{place.lines[0]}" for place in places]

    def verify_datalog(
        self, answer: Answer, *, rules: Sequence[RuleText] = (), seconds: float | None = None
    ) -> int:
        """Have pyDatalog compute an answer again; return how many rows it finds.

        Raises ``OpenKnowledgeError`` naming the facts that differ, ``LimitError`` after ``seconds``.
        """
        from openknowledge.engine.query.datalog import verify_answer

        return verify_answer(answer, self.facts, self.fact_base, rules, seconds)

    def answer_datalog(
        self,
        query: str,
        *,
        rules: Sequence[RuleText] = (),
        profile: str = "",
        limits: DatalogLimits | None = None,
    ) -> Answer:
        """Return the answer of ``datalog`` with proofs as objects. Errors as there."""
        from openknowledge.engine.datalog import Limits
        from openknowledge.engine.query.datalog import answer_query, prepare_query

        prepared = prepare_query(query, rules, profile, limits or Limits.command_line())
        return answer_query(prepared, self.facts, self.fact_base)

    def why_not(self, atom: str, *, rules: Sequence[RuleText] = ()) -> Absence:
        """Explain why the ground ``atom`` does not follow, or that it does.

        Raises ``DatalogError`` for a fault in the atom or the rules, ``LimitError`` at a limit.
        """
        from openknowledge.engine.query.absence import explain_absence

        return explain_absence(atom, self.facts, self.fact_base, rules)

    def check_proofs(self, result: Any, rules: Sequence[RuleText] | None = None) -> list[Finding]:
        """Return the steps of a saved result that do not hold; none when all of it is proved.

        A result is one of Datalog, or of a command that judges claims. ``rules`` replace the texts that the
        result carries. Raises ``OpenKnowledgeError`` when it is about another revision or is no result.
        """
        from openknowledge.engine.query.claims import check_judgements, is_judgement
        from openknowledge.engine.query.datalog import check_saved_result, rules_of_result

        if is_judgement(result):
            within = result.get("within")
            facts = self.facts
            if isinstance(within, int) and not isinstance(within, bool):
                from openknowledge.engine.claims.stale import horizon

                facts = self._facts_until(horizon(self.fact_set, within).isoformat())
            return check_judgements(result, facts)
        texts = rules_of_result(result) if rules is None else rules
        return check_saved_result(result, self.facts, texts, self.policy)


def _granted(labels: Iterable[str]) -> tuple[str, ...]:
    names = tuple(labels)
    if not names:
        return ()
    from openknowledge.engine.claims.access import granted_labels

    return granted_labels(names)


def _no_page(bundle: Bundle, reference: str) -> str:
    from difflib import get_close_matches

    name = reference.rpartition("/")[2]
    same_name = [known for known in bundle.by_id if known.rpartition("/")[2] == name]
    hint = same_name[:3] or get_close_matches(reference, bundle.by_id, n=3)
    message = f"no page {reference!r} in this bundle"
    return f"{message}; did you mean {', '.join(hint)}?" if hint else message
