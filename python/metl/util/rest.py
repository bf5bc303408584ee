"""JSON over HTTP, for the registry and Kafka Connect."""

import http.client
import json
import urllib.error
import urllib.request
from typing import Any

from metl.errors import MetlError
from metl.util.urls import without_password


class RestError(MetlError):
    """The other side answered with an error, or not at all (status None)."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def request(method: str, url: str, body: object = None, timeout: float = 10) -> Any:
    """Sends `body` as JSON and returns the JSON answer, None if it is empty."""
    data = None if body is None else json.dumps(body).encode()
    try:
        prepared = urllib.request.Request(
            url, data, {"Content-Type": "application/json", "Accept": "application/json"}, method=method
        )
        with urllib.request.urlopen(prepared, timeout=timeout) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        detail = error.read().decode(errors="replace")[:500]
        raise RestError(f"{method} {without_password(url)} answered {error.code}: {detail}", error.code) from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise RestError(f"{method} {without_password(url)} got no answer: {reason}") from None
    try:
        return json.loads(text) if text else None
    except ValueError:
        raise RestError(f"{method} {without_password(url)} did not answer with JSON: {text[:200]!r}") from None
