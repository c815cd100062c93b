"""A difference for people: on a terminal, and as the comment on a change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from openknowledge.engine.analysis.diff import WEAK, Affected, ClaimChange, Diff, PageChange, statement
from openknowledge.engine.analysis.findings import Finding
from openknowledge.engine.analysis.reporting.markdown import (
    LONGEST,
    code,
    escaped,
    finding_lines,
    folded_proof,
)
from openknowledge.engine.analysis.reporting.text import finding_line, one_line
from openknowledge.engine.printable import quantity

_STALE = ("claim-stale", "claim-evidence-stale", "stale", "relies-on-stale")
_CONFLICT = ("claim-conflict", "claim-contradiction", "claim-duplicate")
_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Became stale", _STALE),
    ("Became conflicting", _CONFLICT),
)
_HOW = {
    "refers": "refers to",
    "links": "links to the page of",
    "shares-source": "cites a source of",
    "derived": "has a claim derived from",
    "refers-derived": "refers to a claim derived from",
}
_SHOWN = 60


def diff_text(diff: Diff) -> str:
    """Return the difference as lines for a terminal."""
    lines = [f"{_name(diff, head=False)} -> {_name(diff, head=True)}"]
    if diff.is_empty:
        return "\n".join([*lines, "nothing changed"]) + "\n"
    for change in diff.claims:
        lines.append(f"claim {change.kind}: {one_line(change.id)} ({change.path}:{change.line})")
        lines += [f"  {one_line(detail)}" for detail in _details(change)]
    for page in diff.pages:
        lines.append(f"page {page.kind}: {one_line(_page(page))}")
        lines += [f"  {section.kind} {one_line(section.id)}" for section in _sections(page)]
    for title, findings in _grouped(diff.new):
        lines.append(f"{title.lower()}:")
        lines += [f"  {finding_line(finding)}" for finding in findings]
    if diff.fixed:
        lines.append("fixed:")
        lines += [f"  {finding_line(finding)}" for finding in diff.fixed]
    untouched, weak = _untouched(diff)
    if untouched or weak:
        lines.append("affected, and not changed here:")
        lines += [f"  {one_line(_affected(item))}" for item in untouched]
        lines += [f"  {weak}"] if weak else []
    lines.append(_verdict(diff))
    return "\n".join(lines) + "\n"


def diff_markdown(diff: Diff, prefix: str = "") -> str:
    """Return the difference as a comment; without proofs, then shortened, when it is too long for one."""
    for proofs in (True, False):
        text = _markdown(diff, prefix, proofs=proofs)
        if len(text) <= LONGEST:
            return text
    note = "\n\n_The rest is left out here: run `okn diff` to see it all._\n"
    return text[: LONGEST - len(note)].rpartition("\n")[0] + note


def _markdown(diff: Diff, prefix: str, *, proofs: bool) -> str:
    lines = [
        "## What this does to the knowledge",
        "",
        f"{code(_name(diff, head=False))} → {code(_name(diff, head=True))}: {escaped(_verdict(diff))}",
        "",
    ]
    if diff.is_empty:
        return "\n".join([*lines[:2], "Nothing changed.", ""])
    for title, findings in _grouped(diff.new):
        lines += [f"### {title}", ""]
        for finding in findings:
            lines += finding_lines(diff.head.conclusions, prefix, finding, proof=proofs)
        lines.append("")
    untouched, weak = _untouched(diff)
    if untouched or weak:
        lines += ["### Affected, and not changed here", ""]
        for item in untouched:
            lines.append(f"- {escaped(_affected(item))}")
            if proofs:
                lines += folded_proof(_tree(item))
        lines += [f"- {weak}"] if weak else []
        lines.append("")
    if diff.claims:
        lines += ["### Claims", "", "| Claim | Change | What |", "|---|---|---|"]
        for change in diff.claims:
            what = "<br>".join(escaped(detail) for detail in _details(change))
            lines.append(f"| {_cell(change.id)} | {change.kind} | {what} |")
        lines.append("")
    if diff.pages:
        lines += ["### Pages", "", "| Page | Change | Sections |", "|---|---|---|"]
        for page in diff.pages:
            sections = "<br>".join(
                f"{section.kind} {escaped(section.heading)}" for section in _sections(page)
            )
            if page.frontmatter:
                sections = "<br>".join(filter(None, ["frontmatter changed", sections]))
            lines.append(f"| {_cell(_page(page))} | {page.kind} | {sections} |")
        lines.append("")
    if diff.fixed:
        lines += ["### Fixed", ""]
        lines += [
            f"- {escaped(finding.message)} ({code(finding.rule)}, {code(finding.path)})"
            for finding in diff.fixed
        ]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _cell(text: str) -> str:
    return code(text).replace("|", "\\|")


def _name(diff: Diff, *, head: bool) -> str:
    side = diff.head if head else diff.base
    return f"{side.name} ({side.commit[:10]})" if side.commit else side.name


def _page(page: PageChange) -> str:
    return f"{page.before} -> {page.path}" if page.before else page.path


def _sections(page: PageChange) -> Sequence[Any]:
    """Return the sections to name: a new page is new as a whole."""
    return () if page.kind == "added" else page.sections


def _details(change: ClaimChange) -> list[str]:
    details = []
    if change.kind in ("added", "removed", "quarantined", "released"):
        details.append(statement(change.claim))
    for name, before, after in change.fields:
        details.append(f"{name}: {_value(before)} -> {_value(after)}")
    if change.superseded_by:
        details.append(f"superseded by {', '.join(change.superseded_by)}")
    return details


def _value(value: Any) -> str:
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _grouped(findings: Iterable[Finding]) -> list[tuple[str, list[Finding]]]:
    findings = list(findings)
    groups = [(title, [finding for finding in findings if finding.rule in rules]) for title, rules in _GROUPS]
    named = {rule for _, rules in _GROUPS for rule in rules}
    groups.append(("New findings", [finding for finding in findings if finding.rule not in named]))
    return [(title, group) for title, group in groups if group]


def _affected(item: Affected) -> str:
    if item.kind == "claim":
        return f"{item.path}:{item.line}: claim {item.subject} is derived from {item.claim}"
    return f"{item.path}:{item.line}: {_HOW.get(item.how, item.how)} claim {item.claim}"


def _tree(item: Affected) -> str:
    from openknowledge.engine.analysis.reporting.text import proof_tree

    return proof_tree(item.conclusions, item.proof)


def _verdict(diff: Diff) -> str:
    parts = [
        quantity(len(diff.claims), "claim"),
        quantity(len(diff.pages), "page"),
    ]
    text = f"{' and '.join(parts)} changed; {quantity(len(diff.new), 'new finding')}, {len(diff.fixed)} fixed"
    untouched, _ = _untouched(diff)
    return f"{text}, {len(untouched)} affected elsewhere" if untouched else text


def _untouched(diff: Diff) -> tuple[list[Affected], str]:
    """Return what depends on changed claims on pages that were not changed; of weak ties only the number."""
    untouched = [item for item in diff.affected if not item.changed]
    strong = [item for item in untouched if item.how not in WEAK]
    weak = {item.subject for item in untouched} - {item.subject for item in strong}
    if not weak:
        return strong, ""
    verb = "links to their pages or cites" if len(weak) == 1 else "link to their pages or cite"
    return strong, f"{quantity(len(weak), 'page')} more {verb} the same sources"
