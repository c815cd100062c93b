"""Random histories of changes, refusals, deaths, recoveries and other editors keep every file whole."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from openknowledge.engine.operations.disk import Disk
from openknowledge.engine.operations.transaction import StaleFileError, Transaction, recover, sha256_hex

paths = st.sampled_from(["a.md", "b.md", "docs/c.md", "docs/deep/d.md"])
contents = st.binary(max_size=8)
changes = st.dictionaries(paths, contents, min_size=1, max_size=4)


MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Thousands of fsyncs: on a file system in memory they cost nothing."""


class Refused(Exception):
    pass


class Histories(RuleBasedStateMachine):
    """``model`` is what the bundle holds; after a death it may be either of two states."""

    @initialize()
    def start(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="okn-history-", dir=MEMORY))
        self.model: dict[str, bytes] = {}
        self.possible: dict[str, bytes] | None = None

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def transaction(self, change: dict[str, bytes], disk: Disk | None = None) -> Transaction:
        transaction = Transaction(self.root, disk=disk)
        for path, data in change.items():
            old = self.model.get(path)
            transaction.stage(path, data, expected=None if old is None else sha256_hex(old))
        return transaction

    @rule(change=changes)
    def commit(self, change: dict[str, bytes]) -> None:
        self.settle()
        self.transaction(change).commit()
        self.model |= change

    @rule(change=changes)
    def refuse(self, change: dict[str, bytes]) -> None:
        self.settle()

        def verify() -> None:
            raise Refused

        try:
            self.transaction(change).commit(verify)
        except Refused:
            return
        raise AssertionError("the refusal was lost")

    @rule(change=changes, step=st.integers(0, 60))
    def die(self, change: dict[str, bytes], step: int) -> None:
        self.settle()
        child = os.fork()
        if child == 0:
            left = [step]

            def hook(name: str, path: Path) -> None:
                left[0] -= 1
                if left[0] < 0:
                    os._exit(9)

            try:
                self.transaction(change, Disk(hook)).commit()
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        self.possible = self.model | change
        if os.waitstatus_to_exitcode(status) == 0:
            self.model, self.possible = self.possible, None

    @rule()
    def recover(self) -> None:
        self.settle()

    @rule(path=paths, data=contents)
    def edit_by_hand(self, path: str, data: bytes) -> None:
        self.settle()
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data)
        self.model[path] = data

    @rule(change=changes, data=contents)
    def commit_on_stale_bytes(self, change: dict[str, bytes], data: bytes) -> None:
        self.settle()
        transaction = Transaction(self.root)
        path = sorted(change)[0]
        if self.model.get(path) is None or self.model[path] == data:
            return
        transaction.stage(path, change[path], expected=sha256_hex(data))
        try:
            transaction.commit()
        except StaleFileError:
            return
        raise AssertionError("stale bytes were overwritten")

    def settle(self) -> None:
        recover(self.root)
        found = self.files()
        if self.possible is not None:
            assert found in (self.model, self.possible)
            self.model, self.possible = found, None
        assert found == self.model

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file()
        }

    @invariant()
    def no_file_is_half_written(self) -> None:
        if not hasattr(self, "root"):
            return
        for path, data in self.files().items():
            if path.startswith(".openknowledge") or ".okn-" in path:
                assert self.possible is not None
                continue
            allowed: list[Any] = [self.model.get(path), (self.possible or self.model).get(path)]
            assert data in allowed


Histories.TestCase.settings = settings(
    max_examples=60, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
TestHistories = Histories.TestCase
