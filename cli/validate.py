"""``okn validate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from openknowledge.cli.options import Json, Out, PathArgument, Spec
from openknowledge.engine.printable import printable, quantity

if TYPE_CHECKING:
    from openknowledge.engine.bundle.validation import Override
    from openknowledge.schemas.validation import ValidationReport


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("validate")(validate)


def validate(
    path: PathArgument = ".",
    spec: Spec = "latest",
    as_json: Json = False,
    rule: Annotated[
        list[str],
        typer.Option(
            "--rule", metavar="ID=SEVERITY", help="Set a rule to error, warning or off. Repeatable."
        ),
    ] = [],  # noqa: B006 - typer copies it
    profile: Annotated[
        str,
        typer.Option("--profile", metavar="bundle|okf", help="okf leaves out the checks of typed claims."),
    ] = "bundle",
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings fail too.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing; the exit code tells.")] = False,
    out: Out = None,
) -> int:
    """Check a bundle against the Open Knowledge Format: every issue with file, line, column and rule.

    Exit code 0 when there are no errors, 1 when there are. Severities can be set for good in the bundle's
    .openknowledge.toml under [validation.rules].

    \b
    Examples:
      okn validate
      okn validate corpora/http --json
      okn validate corpora/http --rule link-target=error --rule okf-0.2-metadata=off
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit, to_json

    overrides = _overrides(rule)
    report = open_store(path, spec).validate(profile=profile, overrides=overrides)
    if not quiet or out is not None:
        content = to_json(report) if as_json else _text(report)
        if out is not None or not quiet:
            emit(content, out)
    failed = report["summary"]["errorCount"] or (strict and report["summary"]["warningCount"])
    return 1 if failed else 0


def _overrides(rules: list[str]) -> dict[str, Override]:
    from openknowledge.engine.bundle.validation import parse_override
    from openknowledge.engine.errors import UsageError

    overrides: dict[str, Override] = {}
    for text in rules:
        name, mark, severity = text.partition("=")
        if not mark:
            raise UsageError(f"--rule {text!r} is not ID=SEVERITY, such as link-target=error")
        rule_id, level = parse_override(name, severity)
        overrides[rule_id] = level
    return overrides


def _text(report: ValidationReport) -> str:
    lines = [
        printable(
            f"{issue['path']}:{issue['line']}:{issue['column']}: "
            f"{issue['severity']}: {issue['message']} [{issue['rule']}]"
        )
        for issue in report["issues"]
    ]
    summary = report["summary"]
    pages = report["concepts"] + report["indexes"] + report["logs"]
    lines.append(
        f"{summary['status']}: {quantity(summary['errorCount'], 'error')}, "
        f"{quantity(summary['warningCount'], 'warning')} in {quantity(pages, 'page')} "
        f"(OKF {report['specVersion']})"
    )
    return "\n".join(lines) + "\n"
