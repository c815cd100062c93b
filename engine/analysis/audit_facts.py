"""What the audit rules cannot see for themselves: owners, normal forms of texts, files beside the pages."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.okf import Source, text_list, text_of
from openknowledge.engine.claims.evidence import EVIDENCE_FOLDER, EvidenceStore, is_remote, local_path
from openknowledge.engine.facts.compile import Fact
from openknowledge.engine.facts.provenance import Provenance
from openknowledge.engine.facts.relations import Column, ColumnKind, Relation


def _relation(name: str, columns: Iterable[tuple[str, ColumnKind]], about: str) -> Relation:
    return Relation(name, tuple(Column(column, kind) for column, kind in columns), about)


_PAGE: tuple[str, ColumnKind] = ("document", "document")
_SOURCE: tuple[tuple[str, ColumnKind], ...] = (_PAGE, ("source", "text"), ("resource", "resource"))

AUDIT_RELATIONS: tuple[Relation, ...] = (
    _relation(
        "issue",
        (("path", "text"), ("rule", "text"), ("message", "text")),
        "an issue that validation found on a page, with the rule's name",
    ),
    _relation("page_owner", (_PAGE, ("owner", "text")), "an owner named in a page's `owner` or `owners`"),
    _relation(
        "page_unpublished",
        (_PAGE,),
        "a page with `okf_publish: false`, or one that is a pinned copy of a source",
    ),
    _relation(
        "page_title",
        (_PAGE, ("title", "text")),
        "the title of a concept page in lower case, letters and digits alone, if it shares it with another",
    ),
    _relation(
        "page_body",
        (_PAGE, ("sha256", "text")),
        "the digest of a concept page's text in that form, if the text begins like another page's",
    ),
    _relation(
        "source_file",
        (*_SOURCE, ("state", "text")),
        "a source that is a path in the bundle: `read` when a file is there, else `missing`",
    ),
    _relation(
        "source_observed",
        (*_SOURCE, ("fingerprint", "text")),
        "the fingerprint of a source as it is now",
    ),
    _relation(
        "source_recorded",
        (*_SOURCE, ("fingerprint", "text")),
        "the fingerprint that a source had when the audit's baseline was recorded",
    ),
)
"""The base relations of ``rules/audit.dl`` beside those of the vocabulary."""


@dataclass(frozen=True, slots=True)
class SourceIdentity:
    """A source of a page as an audit sees it: what it is, and whether it is there."""

    document: str
    id: str
    resource: str
    fingerprint: str
    exists: bool

    @property
    def key(self) -> tuple[str, str, str]:
        """What names the source in a baseline, and orders it."""
        return self.document, self.id, self.resource


def audit_sources(
    bundle: Bundle, files: EvidenceStore, recorded: Iterable[SourceIdentity] = ()
) -> Mapping[str, Callable[[], Iterator[Fact]]]:
    """Return, for each relation in ``AUDIT_RELATIONS``, what gives its facts.

    ``recorded`` are the sources of a baseline. Nothing is built before it is called.
    """
    return {
        "page_owner": partial(_owners, bundle),
        "page_unpublished": partial(_unpublished, bundle),
        "page_title": partial(_titles, bundle),
        "page_body": partial(_bodies, bundle),
        "source_file": partial(_source_files, bundle),
        "source_observed": partial(_observed, bundle, files),
        "source_recorded": partial(_recorded, bundle, tuple(recorded)),
    }


def owners_of(document: Document) -> tuple[str, ...]:
    """Return the owners that a page names, unique and sorted."""
    fields = document.fields
    return tuple(sorted({*text_list(fields.get("owner")), *text_list(fields.get("owners"))}))


def is_audited(document: Document) -> bool:
    """Whether an audit looks at a page: it is no index or log, has a type, and is meant for publication."""
    return bool(document.type) and not _is_unpublished(document)


def _is_unpublished(document: Document) -> bool:
    return document.fields.get("okf_publish") is False or document.path.startswith(EVIDENCE_FOLDER)


def _owners(bundle: Bundle) -> Iterator[Fact]:
    for document in bundle.documents:
        if "owner" in document.fields or "owners" in document.fields:
            field = "owner" if "owner" in document.fields else "owners"
            for owner in owners_of(document):
                yield (document.id, owner), Provenance(bundle, document, field=(field,))


def _unpublished(bundle: Bundle) -> Iterator[Fact]:
    for document in bundle.documents:
        if _is_unpublished(document):
            yield (document.id,), Provenance(bundle, document, field=("okf_publish",))


_SEPARATORS = re.compile(r"[\W_]+")
_BEGINNING = 160
"""Characters of a text by which pages are told apart before whole texts are compared."""


def plain_text(text: str) -> str:
    """Return ``text`` in lower case, each run of anything but letters and digits as one space."""
    return _SEPARATORS.sub(" ", text.lower()).strip()


def _titles(bundle: Bundle) -> Iterator[Fact]:
    groups: dict[str, list[Document]] = defaultdict(list)
    for document in bundle.documents:
        if not document.reserved and (title := plain_text(_title(document))):
            groups[title].append(document)
    for title, documents in groups.items():
        if len(documents) > 1:
            for document in documents:
                yield (document.id, title), Provenance(bundle, document, field=("title",))


def _title(document: Document) -> str:
    title = text_of(document.fields.get("title"))
    if title:
        return title
    return next((heading.text for heading in document.outline.headings if heading.level == 1), "")


def _bodies(bundle: Bundle) -> Iterator[Fact]:
    groups: dict[str, list[Document]] = defaultdict(list)
    for document in bundle.documents:
        if not document.reserved:
            groups[_beginning(document.frontmatter.body)].append(document)
    for beginning, documents in groups.items():
        if beginning and len(documents) > 1:
            for document in documents:
                text = plain_text(document.frontmatter.body)
                digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
                yield (document.id, digest), Provenance(bundle, document)


def _beginning(body: str) -> str:
    """Return the first characters of the plain text of ``body``: equal for equal plain texts."""
    taken = _BEGINNING * 2
    while True:
        plain = plain_text(body[:taken])
        if len(plain) > _BEGINNING or taken >= len(body):
            return plain[:_BEGINNING]
        taken *= 4


def _source_files(bundle: Bundle) -> Iterator[Fact]:
    for document in bundle.documents:
        for source in document.metadata.sources:
            if source.resource and not is_remote(source.resource):
                state = "read" if _is_there(bundle, document, source) else "missing"
                place = Provenance(bundle, document, field=("sources", source.index))
                yield (document.id, source.id, source.resource, state), place


def _is_there(bundle: Bundle, document: Document, source: Source) -> bool:
    """Whether the bundle has what a local source names, seen from its page or from the root."""
    path = local_path(source.resource, document.path, bundle.root)
    if path is not None and (bundle.resolver.has(path) or path in bundle.directories):
        return True
    return any(bundle.resolver.resolve(source.resource, base).exists for base in (document.path, ""))


def source_identities(bundle: Bundle, files: EvidenceStore) -> list[SourceIdentity]:
    """Return the sources of all audited pages, by document, id and resource.

    The fingerprint is the SHA-256 of what tells a source's state: the digest of a local file, the recorded
    digest of a pinned one, else its address and ``last_modified``. Nothing remote is contacted.
    """
    found = []
    for document in bundle.documents:
        if not is_audited(document):
            continue
        for source in document.metadata.sources:
            if source.resource:
                found.append(_identity(bundle, files, document, source))
    return sorted(found, key=lambda identity: identity.key)


def _identity(bundle: Bundle, files: EvidenceStore, document: Document, source: Source) -> SourceIdentity:
    seen = source.resource + "\0" + source.last_modified
    exists = True
    if is_remote(source.resource):
        if source.observe == "pinned":
            seen = "pinned:" + source.sha256
    else:
        path = local_path(source.resource, document.path, bundle.root)
        artifact = files.artifact(path) if path is not None else None
        exists = _is_there(bundle, document, source)
        if artifact is not None and artifact.state == "read":
            seen = "file:" + artifact.sha256
    fingerprint = hashlib.sha256(seen.encode("utf-8", "surrogatepass")).hexdigest()
    return SourceIdentity(document.path, source.id, source.resource, fingerprint, exists)


def _observed(bundle: Bundle, files: EvidenceStore) -> Iterator[Fact]:
    for identity in source_identities(bundle, files):
        yield _identity_fact(bundle, identity)


def _recorded(bundle: Bundle, recorded: Iterable[SourceIdentity]) -> Iterator[Fact]:
    for identity in recorded:
        if identity.document in bundle.by_path:
            yield _identity_fact(bundle, identity)


def _identity_fact(bundle: Bundle, identity: SourceIdentity) -> Fact:
    document = bundle.by_path[identity.document]
    row = (document.id, identity.id, identity.resource, identity.fingerprint)
    return row, Provenance(bundle, document, field=("sources",))
