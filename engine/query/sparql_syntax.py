"""Turns what the engine says about a query's syntax into an error that points to the place."""

from __future__ import annotations

import re

from openknowledge.engine.errors import TextError
from openknowledge.engine.query.sparql_query import ParsedQuery

_PLACE = re.compile(r"error at ([0-9]+):([0-9]+): (.*)", re.DOTALL)
_EXPECTED = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\]]*\](?:-\[[^\]]*\])?|[^,\[\]"]+')
_LONGEST_KEYWORD = 64


def syntax_error(query: ParsedQuery, message: str) -> TextError:
    """Return the error for a message of the engine such as ``error at 1:19: expected one of ".", OPTIONAL``.

    The engine names the farthest place to which it has looked. When it looked there for a keyword, that is
    the end of where the keyword would have been, so the fault lies between the start of the keyword and
    there.
    """
    place = _PLACE.fullmatch(message)
    if place is None:
        return query.source.error_at(f"the query is not valid SPARQL: {message}", query.form_token)
    expected = [
        part.strip() for part in _EXPECTED.findall(place[3].removeprefix("expected ").removeprefix("one of "))
    ]
    reasons = [part for part in expected if " " in part and part[0].isalpha()]
    end = query.offset_of(_offset(query.engine_text, int(place[1]), int(place[2])))
    if reasons:
        return query.source.error_at(f"the query is not valid SPARQL: {'; '.join(reasons)}", query.form_token)
    keywords = [part for part in expected if re.fullmatch("[A-Za-z][A-Za-z0-9_]*", part)]
    start = end - max((len(word) for word in keywords), default=0)
    return query.source.error("the query is not valid SPARQL here", max(0, start), end - start)


def _offset(text: str, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return start + column - 1
