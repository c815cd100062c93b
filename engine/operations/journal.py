"""The record of a change to several files while it is being made, so that a later run can end or undo it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from openknowledge.engine import limits
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.lock import STATE_DIRECTORY
from openknowledge.engine.operations.paths import split_relative

TRANSACTIONS = f"{STATE_DIRECTORY}/transactions"

State = Literal["prepared", "replacing", "committed"]
"""``prepared``: old bytes are saved, no file is replaced yet. ``replacing``: all new bytes lie ready in
temporary files, and a file whose temporary file is gone is replaced. ``committed``: all is in place."""

_ID = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class JournalFile:
    """One file of a change: its bundle-relative path and the SHA-256 of its bytes (``old`` ``None``: new)."""

    path: str
    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class Journal:
    """A change: its files, and the directories that it created, outer ones first."""

    id: str
    state: State
    files: tuple[JournalFile, ...]
    directories: tuple[str, ...] = ()

    def location(self, root: Path) -> Path:
        """Return where the journal is stored."""
        return root / TRANSACTIONS / f"{self.id}.json"

    def saved_directory(self, root: Path) -> Path:
        """Return the directory of the saved old bytes."""
        return root / TRANSACTIONS / self.id

    def saved(self, root: Path, index: int) -> Path:
        """Return where the old bytes of file ``index`` are saved."""
        return self.saved_directory(root) / f"{index}.old"

    def temporary(self, target: Path, index: int) -> Path:
        """Return the temporary file beside ``target`` that holds the new bytes of file ``index``."""
        return target.with_name(f".okn-{self.id}-{index}.tmp")

    def restoring(self, target: Path, index: int) -> Path:
        """Return the temporary file beside ``target`` for old bytes that come from another file system."""
        return target.with_name(f".okn-{self.id}-{index}.undo")

    def encode(self) -> bytes:
        """Return the stored form."""
        files = [{"path": file.path, "old": file.old, "new": file.new} for file in self.files]
        raw = {
            "type": "openknowledge.transaction",
            "version": 1,
            "id": self.id,
            "state": self.state,
            "files": files,
            "directories": list(self.directories),
        }
        return (json.dumps(raw, indent=2, ensure_ascii=False) + "\n").encode()


def is_journal_name(name: str) -> bool:
    """Return whether a file of that name in the transactions directory is a journal."""
    return name.endswith(".json") and _ID.fullmatch(name[: -len(".json")]) is not None


def is_transaction_id(name: str) -> bool:
    """Return whether ``name`` is the id of a transaction."""
    return _ID.fullmatch(name) is not None


def decode_journal(data: bytes, name: str) -> Journal:
    """Return the journal stored in ``data`` under the file name ``name``.

    Every part is checked, since a journal may have come with somebody else's bundle. Raises
    ``OpenKnowledgeError``.
    """
    relative = f"{TRANSACTIONS}/{name}"
    if len(data) > limits.JOURNAL_BYTES:
        raise OpenKnowledgeError(f"{relative}: larger than {limits.JOURNAL_BYTES} bytes", path=relative)
    try:
        return _checked(json.loads(data), name[: -len(".json")])
    except (ValueError, KeyError, TypeError, RecursionError, OpenKnowledgeError):
        raise OpenKnowledgeError(
            f"{relative}: not a journal of an interrupted change; if nobody needs it, remove it",
            path=relative,
        ) from None


def _checked(raw: Any, identifier: str) -> Journal:
    if not isinstance(raw, dict) or raw.get("type") != "openknowledge.transaction" or raw.get("version") != 1:
        raise ValueError("type")
    if raw["id"] != identifier or raw["state"] not in ("prepared", "replacing", "committed"):
        raise ValueError("state")
    files = tuple(_checked_file(file) for file in raw["files"])
    if len({file.path for file in files}) != len(files):
        raise ValueError("files")
    directories = tuple("/".join(split_relative(directory)) for directory in raw["directories"])
    return Journal(identifier, raw["state"], files, directories)


def _checked_file(raw: Any) -> JournalFile:
    path, old, new = raw["path"], raw["old"], raw["new"]
    if _DIGEST.fullmatch(new) is None or (old is not None and _DIGEST.fullmatch(old) is None):
        raise ValueError("digest")
    segments = split_relative(path)
    return JournalFile("/".join(segments), old, new)
