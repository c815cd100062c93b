"""The result of a Datalog query, with proofs."""

from __future__ import annotations

from typing import NotRequired

from openknowledge.schemas.common import Policy, Provenance, Revision
from typing_extensions import TypedDict


class DatalogEngine(TypedDict):
    """The program that evaluated the query."""

    name: str
    version: str


class DatalogValue(TypedDict):
    """One argument of an answer: string, name or number."""

    type: str
    value: str | int | float


class ProofStep(TypedDict):
    """One step of a proof with the steps it uses."""

    kind: str
    atom: str
    ruleId: NotRequired[str]
    rule: NotRequired[str]
    inputs: list[ProofStep]


class DatalogRow(TypedDict):
    """One answer: an asserted or a derived fact, where it was read, and its proof."""

    kind: str
    atom: str
    predicate: str
    values: list[DatalogValue]
    sources: list[Provenance]
    proof: ProofStep


class RuleSource(TypedDict):
    """A rule text that the query was asked with."""

    source: str
    text: str


class DatalogResult(TypedDict):
    """The answer to a Datalog query over one revision of a bundle.

    ``asOf`` is the instant at which freshness was judged; ``rules`` are the texts given with the query.
    """

    schemaVersion: str
    root: str
    revision: Revision
    engine: DatalogEngine
    query: str
    ruleProfile: str
    asOf: str
    rules: NotRequired[list[RuleSource]]
    results: list[DatalogRow]
    truncated: bool
    policy: Policy
