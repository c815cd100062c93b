"""Accepted findings: a file that says which ones, why, and until when."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

from openknowledge.engine import limits
from openknowledge.engine.analysis.findings import Acceptance, Finding
from openknowledge.engine.bundle.instants import parse_date
from openknowledge.engine.errors import UsageError
from openknowledge.schemas.findings import AcceptedFinding, CheckBaseline

BASELINE_TYPE = "openknowledge.check-baseline"
BASELINE_VERSION = 1
_FIELDS = ("id", "rule", "path", "message", "reason", "until")


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of a baseline file by finding id."""

    entries: Mapping[str, AcceptedFinding]


@dataclass(frozen=True, slots=True)
class Applied:
    """Findings after a baseline: ``expired`` and ``gone`` are the entries that no longer hold."""

    findings: list[Finding]
    expired: list[AcceptedFinding]
    gone: list[AcceptedFinding]


def read_baseline(path: Path) -> Baseline:
    """Read the baseline file at ``path``.

    Raises ``UsageError`` for a file that cannot be read, of another type or version, or with an entry that
    is incomplete, named twice or has no date.
    """
    return parse_baseline(read_json_file(path, "baseline", limits.BASELINE_BYTES), str(path))


def read_json_file(path: Path, what: str, most: int) -> Any:
    """Return the JSON in a file of at most ``most`` bytes. Raises ``UsageError`` naming the fault's line."""
    try:
        with path.open("rb") as stream:
            data = stream.read(most + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"cannot read the {what} {str(path)!r}: {reason}") from None
    if len(data) > most:
        raise UsageError(f"the {what} {str(path)!r} is larger than {most} bytes")
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_without_repeated_keys)
    except UnicodeDecodeError:
        raise UsageError(f"the {what} {str(path)!r} is not valid UTF-8") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}:{error.colno}: the {what} is no JSON: {error.msg}") from None
    except (_RepeatedKey, RecursionError) as error:
        problem = str(error) if isinstance(error, _RepeatedKey) else "it is nested too deeply"
        raise UsageError(f"{path}: the {what} cannot be used: {problem}") from None


class _RepeatedKey(ValueError):
    pass


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _RepeatedKey(f"the key {twice!r} is repeated in one object")
    return found


def parse_baseline(content: Any, source: str = "baseline") -> Baseline:
    """Return the baseline that the JSON ``content`` is. Raises ``UsageError`` naming the entry at fault."""

    def refuse(problem: str) -> NoReturn:
        raise UsageError(f"{source}: {problem}")

    if not isinstance(content, dict) or content.get("type") != BASELINE_TYPE:
        refuse(f'not a baseline of okn check: expected an object with "type": "{BASELINE_TYPE}"')
    version = content.get("version")
    if version != BASELINE_VERSION or isinstance(version, bool):
        refuse(f"baseline version {version!r} is not supported; this program reads {BASELINE_VERSION}")
    if unknown := sorted(set(content) - {"type", "version", "findings"}):
        refuse(f"unknown field {unknown[0]!r}")
    items = content.get("findings")
    if not isinstance(items, list):
        refuse("findings must be a list")
    entries: dict[str, AcceptedFinding] = {}
    for number, item in enumerate(items):
        at = f"findings[{number}]"
        if not isinstance(item, dict):
            refuse(f"{at} must be an object")
        if unknown := sorted(set(item) - set(_FIELDS)):
            refuse(f"{at} has the unknown field {unknown[0]!r}")
        for name in _FIELDS:
            if not isinstance(item.get(name), str) or not item[name].strip():
                refuse(f"{at}.{name} must be a non-empty string")
        if parse_date(item["until"]) is None:
            refuse(f"{at}.until is {item['until']!r}, not a date YYYY-MM-DD")
        if item["id"] in entries:
            refuse(f"{at} accepts the finding {item['id']} a second time")
        entries[item["id"]] = _entry({name: item[name] for name in _FIELDS})
    return Baseline(entries)


def _entry(values: Mapping[str, str]) -> AcceptedFinding:
    return {
        "id": values["id"],
        "rule": values["rule"],
        "path": values["path"],
        "message": values["message"],
        "reason": values["reason"],
        "until": values["until"],
    }


def apply_baseline(
    findings: Iterable[Finding], baseline: Baseline, today: date, skipped: Iterable[str] = ()
) -> Applied:
    """Mark the findings that ``baseline`` accepts on the day ``today``; the last day of an entry counts.

    ``skipped`` are rules that were left out of this run: their entries are neither expired nor gone. Those of
    a rule that is no more are gone.
    """
    marked = []
    expired = []
    seen = set()
    for finding in findings:
        entry = baseline.entries.get(finding.id)
        if entry is not None:
            seen.add(finding.id)
            until = parse_date(entry["until"])
            if until is None or until < today:
                expired.append(entry)
            else:
                finding = replace(finding, accepted=Acceptance(entry["reason"], entry["until"]))
        marked.append(finding)
    kept = set(skipped)
    gone = [
        entry for name, entry in baseline.entries.items() if name not in seen and entry["rule"] not in kept
    ]
    return Applied(marked, _ordered(expired), _ordered(gone))


def updated_baseline(
    findings: Sequence[Finding],
    baseline: Baseline,
    today: date,
    *,
    reason: str,
    until: str,
    skipped: Iterable[str] = (),
) -> CheckBaseline:
    """Return a baseline that accepts all ``findings``.

    Entries that still hold stay as they are, those past their date and new ones get ``reason`` and ``until``,
    those whose finding is gone are dropped. Raises ``UsageError`` when ``reason`` or ``until`` is needed and
    missing, or the date is past.
    """
    kept = set(skipped)
    applied = apply_baseline(findings, baseline, today, kept)
    day = parse_date(until)
    if until and day is None:
        raise UsageError(f"--until {until!r} is not a date YYYY-MM-DD")
    if day is not None and day < today:
        raise UsageError(f"--until {until} is in the past: nothing can be accepted until then")
    entries: list[AcceptedFinding] = []
    for finding in applied.findings:
        if finding.accepted is not None:
            entries.append(baseline.entries[finding.id])
            continue
        if not reason.strip() or not until:
            raise UsageError(
                "there are findings to accept: say why with --reason TEXT and until when with "
                "--until YYYY-MM-DD"
            )
        entries.append(
            {
                "id": finding.id,
                "rule": finding.rule,
                "path": finding.path,
                "message": finding.message,
                "reason": reason.strip(),
                "until": until,
            }
        )
    known = {entry["id"] for entry in entries}
    entries += [
        entry for name, entry in baseline.entries.items() if name not in known and entry["rule"] in kept
    ]
    return {"type": BASELINE_TYPE, "version": BASELINE_VERSION, "findings": _ordered(entries)}


def _ordered(entries: Iterable[AcceptedFinding]) -> list[AcceptedFinding]:
    return sorted(entries, key=lambda entry: (entry["path"], entry["rule"], entry["id"]))


def baseline_text(baseline: CheckBaseline) -> str:
    """Return a baseline as the text of its file."""
    return json.dumps(baseline, ensure_ascii=False, indent=2) + "\n"


__all__ = [
    "BASELINE_TYPE",
    "BASELINE_VERSION",
    "Applied",
    "Baseline",
    "apply_baseline",
    "baseline_text",
    "parse_baseline",
    "read_baseline",
    "read_json_file",
    "updated_baseline",
]
