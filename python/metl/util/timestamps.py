"""Timestamps on the command line, absolute or relative to now."""

import re
from datetime import UTC, datetime, timedelta

from metl.errors import BadInput

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_timestamp(text: str, option: str) -> datetime:
    """2026-03-01, 2026-03-01T12:30 (UTC without an offset), or how long ago: 90m, 2h, 3d."""
    if ago := re.fullmatch(r"(\d{1,9})([smhd])", text.strip()):
        try:
            return datetime.now(UTC) - timedelta(**{UNITS[ago[2]]: int(ago[1])})
        except OverflowError:
            raise BadInput(f"{option} {text!r} is before the first year.") from None
    try:
        timestamp = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadInput(
            f"{option} {text!r} is no timestamp. Take one such as 2026-03-01T12:30, or how long ago: 90m, 2h, 3d."
        ) from None
    return timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)
