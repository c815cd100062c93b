"""``okn init``."""

from __future__ import annotations

import os
from pathlib import Path

import typer
from openknowledge.cli.options import PathArgument

ARTIFACT_MODE = 0o444


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("init")(init)


def init(path: PathArgument = ".") -> None:
    """Start a bundle: pages, a typed claim with pinned evidence, settings and a policy. It passes okn check.

    Nothing is asked and nothing is overwritten: if one of the files exists, none is written.

    \b
    Examples:
      okn init knowledge
      okn check knowledge
    """
    from openknowledge.cli.context import SETTINGS, clock
    from openknowledge.cli.output import emit
    from openknowledge.engine.analysis.init_bundle import new_bundle
    from openknowledge.engine.claims.evidence import EVIDENCE_FOLDER
    from openknowledge.engine.errors import OpenKnowledgeError, UsageError
    from openknowledge.engine.operations.transaction import Transaction, writing

    if SETTINGS.at:
        raise UsageError("a bundle is made now, not at a revision: leave --at out")
    root = Path(path)
    files = new_bundle(clock()())
    taken = sorted((name for name in files if _is_taken(root, name)), key=lambda name: name.startswith("."))
    if taken:
        shown = ", ".join(taken[:5]) + (", ..." if len(taken) > 5 else "")
        raise OpenKnowledgeError(f"nothing was written: {shown} in {str(root)!r} already exists")
    created = _make_folder(root)
    try:
        with writing(root.absolute(), command="init", clock=clock()):
            transaction = Transaction(root.absolute())
            for name, data in files.items():
                mode = ARTIFACT_MODE if name.startswith(EVIDENCE_FOLDER) and "/artifact" in name else 0o666
                transaction.stage(name, data, expected=None, mode=mode)
            transaction.commit()
    except BaseException:
        for folder in created:
            if not any(folder.iterdir()):
                folder.rmdir()
        raise
    lines = [f"{root / name}" for name in files if not name.startswith(".openknowledge/")]
    emit("\n".join([*lines, f"next: okn check {path}"]) + "\n")


def _is_taken(root: Path, name: str) -> bool:
    """Whether something is at ``name`` or, in place of a folder on the way, a file."""
    at = root
    parts = name.split("/")
    for number, part in enumerate(parts, 1):
        at = at / part
        if not os.path.lexists(at):
            return False
        if number == len(parts) or at.is_symlink() or not at.is_dir():
            return True
    return False


def _make_folder(root: Path) -> list[Path]:
    """Make ``root`` and the folders above it that are missing; return them, the lowest first."""
    from openknowledge.engine.errors import OpenKnowledgeError

    missing = []
    at = root.absolute()
    while not at.exists():
        missing.append(at)
        at = at.parent
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OpenKnowledgeError(f"cannot make the folder {str(root)!r}: {error.strerror}") from None
    return missing
