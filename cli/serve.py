"""``okn mcp``."""

from __future__ import annotations

from typing import Annotated

import typer
from openknowledge.cli.options import PathArgument, Spec


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("mcp")(mcp)


def mcp(
    path: PathArgument = ".",
    spec: Spec = "latest",
    log_level: Annotated[
        str,
        typer.Option(
            "--log-level",
            metavar="LEVEL",
            help="What is said on standard error: debug, info, warning, error or off.",
        ),
    ] = "warning",
) -> None:
    """Serve the bundle to an agent over the Model Context Protocol, on standard input and output.

    A client starts this command and talks to it; see docs/agents.md for how to configure the common ones. It
    only reads. Every call sees the files as they are at that moment. It ends when the client closes its end.

    \b
    Examples:
      okn mcp corpora/identity
      okn mcp --log-level info ~/knowledge
    """
    from openknowledge.cli.context import clock_of_files
    from openknowledge.mcp.serve import serve

    serve(path, spec=spec, log_level=log_level, clock=clock_of_files())
