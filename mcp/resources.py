"""The files of a bundle as resources: listed in pages, read whole, never from outside of the bundle."""

from __future__ import annotations

import base64
import mimetypes
import os
import re
import stat
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from openknowledge.engine import limits
from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.digests import path_escape
from openknowledge.engine.bundle.walk import MARKDOWN_SUFFIXES, SKIPPED_DIRECTORY, read_file
from openknowledge.mcp.errors import internal_error, invalid_cursor, resource_not_found, resource_too_large

PREFIX = "openknowledge://bundle/"
OTHER = "application/octet-stream"
_CURSOR = re.compile(r"v1:(0|[1-9][0-9]{0,17})\Z", re.ASCII)
_TEXT_TYPES = ("application/json", "application/xml")
_TEXT_SUFFIXES = ("+json", "+xml")
_COMPRESSED = {
    "gzip": "application/gzip",
    "bzip2": "application/x-bzip2",
    "xz": "application/x-xz",
    "compress": "application/x-compress",
    "br": "application/x-brotli",
}


def resource_uri(rel: str) -> str:
    """Return the one URI of the file ``rel``."""
    return PREFIX + "/".join(path_escape(segment) for segment in rel.split("/"))


def mime_type(rel: str) -> str:
    """Return the media type of a file by its extension."""
    if rel.lower().endswith(MARKDOWN_SUFFIXES):
        return "text/markdown"
    suffix = os.path.splitext(rel)[1]  # noqa: PTH122 - of the name as text; it is no path of this system
    guessed, encoding = mimetypes.guess_type("file" + suffix.lower())
    if encoding is not None:
        return _COMPRESSED.get(encoding, OTHER)
    return guessed or OTHER


def is_text_type(media_type: str) -> bool:
    """Whether files of this type are shown as text when they are valid UTF-8."""
    return media_type.startswith("text/") or media_type in _TEXT_TYPES or media_type.endswith(_TEXT_SUFFIXES)


def encode_cursor(offset: int) -> str:
    """Return the cursor for the page that starts at ``offset``."""
    return base64.urlsafe_b64encode(f"v1:{offset}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str, total: int) -> int:
    """Return the offset in a cursor over ``total`` items. Raises ``Refusal`` for what is not one."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
    except ValueError:
        raise invalid_cursor() from None
    found = _CURSOR.match(text)
    if found is None or int(found[1]) > total or encode_cursor(int(found[1])) != cursor:
        raise invalid_cursor()
    return int(found[1])


def inventory(bundle: Bundle) -> list[str]:
    """Return the regular files of ``bundle`` in the order of their paths."""
    return sorted([*(page.path for page in bundle.documents), *bundle.undecoded, *bundle.assets])


def list_resources(bundle: Bundle, cursor: str | None) -> dict[str, Any]:
    """Return one page of resources, with ``nextCursor`` when there are more. Raises ``Refusal``."""
    names = inventory(bundle)
    start = decode_cursor(cursor, len(names)) if cursor else 0
    end = start + limits.RESOURCE_PAGE
    result: dict[str, Any] = {"resources": [_entry(bundle, rel) for rel in names[start:end]]}
    if end < len(names):
        result["nextCursor"] = encode_cursor(end)
    return result


def _entry(bundle: Bundle, rel: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"uri": resource_uri(rel), "name": rel}
    page = bundle.by_path.get(rel)
    if page is not None:
        entry["title"] = page.title
        if page.description:
            entry["description"] = page.description
    entry["mimeType"] = mime_type(rel)
    annotations: dict[str, Any] = {"audience": ["user", "assistant"]}
    try:
        info = (bundle.root / rel).lstat()
    except OSError:
        pass  # it vanished a moment ago; the next list leaves it out
    else:
        if info.st_size:
            entry["size"] = info.st_size
        with suppress(ValueError, OverflowError, OSError):  # a file may carry a time of no calendar
            moment = datetime.fromtimestamp(info.st_mtime_ns // 1_000_000_000, UTC)
            annotations["lastModified"] = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    entry["annotations"] = annotations
    return entry


def read_resource(bundle: Bundle, uri: str) -> dict[str, Any]:
    """Return the contents of the resource ``uri``.

    Raises ``Refusal`` when it is no canonical URI of a file in the inventory, when a symbolic link is on the
    way, when the file is too large, or when it cannot be read.
    """
    rel = _path_of(bundle, uri)
    try:
        data = _read(bundle.root, rel)
    except PermissionError:
        raise resource_not_found(uri) from None
    except (FileNotFoundError, NotADirectoryError, _NotRegularError):
        raise resource_not_found(uri) from None
    except OSError:
        raise internal_error() from None
    if data is None:
        raise resource_too_large(uri)
    media_type = mime_type(rel)
    content: dict[str, Any] = {"uri": uri, "mimeType": media_type}
    text = _as_text(data) if is_text_type(media_type) else None
    if text is None:
        content["blob"] = base64.b64encode(data).decode()
    else:
        content["text"] = text
    return {"contents": [content]}


def _path_of(bundle: Bundle, uri: str) -> str:
    if not uri.startswith(PREFIX):
        raise resource_not_found(uri)
    from urllib.parse import unquote_to_bytes

    try:
        rel = unquote_to_bytes(uri[len(PREFIX) :]).decode()
        canonical = resource_uri(rel)
    except ValueError:
        raise resource_not_found(uri) from None
    listed = rel in bundle.by_path or rel in bundle.undecoded or rel in bundle.assets
    if canonical != uri or not listed or SKIPPED_DIRECTORY in rel.split("/"):
        raise resource_not_found(uri)
    return rel


class _NotRegularError(OSError):
    """Not a file, or a symbolic link on the way to it."""


def _read(root: Path, rel: str) -> bytes | None:
    """Return the bytes of ``rel``, ``None`` when they are too many. Follows no link below ``root``."""
    if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
        return _read_by_path(root, rel)
    *folders, name = rel.split("/")
    flags = os.O_RDONLY | os.O_NOFOLLOW | getattr(os, "O_CLOEXEC", 0)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | getattr(os, "O_CLOEXEC", 0))
    try:
        for segment in folders:
            below = _open_below(segment, flags | os.O_DIRECTORY, folder)
            os.close(folder)
            folder = below
        descriptor = _open_below(name, flags | os.O_NONBLOCK, folder)
    finally:
        os.close(folder)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise _NotRegularError
        return _read_all(descriptor, info.st_size)
    finally:
        os.close(descriptor)


def _open_below(name: str, flags: int, folder: int) -> int:
    import errno

    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
            raise _NotRegularError from None
        raise


def _read_all(descriptor: int, size: int) -> bytes | None:
    """Read to the end; a file that grows meanwhile is read as far as it may be long, and no further."""
    if size > limits.RESOURCE_BYTES:
        return None
    chunks, left = [], limits.RESOURCE_BYTES + 1
    while left and (chunk := os.read(descriptor, min(left, 1 << 20))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks) if left else None


def _read_by_path(root: Path, rel: str) -> bytes | None:
    """Do the same where a file cannot be opened relative to an open directory."""
    current = root
    for segment in rel.split("/"):
        current = current / segment
        mode = current.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise _NotRegularError
    if not stat.S_ISREG(mode):
        raise _NotRegularError
    if current.lstat().st_size > limits.RESOURCE_BYTES:
        return None
    data, _ = read_file(str(current))
    return data if len(data) <= limits.RESOURCE_BYTES else None


def _as_text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
