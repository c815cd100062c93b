"""The relation table: one declaration for Datalog, RDF and documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from openknowledge.engine.analysis.builtin_rules import RuleFile, builtin_rule_files
from openknowledge.engine.analysis.vocabulary import vocabulary_markdown
from openknowledge.engine.facts.compile import BUILDERS
from openknowledge.engine.facts.relations import (
    DERIVED_RELATIONS,
    DOCUMENT_RELATIONS,
    RELATIONS,
    Relation,
)
from openknowledge.engine.facts.terms import NAMESPACES

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


def test_every_declared_conclusion_is_derived_by_a_built_in_rule_with_its_arity() -> None:
    derived = {
        rule.head.predicate: len(rule.head.arguments) for file in builtin_rule_files() for rule in file.rules
    }
    for relation in DERIVED_RELATIONS:
        assert derived.get(relation.name) == relation.arity, relation.name


@pytest.mark.parametrize("file", builtin_rule_files(), ids=lambda file: file.name)
def test_the_header_of_a_rule_file_names_exactly_what_it_derives(file: RuleFile) -> None:
    written = {}
    for signature, about in file.conclusions:
        name, _, arguments = signature.partition("(")
        written[name] = arguments.count(",") + 1
        assert about, signature
    assert written == {rule.head.predicate: len(rule.head.arguments) for rule in file.rules}


@pytest.mark.parametrize("file", builtin_rule_files(), ids=lambda file: file.name)
def test_a_rule_file_says_in_its_header_what_it_derives_and_from_what(file: RuleFile) -> None:
    header = file.text.partition("\n\n")[0]
    assert "# Derives" in header
    assert "# From " in header
