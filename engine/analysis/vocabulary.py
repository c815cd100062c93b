"""Writes ``docs/vocabulary.md`` from the relation table.

Run ``python -m openknowledge.engine.analysis.vocabulary > docs/vocabulary.md`` after changing the table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from openknowledge.engine.analysis.audit_facts import AUDIT_RELATIONS
from openknowledge.engine.analysis.builtin_rules import builtin_rule_files
from openknowledge.engine.claims.relations import SUPPORT_RELATIONS
from openknowledge.engine.facts.relations import (
    CLAIM_RELATIONS,
    DERIVED_RELATIONS,
    DOCUMENT_RELATIONS,
    Pattern,
    Relation,
)
from openknowledge.engine.facts.terms import NAMESPACES

_INTRODUCTION = """# Vocabulary

Every fact about a bundle belongs to one of these relations. Rules and `okn query --datalog` use them by name;
`okn query --sparql` and `okn export rdf` see the triples beside them. Both come from one table in
`engine/facts/relations.py`, and so does this page.

In the triples, `?name` is the column of that name. Pages, sections and actors have IRIs of the form
`https://openknowledge.dev/.well-known/semantic/<revision>/<kind>/<key>`, so that a statement is always about
one revision of the bundle.
"""


def vocabulary_markdown() -> str:
    """Return the page."""
    parts = [
        _INTRODUCTION,
        _table(
            "Pages, sections and links",
            "What the bundle's files say, in the graph of its revision.",
            DOCUMENT_RELATIONS,
        ),
        _table("Typed claims", "What claims in the frontmatter say, in the same graph.", CLAIM_RELATIONS),
        _table(
            "What rules cannot see",
            "The clock, files and normal forms, looked up before any rule runs. Not in the RDF graph.",
            (*SUPPORT_RELATIONS, *AUDIT_RELATIONS),
        ),
        _table(
            "Conclusions of the built-in rules",
            "What `rules/*.dl` derive and the graph `urn:openknowledge:derived:<revision>` holds.",
            DERIVED_RELATIONS,
        ),
        _rule_files(),
        _prefixes(),
    ]
    return "\n".join(parts)


def _table(title: str, about: str, relations: Iterable[Relation]) -> str:
    lines = [f"## {title}", "", about, "", "| Relation | Says that there is | Triples |", "|---|---|---|"]
    for relation in relations:
        triples = "<br>".join(f"`{_pattern(pattern)}`" for pattern in relation.rdf) or "-"
        lines.append(f"| `{relation.signature}` | {relation.about} | {triples} |")
    return "\n".join([*lines, ""])


def _rule_files() -> str:
    lines = ["## Everything that the built-in rules derive", ""]
    for file in builtin_rule_files():
        lines += [
            f"### rules/{file.name}.dl",
            "",
            file.summary,
            "",
            "| Conclusion | Says that |",
            "|---|---|",
        ]
        lines += [f"| `{signature}` | {about} |" for signature, about in file.conclusions]
        lines.append("")
    return "\n".join(lines)


def _pattern(pattern: Pattern) -> str:
    if pattern.object.startswith("<"):
        shown = pattern.object[1:-1]
    elif pattern.object.startswith("="):
        shown = f'"?{pattern.object[1:]}"'
    else:
        shown = f"?{pattern.object}"
    return f"?{pattern.subject} {pattern.predicate} {shown}"


def _prefixes() -> str:
    lines = [
        "## Prefixes",
        "",
        "Predefined in every query. A bundle's own `namespaces` are added to them.",
        "",
        "| Prefix | Namespace |",
        "|---|---|",
    ]
    lines += [f"| `{name}` | `{namespace}` |" for name, namespace in sorted(NAMESPACES.items())]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.write(vocabulary_markdown())
