"""Writes a bundle of any size from a seed: pages of about 2 KB with frontmatter, sections, tables and links.

usage: python benchmarks/corpus.py OUT_DIR --documents 1000 [--seed 1] [--bytes 2048] [--claims 0]

With ``--claims`` each page has that many typed claims on top, and the root index an ontology.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

WORDS = (
    "token session rotation key issuer audience scope claim refresh cache header gateway quota retry "
    "timeout backoff queue stream partition replica leader failover snapshot restore backup schema "
    "migration index query latency budget alert runbook incident pager escalation owner review policy "
    "retention archive audit ledger invoice payment refund settlement currency margin revenue forecast "
    "pipeline batch window offset consumer producer topic cluster shard node region zone network "
    "firewall proxy certificate renewal secret vault rollout canary rollback feature flag experiment "
    "metric dashboard trace span log sample percentile "
).split()
TYPES = ("Reference", "Guide", "Runbook", "Policy", "Metric", "Decision")
TAGS = ("identity", "billing", "storage", "network", "delivery", "data", "security", "observability")
FOLDERS = 40
ENTITIES = 200


def sentence(rng: random.Random, words: int) -> str:
    """Return a made-up sentence of ``words`` words."""
    return " ".join(rng.choice(WORDS) for _ in range(words)).capitalize() + "."


def page(rng: random.Random, number: int, documents: int, size: int, claims: int = 0) -> str:
    """Return the text of page ``number`` of ``documents``, about ``size`` bytes long."""
    title = sentence(rng, 4)[:-1]
    human = rng.random() < 0.4
    lines = [
        "---",
        f"type: {rng.choice(TYPES)}",
        f"title: {title} {number}",
        f"description: {sentence(rng, 9)}",
        f"tags: [{', '.join(sorted(rng.sample(TAGS, 2)))}]",
        "generated: { by: writer/1.0, at: 2026-05-01T08:00:00Z }",
        "verified:",
        f"  - {{ by: {'human:reviewer@example.com' if human else 'checker/2.1'}, at: 2026-06-01T08:00:00Z }}",
        f"status: {rng.choice(('stable', 'stable', 'stable', 'draft'))}",
        f"stale_after: {rng.choice(('2026-01-31', '2035-01-31'))}T00:00:00Z",
        "sources:",
        "  - id: origin",
        f"    resource: https://example.com/source/{number % 500}",
        "    title: Where this page comes from",
        *claim_lines(rng, number, claims),
        "---",
        "",
        f"# {title}",
        "",
        sentence(rng, 22) + " [^origin]",
        "",
    ]
    text = "\n".join(lines)
    section = 0
    size += len(text) - len(text.partition("openknowledge_claim_profile")[0]) if claims else 0
    while len(text) < size - 80:
        section += 1
        other = rng.randrange(documents)
        part = [
            f"## {sentence(rng, 3)[:-1]}",
            "",
            sentence(rng, 26) + f" See [{rng.choice(WORDS)}](/{page_path(other)}).",
            "",
        ]
        if section % 3 == 1:
            part += [f"- `{rng.choice(WORDS)}_{rng.choice(WORDS)}`: {sentence(rng, 8)}" for _ in range(3)] + [
                ""
            ]
        text += "\n".join(part) + "\n"
    return text + "\n[^origin]: Where this page comes from\n"


def claim_lines(rng: random.Random, number: int, claims: int) -> list[str]:
    """Return the frontmatter lines of ``claims`` typed claims on page ``number``."""
    if not claims:
        return []
    lines = ['openknowledge_claim_profile: "1"', "claims:"]
    for index in range(claims):
        lines += [
            f"  - id: ex:claim/{number}-{index}",
            f"    slot: ex:slot/{number}-{index}",
            f"    subject: ex:thing/{rng.randrange(ENTITIES)}",
            "    predicate: ex:limit",
            f"    object: {{ value: {rng.randrange(1000)}, datatype: xsd:integer }}",
            f"    status: {rng.choice(('extracted', 'proposed', 'supported'))}",
            f"    stale_after: {rng.choice(('2026-01-31', '2035-01-31', '2035-01-31', '2035-01-31'))}",
            "    evidence:",
            "      - { id: e1, source_ref: origin, stance: supports }",
        ]
    return lines


def index_page(claims: int) -> str:
    """Return the root index; with claims it declares what they are about."""
    lines = ["---", 'okf_version: "0.2"']
    if claims:
        lines += [
            'openknowledge_claim_profile: "1"',
            "claim_ontology:",
            "  namespaces: { ex: https://example.com/ns/ }",
            "  predicates:",
            "    - { id: ex:limit, object_kind: literal, datatype: xsd:integer, maximum_count: 1 }",
            "  entities:",
            *[f"    - {{ id: ex:thing/{number}, types: [ex:Thing] }}" for number in range(ENTITIES)],
        ]
    return "\n".join([*lines, "---", "", "# Corpus", ""])


def page_path(number: int) -> str:
    """Return the bundle-relative path of page ``number``."""
    return f"area-{number % FOLDERS:02d}/page-{number:06d}.md"


def write_corpus(out: Path, documents: int, seed: int = 1, size: int = 2048, claims: int = 0) -> None:
    """Write a bundle of ``documents`` pages below ``out``; the same arguments give the same bytes."""
    rng = random.Random(seed)
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.md").write_text(index_page(claims), encoding="utf-8")
    for folder in range(min(FOLDERS, documents)):
        (out / f"area-{folder:02d}").mkdir(exist_ok=True)
    for number in range(documents):
        text = page(rng, number, documents, size, claims)
        (out / page_path(number)).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--documents", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--bytes", type=int, default=2048)
    arguments.add_argument("--claims", type=int, default=0)
    given = arguments.parse_args()
    write_corpus(given.out, given.documents, given.seed, given.bytes, given.claims)
