"""HTTP for the registry and Kafka Connect.

urllib3 keeps connections open, serves several threads at once, retries what fails for a moment and checks certificates
against those of this machine. Added here: proxies and credentials as the environment and the address name them, a way
to abort, and errors that are sentences.
"""

import base64
import contextlib
import json
import socket
import threading
import urllib.request
from typing import Any, Self
from urllib.parse import quote, unquote, urlencode, urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.util import Retry

from metl.errors import MetlError
from metl.util.urls import is_http, without_password

TIMEOUT = 10.0
#: Statuses that pass.
TRANSIENT = (408, 425, 429, 500, 502, 503, 504)
#: Seconds, doubled with each retry; the first comes at once, since an idle connection may have been closed.
BACKOFF = 0.2
LONGEST_PAUSE = 10.0
REDIRECTS = 5
#: Connections that are kept open.
POOL_SIZE = 16
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class RestError(MetlError):
    """The other side answered with an error, or not at all (status None)."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Refused(RestError):
    """An answer that says no; its body if that is JSON, or else None."""

    def __init__(self, message: str, status: int, body: Any) -> None:
        super().__init__(message, status)
        self.body = body


class Aborted(Exception):
    """The client's `stop` is set."""


class Client:
    """A client of one server, safe to use from several threads."""

    def __init__(
        self,
        url: str,
        *,
        retries: int = 0,
        timeout: float = TIMEOUT,
        stop: threading.Event | None = None,
        way_out: str = "",
    ) -> None:
        """`way_out` is what to do about a server that does not answer."""
        self.url = without_password(url)
        self._headers = {"Accept": "application/json, */*", **_authorization(url)}
        self._timeout = timeout
        self._stop = stop or threading.Event()
        self._retry = _Retry.at_most(retries, self._stop)
        self._way_out = f". {way_out}" if way_out else ""
        self._connections: set[HTTPConnection] = set()
        if not is_http(url):
            raise RestError(f"{self.url} is not an address such as http://host:port{self._way_out}")
        try:
            self._pools = _pool_manager(self.url)
        except (HTTPError, ValueError) as error:
            raise RestError(f"The proxy for {self.url} cannot be used: {error}") from None
        self._pools.pool_classes_by_scheme = _tracking(self._connections)

    def json(self, *path: str, **query: object) -> Any:
        """GET of the path made of these names."""
        return self.request("GET", *path, query=query)

    def content(self, *path: str, **query: object) -> bytes:
        return self._send("GET", self._target(path, query), None)

    def request(self, method: str, *path: str, query: dict[str, object] | None = None, body: object = None) -> Any:
        """Sends `body` as JSON and returns the JSON answer, None if it is empty."""
        url = self._target(path, query or {})
        text = self._send(method, url, None if body is None else json.dumps(body).encode())
        try:
            return json.loads(text) if text else None
        except ValueError:
            raise RestError(f"{method} {url} did not answer with JSON: {text[:200]!r}") from None

    def abort(self) -> None:
        """Breaks the requests of all threads, for use once `stop` is set. Takes no lock: signal handlers call it."""
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                if connection.sock:
                    connection.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._pools.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _target(self, path: tuple[str, ...], query: dict[str, object]) -> str:
        url = "/".join([self.url.rstrip("/"), *(quote(name, safe="") for name in path)]) if path else self.url
        given = {name: value for name, value in query.items() if value is not None}
        return f"{url}?{urlencode(given)}" if given else url

    def _send(self, method: str, url: str, body: bytes | None) -> bytes:
        if self._stop.is_set():
            raise Aborted
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        try:
            answer = self._pools.request(
                method, url, body=body, headers=headers, timeout=self._timeout, retries=self._retry
            )
        except (HTTPError, OSError, ValueError) as error:
            if self._stop.is_set():
                raise Aborted from None
            raise RestError(f"{method} {url} got no answer: {_reason(error)}{self._way_out}") from None
        if not 200 <= answer.status < 300:
            text = " ".join(answer.data[:500].decode(errors="replace").split())
            message = f"{method} {url} answered {answer.status}: {text}"
            raise Refused(message, answer.status, _json_or_none(answer.data))
        return answer.data


def request(method: str, url: str, body: object = None, timeout: float = TIMEOUT) -> Any:
    """A single request, tried once."""
    with Client(url, timeout=timeout) as client:
        return client.request(method, body=body)


class _Retry(Retry):
    """Its pauses end when the client is stopped."""

    stop: threading.Event

    @classmethod
    def at_most(cls, retries: int, stop: threading.Event) -> "_Retry":
        """Of any method: what METL writes, it may write twice."""
        made = cls(
            *(None, retries, retries),
            redirect=REDIRECTS,
            status=retries,
            other=retries,
            allowed_methods=None,
            status_forcelist=TRANSIENT,
            backoff_factor=BACKOFF,
            raise_on_status=False,
        )
        made.stop = stop
        return made

    def new(self, **changed: Any) -> Self:
        made = super().new(**changed)
        made.stop = self.stop
        return made

    def sleep(self, response: urllib3.BaseHTTPResponse | None = None) -> None:
        asked_for = self.get_retry_after(response) if response is not None else None
        if self.stop.wait(min(asked_for or self.get_backoff_time(), LONGEST_PAUSE)):
            raise Aborted


def _pool_manager(url: str) -> urllib3.PoolManager:
    """Through the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name. The local stack is never behind one."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy is None or host in LOOPBACK or urllib.request.proxy_bypass(host):
        return urllib3.PoolManager(maxsize=POOL_SIZE)
    authorization = {f"Proxy-{name}": value for name, value in _authorization(proxy).items()}
    return urllib3.ProxyManager(without_password(proxy), maxsize=POOL_SIZE, proxy_headers=authorization)


def _tracking(connections: set[HTTPConnection]) -> dict[str, type[HTTPConnectionPool]]:
    """Pools whose open connections are in `connections`; adding to a set and copying it are atomic."""

    class Http(HTTPConnection):
        def connect(self) -> None:
            connections.add(self)
            super().connect()

        def close(self) -> None:
            connections.discard(self)
            super().close()

    class Https(HTTPSConnection):
        def connect(self) -> None:
            connections.add(self)
            super().connect()

        def close(self) -> None:
            connections.discard(self)
            super().close()

    class HttpPool(HTTPConnectionPool):
        ConnectionCls = Http

    class HttpsPool(HTTPSConnectionPool):
        ConnectionCls = Https

    return {"http": HttpPool, "https": HttpsPool}


def _authorization(url: str) -> dict[str, str]:
    """Of http://user:password@host; urllib3 would leave it out."""
    credentials = urlsplit(url).netloc.rpartition("@")[0]
    if not credentials:
        return {}
    user, _, password = credentials.partition(":")
    pair = f"{unquote(user)}:{unquote(password)}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _reason(error: BaseException) -> str:
    """urllib3 wraps what happened several times: the innermost is the reason."""
    while True:
        inner = [getattr(error, "reason", None), error.__cause__, *reversed(error.args)]
        wrapped = next((each for each in inner if isinstance(each, Exception)), None)
        if wrapped is None:
            return str(error) or type(error).__name__
        error = wrapped


def _json_or_none(body: bytes) -> Any:
    with contextlib.suppress(ValueError):
        return json.loads(body)
    return None
