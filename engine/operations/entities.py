"""Changes to entities: another label, or two entities merged into one, over as many pages as that takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openknowledge.engine import limits
from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.okf import text_of
from openknowledge.engine.claims.claimset import ClaimSet
from openknowledge.engine.claims.findings import shown
from openknowledge.engine.claims.model import Entity
from openknowledge.engine.claims.ontology import KEY, label_key
from openknowledge.engine.clock import Clock, system_clock
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.actors import PEOPLE, checked_actor
from openknowledge.engine.operations.disk import Disk
from openknowledge.engine.operations.json_patch import pointer
from openknowledge.engine.operations.proposals import ENTITY_PROPOSAL, check_entity_proposal, check_reason
from openknowledge.engine.operations.propose import check_confidence
from openknowledge.engine.operations.transaction import sha256_hex
from openknowledge.engine.operations.workspace import (
    Workspace,
    changing,
    check_digest,
    page_of,
    recovered_json,
)

if TYPE_CHECKING:
    from openknowledge.engine.store import Store
    from openknowledge.schemas.operations import (
        EntityImpact,
        EntityMutation,
        EntityProposal,
        EntityReference,
        EntityReplacement,
    )

EDITABLE = frozenset({"claims", KEY})
"""The keys of a page's frontmatter that a change to entities may reach."""


# Proposals


def propose_alias(
    store: Store, entity: str, alias: str, *, reason: str, confidence: float = 1.0
) -> EntityProposal:
    """Return the proposal to call ``entity`` by another label too. Nothing is written.

    Raises ``OpenKnowledgeError`` when there is no such active entity, or it has the label already.
    """
    found = _active(store.claim_set, entity)
    label = " ".join(alias.split())
    if not label:
        raise OpenKnowledgeError("the alias must not be blank")
    if len(label) > limits.TERM_RUNES or not label.isprintable():
        raise OpenKnowledgeError(
            f"the alias must be printable text of at most {limits.TERM_RUNES} characters"
        )
    if label_key(label) in {label_key(known) for known in _labels(found)}:
        raise OpenKnowledgeError(f"entity {shown(found.id)} has the label {shown(label)} already")
    return _proposal(store, found, "add_alias", reason, confidence, {"alias": label})


def propose_merge(
    store: Store, entity: str, merge_from: str, *, reason: str, confidence: float = 1.0
) -> EntityProposal:
    """Return the proposal to let ``entity`` take the place of ``merge_from``. Nothing is written.

    Raises ``OpenKnowledgeError`` when either is no active entity, or both are the same.
    """
    found, old = _active(store.claim_set, entity), _active(store.claim_set, merge_from)
    if found.id == old.id:
        raise OpenKnowledgeError(f"entity {shown(found.id)} cannot be merged into itself")
    home = store.claim_set.ontology.home("entity", old.id)
    merge = {
        "mergeFrom": old.id,
        "mergeDocument": home.path,
        "mergeDocumentSha256": sha256_hex(home.data),
    }
    return _proposal(store, found, "merge", reason, confidence, merge)


def _proposal(
    store: Store, entity: Entity, action: str, reason: str, confidence: float, rest: dict[str, str]
) -> EntityProposal:
    check_reason(reason, "the proposal")
    check_confidence(confidence)
    home = store.claim_set.ontology.home("entity", entity.id)
    proposal: EntityProposal = {
        "type": ENTITY_PROPOSAL,
        "version": 1,
        "action": action,
        "document": home.path,
        "documentSha256": sha256_hex(home.data),
        "entityId": entity.id,
        **rest,  # type: ignore[typeddict-item]
        "reason": reason,
        "confidence": confidence,
    }
    return proposal


def _active(claims: ClaimSet, identifier: str) -> Entity:
    term = claims.ontology.terms.canonical[identifier.strip()]
    found = claims.ontology.entities.get(term)
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(term or identifier, list(claims.ontology.entities)[:20_000], n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise OpenKnowledgeError(f"there is no entity {shown(identifier)} in this bundle{hint}")
    if found.deprecated:
        hint = f"; use {shown(found.replaced_by)}" if found.replaced_by else ""
        raise OpenKnowledgeError(f"entity {shown(found.id)} is deprecated{hint}")
    return found


def _labels(entity: Entity) -> tuple[str, ...]:
    return tuple(label for label in (entity.pref_label, *entity.alt_labels) if label)


# Impact


def entity_impact(store: Store, proposal: Mapping[str, Any]) -> EntityImpact:
    """Return what an entity proposal touches: pages, places in claims, deprecated entities that point there.

    Raises ``OpenKnowledgeError`` when the proposal is malformed or names no active entities.
    """
    checked = check_entity_proposal(proposal)
    _active(store.claim_set, checked["entityId"])
    if "mergeFrom" in checked:
        _active(store.claim_set, checked["mergeFrom"])
    return _impact(store.claim_set, checked)


@dataclass(frozen=True, slots=True)
class _Use:
    """A place in a claim that names an entity: its key and where it stands in the frontmatter."""

    document: Document
    claim_id: str
    field: str
    at: tuple[str, ...]


def _uses(claims: ClaimSet, entity: str) -> Iterator[_Use]:
    """Yield every place that names ``entity`` in whichever spelling, also in claims that are set aside."""
    canonical = claims.ontology.terms.canonical
    for document in claims.bundle.documents:
        raw = document.fields.get("claims")
        for number, claim in enumerate(raw if isinstance(raw, list) else ()):
            if isinstance(claim, dict):
                name = text_of(claim.get("id"))
                for field, at, term in _entity_fields(claim):
                    if canonical[text_of(term)] == entity:
                        place = ("claims", str(number), *at)
                        shown_field = field.partition("\0")
                        if shown_field[1]:
                            dimension = canonical[text_of(shown_field[2])] or shown_field[2]
                            field = f"scope.{dimension}.ref"
                        yield _Use(document, canonical[name] or name, field, place)


def _entity_fields(claim: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    if isinstance(claim.get("subject"), str):
        yield "subject", ("subject",), claim["subject"]
    held = claim.get("object")
    if isinstance(held, dict) and isinstance(held.get("ref"), str):
        yield "object.ref", ("object", "ref"), held["ref"]
    scope = claim.get("scope")
    for dimension, value in scope.items() if isinstance(scope, dict) else ():
        if isinstance(value, dict) and isinstance(value.get("ref"), str):
            yield f"scope\0{dimension}", ("scope", dimension, "ref"), value["ref"]


def _declarations(
    bundle: Bundle, claims: ClaimSet
) -> Iterator[tuple[Document, tuple[str, ...], str, dict[str, Any]]]:
    """Yield page, place, id and fields of every entity as declared."""
    canonical = claims.ontology.terms.canonical
    for document in bundle.documents:
        ontology = document.fields.get(KEY)
        raw = ontology.get("entities") if isinstance(ontology, dict) else None
        for number, entity in enumerate(raw if isinstance(raw, list) else ()):
            if isinstance(entity, dict) and isinstance(entity.get("id"), str):
                yield (
                    document,
                    (KEY, "entities", str(number)),
                    canonical[text_of(entity["id"])],
                    entity,
                )


def _impact(claims: ClaimSet, proposal: EntityProposal) -> EntityImpact:
    moved = proposal.get("mergeFrom")
    canonical = claims.ontology.terms.canonical
    named = (
        {canonical[proposal["entityId"]], canonical[moved]} if moved else {canonical[proposal["entityId"]]}
    )
    uses = list(_uses(claims, canonical[moved or proposal["entityId"]]))
    references: list[EntityReference] = sorted(
        ({"claimId": use.claim_id, "document": use.document.path, "field": use.field} for use in uses),
        key=lambda item: (item["claimId"], item["document"], item["field"]),
    )
    documents = {use.document.path for use in uses}
    replacements: list[EntityReplacement] = []
    for document, _, name, raw in _declarations(claims.bundle, claims):
        if name in named:
            documents.add(document.path)
        if moved and canonical[text_of(raw.get("replaced_by"))] == canonical[moved]:
            documents.add(document.path)
            replacements.append({"entityId": name, "document": document.path})
    impact: EntityImpact = {"action": proposal["action"], "entityId": proposal["entityId"]}  # type: ignore[typeddict-item]
    if moved:
        impact["mergeFrom"] = moved
    impact["documents"] = sorted(documents)
    impact["references"] = references
    if replacements:
        impact["replacements"] = sorted(replacements, key=lambda item: (item["entityId"], item["document"]))
    return impact


# Applying


def apply_entity_proposal(
    root: str | Path,
    proposal: Mapping[str, Any],
    *,
    approved_by: str,
    spec: str = "latest",
    clock: Clock = system_clock,
    dry_run: bool = False,
    disk: Disk | None = None,
) -> EntityMutation:
    """Apply an entity proposal to all pages that it touches, or to none.

    A merge rewrites references, unites labels and types, and marks the old entity as deprecated and replaced.
    Raises ``OpenKnowledgeError`` when the approver may not, the proposal is malformed or stale, or the bundle
    would have an issue that it does not have now; then every file is as it was.
    """
    by = checked_actor(approved_by, PEOPLE, "approve changes to entities")
    checked = check_entity_proposal(proposal)
    with changing(
        root,
        command="okn claims entities apply",
        spec=spec,
        clock=clock,
        disk=disk,
        dry_run=dry_run,
    ) as workspace:
        impact = _stage(workspace, checked)
        renamed = (checked["mergeFrom"], checked["entityId"]) if "mergeFrom" in checked else None
        changed = workspace.save(dry_run=dry_run, renamed=renamed)
        report: EntityMutation = {
            "schemaVersion": "1",
            "root": str(workspace.root),
            "action": checked["action"],
            "entityId": checked["entityId"],
            "approvedBy": by,
            "changed": changed,
            "impact": impact,
        }
        if "mergeFrom" in checked:
            report["mergeFrom"] = checked["mergeFrom"]
        if dry_run:
            report["dryRun"] = True
            report["diff"] = workspace.diff()
        if workspace.recovered:
            report["recovered"] = recovered_json(workspace.recovered)
        return report


def _stage(workspace: Workspace, proposal: EntityProposal) -> EntityImpact:
    """Make all edits of ``proposal`` in ``workspace`` and return its impact. Raises as the apply does."""
    claims = workspace.claims
    _check_home(workspace, proposal["document"], proposal["documentSha256"], proposal["entityId"])
    if "mergeFrom" in proposal:
        _check_home(
            workspace, proposal["mergeDocument"], proposal["mergeDocumentSha256"], proposal["mergeFrom"]
        )
    entity = _active(claims, proposal["entityId"])
    patches = _Patches()
    if "alias" in proposal:
        if label_key(proposal["alias"]) in {label_key(known) for known in _labels(entity)}:
            raise OpenKnowledgeError(
                f"entity {shown(entity.id)} has the label {shown(proposal['alias'])} already"
            )
        _add_labels(workspace, patches, entity, [proposal["alias"]])
    else:
        _merge(workspace, patches, entity, _active(claims, proposal["mergeFrom"]))
    for path, patch in patches.by_page.items():
        workspace.edit(path, patch, allowed=EDITABLE)
    return _impact(claims, proposal)


def _check_home(workspace: Workspace, path: str, digest: str, entity: str) -> None:
    document = page_of(workspace.before.bundle, path)
    check_digest(document, digest, "the proposal")
    term = workspace.claims.ontology.terms.canonical[entity.strip()]
    declared = any(
        found.path == path and name == term
        for found, _, name, _ in _declarations(workspace.before.bundle, workspace.claims)
    )
    if not declared:
        raise OpenKnowledgeError(f"{path} does not declare the entity {shown(entity)}", path=path)


class _Patches:
    """The patch of each page, in the order of pages."""

    def __init__(self) -> None:
        self.by_page: dict[str, list[dict[str, Any]]] = {}

    def add(self, document: Document, op: str, at: tuple[str, ...], value: Any) -> None:
        patch = self.by_page.setdefault(document.path, [])
        patch.append({"op": op, "path": pointer(at), "value": value})

    def append(
        self, document: Document, holder: dict[str, Any], at: tuple[str, ...], name: str, items: list[str]
    ) -> None:
        """Add ``items`` behind the list ``name`` of the mapping ``holder`` at ``at``."""
        if not items:
            return
        held = holder.get(name)
        if not held:
            self.add(document, "replace" if name in holder else "add", (*at, name), items)
            return
        for item in items:
            self.add(document, "add", (*at, name, "-"), item)


def _add_labels(workspace: Workspace, patches: _Patches, entity: Entity, labels: list[str]) -> None:
    for document, at, name, raw in _declarations(workspace.before.bundle, workspace.claims):
        if name == entity.id:
            patches.append(document, raw, at, "alt_labels", labels)


def _merge(workspace: Workspace, patches: _Patches, entity: Entity, old: Entity) -> None:
    if entity.id == old.id:
        raise OpenKnowledgeError(f"entity {shown(entity.id)} cannot be merged into itself")
    claims = workspace.claims
    canonical = claims.ontology.terms.canonical
    known = {label_key(label) for label in _labels(entity)}
    labels = []
    for label in _labels(old):
        if label_key(label) not in known:
            known.add(label_key(label))
            labels.append(label)
    types = [name for name in old.types if name not in entity.types]
    for document, at, name, raw in _declarations(workspace.before.bundle, claims):
        if name == entity.id:
            patches.append(document, raw, at, "alt_labels", labels)
            patches.append(document, raw, at, "types", types)
        elif name == old.id:
            patches.add(document, "replace" if "deprecated" in raw else "add", (*at, "deprecated"), True)
            verb = "replace" if "replaced_by" in raw else "add"
            patches.add(document, verb, (*at, "replaced_by"), entity.id)
        elif canonical[text_of(raw.get("replaced_by"))] == old.id:
            patches.add(document, "replace", (*at, "replaced_by"), entity.id)
    for use in _uses(claims, old.id):
        patches.add(use.document, "replace", use.at, entity.id)
