"""``okn check``: the gate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from openknowledge.cli.options import Json, PathArgument, Spec

if TYPE_CHECKING:
    from openknowledge.cli.reports import Writer
    from openknowledge.engine.analysis.checks import Run
    from openknowledge.engine.analysis.conclusions import Conclusions
    from openknowledge.engine.analysis.reporting.outcome import Outcome

FORMATS = ("text", "json", "sarif", "junit", "github", "markdown")


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("check")(check)


def check(
    path: PathArgument = ".",
    fail_on: Annotated[
        str,
        typer.Option("--fail-on", metavar="SEVERITY", help="Exit 1 from this severity on, or none."),
    ] = "high",
    only: Annotated[
        list[str],
        typer.Option("--only", metavar="RULE", help="Run this rule, or those like claim-*. Repeatable."),
    ] = [],  # noqa: B006 - typer copies it
    skip: Annotated[
        list[str],
        typer.Option("--skip", metavar="RULE", help="Leave this rule out, or those like it. Repeatable."),
    ] = [],  # noqa: B006 - as above
    report_format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, json, sarif, junit, github, markdown.")
    ] = "text",
    as_json: Json = False,
    out: Annotated[
        list[str],
        typer.Option("--out", metavar="FORMAT=FILE", help="Write this format to FILE too. Repeatable."),
    ] = [],  # noqa: B006 - as above
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing to standard output; the exit code tells.")
    ] = False,
    baseline: Annotated[
        Optional[Path],  # noqa: UP045 - typer reads this annotation at run time
        typer.Option(
            "--baseline", metavar="FILE", help="Accept the findings that FILE lists.", show_default=False
        ),
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write all findings of this run to the baseline.")
    ] = False,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why new findings are accepted.")
    ] = "",
    until: Annotated[
        str, typer.Option("--until", metavar="DATE", help="The last day on which they are accepted.")
    ] = "",
    explain: Annotated[
        list[str],
        typer.Option(
            "--explain", metavar="RULE", help="Show the proofs of this rule's findings. Repeatable."
        ),
    ] = [],  # noqa: B006 - as above
    rules: Annotated[bool, typer.Option("--rules", help="List the rules and stop.")] = False,
    spec: Spec = "latest",
) -> int:
    """Check everything at once: pages, claims, evidence, links, and the bundle's own policies.

    Exit code 0 when no finding reaches --fail-on, 1 when one does or a policy cannot be judged, 2 for a wrong
    command line or baseline. Policies are rule files that derive finding(Severity, Subject, Message); the
    bundle's .openknowledge.toml names them: [policy] rules = ["policy/*.dl"].

    \b
    Examples:
      okn check
      okn check knowledge --fail-on medium --format github --out sarif=okn.sarif
      okn check --only 'claim-*' --explain claim-conflict
      okn check --baseline accepted.json --update-baseline --reason "moves in Q1" --until 2027-03-31
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit
    from openknowledge.cli.progress import progress
    from openknowledge.cli.reports import parse_outputs, write_reports
    from openknowledge.engine.analysis.findings import parse_threshold
    from openknowledge.engine.errors import UsageError

    if as_json and report_format not in ("text", "json"):
        raise UsageError(f"--json and --format {report_format} are two formats; choose one")
    shown = "json" if as_json else report_format
    if shown not in FORMATS:
        raise UsageError(f"unknown format {shown!r}; choose one of {', '.join(FORMATS)}")
    parse_threshold(fail_on)
    outputs = parse_outputs(out, FORMATS)
    _check_baseline_options(baseline, outputs, update=update_baseline, reason=reason, until=until)
    with progress() as tell:
        tell("reading pages")
        store = open_store(path, spec)
        tell("reading claims and evidence")
        from openknowledge.engine.analysis.checks import run_checks, selected
        from openknowledge.engine.analysis.conclusions import Conclusions

        conclusions = Conclusions(store)
        if rules:
            emit(_rule_list(conclusions))
            return 0
        tell("running rules")
        run = run_checks(conclusions, only=only, skip=skip)
        selected(run.known, explain, ())
        if update_baseline and baseline is not None:
            return _update(run, baseline, reason, until)
        outcome = _outcome(run, fail_on, baseline)
        tell("writing reports")
        write_reports(_writers(outcome, explain), None if quiet else shown, outputs)
    return 1 if outcome.failed else 0


def _check_baseline_options(
    baseline: Path | None, outputs: list[tuple[str, Path]], *, update: bool, reason: str, until: str
) -> None:
    import os

    from openknowledge.engine.errors import OpenKnowledgeError, UsageError

    if baseline is None:
        if update or reason or until:
            raise UsageError("--update-baseline, --reason and --until need --baseline FILE")
        return
    if (reason or until) and not update:
        raise UsageError("--reason and --until are for --update-baseline")
    if not baseline.parent.is_dir():
        raise OpenKnowledgeError(f"there is no folder {str(baseline.parent)!r} for the baseline")
    if os.path.realpath(baseline) in [os.path.realpath(file) for _, file in outputs]:
        raise UsageError(f"two outputs to one file: the baseline and --out both name {str(baseline)!r}")


def _rule_list(conclusions: Conclusions) -> str:
    from openknowledge.cli.tables import table
    from openknowledge.engine.analysis.checks import known_checks

    rows = [
        [check.id, check.severity, check.group, check.summary + (" (on request)" if check.on_request else "")]
        for check in known_checks(conclusions)
    ]
    return table(["rule", "severity", "group", "holds when"], rows)


def _outcome(run: Run, fail_on: str, baseline: Path | None) -> Outcome:
    from openknowledge.cli.reports import prefix_of
    from openknowledge.engine.analysis.baseline import apply_baseline, read_baseline
    from openknowledge.engine.analysis.reporting.outcome import Outcome

    prefix = prefix_of(run.conclusions.store.root)
    if baseline is None:
        return Outcome(run, run.findings, fail_on, prefix)
    applied = apply_baseline(run.findings, read_baseline(baseline), run.now.date(), run.skipped)
    return Outcome(run, applied.findings, fail_on, prefix, str(baseline), applied.expired, applied.gone)


def _update(run: Run, file: Path, reason: str, until: str) -> int:
    from openknowledge.cli.output import emit, note
    from openknowledge.engine.analysis.baseline import (
        Baseline,
        baseline_text,
        read_baseline,
        updated_baseline,
    )
    from openknowledge.engine.analysis.checks import POLICY_ERROR
    from openknowledge.engine.errors import OpenKnowledgeError

    if run.errors:
        first = next(finding for finding in run.findings if finding.rule == POLICY_ERROR)
        raise OpenKnowledgeError(
            f"{first.path}:{first.line}:{first.column}: {first.message}; a policy that cannot be judged "
            "cannot be accepted"
        )
    before = read_baseline(file) if file.exists() else Baseline({})
    updated = updated_baseline(
        run.findings, before, run.now.date(), reason=reason, until=until, skipped=run.skipped
    )
    emit(baseline_text(updated), file)
    known = {entry["id"] for entry in updated["findings"]}
    added, dropped = len(known - set(before.entries)), len(set(before.entries) - known)
    note(f"{file}: {len(known)} findings accepted ({added} new, {dropped} gone)")
    return 0


def _writers(outcome: Outcome, explain: list[str]) -> dict[str, Writer]:
    from openknowledge.cli.output import to_json

    def text() -> str:
        from openknowledge.engine.analysis.reporting.text import text_report

        return text_report(outcome, explain)

    def as_json() -> str:
        from openknowledge.engine.analysis.reporting.outcome import check_report

        return to_json(check_report(outcome))

    def sarif() -> str:
        from openknowledge.engine.analysis.reporting.sarif import sarif_report

        return sarif_report(outcome)

    def junit() -> str:
        from openknowledge.engine.analysis.reporting.junit import junit_report

        return junit_report(outcome)

    def github() -> str:
        from openknowledge.engine.analysis.reporting.github import github_report

        return github_report(outcome)

    def markdown() -> str:
        from openknowledge.engine.analysis.reporting.markdown import markdown_report

        return markdown_report(outcome)

    return {
        "text": text,
        "json": as_json,
        "sarif": sarif,
        "junit": junit,
        "github": github,
        "markdown": markdown,
    }
