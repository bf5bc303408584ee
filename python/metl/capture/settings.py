"""Settings of Debezium connectors: every one that decides what messages look like."""

import re
from collections.abc import Iterable

from metl.capture.names import name_pattern
from metl.capture.plugin import CONVERTER_CLASS

HEARTBEAT = "metl.heartbeat"
#: Without these, Debezium would alter values.
EXACT = {
    # By default a NULL is sent as the column's default value.
    "key.converter.replace.null.with.default": "false",
    "value.converter.replace.null.with.default": "false",
    "decimal.handling.mode": "string",
    # By default intervals become microseconds, a month 30.4375 days.
    "interval.handling.mode": "string",
    # By default a value that cannot be converted is logged and sent as null.
    "event.converting.failure.handling.mode": "fail",
    # Otherwise values of types that Debezium does not know never reach METL's converter.
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
    """A connector whose messages carry the registry's id of their schema.

    With the address of `kafka` it also reads signals, so that `metl capture snapshot` can request its rows again.

    `password` should be a reference, `${file:<passwords.properties>:<user>}`: Connect shows settings to everybody.
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
        "table.include.list": ",".join(map(name_pattern, tables)),
        "plugin.name": "pgoutput",
        "slot.name": slot_name(prefix),
        "publication.name": slot_name(prefix),
        # METL creates it; publication.py says why.
        "publication.autocreate.mode": "disabled",
        **EXACT,
        # By default truncates are skipped, and their rows would stay in the warehouse.
        "skipped.operations": "none",
        "heartbeat.interval.ms": "10000",
        # Writes to this database's WAL at every heartbeat. Otherwise the slot of an idle database would not advance and
        # retain the WAL of the busy ones beside it, and a blocking snapshot would only start at the next change.
        # Transactional, since an incremental snapshot reads the transaction id of every message.
        "heartbeat.action.query": f"select pg_logical_emit_message(true, '{HEARTBEAT}', '')",
        "message.prefix.exclude.list": HEARTBEAT,
        **(signal_settings(prefix, kafka) if kafka else {}),
        **{f"{side}.converter{key}": value for side in ("key", "value") for key, value in converter.items()},
    }


def signal_settings(prefix: str, kafka: str) -> dict[str, str]:
    """Lets a connector read signals from Kafka and send notifications about its snapshots. It only reads the source:
    from PostgreSQL 13 on, Debezium needs no table of watermarks there."""
    return {
        "signal.enabled.channels": "source,kafka",
        # Not {prefix}.…: a mapper of those topics would take signals for rows.
        "signal.kafka.topic": f"metl.signals.{prefix}",
        "signal.kafka.bootstrap.servers": kafka,
        # By default it polls every 5 s for a tenth of a second, too short for a consumer to join its group.
        "signal.kafka.poll.timeout.ms": "1000",
        "signal.poll.interval.ms": "1000",
        # Several connectors may share one topic, and each must read all of it.
        "signal.kafka.groupId": f"metl-signals-{prefix}",
        "read.only": "true",
        # Debezium skips a table that it cannot read, and reports that only by a notification.
        "notification.enabled.channels": "sink",
        "notification.sink.topic.name": f"metl.notifications.{prefix}",
    }


def slot_name(prefix: str) -> str:
    """Unique for each connector, since slots belong to the whole server."""
    return re.sub(r"[^a-z0-9_]", "_", f"metl_{prefix.lower()}")
