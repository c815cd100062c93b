"""The claim ontology: namespaces, entities, predicates and evidence roles, merged over all pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.slugs import WHITESPACE
from openknowledge.engine.claims.findings import Finding, Place, dotted, kind_of, shown
from openknowledge.engine.claims.model import (
    BUILT_IN_ROLES,
    OBJECT_KINDS,
    Claim,
    Entity,
    EvidenceRole,
    ObjectValue,
    Predicate,
)
from openknowledge.engine.claims.profile import TERM_RULE
from openknowledge.engine.claims.terms import BUILT_IN, RESERVED_PREFIXES, Namespaces, is_iri, is_prefix

KEY = "claim_ontology"
_PARTS = frozenset({"namespaces", "entities", "predicates", "evidence_roles"})
_ENTITY_FIELDS = frozenset({"id", "types", "pref_label", "alt_labels", "deprecated", "replaced_by"})
_PREDICATE_FIELDS = frozenset(
    {
        "id",
        "subject_types",
        "object_kind",
        "datatype",
        "quantity_kind",
        "canonical_unit",
        "required_scope",
        "maximum_count",
        "pref_label",
    }
)
_ROLE_FIELDS = frozenset({"id", "pref_label"})

Item = TypeVar("Item", Entity, Predicate, EvidenceRole)


@dataclass(slots=True)
class Declared:
    """What one page declares."""

    document: Document
    namespaces: dict[str, str] = field(default_factory=dict)
    entities: list[Entity] = field(default_factory=list)
    predicates: list[Predicate] = field(default_factory=list)
    evidence_roles: list[EvidenceRole] = field(default_factory=list)


@dataclass(slots=True)
class Ontology:
    """Everything that claims may use, by canonical id. ``homes`` tells which page declared an id first."""

    terms: Namespaces
    entities: dict[str, Entity] = field(default_factory=dict)
    predicates: dict[str, Predicate] = field(default_factory=dict)
    evidence_roles: dict[str, EvidenceRole] = field(default_factory=dict)
    homes: dict[tuple[str, str], Document] = field(default_factory=dict)
    declared: dict[str, Declared] = field(default_factory=dict)

    def home(self, kind: str, identifier: str) -> Document:
        """Return the page that declares ``identifier``; ``kind`` is entity, predicate or evidence role."""
        return self.homes[kind, identifier]


def read_ontology(documents: Iterable[Document], findings: list[Finding]) -> Ontology:
    """Merge the ontologies of ``documents``, in the order of their paths.

    The first page to declare something is right; a later one that says otherwise is at fault.
    """
    pages = [document for document in documents if KEY in document.fields]
    sound = [page for page in pages if _check_shape(page, findings)]
    namespaces = _read_namespaces(sound, findings)
    terms = Namespaces({p: iri for of_page in namespaces.values() for p, iri in of_page.items()})
    ontology = Ontology(terms)
    for page in sound:
        reader = _Reader(terms, page, findings)
        declared = reader.read()
        declared.namespaces = namespaces[page.path]
        ontology.declared[page.path] = declared
    _merge(ontology, findings)
    _check_replacements(ontology, findings)
    _check_labels(ontology, findings)
    return ontology


def _check_shape(page: Document, findings: list[Finding]) -> bool:
    raw = page.fields[KEY]
    if not isinstance(raw, dict):
        findings.append(Finding(page, f"{KEY} must be a mapping, not {kind_of(raw)}", (KEY,)))
        return False
    findings.extend(
        Finding(page, f"{KEY} contains unknown field {shown(key)}", (KEY, key))
        for key in raw
        if key not in _PARTS
    )
    return True


# Namespaces


def _read_namespaces(pages: list[Document], findings: list[Finding]) -> dict[str, dict[str, str]]:
    """Return the usable namespaces of each page, the first declaration of each prefix."""
    prefixes = set(BUILT_IN)
    for page in pages:
        raw = page.fields[KEY].get("namespaces")
        if isinstance(raw, dict):
            prefixes.update(raw)
    found: dict[str, dict[str, str]] = {}
    first: dict[str, tuple[str, str]] = {prefix: (iri, "") for prefix, iri in BUILT_IN.items()}
    for page in pages:
        own = found[page.path] = {}
        if "namespaces" not in page.fields[KEY]:
            continue
        raw = page.fields[KEY]["namespaces"]
        if not isinstance(raw, dict):
            message = f"{KEY}.namespaces must map prefixes to IRIs, not {kind_of(raw)}"
            findings.append(Finding(page, message, (KEY, "namespaces")))
            continue
        for prefix, value in raw.items():
            problem = _namespace_problem(prefix, value, prefixes, first)
            if problem:
                findings.append(Finding(page, f"{KEY}.namespaces {problem}", (KEY, "namespaces", prefix)))
            else:
                own[prefix] = value.strip(WHITESPACE)
                first.setdefault(prefix, (own[prefix], page.path))
    return found


def _namespace_problem(
    prefix: str, value: Any, prefixes: set[str], first: Mapping[str, tuple[str, str]]
) -> str:
    if prefix.lower() in RESERVED_PREFIXES:
        return f"prefix {shown(prefix)} is the scheme of absolute IRIs and cannot be a prefix"
    if not is_prefix(prefix):
        return f"prefix {shown(prefix)} must be letters, digits and _ . -, starting with a letter or _"
    iri = value.strip(WHITESPACE) if isinstance(value, str) else ""
    scheme = iri.partition(":")[0]
    if iri and scheme in prefixes:
        return (
            f"prefix {shown(prefix)} must be an absolute IRI: {shown(iri)} uses the prefix {shown(scheme)}; "
            "write the namespace out in full"
        )
    if not iri or not is_iri(iri):
        return f"prefix {shown(prefix)} must be an absolute IRI, not {shown(value)}"
    known, where = first.get(prefix, (iri, ""))
    if known == iri:
        return ""
    if not where:
        return f"prefix {shown(prefix)} is built in as {known} and may not be redefined"
    return f"prefix {shown(prefix)} is {known} in {where}; it cannot be {iri} as well"


# Items


class _Reader:
    """Reads the lists of one page's ontology."""

    def __init__(self, terms: Namespaces, page: Document, findings: list[Finding]) -> None:
        self._terms = terms
        self._page = page
        self._findings = findings

    def read(self) -> Declared:
        raw = self._page.fields[KEY]
        declared = Declared(self._page)
        declared.entities = self._items(raw, "entities", self._entity)
        declared.predicates = self._items(raw, "predicates", self._predicate)
        declared.evidence_roles = self._items(raw, "evidence_roles", self._role)
        return declared

    def _items(
        self, raw: dict[str, Any], part: str, read: Callable[[dict[str, Any], Place], Item]
    ) -> list[Item]:
        if part not in raw:
            return []
        at: Place = (KEY, part)
        if not isinstance(raw[part], list):
            self._problem(f"must be a list of mappings, not {kind_of(raw[part])}", at)
            return []
        items = []
        for number, item in enumerate(raw[part]):
            place = (*at, number)
            if not isinstance(item, dict):
                self._problem(f"must be a mapping, not {kind_of(item)}", place)
                continue
            before = len(self._findings)
            found = read(item, place)
            if len(self._findings) == before:
                items.append(found)
        return items

    def _entity(self, raw: dict[str, Any], at: Place) -> Entity:
        self._known(raw, _ENTITY_FIELDS, at)
        deprecated = raw.get("deprecated", False)
        if not isinstance(deprecated, bool):
            self._problem(f"must be true or false, not {kind_of(deprecated)}", (*at, "deprecated"))
            deprecated = False
        replaced_by = self._term(raw, "replaced_by", at) if "replaced_by" in raw else ""
        if replaced_by and not deprecated:
            self._problem("needs deprecated: true beside it", (*at, "replaced_by"))
        return Entity(
            self._term(raw, "id", at),
            self._terms_list(raw, "types", at),
            self._label(raw, at),
            self._labels(raw, at),
            deprecated,
            replaced_by,
        )

    def _predicate(self, raw: dict[str, Any], at: Place) -> Predicate:
        self._known(raw, _PREDICATE_FIELDS, at)
        kind = self._text(raw["object_kind"], (*at, "object_kind")) if "object_kind" in raw else ""
        if kind and kind not in OBJECT_KINDS:
            self._problem(f"{shown(kind)} is not one of {', '.join(OBJECT_KINDS)}", (*at, "object_kind"))
        maximum = raw.get("maximum_count", 1)
        if type(maximum) is not int or maximum < 1:
            self._problem("must be a whole number above 0", (*at, "maximum_count"))
            maximum = 1
        return Predicate(
            self._term(raw, "id", at),
            self._terms_list(raw, "subject_types", at),
            kind,
            self._term(raw, "datatype", at) if "datatype" in raw else "",
            self._term(raw, "quantity_kind", at) if "quantity_kind" in raw else "",
            self._term(raw, "canonical_unit", at) if "canonical_unit" in raw else "",
            self._terms_list(raw, "required_scope", at),
            maximum if "maximum_count" in raw else 0,
            self._label(raw, at),
        )

    def _role(self, raw: dict[str, Any], at: Place) -> EvidenceRole:
        self._known(raw, _ROLE_FIELDS, at)
        return EvidenceRole(self._term(raw, "id", at), self._label(raw, at))

    def _known(self, raw: dict[str, Any], fields: frozenset[str], at: Place) -> None:
        for key in raw:
            if key not in fields:
                self._problem(f"contains unknown field {shown(key)}", at, (*at, key))

    def _term(self, raw: dict[str, Any], key: str, at: Place) -> str:
        return self._as_term(raw.get(key), (*at, key))

    def _as_term(self, value: Any, place: Place) -> str:
        text = self._text(value, place)
        term = self._terms.canonical[text]
        if text and not term:
            self._problem(f"{shown(text)} {TERM_RULE}", place)
        return term

    def _terms_list(self, raw: dict[str, Any], key: str, at: Place) -> tuple[str, ...]:
        if key not in raw:
            return ()
        place = (*at, key)
        if not isinstance(raw[key], list):
            self._problem(f"must be a list of terms, not {kind_of(raw[key])}", place)
            return ()
        found = {self._as_term(item, (*place, number)) for number, item in enumerate(raw[key])}
        return tuple(sorted(found - {""}))

    def _label(self, raw: dict[str, Any], at: Place) -> str:
        return self._text(raw["pref_label"], (*at, "pref_label")) if "pref_label" in raw else ""

    def _labels(self, raw: dict[str, Any], at: Place) -> tuple[str, ...]:
        if "alt_labels" not in raw:
            return ()
        place = (*at, "alt_labels")
        if not isinstance(raw["alt_labels"], list):
            self._problem(f"must be a list of strings, not {kind_of(raw['alt_labels'])}", place)
            return ()
        found = {self._text(item, (*place, number)) for number, item in enumerate(raw["alt_labels"])}
        return tuple(sorted(found - {""}))

    def _text(self, value: Any, place: Place) -> str:
        text = value.strip(WHITESPACE) if isinstance(value, str) else ""
        if not text:
            said = (
                "must not be blank" if isinstance(value, str) else f"must be a string, not {kind_of(value)}"
            )
            self._problem(said, place)
        return text

    def _problem(self, message: str, place: Place, at: Place = ()) -> None:
        self._findings.append(Finding(self._page, f"{dotted(place)} {message}", at or place))


# Merging


def _merge(ontology: Ontology, findings: list[Finding]) -> None:
    for declared in ontology.declared.values():
        _merge_items(ontology.entities, declared.entities, "entity", "entities", declared, ontology, findings)
        _merge_items(
            ontology.predicates, declared.predicates, "predicate", "predicates", declared, ontology, findings
        )
        _merge_items(
            ontology.evidence_roles,
            declared.evidence_roles,
            "evidence role",
            "evidence_roles",
            declared,
            ontology,
            findings,
        )


def _merge_items(
    known: dict[str, Item],
    items: list[Item],
    kind: str,
    part: str,
    declared: Declared,
    ontology: Ontology,
    findings: list[Finding],
) -> None:
    for item in items:
        first = known.setdefault(item.id, item)
        home = ontology.homes.setdefault((kind, item.id), declared.document)
        if first != item:
            message = f"{kind} {shown(item.id)} is declared more than once: differently in {home.path}"
            findings.append(
                Finding(declared.document, message, _place(declared.document, part, item.id, ontology))
            )


def _place(page: Document, part: str, identifier: str, ontology: Ontology, field_name: str = "") -> Place:
    """Return where ``page`` declares ``identifier`` (the last time, if it does more than once)."""
    at: Place = (KEY, part)
    for number, raw in enumerate(page.fields[KEY].get(part, ())):
        written = raw.get("id") if isinstance(raw, dict) else None
        if isinstance(written, str) and ontology.terms.canonical[written.strip(WHITESPACE)] == identifier:
            at = (KEY, part, number, field_name) if field_name else (KEY, part, number)
    return at


def _check_replacements(ontology: Ontology, findings: list[Finding]) -> None:
    for declared in ontology.declared.values():
        for entity in declared.entities:
            if not entity.replaced_by:
                continue
            target = ontology.entities.get(entity.replaced_by)
            if entity.replaced_by == entity.id:
                said = "is the entity itself"
            elif target is None:
                said = "is not declared in claim_ontology.entities"
            elif target.deprecated:
                said = "is deprecated itself"
            else:
                continue
            message = f"entity {shown(entity.id)} replaced_by {shown(entity.replaced_by)} {said}"
            at = _place(declared.document, "entities", entity.id, ontology, "replaced_by")
            findings.append(Finding(declared.document, message, at))


def label_key(label: str) -> str:
    """Return the form in which two labels are the same: lower case, white space collapsed."""
    return " ".join(label.lower().split())


def _check_labels(ontology: Ontology, findings: list[Finding]) -> None:
    owners: dict[str, str] = {}
    said: set[tuple[str, str]] = set()
    for declared in ontology.declared.values():
        for entity in declared.entities:
            if entity.deprecated:
                continue
            for name in ("pref_label", "alt_labels"):
                labels = (entity.pref_label,) if name == "pref_label" else entity.alt_labels
                for label in filter(None, labels):
                    owner = owners.setdefault(label_key(label), entity.id)
                    if owner != entity.id and (label_key(label), entity.id) not in said:
                        said.add((label_key(label), entity.id))
                        message = (
                            f"label {shown(label)} of entity {shown(entity.id)} is ambiguous: "
                            f"{shown(owner)} has it too"
                        )
                        at = _place(declared.document, "entities", entity.id, ontology, name)
                        findings.append(Finding(declared.document, message, at))


# Claims against the ontology


class OntologyChecker:
    """Checks claims against an ontology. ``check`` gives the faults of one claim; mostly none, and fast."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._entities = ontology.entities
        self._predicates = ontology.predicates
        self._roles = {*BUILT_IN_ROLES, *ontology.evidence_roles}
        self._deprecated = frozenset(e.id for e in ontology.entities.values() if e.deprecated)
        self._sound_subjects: set[tuple[str, str]] = set()

    def check(self, claim: Claim) -> list[tuple[str, Place]]:
        """Return message and place (within the claim) of each fault."""
        if self._passes(claim):
            return []
        return list(self._faults(claim))

    def _passes(self, claim: Claim) -> bool:
        """Whether every check passes, decided in as few steps as possible."""
        predicate = self._predicates.get(claim.predicate)
        if predicate is None:
            return False
        if (claim.subject, claim.predicate) not in self._sound_subjects:
            if next(self._subject_faults(claim, predicate), None) is not None:
                return False
            self._sound_subjects.add((claim.subject, claim.predicate))
        found = claim.object
        if predicate.datatype and found.datatype != predicate.datatype:
            return False
        if predicate.quantity_kind and found.quantity_kind != predicate.quantity_kind:
            return False
        if predicate.canonical_unit and found.unit != predicate.canonical_unit:
            return False
        kind = predicate.object_kind
        if found.ref:
            if kind in ("literal", "quantity") or found.ref in self._deprecated:
                return False
            if kind == "entity" and found.ref not in self._entities:
                return False
        elif kind == "entity" or (kind == "quantity" and not (found.unit and found.quantity_kind)):
            return False
        if predicate.required_scope:
            given = [dimension for dimension, _ in claim.scope]
            for dimension in predicate.required_scope:
                if dimension not in given:
                    return False
        for _, value in claim.scope:
            if value.ref and value.ref in self._deprecated:
                return False
        return all(item.role in self._roles for item in claim.evidence)

    def _faults(self, claim: Claim) -> Iterator[tuple[str, Place]]:
        predicate = self._predicates.get(claim.predicate)
        if predicate is None:
            yield (
                f"predicate {shown(claim.predicate)} is not declared in claim_ontology.predicates",
                ("predicate",),
            )
        yield from self._subject_faults(claim, predicate)
        if predicate is not None:
            yield from self._object_faults(claim.object, predicate)
            given = {dimension for dimension, _ in claim.scope}
            for dimension in predicate.required_scope:
                if dimension not in given:
                    yield f"scope lacks {shown(dimension)}, which {shown(predicate.id)} requires", ("scope",)
        if claim.object.ref in self._deprecated:
            yield f"object.ref {self._deprecation(claim.object.ref)}", ("object", "ref")
        for dimension, value in claim.scope:
            if value.ref in self._deprecated:
                written = self._written_dimension(claim, dimension)
                yield (
                    f"scope.{dimension}.ref {self._deprecation(value.ref)}",
                    ("scope", written, "ref"),
                )
        for number, item in enumerate(claim.evidence):
            if item.role not in self._roles:
                yield (
                    f"evidence[{number}].role {shown(item.role)} is not declared in "
                    "claim_ontology.evidence_roles",
                    ("evidence", number, "role"),
                )

    def _subject_faults(self, claim: Claim, predicate: Predicate | None) -> Iterator[tuple[str, Place]]:
        subject = self._entities.get(claim.subject)
        if subject is None:
            message = f"subject {shown(claim.subject)} is not declared in claim_ontology.entities"
            yield message, ("subject",)
            return
        if subject.deprecated:
            yield f"subject {self._deprecation(subject.id)}", ("subject",)
        wanted = predicate.subject_types if predicate is not None else ()
        if wanted and predicate is not None and not set(wanted) & set(subject.types):
            names = ", ".join(wanted)
            yield (
                f"subject {shown(subject.id)} has none of the types of {shown(predicate.id)}: {names}",
                ("subject",),
            )

    def _object_faults(self, found: ObjectValue, predicate: Predicate) -> Iterator[tuple[str, Place]]:
        kind = predicate.object_kind
        name = shown(predicate.id)
        if kind == "entity":
            if not found.ref:
                yield f"object must be a ref, because {name} takes an entity", ("object",)
            elif found.ref not in self._entities:
                yield (
                    f"object.ref {shown(found.ref)} is not declared in claim_ontology.entities",
                    ("object", "ref"),
                )
        elif kind == "literal" and found.ref:
            yield f"object must be a value, because {name} takes a literal", ("object", "ref")
        elif kind == "quantity" and not (found.unit and found.quantity_kind):
            yield f"object needs unit and quantity_kind, because {name} takes a quantity", ("object",)
        for key, wanted, given in (
            ("datatype", predicate.datatype, found.datatype),
            ("quantity_kind", predicate.quantity_kind, found.quantity_kind),
            ("unit", predicate.canonical_unit, found.unit),
        ):
            if wanted and wanted != given:
                is_given = shown(given) if given else "absent"
                yield f"object.{key} must be {shown(wanted)} for {name}; it is {is_given}", ("object", key)

    def _deprecation(self, identifier: str) -> str:
        replacement = self._entities[identifier].replaced_by
        hint = f'; use "{replacement}"' if replacement else ""
        return f"{shown(identifier)} is deprecated{hint}"

    def _written_dimension(self, claim: Claim, dimension: str) -> str:
        raw: dict[str, object] = claim.document.fields["claims"][claim.index]["scope"]
        canonical = self._ontology.terms.canonical
        return next(key for key in raw if canonical[key.strip(WHITESPACE)] == dimension)
