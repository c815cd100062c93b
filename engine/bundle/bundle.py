"""A bundle as it stands at one moment: every page parsed once, every other file listed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from openknowledge.engine.bundle.digests import index_sha256, locator
from openknowledge.engine.bundle.document import Document, document_id, parse_document
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.links import Resolver, Target, link_kind
from openknowledge.engine.bundle.markdown import Link
from openknowledge.engine.bundle.reading import (
    parse_files,
    read_outlines,
    read_outlines_together,
    utf8_issue,
)
from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.bundle.walk import FileState, bundle_root, walk
from openknowledge.engine.errors import UsageError

SPEC_VERSIONS = ("0.1", "0.2")
LATEST = "0.2"


def spec_version(text: str) -> str:
    """Return the OKF version that ``text`` names; ``latest`` and ``""`` mean the newest.

    Raises ``UsageError`` for any other text.
    """
    if text in ("", "latest"):
        return LATEST
    if text not in SPEC_VERSIONS:
        raise UsageError(f"unknown spec version {text!r}; choose 0.1, 0.2 or latest")
    return text


@dataclass(frozen=True)
class Bundle:
    """An immutable snapshot of a bundle. ``documents`` and ``assets`` are in the order of their paths."""

    root: Path
    spec: str
    documents: tuple[Document, ...]
    assets: tuple[str, ...]
    directories: frozenset[str]
    issues: tuple[Issue, ...]
    undecoded: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        read_outlines_together(self.documents)

    def read_outlines(self) -> None:
        """Parse the Markdown of all pages now, where every one of them is going to be asked for."""
        read_outlines(self.documents)

    @cached_property
    def index_sha256(self) -> str:
        """The revision: a digest over the paths and bytes of all readable pages."""
        return index_sha256((document.path, document.data) for document in self.documents)

    def holds_the_same_as(self, other: Bundle) -> bool:
        """Whether pages are the same as those of ``other``, byte for byte, and so are files and issues."""
        return (
            len(self.documents) == len(other.documents)
            and all(map(_same_page, self.documents, other.documents))
            and self.assets == other.assets
            and self.directories == other.directories
            and self.issues == other.issues
        )

    @cached_property
    def by_path(self) -> dict[str, Document]:
        """Every page by its path."""
        return {document.path: document for document in self.documents}

    @cached_property
    def by_id(self) -> dict[str, Document]:
        """Every page by its id; of two that share one (``a.md``, ``a.markdown``), the first by path."""
        found: dict[str, Document] = {}
        for document in self.documents:
            found.setdefault(document.id, document)
        return found

    @cached_property
    def resolver(self) -> Resolver:
        """Resolves links and paths against the files of this bundle."""
        return Resolver(self.by_path, [*self.assets, *self.undecoded], self.directories)

    @property
    def sections(self) -> Iterator[Section]:
        """Every section in the order of path and line."""
        self.read_outlines()
        for document in self.documents:
            yield from document.sections

    def locator(self, section: Section) -> str:
        """Return the locator of ``section`` at this revision."""
        return locator(self.index_sha256, section.path, section.content_sha256)

    def local_links(self, document: Document) -> Iterator[tuple[Link, Target]]:
        """Return each link of ``document`` that leads to a path of the bundle, with its target."""
        for link in document.outline.links:
            kind = link_kind(link.href)
            if kind == "local":
                yield link, self.resolver.resolve(link.href, document.path)

    def document_at(self, reference: str) -> Document | None:
        """Return the page with this path or id; a path of a folder gives its index."""
        if found := self.by_path.get(reference) or self.by_id.get(reference):
            return found
        target = self.resolver.resolve(reference, "")
        return self.by_path.get(target.path)


def _same_page(page: Document, other: Document) -> bool:
    return page is other or (page.path == other.path and page.data == other.data)


def read_bundle(
    path: str | os.PathLike[str], *, spec: str = LATEST, previous: Bundle | None = None
) -> Bundle:
    """Read the bundle at ``path``.

    With ``previous``, a snapshot of the same root, a page whose file has not changed since is taken from
    there without being read. Raises ``OpenKnowledgeError`` when there is no such directory; anything wrong
    inside the bundle is an issue of the result.
    """
    root = bundle_root(path)
    inventory = walk(root)
    known = {document.path: document for document in previous.documents} if previous else {}
    prefix = str(root).rstrip(os.sep) + os.sep
    read = {
        rel: old for rel, old in known.items() if old.state is not None and old.state == _state(prefix + rel)
    }
    issues = list(inventory.issues)
    undecoded = []
    for rel, result in parse_files(prefix, [rel for rel in inventory.documents if rel not in read]):
        if isinstance(result, Document):
            read[rel] = result
        else:
            undecoded.append(rel)
            issues.append(result)
    return Bundle(
        root,
        spec,
        tuple([read[rel] for rel in inventory.documents if rel in read]),
        tuple(inventory.assets),
        frozenset(inventory.directories),
        tuple(issues),
        tuple(undecoded),
    )


def bundle_from_files(root: Path, files: Iterable[tuple[str, bytes]], *, spec: str = LATEST) -> Bundle:
    """Build a bundle from paths and bytes that were read elsewhere, such as from a git revision."""
    documents, assets, undecoded, issues = [], [], [], []
    directories = set()
    for rel, data in sorted(files):
        folder = rel.rpartition("/")[0]
        while folder and folder not in directories:
            directories.add(folder)
            folder = folder.rpartition("/")[0]
        if not rel.lower().endswith((".md", ".markdown")):
            assets.append(rel)
            continue
        try:
            documents.append(parse_document(rel, data))
        except UnicodeDecodeError as error:
            undecoded.append(rel)
            issues.append(utf8_issue(rel, error))
    return Bundle(
        root, spec, tuple(documents), tuple(assets), frozenset(directories), tuple(issues), tuple(undecoded)
    )


def _state(path: str) -> FileState | None:
    try:
        return FileState.of(os.lstat(path))
    except OSError:
        return None


__all__ = [
    "LATEST",
    "SPEC_VERSIONS",
    "Bundle",
    "bundle_from_files",
    "document_id",
    "read_bundle",
    "spec_version",
]
