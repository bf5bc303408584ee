"""What a Debezium connector is told: every setting that decides what its messages look like."""

import re
from collections.abc import Iterable

from metl.capture.names import pattern
from metl.capture.plugin import CONVERTER_CLASS

HEARTBEAT = "metl.heartbeat"
#: So that no value is altered on its way out of the database.
EXACT = {
    # By default a NULL comes as the default of its column.
    "key.converter.replace.null.with.default": "false",
    "value.converter.replace.null.with.default": "false",
    "decimal.handling.mode": "string",
    # The default counts microseconds, a month as 30.4375 days.
    "interval.handling.mode": "string",
    # By default, a value that cannot be converted becomes null and a line in the log.
    "event.converting.failure.handling.mode": "fail",
    # Only then do values of types that Debezium does not know reach METL's converter.
    "include.unknown.datatypes": "true",
    "converters": "exact",
    "exact.type": CONVERTER_CLASS,
}


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
        "table.include.list": ",".join(map(pattern, tables)),
        "plugin.name": "pgoutput",
        "slot.name": slot_name(prefix),
        "publication.name": slot_name(prefix),
        # METL makes it, for reasons that publication.py gives.
        "publication.autocreate.mode": "disabled",
        **EXACT,
        # By default it keeps truncates to itself, and nobody would know that the rows are gone.
        "skipped.operations": "none",
        "heartbeat.interval.ms": "10000",
        # Something of this database is in the log at every heartbeat. Else the slot of a quiet one would stand still
        # and keep the WAL of its busy neighbours, and a blocking snapshot would wait for somebody's change to begin.
        # In a transaction: an incremental snapshot asks every message for the number of its.
        "heartbeat.action.query": f"select pg_logical_emit_message(true, '{HEARTBEAT}', '')",
        "message.prefix.exclude.list": HEARTBEAT,
        **(signals(prefix, kafka) if kafka else {}),
        **{f"{side}.converter{key}": value for side in ("key", "value") for key, value in converter.items()},
    }


def signals(prefix: str, kafka: str) -> dict[str, str]:
    """What lets a connector hear signals from Kafka and tell what becomes of them. It reads only: watermarks in a
    table of the source's are not needed from PostgreSQL 13 on."""
    return {
        "signal.enabled.channels": "source,kafka",
        # Not {prefix}.…: whoever maps these topics would take signals for rows.
        "signal.kafka.topic": f"metl.signals.{prefix}",
        "signal.kafka.bootstrap.servers": kafka,
        # By default it looks every 5 s for a tenth of a second, of which a consumer needs several to begin at all.
        "signal.kafka.poll.timeout.ms": "1000",
        "signal.poll.interval.ms": "1000",
        # Several connectors may share one topic, and each must hear all of it.
        "signal.kafka.groupId": f"metl-signals-{prefix}",
        "read.only": "true",
        # How snapshots go: Debezium skips a table that it cannot read, and tells only here.
        "notification.enabled.channels": "sink",
        "notification.sink.topic.name": f"metl.notifications.{prefix}",
    }


def slot_name(prefix: str) -> str:
    """Slots belong to the whole server, so that their names must differ by connector."""
    return re.sub(r"[^a-z0-9_]", "_", f"metl_{prefix.lower()}")
