"""A record of the dead-letter topic, as metl.collect_letters takes it."""

import base64
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import Message

FIRST_ERROR_HEADER = "__connect.errors.topic"
Header = list[str | None]


def to_dead_letter(record: Message) -> dict[str, Any]:
    headers: list[tuple[str, bytes | str | None]] = list(record.headers() or [])  # type: ignore[arg-type]
    # The message may have been a dead letter of another system: only the last error headers are METL's.
    own = max((index for index, (name, _) in enumerate(headers) if name == FIRST_ERROR_HEADER), default=len(headers))
    return {
        "partition": record.partition(),
        "offset": record.offset(),
        "at": _timestamp(record.timestamp()[1]),
        "key": _base64(record.key()),
        "value": _base64(record.value()),
        "headers": [_header(name, value) for name, value in headers[:own]],
        "error_headers": {name: _text(value) for name, value in headers[own:] if value is not None},
    }


def _timestamp(milliseconds: int) -> str:
    """Producers may set any timestamp; one outside of the calendar counts as now."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return datetime.now(UTC).isoformat()


def _header(name: str, value: bytes | str | None) -> Header:
    """Name and value; a name with NUL, which PostgreSQL cannot store, comes third, in base64."""
    encoded = _base64(value.encode() if isinstance(value, str) else value)
    return [name, encoded] if "\0" not in name else [None, encoded, _base64(name.encode())]


def decode_header(header: Header) -> tuple[str, bytes | None]:
    """Name and value as the message had them."""
    name = header[0] if header[0] is not None else base64.b64decode(header[2] or "").decode()
    return name, None if header[1] is None else base64.b64decode(header[1])


def _text(value: bytes | str) -> str:
    text = value if isinstance(value, str) else value.decode(errors="replace")
    return text.replace("\0", "")


def _base64(value: bytes | str | None) -> str | None:
    if value is None:
        return None
    return base64.b64encode(value.encode() if isinstance(value, str) else value).decode()
