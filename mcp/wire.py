"""The protocol's lines: one JSON-RPC message each, as bytes from and to a descriptor."""

from __future__ import annotations

import json
import os
import re
import select
import sys
from typing import Any

from openknowledge.engine import limits
from openknowledge.engine.errors import LimitError, OpenKnowledgeError

_CHUNK = 1 << 16
_SURROGATE = re.compile("[\ud800-\udfff]")
_HUGE = re.compile(rb'"(?:[^"\\]|\\.)*+"|([0-9]{4301,})')
_OUT_OF_RANGE = b"9" * 40


class LineReader:
    """Reads lines from a descriptor, none longer than the limit."""

    def __init__(self, descriptor: int, limit: int = limits.MESSAGE_BYTES) -> None:
        self._descriptor = descriptor
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self._ended = False

    def next_line(self) -> bytes | None:
        """Return the next line without its line feed; ``None`` at the end of the input.

        What follows the last line feed counts as a line too. Raises ``LimitError`` for a line that is too
        long, without reading it to its end, and ``OSError`` when the descriptor cannot be read.
        """
        while True:
            end = self._buffer.find(b"\n", self._searched)
            if end > self._limit or (end < 0 and len(self._buffer) > self._limit):
                raise LimitError(
                    f"a message is longer than {self._limit} bytes, the limit of one line; the server ends",
                    limit="MESSAGE_BYTES",
                )
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._searched = 0
                return line
            self._searched = len(self._buffer)
            if self._ended:
                rest = bytes(self._buffer)
                self._buffer.clear()
                self._searched = 0
                return rest or None
            chunk = os.read(self._descriptor, _CHUNK)
            self._ended = not chunk
            self._buffer += chunk

    def silent(self, seconds: float = 0.0) -> bool:
        """Whether nothing comes to be read for so long. False where that cannot be known."""
        if self._buffer or self._ended or sys.platform == "win32":
            return False
        try:
            return not select.select([self._descriptor], [], [], seconds)[0]
        except (OSError, ValueError):
            return False


class LineWriter:
    """Writes messages to a descriptor, each as one line."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, message: dict[str, Any]) -> None:
        """Write one message. Raises ``OpenKnowledgeError`` when the client reads no more."""
        view = memoryview(encode(message) + b"\n")
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError as error:
            raise OpenKnowledgeError(
                f"cannot write to the client: {error.strerror or error}; it has closed its end"
            ) from None


def encode(message: Any) -> bytes:
    """Return compact JSON in UTF-8. A lone surrogate, which UTF-8 cannot hold, becomes U+FFFD."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def decode(line: bytes) -> Any:
    """Return the JSON value of a line. Raises ``ValueError`` for anything that is not valid JSON in UTF-8.

    Strict: no NaN, no lone surrogates (they cannot be written back), nothing after the value, at most 200
    levels. An integer of more digits than Python converts becomes one that is just as far out of any range.
    """
    from pydantic_core import from_json

    try:
        return from_json(line, allow_inf_nan=False)
    except ValueError:
        # the message is JSON, and is to be refused for what the number stands for
        shorter = _HUGE.sub(lambda found: found[0] if found[1] is None else _OUT_OF_RANGE, line)
        if shorter == line:
            raise
        return from_json(shorter, allow_inf_nan=False)
