"""The inventory of a bundle, with what each page says of its trust and lifecycle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from openknowledge.engine.analysis.report import issue_json
from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.okf import Event, Metadata, Source

if TYPE_CHECKING:
    from openknowledge.schemas.listing import Generated, ListEntry, ListResult, Okf02
    from openknowledge.schemas.listing import Source as SourceJson


def okf02(metadata: Metadata, now: datetime) -> Okf02:
    """Return the trust and lifecycle of a page at the instant ``now``."""
    shown: Okf02 = {
        "trustTier": metadata.trust_tier,
        "status": metadata.status,
        "stale": metadata.is_stale(now),
    }
    if metadata.verification_outdated:
        shown["verificationOutdated"] = True
    if metadata.stale_after:
        shown["staleAfter"] = metadata.stale_after
    if metadata.generated:
        shown["generated"] = _event(metadata.generated)
    if metadata.verified:
        shown["verified"] = [_event(event) for event in metadata.verified]
    if metadata.sources:
        shown["sources"] = [source_json(source) for source in metadata.sources]
    if metadata.computation:
        shown["computation"] = metadata.computation
    return shown


def _event(event: Event) -> Generated:
    return {"by": event.by, "at": event.at} if event.at else {"by": event.by}


_SOURCE_STRINGS = {
    "id": "id",
    "resource": "resource",
    "live_resource": "liveResource",
    "observe": "observe",
    "sha256": "sha256",
    "role": "role",
    "title": "title",
    "author": "author",
}


def source_json(source: Source) -> SourceJson:
    """Return one source as it stands in results; empty values are left out."""
    shown: dict[str, Any] = {
        name: value for field, name in _SOURCE_STRINGS.items() if (value := getattr(source, field))
    }
    shown.setdefault("resource", "")
    if source.access:
        shown["access"] = list(source.access)
    count = source.raw.get("usage_count")
    if isinstance(count, int) and not isinstance(count, bool):
        shown["usageCount"] = count
    if source.last_modified:
        shown["lastModified"] = source.last_modified
    window = source.raw.get("usage_window")
    if isinstance(window, dict):
        shown["usageWindow"] = {
            name: window[name] for name in ("from", "to") if isinstance(window.get(name), str)
        }
    return cast("SourceJson", shown)


def list_entry(document: Document, spec: str, now: datetime) -> ListEntry:
    """Return the entry of one page, without claims and issues."""
    entry: ListEntry = {
        "id": document.id,
        "path": document.path,
        "kind": document.kind,
        "reserved": document.reserved,
    }
    if document.type:
        entry["type"] = document.type
    entry["title"] = document.title
    if document.description:
        entry["description"] = document.description
    if document.resource and not document.reserved:
        entry["resource"] = document.resource
    if spec == "0.2" and not document.reserved:
        entry["okf02"] = okf02(document.metadata, now)
    return entry


def list_bundle(
    bundle: Bundle,
    issues: Sequence[Issue],
    now: datetime,
    claim_profile: Callable[[Document], Mapping[str, Any] | None],
) -> ListResult:
    """Return every page and file of ``bundle`` by path, with the ``issues`` of each."""
    by_path: dict[str, list[Issue]] = {}
    for issue in issues:
        by_path.setdefault(issue.path, []).append(issue)
    entries: list[ListEntry] = []
    for document in bundle.documents:
        entry = list_entry(document, bundle.spec, now)
        if not document.reserved and (profile := claim_profile(document)):
            entry["claimProfile"] = dict(profile)
        entries.append(entry)
    for path in bundle.undecoded:
        entries.append({"id": path, "path": path, "kind": "unreadable", "reserved": False})
    entries.extend({"id": path, "path": path, "kind": "asset", "reserved": False} for path in bundle.assets)
    known = {entry["path"] for entry in entries}
    entries.extend(
        {"id": path, "path": path, "kind": "unreadable", "reserved": False}
        for path in sorted({issue.path for issue in bundle.issues} - known)
    )
    for entry in entries:
        if found := by_path.get(entry["path"]):
            entry["issues"] = [issue_json(issue) for issue in found]
    entries.sort(key=lambda entry: entry["path"])
    return {"schemaVersion": "1", "root": str(bundle.root), "entries": entries}
