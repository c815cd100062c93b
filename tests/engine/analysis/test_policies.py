"""A bundle's own policies: what they may say, what they find, and how they fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine import limits
from openknowledge.engine.analysis.builtin_rules import program_texts
from openknowledge.engine.analysis.findings import Finding
from openknowledge.engine.analysis.policies import filled
from openknowledge.engine.datalog import RuleText
from openknowledge.engine.datalog.checking import ProofChecker

Files = dict[str, str]
SETTINGS = '[policy]\nrules = ["policy/**"]\n'


@pytest.fixture
def judge(bundle: Callable[[Any], Path], make: Any) -> Callable[..., Any]:
    """Return a function that runs policies over a small bundle: two pages, one with claims."""

    def run(*policies: str, rules: str = SETTINGS, more: Files | None = None, **options: Any) -> Any:
        files = {
            "o.md": make.ONTOLOGY,
            "a.md": make.page(
                "A",
                make.claim("x", 1, evidence=SUPPORT),
                make.claim("y", 2, subject="ex:queue", evidence=SUPPORT),
                front=SOURCE,
            ),
            "b.md": make.page("B", text="[a](a.md#a)"),
            "logo.svg": "<svg/>",
            ".openknowledge.toml": rules,
            **{f"policy/p{number}.dl": text for number, text in enumerate(policies, 1)},
            **(more or {}),
        }
        return make.judged(bundle(files), **options)

    return run


SOURCE = "sources:\n  - { id: web, resource: https://example.com/ }\n"
SUPPORT = "[{ id: web, source_ref: web }]"


def brief(findings: list[Finding]) -> list[tuple[str, str, str, int, str]]:
    return [(f.rule, f.severity, f.path, f.line, f.message) for f in findings]


def test_a_policy_reports_on_the_line_of_its_subject(judge: Any) -> None:
    run = judge('finding("low", Claim, "look at it") :- claim(Claim, _, _, _).')
    assert brief(run.findings) == [
        ("policy/p1.dl", "low", "a.md", 8, "look at it"),
        ("policy/p1.dl", "low", "a.md", 15, "look at it"),
    ]
    assert not run.errors


@pytest.mark.parametrize(
    ("subject", "place"),
    [
        ("a", ("a.md", 1)),
        ("a.md", ("a.md", 1)),
        ("ex:claim/x", ("a.md", 8)),
        ("b#b", ("b.md", 6)),
        ("ex:queue", ("o.md", 10)),
        ("ex:limit", ("o.md", 12)),
        ("logo.svg", ("logo.svg", 1)),
    ],
)
def test_a_subject_may_be_anything_that_has_a_place(judge: Any, subject: str, place: tuple[str, int]) -> None:
    run = judge(f'finding("high", "{subject}", "m") :- document("a", _, _).')
    assert [(finding.path, finding.line) for finding in run.findings] == [place]


def test_placeholders_are_filled_and_each_instance_is_a_finding(judge: Any) -> None:
    run = judge(
        'finding("low", Page, "{Page} has {Claim} = {Value}") :- claim_in(Claim, Page, _), '
        "claim_number(Claim, Value, _)."
    )
    assert [finding.message for finding in run.findings] == ["a has ex:claim/x = 1", "a has ex:claim/y = 2"]
    assert len({finding.id for finding in run.findings}) == 2


def test_without_placeholders_instances_are_one_finding(judge: Any) -> None:
    run = judge('finding("low", Page, "has claims") :- claim_in(_, Page, _).')
    assert [finding.message for finding in run.findings] == ["has claims"]


def test_doubled_braces_are_braces(judge: Any) -> None:
    run = judge('finding("low", P, "{{P}} {P} {}") :- document(P, "a.md", _).')
    assert [finding.message for finding in run.findings] == ["{P} a {}"]


def test_a_message_from_the_data_is_not_filled(judge: Any) -> None:
    more = {"c.md": '---\ntype: Note\ntitle: "{P}"\n---\n\n# C\n'}
    run = judge('finding("low", P, T) :- document_title(P, T), document(P, "c.md", _).', more=more)
    assert [finding.message for finding in run.findings] == ["{P}"]


def test_policies_build_on_built_in_conclusions_and_on_each_other(judge: Any) -> None:
    run = judge(
        'finding("low", P, "isolated") :- lonely(P).',
        "lonely(P) :- orphan(P), !linked(P, _).",
        more={"c.md": "---\ntype: Note\n---\n\n# C\n"},
    )
    assert {(finding.rule, finding.subject) for finding in run.findings} == {
        ("policy/p1.dl", "c"),
        ("policy/p1.dl", "o"),
    }


def test_policies_may_build_on_what_validation_found(judge: Any) -> None:
    run = judge(
        'finding("high", Path, "{Message}") :- issue(Path, "link-target", Message).',
        more={"c.md": "---\ntype: Note\n---\n\n[x](gone.md)\n"},
    )
    assert ("policy/p1.dl", "high", "c.md", 1, "link target 'gone.md' does not exist") in brief(run.findings)


def test_a_relation_without_facts_is_no_error_in_a_policy(judge: Any) -> None:
    run = judge('finding("low", P, "m") :- decision(C, _, _, _), claim_in(C, P, _).')
    assert run.findings == []
    assert not run.errors


def test_a_policy_may_replace_a_built_in_rule_for_itself_alone(judge: Any) -> None:
    run = judge('orphan(P) :- document(P, "a.md", _). finding("low", P, "m") :- orphan(P).')
    assert [finding.subject for finding in run.findings] == ["a"]


def test_the_proof_is_one_of_the_rule_as_the_file_has_it(judge: Any) -> None:
    text = 'finding("low", Page, "has {Claim}") :- claim_in(Claim, Page, _), !owner(Claim, _).'
    run = judge(text)
    facts = run.conclusions.facts
    checker = ProofChecker(
        program_texts([RuleText(text, "policy/p1.dl")]),
        facts.rows,
        holds=lambda name, row: (name, row) in facts,
        seconds=30.0,
    )
    assert len(run.findings) == 2
    for finding in run.findings:
        values = [{"type": "string", "value": value} for value in finding.proof.row]
        row = {
            "kind": "derived-fact",
            "atom": finding.proof.atom,
            "predicate": "finding",
            "values": values,
            "sources": [],
            "proof": finding.proof.to_json(),
        }
        result = {"query": row["atom"], "ruleProfile": "", "results": [row], "truncated": False}
        assert checker.check_result(result) == []
        assert finding.sources[0]["document"] == "a.md"


def test_only_and_skip_know_policies_by_their_files(judge: Any) -> None:
    both = (
        'finding("low", "a", "one") :- document("a", _, _).',
        'finding("low", "a", "two") :- document("a", _, _).',
    )
    assert [f.message for f in judge(*both, only=["policy/p2.dl"]).findings] == ["two"]
    assert [f.message for f in judge(*both, skip=["policy/p2*"]).findings] == ["one"]
    assert judge(*both, only=["stale"]).findings == []


FAULTS = [
    ("finding(", 1, "expected"),
    ('x(P) :- y(P).\nfinding("low", P, "m") :- x(P).', 1, "unknown relation y"),
    ('finding("urgent", P, "m") :- document(P, _, _).', 1, "unknown severity 'urgent'"),
    ('finding(S, P, "m") :- document(P, S, _).', 1, "unknown severity 'a.md'"),
    ('finding("low", "nowhere", "m") :- document("a", _, _).', 1, "no page, section, claim"),
    ('finding("low", 7, "m") :- document("a", _, _).', 1, "the subject of a finding is a text"),
    ('finding("low", N, "m") :- claim_number(_, N, _).', 1, "finding about 1, which is no page"),
    ('finding("low", P, 7) :- document(P, _, _).', 1, "the message of a finding is a text"),
    ('finding("low", P) :- document(P, _, _).', 1, "finding has 3 arguments"),
    ('finding("low", P, count(S)) :- section(S, P, _, _).', 1, "takes no aggregate"),
    ('finding("low", P, "{Q}") :- document(P, _, _).', 1, "{Q}"),
    ('finding("low", P, "{Q}") :- document(P, _, _), !linked(P, Q).', 1, "unsafe"),
    ('finding("low", "a", "m").', 1, "no premises"),
    ('finding("low", P, "m") :- document(P, _, _, _).', 1, "4 arguments"),
    ("p(X) :- document(X, _, _).", 1, "no policy derives finding"),
    ("p(X) :- document(X, _, _), !q(X).\nq(X) :- document(X, _, _), !p(X).", 1, "negation"),
]


@pytest.mark.parametrize(("text", "line", "message"), FAULTS)
def test_a_faulty_policy_is_a_finding_in_its_file_and_fails_the_check(
    judge: Any, text: str, line: int, message: str
) -> None:
    run = judge(text)
    assert run.errors
    errors = [finding for finding in run.findings if finding.rule == "policy-error"]
    assert [(finding.path, finding.severity) for finding in errors] == [("policy/p1.dl", "high")] * len(
        errors
    )
    assert any(message in finding.message for finding in errors), [f.message for f in errors]
    assert line in [finding.line for finding in errors]


def test_the_error_points_at_the_column(judge: Any) -> None:
    (error,) = judge('x(P) :- document(P, _, _).\n  finding("urgent", P, "m") :- x(P).').findings
    assert (error.line, error.column) == (2, 11)


def test_all_files_are_checked_before_any_is_run(judge: Any) -> None:
    run = judge("finding(", 'finding("low", "a", "m") :- document("a", _, _).', "finding)")
    assert [(f.rule, f.path) for f in run.findings] == [
        ("policy-error", "policy/p1.dl"),
        ("policy-error", "policy/p3.dl"),
    ]


def test_a_policy_that_goes_on_too_long_is_stopped_and_said(judge: Any) -> None:
    pages = {f"n/{number}.md": f"---\ntype: T{number}\n---\n\n# {number}\n" for number in range(60)}
    text = (
        "pair(A, B, C, D) :- document(A, _, _), document(B, _, _), document(C, _, _), document(D, _, _).\n"
        'finding("low", A, "m") :- pair(A, _, _, _).'
    )
    run = judge(text, more=pages)
    assert run.errors
    (error,) = [finding for finding in run.findings if finding.rule == "policy-error"]
    assert "the policies cannot be judged" in error.message
    assert "limit" in error.message


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ('[policy]\nrules = ["gone/*.dl"]\n', "matches no file"),
        ('[policy]\nrules = ["../x.dl"]\n', "no path or pattern inside the bundle"),
        ('[policy]\nrules = ["/etc/passwd"]\n', "no path or pattern inside the bundle"),
    ],
)
def test_a_pattern_that_names_nothing_is_an_error(judge: Any, rules: str, message: str) -> None:
    run = judge(rules=rules)
    assert run.errors
    assert [finding.path for finding in run.findings] == [".openknowledge.toml"]
    assert message in run.findings[0].message


def test_settings_of_the_wrong_shape_are_an_issue(judge: Any) -> None:
    run = judge(rules="[policy]\nrules = 7\n")
    assert [finding.rule for finding in run.findings] == ["rule-catalog"]


def test_policies_may_have_as_many_bytes_as_the_limit(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'finding("low", "a", "m") :- document("a", _, _).'
    monkeypatch.setattr(limits, "RULE_BYTES", len(text))
    assert [finding.rule for finding in judge(text).findings] == ["policy/p1.dl"]
    monkeypatch.setattr(limits, "RULE_BYTES", len(text) - 1)
    assert [finding.rule for finding in judge(text).findings] == ["policy-error"]


def test_there_may_be_as_many_policies_as_the_limit(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ['finding("low", "a", "m") :- document("a", _, _).'] * 2
    monkeypatch.setattr(limits, "POLICY_FILES", 2)
    assert not judge(*texts).errors
    monkeypatch.setattr(limits, "POLICY_FILES", 1)
    assert judge(*texts).errors


def test_a_policy_that_is_not_utf_8_is_said_with_its_line(judge: Any) -> None:
    run = judge(more={"policy/q.dl": b"# ok\n# \xff\n"})
    assert [(f.rule, f.path, f.line) for f in run.findings] == [("policy-error", "policy/q.dl", 2)]


def test_a_policy_that_is_not_asked_for_is_not_run(judge: Any) -> None:
    run = judge("finding(", skip=["policy*"])
    assert run.findings == []
    assert not run.errors


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["{X}", "{{", "}}", "text ", "{", "}", "{ X }"]), max_size=6), st.text("{}X"))
def test_filling_replaces_each_name_once_and_never_looks_into_values(parts: list[str], value: str) -> None:
    template = " ".join(parts)
    shown = {"{X}": value, "{{": "{", "}}": "}"}
    assert filled(template, {"X": value}) == " ".join(shown.get(part, part) for part in parts)


def test_a_misspelt_head_is_an_error(judge: Any) -> None:
    run = judge('findng("high", P, "x") :- document(P, _, _).\nfinding("low", P, "y") :- tag(P, "none").')
    (problem,) = [found for found in run.findings if found.rule == "policy-error"]
    assert problem.message == "nothing needs findng; did you mean finding(Severity, Subject, Message)?"
    assert run.errors


def test_a_predicate_that_a_policy_needs_may_have_a_similar_name(judge: Any) -> None:
    run = judge(
        'findings("high", P, P) :- document(P, _, _).\nfinding(S, P, "y") :- findings(S, P, _), tag(P, _).'
    )
    assert not run.errors
