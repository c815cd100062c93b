"""The corpus schema in the root index, and the pages it applies to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine.analysis.corpus_schema import check_corpus_schema
from openknowledge.engine.bundle.bundle import read_bundle

SCHEMA = """---
corpus_schema:
  version: "1"
  document_types:
    - id: Service
      aliases: [Microservice]
      paths: ["services/**"]
      required: [description, owner]
    - id: Runbook
  link_predicates:
    - id: operated-by
      source_types: [Service]
      target_types: [Runbook]
    - id: related
      source_types: ["*"]
      target_types: ["*"]
  migrations:
    - { from: Playbook, to: Runbook, document: moves/playbooks.md }
---

# Home
"""
SERVICE = "---\ntype: Service\ndescription: d\nowner: a\n---\n\n# S\n"
RUNBOOK = "---\ntype: Runbook\n---\n\n# R\n"
GOOD = {"index.md": SCHEMA, "services/a.md": SERVICE, "r.md": RUNBOOK, "moves/playbooks.md": RUNBOOK}


@pytest.fixture
def issues(bundle: Callable[[Any], Path]) -> Callable[..., list[tuple[str, int, str]]]:
    """Return a function that writes a bundle and returns path, line and message of each issue."""

    def run(changes: dict[str, str]) -> list[tuple[str, int, str]]:
        found = check_corpus_schema(read_bundle(bundle({**GOOD, **changes})))
        assert all((issue.rule, issue.severity) == ("corpus-schema", "error") for issue in found)
        return [(issue.path, issue.line, issue.message) for issue in found]

    return run


Issues = Callable[..., list[tuple[str, int, str]]]


def test_pages_that_follow_the_schema_have_no_issue(issues: Issues) -> None:
    assert issues({}) == []


def test_without_a_schema_nothing_is_checked(issues: Issues) -> None:
    assert issues({"index.md": "# Home\n", "x.md": "---\ntype: Odd\ntyped_links: 7\n---\n"}) == []


def test_a_schema_in_a_nested_index_does_not_count(issues: Issues) -> None:
    assert issues({"index.md": "# Home\n", "sub/index.md": SCHEMA, "x.md": "---\ntype: Odd\n---\n"}) == []


def test_a_page_of_an_unknown_type_is_found_at_its_type(issues: Issues) -> None:
    assert issues({"x.md": "---\ntitle: X\ntype: Odd\n---\n"}) == [
        ("x.md", 3, "the type 'Odd' is not one of the corpus schema: Service, Runbook")
    ]


def test_an_alias_is_its_type(issues: Issues) -> None:
    assert issues({"services/b.md": SERVICE.replace("Service", "Microservice")}) == []


def test_a_replaced_type_names_its_successor(issues: Issues) -> None:
    assert issues({"x.md": "---\ntype: Playbook\n---\n"}) == [
        ("x.md", 2, "the type 'Playbook' has been replaced by 'Runbook': change it")
    ]


def test_a_page_belongs_where_its_type_belongs(issues: Issues) -> None:
    assert issues({"x.md": SERVICE}) == [("x.md", 2, "a page of type 'Service' belongs in services/**")]


def test_paths_may_span_folders(issues: Issues) -> None:
    assert issues({"services/deep/er/b.md": SERVICE}) == []


@pytest.mark.parametrize("value", ["description: ''", "description:", "description: []", ""])
def test_a_required_field_must_say_something(issues: Issues, value: str) -> None:
    page = SERVICE.replace("description: d", value or "title: t")
    ((path, _, message),) = issues({"services/b.md": page})
    assert (path, message) == ("services/b.md", "a page of type 'Service' needs description")


def linked(*links: str) -> str:
    return SERVICE.replace(
        "owner: a\n", "owner: a\ntyped_links:\n" + "".join(f"  - {link}\n" for link in links)
    )


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("{ predicate: operated-by, target: ../r.md }", None),
        ("{ predicate: operated-by, target: /r.md }", None),
        ("{ predicate: related, target: /services/a.md }", None),
        ("{ predicate: unheard, target: /r.md }", "'unheard' is not declared"),
        ("{ predicate: operated-by, target: /services/a.md }", "may not lead to a page of type 'Service'"),
        ("{ predicate: operated-by, target: /gone.md }", "is no page of the bundle"),
        ("{ predicate: operated-by, target: ../../../etc/passwd }", "is no page of the bundle"),
        ("{ predicate: operated-by }", "needs predicate and target"),
        ("{ predicate: related, target: /r.md, why: x }", "is a mapping {predicate, target}"),
        ("operated-by", "is a mapping {predicate, target}"),
    ],
)
def test_typed_links_follow_their_predicates(issues: Issues, link: str, message: str | None) -> None:
    found = issues({"services/b.md": linked(link)})
    if message is None:
        assert found == []
    else:
        ((path, line, text),) = found
        assert (path, line) == ("services/b.md", 6)
        assert message in text


def test_a_page_of_another_type_may_not_have_the_link(issues: Issues) -> None:
    page = "---\ntype: Runbook\ntyped_links:\n  - { predicate: operated-by, target: /r.md }\n---\n"
    ((path, line, message),) = issues({"x.md": page})
    assert (path, line) == ("x.md", 4)
    assert message == "a page of type 'Runbook' may not have a link 'operated-by'"


def test_typed_links_must_be_a_list(issues: Issues) -> None:
    page = SERVICE.replace("owner: a\n", "owner: a\ntyped_links: x\n")
    assert issues({"services/b.md": page})[0][2].startswith("typed_links must be a list")


WRONG = [
    ('version: "1"', "version: 1", 3, 'version must be the string "1"'),
    ('version: "1"', 'version: "1"\n  extra: x', 4, "unknown field 'extra'"),
    ("id: Runbook", "aliases: [x]", 9, "needs id"),
    ("id: Runbook", "id: Service", 9, "'Service' is declared more than once"),
    ("id: Runbook", "id: Microservice", 9, "'Microservice' is declared more than once"),
    ("target_types: [Runbook]", "target_types: [Book]", 13, "'Book', which is no document type"),
    ('paths: ["services/**"]', 'paths: ["/services"]', 7, "no path or glob inside the bundle"),
    ("required: [description, owner]", "required: description", 8, "must be a list of non-empty strings"),
    ("- id: related", "- id: operated-by", 14, "'operated-by' is declared more than once"),
    ("to: Runbook", "to: Book", 18, "'Book', which is no document type"),
    ("from: Playbook", "from: Service", 18, "is still a document type"),
    ("playbooks.md }", "playbooks }", 18, "ending in .md"),
    ("moves/playbooks.md", "moves/gone.md", 18, "is no page of the bundle"),
    ("document: moves/playbooks.md", "doc: x", 18, "unknown field 'doc'"),
]


@pytest.mark.parametrize(("before", "after", "line", "message"), WRONG)
def test_a_fault_in_the_schema_is_found_on_its_line(
    issues: Issues, before: str, after: str, line: int, message: str
) -> None:
    assert before in SCHEMA
    found = issues({"index.md": SCHEMA.replace(before, after, 1), "x.md": "---\ntype: Odd\n---\n"})
    assert [(path, at) for path, at, text in found if message in text] == [("index.md", line)]
    assert all(path == "index.md" for path, _, _ in found), "a faulty schema is not applied to pages"


@pytest.mark.parametrize("value", ["7", "[]", "{ document_types: {} }", "{ version: '1', migrations: 7 }"])
def test_a_schema_of_another_shape_is_an_issue(issues: Issues, value: str) -> None:
    assert issues({"index.md": f"---\ncorpus_schema: {value}\n---\n"})
