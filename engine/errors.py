"""The errors a user can meet. Each says what is wrong, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text: 1-based line and column (in code points), and the length of what is meant."""

    line: int
    column: int
    length: int = 1


class OpenKnowledgeError(Exception):
    """Something that failed while the command itself was right: exit code 1.

    ``message`` is complete without a traceback. ``path`` and ``line`` are set where a file is at fault.
    """

    kind = "runtime"
    exit_code = 1

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.line = line


class UsageError(OpenKnowledgeError):
    """A wrong command line or argument: exit code 2."""

    kind = "usage"
    exit_code = 2


class LimitError(OpenKnowledgeError):
    """A named limit was reached. ``limit`` is its name in ``engine/limits.py``."""

    def __init__(self, message: str, *, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


class TextError(OpenKnowledgeError):
    """A fault inside a text that the user wrote: a query, rules, a dataset.

    The rendered message names the source, line and column and shows the line with a caret under the fault.
    """

    def __init__(self, problem: str, *, text: str, span: Span, source: str = "") -> None:
        self.problem = problem
        self.span = span
        self.source = source
        super().__init__(render_caret(problem, text=text, span=span, source=source), line=span.line)


def render_caret(problem: str, *, text: str, span: Span, source: str = "") -> str:
    """Return ``problem`` with its place and the faulty line, marked with a caret.

    Long lines are cut around the fault, so that the message stays readable whatever the text.
    """
    lines = text.split("\n")
    raw = lines[span.line - 1] if 0 < span.line <= len(lines) else ""
    start = max(0, span.column - 1 - 60)
    shown = "".join(ch if ch.isprintable() else " " for ch in raw[start : start + 120])
    caret = " " * (span.column - 1 - start) + "^" * max(
        1, min(span.length, len(shown) - (span.column - 1 - start))
    )
    where = f"{source}:{span.line}:{span.column}" if source else f"line {span.line}, column {span.column}"
    return f"{where}: {problem}\n    {shown}\n    {caret}"
