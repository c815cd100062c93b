"""Why a section ranks where it does: the scoring of one section, taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openknowledge.engine.search.corpus import page_of
from openknowledge.engine.search.scoring import contributions, page_factor

if TYPE_CHECKING:
    from openknowledge.engine.search.expansion import Candidate
    from openknowledge.engine.search.index import Ranking
    from openknowledge.schemas.search import Explanation, TermContribution

_SHOWN_FORMS = 8


def explanation(ranking: Ranking, candidate: Candidate) -> Explanation:
    """Return what made up the score of ``candidate``: words, fields, page, nearness, links."""
    index = ranking.index
    corpus = index.corpus
    weights = index.weights
    section = candidate.section
    page = page_of(section)
    terms: list[TermContribution] = []
    added = contributions(
        corpus, index.factors, ranking.evidence, ranking.first.frequencies, weights, section
    )
    for item, found in zip(ranking.evidence, added, strict=True):
        if not found.fields and not found.page:
            continue
        forms = sorted(
            form.decode() for form, weight in item.forms.items() if weight == max(item.forms.values())
        )
        terms.append(
            {
                "term": item.term,
                "kind": item.kind,
                "forms": forms[:_SHOWN_FORMS],
                "fields": sorted(found.fields),
                "idf": round(found.rarity, 4),
                "section": round(found.section, 4),
                "page": round(found.page, 4),
            }
        )
    known = {item.term for item in ranking.evidence}
    missing = [term.token for term in ranking.query.terms if term.token not in known and not term.optional]
    routes = ["bm25"] if candidate.lexical else []
    if candidate.vector:
        routes.append("vector")
    if candidate.by_graph:
        routes.append("graph")
    result: Explanation = {
        "terms": terms,
        "missingTerms": missing,
        "sectionScore": round(ranking.first.own.get(section, 0.0), 4),
        "pageScore": round(ranking.first.pages.get(page, 0.0), 4),
        "pageShare": weights.page_share,
        "pageFactor": page_factor(corpus.pages[page], weights),
        "vector": round(candidate.vector, 4),
        "routes": routes,
        "links": list(candidate.links),
        "text": "",
    }
    result["text"] = "\n".join(_lines(result, candidate))
    return result


def _lines(found: Explanation, candidate: Candidate) -> list[str]:
    lines = []
    if candidate.lexical:
        line = (
            f"lexical {candidate.lexical:.2f}: section {found['sectionScore']:.3f} + "
            f"{found['pageShare']} x page {found['pageScore']:.3f}"
        )
        if found["pageFactor"] != 1.0:
            line += f", x {found['pageFactor']} as a page that lists or copies others"
        lines.append(line)
    for term in found["terms"]:
        forms = f" as {', '.join(term['forms'])}" if term["forms"] and term["forms"] != [term["term"]] else ""
        where = ", ".join(term["fields"]) or "other sections of the page"
        lines.append(
            f"{term['kind']} {term['term']!r}{forms} in {where}: "
            f"section {term['section']:.3f}, page {term['page']:.3f}"
        )
    if found["missingTerms"]:
        lines.append("not in the bundle: " + ", ".join(found["missingTerms"]))
    if found["vector"]:
        lines.append(f"vector similarity {found['vector']:.3f}")
    lines += [f"link: {link}" for link in found["links"]]
    return lines
