"""What ``okn claims`` prints for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from openknowledge.engine.printable import printable, quantity

if TYPE_CHECKING:
    from openknowledge.schemas.claims import (
        Claim,
        ClaimValidation,
        ConflictResult,
        EntityResult,
        FindResult,
        ImpactResult,
        ObjectValue,
        Occurrence,
        ShowResult,
        StaleReason,
        StaleResult,
        SuggestResult,
    )
    from openknowledge.schemas.common import Issue, Policy


def _lines(parts: Iterable[str]) -> str:
    return "".join(f"{printable(part)}\n" for part in parts)


def value_text(found: ObjectValue) -> str:
    """Return an object value in words: a reference, or a value with its unit or language."""
    if "ref" in found:
        return found["ref"]
    value = found.get("value", "")
    text = (
        f'"{value}"'
        if isinstance(value, str)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )
    if "unit" in found:
        return f"{text} {found['unit']}"
    return f"{text}@{found['language']}" if "language" in found else text


def statement(claim: Claim) -> str:
    """Return what a claim says, with its scope."""
    scope = claim.get("scope", {})
    where = "".join(f" [{dimension} {value_text(value)}]" for dimension, value in scope.items())
    return f"{claim['subject']} {claim['predicate']} {value_text(claim['object'])}{where}"


def standing(claim: Claim) -> str:
    """Return the status, trust and staleness of a claim."""
    words = [claim["status"], claim["trustTier"]]
    if claim.get("verificationOutdated"):
        words.append("verification outdated")
    if claim["stale"]:
        words.append("STALE")
    return ", ".join(words)


def _kept_out(policy: Policy) -> list[str]:
    lines = [
        f"quarantined: {entry.get('claimId') or entry['document']}: {entry['message']}"
        for entry in policy.get("quarantined", [])
    ]
    if policy["removedClaims"]:
        lines.append(f"not shown: {quantity(policy['removedClaims'], 'claim')} without access")
    return lines


def _occurrence(found: Occurrence) -> list[str]:
    claim = found["claim"]
    return [f"{claim['id']}  ({standing(claim)})", f"  {statement(claim)}", f"  in {found['path']}"]


def validation_text(result: ClaimValidation) -> str:
    """Return the issues with their places, and whether the claims are valid."""
    issues: list[Issue] = [*result["issues"], *result["lifecycleIssues"]]
    lines = [
        f"{issue['path']}:{issue.get('line', 1)}:{issue.get('column', 1)}: "
        f"{issue.get('severity', 'error')}: {issue['message']} [{issue.get('rule', '')}]"
        for issue in issues
    ]
    for change in result["authorityChanges"]:
        by = change.get("approvedBy")
        lines.append(
            f"{change['path']}: source {change['sourceId']} is authoritative, approved by {by or 'nobody'}"
        )
    word = "valid" if result["valid"] else "invalid"
    lines.append(f"{word}: {quantity(len(issues), 'issue')}")
    return _lines(lines)


def found_text(result: FindResult) -> str:
    """Return the claims that were found, best first."""
    lines: list[str] = []
    for found in result["results"]:
        lines += [*_occurrence(found), f"  score {found['score']}: {', '.join(found['reasons'])}"]
    lines.append(quantity(len(result["results"]), "claim") + (" (more exist)" if result["truncated"] else ""))
    return _lines([*lines, *_kept_out(result["policy"])])


def claim_text(result: ShowResult) -> str:
    """Return everything about one claim."""
    found = result["occurrence"]
    claim = found["claim"]
    place = result["provenance"]
    lines = [
        f"{claim['id']}",
        f"  says       {statement(claim)}",
        f"  standing   {standing(claim)}, {'active' if result['active'] else 'not active'}",
        f"  stands     {found['path']}:{result['line']}"
        + (f" for {claim['sectionRef']}" if "sectionRef" in claim else ""),
    ]
    if "lineStart" in place:
        lines.append(f"  text       {place['document']}:{place['lineStart']}-{place.get('lineEnd', '')}")
    lines += _times(claim)
    if claim["owners"]:
        lines.append(f"  owners     {', '.join(claim['owners'])}")
    if "verification" in claim:
        seen = claim["verification"]
        lines.append(f"  verified   by {seen['by']} at {seen['at']} ({seen['method']})")
    for decision in claim.get("decisions", []):
        reason = f": {decision['reason']}" if "reason" in decision else ""
        lines.append(f"  decision   {decision['action']} by {decision['by']} at {decision['at']}{reason}")
    lines += [f"  stale      {_reason(reason)}" for reason in result["staleReasons"]]
    for outdated in result["verificationOutdated"]:
        lines.append(
            f"  outdated   verified {outdated['verifiedAt']}, the text changed {outdated['changedAt']}"
        )
    lines += _evidence(found)
    lines += [f"  {entry['kind']:<13} {entry['id']}{_absent(entry)}" for entry in result["relations"]]
    lines += [f"  {entry['kind']} by {entry['id']}" for entry in result["relatedFrom"]]
    lines += [f"  referred to by {path}" for path in result["references"]]
    if len(result["slot"]) > 1:
        lines.append(f"  history of {claim['slot']}")
        for entry in result["slot"]:
            when = " ".join(f"{name} {value}" for name, value in entry["validTime"].items())
            mark = "*" if entry["id"] == claim["id"] else " "
            words = [entry["status"], *(name for name in ("stale", "active") if entry[name])]
            lines.append(
                f"  {mark} {entry['id']}: {value_text(entry['object'])} ({', '.join(words)}) {when}".rstrip()
            )
    return _lines(lines)


def _absent(entry: Any) -> str:
    return "" if entry["present"] else " (not among the facts)"


def _times(claim: Claim) -> list[str]:
    valid = claim["validTime"]
    lines = []
    if valid:
        lines.append("  valid      " + " ".join(f"{name} {value}" for name, value in valid.items()))
    if "staleAfter" in claim:
        lines.append(f"  stale from {claim['staleAfter']}")
    return lines


def _evidence(found: Occurrence) -> list[str]:
    sources = {source["id"]: source for source in found["sources"]}
    lines = []
    for item in found["claim"]["evidence"]:
        source = sources.get(item["sourceRef"])
        where = source["resource"] if source else item["sourceRef"]
        lines.append(f"  evidence   {item['id']} {item['stance']} ({item['role']}): {where}")
        selector = item.get("selector")
        if selector and "exact" in selector:
            lines.append(f'             "{_one_line(selector["exact"])}"')
    return lines


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 160 else flat[:157] + "..."


def _reason(reason: StaleReason) -> str:
    if reason["reason"] == "date":
        return f"since {reason['since']}: its date has passed"
    words = reason["reason"].replace("-", " ")
    what = f"evidence {reason.get('evidence', '')}: {words}"
    resource = f" ({reason['resource']})" if reason.get("resource") else ""
    return f"{what}{resource}, last right at {reason['since']}"


def stale_text(result: StaleResult) -> str:
    """Return the stale claims with their reasons, and those to come."""
    lines: list[str] = []
    for found in result["results"]:
        lines += _occurrence(found)
        lines += [f"  {_reason(reason)}" for reason in found["reasons"]]
    if result["upcoming"]:
        lines.append(f"stale within {result.get('within', 0)} days:")
        for upcoming in result["upcoming"]:
            lines.append(f"  {upcoming['staleFrom']}  {upcoming['claim']['id']} in {upcoming['path']}")
    for outdated in result["outdatedVerifications"]:
        lines.append(
            f"verification outdated: {outdated['claimId']} ({outdated['trustTier']}): verified "
            f"{outdated['verifiedAt']}, the page was written again {outdated['changedAt']}"
        )
    lines.append(f"{quantity(len(result['results']), 'stale claim')} as of {result['evaluatedAt']}")
    return _lines([*lines, *_kept_out(result["policy"])])


def conflicts_text(result: ConflictResult) -> str:
    """Return what cannot all hold, and what is said more than once."""
    lines: list[str] = []
    for conflict in result["conflicts"]:
        lines.append(
            f"conflict: {conflict['objectCount']} values of {conflict['subject']} {conflict['predicate']}, "
            f"at most {conflict['maximumCount']} may hold"
        )
        for found in conflict["occurrences"]:
            claim = found["claim"]
            lines.append(
                f"  {value_text(claim['object'])}: {claim['id']} ({standing(claim)}) in {found['path']}"
            )
        lines += [f"  depended on by {path}" for path in conflict["dependents"]]
        lines.append(f"  rule: {conflict['proof']['rule']}" if "proof" in conflict else "")
    for duplicate in result["duplicates"]:
        lines.append("duplicate: " + statement(duplicate["occurrences"][0]["claim"]))
        lines += [f"  {found['claim']['id']} in {found['path']}" for found in duplicate["occurrences"]]
    lines.append(
        f"{quantity(len(result['conflicts']), 'conflict')}, "
        f"{quantity(len(result['duplicates']), 'duplicate')} as of {result['evaluatedAt']}"
    )
    return _lines([*lines, *_kept_out(result["policy"])])


def impact_text(result: ImpactResult) -> str:
    """Return what depends on a claim, grouped by how."""
    lines = [result["claimId"]]
    for found in result["occurrences"]:
        lines.append(f"  {statement(found['claim'])} in {found['path']}")
    for claim in result["derivedClaims"]:
        via = f" via {' > '.join(claim['via'])}" if claim["via"] else ""
        lines.append(f"derived claim {claim['id']} in {claim['path']}{via}")
    for entry in result["affected"]:
        via = f" via {' > '.join(entry['via'])}" if entry["via"] else ""
        lines.append(f"{entry['kind']:<15} {entry['document']}{via}")
    for case in result["evals"]:
        lines.append(f"{'eval case':<15} {case['dataset']} / {case['caseId']}: {case['question']}")
    lines.append(
        f"{quantity(len(result['documents']), 'page')}, "
        f"{quantity(len(result['derivedClaims']), 'derived claim')}, "
        f"{quantity(len(result['evals']), 'eval case')}"
    )
    return _lines(lines)


def suggestions_text(result: SuggestResult) -> str:
    """Return the sections for which a claim could be written."""
    lines: list[str] = []
    for found in result["results"]:
        lines.append(f"{found['document']}{found['sectionRef']}  {found['heading']}")
        lines.append(f"  {_one_line(found['excerpt'])}")
        lines.append(
            f"  suggested id {found['suggestedOccurrenceId']}; "
            f"sources {', '.join(found['sourceIds']) or 'none'}"
        )
    lines.append(quantity(len(result["results"]), "candidate"))
    return _lines(lines)


def entities_text(result: EntityResult) -> str:
    """Return the entities that were found, with who uses them."""
    lines: list[str] = []
    for found in result["results"]:
        entity = found["entity"]
        label = f' "{entity["prefLabel"]}"' if "prefLabel" in entity else ""
        gone = " (deprecated)" if entity.get("deprecated") else ""
        lines.append(f"{entity['id']}{label}{gone}  {', '.join(entity['types'])}")
        lines += [f"  {claim}" for claim in found["referencedBy"]]
    number = len(result["results"])
    lines.append("1 entity" if number == 1 else f"{number} entities")
    return _lines(lines)
