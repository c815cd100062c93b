"""Inputs that broke other tools, each from a public report: judged right, and fast."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine.bundle.bundle import Bundle, read_bundle
from openknowledge.engine.bundle.validation import validate_okf

NUMBERS = "01 02 04 06 07 09 11 13 14 16 18 20 22 24 25 26 28 29 31 33 36 39 42 46 48".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def cases(shared_inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Every case by its number: the directory, and what is right."""
    out = tmp_path_factory.mktemp("reported") / "inputs"
    subprocess.run(
        [sys.executable, str(shared_inputs / "make.py"), str(out)], check=True, capture_output=True
    )
    stated = json.loads((out / "cases.json").read_text("utf-8"))
    return {name[:2]: {**case, "root": out / name} for name, case in stated.items()}


def _edges(bundle: Bundle) -> set[tuple[str, str]]:
    """Which concept page links to which other."""
    found = set()
    for document in bundle.documents:
        for _, target in bundle.local_links(document):
            page = bundle.by_path.get(target.path)
            if page is not None and not document.reserved and not page.reserved:
                found.add((document.id, page.id))
    return found


def test_every_case_is_tested(cases: dict[str, dict[str, Any]]) -> None:
    assert sorted(cases) == NUMBERS


@pytest.mark.parametrize("number", NUMBERS)
def test_a_bundle_is_conformant_exactly_when_it_is(cases: dict[str, dict[str, Any]], number: str) -> None:
    case = cases[number]
    errors = [issue for issue in validate_okf(read_bundle(case["root"])) if issue.severity == "error"]
    assert case["conformant"] in (None, not errors)


@pytest.mark.parametrize("number", NUMBERS)
def test_broken_links_are_those_that_are_broken(cases: dict[str, dict[str, Any]], number: str) -> None:
    case = cases[number]
    broken = [issue for issue in validate_okf(read_bundle(case["root"])) if issue.rule == "link-target"]
    assert case["broken"] in (None, len(broken))


@pytest.mark.parametrize("number", NUMBERS)
def test_pages_are_connected_by_their_links(cases: dict[str, dict[str, Any]], number: str) -> None:
    case = cases[number]
    assert case["edges"] in (None, len(_edges(read_bundle(case["root"]))))


@pytest.mark.parametrize("number", NUMBERS)
def test_no_case_is_slow(cases: dict[str, dict[str, Any]], number: str) -> None:
    start = time.process_time()
    bundle = read_bundle(cases[number]["root"])
    validate_okf(bundle)
    assert list(bundle.sections) is not None
    assert time.process_time() - start < 0.5


def test_every_issue_names_a_file_a_line_and_a_column(cases: dict[str, dict[str, Any]]) -> None:
    issues = [issue for case in cases.values() for issue in validate_okf(read_bundle(case["root"]))]
    assert len(issues) > 15
    assert all(issue.path and issue.line >= 1 and issue.column >= 1 and issue.message for issue in issues)
