"""The fused route of ``okn query``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openknowledge.engine.printable import printable

if TYPE_CHECKING:
    from openknowledge.engine.search.routes import VectorRoute
    from openknowledge.engine.store import Store
    from openknowledge.schemas.hybrid import HybridAnswer, HybridResult

FORMATS = ("", "json", "table", "text")
CLAIM_STATUSES = (
    "archived",
    "disputed",
    "extracted",
    "proposed",
    "rejected",
    "superseded",
    "supported",
    "verified",
)


@dataclass(frozen=True, slots=True)
class HybridRequest:
    """What the command line asks of several routes."""

    text: str | None
    sparql: str | None
    datalog: str | None
    rules: tuple[Path, ...]
    profile: str
    result_format: str
    limit: int
    timeout: float
    statuses: tuple[str, ...]
    include_stale: bool
    types: tuple[str, ...]
    tags: tuple[str, ...]


def answer_hybrid(store: Store, request: HybridRequest, route: VectorRoute | None, out: Path | None) -> None:
    """Answer the request and print it."""
    from openknowledge.cli.datalog import rule_texts
    from openknowledge.cli.output import emit, is_terminal, to_json
    from openknowledge.engine.errors import UsageError

    if request.result_format not in FORMATS:
        raise UsageError(
            f"format {request.result_format!r} is for one SPARQL query; fused results have json and text"
        )
    for status in request.statuses:
        if status not in CLAIM_STATUSES:
            raise UsageError(f"unknown claim status {status!r}; choose one of {', '.join(CLAIM_STATUSES)}")
    datalog = None
    if request.datalog is not None:
        datalog = {"query": request.datalog, "ruleProfile": request.profile}
    answer = store.hybrid(
        text=request.text,
        sparql=request.sparql,
        datalog=datalog,
        limit=request.limit,
        types=request.types,
        tags=request.tags,
        statuses=request.statuses or None,
        include_stale=request.include_stale,
        route=route,
        timeout=request.timeout,
        rules=rule_texts(request.rules),
    )
    if request.result_format == "json" or (not request.result_format and (out or not is_terminal())):
        emit(to_json(answer), out)
    else:
        emit(hybrid_text(answer, store), out)


def hybrid_text(answer: HybridAnswer, store: Store) -> str:
    """Return a fused answer for people: what was found, by which routes, and where it was read."""
    lines = ["routes: " + ", ".join(route["name"] for route in answer["routes"])]
    for number, result in enumerate(answer["results"], start=1):
        lines += ["", *_result_lines(number, result, store)]
    if not answer["results"]:
        lines += ["", "Nothing found."]
    for rejection in answer["rejections"]:
        lines.append(f"left out: {rejection['count']} ({rejection['reason']})")
    return "\n".join(lines) + "\n"


def _result_lines(number: int, result: HybridResult, store: Store) -> list[str]:
    from openknowledge.cli.tables import shorten
    from openknowledge.engine.search.render import claim_lines, describe_trust

    by = ", ".join(f"{part['route']} #{part['rank']}" for part in result["components"])
    if "text" in result:
        found = result["text"]
        title = f"{found['title']} - {' > '.join(found.get('headingPath', []))}"
        body = [f"     {describe_trust(found)}"]
        if "snippet" in found:
            body.append("     " + " ".join(found["snippet"].split()))
        body += [f"     claim {line}" for line in claim_lines(found.get("claimProfile"))]
    elif "datalog" in result:
        title = f"{result['datalog']['atom']}  ({result['kind']})"
        rule = result["datalog"]["proof"].get("rule")
        body = [f"     by {rule}"] if rule else []
    else:
        values = result.get("sparql", {}).get("values", {})
        shown = ", ".join(
            f"?{name} = {shorten(term['value'], store.prefixes)}" for name, term in values.items()
        )
        title, body = f"{shown}  ({result['kind']})", []
    places = [f"{source['document']}:{source.get('lineStart', 1)}" for source in result["sources"][:4]]
    lines = [
        f"{number:>3}. {title}  [{result['score']:.5f}: {by}]",
        *body,
        *([f"     read from {', '.join(places)}"] if places else []),
    ]
    return [printable(line) for line in lines]
