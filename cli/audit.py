"""``okn audit``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Optional

import typer
from openknowledge.cli.options import Json, Out, PathArgument, Spec

FORMATS = ("text", "json", "markdown")


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("audit")(audit)


def audit(
    path: PathArgument = ".",
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on", metavar="SEVERITY", help="Exit 1 from this severity on: low, medium, high."
        ),
    ] = "none",
    baseline: Annotated[
        Optional[Path],  # noqa: UP045 - typer reads this annotation at run time
        typer.Option(
            "--baseline",
            metavar="FILE",
            help="Compare the sources with those that FILE recorded.",
            show_default=False,
        ),
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Record the sources in the baseline as they are now.")
    ] = False,
    proofs: Annotated[
        bool, typer.Option("--proofs", help="Add to each finding in the JSON what proves it.")
    ] = False,
    report_format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, json or markdown.")
    ] = "text",
    as_json: Json = False,
    out: Out = None,
    spec: Spec = "latest",
) -> int:
    """Look through a bundle for what its maintainers have to decide: owners, sources, duplicates, staleness.

    No remote source is contacted. Exit code 0, or 1 when a finding reaches --fail-on; 2 for a wrong command
    line or baseline.

    \b
    Examples:
      okn audit knowledge
      okn audit knowledge --fail-on high --baseline sources.json
      okn audit knowledge --baseline sources.json --update-baseline
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit, note, to_json
    from openknowledge.cli.progress import progress
    from openknowledge.engine.analysis.audit import (
        audit_report,
        read_source_baseline,
        run_audit,
        source_baseline,
    )
    from openknowledge.engine.analysis.bundle_digest import bundle_sha256
    from openknowledge.engine.analysis.findings import parse_threshold, reaches
    from openknowledge.engine.analysis.git_revisions import RevisionFiles
    from openknowledge.engine.analysis.reporting.audit import audit_markdown, audit_text
    from openknowledge.engine.errors import UsageError

    shown = "json" if as_json else report_format
    if shown not in FORMATS:
        raise UsageError(f"unknown format {shown!r}; choose one of {', '.join(FORMATS)}")
    parse_threshold(fail_on)
    if update_baseline and baseline is None:
        raise UsageError("--update-baseline needs --baseline FILE")
    if baseline is not None and out is not None and os.path.realpath(baseline) == os.path.realpath(out):
        raise UsageError(f"two outputs to one file: the baseline and --out both name {str(baseline)!r}")
    known = baseline is not None and (baseline.exists() or not update_baseline)
    recorded = read_source_baseline(baseline) if baseline is not None and known else []
    with progress() as tell:
        tell("reading pages")
        store = open_store(path, spec)
        tell("running rules")
        found = run_audit(store, recorded)
        tell("computing the bundle's digest")
        files = found.conclusions.files
        digest = files.bundle_sha256() if isinstance(files, RevisionFiles) else bundle_sha256(store.root)
    if update_baseline and baseline is not None:
        content = to_json(source_baseline(found, digest))
        emit(content, baseline)
        note(f"{baseline}: {len(found.sources)} sources recorded")
    report = audit_report(found, digest, proofs=proofs)
    if shown == "json":
        emit(to_json(report), out)
    else:
        emit(audit_markdown(report) if shown == "markdown" else audit_text(report), out)
    return 1 if any(reaches(finding["severity"], fail_on) for finding in report["findings"]) else 0
