"""The errors that a client can get, with their codes and texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from openknowledge.engine import limits

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
NOT_INITIALIZED: Final = -32000
RESOURCE_TOO_LARGE: Final = -32001
RESOURCE_NOT_FOUND: Final = -32002

_ECHO_RUNES = 8_192


def echoed(text: str) -> str:
    """Return what a client sent as it is shown to it again: cut where it is longer than anything sensible."""
    return text if len(text) <= _ECHO_RUNES else text[:_ECHO_RUNES] + "..."


class Refusal(Exception):
    """A request that gets a JSON-RPC error."""

    def __init__(self, code: int, text: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.data = dict(data or {})

    def as_json(self) -> dict[str, Any]:
        """Return the ``error`` member of a response."""
        error: dict[str, Any] = {"code": self.code, "message": self.text}
        if self.data:
            error["data"] = self.data
        return error


def invalid_params(reason: str = "") -> Refusal:
    """Return the refusal of parameters; ``reason`` says which and why."""
    return Refusal(INVALID_PARAMS, "Invalid params", {"reason": reason} if reason else {})


def invalid_cursor() -> Refusal:
    """Return the refusal of a cursor that this server did not give."""
    return Refusal(INVALID_PARAMS, "Invalid cursor")


def unknown_tool(name: str) -> Refusal:
    """Return the refusal of a tool's name."""
    return Refusal(INVALID_PARAMS, "Unknown tool", {"name": echoed(name)})


def resource_not_found(uri: str) -> Refusal:
    """Return the refusal of a URI that names nothing that may be read here."""
    return Refusal(RESOURCE_NOT_FOUND, "Resource not found", {"uri": echoed(uri)})


def resource_too_large(uri: str) -> Refusal:
    """Return the refusal of a file that is larger than a resource may be."""
    data = {"uri": echoed(uri), "limit": limits.RESOURCE_BYTES}
    return Refusal(RESOURCE_TOO_LARGE, "Resource exceeds size limit", data)


def internal_error() -> Refusal:
    """Return the refusal for a fault of the server or its machine."""
    return Refusal(INTERNAL_ERROR, "Internal error")


class ToolFailure(Exception):
    """A tool that could not do what it was asked: the client gets ``message`` as the tool's result."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
