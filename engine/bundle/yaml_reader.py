"""Reads YAML 1.2 core from untrusted text: bounded, without custom tags, repeated keys reported.

Two readers give the same values. The fast one (py-yaml12) reads what is plainly harmless. Text with anchors,
tags, deep nesting, possible repeated keys, very long numbers or a syntax error goes through libyaml's event
stream, which knows positions and lets every bound be checked before anything is built.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from openknowledge.engine import limits

Position = tuple[int, int]
"""1-based line and column within the YAML text."""
Path = tuple[str | int, ...]
"""Keys and indexes from the root of a YAML value to a node."""


@dataclass(frozen=True, slots=True)
class YamlProblem:
    """Something wrong in YAML text. An error when ``fatal``, else a warning."""

    message: str
    line: int
    column: int
    fatal: bool = True


@dataclass(slots=True)
class YamlResult:
    """The value that was read (``None`` when a problem is fatal) and what was wrong."""

    value: Any = None
    problems: list[YamlProblem] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether any problem makes the value unusable."""
        return any(problem.fatal for problem in self.problems)


# What the fast reader would read differently or copy without bound goes through the events. First the
# characters that such text must contain, then, only where one is there, the exact patterns.
_SUSPECT_CHARACTERS = ("&", "*", "!", "?", "%", "...", "---", "- -", "-  ", "++", "+-")
_NEEDS_EVENTS = re.compile(
    r"(?:^|[\s\[{,:?-])[&*!][^\s]"
    r"|^(?:%|\.\.\.|---)"
    r"|\+[+-]"
    r"|(?:^|[\s\[{,])\?(?:\s|$)"
    r"|^[ ]*-[ ]+-[ ]",
    re.MULTILINE,
)
_DEEP_INDENT = "\n" + " " * 40
_FLOW_COLON = re.compile(r":[,\[\]{}]")
_COLON = re.compile(r"""["']:|:(?=[\s,\[\]{}]|$)""")
# possessive throughout: each character is looked at once, whatever follows
_PLAIN_FLOW_ENTRY = r"[\w.-]++: (?:[^,{}\[\]\"'#\n:]|:(?![\s,{}\[\]\"'#]))++"
_PLAIN_FLOW_MAPPING = re.compile(rf"\{{ *+{_PLAIN_FLOW_ENTRY}(?:, *+{_PLAIN_FLOW_ENTRY})*+\}}")
_FAST_FLOW_SEQUENCES = 50  # with the deepest indent, these stay below the limit of depth
_VALUE_COLONS = ("[:", ",:", " :", "\n:")  # a value in a flow sequence may not begin so for every reader


def read_yaml(text: str) -> YamlResult:
    """Return the value of one YAML document with what is wrong in it. Never raises for bad text."""
    if _is_harmless(text):
        from yaml12 import parse_yaml

        try:
            value = parse_yaml(text)
        except ValueError:
            return read_events(text)
        if type(value) is dict and _count_keys(value) == _count_colons(text):
            return YamlResult(value)
    return read_events(text)


def _is_harmless(text: str) -> bool:
    """Whether the fast reader reads ``text`` like the other one and within bounds, repeated keys aside."""
    if text[-1:] != "\n" or text[0] in " \n{[#" or _DEEP_INDENT in text:
        return False
    if not text.replace("\n", "").isprintable():  # tabs, controls, and every white space beyond ASCII
        return False
    for mark in _SUSPECT_CHARACTERS:
        if mark in text and _NEEDS_EVENTS.search(text):
            return False
    # flow mappings that are plain do not nest, so only sequences can make flow deep
    sequences = text.count("[")
    if sequences > _FAST_FLOW_SEQUENCES:
        return False
    for mark in _VALUE_COLONS if sequences else ():
        if mark in text:
            return False
    braces = text.count("{")
    return braces == 0 or len(_PLAIN_FLOW_MAPPING.findall(text)) == braces


def _count_colons(text: str) -> int:
    """Count the colons that could end a key. With as many keys in the value, none of them is repeated."""
    if '":' in text or "':" in text or (("[" in text or "{" in text) and _FLOW_COLON.search(text)):
        return len(_COLON.findall(text))
    return text.count(": ") + text.count(":\n") + (1 if text.endswith(":") else 0)


def _count_keys(value: Any) -> int:
    """Count the mapping entries in ``value``; -1 when it holds something the fast reader may not decide."""
    kind = type(value)
    if kind is dict:
        total = len(value)
        items = value.values()
        for key in value:
            if type(key) is not str or not key:
                return -1
    else:
        total = 0
        items = value
    for item in items:
        inner = type(item)
        if inner is str:
            if item.startswith(("0x", "0o", "\n")):
                return -1
        elif inner is dict or inner is list:
            below = _count_keys(item)
            if below < 0:
                return -1
            total += below
        elif inner is int or inner is float:
            if not -_EXACT < item < _EXACT:
                return -1
        elif item is not None and inner is not bool:
            return -1
    return total


_EXACT = 10**15  # numbers beyond may have lost digits in the fast reader

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INT = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)\Z")
_NOT_A_NUMBER = frozenset({".nan", ".NaN", ".NAN"})
_INT_DIGITS = 4_300  # what Python converts
_BASED_DIGITS = 3_500  # octal and hexadecimal digits that stay within as many decimal ones

_CORE = "tag:yaml.org,2002:"


class _Refused(Exception):
    def __init__(self, message: str, mark: Any) -> None:
        super().__init__(message)
        self.problem = YamlProblem(message, mark.line + 1, mark.column + 1)


def resolve_scalar(text: str) -> Any:
    """Return the YAML 1.2 core value of a plain scalar.

    Raises ``ValueError`` for an integer that is too long to be written again in decimal.
    """
    if text in _NULLS:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if text[0] in "+-.0123456789":
        if _INT.match(text):
            return int(_bounded(text, _INT_DIGITS))
        if _FLOAT.match(text):
            return float(text)
        if _OCTAL.match(text):
            return int(_bounded(text[2:], _BASED_DIGITS), 8)
        if _HEX.match(text):
            return int(_bounded(text[2:], _BASED_DIGITS), 16)
        if infinite := _INFINITE.match(text):
            return float(infinite.group(1) + "inf")
        if text in _NOT_A_NUMBER:
            return float("nan")
    return text


def _bounded(digits: str, limit: int) -> str:
    if len(digits) > limit:
        raise ValueError(f"an integer of more than {limit} digits is not accepted; quote it")
    return digits


@dataclass(slots=True)
class _Frame:
    """A collection that is being read: its value, and for a mapping the key that waits for its value."""

    value: Any
    opening: Any
    anchor: str | None
    is_mapping: bool
    path: Path
    key: Any = None
    has_key: bool = False
    key_mark: Any = None
    size: int = 1


class _EventReader:
    """Builds a value from libyaml's events with an explicit stack, so depth costs no recursion."""

    def __init__(self) -> None:
        self.stack: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.open_anchors: set[str] = set()
        self.warnings: list[YamlProblem] = []
        self.positions: dict[Path, Position] = {}
        self.expanded = 0
        self.root: Any = None
        self.done = False

    def feed(self, event: Any) -> None:
        name = type(event).__name__
        if name == "ScalarEvent":
            self._complete(self._scalar(event), 1, event, event.anchor)
        elif name == "MappingStartEvent":
            self._open(event, {}, is_mapping=True)
        elif name == "SequenceStartEvent":
            self._open(event, [], is_mapping=False)
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            frame = self.stack.pop()
            if frame.anchor is not None:
                self.open_anchors.discard(frame.anchor)
            self._complete(frame.value, frame.size, frame.opening, frame.anchor)
        elif name == "AliasEvent":
            self._alias(event)
        elif name == "DocumentStartEvent" and self.done:
            raise _Refused("more than one YAML document; keep one", event.start_mark)

    def _open(self, event: Any, value: Any, *, is_mapping: bool) -> None:
        if len(self.stack) >= limits.FRONTMATTER_DEPTH:
            raise _Refused(f"nested deeper than {limits.FRONTMATTER_DEPTH} levels", event.start_mark)
        wanted = _CORE + ("map" if is_mapping else "seq")
        if event.tag not in (None, "!", wanted):
            raise _Refused(f"tag {_shown_tag(event.tag)} is not allowed here", event.start_mark)
        path = self._place(event)
        if event.anchor is not None:
            self.anchors.pop(event.anchor, None)
            self.open_anchors.add(event.anchor)
        self.stack.append(_Frame(value, event, event.anchor, is_mapping, path))

    def _place(self, event: Any) -> Path:
        """Record and return the path of the value that starts with ``event``."""
        mark = event.start_mark
        if not self.stack:
            path: Path = ()
        else:
            frame = self.stack[-1]
            if not frame.is_mapping:
                path = (*frame.path, len(frame.value))
            elif frame.has_key:
                path = (*frame.path, frame.key)
                mark = frame.key_mark
            else:
                return frame.path  # a key: its place is recorded with its value
        self.positions[path] = (mark.line + 1, mark.column + 1)
        return path

    def _scalar(self, event: Any) -> Any:
        self._place(event)
        text: str = event.value
        tag = event.tag
        try:
            if tag in (None, "!"):
                if event.implicit[0] and tag is None:
                    return resolve_scalar(text)
                return text
            return _tagged_scalar(tag, text)
        except ValueError as error:
            raise _Refused(str(error), event.start_mark) from None

    def _alias(self, event: Any) -> None:
        if event.anchor in self.open_anchors:
            raise _Refused(f"alias *{event.anchor} refers to a value that contains it", event.start_mark)
        if event.anchor not in self.anchors:
            raise _Refused(f"alias *{event.anchor} has no anchor before it", event.start_mark)
        value, size = self.anchors[event.anchor]
        self.expanded += size
        if self.expanded > limits.FRONTMATTER_ALIAS_NODES:
            raise _Refused(
                f"aliases expand to more than {limits.FRONTMATTER_ALIAS_NODES} values", event.start_mark
            )
        self._place(event)
        self._complete(value, size, event, None)

    def _complete(self, value: Any, size: int, event: Any, anchor: str | None) -> None:
        if anchor is not None:
            self.anchors[anchor] = (value, size)
        if not self.stack:
            self.root = value
            self.done = True
            return
        frame = self.stack[-1]
        frame.size += size
        if not frame.is_mapping:
            frame.value.append(value)
        elif frame.has_key:
            frame.value[frame.key] = value
            frame.has_key = False
        else:
            self._take_key(frame, value, event)

    def _take_key(self, frame: _Frame, key: Any, event: Any) -> None:
        mark = event.start_mark
        if not isinstance(key, str) or not key:
            raise _Refused("mapping keys must be non-empty strings", mark)
        if key in frame.value:
            self.warnings.append(
                YamlProblem(
                    f'frontmatter key "{key}" is repeated; later value wins',
                    mark.line + 1,
                    mark.column + 1,
                    fatal=False,
                )
            )
        frame.key = key
        frame.key_mark = mark
        frame.has_key = True


_TAGGED_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}


def _tagged_scalar(tag: str, text: str) -> Any:
    kind = tag.removeprefix(_CORE)
    if kind == "str":
        return text
    if kind not in _TAGGED_TYPES or not tag.startswith(_CORE):
        raise ValueError(f"tag {_shown_tag(tag)} is not allowed here")
    value: Any = resolve_scalar(text)
    fits = isinstance(value, _TAGGED_TYPES[kind]) and (kind == "bool") == isinstance(value, bool)
    if not fits:
        raise ValueError(f"{text!r} is not a {kind}")
    return float(value) if kind == "float" else value


def _shown_tag(tag: str) -> str:
    return "!!" + tag.removeprefix(_CORE) if tag.startswith(_CORE) else tag


def read_events(text: str) -> YamlResult:
    """Read ``text`` through libyaml's events: slower than ``read_yaml``, with every bound and position."""
    result, _ = _read_with_positions(text)
    return result


def positions(text: str) -> dict[Path, Position]:
    """Return where each value of the YAML ``text`` stands (for an entry of a mapping: where its key stands).

    For a repeated key the later place. What follows a syntax error is missing.
    """
    return _read_with_positions(text)[1]


def _read_with_positions(text: str) -> tuple[YamlResult, dict[Path, Position]]:
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    reader = _EventReader()
    try:
        parser = loader(text)
        try:
            while parser.check_event():
                reader.feed(parser.get_event())
        finally:
            parser.dispose()
    except _Refused as refused:
        return YamlResult(None, [*reader.warnings, refused.problem]), reader.positions
    except yaml.MarkedYAMLError as error:
        return YamlResult(None, [*reader.warnings, _syntax_problem(error)]), reader.positions
    except yaml.reader.ReaderError as error:
        return YamlResult(None, [*reader.warnings, _character_problem(text, error)]), reader.positions
    return YamlResult(reader.root, reader.warnings), reader.positions


def _syntax_problem(error: Any) -> YamlProblem:
    mark = error.problem_mark or error.context_mark
    message = " ".join(part for part in (error.problem, error.context) if part) or "invalid YAML"
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    return YamlProblem(f"invalid YAML: {message}", line, column)


def _character_problem(text: str, error: Any) -> YamlProblem:
    for number, row in enumerate(text.split("\n"), start=1):
        for column, character in enumerate(row, start=1):
            code = ord(character)
            if (code < 0x20 and character not in "\t\r") or (0x7F <= code < 0xA0 and code != 0x85):
                return YamlProblem(f"control character U+{code:04X} is not allowed in YAML", number, column)
            if code in (0xFFFE, 0xFFFF, 0xFEFF) or 0xD800 <= code < 0xE000:
                return YamlProblem(f"character U+{code:04X} is not allowed in YAML", number, column)
    return YamlProblem(f"invalid YAML: {error.reason}", 1, 1)
