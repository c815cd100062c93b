"""What the built-in rules say of two published bundles, each answer checked by hand against their pages."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.store import Store

CORPORA = Path(__file__).resolve().parents[3] / "../shared/corpora"
SUMMER_2027 = fixed_clock(datetime(2027, 6, 1, tzinfo=UTC))

pytestmark = pytest.mark.skipif(
    not CORPORA.is_dir(), reason="the published bundles are not beside the project"
)

ACME_STALE = [
    "computations/gross-margin-period",
    "computations/revenue-ytd",
    "metrics/gross-margin",
    "metrics/revenue",
    "policies/margin-standard",
    "policies/revenue-recognition",
    "tables/orders",
]

ANSWERS = [
    (
        "acme_retail",
        'linked("index", X)',
        [
            f"{name}/index"
            for name in ("attesters", "computations", "metrics", "policies", "skills", "tables")
        ],
    ),
    ("acme_retail", "orphan(X)", []),
    ("acme_retail", "stale_page(X)", ACME_STALE),
    (
        "acme_retail",
        'depends_on("metrics/gross-margin", X)',
        [
            "computations/gross-margin-period",
            "metrics/gross-margin-legacy",
            "metrics/revenue",
            "policies/margin-standard",
            "policies/revenue-recognition",
        ],
    ),
    (
        "acme_retail",
        'derives_from(X, "policies/revenue-recognition")',
        [
            "computations/gross-margin-period",
            "computations/revenue-ytd",
            "metrics/gross-margin",
            "metrics/revenue",
            "tables/orders",
        ],
    ),
    (
        "acme_retail",
        "missing_source(X)",
        [
            "metrics/gross-margin-legacy",
            "policies/margin-standard",
            "policies/revenue-recognition",
            "skills/run-on-bq",
        ],
    ),
    ("acme_retail", "page_verification_outdated(X)", []),
    ("ga4", 'linked("index", X)', ["datasets/index", "references/index", "tables/index"]),
    (
        "ga4",
        'linked(X, "tables/events_")',
        ["datasets/ga4_obfuscated_sample_ecommerce", "tables/index"],
    ),
    ("ga4", 'reachable("references/metrics/purchasers", X)', []),
    ("ga4", "broken_link(X, _, _)", []),
    ("ga4", "missing_source(X)", []),
]


@pytest.mark.parametrize(("bundle", "query", "expected"), ANSWERS, ids=lambda value: str(value)[:50])
def test_a_rule_gives_the_answer_that_the_pages_give(bundle: str, query: str, expected: list[str]) -> None:
    store = Store.open(CORPORA / bundle, clock=SUMMER_2027)
    result = store.datalog(query)
    variable = query.partition("(")[2].rstrip(")").split(", ").index("X")
    assert [row["values"][variable]["value"] for row in result["results"]] == expected


@pytest.mark.parametrize("bundle", ["acme_retail", "ga4"])
def test_every_answer_has_a_proof_that_the_checker_accepts(bundle: str) -> None:
    store = Store.open(CORPORA / bundle, clock=SUMMER_2027)
    for query in ("affected_by_stale(X, Y)", "depends_transitively(X, Y)", "missing_source(X)"):
        saved = json.loads(json.dumps(store.datalog(query)))
        assert store.check_proofs(saved) == []


@pytest.mark.parametrize("query", ["affected_by_stale(X, Y)", "reachable(X, Y)", "orphan(X)"])
def test_an_independent_implementation_finds_the_same(query: str) -> None:
    store = Store.open(CORPORA / "acme_retail", clock=SUMMER_2027)
    answer = store.answer_datalog(query)
    assert store.verify_datalog(answer, seconds=60) == len(answer.rows)


@pytest.mark.parametrize(("bundle", "documents"), [("acme_retail", 17), ("ga4", 14)])
def test_the_published_bundles_have_their_known_revision(bundle: str, documents: int) -> None:
    known = {
        "acme_retail": "7366b6fed98e5575eb6b3875bd5105beaeedf7844280c3d8907d379f1005b32f",
        "ga4": "a774a6a81812e75f3267ca9882c8f4c576ef6e1be0454ce85b1d44937906f5f3",
    }
    store = Store.open(CORPORA / bundle)
    assert (store.bundle.index_sha256, len(store.bundle.documents)) == (known[bundle], documents)


def test_the_known_error_is_found_and_nothing_false() -> None:
    issues = Store.open(CORPORA / "acme_retail").issues()
    assert [(issue.path, issue.rule, issue.severity) for issue in issues] == [
        ("log.md", "log-frontmatter", "error")
    ]
    assert Store.open(CORPORA / "ga4").issues() == []
