"""Keeps standard input and output for the protocol alone, whatever a library reads or prints."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

STDIN, STDOUT, STDERR = 0, 1, 2


def claim_stdio() -> tuple[int, int]:
    """Return private descriptors of standard input and output, for nobody else to use.

    From then on descriptor 0 reads nothing and descriptor 1 writes to standard error (or nowhere, if there is
    none), for this process and for every process that it starts. Raises ``OSError`` when one is closed.
    """
    reader = _private_duplicate(STDIN)
    writer = _private_duplicate(STDOUT)
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, STDIN)
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:
        os.dup2(nothing, STDOUT)
    if nothing > STDERR:
        os.close(nothing)
    return reader, writer


def _private_duplicate(descriptor: int) -> int:
    """Duplicate ``descriptor`` above the standard three; programs that are started do not inherit it."""
    low = []
    try:
        while (found := os.dup(descriptor)) <= STDERR:
            low.append(found)
    finally:
        for spare in low:
            with suppress(OSError):
                os.close(spare)
    if sys.platform == "win32":  # pragma: no cover
        import msvcrt

        msvcrt.setmode(found, os.O_BINARY)
    return found
