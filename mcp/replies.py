"""Gives replies a size that an agent can use, and says so where something was left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from openknowledge.engine import limits
from openknowledge.mcp.wire import encode

ENVELOPE_BYTES = 2_048
"""What surrounds a result on the wire: id, member names, the stamp that newer protocol versions add."""


def tool_result(structured: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a tool that did what it was asked: the same object as text and as a structure."""
    text = encode(structured).decode()
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": structured,
        "resultType": "complete",
    }


def tool_failure(message: str) -> dict[str, Any]:
    """Return the result of a tool that failed."""
    if len(message) > limits.REPLY_BYTES // 8:
        message = message[: limits.REPLY_BYTES // 8] + "..."
    return {"content": [{"type": "text", "text": message}], "isError": True, "resultType": "complete"}


def wire_size(structured: Any) -> int:
    """Return how many bytes of a reply ``structured`` takes: once as a structure, once inside of a string."""
    raw = encode(structured)
    return 2 * len(raw) + raw.count(b'"') + raw.count(b"\\") + 2


def cited_issues(issues: Iterable[dict[str, Any]], paths: Iterable[str]) -> dict[str, Any]:
    """Return the ``issues`` of the cited pages, at most as many as a reply carries, with their total."""
    cited = frozenset(paths)
    found = [issue for issue in issues if issue["path"] in cited]
    return {"issues": found[: limits.REPLY_ISSUES], "issuesTotal": len(found)}


def fit(
    structured: dict[str, Any], lists: Sequence[str], rest: str, limit: int = limits.REPLY_BYTES
) -> dict[str, Any]:
    """Return ``structured`` with those of its ``lists`` shortened that make it too large for a reply.

    ``lists`` names members, with dots for nested ones; the least important first: a list is shortened only
    after those before it are empty, from its end. What was left out is said in ``truncation``, with ``rest``,
    which tells how to get it. What does not fit without its lists stays too large; see ``fits``.
    """
    room = limit - ENVELOPE_BYTES
    size = wire_size(structured)
    if size <= room:
        return structured
    earlier = structured.get("truncation", {}).get("lists", [])
    cuts: list[dict[str, Any]] = [*earlier]
    result = structured
    for name in lists:
        items = _member(result, name)
        if not isinstance(items, list) or not items:
            continue
        without = _with_member(result, name, [])
        left = room - wire_size({**without, "truncation": _truncation(cuts, name, items, rest)})
        shown = 0
        for item in items:
            left -= wire_size(item) + 2
            if left < 0:
                break
            shown += 1
        if shown == len(items):
            break
        cuts.append({"field": name, "shown": shown, "total": len(items)})
        result = _with_member(result, name, items[:shown])
        if shown:
            break
    return {**result, "truncation": {"lists": cuts, "rest": rest}} if len(cuts) > len(earlier) else result


def with_shorter_profiles(
    structured: dict[str, Any], rest: str, limit: int = limits.REPLY_BYTES
) -> dict[str, Any]:
    """Return ``structured``, if it is too large for a reply, with the claims of its pages shortened.

    Half of a reply is for them, shared equally: a page with hundreds of claims must not push out what was
    found. Ontologies that are larger than a share are left out whole.
    """
    if fits(structured, limit):
        return structured
    number = sum(1 for _ in _profiles(structured))
    share = limit // 2 // max(1, number)
    cuts: list[dict[str, Any]] = [*structured.get("truncation", {}).get("lists", [])]
    result: dict[str, Any] = _shortened(structured, share, cuts, "")
    return {**result, "truncation": {"lists": cuts, "rest": rest}} if cuts else structured


def _profiles(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if isinstance(profile := value.get("claimProfile"), dict):
            yield profile
        for item in value.values():
            yield from _profiles(item)
    elif isinstance(value, list):
        for item in value:
            yield from _profiles(item)


def _shortened(value: Any, share: int, cuts: list[dict[str, Any]], place: str) -> Any:
    if isinstance(value, list):
        return [_shortened(item, share, cuts, f"{place}.{number}") for number, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    result = {}
    for name, item in value.items():
        here = f"{place}.{name}" if place else name
        if name == "claimProfile" and isinstance(item, dict):
            result[name] = _shorter_profile(item, share, cuts, here)
        else:
            result[name] = _shortened(item, share, cuts, here)
    return result


def _shorter_profile(
    profile: dict[str, Any], share: int, cuts: list[dict[str, Any]], place: str
) -> dict[str, Any]:
    for name in ("claims", "claimRefs"):
        excess = wire_size(profile) - share
        items = profile.get(name, [])
        if excess <= 0 or not items:
            continue
        shown = len(items)
        while shown and excess > 0:
            shown -= 1
            excess -= wire_size(items[shown])
        cuts.append({"field": f"{place}.{name}", "shown": shown, "total": len(items)})
        profile = {**profile, name: items[:shown]}
    if wire_size(profile) > share and "ontology" in profile:
        cuts.append({"field": f"{place}.ontology", "shown": 0, "total": 1})
        profile = {name: item for name, item in profile.items() if name != "ontology"}
    return profile


def fits(structured: dict[str, Any], limit: int = limits.REPLY_BYTES) -> bool:
    """Whether ``structured`` has the size of a reply."""
    return wire_size(structured) <= limit - ENVELOPE_BYTES


def _truncation(cuts: list[dict[str, Any]], name: str, items: list[Any], rest: str) -> dict[str, Any]:
    return {"lists": [*cuts, {"field": name, "shown": len(items), "total": len(items)}], "rest": rest}


def _member(structured: Any, name: str) -> Any:
    for part in name.split("."):
        structured = structured.get(part) if isinstance(structured, dict) else None
    return structured


def _with_member(structured: dict[str, Any], name: str, value: list[Any]) -> dict[str, Any]:
    first, _, others = name.partition(".")
    if not others:
        return {**structured, first: value}
    return {**structured, first: _with_member(structured[first], others, value)}
