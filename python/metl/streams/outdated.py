"""Offset ranges that were mapped with cells that have changed since."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import psycopg

from metl.errors import BadInput
from metl.streams.offsets import KafkaOffsets


@dataclass(frozen=True)
class OutdatedRange:
    topic: str
    partition: int
    first: int
    #: The offset after the last.
    end: int
    schema: str
    states: list[int]
    #: Versions whose messages are outdated, and others in the same range whose messages are not.
    versions: list[int]
    other_versions: list[int]
    #: Outdated messages, once they are counted; until then all in the range count as such.
    counted: int | None = None

    @property
    def messages(self) -> int:
        return self.end - self.first if self.counted is None else self.counted

    @property
    def needs_counting(self) -> bool:
        return bool(self.other_versions) and self.counted is None

    def as_dict(self) -> dict[str, Any]:
        fields = asdict(self) | {"messages": self.messages}
        del fields["counted"]
        return fields


def find_outdated(connection: psycopg.Connection, since: int, topic: str | None = None) -> list[OutdatedRange]:
    [(current,)] = connection.execute("select metl.current_state()").fetchall()
    if not 0 <= since <= current:
        raise BadInput(f"There is no state {since}. The states are 0 to {current}.")
    rows = connection.execute("select * from metl.outdated(%s)", (since,)).fetchall()
    return [OutdatedRange(*row) for row in rows if topic in (None, row[0])]


def distinct_states(connection: psycopg.Connection, ranges: list[OutdatedRange]) -> list[int]:
    """For each mapping that a range was mapped with, the last state that had it: between two changes of a schema all
    states map it alike."""
    pairs = sorted({(each.schema, state) for each in ranges for state in each.states})
    query = """
        select distinct max(of_schema.state)
        from (
            select pair.schema, pair.state, max(change.state) as changed_in
            from unnest(%s::text[], %s::bigint[]) as pair (schema, state)
            left join metl.schema_changes as change on pair.schema = change.schema and pair.state >= change.state
            group by pair.schema, pair.state
        ) as of_schema
        group by of_schema.schema, of_schema.changed_in
        order by 1
    """
    cursor = connection.execute(query, ([schema for schema, _ in pairs], [state for _, state in pairs]))
    return [state for (state,) in cursor.fetchall()]


def count_unmapped(connection: psycopg.Connection, ranges: list[OutdatedRange], states: list[int]) -> dict[str, int]:
    """For each live entity that a live version was mapped to in one of these states and is not now: how many messages
    of these ranges may have sent it a record, which has to be taken back."""
    query = """
        select distinct earlier.schema, earlier.version, earlier.entity
        from unnest(%s::bigint[]) as asked (state)
        cross join lateral metl.decompaction_at(asked.state) as earlier
        inner join metl.schema_versions as live
            on earlier.schema = live.schema and earlier.version = live.version and live.deleted is null
        where
            not exists (
                select from metl.decompaction as current
                where
                    current.schema = earlier.schema
                    and current.version = earlier.version
                    and current.entity = earlier.entity
            )
            and exists (
                select from metl.entity_versions as version
                where version.entity = earlier.entity and version.deleted is null
            )
    """
    counts: dict[str, int] = {}
    unmapped = connection.execute(query, (states,)).fetchall()
    for each in (each for each in ranges if each.states):
        for entity in {
            entity for schema, version, entity in unmapped if schema == each.schema and version in each.versions
        }:
            counts[entity] = counts.get(entity, 0) + each.messages
    return dict(sorted((entity, count) for entity, count in counts.items() if count))


def clip_to_retained(ranges: list[OutdatedRange], kafka: KafkaOffsets) -> tuple[list[OutdatedRange], int]:
    """The parts of the ranges that Kafka retains, and how many messages are gone."""
    retained, gone = [], 0
    for each in ranges:
        if each.partition not in kafka.topics.get(each.topic, []):
            gone += each.end - each.first
            continue
        available = kafka.range_of(each.topic, each.partition, None)
        first, end = max(each.first, available.earliest), min(each.end, available.latest)
        gone += (each.end - each.first) - max(0, end - first)
        if first < end:
            retained.append(replace(each, first=first, end=end))
    return retained, gone
