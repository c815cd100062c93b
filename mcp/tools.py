"""The tools: what they are called, when to use them, what they take and give, and the calls themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any

from openknowledge.engine import limits
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.mcp import arguments as read
from openknowledge.mcp.errors import ToolFailure, invalid_params, unknown_tool
from openknowledge.mcp.replies import (
    cited_issues,
    fit,
    fits,
    tool_failure,
    tool_result,
    with_shorter_profiles,
)
from openknowledge.mcp.snapshot import Snapshot

if TYPE_CHECKING:
    from pydantic import BaseModel

READ_PAGES = "read the cited pages as resources"
SMALLEST_BUDGET = 200
"""Below this many tokens a packet is not made smaller to fit into a reply."""

Snapshots = Callable[[], Snapshot]
Call = Callable[[Snapshots, Mapping[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. ``models`` gives its arguments and its reply, both of ``schemas.mcp``."""

    name: str
    title: str
    description: str
    models: tuple[str, str]
    call: Call


def search(current: Snapshots, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a packet of sections; made smaller when it would be too large for a reply."""
    given = read.search_arguments(arguments)
    snapshot = current()
    budget = given.budget
    while True:
        found: dict[str, Any] = dict(
            snapshot.public.context(
                given.query,
                budget=budget,
                limit=given.limit,
                no_expand=given.no_expand,
                types=given.filters.types,
                tags=given.filters.tags,
            )
        )
        found |= cited_issues(snapshot.issues, (source["path"] for source in found["sources"]))
        if budget < given.budget:
            found["budget"] = given.budget
            rest = (
                f"the packet was made for {budget} tokens, because {given.budget} are too many for one "
                "reply; ask more narrowly, or read the cited pages as resources"
            )
            found["truncation"] = {"lists": [], "rest": rest}
        found = with_shorter_profiles(found, READ_PAGES)
        if fits(found) or budget <= SMALLEST_BUDGET:
            return fit(found, ("issues", "sources"), READ_PAGES)
        budget = max(SMALLEST_BUDGET, budget // 2)


def validate(current: Snapshots, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the validation report; of very many issues the first, errors before warnings."""
    from openknowledge.schemas.mcp import NoArguments

    read.required(NoArguments, arguments)
    snapshot = current()
    report: dict[str, Any] = {**snapshot.report, "revision": snapshot.store.revision}
    whole: list[dict[str, Any]] = report["issues"]
    shown = _most_that_fit(report, whole)
    if shown == len(whole):
        return report
    return _shortened(report, whole, shown)


def _most_that_fit(report: dict[str, Any], issues: list[dict[str, Any]]) -> int:
    if fits(report, limits.REPORT_REPLY_BYTES):
        return len(issues)
    low, high = 0, len(issues)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(_shortened(report, issues, middle), limits.REPORT_REPLY_BYTES):
            low = middle
        else:
            high = middle - 1
    return low


def _shortened(report: dict[str, Any], issues: list[dict[str, Any]], count: int) -> dict[str, Any]:
    """Return ``report`` with ``count`` issues: as many errors as there are, then warnings, in their order."""
    first = sorted(range(len(issues)), key=lambda at: (issues[at]["severity"] != "error", at))[:count]
    kept = [issues[at] for at in sorted(first)]
    lists = {
        "issues": kept,
        "errors": [issue for issue in kept if issue["severity"] == "error"],
        "warnings": [issue for issue in kept if issue["severity"] == "warning"],
    }
    cuts = [
        {"field": name, "shown": len(items), "total": len(report[name])}
        for name, items in lists.items()
        if len(items) < len(report[name])
    ]
    rest = f"run: okn validate {quote(report['root'])} --json"
    return {**report, **lists, "truncation": {"lists": cuts, "rest": rest}}


def query(current: Snapshots, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ranked answers of the routes that were asked."""
    given = read.query_arguments(arguments)
    snapshot = current()
    datalog = None
    if given.datalog is not None:
        datalog = {"query": given.datalog.query}
        if given.datalog.rules:
            datalog["rules"] = given.datalog.rules
        if given.datalog.rule_profile:
            datalog["ruleProfile"] = given.datalog.rule_profile
    asked = snapshot.public.hybrid(
        text=given.text or None,
        sparql=given.sparql or None,
        datalog=datalog,
        limit=given.limit,
        structured_max=max(50, 5 * given.limit),
        served=True,
    )
    found = with_shorter_profiles(dict(asked), READ_PAGES)
    rest = "ask with a smaller limit or more narrowly; okn query on the command line gives all"
    reply = fit(found, ("policy.quarantined", "rejections", "results"), rest)
    if not fits(reply) or (found["results"] and not reply["results"]):
        raise ToolFailure(
            f"the first answer alone, with its proof, is larger than a reply may be ({limits.REPLY_BYTES} "
            "bytes); ask for a single fact, or run okn query on the command line"
        )
    return reply


def claims_find(current: Snapshots, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims that match a query."""
    given = read.find_arguments(arguments)
    snapshot = current()
    found = {**snapshot.public.claims_find(given.query), "revision": snapshot.store.revision}
    found |= cited_issues(snapshot.issues, (match["path"] for match in found["matches"]))
    return fit(
        found,
        ("policy.quarantined", "issues", "matches"),
        "ask with more or rarer words, or with a claim's whole id",
    )


def claims_stale(current: Snapshots, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims that need another look."""
    from openknowledge.schemas.mcp import NoArguments

    read.required(NoArguments, arguments)
    snapshot = current()
    found = {**snapshot.public.claims_stale(), "revision": snapshot.store.revision}
    found |= cited_issues(snapshot.issues, (claim["path"] for claim in found["claims"]))
    return fit(
        found,
        ("policy.quarantined", "issues", "claims"),
        f"run: okn claims stale --path {quote(found['root'])} --json",
    )


_IMPACT_LISTS = (
    "policy.quarantined",
    "evals",
    "affected",
    "derivedClaims",
    "sharedSourceDocuments",
    "linkedDocuments",
    "documents",
    "dependents",
    "sources",
    "occurrences",
)


def claims_impact(current: Snapshots, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what depends on a claim."""
    given = read.impact_arguments(arguments)
    snapshot = current()
    found = {**snapshot.public.claims_impact(given.claim_id), "revision": snapshot.store.revision}
    lists = tuple(f"impact.{name}" for name in _IMPACT_LISTS)
    reply = fit(
        found, lists, f"run: okn claims impact {quote(given.claim_id)} --path {quote(found['root'])} --json"
    )
    if not fits(reply):
        raise ToolFailure(
            f"the impact of {given.claim_id} is larger than a reply may be; "
            "run okn claims impact on the command line"
        )
    return reply


def claims_propose(current: Snapshots, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a proposal; nothing is written."""
    given = read.propose_arguments(arguments)
    snapshot = current()
    claim = given.claim.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)
    claim["status"] = "proposed"
    proposal = snapshot.propose_claim(
        document=given.document, claim=claim, reason=given.reason, confidence=given.confidence
    )
    if not fits(proposal):
        raise ToolFailure(
            f"the proposal is larger than a reply may be ({limits.REPLY_BYTES} bytes); "
            "give fewer or shorter pieces of evidence"
        )
    return proposal


TOOLS = (
    Tool(
        "openknowledge_search",
        "Search the knowledge bundle",
        "Finds the sections that answer a question and packs their text into a token budget. Use this"
        " first for anything that the bundle may know. Each source carries its Markdown, path and "
        "lines, how it relates to the question, a locator that stays valid for exactly these bytes, "
        "and whether its page is reviewed, draft or stale: prefer fresh, reviewed sources, and cite "
        "path and heading. `issues` says what is wrong in the cited pages.",
        ("SearchArguments", "SearchReply"),
        search,
    ),
    Tool(
        "openknowledge_validate",
        "Validate the knowledge bundle",
        "Checks every page and claim of the bundle and reports what is wrong, with file, line and "
        "rule. Use it to see whether the bundle can be trusted as a whole, or after files were "
        "edited; not to answer a question. Takes no arguments; the report can be long.",
        ("NoArguments", "ValidateReply"),
        validate,
    ),
    Tool(
        "openknowledge_query",
        "Query facts with proofs",
        "Answers precise questions from the bundle's facts: by Datalog (with your own rules, and a "
        "proof for each answer), by SPARQL SELECT over its graph, by words, or by several at once, "
        "ranked together. Use it for what a text search cannot answer: which claims are stale, who "
        'owns what, what depends on what, what contradicts. Example: {"datalog": {"query": '
        '"stale(Claim,\\"true\\")"}}. Base relations: claim(Id,Subject,Predicate,Object), '
        "status(Id,Status), stale(Id,Flag), trust(Id,Tier), owner(Id,Owner), "
        "evidence(Id,Evidence,Stance), relation(Id,Kind,Other), document(Id,Path,Type), "
        "tag(Document,Tag), link(FromSection,ToDocument,Anchor), and more. Only public sources are "
        "used.",
        ("QueryArguments", "QueryReply"),
        query,
    ),
    Tool(
        "openknowledge_claims_find",
        "Find claims",
        "Finds typed claims by id or by words of their subject, predicate, object or scope. Use it "
        "before you state a fact that the bundle may hold, before you propose a claim (to see that it"
        " is new), and to get the exact id that other tools take. Each match carries the whole claim "
        "with status, trust, staleness, evidence and sources.",
        ("ClaimsFindArguments", "ClaimsFindReply"),
        claims_find,
    ),
    Tool(
        "openknowledge_claims_stale",
        "List stale claims",
        "Lists the claims that need another look: past their date, or resting on evidence that has "
        "changed or gone since it was verified. Use it to warn before relying on them, or to plan a "
        "review. Takes no arguments.",
        ("NoArguments", "ClaimsStaleReply"),
        claims_stale,
    ),
    Tool(
        "openknowledge_claims_impact",
        "See what a claim affects",
        "Tells what depends on one claim: pages that refer to it, pages that link to where it stands,"
        " pages that cite the same sources, and evaluation cases. Use it before you propose to change"
        " or replace a claim. Takes the claim's exact id.",
        ("ClaimsImpactArguments", "ClaimsImpactReply"),
        claims_impact,
    ),
    Tool(
        "openknowledge_claims_propose",
        "Propose a claim",
        "Checks a new claim against the bundle and returns a proposal for a person to review and "
        "apply with `okn claims apply`. Nothing is written. Use it when you have found a fact in a "
        "source of a page that the page does not state as a claim yet. Evidence must name a source "
        "(by id) that the page lists; a text_quote selector must quote it exactly. Show the returned "
        "proposal to the user as it is.",
        ("ClaimsProposeArguments", "ProposalReply"),
        claims_propose,
    ),
)
_BY_NAME = {tool.name: tool for tool in TOOLS}


def call_tool(current: Snapshots, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of ``tools/call``.

    Raises ``Refusal`` for an unknown tool and for arguments that are refused. What the tool itself cannot do
    is a result with ``isError``.
    """
    name = params.get("name")
    if not isinstance(name, str) or not name.strip():
        raise invalid_params("name: must be the name of a tool")
    given = params.get("arguments")
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise invalid_params("arguments: must be an object")
    tool = _BY_NAME.get(name)
    if tool is None:
        raise unknown_tool(name)
    try:
        return tool_result(tool.call(current, given))
    except ToolFailure as error:
        return tool_failure(error.message)
    except OpenKnowledgeError as error:
        return tool_failure(error.message)


def list_tools() -> list[dict[str, Any]]:
    """Return every tool as ``tools/list`` shows it."""
    return [
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": input_schema(_model(tool.models[0])),
            "outputSchema": output_schema(_model(tool.models[1])),
            "annotations": {
                "readOnlyHint": True,
                "destructiveHint": False,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }
        for tool in TOOLS
    ]


def _model(name: str) -> Any:
    from openknowledge.schemas import mcp

    return getattr(mcp, name)


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of arguments, with nothing to look up: many clients cannot follow references."""
    schema: dict[str, Any] = model.model_json_schema(by_alias=True)
    shown: dict[str, Any] = _plain(schema, schema.get("$defs", {}))
    shown.pop("description", None)
    return {"type": "object", "properties": {}, **shown}


def _plain(node: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema with its references replaced by what they name; no titles, nulls, empty defaults."""
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        named = definitions[node["$ref"].removeprefix("#/$defs/")]
        node = {**named, **{key: value for key, value in node.items() if key != "$ref"}}
    result = {}
    for key, value in node.items():
        if key in ("$defs", "title") and not isinstance(value, list):
            if key == "title" and isinstance(value, dict):
                result[key] = _plain(value, definitions)
            continue
        if key == "default" and value in (None, "", [], {}):
            continue
        result[key] = value if key in ("enum", "const", "default", "required") else _plain(value, definitions)
    options = [option for option in result.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1 and len(options) < len(result["anyOf"]):
        del result["anyOf"]
        result = {**options[0], **result}
    elif "anyOf" in result:
        result["anyOf"] = options
    return result


def output_schema(model: Any) -> dict[str, Any]:
    """Return the JSON Schema of a reply."""
    from pydantic import TypeAdapter

    schema: dict[str, Any] = TypeAdapter(model).json_schema(mode="serialization")
    return {"type": "object", **schema}
