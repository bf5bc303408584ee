"""Health of connectors, as Kafka Connect and their source databases report it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import dict_row

from metl.capture import connectors, source
from metl.capture.lifecycle import publication_of, slot_of
from metl.capture.names import captured_tables, entries, listed_tables
from metl.capture.publication import published_tables
from metl.capture.tables import capturable_tables
from metl.config import SOURCE_DSN

SLOT = """
select
    active,
    wal_status,
    pg_wal_lsn_diff(now.lsn, confirmed_flush_lsn)::bigint as behind,
    pg_wal_lsn_diff(now.lsn, restart_lsn)::bigint as kept
from pg_replication_slots
cross join lateral (
    select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end as lsn
) as now
where slot_name = %s
"""
PUBLICATION = "select puballtables from pg_publication where pubname = %s"


@dataclass
class Health:
    connector: str
    status: str
    prefix: str | None = None
    problem: str | None = None
    way_out: str | None = None
    #: A dictionary for each task: task, state, worker and, if it failed, error.
    tasks: list[dict[str, Any]] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    slot: str | None = None
    behind_bytes: int | None = None
    wal_bytes: int | None = None
    last_event_at: datetime | None = None

    @property
    def is_bad(self) -> bool:
        return self.problem is not None

    def as_dict(self) -> dict[str, Any]:
        last = self.last_event_at
        return asdict(self) | {"last_event_at": last.isoformat() if last else None}


def check_connectors(connect: str) -> list[Health]:
    """All connectors, each with its first problem; raises if Kafka Connect does not answer."""
    described = connectors.list_connectors(connect)
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda name: _check_connector(connect, name, described[name]), sorted(described)))


def unreachable(last_reports: list[dict[str, Any]]) -> list[Health]:
    """The connectors in metl.connectors, while Kafka Connect does not answer."""
    way_out = "Start it: metl up connect; or correct METL_CONNECT."
    return [
        Health(
            each["connector"], "unreachable", each["prefix"], "Kafka Connect does not answer: nothing is captured.",
            way_out, tables=each["tables"], slot=each["slot"], last_event_at=each["last_event_at"],
        )
        for each in last_reports
    ]  # fmt: skip


def _check_connector(connect: str, name: str, described: dict[str, Any]) -> Health:
    settings, status = described["info"]["config"], described["status"]
    health = Health(
        name,
        connectors.state(status).lower(),
        settings.get("topic.prefix"),
        tasks=[
            {"task": task["id"], "state": task["state"].lower(), "worker": task.get("worker_id")}
            | ({"error": connectors.part_failure(task)} if task["state"] == "FAILED" else {})
            for task in status["tasks"]
        ],
        tables=listed_tables(settings),
    )
    problem = next(_problems(connect, name, settings, status, health), None)
    if problem is not None:
        health.problem, health.way_out = problem
    return health


def _problems(
    connect: str, name: str, settings: dict[str, str], status: dict[str, Any], health: Health
) -> Iterator[tuple[str, str]]:
    """Problems and their ways out, causes first: a task often fails because of the source."""
    failure = connectors.failure_cause(status)
    if settings.get("connector.class", "").endswith("PostgresConnector"):
        health.slot = slot_of(settings, name)
        try:
            with source.connect(settings) as connection:
                yield from _source_problems(connect, name, settings, connection, health)
        except source.LoginFailed as error:
            yield (
                f"{error}.",
                "Put the right password where the connector finds it (its setting database.password), then: "
                f"metl capture restart {name}. If it is only this machine that cannot log in, correct or set "
                f"{SOURCE_DSN}.",
            )
        except psycopg.Error as error:
            yield f"The source database failed: {error}.", f"Look at its log, then: metl capture restart {name}"
    if failure is not None:
        yield f"It failed: {failure}.", f"Mend that, then: metl capture restart {name}"
    if health.status == "unassigned" or not status["tasks"]:
        yield "No worker of Kafka Connect runs it.", f"Start one (metl up connect), or: metl capture restart {name}"
    if health.status in ("paused", "stopped"):
        yield f"Somebody has {health.status} it.", f"metl capture restart {name}"


def _source_problems(
    connect: str, name: str, settings: dict[str, str], connection: psycopg.Connection, health: Health
) -> Iterator[tuple[str, str]]:
    reset = f"metl capture restart {name} --anew --why …  (reads all rows once more; deletes meanwhile are lost)"
    existing = capturable_tables(connection)
    health.tables = existing
    if entries(settings):
        health.tables = sorted({*listed_tables(settings), *captured_tables(settings, existing)})
    slot = connection.cursor(row_factory=dict_row).execute(SLOT, [health.slot]).fetchone()
    if slot is not None:
        health.behind_bytes, health.wal_bytes = slot["behind"], slot["kept"]
    if slot is None and health.status not in ("unassigned", "restarting"):
        yield f"Replication slot {health.slot} is gone, and with it the changes that were not read yet.", reset
    if slot is not None and slot["wal_status"] == "lost":
        yield f"Replication slot {health.slot} is lost: the server kept too little WAL for it.", reset
    publication = publication_of(settings, name)
    row = connection.execute(PUBLICATION, [publication]).fetchone()
    if row is None:
        yield f"Publication {publication} is gone: changes are not published any more.", reset
    elif not row[0]:
        published = published_tables(connection, publication)
        yield from _table_problems(name, health.tables, existing, published)
    if slot is not None and slot["wal_status"] == "unreserved":
        yield (
            f"Replication slot {health.slot} is about to be lost: the server keeps no more WAL for it.",
            f"Raise max_slot_wal_keep_size, and see with metl capture show {name} how the connector catches up.",
        )
    is_unread = slot is not None and not slot["active"] and health.status == "running"
    if is_unread and not _is_in_initial_snapshot(connect, name):
        yield (
            f"Nobody reads replication slot {health.slot}: the connector runs, but has lost its source.",
            f"`metl stack logs connect` says why. It tries again by itself; or at once: metl capture restart {name}",
        )


def _table_problems(
    name: str, captured: list[str], existing: list[str], published: set[str]
) -> Iterator[tuple[str, str]]:
    for table in captured:
        if table not in existing:
            yield (
                f"Table {table} is gone.",
                f"If for good: metl capture remove {name} {table} --why …; if it is created again: "
                f"metl capture add {name} {table}",
            )
        elif table not in published:
            yield (
                f"Changes of {table} are not published: it was created again, or taken out of the publication.",
                f"metl capture add {name} {table}  (also reads its rows; those of an old table stay in the "
                "warehouse, and metl entities compare shows them)",
            )


def _is_in_initial_snapshot(connect: str, name: str) -> bool:
    """A connector reads its slot only after its initial snapshot."""
    offsets = connectors.request("GET", connectors.url(connect, name, "offsets"), timeout=5).get("offsets") or []
    return not offsets or any((each.get("offset") or {}).get("snapshot") for each in offsets)
