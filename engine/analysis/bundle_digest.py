"""The digest over everything in a bundle's directory: pages, other files, folders and links."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from openknowledge.engine.bundle.digests import record_header
from openknowledge.engine.bundle.walk import SKIPPED_DIRECTORY
from openknowledge.engine.errors import OpenKnowledgeError

_CHUNK = 1 << 20


def bundle_sha256(root: Path) -> str:
    """Return the digest over a lexical walk of ``root`` that skips ``.git``.

    A folder, file or symbolic link counts with its path and, but for folders, its bytes or target. Raises
    ``OpenKnowledgeError`` when something cannot be read or changes meanwhile.
    """
    digest = hashlib.sha256()
    try:
        for path, entry in _walk(root):
            if entry.is_symlink():
                target = os.fsencode(Path(entry.path).readlink())
                digest.update(record_header(b"l", path, len(target)) + target)
            elif entry.is_dir(follow_symlinks=False):
                digest.update(record_header(b"d", path, 0))
            elif entry.is_file(follow_symlinks=False):
                _add_file(digest, path, Path(entry.path))
    except OSError as error:
        name = os.path.relpath(error.filename, root) if error.filename else str(root)
        raise OpenKnowledgeError(f"cannot read {name!r} for the bundle's digest: {error.strerror}") from None
    except UnicodeEncodeError:
        raise OpenKnowledgeError(
            "a file name of the bundle is not valid UTF-8, so it has no digest: rename the file"
        ) from None
    return digest.hexdigest()


def _add_file(digest: hashlib._Hash, path: str, file: Path) -> None:
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        digest.update(record_header(b"f", path, size))
        left = size
        while chunk := stream.read(_CHUNK):
            left -= len(chunk)
            digest.update(chunk)
    if left:
        raise OpenKnowledgeError(f"the file {path!r} changed while it was read: run the command again")


def _walk(root: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    pending: list[tuple[str, Iterator[os.DirEntry[str]]]] = [("", _entries(root))]
    while pending:
        prefix, entries = pending[-1]
        entry = next(entries, None)
        if entry is None:
            pending.pop()
            continue
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and entry.name == SKIPPED_DIRECTORY:
            continue
        yield prefix + entry.name, entry
        if is_folder:
            pending.append((f"{prefix}{entry.name}/", _entries(Path(entry.path))))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return iter(sorted(entries, key=lambda entry: os.fsencode(entry.name)))
