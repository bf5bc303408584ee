"""Ad-hoc snapshots: asks Debezium by a signal to read tables again, and follows its notifications."""

import json
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, KafkaException, Producer, TopicPartition

from metl.capture import connectors
from metl.capture.names import captured_tables, listed_tables, name_pattern
from metl.errors import BadInput, MetlError
from metl.streams import broker
from metl.util.nearest import nearest

INCREMENTAL, BLOCKING = "INCREMENTAL", "BLOCKING"
#: Lists tables that a snapshot reads by a statement; the setting of this name and the table's has the statement.
OVERRIDES = "snapshot.select.statement.overrides"
FLUSH_TIMEOUT = 30.0
#: Without a notification in this time a snapshot counts as stuck; only the log of Connect says why.
NOTIFICATION_TIMEOUT = 90.0
#: A task that was about to stop may have consumed the signal without effect: send it again after this time.
RESEND_AFTER = 20.0
#: How long a task without notifications is watched: one that fails because of a signal does so soon.
WATCH_TIME = 15.0
#: For so long after a restart, Connect may report the old task's status.
STALE_STATUS_TIME = 5.0
#: Final statuses of tables that were read.
SUCCEEDED = ("SUCCEEDED", "EMPTY")
REASONS = {
    "SQL_EXCEPTION": "PostgreSQL refused a query of Debezium's, which is in the log of Kafka Connect",
    "NO_PRIMARY_KEY": "it has no primary key",
    "UNKNOWN_SCHEMA": "Debezium did not find it",
}


def require_included(settings: dict[str, str], name: str, tables: Sequence[str]) -> None:
    """Raises unless it is a Debezium connector that captures these tables."""
    if not settings.get("connector.class", "").startswith("io.debezium."):
        raise BadInput(f"Connector {name} is not one of Debezium's.")
    for table in tables:
        if "table.include.list" in settings and not captured_tables(settings, [table]):
            raise BadInput(f"Connector {name} does not read table {table!r}.{nearest(table, listed_tables(settings))}")


def accepts_signals(settings: dict[str, str]) -> bool:
    """Whether it reads signals from Kafka, and has a place for the watermarks of an incremental snapshot."""
    channels = {each.strip() for each in settings.get("signal.enabled.channels", "source").split(",")}
    has_watermarks = settings.get("read.only") == "true" or "signal.data.collection" in settings
    return "kafka" in channels and "signal.kafka.topic" in settings and has_watermarks


def sends_notifications(settings: dict[str, str]) -> bool:
    channels = {each.strip() for each in settings.get("notification.enabled.channels", "").split(",")}
    return "sink" in channels and "notification.sink.topic.name" in settings


def create_topics(client: dict[str, Any], settings: dict[str, str]) -> None:
    """The topics of signals and notifications, with one partition: a connector reads no other."""
    for setting in ("signal.kafka.topic", "notification.sink.topic.name"):
        if setting in settings:
            broker.create_topic(client, settings[setting])


def send_signal(
    client: dict[str, Any], settings: dict[str, str], tables: Sequence[str], kind: str, signal: str
) -> None:
    """Asks for a snapshot of these tables; `signal` is the signal's id."""
    topic = settings["signal.kafka.topic"]
    broker.create_topic(client, topic)
    data: dict[str, Any] = {"data-collections": [name_pattern(each) for each in tables], "type": kind}
    # A blocking snapshot ignores the statements in the settings: the signal has to repeat them.
    statements = {table: settings.get(f"{OVERRIDES}.{table}") for table in tables}
    if kind == BLOCKING and any(statements.values()):
        data["additional-conditions"] = [
            {"data-collection": table, "filter": statement} for table, statement in statements.items() if statement
        ]
    message = {"id": signal, "type": "execute-snapshot", "data": data}
    producer: Producer = broker.create_client(Producer, client)
    failures: list[str] = []
    producer.produce(
        topic,
        json.dumps(message).encode(),
        settings["topic.prefix"].encode(),
        on_delivery=lambda error, _: failures.append(error.str()) if error else None,
    )
    if producer.flush(FLUSH_TIMEOUT) or failures:
        raise MetlError(
            f"Kafka did not take the signal in {topic}: {failures[0] if failures else 'it does not answer'}."
        )


@dataclass
class SnapshotResult:
    """Rows that were read, by table, and the reasons of tables that were not."""

    rows: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    has_started: bool = False
    has_ended: bool = False

    def apply(self, notification: dict[str, Any], signal: str | None) -> None:
        """Ignores notifications of other snapshots. Those of initial and blocking snapshots do not name the signal."""
        if signal is not None and notification.get("id") != signal:
            return
        if signal is None and notification.get("aggregate_type") != "Initial Snapshot":
            return
        data = notification.get("additional_data") or {}
        # Sent at a restart, which takes no initial snapshot.
        if notification.get("type") == "SKIPPED":
            return
        self.has_started = True
        match notification.get("type"):
            # Without a table, no COMPLETED would follow.
            case "STARTED" if data.get("data_collections") == "":
                self.has_ended = True
            case "TABLE_SCAN_COMPLETED":
                table, status = data.get("scanned_collection", ""), data.get("status", "SUCCEEDED")
                if status in SUCCEEDED:
                    self.rows[table] = int(data.get("total_rows_scanned", 0))
                else:
                    self.failed[table] = REASONS.get(status, status)
            case "COMPLETED" | "ABORTED":
                self.has_ended = True

    def unread(self, tables: Sequence[str]) -> dict[str, str]:
        """Those of the tables that were not read, and why."""
        return {table: self.failed.get(table, "it was not read") for table in tables if table not in self.rows}

    def require_read(self, connector: str, tables: Sequence[str]) -> None:
        for table, reason in self.unread(tables).items():
            raise MetlError(
                f"Connector {connector} runs, but did not read the rows of {table}: {reason}. "
                f"Take them by SQL (metl entities initial-load), or mend it and try again: "
                f"metl capture snapshot {connector} {table}"
            )


class SnapshotWatch:
    """Follows a connector's notifications. Opened before a snapshot is requested, so that it misses none."""

    def __init__(self, client: dict[str, Any], connect: str, name: str, settings: dict[str, str]) -> None:
        self._connect, self._name = connect, name
        self._consumer: Consumer | None = None
        if sends_notifications(settings):
            topic = settings["notification.sink.topic.name"]
            broker.create_topic(client, topic)
            self._consumer = broker.create_client(Consumer, client | {"group.id": f"metl-{uuid.uuid4()}"})
            self._consumer.assign([TopicPartition(topic, 0, self._end_offset(topic))])

    def await_start(self, old_failures: Collection[str] = ()) -> None:
        """Waits until a restarted task has decided whether to take an initial snapshot: it has its new settings then.
        Ignores `old_failures` at first, which Connect reports until the restart."""
        began = time.monotonic()
        end = began + connectors.RUNNING_TIMEOUT
        while self._consumer is not None or time.monotonic() < began + STALE_STATUS_TIME:
            notification = self._poll() or {}
            if notification.get("aggregate_type") == "Initial Snapshot":
                return
            status = connectors.status(self._connect, self._name)
            if time.monotonic() > began + STALE_STATUS_TIME or connectors.failure_traces(status) - set(old_failures):
                connectors.require_alive(self._name, status)
            if time.monotonic() > end:
                raise MetlError(f"Connector {self._name} does not start again. See `metl stack logs connect`.")
        connectors.await_running(self._connect, self._name)

    def await_end(
        self,
        signal: str | None,
        report: Callable[[str], None],
        resend: Callable[[], None] | None = None,
    ) -> SnapshotResult | None:
        """The result once the snapshot has ended; null if the connector sends no notifications. Raises if it fails."""
        result = SnapshotResult()
        sent_at = time.monotonic()
        end = time.monotonic() + (WATCH_TIME if self._consumer is None else NOTIFICATION_TIMEOUT)
        while not result.has_ended:
            notification = self._poll()
            if notification is not None:
                end = time.monotonic() + NOTIFICATION_TIMEOUT
                tables_before = len(result.rows)
                result.apply(notification, signal)
                if len(result.rows) > tables_before:
                    table, rows = list(result.rows.items())[-1]
                    report(f"{table}: {rows:,} rows")
                continue
            connectors.require_alive(self._name, connectors.status(self._connect, self._name))
            if resend and self._consumer and not result.has_started and time.monotonic() > sent_at + RESEND_AFTER:
                resend()
                sent_at = time.monotonic()
            # Initial and blocking snapshots send nothing while they read a table, however long that takes.
            if time.monotonic() > end and (signal is not None or not result.has_started):
                if self._consumer is None:
                    return None
                raise MetlError(
                    f"Connector {self._name} runs, but has read no rows for {NOTIFICATION_TIMEOUT:.0f} s. "
                    "See `metl stack logs connect` for what it waits for."
                )
        return result

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
        notification: dict[str, Any] | None = value.get("payload", value) if isinstance(value, dict) else None
        return notification

    def _end_offset(self, topic: str) -> int:
        assert self._consumer is not None
        try:
            _, end = self._consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=broker.TIMEOUT)
        except KafkaException:
            return OFFSET_END
        return int(end)

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
