"""How much an evaluation may take, and the watch that ends it in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from openknowledge.engine import limits as bounds
from openknowledge.engine.errors import LimitError

T = TypeVar("T")


class Lock(Protocol):
    """A lock of ``threading``."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock; return whether that was possible in time."""
        ...

    def release(self) -> None:
        """Give the lock back."""
        ...


NARROW = "narrow the query: give an argument a value, or make the premises more selective"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one evaluation; ``None`` is no limit, and none is set unless asked for.

    ``seconds`` counts from the start of the evaluation, with proofs. ``base_facts`` counts the rows of the
    relations that the program reaches, ``created_facts`` what rules derive, ``results`` the rows of an
    answer, ``proof_depth`` the rule applications on the longest path of a proof, and ``proof_steps`` the
    steps of all proofs of an answer when they are written out.
    """

    seconds: float | None = None
    base_facts: int | None = None
    created_facts: int | None = None
    results: int | None = None
    proof_depth: int | None = None
    proof_steps: int | None = None
    query_bytes: int | None = None
    rule_bytes: int | None = None

    @classmethod
    def command_line(cls) -> Limits:
        """Return the defaults for one user's own command."""
        return cls(
            seconds=bounds.QUERY_SECONDS,
            base_facts=bounds.BASE_FACTS,
            created_facts=bounds.CREATED_FACTS,
            results=bounds.RESULTS,
            proof_depth=bounds.PROOF_DEPTH,
            proof_steps=bounds.PROOF_STEPS,
            query_bytes=bounds.QUERY_BYTES,
            rule_bytes=bounds.RULE_BYTES,
        )

    @classmethod
    def served(cls) -> Limits:
        """Return the defaults for queries that come from a client of a server."""
        return replace(cls.command_line(), base_facts=bounds.BASE_FACTS_SERVED)


NO_LIMITS = Limits()


class Budget:
    """The part of ``Limits`` that is watched while work goes on. One per evaluation."""

    def __init__(self, limits: Limits = NO_LIMITS, now: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._now = now
        self.deadline = None if limits.seconds is None else now() + limits.seconds

    @property
    def watched(self) -> bool:
        """Whether loops have anything to look at."""
        return self.deadline is not None or self.limits.created_facts is not None

    def remaining(self) -> float | None:
        """Return the seconds left, ``None`` without a deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - self._now())

    def check_time(self) -> None:
        """Raise ``LimitError`` when the deadline has passed."""
        if self.deadline is not None and self._now() > self.deadline:
            raise LimitError(
                f"the query was stopped after its time limit of {self.limits.seconds:g} s; {NARROW}",
                limit="QUERY_SECONDS",
            )

    @contextmanager
    def holding(self, lock: Lock) -> Iterator[None]:
        """Hold ``lock`` for the block. Raises ``LimitError`` when it is not free before the deadline."""
        remaining = self.remaining()
        if not lock.acquire(timeout=-1 if remaining is None else remaining):
            self.check_time()
            raise LimitError("the query was stopped while it waited for its facts", limit="QUERY_SECONDS")
        try:
            yield
        finally:
            lock.release()

    def check_created(self, count: int) -> None:
        """Raise ``LimitError`` when ``count`` derived facts are too many."""
        most = self.limits.created_facts
        if most is not None and count > most:
            raise LimitError(
                f"the rules create more than {most:,} facts, the limit of created facts; {NARROW}",
                limit="CREATED_FACTS",
            )

    def check_base(self, count: int) -> None:
        """Raise ``LimitError`` when ``count`` base facts are too many."""
        most = self.limits.base_facts
        if most is not None and count > most:
            raise LimitError(
                f"the relations that this query reaches hold more than {most:,} facts, the limit of base "
                "facts; use fewer relations",
                limit="BASE_FACTS",
            )

    def check_steps(self, count: int) -> None:
        """Raise ``LimitError`` when ``count`` proof steps are too many to write out."""
        most = self.limits.proof_steps
        if most is not None and count > most:
            raise LimitError(
                f"the proofs of this answer have more than {most:,} steps, the limit of proof steps; "
                f"{NARROW}, or ask for fewer results",
                limit="PROOF_STEPS",
            )


def releasing(work: Callable[[], T]) -> T:
    """Return ``work()``; when it meets a limit, raise that ``LimitError`` without what the work held.

    An exception keeps the frames it passed alive, and with them every fact they know. The error that leaves
    here is a new one, so the memory is free when the caller sees it.
    """
    try:
        return work()
    except LimitError as error:
        message, limit = error.message, error.limit
    raise LimitError(message, limit=limit)


class Gate:
    """At most ``slots`` evaluations at a time in this process. Share one gate between all callers."""

    def __init__(self, slots: int = bounds.CONCURRENT_EVALUATIONS) -> None:
        self.slots = slots
        self._free = threading.BoundedSemaphore(slots)

    @contextmanager
    def enter(self, budget: Budget) -> Iterator[None]:
        """Hold a slot for the block; wait for one until the budget's deadline, then raise ``LimitError``."""
        if not self._free.acquire(timeout=budget.remaining()):
            raise LimitError(
                f"{self.slots} evaluations are running already, the limit for one process, and none ended "
                "in time; try again later",
                limit="CONCURRENT_EVALUATIONS",
            )
        try:
            yield
        finally:
            self._free.release()
