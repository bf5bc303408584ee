"""What was mapped with cells that have changed since."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import psycopg

from metl.errors import BadInput
from metl.streams.offsets import Broker


@dataclass(frozen=True)
class Outdated:
    topic: str
    partition: int
    first: int
    #: The offset after the last.
    end: int
    schema: str
    states: list[int]
    #: Whose messages are meant, and whose may be there, too, and are right.
    versions: list[int]
    other_versions: list[int]
    #: How many there are, once they are counted; until then all.
    counted: int | None = None

    @property
    def messages(self) -> int:
        return self.end - self.first if self.counted is None else self.counted

    @property
    def needs_counting(self) -> bool:
        return bool(self.other_versions) and self.counted is None

    def plain(self) -> dict[str, Any]:
        said = asdict(self) | {"messages": self.messages}
        del said["counted"]
        return said


def outdated(connection: psycopg.Connection, since: int, topic: str | None = None) -> list[Outdated]:
    [(current,)] = connection.execute("select metl.current_state()").fetchall()
    if not 0 <= since <= current:
        raise BadInput(f"There is no state {since}. The states are 0 to {current}.")
    found = connection.execute("select * from metl.outdated(%s)", (since,)).fetchall()
    return [Outdated(*row) for row in found if topic in (None, row[0])]


def earlier(connection: psycopg.Connection, ranges: list[Outdated]) -> list[int]:
    """A state for each set of cells that mapped them, the last one that had it: between two changes of a schema all
    states map it alike."""
    pairs = sorted({(each.schema, state) for each in ranges for state in each.states})
    query = """
        select distinct max(of_schema.state)
        from (
            select given.schema, given.state, max(change.state) as cells_of
            from unnest(%s::text[], %s::bigint[]) as given (schema, state)
            left join metl.schema_changes as change on given.schema = change.schema and given.state >= change.state
            group by given.schema, given.state
        ) as of_schema
        group by of_schema.schema, of_schema.cells_of
        order by 1
    """
    found = connection.execute(query, ([schema for schema, _ in pairs], [state for _, state in pairs]))
    return [state for (state,) in found.fetchall()]


def left_behind(connection: psycopg.Connection, ranges: list[Outdated], states: list[int]) -> dict[str, int]:
    """The entities that some version was mapped to in one of these states and is not now, though it is still known:
    how many messages of these ranges may have sent them a record."""
    query = """
        select distinct was.schema, was.version, was.entity
        from unnest(%s::bigint[]) as given (state)
        cross join lateral metl.decompaction_at(given.state) as was
        inner join metl.schema_versions as live
            on was.schema = live.schema and was.version = live.version and live.deleted is null
        where
            not exists (
                select from metl.decompaction as one
                where one.schema = was.schema and one.version = was.version and one.entity = was.entity
            )
            and exists (
                select from metl.entity_versions as there where there.entity = was.entity and there.deleted is null
            )
    """
    found: dict[str, int] = {}
    gone = connection.execute(query, (states,)).fetchall()
    for each in (each for each in ranges if each.states):
        for entity in {
            entity for schema, version, entity in gone if schema == each.schema and version in each.versions
        }:
            found[entity] = found.get(entity, 0) + each.messages
    return dict(sorted((entity, count) for entity, count in found.items() if count))


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
