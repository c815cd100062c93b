"""``okn check`` beside ``okn validate`` on generated bundles: one gate over everything, at what price.

usage: python benchmarks/check.py [--documents 1000 10000] [--claims 0 2] [--runs 3]

Every figure is the best of several whole processes, start-up included, taken in turns so that both commands
see the same machine. Half of the generated pages are stale, so there are thousands of findings; json and
sarif write the proof of each.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from bundle import Measured, measure
from corpus import write_corpus

MOST = 2.5
FORMATS = ("text", "json", "sarif")


def best(one: Measured, other: Measured) -> Measured:
    """Return the faster of two runs with the larger peak."""
    return Measured(min(one.seconds, other.seconds), max(one.peak, other.peak))


def main() -> None:
    """Print one row for each size and command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--claims", type=int, nargs="+", default=[0, 2])
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    okn = str(Path(sys.executable).with_name("okn"))
    print(f"{'documents':>9} {'claims':>6}  {'command':<14} {'seconds':>8} {'ratio':>6} {'peak MB':>8}")
    for documents in given.documents:
        for claims in given.claims:
            with tempfile.TemporaryDirectory() as folder:
                bundle = Path(folder) / "bundle"
                write_corpus(bundle, documents, claims=claims)
                rows = {"validate": [okn, "validate", str(bundle)]}
                rows.update(
                    {f"check {name}": [okn, "check", str(bundle), "--format", name] for name in FORMATS}
                )
                found = {name: measure(arguments, 1) for name, arguments in rows.items()}
                for _ in range(given.runs - 1):
                    for name, arguments in rows.items():
                        found[name] = best(found[name], measure(arguments, 1))
                base = found["validate"].seconds
                for name, row in found.items():
                    print(
                        f"{documents:>9} {claims:>6}  {name:<14} {row.seconds:>8.3f} "
                        f"{row.seconds / base:>6.2f} {row.peak:>8.0f}"
                    )
    print(f"mark at 10,000 documents: check (text) at most {MOST} times validate")


if __name__ == "__main__":
    main()
