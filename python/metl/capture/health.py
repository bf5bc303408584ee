"""How connectors are: what Kafka Connect says of them, and what their source databases say."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import dict_row

from metl.capture import connectors, source
from metl.capture.changes import publication_of, slot_of
from metl.capture.names import captured, entries, named
from metl.capture.publication import published
from metl.capture.tables import capturable
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

    def plain(self) -> dict[str, Any]:
        when = self.last_event_at
        return asdict(self) | {"last_event_at": when.isoformat() if when else None}


def look(connect: str) -> list[Health]:
    """All connectors, each with what is worst of it; raises if Kafka Connect does not answer."""
    found = connectors.every(connect)
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda name: _look(connect, name, found[name]), sorted(found)))


def unreachable(known: list[dict[str, Any]]) -> list[Health]:
    """Those that metl.connectors had seen, now that nobody can be asked."""
    way_out = "Start it: metl up connect; or correct METL_CONNECT."
    return [
        Health(
            each["connector"], "unreachable", each["prefix"], "Kafka Connect does not answer: nothing is captured.",
            way_out, tables=each["tables"], slot=each["slot"], last_event_at=each["last_event_at"],
        )
        for each in known
    ]  # fmt: skip


def _look(connect: str, name: str, found: dict[str, Any]) -> Health:
    settings, status = found["info"]["config"], found["status"]
    health = Health(
        name,
        connectors.state(status).lower(),
        settings.get("topic.prefix"),
        tasks=[
            {"task": task["id"], "state": task["state"].lower(), "worker": task.get("worker_id")}
            | ({"error": connectors.failure({"connector": task, "tasks": []})} if task["state"] == "FAILED" else {})
            for task in status["tasks"]
        ],
        tables=named(settings),
    )
    worst = next(_problems(connect, name, settings, status, health), None)
    if worst is not None:
        health.problem, health.way_out = worst
    return health


def _problems(
    connect: str, name: str, settings: dict[str, str], status: dict[str, Any], health: Health
) -> Iterator[tuple[str, str]]:
    """What is wrong and the way out, the first cause first: a task often fails because of something at the source."""
    failure = connectors.failure(status)
    if settings.get("connector.class", "").endswith("PostgresConnector"):
        health.slot = slot_of(settings, name)
        try:
            with source.connect(settings) as connection:
                yield from _source_problems(connect, name, settings, connection, health)
        except source.NoLogin as error:
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
    anew = f"metl capture restart {name} --anew --why …  (reads all rows once more; deletes meanwhile are lost)"
    everything = capturable(connection)
    health.tables = sorted({*named(settings), *captured(settings, everything)}) if entries(settings) else everything
    slot = connection.cursor(row_factory=dict_row).execute(SLOT, [health.slot]).fetchone()
    if slot is not None:
        health.behind_bytes, health.wal_bytes = slot["behind"], slot["kept"]
    if slot is None and health.status not in ("unassigned", "restarting"):
        yield f"Replication slot {health.slot} is gone, and with it the changes that were not read yet.", anew
    if slot is not None and slot["wal_status"] == "lost":
        yield f"Replication slot {health.slot} is lost: the server kept too little WAL for it.", anew
    publication = publication_of(settings, name)
    made = connection.execute(PUBLICATION, [publication]).fetchone()
    if made is None:
        yield f"Publication {publication} is gone: changes are not published any more.", anew
    elif not made[0]:
        yield from _table_problems(name, health.tables, everything, published(connection, publication))
    if slot is not None and slot["wal_status"] == "unreserved":
        yield (
            f"Replication slot {health.slot} is about to be lost: the server keeps no more WAL for it.",
            f"Raise max_slot_wal_keep_size, and see with metl capture show {name} how the connector catches up.",
        )
    if slot is not None and not slot["active"] and health.status == "running" and not _takes_snapshot(connect, name):
        yield (
            f"Nobody reads replication slot {health.slot}: the connector runs, but has lost its source.",
            f"`metl logs connect` says why. It tries again by itself; or at once: metl capture restart {name}",
        )


def _table_problems(
    name: str, wanted: list[str], everything: list[str], published_tables: set[str]
) -> Iterator[tuple[str, str]]:
    for table in wanted:
        if table not in everything:
            yield (
                f"Table {table} is gone.",
                f"If for good: metl capture remove {name} {table} --why …; if it is made anew: "
                f"metl capture add {name} {table}",
            )
        elif table not in published_tables:
            yield (
                f"Changes of {table} are not published: it was made anew, or taken out of the publication.",
                f"metl capture add {name} {table}  (also reads its rows; those of an old table stay in the "
                "warehouse, and metl compare shows them)",
            )


def _takes_snapshot(connect: str, name: str) -> bool:
    """While it reads all rows at its first start, it does not read its slot yet."""
    offsets = connectors.request("GET", connectors.url(connect, name, "offsets"), timeout=5).get("offsets") or []
    return not offsets or any((each.get("offset") or {}).get("snapshot") for each in offsets)
