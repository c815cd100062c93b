"""Bundles that are meant to hurt: each page is read or refused, the others answer, all stays bounded."""

from __future__ import annotations

import subprocess
import sys
import time
import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from openknowledge.engine import limits
from openknowledge.engine.bundle.bundle import Bundle, read_bundle
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.validation import validate_okf

if TYPE_CHECKING:
    from tests.conftest import MakeBundle

GOOD = "---\ntype: Guide\n---\n\n# Good\n\nText.\n"
FRONT = "---\ntype: Guide\n---\n\n"
MIB = 1 << 20
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)

REFUSED: dict[str, tuple[str | bytes, str, int]] = {
    "an alias bomb": (f"---\ntype: Guide\n{BOMB}---\n", "frontmatter", 7),
    "an alias that holds itself": ("---\ntype: Guide\na: &a [*a]\n---\n", "frontmatter", 3),
    "frontmatter 101 deep": (f"---\ntype: {'[' * 100 + ']' * 100}\n---\n", "frontmatter", 2),
    "frontmatter 10,000 deep": (f"---\ntype: {'[' * 10_000}\n---\n", "frontmatter", 2),
    "frontmatter that never closes, 20 MB": ("---\ntype: Guide\n" + "a: b\n" * (4 * MIB), "frontmatter", 1),
    "frontmatter of 50 MB": ("---\ntype: Guide\na: " + "x" * (50 * MIB) + "\n---\n", "frontmatter", 1),
    "a NUL in the frontmatter": ("---\ntype: Gu\x00ide\n---\n", "frontmatter", 2),
    "a tab that indents": ("---\ntype: Guide\na:\n\tb: c\n---\n", "frontmatter", 4),
    "UTF-16": (("\ufeff" + GOOD).encode("utf-16-le"), "utf-8", 1),
    "Latin-1": ("---\ntype: caf\xe9\n---\n".encode("latin-1"), "utf-8", 2),
    "50 MB with one wrong byte": (FRONT.encode() + b"x\n" * (25 * MIB) + b"\xff", "utf-8", 25 * MIB + 5),
    "only carriage returns": (GOOD.replace("\n", "\r"), "concept-frontmatter", 1),
}
READ: dict[str, str] = {
    "50 MB of one line": FRONT + "x" * (50 * MIB),
    "50 MB of lines": FRONT
    + ("Words and words and words and words and words. " * 2 + "\n") * (50 * MIB // 95),
    "a line of 1 MB": FRONT + "word " * (MIB // 5),
    "10,000 headings": FRONT + "".join(f"## Part {n}\n\nText.\n\n" for n in range(10_000)),
    "lists 10,000 deep": FRONT + "- " * 10_000 + "x\n",
    "quotes 10,000 deep": FRONT + ">" * 10_000 + "x\n",
    "10,000 links to one place": FRONT + "[x](good.md#good)\n" * 10_000,
    "10,000 links to different places": FRONT
    + "".join(f"# h{n}\n\n[x](bad.md#h{n})\n" for n in range(10_000)),
    "100,000 comments": FRONT + "<!-- c -->\n" * 100_000,
    "long values": "---\ntype: Guide\n" + "".join(f"k{n}: v\n" for n in range(50_000)) + "---\n",
    "carriage returns in the body": FRONT + "a\rb\r\nc\r" * 1_000,
    "control characters": FRONT + "".join(chr(n) for n in range(1, 32)) * 100 + "\n",
    "every plane": FRONT
    + "".join(chr(n) for n in range(0x20, 0x2_0000, 7) if not 0xD800 <= n < 0xE000)
    + "\n",
}


def _check(root_files: dict[str, str | bytes], make_bundle: MakeBundle) -> tuple[Bundle, list[Issue], float]:
    root = make_bundle(root_files)
    start = time.process_time()
    bundle = read_bundle(root)
    issues = validate_okf(bundle)
    assert list(bundle.sections)
    assert [s.id for s in bundle.by_path["good.md"].sections] == ["good#good"]
    return bundle, issues, time.process_time() - start


@pytest.mark.parametrize("name", REFUSED)
def test_a_page_that_cannot_be_read_is_one_issue_in_its_place(make_bundle: MakeBundle, name: str) -> None:
    content, rule, line = REFUSED[name]
    _, issues, seconds = _check({"bad.md": content, "good.md": GOOD}, make_bundle)
    assert [(i.path, i.rule, i.line) for i in issues if i.severity == "error"] == [("bad.md", rule, line)]
    assert seconds < 3


@pytest.mark.parametrize("name", READ)
def test_a_page_that_is_large_or_odd_is_read(make_bundle: MakeBundle, name: str) -> None:
    bundle, issues, seconds = _check({"bad.md": READ[name], "good.md": GOOD}, make_bundle)
    assert [issue for issue in issues if issue.severity == "error"] == []
    assert "bad.md" in bundle.by_path
    assert seconds < 5


@pytest.mark.parametrize("size", [limits.PAGE_BYTES, limits.PAGE_BYTES + 1])
def test_a_page_is_read_up_to_the_limit_and_refused_past_it(make_bundle: MakeBundle, size: int) -> None:
    root = make_bundle({"big.md": FRONT, "good.md": GOOD})
    with open(root / "big.md", "r+b") as file:
        file.truncate(size)
    bundle = read_bundle(root)
    expected = (
        [] if size == limits.PAGE_BYTES else [f"cannot read file: larger than {limits.PAGE_BYTES} bytes"]
    )
    assert [issue.message for issue in bundle.issues] == expected
    assert "good.md" in bundle.by_path


@pytest.mark.skipif(sys.platform != "linux", reason="measures the peak as Linux reports it")
@pytest.mark.parametrize("name", ["50 MB of lines", "an alias bomb", "100,000 comments"])
def test_memory_stays_bounded(make_bundle: MakeBundle, name: str) -> None:
    content = READ.get(name) or REFUSED[name][0]
    root = make_bundle({"bad.md": content, "good.md": GOOD})
    code = (
        "import re, sys; from openknowledge.engine.bundle.bundle import read_bundle;"
        "from openknowledge.engine.bundle.validation import validate_okf;"
        "b = read_bundle(sys.argv[1]); validate_okf(b); list(b.sections);"
        # not getrusage: a process starts with the peak of the one that forked it
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 700


NAMES = [
    "with space.md", "#hash.md", "100%.md", "a%20b.md", "'single'.md", '"double".md', "line\nbreak.md",
    "back\\slash.md",
    "question?.md", "(paren).md", "[bracket].md", "<angle>.md", "a&b;c.md", "tab\t.md", "a:b.md",
    "-dash.md", "~.md",
    unicodedata.normalize("NFC", "übung.md"), unicodedata.normalize("NFD", "épreuve.md"), "漢字.md", "🎉.md",
    "x" * 252 + ".md", "é" * 126 + ".md", "UPPER.MD", "long.markdown", "..md", "a..md", "d e/f g.md",
    "d#/%41.md",
]  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="file systems that take any character in a name")
@pytest.mark.parametrize("name", NAMES)
def test_a_page_of_any_name_is_read_listed_located_and_linked(make_bundle: MakeBundle, name: str) -> None:
    link = f"[x](/{quote(name)})\n"
    root = make_bundle({name: GOOD, "from.md": FRONT + link, "deep/from.md": FRONT + link})
    bundle = read_bundle(root)
    assert validate_okf(bundle) == []
    page = bundle.by_path[name]
    assert page.sections[0].path == name
    assert quote(name, safe="-_.~$&+=:@") in bundle.locator(page.sections[0])
    for source in ("from.md", "deep/from.md"):
        ((_, target),) = bundle.local_links(bundle.by_path[source])
        assert (target.path, target.exists) == (name, True)


@pytest.mark.skipif(sys.platform != "linux", reason="file systems that tell names apart by their bytes")
def test_names_that_differ_only_in_case_or_normal_form_are_told_apart(make_bundle: MakeBundle) -> None:
    nfc, nfd = (unicodedata.normalize(form, "é.md") for form in ("NFC", "NFD"))
    links = "".join(f"[x](<{name}>)\n" for name in ("a.md", "A.md", nfc, nfd))
    bundle = read_bundle(
        make_bundle({**dict.fromkeys(["a.md", "A.md", nfc, nfd], GOOD), "from.md": FRONT + links})
    )
    targets = [target.path for _, target in bundle.local_links(bundle.by_path["from.md"])]
    assert targets == ["a.md", "A.md", nfc, nfd]


def test_a_bundle_of_symbolic_links_alone_is_empty_and_each_is_named(make_bundle: MakeBundle) -> None:
    root = make_bundle({})
    for name, target in {
        "a.md": "b.md",
        "b.md": "a.md",
        "up": "..",
        "etc": "/etc",
        "gone": "x",
        "self": ".",
    }.items():
        (root / name).symlink_to(target)
    bundle = read_bundle(root)
    assert bundle.documents == ()
    assert sorted(issue.path for issue in bundle.issues) == ["a.md", "b.md", "etc", "gone", "self", "up"]


def test_links_through_a_symbolic_link_are_broken(make_bundle: MakeBundle) -> None:
    root = make_bundle({"a.md": FRONT + "[x](up/b.md) [y](link.md)\n", "d/b.md": GOOD})
    (root / "up").symlink_to("d")
    (root / "link.md").symlink_to("d/b.md")
    found = [issue.message for issue in validate_okf(read_bundle(root)) if issue.rule == "link-target"]
    assert found == ["link target 'up/b.md' does not exist", "link target 'link.md' does not exist"]


def test_two_thousand_pages_are_read_like_two(make_bundle: MakeBundle) -> None:
    files: dict[str, str | bytes] = {
        f"d{n % 7}/p{n}.md": FRONT + f"# Page {n}\n\n[next](../d{(n + 1) % 7}/p{n + 1}.md#page-{n + 1})\n"
        for n in range(2_000)
    }
    bundle = read_bundle(make_bundle(files))
    assert [issue.path for issue in validate_okf(bundle)] == [f"d{1999 % 7}/p1999.md"]
    assert len(list(bundle.sections)) == 2_000
