"""``okn export``: a bundle in the formats of other tools."""

from __future__ import annotations

from typing import Annotated

import typer
from openknowledge.cli.options import Access, Out, PathArgument, Spec, Strict

export_app = typer.Typer(
    help="Write a bundle in the formats of other tools.", no_args_is_help=True, rich_markup_mode=None
)


def register(app: typer.Typer) -> None:
    """Add the command group to ``app``."""
    app.add_typer(export_app, name="export")


@export_app.command("rdf")
def export_rdf(
    path: PathArgument = ".",
    rdf_format: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", help="nquads, turtle, trig, jsonld, ntriples or json (the dataset)."
        ),
    ] = "nquads",
    rdf_version: Annotated[
        str,
        typer.Option(
            "--rdf-version", metavar="1.1|1.2", help="1.2 adds a reifier (rdf:reifies) for each claim."
        ),
    ] = "1.1",
    access: Access = [],  # noqa: B006 - typer copies it
    strict: Strict = False,
    spec: Spec = "latest",
    out: Out = None,
) -> None:
    """Write the bundle's RDF graph; the same bytes give the same output, wherever the bundle lies.

    \b
    Examples:
      okn export rdf corpora/identity > identity.nq
      okn export rdf corpora/identity --format turtle --out identity.ttl
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit
    from openknowledge.engine.errors import UsageError
    from openknowledge.engine.facts.rdf import RDF_FORMATS

    chosen = next((name for name in RDF_FORMATS if name == rdf_format), None)
    if chosen is None:
        raise UsageError(f"unknown RDF format {rdf_format!r}; choose one of {', '.join(RDF_FORMATS)}")
    if rdf_version not in ("1.1", "1.2"):
        raise UsageError(f"unknown RDF version {rdf_version!r}; choose 1.1 or 1.2")
    store = open_store(path, spec, access=access, strict=strict)
    emit(store.export_rdf(chosen, reifiers=rdf_version == "1.2"), out)


@export_app.command("facts")
def export_facts(
    path: PathArgument = ".",
    access: Access = [],  # noqa: B006 - typer copies it
    strict: Strict = False,
    spec: Spec = "latest",
    out: Out = None,
) -> None:
    """Write the semantic fact set: sources, claims, evidence and relations as JSON.

    \b
    Examples:
      okn export facts corpora/identity --out facts.json
      okn export facts corpora/identity --access team:identity-security
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit, to_json

    emit(to_json(open_store(path, spec, access=access, strict=strict).fact_set_json()), out)


@export_app.command("shacl")
def export_shacl(path: PathArgument = ".", spec: Spec = "latest", out: Out = None) -> None:
    """Write the constraints of the claim ontology as SHACL shapes in Turtle.

    \b
    Examples:
      okn export shacl corpora/identity --out shapes.ttl
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit

    emit(open_store(path, spec).shacl(), out)


@export_app.command("graph")
def export_graph(
    path: PathArgument = ".",
    graph_format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="json, graphml or dot.")
    ] = "json",
    spec: Spec = "latest",
    out: Out = None,
) -> None:
    """Write the graph of pages: links and sources between them.

    \b
    Examples:
      okn export graph corpora/http --format dot | dot -Tsvg > http.svg
      okn export graph corpora/http --format graphml --out http.graphml
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit, to_json
    from openknowledge.engine.analysis.document_graph import GRAPH_FORMATS
    from openknowledge.engine.errors import UsageError

    chosen = next((name for name in GRAPH_FORMATS if name == graph_format), None)
    if chosen is None:
        raise UsageError(f"unknown graph format {graph_format!r}; choose one of {', '.join(GRAPH_FORMATS)}")
    store = open_store(path, spec)
    emit(to_json(store.graph()) if chosen == "json" else store.export_graph(chosen), out)


@export_app.command("json")
def export_json(path: PathArgument = ".", spec: Spec = "latest", out: Out = None) -> None:
    """Write every page with its frontmatter, sections, links and digests as one JSON document.

    \b
    Examples:
      okn export json corpora/identity --out identity.json
    """
    from openknowledge.cli.context import open_store
    from openknowledge.cli.output import emit, to_json

    emit(to_json(open_store(path, spec).export_json()), out)
