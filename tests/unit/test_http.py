"""The HTTP client against a real server."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from metl.util.http import Aborted, Client, Refused, RestError, request


@dataclass
class Server:
    """Answers each request with the next of `answers`, the last one for ever; keeps what it was asked."""

    answers: list[tuple[int, bytes]] = field(default_factory=lambda: [(200, b"{}")])
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    connections: set[object] = field(default_factory=set)
    headers: dict[str, str] = field(default_factory=dict)
    #: Set: answers are kept back until it is set again.
    silent: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            made.requests.append((self.command, self.path, dict(self.headers), body))
            made.connections.add(self.client_address)
            while made.silent.is_set():
                time.sleep(0.01)
            status, text = made.answers.pop(0) if len(made.answers) > 1 else made.answers[0]
            self.send_response(status)
            for name, value in {**made.headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        made.port = listening.server_port
        listening.daemon_threads = True
        threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True).start()
        yield made
        made.silent.clear()
        listening.shutdown()


def test_a_path_is_made_of_names_and_a_query_of_what_is_given(server: Server) -> None:
    with Client(f"{server.url}/api/") as client:
        assert client.json("groups", "a/b c", limit=5, group=None, q="x&y") == {}
    [(method, path, headers, body)] = server.requests
    assert (method, path, body) == ("GET", "/api/groups/a%2Fb%20c?limit=5&q=x%26y", b"")
    assert "Authorization" not in headers


def test_a_body_is_sent_as_json(server: Server) -> None:
    server.answers = [(201, b"")]
    assert request("POST", f"{server.url}/things?x=1", {"name": "\u00e9"}) is None
    [(method, path, headers, body)] = server.requests
    assert (method, path, headers["Content-Type"]) == ("POST", "/things?x=1", "application/json")
    assert body == b'{"name": "\\u00e9"}'


def test_connections_are_kept_open(server: Server) -> None:
    with Client(server.url) as client:
        for _ in range(5):
            client.json("a")
        assert len(server.connections) == 1
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: client.json("a"), range(40)))
        assert len(server.connections) <= 4


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_passes_is_tried_again(server: Server, status: int) -> None:
    server.answers = [(status, b"not now"), (status, b"not now"), (200, b"[1]")]
    with Client(server.url, retries=2) as client:
        assert client.request("POST", "a", body={}) == [1]
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404, 409, 501])
def test_what_does_not_pass_is_not_tried_again(server: Server, status: int) -> None:
    server.answers = [(status, b'{"name": "Missing"}')]
    with Client(server.url, retries=2) as client, pytest.raises(Refused) as refused:
        client.json("a")
    assert (refused.value.status, refused.value.body) == (status, {"name": "Missing"})
    assert str(refused.value) == f'GET {server.url}/a answered {status}: {{"name": "Missing"}}'
    assert len(server.requests) == 1


def test_a_server_that_keeps_failing_is_named_with_its_last_answer(server: Server) -> None:
    server.answers = [(503, b"no\nregistry   here")]
    with Client(server.url, retries=1) as client, pytest.raises(Refused, match="answered 503: no registry here"):
        client.json("a")
    assert len(server.requests) == 2


def test_a_server_may_say_when_to_try_again(server: Server) -> None:
    server.headers = {"Retry-After": "1"}
    server.answers = [(429, b""), (200, b"{}")]
    began = time.monotonic()
    with Client(server.url, retries=1) as client:
        client.json("a")
    assert time.monotonic() - began >= 1


def test_no_answer_is_a_sentence_with_the_way_out() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://user:secret@127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(RestError) as error, Client(url, way_out="Is it up?") as client:
        client.json("a")
    shown = url.replace("user:secret@", "")
    assert str(error.value) == f"GET {shown}/a got no answer: [Errno 111] Connection refused. Is it up?"
    assert error.value.status is None


@pytest.mark.parametrize("url", ["localhost:8080", "http://", "http://host:99999/", "ftp://host/", "nonsense"])
def test_what_is_no_address_is_a_sentence(url: str) -> None:
    with pytest.raises(RestError, match="is not an address such as http://host:port"):
        request("GET", url, timeout=1)


def test_what_is_not_json_is_a_sentence(server: Server) -> None:
    server.answers = [(200, b"<html>")]
    with pytest.raises(RestError, match=r"did not answer with JSON: b'<html>'"):
        request("GET", server.url)


def test_half_an_answer_is_asked_for_again(server: Server) -> None:
    """The server announces more than it sends and closes the connection."""
    cut = threading.Event()

    def serve(listening: socket.socket) -> None:
        for text in (b"[1,", b"[1, 2]"):
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n" + text)
        cut.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        with Client(f"http://127.0.0.1:{listening.getsockname()[1]}", retries=1) as client:
            assert client.json() == [1, 2]
    assert cut.wait(5)


def test_credentials_in_the_address_are_sent_and_never_shown(server: Server) -> None:
    server.answers = [(403, b"no")]
    url = server.url.replace("//", "//me:p%40ss%3Aw%C3%B6rd@")
    with pytest.raises(Refused) as error:
        request("GET", url)
    [(_, _, headers, _)] = server.requests
    assert headers["Authorization"] == "Basic bWU6cEBzczp3w7ZyZA=="
    assert "p%40ss" not in str(error.value) and "me" not in str(error.value).partition(" answered")[0]


def test_a_proxy_of_the_environment_is_used(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url.replace("//", "//me:secret@"))
    monkeypatch.delenv("no_proxy", raising=False)
    request("GET", "http://registry.example/apis")
    [(_, path, headers, _)] = server.requests
    assert path == "http://registry.example/apis"
    assert headers["Proxy-Authorization"] == "Basic bWU6c2VjcmV0"
    monkeypatch.setenv("no_proxy", ".invalid")
    with pytest.raises(RestError, match="got no answer"):
        request("GET", "http://registry.invalid/apis", timeout=2)
    request("GET", f"{server.url}/local")
    assert server.requests[-1][1] == "/local", "this machine is never behind a proxy"


def test_aborting_ends_requests_of_other_threads_at_once(server: Server) -> None:
    server.silent.set()
    stop = threading.Event()
    client = Client(server.url, retries=4, timeout=60, stop=stop)
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(client.json, "a") for _ in range(3)]
        while len(server.requests) < 3:
            time.sleep(0.01)
        began = time.monotonic()
        stop.set()
        client.abort()
        for each in waiting:
            with pytest.raises(Aborted):
                each.result()
    assert time.monotonic() - began < 1
    with pytest.raises(Aborted):
        client.json("a")


def test_aborting_ends_the_pause_before_a_retry(server: Server) -> None:
    server.headers = {"Retry-After": "9"}
    server.answers = [(503, b"")]
    stop = threading.Event()
    client = Client(server.url, retries=4, stop=stop)
    with contextlib.closing(client), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.json, "a")
        while not server.requests:
            time.sleep(0.01)
        stop.set()
        with pytest.raises(Aborted):
            waiting.result(timeout=2)
