"""What is wrong with claims: recorded cheaply while reading, placed on a line only when somebody looks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.issues import Issue

RULE = "claim-profile"
Place = tuple[str | int, ...]
"""Keys and indexes from the root of the frontmatter to the field at fault."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of one page. ``index`` is the claim that it touches, ``None`` when it is the whole page."""

    document: Document = field(repr=False)
    message: str
    at: Place = ()
    index: int | None = None
    claim_id: str = ""

    def issue(self) -> Issue:
        """Return the issue, with line and column in the file."""
        line, column = self.document.frontmatter.position(*self.at)
        return Issue(self.document.path, RULE, "error", self.message, line, column)


@dataclass(frozen=True, slots=True, order=True)
class Quarantined:
    """What is kept out of every answer, and why. Without ``claim_id`` all claims of the page are."""

    document: str
    claim_id: str
    rule: str
    message: str


_KINDS: dict[type, str] = {
    dict: "a mapping",
    list: "a list",
    str: "a string",
    bool: "a boolean",
    type(None): "null",
    int: "a number",
    float: "a number",
}


def kind_of(value: Any) -> str:
    """Name the YAML kind of ``value`` for a message."""
    return _KINDS.get(type(value), "something else")


def shown(text: Any) -> str:
    """Return ``text`` in double quotes for a message: one line, shortened when long."""
    plain = "".join([ch if ch.isprintable() else " " for ch in str(text)[:200]])
    return f'"{plain if len(plain) <= 120 else plain[:117] + "..."}"'


def dotted(place: Place) -> str:
    """Return a place as a reader of YAML writes it: ``evidence[0].selector.exact``."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text
