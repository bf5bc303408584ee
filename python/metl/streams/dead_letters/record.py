"""A record of the topic of dead letters, as metl.collect_letters takes it."""

import base64
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import Message

FIRST = "__connect.errors.topic"
Header = list[str | None]


def letter(record: Message) -> dict[str, Any]:
    headers: list[tuple[str, bytes | str | None]] = list(record.headers() or [])  # type: ignore[arg-type]
    # The message may have been a dead letter of somebody else: only what comes from the last of these on is ours.
    ours = max((place for place, (name, _) in enumerate(headers) if name == FIRST), default=len(headers))
    return {
        "partition": record.partition(),
        "offset": record.offset(),
        "at": _at(record.timestamp()[1]),
        "key": _base64(record.key()),
        "value": _base64(record.value()),
        "headers": [_header(name, value) for name, value in headers[:ours]],
        "said": {name: _text(value) for name, value in headers[ours:] if value is not None},
    }


def _at(milliseconds: int) -> str:
    """Whoever writes a record gives it any time; one that no calendar has is taken to be now."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return datetime.now(UTC).isoformat()


def _header(name: str, value: bytes | str | None) -> Header:
    """Name and value; a name that the database cannot hold comes third, in base64."""
    encoded = _base64(value.encode() if isinstance(value, str) else value)
    return [name, encoded] if "\0" not in name else [None, encoded, _base64(name.encode())]


def original(header: Header) -> tuple[str, bytes | None]:
    """As it was."""
    name = header[0] if header[0] is not None else base64.b64decode(header[2] or "").decode()
    return name, None if header[1] is None else base64.b64decode(header[1])


def _text(value: bytes | str) -> str:
    text = value if isinstance(value, str) else value.decode(errors="replace")
    return text.replace("\0", "")


def _base64(value: bytes | str | None) -> str | None:
    if value is None:
        return None
    return base64.b64encode(value.encode() if isinstance(value, str) else value).decode()
