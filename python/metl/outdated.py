"""What was mapped with cells that have changed since."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import psycopg

from metl.errors import BadInput
from metl.positions import Broker


@dataclass(frozen=True)
class Outdated:
    topic: str
    partition: int
    first: int
    #: The offset after the last.
    end: int
    schema: str
    states: list[int]

    def plain(self) -> dict[str, Any]:
        return asdict(self) | {"messages": self.end - self.first}


def outdated(connection: psycopg.Connection, since: int, topic: str | None = None) -> list[Outdated]:
    [(current,)] = connection.execute("select metl.current_state()").fetchall()
    if not 0 <= since <= current:
        raise BadInput(f"There is no state {since}. The states are 0 to {current}.")
    found = connection.execute("select * from metl.outdated(%s)", (since,)).fetchall()
    return [Outdated(*row) for row in found if topic in (None, row[0])]


def still_there(ranges: list[Outdated], kafka: Broker) -> tuple[list[Outdated], int]:
    """What Kafka still has of them, and how many messages are gone."""
    kept, gone = [], 0
    for each in ranges:
        if each.partition not in kafka.topics.get(each.topic, []):
            gone += each.end - each.first
            continue
        span = kafka.span(each.topic, each.partition, None)
        first, end = max(each.first, span.earliest), min(each.end, span.latest)
        gone += (each.end - each.first) - max(0, end - first)
        if first < end:
            kept.append(replace(each, first=first, end=end))
    return kept, gone
