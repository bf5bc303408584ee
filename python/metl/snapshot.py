"""Incremental snapshots: Debezium reads the rows of tables once more, beside the changes."""

import json
import uuid
from typing import Any

import psycopg
from confluent_kafka import Producer

from metl import broker
from metl.errors import BadInput, MetlError
from metl.nearest import nearest

PATIENCE = 30.0
ESTIMATE = "select greatest(reltuples, 0)::bigint from pg_class where oid = to_regclass(%s)"


def check(settings: dict[str, str], name: str, tables: tuple[str, ...]) -> None:
    """An error if the connector could not do it."""
    if not settings.get("connector.class", "").startswith("io.debezium."):
        raise BadInput(f"Connector {name} is not one of Debezium's.")
    known = [table.strip() for table in settings.get("table.include.list", "").split(",") if table.strip()]
    for table in tables:
        if known and table not in known:
            raise BadInput(f"Connector {name} does not read table {table!r}.{nearest(table, known)}")


def hears(settings: dict[str, str]) -> bool:
    """Whether signals reach it, and whether it then has somewhere to put its watermarks."""
    channels = {each.strip() for each in settings.get("signal.enabled.channels", "source").split(",")}
    has_marks = settings.get("read.only") == "true" or "signal.data.collection" in settings
    return "kafka" in channels and "signal.kafka.topic" in settings and has_marks


def estimate(dsn: str | None, tables: tuple[str, ...]) -> dict[str, int | None]:
    """About how many rows each table has, by the statistics of its own database; null if nobody can tell."""
    if dsn is None:
        return dict.fromkeys(tables)
    try:
        with psycopg.connect(dsn) as connection:
            found = {table: connection.execute(ESTIMATE, [table]).fetchone() for table in tables}
    except psycopg.ProgrammingError:
        raise BadInput("--source is not an address that PostgreSQL can read.") from None
    except psycopg.Error as error:
        raise MetlError(f"The source does not answer: {' '.join(str(error).split())}.") from None
    return {table: row[0] if row else None for table, row in found.items()}


def ask(client: dict[str, Any], settings: dict[str, str], tables: tuple[str, ...]) -> str:
    """Sends the signal and returns its id."""
    topic = settings["signal.kafka.topic"]
    # A connector reads one partition of it.
    broker.make_topic(client, topic)
    number = str(uuid.uuid4())
    signal = {
        "id": number,
        "type": "execute-snapshot",
        "data": {"data-collections": list(tables), "type": "INCREMENTAL"},
    }
    producer: Producer = broker.made(Producer, client)
    failures: list[str] = []
    producer.produce(
        topic,
        json.dumps(signal).encode(),
        settings["topic.prefix"].encode(),
        on_delivery=lambda error, _: failures.append(error.str()) if error else None,
    )
    if producer.flush(PATIENCE) or failures:
        raise MetlError(
            f"Kafka did not take the signal in {topic}: {failures[0] if failures else 'it does not answer'}."
        )
    return number
