"""Where results go."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from openknowledge.cli.output import emit
from openknowledge.engine.errors import OpenKnowledgeError

OKN = str(Path(sys.executable).with_name("okn"))
HTTP = str(Path(__file__).resolve().parents[2] / "corpora/http")


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    out = tmp_path / "r"
    out.write_text("old")
    out.chmod(0o640)
    emit("new", out)
    assert (out.read_text(), out.stat().st_mode & 0o777) == ("new", 0o640)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    link = tmp_path / "link"
    link.symlink_to("real")
    emit("new", link)
    assert link.is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    emit("text", pipe)
    reader.join(10)
    assert read == ["text"]
    assert pipe.is_fifo()


@pytest.mark.skipif(not hasattr(os, "mknod"), reason="needs device nodes")
def test_a_device_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "null"  # a node of its own: the machine's is not put at risk
    try:
        os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        device.write_text("")
    except OSError as error:
        pytest.skip(f"cannot make a device here: {error.strerror}")
    emit("text", device)
    assert device.is_char_device()


@pytest.mark.parametrize("name", ["", ".", "no/such/folder/file"])
def test_where_nothing_can_be_written_says_so(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OpenKnowledgeError, match="cannot write"):
        emit("text", Path(name))


def test_a_failed_write_leaves_the_old_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "r"
    out.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OpenKnowledgeError, match="No space left"):
        emit("new", out)
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    assert out.read_text() == "old"


def run(command: str) -> subprocess.CompletedProcess[str]:
    """Run a shell line."""
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)


def test_a_reader_that_has_gone_is_no_traceback() -> None:
    done = run(f"'{OKN}' export rdf '{HTTP}' | head -1")
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_device_is_told_in_one_line() -> None:
    done = run(f"'{OKN}' list '{HTTP}' > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "okn: No space left on device\n"


def test_a_closed_standard_output_is_told_in_one_line() -> None:
    done = run(f"'{OKN}' list '{HTTP}' >&-")
    assert (done.returncode, done.stderr) == (1, "okn: standard output is closed\n")
