"""Evidence is kept under its digest, with a receipt, and its source points to it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine import limits
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.apply import apply_proposal
from openknowledge.engine.operations.disk import Disk
from openknowledge.engine.operations.fetch import Fetched
from openknowledge.engine.operations.lifecycle import reconcile_claim, verify_claim
from openknowledge.engine.operations.lock import BundleLock
from openknowledge.engine.operations.pin import pin_evidence, receipt_name
from openknowledge.engine.operations.transaction import recover

from .conftest import ARTIFACT, FOLDER, NOW, SHA, Sample

NOTES = hashlib.sha256(b"notes\n").hexdigest()


def no_network(url: str) -> Fetched:
    raise AssertionError(f"{url} was fetched")


def answering(data: bytes, media_type: str = "", final: str = "") -> Callable[[str], Fetched]:
    return lambda url: Fetched(data, media_type, final or url)


def pin(sample: Sample, source: str = "live", resource: Any = None, **options: Any) -> Any:
    settings: dict[str, Any] = {"document": "page.md", "clock": fixed_clock(NOW), "fetcher": no_network}
    return pin_evidence(
        sample.root,
        source=source,
        resource=None if resource is None else str(resource),
        **(settings | options),
    )


def test_a_file_of_the_bundle_is_kept_and_the_source_points_to_it(sample: Sample) -> None:
    before = sample.files()
    result = pin(sample)
    artifact = f".openknowledge/evidence/sha256/{NOTES}/artifact.txt"
    name = hashlib.sha256(b"page.md\0live\0sources/notes.txt").hexdigest()[:16]
    receipt = f".openknowledge/evidence/sha256/{NOTES}/receipts/{name}.json"
    assert set(sample.files()) - set(before) == {artifact, receipt}
    assert (sample.root / artifact).read_bytes() == b"notes\n"
    assert (sample.root / artifact).stat().st_mode & 0o777 == 0o444
    assert sample.changed_lines(before)[-2:] == [
        "page.md: -  - { id: live, resource: sources/notes.txt, role: authoritative }",
        f'page.md: +  - {{ id: live, resource: "{artifact}", role: authoritative, live_resource: '
        f'sources/notes.txt, observe: pinned, sha256: "{NOTES}" }}',
    ]
    assert result == {
        "schemaVersion": "1",
        "root": str(sample.root),
        "document": "page.md",
        "sourceId": "live",
        "artifact": artifact,
        "sha256": NOTES,
        "bytes": 6,
        "mediaType": "text/plain; charset=utf-8",
        "receipt": receipt,
        "changed": True,
        "capture": json.loads(sample.text(receipt)),
    }
    assert sample.valid()


def test_the_receipt_says_what_was_captured_whence_and_when(sample: Sample) -> None:
    sample.replace(
        "page.md",
        "    resource: https://example.org/doc\n",
        "    resource: https://example.org/doc\n    source_type: article\n    author: human:x\n"
        "    publisher: P\n    license: CC0-1.0\n    access: [team:a]\n",
    )
    url = "https://example.org/doc"
    result = pin(
        sample, "remote", fetcher=answering(b"<p>", "text/html; charset=utf-8", "https://example.org/d/2")
    )
    assert list(result["capture"].items()) == [
        ("type", "openknowledge.evidence-receipt"),
        ("version", 1),
        ("id", f"okf+sha256://{result['sha256']}"),
        ("sha256", hashlib.sha256(b"<p>").hexdigest()),
        ("bytes", 3),
        ("mediaType", "text/html; charset=utf-8"),
        ("artifact", result["artifact"]),
        ("originalResource", url),
        ("finalResource", "https://example.org/d/2"),
        ("capturedAt", "2026-11-30T12:00:00.000000000Z"),
        ("document", "page.md"),
        ("sourceId", "remote"),
        ("sourceType", "article"),
        ("author", "human:x"),
        ("publisher", "P"),
        ("license", "CC0-1.0"),
        ("access", ["team:a"]),
    ]
    assert result["artifact"].endswith("/artifact.html")


def test_an_address_as_input_becomes_the_live_resource(sample: Sample) -> None:
    url = "https://example.org/terms.PDF?v=2#p3"
    result = pin(sample, "live", url, fetcher=answering(b"%PDF", final="https://example.org/terms.PDF?v=2"))
    source = sample.store().bundle.by_path["page.md"].metadata.sources[1]
    assert (source.live_resource, source.observe) == (url, "pinned")
    assert result["artifact"].endswith("/artifact.pdf")
    assert result["mediaType"] == "application/pdf"
    assert "finalResource" not in result["capture"]


def test_pinning_again_changes_nothing(sample: Sample) -> None:
    pin(sample)
    before = sample.files()
    for resource in (None, sample.root / "sources/notes.txt"):
        result = pin(sample, resource=resource, clock=fixed_clock(NOW.replace(year=2027)))
        assert result["changed"] is False
        assert result["capture"]["capturedAt"].startswith("2026-")
    assert sample.files() == before


def test_new_bytes_are_kept_beside_the_old_ones(sample: Sample) -> None:
    pin(sample)
    sample.write("sources/notes.txt", "new notes\n")
    result = pin(sample, resource=sample.root / "sources/notes.txt")
    assert result["changed"] is True
    assert f".openknowledge/evidence/sha256/{NOTES}/artifact.txt" in sample.files()
    assert sample.valid()


def test_two_sources_of_the_same_bytes_share_the_artifact(sample: Sample) -> None:
    sample.write("copy.txt", "notes\n")
    pin(sample)
    sample.replace("page.md", "https://example.org/doc", "copy.txt")
    result = pin(sample, "remote")
    folder = sample.root / Path(result["artifact"]).parent
    assert sorted(path.name for path in folder.iterdir()) == ["artifact.txt", "receipts"]
    assert len(list((folder / "receipts").iterdir())) == 2


def test_a_copy_of_something_remote_keeps_the_remote_resource(sample: Sample, tmp_path: Path) -> None:
    copy = tmp_path / "minutes.txt"
    copy.write_bytes(b"minutes")
    result = pin(sample, "remote", copy)
    assert result["capture"]["originalResource"] == "https://example.org/doc"


def test_a_page_in_a_folder_gets_relative_paths(sample: Sample) -> None:
    sample.write(
        "deep/er/x.md",
        "---\ntype: X\nsources:\n  - { id: s, resource: ../../sources/notes.txt }\n---\n\n# X\n",
    )
    pin(sample, "s", document="deep/er/x.md")
    source = sample.store().bundle.by_path["deep/er/x.md"].metadata.sources[0]
    assert source.resource == f"../../.openknowledge/evidence/sha256/{NOTES}/artifact.txt"
    pin(sample, "s", sample.root / "sources/notes.txt", document="deep/er/x.md")
    assert sample.store().bundle.by_path["deep/er/x.md"].metadata.sources[0].live_resource == (
        "../../sources/notes.txt"
    )


def test_a_file_name_with_blanks_is_written_as_a_url(sample: Sample) -> None:
    sample.write("sources/my notes.txt", "x")
    pin(sample, "live", sample.root / "sources/my notes.txt")
    assert (
        sample.store().bundle.by_path["page.md"].metadata.sources[1].live_resource == "sources/my%20notes.txt"
    )
    assert pin(sample, "live", sample.root / "sources/my notes.txt")["changed"] is False


def test_a_quotation_that_is_gone_from_the_new_bytes_undoes_all(sample: Sample) -> None:
    sample.write("sources/settings.txt", "The idle timeout\nis 31 minutes.\n")
    message = sample.refused(lambda: pin(sample, "pinned", sample.root / "sources/settings.txt"))
    assert message.startswith("claim edit is invalid: page.md:")
    assert "exact must occur exactly once" in message


def test_pin_again_then_reconcile_makes_a_stale_claim_fresh(sample: Sample) -> None:
    verify_claim(sample.root, "ex:idle", approved_by="human:a")
    sample.write("sources/settings.txt", ARTIFACT + "More text.\n")
    assert sample.store().claim_set.stale
    pin(sample, "pinned", sample.root / "sources/settings.txt")
    reconcile_claim(sample.root, "ex:idle", approved_by="human:a")
    assert not sample.store().claim_set.stale
    assert sample.valid()


def test_a_new_quotation_can_be_proposed_right_after_pinning(sample: Sample) -> None:
    pin(sample)
    selector = {"type": "text_quote", "exact": "notes"}
    apply_proposal(
        sample.root, sample.propose(evidence=[{"id": "e", "sourceRef": "live", "selector": selector}])
    )
    assert sample.valid()


def test_markdown_that_is_a_sound_page_stays_markdown(sample: Sample) -> None:
    sample.write("sources/a.md", "---\ntype: Standard\n---\n\n# Standard\n")
    assert pin(sample, resource=sample.root / "sources/a.md")["artifact"].endswith("/artifact.md")


@pytest.mark.parametrize(
    "text",
    [
        "# No frontmatter\n",
        "---\ntype: T\n---\n\n[x](gone.md)\n",
        "---\ntype: T\nclaim_ontology: { entities: [{ id: ex:evil }] }\n---\n\n# T\n",
        "---\ntype: T\nclaim_refs: [ex:idle]\nopenknowledge_claim_profile: '1'\n---\n\n# T\n",
        "---\ntype: T\nclaims: []\n---\n\n# T\n",
    ],
)
def test_other_markdown_is_kept_as_text_and_says_nothing_in_the_bundle(sample: Sample, text: str) -> None:
    before = sample.issues()
    result = pin(sample, "remote", fetcher=answering(text.encode(), "text/markdown"))
    assert result["artifact"].endswith("/artifact.txt")
    assert result["mediaType"] == "text/markdown"
    assert sample.issues() == before
    assert "ex:evil" not in sample.store().claim_set.ontology.entities


# Bad input


def test_a_changed_artifact_is_found(sample: Sample) -> None:
    sample.write(f"{FOLDER}/artifact.txt", ARTIFACT + "!")
    assert "possible tampering" in sample.refused(lambda: pin(sample, "pinned"))
    again = sample.root / "sources/settings.txt"
    assert "possible tampering" in sample.refused(lambda: pin(sample, "pinned", again))


@pytest.mark.parametrize(
    ("key", "value"),
    [("sha256", "0" * 64), ("originalResource", "x"), ("document", "y"), ("bytes", 7), ("capturedAt", 5)],
)
def test_a_changed_receipt_is_found(sample: Sample, key: str, value: Any) -> None:
    result = pin(sample)
    receipt = dict(result["capture"]) | {key: value}
    sample.write(result["receipt"], json.dumps(receipt))
    assert "the receipt was changed" in sample.refused(lambda: pin(sample))


def test_a_receipt_that_is_no_json_is_found(sample: Sample) -> None:
    result = pin(sample)
    sample.write(result["receipt"], "{")
    assert "not JSON" in sample.refused(lambda: pin(sample))


def test_a_receipt_is_named_by_page_source_and_resource() -> None:
    # as the sample bundle has it on record
    found = receipt_name("services/token-issuer.md", "issuer-settings", "../sources/issuer-settings.json")
    assert found == "fa94e1f09d8b68aa.json"


@pytest.mark.parametrize(
    ("source", "resource", "message"),
    [
        ("nope", None, "has no source"),
        ("live", "gone.txt", "cannot read"),
        ("live", "sources", "not a regular file"),
        ("live", "ftp://example.org/x", "only http and https are fetched"),
        ("live", "file:///etc/passwd", "only http and https are fetched"),
        ("live", "a\0b", "cannot read"),
    ],
)
def test_what_cannot_be_read_is_refused(
    sample: Sample, monkeypatch: pytest.MonkeyPatch, source: str, resource: Any, message: str
) -> None:
    monkeypatch.chdir(sample.root)
    assert message in sample.refused(lambda: pin(sample, source, resource))


def test_a_remote_resource_of_another_kind_is_not_fetched(sample: Sample) -> None:
    sample.replace("page.md", "https://example.org/doc", "urn:isbn:123")
    assert "only http and https are fetched" in sample.refused(lambda: pin(sample, "remote"))


def test_a_resource_outside_the_bundle_is_refused(sample: Sample, tmp_path: Path) -> None:
    outside = tmp_path / "x.txt"
    outside.write_bytes(b"x")
    assert "lies outside the bundle" in sample.refused(lambda: pin(sample, "live", outside))
    sample.replace("page.md", "resource: sources/notes.txt", "resource: ../x.txt")
    assert "no path inside the bundle" in sample.refused(lambda: pin(sample))


def test_a_source_without_a_resource_needs_an_input(sample: Sample) -> None:
    sample.replace("page.md", "    resource: https://example.org/doc", "    title: T")
    assert "has no resource" in sample.refused(lambda: pin(sample, "remote"))
    pin(sample, "remote", sample.root / "sources/notes.txt")
    assert sample.valid()


def test_symbolic_links_are_not_followed(sample: Sample) -> None:
    (sample.root / "sources/link.txt").symlink_to("notes.txt")
    assert "symbolic link" in sample.refused(lambda: pin(sample, "live", sample.root / "sources/link.txt"))
    sample.replace("page.md", "resource: sources/notes.txt", "resource: sources/link.txt")
    assert "symbolic link" in sample.refused(lambda: pin(sample))


def test_the_largest_file_is_kept_and_one_byte_more_is_not(sample: Sample) -> None:
    path = sample.root / "sources/notes.txt"
    path.write_bytes(b"x" * (limits.EVIDENCE_BYTES + 1))
    for resource in (None, path):
        with pytest.raises(OpenKnowledgeError, match="larger than 8388608 bytes"):
            pin(sample, resource=resource)
    path.write_bytes(b"x" * limits.EVIDENCE_BYTES)
    assert pin(sample)["bytes"] == limits.EVIDENCE_BYTES


def test_a_folder_that_is_a_link_is_not_written_into(sample: Sample, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (sample.root / f".openknowledge/evidence/sha256/{NOTES}").symlink_to(tmp_path / "outside")
    with pytest.raises(OpenKnowledgeError, match="symbolic link"):
        pin(sample)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_full_disk_leaves_nothing_behind(sample: Sample) -> None:
    count = 0

    def hook(step: str, path: Path) -> None:
        nonlocal count
        if step == "write":
            count += 1
            if count == 5:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    assert "the disk is full" in sample.refused(lambda: pin(sample, disk=Disk(hook)))
    assert not (sample.root / f".openknowledge/evidence/sha256/{NOTES}").exists()


@pytest.mark.skipif(os.name == "nt", reason="forks")
def test_a_process_killed_at_any_step_leaves_all_or_nothing(sample: Sample) -> None:
    before = sample.files()
    after = 0
    for step in range(300):
        child = os.fork()
        if child == 0:
            left = [step]

            def hook(name: str, path: Path, left: list[int] = left) -> None:
                left[0] -= 1
                if left[0] < 0:
                    os._exit(9)

            try:
                pin(sample, disk=Disk(hook))
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        with BundleLock(sample.root, command="test"):
            recover(sample.root)
        found = sample.files()
        if found != before:
            assert len(found) == len(before) + 2
            assert b"observe: pinned, sha256" in found["page.md"]
            after += 1
            for path in set(found) - set(before):
                (sample.root / path).unlink()
            (sample.root / f".openknowledge/evidence/sha256/{NOTES}/receipts").rmdir()
            (sample.root / f".openknowledge/evidence/sha256/{NOTES}").rmdir()
            sample.write("page.md", before["page.md"].decode())
        if os.waitstatus_to_exitcode(status) == 0:
            break
    assert after > 0


def test_the_digest_of_the_artifact_is_its_name(sample: Sample) -> None:
    assert pin(sample, "pinned")["sha256"] == SHA
