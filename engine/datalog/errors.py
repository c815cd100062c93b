"""What can be wrong with rules and queries. Every error points into the text it is about."""

from __future__ import annotations

from openknowledge.engine.errors import OpenKnowledgeError, Span, TextError


class DatalogError(TextError):
    """A fault in a rule text or query. ``code`` names its kind, for programs; ``message`` is for people.

    Codes: ``syntax``, ``base-fact``, ``function-term``, ``profile``, ``unsafe``, ``arity``,
    ``unknown-predicate``, ``cyclic-negation``, ``cyclic-aggregation``, ``aggregate``, ``query``.
    """

    def __init__(self, code: str, problem: str, *, text: str, span: Span, source: str = "") -> None:
        self.code = code
        super().__init__(problem, text=text, span=span, source=source)


class FactsError(OpenKnowledgeError):
    """Base facts that cannot be used: rows of different length, a value that is no value."""


class ProofDepthError(OpenKnowledgeError):
    """A fact whose smallest proof is deeper than the limit."""


def shorten(text: str, width: int = 60) -> str:
    """Return ``text`` cut to ``width`` characters and safe to print, for messages about text of any kind."""
    cut = text if len(text) <= width else text[: width - 1] + "…"
    if cut.isprintable():
        return cut
    return "".join([ch if ch.isprintable() else f"\\u{{{ord(ch):x}}}" for ch in cut])
