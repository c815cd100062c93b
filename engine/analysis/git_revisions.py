"""Reads a bundle as it was at a git revision: from git's objects, with nothing checked out.

Everything comes from ``git cat-file``, which reads names from its standard input: a revision or path can
never be taken for an option, and no name is quoted. No hook, filter, pager or network transport runs.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self, cast

from openknowledge.engine import limits
from openknowledge.engine.bundle.bundle import Bundle, spec_version
from openknowledge.engine.bundle.digests import record_header
from openknowledge.engine.bundle.document import Document, parse_document
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.reading import utf8_issue
from openknowledge.engine.bundle.walk import MARKDOWN_SUFFIXES, SKIPPED_DIRECTORY
from openknowledge.engine.claims.evidence import Artifact, EvidenceStore
from openknowledge.engine.config import CONFIG_NAME, Config, parse_config
from openknowledge.engine.errors import LimitError, OpenKnowledgeError, UsageError

if TYPE_CHECKING:
    from openknowledge.engine.clock import Clock
    from openknowledge.engine.store import Store

_FOLDER = 0o040000
_FILES = (0o100644, 0o100755, 0o100664)
_LINK = 0o120000
_SUBMODULE = 0o160000
_AT_ONCE = 200
"""Requests sent before the answers are read: few enough to fit in any pipe."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its id, and when it was committed."""

    id: str
    time: datetime

    @property
    def short(self) -> str:
        """The id as people write it."""
        return self.id[:10]


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository that holds a bundle.

    ``folder`` is a directory in it (git is run there), ``prefix`` the bundle's path from the top of a tree,
    without slashes at its ends.
    """

    folder: Path
    prefix: str
    bare: bool
    shallow: bool


def find_repository(path: str | os.PathLike[str]) -> Repository:
    """Return the repository that holds the bundle at ``path``, which need not exist any more.

    For a bare repository ``path`` is the repository itself, or the bundle's path in its trees put behind it.
    Raises ``OpenKnowledgeError`` when there is none, or git is not installed.
    """
    wanted = Path(os.path.abspath(path))  # noqa: PTH100 - lexical: a bundle's path is not its link's target
    folder = wanted
    while not folder.is_dir():
        if folder == folder.parent:
            raise OpenKnowledgeError(f"cannot find a git repository for {str(path)!r}: no such directory")
        folder = folder.parent
    rest = wanted.relative_to(folder).as_posix()
    answer = _ask(
        folder,
        ["rev-parse", "--is-bare-repository", "--is-inside-git-dir", "--is-shallow-repository", "--git-dir"],
        f"cannot find a git repository for {str(path)!r}",
    )
    bare, inside, shallow, git_dir = answer.removesuffix("\n").split("\n", 3)
    if bare == "true":
        top = Path(os.path.abspath(folder / git_dir))  # noqa: PTH100
        here = Path(os.path.relpath(folder.resolve(), top.resolve())).as_posix()
    elif inside == "true":
        raise OpenKnowledgeError(f"{str(path)!r} is inside git's own directory, not a bundle")
    else:
        here = _ask(folder, ["rev-parse", "--show-prefix"], "cannot find the bundle in its repository")
        here = here.removesuffix("\n").rstrip("/")
    parts = [part for part in (here, rest) if part not in ("", ".")]
    return Repository(folder, "/".join(parts), bare == "true", shallow == "true")


def _environment() -> dict[str, str]:
    """Return the environment for git: nothing that points it elsewhere, makes it write or lets it connect."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("GIT_")}
    kept.update(
        GIT_ALLOW_PROTOCOL="none",
        GIT_NO_LAZY_FETCH="1",
        GIT_NO_REPLACE_OBJECTS="1",
        GIT_OPTIONAL_LOCKS="0",
        GIT_TERMINAL_PROMPT="0",
        LC_ALL="C",
    )
    return kept


_COMMAND = ("git", "--no-pager", "-c", "protocol.allow=never", "-c", "core.fsmonitor=false")


def _ask(folder: Path, arguments: Sequence[str], problem: str) -> str:
    try:
        done = subprocess.run(
            [*_COMMAND, *arguments],
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise OpenKnowledgeError(f"{problem}: the command git is not installed") from None
    except OSError as error:
        raise OpenKnowledgeError(f"{problem}: cannot run git: {error.strerror}") from None
    if done.returncode != 0:
        raise OpenKnowledgeError(f"{problem}: {_reason(done.stderr)}")
    return os.fsdecode(done.stdout)


def _reason(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    first = next((line for line in lines if line.startswith("fatal:")), lines[0] if lines else "git failed")
    return first.removeprefix("fatal: ")


class GitObjects:
    """The objects of one repository, read through running ``git cat-file`` processes. Close it after use."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            process.wait()
        self._processes.clear()

    def info(self, names: Sequence[str]) -> Iterator[tuple[str, str, int] | None]:
        """Yield id, type and size of each of ``names`` in any of git's ways; ``None`` for an unknown one."""
        for header, _ in self._answers("--batch-check", names):
            yield header

    def read(self, ids: Sequence[str]) -> Iterator[tuple[str, bytes] | None]:
        """Yield type and bytes of each of ``ids``; ``None`` for objects that are not there."""
        for header, data in self._answers("--batch", ids):
            yield None if header is None else (header[1], data)

    def _answers(
        self, mode: str, names: Sequence[str]
    ) -> Iterator[tuple[tuple[str, str, int] | None, bytes]]:
        process = self._process(mode)
        requests, answers = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        for start in range(0, len(names), _AT_ONCE):
            block = names[start : start + _AT_ONCE]
            try:
                requests.write(b"".join([os.fsencode(name) + b"\n" for name in block]))
                requests.flush()
                for _ in block:
                    yield _answer(answers, with_data=mode == "--batch")
            except (BrokenPipeError, EOFError):
                raise OpenKnowledgeError(f"cannot read from git: {self._complaint(process)}") from None

    def _process(self, mode: str) -> subprocess.Popen[bytes]:
        found = self._processes.get(mode)
        if found is None:
            try:
                found = self._processes[mode] = subprocess.Popen(
                    [*_COMMAND, "cat-file", mode],
                    cwd=self.repository.folder,
                    env=_environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
            except OSError as error:
                raise OpenKnowledgeError(f"cannot run git: {error.strerror}") from None
        return found

    def _complaint(self, process: subprocess.Popen[bytes]) -> str:
        error = process.stderr.read() if process.stderr is not None else b""
        reason = _reason(error)
        if "promisor" in reason or "protocol" in reason or "transport" in reason:
            return (
                f"{reason} (a partial clone lacks objects, and none are fetched here: clone without --filter)"
            )
        return reason


def _answer(stream: IO[bytes], *, with_data: bool) -> tuple[tuple[str, str, int] | None, bytes]:
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    found = re.fullmatch(rb"([0-9a-f]{40,64}) (commit|tree|blob|tag) (\d+)\n", line)
    if found is None:
        return None, b""
    header = (found[1].decode(), found[2].decode(), int(found[3]))
    if not with_data:
        return header, b""
    data = stream.read(header[2] + 1)
    if len(data) != header[2] + 1:
        raise EOFError
    return header, data[:-1]


def find_commit(objects: GitObjects, revision: str) -> Commit:
    """Return the commit that ``revision`` names in any of git's ways: branch, tag, id, ``HEAD~3``.

    Raises ``UsageError`` for a text that can be no revision, ``OpenKnowledgeError`` when there is none.
    """
    if not revision.strip() or any(ord(character) < 32 for character in revision):
        raise UsageError(f"{revision!r} is not a git revision; give a branch, a tag or a commit id")
    (named,) = objects.info([revision])
    if named is None:
        raise OpenKnowledgeError(_no_revision(objects, revision))
    (header,) = objects.info([named[0] + "^{commit}"])
    if header is None:
        raise OpenKnowledgeError(f"git revision {revision!r} names a {named[1]}, not a commit")
    (found,) = objects.read([header[0]])
    seconds = re.search(rb"^committer .*> (-?\d{1,15}) [+-]\d{4}$", found[1] if found else b"", re.MULTILINE)
    if seconds is None:
        raise OpenKnowledgeError(f"commit {header[0]} has no readable time")
    try:
        moment = datetime.fromtimestamp(int(seconds[1]), UTC)
    except (OverflowError, ValueError, OSError):
        raise OpenKnowledgeError(f"commit {header[0]} has a time out of range") from None
    return Commit(header[0], moment)


def _no_revision(objects: GitObjects, revision: str) -> str:
    message = f"there is no git revision {revision!r} in this repository"
    if objects.repository.shallow:
        message += (
            ", which is a shallow clone: fetch its history first, with git fetch --unshallow "
            "(in GitHub Actions: actions/checkout with fetch-depth: 0)"
        )
    return message


def merge_base(objects: GitObjects, one: Commit, other: Commit) -> Commit:
    """Return the commit at which the histories of two commits parted.

    Raises ``OpenKnowledgeError`` when they share none, or a shallow clone lacks it.
    """
    repository = objects.repository
    problem = f"commits {one.short} and {other.short} have no common ancestor in this repository"
    if repository.shallow:
        problem += ", which is a shallow clone (git fetch --unshallow)"
    answer = _ask(repository.folder, ["merge-base", one.id, other.id], problem)
    return find_commit(objects, answer.split("\n", 1)[0])


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a bundle at one commit: the blob of each path, and what stands there but is no file.

    ``links`` are the blobs of symbolic links, which hold their targets.
    """

    blobs: Mapping[str, str]
    links: Mapping[str, str]
    issues: tuple[Issue, ...]


def read_tree(objects: GitObjects, commit: Commit) -> Tree:
    """List the bundle's files at ``commit``.

    Symbolic links, submodules and names that are not UTF-8 become ``bundle-read`` issues. Raises
    ``OpenKnowledgeError`` when the bundle's directory did not exist then, ``LimitError`` for too many files.
    """
    blobs: dict[str, str] = {}
    links: dict[str, str] = {}
    issues: list[Issue] = []
    pending = [("", _top(objects, commit))]
    count = 0
    while pending:
        level, pending = pending, []
        answers = objects.read([tree for _, tree in level])
        for (folder, tree), found in zip(level, answers, strict=True):
            if found is None:
                raise OpenKnowledgeError(f"git object {tree} is missing from this repository")
            for mode, raw, oid in _entries(found[1], len(tree) // 2):
                count += 1
                if count > limits.GIT_TREE_ENTRIES:
                    raise LimitError(
                        f"the bundle at {commit.short} has more than {limits.GIT_TREE_ENTRIES:,} files",
                        limit="GIT_TREE_ENTRIES",
                    )
                path = folder + raw.decode("utf-8", "surrogateescape")
                if problem := _problem(mode, raw, path):
                    shown = os.fsencode(path).decode("utf-8", "backslashreplace")
                    issues.append(Issue(shown, "bundle-read", "error", problem))
                    if mode == _LINK:
                        links[path] = oid
                elif mode != _FOLDER:
                    blobs[path] = oid
                elif raw != SKIPPED_DIRECTORY.encode():
                    pending.append((path + "/", oid))
    return Tree(dict(sorted(blobs.items())), links, tuple(sorted(issues, key=lambda issue: issue.sort_key)))


def _top(objects: GitObjects, commit: Commit) -> str:
    """Return the tree of the bundle's directory."""
    (header,) = objects.info([commit.id + "^{tree}"])
    if header is None:
        raise OpenKnowledgeError(f"the tree of commit {commit.short} is missing from this repository")
    tree = header[0]
    walked = ""
    for part in filter(None, objects.repository.prefix.split("/")):
        (found,) = objects.read([tree])
        entries = _entries(found[1], len(tree) // 2) if found else ()
        match = next((entry for entry in entries if entry[1] == os.fsencode(part)), None)
        walked += part
        if match is None or match[0] != _FOLDER:
            raise OpenKnowledgeError(
                f"the directory {walked!r} did not exist at {commit.short}; if the bundle has moved since, "
                "give the path that it had then"
            )
        tree = match[2]
        walked += "/"
    return tree


def _entries(data: bytes, size: int) -> Iterator[tuple[int, bytes, str]]:
    """Yield mode, name and id of each entry of a tree object whose ids have ``size`` bytes."""
    at = 0
    while at < len(data):
        space = data.find(b" ", at)
        end = data.find(b"\0", space)
        mode = data[at:space]
        if space < 0 or end < 0 or len(data) < end + 1 + size or not re.fullmatch(rb"[0-7]{5,6}", mode):
            raise OpenKnowledgeError("a tree object of this repository is broken; run git fsck")
        yield int(mode, 8), data[space + 1 : end], data[end + 1 : end + 1 + size].hex()
        at = end + 1 + size


def _problem(mode: int, raw: bytes, path: str) -> str:
    if raw in (b"", b".", b"..") or b"/" in raw or len(path) > limits.GIT_PATH_CHARACTERS:
        return "not a name that a file can have; left out"
    if mode == _LINK:
        return "symbolic links are not followed inside a bundle; left out"
    if mode == _SUBMODULE:
        return "a submodule: its pages are in another repository; left out"
    if mode != _FOLDER:
        try:
            path.encode()
        except UnicodeEncodeError:
            return "file name is not valid UTF-8; left out"
        if mode not in _FILES:
            return f"not a regular file (mode {mode:o}); left out"
    return ""


class RevisionFiles(EvidenceStore):
    """The files of a bundle at a commit, in place of those on disk."""

    def __init__(self, root: Path, repository: Repository, tree: Tree) -> None:
        super().__init__(root)
        self._objects = GitObjects(repository)
        weakref.finalize(self, self._objects.close)
        self._tree = tree
        self._artifacts: dict[str, Artifact] = {}
        self._current: tuple[str, bytes] = ("", b"")

    def artifact(self, path: str) -> Artifact:
        """Return what the file at the bundle-relative ``path`` was."""
        found = self._artifacts.get(path)
        if found is None:
            found = self._artifacts[path] = self._load(path)
        return found

    def data(self, path: str) -> bytes:
        """Return the bytes of a file whose state is ``read``."""
        if self._current[0] != path and self._load(path).state != "read":
            return b""
        return self._current[1]

    def bundle_sha256(self) -> str:
        """Return the digest over all files, folders and links, as it is defined for a directory.

        Raises ``OpenKnowledgeError`` when git lacks an object.
        """
        kinds = dict.fromkeys(self._folders, (b"d", ""))
        kinds.update({path: (b"f", blob) for path, blob in self._tree.blobs.items()})
        kinds.update({path: (b"l", blob) for path, blob in self._tree.links.items()})
        ordered = sorted(kinds, key=lambda path: [os.fsencode(part) for part in path.split("/")])
        answers = self._objects.read([kinds[path][1] for path in ordered if kinds[path][1]])
        digest = hashlib.sha256()
        for path in ordered:
            kind, blob = kinds[path]
            data = b""
            if blob:
                found = next(answers)
                if found is None:
                    raise OpenKnowledgeError(f"git lacks the object of {path!r}")
                data = found[1]
            digest.update(record_header(kind, path, len(data)) + data)
        return digest.hexdigest()

    def _load(self, path: str) -> Artifact:
        blob = self._tree.blobs.get(path)
        if blob is None:
            if path in self._folders:
                return Artifact(path, "not-regular", problem="is a directory, not a regular file")
            if any(issue.path == path or path.startswith(issue.path + "/") for issue in self._tree.issues):
                return Artifact(path, "unresolvable", problem="is or lies behind something that is no file")
            return Artifact(path, "missing", problem="does not exist")
        (header,) = self._objects.info([blob])
        if header is not None and header[2] > limits.EVIDENCE_BYTES:
            problem = f"is larger than {limits.EVIDENCE_BYTES} bytes"
            return Artifact(path, "too-large", problem=problem)
        (found,) = self._objects.read([blob])
        if found is None:
            return Artifact(path, "unresolvable", problem="is missing from git's objects")
        self._current = (path, found[1])
        return Artifact(path, "read", hashlib.sha256(found[1]).hexdigest())

    @cached_property
    def _folders(self) -> frozenset[str]:
        return frozenset(_folders_of([*self._tree.blobs, *self._tree.links]))


@dataclass(frozen=True)
class Revision:
    """A bundle at a commit, with the files beside its pages."""

    commit: Commit
    bundle: Bundle
    files: RevisionFiles


def read_revision(
    path: str | os.PathLike[str], revision: str, *, spec: str = "latest", known: Bundle | None = None
) -> Revision:
    """Read the bundle at ``path`` as it was at the git ``revision``.

    Pages that ``known`` has with the same bytes are taken from there. Raises ``OpenKnowledgeError`` when
    there is no repository, revision or directory, ``UsageError`` for an unknown spec or a text that is no
    revision.
    """
    version = spec_version(spec)
    root = Path(os.path.abspath(path))  # noqa: PTH100 - lexical, as for a bundle on disk
    repository = find_repository(path)
    with GitObjects(repository) as objects:
        commit = find_commit(objects, revision)
        tree = read_tree(objects, commit)
        bundle = _read_bundle(root, version, objects, tree, known)
    return Revision(commit, bundle, RevisionFiles(root, repository, tree))


def _read_bundle(root: Path, spec: str, objects: GitObjects, tree: Tree, known: Bundle | None) -> Bundle:
    pages = [path for path in tree.blobs if path.lower().endswith(MARKDOWN_SUFFIXES)]
    issues = list(tree.issues)
    documents: list[Document] = []
    undecoded: list[str] = []
    before = known.by_path if known is not None else {}
    answers = objects.read([tree.blobs[path] for path in pages])
    for path, found in zip(pages, answers, strict=True):
        if found is None:
            issues.append(Issue(path, "bundle-read", "error", "cannot read file: git lacks the object"))
            continue
        old = before.get(path)
        if old is not None and old.data == found[1]:
            documents.append(old)
            continue
        try:
            documents.append(parse_document(path, found[1]))
        except UnicodeDecodeError as error:
            undecoded.append(path)
            issues.append(utf8_issue(path, error))
    assets = [path for path in tree.blobs if not path.lower().endswith(MARKDOWN_SUFFIXES)]
    return Bundle(
        root,
        spec,
        tuple(documents),
        tuple(assets),
        frozenset(_folders_of(tree.blobs)),
        tuple(issues),
        tuple(undecoded),
    )


def _folders_of(paths: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def store_at(
    path: str | os.PathLike[str],
    revision: str,
    clock: Clock | None = None,
    *,
    spec: str = "latest",
    access: Iterable[str] = (),
    strict: bool = False,
) -> Store:
    """Open the bundle at ``path`` as it was at the git ``revision``.

    Without a ``clock`` freshness is judged as of the commit. Errors as for ``read_revision``.
    """
    found = read_revision(path, revision, spec=spec)
    now = clock() if clock is not None else found.commit.time
    return store_of(found, now, access=access, strict=strict)


def store_of(found: Revision, now: datetime, *, access: Iterable[str] = (), strict: bool = False) -> Store:
    """Return a store of a bundle at a commit, judged as of ``now``."""
    from openknowledge.engine.store import Store

    config = config_at(found.files)
    return Store(found.bundle, now, config, access=access, strict=strict, evidence=found.files)


def config_at(files: EvidenceStore) -> Config:
    """Return the settings of a bundle whose files are ``files``."""
    found = files.artifact(CONFIG_NAME)
    if found.state == "missing":
        return Config()
    data = files.data(CONFIG_NAME) if found.state == "read" else b""
    if found.state != "read" or len(data) > limits.CONFIG_BYTES:
        problem = found.problem or f"is larger than {limits.CONFIG_BYTES} bytes"
        message = f"settings cannot be read: the file {problem}"
        return Config(CONFIG_NAME, issues=(Issue(CONFIG_NAME, "rule-catalog", "error", message),))
    try:
        return parse_config(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        message = f"settings are not valid UTF-8: byte at offset {error.start}"
        return Config(CONFIG_NAME, issues=(Issue(CONFIG_NAME, "rule-catalog", "error", message),))


__all__ = [
    "Commit",
    "GitObjects",
    "Repository",
    "Revision",
    "RevisionFiles",
    "Tree",
    "config_at",
    "find_commit",
    "find_repository",
    "merge_base",
    "read_revision",
    "read_tree",
    "store_at",
    "store_of",
]
