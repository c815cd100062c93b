"""Evaluation datasets, read strictly: an unknown or repeated field is an error with its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openknowledge.engine import limits
from openknowledge.engine.bundle.digests import sha256_hex
from openknowledge.engine.bundle.okf import TRUST_TIERS
from openknowledge.engine.bundle.yaml_reader import positions, read_yaml
from openknowledge.engine.errors import OpenKnowledgeError, UsageError

RETRIEVAL_TYPE = "openknowledge.retrieval-eval"
SOURCES_TYPE = "openknowledge.eval"
SYSTEMS = ("all", "local-hash", "embedding", "embedding-delta")
LEVELS = ("section", "document")
METRICS = ("mrr", "recall", "ndcg")
DEFAULT_BUDGET = 2_400
DEFAULT_LIMIT = 12

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
Place = tuple[str | int, ...]


class DatasetError(UsageError):
    """A dataset that is not valid: exit code 2. ``line`` is set where it is known."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """How relevant (1 to 3) a section is, or the page where ``heading`` is empty."""

    path: str
    heading: str
    relevance: int


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """A query with what should be found."""

    id: str
    category: str
    query: str
    judgments: tuple[Judgment, ...]


@dataclass(frozen=True, slots=True)
class Gate:
    """A figure that a system must reach; ``cutoff`` is 0 for ``mrr``."""

    id: str
    system: str
    level: str
    metric: str
    cutoff: int
    minimum: float


@dataclass(frozen=True, slots=True)
class Identity:
    """Which dataset it is."""

    type: str
    id: str
    path: str
    sha256: str
    version: int = 1


@dataclass(frozen=True, slots=True)
class RetrievalDataset:
    """Judged queries and gates."""

    identity: Identity
    cutoffs: tuple[int, ...]
    cases: tuple[RetrievalQuery, ...]
    gates: tuple[Gate, ...]


@dataclass(frozen=True, slots=True)
class Expectations:
    """What the sources for a question must be like; ``None`` and empty ones are not checked."""

    sources: tuple[str, ...] = ()
    evidence_contains: tuple[str, ...] = ()
    evidence_excludes: tuple[str, ...] = ()
    min_sources: int | None = None
    minimum_trust: str | None = None
    allow_stale: bool | None = None
    allowed_statuses: tuple[str, ...] = ()
    require_sources: bool | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question with how to pack its context and what to expect of that."""

    id: str
    question: str
    agents: tuple[str, ...]
    budget: int
    limit: int
    no_expand: bool
    expect: Expectations


@dataclass(frozen=True, slots=True)
class SourcesDataset:
    """Questions with expectations about sources and policy."""

    identity: Identity
    cases: tuple[Question, ...]


def read_dataset(path: Path, shown: str = "") -> RetrievalDataset | SourcesDataset:
    """Read the dataset in the YAML or JSON file at ``path``; ``shown`` is how a report names it.

    Raises ``OpenKnowledgeError`` when it cannot be read, ``DatasetError`` when it is not valid.
    """
    try:
        with path.open("rb") as file:
            data = file.read(limits.DATASET_BYTES + 1)
    except OSError as error:
        raise OpenKnowledgeError(f"cannot read {path}: {error.strerror}", path=str(path)) from None
    return parse_dataset(data, shown or str(path))


def parse_dataset(data: bytes, path: str) -> RetrievalDataset | SourcesDataset:
    """Return the dataset in ``data``, which was read from ``path``. Raises ``DatasetError``."""
    if len(data) > limits.DATASET_BYTES:
        raise DatasetError(f"{path}: larger than the {limits.DATASET_BYTES} bytes accepted", path=path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path}: not valid UTF-8 at byte {error.start}", path=path) from None
    if path.lower().endswith(".json"):
        value = _read_json(data, path)
        return _Reader(path, "").dataset(value, sha256_hex(data))
    result = read_yaml(text)
    if result.problems:
        first = result.problems[0]
        message = first.message.replace("frontmatter key", "key").replace("; later value wins", "")
        raise DatasetError(f"{path}:{first.line}:{first.column}: {message}", path=path, line=first.line)
    return _Reader(path, text).dataset(result.value, sha256_hex(data))


def _read_json(data: bytes, path: str) -> Any:
    import json

    from openknowledge.engine.search.embeddings import strict_json

    try:
        return strict_json(data.removeprefix(b"\xef\xbb\xbf"))
    except json.JSONDecodeError as error:
        where = f"{path}:{error.lineno}:{error.colno}"
        raise DatasetError(f"{where}: {error.msg}", path=path, line=error.lineno) from None
    except ValueError as error:
        raise DatasetError(f"{path}: {error}", path=path) from None


class _Reader:
    """Checks a value field by field; every message says where."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text

    def fail(self, place: Place, problem: str) -> DatasetError:
        """Return the error for ``problem`` at ``place``."""
        where, line = self.path, None
        if self.text:
            known = positions(self.text)
            at = place
            while at and at not in known:
                at = at[:-1]
            if at in known:
                line, column = known[at]
                where = f"{self.path}:{line}:{column}"
        name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
        return DatasetError(f"{where}: {f'{name}: ' if name else ''}{problem}", path=self.path, line=line)

    def dataset(self, value: Any, digest: str) -> RetrievalDataset | SourcesDataset:
        if not isinstance(value, dict):
            raise self.fail((), "a dataset is a mapping with type, version, id and cases")
        kind = value.get("type")
        if kind not in (RETRIEVAL_TYPE, SOURCES_TYPE):
            raise self.fail(("type",), f"must be {RETRIEVAL_TYPE} or {SOURCES_TYPE}")
        if kind == RETRIEVAL_TYPE:
            self.fields(value, (), {"type", "version", "id", "cutoffs", "cases"}, {"gates"})
        else:
            self.fields(value, (), {"type", "version", "id", "cases"}, {"defaults"})
        if type(value["version"]) is not int or value["version"] != 1:
            raise self.fail(("version",), "must be 1")
        identity = Identity(kind, self.identifier(value["id"], ("id",)), self.path, digest)
        return self.retrieval(value, identity) if kind == RETRIEVAL_TYPE else self.sources(value, identity)

    def retrieval(self, value: Mapping[str, Any], identity: Identity) -> RetrievalDataset:
        raw = self.list_of(value["cutoffs"], ("cutoffs",), least=1, most=10)
        cutoffs = tuple(self.integer(item, ("cutoffs", at), 1, 100) for at, item in enumerate(raw))
        if list(cutoffs) != sorted(set(cutoffs)):
            raise self.fail(("cutoffs",), "must ascend")
        cases = self.unique("cases", value["cases"], self.query, least=1)
        gates = self.unique(
            "gates", value.get("gates", []), lambda item, place: self.gate(item, place, cutoffs), least=0
        )
        return RetrievalDataset(identity, cutoffs, tuple(cases), tuple(gates))

    def query(self, value: Any, place: Place) -> RetrievalQuery:
        self.fields(value, place, {"id", "category", "query", "judgments"}, set())
        text = self.text_of(value["query"], (*place, "query"), limits.TEXT_QUERY_RUNES)
        judgments = []
        seen = set()
        for at, item in enumerate(self.list_of(value["judgments"], (*place, "judgments"), least=1)):
            here = (*place, "judgments", at)
            self.fields(item, here, {"path", "relevance"}, {"heading"})
            judgment = Judgment(
                self.text_of(item["path"], (*here, "path")),
                self.text_of(item["heading"], (*here, "heading")) if "heading" in item else "",
                self.integer(item["relevance"], (*here, "relevance"), 1, 3),
            )
            if (judgment.path, judgment.heading) in seen:
                raise self.fail(here, "the same page and heading are judged twice")
            seen.add((judgment.path, judgment.heading))
            judgments.append(judgment)
        return RetrievalQuery(
            self.identifier(value["id"], (*place, "id")),
            self.identifier(value["category"], (*place, "category")),
            text,
            tuple(judgments),
        )

    def gate(self, value: Any, place: Place, cutoffs: Sequence[int]) -> Gate:
        self.fields(value, place, {"id", "system", "level", "metric", "minimum"}, {"cutoff"})
        metric = self.choice(value["metric"], (*place, "metric"), METRICS)
        cutoff = 0
        if metric == "mrr":
            if "cutoff" in value:
                raise self.fail((*place, "cutoff"), "does not apply to mrr")
        elif "cutoff" not in value:
            raise self.fail(place, f"cutoff is missing: {metric} needs one")
        else:
            cutoff = self.integer(value["cutoff"], (*place, "cutoff"), 1, 100)
            if cutoff not in cutoffs:
                raise self.fail((*place, "cutoff"), f"must be one of the cutoffs {list(cutoffs)}")
        minimum = value["minimum"]
        if type(minimum) not in (int, float) or not 0 <= minimum <= 1:
            raise self.fail((*place, "minimum"), "must be a number from 0 to 1")
        return Gate(
            self.identifier(value["id"], (*place, "id")),
            self.choice(value["system"], (*place, "system"), SYSTEMS),
            self.choice(value["level"], (*place, "level"), LEVELS),
            metric,
            cutoff,
            float(minimum),
        )

    def sources(self, value: Mapping[str, Any], identity: Identity) -> SourcesDataset:
        defaults = value.get("defaults", {})
        self.fields(defaults, ("defaults",), set(), {"budget", "limit"})
        budget = self.budget(defaults, ("defaults",), DEFAULT_BUDGET)
        limit = self.limit(defaults, ("defaults",), DEFAULT_LIMIT)
        cases = self.unique(
            "cases", value["cases"], lambda item, place: self.question(item, place, budget, limit), least=1
        )
        return SourcesDataset(identity, tuple(cases))

    def question(self, value: Any, place: Place, budget: int, limit: int) -> Question:
        self.fields(value, place, {"id", "question", "expect"}, {"agents", "context"})
        context = value.get("context", {})
        here = (*place, "context")
        self.fields(context, here, set(), {"budget", "limit", "no_expand"})
        agents = self.texts(value.get("agents", []), (*place, "agents"), most=20)
        return Question(
            self.identifier(value["id"], (*place, "id")),
            self.text_of(value["question"], (*place, "question"), limits.TEXT_QUERY_RUNES),
            agents,
            self.budget(context, here, budget),
            self.limit(context, here, limit),
            self.boolean(context.get("no_expand", False), (*here, "no_expand")),
            self.expectations(value["expect"], (*place, "expect")),
        )

    def expectations(self, value: Any, place: Place) -> Expectations:
        names = set(Expectations.__dataclass_fields__)
        self.fields(value, place, set(), names)
        if not value:
            raise self.fail(place, f"needs at least one of {', '.join(sorted(names))}")
        found: dict[str, Any] = {}
        for name, given in value.items():
            here = (*place, name)
            if name in ("sources", "evidence_contains", "evidence_excludes", "allowed_statuses"):
                found[name] = self.texts(given, here, least=1)
            elif name == "min_sources":
                found[name] = self.integer(given, here, 0, limits.RESULTS)
            elif name == "minimum_trust":
                found[name] = self.choice(given, here, TRUST_TIERS)
            else:
                found[name] = self.boolean(given, here)
        return Expectations(**found)

    # Kinds of values

    def fields(self, value: Any, place: Place, required: set[str], optional: set[str]) -> None:
        if not isinstance(value, dict):
            raise self.fail(place, "must be a mapping")
        for name in value:
            if name not in required and name not in optional:
                known = ", ".join(sorted(required | optional))
                raise self.fail((*place, name), f"unknown field; known are {known}")
        if missing := sorted(required - set(value)):
            raise self.fail(place, f"{missing[0]} is missing")

    def unique(self, name: str, value: Any, read: Callable[[Any, Place], Any], *, least: int) -> list[Any]:
        found: list[Any] = []
        seen: set[str] = set()
        for at, item in enumerate(self.list_of(value, (name,), least=least, most=limits.DATASET_CASES)):
            entry = read(item, (name, at))
            if entry.id in seen:
                raise self.fail((name, at, "id"), f"{entry.id} is used twice")
            seen.add(entry.id)
            found.append(entry)
        return found

    def list_of(self, value: Any, place: Place, *, least: int = 0, most: int = 1_000) -> list[Any]:
        if not isinstance(value, list):
            raise self.fail(place, "must be a list")
        if not least <= len(value) <= most:
            raise self.fail(place, f"must have {least} to {most} entries, not {len(value)}")
        return value

    def texts(self, value: Any, place: Place, *, least: int = 0, most: int = 1_000) -> tuple[str, ...]:
        items = self.list_of(value, place, least=least, most=most)
        return tuple(self.text_of(item, (*place, at)) for at, item in enumerate(items))

    def text_of(self, value: Any, place: Place, most: int = 4_096) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.fail(place, "must be a text that is not blank")
        if len(value) > most:
            raise self.fail(place, f"must have at most {most} characters")
        return value

    def identifier(self, value: Any, place: Place) -> str:
        if not isinstance(value, str) or not _ID.match(value):
            raise self.fail(place, "must be 1 to 128 of A-Z a-z 0-9 . _ - and start with a letter or digit")
        return value

    def choice(self, value: Any, place: Place, choices: Sequence[str]) -> str:
        if not isinstance(value, str) or value not in choices:
            raise self.fail(place, f"must be one of {', '.join(choices)}")
        return value

    def integer(self, value: Any, place: Place, least: int, most: int) -> int:
        if type(value) is not int or not least <= value <= most:
            raise self.fail(place, f"must be a whole number from {least} to {most}")
        return value

    def boolean(self, value: Any, place: Place) -> bool:
        if not isinstance(value, bool):
            raise self.fail(place, "must be true or false")
        return value

    def budget(self, value: Mapping[str, Any], place: Place, default: int) -> int:
        return self.integer(value.get("budget", default), (*place, "budget"), 1, limits.SEARCH_BUDGET)

    def limit(self, value: Mapping[str, Any], place: Place, default: int) -> int:
        return self.integer(value.get("limit", default), (*place, "limit"), 1, limits.RESULTS)
