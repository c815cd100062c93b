"""Datalog over a bundle: a query with a user's rules and the built-in ones, with proofs and sources."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from openknowledge.engine import limits as bounds
from openknowledge.engine.analysis.audit_facts import AUDIT_RELATIONS
from openknowledge.engine.analysis.builtin_rules import program_texts
from openknowledge.engine.bundle.instants import format_instant
from openknowledge.engine.claims.relations import SUPPORT_RELATIONS
from openknowledge.engine.datalog import (
    CLOSED_WORLD_PROFILE,
    PROFILES,
    Answer,
    AnswerRow,
    DatalogError,
    FactBase,
    Gate,
    Limits,
    Prepared,
    RuleText,
    parse_ground_atom,
    parse_rules,
    prepare,
)
from openknowledge.engine.datalog.analysis import nearest
from openknowledge.engine.datalog.checking import Finding, ProofChecker
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.facts.facts import Facts
from openknowledge.engine.facts.provenance import Provenance
from openknowledge.engine.facts.relations import RELATIONS
from openknowledge.engine.version import __version__
from openknowledge.schemas.common import Policy
from openknowledge.schemas.common import Provenance as ProvenanceJson
from openknowledge.schemas.datalog import DatalogResult, DatalogRow

BASE_RELATIONS = {
    relation.name: relation for relation in (*RELATIONS.values(), *SUPPORT_RELATIONS, *AUDIT_RELATIONS)
}
ENGINE = "openknowledge-datalog"
GATE = Gate(bounds.CONCURRENT_EVALUATIONS)
"""Bounds the evaluations that run at once in this process."""


def fact_base(facts: Facts) -> FactBase:
    """Return the base relations of ``facts`` for the evaluator; each is loaded when a program reaches it."""
    arities = {name: relation.arity for name, relation in BASE_RELATIONS.items()}
    return FactBase(load=facts.rows, arities=arities)


def prepare_query(query: str, rules: Sequence[RuleText], profile: str, limits: Limits) -> Prepared:
    """Check ``query`` and ``rules``; the built-in rules may use negation whatever the profile is.

    Raises ``DatalogError``, ``UsageError`` for an unknown profile, ``LimitError``.
    """
    own = prepare(query, rules, profile=profile, limits=limits)
    whole = prepare(query, program_texts(rules), profile=CLOSED_WORLD_PROFILE, limits=limits)
    return Prepared(whole.query, whole.query_text, whole.rules, own.profile, limits)


def similar_predicates(name: str, rules: Sequence[RuleText]) -> list[str] | None:
    """Return the predicates with names most like ``name``; ``None`` when there is one with this very name."""
    heads = {
        rule.head.predicate for text in program_texts(rules) for rule in parse_rules(text.text, text.source)
    }
    known = heads | BASE_RELATIONS.keys()
    return None if name in known else nearest(name, known)


def answer_query(
    prepared: Prepared, facts: Facts, base: FactBase, now: Callable[[], float] = time.monotonic
) -> Answer:
    """Evaluate a checked query. Raises ``DatalogError``, ``LimitError``, ``ProofDepthError``.

    The time limit is one on reasoning: compiling the facts that the query reaches does not count.
    """
    for name in prepared.predicates & base.names():
        facts.rows(name)
    return prepared.answer(base, gate=GATE, now=now)


def result_json(answer: Answer, facts: Facts, *, rules: Sequence[RuleText], policy: Policy) -> DatalogResult:
    """Return an answer as the JSON result, each row with the places its proof rests on."""
    bundle = facts.bundle
    result: DatalogResult = {
        "schemaVersion": "1",
        "root": str(bundle.root),
        "revision": {"specVersion": bundle.spec, "indexSha256": bundle.index_sha256},
        "engine": {"name": ENGINE, "version": __version__},
        "query": str(answer.query),
        "ruleProfile": answer.profile,
        "asOf": format_instant(facts.now),
        "results": [_row(row, facts) for row in answer.rows],
        "truncated": answer.truncated,
        "policy": policy,
    }
    if rules:
        result["rules"] = [{"source": text.source, "text": text.text} for text in rules]
    return result


def _row(row: AnswerRow, facts: Facts) -> DatalogRow:
    shown = cast("DatalogRow", row.to_json())
    shown["sources"] = unique_sources(places_of(row, facts))
    return shown


def places_of(row: AnswerRow, facts: Facts) -> list[Provenance]:
    """Return where the asserted facts of a row's proof were read."""
    places: list[Provenance] = []
    for leaf in row.proof.leaves():
        places.extend(facts.places(leaf.predicate, cast("Any", leaf.row)))
    return places


def unique_sources(places: Iterable[Provenance]) -> list[ProvenanceJson]:
    """Return places as JSON, unique by locator and document, sorted by document and locator."""
    shown = {(place.document.path, place.locator): place for place in reversed(list(places))}
    return [shown[key].to_json() for key in sorted(shown)]


def verify_answer(
    answer: Answer, facts: Facts, base: FactBase, rules: Sequence[RuleText], seconds: float | None
) -> int:
    """Check ``answer`` against pyDatalog; return how many rows it finds.

    A cut answer is completed first, so that what was cut is compared too. Raises ``Disagreement`` with the
    facts that differ, and ``LimitError`` after ``seconds``.
    """
    from openknowledge.engine.datalog.second_opinion import verify

    query = str(answer.query)
    rows = [row.values for row in answer.rows]
    if answer.truncated:
        limits = Limits(seconds=seconds, created_facts=bounds.DERIVED_GRAPH_FACTS)
        rows = prepare_query(query, rules, answer.profile, limits).rows(base)
    return verify(
        query, program_texts(rules), lambda name: cast("Any", facts.rows(name)), rows, seconds=seconds
    )


def check_revision(result: Any, facts: Facts) -> None:
    """Raise ``OpenKnowledgeError`` when a saved result is about other bytes than ``facts``."""
    revision = result.get("revision") if isinstance(result, dict) else None
    recorded = revision.get("indexSha256") if isinstance(revision, dict) else None
    if recorded != facts.bundle.index_sha256:
        raise OpenKnowledgeError(
            f"the result is about revision {recorded}, but the bundle is at {facts.bundle.index_sha256}: "
            "ask again, or check it against the bundle as it was"
        )


def check_saved_result(
    result: Any, facts: Facts, rules: Sequence[RuleText], policy: Policy, *, seconds: float | None = None
) -> list[Finding]:
    """Check every proof of a saved result against ``facts``, with code apart from the evaluator.

    ``rules`` are the user's texts that the result was asked with, ``policy`` what was kept out of it. Raises
    ``OpenKnowledgeError`` when the result is about another revision.
    """
    check_revision(result, facts)
    if not isinstance(result, dict):
        raise OpenKnowledgeError("this is not a saved Datalog result: expected a JSON object")
    checker = ProofChecker(
        program_texts(rules),
        lambda name: cast("Any", facts.rows(name)),
        holds=lambda name, row: (name, cast("Any", row)) in facts,
        seconds=seconds,
    )
    findings = checker.check_result(result)
    return findings or [*_envelope_findings(result, facts, rules, policy), *_source_findings(result, facts)]


def _envelope_findings(
    result: dict[str, Any], facts: Facts, rules: Sequence[RuleText], policy: Policy
) -> Iterator[Finding]:
    """Yield what a result says of itself that is not so."""
    bundle = facts.bundle
    expected: dict[str, Any] = {
        "schemaVersion": "1",
        "revision": {"specVersion": bundle.spec, "indexSha256": bundle.index_sha256},
        "engine": {"name": ENGINE, "version": __version__},
        "policy": policy,
    }
    for name, value in expected.items():
        if result.get(name) != value:
            yield Finding(name, "", f"this differs from what the bundle gives: {value}")
    profile = result.get("ruleProfile")
    if profile not in PROFILES:
        yield Finding("ruleProfile", "", f"this is none of the profiles {', '.join(PROFILES)}")
    else:
        try:
            prepare(str(result.get("query", "")), rules, profile=profile, limits=Limits.command_line())
        except DatalogError as error:
            yield Finding("ruleProfile", "", f"the rules are not ones of {profile}: {error.problem}")
    if not isinstance(result.get("truncated"), bool):
        yield Finding("truncated", "", "this says whether rows were cut: true or false")


def _source_findings(result: dict[str, Any], facts: Facts) -> Iterator[Finding]:
    """Yield the rows whose sources are not where the leaves of their proofs were read."""
    for number, row in enumerate(result["results"]):
        leaves: set[str] = set()
        stack = [row["proof"]]
        while stack:
            step = stack.pop()
            stack.extend(step["inputs"])
            if step["kind"] == "asserted":
                leaves.add(step["atom"])
        places: list[Provenance] = []
        for atom in sorted(leaves):
            predicate, values = parse_ground_atom(atom)
            places.extend(facts.places(predicate, cast("Any", values)))
        if row.get("sources") != unique_sources(places):
            reason = "the sources are not the places where the asserted facts of the proof were read"
            yield Finding(f"results[{number}].sources", row["atom"], reason)


def rules_of_result(result: Any) -> list[RuleText]:
    """Return the rule texts that a saved result carries. Raises ``OpenKnowledgeError`` for a wrong shape."""
    if not isinstance(result, dict):
        raise OpenKnowledgeError("this is not a saved Datalog result: expected a JSON object")
    given = result.get("rules", [])
    texts = []
    if isinstance(given, list):
        for item in given:
            if not isinstance(item, dict):
                break
            source, text = item.get("source"), item.get("text")
            if not isinstance(source, str) or not isinstance(text, str):
                break
            texts.append(RuleText(text, source))
        else:
            return texts
    raise OpenKnowledgeError("the rules in this result are not a list of {source, text}")


__all__ = [
    "DatalogError",
    "RuleText",
    "answer_query",
    "check_saved_result",
    "fact_base",
    "prepare_query",
    "result_json",
    "rules_of_result",
    "unique_sources",
    "verify_answer",
]
