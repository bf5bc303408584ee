"""Reconciles messages, records and tables: no change is lost, and the newest records equal the rows."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from metl.demo.services import Service
from metl.demo.topics import TIMEOUT, Record, Topics
from metl.errors import MetlError

#: By schema, version, entity and state: the source attribute of each entity attribute.
Mappings = dict[tuple[str, int | None, str, int], dict[str, str]]


def await_messages(topics: Topics, expected: Counter[str]) -> int:
    """Waits until the topics hold one message for each change; returns how many there are."""
    end = time.monotonic() + TIMEOUT
    while (counts := topics.message_counts(list(expected))) != dict(expected):
        if time.monotonic() > end:
            raise MetlError(f"The topics should hold {dict(expected)} messages, but hold {counts}.")
        time.sleep(0.2)
    return sum(counts.values())


def await_records(topics: Topics, expected: Counter[str], filtered: Callable[[], int]) -> Counter[str]:
    """Waits until every message is mapped or filtered; returns the counts. `filtered` queries the job's count."""
    end = time.monotonic() + TIMEOUT
    sent = {(topic, 0, offset) for topic, count in expected.items() for offset in range(count)}
    while True:
        mapped = {record.position for record in topics.records if not record.is_dead}
        dead = {record.position for record in topics.records if record.is_dead}
        unmapped = len(sent - mapped - dead)
        if not (dead - mapped) and unmapped == filtered():
            return Counter(mapped=len(mapped), replayed=len(dead), filtered=unmapped)
        if time.monotonic() > end:
            raise MetlError(
                f"Of {len(sent)} messages {len(mapped)} are mapped, {len(dead - mapped)} are still dead letters, "
                f"and {unmapped} are neither, of which the mapper counts {filtered()} as filtered."
            )
        time.sleep(0.2)


def newest(records: list[Record]) -> dict[tuple[str, int], Record]:
    """The last record of each row, by topic and primary key."""
    last: dict[tuple[str, int], Record] = {}
    for record in records:
        if record.is_dead:
            continue
        row = (record.key["source"], record.key["key"]["id"])
        if row not in last or _order(record) >= _order(last[row]):
            last[row] = record
    return last


def _order(record: Record) -> tuple[int, int]:
    """By offset, then by state: a dead letter is replayed with its offset, under a later state."""
    _, _, offset = record.position
    return offset, record.state


def compare(services: dict[str, Service], records: list[Record], mappings: Mappings) -> int:
    """Raises unless the newest record of each row equals the row; returns the number of rows."""
    last = newest(records)
    row_count = 0
    for service in services.values():
        for table in service.tables:
            topic = service.topic(table)
            rows = _rows(service, table)
            live = {key for (source, key), record in last.items() if source == topic and _is_live(record)}
            if live != set(rows):
                missing, extra = set(rows) - live, live - set(rows)
                raise MetlError(f"Of {topic}, rows {missing} were not mapped, and rows {extra} should not have been.")
            for key, row in rows.items():
                _compare_row(row, last[topic, key], mappings)
            row_count += len(rows)
    return row_count


def _is_live(record: Record) -> bool:
    return record.value is not None and record.value["op"] != "d"


def _compare_row(row: dict[str, Any], record: Record, mappings: Mappings) -> None:
    schema = record.key["source"]
    mapping = mappings[schema, record.version, record.value["entity"], record.state]
    for attribute, column in mapping.items():
        if column not in row:
            continue  # renamed or dropped since
        if _text(record.value["after"].get(attribute)) != _text(row[column]):
            raise MetlError(f"{schema} has {column} = {row[column]!r} in {row}, but its record is {record.value}.")


def _text(value: Any) -> str | None:
    """As text, since the type of a column may have changed after its rows were mapped."""
    return None if value is None else str(value)


def _rows(service: Service, table: str) -> dict[int, dict[str, Any]]:
    with psycopg.connect(service.dsn, row_factory=dict_row) as connection:
        rows = connection.execute(sql.SQL("select * from {}").format(sql.Identifier(table))).fetchall()
    return {row["id"]: row for row in rows}


def read_mappings(dsn: str, states: set[int]) -> Mappings:
    result: Mappings = {}
    with psycopg.connect(dsn) as connection:
        for state in sorted(states):
            for schema, version, entity, _, attribute, entity_attribute in connection.execute(
                "select schema, version, entity, entity_version, attribute, entity_attribute "
                "from metl.decompaction_at(%s)",
                [state],
            ):
                result.setdefault((schema, version, entity, state), {})[entity_attribute] = attribute
    return result
