"""The MCP server: the SDK's low-level server with this project's tools and resources."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.version import __version__
from openknowledge.mcp.errors import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    Refusal,
    internal_error,
    invalid_cursor,
    invalid_params,
)
from openknowledge.mcp.snapshot import Snapshot

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.models import InitializationOptions
    from mcp_types import ServerCapabilities

log = logging.getLogger("openknowledge.mcp")

NAME = "openknowledge"
TITLE = "Open Knowledge"
INSTRUCTIONS = (
    "This server answers from one bundle of Markdown knowledge, as its files are now. Start with "
    "openknowledge_search for any question; follow with openknowledge_query for exact facts with "
    "proofs, and openknowledge_claims_find for typed claims. Say where an answer comes from: path, "
    "heading and lines, or the claim's id. Say so when a source is stale, draft or unverified, or "
    "when the bundle has no answer; do not fill gaps from memory. Files can be read whole as "
    "resources. Nothing here writes: openknowledge_claims_propose returns a proposal that a person "
    "reviews and applies with `okn claims apply`."
)
_CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
"""Members that newer protocol versions require: what was listed may change at any moment."""


class Handlers:
    """Answers the methods of the protocol from the bundle as it is now."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot
        self._tools: list[dict[str, Any]] | None = None

    async def list_tools(self, context: ServerRequestContext[Any], _params: object) -> dict[str, Any]:
        """``tools/list``."""
        from openknowledge.mcp.tools import list_tools

        _only_a_cursor(context.params)
        if self._tools is None:
            self._tools = list_tools()
        return {"tools": self._tools, **_CACHE}

    async def call_tool(self, context: ServerRequestContext[Any], _params: object) -> dict[str, Any]:
        """``tools/call``."""
        from openknowledge.mcp.tools import call_tool

        return call_tool(self._snapshot, context.params or {})

    async def list_templates(self, context: ServerRequestContext[Any], _params: object) -> dict[str, Any]:
        """``resources/templates/list``."""
        _only_a_cursor(context.params)
        return {"resourceTemplates": [], **_CACHE}

    async def list_resources(self, context: ServerRequestContext[Any], _params: object) -> dict[str, Any]:
        """``resources/list``."""
        from openknowledge.mcp.resources import list_resources

        cursor = _cursor(context.params)
        return {**list_resources(self._snapshot().store.bundle, cursor), **_CACHE}

    async def read_resource(self, context: ServerRequestContext[Any], _params: object) -> dict[str, Any]:
        """``resources/read``."""
        from openknowledge.mcp.resources import read_resource

        uri = (context.params or {}).get("uri")
        if not isinstance(uri, str) or not uri:
            raise invalid_params("uri: must be the URI of a resource")
        return {**read_resource(self._snapshot().store.bundle, uri), **_CACHE}


def _cursor(params: Mapping[str, Any] | None) -> str | None:
    """Return the cursor of a list; refuse every other parameter."""
    given = dict(params or {})
    given.pop("_meta", None)
    cursor = given.pop("cursor", None)
    if given:
        raise invalid_params(f"{sorted(given)[0][:100]}: unknown field")
    if cursor is not None and not isinstance(cursor, str):
        raise invalid_params("cursor: must be a string")
    return cursor


def _only_a_cursor(params: Mapping[str, Any] | None) -> None:
    """Refuse a cursor into a list that has one page."""
    if _cursor(params):
        raise invalid_cursor()


async def documented_errors(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    """Turn whatever fails into one of the errors that clients are told of."""
    from mcp.shared.exceptions import MCPError
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS
    from pydantic import ValidationError

    try:
        return await call_next(ctx)
    except MCPError:
        raise
    except Refusal as refusal:
        found = refusal
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"] if part != "params")
        found = invalid_params(f"{place}: {first['msg']}"[:300])
    except OpenKnowledgeError as error:
        log.error("%s: %s", ctx.method, error.message)
        found = internal_error()
    except Exception:
        log.exception("%s failed", ctx.method)
        found = internal_error()
    code = found.code
    if code == RESOURCE_NOT_FOUND and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        code = INVALID_PARAMS  # these versions have retired the other code
    raise MCPError(code=code, message=found.text, data=found.data or None)


def build_server(snapshot: Callable[[], Snapshot]) -> tuple[Server[Any], InitializationOptions]:
    """Return the server, and what it says of itself. ``snapshot`` gives the bundle as it is at a call."""
    from mcp.server.lowlevel import Server
    from mcp.server.models import InitializationOptions
    from mcp_types import (
        DiscoverResult,
        RequestParams,
        ResourcesCapability,
        ServerCapabilities,
        ToolsCapability,
    )
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    handlers = Handlers(snapshot)
    server: Server[Any] = Server(
        NAME,
        version=__version__,
        title=TITLE,
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,  # type: ignore[arg-type]
        on_call_tool=handlers.call_tool,  # type: ignore[arg-type]
        on_list_resources=handlers.list_resources,  # type: ignore[arg-type]
        on_list_resource_templates=handlers.list_templates,  # type: ignore[arg-type]
        on_read_resource=handlers.read_resource,  # type: ignore[arg-type]
    )
    capabilities: ServerCapabilities = ServerCapabilities(
        resources=ResourcesCapability(), tools=ToolsCapability()
    )

    async def discover(_context: ServerRequestContext[Any], _params: object) -> DiscoverResult:
        return DiscoverResult(
            supported_versions=list(MODERN_PROTOCOL_VERSIONS),
            capabilities=capabilities,
            instructions=INSTRUCTIONS,
        )

    server.add_request_handler("server/discover", RequestParams, discover)
    server.middleware.append(documented_errors)
    options = InitializationOptions(
        server_name=NAME,
        server_version=__version__,
        title=TITLE,
        capabilities=capabilities,
        instructions=INSTRUCTIONS,
    )
    return server, options
