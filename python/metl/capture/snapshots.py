"""Snapshots on demand: Debezium reads the rows of tables once more, and what becomes of it."""

import json
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, KafkaException, Producer, TopicPartition

from metl.capture import connectors
from metl.capture.names import captured, named, pattern
from metl.errors import BadInput, MetlError
from metl.streams import broker
from metl.util.nearest import nearest

INCREMENTAL, BLOCKING = "INCREMENTAL", "BLOCKING"
#: Names tables whose rows a snapshot reads by a statement; that of each is under this and its name.
OVERRIDES = "snapshot.select.statement.overrides"
FLUSH_TIMEOUT = 30.0
#: A connector that begins with nothing in this time says why in its log only. Later, pages follow each other closely.
SILENCE_TIMEOUT = 90.0
#: A task that was about to stop may have heard a signal and done nothing: it is asked again.
ASK_AGAIN = 20.0
#: How long a task is watched that does not tell of its snapshots: one that dies of a signal does so soon.
WATCHED = 15.0
#: So long Connect may tell of a task as it was before it was started again.
STALE = 5.0
#: What scans of tables end with, if they end well.
WELL = ("SUCCEEDED", "EMPTY")
REASONS = {
    "SQL_EXCEPTION": "PostgreSQL refused a query of Debezium's, which is in the log of Kafka Connect",
    "NO_PRIMARY_KEY": "it has no primary key",
    "UNKNOWN_SCHEMA": "Debezium did not find it",
}


def check(settings: dict[str, str], name: str, tables: Sequence[str]) -> None:
    """An error if the connector could not do it."""
    if not settings.get("connector.class", "").startswith("io.debezium."):
        raise BadInput(f"Connector {name} is not one of Debezium's.")
    for table in tables:
        if "table.include.list" in settings and not captured(settings, [table]):
            raise BadInput(f"Connector {name} does not read table {table!r}.{nearest(table, named(settings))}")


def hears(settings: dict[str, str]) -> bool:
    """Whether signals reach it, and whether it then has somewhere to put its watermarks."""
    channels = {each.strip() for each in settings.get("signal.enabled.channels", "source").split(",")}
    has_marks = settings.get("read.only") == "true" or "signal.data.collection" in settings
    return "kafka" in channels and "signal.kafka.topic" in settings and has_marks


def tells(settings: dict[str, str]) -> bool:
    """Whether it says how its snapshots go."""
    channels = {each.strip() for each in settings.get("notification.enabled.channels", "").split(",")}
    return "sink" in channels and "notification.sink.topic.name" in settings


def make_topics(client: dict[str, Any], settings: dict[str, str]) -> None:
    """Those of signals and notifications, with the one partition that a connector reads."""
    for setting in ("signal.kafka.topic", "notification.sink.topic.name"):
        if setting in settings:
            broker.make_topic(client, settings[setting])


def ask(client: dict[str, Any], settings: dict[str, str], tables: Sequence[str], kind: str, number: str) -> None:
    """Sends the signal, which has this number."""
    topic = settings["signal.kafka.topic"]
    # A connector reads one partition of it.
    broker.make_topic(client, topic)
    data: dict[str, Any] = {"data-collections": [pattern(each) for each in tables], "type": kind}
    # A blocking snapshot does not look at these settings by itself.
    statements = {table: settings.get(f"{OVERRIDES}.{table}") for table in tables}
    if kind == BLOCKING and any(statements.values()):
        data["additional-conditions"] = [
            {"data-collection": table, "filter": statement} for table, statement in statements.items() if statement
        ]
    signal = {"id": number, "type": "execute-snapshot", "data": data}
    producer: Producer = broker.made(Producer, client)
    failures: list[str] = []
    producer.produce(
        topic,
        json.dumps(signal).encode(),
        settings["topic.prefix"].encode(),
        on_delivery=lambda error, _: failures.append(error.str()) if error else None,
    )
    if producer.flush(FLUSH_TIMEOUT) or failures:
        raise MetlError(
            f"Kafka did not take the signal in {topic}: {failures[0] if failures else 'it does not answer'}."
        )


@dataclass
class Scans:
    """What a snapshot has come to: rows by table, and why a table has none."""

    rows: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    has_begun: bool = False
    has_ended: bool = False

    def hear(self, notification: dict[str, Any], signal: str | None) -> None:
        """Of a blocking snapshot, as of the first one, notifications do not name the signal."""
        if signal is not None and notification.get("id") != signal:
            return
        if signal is None and notification.get("aggregate_type") != "Initial Snapshot":
            return
        about = notification.get("additional_data") or {}
        # A connector that started again takes no first snapshot.
        if notification.get("type") == "SKIPPED":
            return
        self.has_begun = True
        match notification.get("type"):
            # None of the tables: it would never end.
            case "STARTED" if about.get("data_collections") == "":
                self.has_ended = True
            case "TABLE_SCAN_COMPLETED":
                table, status = about.get("scanned_collection", ""), about.get("status", "SUCCEEDED")
                if status in WELL:
                    self.rows[table] = int(about.get("total_rows_scanned", 0))
                else:
                    self.failed[table] = REASONS.get(status, status)
            case "COMPLETED" | "ABORTED":
                self.has_ended = True

    def missed(self, tables: Sequence[str]) -> dict[str, str]:
        """Those of the tables that were not read, and why."""
        return {table: self.failed.get(table, "it was not read") for table in tables if table not in self.rows}

    def require(self, connector: str, tables: Sequence[str]) -> None:
        for table, reason in self.missed(tables).items():
            raise MetlError(
                f"Connector {connector} runs, but did not read the rows of {table}: {reason}. "
                f"Take them by SQL (metl initial-load), or mend it and try again: metl snapshot {connector} {table}"
            )


class Watch:
    """Opened before a snapshot is asked for, so that nothing is missed."""

    def __init__(self, client: dict[str, Any], connect: str, name: str, settings: dict[str, str]) -> None:
        self._connect, self._name = connect, name
        self._consumer: Consumer | None = None
        if tells(settings):
            topic = settings["notification.sink.topic.name"]
            broker.make_topic(client, topic)
            self._consumer = broker.made(Consumer, client | {"group.id": f"metl-{uuid.uuid4()}"})
            self._consumer.assign([TopicPartition(topic, 0, self._end(topic))])

    def await_start(self, failed_before: Collection[str] = ()) -> None:
        """Until a task that was started again has decided about its first snapshot: it has its new settings then. How
        it failed before does not count for a moment: Connect says so until it has started it."""
        began = time.monotonic()
        end = began + connectors.RUNNING_TIMEOUT
        while self._consumer is not None or time.monotonic() < began + STALE:
            notification = self._poll() or {}
            if notification.get("aggregate_type") == "Initial Snapshot":
                return
            status = connectors.status(self._connect, self._name)
            if time.monotonic() > began + STALE or connectors.traces(status) - set(failed_before):
                connectors.require_alive(self._name, status)
            if time.monotonic() > end:
                raise MetlError(f"Connector {self._name} does not start again. See `metl logs connect`.")
        connectors.await_running(self._connect, self._name)

    def run(
        self,
        signal: str | None,
        say: Callable[[str], None],
        ask: Callable[[], None] | None = None,
    ) -> Scans | None:
        """Until the snapshot has ended; null if the connector does not tell. Raises if the connector fails."""
        scans = Scans()
        asked = time.monotonic()
        end = time.monotonic() + (WATCHED if self._consumer is None else SILENCE_TIMEOUT)
        while not scans.has_ended:
            notification = self._poll()
            if notification is not None:
                end = time.monotonic() + SILENCE_TIMEOUT
                before = len(scans.rows)
                scans.hear(notification, signal)
                if len(scans.rows) > before:
                    table, rows = list(scans.rows.items())[-1]
                    say(f"{table}: {rows:,} rows")
                continue
            connectors.require_alive(self._name, connectors.status(self._connect, self._name))
            if ask and self._consumer and not scans.has_begun and time.monotonic() > asked + ASK_AGAIN:
                ask()
                asked = time.monotonic()
            # The first or a blocking snapshot says nothing while it reads a table, however long that takes.
            if time.monotonic() > end and (signal is not None or not scans.has_begun):
                if self._consumer is None:
                    return None
                raise MetlError(
                    f"Connector {self._name} runs, but has read no rows for {SILENCE_TIMEOUT:.0f} s. "
                    "See `metl logs connect` for what it waits for."
                )
        return scans

    def _poll(self) -> dict[str, Any] | None:
        if self._consumer is None:
            time.sleep(1)
            return None
        message = self._consumer.poll(1)
        if message is None or message.error() is not None:
            return None
        try:
            value = json.loads(message.value() or b"")
        except ValueError:
            return None
        found: dict[str, Any] | None = value.get("payload", value) if isinstance(value, dict) else None
        return found

    def _end(self, topic: str) -> int:
        assert self._consumer is not None
        try:
            _, end = self._consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=broker.TIMEOUT)
        except KafkaException:
            return OFFSET_END
        return int(end)

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
