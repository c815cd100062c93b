"""Turns what the engine says about a query's syntax into an error that points to the place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from openknowledge.engine.errors import TextError
from openknowledge.engine.query.sparql_grammar import Fault, describe, find_fault
from openknowledge.engine.query.sparql_query import ParsedQuery
from openknowledge.engine.query.sparql_tokens import Token, TokenKind, tokenize

_PLACE = re.compile(r"error at ([0-9]+):([0-9]+): (.*)", re.DOTALL)
_EXPECTED = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\]]*\](?:-\[[^\]]*\])?|[^,\[\]"]+')


def syntax_error(query: ParsedQuery, message: str) -> TextError:
    """Return the error for a message of the engine such as ``error at 1:19: expected one of ".", OPTIONAL``.

    The published grammar tells the first token without a way on. Where it finds none, because the fault is
    not one of syntax alone, there is the engine's word: it names the farthest place to which it has looked.
    When it looked there for a keyword, that is the end of where the keyword would have been, so the fault
    lies between the start of the keyword and there.
    """
    place = _PLACE.fullmatch(message)
    if place is None:
        return query.source.error_at(f"the query is not valid SPARQL: {message}", query.form_token)
    end = query.offset_of(_offset(query.engine_text, int(place[1]), int(place[2])))
    tokens = [token for token in tokenize(query.source) if token.kind is not TokenKind.COMMENT]
    fault = find_fault(tokens)
    if fault is not None and (fault.token is None or fault.token.start <= end):
        return _unexpected(query, fault)
    expected = [part.strip() for part in _EXPECTED.findall(re.sub("^expected (one of )?", "", place[3]))]
    reasons = [part for part in expected if " " in part and part[0].isalpha()]
    if relative := _relative_iri(tokens):
        return query.source.error_at(
            "an IRI starts with a scheme, or there is a BASE line at the top", relative
        )
    if reasons:
        return query.source.error_at(f"the query is not valid SPARQL: {'; '.join(reasons)}", query.form_token)
    keywords = [part for part in expected if re.fullmatch("[A-Za-z][A-Za-z0-9_]*", part)]
    start = max(0, end - max((len(word) for word in keywords), default=0))
    return query.source.error(
        "the query is not valid here. Where its grammar is right, look for a variable assigned twice, "
        "a VALUES row of another length, a wrong number of arguments, or a blank node in two groups",
        start,
        end - start,
    )


def _unexpected(query: ParsedQuery, fault: Fault) -> TextError:
    expected = describe(fault)
    if fault.token is None:
        return query.source.error(f"the query ends too early: expected {expected}", len(query.text.rstrip()))
    shown = fault.token.text if len(fault.token.text) <= 40 else fault.token.text[:40] + "…"
    return query.source.error_at(f"unexpected {shown}: expected {expected}", fault.token)


def _relative_iri(tokens: Sequence[Token]) -> Token | None:
    if any(token.keyword == "BASE" for token in tokens):
        return None
    iris = (token for token in tokens if token.kind is TokenKind.IRI)
    return next((iri for iri in iris if not re.match("<[A-Za-z][A-Za-z0-9+.-]*:", iri.text)), None)


def _offset(text: str, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return start + column - 1
