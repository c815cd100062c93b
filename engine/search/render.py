"""Search results and context packets as text for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openknowledge.engine.printable import printable
from openknowledge.schemas.search import ContextResult, SearchResultSet


def render_context(packet: ContextResult) -> str:
    """Return a context packet as Markdown: each source with where it is from and how far to trust it."""
    count = len(packet["sources"])
    head = [
        f"# Context for: {_one_line(packet['query'])}",
        "",
        f"{count} source{'' if count == 1 else 's'}, about {packet['estimatedTokens']} of {packet['budget']} "
        f"tokens, revision {packet['revision']['indexSha256']}",
        "",
    ]
    if not packet["sources"]:
        head.append("Nothing found.")
    parts = ["\n".join(head).rstrip()]
    for number, source in enumerate(packet["sources"], start=1):
        heading = " > ".join(source.get("headingPath", [source["heading"]]))
        lines = [
            f"## [{number}] {_one_line(source['title'])}",
            "",
            f"- Section: {_one_line(heading)}",
            f"- Where: {printable(source['path'])}:{source['lineStart']}-{source['lineEnd']}",
            f"- Locator: {source['locator']}",
            f"- Page: {describe_trust(source)}",
            f"- Relation: {source['relation']}, score {source['score']:.2f}",
        ]
        if source.get("truncated"):
            lines.append("- Shortened to fit the budget")
        lines += [f"- Claim: {text}" for text in claim_lines(source.get("claimProfile"))]
        if explained := source.get("explain"):
            lines += [f"- Why: {line}" for line in explained["text"].split("\n")]
        parts.append("\n".join([*lines, "", source["markdown"]]))
    if packet["issues"]:
        parts.append(_issue_lines(packet["issues"]))
    return "\n\n".join(parts) + "\n"


def render_matches(answer: SearchResultSet) -> str:
    """Return search results as a short list."""
    if not answer["results"]:
        return "Nothing found.\n"
    lines = []
    for number, result in enumerate(answer["results"], start=1):
        heading = " > ".join(result.get("headingPath", []))
        lines.append(
            f"{number:>3}. {_one_line(result['title'])} - {_one_line(heading)}  [{result['score']:.2f}]"
        )
        lines.append(
            f"     {printable(result['path'])}:{result.get('lineStart', 1)}  {describe_trust(result)}"
        )
        if shown := result.get("snippet"):
            lines.append(f"     {_one_line(shown)}")
        lines += [f"     claim {text}" for text in claim_lines(result.get("claimProfile"))]
        if explained := result.get("explain"):
            lines += [f"     | {line}" for line in explained["text"].split("\n")]
    if issues := answer.get("issues"):
        lines += ["", _issue_lines(issues)]
    return "\n".join(lines) + "\n"


def describe_trust(source: Mapping[str, Any]) -> str:
    """Return trust tier, status and staleness of a page in one line."""
    words = [source["trustTier"], source["status"], "stale" if source["stale"] else "current"]
    if source.get("verificationOutdated"):
        words.append("verification outdated")
    return printable(", ".join(words))


def claim_lines(profile: Mapping[str, Any] | None) -> list[str]:
    """Return one line for each claim of a section: what it says, its status, trust and staleness."""
    lines = []
    for claim in (profile or {}).get("claims", ()):
        scope = ", ".join(f"{key}={_value(value)}" for key, value in sorted(claim.get("scope", {}).items()))
        outdated = "verification outdated" if claim.get("verificationOutdated") else ""
        age = "stale" if claim.get("stale") else "current"
        state = [claim["status"], claim.get("trustTier", ""), outdated, age]
        lines.append(
            f"{claim['id']}: {claim['subject']} {claim['predicate']} {_value(claim['object'])}"
            f"{f' [{scope}]' if scope else ''} ({', '.join(word for word in state if word)})"
        )
    return lines


def _value(term: Mapping[str, Any]) -> str:
    if "ref" in term:
        return str(term["ref"])
    value = term.get("value")
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return _one_line(f"{shown} {term['unit']}" if term.get("unit") else shown)


def _one_line(text: str) -> str:
    return " ".join("".join(ch if ch.isprintable() else " " for ch in text).split())


def _issue_lines(issues: Any) -> str:
    lines = ["Not searched:"]
    lines += [printable(f"- {issue['path']}: {issue['message']} ({issue['rule']})") for issue in issues]
    return "\n".join(lines)
