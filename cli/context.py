"""What the options before a command say, and how a command opens its bundle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openknowledge.engine.clock import Clock, fixed_clock, system_clock
from openknowledge.engine.errors import UsageError

if TYPE_CHECKING:
    from openknowledge.engine.search.routes import VectorRoute
    from openknowledge.engine.store import Store


@dataclass(slots=True)
class Settings:
    """The options that stand before a command."""

    error_format: str = "text"
    now: str = ""
    at: str = ""


SETTINGS = Settings()
"""Filled by the command line of this process, read by its commands."""


def clock() -> Clock:
    """Return the clock that ``--now`` sets, else the machine's."""
    return fixed_clock(parse_now(SETTINGS.now)) if SETTINGS.now else system_clock


def clock_of_files() -> Clock:
    """Return the clock of a command that writes or serves the files themselves.

    Raises ``UsageError`` with ``--at``: the command would work on another state than the one named.
    """
    if SETTINGS.at:
        raise UsageError("--at reads a bundle as it was; this command works on the files as they are now")
    return clock()


def filled(option: str, value: str | None) -> str:
    """Return the value of an option, empty when it was not given.

    Raises ``UsageError`` for one that was given empty: an unset variable in a script must not quietly mean
    today, the working tree, or every page.
    """
    if value is not None and not value.strip():
        raise UsageError(f"{option} is empty; leave the option out, or give it a value")
    return value or ""


def parse_now(text: str) -> datetime:
    """Return the instant that ``text`` names; a date means its midnight UTC.

    Raises ``UsageError`` for anything else.
    """
    from openknowledge.engine.bundle.instants import start_of

    moment = start_of(text)
    if moment is None:
        raise UsageError(f"--now {text!r} is not a date or an RFC 3339 timestamp with offset")
    return moment


def open_store(path: str, spec: str = "latest", *, access: Sequence[str] = (), strict: bool = False) -> Store:
    """Open the bundle at ``path``, as it is or as it was at the revision that ``--at`` names."""
    if SETTINGS.at:
        from openknowledge.engine.analysis.git_revisions import store_at

        # without --now, freshness is judged as of the commit
        moment = clock() if SETTINGS.now else None
        return store_at(path, SETTINGS.at, moment, spec=spec, access=access, strict=strict)
    from openknowledge.engine.store import Store

    _note_unfinished_change(path)
    return Store.open(path, spec=spec, clock=clock(), access=access, strict=strict)


def _note_unfinished_change(path: str) -> None:
    if not (Path(path) / ".openknowledge").is_dir():
        return
    from openknowledge.cli.output import note
    from openknowledge.engine.operations.journal import TRANSACTIONS, is_journal_name

    try:
        unfinished = any(is_journal_name(entry.name) for entry in (Path(path) / TRANSACTIONS).iterdir())
    except OSError:
        return
    if unfinished:
        note(
            f"a change of several pages is under way or was interrupted ({TRANSACTIONS}), and this may be "
            "read from half of it; the next command that writes undoes or completes it"
        )


def open_store_as_of(path: str, spec: str, result: dict[str, Any]) -> Store:
    """Open the bundle at ``path`` as a saved result saw it: at its instant, with its access labels.

    Raises ``OpenKnowledgeError`` when the result does not say these.
    """
    from openknowledge.engine.bundle.instants import format_instant, parse_instant
    from openknowledge.engine.errors import OpenKnowledgeError

    moment = parse_instant(str(result.get("asOf", result.get("evaluatedAt", ""))))
    policy = result.get("policy")
    labels = policy.get("allowedAccess", []) if isinstance(policy, dict) else []
    if moment is None or not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise OpenKnowledgeError("this result does not say when and with which access it was made")
    SETTINGS.now = format_instant(moment)
    return open_store(path, spec, access=labels)


def vector_route(store: Store, url: str, model: str, cache: Path | None) -> VectorRoute | None:
    """Return the route over an embedding service, ``None`` when no URL is given.

    Raises ``UsageError`` for a URL that may not be used, or a model or cache without one.
    """
    if not url:
        if model or cache is not None:
            raise UsageError("--embedding-model and --embedding-cache need --embedding-url")
        return None
    import os

    from openknowledge.engine.search.embeddings import TOKEN_VARIABLE, Endpoint

    endpoint = Endpoint.of(url, model=model, token=os.environ.get(TOKEN_VARIABLE, ""))
    return store.search_index.embedding_route(endpoint, cache)
