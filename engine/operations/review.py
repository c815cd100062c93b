"""What a reviewer needs to know of a proposal: said in words, quoted, compared, and tried."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from openknowledge.engine import limits
from openknowledge.engine.bundle.document import Document, parse_document
from openknowledge.engine.bundle.instants import format_instant, start_of
from openknowledge.engine.bundle.okf import Source
from openknowledge.engine.claims.access import apply_access
from openknowledge.engine.claims.conflicts import conflicts, duplicates
from openknowledge.engine.claims.evals import eval_root, read_eval_cases
from openknowledge.engine.claims.evidence import EvidenceStore, local_path
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.findings import shown
from openknowledge.engine.claims.impact import claim_impact
from openknowledge.engine.claims.model import ENDED, Claim, ObjectValue, scalar_text
from openknowledge.engine.claims.place import claim_section
from openknowledge.engine.errors import LimitError, OpenKnowledgeError
from openknowledge.engine.operations.apply import patched_page
from openknowledge.engine.operations.proposals import check_claim_proposal
from openknowledge.engine.operations.propose import known_ids
from openknowledge.engine.operations.workspace import (
    check_digest,
    judge,
    judged,
    page_diff,
    page_of,
    with_page,
)

if TYPE_CHECKING:
    from openknowledge.engine.store import Store
    from openknowledge.schemas.operations import (
        ClaimProposal,
        QuotedEvidence,
        Review,
        ReviewedClaim,
        ReviewedConflict,
        ReviewedRelation,
        ReviewResult,
    )


def review_proposals(store: Store, proposals: Sequence[tuple[str, Mapping[str, Any]]]) -> ReviewResult:
    """Return a review of each claim proposal (its name and its content) against the bundle as it is.

    Restricted knowledge that the store has no access to is left out. Nothing is written. Raises
    ``OpenKnowledgeError`` for what is no claim proposal, ``LimitError`` for too many.
    """
    if len(proposals) > limits.REVIEWED_PROPOSALS:
        raise LimitError(
            f"{len(proposals)} proposals; at most {limits.REVIEWED_PROPOSALS} are reviewed at once",
            limit="REVIEWED_PROPOSALS",
        )
    checked = [(name, check_claim_proposal(raw, name)) for name, raw in proposals]
    reviewer = _Reviewer(store)
    reviews = [reviewer.review(name, proposal) for name, proposal in checked]
    _note_collisions(checked, reviews)
    return {
        "schemaVersion": "1",
        "root": str(store.root),
        "revision": store.revision,
        "evaluatedAt": format_instant(store.now),
        "reviews": reviews,
        "policy": store.fact_set.policy,
    }


def _note_collisions(checked: Sequence[tuple[str, ClaimProposal]], reviews: Sequence[Review]) -> None:
    """Say of a proposal that an earlier one of the list is in its way."""
    pages: dict[str, str] = {}
    for (name, proposal), review in zip(checked, reviews, strict=True):
        earlier = pages.get(proposal["document"])
        if earlier is not None and review["applies"]:
            review["problems"].append(
                f"{earlier} is for the same page: once that is applied, this one must be made anew"
            )
        pages.setdefault(proposal["document"], name)


@dataclass(frozen=True)
class _Outlook:
    """The facts as they would be, with what would be wrong."""

    facts: FactSet
    new_data: bytes
    problems: list[str]


class _Reviewer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._facts = store.fact_set
        self._before = judged(store)
        self._cases = read_eval_cases(eval_root(store.root))

    def review(self, name: str, proposal: ClaimProposal) -> Review:
        document = self._document(proposal)
        outlook, problems = self._try(document, proposal)
        facts = outlook.facts if outlook is not None else self._facts
        claim = self._proposed(facts, proposal) if outlook is not None else None
        result: Review = {
            "source": name,
            "document": proposal["document"],
            "title": document.title if document is not None else "",
            "claimId": proposal["claim"]["id"],
            "words": proposal_words(proposal, facts),
            "claim": proposal["claim"],
            "reason": proposal["reason"],
            "confidence": proposal["confidence"],
            "applies": outlook is not None and not problems,
            "problems": problems,
            "evidence": self._evidence(document, proposal),
            "conflicts": [],
            "duplicates": [],
            "sameQuestion": [],
            "relations": self._relations(proposal),
            "becomesStale": [],
            "dependents": [],
            "evals": [],
            "diff": "",
        }
        if document is not None and (reference := proposal["claim"].get("sectionRef")):
            section = claim_section(document, reference)
            if section is not None:
                text = section.text.partition("\n")[2] if section.level else section.text
                result["sectionText"] = _cut(" ".join(text.split()), 3 * limits.REVIEW_CONTEXT)
        if outlook is not None and document is not None:
            # the lines around the change may be those of a claim that this reader may not see
            around = 0 if document.path in facts.hidden else 3
            result["diff"] = page_diff(document.path, document.data, outlook.new_data, around)
            if claim is not None:
                self._consequences(result, claim, facts)
        return result

    def _document(self, proposal: ClaimProposal) -> Document | None:
        try:
            return page_of(self._store.bundle, proposal["document"])
        except OpenKnowledgeError:
            return None

    def _try(self, document: Document | None, proposal: ClaimProposal) -> tuple[_Outlook | None, list[str]]:
        """Return what the bundle would be with the proposal, and why it would be refused."""
        store = self._store
        try:
            page = document or page_of(store.bundle, proposal["document"])
            check_digest(page, proposal["documentSha256"], "the proposal")
            new_data = patched_page(page, proposal)
        except OpenKnowledgeError as error:
            return None, [error.message]
        name = self._canonical(proposal["claim"]["id"])
        if name in known_ids(store.claim_set.pages):
            return None, [f"claim occurrence id already exists: {shown(name)}"]
        after = judge(with_page(store.bundle, {page.path: new_data}), store.config, store.now)
        problems = [f"{issue.path}:{issue.line}: {issue.message}" for issue in after.new_issues(self._before)]
        facts, _ = apply_access(after.claims, store.access)
        return _Outlook(facts, new_data, problems), problems

    def _canonical(self, term: str) -> str:
        return self._facts.terms.canonical[term.strip()] or term.strip()

    def _proposed(self, facts: FactSet, proposal: ClaimProposal) -> Claim | None:
        return facts.by_id.get(self._canonical(proposal["claim"]["id"]))

    # Consequences

    def _consequences(self, result: Review, claim: Claim, facts: FactSet) -> None:
        result["conflicts"] = [
            self._conflict(conflict.maximum, conflict.objects, conflict.claims, claim, facts)
            for conflict in conflicts(facts)
            if claim in conflict.claims
        ]
        result["duplicates"] = [
            reviewed(other, facts)
            for group in duplicates(facts)
            if claim in group
            for other in group
            if other.id != claim.id
        ]
        result["sameQuestion"] = [
            reviewed(other, facts)
            for other in facts.claims
            if other.id != claim.id
            and other.comparison_key == claim.comparison_key
            and _overlap(claim, other)
        ]
        before = {known.id for known in self._facts.claims if self._facts.stale(known)}
        result["becomesStale"] = [
            known.id for known in facts.claims if facts.stale(known) and known.id not in before
        ]
        impact = claim_impact(facts, claim.id, cases=self._cases)
        result["dependents"] = [path for path in impact["documents"] if path != claim.path]
        result["evals"] = [f"{case['dataset']}: {case['caseId']}" for case in impact["evals"]]

    def _conflict(
        self, maximum: int, objects: int, claims: Iterable[Claim], own: Claim, facts: FactSet
    ) -> ReviewedConflict:
        return {
            "maximumCount": maximum,
            "objectCount": objects,
            "claims": [reviewed(other, facts) for other in claims if other.id != own.id],
        }

    def _relations(self, proposal: ClaimProposal) -> list[ReviewedRelation]:
        found: list[ReviewedRelation] = []
        for kind, targets in proposal["claim"].get("relations", {}).items():
            for target in targets:  # type: ignore[attr-defined]
                found.append(self._relation(kind, str(target)))
        return found

    def _relation(self, kind: str, target: str) -> ReviewedRelation:
        name = self._canonical(target)
        claim = self._facts.by_id.get(name)
        if claim is None:
            return {
                "kind": kind,
                "id": name,
                "path": "",
                "status": "missing",
                "trustTier": "unverified",
                "words": "no such claim",
                "dependents": [],
                "derivedClaims": [],
            }
        impact = claim_impact(self._facts, claim.id)
        return {
            "kind": kind,
            **reviewed(claim, self._facts),
            "dependents": sorted(
                {entry["document"] for entry in impact["affected"] if entry["kind"] in _RELYING}
            ),
            "derivedClaims": [entry["id"] for entry in impact["derivedClaims"]],
        }

    # Evidence

    def _evidence(self, document: Document | None, proposal: ClaimProposal) -> list[QuotedEvidence]:
        sources = self._facts.sources_of(document) if document is not None else {}
        if document is not None:
            sources = {**sources, **self._added_sources(document, proposal)}
        store = EvidenceStore(self._store.root)
        return [
            _quoted(item, sources.get(item["sourceRef"].strip()), document, store)
            for item in proposal["claim"]["evidence"]
        ]

    def _added_sources(self, document: Document, proposal: ClaimProposal) -> dict[str, Source]:
        """Return the sources that the patch itself brings."""
        try:
            after = parse_document(document.path, patched_page(document, proposal))
        except OpenKnowledgeError:
            return {}
        held = {source.id for source in document.metadata.sources}
        return {source.id: source for source in after.metadata.sources if source.id not in held}


_RELYING = ("refers", "refers-derived", "derived")
"""How a page depends on a claim itself, and not only on its page or source."""


def reviewed(claim: Claim, facts: FactSet) -> ReviewedClaim:
    """Return another claim as a review names it."""
    return {
        "id": claim.id,
        "path": claim.path,
        "status": claim.status,
        "trustTier": claim.trust_tier,
        "words": claim_words(claim, facts),
    }


def _overlap(one: Claim, other: Claim) -> bool:
    """Whether two claims hold at a common instant, now or later."""
    if other.status in ENDED:
        return False
    return _before(one.valid_from, other.valid_until) and _before(other.valid_from, one.valid_until)


def _before(start: str, end: str) -> bool:
    first, last = start_of(start), start_of(end)
    return first is None or last is None or first < last


# Words


def claim_words(claim: Claim, facts: FactSet) -> str:
    """Return what a claim says as a sentence of labels."""
    scope = [(dimension, _value_words(value, facts)) for dimension, value in claim.scope]
    return _sentence(
        facts,
        claim.subject,
        claim.predicate,
        _value_words(claim.object, facts),
        scope,
        claim.valid_from,
        claim.valid_until,
    )


def proposal_words(proposal: ClaimProposal, facts: FactSet) -> str:
    """Return what a proposed claim says as a sentence of labels."""
    claim = proposal["claim"]
    canonical = facts.terms.canonical

    def value(raw: Mapping[str, Any]) -> str:
        ref = raw.get("ref", "")
        return _value_words(
            ObjectValue(
                canonical[ref] or ref,
                raw.get("value"),
                raw.get("datatype", ""),
                raw.get("language", ""),
                raw.get("unit", ""),
            ),
            facts,
        )

    times = claim.get("validTime", {})
    return _sentence(
        facts,
        canonical[claim["subject"]] or claim["subject"],
        canonical[claim["predicate"]] or claim["predicate"],
        value(claim["object"]),
        [(dimension, value(item)) for dimension, item in sorted(claim.get("scope", {}).items())],
        times.get("from", ""),
        times.get("until", ""),
    )


def _sentence(
    facts: FactSet,
    subject: str,
    predicate: str,
    value: str,
    scope: Sequence[tuple[str, str]],
    start: str,
    end: str,
) -> str:
    known = facts.ontology.predicates.get(predicate)
    verb = known.pref_label if known is not None and known.pref_label else _spelled(predicate)
    text = f"{_entity_words(subject, facts)}: {verb}: {value}"
    if scope:
        text += " (" + "; ".join(f"{_spelled(dimension)}: {words}" for dimension, words in scope) + ")"
    if start or end:
        text += ", " + " ".join(part for part in (start and f"from {start}", end and f"until {end}") if part)
    return text


def _entity_words(term: str, facts: FactSet) -> str:
    entity = facts.ontology.entities.get(term)
    return entity.pref_label if entity is not None and entity.pref_label else _spelled(term)


def _value_words(value: ObjectValue, facts: FactSet) -> str:
    if value.ref:
        return _entity_words(value.ref, facts)
    text = scalar_text(value.value)
    if value.unit:
        return f"{text} {_local(value.unit)}"
    return f"{text} ({value.language})" if value.language else text


def _local(term: str) -> str:
    return re.split(r"[/#:]", term.rstrip("/#"))[-1]


def _spelled(term: str) -> str:
    """Return the last part of a term as words: ``auth:tokenLifetime`` gives ``token lifetime``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", _local(term))
    return re.sub(r"[-_]+", " ", words).lower() if words else term


# Quotations


def _quoted(
    item: Mapping[str, Any], source: Source | None, document: Document | None, store: EvidenceStore
) -> QuotedEvidence:
    """Return evidence with the words around it, or why they cannot be shown."""
    found: QuotedEvidence = {
        "id": item["id"],
        "sourceRef": item["sourceRef"],
        "stance": item["stance"],
        "role": item["role"],
    }
    if source is None or document is None:
        found["problem"] = "no source of this id on the page"
        return found
    found["resource"] = source.live_resource or source.resource
    if source.title:
        found["title"] = source.title
    selector = item.get("selector")
    if selector is None:
        found["problem"] = "no selector: the whole source is cited, nothing is quoted"
        return found
    path = local_path(source.resource, document.path)
    artifact = store.artifact(path) if path is not None else None
    if path is None or artifact is None or artifact.state != "read":
        why = artifact.problem if artifact is not None else "is not kept in the bundle"
        found["problem"] = f"{source.resource} {why}"
        return found
    found["artifact"] = path
    if source.sha256 and artifact.sha256 != source.sha256:
        found["problem"] = f"{path} has sha256 {artifact.sha256}, not the pinned {source.sha256}"
        return found
    place = _place(selector, store.data(path), path)
    if place is None:
        found["problem"] = f"the {selector['type']} selector finds nothing in {path}"
        return found
    text, start, end = place
    reach = limits.REVIEW_CONTEXT
    found["line"] = text.count("\n", 0, start) + 1
    found["before"] = ("…" if start > reach else "") + text[max(0, start - reach) : start]
    found["quote"] = _cut(text[start:end], 10 * reach)
    found["after"] = text[end : end + reach] + ("…" if end + reach < len(text) else "")
    return found


def _place(selector: Mapping[str, Any], data: bytes, path: str) -> tuple[str, int, int] | None:
    """Return the text of an artifact with the range that a selector marks; ``None`` when there is none."""
    kind = selector["type"]
    if kind == "data_position":
        start, end = selector["start"], selector["end"]
        if end > len(data):
            return None
        parts = [part.decode("utf-8", "replace") for part in (data[:start], data[start:end], data[end:])]
        return "".join(parts), len(parts[0]), len(parts[0]) + len(parts[1])
    text = data.decode("utf-8", "replace")
    if kind == "text_quote":
        at = text.find(selector["exact"])
        return None if at < 0 else (text, at, at + len(selector["exact"]))
    if kind == "text_position":
        return None if selector["end"] > len(text) else (text, selector["start"], selector["end"])
    if kind == "fragment":
        return _fragment(selector["value"], text, path)
    return None


def _fragment(value: str, text: str, path: str) -> tuple[str, int, int] | None:
    name = unquote(value.removeprefix("#"))
    if path.lower().endswith((".md", ".markdown")):
        page = parse_document("artifact.md", text.encode())
        section = page.section_with_anchor(name)
        if section is None:
            return None
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").splitlines(keepends=True)
        start = sum(len(line) for line in lines[: section.line_start - 1])
        return (
            "".join(lines),
            start,
            start + sum(len(line) for line in lines[section.line_start - 1 : section.line_end]),
        )
    found = re.search(rf"""\bid\s*=\s*["']?{re.escape(name)}["'\s>]""", text)
    if found is None:
        return None
    start = text.rfind("<", 0, found.start())
    return text, start if start >= 0 else found.start(), min(len(text), found.end() + limits.REVIEW_CONTEXT)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
