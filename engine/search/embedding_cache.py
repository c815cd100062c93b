"""The cache file of an embedding model: vectors by the digest of their text, one line of JSON, mode 0600."""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
from array import array
from pathlib import Path
from typing import Any

from openknowledge.engine import limits
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.search.embeddings import EmbeddingModel, check_limit, strict_json

VERSION = "1"
_FIELDS = {"schemaVersion", "modelFingerprint", "dimensions", "entries"}
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


def read_cache(path: Path, model: EmbeddingModel) -> dict[str, array[float]]:
    """Return the vectors of ``model`` in the file at ``path``, by digest.

    A missing file, or one of another model, gives none. Raises ``OpenKnowledgeError`` for a file that is no
    cache, ``LimitError`` for one that is too large.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _broken(path, error.strerror or "cannot be read") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise _broken(path, "it is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        check_limit(found.st_size)
        data = file.read(limits.EMBEDDING_CACHE_BYTES + 1)
    check_limit(len(data))
    try:
        content = strict_json(data)
    except ValueError as error:
        raise _broken(path, str(error)) from None
    if not isinstance(content, dict) or set(content) != _FIELDS or content["schemaVersion"] != VERSION:
        raise _broken(path, "it does not have the fields of a cache")
    if content["modelFingerprint"] != model.fingerprint or content["dimensions"] != model.dimensions:
        return {}
    if not isinstance(content["entries"], list):
        raise _broken(path, "its entries are no list")
    return dict(_entry(path, item, model.dimensions) for item in content["entries"])


def _entry(path: Path, item: Any, dimensions: int) -> tuple[str, array[float]]:
    if not isinstance(item, dict) or set(item) != {"inputSha256", "vector"}:
        raise _broken(path, "an entry does not have the fields of one")
    key, row = item["inputSha256"], item["vector"]
    if not isinstance(key, str) or not _DIGEST.match(key):
        raise _broken(path, "an entry's inputSha256 is no digest")
    if not isinstance(row, list) or len(row) != dimensions:
        raise _broken(path, f"an entry does not have {dimensions} dimensions")
    if any(type(value) not in (int, float) for value in row):
        raise _broken(path, "a vector is no list of numbers")
    try:
        return key, array("f", row)
    except OverflowError:
        raise _broken(path, "a number is too large") from None


def write_cache(path: Path, model: EmbeddingModel, entries: dict[str, array[float]]) -> None:
    """Replace the file at ``path``, sorted by digest, readable by its owner only.

    Raises ``LimitError`` when it would be too large, ``OpenKnowledgeError`` when it cannot be written.
    """
    content = {
        "schemaVersion": VERSION,
        "modelFingerprint": model.fingerprint,
        "dimensions": model.dimensions,
        "entries": [{"inputSha256": key, "vector": list(entries[key])} for key in sorted(entries)],
    }
    data = json.dumps(content, separators=(",", ":")).encode() + b"\n"
    check_limit(len(data))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=".embeddings-", dir=path.parent)  # mode 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OpenKnowledgeError(
            f"cannot write the embedding cache {path}: {error.strerror}", path=str(path)
        ) from None


def _broken(path: Path, reason: str) -> OpenKnowledgeError:
    return OpenKnowledgeError(
        f"the embedding cache {path} cannot be used: {reason}; delete it to make a new one", path=str(path)
    )
