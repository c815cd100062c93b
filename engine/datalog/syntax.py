"""The syntax tree of rules. ``str()`` of a node gives its canonical source text back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from openknowledge.engine.datalog.values import Value, display
from openknowledge.engine.errors import Span

NOWHERE = Span(1, 1)
AGGREGATES = ("count", "sum", "min", "max")


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: a name that starts with an upper-case letter, or with ``_`` and more characters."""

    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Wildcard:
    """``_``: any value; each occurrence is a variable of its own."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return "_"


@dataclass(frozen=True, slots=True)
class Constant:
    """A string, number or name."""

    value: Value
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return display(self.value)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``count(X)``, ``sum(X)``, ``min(X)`` or ``max(X)`` as an argument of a head."""

    function: str
    variable: Variable
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.function}({self.variable})"


@dataclass(frozen=True, slots=True)
class FunctionTerm:
    """Something of the form ``f(...)`` where an argument is expected. It parses, and every use is refused."""

    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return self.text


Term = Variable | Wildcard | Constant | Aggregate | FunctionTerm


@dataclass(frozen=True, slots=True)
class Atom:
    """``pred(args)``."""

    predicate: str
    arguments: tuple[Term, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.predicate}({','.join(map(str, self.arguments))})"

    def variables(self) -> Iterator[Variable]:
        """Yield the variables in order of their places, repeated ones again."""
        return (term for term in self.arguments if isinstance(term, Variable))


@dataclass(frozen=True, slots=True)
class Negation:
    """``!atom``: no fact matches the atom."""

    atom: Atom
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return f"!{self.atom}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left operator right`` between bound terms."""

    left: Term
    operator: str
    right: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"

    def variables(self) -> Iterator[Variable]:
        """Yield the variables on either side."""
        return (term for term in (self.left, self.right) if isinstance(term, Variable))


Premise = Atom | Negation | Comparison


@dataclass(frozen=True, slots=True)
class Rule:
    """``head :- premises.`` with the name of the text it was read from."""

    head: Atom
    premises: tuple[Premise, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    source: str = field(default="", compare=False)

    def __str__(self) -> str:
        if not self.premises:
            return f"{self.head}."
        return f"{self.head} :- {', '.join(map(str, self.premises))}."

    @property
    def rule_id(self) -> str:
        """The identifier that proofs cite: the start of the SHA-256 digest of the canonical text."""
        return rule_id(str(self))

    @property
    def is_aggregate(self) -> bool:
        """Whether the head has an aggregate."""
        return any(isinstance(term, Aggregate) for term in self.head.arguments)

    def atoms(self) -> Iterator[Atom]:
        """Yield the positive premises."""
        return (premise for premise in self.premises if isinstance(premise, Atom))

    def negations(self) -> Iterator[Negation]:
        """Yield the negated premises."""
        return (premise for premise in self.premises if isinstance(premise, Negation))

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the comparisons."""
        return (premise for premise in self.premises if isinstance(premise, Comparison))


def rule_id(text: str) -> str:
    """Return ``rule:`` and the hexadecimal first 8 bytes of the SHA-256 digest of ``text``."""
    return "rule:" + hashlib.sha256(text.encode()).digest()[:8].hex()
