"""Where results go: standard output, or a file that is replaced in one step."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from openknowledge.engine.errors import OpenKnowledgeError


def to_json(value: Any) -> str:
    """Return ``value`` as JSON with two spaces of indent and a final line feed."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def emit(content: str | bytes, out: Path | None = None) -> None:
    """Write ``content`` to standard output, or to the file ``out``: all of it or nothing."""
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    if out is None or str(out) == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        _write_file(out, data)


def _write_file(out: Path, data: bytes) -> None:
    try:
        out = out.resolve()  # a link stays a link: what it leads to is replaced
        if out.exists() and not out.is_file():
            if out.is_dir():
                raise OpenKnowledgeError(f"cannot write {str(out)!r}: it is a directory")
            out.write_bytes(data)  # a device or pipe is written to, never replaced
            return
        handle, temporary = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name[:40]}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            mode = out.stat().st_mode & 0o7777 if out.exists() else 0o666 & ~_umask()
            Path(temporary).chmod(mode)
            Path(temporary).replace(out)
        except BaseException:
            with suppress(OSError):
                Path(temporary).unlink()
            raise
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise OpenKnowledgeError(f"cannot write {str(out)!r}: {reason}") from None


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def is_terminal() -> bool:
    """Whether a person reads standard output."""
    return sys.stdout.isatty()


def note(message: str) -> None:
    """Tell the user something beside the result."""
    sys.stderr.write(message.rstrip("\n") + "\n")
