"""Claims as RDF triples."""

from __future__ import annotations

from collections.abc import Iterator

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.claims.factset import FactSet, SourceFact, source_key
from openknowledge.engine.claims.machine import evidence_key
from openknowledge.engine.claims.model import Claim, Evidence, ObjectValue, Scalar, Selector
from openknowledge.engine.claims.numbers import rdf_number
from openknowledge.engine.claims.terms import OA, OKN, PROV, QUDT, RDF, SKOS, XSD
from openknowledge.engine.facts.terms import Node, Triple, minted, nquads_object

_TYPE = RDF + "type"
_BOOLEAN = XSD + "boolean"
_INTEGER = XSD + "integer"
_STRING = XSD + "string"


def claim_triples(facts: FactSet, *, reifiers: bool = False) -> list[Triple]:
    """Return the triples of a fact set, unique and sorted.

    Each is subject IRI, predicate IRI, kind of object (``iri`` or ``literal``), its value, datatype IRI and
    language. With ``reifiers`` each claim also reifies its statement as RDF 1.2 has it: an object of kind
    ``triple``, whose value is the triple term in N-Quads syntax.
    """
    return sorted(set(_Projection(facts).triples(reifiers=reifiers)))


def _text(value: str) -> Node:
    return ("literal", value, _STRING, "")


def _iri(value: str) -> Node:
    return ("iri", value, "", "")


def _number(value: int) -> Node:
    return ("literal", str(value), _INTEGER, "")


def temporal(value: str) -> Node:
    """Return a date or timestamp as a typed literal."""
    return ("literal", value, XSD + ("dateTime" if "T" in value else "date"), "")


class _Projection:
    def __init__(self, facts: FactSet) -> None:
        self._facts = facts
        self._expand = facts.terms.expand
        self._revision = facts.bundle.index_sha256

    def triples(self, *, reifiers: bool) -> Iterator[Triple]:
        facts = self._facts
        for entity in facts.ontology.entities.values():
            yield from self._entity(entity.id)
        for predicate in facts.ontology.predicates.values():
            yield from self._predicate(predicate.id)
        for role in facts.ontology.evidence_roles.values():
            subject = self._expand(role.id)
            yield (subject, _TYPE, *_iri(OKN + "EvidenceRole"))
            if role.pref_label:
                yield (subject, SKOS + "prefLabel", *_text(role.pref_label))
        for fact in facts.sources:
            yield from self._source(fact)
        for claim in facts.claims:
            yield from self._claim(claim)
            if reifiers:
                yield self._reifier(claim)
        for reference in facts.references:
            subject = self._document(reference.document)
            yield from self._document_triples(reference.document)
            yield (subject, OKN + "referencesClaim", *_iri(self._expand(reference.claim_id)))

    # Names

    def _minted(self, kind: str, key: str) -> str:
        return minted(self._revision, kind, key)

    def _document(self, document: Document) -> str:
        return self._minted("document", document.path)

    # The ontology

    def _entity(self, identifier: str) -> Iterator[Triple]:
        entity = self._facts.ontology.entities[identifier]
        subject = self._expand(identifier)
        for kind in entity.types:
            yield (subject, _TYPE, *_iri(self._expand(kind)))
        if entity.pref_label:
            yield (subject, SKOS + "prefLabel", *_text(entity.pref_label))
        for label in entity.alt_labels:
            yield (subject, SKOS + "altLabel", *_text(label))
        if entity.deprecated:
            yield (subject, OKN + "deprecated", "literal", "true", _BOOLEAN, "")
        if entity.replaced_by:
            yield (subject, OKN + "replacedBy", *_iri(self._expand(entity.replaced_by)))

    def _predicate(self, identifier: str) -> Iterator[Triple]:
        predicate = self._facts.ontology.predicates[identifier]
        subject = self._expand(identifier)
        yield (subject, _TYPE, *_iri(RDF + "Property"))
        yield (subject, OKN + "objectKind", *_text(predicate.object_kind))
        if predicate.pref_label:
            yield (subject, SKOS + "prefLabel", *_text(predicate.pref_label))
        for kind in predicate.subject_types:
            yield (subject, OKN + "subjectType", *_iri(self._expand(kind)))
        if predicate.datatype:
            yield (subject, OKN + "datatype", *_iri(self._expand(predicate.datatype)))
        if predicate.quantity_kind:
            yield (subject, QUDT + "hasQuantityKind", *_iri(self._expand(predicate.quantity_kind)))
        if predicate.canonical_unit:
            yield (subject, QUDT + "unit", *_iri(self._expand(predicate.canonical_unit)))
        for dimension in predicate.required_scope:
            yield (subject, OKN + "requiredScope", *_iri(self._expand(dimension)))
        if predicate.maximum_count > 0:
            yield (subject, OKN + "maximumCount", *_number(predicate.maximum_count))

    def _source(self, fact: SourceFact) -> Iterator[Triple]:
        source = fact.source
        subject = self._minted("source", fact.key)
        yield (subject, _TYPE, *_iri(OKN + "Source"))
        yield (subject, OKN + "sourceId", *_text(source.id))
        yield (subject, OKN + "declaredIn", *_iri(self._document(fact.document)))
        yield (subject, OKN + "resource", *_text(source.resource))
        for predicate, value in (
            (SKOS + "prefLabel", source.title),
            (OKN + "author", source.author),
            (OKN + "observe", source.observe),
            (OKN + "sha256", source.sha256),
            (OKN + "role", source.role),
            (OKN + "authorityApprovedBy", source.authority_approved_by),
        ):
            if value:
                yield (subject, predicate, *_text(value))
        for label in source.access:
            yield (subject, OKN + "access", *_text(label))

    # Claims

    def _value(self, found: ObjectValue) -> Node:
        if found.ref:
            return _iri(self._expand(found.ref))
        value = found.value
        if value is None:
            raise ValueError("an object has a ref or a value")
        if found.language:
            return ("literal", str(value), "", found.language)
        datatype = self._expand(found.datatype) if found.datatype else _inferred(value)
        return ("literal", _lexical(value), datatype, "")

    def _claim(self, claim: Claim) -> Iterator[Triple]:
        facts = self._facts
        expand = self._expand
        subject = expand(claim.id)
        value = self._value(claim.object)
        yield (subject, _TYPE, *_iri(OKN + "ClaimOccurrence"))
        yield (subject, OKN + "slot", *_iri(expand(claim.slot)))
        yield (subject, RDF + "subject", *_iri(expand(claim.subject)))
        yield (subject, RDF + "predicate", *_iri(expand(claim.predicate)))
        yield (subject, RDF + "object", *value)
        yield (expand(claim.subject), expand(claim.predicate), *value)
        yield (subject, OKN + "status", *_text(claim.status))
        yield (subject, OKN + "trustTier", *_text(claim.trust_tier))
        stale = "true" if facts.stale(claim) else "false"
        yield (subject, OKN + "stale", "literal", stale, _BOOLEAN, "")
        if claim.stale_after:
            yield (subject, OKN + "staleAfter", *_text(claim.stale_after))
        if claim.section_ref:
            yield (subject, OKN + "sectionRef", *_text(claim.section_ref))
        for owner in claim.owners:
            yield (subject, OKN + "owner", *_text(owner))
        found = claim.object
        yield from self._literal_facts(subject, found, OKN + "objectDatatype", OKN + "objectLanguage")
        if claim.valid_from:
            yield (subject, OKN + "validFrom", *temporal(claim.valid_from))
        if claim.valid_until:
            yield (subject, OKN + "validUntil", *temporal(claim.valid_until))
        yield from self._scope(claim, subject)
        yield from self._lifecycle(claim, subject)
        for item in claim.evidence:
            yield from self._evidence(claim, item, subject)
        for kind, target in facts.related(claim):
            predicate = PROV + "wasDerivedFrom" if kind == "derived_from" else OKN + kind
            yield (subject, predicate, *_iri(expand(target)))
        yield from self._place(claim, subject)

    def _literal_facts(
        self, subject: str, found: ObjectValue, datatype: str, language: str
    ) -> Iterator[Triple]:
        if found.datatype:
            yield (subject, datatype, *_iri(self._expand(found.datatype)))
        if found.unit:
            yield (subject, QUDT + "unit", *_iri(self._expand(found.unit)))
        if found.quantity_kind:
            yield (subject, QUDT + "hasQuantityKind", *_iri(self._expand(found.quantity_kind)))
        if found.language:
            yield (subject, language, *_text(found.language))

    def _scope(self, claim: Claim, subject: str) -> Iterator[Triple]:
        for dimension, value in claim.scope:
            node = self._minted("scope", f"{claim.id}#{dimension}")
            yield (subject, OKN + "scope", *_iri(node))
            yield (node, OKN + "scopeDimension", *_iri(self._expand(dimension)))
            yield (node, RDF + "value", *self._value(value))
            yield from self._literal_facts(node, value, OKN + "valueDatatype", OKN + "valueLanguage")

    def _lifecycle(self, claim: Claim, subject: str) -> Iterator[Triple]:
        verification = claim.verification
        if verification is not None:
            node = self._minted("verification", claim.id)
            yield (subject, OKN + "verification", *_iri(node))
            yield (node, OKN + "method", *_text(verification.method))
            yield (node, OKN + "by", *_text(verification.by))
            yield (node, OKN + "at", *temporal(verification.at))
            for reference in verification.evidence_refs:
                yield (node, OKN + "evidenceRef", *_text(reference))
        for number, decision in enumerate(claim.decisions):
            node = self._minted("decision", f"{claim.id}#{number}")
            yield (subject, OKN + "decision", *_iri(node))
            yield (node, OKN + "action", *_text(decision.action))
            yield (node, OKN + "by", *_text(decision.by))
            yield (node, OKN + "at", *temporal(decision.at))
            if decision.reason:
                yield (node, OKN + "reason", *_text(decision.reason))

    def _evidence(self, claim: Claim, item: Evidence, subject: str) -> Iterator[Triple]:
        key = evidence_key(claim, item)
        node = self._minted("evidence", key)
        source = self._minted("source", source_key(claim.document, item.source_ref))
        yield (subject, OKN + "evidence", *_iri(node))
        yield (node, _TYPE, *_iri(OA + "Annotation"))
        yield (node, OKN + "claim", *_iri(subject))
        yield (node, OKN + "source", *_iri(source))
        yield (node, OKN + "evidenceId", *_text(item.id))
        yield (node, OKN + "sourceRef", *_text(item.source_ref))
        yield (node, OKN + "stance", *_text(item.stance))
        yield (node, OKN + "role", *_text(item.role))
        if item.observed_at:
            yield (node, OKN + "observedAt", *temporal(item.observed_at))
        if item.selector is not None:
            selector = self._minted("selector", key)
            yield (node, OA + "hasSelector", *_iri(selector))
            yield from self._selector(selector, item.selector)

    def _selector(self, node: str, selector: Selector) -> Iterator[Triple]:
        yield (node, OKN + "selectorType", *_text(selector.type))
        for name, value in (
            ("value", selector.value),
            ("exact", selector.exact),
            ("prefix", selector.prefix),
            ("suffix", selector.suffix),
            ("conformsTo", selector.conforms_to),
        ):
            if value:
                yield (node, OKN + name, *_text(value))
        for name, number in (("start", selector.start), ("end", selector.end), ("page", selector.page)):
            if number is not None:
                yield (node, OKN + name, *_number(number))

    def _place(self, claim: Claim, subject: str) -> Iterator[Triple]:
        place = self._facts.place(claim).to_json()
        document = self._document(claim.document)
        yield (subject, PROV + "wasDerivedFrom", *_iri(document))
        for name, line in (("lineStart", place.get("lineStart", 0)), ("lineEnd", place.get("lineEnd", 0))):
            if line > 0:
                yield (subject, OKN + name, *_number(line))
        yield from self._document_triples(claim.document)
        yield (document, OKN + "locator", *_text(place["locator"]))
        yield (document, OKN + "contentSha256", *_text(place["contentSha256"]))

    def _document_triples(self, document: Document) -> Iterator[Triple]:
        subject = self._document(document)
        yield (subject, OKN + "documentId", *_text(document.id))
        yield (subject, OKN + "path", *_text(document.path))

    def _reifier(self, claim: Claim) -> Triple:
        expand = self._expand
        value = nquads_object(*self._value(claim.object))
        term = f"<<( <{expand(claim.subject)}> <{expand(claim.predicate)}> {value} )>>"
        return (expand(claim.id), RDF + "reifies", "triple", term, "", "")


def _lexical(value: Scalar) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return rdf_number(value)


def _inferred(value: Scalar) -> str:
    if isinstance(value, str):
        return _STRING
    if isinstance(value, bool):
        return _BOOLEAN
    return _INTEGER if isinstance(value, int) else XSD + "double"
