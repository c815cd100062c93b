"""The cases of evaluation datasets, as far as claims care: which pages each of them expects."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openknowledge.engine import limits
from openknowledge.engine.bundle.okf import text_list, text_of
from openknowledge.engine.bundle.yaml_reader import read_yaml

EVAL_FOLDER = ".openknowledge/evals"
EVAL_TYPE = "openknowledge.eval"


@dataclass(frozen=True, slots=True)
class EvalCase:
    """A case of an evaluation dataset, with the pages of the bundle that it expects."""

    dataset: str
    id: str
    question: str
    agents: tuple[str, ...]
    paths: tuple[str, ...]


def eval_root(root: Path) -> Path | None:
    """Return ``.openknowledge/evals`` of the bundle or of the nearest folder above it that has one."""
    for folder in (root, *root.parents):
        candidate = folder / EVAL_FOLDER
        if candidate.is_dir() and not candidate.is_symlink():
            return candidate
    return None


def read_eval_cases(folder: Path | None) -> list[EvalCase]:
    """Return the cases of every readable dataset in ``folder``; what is no dataset is passed over.

    At most ``EVAL_FILES`` files of at most ``CONFIG_BYTES`` each are read, through no symbolic link.
    """
    if folder is None:
        return []
    cases: list[EvalCase] = []
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".yaml", ".yml"))
    for path in found[: limits.EVAL_FILES]:
        cases += _dataset_cases(path)
    return cases


def _dataset_cases(path: Path) -> list[EvalCase]:
    try:
        info = path.lstat()
        if not stat.S_ISREG(info.st_mode) or info.st_size > limits.CONFIG_BYTES:
            return []
        result = read_yaml(path.read_bytes().decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        return []
    value = result.value
    if result.failed or not isinstance(value, dict) or value.get("type") != EVAL_TYPE:
        return []
    dataset = text_of(value.get("id")) or path.stem
    raw = value.get("cases")
    return [_case(dataset, item) for item in raw if isinstance(item, dict)] if isinstance(raw, list) else []


def _case(dataset: str, item: dict[str, Any]) -> EvalCase:
    expect = item.get("expect")
    expect = expect if isinstance(expect, dict) else {}
    citations = expect.get("citations")
    cited = citations.get("sources") if isinstance(citations, dict) else citations
    sources = [*text_list(expect.get("sources")), *text_list(cited)]
    paths = {source.partition("#")[0].lstrip("/") for source in sources}
    return EvalCase(
        dataset,
        text_of(item.get("id")),
        text_of(item.get("question")),
        text_list(item.get("agents")),
        tuple(sorted(paths - {""})),
    )
