"""Every check that ``okn check`` runs: what it looks for, how grave it is, and how it says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Literal

from openknowledge.engine.analysis.conclusions import Conclusions
from openknowledge.engine.analysis.findings import Finding, Grounds, Severity, ordered
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.okf import text_of
from openknowledge.engine.bundle.validation import RULES
from openknowledge.engine.claims.model import Claim
from openknowledge.engine.datalog import Model, Proof, display_atom
from openknowledge.engine.datalog.proof import ASSERTED
from openknowledge.engine.errors import UsageError

Group = Literal["validation", "claims", "pages", "policy"]
Row = tuple[Any, ...]
Place = tuple[str | int, ...]

ISSUE_SEVERITY: dict[str, Severity] = {"error": "high", "warning": "medium"}
"""How grave an issue of validation is as a finding."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check. ``head`` is the predicate whose facts are its findings; ``""`` for checks of validation.

    With ``on_request`` it runs only when it is asked for by name.
    """

    id: str
    severity: Severity
    group: Group
    summary: str
    head: str = ""
    on_request: bool = False


POLICY_ERROR = "policy-error"

_DERIVED: tuple[Check, ...] = (
    Check("claim-stale", "high", "claims", "no claim has passed its stale_after", "expired_claim"),
    Check(
        "claim-evidence-stale",
        "high",
        "claims",
        "the evidence of each reviewed claim is still what was reviewed",
        "drifted_claim",
    ),
    Check(
        "claim-conflict",
        "high",
        "claims",
        "active claims do not give one question more answers than it may have",
        "conflicting",
    ),
    Check(
        "claim-contradiction",
        "medium",
        "claims",
        "no active claim says that it contradicts another active one",
        "contradicting",
    ),
    Check("claim-duplicate", "medium", "claims", "no two claims say the same", "duplicate"),
    Check("claim-missing-evidence", "medium", "claims", "each claim has evidence", "unsupported_claim"),
    Check(
        "claim-rests-on-ended",
        "medium",
        "claims",
        "no claim is derived from one that was rejected, superseded or archived",
        "rests_on_ended",
    ),
    Check(
        "claim-review-outdated",
        "low",
        "claims",
        "no page was rewritten after its claim was verified",
        "claim_verification_outdated",
    ),
    Check("relies-on-stale", "medium", "claims", "no page refers to a stale claim", "relies_on_stale"),
    Check("stale", "high", "pages", "no page has passed its stale_after", "expired_page"),
    Check(
        "review-outdated", "low", "pages", "no page was rewritten after it was verified", "outdated_review"
    ),
    Check(
        "missing-source-resource",
        "high",
        "pages",
        "each source that is a file of the bundle is there",
        "missing_source_file",
    ),
    Check("identical-body", "medium", "pages", "no two pages have the same text", "identical_body"),
    Check("duplicate-title", "medium", "pages", "no two pages have the same title", "duplicate_title"),
    Check("missing-source", "medium", "pages", "each page names a source", "missing_source", on_request=True),
    Check("missing-owner", "medium", "pages", "each page has an owner", "missing_owner", on_request=True),
)

CHECKS: tuple[Check, ...] = (
    *(Check(rule.id, ISSUE_SEVERITY[rule.severity], "validation", rule.summary) for rule in RULES),
    *_DERIVED,
    Check(POLICY_ERROR, "high", "policy", "the bundle's policies can be read and run"),
)
"""Every built-in check. Policies add one for each of their files."""


def policy_check(path: str) -> Check:
    """Return the check that stands for the policy file at ``path``."""
    return Check(path, "high", "policy", f"the policy {path} finds nothing")


def selected(checks: Sequence[Check], only: Iterable[str], skip: Iterable[str]) -> list[Check]:
    """Return the checks to run. ``only`` and ``skip`` name rules, or patterns such as ``claim-*``.

    Raises ``UsageError`` for a name that no check has.
    """
    only, skip = list(only), list(skip)
    for pattern in (*only, *skip):
        if not any(fnmatchcase(check.id, pattern) for check in checks):
            from difflib import get_close_matches

            near = get_close_matches(pattern, [check.id for check in checks], n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise UsageError(f"unknown rule {pattern!r}{hint} (okn check --rules lists them)")
    return [
        check
        for check in checks
        if (not check.on_request if not only else any(fnmatchcase(check.id, name) for name in only))
        and not any(fnmatchcase(check.id, name) for name in skip)
    ]


class Places:
    """Finds the line on which the subject of a finding stands."""

    def __init__(self, conclusions: Conclusions) -> None:
        self._bundle = conclusions.bundle
        self._claims = conclusions.claims

    def page(self, document_id: str) -> Document | None:
        """Return the page with this id."""
        return self._bundle.by_id.get(document_id)

    def claim(self, claim_id: str) -> Claim | None:
        """Return the claim with this id."""
        return self._claims.by_id.get(claim_id)

    def of_page(self, document_id: str, *at: str | int) -> tuple[str, int, int] | None:
        """Return path, line and column of a page, or of the field at ``at``."""
        document = self.page(document_id)
        if document is None:
            return None
        return (document.path, *field_position(document, *at))

    def of_claim(self, claim_id: str, *at: str | int) -> tuple[str, int, int] | None:
        """Return path, line and column of a claim, or of its field at ``at``."""
        claim = self.claim(claim_id)
        if claim is None:
            return None
        return (claim.path, *claim.document.frontmatter.position("claims", claim.index, *at))

    def of_subject(self, subject: str) -> tuple[str, int, int] | None:
        """Return path, line and column of whatever ``subject`` names.

        A page (by id or path), section, claim, other file, entity or predicate; ``None`` for anything else.
        """
        found = self.of_page(subject) or self.of_claim(subject)
        if found is not None:
            return found
        document = self._bundle.by_path.get(subject)
        if document is not None:
            return document.path, 1, 1
        page, mark, _ = subject.rpartition("#")
        document = self.page(page) if mark else None
        for section in document.sections if document is not None else ():
            if section.id == subject:
                return section.path, section.line_start, 1
        if self._bundle.resolver.has(subject):
            return subject, 1, 1
        return self._of_term(subject)

    def _of_term(self, term: str) -> tuple[str, int, int] | None:
        ontology = self._claims.ontology
        for kind, field, known in (
            ("entity", "entities", ontology.entities),
            ("predicate", "predicates", ontology.predicates),
        ):
            if term in known:
                document = ontology.home(kind, term)
                items = document.fields["claim_ontology"].get(field, [])
                names = [ontology.terms.canonical[text_of(item.get("id"))] for item in items]
                at = (field, names.index(term)) if term in names else (field,)
                return (document.path, *document.frontmatter.position("claim_ontology", *at))
        return None


def field_position(document: Document, *at: str | int) -> tuple[int, int]:
    """Return line and column of a frontmatter field.

    A field at the top in block style is found without reading the YAML again.
    """
    if not at:
        return 1, 1
    front = document.frontmatter
    if len(at) == 1 and front.present and str(at[0]) in front.data:
        pattern = rf"^{re.escape(str(at[0]))}:[ ]+(?=[^\s#&!|>'\"\[{{])"
        found = list(re.finditer(pattern, front.source, re.MULTILINE))
        if len(found) == 1:
            line = front.source.count("\n", 0, found[0].start())
            return front.first_line + line, found[0].end() - found[0].start() + 1
    return front.position(*at)


@dataclass(slots=True)
class Run:
    """What a run of checks found: of the ``known`` checks the ones that ran are ``checks``.

    ``errors`` says that a policy could not be judged.
    """

    conclusions: Conclusions
    known: list[Check]
    checks: list[Check]
    findings: list[Finding]
    errors: bool = False

    @property
    def skipped(self) -> list[str]:
        """The checks that there are and that did not run."""
        ran = {check.id for check in self.checks}
        return [check.id for check in self.known if check.id not in ran]

    @property
    def now(self) -> datetime:
        """The instant as of which everything was judged."""
        return self.conclusions.store.now


def issue_findings(conclusions: Conclusions, checks: Iterable[Check]) -> Iterator[Finding]:
    """Yield the issues of validation that belong to ``checks``. Each is a base fact, its own proof."""
    wanted = {check.id for check in checks if check.group == "validation"}
    for issue in conclusions.issues:
        if issue.rule in wanted:
            yield issue_finding(conclusions, issue)


def issue_finding(conclusions: Conclusions, issue: Issue) -> Finding:
    """Return an issue as a finding."""
    row = (issue.path, issue.rule, issue.message)
    atom = display_atom("issue", row)
    proof = Proof(ASSERTED, atom, "issue", row)
    return Finding(
        issue.rule,
        ISSUE_SEVERITY[issue.severity],
        issue.path,
        issue.message,
        issue.path,
        issue.line,
        issue.column,
        atom,
        Grounds(lambda: proof, conclusions.places),
    )


def derived_findings(
    conclusions: Conclusions, checks: Iterable[Check], model: Model | None = None
) -> Iterator[Finding]:
    """Yield the facts that the rules behind ``checks`` derive, all of them in one program."""
    wanted = [check for check in checks if check.head]
    if not wanted:
        return
    model = model or conclusions.derive([check.head for check in wanted])
    places = Places(conclusions)
    for check in wanted:
        describe = _DESCRIPTIONS[check.id]
        for row in sorted(model[check.head]):
            subject, message, where = describe(places, row)
            path, line, column = where or (subject, 1, 1)
            yield Finding(
                check.id,
                check.severity,
                subject,
                message,
                path,
                line,
                column,
                display_atom(check.head, row),
                Grounds(partial(model.proof, check.head, row), conclusions.places),
            )


# How each check says what it found: subject, message, and path, line and column

Described = tuple[str, str, tuple[str, int, int] | None]
Describe = Callable[[Places, Row], Described]

_REASONS = {
    "source-gone": "is gone",
    "source-moved": "now cites another source than the one that was reviewed",
    "resource-moved": "now has another address than the one that was reviewed",
    "digest-changed": "is no longer the file that was reviewed",
    "file-missing": "is not there any more",
    "file-not-regular": "is no regular file any more",
    "file-too-large": "is too large to be compared",
    "file-unresolvable": "cannot be read",
}


def _title(places: Places, page: str) -> str:
    document = places.page(page)
    return document.path if document is not None else page


def _claim_stale(places: Places, row: Row) -> Described:
    claim, day = row
    message = f"claim {claim} is stale since {day}: confirm it again, or end it"
    return claim, message, places.of_claim(claim, "stale_after")


def _evidence_stale(places: Places, row: Row) -> Described:
    claim, evidence, reason = row
    what = _REASONS.get(reason, reason)
    message = f"evidence {evidence} of claim {claim} {what}: review the claim against what is there now"
    return claim, message, places.of_claim(claim)


def _object(places: Places, claim_id: str) -> str:
    claim = places.claim(claim_id)
    if claim is None:
        return "?"
    return f"{claim.object.text} {claim.object.unit}".rstrip()


def _where(places: Places, claim_id: str) -> str:
    found = places.of_claim(claim_id)
    return f"{found[0]}:{found[1]}" if found else claim_id


def _conflict(places: Places, row: Row) -> Described:
    claim, other = row
    message = (
        f"claim {claim} says {_object(places, claim)}, but {other} says {_object(places, other)} "
        f"({_where(places, other)}): both are active and cannot both hold"
    )
    return claim, message, places.of_claim(claim)


def _contradiction(places: Places, row: Row) -> Described:
    claim, other = row
    message = f"claim {claim} contradicts {other} ({_where(places, other)}), and both are active"
    return claim, message, places.of_claim(claim, "relations")


def _duplicate(places: Places, row: Row) -> Described:
    claim, first = row
    message = f"claim {claim} repeats {first} ({_where(places, first)}): same statement, time and sources"
    return claim, message, places.of_claim(claim)


def _unsupported(places: Places, row: Row) -> Described:
    return row[0], f"claim {row[0]} has no evidence", places.of_claim(row[0])


def _rests_on_ended(places: Places, row: Row) -> Described:
    claim, other = row
    ended = places.claim(other)
    status = ended.status if ended is not None else "ended"
    message = f"claim {claim} is derived from {other}, which is {status}"
    return claim, message, places.of_claim(claim, "relations")


def _claim_review(places: Places, row: Row) -> Described:
    claim, verified, written = row
    message = f"claim {claim} was verified on {verified[:10]}, but its page was written on {written[:10]}"
    return claim, message, places.of_claim(claim, "verification")


def _relies_on_stale(places: Places, row: Row) -> Described:
    page, claim = row
    message = f"this page refers to claim {claim}, which is stale ({_where(places, claim)})"
    return page, message, places.of_page(page, "claim_refs")


def _stale(places: Places, row: Row) -> Described:
    document = places.page(row[0])
    limit = document.metadata.stale_after if document is not None else ""
    return row[0], f"this page is stale since {limit}", places.of_page(row[0], "stale_after")


def _review(places: Places, row: Row) -> Described:
    message = "every verification of this page is older than its text"
    return row[0], message, places.of_page(row[0], "verified")


def _source_file(places: Places, row: Row) -> Described:
    page, source, resource = row
    document = places.page(page)
    at: Place = ("sources",)
    for item in document.metadata.sources if document is not None else ():
        if item.id == source and item.resource == resource:
            at = ("sources", item.index)
    name = f"source {source}" if source else "a source"
    message = f"{name} is the file {resource}, which is not in the bundle"
    return page, message, places.of_page(page, *at)


def _identical(places: Places, row: Row) -> Described:
    message = f"this page has the same text as {_title(places, row[1])}"
    return row[0], message, places.of_page(row[0])


def _same_title(places: Places, row: Row) -> Described:
    message = f"this page has the same title as {_title(places, row[1])}"
    return row[0], message, places.of_page(row[0], "title")


def _no_source(places: Places, row: Row) -> Described:
    return row[0], "this page names no source", places.of_page(row[0])


def _no_owner(places: Places, row: Row) -> Described:
    return row[0], "this page has no owner", places.of_page(row[0])


_DESCRIPTIONS: dict[str, Describe] = {
    "claim-stale": _claim_stale,
    "claim-evidence-stale": _evidence_stale,
    "claim-conflict": _conflict,
    "claim-contradiction": _contradiction,
    "claim-duplicate": _duplicate,
    "claim-missing-evidence": _unsupported,
    "claim-rests-on-ended": _rests_on_ended,
    "claim-review-outdated": _claim_review,
    "relies-on-stale": _relies_on_stale,
    "stale": _stale,
    "review-outdated": _review,
    "missing-source-resource": _source_file,
    "identical-body": _identical,
    "duplicate-title": _same_title,
    "missing-source": _no_source,
    "missing-owner": _no_owner,
}


def known_checks(conclusions: Conclusions) -> list[Check]:
    """Return the built-in checks and one for each policy of the bundle."""
    from openknowledge.engine.analysis.policies import policy_files

    files, _ = policy_files(conclusions)
    return [*CHECKS, *(policy_check(text.source) for text in files)]


def run_checks(conclusions: Conclusions, *, only: Iterable[str] = (), skip: Iterable[str] = ()) -> Run:
    """Run every check over one store, or those that ``only`` and ``skip`` leave.

    A policy that cannot be read or run is a finding, and sets ``errors``: whatever else was found, the gate
    has not been judged. Raises ``UsageError`` for an unknown rule.
    """
    from openknowledge.engine.analysis.policies import policy_files, policy_findings

    files, problems = policy_files(conclusions)
    known = [*CHECKS, *(policy_check(text.source) for text in files)]
    checks = selected(known, only, skip)
    findings = [*issue_findings(conclusions, checks), *derived_findings(conclusions, checks)]
    names = {check.id for check in checks if check.group == "policy"}
    if not names:
        problems = []
    elif files and not problems:
        judged, problems = policy_findings(conclusions, files)
        findings += [finding for finding in judged if finding.rule in names]
    findings += problems
    return Run(conclusions, known, checks, ordered(findings), errors=bool(problems))
