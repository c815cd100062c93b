"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

PathArgument = Annotated[
    str, typer.Argument(metavar="PATH", help="The bundle's directory.", show_default=False)
]
Spec = Annotated[
    str, typer.Option("--spec", metavar="VERSION", help="OKF version to read by: 0.1, 0.2 or latest.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Out = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads this annotation at run time
    typer.Option(
        "--out", metavar="FILE", help="Write to FILE instead of standard output.", show_default=False
    ),
]
Access = Annotated[
    list[str],
    typer.Option("--access", metavar="LABEL", help="Grant an access label, such as team:ops. Repeatable."),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Refuse a bundle with an invalid claim instead of setting the claim aside."
    ),
]
EmbeddingUrl = Annotated[
    str,
    typer.Option(
        "--embedding-url",
        metavar="URL",
        envvar="OPENKNOWLEDGE_EMBEDDING_URL",
        help="Take vectors from this OpenAI-compatible or Ollama service instead of making them here.",
        show_default=False,
    ),
]
EmbeddingModel = Annotated[
    str,
    typer.Option(
        "--embedding-model",
        metavar="NAME",
        envvar="OPENKNOWLEDGE_EMBEDDING_MODEL",
        help="The model to ask the service for.",
        show_default=False,
    ),
]
EmbeddingCache = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads this annotation at run time
    typer.Option(
        "--embedding-cache",
        metavar="FILE",
        envvar="OPENKNOWLEDGE_EMBEDDING_CACHE",
        help="Keep the service's vectors in FILE.",
        show_default=False,
    ),
]
