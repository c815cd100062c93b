"""``okn rules``, ``okn why-not`` and ``okn proof``: what the rules conclude, why, and why not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from openknowledge.cli.options import Access, Json, Out, PathArgument, Spec
from openknowledge.engine.printable import quantity

if TYPE_CHECKING:
    from openknowledge.engine.datalog.lint import LintFinding

rules_app = typer.Typer(
    help="The built-in rules, and a linter for your own.", no_args_is_help=True, rich_markup_mode=None
)
proof_app = typer.Typer(
    help="Check and show the proofs in a saved result.", no_args_is_help=True, rich_markup_mode=None
)

PROOF_FORMATS = ("text", "dot", "mermaid", "prov")
Rules = Annotated[
    list[Path], typer.Option("--rules", metavar="FILE", help="Rules on top of the built-in ones. Repeatable.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.add_typer(rules_app, name="rules")
    app.add_typer(proof_app, name="proof")
    app.command("why-not")(why_not)


@rules_app.command("list")
def list_rules(as_json: Json = False, out: Out = None) -> None:
    """List the built-in rule files with what they derive.

    \b
    Examples:
      okn rules list
      okn rules list --json
    """
    from openknowledge.cli.output import emit, to_json
    from openknowledge.engine.analysis.builtin_rules import builtin_rule_files

    files = builtin_rule_files()
    if as_json:
        shown = [{"name": file.name, "summary": file.summary, "derives": list(file.heads)} for file in files]
        emit(to_json({"schemaVersion": "1", "files": shown}), out)
        return
    parts = []
    for file in files:
        heads = "\n".join(f"    {head}" for head in file.heads)
        parts.append(f"{file.name}: {file.summary}\n{heads}\n")
    emit("\n".join(parts), out)


@rules_app.command("show")
def show_rules(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A built-in rule file, such as links.")],
    out: Out = None,
) -> None:
    """Print a built-in rule file: what it derives, in which words, from which relations.

    \b
    Examples:
      okn rules show links
      okn rules show freshness
    """
    from openknowledge.cli.output import emit
    from openknowledge.engine.analysis.builtin_rules import builtin_rule_file

    emit(builtin_rule_file(name).text, out)


@rules_app.command("check")
def check_rules(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Rule files to check together.")],
    profile: Annotated[
        str, typer.Option("--profile", metavar="NAME", help="The profile that the rules will run under.")
    ] = "openknowledge.closed-world/v1",
    as_json: Json = False,
    out: Out = None,
) -> int:
    """Check rule files for faults and for what is probably not meant.

    Finds unsafe and unused variables, unreachable rules, undefined predicates (with suggestions), cartesian
    products, arity mismatches and recursion through negation, with the cycle spelled out. Exit code 1 when
    there is an error, 0 when there are only warnings.

    \b
    Examples:
      okn rules check policy/gates.dl
      okn rules check a.dl b.dl --json
    """
    from openknowledge.cli.datalog import rule_texts
    from openknowledge.cli.output import emit, to_json
    from openknowledge.engine.analysis.rule_check import check_rule_texts

    findings = check_rule_texts(rule_texts(files), profile)
    if as_json:
        emit(to_json({"schemaVersion": "1", "findings": [_finding_json(found) for found in findings]}), out)
    else:
        lines = [_finding_line(found) for found in findings]
        errors = sum(found.severity == "error" for found in findings)
        lines.append(f"{quantity(errors, 'error')}, {quantity(len(findings) - errors, 'warning')}")
        emit("\n".join(lines) + "\n", out)
    return 1 if any(found.severity == "error" for found in findings) else 0


def _finding_json(found: LintFinding) -> dict[str, Any]:
    return {
        "source": found.source,
        "line": found.line,
        "column": found.column,
        "severity": found.severity,
        "rule": found.code,
        "message": found.message,
    }


def _finding_line(found: LintFinding) -> str:
    return f"{found.source}:{found.line}:{found.column}: {found.severity}: {found.message} [{found.code}]"


def why_not(
    atom: Annotated[str, typer.Argument(metavar="ATOM", help="The fact that does not follow.")],
    path: PathArgument = ".",
    rules: Rules = [],  # noqa: B006 - typer copies it
    access: Access = [],  # noqa: B006 - as above
    spec: Spec = "latest",
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Say why a fact does not follow: for each rule the first premise that fails, and the nearest facts.

    \b
    Examples:
      okn why-not 'affected_by_stale("caching/index", "guides/index")' corpora/http
      okn why-not 'stale("auth:claim/session-idle-timeout-production", "true")' corpora/identity
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.datalog import rule_texts
    from openknowledge.cli.output import emit, to_json

    store = open_store(path, spec, access=access)
    answer = store.why_not(atom, rules=rule_texts(rules))
    emit(to_json(answer.to_json()) if as_json else str(answer), out)


@proof_app.command("check")
def check_proof(
    file: Annotated[
        Path, typer.Argument(metavar="RESULT.json", help="A saved JSON result of a query or of claims.")
    ],
    path: PathArgument = ".",
    rules: Rules = [],  # noqa: B006 - typer copies it
    spec: Spec = "latest",
) -> int:
    """Check every proof of a saved result against the bundle, with code apart from the evaluator.

    Every step must follow by a rule, and every asserted fact must stand in the bundle at the revision of
    the result. Names the steps that fail and exits with 1. Without --rules, the rules in the result count.
    It proves the rows that are there; whether others are missing only the query itself can tell.

    \b
    Examples:
      okn query corpora/http --datalog 'linked("index", X)' --format json --out result.json
      okn proof check result.json corpora/http
      okn claims stale corpora/identity --json --out stale.json
      okn proof check stale.json corpora/identity
    """
    from openknowledge.cli.context import open_store_as_of
    from openknowledge.cli.datalog import rule_texts
    from openknowledge.cli.output import emit
    from openknowledge.engine.query.claims import count_proofs, is_judgement

    result = read_result(file)
    store = open_store_as_of(path, spec, result)
    findings = store.check_proofs(result, rule_texts(rules) if rules else None)
    if findings:
        emit("".join(f"{found}\n" for found in findings))
        return 1
    count = count_proofs(result) if is_judgement(result) else len(result["results"])
    verb = "holds" if count == 1 else "hold"
    emit(f"{quantity(count, 'proof')} {verb} at revision {store.bundle.index_sha256}\n")
    for text in () if rules else result.get("rules", []):
        emit(f"resting on the rules in the result: {text['source']}\n")
    return 0


@proof_app.command("show")
def show_proof(
    file: Annotated[Path, typer.Argument(metavar="RESULT.json", help="A result of okn query --datalog.")],
    output_format: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", help="text, dot, mermaid, or prov (PROV-O in Turtle)."),
    ] = "text",
    out: Out = None,
) -> None:
    """Show the proofs of a saved result as people and tools want them.

    \b
    Examples:
      okn proof show result.json
      okn proof show result.json --format mermaid --out proof.mmd
    """
    from openknowledge.cli.output import emit
    from openknowledge.engine.errors import UsageError
    from openknowledge.engine.query.proof_view import render_result

    if output_format not in PROOF_FORMATS:
        raise UsageError(f"unknown proof format {output_format!r}; choose one of {', '.join(PROOF_FORMATS)}")
    emit(render_result(read_result(file), output_format), out)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        # readers differ in which of two values they take, so neither can be said to be proved
        raise ValueError("an object has a key twice")
    return found


def read_result(file: Path) -> dict[str, Any]:
    """Return a saved result. Raises ``OpenKnowledgeError`` when the file holds none."""
    import json

    from openknowledge.engine import limits
    from openknowledge.engine.errors import OpenKnowledgeError

    try:
        with file.open("rb") as stream:
            data = stream.read(limits.RESULT_FILE_BYTES + 1)
        if len(data) > limits.RESULT_FILE_BYTES:
            raise OpenKnowledgeError(f"{str(file)!r} is larger than {limits.RESULT_FILE_BYTES} bytes")
        content = json.loads(data, object_pairs_hook=_once)
    except OSError as error:
        raise OpenKnowledgeError(f"cannot read {str(file)!r}: {error.strerror}") from None
    except RecursionError:
        raise OpenKnowledgeError(f"{str(file)!r} is nested too deeply to be a result") from None
    except ValueError as error:
        raise OpenKnowledgeError(f"{str(file)!r} is not JSON: {error}") from None
    from openknowledge.engine.query.claims import is_judgement

    if not isinstance(content, dict) or not (
        is_judgement(content) or isinstance(content.get("results"), list)
    ):
        raise OpenKnowledgeError(
            f"{str(file)!r} is no saved result: expected the JSON of a query or of a claims command"
        )
    return content
