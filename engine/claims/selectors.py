"""Checks that a selector finds its evidence in the bytes of an artifact."""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

from openknowledge.engine import limits
from openknowledge.engine.bundle.frontmatter import split_frontmatter
from openknowledge.engine.bundle.markdown import outline
from openknowledge.engine.bundle.okf import Source
from openknowledge.engine.claims.evidence import EvidenceStore, local_path
from openknowledge.engine.claims.findings import shown
from openknowledge.engine.claims.model import Evidence, Selector
from openknowledge.engine.claims.profile import SHA256

NOT_HERE = ("page", "media_fragment")


@dataclass(slots=True)
class SelectorTask:
    """One selector that waits for its artifact; ``path`` is ``""`` when ``problem`` is known already."""

    evidence: Evidence
    path: str
    sha256: str
    problem: str


def selector_task(item: Evidence, source: Source, document: str) -> SelectorTask:
    """Return the check of the selector of ``item``, whose source is ``source`` of the page ``document``."""
    selector = item.selector
    assert selector is not None  # noqa: S101 - callers ask for evidence with selectors only
    name = f"evidence {shown(item.id)} selector"
    if selector.type in NOT_HERE:
        return SelectorTask(
            item, "", "", f"{name} of type {selector.type} cannot be verified here; quote the text instead"
        )
    if source.observe != "pinned" or SHA256.match(source.sha256) is None:
        problem = (
            f"{name} is unverifiable because source {shown(source.id)} is not observe: pinned "
            "with a sha256 of 64 lower-case hexadecimal digits"
        )
        return SelectorTask(item, "", "", problem)
    path = local_path(source.resource, document)
    if path is None:
        problem = (
            f"{name} is unverifiable because source {shown(source.id)} is not materialized as a local "
            f"bundle artifact: {shown(source.resource)} is not a relative path inside the bundle"
        )
        return SelectorTask(item, "", "", problem)
    return SelectorTask(item, path, source.sha256, "")


class SelectorChecker:
    """Verifies selectors. Tasks must come grouped by path: one artifact is open at a time."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store
        self._open: _Opened | None = None

    def problem(self, task: SelectorTask) -> str:
        """Return why the selector does not hold, ``""`` when it does."""
        if task.problem:
            return task.problem
        name = f"evidence {shown(task.evidence.id)}"
        source = f"source {shown(task.evidence.source_ref)}"
        artifact = self._store.artifact(task.path)
        if artifact.state == "missing":
            return (
                f"{name} selector is unverifiable because {source} is not materialized as a local bundle "
                f"artifact: {shown(task.path)} does not exist"
            )
        if artifact.state != "read":
            return f"{name} selector is unverifiable because artifact {shown(task.path)} {artifact.problem}"
        if artifact.sha256 != task.sha256:
            return (
                f"{name} artifact {shown(task.path)} has sha256 {artifact.sha256}, not the pinned "
                f"{task.sha256}: possible tampering"
            )
        opened = self._open
        if opened is None or opened.path != task.path:
            opened = self._open = _Opened(task.path, self._store.data(task.path))
            if self._store.artifact(task.path).state != "read":
                return f"{name} selector is unverifiable because artifact {shown(task.path)} changed"
        selector = task.evidence.selector
        if selector is not None and selector.type == "text_quote":
            self._store.searched += len(opened.data)
            if self._store.searched > limits.SELECTOR_WORK_BYTES:
                return (
                    f"{name} selector is unverifiable: the selectors of this bundle search through more than "
                    f"{limits.SELECTOR_WORK_BYTES} bytes"
                )
        said = opened.problem(selector)
        return f"{name} selector {said}" if said else ""


class _Opened:
    """One artifact with what selectors look at, each made when first needed."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data

    @cached_property
    def text(self) -> str | None:
        """The text, ``None`` when the bytes are not UTF-8."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError:
            return None

    @cached_property
    def ids(self) -> Counter[str] | None:
        """How often each fragment identifier occurs, ``None`` for a kind of file that has none."""
        lowered = self.path.lower()
        text = self.text or ""
        if lowered.endswith((".md", ".markdown")):
            return markdown_ids(text)
        return html_ids(text) if lowered.endswith((".html", ".htm")) else None

    def problem(self, selector: Selector | None) -> str:
        if selector is None:
            return ""
        if selector.type == "data_position":
            return _position_problem(selector, len(self.data), "bytes")
        text = self.text
        if text is None:
            return f"is unverifiable because {shown(self.path)} is not UTF-8 text"
        if selector.type == "text_quote":
            return _quote_problem(selector, text)
        if selector.type == "text_position":
            return _position_problem(selector, len(text), "code points")
        return self._fragment_problem(selector)

    def _fragment_problem(self, selector: Selector) -> str:
        ids = self.ids
        if ids is None:
            return f"is unverifiable because {shown(self.path)} is neither Markdown nor HTML"
        wanted = unquote(selector.value.removeprefix("#"))
        count = ids[wanted]
        return (
            "" if count == 1 else f"value {shown(wanted)} must match exactly once; it matches {count} times"
        )


def _quote_problem(selector: Selector, text: str) -> str:
    exact = selector.exact
    at = text.find(exact)
    if at < 0:
        return "exact must occur exactly once; it does not occur"
    if text.find(exact, at + 1) >= 0:
        return "exact must occur exactly once; it occurs more than once"
    if selector.prefix and not text.endswith(selector.prefix, 0, at):
        return "prefix does not stand directly before exact"
    if selector.suffix and not text.startswith(selector.suffix, at + len(exact)):
        return "suffix does not stand directly after exact"
    return ""


def _position_problem(selector: Selector, length: int, unit: str) -> str:
    end = selector.end or 0
    return "" if end <= length else f"end {end} is beyond the artifact, which has {length} {unit}"


def markdown_ids(text: str) -> Counter[str]:
    """Count the heading slugs and explicit ids of a Markdown text."""
    if text.startswith("\ufeff"):
        text = text[1:]
    front = split_frontmatter(text.replace("\r\n", "\n"))
    found = outline(front.body, front.body_line)
    counts = Counter(heading.slug for heading in found.headings)
    counts.update(name for name, _ in found.explicit_ids)
    return counts


_TAG_NAME = re.compile(r"[A-Za-z][^\s/>]*")
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*)))?""")
_RAW_TEXT = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"})


def html_ids(text: str) -> Counter[str]:
    """Count the ``id`` attributes of an HTML text, in time linear in its length.

    Comments and the text of elements such as ``script`` hold none. A tag or comment that never ends goes on
    to the end, as in the HTML standard.
    """
    counts: Counter[str] = Counter()
    lowered = ""
    at = text.find("<")
    while at >= 0:
        if text.startswith("<!--", at):
            end = text.find("-->", at + 4)
            if end < 0:
                break
            at = text.find("<", end + 3)
            continue
        name = _TAG_NAME.match(text, at + 1)
        if name is None:
            at = text.find("<", at + 1)
            continue
        end = _attributes(text, name.end(), counts)
        if end < 0:
            break
        if (element := name.group().lower()) in _RAW_TEXT:
            lowered = lowered or text.lower()
            if len(lowered) != len(text):  # a letter whose lower case is longer would shift the places
                lowered = "".join([ch.lower() if ch.isascii() else ch for ch in text])
            end = lowered.find(f"</{element}", end)
            if end < 0:
                break
        at = text.find("<", end)
    return counts


def _attributes(text: str, at: int, counts: Counter[str]) -> int:
    """Count the id of the tag with attributes from ``at``; return the place behind it, -1 for none."""
    seen = False
    while True:
        match = _ATTRIBUTE.match(text, at)
        if match is None:
            return text.find(">", at) + 1 or -1
        if match.group(1).lower() == "id" and not seen:
            seen = True
            value = next((part for part in match.groups()[1:] if part is not None), "")
            if value:
                counts[html.unescape(value)] += 1
        at = match.end()
        if at < len(text) and text[at] == "=":
            # an attribute with an unclosed quotation: the tag runs on to the end
            return -1
