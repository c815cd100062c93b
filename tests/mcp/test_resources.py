"""Files as resources: the list, its pages, and what may be read."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conftest import IDENTITY, Wire, page

PREFIX = "openknowledge://bundle/"
MIB = 1024 * 1024


def not_found(uri: str) -> dict[str, Any]:
    return {"code": -32002, "message": "Resource not found", "data": {"uri": uri}}


def cursor(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a bundle in it and things around it that nobody may read."""
    outer = tmp_path_factory.mktemp("outer")
    (outer / "secret.md").write_text("secret")
    root = outer / "bundle"
    (root / "guides").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git/config").write_text("secret")
    (root / "guides/.git").mkdir()
    (root / "guides/.git/HEAD").write_text("secret")
    (root / "index.md").write_text("# Index\n")
    (root / "guides/walrus.md").write_text(page("Walrus", "It sleeps.", description="About walruses"))
    (root / "guides/with space & more.md").write_text(page("Odd", "Text."))
    (root / "guides/100%.md").write_text(page("Percent", "Text."))
    (root / "ünï.md").write_text(page("Ünï", "Text."))
    (root / "data.json").write_text('{"a": 1}')
    (root / "drawing.svg").write_bytes(b"<svg/>")
    (root / "binary.json").write_bytes(b"\xff\xfe")
    (root / "picture.png").write_bytes(b"\x89PNG\r\n")
    (root / "latin1.md").write_bytes("---\ntype: Guide\n---\ncaf\xe9".encode("latin-1"))
    (root / "notes.unheardof").write_text("plain")
    (root / "empty.txt").write_bytes(b"")
    (root / "limit.bin").write_bytes(b"x" * (4 * MIB))
    (root / "large.bin").write_bytes(b"x" * (4 * MIB + 1))
    (root / "archive.tar.gz").write_bytes(b"\x1f\x8b")
    os.utime(root / "picture.png", (0, 1_700_000_000))
    (root / "link.md").symlink_to(outer / "secret.md")
    (root / "linked").symlink_to(outer)
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe.md")
    return root


@pytest.fixture(scope="module")
def files(folder: Path) -> Iterator[Wire]:
    """A server of that bundle."""
    wire = Wire(folder)
    wire.initialize()
    yield wire
    wire.kill()


def listed(wire: Wire) -> dict[str, dict[str, Any]]:
    found = wire.ask("resources/list")["result"]
    assert "nextCursor" not in found
    return {entry["name"]: entry for entry in found["resources"]}


def read(wire: Wire, rel: str) -> Any:
    return wire.ask("resources/read", {"uri": PREFIX + rel})


def test_every_regular_file_is_listed_in_the_order_of_paths(files: Wire, folder: Path) -> None:
    regular = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and ".git" not in path.parts
        and "linked" not in path.parts
    }
    names = list(listed(files))
    assert names == sorted(regular)


def test_a_page_is_listed_with_what_it_says_of_itself(files: Wire, folder: Path) -> None:
    entry = listed(files)["guides/walrus.md"]
    assert entry["annotations"]["audience"] == ["user", "assistant"]
    assert len(entry["annotations"]["lastModified"]) == len("2026-01-01T00:00:00Z")
    del entry["annotations"]
    assert entry == {
        "uri": PREFIX + "guides/walrus.md",
        "name": "guides/walrus.md",
        "title": "Walrus",
        "description": "About walruses",
        "mimeType": "text/markdown",
        "size": (folder / "guides/walrus.md").stat().st_size,
    }


def test_another_file_is_listed_by_name_type_size_and_time(files: Wire) -> None:
    assert listed(files)["picture.png"] == {
        "uri": PREFIX + "picture.png",
        "name": "picture.png",
        "mimeType": "image/png",
        "size": 6,
        "annotations": {"audience": ["user", "assistant"], "lastModified": "2023-11-14T22:13:20Z"},
    }


def test_an_empty_file_is_listed_without_a_size(files: Wire) -> None:
    assert "size" not in listed(files)["empty.txt"]


def test_what_is_listed_can_be_read(files: Wire) -> None:
    for name, entry in listed(files).items():
        if name != "large.bin":
            contents = files.ask("resources/read", {"uri": entry["uri"]})["result"]["contents"]
            assert [content["uri"] for content in contents] == [entry["uri"]]
            assert contents[0]["mimeType"] == entry["mimeType"]


@pytest.mark.parametrize(
    ("rel", "media_type", "text"),
    [
        ("guides/with%20space%20&%20more.md", "text/markdown", True),
        ("guides/100%25.md", "text/markdown", True),
        ("%C3%BCn%C3%AF.md", "text/markdown", True),
        ("data.json", "application/json", True),
        ("binary.json", "application/json", False),
        ("latin1.md", "text/markdown", False),
        ("picture.png", "image/png", False),
        ("notes.unheardof", "application/octet-stream", False),
        ("empty.txt", "text/plain", True),
        ("drawing.svg", "image/svg+xml", True),
        ("archive.tar.gz", "application/gzip", False),
    ],
)
def test_text_is_given_as_text_and_the_rest_in_base64(
    files: Wire, rel: str, media_type: str, text: bool
) -> None:
    content = read(files, rel)["result"]["contents"][0]
    assert content["mimeType"] == media_type
    assert ("text" in content, "blob" in content) == (text, not text)


def test_bytes_come_back_as_they_are(files: Wire, folder: Path) -> None:
    assert base64.b64decode(read(files, "picture.png")["result"]["contents"][0]["blob"]) == b"\x89PNG\r\n"
    text = read(files, "guides/walrus.md")["result"]["contents"][0]["text"]
    assert text == (folder / "guides/walrus.md").read_text()


def test_a_file_of_four_mebibytes_is_read_whole(files: Wire) -> None:
    assert len(base64.b64decode(read(files, "limit.bin")["result"]["contents"][0]["blob"])) == 4 * MIB


def test_one_byte_more_is_too_large(files: Wire) -> None:
    assert read(files, "large.bin")["error"] == {
        "code": -32001,
        "message": "Resource exceeds size limit",
        "data": {"uri": PREFIX + "large.bin", "limit": 4_194_304},
    }


FORBIDDEN = [
    "",
    "nowhere.md",
    "guides",
    "guides/",
    "../secret.md",
    "guides/../../secret.md",
    "guides/../index.md",
    "./index.md",
    "guides//walrus.md",
    "/index.md",
    "%2e%2e/secret.md",
    "..%2Fsecret.md",
    "%2E%2E%2Fsecret.md",
    "guides%2Fwalrus.md",
    "..%5Csecret.md",
    "..\\secret.md",
    "index%2Emd",
    "%69ndex.md",
    "INDEX.md",
    "index.md?x=1",
    "index.md#top",
    "index.md%00",
    "index.md ",
    "index.md%20",
    "ünï.md",
    "%c3%bcn%c3%af.md",
    "%FF.md",
    "guides/100%.md",
    "link.md",
    "linked/secret.md",
    "linked/bundle/index.md",
    ".git/config",
    "guides/.git/HEAD",
    "pipe.md",
    "etc/passwd",
    "/etc/passwd",
    "%2Fetc%2Fpasswd",
]


@pytest.mark.parametrize("rel", FORBIDDEN)
def test_nothing_else_is_found(files: Wire, rel: str) -> None:
    assert read(files, rel)["error"] == not_found(PREFIX + rel)


@pytest.mark.parametrize(
    "uri",
    [
        "index.md",
        "file:///etc/passwd",
        "file://bundle/index.md",
        "http://bundle/index.md",
        "OPENKNOWLEDGE://bundle/index.md",
        "openknowledge://Bundle/index.md",
        "openknowledge://user@bundle/index.md",
        "openknowledge://bundle:80/index.md",
        "openknowledge:bundle/index.md",
        "openknowledge:///index.md",
        "openknowledge://other/index.md",
        " openknowledge://bundle/index.md",
        "openknowledge://bundle/../bundle/index.md",
    ],
)
def test_no_other_uri_is_found(files: Wire, uri: str) -> None:
    assert files.ask("resources/read", {"uri": uri})["error"] == not_found(uri)


@pytest.mark.parametrize(
    "params", [None, {}, {"uri": None}, {"uri": 5}, {"uri": ""}, {"uri": ["x"]}], ids=str
)
def test_reading_needs_a_uri(files: Wire, params: Any) -> None:
    error = files.ask("resources/read", params)["error"]
    assert (error["code"], error["message"]) == (-32602, "Invalid params")


def test_a_very_long_uri_is_not_sent_back_whole(files: Wire) -> None:
    answer = files.ask("resources/read", {"uri": PREFIX + "x" * 500_000})
    assert answer["error"]["message"] == "Resource not found"
    assert len(str(answer)) < 10_000


def test_a_file_that_vanishes_between_list_and_read_is_not_found(
    start: Callable[..., Wire], small: Path
) -> None:
    wire = start(small)
    wire.initialize()
    uri = listed(wire)["guides/walrus.md"]["uri"]
    (small / "guides/walrus.md").unlink()
    assert wire.ask("resources/read", {"uri": uri})["error"] == not_found(uri)
    assert "guides/walrus.md" not in listed(wire)


def test_a_file_that_grows_past_the_limit_between_list_and_read_is_too_large(
    start: Callable[..., Wire], small: Path
) -> None:
    wire = start(small)
    wire.initialize()
    uri = listed(wire)["picture.png"]["uri"]
    (small / "picture.png").write_bytes(b"x" * (4 * MIB + 1))
    assert wire.ask("resources/read", {"uri": uri})["error"]["code"] == -32001


def test_a_file_that_becomes_a_link_is_not_followed(start: Callable[..., Wire], small: Path) -> None:
    wire = start(small)
    wire.initialize()
    uri = listed(wire)["picture.png"]["uri"]
    (small / "picture.png").unlink()
    (small / "picture.png").symlink_to("/etc/passwd")
    assert wire.ask("resources/read", {"uri": uri})["error"] == not_found(uri)


def test_a_folder_that_becomes_a_link_is_not_followed(start: Callable[..., Wire], small: Path) -> None:
    wire = start(small)
    wire.initialize()
    listed(wire)
    elsewhere = small.parent / "elsewhere"
    (small / "guides").rename(elsewhere)
    (small / "guides").symlink_to(elsewhere)
    uri = PREFIX + "guides/walrus.md"
    assert wire.ask("resources/read", {"uri": uri})["error"] == not_found(uri)


@pytest.mark.skipif(
    sys.platform == "win32" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all"
)
def test_a_file_that_may_not_be_read_is_not_found(start: Callable[..., Wire], small: Path) -> None:
    wire = start(small)
    wire.initialize()
    (small / "picture.png").chmod(0)
    uri = PREFIX + "picture.png"
    assert wire.ask("resources/read", {"uri": uri})["error"] == not_found(uri)


def test_a_bundle_that_vanishes_is_an_internal_error_and_comes_back(
    start: Callable[..., Wire], small: Path
) -> None:
    wire = start(small)
    wire.initialize()
    before = listed(wire)
    small.rename(small.parent / "away")
    assert wire.ask("resources/list")["error"] == {"code": -32603, "message": "Internal error"}
    result = wire.tool("openknowledge_search", {"query": "walrus"})["result"]
    assert result["isError"] is True
    (small.parent / "away").rename(small)
    assert listed(wire) == before


def test_a_bundle_may_itself_be_reached_by_a_link(start: Callable[..., Wire], small: Path) -> None:
    link = small.parent / "link"
    link.symlink_to(small)
    wire = start(link)
    wire.initialize()
    assert "guides/walrus.md" in listed(wire)
    assert read(wire, "guides/walrus.md")["result"]["contents"][0]["text"]
    (small / "new.md").write_text(page("New", "Text."))
    assert "new.md" in listed(wire)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A server of 250 files."""
    root = tmp_path_factory.mktemp("many")
    for number in range(250):
        (root / f"{number:03}.txt").write_text("x")
    wire = Wire(root)
    wire.initialize()
    yield wire
    wire.kill()


def test_pages_have_a_hundred_resources_and_lead_to_each_other(many: Wire) -> None:
    names: list[str] = []
    sizes = []
    params: dict[str, Any] = {}
    while True:
        found = many.ask("resources/list", params)["result"]
        names += [entry["name"] for entry in found["resources"]]
        sizes.append(len(found["resources"]))
        if "nextCursor" not in found:
            break
        params = {"cursor": found["nextCursor"]}
    assert sizes == [100, 100, 50]
    assert names == [f"{number:03}.txt" for number in range(250)]


def test_a_cursor_is_base64url_of_version_and_offset(many: Wire) -> None:
    assert many.ask("resources/list")["result"]["nextCursor"] == cursor("v1:100")
    assert len(many.ask("resources/list", {"cursor": cursor("v1:249")})["result"]["resources"]) == 1


def test_a_cursor_at_the_end_gives_an_empty_page(many: Wire) -> None:
    assert many.ask("resources/list", {"cursor": cursor("v1:250")})["result"] == {"resources": []}


@pytest.mark.parametrize("text", ["", None])
def test_an_empty_cursor_is_the_first_page(many: Wire, text: str | None) -> None:
    found = many.ask("resources/list", {"cursor": text})["result"]
    assert found["resources"][0]["name"] == "000.txt"


@pytest.mark.parametrize(
    "text",
    [
        cursor("v1:251"),
        cursor("v1:-1"),
        cursor("v1:"),
        cursor("v1:1.0"),
        cursor("v1:01"),
        cursor("v1:+1"),
        cursor("v1: 1"),
        cursor("v1:1 "),
        cursor("v1:1\n"),
        cursor("v1:١"),
        cursor("v2:1"),
        cursor("1"),
        cursor("v1:" + "9" * 30),
        cursor("v1:100") + "=",
        cursor("v1:100") + "==",
        "djE6MTAw\n",
        "!!!!",
        "djE6MTA",
        "ü",
        "x" * 100_000,
    ],
    ids=lambda text: repr(text)[:40],
)
def test_any_other_cursor_is_refused(many: Wire, text: str) -> None:
    if text == "djE6MTA":  # v1:10 is a good one: offsets need not be multiples of a hundred
        assert many.ask("resources/list", {"cursor": text})["result"]["resources"][0]["name"] == "010.txt"
        return
    assert many.ask("resources/list", {"cursor": text})["error"] == {
        "code": -32602,
        "message": "Invalid cursor",
    }


@pytest.mark.parametrize("method", ["resources/list", "tools/list", "resources/templates/list"])
@pytest.mark.parametrize(
    "params", [{"cursor": 5}, {"cursor": ["x"]}, {"limit": 5}, {"cursor": "", "x": 1}], ids=str
)
def test_a_list_takes_a_cursor_and_nothing_else(many: Wire, method: str, params: dict[str, Any]) -> None:
    error = many.ask(method, params)["error"]
    assert (error["code"], error["message"]) == (-32602, "Invalid params")
    assert error["data"]["reason"]


@pytest.mark.parametrize("method", ["tools/list", "resources/templates/list"])
def test_a_list_of_one_page_refuses_a_cursor(many: Wire, method: str) -> None:
    assert many.ask(method, {"cursor": cursor("v1:0")})["error"] == {
        "code": -32602,
        "message": "Invalid cursor",
    }
    assert "result" in many.ask(method, {"cursor": "", "_meta": {"progressToken": 1}})


def test_there_are_no_templates(many: Wire) -> None:
    assert many.ask("resources/templates/list")["result"] == {"resourceTemplates": []}


def test_the_evidence_of_the_sample_bundle_is_a_resource(server: Wire) -> None:
    found = server.ask("resources/list")["result"]["resources"]
    assert any(entry["name"].endswith(".json") for entry in found)
    assert IDENTITY.is_dir()
