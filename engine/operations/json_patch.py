"""Checks an RFC 6902 JSON Patch from outside: shape, size, depth and what it may reach."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from openknowledge.engine import limits
from openknowledge.engine.errors import LimitError, OpenKnowledgeError

Operation = Literal["add", "remove", "replace", "move", "copy", "test"]
_OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")
_NEEDS_VALUE = ("add", "replace", "test")
NEEDS_FROM = ("move", "copy")


@dataclass(frozen=True, slots=True)
class PatchOperation:
    """One checked operation: pointers taken apart into their unescaped tokens."""

    number: int
    op: Operation
    path: tuple[str, ...]
    value: Any = None
    source: tuple[str, ...] = ()

    def raw(self) -> dict[str, Any]:
        """Return an add, remove or replace as JSON."""
        raw: dict[str, Any] = {"op": self.op, "path": pointer(self.path)}
        return raw if self.op == "remove" else {**raw, "value": self.value}

    def describe(self) -> str:
        """Return the operation as messages name it."""
        return f"patch operation {self.number} ({self.op} {pointer(self.path)})"


def check_patch(
    patch: Sequence[Mapping[str, Any]], allowed: Collection[str] | None = None
) -> list[PatchOperation]:
    """Return the operations of ``patch``, checked for shape, size, depth and reach.

    Members that RFC 6902 does not name are ignored, as it demands. Raises ``OpenKnowledgeError`` or
    ``LimitError`` naming the operation.
    """
    if isinstance(patch, (str, bytes)) or not isinstance(patch, Sequence):
        raise OpenKnowledgeError("a patch is a list of operations (RFC 6902)")
    if len(patch) > limits.PATCH_OPERATIONS:
        raise LimitError(
            f"the patch has {len(patch)} operations; at most {limits.PATCH_OPERATIONS} are accepted",
            limit="PATCH_OPERATIONS",
        )
    budget = _Budget(limits.PROPOSAL_BYTES)
    return [_check_operation(number, raw, allowed, budget) for number, raw in enumerate(patch, start=1)]


def parse_pointer(text: str) -> tuple[str, ...]:
    """Return the unescaped reference tokens of a JSON Pointer (RFC 6901). Raises ``OpenKnowledgeError``."""
    if text == "":
        return ()
    if not text.startswith("/"):
        raise OpenKnowledgeError(f"{shown(text)} is not a JSON Pointer: it must start with /")
    if re.search(r"~(?![01])", text):
        raise OpenKnowledgeError(
            f"{shown(text)} is not a JSON Pointer: write ~ as ~0 and / inside a key as ~1"
        )
    tokens = tuple(token.replace("~1", "/").replace("~0", "~") for token in text[1:].split("/"))
    if len(tokens) > limits.FRONTMATTER_DEPTH:
        raise LimitError(
            f"the JSON Pointer {shown(text)} is deeper than {limits.FRONTMATTER_DEPTH} levels",
            limit="FRONTMATTER_DEPTH",
        )
    return tokens


def pointer(tokens: Sequence[str]) -> str:
    """Return ``tokens`` as a JSON Pointer."""
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)


def _check_operation(
    number: int, raw: object, allowed: Collection[str] | None, budget: _Budget
) -> PatchOperation:
    where = f"patch operation {number}"
    if not isinstance(raw, Mapping):
        raise OpenKnowledgeError(f"{where} must be an object with op and path")
    op = raw.get("op")
    if not isinstance(op, str) or op not in _OPERATIONS:
        raise OpenKnowledgeError(f"{where}: op must be one of {', '.join(_OPERATIONS)}, not {shown(op)}")
    path = _check_pointer(where, raw, "path", allowed, budget)
    source: tuple[str, ...] = ()
    if op in NEEDS_FROM:
        source = _check_pointer(where, raw, "from", allowed, budget)
        if op == "move" and len(source) < len(path) and path[: len(source)] == source:
            raise OpenKnowledgeError(f"{where}: a value cannot be moved into itself")
    value = None
    if op in _NEEDS_VALUE:
        if "value" not in raw:
            raise OpenKnowledgeError(f"{where}: {op} needs a value")
        value = raw["value"]
        budget.take(where, value)
    return PatchOperation(number, cast("Operation", op), path, value, source)


def _check_pointer(
    where: str, raw: Mapping[str, Any], member: str, allowed: Collection[str] | None, budget: _Budget
) -> tuple[str, ...]:
    text = raw.get(member)
    if not isinstance(text, str):
        raise OpenKnowledgeError(f"{where} needs {member}, a JSON Pointer")
    budget.take(where, text)
    try:
        tokens = parse_pointer(text)
    except LimitError as error:
        raise LimitError(f"{where}: {error.message}", limit=error.limit) from None
    except OpenKnowledgeError as error:
        raise OpenKnowledgeError(f"{where}: {error.message}") from None
    if not tokens:
        raise OpenKnowledgeError(f"{where}: the frontmatter as a whole may not be changed")
    if allowed is not None and tokens[0] not in allowed:
        raise OpenKnowledgeError(
            f"{where}: {shown(text)} reaches outside what may be changed here ({', '.join(sorted(allowed))})"
        )
    return tokens


class _Budget:
    """Bounds the size of all values of a patch, near the size of their JSON, without recursion."""

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, where: str, value: object) -> None:
        waiting: list[tuple[object, int]] = [(value, 1)]
        while waiting:
            item, depth = waiting.pop()
            if depth > limits.FRONTMATTER_DEPTH:
                raise LimitError(
                    f"{where}: the value is nested deeper than {limits.FRONTMATTER_DEPTH} levels",
                    limit="FRONTMATTER_DEPTH",
                )
            if isinstance(item, str):
                self._spend(where, _check_text(where, item))
            elif isinstance(item, dict):
                for key, below in item.items():
                    if not isinstance(key, str) or not key:
                        raise OpenKnowledgeError(f"{where}: keys must be non-empty strings")
                    self._spend(where, _check_text(where, key) + 2)
                    waiting.append((below, depth + 1))
            elif isinstance(item, list):
                self._spend(where, len(item))
                waiting.extend((below, depth + 1) for below in item)
            else:
                self._spend(where, _check_scalar(where, item))

    def _spend(self, where: str, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise LimitError(
                f"{where}: the patch is larger than {limits.PROPOSAL_BYTES} bytes", limit="PROPOSAL_BYTES"
            )


def _check_text(where: str, text: str) -> int:
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise OpenKnowledgeError(f"{where}: a string holds half a surrogate pair (U+{code:04X})") from None


def _check_scalar(where: str, value: object) -> int:
    if value is None or isinstance(value, bool):
        return 4
    if isinstance(value, int):
        if value.bit_length() > _INTEGER_BITS:
            raise OpenKnowledgeError(f"{where}: an integer of more than 4,000 digits; write it as a string")
        return value.bit_length() // 3 + 1
    if isinstance(value, float):
        if not math.isfinite(value):
            raise OpenKnowledgeError(f"{where}: {value} is not a JSON number")
        return 8
    raise OpenKnowledgeError(f"{where}: {type(value).__name__} is not a JSON value")


_INTEGER_BITS = 13_000


def shown(value: object) -> str:
    """Return ``value`` as messages show it: on one line, cut when long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
