"""Digests and locators: known values, and that nothing can change without a trace."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openknowledge.engine.bundle import digests
from openknowledge.engine.bundle.bundle import bundle_from_files, read_bundle

if TYPE_CHECKING:
    from tests.conftest import MakeBundle

TWO_FILES: dict[str, str | bytes] = {
    "index.md": "# Home\n",
    "guides/auth.md": "---\ntype: Guide\n---\n\n# Auth\n\nUse tokens.\n",
}
TWO_FILES_DIGEST = "1a8ed5bee2d6cb072b6fecfa9391e4cf863a5239584e1e1a939ad8322bf0a4fc"
AUTH_DIGEST = "9115607ac1ac81983b2450c61a9265b6c924f16217451a49bc78f0cac0dbc930"

names = st.text(alphabet="abc é", min_size=1, max_size=4).map(lambda name: name + ".md")
pages = st.dictionaries(names, st.binary(max_size=20).filter(lambda data: b"\xff" not in data), max_size=4)


def test_a_bundle_of_two_pages_has_its_known_revision(make_bundle: MakeBundle) -> None:
    assert read_bundle(make_bundle(TWO_FILES)).index_sha256 == TWO_FILES_DIGEST


def test_its_section_has_its_known_digest_lines_and_tokens(make_bundle: MakeBundle) -> None:
    section = read_bundle(make_bundle(TWO_FILES)).by_path["guides/auth.md"].sections[0]
    found = (
        section.id,
        section.content_sha256,
        section.line_start,
        section.line_end,
        section.estimated_tokens,
    )
    assert found == ("guides/auth#auth", AUTH_DIGEST, 5, 8, 5)


def test_the_locator_names_revision_path_and_section(make_bundle: MakeBundle) -> None:
    bundle = read_bundle(make_bundle(TWO_FILES))
    section = bundle.by_path["guides/auth.md"].sections[0]
    assert bundle.locator(section) == f"okf+sha256://{TWO_FILES_DIGEST}/guides%2Fauth.md#{AUTH_DIGEST}"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("acme_retail", "7366b6fed98e5575eb6b3875bd5105beaeedf7844280c3d8907d379f1005b32f"),
        ("ga4", "a774a6a81812e75f3267ca9882c8f4c576ef6e1be0454ce85b1d44937906f5f3"),
    ],
)
def test_real_bundles_have_their_known_revisions(shared_corpora: Path, name: str, expected: str) -> None:
    assert read_bundle(shared_corpora / name).index_sha256 == expected


def test_the_revision_follows_its_definition_byte_by_byte() -> None:
    raw = b"f" + (4).to_bytes(8, "big") + b"a.md" + (3).to_bytes(8, "big") + b"x\r\n"
    raw += b"f" + (5).to_bytes(8, "big") + "é.md".encode() + (0).to_bytes(8, "big")
    assert digests.index_sha256([("a.md", b"x\r\n"), ("é.md", b"")]) == hashlib.sha256(raw).hexdigest()


def test_a_record_header_is_kind_path_and_size() -> None:
    assert digests.record_header(b"d", "a/b", 7) == b"d" + bytes(7) + b"\x03a/b" + bytes(7) + b"\x07"


def test_assets_and_undecodable_pages_are_no_part_of_the_revision() -> None:
    page = ("a.md", b"x")
    alone = bundle_from_files(Path("/b"), [page])
    more = bundle_from_files(Path("/b"), [page, ("b.md", b"\xff"), ("c.png", b"png")])
    assert more.index_sha256 == alone.index_sha256


@given(pages, st.data())
def test_any_flipped_byte_of_a_page_changes_the_revision(
    files: dict[str, bytes], data: st.DataObject
) -> None:
    full = {name: content for name, content in files.items() if content}
    if not full:
        return
    name = data.draw(st.sampled_from(sorted(full)))
    at = data.draw(st.integers(0, len(full[name]) - 1))
    bit = data.draw(st.integers(0, 7))
    flipped = bytearray(full[name])
    flipped[at] ^= 1 << bit
    changed = {**full, name: bytes(flipped)}
    assert digests.index_sha256(sorted(changed.items())) != digests.index_sha256(sorted(full.items()))


@given(pages, st.data())
def test_any_changed_path_changes_the_revision(files: dict[str, bytes], data: st.DataObject) -> None:
    if not files:
        return
    name = data.draw(st.sampled_from(sorted(files)))
    other = data.draw(names.filter(lambda text: text not in files))
    changed = {(other if key == name else key): value for key, value in files.items()}
    assert digests.index_sha256(sorted(changed.items())) != digests.index_sha256(sorted(files.items()))


@given(st.text(max_size=6), st.binary(max_size=6), st.text(max_size=6), st.binary(max_size=6))
def test_bytes_cannot_move_between_path_and_content(a: str, x: bytes, b: str, y: bytes) -> None:
    if (a, x) != (b, y):
        assert digests.index_sha256([(a, x)]) != digests.index_sha256([(b, y)])


@given(st.text())
def test_an_escaped_path_is_one_segment_and_unescapes_to_itself(path: str) -> None:
    escaped = digests.path_escape(path)
    assert "/" not in escaped
    assert unquote_to_bytes(escaped) == path.encode()


@pytest.mark.parametrize(
    ("path", "escaped"),
    [
        ("a/b c.md", "a%2Fb%20c.md"),
        ("AZaz09-_.~$&+=:@", "AZaz09-_.~$&+=:@"),
        ("#?%;,!'()*\"\n", "%23%3F%25%3B%2C%21%27%28%29%2A%22%0A"),
        ("é", "%C3%A9"),
    ],
)
def test_only_the_safe_characters_stay_in_an_escaped_path(path: str, escaped: str) -> None:
    assert digests.path_escape(path) == escaped


def test_section_digests_do_not_depend_on_line_endings() -> None:
    unix = bundle_from_files(Path("/b"), [("a.md", b"# A\n\nx\ny\n")])
    dos = bundle_from_files(Path("/b"), [("a.md", b"# A\r\n\r\nx\r\ny\r\n")])
    assert [s.content_sha256 for s in unix.sections] == [s.content_sha256 for s in dos.sections]
    assert unix.index_sha256 != dos.index_sha256


def test_a_section_digest_is_that_of_its_text() -> None:
    section = next(bundle_from_files(Path("/b"), [("a.md", b"# A\n\nx\n")]).sections)
    assert section.content_sha256 == digests.content_sha256("# A\n\nx") == digests.sha256_hex(b"# A\n\nx")


def test_json_in_a_digest_is_compact_sorted_and_safe_in_html() -> None:
    value = {"b": "<a & b>", "a": [1, None, "é"]}
    text = digests.compact_json(value)
    assert text == '{"a":[1,null,"é"],"b":"\\u003ca \\u0026 b\\u003e"}'
    assert json.loads(text) == value
