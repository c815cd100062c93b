"""What the options before a command say, and how a command opens its bundle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from openknowledge.engine.clock import Clock, fixed_clock, system_clock
from openknowledge.engine.errors import UsageError

if TYPE_CHECKING:
    from openknowledge.engine.store import Store


@dataclass(slots=True)
class Settings:
    """The options that stand before a command."""

    error_format: str = "text"
    now: str = ""


SETTINGS = Settings()
"""Filled by the command line of this process, read by its commands."""


def clock() -> Clock:
    """Return the clock that ``--now`` sets, else the machine's."""
    if not SETTINGS.now:
        return system_clock
    return fixed_clock(parse_now(SETTINGS.now))


def parse_now(text: str) -> datetime:
    """Return the instant that ``text`` names; a date means its midnight UTC.

    Raises ``UsageError`` for anything else.
    """
    from openknowledge.engine.bundle.instants import start_of

    moment = start_of(text)
    if moment is None:
        raise UsageError(f"--now {text!r} is not a date or an RFC 3339 timestamp with offset")
    return moment


def open_store(path: str, spec: str = "latest") -> Store:
    """Open the bundle at ``path``."""
    from openknowledge.engine.store import Store

    return Store.open(path, spec=spec, clock=clock())
