"""Suggests sections for which a claim could be written. Nothing is written here."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.bundle.slugs import WHITESPACE, slug
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.ontology import label_key
from openknowledge.engine.claims.profile import SECTION_REF
from openknowledge.engine.claims.results import envelope
from openknowledge.engine.errors import OpenKnowledgeError

if TYPE_CHECKING:
    from openknowledge.schemas.claims import Suggestion, SuggestResult

EXCERPT_BYTES = 500
REUSED_SLOTS = 5


def suggest_claims(facts: FactSet, reference: str = "") -> SuggestResult:
    """Return a candidate for each section with text that no claim is bound to.

    ``reference`` is the path or id of one page; without it every page is looked at. Raises
    ``OpenKnowledgeError`` when there is no such page.
    """
    documents: tuple[Document, ...] = facts.bundle.documents
    if reference:
        document = facts.bundle.document_at(reference)
        if document is None:
            raise OpenKnowledgeError(f"there is no page {reference!r} in this bundle")
        documents = (document,)
    slots = _SlotIndex(facts)
    results = [
        suggestion
        for document in documents
        if not document.reserved
        for suggestion in _of_page(facts, document, slots)
    ]
    found: SuggestResult = envelope(facts, {"results": results})
    return found


def _of_page(facts: FactSet, document: Document, slots: _SlotIndex) -> list[Suggestion]:
    bound = {claim.section_ref[1:] for claim in facts.claims_of(document) if claim.section_ref}
    sources = sorted(facts.sources_of(document))
    base = slug(document.path.rpartition("/")[2].rpartition(".")[0])
    found: list[Suggestion] = []
    for section in document.sections:
        anchor = _anchor(document, section)
        excerpt = _excerpt(document, section)
        if not section.level or not anchor or not excerpt or not bound.isdisjoint(section.anchors):
            continue
        found.append(
            {
                "document": document.path,
                "sectionRef": f"#{anchor}",
                "heading": section.heading,
                "excerpt": excerpt,
                "suggestedOccurrenceId": f"okn:claim/knowledge/{base}/{slug(section.heading)}",
                "sourceIds": sources,
                "reuseSlots": slots.for_section(document, section),
                "status": "candidate",
            }
        )
    return found


def _anchor(document: Document, section: Section) -> str:
    """Return a name by which ``section_ref`` reaches the section: an explicit id, else its slug."""
    explicit = Counter(name for name, _ in document.outline.explicit_ids)
    slugs = Counter(heading.slug for heading in document.outline.headings)
    for name in section.anchors:
        if explicit[name] == 1 and SECTION_REF.match(f"#{name}"):
            return name
    name = section.slug
    usable = explicit[name] == 0 and slugs[name] == 1 and SECTION_REF.match(f"#{name}")
    return name if usable else ""


def _excerpt(document: Document, section: Section) -> str:
    """Return the start of the section's text without headings, at most ``EXCERPT_BYTES`` long."""
    headings = {
        line - section.line_start
        for heading in document.outline.headings
        for line in range(heading.line, heading.last_line + 1)
    }
    rows = section.text.split("\n")
    text = "\n".join(row for number, row in enumerate(rows) if number not in headings).strip(WHITESPACE)
    return text.encode()[:EXCERPT_BYTES].decode("utf-8", "ignore").strip(WHITESPACE)


class _SlotIndex:
    """Slots that a new claim may answer: those of subjects that a text names, then those of its page."""

    def __init__(self, facts: FactSet) -> None:
        self._facts = facts
        self._by_subject: dict[str, set[str]] = {}
        for claim in facts.claims:
            self._by_subject.setdefault(claim.subject, set()).add(claim.slot)
        self._labels = [
            (f" {label_key(label)} ", entity.id)
            for entity in facts.ontology.entities.values()
            if entity.id in self._by_subject and not entity.deprecated
            for label in (entity.pref_label, *entity.alt_labels)
            if label
        ]

    def for_section(self, document: Document, section: Section) -> list[str]:
        text = f" {label_key(_words(section.text))} "
        named = {subject for label, subject in self._labels if label in text}
        first = sorted(slot for subject in named for slot in self._by_subject[subject])
        own = sorted(claim.slot for claim in self._facts.claims_of(document))
        return list(dict.fromkeys([*first, *own]))[:REUSED_SLOTS]


def _words(text: str) -> str:
    return "".join([ch if ch.isalnum() or ch in "-_'" else " " for ch in text])
