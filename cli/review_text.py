"""Shows reviews of proposals: on a terminal, and as Markdown for a pull request."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openknowledge.schemas.operations import (
        QuotedEvidence,
        Review,
        ReviewedClaim,
        ReviewedRelation,
        ReviewResult,
    )

_WIDTH = 100
_MEANING = "(how surely the source was read, not whether it is true)"


def review_text(result: ReviewResult) -> str:
    """Return the reviews as plain text."""
    return "\n\n".join(_text(review) for review in result["reviews"]) + "\n"


def _text(review: Review) -> str:
    verdict = "can be applied" if review["applies"] else "CANNOT BE APPLIED"
    lines = [
        f"{_line(review['source'])}: {verdict}",
        "",
        *_wrapped(review["words"], "  "),
        f"  {_line(review['claimId'])}",
        f"  for {_line(review['document'])}" + (f" ({_line(review['title'])})" if review["title"] else ""),
        "",
        *_wrapped(f"Reason: {review['reason']}", "  "),
        f"  Extraction confidence: {review['confidence']:g} {_MEANING}",
    ]
    _block(lines, "Problems", (f"- {problem}" for problem in review["problems"]))
    _block(lines, "Evidence", (line for item in review["evidence"] for line in _evidence_text(item)))
    if "sectionText" in review:
        _block(lines, "The section says", [review["sectionText"]])
    conflicts = [
        line
        for conflict in review["conflicts"]
        for line in (
            f"{conflict['objectCount']} different values where {conflict['maximumCount']} may hold:",
            *(_claim_line(claim) for claim in conflict["claims"]),
        )
    ]
    _block(lines, "Conflicts with", conflicts, none="nothing that holds now")
    _block(lines, "Repeats", (_claim_line(claim) for claim in review["duplicates"]))
    in_conflict = {claim["id"] for conflict in review["conflicts"] for claim in conflict["claims"]}
    others = [claim for claim in review["sameQuestion"] if claim["id"] not in in_conflict]
    _block(lines, "Other answers to the same question", (_claim_line(claim) for claim in others))
    _block(
        lines, "Relations", (line for relation in review["relations"] for line in _relation_lines(relation))
    )
    _block(lines, "Makes stale", (f"- {name}" for name in review["becomesStale"]), none="nothing")
    _block(
        lines,
        "Pages that link here or share its sources",
        (f"- {page}" for page in review["dependents"]),
        none="none",
    )
    _block(lines, "Evaluation cases on these pages", (f"- {case}" for case in review["evals"]))
    if review["diff"]:
        lines += ["", "Change of the page", ""]
        lines += [f"  {_line(line)}" for line in review["diff"].splitlines()]
    return "\n".join(lines)


def _block(lines: list[str], title: str, items: Iterable[str], none: str = "") -> None:
    found = list(items)
    if not found and none:
        lines += ["", f"{title}: {none}"]
    elif found:
        lines += ["", title]
        for item in found:
            lines += _wrapped(item, "  ")


def _evidence_text(item: QuotedEvidence) -> list[str]:
    name = item.get("title") or item.get("resource") or item["sourceRef"]
    lines = [f"{item['id']} {item['stance']} ({item['role']}): {name}"]
    if "problem" in item:
        lines.append(f"  {item['problem']}")
    if "quote" in item:
        quoted = f"{item.get('before', '')}>>>{item['quote']}<<<{item.get('after', '')}"
        lines.append(f"  {item.get('artifact', '')}:{item.get('line', 1)}")
        lines += [f"  | {line}" for line in quoted.splitlines()]
    return lines


def _claim_line(claim: ReviewedClaim) -> str:
    return f"- {claim['words']} [{claim['status']}, {claim['trustTier']}] {claim['id']} in {claim['path']}"


def _relation_lines(relation: ReviewedRelation) -> list[str]:
    lines = [f"{_KINDS.get(relation['kind'], relation['kind'])}:", _claim_line(relation)]
    if relation["dependents"]:
        lines.append("  pages that rely on it: " + ", ".join(relation["dependents"]))
    if relation["derivedClaims"]:
        lines.append("  claims derived from it: " + ", ".join(relation["derivedClaims"]))
    return lines


_KINDS = {"supersedes": "supersedes", "contradicts": "contradicts", "derivedFrom": "derived from"}


def _wrapped(text: str, indent: str) -> list[str]:
    plain = _line(text)
    own = indent + plain[: len(plain) - len(plain.lstrip(" "))]
    rest = own + ("  " if plain.lstrip().startswith(("- ", "| ")) else "")
    if plain.lstrip().startswith("|"):
        return [indent + plain]
    return textwrap.wrap(
        plain,
        _WIDTH,
        initial_indent=own,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def _line(text: str) -> str:
    """Return ``text`` on one line without control characters: what comes from outside gives no commands."""
    return "".join(character if character.isprintable() else " " for character in text)


# Markdown


def review_markdown(result: ReviewResult) -> str:
    """Return the reviews as Markdown. What comes from proposals and artifacts is escaped or fenced."""
    parts = [_markdown(review) for review in result["reviews"]]
    revision = result["revision"]["indexSha256"]
    return "\n".join(parts) + f"\n<sub>Reviewed at revision `{revision}`, {result['evaluatedAt']}.</sub>\n"


def _markdown(review: Review) -> str:
    mark = "can be applied" if review["applies"] else "**cannot be applied**"
    parts = [
        f"### {_escaped(review['words'])}\n",
        f"{_code(review['claimId'])} for {_code(review['document'])}: {mark}\n",
        f"> {_escaped(review['reason'])}\n",
        f"Extraction confidence {review['confidence']:g} {_MEANING}.\n",
    ]
    _list(parts, "Problems", (_escaped(problem) for problem in review["problems"]))
    parts.append("#### Evidence\n")
    parts += [_evidence_markdown(item) for item in review["evidence"]]
    if "sectionText" in review:
        parts.append(f"The section says: {_escaped(review['sectionText'])}\n")
    conflicting = [claim for conflict in review["conflicts"] for claim in conflict["claims"]]
    if conflicting:
        _list(parts, "Conflicts with", (_claim_markdown(claim) for claim in conflicting))
    else:
        parts.append("Conflicts with nothing that holds now.\n")
    _list(parts, "Repeats", (_claim_markdown(claim) for claim in review["duplicates"]))
    known = {claim["id"] for claim in conflicting}
    others = (claim for claim in review["sameQuestion"] if claim["id"] not in known)
    _list(parts, "Other answers to the same question", (_claim_markdown(claim) for claim in others))
    _list(parts, "Relations", (_relation_markdown(relation) for relation in review["relations"]))
    _list(parts, "Makes stale", (_code(name) for name in review["becomesStale"]))
    _list(parts, "Pages that link here or share its sources", (_code(page) for page in review["dependents"]))
    _list(parts, "Evaluation cases on these pages", (_escaped(case) for case in review["evals"]))
    if review["diff"]:
        parts.append(
            "<details><summary>Change of the page</summary>\n\n"
            + _fenced(review["diff"], "diff")
            + "\n</details>\n"
        )
    return "\n".join(parts)


def _list(parts: list[str], title: str, items: Iterable[str]) -> None:
    found = [f"- {item}" for item in items]
    if found:
        parts.append(f"#### {title}\n\n" + "\n".join(found) + "\n")


def _evidence_markdown(item: QuotedEvidence) -> str:
    name = item.get("title") or item.get("resource") or item["sourceRef"]
    text = f"{_code(item['id'])} {item['stance']} ({_escaped(item['role'])}): {_escaped(name)}\n"
    if "problem" in item:
        text += f"\n{_escaped(item['problem'])}\n"
    if "quote" in item:
        quoted = f"{item.get('before', '')}>>>{item['quote']}<<<{item.get('after', '')}"
        where = f"{_code(item.get('artifact', ''))} line {item.get('line', 1)}"
        text += f"\n{where}:\n\n{_fenced(quoted, 'text')}\n"
    return text


def _claim_markdown(claim: ReviewedClaim) -> str:
    return (
        f"{_escaped(claim['words'])} ({claim['status']}, {claim['trustTier']}) "
        f"{_code(claim['id'])} in {_code(claim['path'])}"
    )


def _relation_markdown(relation: ReviewedRelation) -> str:
    text = f"{_KINDS.get(relation['kind'], relation['kind'])} {_claim_markdown(relation)}"
    if relation["dependents"]:
        text += "; pages that rely on it: " + ", ".join(_code(page) for page in relation["dependents"])
    if relation["derivedClaims"]:
        text += "; claims derived from it: " + ", ".join(_code(name) for name in relation["derivedClaims"])
    return text


_MARKUP = re.compile(r"[\\`*_\[\]<>#|~&$]")
_LIST_MARK = re.compile(r"^(\s*\d*)([-+=.)])")


def _escaped(text: str) -> str:
    """Return ``text`` as Markdown that shows it literally: no links, mentions, images or HTML."""
    marked = _LIST_MARK.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", _line(text)))
    return marked.replace("@", "@\u200b")


def _code(text: str) -> str:
    plain = _line(text)
    longest = max((len(run) for run in re.findall(r"`+", plain)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


def _fenced(text: str, language: str) -> str:
    plain = "\n".join(_line(line) for line in text.splitlines())
    longest = max((len(run) for run in re.findall(r"`+", plain)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{plain}\n{fence}"
