"""Records as metl warehouse stages them, merged without Spark."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

COLUMNS = (
    "entity", "source", "key", "partition", "offset", "at", "op", "after", "unavailable", "state", "schema", "version",
)  # fmt: skip
JOB = "warehouse"


@dataclass(frozen=True)
class Staged:
    entity: str
    source: str
    key: str | None
    partition: int
    offset: int
    at: int | None
    op: str
    after: dict[str, Any] | None
    state: int
    version: int | None = 1
    unavailable: tuple[str, ...] = ()

    def row(self) -> list[str | None]:
        after = None if self.after is None else json.dumps(self.after)
        unavailable = json.dumps(self.unavailable) if self.unavailable else None
        schema = None if self.version is None else self.source
        version = None if self.version is None else str(self.version)
        return [
            self.entity, self.source, self.key, str(self.partition), str(self.offset),
            None if self.at is None else str(self.at), self.op, after, unavailable, str(self.state), schema, version,
        ]  # fmt: skip


def start(connection: psycopg.Connection) -> None:
    connection.execute("select metl.start_job(%s, '/nowhere', gen_random_uuid())", [JOB])


def merge(connection: psycopg.Connection, batch: Iterable[Staged]) -> int:
    """How many were rejected."""
    [(staged,)] = connection.execute("select metl.open_warehouse(%s)", [JOB]).fetchall()
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    with connection.cursor().copy(f"copy warehouse.{staged} ({names}) from stdin".encode()) as copy:
        for record in batch:
            copy.write_row(record.row())
    rejected = 0
    for (entity,) in connection.execute("select metl.staged_entities(%s)", [JOB]).fetchall():
        [(counts,)] = connection.execute("select metl.merge_warehouse(%s, %s)", [JOB, entity]).fetchall()
        rejected += counts["rejected"]
    return rejected


def table(connection: psycopg.Connection, name: str) -> list[tuple[str | None, ...]]:
    """Every column as text, the rows by key: equal only if they are so byte for byte."""
    there = sql.Identifier("warehouse", name)
    cursor = connection.execute(sql.SQL("select * from {} limit 0").format(there))
    columns = (sql.SQL("{}::text").format(sql.Identifier(column.name)) for column in cursor.description or [])
    query = sql.SQL("select {} from {} order by _source, _key").format(sql.SQL(", ").join(columns), there)
    return connection.execute(query).fetchall()
