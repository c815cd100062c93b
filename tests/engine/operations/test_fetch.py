"""One page is fetched over HTTP within bounds. The server of these tests is on this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from openknowledge.engine import limits
from openknowledge.engine.errors import LimitError, OpenKnowledgeError
from openknowledge.engine.operations import fetch as module
from openknowledge.engine.operations.fetch import fetch, is_url

Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """Answers by path; ``seen`` are the headers of every request."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.seen: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.seen.append({"path": self.path, **{k.lower(): v for k, v in self.headers.items()}})
                try:
                    outer.answers[self.path.partition("?")[0]](self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def page(self, path: str, body: bytes, status: int = 200, **headers: str) -> str:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(body)

        self.answers[path] = answer
        return self.url + path

    def redirect(self, path: str, location: str, status: int = 302) -> str:
        return self.page(path, b"", status, Location=location)


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_bytes_and_media_type_come_as_they_are(server: Server) -> None:
    url = server.page("/a", b"\x00\xffbytes", Content_Type='Text/Plain ; charset="UTF-8"; x=y')
    found = fetch(url)
    assert (found.data, found.media_type, found.final_url) == (
        b"\x00\xffbytes",
        "text/plain; charset=utf-8",
        url,
    )


def test_nothing_but_the_necessary_is_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    fetch(server.page("/a", b"x") + "?q=1#part")
    assert server.seen[0]["path"] == "/a?q=1"
    assert set(server.seen[0]) == {"path", "host", "user-agent", "accept", "accept-encoding", "connection"}
    assert server.seen[0]["accept-encoding"] == "identity"


def test_redirects_are_followed_and_the_last_address_is_told(server: Server) -> None:
    last = server.page("/b", b"there")
    first = server.redirect("/a", "/b", 301)
    assert fetch(first) == module.Fetched(b"there", "", last)


def test_as_many_redirects_as_allowed_and_one_more(server: Server) -> None:
    server.page("/0", b"end")
    for number in range(1, limits.FETCH_REDIRECTS + 2):
        server.redirect(f"/{number}", f"/{number - 1}", 307)
    assert fetch(f"{server.url}/{limits.FETCH_REDIRECTS}").data == b"end"
    with pytest.raises(LimitError, match="more than 5 redirects"):
        fetch(f"{server.url}/{limits.FETCH_REDIRECTS + 1}")


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("file:///etc/passwd", "only http and https"),
        ("ftp://example.org/x", "only http and https"),
        ("http://user:secret@127.0.0.1/x", "carries a user name or password"),
        ("gopher://127.0.0.1/", "only http and https"),
        ("", "without a Location"),
    ],
)
def test_a_redirect_is_checked_like_the_first_address(server: Server, location: str, message: str) -> None:
    with pytest.raises(OpenKnowledgeError, match=message):
        fetch(server.redirect("/a", location))


def test_a_public_page_may_not_redirect_to_a_private_address(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.page("/b", b"secret")
    url = server.redirect("/a", "/b")
    answers = iter([False, True])
    monkeypatch.setattr(module, "_is_private", lambda address: next(answers))
    with pytest.raises(OpenKnowledgeError, match="private address"):
        fetch(url)
    assert [request["path"] for request in server.seen] == ["/a"]


@pytest.mark.parametrize(
    ("address", "private"),
    [
        ("127.0.0.1", True),
        ("10.1.2.3", True),
        ("169.254.169.254", True),
        ("::1", True),
        ("fe80::1%eth0", True),
        ("::ffff:192.168.0.1", True),
        ("93.184.216.34", False),
        ("2606:2800:220:1::1", False),
    ],
)
def test_private_addresses_are_known(address: str, private: bool) -> None:
    assert module._is_private(address) is private


@pytest.mark.parametrize("status", [206, 300, 304, 400, 404, 500])
def test_only_success_counts(server: Server, status: int) -> None:
    with pytest.raises(OpenKnowledgeError, match=f"answered {status}"):
        fetch(server.page("/a", b"", status))


def test_any_other_success_counts(server: Server) -> None:
    assert fetch(server.page("/a", b"x", 203)).data == b"x"


def test_the_largest_body_is_taken_and_one_byte_more_is_not(server: Server) -> None:
    assert len(fetch(server.page("/a", b"x" * limits.EVIDENCE_BYTES)).data) == limits.EVIDENCE_BYTES
    with pytest.raises(LimitError, match="larger than 8388608 bytes"):
        fetch(server.page("/b", b"x" * (limits.EVIDENCE_BYTES + 1)))


def test_a_body_without_a_length_is_bounded_too(server: Server) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True
        for _ in range(limits.EVIDENCE_BYTES // 65_536 + 2):
            handler.wfile.write(b"x" * 65_536)

    server.answers["/a"] = endless
    with pytest.raises(LimitError, match="larger than"):
        fetch(server.url + "/a")


def test_a_body_that_is_cut_off_is_refused(server: Server) -> None:
    def short(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        handler.wfile.write(b"only this")
        handler.close_connection = True

    server.answers["/a"] = short
    with pytest.raises(OpenKnowledgeError, match="cut off after 9 of 100 bytes"):
        fetch(server.url + "/a")


def test_an_encoded_body_is_refused(server: Server) -> None:
    with pytest.raises(OpenKnowledgeError, match=r"encoded \(gzip\)"):
        fetch(server.page("/a", b"\x1f\x8b", Content_Encoding="gzip"))


def test_a_server_that_drips_is_left_after_the_time(server: Server) -> None:
    stop = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        while not stop.wait(0.02):
            handler.wfile.write(b"x")

    server.answers["/a"] = drip
    with pytest.raises(LimitError, match=r"no complete answer after 0\.2 s"):
        fetch(server.url + "/a", seconds=0.2)
    stop.set()


def test_an_answer_that_is_not_http_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1_000)
                connection.sendall(b"SSH-2.0-no\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(OpenKnowledgeError, match="the server's answer is broken"):
            fetch(f"http://127.0.0.1:{port}/")
        thread.join()


def test_nobody_there_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(OpenKnowledgeError, match="cannot be fetched"):
        fetch(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://example.org/", "only http and https"),
        ("http:///path", "names no host"),
        ("http://h:99999/", "is not a URL"),
        ("http://h:0/", "names no host"),
        ("http://[::1/", "is not a URL"),
        ("http://user@h/", "carries a user name"),
        ("http://h/a b", "blanks"),
        ("http://h/\r\nX: y", "control characters"),
        ("http://h\\@evil/", "not part of a URL"),
    ],
)
def test_what_is_no_plain_address_is_not_fetched(url: str, message: str) -> None:
    with pytest.raises(OpenKnowledgeError, match=message):
        fetch(url)


def test_a_secret_in_an_address_is_not_repeated() -> None:
    with pytest.raises(OpenKnowledgeError) as caught:
        fetch("http://user:hunter2@h/a b")
    assert "hunter2" not in caught.value.message


def test_the_longest_address_is_tried_and_one_character_more_is_not(server: Server) -> None:
    path = "/" + "a" * (limits.URL_CHARACTERS - len(server.url) - 1)
    assert fetch(server.page(path, b"x")).data == b"x"
    with pytest.raises(LimitError, match="at most 4096"):
        fetch(server.url + path + "a")


def test_only_http_addresses_count_as_addresses() -> None:
    assert all(is_url(text) for text in ("https://x", "HTTP://x"))
    assert not any(is_url(text) for text in ("ftp://x", "docs/http://x", "http"))
