"""What changed between two states of a bundle, and what that does to the knowledge in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from openknowledge.engine.analysis.checks import Run, field_position, run_checks
from openknowledge.engine.analysis.conclusions import Conclusions
from openknowledge.engine.analysis.findings import NEVER, Finding, reaches
from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.instants import format_instant
from openknowledge.engine.claims.machine import claim_json
from openknowledge.engine.claims.model import Claim
from openknowledge.engine.datalog import Proof

if TYPE_CHECKING:
    from openknowledge.engine.store import Store
    from openknowledge.schemas.diff import (
        Affected as AffectedJson,
    )
    from openknowledge.schemas.diff import (
        ClaimChange as ClaimJson,
    )
    from openknowledge.schemas.diff import (
        DiffReport,
        DiffSide,
        FieldChange,
    )
    from openknowledge.schemas.diff import (
        PageChange as PageJson,
    )

ClaimKind = Literal["added", "removed", "changed", "lifecycle", "moved", "quarantined", "released"]
CLAIM_KINDS: tuple[ClaimKind, ...] = (
    "added",
    "removed",
    "changed",
    "lifecycle",
    "moved",
    "quarantined",
    "released",
)
PAGE_KINDS = ("added", "removed", "renamed", "changed")
_DERIVED_FIELDS = ("id", "trustTier", "stale", "staleEvidence", "declaringPath")
"""What the JSON of a claim has beside what the claim says."""


@dataclass(frozen=True)
class Side:
    """A state of a bundle: what to call it, its commit if it is one, and what the checks found in it."""

    name: str
    commit: str
    run: Run

    @classmethod
    def of(cls, store: Store, name: str, commit: str = "") -> Side:
        """Judge ``store``."""
        return cls(name, commit, run_checks(Conclusions(store)))

    @property
    def conclusions(self) -> Conclusions:
        """The facts of this state and what follows from them."""
        return self.run.conclusions

    @property
    def bundle(self) -> Bundle:
        """The pages of this state."""
        return self.run.conclusions.bundle

    @property
    def claims(self) -> Mapping[str, Claim]:
        """The claims of this state that are not in quarantine, by id."""
        return self.run.conclusions.claims.by_id

    @property
    def declared(self) -> frozenset[str]:
        """The ids of all claims that its pages declare."""
        pages = self.run.conclusions.claims.claim_set.pages
        return frozenset(claim.id for page in pages for claim in page.claims) | frozenset(
            name for page in pages for name, _ in page.broken if name
        )


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """What happened to one claim. ``fields`` are the changed ones: name, before, after."""

    kind: ClaimKind
    id: str
    claim: Claim | None
    path: str
    line: int
    fields: tuple[tuple[str, Any, Any], ...] = ()
    superseded_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SectionChange:
    """What happened to one section of a page."""

    kind: str
    id: str
    heading: str
    line: int


@dataclass(frozen=True, slots=True)
class PageChange:
    """What happened to one page. ``before`` is its old path when it was renamed."""

    kind: str
    path: str
    before: str = ""
    frontmatter: bool = False
    sections: tuple[SectionChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Affected:
    """A page or claim that depends on a claim that changed, and the proof of it."""

    subject: str
    kind: Literal["page", "claim"]
    how: str
    claim: str
    path: str
    line: int
    changed: bool
    proof: Proof = field(compare=False, repr=False)
    conclusions: Conclusions = field(compare=False, repr=False)


@dataclass(frozen=True)
class Diff:
    """Everything that changed from ``base`` to ``head``."""

    base: Side
    head: Side
    claims: list[ClaimChange]
    pages: list[PageChange]
    new: list[Finding]
    fixed: list[Finding]
    affected: list[Affected]

    def failed(self, fail_on: str) -> bool:
        """Whether a new finding reaches the threshold, or the policies of the new state cannot be judged."""
        if fail_on == NEVER:
            return False
        return self.head.run.errors or any(reaches(finding.severity, fail_on) for finding in self.new)

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed at all."""
        return not (self.claims or self.pages or self.new or self.fixed)


def compare(base: Side, head: Side) -> Diff:
    """Return what changed from ``base`` to ``head``."""
    pages = _pages(base.bundle, head.bundle)
    claims = _claims(base, head)
    renamed = {change.before: change.path for change in pages if change.kind == "renamed"}
    before = {_identity(finding, renamed): finding for finding in base.run.findings}
    after = {_identity(finding, {}): finding for finding in head.run.findings}
    return Diff(
        base,
        head,
        claims,
        pages,
        [finding for key, finding in after.items() if key not in before],
        [finding for key, finding in before.items() if key not in after],
        _affected(base, head, claims, pages, after.keys() - before.keys(), after),
    )


Identity = tuple[str, str, str, int]


def _identity(finding: Finding, renamed: Mapping[str, str]) -> Identity:
    """Return what tells that a finding is the same one in both states, whatever its page is called."""
    path, atom = finding.path, finding.atom
    if renamed:
        from openknowledge.engine.bundle.document import document_id
        from openknowledge.engine.datalog import display

        for old, new in renamed.items():
            for one, other in ((old, new), (document_id(old), document_id(new))):
                shown, changed = display(one), display(other)
                atom = atom.replace(shown, changed).replace(shown[:-1] + "#", changed[:-1] + "#")
        path = renamed.get(path, path)
    return finding.rule, path, atom, finding.number


# Pages


def _pages(before: Bundle, after: Bundle) -> list[PageChange]:
    old, new = before.by_path, after.by_path
    gone = sorted(old.keys() - new.keys())
    come = sorted(new.keys() - old.keys())
    by_bytes: dict[bytes, list[str]] = defaultdict(list)
    for path in gone:
        by_bytes[old[path].data].append(path)
    changes = []
    renamed = set()
    for path in come:
        same = by_bytes.get(new[path].data)
        if same:
            origin = same.pop(0)
            renamed.add(origin)
            changes.append(PageChange("renamed", path, origin))
        else:
            sections = tuple(
                SectionChange("added", section.id, section.heading, section.line_start)
                for section in new[path].sections
            )
            changes.append(PageChange("added", path, sections=sections))
    changes += [PageChange("removed", path) for path in gone if path not in renamed]
    for path in sorted(old.keys() & new.keys()):
        if old[path] is not new[path] and old[path].data != new[path].data:
            frontmatter = old[path].frontmatter.source != new[path].frontmatter.source
            changes.append(PageChange("changed", path, "", frontmatter, _sections(old[path], new[path])))
    return sorted(changes, key=lambda change: change.path)


def _sections(before: Document, after: Document) -> tuple[SectionChange, ...]:
    old = {section.id: section for section in before.sections}
    new = {section.id: section for section in after.sections}
    changes = []
    for name, section in new.items():
        if name not in old:
            changes.append(SectionChange("added", name, section.heading, section.line_start))
        elif old[name].content_sha256 != section.content_sha256:
            changes.append(SectionChange("changed", name, section.heading, section.line_start))
    for name, section in old.items():
        if name not in new:
            changes.append(SectionChange("removed", name, section.heading, section.line_start))
    return tuple(changes)


# Claims


def _claims(base: Side, head: Side) -> list[ClaimChange]:
    old, new = base.claims, head.claims
    old_declared, new_declared = base.declared, head.declared
    later: dict[str, list[str]] = defaultdict(list)
    for claim in new.values():
        for target in claim.supersedes:
            later[target].append(claim.id)
    changes = []
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if after is None:
            assert before is not None  # noqa: S101 - it is in one of the two
            kind: ClaimKind = "quarantined" if name in new_declared else "removed"
            changes.append(ClaimChange(kind, name, before, before.path, before.line))
        elif before is None:
            kind = "released" if name in old_declared else "added"
            changes.append(ClaimChange(kind, name, after, after.path, after.line))
        else:
            change = _compared(base, head, before, after, tuple(sorted(later[name])))
            if change is not None:
                changes.append(change)
    return changes


def _compared(
    base: Side, head: Side, before: Claim, after: Claim, later: tuple[str, ...]
) -> ClaimChange | None:
    fields: list[tuple[str, Any, Any]] = []
    if before != after:
        one, other = _said(before, base.conclusions), _said(after, head.conclusions)
        names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
        fields = [(name, one.get(name), other.get(name)) for name in names]
    held, holds = base.conclusions.claims.active(before), head.conclusions.claims.active(after)
    if held != holds:
        fields.append(("active", held, holds))
    if before.path != after.path:
        fields.append(("path", before.path, after.path))
    if not fields:
        return None
    kind: ClaimKind = "changed"
    if before.status != after.status or held != holds:
        kind = "lifecycle"
    elif [name for name, _, _ in fields] == ["path"]:
        kind = "moved"
    ended = later if after.status == "superseded" else ()
    return ClaimChange(kind, after.id, after, after.path, after.line, tuple(fields), ended)


def _said(claim: Claim, conclusions: Conclusions) -> dict[str, Any]:
    shown = cast("dict[str, Any]", claim_json(claim, conclusions.claims))
    return {name: value for name, value in shown.items() if name not in _DERIVED_FIELDS}


# What depends on what changed

_UNINFORMATIVE = ("declares",)
WEAK = ("links", "shares-source")
"""Ways to depend on a claim that need not mean that the page says the same."""


def _affected(
    base: Side,
    head: Side,
    claims: Iterable[ClaimChange],
    pages: Iterable[PageChange],
    new: Iterable[Identity],
    findings: Mapping[Identity, Finding],
) -> list[Affected]:
    """Return what depends on the claims that changed, went, or became stale.

    What depends on a claim that is gone depends on it in the state before.
    """
    changed_pages = {change.path for change in pages}
    changed_pages |= {change.before for change in pages if change.before}
    gone = {change.id for change in claims if change.kind in ("removed", "quarantined")}
    other = {change.id for change in claims if change.kind in ("changed", "lifecycle")}
    stale = ("claim-stale", "claim-evidence-stale")
    other |= {findings[key].subject for key in new if findings[key].rule in stale}
    found = [
        *_dependents(base, gone, changed_pages),
        *_dependents(head, other - gone, changed_pages),
    ]
    return sorted(found, key=lambda item: (item.path, item.line, item.subject, item.claim, item.how))


def _dependents(side: Side, claims: set[str], changed: set[str]) -> list[Affected]:
    if not claims:
        return []
    conclusions = side.conclusions
    model = conclusions.derive(["affected_document", "affected_claim"])
    found = []
    for row in model["affected_document"]:
        claim, page, how = (str(value) for value in row)
        if claim in claims and how not in _UNINFORMATIVE:
            document = conclusions.bundle.by_id[page]
            line, _ = field_position(document, "claim_refs") if how.startswith("refers") else (1, 1)
            proof = model.proof("affected_document", row)
            found.append(
                Affected(
                    page,
                    "page",
                    how,
                    claim,
                    document.path,
                    line,
                    document.path in changed,
                    proof,
                    conclusions,
                )
            )
    for row in model["affected_claim"]:
        claim, dependent = (str(value) for value in row)
        if claim in claims and dependent in side.claims:
            target = side.claims[dependent]
            proof = model.proof("affected_claim", row)
            found.append(
                Affected(
                    dependent,
                    "claim",
                    "derived",
                    claim,
                    target.path,
                    target.line,
                    target.path in changed,
                    proof,
                    conclusions,
                )
            )
    return found


# For programs


def diff_report(diff: Diff, fail_on: str) -> DiffReport:
    """Return the difference as JSON."""
    from openknowledge.engine.analysis.reporting.outcome import finding_json

    claims: list[ClaimJson] = [_claim_change_json(change) for change in diff.claims]
    pages: list[PageJson] = []
    for page in diff.pages:
        shown: PageJson = {
            "path": page.path,
            "change": page.kind,
            "frontmatter": page.frontmatter,
            "sections": [
                {
                    "id": section.id,
                    "heading": section.heading,
                    "change": section.kind,
                    "line": section.line,
                }
                for section in page.sections
            ],
        }
        if page.before:
            shown["before"] = page.before
        pages.append(shown)
    affected: list[AffectedJson] = [
        {
            "subject": item.subject,
            "kind": item.kind,
            "how": item.how,
            "claim": item.claim,
            "path": item.path,
            "line": item.line,
            "changed": item.changed,
            "proof": cast("Any", item.proof.to_json()),
        }
        for item in diff.affected
    ]
    return {
        "schemaVersion": "1",
        "root": str(diff.head.bundle.root),
        "base": _side(diff.base),
        "head": _side(diff.head),
        "summary": {
            "status": "fail" if diff.failed(fail_on) else "pass",
            "failOn": fail_on,
            "claims": {kind: sum(1 for change in diff.claims if change.kind == kind) for kind in CLAIM_KINDS},
            "pages": {kind: sum(1 for change in diff.pages if change.kind == kind) for kind in PAGE_KINDS},
            "newFindings": len(diff.new),
            "fixedFindings": len(diff.fixed),
            "affected": len(diff.affected),
        },
        "claims": claims,
        "pages": pages,
        "newFindings": [finding_json(finding) for finding in diff.new],
        "fixedFindings": [finding_json(finding) for finding in diff.fixed],
        "affected": affected,
    }


def _side(side: Side) -> DiffSide:
    store = side.conclusions.store
    shown: DiffSide = {
        "name": side.name,
        "commit": side.commit,
        "indexSha256": side.bundle.index_sha256,
        "asOf": format_instant(store.now),
    }
    if not side.commit:
        del shown["commit"]
    return shown


def _claim_change_json(change: ClaimChange) -> ClaimJson:
    fields: list[FieldChange] = [
        {"field": name, "before": before, "after": after} for name, before, after in change.fields
    ]
    shown: ClaimJson = {
        "id": change.id,
        "change": change.kind,
        "path": change.path,
        "line": change.line,
        "statement": statement(change.claim),
        "fields": fields,
    }
    if change.superseded_by:
        shown["supersededBy"] = list(change.superseded_by)
    return shown


def statement(claim: Claim | None) -> str:
    """Return what a claim says in one line: subject, predicate, object and scope."""
    if claim is None:
        return ""
    text = f"{claim.subject} {claim.predicate} {claim.object.text} {claim.object.unit}".rstrip()
    if claim.scope:
        text += " (" + ", ".join(f"{name} {value.text}" for name, value in claim.scope) + ")"
    return text
