"""Compiles a bundle into facts: for each document relation its rows, each with where it was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.document import Document, document_id
from openknowledge.engine.bundle.links import Target, link_kind
from openknowledge.engine.bundle.markdown import Link
from openknowledge.engine.bundle.okf import Source
from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.facts.provenance import Provenance

Row = tuple[str | int | float, ...]
Fact = tuple[Row, Provenance]
Builder = Callable[[Bundle, datetime], Iterator[Fact]]


def _documents(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in bundle.documents:
        yield (document.id, document.path, document.type), _field(bundle, document, "type")


def _titles(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in bundle.documents:
        yield (document.id, document.title), _field(bundle, document, "title")


def _descriptions(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in bundle.documents:
        if document.description:
            yield (document.id, document.description), _field(bundle, document, "description")


def _resources(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in bundle.documents:
        if document.resource:
            yield (document.id, document.resource), _field(bundle, document, "resource")


def _concepts(bundle: Bundle) -> Iterator[Document]:
    return (document for document in bundle.documents if not document.reserved)


def _statuses(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in _concepts(bundle):
        yield (document.id, document.metadata.status), _field(bundle, document, "status")


def _trust(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in _concepts(bundle):
        yield (document.id, document.metadata.trust_tier), _field(bundle, document, "verified")


def _stale(bundle: Bundle, now: datetime) -> Iterator[Fact]:
    for document in _concepts(bundle):
        stale = "true" if document.metadata.is_stale(now) else "false"
        yield (document.id, stale), _field(bundle, document, "stale_after")


def _stale_after(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in _concepts(bundle):
        if document.metadata.stale_after:
            row = (document.id, document.metadata.stale_after)
            yield row, _field(bundle, document, "stale_after")


def _generated(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in _concepts(bundle):
        if event := document.metadata.generated:
            yield (document.id, event.by, event.at), _field(bundle, document, "generated")


def _verified(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in _concepts(bundle):
        for index, event in enumerate(document.metadata.verified):
            yield (document.id, event.by, event.at), _field(bundle, document, "verified", index)


def _tags(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in bundle.documents:
        for tag in document.tags:
            yield (document.id, tag), _field(bundle, document, "tags")


def _sources(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in bundle.documents:
        for source in document.metadata.sources:
            if source.resource:
                row = (document.id, source.id, source.resource)
                yield row, _field(bundle, document, "sources", source.index)


def source_page(bundle: Bundle, document: Document, resource: str) -> Document | None:
    """Return the page that a source's ``resource`` names: relative to its page, else to the root."""
    if not resource or link_kind(resource) != "local":
        return None
    for base in (document.path, ""):
        target = bundle.resolver.resolve(resource, base)
        if target.exists and (page := bundle.by_path.get(target.path)):
            return page
    return None


def source_documents(bundle: Bundle, visible: Callable[[Source], bool]) -> Iterator[Fact]:
    """Yield the sources that are pages of the bundle, of those that are ``visible``."""
    for document in bundle.documents:
        for source in document.metadata.sources:
            page = source_page(bundle, document, source.resource) if visible(source) else None
            if page is not None:
                row = (document.id, source.id, page.id)
                yield row, _field(bundle, document, "sources", source.index)


def _source_documents(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    return source_documents(bundle, lambda _source: True)


def _sections(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in bundle.documents:
        for section in document.sections:
            place = Provenance(bundle, document, section)
            yield (section.id, document.id, section.heading, bundle.locator(section)), place


def _subsections(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in bundle.documents:
        open_sections: list[Section] = []
        for section in document.sections:
            while open_sections and open_sections[-1].level >= section.level:
                open_sections.pop()
            if open_sections and open_sections[-1].level > 0:
                yield (section.id, open_sections[-1].id), Provenance(bundle, document, section)
            open_sections.append(section)


def _anchors(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in bundle.documents:
        for section in document.sections:
            place = Provenance(bundle, document, section)
            for anchor in section.anchors:
                yield (section.id, anchor), place


def _from_section(document: Document, link: Link) -> str:
    section = document.section_at(link.at[0])
    return section.id if section else f"{document.id}#top"


def _links(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in bundle.documents:
        for link, target in bundle.local_links(document):
            page = bundle.by_path.get(target.path)
            name = _target_name(target, page)
            place = Provenance(bundle, document, line=link.at[0])
            yield (_from_section(document, link), name, target.anchor), place


def _target_name(target: Target, page: Document | None) -> str:
    """Return the id of the page that a link leads to, or would lead to; else the path of the file."""
    if page is not None:
        return page.id
    would_be_page = not target.exists and target.path.lower().endswith((".md", ".markdown"))
    return document_id(target.path) if would_be_page else target.path


def _document_links(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in bundle.documents:
        for link, target in bundle.local_links(document):
            name = _target_name(target, bundle.by_path.get(target.path))
            yield (document.id, name), Provenance(bundle, document, line=link.at[0])


def _section_links(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    for document in bundle.documents:
        for link in document.outline.links:
            kind = link_kind(link.href)
            if kind == "external":
                continue
            target = bundle.resolver.resolve(link.href, document.path)
            page = document if kind == "anchor" else bundle.by_path.get(target.path)
            if page is None or not target.anchor:
                continue
            section = page.section_with_anchor(target.anchor)
            if section is not None:
                place = Provenance(bundle, document, line=link.at[0])
                yield (_from_section(document, link), section.id), place


def _assets(bundle: Bundle, _now: datetime) -> Iterator[Fact]:
    """A file has no page: the root index, or else the first page, stands for where it was found."""
    if not bundle.documents:
        return
    root = bundle.by_path.get("index.md", bundle.documents[0])
    place = Provenance(bundle, root)
    for path in (*bundle.assets, *bundle.undecoded):
        yield (path,), place


def _field(bundle: Bundle, document: Document, *path: str | int) -> Provenance:
    return Provenance(bundle, document, field=path)


BUILDERS: dict[str, Builder] = {
    "document": _documents,
    "document_title": _titles,
    "document_description": _descriptions,
    "document_resource": _resources,
    "document_status": _statuses,
    "document_trust": _trust,
    "document_stale": _stale,
    "document_stale_after": _stale_after,
    "document_generated": _generated,
    "document_verified": _verified,
    "tag": _tags,
    "document_source": _sources,
    "source_document": _source_documents,
    "section": _sections,
    "subsection": _subsections,
    "anchor": _anchors,
    "link": _links,
    "document_link": _document_links,
    "section_link": _section_links,
    "asset": _assets,
}
