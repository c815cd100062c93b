"""Fetches one page over HTTP: the only code of the product that opens a network connection.

It runs when somebody pins evidence by URL. No credentials are sent, no cookies kept, no more than a bounded
number of redirects followed, each checked again, and all of it ends in bounded time and space.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, urljoin, urlsplit, urlunsplit

from openknowledge.engine import limits
from openknowledge.engine.errors import LimitError, OpenKnowledgeError
from openknowledge.engine.version import __version__

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a server answered: the bytes, their media type, and where they came from in the end."""

    data: bytes
    media_type: str
    final_url: str


def is_url(text: str) -> bool:
    """Whether ``text`` is an address that can be fetched: HTTP or HTTPS."""
    return text.lower().startswith(("http://", "https://"))


def fetch(url: str, *, seconds: float = limits.FETCH_SECONDS) -> Fetched:
    """Return what ``url`` answers, following redirects.

    Raises ``OpenKnowledgeError`` for an address that is not plain HTTP(S) or carries credentials, for a
    redirect that leads from a public address to a private one or from HTTPS to HTTP, for any final status but
    2xx, an encoded or cut-off body, and when it cannot be reached; ``LimitError`` for a body of more than
    ``EVIDENCE_BYTES``, too many redirects, and after ``seconds``.
    """
    checked_url(url)
    run = _Run(url)
    # a thread of its own: looking up a name cannot be interrupted, and bytes may drip for ever
    worker = threading.Thread(target=run, name="okn-fetch", daemon=True)
    worker.start()
    worker.join(seconds)
    if worker.is_alive():
        run.cancel()
        raise LimitError(f"{_shown(url)}: no complete answer after {seconds:g} s", limit="FETCH_SECONDS")
    if run.error is not None:
        raise run.error
    if run.result is None:
        raise OpenKnowledgeError(f"{_shown(url)}: the fetch ended without an answer")
    return run.result


def checked_url(url: str) -> SplitResult:
    """Return the parts of ``url``. Raises ``OpenKnowledgeError`` for one that must not be fetched."""
    if len(url) > limits.URL_CHARACTERS:
        raise LimitError(
            f"the URL has {len(url)} characters; at most {limits.URL_CHARACTERS} are allowed",
            limit="URL_CHARACTERS",
        )
    if re.search(r"[\x00-\x20\x7f\\]", url):
        raise OpenKnowledgeError(f"{_shown(url)}: blanks, control characters and \\ are not part of a URL")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise OpenKnowledgeError(f"{_shown(url)} is not a URL: {error}") from None
    if parts.scheme.lower() not in ("http", "https"):
        raise OpenKnowledgeError(f"{_shown(url)}: only http and https are fetched")
    if not parts.hostname or port == 0:
        raise OpenKnowledgeError(f"{_shown(url)}: the URL names no host")
    if parts.username is not None or parts.password is not None:
        raise OpenKnowledgeError("the URL carries a user name or password; evidence is fetched without any")
    return parts


@dataclass
class _Run:
    url: str
    result: Fetched | None = None
    error: OpenKnowledgeError | None = None
    _connection: HTTPConnection | None = field(default=None, repr=False)
    _cancelled: bool = False
    _may_be_private: bool = True

    def __call__(self) -> None:
        from http.client import HTTPException

        at = self.url
        try:
            self.result = self._follow()
        except OpenKnowledgeError as error:
            self.error = error
        except HTTPException as error:
            said = str(error) or type(error).__name__
            self.error = OpenKnowledgeError(f"{_shown(at)}: the server's answer is broken: {said[:200]}")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self.error = OpenKnowledgeError(f"{_shown(at)}: cannot be fetched: {reason}")
        finally:
            self._close()

    def cancel(self) -> None:
        """Let a thread that still waits for the server end."""
        self._cancelled = True
        sock = self._connection.sock if self._connection is not None else None
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)  # closing alone would not wake the thread that reads

    def _close(self) -> None:
        connection = self._connection
        if connection is not None:
            connection.close()

    def _follow(self) -> Fetched:
        url = self.url
        private = False
        for hop in range(limits.FETCH_REDIRECTS + 1):
            parts = checked_url(url)
            response, is_private = self._ask(parts)
            if hop == 0:
                private = is_private
            if response.status not in _REDIRECTS:
                return self._answer(url, response)
            location = response.getheader("Location")
            self._close()
            if not location:
                raise OpenKnowledgeError(f"{_shown(url)}: status {response.status} without a Location")
            target = urljoin(url, location.strip())
            if urlsplit(url).scheme.lower() == "https" and not target.lower().startswith("https:"):
                raise OpenKnowledgeError(f"{_shown(url)}: redirects from https to {_shown(target)}")
            url = target
            self._may_be_private = private
        raise LimitError(
            f"{_shown(self.url)}: more than {limits.FETCH_REDIRECTS} redirects", limit="FETCH_REDIRECTS"
        )

    def _ask(self, parts: SplitResult) -> tuple[HTTPResponse, bool]:
        from http.client import HTTPConnection, HTTPSConnection

        host = parts.hostname or ""
        kind = HTTPSConnection if parts.scheme.lower() == "https" else HTTPConnection
        connection = kind(host, parts.port, timeout=limits.FETCH_SECONDS)
        self._connection = connection
        connection.connect()
        if self._cancelled:
            raise OSError("cancelled")
        # the address of the peer, not of a look-up before: names may answer differently the second time
        is_private = _is_private(connection.sock.getpeername()[0])
        if is_private and not self._may_be_private:
            raise OpenKnowledgeError(
                f"{_shown(self.url)}: redirects to {host}, which has a private address; "
                "fetch it by its own URL"
            )
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=-._~")
        query = quote(parts.query, safe="/%:@!$&'()*+,;=-._~?")
        target = urlunsplit(("", "", path, query, ""))
        headers = {
            "User-Agent": f"okn/{__version__}",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            "Connection": "close",
        }
        connection.request("GET", target, headers=headers)
        return connection.getresponse(), is_private

    def _answer(self, url: str, response: HTTPResponse) -> Fetched:
        if not 200 <= response.status < 300 or response.status == 206:
            raise OpenKnowledgeError(f"{_shown(url)}: answered {response.status} {response.reason[:100]}")
        encoding = (response.getheader("Content-Encoding") or "identity").strip().lower()
        if encoding != "identity":
            raise OpenKnowledgeError(f"{_shown(url)}: the answer is encoded ({encoding[:40]}) unasked")
        length = response.length
        if length is not None and length > limits.EVIDENCE_BYTES:
            raise _too_large(url)
        chunks: list[bytes] = []
        size = 0
        while chunk := response.read(_CHUNK):
            size += len(chunk)
            if size > limits.EVIDENCE_BYTES:
                raise _too_large(url)
            chunks.append(chunk)
        if length is not None and size != length:
            raise OpenKnowledgeError(f"{_shown(url)}: the answer was cut off after {size} of {length} bytes")
        media_type = _media_type(response.getheader("Content-Type"))
        return Fetched(b"".join(chunks), media_type, _without_fragment(url))


def _without_fragment(url: str) -> str:
    return urlsplit(url)._replace(fragment="").geturl()


def _is_private(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    return not (mapped or found).is_global


_MEDIA_TYPE = re.compile(
    r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}"
    r"(?:; ?charset=\"?([a-z0-9_.:+-]{1,40})\"?)?"
)


def _media_type(header: str | None) -> str:
    """Return a media type with at most its charset, ``""`` for anything else."""
    text = re.sub(r"\s*;\s*", "; ", (header or "").strip().lower())
    found = _MEDIA_TYPE.match(text)
    if found is None:
        return ""
    kind = found[0].partition(";")[0].strip()
    return f"{kind}; charset={found[1]}" if found[1] else kind


def _too_large(url: str) -> LimitError:
    return LimitError(f"{_shown(url)}: larger than {limits.EVIDENCE_BYTES} bytes", limit="EVIDENCE_BYTES")


def _shown(url: str) -> str:
    plain = "".join(character if character.isprintable() else "?" for character in url)
    # what stands before an @ may be a secret
    plain = re.sub(r"(?<=//)[^/@]*@", "...@", plain)
    return plain if len(plain) <= 120 else plain[:117] + "..."
