"""Reading many pages: two processes give what one gives, and nothing is lost when one of them fails."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from openknowledge.engine.bundle import reading
from openknowledge.engine.bundle.bundle import Bundle, read_bundle
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.reading import read_outlines

if TYPE_CHECKING:
    from tests.conftest import MakeBundle

BODY = (
    "# Über\n\n[a](p1.md#x) <b id='i'></b>\n<!-- c -->\n\n"
    '## B\n```\nx\n```\n<a id="e"></a>\n#### C\ny[^s]\n'
)
PAGES: dict[str, str | bytes] = {
    "plain.md": "just text\n",
    "empty.md": "",
    "bom.md": "\ufeff---\r\ntype: T\r\n---\r\n\r\n# A\r\n",
    "unclosed.md": "---\ntype: T\n",
    "broken.md": "---\na: [\n---\n\n# A\n",
    "repeated.md": "--- \na: 1\na: 2\n--- \n" + BODY,
    "values.md": f"---\ntype: T\nn: [1, 1.5, .inf, null, true, {{a: b}}]\nbig: {10**30}\n---\n{BODY}",
    "latin.md": b"caf\xe9\n",
    "nul.md": "a\x00b <!-- okf-annotation: what -->\n",
    **{f"p{number}.md": f"---\ntype: T\ntitle: P{number}\n---\n\n{BODY}" for number in range(6)},
}


def _shown(bundle: Bundle) -> list[Any]:
    pages = [
        (
            d.path,
            d.id,
            d.kind,
            d.data,
            d.frontmatter.source,
            d.frontmatter.body,
            repr(d.frontmatter),
            repr(d.outline),
        )
        for d in bundle.documents
    ]
    return [pages, [repr(section) for section in bundle.sections], bundle.issues, bundle.undecoded]


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not reading._can_fork():
        pytest.skip("no second process here")
    monkeypatch.setattr(reading, "WORTH_A_PROCESS", 2)
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # nobody is left behind


@pytest.mark.usefixtures("two_processes")
def test_two_processes_read_what_one_reads(make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_bundle(PAGES)
    shared = _shown(read_bundle(root))
    monkeypatch.setattr(reading, "WORTH_A_PROCESS", 10**9)
    assert shared == _shown(read_bundle(root))


@pytest.mark.usefixtures("two_processes")
def test_the_second_process_really_works(make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_bundle({f"{number}.md": BODY for number in range(10)})
    here: list[str] = []
    parse = reading.parse_document
    monkeypatch.setattr(
        reading, "parse_document", lambda path, *rest: here.append(path) or parse(path, *rest)
    )
    read_bundle(root)
    assert here == [f"{number}.md" for number in range(6)]


@pytest.mark.usefixtures("two_processes")
@pytest.mark.parametrize("fault", [MemoryError, RecursionError, KeyboardInterrupt])
def test_what_a_failing_process_does_not_deliver_is_read_here(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]
) -> None:
    root = make_bundle(PAGES)
    expected = _shown(read_bundle(root))
    parent = os.getpid()
    pack = reading.pack_frontmatter

    def fail(document: Document) -> Any:
        if os.getpid() != parent:
            raise fault
        return pack(document)

    monkeypatch.setattr(reading, "pack_frontmatter", fail)
    assert _shown(read_bundle(root)) == expected


@pytest.mark.usefixtures("two_processes")
def test_what_a_killed_process_does_not_deliver_is_read_here(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_bundle(PAGES)
    expected = _shown(read_bundle(root))
    monkeypatch.setattr(reading, "pack_frontmatter", lambda _document: os.kill(os.getpid(), signal.SIGKILL))
    assert _shown(read_bundle(root)) == expected


@pytest.mark.usefixtures("two_processes")
def test_without_another_process_everything_is_read_here(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_bundle(PAGES)
    expected = _shown(read_bundle(root))

    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    assert _shown(read_bundle(root)) == expected


@pytest.mark.usefixtures("two_processes")
def test_a_program_that_ignores_its_children_still_gets_its_pages(make_bundle: MakeBundle) -> None:
    root = make_bundle(PAGES)
    expected = _shown(read_bundle(root))
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert _shown(read_bundle(root)) == expected
    finally:
        signal.signal(signal.SIGCHLD, before)


@pytest.mark.usefixtures("two_processes")
def test_an_error_here_leaves_no_process_behind(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = os.getpid()
    parse = reading.parse_document

    def fail(path: str, *rest: Any) -> Document:
        if os.getpid() == parent:
            raise MemoryError
        return parse(path, *rest)

    monkeypatch.setattr(reading, "parse_document", fail)
    with pytest.raises(MemoryError):
        read_bundle(make_bundle(PAGES))


@pytest.mark.usefixtures("two_processes")
def test_a_page_that_changes_between_the_two_readings_is_parsed_again(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_bundle({f"{number}.md": "---\ntype: Old\n---\n" for number in range(10)})
    parent = os.getpid()
    read = reading.read_file

    def change(path: str) -> Any:
        if os.getpid() == parent:
            with open(path, "w") as file:
                file.write("---\ntype: New\n---\n")
        return read(path)

    monkeypatch.setattr(reading, "read_file", change)
    assert {document.type for document in read_bundle(root).documents} == {"New"}


def test_a_program_with_threads_is_not_forked() -> None:
    wait = threading.Event()
    thread = threading.Thread(target=wait.wait)
    thread.start()
    try:
        assert not reading._can_fork()
    finally:
        wait.set()
        thread.join()


def test_a_page_that_vanishes_after_the_walk_is_an_issue(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_bundle({"a.md": "x", "b.md": "y"})
    read = reading.read_file

    def vanish(path: str) -> Any:
        if path.endswith("a.md"):
            os.unlink(path)
        return read(path)

    monkeypatch.setattr(reading, "read_file", vanish)
    bundle = read_bundle(root)
    assert [document.path for document in bundle.documents] == ["b.md"]
    assert [(i.path, i.rule, i.message) for i in bundle.issues] == [
        ("a.md", "bundle-read", "cannot read file: No such file or directory")
    ]


def test_a_page_replaced_by_a_symbolic_link_after_the_walk_is_not_followed(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_bundle({"a.md": "x"})
    read = reading.read_file

    def replace(path: str) -> Any:
        os.unlink(path)
        os.symlink("/etc/hostname", path)
        return read(path)

    monkeypatch.setattr(reading, "read_file", replace)
    bundle = read_bundle(root)
    assert (bundle.documents, [issue.rule for issue in bundle.issues]) == ((), ["bundle-read"])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_an_unreadable_page_is_an_issue_and_the_others_answer(make_bundle: MakeBundle) -> None:
    root = make_bundle({"a.md": "x", "b.md": "y"})
    (root / "a.md").chmod(0)
    bundle = read_bundle(root)
    assert [document.path for document in bundle.documents] == ["b.md"]
    assert [issue.message for issue in bundle.issues] == ["cannot read file: Permission denied"]


def test_invalid_utf8_is_reported_at_its_first_wrong_byte(make_bundle: MakeBundle) -> None:
    bundle = read_bundle(make_bundle({"a.md": "# é\nü".encode() + b"\xe9x\n\xff"}))
    issue = bundle.issues[0]
    assert (issue.rule, issue.line, issue.column) == ("utf-8", 2, 2)
    assert issue.message == "not valid UTF-8: byte 0xe9 at offset 7"


@pytest.mark.parametrize(
    "raw", [b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80", b"\xff\xfea\x00", b"\x80"]
)
def test_surrogates_overlong_and_other_encodings_are_not_utf8(make_bundle: MakeBundle, raw: bytes) -> None:
    bundle = read_bundle(make_bundle({"a.md": raw, "b.md": "fine"}))
    assert bundle.undecoded == ("a.md",)
    assert [document.path for document in bundle.documents] == ["b.md"]


def test_single_pages_are_parsed_when_they_are_asked_for(make_bundle: MakeBundle) -> None:
    bundle = read_bundle(make_bundle({"a.md": BODY, "b.md": BODY}))
    assert bundle.documents[0].outline.headings
    assert [document.is_outlined for document in bundle.documents] == [True, False]


@pytest.mark.usefixtures("two_processes")
def test_many_questions_parse_all_pages_at_once(make_bundle: MakeBundle) -> None:
    bundle = read_bundle(make_bundle({f"{number:02}.md": BODY for number in range(40)}))
    for document in bundle.documents[:33]:
        assert document.outline.headings
    assert all(document.is_outlined for document in bundle.documents)


def test_a_page_is_parsed_once_whatever_is_asked(make_bundle: MakeBundle) -> None:
    bundle = read_bundle(make_bundle({"a.md": BODY}))
    before = bundle.documents[0].outline
    read_outlines(bundle.documents)
    assert list(bundle.sections)
    assert bundle.documents[0].outline is before
