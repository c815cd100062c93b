"""Serves one bundle over standard input and output until the client closes its end."""

from __future__ import annotations

import gc
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from openknowledge.engine.clock import Clock, system_clock
from openknowledge.engine.errors import LimitError, OpenKnowledgeError, UsageError
from openknowledge.mcp.errors import PARSE_ERROR, Refusal
from openknowledge.mcp.exchange import Exchange
from openknowledge.mcp.freshness import Snapshots, check_directory
from openknowledge.mcp.gate import Gate, Notification, Reply, Request, error_message
from openknowledge.mcp.server import build_server
from openknowledge.mcp.snapshot import Snapshot
from openknowledge.mcp.stdio import claim_stdio
from openknowledge.mcp.wire import LineReader, LineWriter

log = logging.getLogger("openknowledge.mcp")

PAUSE_SECONDS = 0.5
"""A client that has said nothing for so long is taken to be thinking."""
LOG_LEVELS = ("debug", "info", "warning", "error", "off")


def serve(
    path: str = ".", *, spec: str = "latest", log_level: str = "warning", clock: Clock = system_clock
) -> None:
    """Serve the bundle at ``path`` to one client, until standard input ends.

    Diagnostics go to standard error from ``log_level`` (of ``LOG_LEVELS``) on. Raises ``UsageError`` for an
    unknown ``spec`` or ``log_level``, and ``OpenKnowledgeError`` when there is no such directory, when a
    message is too long and when the client cannot be written to.
    """
    start_logging(log_level)
    snapshots = Snapshots(path, spec=spec, clock=clock)
    check_directory(path)
    try:
        reader, writer = claim_stdio()
    except OSError as error:
        raise OpenKnowledgeError(f"standard input or output is closed: {error.strerror}") from None
    with _signals_end(), _garbage_collected():
        Connection(snapshots, LineReader(reader), LineWriter(writer)).run()


class Connection:
    """One client: its lines in, the answers out, in their order."""

    def __init__(self, snapshots: Snapshots, reader: LineReader, writer: LineWriter) -> None:
        self._snapshots = snapshots
        self._reader = reader
        self._writer = writer
        self._gate = Gate()
        self._snapshot: Snapshot | None = None

    def run(self) -> None:
        """Answer until the input ends. Raises ``OpenKnowledgeError`` as ``serve`` does."""
        server, options = build_server(self.snapshot)
        with Exchange(server, options) as exchange:
            while True:
                line = self._next_line()
                if line is None:
                    return
                self._handle(line, exchange)
                self._use_pause()

    def snapshot(self) -> Snapshot:
        """Return the bundle as it is now."""
        store = self._snapshots.current()
        if self._snapshot is None or self._snapshot.store is not store:
            self._snapshot = Snapshot(store)
        return self._snapshot

    def _next_line(self) -> bytes | None:
        try:
            return self._reader.next_line()
        except LimitError:
            self._writer.write(error_message(None, Refusal(PARSE_ERROR, "Parse error")))
            raise
        except OSError as error:
            raise OpenKnowledgeError(f"cannot read from the client: {error.strerror or error}") from None

    def _handle(self, line: bytes, exchange: Exchange) -> None:
        decision = self._gate.decide(line)
        if isinstance(decision, Reply):
            self._writer.write(decision.message)
        elif isinstance(decision, Notification):
            exchange.notify(decision)
        elif isinstance(decision, Request):
            log.debug("%s", decision.method)
            answer = exchange.request(decision)
            self._gate.answered(decision, success="result" in answer)
            self._writer.write(answer)

    def _use_pause(self) -> None:
        """Do while the client is silent what a later call would have to wait for."""
        if self._snapshot is None and self._gate.state == "ready" and self._reader.silent():
            try:
                self.snapshot()
            except OpenKnowledgeError as error:
                log.warning("%s", error.message)
        if self._snapshots.replaced and self._reader.silent(PAUSE_SECONDS):
            # the store that was replaced is one large heap of references in circles
            self._snapshots.replaced = False
            gc.collect()


def start_logging(level: str) -> None:
    """Send diagnostics from ``level`` on to standard error. Raises ``UsageError`` for an unknown level."""
    if level not in LOG_LEVELS:
        raise UsageError(f"unknown log level {level!r}; choose one of {', '.join(LOG_LEVELS)}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("okn mcp: %(levelname)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.CRITICAL + 1 if level == "off" else level.upper())


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    # nothing is half written that matters: the server only reads
    raise SystemExit(128 + number)


@contextmanager
def _signals_end() -> Iterator[None]:
    """End on SIGTERM and SIGINT, whatever is being done."""
    names = ("SIGTERM", "SIGINT")
    before = {name: signal.signal(getattr(signal, name), _end) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


@contextmanager
def _garbage_collected() -> Iterator[None]:
    """Collect garbage: a command may leave it, a server may not."""
    before = gc.isenabled()
    gc.enable()
    try:
        yield
    finally:
        if not before:
            gc.disable()
