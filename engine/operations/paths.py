"""Resolves bundle-relative paths so that nothing outside the bundle can be reached."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from openknowledge.engine.errors import OpenKnowledgeError

_DRIVE = re.compile(r"[A-Za-z]:")
_WINDOWS_NAMES = frozenset(
    ["con", "prn", "aux", "nul", *(f"com{n}" for n in range(1, 10)), *(f"lpt{n}" for n in range(1, 10))]
)


def resolve_in_bundle(root: Path, relative: str, *, may_be_missing: bool = False) -> Path:
    """Return the path of the regular file ``relative`` below ``root``.

    ``relative`` uses ``/`` on every system. Absolute paths, drive letters, backslashes, NUL, ``.``, ``..``,
    empty segments, anything below ``.git`` and a symbolic link anywhere on the way are refused. With
    ``may_be_missing`` the file, and directories above it, need not exist yet; what exists must be of the
    right kind. ``root`` itself may be a link. Raises ``OpenKnowledgeError``.
    """
    segments = split_relative(relative)
    current = root
    for depth, segment in enumerate(segments):
        current = current / segment
        last = depth == len(segments) - 1
        try:
            mode = current.lstat().st_mode
        except FileNotFoundError:
            if may_be_missing:
                return root.joinpath(*segments)
            raise OpenKnowledgeError(f"{relative}: there is no such file", path=relative) from None
        except OSError as error:
            raise OpenKnowledgeError(f"{relative}: {error.strerror or error}", path=relative) from None
        if stat.S_ISLNK(mode):
            at = "/".join(segments[: depth + 1])
            raise OpenKnowledgeError(
                f"{relative}: {at} is a symbolic link; links are not followed", path=relative
            )
        if not last and not stat.S_ISDIR(mode):
            at = "/".join(segments[: depth + 1])
            raise OpenKnowledgeError(f"{relative}: {at} is not a directory", path=relative)
        if last and not stat.S_ISREG(mode):
            raise OpenKnowledgeError(f"{relative}: not a regular file", path=relative)
    return current


def split_relative(relative: str) -> list[str]:
    """Return the segments of a bundle-relative path. Raises ``OpenKnowledgeError`` for an unclean one."""
    problem = _problem(relative)
    if problem is not None:
        shown = relative if relative.isprintable() and len(relative) <= 200 else repr(relative[:200])
        raise OpenKnowledgeError(
            f"{shown or 'no path'}: {problem}; give the path below the bundle's root, like docs/page.md",
            path=relative,
        )
    return relative.split("/")


def is_plain_directory(root: Path, relative: str) -> bool:
    """Return whether ``relative`` is a directory below ``root`` with no symbolic link on the way."""
    current = root
    for segment in split_relative(relative):
        current = current / segment
        try:
            mode = current.lstat().st_mode
        except OSError:
            return False
        if not stat.S_ISDIR(mode):
            return False
    return True


def _problem(relative: str) -> str | None:
    if not relative:
        return "the path is empty"
    if "\0" in relative:
        return "the path holds a NUL character"
    if "\\" in relative:
        return "the path holds a backslash"
    if relative.startswith("/"):
        return "the path is absolute"
    if _DRIVE.match(relative):
        return "the path starts with a drive letter"
    try:
        os.fsencode(relative)
    except UnicodeEncodeError:
        return "the path cannot be a file name on this system"
    for segment in relative.split("/"):
        problem = _segment_problem(segment)
        if problem is not None:
            return problem
    return None


def _segment_problem(segment: str) -> str | None:
    if segment == "":
        return "the path has an empty segment"
    if segment in (".", ".."):
        return f"the path has the segment {segment}"
    if segment.lower() == ".git":
        return ".git is not part of the bundle"
    if os.name == "nt":
        stem = segment.split(".")[0].rstrip(" ").lower()
        if ":" in segment or segment[-1] in " ." or stem in _WINDOWS_NAMES:
            return f"{segment} is not a file name on Windows"
    return None
