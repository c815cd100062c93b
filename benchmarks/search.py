"""Search measured: how well it ranks, how fast it answers, as ratios to plain bm25s in the same run.

usage: python benchmarks/search.py quality [--split test] [--bundle acme-retail=DIR] [--bundle ga4=DIR]
       python benchmarks/search.py warm [--documents 10000] [--queries 200]
       python benchmarks/search.py cold [--documents 10000] [--runs 5]

quality  nDCG@10, recall@5 and MRR over the judged questions in corpora/eval, beside bm25s over the same
         sections: with its defaults, with stemming, and with stemming, title and headings in the text.
warm     one process, many queries: latency beside bm25s' own tokenizing and retrieval over the same sections.
cold     a whole ``okn search`` process beside reading and hashing every byte with plain Python.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from bundle import BASELINE, measure
from corpus import WORDS, write_corpus
from openknowledge.engine.analysis.eval_dataset import RetrievalDataset, read_dataset
from openknowledge.engine.analysis.eval_retrieval import Figures, figures, mean, section_grades
from openknowledge.engine.bundle.bundle import Bundle, read_bundle
from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.search.index import SearchIndex

CORPORA = Path(__file__).resolve().parents[1] / "corpora"
CUTOFFS = (5, 10)
DEPTH = 50
COLD_QUERIES = ("token rotation schedule", "how do I renew a certificate", "certificat renwal", "rollout")
Search = Callable[[str], list[Section]]
TextOf = Callable[[Bundle, Section], str]


class Plain:
    """bm25s over the sections of a bundle."""

    def __init__(self, bundle: Bundle, *, stem: bool, text_of: TextOf) -> None:
        import bm25s
        import Stemmer

        self._bm25s = bm25s
        self._stemmer = Stemmer.Stemmer("english") if stem else None
        self.sections = list(bundle.sections)
        tokens = self._tokens([text_of(bundle, section) for section in self.sections])
        self._model = bm25s.BM25()
        self._model.index(tokens, show_progress=False)

    def _tokens(self, texts: list[str]) -> Any:
        return self._bm25s.tokenize(texts, stopwords="en", stemmer=self._stemmer, show_progress=False)

    def search(self, query: str, count: int = DEPTH) -> list[Section]:
        """Return the best sections."""
        most = min(count, len(self.sections))
        numbers, scores = self._model.retrieve(self._tokens([query]), k=most, show_progress=False)
        return [self.sections[at] for at, score in zip(numbers[0], scores[0], strict=True) if score > 0]


def body(_bundle: Bundle, section: Section) -> str:
    """Return the text of a section."""
    return section.text


def body_in_context(bundle: Bundle, section: Section) -> str:
    """Return the text of a section after its page's title and its headings."""
    return f"{bundle.by_path[section.path].title} {' '.join(section.heading_path)} {section.text}"


def searching(bundle: Bundle, *, no_expand: bool) -> Search:
    """Return our search over ``bundle``."""
    index = SearchIndex.build(bundle)
    index.prepare()

    def search(query: str) -> list[Section]:
        _, found = index.ranked(query, limit=CUTOFFS[-1], no_expand=no_expand)
        return [index.section(candidate.section) for candidate in found]

    return search


def quality(split: str, bundles: dict[str, Path]) -> None:
    """Print a row for each way of searching, over all questions and for each bundle."""
    ways: dict[str, Callable[[Bundle], Search]] = {
        "bm25s": lambda bundle: Plain(bundle, stem=False, text_of=body).search,
        "bm25s, stemmed": lambda bundle: Plain(bundle, stem=True, text_of=body).search,
        "bm25s, stemmed, in context": lambda bundle: Plain(bundle, stem=True, text_of=body_in_context).search,
        "okn search --no-expand": lambda bundle: searching(bundle, no_expand=True),
        "okn search": lambda bundle: searching(bundle, no_expand=False),
    }
    rows: dict[str, dict[str, list[Figures]]] = {way: {} for way in ways}
    for path in sorted((CORPORA / "eval").glob(f"*-{split}.yaml")):
        name = path.name.removesuffix(f"-{split}.yaml").removesuffix("-retrieval")
        root = bundles.get(name, CORPORA / name)
        dataset = read_dataset(path)
        if not root.is_dir() or not isinstance(dataset, RetrievalDataset):
            continue
        bundle = read_bundle(root)
        for way, make in ways.items():
            search = make(bundle)
            rows[way][name] = [
                figures(
                    section_grades(case.judgments, search(case.query)),
                    [judgment.relevance for judgment in case.judgments],
                    CUTOFFS,
                )
                for case in dataset.cases
            ]
    names = list(next(iter(rows.values())))
    for name in ["all", *names]:
        questions = sum(len(each) for at, each in rows["bm25s"].items() if name in ("all", at))
        print(f"\n{name}: {questions} questions ({split})")
        print(f"{'':<28} {'nDCG@10':>8} {'recall@5':>9} {'MRR':>6}")
        for way, found in rows.items():
            every = [one for at, each in found.items() if name in ("all", at) for one in each]
            total = mean(every, CUTOFFS)
            print(f"{way:<28} {total.ndcg[1]:>8.3f} {total.recall[0]:>9.3f} {total.mrr:>6.3f}")


def generated_queries(count: int) -> list[str]:
    """Return queries of one to six words, some as questions, some misspelt, the same every time."""
    rng = random.Random(11)
    queries = []
    for number in range(count):
        words = [rng.choice(WORDS) for _ in range(rng.choice((1, 2, 2, 3, 3, 4, 6)))]
        if number % 10 == 3:
            words[0] = words[0][:-2] + words[0][-1:] + words[0][-2:-1]
        text = " ".join(words)
        queries.append(f"how do I {text} for the {rng.choice(WORDS)}" if number % 5 == 1 else text)
    return queries


def timed(search: Callable[[str], object], queries: Sequence[str]) -> list[float]:
    """Return how long each query took, in milliseconds."""
    took = []
    for query in queries:
        start = time.perf_counter()
        search(query)
        took.append((time.perf_counter() - start) * 1000.0)
    return took


def warm(documents: int, count: int) -> None:
    """Print medians and 95th percentiles, with ratios to bm25s."""
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder) / "bundle", documents)
        bundle = read_bundle(Path(folder) / "bundle")
    plain = Plain(bundle, stem=True, text_of=body)
    index = SearchIndex.build(bundle)
    start = time.perf_counter()
    index.prepare()
    built = time.perf_counter() - start
    gc.collect()
    gc.freeze()
    queries = generated_queries(count)
    searches: dict[str, Callable[[str], object]] = {
        "bm25s": lambda query: plain.search(query, 12),
        "rank": index.rank,
        "search --no-expand": lambda query: index.search(query, no_expand=True),
        "search": index.search,
    }
    print(f"{documents} pages, {len(plain.sections)} sections, {count} queries, index built in {built:.1f} s")
    print(f"{'':<20} {'median ms':>10} {'p95 ms':>8} {'ratio of medians':>17}")
    base = 0.0
    for name, search in searches.items():
        timed(search, queries)
        took = sorted(timed(search, queries))
        median = statistics.median(took)
        base = base or median
        print(f"{name:<20} {median:>10.2f} {took[len(took) * 95 // 100]:>8.2f} {median / base:>17.1f}")


def cold(documents: int, runs: int) -> None:
    """Print what one query in a fresh process costs."""
    okn = str(Path(sys.executable).with_name("okn"))
    with tempfile.TemporaryDirectory() as folder:
        root = str(Path(folder) / "bundle")
        write_corpus(Path(root), documents)
        base = measure([sys.executable, "-c", BASELINE, root], runs)
        print(f"{documents} pages, whole processes, best of {runs}; read and hash: {base.seconds:.3f} s")
        print(f"{'':<34} {'seconds':>8} {'ratio':>6} {'peak MB':>8}")
        for query in (
            "token rotation schedule",
            "how do I renew a certificate",
            "certificat renwal",
            "rollout",
        ):
            found = measure([okn, "search", root, query], runs)
            print(
                f"{query:<34} {found.seconds:>8.3f} {found.seconds / base.seconds:>6.1f} {found.peak:>8.0f}"
            )


def main() -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("quality", "warm", "cold"))
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    parser.add_argument("--bundle", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    if given.what == "quality":
        quality(given.split, {name: Path(root) for name, _, root in (b.partition("=") for b in given.bundle)})
    elif given.what == "warm":
        warm(given.documents, given.queries)
    else:
        cold(given.documents, given.runs)


if __name__ == "__main__":
    main()
