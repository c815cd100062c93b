"""Cold ``okn validate`` and ``okn search`` on generated bundles, as ratios to reading and hashing every byte.

usage: python benchmarks/bundle.py [--documents 100 1000 10000] [--runs 5]

Every figure is the best of several whole processes, start-up included. The baseline is a plain Python process
that walks the bundle, reads each file and feeds it to one SHA-256. Memory is the peak of the process with its
children.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from corpus import write_corpus

BASELINE = """
import hashlib, os, sys
digest = hashlib.sha256()
for base, folders, files in os.walk(sys.argv[1]):
    folders.sort()
    for name in sorted(files):
        with open(os.path.join(base, name), "rb") as file:
            digest.update(file.read())
"""
VALIDATE_RATIO, SEARCH_RATIO, PEAK_MB = 8, 15, 700


@dataclass(frozen=True)
class Measured:
    """The best wall time in seconds and the largest peak memory in MB."""

    seconds: float
    peak: float


def measure(arguments: list[str], runs: int) -> Measured:
    """Run a program several times."""
    best, peak = float("inf"), 0.0
    for _ in range(runs):
        start = time.perf_counter()
        child = os.posix_spawn(
            arguments[0],
            arguments,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
        )
        _, _, usage = os.wait4(child, 0)
        best = min(best, time.perf_counter() - start)
        peak = max(peak, usage.ru_maxrss / 1024)
    return Measured(best, peak)


def main() -> None:
    """Print one row for each size and command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    okn = str(Path(sys.executable).with_name("okn"))
    print(f"{'documents':>9}  {'command':<9} {'seconds':>8} {'ratio':>6} {'peak MB':>8}")
    for documents in given.documents:
        with tempfile.TemporaryDirectory() as folder:
            bundle = Path(folder) / "bundle"
            write_corpus(bundle, documents)
            rows = {
                "baseline": [sys.executable, "-c", BASELINE, str(bundle)],
                "validate": [okn, "validate", str(bundle)],
                "search": [okn, "search", str(bundle), "token rotation schedule"],
            }
            base = 0.0
            for name, arguments in rows.items():
                found = measure(arguments, given.runs)
                base = base or found.seconds
                ratio = found.seconds / base
                print(f"{documents:>9}  {name:<9} {found.seconds:>8.3f} {ratio:>6.1f} {found.peak:>8.0f}")
    print(
        f"marks at 10,000 documents: validate at most {VALIDATE_RATIO}, search at most {SEARCH_RATIO} times "
        f"the baseline, under {PEAK_MB} MB"
    )


if __name__ == "__main__":
    main()
