"""Where a load begins and ends, as somebody says it."""

import json
from datetime import UTC, datetime

from mapper.settings import Until
from metl.errors import BadInput

Offsets = dict[str, dict[str, int]]


def read_from(said: str) -> tuple[str, dict[str, str]]:
    """As Spark's Kafka source takes it: starting offsets, and options for a time."""
    if said in ("earliest", "latest"):
        return said, {}
    if said.lstrip().startswith("{"):
        return json.dumps(_offsets("--from", said)), {}
    # Where nothing came since then, there is nothing to load.
    strategy = {"startingOffsetsByTimestampStrategy": "latest"}
    return "earliest", {"startingTimestamp": str(_milliseconds("--from", said)), **strategy}


def read_until(said: str | None) -> Until | None:
    if said is None:
        return None
    if said.lstrip().startswith("{"):
        return Until(offsets=_offsets("--until", said))
    return Until(time=_milliseconds("--until", said))


def _milliseconds(option: str, said: str) -> int:
    """A time without a zone is UTC."""
    try:
        time = datetime.fromisoformat(said)
    except ValueError:
        raise BadInput(
            f"{option} {said!r} is neither a time such as 2026-01-31T12:00Z nor offsets as JSON, "
            '{"topic": {"0": 1200}}.'
        ) from None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _offsets(option: str, said: str) -> Offsets:
    try:
        found = json.loads(said)
    except ValueError as error:
        raise BadInput(f"{option} is no JSON: {error}.") from None
    is_right = isinstance(found, dict) and all(
        isinstance(partitions, dict)
        and all(number.isdecimal() and type(offset) is int for number, offset in partitions.items())
        for partitions in found.values()
    )
    if not is_right:
        raise BadInput(f'{option} {said!r} is not offsets of partitions of topics, {{"topic": {{"0": 1200}}}}.')
    return found  # type: ignore[no-any-return]
