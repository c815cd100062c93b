"""Random sequences of operations keep the promises of every single one.

``OKN_SEQUENCES`` sets how many sequences are tried.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations import lifecycle
from openknowledge.engine.operations.apply import apply_proposal
from openknowledge.engine.operations.disk import Disk
from openknowledge.engine.operations.entities import apply_entity_proposal, propose_alias, propose_merge
from openknowledge.engine.operations.lock import BundleLock
from openknowledge.engine.operations.pin import pin_evidence
from openknowledge.engine.operations.transaction import recover
from openknowledge.engine.store import Store

from .conftest import FOLDER, INDEX, MEMORY, NOW, ONTOLOGY, PAGE, Sample

ENDED = ("rejected", "superseded", "archived")
SECOND = """---\r
type: Service\r
title: Beta   # another page, with other line ends\r
sources: [{ id: live, resource: sources/notes.txt }, { id: pinned, resource: page.md }]\r
---\r
\r
# Beta\r
"""
ids = st.sampled_from(["ex:idle", "ex:c1", "ex:c2", "ex:c3", "https://example.org/c1"])
pages = st.sampled_from(["page.md", "second.md"])
actors = st.sampled_from(["human:ann", "human:ann", "github:bob", "process:ci", "agent:x"])
entities = st.sampled_from(["ex:alpha", "ex:beta", "ex:production"])
steps = st.integers(0, 60)


class Sequences(RuleBasedStateMachine):
    """Every rule makes one change, or is refused and changes nothing."""

    @initialize()
    def start(self) -> None:
        folder = tempfile.mkdtemp(prefix="okn-sequence-", dir=MEMORY if MEMORY.is_dir() else None)
        self.sample = Sample(Path(folder) / "bundle")
        for path, text in {
            "index.md": INDEX,
            "ontology.md": ONTOLOGY,
            "page.md": PAGE,
            "second.md": SECOND,
            "sources/settings.txt": self.artifact,
            "sources/notes.txt": "notes\n",
            f"{FOLDER}/artifact.txt": self.artifact,
        }.items():
            self.sample.write(path, text)
        self.now = NOW
        self.waiting: list[dict[str, Any]] = []
        self.merged = False
        self.before = self.sample.files()
        self.base = self.store()
        self.history = self.claims()

    artifact = "The idle timeout\nis 30 minutes.\n\nThe absolute timeout is 12 hours.\n"

    def teardown(self) -> None:
        if hasattr(self, "sample"):
            shutil.rmtree(self.sample.root.parent)

    def store(self) -> Store:
        return Store.open(self.sample.root, clock=fixed_clock(self.now))

    def claims(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for document in self.store().bundle.documents:
            for claim in document.fields.get("claims", []):
                assert claim["id"] not in found, "an id occurs twice"
                found[claim["id"]] = claim
        return found

    def run(self, operation: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        """Run an operation that may be refused; then nothing may have changed."""
        self.now += timedelta(hours=1)
        self.before = self.sample.files()
        try:
            report = operation(self.sample.root, *arguments, clock=fixed_clock(self.now), **options)
        except OpenKnowledgeError:
            assert self.sample.files() == self.before
            return
        assert (self.sample.files() != self.before) == report["changed"]

    def proposal(self, document: str, claim_id: str, supersedes: list[str]) -> dict[str, Any]:
        changes: dict[str, Any] = {"id": claim_id}
        if supersedes:
            changes["relations"] = {"supersedes": supersedes}
        return self.sample.propose(document, **changes)

    @rule(document=pages, claim_id=ids, supersedes=st.lists(ids, max_size=1))
    def propose(self, document: str, claim_id: str, supersedes: list[str]) -> None:
        before = self.sample.files()
        self.waiting.append(self.proposal(document, claim_id, supersedes))
        assert self.sample.files() == before

    @rule(document=pages, claim_id=ids, supersedes=st.lists(ids, max_size=1))
    def propose_and_apply(self, document: str, claim_id: str, supersedes: list[str]) -> None:
        self.run(apply_proposal, self.proposal(document, claim_id, supersedes))

    @rule(number=st.integers(0, 5))
    def apply_a_waiting_proposal(self, number: int) -> None:
        if self.waiting:
            self.run(apply_proposal, self.waiting[number % len(self.waiting)])

    @rule(claim_id=ids, document=pages)
    def link(self, claim_id: str, document: str) -> None:
        self.run(lifecycle.link_claim, claim_id, document)

    @rule(claim_id=ids)
    def dispute(self, claim_id: str) -> None:
        self.run(lifecycle.dispute_claim, claim_id)

    @rule(claim_id=ids, by=actors)
    def verify(self, claim_id: str, by: str) -> None:
        self.run(lifecycle.verify_claim, claim_id, approved_by=by)

    @rule(claim_id=ids, by=actors)
    def reconcile(self, claim_id: str, by: str) -> None:
        self.run(lifecycle.reconcile_claim, claim_id, approved_by=by)

    @rule(claim_id=ids, by=actors, reason=st.sampled_from(["", "no: it is not so"]))
    def reject(self, claim_id: str, by: str, reason: str) -> None:
        self.run(lifecycle.reject_claim, claim_id, approved_by=by, reason=reason)

    @rule(claim_id=ids, by=actors)
    def supersede(self, claim_id: str, by: str) -> None:
        self.run(lifecycle.supersede_claim, claim_id, approved_by=by)

    @rule(claim_id=ids, by=actors)
    def archive(self, claim_id: str, by: str) -> None:
        self.run(lifecycle.archive_claim, claim_id, approved_by=by)

    @rule(by=actors)
    def approve_authority(self, by: str) -> None:
        self.run(lifecycle.approve_authority, "page.md", "live", approved_by=by)

    @rule(source=st.sampled_from(["live", "pinned"]), file=st.sampled_from(["notes", "settings"]))
    def pin(self, source: str, file: str) -> None:
        path = str(self.sample.root / f"sources/{file}.txt")
        self.run(pin_evidence, document="page.md", source=source, resource=path)

    @rule(entity=entities, alias=st.sampled_from(["One", "Two", "beta"]), by=actors)
    def add_alias(self, entity: str, alias: str, by: str) -> None:
        try:
            proposal = propose_alias(self.store(), entity, alias, reason="r")
        except OpenKnowledgeError:
            return
        self.run(apply_entity_proposal, proposal, approved_by=by)

    @rule(entity=entities, other=entities)
    def merge(self, entity: str, other: str) -> None:
        try:
            proposal = propose_merge(self.store(), entity, other, reason="r")
        except OpenKnowledgeError:
            return
        self.merged = True
        self.run(apply_entity_proposal, proposal, approved_by="human:ann")

    @rule(text=st.sampled_from(["notes\n", "other notes\n"]))
    def edit_a_source_by_hand(self, text: str) -> None:
        self.sample.write("sources/notes.txt", text)

    @rule(document=pages)
    def edit_a_page_by_hand(self, document: str) -> None:
        self.sample.write(document, self.sample.text(document) + "more\n")

    @rule(claim_id=ids, step=steps)
    def fail_at_any_step(self, claim_id: str, step: int) -> None:
        left = [step]

        def hook(name: str, path: Path) -> None:
            left[0] -= 1
            if left[0] == -1:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

        self.run(lifecycle.dispute_claim, claim_id, disk=Disk(hook))
        with BundleLock(self.sample.root, command="the next run"):
            recover(self.sample.root)  # what could not be tidied after the change was made

    @invariant()
    def the_promises_hold(self) -> None:
        if not hasattr(self, "sample"):
            return
        now = self.claims()
        for claim_id, old in self.history.items():
            assert claim_id in now, "a claim disappeared"
            _appended_only(old, now[claim_id])
        for claim in now.values():
            assert claim["status"] != "verified" or "verification" in claim
            assert claim["status"] not in ENDED or claim["decisions"][-1]["action"] == claim["status"]
        self.history = now
        store = self.store()
        assert store.validate_claims()["issues"] == []
        if not self.merged:
            assert store.validate_claims(self.base)["lifecycleIssues"] == []
        for path in self.sample.files():
            assert not path.endswith((".tmp", ".old", ".undo"))
            assert not path.startswith((".openknowledge/transactions", ".openknowledge/lock"))
        self.merged, self.base = False, store


def _appended_only(old: dict[str, Any], new: dict[str, Any]) -> None:
    decisions = old.get("decisions", [])
    assert new.get("decisions", [])[: len(decisions)] == decisions
    if old["status"] in ENDED:
        assert new["status"] == old["status"]
    versions = old.get("verification", {}).get("evidence_versions", [])
    assert new.get("verification", {}).get("evidence_versions", [])[: len(versions)] == versions
    assert new["evidence"] == old["evidence"]
    assert new["predicate"] == old["predicate"]


Sequences.TestCase.settings = settings(
    max_examples=int(os.environ.get("OKN_SEQUENCES", "25")),
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestSequences = Sequences.TestCase
