"""What the tools ask: one store, with the parts of its answers that several of them use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from openknowledge.engine.config import Config
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.store import Store

if TYPE_CHECKING:
    from openknowledge.schemas.validation import ValidationReport


class Snapshot:
    """One store of the bundle, for as long as it is true."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @cached_property
    def report(self) -> ValidationReport:
        """The validation report by the default policy: the bundle's own settings do not count here."""
        store = self.store
        if store.config != Config():
            store = Store(store.bundle, store.now)
        return store.validate()

    @property
    def issues(self) -> list[dict[str, Any]]:
        """Every issue of the report."""
        return self.report["issues"]  # type: ignore[return-value]

    @property
    def public(self) -> Store:
        """The store, asked from public sources alone.

        Raises ``OpenKnowledgeError`` when it has been given access to restricted sources: it would show them
        to anybody who can start a client.
        """
        if self.store.access:
            raise OpenKnowledgeError(
                "restricted sources are not served; open the store without access labels"
            )
        return self.store

    def propose_claim(
        self, *, document: str, claim: Mapping[str, Any], reason: str, confidence: float
    ) -> dict[str, Any]:
        """Return a proposal. Nothing is written. Raises ``OpenKnowledgeError`` for one that is no good."""
        from openknowledge.engine.operations.propose import propose_claim

        found = propose_claim(
            self.public, document=document, claim=claim, reason=reason, confidence=confidence
        )
        return dict(found)
