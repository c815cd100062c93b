"""Every result fits the JSON Schema that is generated from its shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.store import Store
from openknowledge.schemas.datalog import DatalogResult
from openknowledge.schemas.export import BundleExport
from openknowledge.schemas.get import GetResult
from openknowledge.schemas.graph import DocumentGraph
from openknowledge.schemas.listing import ListResult
from openknowledge.schemas.rdf import RdfDataset
from openknowledge.schemas.search import ContextResult, SearchResultSet
from openknowledge.schemas.sparql import SparqlResult
from openknowledge.schemas.validation import ValidationReport
from pydantic import ConfigDict, TypeAdapter, with_config

CORPORA = Path(__file__).resolve().parents[2] / "corpora"
SELECT = "SELECT ?d ?t { ?d a okn:Document ; dcterms:title ?t } LIMIT 5"

ANSWERS: list[tuple[Any, Callable[[Store], Any]]] = [
    (ValidationReport, lambda store: store.validate()),
    (ListResult, lambda store: store.inventory()),
    (GetResult, lambda store: store.get("index")),
    (GetResult, lambda store: store.get(next(store.bundle.sections).id)),
    (DocumentGraph, lambda store: store.graph()),
    (BundleExport, lambda store: store.export_json()),
    (RdfDataset, lambda store: json.loads(store.export_rdf("json"))),
    (SearchResultSet, lambda store: store.search("session token", explain=True)),
    (ContextResult, lambda store: store.context("session token")),
    (SparqlResult, lambda store: store.sparql(SELECT)),
    (SparqlResult, lambda store: store.sparql("ASK { ?s ?p ?o }")),
    (DatalogResult, lambda store: store.datalog("depends_on(A, B)")),
]


@pytest.fixture(scope="module", params=["identity", "http"])
def store(request: pytest.FixtureRequest) -> Store:
    """Return a store of a sample bundle."""
    return Store.open(CORPORA / request.param, clock=fixed_clock(datetime(2026, 11, 30, tzinfo=UTC)))


def strict(shape: Any) -> Any:
    """Return the JSON Schema of ``shape``, in which no unknown field is allowed."""
    schema = TypeAdapter(with_config(ConfigDict(extra="ignore"))(shape)).json_schema()
    for part in [schema, *schema.get("$defs", {}).values()]:
        if part.get("type") == "object" and "properties" in part:
            part["additionalProperties"] = False
    return schema


@pytest.mark.parametrize(("shape", "answer"), ANSWERS, ids=lambda value: getattr(value, "__name__", ""))
def test_an_answer_fits_its_schema(store: Store, shape: Any, answer: Callable[[Store], Any]) -> None:
    validator = Draft202012Validator(strict(shape))
    errors = [error.message for error in validator.iter_errors(json.loads(json.dumps(answer(store))))]
    assert errors == []


@pytest.mark.parametrize(("shape", "answer"), ANSWERS, ids=lambda value: getattr(value, "__name__", ""))
def test_an_answer_names_its_version_and_root(
    store: Store, shape: Any, answer: Callable[[Store], Any]
) -> None:
    result = answer(store)
    assert result["schemaVersion"] == "1"
    assert result["root"] == str(store.root)
