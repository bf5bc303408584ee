"""What a Debezium connector is told: every setting that decides what its messages look like."""

from collections.abc import Iterable


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


def slot_name(prefix: str) -> str:
    """Slots belong to the whole server, so that their names must differ by connector."""
    return f"metl_{prefix}"
