"""The validation table: for each rule bundles that break exactly it, and bundles that come close."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine.bundle import validation
from openknowledge.engine.bundle.bundle import bundle_from_files, read_bundle
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.validation import (
    RULE_BY_ID,
    RULES,
    apply_overrides,
    parse_override,
    rules_for,
    validate_okf,
)
from openknowledge.engine.errors import UsageError

if TYPE_CHECKING:
    from tests.conftest import MakeBundle

Files = dict[str, str | bytes]
Row = tuple[str, str, str, int, int, str]

GOOD = "---\ntype: Guide\ntitle: Good\n---\n\n# Good\n\nText.\n"
INSIGHT = (
    "---\ntype: Open Knowledge Insight\ntitle: T\ndescription: D\nokf_insight_id: i\nokf_insight_kind: k\n"
    "okf_insight_created_at: 2026-01-01T00:00:00Z\nokf_publish: false\nokf_insight_targets: [a.md]\n---\n\n"
    "Text.\n"
)
COMPUTATION = "---\ntype: Attested Computation\nruntime: sql\ncomputation: /q.sql\n---\n\nText.\n"


def page(front: str, body: str = "Text.\n") -> str:
    return f"---\ntype: Guide\n{front}---\n\n{body}"


def check(files: Mapping[str, str | bytes], spec: str = "0.2") -> list[Row]:
    raw = [(name, text.encode() if isinstance(text, str) else text) for name, text in files.items()]
    issues = apply_overrides(validate_okf(bundle_from_files(Path("/b"), raw, spec=spec)), {})
    return [(i.path, i.rule, i.severity, i.line, i.column, i.message) for i in issues]


BROKEN: list[tuple[str, Files, Row]] = [
    (
        "a page that is not UTF-8",
        {"a.md": b"---\ntype: caf\xe9\n---\n"},
        ("a.md", "utf-8", "error", 2, 10, "not valid UTF-8: byte 0xe9 at offset 13"),
    ),
    (
        "frontmatter that does not close",
        {"a.md": "---\ntype: Guide\n"},
        ("a.md", "frontmatter", "error", 1, 1,
         "frontmatter block is not closed: add a line --- after the last key"),
    ),
    (
        "frontmatter that is a list",
        {"a.md": "---\n- a\n---\n"},
        ("a.md", "frontmatter", "error", 2, 1, "frontmatter must be a YAML mapping"),
    ),
    (
        "frontmatter with an error",
        {"a.md": "---\ntype: Guide\nx: [a\n---\n"},
        ("a.md", "frontmatter", "error", 4, 1,
         "invalid YAML: did not find expected ',' or ']' while parsing a flow sequence"),
    ),
    (
        "a concept without frontmatter",
        {"a.md": "# A\n"},
        ("a.md", "concept-frontmatter", "error", 1, 1,
         "concept page has no frontmatter: start the file with ---, type: ..., ---"),
    ),
    (
        "a concept without a type",
        {"a.md": "---\ntitle: A\n---\n"},
        ("a.md", "concept-type", "error", 1, 1, "frontmatter has no type"),
    ),
    (
        "a concept with an empty type",
        {"a.md": "---\ntitle: A\ntype: ' '\n---\n"},
        ("a.md", "concept-type", "error", 3, 1, "type is empty"),
    ),
    (
        "a concept whose type is null",
        {"a.md": "---\ntype:\n---\n"},
        ("a.md", "concept-type", "error", 2, 1, "type is empty"),
    ),
    (
        "a concept whose type is a list",
        {"a.md": "---\ntype: [a]\n---\n"},
        ("a.md", "concept-type", "error", 2, 1, "type must be a string, not a list"),
    ),
    (
        "a concept whose type is a number",
        {"a.md": "---\ntype: 42\n---\n"},
        ("a.md", "concept-type", "error", 2, 1, "type must be a string, not a number"),
    ),
    (
        "empty frontmatter on a concept",
        {"a.md": "---\n---\n"},
        ("a.md", "concept-type", "error", 1, 1, "frontmatter has no type"),
    ),
    (
        "a root index with a type",
        {"index.md": "---\nokf_version: '0.2'\ntype: Index\n---\n"},
        ("index.md", "index-frontmatter", "error", 3, 1,
         "the root index may not carry 'type'; "
         "allowed: corpus_schema, okf_publish, okf_targets, okf_version"),
    ),
    (
        "a nested index with a version",
        {"d/index.md": "---\nokf_version: '0.2'\n---\n"},
        ("d/index.md", "index-frontmatter", "error", 2, 1,
         "a nested index may not carry 'okf_version'; allowed: okf_publish, okf_targets"),
    ),
    (
        "an index with an empty block",
        {"index.md": "---\n---\n# A\n"},
        ("index.md", "index-frontmatter", "error", 1, 1,
         "an index page has no frontmatter; remove the empty block"),
    ),
    (
        "a log with frontmatter",
        {"log.md": "---\ntype: Log\n---\n\n## 2026-01-01\n"},
        ("log.md", "log-frontmatter", "error", 1, 1, "a log page has no frontmatter; remove the block"),
    ),
    (
        "a log heading that is no date",
        {"log.md": "# Log\n\n## Yesterday\n"},
        ("log.md", "log-date", "error", 3, 1, "log heading 'Yesterday' is not a date YYYY-MM-DD"),
    ),
    (
        "a log heading of a day that does not exist",
        {"log.md": "## 2026-02-30\n"},
        ("log.md", "log-date", "error", 1, 1, "log heading '2026-02-30' is not a date YYYY-MM-DD"),
    ),
    (
        "a log with the oldest first",
        {"log.md": "## 2026-01-01\n\n## 2026-01-02\n"},
        ("log.md", "log-date", "error", 3, 1,
         "log heading 2026-01-02 comes after an older one; newest first"),
    ),
    (
        "okf_publish that is a text",
        {"a.md": page("okf_publish: 'yes'\n")},
        ("a.md", "publish-metadata", "error", 3, 1, "okf_publish must be true or false, not a string"),
    ),
    (
        "okf_targets that is a text",
        {"a.md": page("okf_targets: web\n")},
        ("a.md", "publish-metadata", "error", 3, 1, "okf_targets must be a list of non-empty strings"),
    ),
    (
        "okf_targets with a number",
        {"d/index.md": "---\nokf_targets: [1]\n---\n"},
        ("d/index.md", "publish-metadata", "error", 2, 1, "okf_targets must be a list of non-empty strings"),
    ),
    *[
        (
            f"an insight without {name}",
            {"a.md": "".join(r for r in INSIGHT.splitlines(True) if not r.startswith(f"{name}:"))},
            ("a.md", "insight-contract", "error", 1, 1, f"an insight page needs {name}"),
        )
        for name in ("title", "description", "okf_insight_id", "okf_insight_kind", "okf_insight_created_at")
    ],
    (
        "an insight that was created some day",
        {"a.md": INSIGHT.replace("2026-01-01T00:00:00Z", "2026-01-01")},
        ("a.md", "insight-contract", "error", 7, 1,
         "okf_insight_created_at must be an RFC 3339 timestamp with offset"),
    ),
    (
        "an insight to be published",
        {"a.md": INSIGHT.replace("false", "true")},
        ("a.md", "insight-contract", "error", 8, 1, "an insight page needs okf_publish: false"),
    ),
    (
        "an insight about nothing",
        {"a.md": INSIGHT.replace("[a.md]", "[]")},
        ("a.md", "insight-contract", "error", 9, 1,
         "an insight page needs okf_insight_targets, a list of bundle paths"),
    ),
    (
        "a marker with a blank",
        {"a.md": "---\ntype: Guide\n--- \n"},
        ("a.md", "frontmatter-format", "warning", 3, 1, "closing frontmatter marker must be exactly ---"),
    ),
    (
        "a repeated key",
        {"a.md": "---\ntype: Guide\nx: {a: 1, a: 2}\n---\n"},
        ("a.md", "frontmatter-format", "warning", 3, 11,
         'frontmatter key "a" is repeated; later value wins'),
    ),
    (
        "an unknown annotation",
        {"a.md": page("", "<!-- okf-annotation: x -->\n")},
        ("a.md", "markdown-syntax", "warning", 5, 1, 'unknown OKF annotation capability "x"'),
    ),
    (
        "a NUL in the text",
        {"a.md": page("", "é\x00\n")},
        ("a.md", "markdown-syntax", "warning", 5, 2, "NUL character in the text; remove it"),
    ),
    (
        "an unknown version",
        {"index.md": "---\nokf_version: '0.9'\n---\n"},
        ("index.md", "okf-version", "warning", 2, 1,
         "okf_version '0.9' is unknown (known: 0.1, 0.2); read as 0.2"),
    ),
    (
        "a version that is a number",
        {"index.md": "---\nokf_version: 0.2\n---\n"},
        ("index.md", "okf-version", "warning", 2, 1,
         'okf_version must be a string: write okf_version: "0.2"'),
    ),
    (
        "a version that is a list",
        {"index.md": "---\nokf_version: [0.2]\n---\n"},
        ("index.md", "okf-version", "warning", 2, 1, "okf_version must be a string, not a list"),
    ),
    (
        "a link to nothing",
        {"a.md": page("", "Text [x](gone.md).\n")},
        ("a.md", "link-target", "warning", 5, 6, "link target 'gone.md' does not exist"),
    ),
    (
        "a link out of the bundle",
        {"a.md": page("", "[x](../../etc/passwd)\n")},
        ("a.md", "link-target", "warning", 5, 1, "link '../../etc/passwd' leaves the bundle"),
    ),
    (
        "a link to a missing place",
        {"a.md": page("", "[x](b.md#gone)\n"), "b.md": GOOD},
        ("a.md", "link-target", "warning", 5, 1, "link target 'b.md' has no anchor 'gone'"),
    ),
    (
        "a link to a folder without index",
        {"a.md": page("", "[x](d/)\n"), "d/b.md": GOOD},
        ("a.md", "link-target", "warning", 5, 1, "link target 'd/index.md' does not exist"),
    ),
    (
        "an image that is missing",
        {"a.md": page("", "- ![x](gone.png)\n")},
        ("a.md", "link-target", "warning", 5, 3, "link target 'gone.png' does not exist"),
    ),
]  # fmt: skip

METADATA: list[tuple[str, str, int, int, str]] = [
    ("generated that is a text",
    "generated: bot\n", 3, 1, "generated must be a mapping {by, at}, not a string"),
    ("generated by nobody", "generated: {at: 2026-01-01T00:00:00Z}\n", 3, 1, "generated needs by, the actor"),
    ("generated by someone", "generated: {by: me}\n", 3, 13,
     "actor 'me' is not <producer>/<version>, human:<id> or process:<id>"),
    ("generated on a day", "generated:\n  by: bot/1\n  at: 2026-01-01\n", 5, 3,
     "at 2026-01-01 is a date alone; write a full timestamp such as 2026-01-01T00:00:00Z"),
    ("verified that is a text",
    "verified: human:a\n", 3, 1, "verified must be a list of {by, at}, not a string"),
    ("verified by a text",
    "verified: [human:a]\n", 3, 12, "verified must be a mapping {by, at}, not a string"),
    ("verified at no time", "verified:\n  - by: human:a\n", 4, 5,
     "verified entry needs at, an RFC 3339 timestamp"),
    ("verified at a time without offset", "verified: {by: human:a, at: 2026-01-01T00:00:00}\n", 3, 25,
     "at '2026-01-01T00:00:00' is not an RFC 3339 timestamp with an explicit UTC offset"),
    ("an unknown status", "status: on\n", 3, 1, "status 'on' is not one of draft, stable, deprecated"),
    ("a status that is a list", "status: [draft]\n", 3, 1,
     "status a list is not one of draft, stable, deprecated"),
    ("a stale_after that is a number", "stale_after: 2027\n", 3, 1,
     "stale_after must be an RFC 3339 timestamp, not a number"),
    ("a stale_after in words", "stale_after: soon\n", 3, 1,
     "stale_after 'soon' is not an RFC 3339 timestamp with an explicit UTC offset"),
    ("sources that are a text", "sources: x\n", 3, 1, "sources must be a list, not a string"),
    ("a source that is a text", "sources: [x]\n", 3, 11, "a source must be a mapping, not a string"),
    ("a source without resource", "sources:\n  - id: a\n", 4, 5, "a source needs resource"),
    ("a source whose id is a number", "sources: [{id: 1, resource: u}]\n", 3, 12,
     "a source id must be a non-empty string"),
    ("a source id used twice", "sources:\n  - {id: a, resource: u}\n  - {id: a, resource: v}\n", 5, 6,
     "source id 'a' is used more than once"),
    ("a source modified on a day", "sources: [{resource: u, last_modified: 2026-01-01}]\n", 3, 25,
     "last_modified 2026-01-01 is a date alone; write a full timestamp such as 2026-01-01T00:00:00Z"),
    ("a usage count below zero", "sources: [{resource: u, usage_count: -1}]\n", 3, 25,
     "usage_count must be a whole number of at least 0, not -1"),
    ("a usage count that is a boolean", "sources: [{resource: u, usage_count: true}]\n", 3, 25,
     "usage_count must be a whole number of at least 0, not a boolean"),
    ("a usage window that is a text", "usage_window: always\n", 3, 1,
     "usage_window must be a mapping {from, to}, not a string"),
    ("a usage window from a day on", "usage_window: {from: 2026-01-01}\n", 3, 16,
     "from 2026-01-01 is a date alone; write a full timestamp such as 2026-01-01T00:00:00Z"),
    ("a usage window of a source", "sources: [{resource: u, usage_window: {to: x}}]\n", 3, 40,
     "to 'x' is not an RFC 3339 timestamp with an explicit UTC offset"),
]  # fmt: skip
BROKEN += [
    (name, {"a.md": page(front)}, ("a.md", "okf-0.2-metadata", "warning", line, column, message))
    for name, front, line, column, message in METADATA
]
BROKEN += [
    (name, {"a.md": text}, ("a.md", "okf-0.2-metadata", "warning", line, 1, message))
    for name, text, line, message in [
        ("a computation without runtime", COMPUTATION.replace("runtime", "run"), 1,
         "an Attested Computation needs runtime"),
        ("a computation without code", COMPUTATION.replace("computation: /q.sql\n", ""), 1,
         "an Attested Computation needs computation, or one code block under # Computation"),
        ("a computation with code elsewhere",
         COMPUTATION.replace("computation: /q.sql\n", "") + "\n# Computation\n\n# Notes\n\n```\nx\n```\n", 1,
         "an Attested Computation needs computation, or one code block under # Computation"),
        ("parameters that are a mapping", COMPUTATION.replace("runtime", "parameters: {}\nruntime"), 3,
         "parameters must be a list of {name, type, required}, not a mapping"),
        ("an executor without resource", COMPUTATION.replace("runtime",
        "executor: {receipt: [a]}\nruntime"), 3,
         "executor must be a mapping with resource"),
        ("an attester that is a text", COMPUTATION.replace("runtime", "attester: me\nruntime"), 3,
         "attester must be a mapping with resource"),
    ]
]  # fmt: skip
BROKEN += [
    (
        "a parameter without name",
        {"a.md": COMPUTATION.replace("runtime", "parameters: [{name: a}, {type: date}]\nruntime")},
        ("a.md", "okf-0.2-metadata", "warning", 3, 25, "a parameter must be a mapping with name"),
    ),
    (
        "a parameter that is required in words",
        {"a.md": COMPUTATION.replace("runtime", "parameters:\n  - name: a\n    required: often\nruntime")},
        ("a.md", "okf-0.2-metadata", "warning", 5, 5, "required must be true or false, not a string"),
    ),
]
BROKEN.append(
    (
        "a footnote without source",
        {"a.md": page("sources: [{id: a, resource: u}]\n", "é x[^b] y[^a].\n\n[^a]: n\n\n[^b]: n\n")},
        ("a.md", "okf-0.2-metadata", "warning", 6, 4, "footnote [^b] matches no id in sources"),
    )
)


@pytest.mark.parametrize(("files", "row"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_bundle_that_breaks_one_rule_gets_one_issue(files: Files, row: Row) -> None:
    assert check(files) == [row]


@pytest.mark.parametrize(("files", "row"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_under_0_1_only_the_metadata_of_0_2_goes_unchecked(files: Files, row: Row) -> None:
    assert check(files, "0.1") == ([] if row[1] == "okf-0.2-metadata" else [row])


def test_symbolic_links_break_bundle_read(make_bundle: MakeBundle) -> None:
    root = make_bundle({"a.md": GOOD})
    (root / "link.md").symlink_to("a.md")
    (issue,) = validate_okf(read_bundle(root))
    assert (issue.path, issue.rule, issue.severity, issue.line, issue.column) == (
        "link.md",
        "bundle-read",
        "error",
        1,
        1,
    )


FINE: list[tuple[str, Files]] = [
    ("nothing", {}),
    ("an index alone", {"index.md": "# Home\n\n* [x](d/) - y\n", "d/index.md": "# D\n"}),
    ("a root index with its version", {"index.md": "---\nokf_version: '0.2'\n---\n# A\n"}),
    ("a root index with the older version", {"index.md": "---\nokf_version: '0.1'\n---\n# A\n"}),
    ("a nested index with its fields", {"d/index.md": "---\nokf_publish: false\nokf_targets: [web]\n---\n"}),
    ("a log", {"log.md": "# Log\n\n## 2026-02-01\n* x\n\n## 2026-02-01\n\n### Note\n\n## 2026-01-31\n"}),
    ("an insight", {"a.md": INSIGHT}),
    ("a computation", {"a.md": COMPUTATION}),
    ("a computation with its code",
     {"a.md": COMPUTATION.replace("computation: /q.sql\n",
     "") + "\n# Computation\n\n## SQL\n\n```\nx\n```\n"}),
    ("unknown types and keys", {"a.md": "---\ntype: Nothing known\nx: [{y: z}]\n---\n"}),
    ("a type that is a word of YAML 1.1", {"a.md": "---\ntype: no\n---\n"}),
    ("an index with the long extension", {"index.markdown": GOOD}),
    ("a page in capitals", {"A.MD": GOOD, "d/INDEX.MD": "# D\n"}),
    ("a byte-order mark and CRLF", {"a.md": "\ufeff" + GOOD.replace("\n", "\r\n")}),
    ("all of 0.2", {"a.md": page(
        "generated: {by: bot/1, at: 2026-01-01T00:00:00Z}\n"
        "verified: [{by: human:a, at: 2026-01-01T00:00:00.5+01:00}]\n"
        "status: deprecated\nstale_after: '2026-09-24T00:30:00+02:00'\n"
        "usage_window: {from: 2026-01-01T00:00:00Z}\n"
        "sources:\n  - id: s\n    resource: words that describe it\n    usage_count: 0\n"
        "    last_modified: 2026-01-01T00:00:00Z\n    usage_window: {to: 2026-01-01T00:00:00Z}\n",
        "x[^s]\n\n[^s]: y\n")}),
    ("one verification", {"a.md": page("verified: {by: bot/1, at: 2026-01-01T00:00:00Z}\n")}),
    ("footnotes without sources", {"a.md": page("", "x[^1]\n\n[^1]: y\n")}),
    ("sources without ids", {"a.md": page("sources: [{resource: u}]\n", "x[^1]\n\n[^1]: y\n")}),
    ("footnotes in code", {"a.md": page("sources: [{id: a, resource: u}]\n", "`[^b]`\n\n```\n[^c]\n```\n")}),
    ("links in code and comments", {"a.md": page("",
    "`[x](gone.md)`\n\n```\n[y](gone.md)\n```\n\n<!-- [z](gone.md) -->\n")}),
    ("links that are none", {"a.md": page("", "\\[x](gone.md) [y] (gone.md) [z][gone]\n")}),
    ("links elsewhere", {"a.md": page("",
    "[a](http://x/gone.md) <me@x.org> [b](//x/y) [c]() [d](mailto:a@b) [e](#gone)\n")}),
    ("links to files", {"a.md": page("",
    "![a](i.png) [b](d/) [c](d) [d](/d/b.md?x=1) [e](<x y.md>) [f](x%20y.md)\n"),
                        "i.png": "", "d/index.md": "", "d/b.md": GOOD, "x y.md": GOOD}),
    ("links to a page that is not UTF-8", {"a.md": page("", "[x](i.bin#y)\n"), "i.bin": b"\xff"}),
]  # fmt: skip


@pytest.mark.parametrize("files", [case[1] for case in FINE], ids=[case[0] for case in FINE])
@pytest.mark.parametrize("spec", ["0.1", "0.2"])
def test_a_bundle_that_breaks_nothing_gets_no_issue(files: Files, spec: str) -> None:
    assert check(files, spec) == []


@pytest.mark.parametrize(
    ("fragment", "known"),
    [
        ("good", True), ("Good", True), ("top", True), ("TOP", True), ("", True), ("über-uns-und-so", False),
        ("uber-uns-so", True), ("über-uns--so", True), ("%C3%BCber-uns--so", True), ("good-1", True),
        ("good-2", True),
        ("good-x", False), ("my-id", True), ("my-name", True), ("My-Id", False), ("what-s-new", True),
        ("whats-new", True), ("snake_case", True), ("snake-case", True), ("deep", True), ("code", False),
        ("gone", False),
    ],
)  # fmt: skip
def test_a_fragment_may_name_a_heading_in_any_common_style_or_an_id(fragment: str, known: bool) -> None:
    body = (
        "# Good\n\n## Über uns & so\n\n## Good\n\n#### Deep\n\n## What's new\n\n## snake_case\n\n"
        '<b id="my-id">x</b>\n<a name="my-name"></a>\n\n```\n# Code\n```\n'
    )
    found = check({"a.md": page("", f"[x](b.md#{fragment})\n"), "b.md": page("", body)})
    assert [row[1] for row in found] == ([] if known else ["link-target"])


def test_frontmatter_that_starts_too_late_is_explained_twice() -> None:
    hint = "frontmatter must start on line 1, but the opening --- is on line 2"
    assert [row[1:] for row in check({"a.md": "\n" + GOOD})] == [
        ("concept-frontmatter", "error", 1, 1,
         f"concept page has no frontmatter: start the file with ---, type: ..., --- ({hint})"),
        ("frontmatter-format", "warning", 2, 1, hint),
    ]  # fmt: skip


def test_frontmatter_that_cannot_be_read_is_not_also_without_a_type() -> None:
    assert [row[1] for row in check({"a.md": "---\na: [\n---\n"})] == ["frontmatter"]


def test_one_bad_page_does_not_hide_what_is_wrong_in_the_others() -> None:
    files: Files = {"a.md": b"\xff", "b.md": "---\n[\n---\n", "c.md": "# C\n", "d.md": GOOD}
    assert [(row[0], row[1]) for row in check(files)] == [
        ("a.md", "utf-8"), ("b.md", "frontmatter"), ("c.md", "concept-frontmatter"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "front",
    [
        "status: {}\n",
        "sources:\n  - resource: u\n    id: {}\n",
        "generated: {{by: {}}}\n",
        "stale_after: {}\n",
    ],
)
def test_messages_stay_short_whatever_the_value(front: str) -> None:
    found = check({"a.md": page(front.format("x" * 100_000) + front.format("x" * 100_000))})
    assert all(len(row[5]) < 500 for row in found)


def test_messages_about_links_and_headings_stay_short() -> None:
    long = "x" * 10_000
    files: Files = {
        "a.md": page("", f"[a]({long}) [b](b.md#{long}) [c](../{long})\n"),
        "b.md": GOOD,
        "log.md": f"## {long}\n",
    }
    found = check(files)
    assert len(found) == 4
    assert all(len(row[5]) < 500 for row in found)


def test_issues_are_sorted_by_path_line_and_column() -> None:
    rows = check({"b.md": page("", "[x](y) [z](y)\n\n[a](y)\n"), "a.md": "x", "log.md": "## x\n"})
    assert rows == sorted(rows, key=lambda row: (row[0], row[3], row[4], row[1], row[5]))
    assert len(rows) == 5


# The table itself


def test_there_are_18_rules_under_0_2_and_17_under_0_1() -> None:
    assert (len(rules_for("0.2")), len(rules_for("0.1"))) == (18, 17)
    assert {rule.id for rule in rules_for("0.2")} - {rule.id for rule in rules_for("0.1")} == {
        "okf-0.2-metadata"
    }


def test_each_rule_has_its_severity() -> None:
    errors = (
        "bundle-read utf-8 frontmatter concept-frontmatter concept-type index-frontmatter log-frontmatter "
        "log-date rule-catalog"
    )
    fixed = "publish-metadata insight-contract claim-profile corpus-schema"
    warnings = "frontmatter-format markdown-syntax okf-version okf-0.2-metadata link-target"
    assert {rule.id for rule in RULES if rule.severity == "error"} == {
        *errors.split(),
        *fixed.split(),
        "rule-catalog",
    }
    assert {rule.id for rule in RULES if rule.severity == "warning"} == set(warnings.split())
    assert {rule.id for rule in RULES if rule.fixed} == set(fixed.split())


def test_every_rule_about_pages_is_broken_by_one_of_the_cases_above() -> None:
    elsewhere = {"bundle-read", "rule-catalog", "claim-profile", "corpus-schema"}
    assert {row[1] for _, _, row in BROKEN} == set(RULE_BY_ID) - elsewhere


# Overrides

ISSUES = [Issue("b.md", "link-target", "warning", "m", 2), Issue("a.md", "utf-8", "error", "m"),
          Issue("b.md", "okf-version", "warning", "m", 1)]  # fmt: skip


def test_without_overrides_issues_are_only_sorted() -> None:
    assert apply_overrides(ISSUES, {}) == [ISSUES[1], ISSUES[2], ISSUES[0]]


def test_an_override_changes_the_severity_or_leaves_the_issue_out() -> None:
    found = apply_overrides(ISSUES, {"link-target": "error", "okf-version": "off", "utf-8": "warning"})
    assert [(issue.rule, issue.severity) for issue in found] == [
        ("utf-8", "warning"),
        ("link-target", "error"),
    ]
    assert ISSUES[0].severity == "warning"


@pytest.mark.parametrize(
    ("severity", "level"),
    [("error", "error"), ("warning", "warning"), ("warn", "warning"), ("off", "off"), ("ignore", "off")],
)
def test_a_severity_may_be_written_in_short(severity: str, level: str) -> None:
    assert parse_override("link-target", severity) == ("link-target", level)


def test_an_unknown_rule_names_the_choices() -> None:
    with pytest.raises(
        UsageError, match=r"^unknown rule 'links'; choose one of bundle-read, claim-profile, .*, utf-8$"
    ):
        parse_override("links", "off")


def test_an_unknown_severity_names_the_choices() -> None:
    message = "^unknown severity 'fatal' for rule link-target; choose error, warning or off$"
    with pytest.raises(UsageError, match=message):
        parse_override("link-target", "fatal")


@pytest.mark.parametrize("rule", [rule.id for rule in RULES if rule.fixed])
@pytest.mark.parametrize("severity", ["warning", "off"])
def test_a_fixed_severity_cannot_be_changed(rule: str, severity: str) -> None:
    with pytest.raises(UsageError, match=f"the severity of rule {rule} is fixed: it is always error"):
        parse_override(rule, severity)


@pytest.mark.parametrize("rule", [rule.id for rule in RULES if rule.fixed])
def test_a_fixed_severity_may_be_confirmed(rule: str) -> None:
    assert parse_override(rule, "error") == (rule, "error")


# Links that are checked from the text alone

bits = st.sampled_from(
    ["[x](b.md)", "[x](gone.md)", "[x](b.md#good)", "[x](b.md#gone)", "[x](<b.md>)", "[x](\nb.md)",
    '[x](b.md "t")',
     "[x](d/)", "[x](/b.md)", "[x](../b.md)", "[x](b%2Emd)", "[x](b&amp;.md)", "[x](http://a/b)",
     "[x](#y)", "[x]()",
     "[x](a:b)", "![i](i.png)", "[x][r]", "[r]", "[r]: gone.md", "[r]: b.md", "[^f]: [x](gone.md)", "[^f]",
     "`", "```",
     "\\", "<!-- c -->", "<!--", "\x00", "](", "[", ")", "]:", "> ", "- ", "    ", "\n", "\n\n", " ",
     "text", "<a@b.c>",
     "<http://x>", "[x](b.md)](gone.md)", "[[x](b.md)](gone.md)", "[x](\\b.md)", "[x](b.md?q)", "é"]
)  # fmt: skip


@settings(max_examples=500)
@given(st.lists(bits, max_size=12).map("".join))
def test_what_is_plainly_right_has_no_issue_when_it_is_parsed(body: str) -> None:
    files = [("a.md", body), ("b.md", GOOD), ("d/index.md", ""), ("i.png", "")]
    bundle = bundle_from_files(Path("/b"), [(name, text.encode()) for name, text in files])
    document = bundle.documents[0]
    links = validation._Links(bundle)
    if links.are_plainly_right(document):
        assert document.outline.problems == []
        assert list(links.check(document)) == []


def test_pages_with_plain_links_are_not_parsed() -> None:
    text = page(
        "sources: [{id: s, resource: u}]\n", "# A\n\n[x](b.md) [y](http://z)[^s] ![i](/i.png)\n\n[^s]: note\n"
    )
    bundle = bundle_from_files(Path("/b"), [("a.md", text.encode()), ("b.md", GOOD.encode()), ("i.png", b"")])
    assert validate_okf(bundle) == []
    assert [document.is_outlined for document in bundle.documents] == [False, False]


@pytest.mark.parametrize("name", ["acme_retail", "ga4"])
def test_real_bundles_have_the_issues_that_they_have(shared_corpora: Path, name: str) -> None:
    found = [(issue.path, issue.rule) for issue in validate_okf(read_bundle(shared_corpora / name))]
    assert found == ([("log.md", "log-frontmatter")] if name == "acme_retail" else [])
