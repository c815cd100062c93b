"""Tells a person at a terminal what long work is doing: after a second, on standard error, on one line."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

FIRST = 1.0
EVERY = 0.5
_WIDTH = 72


class Progress:
    """The stage that work is in. Call it with the next one."""

    def __init__(self) -> None:
        self.stage = ""
        self.started = time.monotonic()
        self.shown = False

    def __call__(self, stage: str) -> None:
        """Enter the next stage."""
        self.stage = stage

    def show(self) -> None:
        """Write the stage and the seconds so far over the line."""
        line = f"{self.stage} ... {time.monotonic() - self.started:.0f} s"
        sys.stderr.write("\r" + line[:_WIDTH].ljust(_WIDTH))
        sys.stderr.flush()
        self.shown = True

    def clear(self) -> None:
        """Leave the line as it was before."""
        if self.shown:
            sys.stderr.write("\r" + " " * _WIDTH + "\r")
            sys.stderr.flush()


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress while the block runs: not before a second, and only when standard error is a terminal.

    It is driven by a timer signal, not a thread, so that work may still fork. Where there is no such timer,
    or not on the main thread, nothing is shown.
    """
    shown = Progress()
    usable = (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and sys.stderr.isatty()
    )
    if not usable:
        yield shown
        return

    def tick(_number: int, _frame: FrameType | None) -> None:
        shown.show()

    before = signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_REAL, FIRST, EVERY)
    try:
        yield shown
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        shown.clear()
