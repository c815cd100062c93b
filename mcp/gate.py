"""Decides on each line from the client before the SDK sees it: answer it here, pass it on, or drop it.

The SDK's own checks are laxer in some places (a batch, a blank line, a request before the handshake is over)
and stricter in others (what a client says of its capabilities). What passes here, passes there.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Literal

from openknowledge.mcp.errors import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_INITIALIZED,
    PARSE_ERROR,
    Refusal,
    invalid_params,
)
from openknowledge.mcp.wire import decode

log = logging.getLogger("openknowledge.mcp")

ENVELOPE_KEY = "io.modelcontextprotocol/protocolVersion"
"""The key in ``params._meta`` by which requests of the protocol without handshake are known."""
INITIALIZED = "notifications/initialized"
METHODS = frozenset(
    {"ping", "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read"}
)
_PARAMETERS = {"tools/call": ("name", "arguments", "_meta"), "resources/read": ("uri", "_meta")}
_ID_MIN, _ID_MAX = -(2**63), 2**63 - 1

RequestId = int | str


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer with this message; nothing is passed on."""

    message: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """Pass on a request, and answer with what comes back."""

    id: RequestId
    method: str
    params: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Notification:
    """Pass on a notification."""

    method: str


Decision = Reply | Request | Notification | None
"""``None`` drops the line."""


def error_message(request_id: RequestId | None, refusal: Refusal) -> dict[str, Any]:
    """Return the response that refuses a request."""
    return {"jsonrpc": "2.0", "id": request_id, "error": refusal.as_json()}


class Gate:
    """The state of one connection, and what it allows.

    ``new``: nothing is agreed. ``answered``: ``initialize`` was answered. ``ready``: the client has said that
    it is initialized. ``modern``: the client speaks the protocol without handshake (2026-07-28 and newer).
    """

    def __init__(self) -> None:
        self.state: Literal["new", "answered", "ready", "modern"] = "new"

    def decide(self, line: bytes) -> Decision:
        """Return what to do with a line."""
        text = line.strip()
        if not text:
            return None
        if text.startswith(b"["):
            return _refused(None, INVALID_REQUEST, "Invalid Request")
        try:
            message = decode(text)
        except ValueError as error:
            log.info("not JSON: %s", error)
            return _refused(None, PARSE_ERROR, "Parse error")
        if not isinstance(message, dict):
            return _refused(None, INVALID_REQUEST, "Invalid Request")
        return self._decide_message(message)

    def _decide_message(self, message: dict[str, Any]) -> Decision:
        if "method" not in message and ("result" in message or "error" in message):
            log.info("dropped a response: this server asks nothing")
            return None
        version, method = message.get("jsonrpc", ""), message.get("method", "")
        has_id = "id" in message
        request_id: Any = message.get("id")
        if not (isinstance(version, str) and isinstance(method, str)) or (has_id and not is_id(request_id)):
            return _refused(None, INVALID_REQUEST, "Invalid Request")
        if version != "2.0" or not method.strip():
            return _refused(request_id, INVALID_REQUEST, "Invalid Request")
        if not has_id:
            return self._notified(method)
        try:
            return self._requested(request_id, method, message.get("params"))
        except Refusal as refusal:
            return Reply(error_message(request_id, refusal))

    def _notified(self, method: str) -> Decision:
        if method == INITIALIZED and self.state == "answered":
            self.state = "ready"
            return Notification(method)
        log.debug("dropped the notification %r", method[:100])
        return None

    def _requested(self, request_id: RequestId, method: str, params: Any) -> Decision:
        if method == "ping":
            if self.state in ("answered", "ready"):
                return Request(request_id, method, None)
            return Reply({"jsonrpc": "2.0", "id": request_id, "result": {}})
        if self.state == "new" and method != "initialize" and has_envelope(params):
            self.state = "modern"
        if self.state == "modern":
            if method not in METHODS | {"initialize", "server/discover"}:
                raise Refusal(METHOD_NOT_FOUND, "Method not found")
            return Request(request_id, method, _selected(method, _object(params)))
        if method == "initialize":
            if self.state != "new":
                raise Refusal(INVALID_REQUEST, "Server already initialized")
            return Request(request_id, method, initialize_params(params))
        if self.state != "ready":
            raise Refusal(NOT_INITIALIZED, "Server not initialized")
        if method not in METHODS:
            raise Refusal(METHOD_NOT_FOUND, "Method not found")
        return Request(request_id, method, _selected(method, _object(params)))

    def answered(self, request: Request, *, success: bool) -> None:
        """Take note that ``request`` was answered."""
        if request.method == "initialize" and success:
            self.state = "answered"


def is_id(value: Any) -> bool:
    """Whether ``value`` may be the id of a request: a string, or an integer of 64 bits."""
    if isinstance(value, bool):
        return False
    return isinstance(value, str) or (isinstance(value, int) and _ID_MIN <= value <= _ID_MAX)


def has_envelope(params: Any) -> bool:
    """Whether a request carries its protocol version with it."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and ENVELOPE_KEY in meta


def initialize_params(params: Any) -> dict[str, Any]:
    """Return the parameters of ``initialize`` that matter here. Raises ``Refusal`` when one is missing."""
    given = _object(params)
    info = given.get("clientInfo")
    if not isinstance(info, dict):
        raise invalid_params("clientInfo must be an object")
    wanted = {
        "protocolVersion": given.get("protocolVersion"),
        "clientInfo.name": info.get("name"),
        "clientInfo.version": info.get("version"),
    }
    for name, value in wanted.items():
        if not isinstance(value, str) or not value.strip():
            raise invalid_params(f"{name} must be a string that is not blank")
    if not isinstance(given.get("capabilities"), dict):
        raise invalid_params("capabilities must be an object")
    # this server uses none of the client's capabilities, so none can be wrong
    return {
        "protocolVersion": given["protocolVersion"],
        "capabilities": {},
        "clientInfo": {"name": info["name"], "version": info["version"]},
    }


def _object(params: Any) -> dict[str, Any]:
    if params is None:
        return {}
    if not isinstance(params, dict):
        raise invalid_params("params must be an object")
    return params


def _selected(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return ``params`` without the keys that a method does not look at."""
    names = _PARAMETERS.get(method)
    return params if names is None else {name: params[name] for name in names if name in params}


def _refused(request_id: RequestId | None, code: int, text: str) -> Reply:
    return Reply(error_message(request_id, Refusal(code, text)))
