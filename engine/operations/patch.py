"""RFC 6902 JSON Patch on the frontmatter of a Markdown page, exact to the byte.

Every byte outside the changed values stays: comments, key order, quoting, anchors, indentation, line
endings, byte-order mark, the body. A result that the bundle's reader does not read as the patched value is
never returned.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from openknowledge.engine import limits
from openknowledge.engine.bundle.yaml_reader import read_yaml
from openknowledge.engine.errors import LimitError, OpenKnowledgeError
from openknowledge.engine.operations.json_patch import (
    NEEDS_FROM,
    PatchOperation,
    check_patch,
    pointer,
    shown,
)
from openknowledge.engine.operations.yaml_edit import Edit, Slot, YamlEditor, apply_edits
from openknowledge.engine.operations.yaml_emit import is_block_value
from openknowledge.engine.operations.yaml_tree import Node, Tree, read_tree

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class PageParts:
    """A page taken apart; ``before + yaml + after`` is the page.

    ``before`` is the byte-order mark and the opening line, ``after`` the closing line and the body.
    """

    before: bytes
    yaml: bytes
    after: bytes


def split_page(data: bytes) -> PageParts:
    """Take a page apart. Raises ``OpenKnowledgeError`` when it has no frontmatter or it never closes."""
    mark = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    end = data.find(b"\n", mark)
    opening = data[mark:] if end < 0 else data[mark:end]
    if len(opening) > 1024 or opening.decode("utf-8", "replace").strip() != "---":
        raise OpenKnowledgeError(
            "the page has no frontmatter to edit: put it between two lines --- at the top", line=1
        )
    closing = _CLOSING.search(data, end + 1) if end >= 0 else None
    if closing is None:
        raise OpenKnowledgeError("the frontmatter is not closed: add a line --- after the last key", line=1)
    return PageParts(data[: end + 1], data[end + 1 : closing.start()], data[closing.start() :])


# Bytes patterns know no \r\n in $, so the one carriage return of a CRLF is named.
_CLOSING = re.compile(rb"^---[ \t]*\r?$", re.MULTILINE)


def edit_frontmatter(
    data: bytes, patch: Sequence[Mapping[str, Any]], *, allowed: Collection[str] | None = None
) -> bytes:
    """Return the page ``data`` with the RFC 6902 ``patch`` applied to its frontmatter.

    ``allowed`` are the top-level keys that the patch may reach (``None``: every one). Raises
    ``OpenKnowledgeError`` when the patch is malformed, reaches elsewhere or does not apply, when the
    frontmatter is broken, and when a change cannot be written exactly; ``LimitError`` for a patch beyond a
    limit.
    """
    operations = check_patch(patch, allowed)
    parts = split_page(data)
    try:
        text = parts.yaml.decode("utf-8")
    except UnicodeDecodeError as error:
        line = parts.yaml.count(b"\n", 0, error.start) + 2
        raise OpenKnowledgeError("the frontmatter is not valid UTF-8", line=line) from None
    line_break = "\r\n" if parts.before.endswith(b"\r\n") else "\n"
    page = _Page(text, line_break)
    for operation in operations:
        page.apply(operation)
    new = page.finish().encode("utf-8")
    if len(new) > limits.FRONTMATTER_BYTES:
        raise LimitError(
            f"the frontmatter would be larger than {limits.FRONTMATTER_BYTES} bytes",
            limit="FRONTMATTER_BYTES",
        )
    return parts.before + new + parts.after


class _Page:
    """The YAML text of a page while operations are applied one after the other.

    Replacements of scalars wait and are made together: they do not move what the next one needs to find.
    """

    def __init__(self, text: str, line_break: str) -> None:
        self.line_break = line_break
        self._work = 0
        self._take(text, _read_value(text))

    def _take(self, text: str, value: dict[str, Any]) -> None:
        self.text = text
        self.value = _unshared(value)
        self._read = value
        self._tree: Tree | None = None
        self._waiting: list[PatchOperation] = []
        self._waiting_edits: list[Edit] = []

    @property
    def tree(self) -> Tree:
        if self._tree is None:
            self._tree = _read_tree(self.text, self._read)
        return self._tree

    def apply(self, operation: PatchOperation) -> None:
        """Apply one operation. Raises, and is of no further use, when that is not possible."""
        if operation.op == "test":
            _test(operation, self._value_at(operation, operation.path))
        elif operation.op in NEEDS_FROM:
            self._transfer(operation)
        else:
            self._change(operation)

    def finish(self) -> str:
        """Make the changes that wait and return the text."""
        if self._waiting:
            self._take_verified()
        return self.text

    def _transfer(self, operation: PatchOperation) -> None:
        value = _unshared(self._value_at(operation, operation.source))
        if operation.op == "move":
            if operation.source == operation.path:
                return
            self.apply(PatchOperation(operation.number, "remove", operation.source))
        self.apply(PatchOperation(operation.number, "add", operation.path, value))

    def _change(self, operation: PatchOperation) -> None:
        joins = operation.op == "replace" and not is_block_value(operation.value)
        if not joins or any(waiting.path == operation.path for waiting in self._waiting):
            self.finish()
        try:
            edits, holder, old = self._edits(operation)
        except OpenKnowledgeError as error:
            raise _located(operation, error) from None
        if not edits:
            return
        self._waiting.append(operation)
        self._waiting_edits += edits
        if joins and old is not None and old.kind == "scalar":
            key = operation.path[-1]
            holder[int(key) if isinstance(holder, list) else key] = _unshared(operation.value)
        else:
            self._take_verified()

    def _take_verified(self) -> None:
        """Take the edited text if the bundle's reader finds in it what jsonpatch makes of the value."""
        import jsonpatch

        first, last = self._waiting[0], self._waiting[-1]
        which = first.describe() if first is last else f"patch operations {first.number} to {last.number}"
        text = apply_edits(self.text, self._waiting_edits)
        self._work += len(text)
        if self._work > limits.PATCH_WORK_BYTES:
            raise LimitError(
                f"{which}: the patch is too much work for a page of this size: split it",
                limit="PATCH_WORK_BYTES",
            )
        try:
            raw = [operation.raw() for operation in self._waiting]
            expected = jsonpatch.apply_patch(_unshared(self._read), raw, in_place=True)
            value = _read_value(text)
            if same_value(value, expected):
                self._take(text, value)
                return
            why = ""
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
            raise OpenKnowledgeError(f"{which}: {error}") from None
        except OpenKnowledgeError as error:
            why = f" ({error.message})"
        raise OpenKnowledgeError(
            f"{which}: the page's YAML is written in a way in which this change cannot be made exactly{why}; "
            "make it by hand, or write that part in plain block style first"
        )

    def _edits(self, operation: PatchOperation) -> tuple[list[Edit], Any, Node | None]:
        """Return the edits of ``operation``, the value that it changes, and the node that it replaces."""
        parent, slot, holder = self._holder(operation)
        editor = YamlEditor(self.text, self.tree, self.line_break)
        step = operation.path[-1]
        if isinstance(holder, dict):
            if operation.op == "add" and step not in holder:
                return editor.append_pair(parent, step, operation.value, slot), holder, None
            if step not in holder:
                raise OpenKnowledgeError(f"there is no key {shown(step)}")
            old = holder[step]
        else:
            index = _index(step, len(holder), appending=operation.op == "add")
            if operation.op == "add":
                return editor.insert_item(_present(parent), index, operation.value, slot), holder, None
            old = holder[index]
        parent = _present(parent)
        index = _entry_index(parent, step)
        entry = parent.entries[index]
        if operation.op == "remove":
            if sum(other.name == entry.name for other in parent.entries) > 1:
                raise OpenKnowledgeError(
                    f"the key {shown(step)} is repeated; remove the earlier one by hand first"
                )
            self._refuse_lost_anchor(entry.start, entry.end)
            return editor.remove(parent, index, slot), holder, None
        if same_value(old, operation.value):
            return [], holder, None
        self._refuse_lost_anchor(entry.value.start, entry.value.end)
        return editor.replace(parent, entry, operation.value), holder, entry.value

    def _holder(self, operation: PatchOperation) -> tuple[Node | None, Slot | None, Any]:
        """Return the collection that holds the operation's target: its node, where it stands, its value.

        The node is ``None`` for an empty text. Raises where the way leads through what aliases share.
        """
        node, value = self.tree.root, cast("Any", self.value)
        slot: Slot | None = None
        referenced = {id(alias.target) for alias in self.tree.aliases}
        for depth, step in enumerate(operation.path):
            at = pointer(operation.path[:depth])
            if node is not None:
                self._refuse_shared(node, at, referenced)
            if not isinstance(value, (dict, list)):
                raise OpenKnowledgeError(f"{at} is {_kind(value)}, not a mapping or list")
            if depth == len(operation.path) - 1:
                break
            if isinstance(value, list):
                value = value[_index(step, len(value), appending=False)]
            elif step in value:
                value = value[step]
            else:
                raise OpenKnowledgeError(
                    f"{pointer(operation.path[: depth + 1])} does not exist; add it first"
                )
            parent = _present(node)
            slot = Slot(parent, parent.entries[_entry_index(parent, step)])
            node = slot.entry.value
        return node, slot, value

    def _refuse_shared(self, node: Node, at: str, referenced: set[int]) -> None:
        if node.kind == "alias":
            raise OpenKnowledgeError(
                f"{at} is the alias {self.text[node.start : node.end]}: a change would also change the value "
                "it stands for; write the value out first"
            )
        if id(node) in referenced:
            raise OpenKnowledgeError(
                f"{at or '/'} carries the anchor &{node.anchor}, which aliases refer to: a change would also "
                "change them; write the values out first"
            )

    def _refuse_lost_anchor(self, start: int, end: int) -> None:
        for alias in self.tree.aliases:
            target = alias.target
            if target is None or not start <= target.start < end or start <= alias.start < end:
                continue
            line = self.text.count("\n", 0, alias.start) + 2
            raise OpenKnowledgeError(
                f"the anchor &{target.anchor} would go, but the alias on line {line} still refers to it; "
                "write its value out first"
            )

    def _value_at(self, operation: PatchOperation, path: tuple[str, ...]) -> Any:
        value: Any = self.value
        for depth, token in enumerate(path):
            try:
                if isinstance(value, list):
                    value = value[_index(token, len(value), appending=False)]
                elif isinstance(value, dict) and token in value:
                    value = value[token]
                else:
                    raise OpenKnowledgeError(f"{pointer(path[: depth + 1])} does not exist")
            except OpenKnowledgeError as error:
                raise _located(operation, error) from None
        return value


def _present(node: Node | None) -> Node:
    if node is None:
        raise OpenKnowledgeError("the frontmatter is empty")
    return node


def _entry_index(node: Node, name: str) -> int:
    """Return the last entry of that name: of repeated keys the later value counts."""
    for index in range(len(node.entries) - 1, -1, -1):
        if node.entries[index].name == name:
            return index
    raise OpenKnowledgeError(f"there is no key {shown(name)}")


def _read_tree(text: str, value: dict[str, Any]) -> Tree:
    """Return the places of ``text``, which the bundle's reader read as ``value``."""
    import yaml

    try:
        tree = read_tree(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark is not None else 1
        raise OpenKnowledgeError(
            f"the frontmatter must be repaired before it can be edited: {error.problem}", line=line
        ) from None
    except ValueError:
        tree = Tree(None, [])
    if not _mirrors(tree.root, value):
        raise OpenKnowledgeError(
            "the frontmatter is written in a way that YAML readers take differently; it cannot be edited"
        )
    return tree


def _mirrors(node: Node | None, value: Any) -> bool:
    """Return whether the places in the text and the value read from it have the same shape."""
    if node is None:
        return isinstance(value, dict) and not value
    if node.kind == "alias":
        return True
    if node.kind == "mapping":
        if not isinstance(value, dict) or set(value) != {entry.name for entry in node.entries}:
            return False
        last = {entry.name: entry.value for entry in node.entries}
        return all(_mirrors(last[key], item) for key, item in value.items())
    if node.kind == "sequence":
        return (
            isinstance(value, list)
            and len(value) == len(node.entries)
            and all(_mirrors(entry.value, item) for entry, item in zip(node.entries, value, strict=True))
        )
    return not isinstance(value, (dict, list))


def _read_value(text: str) -> dict[str, Any]:
    if len(text) > limits.FRONTMATTER_BYTES:
        raise LimitError(
            f"the frontmatter is larger than {limits.FRONTMATTER_BYTES} bytes", limit="FRONTMATTER_BYTES"
        )
    result = read_yaml(text)
    if result.failed:
        problem = next(problem for problem in result.problems if problem.fatal)
        raise OpenKnowledgeError(
            f"the frontmatter must be repaired before it can be edited: {problem.message}",
            line=problem.line + 1,
        )
    if result.value is None and all(
        not line.strip() or line.lstrip().startswith("#") for line in text.splitlines()
    ):
        return {}
    if not isinstance(result.value, dict):
        raise OpenKnowledgeError("the frontmatter must be a YAML mapping", line=2)
    return result.value


def _test(operation: PatchOperation, found: Any) -> None:
    if not _equal(found, operation.value):
        raise OpenKnowledgeError(
            f"{operation.describe()}: the page holds {shown(found)}, not {shown(operation.value)}"
        )


def _equal(a: Any, b: Any) -> bool:
    """RFC 6902 equality: numbers by value, booleans are no numbers."""
    return same_value(a, b, exact=False)


def same_value(a: Any, b: Any, *, exact: bool = True) -> bool:
    """Return whether two JSON values are the same; ``exact`` also tells 1 from 1.0."""
    if isinstance(a, dict) and isinstance(b, dict):
        return len(a) == len(b) and all(key in b and same_value(a[key], b[key], exact=exact) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same_value(x, y, exact=exact) for x, y in zip(a, b, strict=True))
    if type(a) is not type(b) and (exact or isinstance(a, bool) or isinstance(b, bool)):
        return False
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    return bool(a == b)


def _unshared(value: Any) -> Any:
    """Copy ``value`` so that nothing in it is one object in two places, as aliases make it."""
    if isinstance(value, dict):
        return {key: _unshared(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unshared(item) for item in value]
    return value


def _index(step: str, length: int, *, appending: bool) -> int:
    if step == "-" and appending:
        return length
    if re.fullmatch(r"0|[1-9][0-9]{0,14}", step, re.ASCII) is None:
        raise OpenKnowledgeError(f"{shown(step)} is not an index of a list (0, 1, 2 ...)")
    index = int(step)
    if index > length or (index == length and not appending):
        raise OpenKnowledgeError(f"there is no index {index}: the list holds {length}")
    return index


def _located(operation: PatchOperation, error: OpenKnowledgeError) -> OpenKnowledgeError:
    return OpenKnowledgeError(f"{operation.describe()}: {error.message}", line=error.line)


def _kind(value: Any) -> str:
    if value is None:
        return "empty"
    return {bool: "a boolean", int: "a number", float: "a number", str: "a text"}.get(type(value), "a scalar")
