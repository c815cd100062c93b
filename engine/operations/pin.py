"""Pins evidence: the bytes of a source, kept under their digest, with a receipt of where they came from."""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from openknowledge.engine import limits
from openknowledge.engine.bundle.bundle import Bundle, bundle_from_files, read_bundle, spec_version
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.okf import Source, text_list, text_of
from openknowledge.engine.bundle.validation import validate_okf
from openknowledge.engine.bundle.walk import MARKDOWN_SUFFIXES, bundle_root, read_file
from openknowledge.engine.claims.evidence import Refused, is_remote, local_path, read_inside
from openknowledge.engine.claims.findings import shown
from openknowledge.engine.claims.ontology import KEY
from openknowledge.engine.claims.profile import CLAIM_KEYS, MARK
from openknowledge.engine.clock import Clock, system_clock
from openknowledge.engine.errors import LimitError, OpenKnowledgeError
from openknowledge.engine.operations.disk import Disk
from openknowledge.engine.operations.fetch import Fetched, fetch, is_url
from openknowledge.engine.operations.lifecycle import source_of
from openknowledge.engine.operations.propose import normalised_path
from openknowledge.engine.operations.strict_json import decode_object
from openknowledge.engine.operations.workspace import Workspace, changing, page_of, recovered_json

if TYPE_CHECKING:
    from openknowledge.schemas.operations import PinResult, Receipt

STORE = ".openknowledge/evidence/sha256"
RECEIPT = "openknowledge.evidence-receipt"

_MEDIA_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".gif": "image/gif",
    ".htm": "text/html; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".markdown": "text/markdown; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".toml": "application/toml",
    ".txt": "text/plain; charset=utf-8",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".zip": "application/zip",
}
"""Of our own, because the tables of operating systems differ and a receipt must not."""
_SUFFIXES = {
    "text/html": ".html",
    "text/markdown": ".md",
    "text/plain": ".txt",
    "text/csv": ".csv",
    "application/json": ".json",
    "application/pdf": ".pdf",
    "application/xml": ".xml",
    "text/xml": ".xml",
    "application/yaml": ".yaml",
}
_SUFFIX = re.compile(r"\.[a-z0-9]{1,10}\Z")


@dataclass(frozen=True, slots=True)
class Capture:
    """Bytes that are to be pinned: what the source calls them, and what is known of them."""

    data: bytes
    original: str
    media_type: str
    suffix: str
    final: str = ""

    @property
    def sha256(self) -> str:
        """The digest under which the bytes are kept."""
        return hashlib.sha256(self.data).hexdigest()


def pin_evidence(
    root: str | Path,
    *,
    document: str,
    source: str,
    resource: str | None = None,
    spec: str = "latest",
    clock: Clock = system_clock,
    disk: Disk | None = None,
    fetcher: Callable[[str], Fetched] = fetch,
) -> PinResult:
    """Keep the bytes of a source as evidence, and let the source point to them.

    ``resource`` is a file or an HTTP(S) address; without it the source's own resource is taken. Only an
    address is fetched. The artifact, its receipt and the edit of the page are written together or not at all.
    Pinning the same bytes again checks what is there and changes nothing. Raises ``OpenKnowledgeError`` when
    the bytes cannot be had, are more than 8 MiB, what was pinned before is no longer what it was, or a claim
    would have an issue that it does not have now.
    """
    folder = bundle_root(root)
    # fetching may take long: it happens before the lock is taken, and what it rests on is looked at again
    bundle = read_bundle(folder, spec=spec_version(spec))
    page = page_of(bundle, normalised_path(document))
    capture = _capture(bundle, page, source_of(page, source), resource, fetcher)
    with changing(folder, command="okn evidence pin", spec=spec, clock=clock, disk=disk) as workspace:
        page = workspace.page(page.path)
        found = source_of(page, source)
        artifact = artifact_path(capture)
        receipt_path = (
            f"{STORE}/{capture.sha256}/receipts/{receipt_name(page.path, found.id, capture.original)}"
        )
        receipt = _receipt(workspace, page, found, capture, artifact, receipt_path)
        _stage_artifact(workspace, artifact, capture)
        _edit_source(workspace, page, found, capture, artifact)
        changed = workspace.save()
        result: PinResult = {
            "schemaVersion": "1",
            "root": str(workspace.root),
            "document": page.path,
            "sourceId": found.id,
            "artifact": artifact,
            "sha256": capture.sha256,
            "bytes": len(capture.data),
            "mediaType": receipt["mediaType"],
            "receipt": receipt_path,
            "changed": changed,
            "capture": receipt,
        }
        if workspace.recovered:
            result["recovered"] = recovered_json(workspace.recovered)
        return result


def receipt_name(document: str, source: str, original: str) -> str:
    """Return the file name of a receipt: 16 hex of the SHA-256 over page, source and original resource."""
    digest = hashlib.sha256("\0".join((document, source, original)).encode()).hexdigest()
    return f"{digest[:16]}.json"


def artifact_path(capture: Capture) -> str:
    """Return where the bytes are kept.

    A Markdown file in a bundle is one of its pages. What is pinned stays Markdown only when it is a sound
    page that says nothing about claims; else it is kept as text. Evidence from outside must not speak for the
    bundle, nor make it invalid.
    """
    path = f"{STORE}/{capture.sha256}/artifact{capture.suffix}"
    if not path.endswith(MARKDOWN_SUFFIXES):
        return path
    alone = bundle_from_files(Path("/"), [(path, capture.data)])
    page = alone.by_path.get(path)
    if page is None or not _CLAIM_KEYS.isdisjoint(page.fields) or validate_okf(alone):
        return path[: -len(capture.suffix)] + ".txt"
    return path


_CLAIM_KEYS = frozenset({*CLAIM_KEYS, KEY, MARK})


# Where the bytes come from


def _capture(
    bundle: Bundle,
    page: Document,
    source: Source,
    resource: str | None,
    fetcher: Callable[[str], Fetched],
) -> Capture:
    declared = source.live_resource or source.resource
    wanted = source.resource if resource is None else resource
    if not wanted:
        raise OpenKnowledgeError(
            f"{page.path}: source {shown(source.id)} has no resource; name a file or an address",
            path=page.path,
        )
    if is_url(wanted):
        got = fetcher(wanted)
        final = got.final_url if got.final_url != wanted.partition("#")[0] else ""
        suffix = _suffix_of(unquote(urlsplit(wanted).path)) or _SUFFIXES.get(
            got.media_type.partition(";")[0], ""
        )
        media_type = got.media_type or _MEDIA_TYPES.get(suffix, "application/octet-stream")
        return Capture(got.data, wanted, media_type, suffix, final)
    if resource is None:
        return _declared_capture(bundle, page, source, declared)
    return _file_capture(bundle, page, source, declared, resource)


def _declared_capture(bundle: Bundle, page: Document, source: Source, declared: str) -> Capture:
    """Take the source's own local resource: an artifact that was pinned before, or a file of the bundle."""
    if is_remote(source.resource):
        raise OpenKnowledgeError(
            f"{page.path}: source {shown(source.id)} has the resource {shown(source.resource)}; "
            "only http and https are fetched, name a file instead",
            path=page.path,
        )
    path = local_path(source.resource, page.path)
    if path is None:
        raise OpenKnowledgeError(
            f"{page.path}: the resource {shown(source.resource)} of source {shown(source.id)} is no path "
            "inside the bundle",
            path=page.path,
        )
    try:
        data = read_inside(bundle.root, path, limits.EVIDENCE_BYTES)
    except Refused as refused:
        raise _refused(path, refused) from None
    if source.observe == "pinned" and source.sha256:
        digest = hashlib.sha256(data).hexdigest()
        if digest != source.sha256:
            raise OpenKnowledgeError(
                f"{path} has sha256 {digest}, but source {shown(source.id)} is pinned to {source.sha256}: "
                "possible tampering; restore the artifact, or name the file or address to pin it anew",
                path=page.path,
            )
    return _of_file(data, path, declared)


def _file_capture(bundle: Bundle, page: Document, source: Source, declared: str, resource: str) -> Capture:
    """Take a file that the user names: the source's own one, or a copy of something outside."""
    if is_remote(resource) and not Path(resource).exists():
        raise OpenKnowledgeError(f"{shown(resource)}: only http and https are fetched, or name a file")
    given = Path(os.path.abspath(resource))  # noqa: PTH100 - lexical on purpose: links are not followed
    try:
        if stat.S_ISLNK(given.lstat().st_mode):
            raise OpenKnowledgeError(f"{shown(resource)} is a symbolic link; links are not followed")
        data, _ = read_file(str(given), limits.EVIDENCE_BYTES)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        if "larger than" in reason:
            raise _too_large(shown(resource)) from None
        raise OpenKnowledgeError(f"cannot read {shown(resource)}: {reason}") from None
    if declared and is_remote(declared):
        return _of_file(data, given.name, declared)
    inside = _inside(bundle.root, given)
    if inside is None:
        raise OpenKnowledgeError(
            f"{shown(resource)} lies outside the bundle, and source {shown(source.id)} names no remote "
            "resource that it could be a copy of; put the file into the bundle, or give the source its "
            "resource",
            path=page.path,
        )
    relative = posixpath.relpath(inside, posixpath.dirname(page.path) or ".")
    return _of_file(data, inside, quote(relative, safe="/-_.~$&+=:@!',;()*"))


def _inside(root: Path, given: Path) -> str | None:
    """Return the bundle-relative path of ``given``, ``None`` when it lies outside."""
    for base, target in ((root, given), (root.resolve(), given.resolve())):
        try:
            return target.relative_to(base).as_posix()
        except ValueError:
            continue
    return None


def _of_file(data: bytes, name: str, original: str) -> Capture:
    suffix = _suffix_of(name)
    media_type = _MEDIA_TYPES.get(suffix, "application/octet-stream")
    if media_type.startswith("text/"):
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            media_type = media_type.partition(";")[0]
    return Capture(data, original, media_type, suffix)


def _suffix_of(path: str) -> str:
    suffix = posixpath.splitext(path)[1].lower()
    return suffix if _SUFFIX.match(suffix) else ""


def _refused(path: str, refused: Refused) -> OpenKnowledgeError:
    if refused.state == "too-large":
        return _too_large(path)
    return OpenKnowledgeError(f"{path} {refused.problem}", path=path)


def _too_large(name: str) -> LimitError:
    return LimitError(f"{name} is larger than {limits.EVIDENCE_BYTES} bytes", limit="EVIDENCE_BYTES")


# What is written


def _stage_artifact(workspace: Workspace, artifact: str, capture: Capture) -> None:
    try:
        known = read_inside(workspace.root, artifact, limits.EVIDENCE_BYTES)
    except Refused as refused:
        if refused.state == "missing":
            workspace.create(artifact, capture.data, mode=0o444)
            return
        raise _refused(artifact, refused) from None
    if known != capture.data:
        raise OpenKnowledgeError(
            f"{artifact} has sha256 {hashlib.sha256(known).hexdigest()}: possible tampering; "
            "restore or remove it",
            path=artifact,
        )


def _receipt(
    workspace: Workspace, page: Document, source: Source, capture: Capture, artifact: str, path: str
) -> Receipt:
    """Return the receipt: the one at ``path``, if it is of this capture, else a new one, which is staged."""
    fresh = _new_receipt(workspace.now, page, source, capture, artifact)
    try:
        known = read_inside(workspace.root, path, limits.CONFIG_BYTES)
    except Refused as refused:
        if refused.state != "missing":
            raise _refused(path, refused) from None
        text = json.dumps(fresh, ensure_ascii=False, indent=2) + "\n"
        workspace.create(path, text.encode())
        return fresh
    held: Any = decode_object(known, what=path)
    for key in (
        "type",
        "version",
        "id",
        "sha256",
        "bytes",
        "artifact",
        "originalResource",
        "document",
        "sourceId",
    ):
        if held.get(key) != fresh[key]:
            raise OpenKnowledgeError(
                f"{path}: {key} is not that of this capture: the receipt was changed; restore or remove it",
                path=path,
            )
    if not isinstance(held.get("mediaType"), str) or not isinstance(held.get("capturedAt"), str):
        raise OpenKnowledgeError(f"{path}: the receipt was changed; restore or remove it", path=path)
    receipt: Receipt = held
    return receipt


def _new_receipt(now: datetime, page: Document, source: Source, capture: Capture, artifact: str) -> Receipt:
    raw = source.raw
    items: dict[str, Any] = {
        "type": RECEIPT,
        "version": 1,
        "id": f"okf+sha256://{capture.sha256}",
        "sha256": capture.sha256,
        "bytes": len(capture.data),
        "mediaType": capture.media_type,
        "artifact": artifact,
        "originalResource": capture.original,
        "finalResource": capture.final,
        "capturedAt": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z"),
        "document": page.path,
        "sourceId": source.id,
        "sourceType": text_of(raw.get("source_type")),
        "author": text_of(raw.get("author")),
        "publisher": text_of(raw.get("publisher")),
        "license": text_of(raw.get("license")),
        "access": list(text_list(raw.get("access"))),
    }
    optional = ("finalResource", "sourceType", "author", "publisher", "license", "access")
    receipt: Receipt = {key: value for key, value in items.items() if value or key not in optional}  # type: ignore[assignment]
    return receipt


def _edit_source(
    workspace: Workspace, page: Document, source: Source, capture: Capture, artifact: str
) -> None:
    relative = posixpath.relpath(artifact, posixpath.dirname(page.path) or ".")
    wanted = {
        "resource": relative,
        "live_resource": capture.original,
        "observe": "pinned",
        "sha256": capture.sha256,
    }
    patch = [
        {
            "op": "replace" if name in source.raw else "add",
            "path": f"/sources/{source.index}/{name}",
            "value": value,
        }
        for name, value in wanted.items()
        if text_of(source.raw.get(name)) != value
    ]
    if patch:
        workspace.edit(page.path, patch, allowed=frozenset({"sources"}))
