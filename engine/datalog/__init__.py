"""Datalog with proofs: parse, check, evaluate, prove, and check the proof with independent code.

>>> from openknowledge.engine.datalog import evaluate
>>> model = evaluate("path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z).",
...                  {"edge": [("a", "b"), ("b", "c")]})
>>> sorted(model["path"])
[('a', 'b'), ('a', 'c'), ('b', 'c')]
"""

from __future__ import annotations

from openknowledge.engine.datalog.analysis import CLOSED_WORLD_PROFILE, PROFILES, SAFE_PROFILE
from openknowledge.engine.datalog.base import FactBase
from openknowledge.engine.datalog.errors import DatalogError, FactsError, ProofDepthError
from openknowledge.engine.datalog.limits import NO_LIMITS, Gate, Limits
from openknowledge.engine.datalog.model import Model, Rows
from openknowledge.engine.datalog.parser import RuleText, parse_ground_atom, parse_query, parse_rules
from openknowledge.engine.datalog.proof import Proof
from openknowledge.engine.datalog.query import Answer, AnswerRow, Prepared, evaluate, prepare
from openknowledge.engine.datalog.syntax import Atom, Rule
from openknowledge.engine.datalog.values import Name, Value, display, display_atom, value_type

__all__ = [
    "CLOSED_WORLD_PROFILE",
    "NO_LIMITS",
    "PROFILES",
    "SAFE_PROFILE",
    "Answer",
    "AnswerRow",
    "Atom",
    "DatalogError",
    "FactBase",
    "FactsError",
    "Gate",
    "Limits",
    "Model",
    "Name",
    "Prepared",
    "Proof",
    "ProofDepthError",
    "Rows",
    "Rule",
    "RuleText",
    "Value",
    "display",
    "display_atom",
    "evaluate",
    "parse_ground_atom",
    "parse_query",
    "parse_rules",
    "prepare",
    "value_type",
]
