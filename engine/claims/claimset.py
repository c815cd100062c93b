"""All claims of a bundle, judged: those that can be relied on, those in quarantine, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.okf import Source
from openknowledge.engine.claims.anchors import Anchors
from openknowledge.engine.claims.evidence import EvidenceStore
from openknowledge.engine.claims.findings import RULE, Finding, Place, Quarantined, shown
from openknowledge.engine.claims.freshness import EvidenceState, Staleness, evidence_states, staleness, today
from openknowledge.engine.claims.model import RELATION_KINDS, Claim
from openknowledge.engine.claims.ontology import Ontology, OntologyChecker, read_ontology
from openknowledge.engine.claims.profile import Page, ProfileReader, uses_profile
from openknowledge.engine.claims.selectors import SelectorChecker, SelectorTask, selector_task
from openknowledge.engine.claims.sources import check_sources, has_access
from openknowledge.engine.claims.terms import Namespaces
from openknowledge.engine.errors import OpenKnowledgeError


@dataclass(frozen=True, slots=True)
class Reference:
    """A page's dependency on a claim, from ``claim_refs``."""

    claim_id: str
    document: Document


@dataclass(frozen=True, slots=True, order=True)
class Dangling:
    """A relation (or ``claim_ref``, with the page as ``source``) that leads to a claim in quarantine."""

    source: str
    kind: str
    target: str


@dataclass(frozen=True)
class ClaimSet:
    """The claims of one bundle at one instant.

    ``claims`` are those that passed every check, by id. ``states`` is what the evidence of a claim was and
    is, ``stale`` the reasons of each stale claim.
    """

    bundle: Bundle
    now: datetime
    ontology: Ontology
    claims: tuple[Claim, ...]
    references: tuple[Reference, ...]
    findings: tuple[Finding, ...]
    quarantined: tuple[Quarantined, ...]
    pages: tuple[Page, ...]
    _sources: Mapping[str, Mapping[str, Source]] = field(repr=False)
    states: Mapping[str, tuple[EvidenceState, ...]] = field(repr=False)
    stale: Mapping[str, tuple[Staleness, ...]] = field(repr=False)

    @property
    def valid(self) -> bool:
        """Whether nothing is in quarantine."""
        return not self.quarantined

    @cached_property
    def by_id(self) -> dict[str, Claim]:
        """The claims by their canonical ids."""
        return {claim.id: claim for claim in self.claims}

    @cached_property
    def issues(self) -> tuple[Issue, ...]:
        """Every issue with its place, in the order of path and line."""
        found = {finding.issue() for finding in self.findings}
        return tuple(sorted(found, key=lambda issue: issue.sort_key))

    @cached_property
    def dangling(self) -> tuple[Dangling, ...]:
        """The relations and references that lead to a claim in quarantine."""
        known = self.by_id
        found = [
            Dangling(claim.id, kind, target)
            for claim in self.claims
            for kind in RELATION_KINDS
            for target in claim.related(kind)
            if target not in known
        ]
        found += [
            Dangling(reference.document.path, "claim_ref", reference.claim_id)
            for reference in self.references
            if reference.claim_id not in known
        ]
        return tuple(sorted(found))

    def sources_of(self, document: Document) -> Mapping[str, Source]:
        """Return the usable sources of a page by their ids."""
        known = self._sources.get(document.path)
        if known is None:
            known = {source.id: source for source in document.metadata.sources if source.id}
        return known

    def claim(self, identifier: str) -> Claim:
        """Return the claim that a term names, in any of its spellings.

        Raises ``OpenKnowledgeError`` when there is none; the message says so if it is in quarantine.
        """
        term = self.ontology.terms.canonical[identifier.strip()]
        found = self.by_id.get(term)
        if found is not None:
            return found
        kept = next((entry for entry in self.quarantined if term and entry.claim_id == term), None)
        if kept is not None:
            raise OpenKnowledgeError(
                f"claim {shown(term)} is quarantined: {kept.message}", path=kept.document
            )
        raise OpenKnowledgeError(f"there is no claim {shown(identifier)} in this bundle")


def read_claims(
    bundle: Bundle, *, now: datetime, evidence: EvidenceStore | None = None, strict: bool = False
) -> ClaimSet:
    """Read and judge all claims of ``bundle`` as of ``now``.

    With ``evidence`` selectors are verified and reviewed files compared; without it no artifact is opened.
    Bad claims are kept out and listed; with ``strict`` they raise ``OpenKnowledgeError`` instead.
    """
    judge = _Judge(bundle, evidence)
    found = judge.run(now)
    if strict and found.quarantined:
        first = found.issues[0]
        count = len(found.quarantined)
        raise OpenKnowledgeError(
            f"{count} claim{'s are' if count > 1 else ' is'} invalid and --strict allows none; the first: "
            f"{first.path}:{first.line}:{first.column}: {first.message}",
            path=first.path,
            line=first.line,
        )
    return found


class _Judge:
    def __init__(self, bundle: Bundle, evidence: EvidenceStore | None) -> None:
        self._bundle = bundle
        self._evidence = evidence
        self._findings: list[Finding] = []
        self._extra: list[Quarantined] = []
        self._out: set[tuple[str, int]] = set()
        self._known: set[str] = set()
        self._where: dict[str, Document] = {}
        self._sources: dict[str, dict[str, Source]] = {}
        self._terms = Namespaces()

    def run(self, now: datetime) -> ClaimSet:
        documents = [document for document in self._bundle.documents if document.fields]
        ontology = read_ontology(documents, self._findings)
        self._terms = ontology.terms
        reader = ProfileReader(ontology.terms, self._findings)
        pages = []
        for document in documents:
            used = uses_profile(document)
            if used:
                pages.append(reader.read(document))
            if "sources" in document.fields and (used or has_access(document)):
                self._sources[document.path] = check_sources(document, self._findings)
        self._check_ids(pages)
        self._check_claims(pages, OntologyChecker(ontology))
        self._check_references(pages)
        self._check_cycles(pages)
        self._check_successors(pages)
        if self._evidence is not None:
            self._check_selectors(pages, self._evidence)
        return self._result(pages, ontology, now)

    def _result(self, pages: list[Page], ontology: Ontology, now: datetime) -> ClaimSet:
        quarantined = set(self._extra)
        pages_out: set[str] = set()
        out = self._out
        for finding in self._findings:
            path = finding.document.path
            quarantined.add(Quarantined(path, finding.claim_id, RULE, finding.message))
            if finding.index is None:
                pages_out.add(path)
            else:
                out.add((path, finding.index))
        claims = []
        references = []
        for page in pages:
            if page.document.path in pages_out:
                continue
            if out:
                path = page.document.path
                claims += [claim for claim in page.claims if (path, claim.index) not in out]
            else:
                claims += page.claims
            references += [Reference(claim_id, page.document) for claim_id in page.claim_refs]
        claims.sort(key=_id_of)
        references.sort(key=lambda reference: (reference.claim_id, reference.document.path))
        states = {}
        stale = {}
        day = today(now).isoformat()  # dates in this form are in the order of their text
        for claim in claims:
            own: tuple[EvidenceState, ...] = ()
            verification = claim.verification
            if verification is not None and verification.evidence_versions:
                sources = self._sources.get(claim.path, {})
                own = states[claim.id] = evidence_states(claim, sources, self._evidence, self._bundle.root)
            if own or (claim.stale_after and claim.stale_after <= day):
                reasons = staleness(claim, own, day)
                if reasons:
                    stale[claim.id] = reasons
        return ClaimSet(
            self._bundle,
            now,
            ontology,
            tuple(claims),
            tuple(references),
            tuple(self._findings),
            tuple(sorted(quarantined)),
            tuple(pages),
            self._sources,
            states,
            stale,
        )

    def _add(self, claim: Claim, message: str, at: Place) -> None:
        self._findings.append(
            Finding(
                claim.document,
                f"claim {shown(claim.id)} {message}",
                ("claims", claim.index, *at),
                claim.index,
                claim.id,
            )
        )

    # Identity

    def _check_ids(self, pages: list[Page]) -> None:
        known = self._known
        total = 0
        for page in pages:
            known.update([claim.id for claim in page.claims])
            known.update([identifier for identifier, _ in page.broken])
            total += len(page.claims) + len(page.broken)
        if len(known) == total:
            return
        places: dict[str, list[tuple[Document, int]]] = defaultdict(list)
        for page in pages:
            here = [(claim.id, claim.index) for claim in page.claims] + page.broken
            for identifier, index in sorted(here, key=lambda item: item[1]):
                places[identifier].append((page.document, index))
        for identifier, copies in places.items():
            if len(copies) == 1:
                continue
            (first, index), *later = copies
            self._where[identifier] = copies[-1][0]
            for document, number in later:
                message = f"claim {shown(identifier)} is not globally unique: {first.path} declares it too"
                at = ("claims", number, "id")
                self._findings.append(Finding(document, message, at, number, identifier))
            message = f"claim {shown(identifier)} is not globally unique: {later[0][0].path} declares it too"
            self._extra.append(Quarantined(first.path, identifier, RULE, message))
            self._out.add((first.path, index))

    # One claim at a time

    def _check_claims(self, pages: list[Page], checker: OntologyChecker) -> None:
        add = self._add
        check = checker.check
        sources_of = self._sources
        moved = self._where
        for page in pages:
            path = page.document.path
            sources = sources_of.get(path, {})
            anchors: Anchors | None = None
            for claim in page.claims:
                for message, at in check(claim):
                    add(claim, message, at)
                if claim.supersedes or claim.contradicts or claim.derived_from:
                    self._check_relations(claim)
                if moved and claim.id in moved:
                    self._check_here(claim, moved[claim.id])
                    continue
                if claim.section_ref:
                    if anchors is None:
                        anchors = Anchors(page.document)
                    if not anchors.has_one(claim.section_ref):
                        add(claim, anchors.problem(claim.section_ref), ("section_ref",))
                for item in claim.evidence:
                    source = sources.get(item.source_ref)
                    if source is None or not source.resource:
                        self._check_source(claim, sources)
                        break

    def _check_here(self, claim: Claim, document: Document) -> None:
        """Check what depends on the page against ``document``: of copies, the last page to declare the id."""
        if claim.section_ref:
            anchors = Anchors(document)
            if not anchors.has_one(claim.section_ref):
                self._add(claim, anchors.problem(claim.section_ref), ("section_ref",))
        self._check_source(claim, self._sources.get(document.path, {}))

    def _check_source(self, claim: Claim, sources: Mapping[str, Source]) -> None:
        for number, item in enumerate(claim.evidence):
            source = sources.get(item.source_ref)
            at: Place = ("evidence", number, "source_ref")
            if source is None:
                message = (
                    f"evidence {shown(item.id)} source_ref {shown(item.source_ref)} is no source of this page"
                )
                self._add(claim, message, at)
            elif not source.resource:
                message = f"evidence {shown(item.id)} source {shown(source.id)} needs a resource"
                self._add(claim, message, at)

    def _check_relations(self, claim: Claim) -> None:
        known = self._known
        for kind in RELATION_KINDS:
            for target in claim.related(kind):
                if target == claim.id:
                    message = f"relations.{kind} names the claim itself"
                elif target not in known:
                    message = f"relations.{kind} names {shown(target)}, which is no claim of this bundle"
                else:
                    continue
                written = claim.document.fields["claims"][claim.index]["relations"][kind]
                number = self._terms.index_of(target, written)
                self._add(claim, message, ("relations", kind, number))

    # Claims among each other

    def _check_references(self, pages: list[Page]) -> None:
        for page in pages:
            for claim_id in page.claim_refs:
                if claim_id not in self._known:
                    message = f"claim_refs names {shown(claim_id)}, which is no claim of this bundle"
                    number = self._terms.index_of(claim_id, page.document.fields["claim_refs"])
                    self._findings.append(Finding(page.document, message, ("claim_refs", number)))

    def _check_cycles(self, pages: list[Page]) -> None:
        claims: dict[str, list[Claim]] = defaultdict(list)
        for page in pages:
            for claim in page.claims:
                if claim.supersedes:
                    claims[claim.id].append(claim)
        if not claims:
            return
        graph = {
            identifier: [
                target
                for copy in copies
                for target in copy.supersedes
                if target in claims and target != identifier
            ]
            for identifier, copies in claims.items()
        }
        for component in cycles(graph):
            message = f"claim supersedes relation contains a cycle at {shown(component[0])}"
            first = claims[component[0]][0]
            at: Place = ("claims", first.index, "relations", "supersedes")
            self._findings.append(Finding(first.document, message, at, first.index, first.id))
            for identifier in component:
                for claim in claims[identifier]:
                    self._extra.append(Quarantined(claim.path, identifier, RULE, message))
                    self._out.add((claim.path, claim.index))

    def _check_successors(self, pages: list[Page]) -> None:
        ended = [claim for page in pages for claim in page.claims if claim.status == "superseded"]
        if not ended:
            return
        succeeded = set()
        for page in pages:
            for claim in page.claims:
                if claim.supersedes:
                    succeeded.update([target for target in claim.supersedes if target != claim.id])
        for claim in ended:
            if claim.id not in succeeded:
                message = "is superseded, but no other claim lists it under relations.supersedes"
                self._add(claim, message, ("status",))

    # Evidence

    def _check_selectors(self, pages: list[Page], store: EvidenceStore) -> None:
        tasks: list[tuple[Claim, int, SelectorTask]] = []
        for page in pages:
            for claim in page.claims:
                for number, item in enumerate(claim.evidence):
                    if item.selector is not None:
                        document = self._where.get(claim.id, page.document)
                        source = self._sources.get(document.path, {}).get(item.source_ref)
                        if source is not None and source.resource:
                            tasks.append((claim, number, selector_task(item, source, document.path)))
        tasks.sort(key=lambda task: (task[2].path, task[0].path, task[0].index, task[1]))
        checker = SelectorChecker(store)
        for claim, number, task in tasks:
            problem = checker.problem(task)
            if problem:
                self._add(claim, problem, ("evidence", number, "selector"))


def cycles(graph: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """Yield the ids of each strongly connected component with more than one node, sorted, smallest first.

    Tarjan's algorithm (1972) with an explicit stack: a chain of any length needs no recursion.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for root in graph:
        if root in index:
            continue
        work: list[tuple[str, Iterator[str]]] = []
        _enter(root, index, low, stack, on_stack)
        work.append((root, iter(graph[root])))
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    _enter(target, index, low, stack, on_stack)
                    work.append((target, iter(graph[target])))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.append(member)
                        if member == node:
                            break
                    if len(component) > 1:
                        found.append(sorted(component))
    yield from sorted(found)


def _enter(
    node: str, index: dict[str, int], low: dict[str, int], stack: list[str], on_stack: set[str]
) -> None:
    index[node] = low[node] = len(index)
    stack.append(node)
    on_stack.add(node)


def _id_of(claim: Claim) -> str:
    return claim.id
