"""Content digests and locators: the identities by which an answer names the exact bytes it came from.

All digests are SHA-256 in lower-case hexadecimal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

_SEGMENT_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~$&+=:@")
_ESCAPED = [chr(byte) if byte in _SEGMENT_SAFE else f"%{byte:02X}" for byte in range(256)]


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def record_header(kind: bytes, path: str, size: int) -> bytes:
    """Return the header that precedes one file or directory in a bundle digest.

    Kind byte, length of the path in bytes (64-bit big-endian), the path, size (64-bit big-endian).
    """
    raw = path.encode()
    return kind + len(raw).to_bytes(8, "big") + raw + size.to_bytes(8, "big")


def index_sha256(documents: Iterable[tuple[str, bytes]]) -> str:
    """Return the revision of a bundle: the digest over ``(path, raw bytes)`` in the order of paths."""
    digest = hashlib.sha256()
    for path, data in documents:
        raw = path.encode()
        digest.update(b"f" + len(raw).to_bytes(8, "big") + raw + len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def content_sha256(text: str) -> str:
    """Return the digest of a section's text (line endings already LF)."""
    return hashlib.sha256(text.encode()).hexdigest()


def path_escape(segment: str) -> str:
    """Percent-encode ``segment`` as one URL path segment; ``/`` becomes ``%2F``."""
    return "".join([_ESCAPED[byte] for byte in segment.encode()])


def locator(index: str, path: str, content: str) -> str:
    """Return the locator of the section with digest ``content`` in ``path`` at revision ``index``."""
    return f"okf+sha256://{index}/{path_escape(path)}#{content}"


def compact_json(value: object) -> str:
    """Return ``value`` as compact JSON for use inside a digest.

    No spaces, mapping keys sorted, ``<``, ``>`` and ``&`` as ``\\u003c``, ``\\u003e`` and ``\\u0026``.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
