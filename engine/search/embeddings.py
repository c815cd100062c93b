"""Vectors from an embedding service: OpenAI-compatible or Ollama, over HTTP, with a cache file.

Every bound is checked before bytes are sent or believed: plain HTTP only to this machine, no redirects, a
deadline, sizes of request and response, numbers that are finite, one dimension for all. A request that fails
fails the search; nothing else is put in its place.
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import json
import math
import socket
import ssl
import struct
import time
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from openknowledge.engine import limits
from openknowledge.engine.bundle.digests import sha256_hex
from openknowledge.engine.bundle.document import Document
from openknowledge.engine.bundle.sections import Section
from openknowledge.engine.errors import LimitError, OpenKnowledgeError, UsageError
from openknowledge.engine.search.vectors import metadata_text

PROVIDER = "openai-compatible-http"
DEFAULT_MODEL = "embeddinggemma"
DEFAULT_PATH = "/v1/embeddings"
OLLAMA_SINGLE_PATH = "/api/embeddings"  # takes one prompt and gives one ``embedding``
PROBE = "openknowledge embedding model identity probe"
BATCH = 64

URL_VARIABLE = "OPENKNOWLEDGE_EMBEDDING_URL"
MODEL_VARIABLE = "OPENKNOWLEDGE_EMBEDDING_MODEL"
CACHE_VARIABLE = "OPENKNOWLEDGE_EMBEDDING_CACHE"
TOKEN_VARIABLE = "OPENKNOWLEDGE_EMBEDDING_TOKEN"  # noqa: S105 - the name of a variable


class EmbeddingError(OpenKnowledgeError):
    """The embedding service could not be used. The message names the route."""

    def __init__(self, message: str) -> None:
        super().__init__(f"the vector route failed: {message}")


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """Which model made vectors. Vectors of different models are never compared."""

    provider: str
    id: str
    revision: str
    dimensions: int
    metric: str = "cosine"

    def as_json(self) -> dict[str, Any]:
        """Return the model as results show it."""
        return {
            "provider": self.provider,
            "id": self.id,
            "revision": self.revision,
            "dimensions": self.dimensions,
            "metric": self.metric,
        }

    @property
    def fingerprint(self) -> str:
        """The digest that a cache is bound to."""
        text = json.dumps(self.as_json(), ensure_ascii=False, separators=(",", ":"))
        for character, escaped in (("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e")):
            text = text.replace(character, escaped)
        return sha256_hex(text.encode())


LOCAL_MODEL = EmbeddingModel("openknowledge", "hashed-word-trigram", "1", 256)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A checked address of an embedding service."""

    url: SplitResult
    model: str = DEFAULT_MODEL
    token: str = ""

    @classmethod
    def of(cls, url: str, *, model: str = "", token: str = "") -> Endpoint:
        """Check and complete ``url``. Raises ``UsageError`` for one that may not be used."""
        try:
            parts = urlsplit(url.strip())
            port = parts.port
        except ValueError as error:
            raise UsageError(f"the embedding URL is not valid: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("the embedding URL must start with http:// or https:// and name a host")
        if parts.username is not None or parts.password is not None:
            raise UsageError(f"the embedding URL must not hold credentials; use {TOKEN_VARIABLE}")
        if parts.fragment or "#" in url:
            raise UsageError("the embedding URL must not have a fragment")
        if any(ch <= " " or ch == "\x7f" for ch in url.strip()) or port == 0:
            raise UsageError("the embedding URL is not valid")
        if parts.scheme == "http" and not _is_loopback(parts.hostname):
            raise UsageError(f"plain http is only allowed to this machine; use https for {parts.hostname}")
        if any(not "!" <= ch <= "~" for ch in token):
            raise UsageError(f"{TOKEN_VARIABLE} holds characters that a header cannot carry")
        if parts.path in ("", "/"):
            parts = parts._replace(path=DEFAULT_PATH)
        return cls(parts, model or DEFAULT_MODEL, token)

    def __repr__(self) -> str:
        return f"Endpoint({self.url.geturl()!r}, {self.model!r})"  # never the token


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class EmbeddingClient:
    """Asks an endpoint for vectors. The model's identity is found by a probe when first needed."""

    def __init__(self, endpoint: Endpoint, *, timeout: float = limits.EMBEDDING_SECONDS) -> None:
        self.endpoint = endpoint
        self.timeout = timeout
        self._model: EmbeddingModel | None = None

    @property
    def model(self) -> EmbeddingModel:
        """The model that answers. Raises ``EmbeddingError``."""
        if self._model is None:
            vector = self._request([PROBE])[0]
            digest = hashlib.sha256(self.endpoint.model.encode())
            digest.update(struct.pack(f">{len(vector)}f", *vector))
            revision = f"probe-sha256:{digest.hexdigest()}"
            self._model = EmbeddingModel(PROVIDER, self.endpoint.model, revision, len(vector))
        return self._model

    def embed(self, texts: Sequence[str]) -> list[array[float]]:
        """Return one vector for each text, not scaled; equal texts are asked for once.

        Raises ``EmbeddingError`` for anything that is wrong with the service or its answer.
        """
        dimensions = self.model.dimensions
        distinct = list(dict.fromkeys(texts))
        known: dict[str, array[float]] = {}
        for batch in self._batches(distinct):
            for text, vector in zip(batch, self._request(batch), strict=True):
                if len(vector) != dimensions:
                    raise EmbeddingError(
                        f"{self._name} answered with {len(vector)} dimensions, then with {dimensions}"
                    )
                known[text] = vector
        return [known[text] for text in texts]

    @property
    def _name(self) -> str:
        return self.endpoint.url.geturl()

    def _batches(self, texts: Sequence[str]) -> Iterable[list[str]]:
        most = 1 if self.endpoint.url.path == OLLAMA_SINGLE_PATH else BATCH
        batch: list[str] = []
        size = 0
        for text in texts:
            own = len(json.dumps(text).encode()) + 1
            room = limits.EMBEDDING_REQUEST_BYTES - 4_096 - len(self.endpoint.model.encode()) * 6
            if batch and (len(batch) == most or size + own > room):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += own
        if batch:
            yield batch

    def _request(self, texts: list[str]) -> list[array[float]]:
        single = self.endpoint.url.path == OLLAMA_SINGLE_PATH
        asked: dict[str, Any] = {"model": self.endpoint.model}
        if single:
            asked["prompt"] = texts[0]
        else:
            asked["input"] = texts
        body = json.dumps(asked).encode()
        if len(body) > limits.EMBEDDING_REQUEST_BYTES:
            raise EmbeddingError(
                f"a request of {len(body)} bytes is more than the {limits.EMBEDDING_REQUEST_BYTES} allowed"
            )
        return read_answer(self._post(body), len(texts), self._name)

    def _post(self, body: bytes) -> bytes:
        url = self.endpoint.url
        deadline = time.monotonic() + self.timeout
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.endpoint.token:
            headers["Authorization"] = f"Bearer {self.endpoint.token}"
        target = f"{url.path}?{url.query}" if url.query else url.path
        connection: http.client.HTTPConnection
        host = url.hostname or ""
        if url.scheme == "https":
            connection = http.client.HTTPSConnection(
                host, url.port, timeout=self.timeout, context=ssl.create_default_context()
            )
        else:
            connection = http.client.HTTPConnection(host, url.port, timeout=self.timeout)
        try:
            connection.request("POST", target, body, headers)
            link = connection.sock
            _wait(link, deadline)
            response = connection.getresponse()
            if 300 <= response.status < 400:
                raise EmbeddingError(f"{self._name} redirects (HTTP {response.status}); name the final URL")
            if response.status != 200:
                raise EmbeddingError(f"{self._name} answered HTTP {response.status}")
            return self._read(link, response, deadline)
        except TimeoutError:
            raise EmbeddingError(f"{self._name} did not answer within {self.timeout:g} seconds") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise EmbeddingError(f"{self._name} cannot be reached: {reason}") from None
        finally:
            connection.close()

    def _read(self, link: socket.socket | None, response: http.client.HTTPResponse, deadline: float) -> bytes:
        most = limits.EMBEDDING_RESPONSE_BYTES
        too_large = EmbeddingError(f"{self._name} answered with more than {most} bytes")
        if response.length is not None and response.length > most:
            raise too_large
        parts = []
        size = 0
        while True:
            _wait(link, deadline)
            part = response.read1(65_536)
            if not part:
                break
            size += len(part)
            if size > most:
                raise too_large
            parts.append(part)
        if response.length:
            raise EmbeddingError(f"{self._name} closed the connection before the end of its answer")
        return b"".join(parts)


def _wait(link: socket.socket | None, deadline: float) -> None:
    """Let the next operation on the socket take no longer than what is left until ``deadline``."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    if link is not None:
        link.settimeout(left)


def read_answer(data: bytes, count: int, name: str) -> list[array[float]]:
    """Return the vectors in an answer, in the order of the inputs.

    Takes ``data[].embedding`` (OpenAI), ``embeddings`` and ``embedding`` (Ollama). Raises ``EmbeddingError``.
    """
    try:
        answer = strict_json(data)
    except ValueError as error:
        raise EmbeddingError(f"{name} did not answer with valid JSON: {error}") from None
    if not isinstance(answer, dict):
        raise EmbeddingError(f"{name} did not answer with a JSON object")
    rows: list[Any]
    if isinstance(answer.get("data"), list):
        rows = _in_order(answer["data"], name)
    elif isinstance(answer.get("embeddings"), list):
        rows = answer["embeddings"]
    elif isinstance(answer.get("embedding"), list):
        rows = [answer["embedding"]]
    else:
        raise EmbeddingError(f"{name} answered without data, embeddings or embedding")
    if len(rows) != count:
        raise EmbeddingError(f"{name} answered with {len(rows)} vectors for {count} texts")
    vectors = [_vector(row, name) for row in rows]
    if len({len(vector) for vector in vectors}) > 1:
        raise EmbeddingError(f"{name} answered with vectors of different dimensions")
    return vectors


def _in_order(items: list[Any], name: str) -> list[Any]:
    if not all(isinstance(item, dict) for item in items):
        raise EmbeddingError(f"{name} answered with data that are no objects")
    numbers = [item.get("index", number) for number, item in enumerate(items)]
    if sorted(number for number in numbers if type(number) is int) != list(range(len(items))):
        raise EmbeddingError(f"{name} answered with indexes that do not count its vectors")
    return [item.get("embedding") for _, item in sorted(zip(numbers, items, strict=True), key=lambda p: p[0])]


def _vector(row: Any, name: str) -> array[float]:
    if not isinstance(row, list) or any(type(value) not in (int, float) for value in row):
        raise EmbeddingError(f"{name} answered with a vector that is no list of numbers")
    if not 1 <= len(row) <= limits.EMBEDDING_DIMENSIONS:
        raise EmbeddingError(
            f"{name} answered with {len(row)} dimensions; 1 to {limits.EMBEDDING_DIMENSIONS} are accepted"
        )
    try:
        vector = array("f", row)
    except OverflowError:
        vector = array("f", [math.inf])
    if not all(math.isfinite(value) for value in vector):
        raise EmbeddingError(f"{name} answered with a number that 32 bits cannot hold")
    return vector


def strict_json(data: bytes) -> Any:
    """Return the value of JSON text in UTF-8. Raises ``ValueError`` for repeated keys, NaN, deep nesting."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key is repeated in an object")
        return found

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is not JSON")

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def unit_vector(vector: Iterable[float]) -> array[float]:
    """Return ``vector`` at length 1 in 32-bit floats; a zero vector stays."""
    values = list(vector)
    length = math.sqrt(math.fsum(value * value for value in values))
    return array("f", [value / length for value in values]) if length else array("f", values)


def embedding_text(page: Document, section: Section) -> str:
    """Return the text of a section that a model sees."""
    return "\n".join(
        [
            page.title,
            section.heading,
            " ".join(section.heading_path),
            page.description,
            metadata_text(page.fields),
            section.text,
        ]
    )


def input_key(text: str) -> str:
    """Return the key of a text in a cache."""
    return sha256_hex(text.replace("\r\n", "\n").encode())


def check_limit(size: int) -> None:
    """Raise ``LimitError`` for a cache of more than its bound."""
    if size > limits.EMBEDDING_CACHE_BYTES:
        raise LimitError(
            f"the embedding cache has {size} bytes; at most {limits.EMBEDDING_CACHE_BYTES} are accepted",
            limit="EMBEDDING_CACHE_BYTES",
        )
