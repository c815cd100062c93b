"""Proofs as PROV-O in Turtle: facts are entities, rule applications activities, rules plans.

PROV-O: W3C Recommendation 30 April 2013, https://www.w3.org/TR/prov-o/. The terms that PROV lacks (the kind
of a step, the place of a premise) are ``okn:proofKind`` and ``okn:premise``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from openknowledge.engine.datalog.proof import ASSERTED, Proof, steps_of
from openknowledge.engine.datalog.values import Value

Sources = Callable[[str, tuple[Value, ...]], Sequence[str]]
"""Returns the IRIs of the documents in which a base fact stands."""

_HEADER = """\
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix okn: <https://openknowledge.dev/ns/> .

<urn:openknowledge:engine> a prov:SoftwareAgent ;
    prov:value "openknowledge-datalog" .
"""


def proof_turtle(proofs: Sequence[Proof], sources: Sources | None = None) -> str:
    """Return the proofs as one Turtle document; each different step and rule is in it once.

    Identifiers are made from digests of what they identify, so that equal proofs are equal documents and
    documents can be merged.
    """
    parts = [_HEADER]
    rules: dict[str, str] = {}
    entities: dict[int, str] = {}
    written: set[str] = set()
    for step in steps_of(list(proofs)):
        entity = entities[id(step)] = _iri("fact", step.kind + " " + step.atom)
        used = [entities[id(child)] for child in step.inputs]
        if step.rule is not None:
            rule = rules[step.rule] = _iri("rule", step.rule)
            activity = _iri("step", " ".join([entity, rule, *used]))
            if activity not in written:
                written.add(activity)
                parts.append(_activity(activity, entity, rule, used))
        if entity not in written:
            written.add(entity)
            parts.append(_entity(step, entity, sources))
    for text, rule in sorted(rules.items()):
        parts.append(f"{rule} a prov:Plan, prov:Entity ;\n    prov:value {literal(text)} .\n")
    return "\n".join(parts)


def _entity(step: Proof, entity: str, sources: Sources | None) -> str:
    lines = [
        f"{entity} a prov:Entity ;",
        f"    okn:proofKind {literal(step.kind)} ;",
        f"    prov:value {literal(step.atom)}",
    ]
    if step.kind == ASSERTED and sources is not None:
        for source in sorted(set(sources(step.predicate, step.row or ()))):
            lines[-1] += " ;"
            lines.append(f"    prov:hadPrimarySource {iri(source)}")
    return "\n".join(lines) + " .\n"


def _activity(activity: str, entity: str, rule: str, used: Sequence[str]) -> str:
    lines = [
        f"{entity} prov:wasGeneratedBy {activity} .",
        f"{activity} a prov:Activity ;",
        "    prov:qualifiedAssociation [",
        "        a prov:Association ;",
        f"        prov:agent <urn:openknowledge:engine> ; prov:hadPlan {rule} ]",
    ]
    for place, source in enumerate(used, 1):
        lines[-1] += " ;"
        lines.append(f"    prov:qualifiedUsage [ a prov:Usage ; prov:entity {source} ; okn:premise {place} ]")
    lines[-1] += " ."
    distinct = sorted(set(used))
    lines.extend(f"{activity} prov:used {source} ." for source in distinct)
    lines.extend(f"{entity} prov:wasDerivedFrom {source} ." for source in distinct)
    return "\n".join(lines) + "\n"


def _iri(kind: str, text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return f"<urn:openknowledge:{kind}:sha256:{digest}>"


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def literal(text: str) -> str:
    """Return ``text`` as a Turtle string."""
    return '"' + "".join(_ESCAPES.get(ch) or _character(ch) for ch in text) + '"'


def _character(ch: str) -> str:
    code = ord(ch)
    if 0xD800 <= code <= 0xDFFF:
        return "\\uFFFD"
    return f"\\u{code:04X}" if code < 0x20 or 0x7F <= code <= 0x9F else ch


def iri(text: str) -> str:
    """Return ``text`` as a Turtle IRI reference, what an IRI cannot hold percent-encoded."""
    parts: list[str] = []
    for ch in text:
        if not ch.isprintable() or ch in ' <>"{}|^`\\[]':
            parts.extend(f"%{byte:02X}" for byte in ch.encode("utf-8", "replace"))
        else:
            parts.append(ch)
    return f"<{''.join(parts)}>"
