"""The sources of a page as claims use them: which are well formed, and who may see them."""

from __future__ import annotations

from typing import Any

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.okf import ACCESS_LABEL, Source, sources_of, text_of
from openknowledge.engine.claims.findings import Finding, Place, kind_of, shown
from openknowledge.engine.claims.model import OBSERVE, SOURCE_ROLES
from openknowledge.engine.claims.profile import SHA256, is_approver, uses_profile

_TEXTS = ("id", "resource", "live_resource", "title", "author")


def has_access(document: Document) -> bool:
    """Whether any source of the page says who may see it."""
    raw = document.fields.get("sources")
    return isinstance(raw, list) and any(isinstance(item, dict) and "access" in item for item in raw)


def check_sources(document: Document, findings: list[Finding]) -> dict[str, Source]:
    """Return the sources of ``document`` by id, the last of equal ids; add what is wrong to ``findings``.

    A source whose access cannot be read is left out: unreadable never means public. Other faults count only
    on pages with claims or claim references.
    """
    raw = document.fields["sources"]
    strict = uses_profile(document)
    if not isinstance(raw, list):
        if strict:
            findings.append(Finding(document, f"sources must be a list, not {kind_of(raw)}", ("sources",)))
        return {}
    refused: set[int] = set()
    for index, item in enumerate(raw):
        if not isinstance(item, dict):
            if strict:
                message = f"sources[{index}] must be a mapping, not {kind_of(item)}"
                findings.append(Finding(document, message, ("sources", index)))
            continue
        if strict:
            _check_fields(document, item, index, findings)
        if "access" in item and not _check_access(document, item["access"], index, findings):
            refused.add(index)
    found: dict[str, Source] = {}
    for source in sources_of(raw):
        if source.id:
            found.pop(source.id, None)
            if source.index not in refused:
                found[source.id] = source
    return found


def _check_fields(document: Document, item: dict[str, Any], index: int, findings: list[Finding]) -> None:
    def problem(key: str, message: str) -> None:
        at: Place = ("sources", index, key)
        findings.append(Finding(document, f"sources[{index}].{key} {message}", at))

    for key in _TEXTS:
        if key in item and not isinstance(item[key], str):
            problem(key, f"must be a string, not {kind_of(item[key])}")
    if "observe" in item and text_of(item["observe"]) not in OBSERVE:
        problem("observe", f"{shown(item['observe'])} is not one of {', '.join(OBSERVE)}")
    if "sha256" in item and SHA256.match(text_of(item["sha256"])) is None:
        problem("sha256", "must be 64 lower-case hexadecimal digits")
    role = text_of(item.get("role"))
    if "role" in item and role not in SOURCE_ROLES:
        problem("role", f"{shown(item['role'])} is not one of {', '.join(SOURCE_ROLES)}")
    if "authority_approved_by" in item:
        approver = text_of(item["authority_approved_by"])
        if not is_approver(approver):
            problem("authority_approved_by", f"{shown(approver)} must be human:... or github:...")
        elif role != "authoritative":
            problem("authority_approved_by", "needs role: authoritative beside it")


def _check_access(document: Document, value: Any, index: int, findings: list[Finding]) -> bool:
    labels = [value] if isinstance(value, str) else value
    at: Place = ("sources", index, "access")
    if not isinstance(labels, list):
        message = f"sources[{index}].access must be a list of access labels, not {kind_of(value)}"
        findings.append(Finding(document, message, at))
        return False
    sound = True
    for number, label in enumerate(labels):
        if ACCESS_LABEL.match(text_of(label)) is None:
            place = at if isinstance(value, str) else (*at, number)
            shape = "profile:, agent:, team: or use_case: and a name without spaces"
            message = f"sources[{index}].access {shown(label)} is not an access label: {shape}"
            findings.append(Finding(document, message, place))
            sound = False
    return sound
