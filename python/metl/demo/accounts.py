"""Whether every change of a row is accounted for, and what came out is what the tables hold."""

import time
from collections import Counter
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from metl.demo.services import Service
from metl.demo.topics import TIMEOUT, Position, Record, Topics
from metl.errors import MetlError

#: Schema, version, entity and state: the entity's attributes and what each is made of.
Mappings = dict[tuple[str, int | None, str, int], dict[str, str]]


def await_messages(topics: Topics, expected: Counter[str]) -> int:
    """Every change of a row is a message; how many there are."""
    end = time.monotonic() + TIMEOUT
    while (found := topics.ends(list(expected))) != dict(expected):
        if time.monotonic() > end:
            raise MetlError(f"The topics should hold {dict(expected)} messages, but hold {found}.")
        time.sleep(0.2)
    return sum(found.values())


def await_records(topics: Topics, expected: Counter[str], filtered: Any) -> Counter[str]:
    """Every message is mapped, or left out on purpose; `filtered` asks the job how many were. What became of them."""
    end = time.monotonic() + TIMEOUT
    wanted = {(topic, 0, offset) for topic, count in expected.items() for offset in range(count)}
    while True:
        mapped = {record.position for record in topics.records if not record.is_dead}
        dead = {record.position for record in topics.records if record.is_dead}
        left_out = len(wanted - mapped - dead)
        if not (dead - mapped) and left_out == filtered():
            return Counter(mapped=len(mapped), replayed=len(dead), filtered=left_out)
        if time.monotonic() > end:
            raise MetlError(
                f"Of {len(wanted)} messages {len(mapped)} are mapped, {len(dead - mapped)} are still dead letters, "
                f"and {left_out} are neither, of which the mapper says that it left out {filtered()}."
            )
        time.sleep(0.2)


def newest(records: list[Record]) -> dict[tuple[str, int], Record]:
    """By topic and primary key, what was sent last of each row."""
    found: dict[tuple[str, int], Record] = {}
    for record in records:
        if record.is_dead:
            continue
        row = (record.key["source"], record.key["key"]["id"])
        if row not in found or _age(record.position, record.state) >= _age(found[row].position, found[row].state):
            found[row] = record
    return found


def _age(position: Position, state: int) -> tuple[int, int]:
    return position[2], state


def compare(services: dict[str, Service], records: list[Record], mappings: Mappings) -> int:
    """The newest record of each row says what its table says; how many rows there are."""
    last = newest(records)
    rows = 0
    for service in services.values():
        for table in service.tables:
            topic = service.topic(table)
            there = _rows(service, table)
            live = {key for (source, key), record in last.items() if source == topic and _is_live(record)}
            if live != set(there):
                missing, extra = set(there) - live, live - set(there)
                raise MetlError(f"Of {topic}, rows {missing} did not come out, and rows {extra} should not have.")
            for key, row in there.items():
                _compare_row(row, last[topic, key], mappings)
            rows += len(there)
    return rows


def _is_live(record: Record) -> bool:
    return record.value is not None and record.value["op"] != "d"


def _compare_row(row: dict[str, Any], record: Record, mappings: Mappings) -> None:
    schema = record.key["source"]
    mapping = mappings[schema, record.version, record.value["entity"], record.state]
    for attribute, column in mapping.items():
        if column not in row:
            continue  # renamed or dropped since
        if _text(record.value["after"].get(attribute)) != _text(row[column]):
            raise MetlError(f"{schema} has {column} = {row[column]!r} in {row}, but what came out is {record.value}.")


def _text(value: Any) -> str | None:
    """Of a number, a text or nothing: the type of a column may have changed since, which is no change of its rows."""
    return None if value is None else str(value)


def _rows(service: Service, table: str) -> dict[int, dict[str, Any]]:
    with psycopg.connect(service.dsn, row_factory=dict_row) as connection:
        found = connection.execute(sql.SQL("select * from {}").format(sql.Identifier(table))).fetchall()
    return {row["id"]: row for row in found}


def mappings(dsn: str, states: set[int]) -> Mappings:
    found: Mappings = {}
    with psycopg.connect(dsn) as connection:
        for state in sorted(states):
            for schema, version, entity, _, attribute, entity_attribute in connection.execute(
                "select schema, version, entity, entity_version, attribute, entity_attribute "
                "from metl.decompaction_at(%s)",
                [state],
            ):
                found.setdefault((schema, version, entity, state), {})[entity_attribute] = attribute
    return found
