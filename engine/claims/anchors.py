"""The places of a page that a ``section_ref`` can name."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.claims.findings import shown

_COVERS = ("```", "~~~", "<!--", "\n    ", "\t", "\n>", " >")
"""What may hide a later line from the reader: code, comments, quotations. Without any of it before a line, no
parser of Markdown is needed to know that the line counts."""


class Anchors:
    """Counts explicit ids and headings of one page; Markdown is parsed only where it must be."""

    def __init__(self, document: Document) -> None:
        self._document = document

    @cached_property
    def _explicit(self) -> Counter[str]:
        return Counter(name for name, _ in self._document.outline.explicit_ids)

    @cached_property
    def _slugs(self) -> Counter[str]:
        return Counter(heading.slug for heading in self._document.outline.headings)

    def has_one(self, reference: str) -> bool:
        """Whether exactly one explicit id, or else exactly one heading slug, is named by ``#`` and an id."""
        name = reference[1:]
        if not self._document.is_outlined and self._plainly_one(name):
            return True
        explicit = self._explicit.get(name, 0)
        return explicit == 1 or (explicit == 0 and self._slugs.get(name, 0) == 1)

    def _plainly_one(self, name: str) -> bool:
        """Whether the text alone shows that one explicit id has this name."""
        body = self._document.frontmatter.body
        row = f'<a id="{name}"></a>\n'
        at = 0 if body.startswith(row) else body.find("\n" + row) + 1
        if (at == 0 and not body.startswith(row)) or body.count(f'"{name}"') != 1 or f"'{name}'" in body:
            return False
        before = "\n" + body[:at]
        return not any(cover in before for cover in _COVERS)

    def problem(self, reference: str) -> str:
        """Return why the reference does not name one place."""
        name = reference[1:]
        explicit, slugs = self._explicit[name], self._slugs[name]
        found = f"found {explicit}" if explicit else f"found {explicit}, and {slugs} headings with that slug"
        return f"section_ref {shown(reference)} must match exactly one explicit HTML id in this page; {found}"
