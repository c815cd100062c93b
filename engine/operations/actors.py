"""Who may do what: actors as they stand in records, checked before anything is written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from openknowledge.engine import limits
from openknowledge.engine.errors import OpenKnowledgeError

PEOPLE = ("human", "github")
"""The kinds of actors that may decide."""
REVIEWERS = ("human", "github", "process")
"""The kinds of actors that may verify."""

_NAME = re.compile(r"[^\s\x00-\x1f\x7f]+\Z")


def checked_actor(actor: str, kinds: Sequence[str], doing: str) -> str:
    """Return ``actor`` without surrounding blanks if it is one of ``kinds`` with a name.

    ``doing`` is what it wants to do, for the message. Raises ``OpenKnowledgeError``.
    """
    text = actor.strip()
    kind, colon, name = text.partition(":")
    allowed = " or ".join(f"{known}:NAME" for known in kinds)
    shown = repr(text if len(text) <= 80 else text[:77] + "...")
    if not colon or kind not in kinds or not name:
        raise OpenKnowledgeError(f"{shown} may not {doing}: give {allowed}")
    if len(text) > limits.ACTOR_CHARACTERS or _NAME.match(name) is None or not text.isprintable():
        raise OpenKnowledgeError(
            f"{shown} is no actor: a name has no blanks or control characters and at most "
            f"{limits.ACTOR_CHARACTERS} characters with its prefix"
        )
    return text
