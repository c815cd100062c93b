"""Random patches on random frontmatter: the values become what RFC 6902 says and every other byte stays."""

from __future__ import annotations

import copy
import random
import re
from dataclasses import dataclass, field
from typing import Any

import jsonpatch
import yaml
from hypothesis import HealthCheck, assume, event, given, note, settings
from hypothesis import strategies as st
from openknowledge.engine.bundle.yaml_reader import read_yaml
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.json_patch import pointer
from openknowledge.engine.operations.patch import edit_frontmatter, split_page
from openknowledge.engine.operations.yaml_emit import Layout, block_lines, inline

relaxed = settings(deadline=None, max_examples=250, suppress_health_check=list(HealthCheck))

# Pages in many styles -------------------------------------------------------------------------------------


@dataclass
class Place:
    """Where the generator wrote an entry: its start, after its indicator, its value's start and end."""

    entry: int
    indicator: int
    start: int
    end: int
    flow: bool
    block_value: bool = False
    block_scalar: bool = False


@dataclass
class Page:
    """A generated frontmatter text with the places of all its values."""

    rnd: random.Random
    eol: str
    exotic: bool = False
    text: str = ""
    serial: int = 0
    places: dict[tuple[str | int, ...], Place] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    step: int = 2
    sequence_step: int = 2
    dash: int = 2
    kept_until: int = -1
    keeping: set[int] = field(default_factory=set)

    def put(self, text: str) -> None:
        self.text += text

    def unique(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}{self.serial}x"

    def chance(self, share: float) -> bool:
        return self.rnd.random() < share

    # One line at a time

    def end_line(self, *, comment: bool = True) -> None:
        if comment and self.chance(0.25):
            self.comments.append(self.unique("# c"))
            self.put(self.rnd.choice([" ", "   "]) + self.comments[-1])
        elif self.chance(0.1):
            self.put("  ")
        self.put(self.eol)

    def between(self, indent: int) -> None:
        while self.chance(0.15):
            if self.chance(0.4) and self.kept_until != len(self.text):
                self.put(self.eol)
            else:
                self.comments.append(self.unique("# own"))
                self.put(" " * indent + self.comments[-1] + self.eol)

    def key(self) -> str:
        stem = self.unique(self.rnd.choice(["k", "klíč", "key-", "a b"]))
        return self.rnd.choice(
            [stem, stem, stem, f"'{stem}'", f'"{stem}"', f"'it''s {stem}'", f'"q\\"{stem}"']
        )

    def properties(self) -> None:
        if self.exotic and self.chance(0.15):
            self.put(f"&{self.unique('anchor')} ")

    # Scalars

    def inline_scalar(self, *, flow: bool) -> None:
        stem = self.unique("v")
        choices = [
            stem,
            f"okn:claim/{stem}",
            f"'{stem} ''q'' # no comment'",
            f'"{stem} \\" \\u00e9"',
            "12",
            "-3.5",
            "true",
            "no",
            "2024-01-31",
            "12:30:45",
            "~",
            "''",
            "!!str 12",
        ]
        if not flow:
            choices += [f"{stem} with, commas [and] {{braces}}", f"{stem}#notcomment"]
        self.put(self.rnd.choice(choices))

    def multi_line_scalar(self, indent: int) -> None:
        pad = self.eol + " " * (indent + self.rnd.choice([1, 2, 4]))
        stem = self.unique("v")
        blank = self.eol if self.chance(0.3) else ""
        text = f"{stem} one{blank}{pad}two{pad}three"
        self.put(self.rnd.choice([text, f"'{text}'", f'"{text}"']))

    def block_scalar(self, indent: int) -> int:
        """Write a literal or folded scalar with its last line break; return the end of its content."""
        chomp = self.rnd.choice(["", "-", "+"])
        self.put(self.rnd.choice("|>") + chomp)
        self.end_line()
        pad = " " * (indent + self.rnd.choice([1, 2, 3]))
        for number in range(self.rnd.randint(1, 3)):
            if number and self.chance(0.3):
                self.put(self.eol)
            end_mark = pad + self.unique("text ")
            self.put(end_mark)
            end = len(self.text)
            self.put(self.eol)
        if self.chance(0.4):
            self.put(self.eol * self.rnd.randint(1, 2))
            if chomp == "+":
                end = len(self.text) - len(self.eol)
        if chomp == "+":
            self.kept_until = len(self.text)  # a blank line here would belong to the scalar
            self.keeping.add(len(self.text))
        return end

    # Collections

    def flow(self, path: tuple[str | int, ...], depth: int, indent: int) -> None:
        mapping = self.chance(0.5)
        opening, closing = "{}" if mapping else "[]"
        lines = self.chance(0.25)
        pad = self.eol + " " * (indent + 2)
        count = self.rnd.choice([0, 1, 1, 2, 3])
        self.put(opening)
        if lines:
            self.put(pad)
        elif count and self.chance(0.3):
            self.put(" ")
        for number in range(count):
            at = len(self.text)
            step: str | int = number
            indicator = -1
            if mapping:
                key = self.key()
                step = yaml.safe_load(key)
                self.put(key + ":")
                indicator = len(self.text)
                self.put(" ")
            start = len(self.text)
            if depth > 0 and self.chance(0.3):
                self.flow((*path, step), depth - 1, indent + 4)
            else:
                self.properties()
                start = len(self.text)
                self.inline_scalar(flow=True)
            self.places[*path, step] = Place(at, indicator, start, len(self.text), flow=True)
            if number + 1 < count:
                self.put("," + ((self.comment_end() + pad) if lines else self.rnd.choice([" ", ""])))
            elif self.chance(0.2):
                self.put(",")
        if lines:
            self.put(self.comment_end() + self.eol + " " * (indent + 1))
        self.put(closing)

    def comment_end(self) -> str:
        if self.chance(0.3):
            self.comments.append(self.unique("# flow"))
            return " " + self.comments[-1]
        return ""

    def value(self, path: tuple[str | int, ...], entry: int, indent: int, depth: int, *, item: bool) -> None:
        """Write what follows an indicator, with the end of the line."""
        indicator = len(self.text)
        pick = self.rnd.random()
        if pick < 0.25 and depth > 0:
            self.block_value(path, entry, indent, depth, item=item)
            return
        if pick < 0.32:
            self.places[path] = Place(entry, indicator, indicator, indicator, flow=False)
            self.end_line()
            return
        self.put(" " * (self.dash - 1) if item else " ")
        self.properties()
        start = len(self.text)
        if pick < 0.42:
            end = self.block_scalar(indent)
            self.places[path] = Place(entry, indicator, start, end, flow=False, block_scalar=True)
            return
        if pick < 0.5:
            self.multi_line_scalar(indent)
        elif pick < 0.7:
            self.flow(path, 2, indent)
        else:
            self.inline_scalar(flow=False)
        self.places[path] = Place(entry, indicator, start, len(self.text), flow=False)
        self.end_line()

    def block_value(
        self, path: tuple[str | int, ...], entry: int, indent: int, depth: int, *, item: bool
    ) -> None:
        indicator = len(self.text)
        mapping = self.chance(0.5)
        if item and self.chance(0.7):
            self.put(" " * (self.dash - 1))
            below = indent + self.dash
            start = len(self.text)
            self.collection(mapping, path, below, depth - 1, inline_first=True)
        else:
            if self.exotic and self.chance(0.15):
                self.put(f" &{self.unique('anchor')}")
                indicator = len(self.text)
            self.end_line()
            below = indent + (self.step if mapping or item else self.sequence_step)
            self.between(below)
            start = len(self.text)
            self.collection(mapping, path, below, depth - 1)
        self.places[path] = Place(entry, indicator, start, self.last_end, flow=False, block_value=True)

    def collection(
        self,
        mapping: bool,
        path: tuple[str | int, ...],
        indent: int,
        depth: int,
        *,
        inline_first: bool = False,
    ) -> None:
        for number in range(self.rnd.choice([1, 1, 2, 3])):
            if number or not inline_first:
                if number:
                    self.between(indent)
                self.put(" " * indent)
            entry = len(self.text)
            if mapping:
                key = self.key()
                self.put(key + ":")
                self.value((*path, yaml.safe_load(key)), entry, indent, depth, item=False)
            else:
                self.put("-")
                self.value((*path, number), entry, indent, depth, item=True)
        last = self.places[(*path, yaml.safe_load(key)) if mapping else (*path, number)]
        self.last_end = max(last.end, last.indicator)


def write_page(seed: random.Random, *, exotic: bool = False) -> Page:
    page = _write_page(seed, exotic=exotic)
    note(page.text)
    return page


def _write_page(seed: random.Random, *, exotic: bool) -> Page:
    page = Page(seed, seed.choice(["\n", "\r\n"]), exotic)
    page.step = seed.choice([2, 2, 4, 3])
    page.sequence_step = seed.choice([0, 2, 2, 4])
    page.dash = seed.choice([2, 2, 4])
    page.between(0)
    page.collection(True, (), 0, 3)
    page.between(0)
    return page


@dataclass
class Whole:
    before: str
    after: str

    def bytes_of(self, text: str) -> bytes:
        return (self.before + text + self.after).encode()


def surroundings(page: Page) -> Whole:
    rnd = page.rnd
    before = rnd.choice(["", "\ufeff"]) + rnd.choice(["---", " ---  ", "--- "]) + page.eol
    body = rnd.choice(
        ["", page.eol, f"{page.eol}# Titel{page.eol}\ttext  {page.eol}", f"{page.eol}no end", "\r\n\n"]
    )
    return Whole(before, rnd.choice(["---", "---  ", "---\t"]) + (body or ""))


# New values -----------------------------------------------------------------------------------------------

AWKWARD = [
    *(
        "",
        " ",
        "no",
        "Yes",
        "y",
        "NULL",
        "~",
        "null",
        "true",
        "1",
        "1.5",
        "0x1f",
        "0o17",
        "1e3",
        ".inf",
        "1_000",
    ),
    *(
        "12:30:45",
        "2024-01-31",
        "2024-01-31T10:00:00Z",
        "# x",
        "a # b",
        "a: b",
        "a:",
        ": a",
        "- a",
        "-",
        "---",
    ),
    *(
        "...",
        "? a",
        "&a",
        "*a",
        "!t",
        "%x",
        "@x",
        "`x`",
        "{a}",
        "[a]",
        "a, b",
        "a]",
        "'q'",
        '"q"',
        "it's",
        "|",
        ">",
    ),
    *(
        "<<",
        "=",
        " lead",
        "trail ",
        "two  spaces",
        "one\ntwo",
        "\n",
        "tab\there",
        "back\\slash",
        "\u2028",
        "\x85",
    ),
    *("\ufeff", "\x00", "\x7f", "příliš", "🐍", "a\u00a0b", "okn:claim/x", "http://x/y?z=1#f", "x" * 300),
]
texts = st.one_of(st.sampled_from(AWKWARD), st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
keys = st.one_of(
    st.sampled_from([t for t in AWKWARD if t]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts, texts
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=6,
)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def paths(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [at] if at else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += paths(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += paths(item, (*at, index))
    return found


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def as_pointer(path: tuple[str | int, ...]) -> str:
    return pointer([str(step) for step in path])


def frontmatter_of(data: bytes) -> str:
    return split_page(data).yaml.decode()


def read(text: str) -> Any:
    result = read_yaml(text)
    assert not result.failed, result.problems
    return {} if result.value is None else result.value


def common_prefix(a: str, b: str) -> int:
    length = min(len(a), len(b))
    return next((index for index in range(length) if a[index] != b[index]), length)


def kept_around(old: str, new: str, low: int, high: int) -> bool:
    """Whether everything before ``low`` and from ``high`` on of ``old`` frames ``new``."""
    tail = old[high:]
    return new.startswith(old[:low]) and new.endswith(tail) and len(new) >= low + len(tail)


def next_line(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found + 1


def line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


# Properties -----------------------------------------------------------------------------------------------


@relaxed
@given(values)
def test_a_written_value_is_read_back_the_same_by_yaml_1_2_and_1_1_readers(value: Any) -> None:
    forms = ["k: " + inline(value), "k: [" + inline(value, in_flow=True) + "]"]
    expected: list[Any] = [value, [value]]
    if isinstance(value, (dict, list)) and value:
        for layout in (Layout(), Layout(4, 0, 4), Layout(1, 1, 2)):
            forms.append("k:\n" + "\n".join(block_lines(value, 3, layout)) + "\n")
            expected.append(value)
    for form, wanted in zip(forms, expected, strict=True):
        assert same(read(form)["k"], wanted), form
        assert same(yaml.safe_load(form)["k"], wanted), form


@relaxed
@given(st.randoms(use_true_random=False), values)
def test_replacing_a_value_keeps_every_byte_around_it(rnd: random.Random, new_value: Any) -> None:
    page = write_page(rnd)
    whole = surroundings(page)
    data = page.text
    old = read(data)
    path = rnd.choice(sorted(page.places, key=str))
    assume(not same(at(old, path), new_value))
    patch = [{"op": "replace", "path": as_pointer(path), "value": new_value}]

    note(repr(patch))
    result = edit_frontmatter(whole.bytes_of(data), patch)
    note(result.decode())

    new = frontmatter_of(result)
    assert result == whole.bytes_of(new)
    assert same(read(new), jsonpatch.apply_patch(copy.deepcopy(old), patch))
    place = page.places[path]
    grows = isinstance(new_value, (dict, list)) and new_value and not place.flow
    low, high = place.start, place.end
    if place.start == place.end or grows or place.block_value:
        low = place.indicator
    if place.block_value or place.block_scalar:
        high = next_line(data, place.end) - len(page.eol)
    if grows:
        assert new.startswith(data[:low])
        assert new.endswith(data[next_line(data, high) :])
    elif place.block_value:
        assert kept_around(data, new, low, next_line(data, high))
    else:
        assert kept_around(data, new, low, high)


@relaxed
@given(st.randoms(use_true_random=False))
def test_removing_a_value_keeps_every_line_around_it(rnd: random.Random) -> None:
    page = write_page(rnd)
    whole = surroundings(page)
    data = page.text
    old = read(data)
    path = rnd.choice(sorted(page.places, key=str))
    patch = [{"op": "remove", "path": as_pointer(path)}]

    note(repr(patch))
    result = edit_frontmatter(whole.bytes_of(data), patch)
    note(result.decode())

    new = frontmatter_of(result)
    assert result == whole.bytes_of(new)
    assert same(read(new), jsonpatch.apply_patch(copy.deepcopy(old), patch))
    place = page.places[path]
    if place.flow:
        parent = page.places[path[:-1]]
        assert kept_around(data, new, parent.start + 1, parent.end - 1)
    elif len(at(old, path[:-1])) > 1:
        low = line_start(data, place.entry)
        compact = bool(data[low : place.entry].strip())
        if compact:
            low = place.entry - page.dash
        high = next_line(data, max(place.end, place.indicator))
        following = data[high:].lstrip(" ")
        while (
            low in page.keeping
            and high < next_line(data, high)
            and not data[high : next_line(data, high)].strip()
        ):
            high = next_line(data, high)  # the scalar above would take these blank lines up
        assert new.startswith(data[:low])
        assert new.endswith(following if compact else data[high:])


@relaxed
@given(st.randoms(use_true_random=False), keys, values)
def test_adding_a_value_only_inserts(rnd: random.Random, key: str, new_value: Any) -> None:
    page = write_page(rnd)
    whole = surroundings(page)
    data = page.text
    old = read(data)
    holders = [path for path in [(), *paths(old)] if isinstance(at(old, path), (dict, list))]
    path = rnd.choice(sorted(holders, key=str))
    holder = at(old, path)
    step: str | int
    if isinstance(holder, dict):
        assume(key not in holder)
        step = key
    else:
        step = rnd.choice(["-", rnd.randint(0, len(holder))])
    patch = [{"op": "add", "path": as_pointer((*path, step)), "value": new_value}]

    note(repr(patch))
    result = edit_frontmatter(whole.bytes_of(data), patch)
    note(result.decode())

    new = frontmatter_of(result)
    assert result == whole.bytes_of(new)
    assert same(read(new), jsonpatch.apply_patch(copy.deepcopy(old), patch))
    if holder:
        assert is_subsequence_by_insertion(data, new)
    else:
        place = page.places[path]
        line = next_line(data, place.end)
        assert new.startswith(data[: place.indicator if not place.flow else place.start])
        assert new.endswith(data[line:])


def is_subsequence_by_insertion(old: str, new: str) -> bool:
    """Whether ``new`` is ``old`` with at most two insertions, the first of them a single comma."""
    prefix = common_prefix(old, new)
    if new[prefix:].endswith(old[prefix:]):
        return True
    if new[prefix : prefix + 1] == ",":
        rest_old, rest_new = old[prefix:], new[prefix + 1 :]
        more = common_prefix(rest_old, rest_new)
        return rest_new[more:].endswith(rest_old[more:])
    # An insertion that begins like what follows it: move the point back.
    return any(new[back:].endswith(old[back:]) for back in range(prefix, max(prefix - 400, -1), -1))


@relaxed
@given(st.randoms(use_true_random=False), st.lists(st.tuples(keys, values), min_size=1, max_size=5))
def test_a_patch_of_many_operations_gives_the_same_value_as_jsonpatch(
    rnd: random.Random, additions: list[tuple[str, Any]]
) -> None:
    page = write_page(rnd, exotic=True)
    whole = surroundings(page)
    start = read(page.text)
    value = copy.deepcopy(start)
    patch: list[dict[str, Any]] = []
    for key, new_value in additions:
        target = rnd.choice(sorted([(), *paths(value)], key=str))
        operation: dict[str, Any] = {"op": "replace", "path": as_pointer(target), "value": new_value}
        holder = at(value, target)
        if isinstance(holder, list):
            operation = {"op": "add", "path": as_pointer((*target, "-")), "value": new_value}
        elif isinstance(holder, dict):
            operation = {"op": "add", "path": as_pointer((*target, key)), "value": new_value}
        elif rnd.random() < 0.4:
            operation = {"op": "remove", "path": as_pointer(target)}
        value = jsonpatch.apply_patch(value, [operation])
        patch.append(operation)

    result = edit_frontmatter(whole.bytes_of(page.text), patch)

    new = frontmatter_of(result)
    assert result == whole.bytes_of(new)
    assert same(read(new), value)
    if page.eol == "\r\n":
        assert new.count("\n") == new.count("\r\n")
    else:
        assert "\r" not in new


@relaxed
@given(st.randoms(use_true_random=False))
def test_top_level_comments_outlive_any_single_removal_elsewhere(rnd: random.Random) -> None:
    page = write_page(rnd)
    path = rnd.choice(sorted(page.places, key=str))
    place = page.places[path]
    parent = page.places.get(path[:-1])

    result = edit_frontmatter(
        surroundings(page).bytes_of(page.text), [{"op": "remove", "path": as_pointer(path)}]
    )

    new = frontmatter_of(result)
    low, high = place.entry, next_line(page.text, max(place.end, place.indicator))
    if parent is not None:
        low, high = min(low, parent.indicator), next_line(page.text, max(high - 1, parent.end))
    for comment in page.comments:
        position = page.text.index(comment)
        if not low <= position < high:
            assert comment in new


@relaxed
@given(st.randoms(use_true_random=False))
def test_replacing_by_an_equal_value_changes_nothing(rnd: random.Random) -> None:
    page = write_page(rnd, exotic=True)
    whole = surroundings(page)
    old = read(page.text)
    patch = [{"op": "replace", "path": as_pointer(path), "value": at(old, path)} for path in paths(old)]
    assert edit_frontmatter(whole.bytes_of(page.text), patch) == whole.bytes_of(page.text)


@relaxed
@given(st.binary(max_size=60), st.lists(st.dictionaries(keys, values, max_size=3), max_size=2))
def test_arbitrary_bytes_and_patches_are_refused_with_a_message_or_edited(
    raw: bytes, patch: list[Any]
) -> None:
    try:
        edit_frontmatter(b"---\n" + raw + b"\n---\n", patch)
    except OpenKnowledgeError as refused:
        event(f"refused, {len(refused.message) > 0}")


FRAGMENTS = [
    "a",
    "b: ",
    "- ",
    "? ",
    ": ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "&x ",
    "*x",
    "|\n",
    "'",
    '"',
    "\n",
    "  ",
    "# c",
    "!!str ",
]


@relaxed
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=25), st.randoms(use_true_random=False), values)
def test_any_yaml_is_edited_exactly_or_refused(parts: list[str], rnd: random.Random, value: Any) -> None:
    text = "k: " + "".join(parts) + "\nz: end\n"
    result = read_yaml(text)
    assume(not result.failed and isinstance(result.value, dict))
    path = rnd.choice(sorted(paths(result.value), key=str))
    operation = rnd.choice(
        [{"op": "remove"}, {"op": "replace", "value": value}, {"op": "add", "value": value}]
    )
    patch = [{**operation, "path": as_pointer(path)}]
    try:
        edited = edit_frontmatter(f"---\n{text}---\n".encode(), patch)
    except OpenKnowledgeError as refused:
        event("refused: " + re.sub(r".*?\): ", "", refused.message)[:50])
        return
    event("edited")
    new = read(frontmatter_of(edited))
    expected = jsonpatch.apply_patch(_unshare(result.value), patch)
    assert same(new, expected)


def _unshare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unshare(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unshare(item) for item in value]
    return value


def test_the_generator_reaches_the_styles_it_is_for() -> None:
    texts = [_write_page(random.Random(seed), exotic=True).text for seed in range(200)]
    for mark in ("# c", "# own", "|", ">", "&anchor", "[\n", "{\r\n", "!!str", "''", "\n- ", "\n    -   "):
        assert any(mark in text for text in texts), mark
