"""JSON over HTTP for thousands of requests: connections stay open, and what fails for a moment is tried again."""

import base64
import contextlib
import http.client
import json
import threading
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from metl.errors import BadInput
from metl.rest import RestError, without_password

#: Seconds before each further try. The first is at once: the other side may have closed a connection that was idle.
PAUSES = (0.0, 0.2, 0.6, 1.5)
TIMEOUT = 20.0
PASSING = (408, 425, 429, 500, 502, 503, 504)


class Stopped(Exception):
    """Somebody wants us to end."""


class Refused(RestError):
    """An answer that says no, with what it says."""

    def __init__(self, message: str, status: int, body: Any) -> None:
        super().__init__(message, status)
        self.body = body


@dataclass(frozen=True)
class Answer:
    value: Any
    #: By the clock of the other side.
    date: datetime | None


class Http:
    """Safe to use from several threads, each of which has a connection of its own."""

    def __init__(self, address: str, stop: threading.Event | None = None) -> None:
        self._url = urlsplit(address)
        try:
            valid = self._url.scheme in ("http", "https") and self._url.hostname and self._url.port != 0
        except ValueError:
            valid = False
        if not valid:
            raise BadInput(f"{without_password(address)} is not the address of a registry. Set METL_REGISTRY.")
        self.shown = without_password(address)
        self._stop = stop or threading.Event()
        self._own = threading.local()
        self._open: set[http.client.HTTPConnection] = set()

    def json(self, *path: str, **query: object) -> Answer:
        """GET of the path made of these names."""
        return self._patiently(path, query, json.loads)

    def text(self, *path: str, **query: object) -> str:
        return str(self._patiently(path, query, bytes.decode).value)

    def abort(self) -> None:
        """Ends what other threads wait for; to be called once `stop` is set."""
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                if connection.sock:
                    connection.sock.shutdown(2)

    def close(self) -> None:
        for connection in list(self._open):
            connection.close()
        self._open.clear()
        self._own = threading.local()

    def _patiently(self, path: tuple[str, ...], query: dict[str, object], read: Any) -> Answer:
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

    def _once(self, path: tuple[str, ...], query: dict[str, object], read: Any) -> Answer:
        target = "/".join([self._url.path.rstrip("/"), *(quote(name, safe="") for name in path)])
        given = {name: value for name, value in query.items() if value is not None}
        if given:
            target += f"?{urlencode(given)}"
        shown = f"GET {self._url.scheme}://{self._url.hostname}:{self._url.port or ''}{target}"
        try:
            connection = self._connection()
            connection.request("GET", target, headers=self._headers())
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._forget()
            raise RestError(f"{shown} got no answer: {_reason(error)}") from None
        if answer.status != 200:
            raise Refused(f"{shown} answered {answer.status}: {body[:300]!r}", answer.status, _json_or_none(body))
        try:
            value = read(body)
        except ValueError:
            raise RestError(f"{shown} did not answer as expected: {body[:100]!r}") from None
        return Answer(value, _date(answer.headers.get("Date")))

    def _connection(self) -> http.client.HTTPConnection:
        known: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if known is None:
            kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
            known = self._own.connection = kind(str(self._url.hostname), self._url.port, timeout=TIMEOUT)
            self._open.add(known)
        return known

    def _forget(self) -> None:
        known: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if known is not None:
            known.close()
            self._open.discard(known)
            self._own.connection = None

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json, */*"}
        if self._url.username:
            pair = f"{unquote(self._url.username)}:{unquote(self._url.password or '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        return headers


def _reason(error: Exception) -> str:
    return f"{str(error) or type(error).__name__}"


def _json_or_none(body: bytes) -> Any:
    with contextlib.suppress(ValueError):
        return json.loads(body)
    return None


def _date(text: str | None) -> datetime | None:
    with contextlib.suppress(ValueError, TypeError):
        return parsedate_to_datetime(text or "")
    return None
