"""Where everything stands in a YAML text: a tree of nodes and entries with offsets into the text.

The tree holds places, not values: ``engine.bundle.yaml_reader`` says what a text means. Offsets are code
points. libyaml's events give the nodes; the indicators (``-``, ``:``, ``?``) stand in the gaps between them,
where there is nothing else but blanks, comments and commas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["scalar", "mapping", "sequence", "alias"]


@dataclass(slots=True, eq=False)
class Node:
    """One value of the text.

    ``start`` includes anchor and tag, ``properties_end`` is where those end (``start`` without them) and
    ``body`` where the value itself begins. ``end`` is the end of the value's last character: no line break,
    blank line or comment after it belongs to the value. ``style`` is ``block`` or ``flow`` for a collection
    and the indicator (``""``, ``'``, ``"``, ``|``, ``>``) for a scalar.
    """

    kind: Kind
    start: int
    properties_end: int
    body: int
    end: int
    style: str = ""
    anchor: str | None = None
    tagged: bool = False
    text: str = ""
    entries: list[Entry] = field(default_factory=list)
    implicit_pair: bool = False
    target: Node | None = None

    @property
    def is_flow(self) -> bool:
        return self.style == "flow"

    @property
    def is_block_collection(self) -> bool:
        return self.style == "block"

    @property
    def is_empty_scalar(self) -> bool:
        return self.kind == "scalar" and self.style == "" and self.body == self.end


@dataclass(slots=True, eq=False)
class Entry:
    """A key with its value, or an item of a sequence.

    ``start`` is the first character (the dash, the question mark or the key), ``indicator`` the offset after
    the ``-`` or ``:`` (-1 when there is none: an item of a flow sequence, a key alone) and ``end`` the end of
    the last character.
    """

    start: int
    indicator: int
    end: int
    name: str
    value: Node
    key: Node | None = None


@dataclass(slots=True)
class Tree:
    """The nodes of one document: its root (``None`` for an empty text) and every alias."""

    root: Node | None
    aliases: list[Node]

    def nodes(self) -> Iterator[Node]:
        """Yield every node, keys included, parents before children."""
        waiting = [] if self.root is None else [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            for entry in node.entries:
                if entry.key is not None:
                    waiting.append(entry.key)
                waiting.append(entry.value)


def read_tree(text: str) -> Tree:
    """Return the tree of ``text``, one YAML document that the bundle's reader has accepted.

    Raises ``yaml.YAMLError`` for a text that libyaml does not accept, ``ValueError`` for one whose indicators
    are not found.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return _Composer(text, loader).compose()


class _Composer:
    def __init__(self, text: str, loader: Any) -> None:
        self.text = text
        self.parser = loader(text)
        self.anchors: dict[str, Node] = {}
        self.aliases: list[Node] = []

    def compose(self) -> Tree:
        try:
            self.parser.get_event()
            root = None
            if type(self.parser.peek_event()).__name__ == "DocumentStartEvent":
                self.parser.get_event()
                root = self._node(0)
        finally:
            self.parser.dispose()
        return Tree(root, self.aliases)

    def _node(self, floor: int) -> Node:
        event = self.parser.get_event()
        name = type(event).__name__
        start, end = event.start_mark.index, event.end_mark.index
        if name == "AliasEvent":
            target = self.anchors[event.anchor]
            node = Node("alias", start, start, start, end, text=target.text, target=target)
            self.aliases.append(node)
            return node
        properties_end, body = _properties(self.text, start, end)
        node = Node(
            "scalar", start, properties_end, body, end, anchor=event.anchor, tagged=event.tag is not None
        )
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        if name == "ScalarEvent":
            node.text = event.value
            node.style = event.style or ""
            if node.style in ("|", ">"):
                node.end = _block_scalar_end(self.text, body, end)
            elif node.start == node.properties_end and node.body == node.end:
                node.start = node.properties_end = node.body = node.end = max(floor, 0)
            return node
        node.kind = "mapping" if name == "MappingStartEvent" else "sequence"
        node.style = "flow" if event.flow_style else "block"
        if node.kind == "mapping":
            self._mapping(node)
        else:
            self._sequence(node)
        return node

    def _mapping(self, node: Node) -> None:
        node.implicit_pair = node.is_flow and not self.text.startswith("{", node.body)
        floor = node.body + 1 if node.is_flow and not node.implicit_pair else node.properties_end
        while type(self.parser.peek_event()).__name__ != "MappingEndEvent":
            question = _end(_GAP, self.text, floor)
            key = self._node(floor)
            start = question if question < key.start and self.text[question] == "?" else key.start
            value_at = self.parser.peek_event().start_mark.index
            colon = _end(_GAP, self.text, key.end)
            indicator = colon + 1 if colon <= value_at and self.text.startswith(":", colon) else -1
            value = self._node(max(indicator, key.end))
            end = max(value.end, indicator, key.end)
            node.entries.append(Entry(start, indicator, end, key.text, value, key))
            floor = end
        self._close(node)

    def _sequence(self, node: Node) -> None:
        floor = node.body + 1 if node.is_flow else node.properties_end
        while type(self.parser.peek_event()).__name__ != "SequenceEndEvent":
            indicator = -1
            start = self.parser.peek_event().start_mark.index
            if not node.is_flow:
                start = _end(_GAP, self.text, floor)
                if not self.text.startswith("-", start):
                    raise ValueError("no dash before an item")
                indicator = start + 1
            value = self._node(max(indicator, floor))
            end = max(value.end, indicator)
            node.entries.append(Entry(start, indicator, end, str(len(node.entries)), value))
            floor = end
        self._close(node)

    def _close(self, node: Node) -> None:
        event = self.parser.get_event()
        if node.is_flow and not node.implicit_pair:
            node.end = event.end_mark.index
        else:
            node.end = node.entries[-1].end
        if node.is_block_collection:
            node.body = node.entries[0].start


def _properties(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where anchor and tag end that begin at ``start``, and where the value after them begins."""
    properties_end = at = start
    while at < end and text[at] in "&!":
        properties_end = min(_end(_PROPERTY, text, at), end)
        at = min(_end(_BLANKS, text, properties_end), end)
    return properties_end, at


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found is not None else at


_GAP = re.compile(r"(?:[\s,]+|#[^\n]*)*")
_PROPERTY = re.compile(r"!<[^>]*>|[&!][^\s,\[\]{}]*")
_BLANKS = re.compile(r"(?:\s+(?:#[^\n]*)?)*")


def block_scalar_header_end(text: str, body: int) -> int:
    """Return where the header (``|2-``) of the literal or folded scalar at ``body`` ends."""
    return _end(_BLOCK_SCALAR_HEADER, text, body)


def _block_scalar_end(text: str, body: int, end: int) -> int:
    """Return the end of the last content line of a literal or folded scalar, without its line break.

    Blank lines at the end are content only where ``+`` keeps them, or where they hold more spaces than the
    indentation.
    """
    header_end = block_scalar_header_end(text, body)
    comment, *content = text[header_end:end].split("\n")
    if content and not content[-1]:
        content.pop()
    indent = next((len(row) - len(row.lstrip(" ")) for row in content if row.strip()), 0)
    if "+" not in text[body:header_end]:
        while content and not content[-1].strip() and len(content[-1].rstrip("\r")) <= indent:
            content.pop()
    if not content:
        return header_end
    stop = header_end + len(comment) + sum(len(row) + 1 for row in content)
    return stop - 1 if text[stop - 1] == "\r" else stop


_BLOCK_SCALAR_HEADER = re.compile(r"[|>][-+0-9]*")
