"""The audit of a bundle: what a maintainer has to look at, with what it rests on."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from openknowledge.engine import limits
from openknowledge.engine.analysis.audit_facts import SourceIdentity, is_audited, source_identities
from openknowledge.engine.analysis.baseline import read_json_file
from openknowledge.engine.analysis.conclusions import Conclusions
from openknowledge.engine.analysis.findings import SEVERITIES, Severity, severity_rank
from openknowledge.engine.bundle.digests import compact_json
from openknowledge.engine.bundle.document import document_id
from openknowledge.engine.bundle.instants import format_instant
from openknowledge.engine.bundle.walk import MARKDOWN_SUFFIXES
from openknowledge.engine.claims.model import Claim
from openknowledge.engine.datalog import Model, Proof, display_atom
from openknowledge.engine.datalog.proof import ASSERTED
from openknowledge.engine.errors import UsageError

if TYPE_CHECKING:
    from openknowledge.engine.store import Store
    from openknowledge.schemas.audit import (
        AuditEvidence,
        AuditFinding,
        AuditReport,
        AuditSourceBaseline,
    )
    from openknowledge.schemas.audit import SourceIdentity as SourceJson

REPORT_TYPE = "openknowledge.audit-report"
SOURCE_BASELINE_TYPE = "openknowledge.audit-source-baseline"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Category:
    """A kind of finding: how grave it is, what it says, why it matters, and the rule that derives it."""

    severity: Severity
    title: str
    impact: str
    head: str = ""


CATEGORIES: Mapping[str, Category] = {
    "stale": Category(
        "high",
        "The page has passed its freshness date",
        "Readers and agents take as current what nobody has confirmed since.",
        "expired_page",
    ),
    "broken-dependency": Category(
        "high",
        "The page links to something that is not there",
        "Whoever follows the link finds nothing.",
        "broken_dependency",
    ),
    "claim-conflict": Category(
        "high",
        "Two active claims cannot both hold",
        "The same question gets different answers, depending on the page.",
        "conflicting",
    ),
    "claim-evidence-stale": Category(
        "high",
        "The evidence of a claim has changed since its review",
        "The claim may no longer be what its evidence says.",
        "drifted_claim",
    ),
    "claim-invalid": Category(
        "high",
        "A claim does not follow the claim profile",
        "It is kept out of every answer until it is mended.",
    ),
    "missing-source-resource": Category(
        "high",
        "A source is a file that is not in the bundle",
        "Nobody can look up what the page rests on.",
        "missing_source_file",
    ),
    "source-changed": Category(
        "high",
        "A source has changed since the baseline was recorded",
        "The page may no longer be what its source says.",
        "source_changed",
    ),
    "missing-source": Category(
        "medium",
        "The page names no source",
        "Nobody can trace what it says to where it comes from.",
        "missing_source",
    ),
    "missing-owner": Category(
        "medium",
        "The page has no owner",
        "Nobody is there to ask when it has to be decided whether it still holds.",
        "missing_owner",
    ),
    "identical-body": Category(
        "medium",
        "Pages have the same text",
        "One copy gets mended, the other stays as it is.",
        "identical_body",
    ),
    "duplicate-title": Category(
        "medium",
        "Pages have the same title",
        "Readers and agents cannot tell which one is meant.",
        "duplicate_title",
    ),
    "claim-duplicate": Category(
        "medium",
        "Two claims say the same",
        "One of them gets changed, the other stays as it is.",
        "duplicate",
    ),
    "claim-missing-evidence": Category(
        "medium",
        "A claim has no evidence",
        "Nobody can check it against a source.",
        "unsupported_claim",
    ),
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """A field, on a page if it has a path, and its value."""

    field: str
    value: str
    path: str = ""

    def to_json(self) -> AuditEvidence:
        """Return the evidence as it stands in the report."""
        if self.path:
            return {"path": self.path, "field": self.field, "value": self.value}
        return {"field": self.field, "value": self.value}


@dataclass(frozen=True, slots=True)
class Found:
    """One finding of an audit."""

    category: str
    targets: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    proofs: tuple[Proof, ...] = field(compare=False, repr=False)

    @property
    def severity(self) -> Severity:
        """How grave the category is."""
        return CATEGORIES[self.category].severity

    @property
    def id(self) -> str:
        """The first 20 hexadecimal digits of the SHA-256 over category, targets and evidence."""
        identity = {
            "Category": self.category,
            "Targets": list(self.targets),
            "Evidence": [item.to_json() for item in self.evidence],
        }
        return hashlib.sha256(_json(identity).encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _json(value: Mapping[str, Any]) -> str:
    """Return compact JSON in the order of the fields, with ``<``, ``>`` and ``&`` escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found, and the sources as they are now."""

    conclusions: Conclusions
    findings: tuple[Found, ...]
    sources: tuple[SourceIdentity, ...]


def run_audit(store: Store, recorded: Iterable[SourceIdentity] = ()) -> Audit:
    """Audit the bundle of ``store``; ``recorded`` are the sources of a baseline."""
    conclusions = Conclusions(store, recorded)
    auditor = _Auditor(conclusions)
    found = {(item.category, item.targets, item.evidence): item for item in reversed(list(auditor.run()))}
    ordered = sorted(found.values(), key=lambda item: (-severity_rank(item.severity), item.category, item.id))
    sources = tuple(source_identities(store.bundle, conclusions.files))
    return Audit(conclusions, tuple(ordered), sources)


class _Auditor:
    def __init__(self, conclusions: Conclusions) -> None:
        self._conclusions = conclusions
        self._bundle = conclusions.bundle
        self._claims = conclusions.claims
        heads = [category.head for category in CATEGORIES.values() if category.head]
        self._model: Model = conclusions.derive(heads)
        self._referring: dict[str, list[str]] = defaultdict(list)
        for reference in self._claims.references:
            self._referring[reference.claim_id].append(reference.document.path)

    def run(self) -> Iterator[Found]:
        """Yield every finding."""
        makers: dict[str, Callable[..., Iterator[Found]]] = {
            "stale": self._stale,
            "broken-dependency": self._broken,
            "claim-conflict": self._pairs,
            "claim-evidence-stale": self._drifted,
            "missing-source-resource": self._missing_file,
            "source-changed": self._changed,
            "missing-source": self._missing,
            "missing-owner": self._missing,
            "identical-body": self._groups,
            "duplicate-title": self._groups,
            "claim-duplicate": self._pairs,
            "claim-missing-evidence": self._unsupported,
        }
        for category, make in makers.items():
            head = CATEGORIES[category].head
            rows = sorted(self._model[head], key=lambda row: display_atom(head, row))
            yield from make(category, rows)
        yield from self._invalid()

    def _proof(self, category: str, row: tuple[Any, ...]) -> Proof:
        return self._model.proof(CATEGORIES[category].head, row)

    def _path(self, page: str) -> str:
        return self._bundle.by_id[page].path

    def _claim(self, identifier: str) -> Claim:
        return self._claims.by_id[identifier]

    def _claim_targets(self, *claims: Claim) -> tuple[str, ...]:
        found = {claim.path for claim in claims}
        for claim in claims:
            found.update(self._referring[claim.id])
        return tuple(sorted(found))

    def _found(
        self, category: str, targets: Iterable[str], evidence: Iterable[Evidence], *proofs: Proof
    ) -> Found:
        ordered = sorted(evidence, key=lambda item: (item.path, item.field, item.value))
        return Found(category, tuple(sorted(set(targets))), tuple(ordered), proofs)

    def _stale(self, category: str, rows: list[tuple[str]]) -> Iterator[Found]:
        for row in rows:
            document = self._bundle.by_id[row[0]]
            evidence = Evidence("stale_after", document.metadata.stale_after, document.path)
            yield self._found(category, [document.path], [evidence], self._proof(category, row))

    def _missing(self, category: str, rows: list[tuple[str]]) -> Iterator[Found]:
        name = "sources" if category == "missing-source" else "owner"
        for row in rows:
            path = self._path(row[0])
            yield self._found(category, [path], [Evidence(name, "none", path)], self._proof(category, row))

    def _broken(self, category: str, rows: list[tuple[str, str]]) -> Iterator[Found]:
        for page in sorted({page for page, _ in rows}):
            document = self._bundle.by_id[page]
            targets = {row[1]: row for row in rows if row[0] == page}
            for link, target in self._bundle.local_links(document):
                row = targets.get(target.path) or targets.get(_page_name(target.path))
                if row is not None and not target.exists:
                    evidence = Evidence("link", link.href, document.path)
                    yield self._found(category, [document.path], [evidence], self._proof(category, row))

    def _groups(self, category: str, rows: list[tuple[str, str]]) -> Iterator[Found]:
        groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for row in rows:
            groups[row[1]].append(row)
        for first, members in groups.items():
            paths = sorted([self._path(first), *(self._path(row[0]) for row in members)])
            proofs = [self._proof(category, row) for row in members]
            yield self._found(category, paths, [Evidence("documents", ", ".join(paths))], *proofs)

    def _missing_file(self, category: str, rows: list[tuple[str, str, str]]) -> Iterator[Found]:
        for row in rows:
            path = self._path(row[0])
            evidence = Evidence("source.resource", row[2], path)
            yield self._found(category, [path], [evidence], self._proof(category, row))

    def _changed(self, category: str, rows: list[tuple[str, str, str]]) -> Iterator[Found]:
        facts = self._conclusions.facts
        before = {row[:3]: str(row[3]) for row in facts.rows("source_recorded")}
        now = {row[:3]: str(row[3]) for row in facts.rows("source_observed")}
        for row in rows:
            path = self._path(row[0])
            citing = [
                claim
                for claim in self._claims.claims
                if claim.path == path and any(item.source_ref == row[1] for item in claim.evidence)
            ]
            targets = {path, *(claim.id for claim in citing)}
            for claim in citing:
                targets.update(self._referring[claim.id])
            evidence = [
                Evidence("source.resource", row[2], path),
                Evidence("source.previousFingerprint", before[row], path),
                Evidence("source.currentFingerprint", now[row], path),
            ]
            yield self._found(category, targets, evidence, self._proof(category, row))

    def _drifted(self, category: str, rows: list[tuple[str, str, str]]) -> Iterator[Found]:
        groups: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        for row in rows:
            groups[row[0]].append(row)
        for identifier, members in groups.items():
            claim = self._claim(identifier)
            names = sorted({evidence for _, evidence, _ in members})
            evidence = Evidence(f"claims.{claim.id}.staleEvidence", ",".join(names), claim.path)
            proofs = [self._proof(category, row) for row in members]
            yield self._found(category, self._claim_targets(claim), [evidence], *proofs)

    def _unsupported(self, category: str, rows: list[tuple[str]]) -> Iterator[Found]:
        for row in rows:
            claim = self._claim(row[0])
            evidence = Evidence(f"claims.{claim.id}.source", "none", claim.path)
            yield self._found(category, self._claim_targets(claim), [evidence], self._proof(category, row))

    def _pairs(self, category: str, rows: list[tuple[str, str]]) -> Iterator[Found]:
        for row in rows:
            left, right = sorted((self._claim(row[0]), self._claim(row[1])), key=lambda claim: claim.id)
            evidence = [
                Evidence(f"claims.{claim.id}.object", claim.object.normalised, claim.path)
                for claim in (left, right)
            ]
            evidence.append(Evidence("claimKey", _claim_key(left)))
            yield self._found(
                category, self._claim_targets(left, right), evidence, self._proof(category, row)
            )

    def _invalid(self) -> Iterator[Found]:
        for issue in self._claims.claim_set.issues:
            row = (issue.path, issue.rule, issue.message)
            proof = Proof(ASSERTED, display_atom("issue", row), "issue", row)
            evidence = Evidence(issue.rule, issue.message, issue.path)
            yield self._found("claim-invalid", [issue.path], [evidence], proof)


def _page_name(path: str) -> str:
    return document_id(path) if path.lower().endswith(MARKDOWN_SUFFIXES) else path


def _claim_key(claim: Claim) -> str:
    scope = compact_json({dimension: json.loads(value.normalised) for dimension, value in claim.scope})
    return f"{claim.slot} subject={claim.subject} predicate={claim.predicate} scope={scope}"


def audit_report(audit: Audit, sha256: str, *, proofs: bool = False) -> AuditReport:
    """Return the report; ``sha256`` is the digest over the bundle's files.

    With ``proofs`` each finding carries what proves it.
    """
    store = audit.conclusions.store
    counts = dict.fromkeys(SEVERITIES, 0)
    findings: list[AuditFinding] = []
    for item in audit.findings:
        counts[item.severity] += 1
        category = CATEGORIES[item.category]
        shown: AuditFinding = {
            "id": item.id,
            "category": item.category,
            "severity": item.severity,
            "title": category.title,
            "impact": category.impact,
            "targets": list(item.targets),
            "evidence": [evidence.to_json() for evidence in item.evidence],
        }
        if proofs:
            shown["proofs"] = [cast("Any", proof.to_json()) for proof in item.proofs]
        findings.append(shown)
    return {
        "type": REPORT_TYPE,
        "version": VERSION,
        "bundle": {"path": str(store.root), "spec": store.bundle.spec, "sha256": sha256},
        "evaluatedAt": format_instant(store.now),
        "summary": {
            "total": len(findings),
            "high": counts["high"],
            "medium": counts["medium"],
            "low": counts["low"],
        },
        "findings": findings,
        "sources": {
            "current": len(audit.sources),
            "changed": sum(1 for item in audit.findings if item.category == "source-changed"),
            "missing": sum(1 for source in audit.sources if not source.exists),
        },
    }


# The baseline of sources


def source_baseline(audit: Audit, sha256: str) -> AuditSourceBaseline:
    """Return the sources as they are now.

    Raises ``UsageError`` while a source has changed and nobody has looked at what rests on it.
    """
    changed = [item for item in audit.findings if item.category == "source-changed"]
    if changed:
        raise UsageError(
            f"the baseline is not updated while {len(changed)} changed source"
            f"{' is' if len(changed) == 1 else 's are'} open: look at "
            f"{', '.join(changed[0].targets[:3])} first, and review or correct what rests on it"
        )
    sources: list[SourceJson] = []
    for source in audit.sources:
        shown: SourceJson = {
            "document": source.document,
            "id": source.id,
            "resource": source.resource,
            "fingerprint": source.fingerprint,
            "exists": source.exists,
        }
        if not source.id:
            del shown["id"]
        sources.append(shown)
    return {
        "type": SOURCE_BASELINE_TYPE,
        "version": VERSION,
        "bundleSha256": sha256,
        "sources": sources,
    }


def read_source_baseline(path: Path) -> list[SourceIdentity]:
    """Return the sources of a baseline file.

    Raises ``UsageError`` for a file of another type or version, or with sources that are wrong, repeated or
    not in order.
    """
    content = read_json_file(path, "baseline", limits.BASELINE_BYTES)

    def refuse(problem: str) -> NoReturn:
        raise UsageError(f"{path}: {problem}")

    if not isinstance(content, dict) or content.get("type") != SOURCE_BASELINE_TYPE:
        refuse(f'not a baseline of okn audit: expected an object with "type": "{SOURCE_BASELINE_TYPE}"')
    version = content.get("version")
    if version != VERSION or isinstance(version, bool):
        refuse(f"baseline version {version!r} is not supported; this program reads {VERSION}")
    if unknown := sorted(set(content) - {"type", "version", "bundleSha256", "sources"}):
        refuse(f"unknown field {unknown[0]!r}")
    if not _is_digest(content.get("bundleSha256")):
        refuse("bundleSha256 must be 64 hexadecimal digits")
    items = content.get("sources")
    if not isinstance(items, list):
        refuse("sources must be a list")
    found: list[SourceIdentity] = []
    for number, item in enumerate(items):
        source = _source(item)
        if source is None:
            refuse(
                f"sources[{number}] must be {{document, id?, resource, fingerprint, exists}} with a "
                "fingerprint of 64 hexadecimal digits"
            )
        if found and source.key == found[-1].key:
            refuse(f"sources[{number}] is there twice")
        if found and source.key < found[-1].key:
            refuse(f"sources[{number}] is out of order: by document, id and resource")
        found.append(source)
    return found


def _source(item: Any) -> SourceIdentity | None:
    if not isinstance(item, dict) or set(item) - {"document", "id", "resource", "fingerprint", "exists"}:
        return None
    document, resource, name = item.get("document"), item.get("resource"), item.get("id", "")
    exists, fingerprint = item.get("exists"), item.get("fingerprint")
    if not (isinstance(document, str) and document and isinstance(resource, str) and resource):
        return None
    if not isinstance(name, str) or not isinstance(exists, bool) or not _is_digest(fingerprint):
        return None
    return SourceIdentity(document, name, resource, str(fingerprint), exists)


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


__all__ = [
    "CATEGORIES",
    "Audit",
    "Category",
    "Evidence",
    "Found",
    "audit_report",
    "is_audited",
    "read_source_baseline",
    "run_audit",
    "source_baseline",
]
