"""What a SPARQL query asks for, and whether it may be asked, found out before any engine evaluates it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from openknowledge.engine import limits
from openknowledge.engine.errors import LimitError, OpenKnowledgeError
from openknowledge.engine.query.sparql_tokens import QueryText, Token, TokenKind, tokenize

if TYPE_CHECKING:
    from pyoxigraph import Store

QueryForm = Literal["select", "ask", "construct", "describe"]

_UPDATES = frozenset(
    {"INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "COPY", "MOVE", "ADD", "WITH"},
)
_OPENING = frozenset({"(", "[", "{", "{|", "<<", "<<("})
_CLOSING = frozenset({")", "]", "}", "|}", ">>", ")>>"})
_NO_NETWORK = "a query reads this bundle's own graphs and never opens a connection"


@dataclass(frozen=True, slots=True)
class Dataset:
    """The RDF data that a query reads.

    ``load`` returns the store and is called when a query is evaluated, not before; it should return the same
    store each time. The store holds ``revision_graph`` (the asserted triples) and, if given,
    ``derived_graph`` (what rules conclude). ``prefixes`` are predefined in every query: name without colon to
    IRI.
    """

    load: Callable[[], Store]
    revision_graph: str
    derived_graph: str | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)

    @property
    def graphs(self) -> tuple[str, ...]:
        """Return the IRIs of the named graphs."""
        return tuple(graph for graph in (self.revision_graph, self.derived_graph) if graph is not None)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query that may be evaluated.

    ``form`` is its query form. ``ordered`` and ``row_limit`` tell of its own outermost ORDER BY and LIMIT;
    ``names_graphs`` of a FROM clause. ``variables`` are its variables in the order in which they first occur,
    and ``selects_all`` is true for ``SELECT *``. ``prefixes`` are the predefined ones it uses.
    """

    source: QueryText
    form: QueryForm
    form_token: Token
    ordered: bool
    row_limit: int | None
    names_graphs: bool
    selects_all: bool
    variables: tuple[str, ...]
    prefixes: Mapping[str, str]
    engine_text: str
    moved: tuple[tuple[int, int], ...]

    @property
    def text(self) -> str:
        """Return the query as it was written."""
        return self.source.text

    def offset_of(self, engine_offset: int) -> int:
        """Return where in the written query an offset of ``engine_text`` comes from."""
        index = bisect_right(self.moved, (engine_offset, len(self.text)))
        if not index:
            return min(engine_offset, len(self.text))
        engine_start, start = self.moved[index - 1]
        return min(start + engine_offset - engine_start, len(self.text))


def check_dataset_size(count: int, limit: int = limits.DATASET_QUADS) -> None:
    """Raise ``LimitError`` if a dataset of ``count`` quads is larger than ``limit`` quads."""
    if count > limit:
        raise LimitError(
            f"The dataset has {count:,} quads, and a query may read at most {limit:,} quads. "
            "Query a smaller bundle, or a part of this one.",
            limit="DATASET_QUADS",
        )


def check_query(
    text: str,
    dataset: Dataset,
    *,
    graph_results: bool = False,
    max_bytes: int = limits.QUERY_BYTES,
    source: str = "",
) -> ParsedQuery:
    """Return what a query asks for, or refuse it; nothing is evaluated, and ``dataset`` is not loaded.

    ``graph_results`` allows CONSTRUCT and DESCRIBE beside SELECT and ASK. ``source`` is the name of the
    query's file for messages. The full syntax is checked by the engine when the query is evaluated.

    Raises ``LimitError`` for a query that is too long or too deeply nested; ``TextError``, which points to
    the place, for an update, SERVICE, a FROM of a graph that is not in the dataset, an undeclared prefix, or
    text that is not SPARQL; ``OpenKnowledgeError`` for an empty query.
    """
    query = QueryText(text.removeprefix("\ufeff"), name=source)
    _check_characters(query, max_bytes)
    with_comments = list(tokenize(query))
    tokens = [token for token in with_comments if token.kind is not TokenKind.COMMENT]
    declared, start = _prologue(query, tokens)
    if start == len(tokens):
        raise OpenKnowledgeError(
            "The SPARQL query is empty. Start with: SELECT * WHERE { ?s ?p ?o } LIMIT 10"
        )
    form = _query_form(query, tokens[start], graph_results=graph_results)
    _check_service(query, tokens)
    known = {**dataset.prefixes, **declared}
    used = _check_prefixes(query, tokens, known)
    depths = _depths(query, tokens)
    outer = [token for token, depth in zip(tokens, depths, strict=True) if depth == 0]
    _check_updates(query, outer, graph_results=graph_results)
    names_graphs = _check_graphs(query, outer, known, dataset.graphs)
    ordered, row_limit = _solution_modifiers(outer)
    engine_text, moved = _without_hidden_service(query.text, with_comments)
    return ParsedQuery(
        source=query,
        form=form,
        form_token=tokens[start],
        ordered=ordered,
        row_limit=row_limit,
        names_graphs=names_graphs,
        selects_all=_selects_all(tokens[start + 1 :]),
        variables=tuple(dict.fromkeys(t.text[1:] for t in tokens if t.kind is TokenKind.VARIABLE)),
        prefixes={name: dataset.prefixes[name] for name in sorted(used - declared.keys())},
        engine_text=engine_text,
        moved=moved,
    )


def _check_characters(query: QueryText, max_bytes: int) -> None:
    if surrogate := re.search("[\ud800-\udfff]", query.text):
        raise query.error(
            f"{surrogate[0]!a} is half of a surrogate pair and not a character", surrogate.start()
        )
    size = len(query.text.encode())
    if size > max_bytes:
        raise LimitError(
            f"The SPARQL query has {size:,} bytes, and at most {max_bytes:,} bytes are allowed.",
            limit="QUERY_BYTES",
        )


def _prologue(query: QueryText, tokens: Sequence[Token]) -> tuple[dict[str, str], int]:
    declared: dict[str, str] = {}
    index = 0
    while index < len(tokens):
        words = tokens[index : index + 3]
        match words[0].keyword:
            case "BASE" | "VERSION":
                index += 2
            case "PREFIX":
                name, value = _prefix_declaration(query, words)
                declared[name] = value
                index += 3
            case _:
                break
    return declared, min(index, len(tokens))


def _prefix_declaration(query: QueryText, words: Sequence[Token]) -> tuple[str, str]:
    if len(words) < 3 or words[1].kind is not TokenKind.PREFIXED_NAME or words[2].kind is not TokenKind.IRI:
        raise query.error_at("a prefix is declared as: PREFIX name: <IRI>", words[0])
    name, _, local = words[1].text.partition(":")
    if local:
        raise query.error_at("a declared prefix ends with its colon: PREFIX name: <IRI>", words[1])
    return name, _iri_text(words[2])


def _query_form(query: QueryText, token: Token, *, graph_results: bool) -> QueryForm:
    match token.keyword:
        case "SELECT":
            return "select"
        case "ASK":
            return "ask"
        case "CONSTRUCT" if graph_results:
            return "construct"
        case "DESCRIBE" if graph_results:
            return "describe"
        case "CONSTRUCT" | "DESCRIBE":
            raise query.error_at(_type_refusal(token.keyword, graph_results=False), token)
        case word if word in _UPDATES:
            raise query.error_at(_type_refusal(word, graph_results=graph_results), token)
        case _:
            raise query.error_at("a query starts with SELECT or ASK, after its BASE and PREFIX lines", token)


def _type_refusal(word: str, *, graph_results: bool) -> str:
    allowed = "SELECT, ASK, CONSTRUCT or DESCRIBE" if graph_results else "SELECT or ASK"
    return f"SPARQL query type {word} is not allowed; use {allowed}"


def _check_service(query: QueryText, tokens: Sequence[Token]) -> None:
    previous = ""
    for index, token in enumerate(tokens):
        name = token.text.partition(":")[0] if token.kind is TokenKind.PREFIXED_NAME else token.keyword
        if "service" in name.casefold():
            following = tokens[index + 1].text if index + 1 < len(tokens) else ""
            if token.keyword == "SERVICE":
                raise query.error_at(f"SERVICE is not allowed: {_NO_NETWORK}", token)
            if token.keyword:
                raise query.error_at(f"{token.text} is neither a keyword nor a function of SPARQL", token)
            # Engines that parse without a tokenizer read `service:a {` as SERVICE with the name `:a`.
            if following == "{" and previous not in {"GRAPH", "FROM", "NAMED"}:
                raise query.error_at(
                    f"{token.text} before a group can be read as SERVICE, which is not allowed: {_NO_NETWORK}"
                    "; write a '.' behind it if it ends a triple",
                    token,
                )
        previous = token.keyword


def _check_prefixes(query: QueryText, tokens: Sequence[Token], known: Mapping[str, str]) -> set[str]:
    used: set[str] = set()
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.kind is not TokenKind.PREFIXED_NAME:
            continue
        name = token.text.partition(":")[0]
        if name not in known:
            raise query.error(
                _unknown_prefix(name, known, in_iri=before is not None and before.text == "<"),
                token.start,
                len(name) + 1,
            )
        used.add(name)
    return used


def _unknown_prefix(name: str, known: Mapping[str, str], *, in_iri: bool) -> str:
    if in_iri:
        return (
            f"the prefix {name}: is not declared; or is this an IRI that lacks its '>' or contains a blank?"
        )
    similar = get_close_matches(name, known, n=3)
    hint = " Did you mean " + " or ".join(f"{each}:" for each in similar) + "?" if similar else ""
    return f"the prefix {name}: is not declared; add PREFIX {name}: <IRI> at the top.{hint}"


def _depths(query: QueryText, tokens: Sequence[Token]) -> list[int]:
    """Return for each token how many brackets are open around it; a bracket counts as inside itself."""
    depth = 0
    depths = []
    for token in tokens:
        is_bracket = token.kind is TokenKind.PUNCTUATION
        if is_bracket and token.text in _OPENING:
            depth += 1
            if depth > limits.QUERY_NESTING:
                where = query.span(token.start)
                raise LimitError(
                    f"line {where.line}, column {where.column}: the SPARQL query nests brackets deeper than "
                    f"{limits.QUERY_NESTING} levels.",
                    limit="QUERY_NESTING",
                )
        depths.append(depth)
        if is_bracket and token.text in _CLOSING:
            depth = max(0, depth - 1)
    return depths


def _check_updates(query: QueryText, outer: Sequence[Token], *, graph_results: bool) -> None:
    for before, token in pairwise(outer):
        if before.text == ";" and token.keyword in _UPDATES:
            raise query.error_at(_type_refusal(token.keyword, graph_results=graph_results), token)


def _check_graphs(
    query: QueryText, outer: Sequence[Token], known: Mapping[str, str], graphs: Sequence[str]
) -> bool:
    found = False
    for index, token in enumerate(outer):
        if token.keyword != "FROM":
            continue
        found = True
        names = outer[index + 1 : index + 3]
        if names and names[0].keyword == "NAMED":
            names = names[1:]
        if names and _expand(names[0], known) not in graphs:
            raise query.error_at(
                f"FROM cannot name {names[0].text}: {_NO_NETWORK}. These are "
                + " and ".join(f"<{g}>" for g in graphs),
                names[0],
            )
    return found


def _expand(token: Token, known: Mapping[str, str]) -> str | None:
    if token.kind is TokenKind.IRI:
        return _iri_text(token)
    if token.kind is TokenKind.PREFIXED_NAME:
        name, _, local = token.text.partition(":")
        return known[name] + re.sub(r"\\(.)", r"\1", local)
    return None


def _iri_text(token: Token) -> str:
    return re.sub(
        r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})",
        lambda m: chr(min(int(m[1] or m[2], 16), 0x10FFFF)),
        token.text[1:-1],
    )


def _solution_modifiers(outer: Sequence[Token]) -> tuple[bool, int | None]:
    """Return whether the outermost SELECT has an ORDER BY, and its LIMIT. Sub-selects stand within braces."""
    ordered = False
    row_limit = None
    for token, following in zip(outer, [*outer[1:], None], strict=True):
        if token.keyword == "ORDER":
            ordered = True
        elif token.keyword == "LIMIT" and following is not None and following.kind is TokenKind.NUMBER:
            # What has more than 18 digits bounds nothing (and is not a whole number unless all are digits).
            row_limit = int(following.text) if re.fullmatch("[0-9]{1,18}", following.text) else None
    return ordered, row_limit


def _selects_all(tokens: Sequence[Token]) -> bool:
    first = next((token for token in tokens if token.keyword not in {"DISTINCT", "REDUCED"}), None)
    return first is not None and first.text == "*"


def _without_hidden_service(text: str, tokens: Sequence[Token]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the query for the engine, with the word "service" taken out of comments, strings and IRIs.

    An engine may see the borders of comments, strings and IRIs elsewhere than we do: in ``?a<'x>'`` it can
    find a comparison with a string, where the grammar's longest match is an IRI. So a word that we take for
    harmless could be a SERVICE for the engine. Blanking comments and writing the word with an escape, which
    strings and IRIs allow and keywords do not, leaves the meaning as it is and excludes that. Also returns
    the pairs of offsets (in the result, in ``text``) from which positions can be mapped back.
    """
    if "service" not in text.casefold():
        return text, ()
    pieces: list[str] = []
    moved: list[tuple[int, int]] = []
    length = end = 0
    for token in tokens:
        if token.kind is TokenKind.COMMENT:
            written = " " * len(token.text)
        elif token.kind in {TokenKind.STRING, TokenKind.IRI}:
            written = re.sub(
                "s(?=ervice)", lambda m: f"\\u{ord(m[0]):04X}", token.text, flags=re.IGNORECASE | re.ASCII
            )
        else:
            written = token.text
        pieces += (text[end : token.start], written)
        length += token.start - end
        if len(written) != len(token.text):
            moved += ((length, token.start), (length + len(written), token.end))
        length += len(written)
        end = token.end
    pieces.append(text[end:])
    return "".join(pieces), tuple(moved)
