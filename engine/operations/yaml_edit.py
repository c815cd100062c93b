"""Edits of exact ranges of a YAML text: set, insert or remove one value, leave every other character alone.

The way by a round trip (ruamel.yaml) was tried and left: it rewrites line endings, indentation, folded lines
and blanks of values nobody touched. Here each change is a few replaced ranges, computed from the places that
libyaml reports, and the caller reads the result again to see that it says what was meant.

Comments belong to what stands on their own line: a comment behind a removed value goes with it, comment lines
between values stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.yaml_emit import (
    Layout,
    block_lines,
    inline,
    is_block_value,
    key_text,
    pair_lines,
)
from openknowledge.engine.operations.yaml_tree import Entry, Node, Tree, block_scalar_header_end


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters from ``start`` to ``end`` by ``text``."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return ``text`` with all ``edits`` made; they must not overlap."""
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < at:
            raise ValueError("edits overlap")
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join(parts) + text[at:]


class YamlEditor:
    """Computes the edits of one text. ``line_break`` is what lines end in where the text has none."""

    def __init__(self, text: str, tree: Tree, line_break: str) -> None:
        self.text = text
        self.tree = tree
        self.line_break = line_break

    # Changes

    def replace(self, parent: Node, entry: Entry, value: object) -> list[Edit]:
        """Return the edits that give ``entry`` of ``parent`` the new ``value``."""
        old = entry.value
        if not parent.is_flow and is_block_value(value):
            return self._to_block(parent, entry, value)
        quote = old.style if old.style in ("'", '"') and isinstance(value, str) else ""
        if parent.is_flow and not quote:
            quote = _flow_quote(parent)
        return self._to_inline(entry, inline(value, in_flow=parent.is_flow, quote=quote))

    def append_pair(self, mapping: Node | None, key: str, value: object, at: Slot | None) -> list[Edit]:
        """Return the edits that add ``key`` as the last entry of ``mapping`` (``None``: an empty text).

        ``at`` is where the mapping itself stands, ``None`` for the root.
        """
        if mapping is None:
            lines = pair_lines(key, value, 0, self._layout(None))
            end = self.line_break
            return [Edit(len(self.text), len(self.text), "".join(line + end for line in lines))]
        if mapping.is_block_collection:
            column = self._column(mapping.entries[0].start)
            lines = pair_lines(key, value, column, self._layout(mapping))
            return [self._lines_after(mapping.entries[-1].end, lines)]
        _refuse_implicit_pair(mapping)
        if not mapping.entries and self._may_become_block(mapping, at):
            return self._empty_to_block(mapping, {key: value}, at)
        quote = _flow_quote(mapping)
        pair = key_text(key, in_flow=True, quote=quote) + ": " + inline(value, in_flow=True, quote=quote)
        return self._flow_insert(mapping, len(mapping.entries), pair)

    def insert_item(self, sequence: Node, index: int, value: object, at: Slot | None) -> list[Edit]:
        """Return the edits that make ``value`` item ``index`` of ``sequence``."""
        if sequence.is_block_collection:
            return self._block_insert(sequence, index, value)
        if not sequence.entries and self._may_become_block(sequence, at):
            return self._empty_to_block(sequence, [value], at)
        return self._flow_insert(sequence, index, inline(value, in_flow=True, quote=_flow_quote(sequence)))

    def remove(self, parent: Node, index: int, at: Slot | None) -> list[Edit]:
        """Return the edits that take entry ``index`` out of ``parent``."""
        if parent.is_flow:
            _refuse_implicit_pair(parent)
            return self._flow_remove(parent, index)
        if len(parent.entries) > 1:
            return self._block_remove(parent, index)
        if at is not None:
            return self._to_inline(at.entry, "{}" if parent.kind == "mapping" else "[]")
        return [Edit(self._line_start(parent.body), self._next_line(parent.end), "")]

    # Block style

    def _to_inline(self, entry: Entry, new: str) -> list[Edit]:
        old = entry.value
        if old.is_block_collection:
            return self._block_to_inline(entry, new)
        start, prefix = self._value_start(old)
        if old.style in ("|", ">"):
            header_end = self._header_end(old)
            edits = [Edit(start, header_end, prefix + new)]
            if old.end > header_end:
                edits.append(Edit(self._next_line(header_end), self._next_line(old.end), ""))
            return edits
        if old.is_empty_scalar and old.start == old.end:
            if entry.indicator >= 0:
                return [Edit(entry.indicator, entry.indicator, " " + new)]
            if entry.key is None or self._is_lone_explicit_key(entry):
                raise _unsupported("a key without a colon", "write the value by hand")
            return [Edit(entry.key.end, entry.key.end, ": " + new)]
        if old.is_empty_scalar and not old.tagged:
            return [Edit(old.properties_end, old.end, " " + new)]
        return [Edit(start, old.end, prefix + new)]

    def _block_to_inline(self, entry: Entry, new: str) -> list[Edit]:
        old = entry.value
        if not self._is_first_on_line(old.body):
            return [Edit(old.body, old.end, new)]
        lines = Edit(self._line_start(old.body), self._next_line(old.end), "")
        if old.tagged:
            kept = f"&{old.anchor} " if old.anchor else ""
            return [Edit(old.start, old.properties_end, kept + new), lines]
        at = old.properties_end if old.anchor else entry.indicator
        return [Edit(at, at, " " + new), lines]

    def _to_block(self, parent: Node, entry: Entry, value: object) -> list[Edit]:
        if entry.indicator < 0:
            raise _unsupported("a key without a colon", "write the value by hand")
        old = entry.value
        layout = self._layout(parent)
        column = self._column(parent.entries[0].start)
        if old.is_block_collection:
            return self._block_to_block(entry, value, column, layout)
        indent = column + _indentation(parent, value, layout)
        if parent.kind == "sequence" and old.properties_end == old.start:
            compact = self._item_to_compact(entry, value, indent, layout)
            if compact is not None:
                return compact
        return self._scalar_to_block(entry, block_lines(value, indent, layout))

    def _block_to_block(self, entry: Entry, value: object, column: int, layout: Layout) -> list[Edit]:
        old = entry.value
        indent = self._column(old.body)
        same_kind = isinstance(value, dict) == (old.kind == "mapping")
        if not same_kind and indent <= column:
            indent = column + (layout.step if isinstance(value, dict) else layout.sequence_step)
        new = self._joined(block_lines(value, indent, layout), old.body)
        stop = self._line_end(old.end)
        if not self._is_first_on_line(old.body):
            return [Edit(old.body, stop, new[indent:])]
        edits = [Edit(self._line_start(old.body), stop, new)]
        if old.tagged and not same_kind:
            edits.append(Edit(old.start, old.properties_end, f"&{old.anchor}" if old.anchor else ""))
        return edits

    def _item_to_compact(self, entry: Entry, value: object, indent: int, layout: Layout) -> list[Edit] | None:
        """Put the first line of ``value`` behind the dash, unless a comment stands there."""
        old = entry.value
        if old.style in ("|", ">") or self._rest_of_line(old.end).strip():
            return None
        if old.is_empty_scalar:
            new = self._joined(block_lines(value, indent, layout), old.end)
            return [Edit(entry.indicator, self._line_end(old.end), new[indent - layout.dash_width + 1 :])]
        if "\n" in self.text[entry.indicator : old.body]:
            return None
        indent = self._column(old.body)
        new = self._joined(block_lines(value, indent, layout), old.body)
        return [Edit(old.body, old.end, new[indent:])]

    def _scalar_to_block(self, entry: Entry, lines: list[str]) -> list[Edit]:
        """Take the old one-line value away and put ``lines`` below the line on which it ended."""
        old = entry.value
        if old.tagged:
            clear_from, kept = old.start, f"&{old.anchor}" if old.anchor else ""
        else:
            clear_from, kept = (old.properties_end if old.anchor else entry.indicator), ""
        below = self._joined(lines, entry.indicator)
        if old.style in ("|", ">"):
            header_end = self._header_end(old)
            edits = [Edit(clear_from, header_end, kept)]
            if old.end == header_end:
                return [*edits, self._lines_after(header_end, lines)]
            return [*edits, Edit(self._next_line(header_end), self._line_end(old.end), below)]
        if "\n" in self.text[clear_from : old.body] and not old.tagged:
            # The value stands below its key: what is between them stays.
            if self._rest_of_line(old.end).strip():
                return [Edit(old.body, old.end, ""), self._lines_after(old.end, lines)]
            return [Edit(self._line_start(old.body), self._line_end(old.end), below)]
        return [Edit(clear_from, old.end, kept), self._lines_after(old.end, lines)]

    def _block_insert(self, sequence: Node, index: int, value: object) -> list[Edit]:
        entries = sequence.entries
        column = self._column(entries[0].start)
        quote = _item_quote(entries[max(index - 1, 0)].value)
        lines = block_lines([value], column, self._layout(sequence), quote)
        if index > 0:
            return [self._lines_after(entries[index - 1].end, lines)]
        first = entries[0].start
        end = self._line_break_at(first)
        if not self._is_first_on_line(first):
            return [Edit(first, first, self._joined(lines, first)[column:] + end + " " * column)]
        above = self._above_comments(first)
        return [Edit(above, above, "".join(line + end for line in lines))]

    def _block_remove(self, parent: Node, index: int) -> list[Edit]:
        entry = parent.entries[index]
        if self._is_first_on_line(entry.start):
            stop = self._next_line(entry.end)
            start = self._line_start(entry.start)
            if index > 0 and self._next_line(parent.entries[index - 1].end) == start:
                stop = self._after_blank_lines(stop, parent.entries[index - 1].value)
            return [Edit(start, stop, "")]
        # The first entry stands behind a dash: the second takes its place, unless comments lie between.
        following = parent.entries[index + 1].start
        if self._next_line(entry.end) == self._line_start(following):
            return [Edit(entry.start, following, "")]
        return [Edit(len(self.text[: entry.start].rstrip(" ")), self._line_end(entry.end), "")]

    # Flow style

    def _flow_insert(self, collection: Node, index: int, new: str) -> list[Edit]:
        entries = collection.entries
        if not entries:
            at = collection.body + 1
            return [Edit(at, at, new)]
        near = entries[min(index, len(entries) - 1)]
        own_line = self._is_first_on_line(near.start)
        separator = self._line_break_at(near.start) + " " * self._column(near.start) if own_line else " "
        if index < len(entries):
            return [Edit(near.start, near.start, f"{new},{separator}")]
        comma = self._comma_after(near.end)
        if not own_line:
            return [Edit(near.end, near.end, f", {new}")]
        stop = comma + 1 if comma >= 0 else near.end
        line_end = self._line_end(stop)
        if not self.text[stop:line_end].lstrip().startswith("#"):
            line_end = stop
        if comma >= 0:
            return [Edit(line_end, line_end, f"{separator}{new},")]
        if line_end == stop:
            return [Edit(stop, stop, f",{separator}{new}")]
        return [Edit(stop, stop, ","), Edit(line_end, line_end, f"{separator}{new}")]

    def _flow_remove(self, collection: Node, index: int) -> list[Edit]:
        entries = collection.entries
        entry = entries[index]
        if index + 1 < len(entries):
            following = entries[index + 1].start
            between = self.text[entry.end : following]
            if "\n" not in between or self._is_first_on_line(entry.start):
                return [Edit(entry.start, following, "")] if "\n" not in between else self._flow_lines(entry)
            comma = self._comma_after(entry.end)
            return [Edit(entry.start, comma + 1, "")]
        comma = self._comma_after(entry.end)
        if index == 0:
            return [Edit(entry.start, max(comma + 1, entry.end), "")]
        before = entries[index - 1].end
        between = self.text[before : entry.start]
        if "#" not in between and "\n" not in between:
            return [Edit(before, entry.end, "")]
        separator = self._comma_after(before)
        edits = [Edit(separator, separator + 1, "")] if comma < 0 else []
        if self._is_first_on_line(entry.start):
            return [*edits, *self._flow_lines(entry)]
        return [*edits, Edit(entry.start, max(comma + 1, entry.end), "")]

    def _flow_lines(self, entry: Entry) -> list[Edit]:
        """Remove an entry that begins its line: the whole line where nothing but a comment follows."""
        comma = self._comma_after(entry.end)
        stop = max(comma + 1, entry.end)
        rest = self._rest_of_line(stop).strip()
        if rest and not rest.startswith("#"):
            return [Edit(entry.start, stop + len(self.text[stop:]) - len(self.text[stop:].lstrip(" ")), "")]
        return [Edit(self._line_start(entry.start), self._next_line(stop), "")]

    def _comma_after(self, at: int) -> int:
        """Return the comma that follows the entry ending at ``at``, past blanks and comments, or -1."""
        while at < len(self.text):
            character = self.text[at]
            if character == "#":
                at = self._next_line(at)
            elif character in " \t\r\n":
                at += 1
            else:
                return at if character == "," else -1
        return -1

    # Empty collections

    def _may_become_block(self, node: Node, at: Slot | None) -> bool:
        """Whether an empty flow collection in block surroundings may give way to block style."""
        if self.text[node.body + 1 : node.end - 1].strip():
            return False
        if at is None:
            return node.start == node.body == self._line_start(node.body) and not self._rest_of_line(node.end)
        return not at.parent.is_flow and at.entry.indicator >= 0

    def _empty_to_block(self, node: Node, value: object, at: Slot | None) -> list[Edit]:
        if at is not None:
            return self._to_block(at.parent, at.entry, value)
        lines = block_lines(value, 0, self._layout(None))
        return [Edit(node.start, node.end, self._joined(lines, node.start))]

    # Layout of the page

    def _layout(self, near: Node | None) -> Layout:
        """Return the layout that ``near`` shows, else the one most used in the text."""
        shown = _Shown()
        if near is not None:
            shown.take(self, near)
        page = _Shown()
        for node in self.tree.nodes():
            page.take(self, node)
        default = Layout()
        return Layout(
            shown.steps.most(page.steps, default.step),
            shown.sequence_steps.most(page.sequence_steps, default.sequence_step),
            shown.dash_widths.most(page.dash_widths, default.dash_width),
        )

    # Places in the text

    def _line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _next_line(self, at: int) -> int:
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1

    def _line_end(self, at: int) -> int:
        found = self.text.find("\n", at)
        if found < 0:
            return len(self.text)
        return found - 1 if found > at and self.text[found - 1] == "\r" else found

    def _line_break_at(self, at: int) -> str:
        found = self.text.find("\n", at)
        if found < 0:
            return self.line_break
        return "\r\n" if found > 0 and self.text[found - 1] == "\r" else "\n"

    def _rest_of_line(self, at: int) -> str:
        return self.text[at : self._line_end(at)]

    def _column(self, at: int) -> int:
        return at - self._line_start(at)

    def _is_first_on_line(self, at: int) -> bool:
        return not self.text[self._line_start(at) : at].strip(" ")

    def _joined(self, lines: list[str], near: int) -> str:
        return self._line_break_at(near).join(lines)

    def _lines_after(self, at: int, lines: list[str]) -> Edit:
        end, line_break = self._line_end(at), self._line_break_at(at)
        return Edit(end, end, "".join(line_break + line for line in lines))

    def _above_comments(self, at: int) -> int:
        """Return the start of the line of ``at``, or of the comment lines directly above it."""
        start = self._line_start(at)
        while start > 0:
            above = self._line_start(start - 1)
            if not self.text[above:start].lstrip(" ").startswith("#"):
                break
            start = above
        return start

    def _after_blank_lines(self, at: int, before: Node) -> int:
        """Return where blank lines from ``at`` on end, if ``before``, once above them, would take them up.

        A literal or folded scalar that keeps the blank lines at its end does.
        """
        while before.is_block_collection:
            before = before.entries[-1].value
        if before.style in ("|", ">") and "+" in self.text[before.body : self._header_end(before)]:
            while at < len(self.text) and not self._rest_of_line(at).strip(" "):
                at = self._next_line(at)
        return at

    def _value_start(self, old: Node) -> tuple[int, str]:
        """Return where a replaced value begins and what stays of its properties: the anchor, not the tag."""
        if old.tagged:
            return old.start, f"&{old.anchor} " if old.anchor else ""
        return old.body, ""

    def _header_end(self, old: Node) -> int:
        return block_scalar_header_end(self.text, old.body)

    def _is_lone_explicit_key(self, entry: Entry) -> bool:
        return entry.key is not None and entry.start != entry.key.start


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a collection stands: the entry that holds it, and the collection of that entry."""

    parent: Node
    entry: Entry


class _Votes(Counter[int]):
    def most(self, fallback: _Votes, default: int) -> int:
        counts = self or fallback
        return max(counts, key=lambda width: (counts[width], -width)) if counts else default


class _Shown:
    """What widths a text shows."""

    def __init__(self) -> None:
        self.steps = _Votes()
        self.sequence_steps = _Votes()
        self.dash_widths = _Votes()

    def take(self, editor: YamlEditor, node: Node) -> None:
        if not node.is_block_collection:
            return
        column = editor._column(node.body)
        for entry in node.entries:
            value = entry.value
            if node.kind == "sequence":
                if not value.is_empty_scalar and "\n" not in editor.text[entry.indicator : value.body]:
                    self.dash_widths[editor._column(value.start) - column] += 1
            elif value.is_block_collection and editor._is_first_on_line(value.body):
                steps = self.steps if value.kind == "mapping" else self.sequence_steps
                steps[editor._column(value.body) - column] += 1


def _indentation(parent: Node, value: object, layout: Layout) -> int:
    if parent.kind == "sequence":
        return layout.dash_width
    return layout.step if isinstance(value, dict) else layout.sequence_step


def _item_quote(neighbour: Node) -> str:
    return neighbour.style if neighbour.style in ("'", '"') else ""


def _flow_quote(collection: Node) -> str:
    """Return the quotes that the last key (or item) of a flow collection uses."""
    if not collection.entries:
        return ""
    last = collection.entries[-1]
    return _item_quote(last.key if last.key is not None else last.value)


def _refuse_implicit_pair(node: Node) -> None:
    if node.implicit_pair:
        raise _unsupported("a single pair without braces inside [ ]", "put braces around it")


def _unsupported(what: str, advice: str) -> OpenKnowledgeError:
    return OpenKnowledgeError(f"{what} cannot be edited in place; {advice}")
