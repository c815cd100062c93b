"""A bundle while it is being changed: judged before, tried in memory, written as a whole, judged again."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openknowledge.engine.bundle.bundle import Bundle, read_bundle, spec_version
from openknowledge.engine.bundle.document import Document, parse_document
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.validation import apply_overrides, validate_okf
from openknowledge.engine.bundle.walk import bundle_root
from openknowledge.engine.claims.claimset import ClaimSet, read_claims
from openknowledge.engine.claims.evidence import EVIDENCE_FOLDER, Artifact, EvidenceStore
from openknowledge.engine.clock import Clock, system_clock
from openknowledge.engine.config import Config, read_config
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.disk import Disk
from openknowledge.engine.operations.patch import edit_frontmatter
from openknowledge.engine.operations.paths import resolve_in_bundle
from openknowledge.engine.operations.transaction import Recovery, Transaction, sha256_hex, writing

if TYPE_CHECKING:
    from openknowledge.engine.store import Store
    from openknowledge.schemas.operations import Recovered

Patch = Sequence[Mapping[str, Any]]
IssueKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Created:
    """A file that is to be created."""

    data: bytes
    mode: int = 0o666


@dataclass(frozen=True)
class Judgement:
    """A state of a bundle, and everything that is wrong in it."""

    bundle: Bundle
    claims: ClaimSet
    issues: tuple[Issue, ...]

    def new_issues(
        self, before: Judgement, tolerated: Collection[str] = (), renamed: tuple[str, str] | None = None
    ) -> list[Issue]:
        """Return the issues that ``before`` did not have, without warnings of the rules ``tolerated``.

        With ``renamed``, an old term and a new one, an issue is not new because it now names the new term.
        """
        known = {_key(issue) for issue in before.issues}
        if renamed is not None:
            old, new = f'"{renamed[0]}"', f'"{renamed[1]}"'
            known |= {(path, rule, message.replace(old, new)) for path, rule, message in known}
        return [
            issue
            for issue in self.issues
            if _key(issue) not in known and not (issue.rule in tolerated and issue.severity == "warning")
        ]


def _key(issue: Issue) -> IssueKey:
    # not the line: it moves with every edit above it
    return issue.path, issue.rule, issue.message


def judge(
    bundle: Bundle, config: Config, now: datetime, created: Mapping[str, Created] | None = None
) -> Judgement:
    """Judge ``bundle`` as validation does. ``created`` are artifacts that are not on the disk yet."""
    claims = read_claims(bundle, now=now, evidence=_Evidence(bundle.root, created or {}))
    issues = apply_overrides([*config.issues, *validate_okf(bundle), *claims.issues], config.overrides)
    return Judgement(bundle, claims, tuple(issues))


def judged(store: Store) -> Judgement:
    """Return the state of the bundle that ``store`` has, with what it knows already."""
    return Judgement(store.bundle, store.claim_set, tuple(store.issues()))


def with_page(bundle: Bundle, pages: Mapping[str, bytes], created: Iterable[str] = ()) -> Bundle:
    """Return ``bundle`` with other bytes in some of its ``pages``, and with the files ``created``."""
    documents = tuple(
        parse_document(document.path, pages[document.path]) if document.path in pages else document
        for document in bundle.documents
    )
    return replace(bundle, documents=documents, assets=tuple(sorted({*bundle.assets, *created})))


class _Evidence(EvidenceStore):
    """The artifacts on the disk, and those that are to be created."""

    def __init__(self, root: Path, created: Mapping[str, Created]) -> None:
        super().__init__(root)
        self._created = created

    def artifact(self, path: str) -> Artifact:
        if path in self._created:
            return Artifact(path, "read", hashlib.sha256(self._created[path].data).hexdigest())
        return super().artifact(path)

    def data(self, path: str) -> bytes:
        return self._created[path].data if path in self._created else super().data(path)


def page_of(bundle: Bundle, path: str) -> Document:
    """Return the page of ``bundle`` at the clean bundle-relative ``path``.

    Raises ``OpenKnowledgeError`` for a path that leaves the bundle, leads through a symbolic link, is no
    readable page or is pinned evidence.
    """
    resolve_in_bundle(bundle.root, path)
    if path.startswith(EVIDENCE_FOLDER):
        raise OpenKnowledgeError(f"{path}: pinned evidence is never edited", path=path)
    document = bundle.by_path.get(path)
    if document is not None:
        return document
    problem = next((issue.message for issue in bundle.issues if issue.path == path), "")
    near = difflib.get_close_matches(path, list(bundle.by_path), n=3)
    hint = f"; did you mean {', '.join(near)}?" if near and not problem else ""
    raise OpenKnowledgeError(f"{path}: {problem or 'not a page of this bundle'}{hint}", path=path)


def check_digest(document: Document, digest: str, what: str) -> None:
    """Raise ``OpenKnowledgeError`` if ``document`` does not have the bytes that ``what`` was made for."""
    found = sha256_hex(document.data)
    if found != digest:
        raise OpenKnowledgeError(
            f"{what} is stale because {document.path} changed: it has sha256 {found}, the proposal was made "
            f"for {digest}; make a new proposal",
            path=document.path,
        )


class Workspace:
    """The state of the bundle at ``root``, and what is to become of it.

    Edits are made in memory. ``save`` refuses them when they would bring an issue, and else writes them all
    or none.
    """

    def __init__(
        self, root: Path, *, spec: str = "latest", clock: Clock = system_clock, disk: Disk | None = None
    ) -> None:
        self.root = root
        self.now = clock()
        self.recovered: tuple[Recovery, ...] = ()
        self._disk = disk
        self._config = read_config(root)
        self._pages: dict[str, bytes] = {}
        self._created: dict[str, Created] = {}
        self.before = judge(read_bundle(root, spec=spec_version(spec)), self._config, self.now)

    @property
    def claims(self) -> ClaimSet:
        """The claims before the change."""
        return self.before.claims

    def page(self, path: str) -> Document:
        """Return a page as it was before the change. Raises ``OpenKnowledgeError``."""
        return page_of(self.before.bundle, path)

    def edit(self, path: str, patch: Patch, *, allowed: Collection[str]) -> None:
        """Apply an RFC 6902 patch to the frontmatter of a page, on top of earlier edits.

        Raises ``OpenKnowledgeError`` when it cannot be applied exactly.
        """
        document = self.page(path)
        data = self._pages.get(path, document.data)
        try:
            self._pages[path] = edit_frontmatter(data, patch, allowed=allowed)
        except OpenKnowledgeError as error:
            where = f"{path}:{error.line}" if error.line else path
            raise OpenKnowledgeError(f"{where}: {error.message}", path=path, line=error.line) from None

    def create(self, path: str, data: bytes, *, mode: int = 0o666) -> None:
        """Note that a new file is to be created."""
        self._created[path] = Created(data, mode)

    @cached_property
    def after(self) -> Judgement:
        """The state that the change leads to. Ask when all edits are made."""
        changed = self._changed_pages()
        bundle = with_page(self.before.bundle, changed, self._created)
        return judge(bundle, self._config, self.now, self._created)

    def forget_after(self) -> None:
        """Let ``after`` be judged again, because there are further edits."""
        self.__dict__.pop("after", None)

    def _changed_pages(self) -> dict[str, bytes]:
        by_path = self.before.bundle.by_path
        return {path: data for path, data in self._pages.items() if data != by_path[path].data}

    @property
    def changed(self) -> bool:
        """Whether any byte would change."""
        return bool(self._changed_pages() or self._created)

    def diff(self) -> str:
        """Return what would change in pages as a unified diff; ``""`` when nothing would."""
        by_path = self.before.bundle.by_path
        parts = [
            page_diff(path, by_path[path].data, data) for path, data in sorted(self._changed_pages().items())
        ]
        return "".join(parts)

    def save(
        self,
        *,
        dry_run: bool = False,
        tolerated: Collection[str] = (),
        renamed: tuple[str, str] | None = None,
    ) -> bool:
        """Write the change, or only try it; return whether any byte changed, or would.

        ``tolerated`` and ``renamed`` are those of ``Judgement.new_issues``. Raises ``OpenKnowledgeError``
        ("claim edit is invalid") when the bundle would have, or has after
        writing, an issue that it did not have before; and whatever a ``Transaction`` raises. After any
        exception all files are as they were.
        """
        if not self.changed:
            return False
        _refuse(self.after.new_issues(self.before, tolerated, renamed))
        if dry_run:
            return True
        transaction = Transaction(self.root, disk=self._disk)
        by_path = self.before.bundle.by_path
        for path, data in self._changed_pages().items():
            transaction.stage(path, data, expected=sha256_hex(by_path[path].data))
        for path, created in self._created.items():
            transaction.stage(path, created.data, expected=None, mode=created.mode)

        def verify() -> None:
            bundle = read_bundle(self.root, spec=self.before.bundle.spec, previous=self.before.bundle)
            now = judge(bundle, self._config, self.now)
            _refuse(now.new_issues(self.before, tolerated, renamed))

        return transaction.commit(verify)


def _refuse(issues: Sequence[Issue]) -> None:
    if not issues:
        return
    first = issues[0]
    more = f" (and {len(issues) - 1} more)" if len(issues) > 1 else ""
    raise OpenKnowledgeError(
        f"claim edit is invalid: {first.path}:{first.line}:{first.column}: {first.message} "
        f"[{first.rule}]{more}",
        path=first.path,
        line=first.line,
    )


@contextmanager
def changing(
    path: str | Path,
    *,
    command: str,
    spec: str = "latest",
    clock: Clock = system_clock,
    disk: Disk | None = None,
    dry_run: bool = False,
) -> Iterator[Workspace]:
    """Open a workspace of the bundle at ``path`` and hold the bundle's lock meanwhile.

    A change that an earlier run left unfinished is ended first. A dry run neither locks nor recovers: it
    writes nothing at all. Raises ``LockTimeoutError`` when another writer holds the lock for too long, and
    ``OpenKnowledgeError`` when there is no such bundle.
    """
    root = bundle_root(path)
    if dry_run:
        yield Workspace(root, spec=spec, clock=clock, disk=disk)
        return
    with writing(root, command=command, clock=clock, disk=disk) as recovered:
        workspace = Workspace(root, spec=spec, clock=clock, disk=disk)
        workspace.recovered = tuple(recovered)
        yield workspace


def recovered_json(recovered: Iterable[Recovery]) -> list[Recovered]:
    """Return what was recovered, for programs."""
    return [
        {
            "id": entry.id,
            "action": entry.action,
            "paths": list(entry.paths),
            "conflicts": list(entry.conflicts),
        }
        for entry in recovered
    ]


def page_diff(path: str, old: bytes, new: bytes, context: int = 3) -> str:
    """Return the unified diff between two states of a page, with bytes that are not UTF-8 replaced.

    ``context`` is the number of unchanged lines around a change.
    """
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{path}", f"b/{path}", n=context)
    shown = [line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines]
    return "".join(shown)


def _lines(data: bytes) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", data.decode("utf-8", "replace"))
