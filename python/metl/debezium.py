"""Debezium connectors on Kafka Connect."""

import time
from collections.abc import Iterable
from typing import Any

import psycopg

from metl import rest
from metl.errors import BadInput, PartFailed
from metl.nearest import nearest

RUNNING_PATIENCE = 60.0
LEAVING_PATIENCE = 30.0


def postgres_source(
    *,
    prefix: str,
    host: str,
    port: int,
    database: str,
    user: str,
    password: str,
    tables: Iterable[str],
    registry: str,
    kafka: str | None = None,
) -> dict[str, str]:
    """The settings of a connector whose messages carry the id under which the registry knows their schema.

    With the address of `kafka` it also hears signals, so that `metl snapshot` can ask it for rows once more.

    `password` is best a reference, `${file:<passwords.properties>:<user>}`: Connect shows settings to everybody.
    """
    converter = {
        "": "io.apicurio.registry.utils.converter.ExtJsonConverter",
        ".apicurio.registry.url": f"{registry}/apis/registry/v2",
        ".apicurio.registry.auto-register": "true",
        ".apicurio.registry.find-latest": "true",
    }
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "topic.prefix": prefix,
        "database.hostname": host,
        "database.port": str(port),
        "database.dbname": database,
        "database.user": user,
        "database.password": password,
        "table.include.list": ",".join(tables),
        "plugin.name": "pgoutput",
        "slot.name": slot_name(prefix),
        "publication.name": slot_name(prefix),
        # The default would publish every table, and deletes on those without a primary key would fail.
        "publication.autocreate.mode": "filtered",
        "decimal.handling.mode": "string",
        # By default it keeps truncates to itself, and nobody would know that the rows are gone.
        "skipped.operations": "none",
        "heartbeat.interval.ms": "10000",
        **(signals(prefix, kafka) if kafka else {}),
        **{f"{side}.converter{key}": value for side in ("key", "value") for key, value in converter.items()},
    }


def signals(prefix: str, kafka: str) -> dict[str, str]:
    """What lets a connector hear signals from Kafka. It reads only: watermarks in a table of the source's are not
    needed from PostgreSQL 13 on."""
    return {
        "signal.enabled.channels": "source,kafka",
        "signal.kafka.topic": f"{prefix}.signals",
        "signal.kafka.bootstrap.servers": kafka,
        # Several connectors may share one topic, and each must hear all of it.
        "signal.kafka.groupId": f"metl-signals-{prefix}",
        "read.only": "true",
    }


def config(connect: str, name: str) -> dict[str, str]:
    """The settings of a connector that is there."""
    try:
        found: dict[str, str] = rest.request("GET", f"{connect}/connectors/{name}/config")
    except rest.RestError as error:
        if error.status != 404:
            raise
        known = rest.request("GET", f"{connect}/connectors")
        raise BadInput(f"There is no connector {name!r}.{nearest(name, known)}") from None
    return found


def create(connect: str, name: str, settings: dict[str, str]) -> None:
    """Creates or changes a connector and waits until its task runs."""
    rest.request("PUT", f"{connect}/connectors/{name}/config", settings, timeout=60)
    end = time.monotonic() + RUNNING_PATIENCE
    while True:
        status = _status(connect, name)
        states = {status["connector"]["state"], *(task["state"] for task in status["tasks"])}
        if states == {"RUNNING"} and status["tasks"]:
            return
        if "FAILED" in states:
            traces = [part["trace"] for part in [status["connector"], *status["tasks"]] if "trace" in part]
            raise PartFailed(f"Connector {name} failed: {traces[0].splitlines()[0] if traces else status}")
        if time.monotonic() > end:
            raise PartFailed(f"Connector {name} does not run after {RUNNING_PATIENCE:.0f} s: {status}")
        time.sleep(0.2)


def await_published(connection: psycopg.Connection, prefix: str, tables: Iterable[str]) -> None:
    """Until changes of the tables are logged for the connector: one that was changed starts again by itself, later."""
    end = time.monotonic() + RUNNING_PATIENCE
    published = "select schemaname || '.' || tablename from pg_publication_tables where pubname = %s"
    wanted = set(tables)
    while missing := wanted - {name for (name,) in connection.execute(published, [slot_name(prefix)])}:
        connection.rollback()
        if time.monotonic() > end:
            raise PartFailed(f"Connector {prefix} does not read {sorted(missing)[0]} after {RUNNING_PATIENCE:.0f} s.")
        time.sleep(0.1)


def delete(connect: str, name: str) -> None:
    rest.request("DELETE", f"{connect}/connectors/{name}", timeout=60)


def _status(connect: str, name: str) -> Any:
    try:
        return rest.request("GET", f"{connect}/connectors/{name}/status")
    except rest.RestError as error:
        # Not known yet, or the worker is distributing connectors anew.
        if error.status in (404, 409):
            return {"connector": {"state": "UNASSIGNED"}, "tasks": []}
        raise


def drop_slot(dsn: str, prefix: str) -> None:
    """A deleted connector leaves its slot behind, which would keep the server's change log for ever."""
    end = time.monotonic() + LEAVING_PATIENCE
    with psycopg.connect(dsn, autocommit=True) as connection:
        while True:
            try:
                connection.execute(
                    "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = %s",
                    [slot_name(prefix)],
                )
                return
            except psycopg.errors.ObjectInUse as error:
                if time.monotonic() > end:
                    raise PartFailed(f"Slot {slot_name(prefix)} is still in use: {error}") from None
            time.sleep(0.2)


def slot_name(prefix: str) -> str:
    """Slots belong to the whole server, so that their names must differ by connector."""
    return f"metl_{prefix}"
