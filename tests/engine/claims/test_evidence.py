"""Evidence: what is read, what is refused, and that a selector finds what it says."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine import limits
from openknowledge.engine.bundle.bundle import read_bundle
from openknowledge.engine.claims import evidence as evidence_module
from openknowledge.engine.claims.claimset import ClaimSet, read_claims
from openknowledge.engine.claims.evidence import EvidenceStore, Refused, is_remote, local_path, read_inside
from openknowledge.engine.claims.selectors import html_ids, markdown_ids

from tests.engine.claims.conftest import NOW, claim, claims_on_disk, line_of, page, write

TEXT = "Idle for 30 minutes. Absolute: 12 hours.\n"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pinned(resource: str, digest: str, observe: str = "pinned") -> str:
    return f"- id: s\n  resource: {resource!r}\n  observe: {observe}\n  sha256: {digest}\n"


def cited(selector: str) -> str:
    return claim(evidence=f"\n    - id: e\n      source_ref: s\n      selector: {selector}")


def check(root: Path, selector: str, data: bytes = TEXT.encode(), *, name: str = "a.txt") -> list[str]:
    """Return the messages about ``selector`` over an artifact with ``data``."""
    text = page(cited(selector), sources=pinned(f"files/{name}", sha(data)))
    write(root, {"page.md": text, f"files/{name}": data})
    found = claims_on_disk(root)
    for issue in found.issues:
        assert (issue.path, issue.rule) == ("page.md", "claim-profile")
        assert issue.line == line_of(text, "selector:")
    return [issue.message for issue in found.issues]


COMBINING = "e\u0301 and \U0001f600 done"

GOOD = [
    "{ type: text_quote, exact: 30 minutes }",
    "{ type: text_quote, exact: '30 minutes', prefix: 'Idle for ', suffix: '. Abs' }",
    "{ type: text_position, start: 0, end: 4 }",
    "{ type: text_position, start: 0, end: 41 }",
    "{ type: data_position, start: 0, end: 41 }",
]


@pytest.mark.parametrize("selector", GOOD)
def test_a_selector_that_holds_is_accepted(tmp_path: Path, selector: str) -> None:
    assert check(tmp_path, selector) == []


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("{ type: text_quote, exact: 31 minutes }", "exact must occur exactly once; it does not occur"),
        ("{ type: text_quote, exact: o }", "exact must occur exactly once; it occurs more than once"),
        (
            "{ type: text_quote, exact: 30 minutes, prefix: for }",
            "prefix does not stand directly before exact",
        ),
        (
            "{ type: text_quote, exact: 30 minutes, suffix: ' .' }",
            "suffix does not stand directly after exact",
        ),
        (
            "{ type: text_position, start: 0, end: 42 }",
            "end 42 is beyond the artifact, which has 41 code points",
        ),
        ("{ type: data_position, start: 0, end: 42 }", "end 42 is beyond the artifact, which has 41 bytes"),
        ("{ type: page, page: 3 }", "of type page cannot be verified here"),
        ("{ type: media_fragment, value: 't=1' }", "of type media_fragment cannot be verified here"),
        (
            "{ type: fragment, value: a }",
            'is unverifiable because "files/a.txt" is neither Markdown nor HTML',
        ),
    ],
)
def test_a_selector_that_does_not_hold_is_refused(tmp_path: Path, selector: str, message: str) -> None:
    (found,) = check(tmp_path, selector)
    assert message in found


def test_occurrences_that_overlap_count(tmp_path: Path) -> None:
    (found,) = check(tmp_path, "{ type: text_quote, exact: aba }", b"xx ababa")
    assert "it occurs more than once" in found


def test_offsets_count_code_points_and_may_lie_inside_a_combining_sequence(tmp_path: Path) -> None:
    data = COMBINING.encode()
    assert check(tmp_path, f"{{ type: text_position, start: 1, end: {len(COMBINING)} }}", data) == []
    (found,) = check(tmp_path, f"{{ type: text_position, start: 1, end: {len(COMBINING) + 1} }}", data)
    assert f"which has {len(COMBINING)} code points" in found


def test_data_positions_count_bytes(tmp_path: Path) -> None:
    data = COMBINING.encode()
    assert check(tmp_path, f"{{ type: data_position, start: 1, end: {len(data)} }}", data) == []


@pytest.mark.parametrize(
    "kind", ["text_quote, exact: a", "text_position, start: 0, end: 1", "fragment, value: a"]
)
def test_an_artifact_that_is_not_utf8_cannot_be_read_as_text(tmp_path: Path, kind: str) -> None:
    (found,) = check(tmp_path, f"{{ type: {kind} }}", b"a\xff", name="a.md")
    assert 'is unverifiable because "files/a.md" is not UTF-8 text' in found


def test_bytes_that_are_no_text_still_have_positions(tmp_path: Path) -> None:
    assert check(tmp_path, "{ type: data_position, start: 0, end: 2 }", b"a\xff") == []


MARKDOWN = '# Top\n\n<a id="here"></a>\n## Section two\n\n## Übung 1\n\n`id="code"`\n'
HTML = (
    '<!-- <p id="no"> --><P ID=one>x</P><p class="id" id=\'two\'>y<p id="a&amp;b">'
    '<script>"<p id=three>"</script>'
)


@pytest.mark.parametrize(
    ("name", "data", "value", "count"),
    [
        ("a.md", MARKDOWN, "section-two", 1),
        ("a.markdown", MARKDOWN, "'#section-two'", 1),
        ("a.MD", MARKDOWN, "here", 1),
        ("a.md", MARKDOWN, "'%C3%BCbung-1'", 0),
        ("a.md", MARKDOWN, "ubung-1", 1),
        ("a.md", MARKDOWN, "code", 0),
        ("a.md", MARKDOWN + '\n<a id="here"></a>\n\nx\n', "here", 2),
        ("a.html", HTML, "one", 1),
        ("a.htm", HTML, "two", 1),
        ("a.html", HTML, "'a%26b'", 1),
        ("a.html", HTML, "no", 0),
        ("a.html", HTML, "three", 0),
        ("a.html", HTML + "<i id=one>", "one", 2),
    ],
)
def test_a_fragment_must_match_exactly_once(
    tmp_path: Path, name: str, data: str, value: str, count: int
) -> None:
    found = check(tmp_path, f"{{ type: fragment, value: {value} }}", data.encode(), name=name)
    if count == 1:
        assert found == []
    else:
        assert f"must match exactly once; it matches {count} times" in found[0]


# What a selector may look at


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ("- id: s\n  resource: files/a.txt\n", "is not observe: pinned with a sha256"),
        (pinned("files/a.txt", "a" * 64, "manual"), "is not observe: pinned with a sha256"),
        ("- id: s\n  resource: files/a.txt\n  observe: pinned\n", "is not observe: pinned with a sha256"),
        (pinned("https://example.com/a.txt", "a" * 64), "is not materialized as a local bundle artifact"),
        (pinned("//example.com/a.txt", "a" * 64), "is not materialized as a local bundle artifact"),
        (pinned("file:///etc/hostname", "a" * 64), "is not materialized as a local bundle artifact"),
        (pinned("/etc/hostname", "a" * 64), "is not materialized as a local bundle artifact"),
        (pinned("../outside.txt", "a" * 64), "is not materialized as a local bundle artifact"),
        (
            pinned("files/%2e%2e/%2e%2e/outside.txt", "a" * 64),
            "is not materialized as a local bundle artifact",
        ),
        (pinned("files/nothing.txt", "a" * 64), '"files/nothing.txt" does not exist'),
        (pinned("files", "a" * 64), '"files" is a directory, not a regular file'),
        (pinned("files/a.txt", "a" * 64), "not the pinned " + "a" * 64 + ": possible tampering"),
        (pinned("files/link.txt", "a" * 64), '"files/link.txt" is reached through a symbolic link'),
        (pinned("linked/a.txt", "a" * 64), '"linked/a.txt" is reached through a symbolic link'),
        (pinned("files/pipe", "a" * 64), '"files/pipe" is not a regular file'),
        (pinned("files/a%00.txt", "a" * 64), "is not materialized as a local bundle artifact"),
    ],
)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and symbolic links")
def test_evidence_is_a_pinned_regular_file_inside_the_bundle(
    tmp_path: Path, sources: str, message: str
) -> None:
    (tmp_path / "outside.txt").write_text(TEXT)
    root = tmp_path / "bundle"
    write(root, {"page.md": page(cited(GOOD[0]), sources=sources), "files/a.txt": TEXT})
    (root / "files/link.txt").symlink_to(tmp_path / "outside.txt")
    (root / "linked").symlink_to(root / "files")
    os.mkfifo(root / "files/pipe")
    (issue,) = claims_on_disk(root).issues
    assert message in issue.message
    assert claims_on_disk(root).claims == ()


def test_a_resource_is_decoded_and_its_query_and_fragment_do_not_count(tmp_path: Path) -> None:
    sources = pinned("files/a%20b.txt?raw=1#top", sha(TEXT.encode()))
    write(tmp_path, {"deep/page.md": page(cited(GOOD[0]), sources=sources), "deep/files/a b.txt": TEXT})
    assert claims_on_disk(tmp_path).issues == ()


@pytest.mark.parametrize(("extra", "fits"), [(0, True), (1, False)])
def test_an_artifact_may_have_exactly_eight_mebibytes(tmp_path: Path, extra: int, fits: bool) -> None:
    data = b"30 minutes".ljust(limits.EVIDENCE_BYTES + extra, b".")
    found = check(tmp_path, GOOD[0], data)
    assert (found == []) is fits
    if not fits:
        assert "is larger than 8388608 bytes" in found[0]


def test_an_unreadable_artifact_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def refuse(path: str, flags: int, *rest: int, **where: int) -> int:
        if path == "a.txt":
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *rest, **where)

    monkeypatch.setattr(evidence_module.os, "open", refuse)
    (found,) = check(tmp_path, GOOD[0])
    assert 'artifact "files/a.txt" cannot be read: Permission denied' in found


def test_an_artifact_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = os.read
    target = tmp_path / "files/a.txt"

    def meanwhile(descriptor: int, size: int) -> bytes:
        data = read(descriptor, size)
        if os.fstat(descriptor).st_ino == target.stat().st_ino and data:
            target.write_text("Something else entirely")
        return data

    monkeypatch.setattr(evidence_module.os, "read", meanwhile)
    (found,) = check(tmp_path, GOOD[0])
    assert 'artifact "files/a.txt" changed while it was read' in found


def test_each_artifact_is_read_once_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    read = evidence_module.read_inside

    def counted(root: Path, path: str, largest: int) -> bytes:
        reads.append(path)
        return read(root, path, largest)

    monkeypatch.setattr(evidence_module, "read_inside", counted)
    items = "".join(
        claim(f"ex:c/{n}", evidence=f"\n    - {{ id: e, source_ref: s{n % 2}, selector: {GOOD[n % 5]} }}")
        for n in range(40)
    )
    sources = "".join(
        pinned(f"files/{n}.txt", sha(TEXT.encode())).replace("id: s", f"id: s{n}") for n in range(2)
    )
    write(tmp_path, {"page.md": page(items, sources=sources), "files/0.txt": TEXT, "files/1.txt": TEXT})
    assert claims_on_disk(tmp_path).issues == ()
    assert sorted(reads) == ["files/0.txt", "files/1.txt"]


def test_without_a_store_no_artifact_is_opened(tmp_path: Path) -> None:
    write(tmp_path, {"page.md": page(cited("{ type: page, page: 3 }"), sources=pinned("nothing", "a" * 64))})
    assert read_claims(read_bundle(tmp_path), now=NOW).issues == ()


def test_artifacts_may_come_from_a_root_of_their_own(tmp_path: Path) -> None:
    name = ".openknowledge/evidence/sha256/x/artifact.txt"
    root, store = tmp_path / "bundle", tmp_path / "store"
    write(root, {"page.md": page(cited(GOOD[0]), sources=pinned(name, sha(TEXT.encode())))})
    write(store, {name: TEXT})
    bundle = read_bundle(root)
    assert len(read_claims(bundle, now=NOW, evidence=EvidenceStore(root)).issues) == 1
    assert read_claims(bundle, now=NOW, evidence=EvidenceStore(root, evidence_root=store)).issues == ()


@pytest.mark.parametrize(("budget", "passes"), [(2 * len(TEXT), True), (2 * len(TEXT) - 1, False)])
def test_all_quotations_together_may_search_so_much_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: int, passes: bool
) -> None:
    monkeypatch.setattr(limits, "SELECTOR_WORK_BYTES", budget)
    items = "".join(
        claim(f"ex:c/{n}", evidence=f"\n    - {{ id: e, source_ref: s, selector: {GOOD[0]} }}")
        for n in range(2)
    )
    write(tmp_path, {"page.md": page(items, sources=pinned("a.txt", sha(TEXT.encode()))), "a.txt": TEXT})
    found = claims_on_disk(tmp_path)
    assert found.valid is passes
    assert len(found.claims) == (2 if passes else 1)


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs pipes")
    os.mkfifo(tmp_path / "pipe")
    outcome: list[str] = []

    def attempt() -> None:
        try:
            read_inside(tmp_path, "pipe", 10)
        except Refused as refused:
            outcome.append(refused.state)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(5)
    assert outcome == ["not-regular"]


def test_without_descriptors_of_folders_links_are_refused_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence_module, "_BY_DESCRIPTOR", False)
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.txt").write_bytes(b"abc")
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    assert read_inside(tmp_path, "real/a.txt", 3) == b"abc"
    for path, state in (("linked/a.txt", "unresolvable"), ("real", "not-regular"), ("none/a", "missing")):
        with pytest.raises(Refused) as caught:
            read_inside(tmp_path, path, 3)
        assert caught.value.state == state


# Paths


@pytest.mark.parametrize(
    ("resource", "document", "path"),
    [
        ("a.txt", "page.md", "a.txt"),
        ("a.txt", "deep/page.md", "deep/a.txt"),
        ("../a.txt", "deep/page.md", "a.txt"),
        ("../../a.txt", "deep/page.md", None),
        ("./x/../a.txt", "page.md", "a.txt"),
        ("a%2Fb.txt", "page.md", "a/b.txt"),
        (".", "page.md", None),
        ("", "page.md", None),
        ("#top", "page.md", None),
        ("/a.txt", "page.md", None),
        ("mailto:a", "page.md", None),
        ("a%ff.txt", "page.md", None),
    ],
)
def test_a_resource_names_a_path_inside_the_bundle_or_none(
    resource: str, document: str, path: str | None
) -> None:
    assert local_path(resource, document) == path


def test_an_absolute_live_resource_may_lie_inside_the_bundle() -> None:
    root = Path("/data/bundle")
    assert local_path("/data/bundle/x/a.txt", "deep/page.md", root) == "x/a.txt"
    assert local_path("/x/a.txt", "deep/page.md", root) == "x/a.txt"
    assert local_path("/x/../../a.txt", "deep/page.md", root) is None


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.sampled_from("ab/.%2e5c:?#\\ "), max_size=16),
    st.sampled_from(["page.md", "a/page.md", "a/b/c.md"]),
)
def test_no_resource_leads_out_of_the_bundle(resource: str, document: str) -> None:
    for root in (None, Path("/a/b")):
        path = local_path(resource, document, root)
        if path is not None:
            assert not is_remote(resource)
            assert path
            assert not path.startswith("/")
            assert ".." not in path.split("/")


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("<>/ab \"'=id!-\n"), max_size=60))
def test_any_text_can_be_looked_through_for_html_ids(text: str) -> None:
    assert all(count > 0 for count in html_ids(text).values())


@pytest.mark.parametrize(
    "text",
    [
        "<a " * 100_000,
        '<a "' * 100_000,
        "<!--" * 100_000,
        "<a b=" * 100_000,
        "<script" * 100_000,
        "<a " + " " * 300_000,
    ],
)
def test_hostile_html_takes_no_longer_than_its_length(text: str) -> None:
    import time

    start = time.process_time()
    html_ids(text)
    assert time.process_time() - start < 2


def test_markdown_ids_are_slugs_and_explicit_ids() -> None:
    assert markdown_ids("\ufeff---\na: 1\n---\n# One\r\n\n## One\n") == {"one": 1, "one-2": 1}


Checker = Callable[[Path], ClaimSet]
