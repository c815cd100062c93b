"""The relation table: one declaration for Datalog, RDF and documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from openknowledge.engine.analysis.builtin_rules import builtin_rule_files
from openknowledge.engine.facts.compile import BUILDERS
from openknowledge.engine.facts.relations import (
    DERIVED_RELATIONS,
    DOCUMENT_RELATIONS,
    RELATIONS,
    Relation,
)
from openknowledge.engine.facts.terms import NAMESPACES
from openknowledge.engine.facts.vocabulary import vocabulary_markdown

ROOT = Path(__file__).resolve().parents[3]
ALL = [*RELATIONS.values(), *DERIVED_RELATIONS]


def test_the_vocabulary_page_is_up_to_date() -> None:
    assert (ROOT / "docs/vocabulary.md").read_text(encoding="utf-8") == vocabulary_markdown()


def test_every_document_relation_is_compiled() -> None:
    assert set(BUILDERS) == {relation.name for relation in DOCUMENT_RELATIONS}


def test_relation_names_are_unique() -> None:
    names = [relation.name for relation in ALL]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("relation", ALL, ids=lambda relation: relation.name)
def test_every_pattern_names_columns_and_known_prefixes(relation: Relation) -> None:
    columns = {column.name for column in relation.columns}
    for pattern in relation.rdf:
        assert pattern.subject in columns
        assert pattern.predicate.partition(":")[0] in NAMESPACES
        if pattern.object.startswith("<"):
            assert pattern.object[1:-1].partition(":")[0] in NAMESPACES
        else:
            assert pattern.object.removeprefix("=") in columns


def test_every_conclusion_of_the_built_in_rules_is_declared_with_its_arity() -> None:
    declared = {relation.name: relation.arity for relation in ALL}
    for file in builtin_rule_files():
        for rule in file.rules:
            assert declared.get(rule.head.predicate) == len(rule.head.arguments), (file.name, str(rule.head))


def test_every_declared_conclusion_is_derived_by_a_built_in_rule() -> None:
    heads = {head for file in builtin_rule_files() for head in file.heads}
    assert {relation.name for relation in DERIVED_RELATIONS} <= heads


@pytest.mark.parametrize("file", builtin_rule_files(), ids=lambda file: file.name)
def test_a_rule_file_says_in_its_header_what_it_derives_and_from_what(file: object) -> None:
    text: str = file.text  # type: ignore[attr-defined]
    header = text.partition("\n\n")[0]
    assert "# Derives" in header
    assert "# From " in header
