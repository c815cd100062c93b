"""Splits a page into YAML frontmatter and Markdown body, and reads the frontmatter."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from openknowledge.engine import limits
from openknowledge.engine.bundle.issues import Problem
from openknowledge.engine.bundle.yaml_reader import Path, positions, read_yaml

MARKER = "---"


@dataclass(slots=True)
class Frontmatter:
    """The frontmatter of a page and the split that it implies.

    ``present`` is true for a block that opens, even when it never closes; ``data`` is empty unless the YAML
    was read. ``first_line`` is the file's line on which ``source`` starts, ``body_line`` that of ``body``.
    """

    present: bool
    body: str
    body_line: int
    data: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    first_line: int = 2
    problems: list[Problem] = field(default_factory=list)
    closed: bool = True
    _positions: dict[Path, tuple[int, int]] | None = None

    @property
    def broken(self) -> bool:
        """Whether the block is there but could not be read."""
        return any(problem.severity == "error" for problem in self.problems)

    def position(self, *path: str | int) -> tuple[int, int]:
        """Return line and column in the file of the value at ``path``, or of its nearest known parent."""
        if not self.present:
            return 1, 1
        if self._positions is None:
            self._positions = positions(self.source)
        at: Path = path
        while at and at not in self._positions:
            at = at[:-1]
        if not at:
            return 1, 1
        line, column = self._positions[at]
        return line + self.first_line - 1, column


_CLOSING = re.compile(r"\n---[ \t]*+(?=\n|\Z)")


def split_frontmatter(text: str) -> Frontmatter:
    """Split ``text`` (line endings already LF, no byte-order mark) and read its frontmatter.

    Never raises for bad input: what is wrong stands in ``problems`` with lines of the file.
    """
    end = text.find("\n")
    opening = text if end < 0 else text[:end]
    if opening.strip() != MARKER:
        return Frontmatter(False, text, 1, problems=_why_not_frontmatter(text))
    problems = []
    if opening != MARKER:
        problems.append(
            Problem("frontmatter-format", "opening frontmatter marker must be exactly ---", 1, 1, "warning")
        )
    closing = _CLOSING.search(text, end) if end >= 0 else None
    if closing is None:
        problems.append(
            Problem("frontmatter", "frontmatter block is not closed: add a line --- after the last key", 1)
        )
        source = "" if end < 0 else text[end + 1 :]
        return Frontmatter(True, "", source.count("\n") + 2, source=source, problems=problems, closed=False)
    source = text[end + 1 : closing.start() + 1]
    closing_line = source.count("\n") + 2
    if closing.group() != "\n" + MARKER:
        problems.append(
            Problem(
                "frontmatter-format",
                "closing frontmatter marker must be exactly ---",
                closing_line,
                1,
                "warning",
            )
        )
    data = _read(source, problems)
    return Frontmatter(
        True, text[closing.end() + 1 :], closing_line + 1, data=data, source=source, problems=problems
    )


def _read(source: str, problems: list[Problem]) -> dict[str, Any]:
    if not source.strip():
        return {}
    if 4 * len(source) > limits.FRONTMATTER_BYTES and len(source.encode()) > limits.FRONTMATTER_BYTES:
        problems.append(
            Problem("frontmatter", f"frontmatter is larger than {limits.FRONTMATTER_BYTES} bytes", 1)
        )
        return {}
    result = read_yaml(source)
    for found in result.problems:
        rule = "frontmatter" if found.fatal else "frontmatter-format"
        severity = "error" if found.fatal else "warning"
        problems.append(Problem(rule, found.message, found.line + 1, found.column, severity))  # type: ignore[arg-type]
    if result.failed or result.value is None:
        return {}
    if not isinstance(result.value, dict):
        problems.append(Problem("frontmatter", "frontmatter must be a YAML mapping", 2))
        return {}
    return result.value


def _why_not_frontmatter(text: str) -> list[Problem]:
    """Explain a ``---`` that looks like frontmatter but does not start on line 1."""
    head = text[:4096]
    if head[:1].isspace():
        lines = head.split("\n")
        for number, line in enumerate(lines, start=1):
            if line.strip() == MARKER:
                message = f"frontmatter must start on line 1, but the opening --- is on line {number}"
                return [Problem("frontmatter-format", message, number, 1, "warning")]
            if line.strip():
                break
    if head.startswith(MARKER + "\r"):
        message = "frontmatter is not recognised: the lines end in CR alone; save the file with LF or CRLF"
        return [Problem("frontmatter-format", message, 1, 1, "warning")]
    return []
