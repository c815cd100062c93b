"""Runs the SDK's server in this thread, one request at a time.

Between two requests the event loop stands still while the thread waits for the next line. So requests are
answered in their order, nothing piles up when a client sends faster than it reads, no second thread exists
(which would keep the reader of pages from using a second process), and an interrupt always meets the thread
that can act on it.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any

from openknowledge.engine.errors import OpenKnowledgeError

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.server.models import InitializationOptions
    from openknowledge.mcp.gate import Notification, Request


class Exchange:
    """One connection to the SDK's server."""

    def __init__(self, server: Server[Any], options: InitializationOptions) -> None:
        self._server = server
        self._options = options
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._start())

    async def _start(self) -> None:
        import anyio
        from mcp.shared.message import SessionMessage

        self._to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception](1)
        server_writes, self._from_server = anyio.create_memory_object_stream[SessionMessage](16)
        self._task = asyncio.create_task(self._server.run(server_reads, server_writes, self._options))

    def request(self, request: Request) -> dict[str, Any]:
        """Return the response to ``request`` as the client gets it."""
        return self._loop.run_until_complete(self._request(request))

    async def _request(self, request: Request) -> dict[str, Any]:
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

        message = JSONRPCRequest(
            jsonrpc="2.0", id=request.id, method=request.method, params=request.params or {}
        )
        try:
            await self._to_server.send(SessionMessage(message))
            while True:
                answer = (await self._from_server.receive()).message
                if isinstance(answer, JSONRPCResponse) and answer.id == request.id:
                    return {"jsonrpc": "2.0", "id": request.id, "result": answer.result}
                if isinstance(answer, JSONRPCError) and answer.id == request.id:
                    error = answer.error.model_dump(exclude_none=True)
                    return {"jsonrpc": "2.0", "id": request.id, "error": error}
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise OpenKnowledgeError("the protocol's server has ended unexpectedly") from None

    def notify(self, notification: Notification) -> None:
        """Pass on ``notification``."""
        self._loop.run_until_complete(self._notify(notification))

    async def _notify(self, notification: Notification) -> None:
        from mcp.shared.message import SessionMessage
        from mcp_types import JSONRPCNotification

        message = JSONRPCNotification(jsonrpc="2.0", method=notification.method)
        await self._to_server.send(SessionMessage(message))

    def __enter__(self) -> Exchange:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._loop.run_until_complete(self._stop())
            self._loop.close()

    async def _stop(self) -> None:
        await self._to_server.aclose()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
