"""Tables that a connector captures: added to it and taken out of it, everything else of it stays as it is."""

import functools
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.sql import SQL

from metl.capture import connectors, snapshots
from metl.capture.names import captured, entries, named, pattern, table_of
from metl.capture.paging import blocked, can_page, with_generated
from metl.capture.publication import (
    drop_publication,
    drop_slot,
    has_publication,
    publish,
    published,
    unpublish,
)
from metl.capture.settings import slot_name
from metl.capture.snapshots import BLOCKING, INCREMENTAL, OVERRIDES, Scans, Watch
from metl.capture.tables import Table, find, identifier
from metl.errors import BadInput, MetlError

Say = Callable[[str], None]
#: Rules by which a connector may choose its tables; METL knows how to add to a list of names.
OTHER_RULES = ("table.exclude.list", "schema.include.list", "schema.exclude.list")

TRIES = 2
TRY_AGAIN = 3.0


@dataclass(frozen=True)
class Place:
    """Where a connector is, and what speaks to Kafka."""

    connect: str
    name: str
    client: dict[str, Any]


def slot_of(settings: dict[str, str] | None, prefix: str) -> str:
    return slot_name(prefix) if settings is None else settings.get("slot.name", "debezium")


def publication_of(settings: dict[str, str] | None, prefix: str) -> str:
    return slot_name(prefix) if settings is None else settings.get("publication.name", "dbz_publication")


def require_list(name: str, settings: dict[str, str]) -> None:
    """An error if its tables are not a list of names."""
    if not settings.get("connector.class", "").endswith("PostgresConnector"):
        raise BadInput(f"Connector {name} is not one of Debezium's for PostgreSQL.")
    for rule in OTHER_RULES:
        if settings.get(rule):
            raise BadInput(f"Connector {name} chooses its tables by {rule}: change that setting instead.")
    if not entries(settings):
        raise BadInput(f"Connector {name} captures every table of its database: it has no table.include.list.")


def merged(settings: dict[str, str], tables: Sequence[Table]) -> dict[str, str]:
    """With these tables, and without what is in snapshots, but not in the change stream: generated columns, and rows
    of tables that inherit."""
    own_rows = SQL("select * from only {}")
    inherited = {each.name: own_rows.format(identifier(each.name)).as_string() for each in tables if each.children}
    lists = {
        "table.include.list": [pattern(each.name) for each in tables if not captured(settings, [each.name])],
        "column.exclude.list": [pattern(f"{each.name}.{column}") for each in tables for column in each.generated],
        OVERRIDES: list(inherited),
    }
    settings = settings | {f"{OVERRIDES}.{name}": statement for name, statement in inherited.items()}
    for setting, wanted in lists.items():
        known = entries(settings, setting)
        if more := [each for each in wanted if each not in known]:
            settings = settings | {setting: ",".join([*known, *more])}
    return settings


def current(connection: psycopg.Connection, settings: dict[str, str], names: Sequence[str]) -> dict[str, str]:
    """With what these tables need now: a column may be generated, and a table inherited from, since they were added."""
    return merged(settings, _found(connection, names))


def start(
    connection: psycopg.Connection, place: Place, settings: dict[str, str], names: Sequence[str], say: Say
) -> Scans | None:
    """A connector that is not there yet; its first snapshot reads the rows that are there."""
    tables = _found(connection, names)
    publication = publication_of(settings, place.name)
    is_new = not has_publication(connection, publication)
    for done in publish(connection, publication, names):
        say(f"{done[0].upper()}{done[1:]}.")
    snapshots.make_topics(place.client, settings)
    watch = Watch(place.client, place.connect, place.name, settings)
    try:
        try:
            connectors.put(place.connect, place.name, merged(settings, tables))
        except MetlError:
            # There is no connector then.
            if is_new:
                drop_publication(connection, publication)
            raise
        connectors.await_running(place.connect, place.name)
        say("The connector runs. It reads the rows that are there.")
        return _first(place, watch, names, say)
    finally:
        watch.close()


def add(
    connection: psycopg.Connection, place: Place, settings: dict[str, str], names: Sequence[str], say: Say
) -> list[str]:
    """Tables to a connector that is there. Returns those that were new to it, or to its publication."""
    tables = _found(connection, names)
    publication = publication_of(settings, place.name)
    before = published(connection, publication)
    new = [name for name in names if name not in before or not captured(settings, [name])]
    # Published first: what changes from now on is in the log, whenever the connector begins to read it.
    for done in publish(connection, publication, names):
        say(f"{done[0].upper()}{done[1:]}.")
    wanted = merged(settings, tables)
    if wanted != connectors.config(place.connect, place.name):
        change(place, wanted)
        say("The connector runs with the new list of tables.")
    else:
        connectors.require_alive(place.name, connectors.status(place.connect, place.name))
    return new


def _first(place: Place, watch: Watch, names: Sequence[str], say: Say) -> Scans | None:
    scans = watch.run(None, say)
    if scans is not None:
        scans.require(place.name, names)
    return scans


def change(place: Place, settings: dict[str, str]) -> None:
    """Gives a connector other settings and waits until it works by them: the old task goes on for a moment."""
    snapshots.make_topics(place.client, settings)
    watch = Watch(place.client, place.connect, place.name, settings)
    try:
        connectors.put(place.connect, place.name, settings)
        watch.await_start()
    finally:
        watch.close()


def read_rows(
    connection: psycopg.Connection, place: Place, settings: dict[str, str], names: Sequence[str], say: Say
) -> tuple[dict[str, Scans | None], list[str]]:
    """Asks for the rows of tables, by an incremental snapshot where their keys allow it; returns what came of each
    kind, and the ids of the signals."""
    outcome: dict[str, Scans | None] = {}
    signals: list[str] = []
    kinds = by_kind(connection, names)
    if BLOCKING in kinds and (mixed_up := with_generated(connection, settings)):
        raise BadInput(
            f"Nothing was asked for: {blocked(kinds[BLOCKING][0], mixed_up)}. Take them by SQL (metl initial-load), or "
            f"let the connector read everything anew: metl capture restart {place.name} --anew --why …"
        )
    connection.rollback()
    for kind, chosen in kinds.items():
        scans = _read(place, settings, chosen, kind, signals, say)
        # A task that was about to stop does not know tables that were added: the next one does.
        for _ in range(TRIES):
            if scans is None or not (missed := list(scans.missed(chosen))):
                break
            time.sleep(TRY_AGAIN)
            again = _read(place, settings, missed, kind, signals, say)
            scans = again and Scans(scans.rows | again.rows, again.failed)
        if scans is not None:
            scans.require(place.name, chosen)
        outcome[kind] = scans
    return outcome, signals


def _read(
    place: Place, settings: dict[str, str], names: Sequence[str], kind: str, signals: list[str], say: Say
) -> Scans | None:
    watch = Watch(place.client, place.connect, place.name, settings)
    signals.append(str(uuid.uuid4()))
    ask = functools.partial(snapshots.ask, place.client, settings, names, kind, signals[-1])
    try:
        ask()
        return watch.run(signals[-1] if kind == INCREMENTAL else None, say, ask)
    finally:
        watch.close()


def by_kind(connection: psycopg.Connection, names: Sequence[str]) -> dict[str, list[str]]:
    """The kind of snapshot that can read each table."""
    chosen: dict[str, list[str]] = {}
    for table in _found(connection, names):
        chosen.setdefault(INCREMENTAL if can_page(table) else BLOCKING, []).append(table.name)
    connection.rollback()
    return chosen


def remove(connection: psycopg.Connection, place: Place, settings: dict[str, str], names: Sequence[str]) -> None:
    """Tables, or the whole connector with its slot and publication if none is left."""
    left = [entry for entry in entries(settings) if table_of(entry) not in names]
    publication = publication_of(settings, place.name)
    if not left:
        # Connect keeps offsets by the connector's name: the next one of this name would want to go on there.
        connectors.forget_offsets(place.connect, place.name)
        connectors.delete(place.connect, place.name)
        drop_slot(connection, slot_of(settings, place.name))
        drop_publication(connection, publication)
        return
    change(place, settings | {"table.include.list": ",".join(left)})
    unpublish(connection, publication, names)


def restart(place: Place, settings: dict[str, str]) -> None:
    """A connector and its tasks, which go on where they were; raises if they fail again."""
    watch = Watch(place.client, place.connect, place.name, settings)
    failed_before = connectors.traces(connectors.status(place.connect, place.name))
    try:
        connectors.restart(place.connect, place.name)
        watch.await_start(failed_before)
    finally:
        watch.close()


def start_anew(connection: psycopg.Connection, place: Place, settings: dict[str, str], say: Say) -> Scans | None:
    """As if for the first time: what the connector knew is forgotten, and what it needs at the source is made again."""
    names = named(settings)
    connectors.forget_offsets(place.connect, place.name)
    drop_slot(connection, slot_of(settings, place.name))
    for done in publish(connection, publication_of(settings, place.name), names):
        say(f"{done[0].upper()}{done[1:]}.")
    watch = Watch(place.client, place.connect, place.name, settings)
    try:
        connectors.restart(place.connect, place.name)
        connectors.await_running(place.connect, place.name)
        return _first(place, watch, names, say)
    finally:
        watch.close()


def require_captured(name: str, settings: dict[str, str], tables: Sequence[str]) -> None:
    snapshots.check(settings, name, tables)
    patterns = set(tables) - set(named(settings))
    if patterns:
        raise BadInput(f"{min(patterns)!r} is captured by a regular expression in table.include.list: change that.")


def _found(connection: psycopg.Connection, names: Sequence[str]) -> list[Table]:
    found = [(name, find(connection, name)) for name in names]
    for name, table in found:
        if table is None:
            raise BadInput(f"Database {connection.info.dbname} has no table {name!r}.")
    return [table for _, table in found if table is not None]
