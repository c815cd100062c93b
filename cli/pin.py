"""``okn evidence``: keeps the bytes that claims rest on."""

from __future__ import annotations

from typing import Annotated, Optional

import typer
from openknowledge.cli.change import BundlePath, Document, note_recovered
from openknowledge.cli.options import Json, Spec

evidence_app = typer.Typer(help="Keep the bytes that claims rest on.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.add_typer(evidence_app, name="evidence")


@evidence_app.callback()
def evidence() -> None:
    """Keep the bytes that claims rest on."""


@evidence_app.command("pin")
def pin(
    document: Document,
    source: Annotated[
        str,
        typer.Option("--source", metavar="ID", help="The id of a source of the page.", show_default=False),
    ],
    resource: Annotated[
        Optional[str],  # noqa: UP045 - typer reads this annotation at run time
        typer.Argument(
            metavar="[FILE|URL]",
            help="What to keep; by default the source's own resource.",
            show_default=False,
        ),
    ] = None,
    path: BundlePath = ".",
    spec: Spec = "latest",
    as_json: Json = False,
) -> None:
    """Keep the bytes of a source under their digest, with a receipt, and let the source point to them.

    This is the one command that may use the network, and only for an http or https address: at most 8 MiB in
    30 seconds, at most 5 redirects, no credentials. Pinning the same bytes again checks what is there and
    changes nothing. If a claim would no longer find its quotation, nothing is changed.

    \b
    Examples:
      okn evidence pin sources/settings.json --document services/issuer.md --source issuer-settings
      okn evidence pin https://example.org/terms.html --document policies/terms.md --source terms
    """
    from openknowledge.cli.context import clock_of_files
    from openknowledge.cli.output import emit, to_json
    from openknowledge.engine.operations.pin import pin_evidence

    done = pin_evidence(
        path, document=document, source=source, resource=resource, spec=spec, clock=clock_of_files()
    )
    note_recovered(done.get("recovered", []))
    if as_json:
        emit(to_json(done))
        return
    state = "pinned" if done["changed"] else "pinned already, and unchanged"
    emit(
        f"{done['sourceId']} in {done['document']}: {state}\n"
        f"  artifact {done['artifact']}\n"
        f"  receipt  {done['receipt']}\n"
        f"  sha256   {done['sha256']} ({done['bytes']} bytes, {done['mediaType']})\n"
    )
