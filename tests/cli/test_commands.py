"""The commands as a user meets them: output, errors, exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HTTP = str(ROOT / "corpora/http")
Okn = Callable[..., Any]

BROKEN = "---\ntype: T\nstatus: odd\n---\n\n[x](gone.md)\n"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text(BROKEN, encoding="utf-8")
    (tmp_path / "b.md").write_text("# No frontmatter\n", encoding="utf-8")
    return tmp_path


def test_validate_prints_each_issue_with_its_place_and_fails(okn: Okn, bundle: Path) -> None:
    done = okn("validate", bundle)
    assert done.code == 1
    assert "a.md:3:1: warning: status 'odd'" in done.out
    assert "a.md:6:1: warning: link target 'gone.md' does not exist [link-target]" in done.out
    assert "b.md:1:1: error: concept page has no frontmatter" in done.out
    assert done.out.endswith("fail: 1 error, 2 warnings in 2 pages (OKF 0.2)\n")


def test_validate_json_is_the_report(okn: Okn, bundle: Path) -> None:
    report = json.loads(okn("validate", bundle, "--json").out)
    assert report["summary"] == {"status": "fail", "errorCount": 1, "warningCount": 2, "issueCount": 3}
    assert [issue["path"] for issue in report["issues"]] == ["a.md", "a.md", "b.md"]
    assert len(report["checks"]) == 18
    assert {issue["line"] for issue in report["warnings"]} == {3, 6}


def test_validate_quiet_says_nothing(okn: Okn, bundle: Path) -> None:
    done = okn("validate", bundle, "--quiet")
    assert (done.code, done.out, done.err) == (1, "", "")


def test_a_rule_can_be_made_an_error_or_switched_off(okn: Okn, bundle: Path) -> None:
    off = ["--rule", "concept-frontmatter=off", "--rule", "okf-0.2-metadata=off", "--rule", "link-target=off"]
    assert okn("validate", bundle, *off).code == 0
    assert okn("validate", bundle, *off[:4], "--rule", "link-target=error").code == 1


def test_settings_of_the_bundle_apply(okn: Okn, bundle: Path) -> None:
    (bundle / ".openknowledge.toml").write_text('[validation.rules]\nconcept-frontmatter = "off"\n')
    done = okn("validate", bundle, "--json")
    assert done.code == 0
    assert json.loads(done.out)["policy"]["overrides"] == {"concept-frontmatter": "off"}


def test_a_wrong_setting_is_an_issue_with_its_line(okn: Okn, bundle: Path) -> None:
    (bundle / ".openknowledge.toml").write_text('[validation.rules]\nlink-target = "off"\nnope = "off"\n')
    issue = json.loads(okn("validate", bundle, "--json").out)["errors"][0]
    assert (issue["path"], issue["line"], issue["rule"]) == (".openknowledge.toml", 3, "rule-catalog")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["validate", "--rule", "nope=off"], "unknown rule 'nope'; choose one of"),
        (["validate", "--rule", "link-target=loud"], "choose error, warning or off"),
        (["validate", "--rule", "claim-profile=off"], "is fixed"),
        (["validate", "--rule", "link-target"], "is not ID=SEVERITY"),
        (["validate", "--spec", "0.3"], "choose 0.1, 0.2 or latest"),
        (["validate", "--profile", "x"], "choose one of bundle, okf"),
        (["validate", "--nope"], "No such option"),
        (["nope"], "No such command"),
        (["search", "a", "b", "c"], "put quotes around"),
        (["search", "x", "--format", "yaml"], "choose one of markdown, json"),
        (["search", "x", "--limit", "0"], "from 1 to 1000"),
        (["search", "x", "--limit", "1001"], "from 1 to 1000"),
        (["search", "x", "--budget", "-1"], "from 1 to"),
        (["query"], "give a query"),
        (["query", "--sparql", "ASK {}", "--format", "yaml"], "unknown format 'yaml'; choose one of"),
        (["query", "--sparql", "ASK {}", "--limit", "0"], "from 1 to 1000"),
        (["query", "--sparql", "ASK {}", "--timeout", "31"], "at most 30"),
        (["export", "rdf", "--format", "x"], "choose one of nquads"),
        (["export", "graph", "--format", "x"], "choose one of json, graphml, dot"),
        (["--now", "yesterday", "validate", HTTP], "is not a date"),
        (["--error-format", "xml", "validate"], "choose text or json"),
        (["--now", "", "list", HTTP], "--now is empty"),
        (["--at", "", "list", HTTP], "--at is empty"),
        (["search", HTTP, "cache", "--type", ""], "--type is empty"),
        (["search", HTTP, "cache", "--tag", " "], "--tag is empty"),
        (["claims", "validate", HTTP, "--against", ""], "--against is empty"),
        (["search", HTTP, "cache", "--embedding-model", "m"], "need --embedding-url"),
        (["audit", HTTP, "--baseline", "/x/b.json", "--out", "/x/b.json"], "two outputs to one file"),
        (["--at", "HEAD", "mcp", HTTP], "--at reads a bundle as it was"),
        (["--at", "HEAD", "claims", "dispute", "x", "--path", HTTP], "--at reads a bundle as it was"),
        (["--at", "HEAD", "evidence", "pin", "--document", "a", "--source", "s"], "--at reads a bundle"),
        (["check", HTTP, "--json", "--format", "sarif"], "two formats; choose one"),
    ],
)
def test_wrong_usage_names_the_choices_and_exits_2(okn: Okn, arguments: list[str], words: str) -> None:
    done = okn(*arguments)
    assert done.code == 2
    assert words in done.err
    assert done.out == ""


def test_a_path_that_is_not_there_fails_in_one_line(okn: Okn) -> None:
    done = okn("list", "/no/such/place")
    assert done.code == 1
    assert done.err == "okn: cannot open bundle '/no/such/place': No such file or directory\n"


def test_a_file_instead_of_a_directory_fails_in_one_line(okn: Okn, bundle: Path) -> None:
    done = okn("search", bundle / "a.md", "x")
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "it is a file, not a directory" in done.err


def test_errors_can_be_json(okn: Okn) -> None:
    done = okn("--error-format", "json", "query", "/no/such/place", "--sparql", "ASK {}")
    error = json.loads(done.err)["error"]
    assert (error["kind"], error["command"], error["exitCode"]) == ("runtime", "query", 1)


def test_a_usage_error_can_be_json_too(okn: Okn) -> None:
    error = json.loads(okn("--error-format=json", "export", "rdf", "--nope").err)["error"]
    assert (error["kind"], error["command"], error["exitCode"]) == ("usage", "export rdf", 2)


def test_no_arguments_show_help(okn: Okn) -> None:
    done = okn()
    assert done.code == 0
    assert "okn list corpora/identity" in done.out


def test_list_shows_a_tree_with_trust_and_staleness(okn: Okn) -> None:
    done = okn("list", HTTP)
    assert "  caching/\n" in done.out
    assert "human-reviewed, stable" in done.out


def test_list_json_has_an_entry_for_every_file(okn: Okn, bundle: Path) -> None:
    (bundle / "x.png").write_bytes(b"png")
    os.symlink("a.md", bundle / "link.md")
    entries = json.loads(okn("list", bundle, "--json").out)["entries"]
    assert [(entry["path"], entry["kind"]) for entry in entries] == [
        ("a.md", "concept"),
        ("b.md", "concept"),
        ("link.md", "unreadable"),
        ("x.png", "asset"),
    ]
    assert entries[2]["issues"][0]["rule"] == "bundle-read"
    assert entries[0]["okf02"]["trustTier"] == "unverified"


def test_a_page_is_stale_as_of_now(okn: Okn, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntype: T\nstale_after: 2027-01-01T00:00:00Z\n---\n", encoding="utf-8")
    for now, stale in (("2026-12-31T23:59:59Z", False), ("2027-01-01", True)):
        entry = json.loads(okn("--now", now, "list", tmp_path, "--json").out)["entries"][0]
        assert entry["okf02"]["stale"] is stale


def test_get_gives_a_page_byte_for_byte_and_its_locator_aside(okn: Okn, bundle: Path) -> None:
    done = okn("get", bundle, "a")
    assert done.out == BROKEN
    assert "okf+sha256://" in done.err


def test_get_gives_one_section(okn: Okn) -> None:
    result = json.loads(okn("get", HTTP, "caching/targeted-cache-control#how-a-cache-chooses", "--json").out)
    assert result["text"].startswith("## How a cache chooses")
    assert result["locator"].endswith(result["contentSha256"])


def test_get_names_near_pages_when_there_is_none(okn: Okn) -> None:
    done = okn("get", HTTP, "targeted-cache-control")
    assert done.code == 1
    assert "did you mean caching/targeted-cache-control?" in done.err


def test_search_finds_the_page_and_says_where(okn: Okn) -> None:
    packet = json.loads(okn("search", HTTP, "CDN-Cache-Control", "--format", "json").out)
    assert packet["sources"][0]["path"] == "caching/targeted-cache-control.md"


def test_search_matches_lists_sections(okn: Okn) -> None:
    assert "caching/targeted-cache-control.md:" in okn("search", HTTP, "CDN-Cache-Control", "--matches").out


def test_search_takes_the_current_directory(okn: Okn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HTTP)
    assert "Where: caching/targeted-cache-control.md" in okn("search", "CDN-Cache-Control").out


TITLES = "SELECT ?t { ?p okn:documentId 'caching/targeted-cache-control' ; dcterms:title ?t }"


def test_sparql_json_carries_sources(okn: Okn) -> None:
    query = "SELECT ?p { ?p okn:documentId 'caching/targeted-cache-control' }"
    result = json.loads(okn("query", HTTP, "--sparql", query, "--format", "json").out)
    (binding,) = result["bindings"]
    assert binding["sources"][0]["document"] == "caching/targeted-cache-control.md"
    assert result["queryType"] == "select"


def test_sparql_csv_is_the_w3c_format(okn: Okn) -> None:
    rows = list(csv.reader(io.StringIO(okn("query", HTTP, "--sparql", TITLES, "--format", "csv").out)))
    assert rows == [["t"], ["Targeted cache control"]]


def test_sparql_table_is_for_people(okn: Okn) -> None:
    done = okn("query", HTTP, "--sparql", TITLES, "--format", "table")
    assert done.out.splitlines()[-1] == "1 row"


def test_sparql_can_come_from_a_file(okn: Okn, tmp_path: Path) -> None:
    file = tmp_path / "q.rq"
    file.write_text(TITLES, encoding="utf-8")
    assert "Targeted" in okn("query", HTTP, "--sparql-file", file, "--format", "csv").out


def test_construct_gives_turtle(okn: Okn) -> None:
    query = "CONSTRUCT { ?p dcterms:title ?t } { ?p dcterms:title ?t } LIMIT 2"
    done = okn("query", HTTP, "--sparql", query)
    assert done.out.count("dcterms:title") == 2


def test_a_cut_result_says_so(okn: Okn) -> None:
    done = okn(
        "query", HTTP, "--sparql", "SELECT ?p { ?p a okn:Document }", "--limit", "3", "--format", "csv"
    )
    assert done.out.count("\n") == 4
    assert "only the first 3 results" in done.err


def test_a_sparql_syntax_error_has_line_column_and_caret(okn: Okn) -> None:
    done = okn("query", HTTP, "--sparql", "SELECT ?x {\n ?x ?y }")
    assert done.code == 1
    assert "line 2" in done.err
    assert "^" in done.err


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { SERVICE <http://e.org/s> { ?s ?p ?o } }",
        "SELECT * { ser#x\nVICE <http://e.org/s> { ?s ?p ?o } }".replace("ser#x\nVICE", "SeRvIcE\n#c\n"),
        "SELECT * FROM <http://e.org/g> { ?s ?p ?o }",
    ],
)
def test_no_query_reaches_the_network(okn: Okn, query: str) -> None:
    done = okn("query", HTTP, "--sparql", query)
    assert done.code == 1
    assert done.out == ""


def test_a_query_past_its_deadline_is_stopped(okn: Okn) -> None:
    query = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    done = okn("query", HTTP, "--sparql", query, "--timeout", "0.3")
    assert done.code == 1
    assert "0.3" in done.err


def test_out_replaces_the_file_and_prints_nothing(okn: Okn, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    out.write_text("old")
    done = okn("validate", HTTP, "--json", "--out", out)
    assert done.out == ""
    assert json.loads(out.read_text())["summary"]["status"] == "pass"
    assert list(tmp_path.iterdir()) == [out]


def test_out_into_a_folder_that_is_not_there_fails(okn: Okn, tmp_path: Path) -> None:
    done = okn("validate", HTTP, "--out", tmp_path / "no" / "r.json")
    assert done.code == 1
    assert "cannot write" in done.err


def test_export_graph_in_each_format(okn: Okn) -> None:
    graph = json.loads(okn("export", "graph", HTTP).out)
    assert len(graph["nodes"]) > 90
    assert graph["broken"] == []
    assert okn("export", "graph", HTTP, "--format", "dot").out.startswith("digraph")
    assert "<graphml" in okn("export", "graph", HTTP, "--format", "graphml").out


def test_export_json_has_pages_with_sections_and_digests(okn: Okn) -> None:
    exported = json.loads(okn("export", "json", HTTP).out)
    page = next(d for d in exported["documents"] if d["entry"]["id"] == "caching/targeted-cache-control")
    assert page["sections"][0]["locator"].startswith("okf+sha256://")
    assert page["frontmatter"]["type"]


def test_an_empty_directory_is_a_bundle(okn: Okn, tmp_path: Path) -> None:
    assert okn("validate", tmp_path).code == 0
    assert okn("list", tmp_path).out.endswith("0 pages, 0 other files\n")
    assert "Nothing found" in okn("search", tmp_path, "x").out
    assert json.loads(okn("query", tmp_path, "--sparql", "ASK { ?s ?p ?o }").out)["boolean"] is False
    assert okn("export", "rdf", tmp_path).out == ""


def test_a_change_that_was_interrupted_is_said(okn: Okn, bundle: Path) -> None:
    directory = bundle / ".openknowledge/transactions"
    directory.mkdir(parents=True)
    assert okn("list", str(bundle)).err == ""
    (directory / ("0" * 32 + ".json")).write_text("{}")
    assert "was interrupted (.openknowledge/transactions)" in okn("list", str(bundle)).err
