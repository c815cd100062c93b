"""Where the reports of a gate go: one format to standard output, others to files, all of them or none."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from openknowledge.engine.errors import OpenKnowledgeError, UsageError

Writer = Callable[[], str]


def parse_outputs(texts: Sequence[str], formats: Sequence[str]) -> list[tuple[str, Path]]:
    """Return format and file of each ``FORMAT=FILE``.

    Raises ``UsageError`` for an unknown format and for two outputs to one file, ``OpenKnowledgeError`` for a
    file that could not be written: its folder does not exist, or it is a folder itself.
    """
    found: list[tuple[str, Path]] = []
    taken: dict[str, str] = {}
    for text in texts:
        name, mark, file = text.partition("=")
        if not mark or not file:
            raise UsageError(f"--out {text!r} is not FORMAT=FILE, such as sarif=okn.sarif")
        if name not in formats:
            raise UsageError(f"unknown format {name!r} in --out; choose one of {', '.join(formats)}")
        path = Path(file)
        folder = path.parent
        if not folder.is_dir():
            raise OpenKnowledgeError(f"cannot write {file!r}: there is no folder {str(folder)!r}")
        if path.is_dir():
            raise OpenKnowledgeError(f"cannot write {file!r}: it is a folder")
        key = os.path.realpath(path)
        if key in taken:
            raise UsageError(f"two outputs to one file: {taken[key]} and {text}")
        taken[key] = text
        found.append((name, path))
    return found


def write_reports(
    writers: Mapping[str, Writer], shown: str | None, outputs: Sequence[tuple[str, Path]]
) -> None:
    """Write the format ``shown`` to standard output (none for ``None``) and the others to their files.

    Every report is made before the first is written; a file is replaced in one step.
    """
    from openknowledge.cli.output import emit

    wanted = {name for name, _ in outputs} | ({shown} if shown else set())
    texts = {name: writers[name]() for name in sorted(wanted)}
    for name, path in outputs:
        emit(texts[name], path)
    if shown:
        emit(texts[shown])


def prefix_of(root: Path) -> str:
    """Return the path of ``root`` below the current directory, with a slash behind; ``""`` if elsewhere."""
    relative = os.path.relpath(root, Path.cwd()).replace(os.sep, "/")
    if relative == "." or relative.startswith("../") or relative == "..":
        return ""
    return relative + "/"
