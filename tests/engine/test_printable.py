"""Nothing from a bundle can pose as a line of the program."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openknowledge.cli.main import run
from openknowledge.engine.printable import printable


@given(st.text())
def test_what_is_printed_is_one_printable_line(text: str) -> None:
    assert printable(text).isprintable()


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_printable_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["validate"],
        ["search", "{bundle}", "needle", "--matches"],
        ["search", "{bundle}", "needle"],
        ["query", "{bundle}", "--text", "needle", "--format", "text"],
        ["query", "{bundle}", "--datalog", "document_status(D, S)", "--format", "table"],
        ["query", "{bundle}", "--datalog", "document_status(D, S)", "--explain"],
        ["get", "{bundle}", "x\nforged: line"],
    ],
    ids=lambda value: " ".join(value[:1]),
)
def test_a_page_cannot_forge_a_line(
    arguments: list[str], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    page = (
        '---\ntype: "T\\nforged: line"\ntitle: "A\\nforged: line"\n'
        'status: "s\\nforged: \\e[31m"\n---\n\nneedle\n'
    )
    (tmp_path / "x\nforged: line.md").write_text(page, encoding="utf-8")
    words = [word.replace("{bundle}", str(tmp_path)) for word in arguments]
    run(words if str(tmp_path) in words else [*words, str(tmp_path)])
    printed = capfdbinary.readouterr()
    for line in (printed.out + printed.err).decode().splitlines():
        assert not line.startswith("forged")
        assert "\x1b" not in line
