from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openknowledge.engine import limits
from openknowledge.engine.bundle.bundle import Bundle, bundle_from_files
from openknowledge.engine.errors import LimitError, UsageError
from openknowledge.engine.search.index import SearchIndex

WORDS = ["token", "tokens", "key", "keyRing", "key_ring", "rotate", "rotation", "Café", "schön"]
WORDS += ["ключ", "ключи", "東京都", "v1.2.3", "the", "of", "x", "aa", "aaa"]


def ids(index: SearchIndex, query: str, **options: object) -> list[str]:
    return [result["id"] for result in index.search(query, **options)["results"]]  # type: ignore[arg-type]


def test_the_section_about_the_question_comes_first(bundle: Bundle) -> None:
    assert ids(SearchIndex(bundle), "how many minutes does a token live")[0] == "guides/tokens#lifetime"


@pytest.mark.parametrize(
    ("query", "section"),
    [
        ("rotating", "guides/keys#rotation"),  # another form of the word
        ("rot", "guides/keys#rotation"),  # its beginning
        ("rotaton", "guides/keys#rotation"),  # misspelt
        ("rotate_signing_key", "guides/keys#rotation"),  # an identifier as a whole
        ("signing_key", "guides/keys#rotation"),  # a part of it
        ("getKeyRing", "guides/keys#rotation"),
        ("keyring", "guides/keys#rotation"),  # glued, other case
        ("NQ-1042", "guides/tokens#audience"),
        ("1042", "guides/tokens#audience"),
        ('"short-lived"', "guides/tokens#access-tokens"),
        ("machne flor", "notes/coffee#coffee"),
    ],
)
def test_words_are_found_in_other_forms(bundle: Bundle, query: str, section: str) -> None:
    assert section in ids(SearchIndex(bundle), query, no_expand=True)[:2]


def test_typos_are_not_tolerated_without_fuzzy(bundle: Bundle) -> None:
    assert ids(SearchIndex(bundle), "rotaton", fuzzy=False) == []


LANGUAGES = {
    "de.md": "# Größe\n\nDie Größe der Schlüssel ist begrenzt.\n\n## Signaturschlüssel\n\nJährlich neu.\n",
    "ru.md": "# Ключи\n\nКлючи подписи меняются каждые девяносто дней.\n",
    "el.md": "# Κλειδιά\n\nΤα κλειδιά υπογραφής αλλάζουν.\n",
    "ja.md": "# 署名鍵\n\n署名鍵は九十日ごとに交換する。\n",
    "ko.md": "# 서명 키\n\n데이터베이스를 백업한다.\n",
    "he.md": "# מפתחות\n\nהמפתח מוחלף כל תשעים יום.\n",
    "mixed.md": "# TLS証明書\n\nServer証明書を更新 renew_cert する。\n",
}


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("grosse", "de.md"),
        ("GRÖßE", "de.md"),
        ("schlussel", "de.md"),
        ("ключ", "ru.md"),
        ("ПОДПИСЬЮ", "ru.md"),
        ("κλειδι", "el.md"),
        ("ΚΛΕΙΔΙΆ", "el.md"),
        ("交換", "ja.md"),
        ("署名鍵", "ja.md"),
        ("데이터베이스", "ko.md"),
        ("המפתח", "he.md"),
        ("証明書", "mixed.md"),
        ("server証明書", "mixed.md"),
        ("renew cert", "mixed.md"),
    ],
)
def test_other_scripts_are_found(make_bundle: object, query: str, page: str) -> None:
    index = SearchIndex(make_bundle(LANGUAGES))  # type: ignore[operator]
    assert index.search(query)["results"][0]["path"] == page


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "!!! ??? ...",
        "\x00\x01\x1b[31m",
        "\u202eשלום",
        "(.*)+[a-z]{1,99}\\",
        "a" * 4_000,
        "ß" * 4_096,
        "token " * 682,
        " ".join(f"w{number}" for number in range(800))[: limits.TEXT_QUERY_RUNES],
        "\ud800",
        '"',
        '"unclosed phrase',
    ],
)
def test_no_query_within_the_limit_is_refused(bundle: Bundle, query: str) -> None:
    results = SearchIndex(bundle).search(query)["results"]
    assert len(results) <= 12


@pytest.mark.parametrize("query", ["", "  \n", "!?", "\x00"])
def test_a_query_without_words_has_no_results(bundle: Bundle, query: str) -> None:
    assert SearchIndex(bundle).search(query)["results"] == []


def test_a_query_of_one_character_too_many_is_refused(bundle: Bundle) -> None:
    with pytest.raises(LimitError, match="4097 characters"):
        SearchIndex(bundle).search("a" * 4_097)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(bundle: Bundle, limit: int) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        SearchIndex(bundle).search("token", limit=limit)


def test_the_limit_cuts_the_results(bundle: Bundle) -> None:
    assert len(SearchIndex(bundle).search("token", limit=1)["results"]) == 1


def test_filters_restrict_before_the_cut(bundle: Bundle) -> None:
    index = SearchIndex(bundle)
    assert index.search("token", limit=1)["results"][0]["path"] == "guides/tokens.md"
    filtered = index.search("token", limit=1, types=[" runbook "])["results"]
    assert [result["path"] for result in filtered] == ["guides/keys.md"]


def test_filters_of_one_kind_are_alternatives_and_of_two_kinds_conditions(bundle: Bundle) -> None:
    index = SearchIndex(bundle)
    both = {result["path"] for result in index.search("token", types=["Guide", "RUNBOOK"])["results"]}
    assert both == {"guides/tokens.md", "guides/keys.md"}
    assert {r["path"] for r in index.search("token", types=["Runbook"], tags=["token"])["results"]} == set()


def test_filters_restrict_neighbours(bundle: Bundle) -> None:
    results = SearchIndex(bundle).search("fifteen minutes", types=["Guide"])["results"]
    assert {result["path"] for result in results} == {"guides/tokens.md"}


def test_the_route_names_the_steps(bundle: Bundle) -> None:
    index = SearchIndex(bundle)
    assert index.search("token", no_expand=True)["route"] == ["bm25", "vector", "rerank"]
    assert index.search("token", tags=["token"])["route"] == [
        "bm25",
        "vector",
        "metadata_filter",
        "rerank",
        "link_expansion",
    ]


def test_equal_scores_are_in_the_order_of_path_and_line(make_bundle: object) -> None:
    same = "# Same\n\nzebra\n\n# Same\n\nzebra\n"
    index = SearchIndex(make_bundle({f"{name}.md": same for name in "cab"}))  # type: ignore[operator]
    found = [(r["path"], r["lineStart"]) for r in index.search("zebra", no_expand=True)["results"]]
    assert [path for path, _ in found] == sorted(path for path, _ in found)
    assert found[:2] == [("a.md", 1), ("a.md", 5)]


def test_an_empty_bundle_answers(make_bundle: object) -> None:
    assert SearchIndex(make_bundle({})).search("token")["results"] == []  # type: ignore[operator]


def test_a_bundle_without_sections_answers(make_bundle: object) -> None:
    index = SearchIndex(make_bundle({"a.md": "# Only\n## Headings\n"}))  # type: ignore[operator]
    assert index.search("headings")["results"] == []
    assert index.search("headings")["results"] == []


page_texts = st.lists(
    st.lists(st.sampled_from([*WORDS, "\n\n## ", "\n\n", "# "]), min_size=1, max_size=25).map(" ".join),
    min_size=1,
    max_size=6,
)
queries = st.lists(st.sampled_from([*WORDS, "tokne", "keyring", '"key ring"', "zzz"]), max_size=5).map(
    " ".join
)


@settings(max_examples=60, deadline=None)
@given(page_texts, queries)
def test_the_first_question_and_later_ones_are_answered_alike(texts: list[str], query: str) -> None:
    files = [
        (f"p{number}.md", f"---\ntitle: {WORDS[number]}\n---\n# {text}\n".encode())
        for number, text in enumerate(texts)
    ]
    bundle = bundle_from_files(Path("/bundle"), files)
    scanning, indexed = SearchIndex(bundle), SearchIndex(bundle)
    indexed.prepare()
    first = scanning.search(query, explain=True)
    assert json.dumps(first) == json.dumps(indexed.search(query, explain=True))
    assert json.dumps(first) == json.dumps(scanning.search(query, explain=True))


def test_a_cold_search_does_not_import_numpy(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Token\n\nA token.\n")
    code = (
        "import sys\n"
        "from openknowledge.engine.bundle.bundle import read_bundle\n"
        "from openknowledge.engine.search.index import SearchIndex\n"
        "assert SearchIndex(read_bundle(sys.argv[1])).search('token')['results']\n"
        "print(sorted({'numpy', 'bm25s', 'pydantic', 'rich'} & set(sys.modules)))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "text",
    [
        "a" + " " * 200_000 + "b zebra",
        "a" * 500_000 + " camelCase zebra",
        "](" * 50_000 + " zebra",
        "[" * 50_000 + " zebra",
        "- " * 50_000 + " zebra",
        "zebra " * 50_000,
    ],
)
def test_long_runs_of_anything_take_linear_time(make_bundle: object, text: str) -> None:
    index = SearchIndex(make_bundle({"a.md": f"# A\n\n{text}\n"}))  # type: ignore[operator]
    started = time.process_time()
    assert index.search("zebra")["results"]
    assert time.process_time() - started < 10.0
