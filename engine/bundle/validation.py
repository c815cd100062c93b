"""The validation table of OKF 0.1 and 0.2: what a bundle must, and what it should, look like."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from openknowledge.engine.bundle.bundle import LATEST, SPEC_VERSIONS, Bundle
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.instants import parse_date, parse_instant
from openknowledge.engine.bundle.issues import Issue, Severity
from openknowledge.engine.bundle.links import Target, link_kind
from openknowledge.engine.bundle.okf import ACTOR, STATUSES, text_of, verified_list
from openknowledge.engine.bundle.slugs import slug
from openknowledge.engine.errors import UsageError

Override = Literal["error", "warning", "off"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the validation table. A ``fixed`` severity cannot be overridden."""

    id: str
    severity: Severity
    group: str
    summary: str
    fixed: bool = False
    only_spec: str = ""


_CORE = "OKF core"
_EXTENSION = "Open Knowledge extensions"

RULES: tuple[Rule, ...] = (
    Rule("bundle-read", "error", _CORE, "every file can be read and none is a symbolic link"),
    Rule("utf-8", "error", _CORE, "every page is valid UTF-8"),
    Rule("frontmatter", "error", _CORE, "frontmatter is closed, readable YAML 1.2 and a mapping"),
    Rule("concept-frontmatter", "error", _CORE, "every concept page has frontmatter"),
    Rule("concept-type", "error", _CORE, "every concept page has a non-empty type"),
    Rule(
        "index-frontmatter", "error", _CORE, "index pages carry no frontmatter beyond what is allowed there"
    ),
    Rule("log-frontmatter", "error", _CORE, "log pages carry no frontmatter"),
    Rule("log-date", "error", _CORE, "log headings are dates, newest first"),
    Rule("rule-catalog", "error", _EXTENSION, "the settings in .openknowledge.toml name known rules"),
    Rule("publish-metadata", "error", _EXTENSION, "okf_publish and okf_targets have their types", fixed=True),
    Rule("insight-contract", "error", _EXTENSION, "insight pages carry their required fields", fixed=True),
    Rule("claim-profile", "error", _EXTENSION, "typed claims follow the claim profile", fixed=True),
    Rule("corpus-schema", "error", _EXTENSION, "pages follow the bundle's own schema", fixed=True),
    Rule("frontmatter-format", "warning", _CORE, "frontmatter markers are exact and keys are not repeated"),
    Rule("markdown-syntax", "warning", _CORE, "annotations are known and closed, the text has no NUL"),
    Rule("okf-version", "warning", _CORE, "okf_version is a known version"),
    Rule(
        "okf-0.2-metadata",
        "warning",
        _CORE,
        "trust, lifecycle and source metadata are well formed",
        only_spec="0.2",
    ),
    Rule("link-target", "warning", _CORE, "links lead to something in the bundle"),
)
RULE_BY_ID: Mapping[str, Rule] = {rule.id: rule for rule in RULES}


def rules_for(spec: str) -> tuple[Rule, ...]:
    """Return the rules that apply under OKF version ``spec``: 17 under 0.1, 18 under 0.2."""
    return tuple(rule for rule in RULES if not rule.only_spec or rule.only_spec == spec)


_SEVERITY_WORDS: Mapping[str, Override] = {
    "error": "error",
    "warning": "warning",
    "warn": "warning",
    "off": "off",
    "ignore": "off",
}


def parse_override(rule_id: str, severity: str) -> tuple[str, Override]:
    """Return the override of one rule.

    Raises ``UsageError`` for an unknown rule or severity, or a rule whose severity is fixed.
    """
    rule = RULE_BY_ID.get(rule_id)
    if rule is None:
        raise UsageError(f"unknown rule {rule_id!r}; choose one of {', '.join(sorted(RULE_BY_ID))}")
    level = _SEVERITY_WORDS.get(severity)
    if level is None:
        raise UsageError(f"unknown severity {severity!r} for rule {rule_id}; choose error, warning or off")
    if rule.fixed and level != rule.severity:
        raise UsageError(f"the severity of rule {rule_id} is fixed: it is always {rule.severity}")
    return rule_id, level


def apply_overrides(issues: Iterable[Issue], overrides: Mapping[str, Override]) -> list[Issue]:
    """Return ``issues`` sorted, with the severities of ``overrides``; those that are off are left out."""
    kept = []
    for issue in issues:
        level = overrides.get(issue.rule, issue.severity)
        if level == "off":
            continue
        if level != issue.severity:
            issue = Issue(issue.path, issue.rule, level, issue.message, issue.line, issue.column)
        kept.append(issue)
    kept.sort(key=lambda issue: issue.sort_key)
    return kept


def validate_okf(bundle: Bundle) -> list[Issue]:
    """Return every issue of the OKF rules in ``bundle``, unsorted. Claims are checked elsewhere."""
    issues = list(bundle.issues)
    links = _Links(bundle)
    for document in bundle.documents:
        if document.frontmatter.problems:
            issues.extend(problem.at(document.path) for problem in document.frontmatter.problems)
        if document.kind == "concept":
            issues.extend(_check_concept(document))
        elif document.kind == "index":
            issues.extend(_check_index(document))
        else:
            issues.extend(_check_log(document))
        if document.frontmatter.present and document.fields:
            issues.extend(_check_publish(document))
            if bundle.spec == "0.2":
                issues.extend(_check_metadata(document))
        if not links.are_plainly_right(document):
            issues.extend(problem.at(document.path) for problem in document.outline.problems)
            issues.extend(links.check(document))
    return issues


def _issue(
    document: Document, rule: str, message: str, *path: str | int, severity: Severity | None = None
) -> Issue:
    line, column = document.frontmatter.position(*path)
    return Issue(document.path, rule, severity or RULE_BY_ID[rule].severity, message, line, column)


def _check_concept(document: Document) -> Iterator[Issue]:
    front = document.frontmatter
    if not front.present:
        hint = next((p.message for p in front.problems if "must start on line 1" in p.message), "")
        message = "concept page has no frontmatter: start the file with ---, type: ..., ---"
        yield _issue(document, "concept-frontmatter", f"{message} ({hint})" if hint else message)
    elif not front.broken and not document.type:
        value = front.data.get("type")
        if "type" not in front.data:
            message = "frontmatter has no type"
        elif isinstance(value, str) or value is None:
            message = "type is empty"
        else:
            message = f"type must be a string, not {_kind(value)}"
        yield _issue(document, "concept-type", message, "type")
    if document.type == _INSIGHT:
        yield from _check_insight(document)


_INSIGHT = "Open Knowledge Insight"
_INSIGHT_STRINGS = ("title", "description", "okf_insight_id", "okf_insight_kind", "okf_insight_created_at")


def _check_insight(document: Document) -> Iterator[Issue]:
    fields = document.fields
    for name in _INSIGHT_STRINGS:
        if not text_of(fields.get(name)):
            yield _issue(document, "insight-contract", f"an insight page needs {name}", name)
    created = text_of(fields.get("okf_insight_created_at"))
    if created and parse_instant(created) is None:
        message = "okf_insight_created_at must be an RFC 3339 timestamp with offset"
        yield _issue(document, "insight-contract", message, "okf_insight_created_at")
    if fields.get("okf_publish") is not False:
        yield _issue(document, "insight-contract", "an insight page needs okf_publish: false", "okf_publish")
    targets = fields.get("okf_insight_targets")
    if not isinstance(targets, list) or not targets or not all(text_of(item) for item in targets):
        message = "an insight page needs okf_insight_targets, a list of bundle paths"
        yield _issue(document, "insight-contract", message, "okf_insight_targets")


_INDEX_KEYS = frozenset({"okf_publish", "okf_targets"})
_ROOT_INDEX_KEYS = _INDEX_KEYS | {"okf_version", "corpus_schema"}
_CLAIM_KEYS = frozenset(
    {"openknowledge_claim_profile", "claim_ontology", "claims", "claim_refs", "sources", "owner", "owners"}
)


def _check_index(document: Document) -> Iterator[Issue]:
    front = document.frontmatter
    if not front.present:
        return
    is_root = "/" not in document.path
    allowed = (_ROOT_INDEX_KEYS if is_root else _INDEX_KEYS) | _CLAIM_KEYS
    for key in front.data:
        if key not in allowed:
            where = "the root index" if is_root else "a nested index"
            names = ", ".join(sorted(_ROOT_INDEX_KEYS if is_root else _INDEX_KEYS))
            yield _issue(
                document, "index-frontmatter", f"{where} may not carry {_shown(key)}; allowed: {names}", key
            )
    if not front.data and not front.broken and front.closed:
        yield _issue(
            document, "index-frontmatter", "an index page has no frontmatter; remove the empty block"
        )
    if is_root and "okf_version" in front.data:
        version = front.data["okf_version"]
        if not isinstance(version, str):
            message = f"okf_version must be a string, not {_kind(version)}"
            if isinstance(version, int | float) and not isinstance(version, bool):
                message = f'okf_version must be a string: write okf_version: "{_shown(version)}"'
            yield _issue(document, "okf-version", message, "okf_version")
        elif version not in SPEC_VERSIONS:
            known = ", ".join(SPEC_VERSIONS)
            message = f"okf_version {_shown(version)} is unknown (known: {known}); read as {LATEST}"
            yield _issue(document, "okf-version", message, "okf_version")


_LOG_LEVEL = 2


def _check_log(document: Document) -> Iterator[Issue]:
    front = document.frontmatter
    if front.present and not (front.data and set(front.data) <= _INDEX_KEYS | _CLAIM_KEYS):
        yield _issue(document, "log-frontmatter", "a log page has no frontmatter; remove the block")
    previous = None
    for heading in document.outline.headings:
        if heading.level != _LOG_LEVEL:
            continue
        day = parse_date(heading.text)
        if day is None:
            message = f"log heading {_shown(heading.text)} is not a date YYYY-MM-DD"
            yield Issue(document.path, "log-date", "error", message, heading.line)
        elif previous is not None and day > previous:
            message = f"log heading {heading.text} comes after an older one; newest first"
            yield Issue(document.path, "log-date", "error", message, heading.line)
        previous = day or previous


def _check_publish(document: Document) -> Iterator[Issue]:
    fields = document.fields
    if "okf_publish" in fields and not isinstance(fields["okf_publish"], bool):
        message = f"okf_publish must be true or false, not {_kind(fields['okf_publish'])}"
        yield _issue(document, "publish-metadata", message, "okf_publish")
    if "okf_targets" in fields:
        targets = fields["okf_targets"]
        if not isinstance(targets, list) or not all(text_of(item) for item in targets):
            message = "okf_targets must be a list of non-empty strings"
            yield _issue(document, "publish-metadata", message, "okf_targets")


_METADATA_KEYS = frozenset(
    {"generated", "verified", "status", "stale_after", "sources", "usage_window", "parameters", "executor"}
)


def _check_metadata(document: Document) -> Iterator[Issue]:
    fields = document.fields
    if not _METADATA_KEYS.isdisjoint(fields):
        yield from _check_trust(document, fields)
        if "sources" in fields:
            yield from _check_sources(document, fields["sources"])
        if "usage_window" in fields:
            yield from _check_window(document, fields["usage_window"], "usage_window")
    if document.type == "Attested Computation":
        yield from _check_computation(document, fields)


_RULE_02 = "okf-0.2-metadata"


def _check_trust(document: Document, fields: dict[str, Any]) -> Iterator[Issue]:
    if "generated" in fields:
        yield from _check_event(document, fields["generated"], "generated")
    if "verified" in fields:
        value = fields["verified"]
        if not isinstance(value, list | dict):
            message = f"verified must be a list of {{by, at}}, not {_kind(value)}"
            yield _issue(document, _RULE_02, message, "verified")
        for index, item in enumerate(verified_list(value)):
            at = ("verified", index) if isinstance(value, list) else ("verified",)
            yield from _check_event(document, item, *at)
    if "status" in fields and fields["status"] not in STATUSES:
        message = f"status {_shown(fields['status'])} is not one of {', '.join(STATUSES)}"
        yield _issue(document, _RULE_02, message, "status")
    if "stale_after" in fields:
        yield from _check_instant(document, fields["stale_after"], "stale_after")


def _check_event(document: Document, value: Any, *path: str | int) -> Iterator[Issue]:
    name = path[0]
    if not isinstance(value, dict):
        yield _issue(document, _RULE_02, f"{name} must be a mapping {{by, at}}, not {_kind(value)}", *path)
        return
    by = value.get("by")
    if not text_of(by):
        yield _issue(document, _RULE_02, f"{name} needs by, the actor", *path)
    elif not ACTOR.match(text_of(by)):
        message = f"actor {_shown(by)} is not <producer>/<version>, human:<id> or process:<id>"
        yield _issue(document, _RULE_02, message, *path, "by")
    if "at" in value:
        yield from _check_instant(document, value["at"], *path, "at")
    elif name == "verified":
        yield _issue(document, _RULE_02, "verified entry needs at, an RFC 3339 timestamp", *path)


def _check_instant(document: Document, value: Any, *path: str | int) -> Iterator[Issue]:
    if isinstance(value, str):
        text = text_of(value)
        if parse_instant(text) is not None:
            return
        name = path[-1]
        if parse_date(text) is not None:
            message = f"{name} {text} is a date alone; write a full timestamp such as {text}T00:00:00Z"
        else:
            message = f"{name} {_shown(value)} is not an RFC 3339 timestamp with an explicit UTC offset"
    else:
        message = f"{path[-1]} must be an RFC 3339 timestamp, not {_kind(value)}"
    yield _issue(document, _RULE_02, message, *path)


def _check_sources(document: Document, value: Any) -> Iterator[Issue]:
    if not isinstance(value, list):
        yield _issue(document, _RULE_02, f"sources must be a list, not {_kind(value)}", "sources")
        return
    known: set[str] = set()
    for index, item in enumerate(value):
        at: tuple[str | int, ...] = ("sources", index)
        if not isinstance(item, dict):
            yield _issue(document, _RULE_02, f"a source must be a mapping, not {_kind(item)}", *at)
            continue
        if not text_of(item.get("resource")):
            yield _issue(document, _RULE_02, "a source needs resource", *at)
        if "id" in item:
            name = text_of(item["id"])
            if not name:
                yield _issue(document, _RULE_02, "a source id must be a non-empty string", *at, "id")
            elif name in known:
                yield _issue(
                    document, _RULE_02, f"source id {_shown(name)} is used more than once", *at, "id"
                )
            known.add(name)
        if "last_modified" in item:
            yield from _check_instant(document, item["last_modified"], *at, "last_modified")
        if "usage_window" in item:
            yield from _check_window(document, item["usage_window"], *at, "usage_window")
        count = item.get("usage_count")
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
            message = f"usage_count must be a whole number of at least 0, not {_shown(count)}"
            yield _issue(document, _RULE_02, message, *at, "usage_count")
    body = document.frontmatter.body
    if not known or "[^" not in body or known.issuperset(_FOOTNOTE.findall(body)):
        return
    for label, line, column in document.outline.footnotes:
        if label not in known:
            known.add(label)  # once per label: a reference and its definition are one fault
            message = f"footnote [^{label[:_SHOWN]}] matches no id in sources"
            yield Issue(document.path, _RULE_02, "warning", message, line, column)


def _check_window(document: Document, value: Any, *path: str | int) -> Iterator[Issue]:
    if not isinstance(value, dict):
        yield _issue(
            document, _RULE_02, f"usage_window must be a mapping {{from, to}}, not {_kind(value)}", *path
        )
        return
    for name in ("from", "to"):
        if name in value:
            yield from _check_instant(document, value[name], *path, name)


def _check_computation(document: Document, fields: dict[str, Any]) -> Iterator[Issue]:
    if not text_of(fields.get("runtime")):
        yield _issue(document, _RULE_02, "an Attested Computation needs runtime", "runtime")
    if not text_of(fields.get("computation")) and not _has_computation(document):
        message = "an Attested Computation needs computation, or one code block under # Computation"
        yield _issue(document, _RULE_02, message, "computation")
    parameters = fields.get("parameters")
    if parameters is not None and not isinstance(parameters, list):
        message = f"parameters must be a list of {{name, type, required}}, not {_kind(parameters)}"
        yield _issue(document, _RULE_02, message, "parameters")
    for index, item in enumerate(parameters if isinstance(parameters, list) else ()):
        if not isinstance(item, dict) or not text_of(item.get("name")):
            message = "a parameter must be a mapping with name"
            yield _issue(document, _RULE_02, message, "parameters", index)
        elif not isinstance(item.get("required", False), bool):
            message = f"required must be true or false, not {_kind(item['required'])}"
            yield _issue(document, _RULE_02, message, "parameters", index, "required")
    for name in ("executor", "attester"):
        value = fields.get(name)
        if value is not None and (not isinstance(value, dict) or not text_of(value.get("resource"))):
            yield _issue(document, _RULE_02, f"{name} must be a mapping with resource", name)


_WEB_SLUG_DROPPED = re.compile(r"[^\w\- ]")
_WEB_NUMBER = re.compile(r"-[0-9]+\Z")
# what every inline link has, and the forms of it whose target is plain from the text alone
_INLINE = "]("
_PLAIN_INLINE = re.compile(
    r"\]\((?:https?://[^\s()<>]*+|#[^\s()<>]*+|([^\s()<>\\&%?#:]++(?:#[^\s()<>\\&%]*+)?))\)"
)
_DEFINITION = "]:"
_FOOTNOTE = re.compile(r"\[\^([^\[\]\s]++)\]")
_FOOTNOTE_DEFINITION = re.compile(r"\[\^[^\[\]\s]++\]:")


class _Links:
    """Checks the links of pages against one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._anchors: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    def are_plainly_right(self, document: Document) -> bool:
        """Whether the text alone shows that parsing its Markdown would find nothing to report.

        Everything that could be a link is looked at, in code and comments too: when all of that leads
        somewhere, so do the links. Most pages need no more.
        """
        if document.is_outlined:
            return False
        body = document.frontmatter.body
        if "\x00" in body or "<!--" in body:
            return False
        if _DEFINITION in body and body.count(_DEFINITION) != len(_FOOTNOTE_DEFINITION.findall(body)):
            return False
        if _INLINE not in body:
            return True
        hrefs = _PLAIN_INLINE.findall(body)
        if len(hrefs) != body.count(_INLINE):
            return False
        resolver = self._bundle.resolver
        folder = document.path.rpartition("/")[0]
        for href in hrefs:
            if href and not resolver.leads_to_file(href, folder):
                target = resolver.resolve(href, document.path)
                if not target.exists or (target.anchor and self._misses(target)):
                    return False
        return True

    def check(self, document: Document) -> Iterator[Issue]:
        """Return an issue for each link of ``document`` that leads nowhere."""
        for link, target in self._bundle.local_links(document):
            if target.outside:
                message = f"link {_shown(link.href)} leaves the bundle"
            elif not target.exists:
                message = f"link target {_shown(target.path)} does not exist"
            elif target.anchor and self._misses(target):
                message = f"link target {_shown(target.path)} has no anchor {_shown(target.anchor)}"
            else:
                continue
            yield Issue(document.path, "link-target", "warning", message, *link.at)

    def _misses(self, target: Target) -> bool:
        """Whether ``target`` is a page on which its anchor names nothing."""
        names = self._anchors.get(target.path)
        if names is None:
            page = self._bundle.by_path.get(target.path)
            if page is None:
                return False
            names = self._anchors[target.path] = (page.outline.html_ids, _heading_names(page))
        wanted = target.anchor.lower()
        unnumbered = _WEB_NUMBER.sub("", wanted)  # forges count repeated headings from 1
        ids, headings = names
        return target.anchor not in ids and headings.isdisjoint({wanted, unnumbered, slug(target.anchor)})


def _heading_names(page: Document) -> frozenset[str]:
    """Return what a fragment can call the headings of ``page``, in any common style of slugs."""
    names = {"top"}
    for heading in page.outline.headings:
        names.add(heading.slug)
        # forges keep letters that are folded here, and turn each space into a hyphen
        names.add(_WEB_SLUG_DROPPED.sub("", heading.text.lower()).replace(" ", "-"))
    return frozenset(names)


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _has_computation(document: Document) -> bool:
    """Whether the page has a code block under a heading Computation."""
    found = document.outline
    for index, heading in enumerate(found.headings):
        if heading.slug == "computation":
            below = (other.line for other in found.headings[index + 1 :] if other.level <= heading.level)
            end = next(below, math.inf)
            return any(heading.line < first < end for first, _ in found.code_lines)
    return False


_SHOWN = 200  # characters of a value that a message quotes


def _shown(value: Any) -> str:
    """Return ``value`` quoted for a message, cut where it is long."""
    if isinstance(value, dict | list | bool | None):
        return _kind(value)
    text = value if isinstance(value, str) else str(value)
    if len(text) > _SHOWN:
        text = text[: _SHOWN - 3] + "..."
    return repr(text) if isinstance(value, str) else text


__all__ = [
    "RULES",
    "RULE_BY_ID",
    "Override",
    "Rule",
    "apply_overrides",
    "link_kind",
    "parse_override",
    "rules_for",
    "validate_okf",
]
