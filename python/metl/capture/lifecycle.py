"""Creates, changes, restarts and deletes connectors; settings and tables that are not concerned stay as they are."""

import functools
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.sql import SQL

from metl.capture import connectors, snapshots
from metl.capture.names import captured_tables, entries, listed_tables, name_pattern, table_of
from metl.capture.paging import blocking_refusal, can_page, misaligned_tables
from metl.capture.publication import (
    drop_publication,
    drop_slot,
    has_publication,
    publish,
    published_tables,
    unpublish,
)
from metl.capture.settings import slot_name
from metl.capture.snapshots import BLOCKING, INCREMENTAL, OVERRIDES, SnapshotResult, SnapshotWatch
from metl.capture.tables import Table, find_table, identifier
from metl.errors import BadInput, MetlError

Report = Callable[[str], None]
#: Other settings that select tables; METL only edits table.include.list.
OTHER_FILTERS = ("table.exclude.list", "schema.include.list", "schema.exclude.list")

RETRIES = 2
RETRY_DELAY = 3.0


@dataclass(frozen=True)
class ConnectorRef:
    """A connector: the URL of its Kafka Connect, its name, and settings of a Kafka client."""

    connect: str
    name: str
    client: dict[str, Any]


def slot_of(settings: dict[str, str] | None, prefix: str) -> str:
    return slot_name(prefix) if settings is None else settings.get("slot.name", "debezium")


def publication_of(settings: dict[str, str] | None, prefix: str) -> str:
    return slot_name(prefix) if settings is None else settings.get("publication.name", "dbz_publication")


def require_table_list(name: str, settings: dict[str, str]) -> None:
    """Raises unless the connector selects its tables by table.include.list."""
    if not settings.get("connector.class", "").endswith("PostgresConnector"):
        raise BadInput(f"Connector {name} is not one of Debezium's for PostgreSQL.")
    for setting in OTHER_FILTERS:
        if settings.get(setting):
            raise BadInput(f"Connector {name} chooses its tables by {setting}: change that setting instead.")
    if not entries(settings):
        raise BadInput(f"Connector {name} captures every table of its database: it has no table.include.list.")


def with_tables(settings: dict[str, str], tables: Sequence[Table]) -> dict[str, str]:
    """The settings with these tables, and without what snapshots would read although the change stream does not have
    it: generated columns, and rows of inheriting tables."""
    own_rows = SQL("select * from only {}")
    statements = {each.name: own_rows.format(identifier(each.name)).as_string() for each in tables if each.children}
    lists = {
        "table.include.list": [
            name_pattern(each.name) for each in tables if not captured_tables(settings, [each.name])
        ],
        "column.exclude.list": [name_pattern(f"{each.name}.{column}") for each in tables for column in each.generated],
        OVERRIDES: list(statements),
    }
    settings = settings | {f"{OVERRIDES}.{name}": statement for name, statement in statements.items()}
    for setting, wanted in lists.items():
        existing = entries(settings, setting)
        if missing := [each for each in wanted if each not in existing]:
            settings = settings | {setting: ",".join([*existing, *missing])}
    return settings


def refresh_settings(connection: psycopg.Connection, settings: dict[str, str], names: Sequence[str]) -> dict[str, str]:
    """Adapted to these tables as they are now: since they were added, columns may have become generated, and other
    tables may inherit from them."""
    return with_tables(settings, _require_tables(connection, names))


def create(
    connection: psycopg.Connection, ref: ConnectorRef, settings: dict[str, str], names: Sequence[str], report: Report
) -> SnapshotResult | None:
    """Creates a connector and waits for its initial snapshot of these tables."""
    tables = _require_tables(connection, names)
    publication = publication_of(settings, ref.name)
    is_new = not has_publication(connection, publication)
    _publish(connection, publication, names, report)
    snapshots.create_topics(ref.client, settings)
    watch = SnapshotWatch(ref.client, ref.connect, ref.name, settings)
    try:
        try:
            connectors.put(ref.connect, ref.name, with_tables(settings, tables))
        except MetlError:
            # The connector was not created.
            if is_new:
                drop_publication(connection, publication)
            raise
        connectors.await_running(ref.connect, ref.name)
        report("The connector runs. It reads the existing rows.")
        return _await_initial_snapshot(ref, watch, names, report)
    finally:
        watch.close()


def add_tables(
    connection: psycopg.Connection, ref: ConnectorRef, settings: dict[str, str], names: Sequence[str], report: Report
) -> list[str]:
    """Adds tables to an existing connector. Returns those that were new to it or to its publication."""
    tables = _require_tables(connection, names)
    publication = publication_of(settings, ref.name)
    published = published_tables(connection, publication)
    new = [name for name in names if name not in published or not captured_tables(settings, [name])]
    # Publish first: changes from now on are in the WAL, whenever the connector begins to read it.
    _publish(connection, publication, names, report)
    changed = with_tables(settings, tables)
    if changed != connectors.require_config(ref.connect, ref.name):
        apply_settings(ref, changed)
        report("The connector runs with the new list of tables.")
    else:
        connectors.require_alive(ref.name, connectors.status(ref.connect, ref.name))
    return new


def apply_settings(ref: ConnectorRef, settings: dict[str, str]) -> None:
    """Changes the settings and waits until a task has started with them: the old one goes on for some time."""
    snapshots.create_topics(ref.client, settings)
    watch = SnapshotWatch(ref.client, ref.connect, ref.name, settings)
    try:
        connectors.put(ref.connect, ref.name, settings)
        watch.await_start()
    finally:
        watch.close()


def snapshot_tables(
    connection: psycopg.Connection, ref: ConnectorRef, settings: dict[str, str], names: Sequence[str], report: Report
) -> tuple[dict[str, SnapshotResult | None], list[str]]:
    """Takes a snapshot of tables, incremental where their keys allow it; returns the result of each kind, and the ids
    of the signals."""
    results: dict[str, SnapshotResult | None] = {}
    signals: list[str] = []
    by_kind = group_by_snapshot_kind(connection, names)
    if BLOCKING in by_kind and (misaligned := misaligned_tables(connection, settings)):
        raise BadInput(
            f"Nothing was asked for: {blocking_refusal(by_kind[BLOCKING][0], misaligned)}. Take them by SQL (metl "
            f"initial-load), or let the connector read everything anew: metl capture restart {ref.name} --anew --why …"
        )
    connection.rollback()
    for kind, tables in by_kind.items():
        result = _take_snapshot(ref, settings, tables, kind, signals, report)
        # A task with the old settings may take the signal: it does not know added tables, but its successor does.
        for _ in range(RETRIES):
            if result is None or not (unread := list(result.unread(tables))):
                break
            time.sleep(RETRY_DELAY)
            retried = _take_snapshot(ref, settings, unread, kind, signals, report)
            result = retried and SnapshotResult(result.rows | retried.rows, retried.failed)
        if result is not None:
            result.require_read(ref.name, tables)
        results[kind] = result
    return results, signals


def _take_snapshot(
    ref: ConnectorRef, settings: dict[str, str], names: Sequence[str], kind: str, signals: list[str], report: Report
) -> SnapshotResult | None:
    watch = SnapshotWatch(ref.client, ref.connect, ref.name, settings)
    signals.append(str(uuid.uuid4()))
    send = functools.partial(snapshots.send_signal, ref.client, settings, names, kind, signals[-1])
    try:
        send()
        return watch.await_end(signals[-1] if kind == INCREMENTAL else None, report, send)
    finally:
        watch.close()


def group_by_snapshot_kind(connection: psycopg.Connection, names: Sequence[str]) -> dict[str, list[str]]:
    """By the kind of snapshot that can read each table."""
    by_kind: dict[str, list[str]] = {}
    for table in _require_tables(connection, names):
        by_kind.setdefault(INCREMENTAL if can_page(table) else BLOCKING, []).append(table.name)
    connection.rollback()
    return by_kind


def remove_tables(
    connection: psycopg.Connection, ref: ConnectorRef, settings: dict[str, str], names: Sequence[str]
) -> None:
    """If no table is left, deletes the connector, its slot and publication."""
    left = [entry for entry in entries(settings) if table_of(entry) not in names]
    publication = publication_of(settings, ref.name)
    if not left:
        # Connect keeps offsets by the connector's name: a new one of this name would continue from them.
        connectors.forget_offsets(ref.connect, ref.name)
        connectors.delete(ref.connect, ref.name)
        drop_slot(connection, slot_of(settings, ref.name))
        drop_publication(connection, publication)
        return
    apply_settings(ref, settings | {"table.include.list": ",".join(left)})
    unpublish(connection, publication, names)


def restart(ref: ConnectorRef, settings: dict[str, str]) -> None:
    """Restarts a connector and its tasks, which continue from their offsets; raises if they fail again."""
    watch = SnapshotWatch(ref.client, ref.connect, ref.name, settings)
    old_failures = connectors.failure_traces(connectors.status(ref.connect, ref.name))
    try:
        connectors.restart(ref.connect, ref.name)
        watch.await_start(old_failures)
    finally:
        watch.close()


def reset(
    connection: psycopg.Connection, ref: ConnectorRef, settings: dict[str, str], report: Report
) -> SnapshotResult | None:
    """Drops a connector's offsets and slot, recreates what is missing and waits for a new initial snapshot."""
    names = listed_tables(settings)
    connectors.forget_offsets(ref.connect, ref.name)
    drop_slot(connection, slot_of(settings, ref.name))
    _publish(connection, publication_of(settings, ref.name), names, report)
    watch = SnapshotWatch(ref.client, ref.connect, ref.name, settings)
    try:
        connectors.restart(ref.connect, ref.name)
        connectors.await_running(ref.connect, ref.name)
        return _await_initial_snapshot(ref, watch, names, report)
    finally:
        watch.close()


def require_captured(name: str, settings: dict[str, str], tables: Sequence[str]) -> None:
    """Raises unless table.include.list names all of these tables literally."""
    snapshots.require_included(settings, name, tables)
    by_pattern = set(tables) - set(listed_tables(settings))
    if by_pattern:
        raise BadInput(f"{min(by_pattern)!r} is captured by a regular expression in table.include.list: change that.")


def _publish(connection: psycopg.Connection, publication: str, names: Sequence[str], report: Report) -> None:
    for action in publish(connection, publication, names):
        report(f"{action[0].upper()}{action[1:]}.")


def _await_initial_snapshot(
    ref: ConnectorRef, watch: SnapshotWatch, names: Sequence[str], report: Report
) -> SnapshotResult | None:
    result = watch.await_end(None, report)
    if result is not None:
        result.require_read(ref.name, names)
    return result


def _require_tables(connection: psycopg.Connection, names: Sequence[str]) -> list[Table]:
    tables = [find_table(connection, name) for name in names]
    for name, table in zip(names, tables, strict=True):
        if table is None:
            raise BadInput(f"Database {connection.info.dbname} has no table {name!r}.")
    return [table for table in tables if table is not None]
