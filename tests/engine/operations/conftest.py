"""Files of these tests live in memory where the system allows it: they sync thousands of times."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")

if os.name == "nt":  # these fork, kill and link as only POSIX systems can
    collect_ignore = ["test_lock.py", "test_paths.py", "test_transaction.py", "test_transaction_histories.py"]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as directory:
        yield Path(directory)
