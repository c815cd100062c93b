"""What is wrong in a bundle, and where. Reading and validation both speak in these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Issue:
    """One finding about one place of a bundle.

    ``path`` is bundle-relative, ``line`` and ``column`` are 1-based (columns in code points).
    """

    path: str
    rule: str
    severity: Severity
    message: str
    line: int = 1
    column: int = 1

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """The order in which issues are reported."""
        return (self.path, self.line, self.column, self.rule, self.message)


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding inside one page, before its path is known."""

    rule: str
    message: str
    line: int
    column: int = 1
    severity: Severity = "error"

    def at(self, path: str) -> Issue:
        """Return the issue for the page at ``path``."""
        return Issue(path, self.rule, self.severity, self.message, self.line, self.column)
