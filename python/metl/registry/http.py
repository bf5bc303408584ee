"""JSON over HTTP for thousands of requests: connections stay open, and what fails for a moment is tried again."""

import base64
import collections
import contextlib
import http.client
import json
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from metl import config
from metl.util.rest import RestError

#: Seconds before each further try. The first is at once: the other side may have closed a connection that was idle.
PAUSES = (0.0, 0.2, 0.6, 1.5)
TIMEOUT = 20.0
WAY_OUT = "Is METL_REGISTRY right, or the local one up (`metl up registry`)?"
PASSING = (408, 425, 429, 500, 502, 503, 504)


class Stopped(Exception):
    """Somebody wants us to end."""


class Refused(RestError):
    """An answer that says no, with what it says."""

    def __init__(self, message: str, status: int, body: Any) -> None:
        super().__init__(message, status)
        self.body = body


class Http:
    """Safe to use from several threads: as many connections as there ever were requests at once."""

    def __init__(self, address: str, stop: threading.Event | None = None) -> None:
        config.require_registry_url(address)
        self._url = urlsplit(address)
        self._stop = stop or threading.Event()
        self._idle: collections.deque[http.client.HTTPConnection] = collections.deque()
        self._busy: set[http.client.HTTPConnection] = set()

    def json(self, *path: str, **query: object) -> Any:
        """GET of the path made of these names."""
        return self._patiently(path, query, json.loads)

    def content(self, *path: str, **query: object) -> bytes:
        return bytes(self._patiently(path, query, bytes))

    def abort(self) -> None:
        """Ends what other threads wait for; to be called once `stop` is set."""
        for connection in list(self._busy):
            with contextlib.suppress(OSError):
                if connection.sock:
                    connection.sock.shutdown(2)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _patiently(self, path: tuple[str, ...], query: dict[str, object], read: Callable[[bytes], Any]) -> Any:
        for pause in (*PAUSES, None):
            if self._stop.is_set():
                raise Stopped
            try:
                return self._once(path, query, read)
            except RestError as error:
                if isinstance(error, Refused) and error.status not in PASSING:
                    raise
                if pause is None:
                    raise
            self._stop.wait(pause)
        raise AssertionError("the last try either returns or raises")

    def _once(self, path: tuple[str, ...], query: dict[str, object], read: Callable[[bytes], Any]) -> Any:
        target = "/".join([self._url.path.rstrip("/"), *(quote(name, safe="") for name in path)])
        given = {name: value for name, value in query.items() if value is not None}
        if given:
            target += f"?{urlencode(given)}"
        shown = f"GET {self._url.scheme}://{self._url.netloc.rpartition('@')[2]}{target}"
        connection = self._connection()
        try:
            connection.request("GET", target, headers=self._headers())
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise RestError(f"{shown} got no answer: {str(error) or type(error).__name__}. {WAY_OUT}") from None
        finally:
            self._busy.discard(connection)
        self._idle.append(connection)
        if answer.status != 200:
            raise Refused(f"{shown} answered {answer.status}: {_text(body)}", answer.status, _json_or_none(body))
        try:
            return read(body)
        except ValueError:
            raise RestError(f"{shown} did not answer as expected: {_text(body)}") from None

    def _connection(self) -> http.client.HTTPConnection:
        try:
            connection = self._idle.pop()
        except IndexError:
            kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
            connection = kind(str(self._url.hostname), self._url.port, timeout=TIMEOUT)
        self._busy.add(connection)
        return connection

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json, */*"}
        if self._url.username:
            pair = f"{unquote(self._url.username)}:{unquote(self._url.password or '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        return headers


def _text(body: bytes) -> str:
    return " ".join(body[:300].decode(errors="replace").split())


def _json_or_none(body: bytes) -> Any:
    with contextlib.suppress(ValueError):
        return json.loads(body)
    return None
