"""The ``okn`` command: parses the command line, asks the engine, shows the answer."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import Annotated, NoReturn, Optional

import typer
from openknowledge.cli import (
    audit,
    check,
    claims,
    diff,
    evaluate,
    export,
    init,
    inspect,
    pin,
    query,
    rules,
    search,
    serve,
    validate,
)
from openknowledge.cli.context import SETTINGS, filled
from openknowledge.engine.errors import OpenKnowledgeError, UsageError
from openknowledge.engine.version import __version__
from typer.exceptions import TyperException

HELP = """Ask a bundle of Markdown knowledge what it knows, and get answers that prove themselves.

A bundle is a directory of Markdown pages with YAML frontmatter (Open Knowledge Format).

\b
Start with:
  okn list corpora/identity            what is in a bundle
  okn validate corpora/identity        what is wrong in it, with file and line
  okn search corpora/identity "key rotation"
  okn query corpora/identity --sparql 'SELECT ?p ?t { ?p dcterms:title ?t }'
"""

app = typer.Typer(
    name="okn",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"okn {__version__}\n")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
    error_format: Annotated[
        str, typer.Option("--error-format", metavar="text|json", help="How errors are written to stderr.")
    ] = "text",
    now: Annotated[
        Optional[str],  # noqa: UP045 - typer reads this annotation at run time
        typer.Option(
            "--now", metavar="INSTANT", help="Judge freshness as of this date or timestamp, not the clock."
        ),
    ] = None,
    at: Annotated[
        Optional[str],  # noqa: UP045 - as above
        typer.Option(
            "--at",
            metavar="REV",
            help="Read the bundle as it was at this git revision; freshness as of the commit, unless --now.",
        ),
    ] = None,
) -> None:
    """Take the options that stand before a command."""
    SETTINGS.at, SETTINGS.now = filled("--at", at), filled("--now", now)
    if error_format not in ("text", "json"):
        raise UsageError(f"unknown error format {error_format!r}; choose text or json")
    SETTINGS.error_format = error_format


validate.register(app)
inspect.register(app)
search.register(app)
query.register(app)
export.register(app)
claims.register(app)
rules.register(app)
check.register(app)
audit.register(app)
diff.register(app)
init.register(app)
evaluate.register(app)
pin.register(app)
serve.register(app)

_MESSAGE_LIMIT = 8_192
_INTERRUPTED = 130


def run(arguments: list[str]) -> int:
    """Run one command line (without the program's name) and return its exit code."""
    SETTINGS.error_format, SETTINGS.now, SETTINGS.at = _early_error_format(arguments), "", ""
    try:
        result = app(arguments, prog_name="okn", standalone_mode=False)
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            sys.stdout.write(error.format_message() + "\n")
            return 0
        return _report("usage" if error.exit_code == 2 else "runtime", error.format_message(), arguments)
    except typer.Abort:
        return _report("runtime", "aborted", arguments)
    except OpenKnowledgeError as error:
        return _report(error.kind, error.message, arguments)
    except BrokenPipeError:
        # the reader has gone; nothing is left to say, and Python must not complain on exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    except RecursionError:
        return _report("runtime", "the input is nested too deeply", arguments)
    except MemoryError:
        return _report("runtime", "not enough memory for this bundle", arguments)
    except OSError as error:
        return _report(
            "runtime", f"{error.strerror or error}: {error.filename or ''}".rstrip(": "), arguments
        )
    return result if isinstance(result, int) else 0


def _early_error_format(arguments: list[str]) -> str:
    """Find the error format before parsing, so that a usage error is reported in it too."""
    for index, argument in enumerate(arguments):
        if argument == "--error-format=json":
            return "json"
        if argument == "--error-format":
            return "json" if arguments[index + 1 : index + 2] == ["json"] else "text"
        if not argument.startswith("-"):
            break
    return "text"


def _command_name(arguments: list[str]) -> str:
    names: list[str] = []
    group: object = typer.main.get_command(app)
    skip = False
    for argument in arguments:
        if skip:
            skip = False
            continue
        if argument.startswith("-"):
            skip = not names and argument in ("--error-format", "--now", "--at")
            continue
        commands = getattr(group, "commands", {})
        if argument not in commands:
            break
        names.append(argument)
        group = commands[argument]
    return " ".join(names)


def _report(kind: str, message: str, arguments: list[str]) -> int:
    code = UsageError.exit_code if kind == "usage" else OpenKnowledgeError.exit_code
    if SETTINGS.error_format == "json":
        from openknowledge.cli.output import to_json
        from openknowledge.schemas.common import ErrorReport

        report: ErrorReport = {
            "schemaVersion": "1",
            "error": {
                "kind": kind,
                "command": _command_name(arguments),
                "exitCode": code,
                "message": message[:_MESSAGE_LIMIT],
                "truncated": len(message) > _MESSAGE_LIMIT,
            },
        }
        sys.stderr.write(to_json(report))
    else:
        name = _command_name(arguments)
        hint = f"\nTry 'okn {name} --help'.".replace("  ", " ") if kind == "usage" else ""
        sys.stderr.write(f"okn: {message}{hint}\n")
    return code


def main() -> NoReturn:
    """Run the command line of this process and exit."""
    # A command builds large structures without cycles and then ends: collecting garbage only costs time.
    gc.disable()
    if sys.stdout is None:
        if sys.stderr is not None:
            sys.stderr.write("okn: standard output is closed\n")
        os._exit(OpenKnowledgeError.exit_code)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        # a closed or broken stream has nobody who could be told
        with suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()
    # all is written: taking apart what the command built would only cost time
    os._exit(code)
