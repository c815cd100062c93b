from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine import limits
from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.errors import LimitError, OpenKnowledgeError, UsageError
from openknowledge.engine.search import embedding_cache
from openknowledge.engine.search.embedding_cache import read_cache, write_cache
from openknowledge.engine.search.embeddings import (
    PROBE,
    EmbeddingClient,
    EmbeddingError,
    EmbeddingModel,
    Endpoint,
    embedding_text,
    input_key,
    read_answer,
    unit_vector,
)
from openknowledge.engine.search.index import SearchIndex

Answer = Callable[[dict[str, Any]], tuple[int, Any]]


def vector_of(text: str) -> list[float]:
    """Three numbers: how often the text speaks of tokens, keys and coffee."""
    low = text.lower()
    return [float(low.count("token")), float(low.count("key")), float(low.count("coffee")) + 0.001]


def openai(asked: dict[str, Any]) -> tuple[int, Any]:
    rows = [{"index": at, "embedding": vector_of(text)} for at, text in enumerate(asked["input"])]
    return 200, {"data": rows[::-1]}


class Service:
    """A service on this machine that answers as it is told and remembers what it was asked."""

    def __init__(self) -> None:
        self.answer: Answer = openai
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.asked.append(asked)
                service.paths.append(self.path)
                service.headers.append(dict(self.headers))
                status, body = service.answer(asked)
                raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                with contextlib.suppress(OSError):  # the client hangs up on an answer that is too large
                    self.wfile.write(raw)

            def log_message(self, *_arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def client(self, path: str = "", *, timeout: float = 5.0, token: str = "") -> EmbeddingClient:
        return EmbeddingClient(Endpoint.of(self.url + path, token=token), timeout=timeout)


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "must start with http"),
        ("ftp://127.0.0.1", "must start with http"),
        ("file:///etc/passwd", "must start with http"),
        ("http:///v1", "name a host"),
        ("http://example.com/v1", "plain http is only allowed to this machine"),
        ("http://10.0.0.1/v1", "plain http is only allowed to this machine"),
        ("http://localhost.example.com", "plain http is only allowed to this machine"),
        ("http://127.0.0.1.example.com", "plain http is only allowed to this machine"),
        ("https://user:secret@example.com", "must not hold credentials"),
        ("https://example.com/#x", "must not have a fragment"),
        ("https://example.com/#", "must not have a fragment"),
        ("https://example.com:99999/", "not valid"),
        ("https://example.com/a b", "not valid"),
    ],
)
def test_an_url_that_may_not_be_used_is_refused(url: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        Endpoint.of(url)


@pytest.mark.parametrize(
    ("url", "full"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1/embeddings"),
        ("http://127.0.0.1:1/", "http://127.0.0.1:1/v1/embeddings"),
        ("http://[::1]:80/api/embed", "http://[::1]:80/api/embed"),
        ("https://example.com/x?y=1", "https://example.com/x?y=1"),
    ],
)
def test_a_bare_url_gets_the_usual_path(url: str, full: str) -> None:
    assert Endpoint.of(url).url.geturl() == full


def test_a_token_goes_into_the_header_and_nowhere_else(service: Service) -> None:
    client = service.client(token="s3cret")
    client.embed(["a"])
    assert service.headers[0]["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in repr(client.endpoint)
    service.answer = lambda asked: (500, {})
    with pytest.raises(EmbeddingError) as raised:
        client.embed(["b"])
    assert "s3cret" not in str(raised.value)


def test_a_token_that_no_header_can_carry_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot carry"):
        Endpoint.of("http://localhost", token="a\r\nb")


def test_the_model_is_known_by_a_probe(service: Service) -> None:
    model = service.client().model
    assert service.asked == [{"model": "embeddinggemma", "input": [PROBE]}]
    bits = struct.pack(">3f", *vector_of(PROBE))
    assert model.revision == "probe-sha256:" + hashlib.sha256(b"embeddinggemma" + bits).hexdigest()
    assert (model.provider, model.dimensions) == ("openai-compatible-http", 3)


def test_equal_texts_are_asked_for_once_and_many_in_batches_of_64(service: Service) -> None:
    client = service.client()
    texts = [f"token {number % 100}" for number in range(300)]
    assert [list(v) for v in client.embed(texts)] == [list(unsized(vector_of(text))) for text in texts]
    assert [len(asked["input"]) for asked in service.asked] == [1, 64, 36]


def unsized(values: list[float]) -> list[float]:
    return list(struct.unpack("3f", struct.pack("3f", *values)))


def test_both_shapes_of_ollama_are_read(service: Service) -> None:
    service.answer = lambda asked: (200, {"embeddings": [vector_of(text) for text in asked["input"]]})
    assert len(service.client("/api/embed").embed(["a", "token"])) == 2
    service.answer = lambda asked: (200, {"embedding": vector_of(asked["prompt"])})
    assert [v[0] for v in service.client("/api/embeddings").embed(["a", "token"])] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((302, {}), "redirects"),
        ((307, {}), "redirects"),
        ((500, {}), "HTTP 500"),
        ((200, b"<html>"), "valid JSON"),
        ((200, b"\xff"), "valid JSON"),
        ((200, b'{"data": [], "data": []}'), "repeated"),
        ((200, b'{"embedding": [NaN]}'), "NaN"),
        ((200, b'{"embedding": [1e999]}'), "32 bits"),
        ((200, b'{"embedding": [1e300]}'), "32 bits"),
        ((200, b"[" * 100_000), "valid JSON"),
        ((200, []), "JSON object"),
        ((200, {}), "without data"),
        ((200, {"data": [{"embedding": []}]}), "0 dimensions"),
        ((200, {"data": [{"embedding": ["x"]}]}), "no list of numbers"),
        ((200, {"data": [{"embedding": [True]}]}), "no list of numbers"),
        ((200, {"data": [3]}), "no objects"),
        ((200, {"data": [{"index": 4, "embedding": [1]}]}), "indexes"),
        ((200, {"data": [{"embedding": [1]}, {"embedding": [1]}]}), "2 vectors for 1"),
        ((200, {"embedding": [0.5] * (limits.EMBEDDING_DIMENSIONS + 1)}), "65537 dimensions"),
    ],
)
def test_a_wrong_answer_fails_and_names_the_route(
    service: Service, answer: tuple[int, Any], reason: str
) -> None:
    service.answer = lambda asked: answer
    with pytest.raises(EmbeddingError, match=reason) as raised:
        service.client().embed(["a"])
    assert raised.value.message.startswith("the vector route failed")


def test_the_most_dimensions_are_accepted() -> None:
    row = [0.5] * limits.EMBEDDING_DIMENSIONS
    assert len(read_answer(json.dumps({"embedding": row}).encode(), 1, "x")[0]) == len(row)


def test_a_redirect_is_not_followed(service: Service) -> None:
    service.answer = lambda asked: (308, {})
    with pytest.raises(EmbeddingError):
        service.client().embed(["a"])
    assert service.paths == ["/v1/embeddings"]


def test_a_change_of_dimensions_fails(service: Service) -> None:
    client = service.client()
    assert client.model.dimensions == 3
    service.answer = lambda asked: (200, {"embeddings": [[1.0, 2.0]]})
    with pytest.raises(EmbeddingError, match="2 dimensions, then with 3"):
        client.embed(["a"])


def test_an_answer_that_is_too_large_is_not_read(service: Service) -> None:
    service.answer = lambda asked: (200, b" " * (33 * 1024 * 1024))
    with pytest.raises(EmbeddingError, match="more than 33554432 bytes"):
        service.client().embed(["a"])


def test_a_service_that_is_down_fails() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(EmbeddingError, match="cannot be reached"):
        EmbeddingClient(Endpoint.of(f"http://127.0.0.1:{port}")).embed(["a"])


def test_a_service_that_does_not_answer_in_time_fails(service: Service) -> None:
    def slow(asked: dict[str, Any]) -> tuple[int, Any]:
        time.sleep(1.0)
        return openai(asked)

    service.answer = slow
    with pytest.raises(EmbeddingError, match=r"within 0.2 seconds"):
        service.client(timeout=0.2).embed(["a"])


def test_a_service_that_answers_drop_by_drop_fails_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            link, _ = server.accept()
            with link:
                link.recv(65_536)
                try:
                    link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                    for _ in range(100):
                        link.sendall(b" ")
                        time.sleep(0.05)
                except OSError:
                    return

        threading.Thread(target=drip, daemon=True).start()
        started = time.monotonic()
        client = EmbeddingClient(Endpoint.of(f"http://127.0.0.1:{server.getsockname()[1]}"), timeout=0.4)
        with pytest.raises(EmbeddingError, match=r"within 0.4 seconds"):
            client.embed(["a"])
        assert time.monotonic() - started < 3.0


def test_a_text_that_is_too_large_is_not_sent(service: Service) -> None:
    client = service.client()
    assert client.model.dimensions == 3
    with pytest.raises(EmbeddingError, match="more than the 8388608 allowed"):
        client.embed(["x" * limits.EMBEDDING_REQUEST_BYTES])
    assert len(service.asked) == 1


def test_requests_stay_below_their_bound(service: Service) -> None:
    client = service.client()
    client.embed([f"{number}" + "x" * 1_000_000 for number in range(10)])
    assert [len(asked["input"]) for asked in service.asked] == [1, 8, 2]


# Searching with a service


def test_a_service_finds_what_no_word_finds(service: Service, bundle: Bundle) -> None:
    index = SearchIndex(bundle)
    route = index.embedding_route(Endpoint.of(service.url))
    service.answer = lambda asked: (
        200,
        {"embeddings": [vector_of(text.replace("beverage", "coffee")) for text in asked["input"]]},
    )
    assert index.search("beverage")["results"] == []
    result = index.search("beverage", route=route, no_expand=True)["results"][0]
    assert result["id"] == "notes/coffee#coffee"
    assert result["matches"] == ["vector"]
    assert result["score"] == 0.1  # 0.05 for the route's own rank and 0.05 for similarity


def test_a_failing_service_fails_the_search(bundle: Bundle) -> None:
    index = SearchIndex(bundle)
    route = index.embedding_route(Endpoint.of("http://127.0.0.1:9"))
    with pytest.raises(EmbeddingError):
        index.search("token", route=route)


def test_vectors_are_kept_and_not_asked_for_again(service: Service, bundle: Bundle, tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "vectors.json"
    first = SearchIndex(bundle)
    answer = first.search("token", route=first.embedding_route(Endpoint.of(service.url), cache))
    content = json.loads(cache.read_text())
    assert cache.read_bytes().count(b"\n") == 1
    assert cache.stat().st_mode & 0o777 == 0o600
    assert [entry["inputSha256"] for entry in content["entries"]] == sorted(
        input_key(embedding_text(bundle.by_path[section.path], section)) for section in bundle.sections
    )
    service.asked.clear()
    second = SearchIndex(bundle)
    again = second.search("token", route=second.embedding_route(Endpoint.of(service.url), cache))
    assert [len(asked["input"]) for asked in service.asked] == [1, 1]  # the probe and the query
    assert again == answer


# The cache file

MODEL = EmbeddingModel("p", "m", "r", 2)
KEY = "a" * 64


def test_a_cache_gives_back_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    vector = unit_vector([3.0, 4.0])
    write_cache(path, MODEL, {"b" * 64: vector, KEY: vector})
    assert read_cache(path, MODEL) == {KEY: vector, "b" * 64: vector}
    first = path.read_bytes()
    write_cache(path, MODEL, read_cache(path, MODEL))
    assert path.read_bytes() == first


def test_a_cache_of_another_model_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    write_cache(path, MODEL, {KEY: unit_vector([1.0, 0.0])})
    assert read_cache(path, EmbeddingModel("p", "m", "other", 2)) == {}
    assert read_cache(tmp_path / "missing.json", MODEL) == {}


def cached(**changes: Any) -> str:
    content = {"schemaVersion": "1", "modelFingerprint": MODEL.fingerprint, "dimensions": 2, "entries": []}
    return json.dumps({**content, **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        cached(extra=1),
        cached(schemaVersion="2"),
        cached(entries={}),
        cached(entries=[{"inputSha256": "A" * 64, "vector": [1, 2]}]),
        cached(entries=[{"inputSha256": KEY, "vector": [1]}]),
        cached(entries=[{"inputSha256": KEY, "vector": [1, "2"]}]),
        cached(entries=[{"inputSha256": KEY, "vector": [1, 2], "x": 1}]),
        '{"schemaVersion": "1", "schemaVersion": "1"}',
    ],
)
def test_a_broken_cache_is_an_error_that_says_what_to_do(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(OpenKnowledgeError, match="delete it to make a new one"):
        read_cache(path, MODEL)


def test_a_cache_that_is_a_link_or_a_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text(cached())
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    for path in (tmp_path / "link.json", tmp_path):
        with pytest.raises(OpenKnowledgeError, match="cannot be used"):
            read_cache(path, MODEL)


def test_a_cache_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.json"
    path.write_text(cached())
    size = path.stat().st_size
    monkeypatch.setattr(limits, "EMBEDDING_CACHE_BYTES", size)
    assert embedding_cache.read_cache(path, MODEL) == {}
    monkeypatch.setattr(limits, "EMBEDDING_CACHE_BYTES", size - 1)
    with pytest.raises(LimitError):
        embedding_cache.read_cache(path, MODEL)
    with pytest.raises(LimitError):
        write_cache(path, MODEL, {KEY: unit_vector([1.0, 1.0])})


def test_the_fingerprint_keeps_the_order_of_the_fields() -> None:
    text = '{"provider":"p","id":"a\\u0026b","revision":"r","dimensions":2,"metric":"cosine"}'
    assert EmbeddingModel("p", "a&b", "r", 2).fingerprint == hashlib.sha256(text.encode()).hexdigest()
