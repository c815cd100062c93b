"""What follows from a bundle by the built-in rules and a team's own: facts loaded once, programs run once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from openknowledge.engine.analysis.audit_facts import AUDIT_RELATIONS, SourceIdentity, audit_sources
from openknowledge.engine.analysis.builtin_rules import builtin_texts
from openknowledge.engine.claims.evidence import EvidenceStore
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.relations import SUPPORT_RELATIONS, claim_sources
from openknowledge.engine.datalog import (
    CLOSED_WORLD_PROFILE,
    NO_LIMITS,
    FactBase,
    Limits,
    Model,
    Proof,
    Rule,
    RuleText,
    evaluate,
    parse_rules,
)
from openknowledge.engine.datalog.analysis import body_atoms
from openknowledge.engine.datalog.limits import Budget
from openknowledge.engine.facts.compile import Fact
from openknowledge.engine.facts.facts import Facts
from openknowledge.engine.facts.provenance import Provenance
from openknowledge.engine.facts.relations import RELATIONS

if TYPE_CHECKING:
    from openknowledge.engine.store import Store

_ARITIES = {
    relation.name: relation.arity for relation in (*RELATIONS.values(), *SUPPORT_RELATIONS, *AUDIT_RELATIONS)
}


class Conclusions:
    """The facts of one store for its owner, restricted ones too, and what rules make of them.

    ``recorded`` are the sources of an audit's baseline.
    """

    def __init__(self, store: Store, recorded: Iterable[SourceIdentity] = ()) -> None:
        self.store = store
        self.bundle = store.bundle
        self.files: EvidenceStore = store.evidence
        self.claims = FactSet.everything(store.claim_set)
        self.issues = store.issues()
        sources = {
            **claim_sources(self.claims),
            **audit_sources(store.bundle, self.files, recorded),
            "issue": self._issues,
        }
        self.facts = Facts(store.bundle, store.now, sources)
        names = [name for name in self.facts.names if name in _ARITIES]
        self.base = FactBase(
            load=cast("Any", self.facts.rows), arities={name: _ARITIES[name] for name in names}
        )

    def _issues(self) -> Iterator[Fact]:
        for issue in self.issues:
            document = self.bundle.by_path.get(issue.path)
            if document is not None:
                yield (issue.path, issue.rule, issue.message), Provenance(self.bundle, document)

    def derive(self, heads: Iterable[str]) -> Model:
        """Return the model of the built-in rules for ``heads`` and all that these need, in one program."""
        return evaluate(
            reached_texts(builtin_texts(), heads), self.base, NO_LIMITS, profile=CLOSED_WORLD_PROFILE
        )

    def derive_own(self, texts: Sequence[RuleText], limits: Limits) -> Model:
        """Return the model of a team's rule ``texts`` with the built-in rules that they reach.

        The time limit is one on reasoning: the facts are loaded before. Raises ``DatalogError`` for faults in
        the texts, ``LimitError`` for a limit that was reached.
        """
        rules = [rule for text in texts for rule in parse_rules(text.text, text.source)]
        heads = {rule.head.predicate for rule in rules}
        wanted = {atom.predicate for rule in rules for atom in body_atoms(rule)} - heads
        built_in = reached_texts(builtin_texts(heads), wanted)
        program = [*rules, *(rule for text in built_in for rule in parse_rules(text.text, text.source))]
        used = {atom.predicate for rule in program for atom in body_atoms(rule)}
        for name in sorted(used & self.base.names()):
            self.base.relation(name)
        model = evaluate([*texts, *built_in], self.base, limits, profile=CLOSED_WORLD_PROFILE)
        model._budget = Budget(NO_LIMITS)  # proofs are built when asked for: after the deadline of the rules
        return model

    def places(self, proof: Proof) -> tuple[Provenance, ...]:
        """Return where the facts that a proof rests on were read."""
        found: list[Provenance] = []
        for leaf in proof.leaves():
            found.extend(self.facts.places(leaf.predicate, cast("Any", leaf.row)))
        return tuple(found)


def reached_texts(texts: Iterable[RuleText], heads: Iterable[str]) -> list[RuleText]:
    """Return of ``texts`` only the rules that the derivation of ``heads`` can use."""
    parsed = [(text, parse_rules(text.text, text.source)) for text in texts]
    by_head: dict[str, list[Rule]] = {}
    for _, rules in parsed:
        for rule in rules:
            by_head.setdefault(rule.head.predicate, []).append(rule)
    reached = set(heads)
    pending = list(reached)
    while pending:
        for rule in by_head.get(pending.pop(), ()):
            for atom in body_atoms(rule):
                if atom.predicate not in reached:
                    reached.add(atom.predicate)
                    pending.append(atom.predicate)
    kept = []
    for text, rules in parsed:
        wanted = [str(rule) for rule in rules if rule.head.predicate in reached]
        if wanted:
            kept.append(RuleText("\n".join(wanted), text.source, built_in=text.built_in))
    return kept
