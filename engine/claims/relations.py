"""Claims as base relations of the rule engine: for each relation its rows, each with where it was read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.instants import format_instant, parse_instant
from openknowledge.engine.claims.access import is_visible
from openknowledge.engine.claims.evals import EvalCase
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.freshness import instant_of, today, valid_end, valid_start
from openknowledge.engine.claims.model import Claim
from openknowledge.engine.claims.ontology import KEY
from openknowledge.engine.claims.place import ClaimPlace
from openknowledge.engine.facts.relations import Column, Relation

Row = tuple[str | int | float, ...]
Fact = tuple[Row, ClaimPlace]
Builder = Callable[[FactSet], Iterator[Fact]]


def claim_sources(
    facts: FactSet,
    *,
    horizon: str = "",
    cases: Iterable[EvalCase] = (),
    reviewed: Mapping[str, str] | None = None,
) -> dict[str, Callable[[], Iterator[Fact]]]:
    """Return, for each relation about claims, what gives its facts. Nothing is built before it is called.

    ``horizon`` is the last day that is looked ahead to, ``cases`` what evaluations expect, ``reviewed`` the
    digest that the section of a claim had when the claim's verification was already there.
    """
    sources: dict[str, Callable[[], Iterator[Fact]]] = {
        name: partial(builder, facts) for name, builder in BUILDERS.items()
    }
    sources["horizon"] = partial(_horizon, facts, horizon)
    sources["eval_case"] = partial(_eval_cases, facts, tuple(cases))
    sources["section_reviewed"] = partial(_section_reviewed, facts, reviewed or {})
    return sources


# What claims say


def _claim(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        yield (claim.id, claim.subject, claim.predicate, claim.object.text), facts.place(claim)


def _status(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        yield (claim.id, claim.status), facts.place(claim)


def _trust(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        yield (claim.id, claim.trust_tier), facts.place(claim)


def _stale(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        yield (claim.id, "true" if facts.stale(claim) else "false"), facts.place(claim)


def _valid_time(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        yield (claim.id, claim.valid_from, claim.valid_until), facts.place(claim)


def _source(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        place = facts.place(claim)
        yield (claim.id, claim.path, place.locator), place


def _scope(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        for dimension, value in claim.scope:
            yield (claim.id, dimension, value.text), facts.place(claim)


def _object_metadata(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        found = claim.object
        row = (claim.id, found.datatype, found.language, found.unit, found.quantity_kind)
        yield row, facts.place(claim)


def _evidence(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        for item in claim.evidence:
            yield (claim.id, item.id, item.stance), facts.place(claim)


def _relation(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        for kind, target in facts.related(claim):
            yield (claim.id, kind, target), facts.place(claim)


def _claim_in(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        yield (claim.id, claim.document.id, facts.section_id(claim)), facts.place(claim)


def _claim_ref(facts: FactSet) -> Iterator[Fact]:
    for reference in facts.references:
        place = ClaimPlace(facts.bundle, reference.document, field=("claim_refs",))
        yield (reference.document.id, reference.claim_id), place


def _slot(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        yield (claim.id, claim.slot), facts.place(claim)


def _owner(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        for owner in claim.owners:
            yield (claim.id, owner), facts.place(claim)


def _evidence_source(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        for item in claim.evidence:
            yield (claim.id, item.id, claim.document.id, item.source_ref), facts.place(claim)


def _verified_by(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        if claim.status == "verified" and claim.verification is not None:
            yield (claim.id, claim.verification.by, claim.verification.at), facts.place(claim)


def _claim_number(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        value = claim.object.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = int(value) if isinstance(value, float) and value.is_integer() else value
            yield (claim.id, number, claim.object.unit), facts.place(claim)


# What claims may use


def _home(facts: FactSet, kind: str, identifier: str) -> ClaimPlace:
    return ClaimPlace(facts.bundle, facts.ontology.home(kind, identifier), field=(KEY,))


def _entity(facts: FactSet) -> Iterator[Fact]:
    for entity in facts.ontology.entities.values():
        place = _home(facts, "entity", entity.id)
        for kind in entity.types or ("",):
            yield (entity.id, kind), place


def _entity_label(facts: FactSet) -> Iterator[Fact]:
    for entity in facts.ontology.entities.values():
        place = _home(facts, "entity", entity.id)
        if entity.pref_label:
            yield (entity.id, entity.pref_label, "preferred"), place
        for label in entity.alt_labels:
            yield (entity.id, label, "alternate"), place


def _predicate(facts: FactSet) -> Iterator[Fact]:
    for predicate in facts.ontology.predicates.values():
        yield (predicate.id, predicate.object_kind), _home(facts, "predicate", predicate.id)


def _maximum_count(facts: FactSet) -> Iterator[Fact]:
    for predicate in facts.ontology.predicates.values():
        if predicate.maximum_count:
            yield (predicate.id, predicate.maximum_count), _home(facts, "predicate", predicate.id)


# What rules cannot see: the clock, files, normal forms


def _clock_place(facts: FactSet) -> ClaimPlace | None:
    """The clock stands on no page: the root index, or else the first page, stands for it."""
    documents = facts.bundle.documents
    return ClaimPlace(facts.bundle, facts.bundle.by_path.get("index.md", documents[0])) if documents else None


def _now(facts: FactSet) -> Iterator[Fact]:
    if place := _clock_place(facts):
        yield (format_instant(facts.now),), place


def _today(facts: FactSet) -> Iterator[Fact]:
    if place := _clock_place(facts):
        yield (today(facts.now).isoformat(),), place


def _horizon(facts: FactSet, day: str) -> Iterator[Fact]:
    place = _clock_place(facts)
    if day and place:
        yield (day,), place


def _eval_cases(facts: FactSet, cases: tuple[EvalCase, ...]) -> Iterator[Fact]:
    by_path = facts.bundle.by_path
    for case in cases:
        for path in case.paths:
            if document := by_path.get(path):
                yield (case.dataset, case.id, document.id), ClaimPlace(facts.bundle, document)


def _stale_after(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        if claim.stale_after:
            yield (claim.id, claim.stale_after), facts.place(claim)


def _evidence_reviewed(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        for state in facts.states(claim):
            seen = state.version
            row = (claim.id, seen.evidence_ref, seen.source_ref, seen.resource, seen.sha256, seen.at)
            yield row, facts.place(claim)


def _evidence_declared(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        for state in facts.states(claim):
            if state.source_ref:
                row = (claim.id, state.version.evidence_ref, state.source_ref, state.resource)
                yield row, facts.place(claim)


def _evidence_file(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        for state in facts.states(claim):
            if state.source_ref:
                row = (claim.id, state.version.evidence_ref, state.file, state.sha256)
                yield row, facts.place(claim)


def _verified_until(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        if moment := verified_until(claim):
            yield (claim.id, moment), facts.place(claim)


def _text_generated(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        if claim.status == "verified" and (moment := text_generated(claim.document)):
            yield (claim.id, moment), ClaimPlace(facts.bundle, claim.document, field=("generated",))


def verified_until(claim: Claim) -> str:
    """Return the last instant at which a verified claim may have been checked; ``""`` if it is not verified.

    A verification dated with a day alone may have taken place until the end of that day.
    """
    if claim.status != "verified" or claim.verification is None:
        return ""
    at = claim.verification.at
    return instant_of(at) if "T" in at else f"{at}T23:59:59.999999Z"


def text_generated(document: Document) -> str:
    """Return the instant at which the page says its text was written; ``""`` when it does not say."""
    made = document.metadata.generated
    moment = parse_instant(made.at) if made is not None else None
    return format_instant(moment) if moment is not None else ""


def is_verification_outdated(claim: Claim) -> bool:
    """Whether the page says that its text was written after the claim was verified."""
    verified = verified_until(claim)
    written = text_generated(claim.document) if verified else ""
    if not written:
        return False
    # the comparison of the rules, so that both judge alike
    from openknowledge.engine.datalog.values import COMPARISONS

    return COMPARISONS["<"](verified, written)


def _section_reviewed(facts: FactSet, reviewed: Mapping[str, str]) -> Iterator[Fact]:
    for name, digest in sorted(reviewed.items()):
        claim = facts.by_id.get(name)
        if claim is not None:
            yield (name, digest), facts.place(claim)


def _section_digest(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        if claim.status == "verified":
            place = facts.place(claim)
            yield (claim.id, place.content_sha256), place


def _validity(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        yield (claim.id, valid_start(claim), valid_end(claim)), facts.place(claim)


def _comparison_key(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        yield (claim.id, claim.comparison_key), facts.place(claim)


def _scope_key(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        yield (claim.id, claim.scope_key), facts.place(claim)


def _object_key(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        yield (claim.id, claim.object.normalised), facts.place(claim)


def source_set(claim: Claim) -> str:
    """Return the sources that a claim cites as one text."""
    return "\x1f".join(sorted({item.source_ref for item in claim.evidence}))


def _cites(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        yield (claim.id, source_set(claim)), facts.place(claim)


def _decision(facts: FactSet) -> Iterator[Fact]:
    for claim in facts.claims:
        for found in claim.decisions:
            yield (claim.id, found.action, found.by, found.at), facts.place(claim)


# Sources of pages


def _document_source(facts: FactSet) -> Iterator[Fact]:
    """The sources of pages that may be seen; restricted ones are no facts at all."""
    for document in facts.bundle.documents:
        is_open = document.path not in facts.hidden
        for source in document.metadata.sources:
            if source.resource and (is_open or is_visible(source, facts.granted)):
                row = (document.id, source.id, source.resource)
                yield row, ClaimPlace(facts.bundle, document, field=("sources", source.index))


def _source_access(facts: FactSet) -> Iterator[Fact]:
    for fact in facts.sources:
        for label in fact.source.access:
            yield (
                (fact.document.id, fact.source.id, label),
                _source_place(facts, fact.document, fact.source.index),
            )


def _source_role(facts: FactSet) -> Iterator[Fact]:
    for fact in facts.sources:
        if fact.source.role:
            row = (fact.document.id, fact.source.id, fact.source.role)
            yield row, _source_place(facts, fact.document, fact.source.index)


def _source_approved(facts: FactSet) -> Iterator[Fact]:
    for fact in facts.sources:
        if fact.source.authority_approved_by:
            row = (fact.document.id, fact.source.id, fact.source.authority_approved_by)
            yield row, _source_place(facts, fact.document, fact.source.index)


def _source_place(facts: FactSet, document: Document, index: int) -> ClaimPlace:
    return ClaimPlace(facts.bundle, document, field=("sources", index))


BUILDERS: Mapping[str, Builder] = {
    "claim": _claim,
    "status": _status,
    "trust": _trust,
    "stale": _stale,
    "valid_time": _valid_time,
    "source": _source,
    "scope": _scope,
    "object_metadata": _object_metadata,
    "evidence": _evidence,
    "relation": _relation,
    "claim_in": _claim_in,
    "claim_ref": _claim_ref,
    "slot": _slot,
    "owner": _owner,
    "evidence_source": _evidence_source,
    "verified_by": _verified_by,
    "entity": _entity,
    "entity_label": _entity_label,
    "predicate": _predicate,
    "maximum_count": _maximum_count,
    "claim_number": _claim_number,
    "document_source": _document_source,
    "now": _now,
    "today": _today,
    "stale_after": _stale_after,
    "evidence_reviewed": _evidence_reviewed,
    "evidence_declared": _evidence_declared,
    "evidence_file": _evidence_file,
    "verified_until": _verified_until,
    "text_generated": _text_generated,
    "section_digest": _section_digest,
    "validity": _validity,
    "comparison_key": _comparison_key,
    "scope_key": _scope_key,
    "object_key": _object_key,
    "cites": _cites,
    "decision": _decision,
    "source_access": _source_access,
    "source_role": _source_role,
    "source_approved": _source_approved,
}


def _support(name: str, columns: str, about: str) -> Relation:
    parts = [part.strip().partition(":") for part in columns.split(",")]
    kinds = tuple(Column(column, kind.strip() or "text") for column, _, kind in parts)  # type: ignore[arg-type]
    return Relation(name, kinds, about, (), "claims")


SUPPORT_RELATIONS: tuple[Relation, ...] = (
    _support("now", "time: time", "the instant as of which everything is judged"),
    _support("today", "day: time", "the UTC day of that instant"),
    _support(
        "horizon", "day: time", "the last day that is looked ahead to, when somebody asks what will be stale"
    ),
    _support("stale_after", "claim: claim, day: time", "the day from which a claim is stale"),
    _support(
        "evidence_reviewed",
        "claim: claim, evidence, source, resource, sha256, time: time",
        "what a piece of evidence was when it was reviewed last",
    ),
    _support(
        "evidence_declared",
        "claim: claim, evidence, source, resource",
        "the source and live resource that a reviewed piece of evidence has now; none if its source is gone",
    ),
    _support(
        "evidence_file",
        "claim: claim, evidence, state, sha256",
        "the state of that resource now: `read` with its digest, `missing`, `not-regular`, `too-large`, "
        "`unresolvable`, `remote` (never fetched) or `unchecked`",
    ),
    _support(
        "verified_until",
        "claim: claim, time: time",
        "the last instant at which a verified claim may have been checked",
    ),
    _support(
        "text_generated",
        "claim: claim, time: time",
        "when the text of the page on which a verified claim stands was written, as the page says",
    ),
    _support(
        "section_digest",
        "claim: claim, sha256",
        "the digest of the section that a verified claim is bound to (of its page's first section otherwise)",
    ),
    _support(
        "section_reviewed",
        "claim: claim, sha256",
        "that digest in an earlier state of the bundle which already had the same verification",
    ),
    _support(
        "validity",
        "claim: claim, start: time, end: time",
        "when a claim holds, as instants; an open end is the year 1 or the end of the year 9999",
    ),
    _support(
        "comparison_key",
        "claim: claim, key",
        "what two claims share that answer one question: slot, subject, predicate and scope",
    ),
    _support("scope_key", "claim: claim, key", "the scope of a claim as one text"),
    _support("object_key", "claim: claim, key", "the object of a claim in normal form"),
    _support("cites", "claim: claim, sources", "the sources that a claim cites as one text"),
    _support(
        "decision",
        "claim: claim, action, actor, time: time",
        "who rejected, superseded or archived a claim, and when",
    ),
    _support("source_access", "document: document, source, label", "a label that gives access to a source"),
    _support(
        "source_role",
        "document: document, source, role",
        "the role of a source: authoritative, supporting or contradicting",
    ),
    _support(
        "source_approved",
        "document: document, source, actor",
        "who approved the authority of a source",
    ),
    _support(
        "eval_case",
        "dataset, case, document: document",
        "a case of an evaluation dataset that expects a page",
    ),
)
"""The relations that the claim rules need beside those of the vocabulary."""
