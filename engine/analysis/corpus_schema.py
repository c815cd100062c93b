"""The corpus schema: which types a bundle's pages may have, where they stand, and how they link by meaning.

It stands in the frontmatter of the root ``index.md`` under ``corpus_schema``. Pages carry ``typed_links``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from openknowledge.engine.analysis.globs import is_relative_pattern, matches
from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.okf import text_of

RULE = "corpus-schema"
KEY = "corpus_schema"
LINKS = "typed_links"
VERSION = "1"
_ANY = "*"
Place = tuple[str | int, ...]

_SCHEMA_FIELDS = ("version", "document_types", "link_predicates", "migrations")
_TYPE_FIELDS = ("id", "aliases", "paths", "required")
_PREDICATE_FIELDS = ("id", "source_types", "target_types")
_MIGRATION_FIELDS = ("from", "to", "document")


@dataclass(frozen=True, slots=True)
class _DocumentType:
    id: str
    aliases: tuple[str, ...]
    paths: tuple[str, ...]
    required: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _LinkPredicate:
    id: str
    source_types: tuple[str, ...]
    target_types: tuple[str, ...]


def check_corpus_schema(bundle: Bundle) -> list[Issue]:
    """Return what is wrong in the corpus schema of ``bundle``, and in the pages that it applies to.

    A bundle without a schema has no issue. A schema with a fault is not applied to pages.
    """
    root = bundle.by_path.get("index.md")
    if root is None or KEY not in root.fields:
        return []
    reader = _Reader(bundle, root)
    reader.read(root.fields[KEY])
    if reader.issues:
        return reader.issues
    found: list[Issue] = []
    for document in bundle.documents:
        if not document.reserved and not document.frontmatter.broken:
            found.extend(_check_page(bundle, document, reader))
    return found


class _Reader:
    """Reads the schema; what is wrong is in ``issues``."""

    def __init__(self, bundle: Bundle, document: Document) -> None:
        self.bundle = bundle
        self.document = document
        self.issues: list[Issue] = []
        self.types: dict[str, _DocumentType] = {}
        self.predicates: dict[str, _LinkPredicate] = {}
        self.names: dict[str, str] = {}
        self.migrated: dict[str, str] = {}

    def read(self, schema: Any) -> None:
        """Read the value of ``corpus_schema``."""
        if not self._mapping(schema, _SCHEMA_FIELDS, "corpus_schema"):
            return
        if schema.get("version") != VERSION:
            self._add(f'corpus_schema.version must be the string "{VERSION}"', "version")
        for number, item in self._items(schema, "document_types"):
            self._read_type(item, ("document_types", number))
        for number, item in self._items(schema, "link_predicates"):
            self._read_predicate(item, ("link_predicates", number))
        for number, item in self._items(schema, "migrations"):
            self._read_migration(item, ("migrations", number))

    def canonical(self, name: str) -> str:
        """Return the type that ``name`` is an id or alias of; ``""`` for none."""
        return self.names.get(name, "")

    def _read_type(self, item: Any, at: Place) -> None:
        where = _dotted(at)
        if not self._mapping(item, _TYPE_FIELDS, where, *at):
            return
        name = self._name(item, at)
        aliases = self._texts(item, "aliases", at)
        paths = self._texts(item, "paths", at)
        required = self._texts(item, "required", at)
        for number, pattern in enumerate(paths):
            if not is_relative_pattern(pattern):
                self._add(
                    f"{where}.paths has {pattern!r}, which is no path or glob inside the bundle",
                    *at,
                    "paths",
                    number,
                )
        for known in (name, *aliases):
            if known and known in self.names:
                self._add(f"the document type {known!r} is declared more than once", *at)
            elif known:
                self.names[known] = name
        if name:
            self.types[name] = _DocumentType(name, aliases, paths, required)

    def _read_predicate(self, item: Any, at: Place) -> None:
        where = _dotted(at)
        if not self._mapping(item, _PREDICATE_FIELDS, where, *at):
            return
        name = self._name(item, at)
        ends = []
        for field in ("source_types", "target_types"):
            texts = self._texts(item, field, at)
            for number, text in enumerate(texts):
                if text != _ANY and not self.canonical(text):
                    self._add(
                        f"{where}.{field} names {text!r}, which is no document type of this schema",
                        *at,
                        field,
                        number,
                    )
            ends.append(tuple(text if text == _ANY else self.canonical(text) for text in texts))
        if name in self.predicates:
            self._add(f"the link predicate {name!r} is declared more than once", *at)
        elif name:
            self.predicates[name] = _LinkPredicate(name, ends[0], ends[1])

    def _read_migration(self, item: Any, at: Place) -> None:
        where = _dotted(at)
        if not self._mapping(item, _MIGRATION_FIELDS, where, *at):
            return
        values = {}
        for field in _MIGRATION_FIELDS:
            values[field] = text_of(item.get(field))
            if not values[field]:
                self._add(f"{where} needs {field}, a non-empty string", *at, field)
        old, new, document = values["from"], values["to"], values["document"]
        if new and not self.canonical(new):
            self._add(f"{where}.to names {new!r}, which is no document type of this schema", *at, "to")
        if old and self.canonical(old):
            self._add(
                f"{where}.from names {old!r}, which is still a document type of this schema", *at, "from"
            )
        elif old and old in self.migrated:
            self._add(f"{where}.from names {old!r}, which an earlier migration has moved", *at, "from")
        elif old:
            self.migrated[old] = new
        if document and not document.lower().endswith(".md"):
            self._add(f"{where}.document must be the path of a page ending in .md", *at, "document")
        elif document:
            target = self.bundle.resolver.resolve(document, "index.md")
            if target.path not in self.bundle.by_path:
                self._add(
                    f"{where}.document names {document!r}, which is no page of the bundle", *at, "document"
                )

    def _mapping(self, value: Any, fields: tuple[str, ...], where: str, *at: str | int) -> bool:
        if not isinstance(value, dict):
            self._add(f"{where} must be a mapping", *at)
            return False
        for name in value:
            if name not in fields:
                self._add(f"{where} has the unknown field {name!r}; known: {', '.join(fields)}", *at, name)
        return True

    def _items(self, schema: dict[str, Any], field: str) -> Iterator[tuple[int, Any]]:
        value = schema.get(field, [])
        if isinstance(value, list):
            yield from enumerate(value)
        else:
            self._add(f"corpus_schema.{field} must be a list", field)

    def _name(self, item: dict[str, Any], at: Place) -> str:
        name = text_of(item.get("id"))
        if not name:
            self._add(f"{_dotted(at)} needs id, a non-empty string", *at, "id")
        return name

    def _texts(self, item: dict[str, Any], field: str, at: Place) -> tuple[str, ...]:
        value = item.get(field, [])
        if not isinstance(value, list) or not all(text_of(part) for part in value):
            self._add(f"{_dotted(at)}.{field} must be a list of non-empty strings", *at, field)
            return ()
        return tuple(text_of(part) for part in value)

    def _add(self, message: str, *at: str | int) -> None:
        line, column = self.document.frontmatter.position(KEY, *at)
        self.issues.append(Issue(self.document.path, RULE, "error", message, line, column))


def _check_page(bundle: Bundle, document: Document, schema: _Reader) -> Iterator[Issue]:
    kind = schema.canonical(document.type)
    if schema.types and document.type and not kind:
        if document.type in schema.migrated:
            new = schema.migrated[document.type]
            message = f"the type {document.type!r} has been replaced by {new!r}: change it"
        else:
            message = f"the type {document.type!r} is not one of the corpus schema: {', '.join(schema.types)}"
        yield _page_issue(document, message, "type")
    elif kind:
        declared = schema.types[kind]
        if declared.paths and not any(matches(pattern, document.path) for pattern in declared.paths):
            message = f"a page of type {kind!r} belongs in {' or '.join(declared.paths)}"
            yield _page_issue(document, message, "type")
        for name in declared.required:
            if _is_empty(document.fields.get(name)):
                yield _page_issue(document, f"a page of type {kind!r} needs {name}", name)
    if LINKS in document.fields:
        yield from _check_links(bundle, document, kind, schema)


def _is_empty(value: Any) -> bool:
    return value is None or value in ([], {}) or (isinstance(value, str) and not text_of(value))


def _check_links(bundle: Bundle, document: Document, kind: str, schema: _Reader) -> Iterator[Issue]:
    links = document.fields[LINKS]
    if not isinstance(links, list):
        yield _page_issue(document, "typed_links must be a list of {predicate, target}", LINKS)
        return
    for number, item in enumerate(links):
        at: Place = (LINKS, number)
        if not isinstance(item, dict) or set(item) - {"predicate", "target"}:
            yield _page_issue(document, "a typed link is a mapping {predicate, target}", *at)
            continue
        predicate, target = text_of(item.get("predicate")), text_of(item.get("target"))
        if not predicate or not target:
            yield _page_issue(document, "a typed link needs predicate and target", *at)
            continue
        declared = schema.predicates.get(predicate)
        if declared is None:
            message = f"the link predicate {predicate!r} is not declared in the corpus schema"
            yield _page_issue(document, message, *at, "predicate")
            continue
        if not _allowed(kind, declared.source_types):
            message = f"a page of type {document.type!r} may not have a link {predicate!r}"
            yield _page_issue(document, message, *at, "predicate")
        page = bundle.by_path.get(bundle.resolver.resolve(target, document.path).path)
        if page is None:
            message = f"the target {target!r} of the link {predicate!r} is no page of the bundle"
            yield _page_issue(document, message, *at, "target")
        elif not _allowed(schema.canonical(page.type), declared.target_types):
            shown = page.type or page.kind
            message = f"a link {predicate!r} may not lead to a page of type {shown!r}"
            yield _page_issue(document, message, *at, "target")


def _allowed(kind: str, types: tuple[str, ...]) -> bool:
    return not types or _ANY in types or kind in types


def _page_issue(document: Document, message: str, *at: str | int) -> Issue:
    line, column = document.frontmatter.position(*at)
    return Issue(document.path, RULE, "error", message, line, column)


def _dotted(at: Place) -> str:
    text = KEY
    for step in at:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text
