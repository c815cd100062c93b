"""What the tools ask: one store, with the parts of its answers that several of them use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.store import Store

if TYPE_CHECKING:
    from openknowledge.schemas.validation import ValidationReport


class Questions(Protocol):
    """What a store answers of claims, and by several routes at once."""

    def hybrid(
        self,
        *,
        text: str | None,
        sparql: str | None,
        datalog: Mapping[str, str] | None,
        limit: int,
        structured_max: int,
    ) -> Mapping[str, Any]: ...

    def claims_find(self, query: str) -> Mapping[str, Any]: ...

    def claims_stale(self) -> Mapping[str, Any]: ...

    def claims_impact(self, identifier: str) -> Mapping[str, Any]: ...

    def propose_claim(
        self, *, document: str, claim: Mapping[str, Any], reason: str, confidence: float
    ) -> Mapping[str, Any]: ...


class Snapshot:
    """One store of the bundle, for as long as it is true."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @cached_property
    def report(self) -> ValidationReport:
        """The validation report by the default policy: the bundle's own settings do not count here."""
        return Store(self.store.bundle, self.store.now).validate()

    @property
    def issues(self) -> list[dict[str, Any]]:
        """Every issue of the report."""
        return self.report["issues"]  # type: ignore[return-value]

    @property
    def questions(self) -> Questions:
        """The store, asked from public sources alone.

        Raises ``OpenKnowledgeError`` when it has been given access to restricted sources: it would show them
        to anybody who can start a client.
        """
        if self.store.access:
            raise OpenKnowledgeError(
                "restricted sources are not served; open the store without access labels"
            )
        return cast("Questions", self.store)
