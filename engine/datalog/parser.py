"""Tokens to the syntax tree: rules, queries and ground atoms. The grammar is in ``docs/rules.md``."""

from __future__ import annotations

from dataclasses import dataclass

from openknowledge.engine.datalog.errors import DatalogError, shorten
from openknowledge.engine.datalog.lexer import Kind, Token, tokens
from openknowledge.engine.datalog.syntax import (
    AGGREGATES,
    Aggregate,
    Atom,
    Comparison,
    Constant,
    FunctionTerm,
    Negation,
    Premise,
    Rule,
    Term,
    Variable,
    Wildcard,
)
from openknowledge.engine.datalog.values import Name, Value
from openknowledge.engine.errors import Span

COMPARISON_SYMBOLS = ("=", "!=", "<", "<=", ">", ">=")
ARGUMENT = 'an argument (a Variable, "string", number, /name or _)'


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule text and the name to call it by in messages, such as its file name.

    ``built_in`` marks a text that ships with the product. It must work on every bundle, so its premises may
    name base relations that hold no fact; and it does not count against the limit on rule bytes.
    """

    text: str
    source: str = "rules"
    built_in: bool = False


def parse_rules(text: str, source: str = "rules") -> tuple[Rule, ...]:
    """Return the rules of ``text`` in order. Raises ``DatalogError`` where the text is not in the grammar."""
    parser = _Parser(text, source)
    rules: list[Rule] = []
    while not parser.at_end():
        rules.append(parser.rule())
    return tuple(rules)


def parse_query(text: str, source: str = "query") -> Atom:
    """Return the one atom of a query. Raises ``DatalogError``, with code ``query`` where it is blank."""
    if not text.strip():
        problem = 'the query is empty; ask for one atom such as link("a", X, _)'
        raise DatalogError("query", problem, text=text, span=Span(1, 1), source=source)
    parser = _Parser(text, source)
    if parser.at_end():
        problem = "the query is only a comment; ask for one atom"
        raise parser.error("query", problem, parser.token.span)
    if parser.at_negation():
        raise parser.error("query", "a query is one positive atom, without negation", parser.token.span)
    if any(parser.next_is(symbol) for symbol in COMPARISON_SYMBOLS):
        raise parser.error("query", "a query is one atom; put comparisons into a rule", parser.token.span)
    atom = parser.atom()
    if parser.token.kind is Kind.SYMBOL and parser.token.text in (".", "?"):
        parser.advance()
    if not parser.at_end():
        problem = f"a query is one atom, but {parser.token} follows it; put joins into a rule"
        raise parser.error("query", problem, parser.token.span)
    return atom


def parse_ground_atom(text: str, source: str = "atom") -> tuple[str, tuple[Value, ...]]:
    """Return predicate and values of a display string such as ``pred("a",1)``. Raises ``DatalogError``."""
    atom = parse_query(text, source)
    values: list[Value] = []
    for term in atom.arguments:
        if not isinstance(term, Constant):
            problem = f'"{shorten(str(term))}" is not a constant'
            raise DatalogError("query", problem, text=text, span=term.span, source=source)
        values.append(term.value)
    return atom.predicate, tuple(values)


def parse_premise(text: str, source: str = "premise") -> Premise:
    """Return the one premise ``text`` consists of. Raises ``DatalogError``."""
    parser = _Parser(text, source)
    premise = parser.premise()
    if not parser.at_end():
        raise parser.error("syntax", f"unexpected {parser.token} after the premise", parser.token.span)
    return premise


class _Parser:
    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self._tokens = tokens(text, source)
        self._at = 0
        self.token = self._tokens[0]

    def error(self, code: str, problem: str, span: Span) -> DatalogError:
        return DatalogError(code, problem, text=self.text, span=span, source=self.source)

    def expected(self, what: str) -> DatalogError:
        return self.error("syntax", f"expected {what}, found {self.token}", self.token.span)

    def advance(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self._at += 1
            self.token = self._tokens[self._at]
        return token

    def at_end(self) -> bool:
        return self.token.kind is Kind.END

    def at(self, *symbols: str) -> bool:
        return self.token.kind is Kind.SYMBOL and self.token.text in symbols

    def at_negation(self) -> bool:
        return self.at("!") or (self.token.kind is Kind.WORD and self.token.text == "not")

    def next_is(self, symbol: str) -> bool:
        following = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        return following.kind is Kind.SYMBOL and following.text == symbol

    def rule(self) -> Rule:
        start = self.token.span
        if self.at_negation():
            raise self.error("syntax", "the head of a rule cannot be negated", self.token.span)
        head = self.atom()
        premises: list[Premise] = []
        if self.at(":-"):
            self.advance()
            premises.append(self.premise())
            while self.at(","):
                self.advance()
                premises.append(self.premise())
            if not self.at("."):
                raise self.expected('"," or "." after a premise')
        elif not self.at("."):
            raise self.expected('":-" and premises after the head of a rule')
        self.advance()
        return Rule(head, tuple(premises), start, self.source)

    def premise(self) -> Premise:
        start = self.token.span
        if self.at_negation():
            self.advance()
            return Negation(self.atom(), start)
        if self.token.kind is Kind.WORD and self.next_is("("):
            return self.atom()
        if self.token.kind is Kind.WORD and not _is_variable(self.token.text) and self.token.text != "_":
            raise self.error(
                "syntax",
                f'expected "(" after the predicate {shorten(self.token.text)}',
                self._tokens[self._at + 1].span,
            )
        if self.token.kind in (Kind.END, Kind.SYMBOL):
            raise self.expected('a premise (an atom, "!" and an atom, or a comparison)')
        left = self.term("a comparison")
        if not self.at(*COMPARISON_SYMBOLS):
            raise self.expected("a comparison (= != < <= > >=)")
        operator = self.advance().text
        right = self.term("a comparison")
        return Comparison(left, operator, right, start)

    def atom(self) -> Atom:
        if self.token.kind is not Kind.WORD or self.token.text == "_":
            raise self.expected("a predicate")
        if self.token.text == "not":
            raise self.error("syntax", '"not" is reserved and cannot name a predicate', self.token.span)
        predicate = self.advance()
        if not self.at("("):
            raise self.expected(f'"(" after the predicate {shorten(predicate.text)}')
        self.advance()
        arguments: list[Term] = []
        if not self.at(")"):
            arguments.append(self.term())
            while self.at(","):
                self.advance()
                arguments.append(self.term())
            if not self.at(")"):
                raise self.expected('"," or ")" after an argument')
        self.advance()
        return Atom(predicate.text, tuple(arguments), predicate.span)

    def term(self, place: str = "") -> Term:
        token = self.token
        if token.kind is Kind.WORD:
            if self.next_is("("):
                return self.function()
            self.advance()
            if token.text == "_":
                return Wildcard(token.span)
            if _is_variable(token.text):
                return Variable(token.text, token.span)
            name = shorten(token.text)
            problem = (
                f'"{name}" is neither a variable nor a constant: variables start with an upper-case letter, '
                f'strings are quoted ("{name}")'
            )
            raise self.error("syntax", problem, token.span)
        if token.kind is Kind.NAME:
            self.advance()
            return Constant(Name(token.text), token.span)
        if token.value is not None:
            self.advance()
            return Constant(token.value, token.span)
        raise self.expected(f"{ARGUMENT} in {place}" if place else ARGUMENT)

    def function(self) -> Term:
        name = self.advance()
        self.advance()
        first = self.token
        if (
            name.text in AGGREGATES
            and first.kind is Kind.WORD
            and _is_variable(first.text)
            and self.next_is(")")
        ):
            self.advance()
            self.advance()
            return Aggregate(name.text, Variable(first.text, first.span), name.span)
        depth = 1
        while depth and not self.at_end():
            symbol = self.advance()
            if symbol.kind is Kind.SYMBOL:
                depth += {"(": 1, ")": -1}.get(symbol.text, 0)
        if depth:
            raise self.expected('")" to close the arguments')
        last = self._tokens[self._at - 1]
        return FunctionTerm(self.text[name.start : last.start + 1], name.span)


def _is_variable(word: str) -> bool:
    return word[0].isupper() or (word[0] == "_" and len(word) > 1)
