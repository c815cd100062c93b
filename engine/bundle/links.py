"""Resolves links and path-valued fields against the files of a bundle. Nothing here opens a file."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable
from typing import Literal, NamedTuple
from urllib.parse import unquote

LinkKind = Literal["anchor", "external", "local"]

_SCHEME = re.compile(r"[^/?#]*:")


def link_kind(href: str) -> LinkKind:
    """Say whether ``href`` names a place on the same page, something outside, or a path in the bundle."""
    if href.startswith("#"):
        return "anchor"
    if not href or href.startswith("//") or _SCHEME.match(href):
        return "external"
    return "local"


class Target(NamedTuple):
    """Where a local link or path leads. ``path`` is bundle-relative, even when nothing is there."""

    path: str
    anchor: str
    exists: bool
    outside: bool = False


def split_href(href: str) -> tuple[str, str]:
    """Return the path part (before ``?`` and ``#``) and the fragment, both still percent-encoded."""
    before, _, fragment = href.partition("#")
    return before.partition("?")[0], fragment


class Resolver:
    """Knows which paths a bundle has and resolves links against them."""

    def __init__(self, documents: Iterable[str], others: Iterable[str], directories: Iterable[str]) -> None:
        self._files = {*documents, *others}
        self._directories = {*directories, ""}
        self._index_of: dict[str, str] = {}
        self._composed: dict[str, str] | None = None
        for path in sorted(self._files, reverse=True):
            folder, _, name = path.rpartition("/")
            exact = self._index_of.get(folder, "").endswith("index.md")
            if name == "index.md" or (not exact and name.lower() == "index.md"):
                self._index_of[folder] = path
        self._cache: dict[tuple[str, str], Target] = {}

    def resolve(self, href: str, document: str) -> Target:
        """Return where the local ``href``, written in ``document``, leads."""
        folder = document.rpartition("/")[0]
        key = (folder, href)
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._resolve(href, folder)
        return found

    def _resolve(self, href: str, folder: str) -> Target:
        raw, fragment = split_href(href)
        anchor = unquote(fragment) if "%" in fragment else fragment
        target = self._resolve_path(unquote(raw) if "%" in raw else raw, folder, anchor)
        if not target.exists and "%" in raw:
            literal = self._resolve_path(raw, folder, anchor)
            return literal if literal.exists else target
        return target

    def _resolve_path(self, path: str, folder: str, anchor: str) -> Target:
        joined = path.lstrip("/") if path.startswith("/") else f"{folder}/{path}" if folder else path
        if joined in self._files:
            return Target(joined, anchor, exists=True)
        cleaned = posixpath.normpath(joined) if joined else ""
        if cleaned == ".":
            cleaned = ""
        if cleaned == ".." or cleaned.startswith("../"):
            return Target(cleaned, anchor, exists=False, outside=True)
        if path.endswith("/") or cleaned in self._directories:
            fallback = f"{cleaned}/index.md" if cleaned else "index.md"
            index = self._index_of.get(cleaned)
            return Target(index or fallback, anchor, exists=index is not None)
        if cleaned in self._files:
            return Target(cleaned, anchor, exists=True)
        if not cleaned.isascii() and (same := self._same_composed(cleaned)):
            return Target(same, anchor, exists=True)
        return Target(cleaned, anchor, exists=False)

    def _same_composed(self, path: str) -> str | None:
        """Find a file whose name is the same text in another Unicode normal form, as some systems keep it."""
        if self._composed is None:
            self._composed = {
                unicodedata.normalize("NFC", file): file for file in sorted(self._files) if not file.isascii()
            }
        return self._composed.get(unicodedata.normalize("NFC", path))

    def leads_to_file(self, href: str, folder: str) -> bool:
        """Whether ``href``, without fragment or escapes, written in ``folder``, plainly names a file."""
        return (href[1:] if href[0] == "/" else f"{folder}/{href}" if folder else href) in self._files

    def has(self, path: str) -> bool:
        """Whether the bundle has a file at exactly ``path``."""
        return path in self._files
