"""The whole bundle as one JSON document."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any

from openknowledge.engine.analysis.listing import list_entry
from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.digests import sha256_hex
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.links import link_kind

if TYPE_CHECKING:
    from openknowledge.schemas.export import BundleExport, ExportedDocument, ExportedLink, ExportedSection


def export_bundle(bundle: Bundle, now: datetime) -> BundleExport:
    """Return every page with frontmatter, sections and links, and the paths of all other files."""
    return {
        "schemaVersion": "1",
        "root": str(bundle.root),
        "revision": {"specVersion": bundle.spec, "indexSha256": bundle.index_sha256},
        "documents": [_document(bundle, document, now) for document in bundle.documents],
        "assets": list(bundle.assets),
    }


def _document(bundle: Bundle, document: Document, now: datetime) -> ExportedDocument:
    sections: list[ExportedSection] = [
        {
            "id": section.id,
            "heading": section.heading,
            "headingLevel": section.level,
            "headingPath": list(section.heading_path),
            "anchors": list(section.anchors),
            "lineStart": section.line_start,
            "lineEnd": section.line_end,
            "locator": bundle.locator(section),
            "contentSha256": section.content_sha256,
            "estimatedTokens": section.estimated_tokens,
            "text": section.text,
        }
        for section in document.sections
    ]
    links: list[ExportedLink] = []
    for link in document.outline.links:
        kind = link_kind(link.href)
        line, column = link.at
        shown: ExportedLink = {"href": link.href, "kind": kind, "line": line, "column": column}
        if kind == "local":
            target = bundle.resolver.resolve(link.href, document.path)
            shown["target"] = target.path
            shown["exists"] = target.exists
            if target.anchor:
                shown["targetAnchor"] = target.anchor
        links.append(shown)
    return {
        "entry": list_entry(document, bundle.spec, now),
        "documentSha256": sha256_hex(document.data),
        "frontmatter": _plain(document.fields),
        "sections": sections,
        "links": links,
    }


def _plain(value: Any) -> Any:
    """Return a YAML value as JSON can hold it: numbers that JSON lacks become their YAML text."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    return value
