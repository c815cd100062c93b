"""The grammar of SPARQL 1.1 queries (§19.8), to find the first token at which a query goes wrong.

The engine decides what is a valid query; but it names only the farthest place to which it has looked, which
can be lines away from the fault. The published grammar is LL(1): one token of lookahead tells the only way to
go on, so the first token without a way is the fault, and the ways there are is what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from openknowledge.engine.query.sparql_tokens import Token, TokenKind

# Quoted: keywords and punctuation. In capitals: classes of tokens. Updates and SERVICE are left out, because
# they are refused before; arguments of functions are counted by the engine.
_GRAMMAR = """
Query = Prologue ( SelectQuery | ConstructQuery | DescribeQuery | AskQuery ) ValuesClause
Prologue = ( 'BASE' IRI | 'PREFIX' NAME IRI )*
SelectQuery = SelectClause DatasetClause* WhereClause SolutionModifier
SubSelect = SelectClause WhereClause SolutionModifier ValuesClause
SelectClause = 'SELECT' ( 'DISTINCT' | 'REDUCED' )? ( ( VARIABLE | '(' Expression 'AS' VARIABLE ')' )+ | '*' )
ConstructQuery = 'CONSTRUCT' ( FullConstruct | ShortConstruct ) SolutionModifier
FullConstruct = '{' TriplesTemplate? '}' DatasetClause* WhereClause
ShortConstruct = DatasetClause* 'WHERE' '{' TriplesTemplate? '}'
DescribeQuery = 'DESCRIBE' ( VarOrIri+ | '*' ) DatasetClause* WhereClause? SolutionModifier
AskQuery = 'ASK' DatasetClause* WhereClause SolutionModifier
DatasetClause = 'FROM' 'NAMED'? Iri
WhereClause = 'WHERE'? GroupGraphPattern
SolutionModifier = GroupClause? HavingClause? OrderClause? LimitOffset?
GroupClause = 'GROUP' 'BY' GroupCondition+
GroupCondition = BuiltInCall | FunctionCall | '(' Expression ( 'AS' VARIABLE )? ')' | VARIABLE
HavingClause = 'HAVING' Constraint+
OrderClause = 'ORDER' 'BY' OrderCondition+
OrderCondition = ( 'ASC' | 'DESC' ) Bracketted | Constraint | VARIABLE
LimitOffset = 'LIMIT' NUMBER ( 'OFFSET' NUMBER )? | 'OFFSET' NUMBER ( 'LIMIT' NUMBER )?
ValuesClause = ( 'VALUES' DataBlock )?
GroupGraphPattern = '{' ( SubSelect | TriplesBlock? ( NotTriples '.'? TriplesBlock? )* ) '}'
TriplesBlock = TriplesSameSubjectPath ( '.' TriplesBlock? )?
NotTriples = GroupOrUnion | Optional | Minus | Graph | Filter | Bind | 'VALUES' DataBlock
GroupOrUnion = GroupGraphPattern ( 'UNION' GroupGraphPattern )*
Optional = 'OPTIONAL' GroupGraphPattern
Minus = 'MINUS' GroupGraphPattern
Graph = 'GRAPH' VarOrIri GroupGraphPattern
Filter = 'FILTER' Constraint
Bind = 'BIND' '(' Expression 'AS' VARIABLE ')'
DataBlock = VARIABLE '{' DataValue* '}' | ( NIL | '(' VARIABLE* ')' ) '{' ( '(' DataValue* ')' | NIL )* '}'
DataValue = Iri | Literal | 'UNDEF'
Constraint = Bracketted | BuiltInCall | FunctionCall
FunctionCall = Iri Arguments
Arguments = NIL | '(' 'DISTINCT'? Expression ( ',' Expression )* ')'
TriplesTemplate = TriplesSameSubject ( '.' TriplesTemplate? )?
TriplesSameSubject = VarOrTerm Properties | TriplesNode Properties?
Properties = Verb ObjectList ( ';' ( Verb ObjectList )? )*
Verb = VarOrIri | 'a'
ObjectList = Node ( ',' Node )*
Node = VarOrTerm | TriplesNode
TriplesNode = '(' Node+ ')' | '[' Properties ']'
TriplesSameSubjectPath = VarOrTerm PathProperties | TriplesNodePath PathProperties?
PathProperties = PathVerb PathObjectList ( ';' ( PathVerb PathObjectList )? )*
PathVerb = Path | VARIABLE
PathObjectList = PathNode ( ',' PathNode )*
PathNode = VarOrTerm | TriplesNodePath
TriplesNodePath = '(' PathNode+ ')' | '[' PathProperties ']'
Path = PathSequence ( '|' PathSequence )*
PathSequence = PathElement ( '/' PathElement )*
PathElement = '^'? PathPrimary ( '?' | '*' | '+' )?
PathPrimary = Iri | 'a' | '!' NegatedSet | '(' Path ')'
NegatedSet = OneInSet | NIL | '(' OneInSet ( '|' OneInSet )* ')'
OneInSet = '^'? ( Iri | 'a' )
VarOrIri = VARIABLE | Iri
VarOrTerm = VARIABLE | Iri | Literal | BLANK | ANON | NIL
Expression = And ( '||' And )*
And = Relational ( '&&' Relational )*
Relational = Additive ( Comparison Additive | 'NOT'? 'IN' ( NIL | '(' Expression ( ',' Expression )* ')' ) )?
Comparison = '=' | '!=' | '<' | '>' | '<=' | '>='
Additive = Multiplicative ( ( '+' | '-' ) Multiplicative | SIGNED ( ( '*' | '/' ) Unary )* )*
Multiplicative = Unary ( ( '*' | '/' ) Unary )*
Unary = ( '!' | '+' | '-' )* Primary
Primary = Bracketted | BuiltInCall | Iri Arguments? | Literal | VARIABLE
Bracketted = '(' Expression ')'
BuiltInCall = Aggregate | FUNCTION Arguments | 'BOUND' '(' VARIABLE ')' | 'NOT'? 'EXISTS' GroupGraphPattern
Aggregate = 'COUNT' '(' 'DISTINCT'? ( '*' | Expression ) ')' | Concatenation
Concatenation = 'GROUP_CONCAT' '(' 'DISTINCT'? Expression ( ';' 'SEPARATOR' '=' STRING )? ')'
Literal = STRING ( LANGUAGE | '^^' Iri )? | NUMBER | SIGNED | 'TRUE' | 'FALSE'
Iri = IRI | NAME
"""

_FUNCTIONS = frozenset(
    re.findall(
        r"\w+",
        "ABS AVG BNODE CEIL COALESCE CONCAT CONTAINS DATATYPE DAY ENCODE_FOR_URI FLOOR HASLANG HASLANGDIR "
        "HOURS IF IRI ISBLANK ISIRI ISLITERAL ISNUMERIC ISTRIPLE ISURI LANG LANGDIR LANGMATCHES LCASE MAX "
        "MD5 MIN MINUTES MONTH NOW OBJECT PREDICATE RAND REGEX REPLACE ROUND SAMETERM SAMPLE SECONDS SHA1 "
        "SHA256 SHA384 SHA512 STR STRAFTER STRBEFORE STRDT STRENDS STRLANG STRLANGDIR STRLEN STRSTARTS "
        "STRUUID SUBJECT SUBSTR SUM TIMEZONE TRIPLE TZ UCASE URI UUID YEAR",
    )
)
_NEWER = frozenset({"<<", ">>", "<<(", ")>>", "{|", "|}", "~", "VERSION", "LATERAL", "ADJUST"})
_SHOWN = {
    "IRI": "an IRI",
    "NAME": "a prefixed name",
    "VARIABLE": "a variable",
    "NUMBER": "a number",
    "SIGNED": "",
    "STRING": "a string",
    "LANGUAGE": "a language tag",
    "BLANK": "a blank node",
    "ANON": "",
    "NIL": "",
    "FUNCTION": "a function",
}
_CLASSES = {
    TokenKind.IRI: "IRI",
    TokenKind.PREFIXED_NAME: "NAME",
    TokenKind.VARIABLE: "VARIABLE",
    TokenKind.NUMBER: "NUMBER",
    TokenKind.STRING: "STRING",
    TokenKind.LANGUAGE: "LANGUAGE",
    TokenKind.BLANK_NODE: "BLANK",
}
_END = "END"


@dataclass(frozen=True, slots=True)
class Fault:
    """The first token at which a query goes wrong (None is its end), and what could have stood there.

    One of ``required`` must come at some time; before it could stand one of ``optional``.
    """

    token: Token | None
    required: tuple[str, ...]
    optional: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Terminal:
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class _Sequence:
    parts: tuple[_Part, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    ways: tuple[_Part, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Repeat:
    """As often as possible, also never; ``once`` at most one time."""

    part: _Part
    once: bool


_Part = _Terminal | _Rule | _Sequence | _Choice | _Repeat


@cache
def _rules() -> Mapping[str, _Part]:
    rules = {}
    for line in _GRAMMAR.strip().splitlines():
        name, _, body = line.partition(" = ")
        symbols = re.findall(r"'[^']+'|\w+|[()|?*+]", body)
        rules[name] = _choice(symbols)
        if symbols:
            raise ValueError(f"unbalanced rule {name}")
    return rules


def _choice(symbols: list[str]) -> _Part:
    """Read alternatives up to a closing bracket or the end, and take them from the front of ``symbols``."""
    ways: list[list[_Part]] = [[]]
    while symbols and symbols[0] != ")":
        symbol = symbols.pop(0)
        parts = ways[-1]
        match symbol:
            case "|":
                ways.append([])
            case "(":
                parts.append(_choice(symbols))
                symbols.pop(0)
            case "?" | "*":
                parts.append(_Repeat(parts.pop(), once=symbol == "?"))
            case "+":
                parts.append(_Repeat(parts[-1], once=False))
            case _ if symbol[0] == "'":
                parts.append(_Terminal(symbol[1:-1]))
            case _:
                parts.append(_Terminal(symbol) if symbol.isupper() else _Rule(symbol))
    return _Choice(tuple(_Sequence(tuple(parts)) for parts in ways))


@cache
def _first(part: _Part) -> tuple[frozenset[str], bool]:
    """Return the terminals with which a part can begin, and whether it can be empty."""
    match part:
        case _Terminal(name):
            return frozenset({name}), False
        case _Rule(name):
            return _first(_rules()[name])
        case _Repeat(inner):
            return _first(inner)[0], True
        case _Choice(ways):
            firsts = [_first(way) for way in ways]
            return frozenset().union(*(first for first, _ in firsts)), any(empty for _, empty in firsts)
        case _Sequence(parts):
            found: frozenset[str] = frozenset()
            for each in parts:
                first, empty = _first(each)
                found |= first
                if not empty:
                    return found, False
            return found, True


def find_fault(tokens: Sequence[Token]) -> Fault | None:
    """Return the first fault of a query's tokens (without comments) by the grammar of SPARQL 1.1.

    Returns None if there is none, and for a query that uses what is newer than SPARQL 1.1.
    """
    if any((token.keyword or token.text) in _NEWER for token in tokens):
        return None
    stack: list[_Part] = [_Terminal(_END), _Rule("Query")]
    for terminal, token in _terminals(tokens):
        optional: set[str] = set()
        while not isinstance(part := stack.pop(), _Terminal) or part.name != terminal:
            first, empty = _first(part)
            if terminal in first:
                stack += _expansion(part, terminal)
            elif not empty:
                return Fault(token, tuple(sorted(first)), tuple(sorted(optional - first)))
            optional |= first
    return None


def _expansion(part: _Part, terminal: str) -> list[_Part]:
    """Return what to put on the stack for a part that can begin with a terminal; the last is taken first."""
    match part:
        case _Rule(name):
            return [_rules()[name]]
        case _Choice(ways):
            return [next(way for way in ways if terminal in _first(way)[0])]
        case _Sequence(parts):
            return list(reversed(parts))
        case _Repeat(inner, once):
            return [inner] if once else [part, inner]
        case _:
            return [part]


def _terminals(tokens: Sequence[Token]) -> Iterator[tuple[str, Token | None]]:
    index = 0
    while index < len(tokens):
        token = tokens[index]
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        pair = token.text + (following.text if following is not None else "")
        joined = ""
        if pair in ("()", "[]") and token.kind is TokenKind.PUNCTUATION:
            joined = "NIL" if pair == "()" else "ANON"
        elif token.text in ("+", "-") and following and following.kind is TokenKind.NUMBER:
            joined = "SIGNED"
        yield joined or _terminal(token), token
        index += 2 if joined else 1
    yield _END, None


def _terminal(token: Token) -> str:
    if token.text == "a":
        return "a"
    if token.keyword:
        return "FUNCTION" if token.keyword in _FUNCTIONS else token.keyword
    return _CLASSES.get(token.kind, token.text)


def describe(fault: Fault, *, most: int = 8) -> str:
    """Return what was expected as a phrase of at most ``most`` items, and the word that may be meant."""
    phrases = [*_phrases(fault.required), *_phrases(fault.optional)]
    if len(phrases) > most:
        phrases = [*phrases[: most - 1], "something else"]
    found = " or ".join([", ".join(phrases[:-1]), phrases[-1]] if len(phrases) > 1 else phrases)
    if fault.token is not None and fault.token.keyword and fault.token.keyword not in _keywords():
        similar = get_close_matches(fault.token.keyword, _keywords(), n=1, cutoff=0.7)
        found += f". Did you mean {similar[0]}?" if similar else ""
    return found


def _phrases(names: Sequence[str]) -> list[str]:
    kinds = [text for name, text in _SHOWN.items() if name in names and text]
    marks = [f"'{name}'" for name in names if not name[0].isalpha()]
    words = [name for name in names if name[0].isalpha() and name not in _SHOWN and name != _END]
    return kinds + marks + words + (["the end of the query"] if _END in names else [])


@cache
def _keywords() -> tuple[str, ...]:
    return tuple(sorted(_FUNCTIONS.union(re.findall("'([A-Z_]+)'", _GRAMMAR))))
