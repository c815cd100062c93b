from __future__ import annotations

import pytest
from openknowledge.engine.search.index import SearchIndex
from openknowledge.engine.search.rounding import round2

LINKED = {
    "a.md": "# Horse\n\nA zebra. See [the lion](b.md#lion) and [the owl](sub/c.md).\n",
    "b.md": "# Beasts\n\nBeasts.\n\n## Lion\n\nRoars.\n\n## Tiger\n\nStriped.\n",
    "sub/c.md": "# Owl\n\nHoots.\n",
    "d.md": "# Mole\n\nReads [about it](a.md) below ground.\n",
    "e.md": "# Newt\n\nReads [one section](a.md#horse).\n",
}


def found(make_bundle: object, query: str = "zebra", **options: object) -> dict[str, dict[str, object]]:
    index = SearchIndex(make_bundle(LINKED))  # type: ignore[operator]
    return {result["id"]: dict(result) for result in index.search(query, **options)["results"]}  # type: ignore[arg-type]


def test_neighbours_get_a_share_of_the_score(make_bundle: object) -> None:
    results = found(make_bundle)
    seed = results["a#horse"]["score"]
    assert isinstance(seed, float)
    assert results["b#lion"]["score"] == results["sub/c#owl"]["score"] == round2(seed * 0.55)
    assert results["d#mole"]["score"] == results["e#newt"]["score"] == round2(seed * 0.45)


def test_neighbours_say_how_they_were_reached(make_bundle: object) -> None:
    results = found(make_bundle)
    assert [(key, value["relation"]) for key, value in results.items()] == [
        ("a#horse", "direct"),
        ("b#lion", "outgoing-link"),
        ("sub/c#owl", "outgoing-link"),
        ("d#mole", "backlink"),
        ("e#newt", "backlink"),
    ]
    assert results["b#lion"]["neighbor"] is True
    assert results["b#lion"]["matches"] == ["graph"]
    assert "lexicalScore" not in results["b#lion"]
    assert "neighbor" not in results["a#horse"]


def test_a_section_that_was_found_anyway_stays_direct_and_is_raised(make_bundle: object) -> None:
    alone = found(make_bundle, "zebra striped hoots", no_expand=True)
    linked = found(make_bundle, "zebra striped hoots")
    assert linked["sub/c#owl"]["relation"] == "direct"
    assert "graph" in linked["sub/c#owl"]["matches"]  # type: ignore[operator]
    seed, own = alone["a#horse"]["score"], alone["sub/c#owl"]["score"]
    assert linked["sub/c#owl"]["score"] == max(own, round2(seed * 0.55))  # type: ignore[operator,type-var]


def test_links_are_not_followed_when_not_wanted(make_bundle: object) -> None:
    assert list(found(make_bundle, no_expand=True)) == ["a#horse"]


def test_the_second_search_finds_the_same_links(make_bundle: object) -> None:
    index = SearchIndex(make_bundle(LINKED))  # type: ignore[operator]
    first = index.search("zebra")
    assert index.search("zebra") == first == index.search("zebra")


def test_encoded_links_and_links_to_folders_lead_back(make_bundle: object) -> None:
    files = {
        "my page.md": "# Zebra\n\nA zebra.\n",
        "sub/index.md": "# Quagga\n\nA quagga.\n",
        "x.md": "# Reader\n\n[one](my%20page.md) [two](sub/) [three](sub)\n",
    }
    index = SearchIndex(make_bundle(files))  # type: ignore[operator]
    assert [r["id"] for r in index.search("zebra")["results"]] == ["my page#zebra", "x#reader"]
    index = SearchIndex(make_bundle(files))  # type: ignore[operator]
    assert [r["id"] for r in index.search("quagga")["results"]] == ["sub/index#quagga", "x#reader"]


DISGUISED = {
    "a_b.md": "# Zebra\n\nA zebra.\n",
    "x/index.md": "# Quagga\n\nA quagga.\n",
    "x/in.md": "# In\n\nUp [here](.) and [there](./).\n",
    "x/y/deep.md": "# Deep\n\nUp [one](..) and [two](../../%61_b.md).\n",
    "p.md": "# P\n\nTo [it](%61_b.md).\n",
    "q.md": "# Q\n\nTo [it](a\\_b.md) and [quagga](/x#quagga).\n",
    "r.md": "# R\n\nTo [it](a&#95;b.md) and [quagga][q].\n\n[q]: x/\n",
    "s.md": "# S\n\nNowhere [at all](other.md).\n",
    "é.md": "# E\n\nAccent.\n",
    "t.md": "# T\n\nTo [it](e\u0301.md).\n",
}


@pytest.mark.parametrize("query", ["zebra", "quagga", "accent", "deep", "nowhere"])
def test_links_are_found_however_they_are_written(make_bundle: object, query: str) -> None:
    bundle = make_bundle(DISGUISED)  # type: ignore[operator]
    cold, warm = SearchIndex(bundle), SearchIndex(bundle)
    warm.prepare()
    warm.search("x")
    warm.search("y")
    assert warm.links._all is not None or warm.search("zebra")
    assert cold.search(query) == warm.search(query)


def test_a_disguised_link_leads_back(make_bundle: object) -> None:
    index = SearchIndex(make_bundle(DISGUISED))  # type: ignore[operator]
    found = {result["path"] for result in index.search("zebra")["results"]}
    assert {"a_b.md", "p.md", "q.md", "r.md", "x/y/deep.md"} == found
