"""Reads a JSON object from outside strictly: bounded, every key once, nothing that JSON cannot say."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from openknowledge.engine import limits
from openknowledge.engine.errors import LimitError, OpenKnowledgeError, Span, TextError


def decode_object(data: bytes, *, what: str, largest: int = limits.PROPOSAL_BYTES) -> dict[str, Any]:
    """Return the JSON object in ``data``; ``what`` names it in messages.

    Raises ``LimitError`` when it is larger than ``largest`` bytes or nested too deeply, ``TextError`` with
    the place for what is not JSON, ``OpenKnowledgeError`` for a repeated key, a number that JSON or this
    program cannot hold, half a surrogate pair, and for anything but an object.
    """
    if len(data) > largest:
        raise LimitError(f"{what} is larger than {largest} bytes", limit="PROPOSAL_BYTES")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OpenKnowledgeError(f"{what} is not UTF-8: byte at offset {error.start}") from None
    _check_depth(text, what)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_Pairs(what),
            parse_constant=_Refused(what),
            parse_float=_Float(what),
        )
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise TextError(problem, text=text, span=Span(error.lineno, error.colno), source=what) from None
    except ValueError:
        raise OpenKnowledgeError(f"{what}: a number has too many digits") from None
    if not isinstance(value, dict):
        raise OpenKnowledgeError(f"{what} must be a JSON object")
    return value


_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def _check_depth(text: str, what: str) -> None:
    depth = 0
    for found in _STRUCTURE.finditer(text):
        mark = found[0]
        if mark in "[{":
            depth += 1
            if depth > limits.FRONTMATTER_DEPTH:
                raise LimitError(
                    f"{what} is nested deeper than {limits.FRONTMATTER_DEPTH} levels",
                    limit="FRONTMATTER_DEPTH",
                )
        elif mark in "]}":
            depth -= 1


class _Pairs:
    def __init__(self, what: str) -> None:
        self._what = what

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise OpenKnowledgeError(f"{self._what}: the field {_shown(key)} is there twice")
            self._check_text(key)
            self._check_value(value)
            found[key] = value
        return found

    def _check_value(self, value: Any) -> None:
        waiting = [value]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                self._check_text(item)
            elif isinstance(item, list):
                waiting += item

    def _check_text(self, text: str) -> None:
        if not text.isascii() and _SURROGATE.search(text):
            raise OpenKnowledgeError(f"{self._what}: {_shown(text)} holds half a surrogate pair")


class _Refused:
    def __init__(self, what: str) -> None:
        self._what = what

    def __call__(self, text: str) -> NoReturn:
        raise OpenKnowledgeError(f"{self._what}: {text} is not a JSON number")


class _Float:
    def __init__(self, what: str) -> None:
        self._what = what

    def __call__(self, text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise OpenKnowledgeError(f"{self._what}: the number {text[:40]} is too large")
        return value


def _shown(text: str) -> str:
    return json.dumps(text if len(text) <= 60 else text[:57] + "...")
