"""A real HTTP server between METL and the registry: it counts, asks for credentials, and cuts or refuses answers."""

import base64
import contextlib
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

#: What to do with a request, by its path: an answer's status, "cut" (half of the answer), None (let it through).
Fault = Callable[[str], int | str | None]


@dataclass
class Proxy:
    registry: str
    fault: Fault = lambda path: None
    #: user:password that it asks for; None: nothing.
    credentials: str | None = None
    paths: list[str] = field(default_factory=list)
    port: int = 0
    _server: ThreadingHTTPServer | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def instead(self, path: str) -> object:
        """What to answer without asking the registry; None: ask it."""
        return None

    def start(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), _handler(self))
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """As if the registry went away: nobody listens, and open connections break."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@contextlib.contextmanager
def proxy(registry: str, credentials: str | None = None) -> Iterator[Proxy]:
    between = Proxy(registry, credentials=credentials)
    between.start()
    try:
        yield between
    finally:
        between.stop()


def _handler(between: Proxy) -> type[BaseHTTPRequestHandler]:
    target = urlsplit(between.registry)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            if self.server is not between._server:
                self.close_connection = True
                return None
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            between.paths.append(self.path)
            if between.credentials is not None:
                wanted = f"Basic {base64.b64encode(between.credentials.encode()).decode()}"
                if self.headers.get("Authorization") != wanted:
                    return self._answer(401, {"WWW-Authenticate": "Basic"}, b"who are you?")
            fault = between.fault(self.path)
            if isinstance(fault, int):
                return self._answer(fault, {}, b"not now")
            if (own := between.instead(self.path)) is not None:
                return self._answer(200, {"Content-Type": "application/json"}, json.dumps(own).encode())
            connection = http.client.HTTPConnection(str(target.hostname), target.port, timeout=30)
            with contextlib.closing(connection):
                given = {name: self.headers[name] for name in ("Content-Type",) if name in self.headers}
                connection.request(self.command, self.path, sent or None, given)
                answer = connection.getresponse()
                body = answer.read()
            headers = {name: answer.headers[name] for name in ("Content-Type",) if name in answer.headers}
            if fault == "cut":
                self._answer(answer.status, headers, body, sent=len(body) // 2)
                self.close_connection = True
                return None
            return self._answer(answer.status, headers, body)

        def _answer(self, status: int, headers: dict[str, str], body: bytes, sent: int | None = None) -> None:
            self.send_response_only(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body[:sent])

        def log_message(self, *_: object) -> None:
            pass

    return Handler
