"""Stores dead letters in the database, each once, and replays them when a new state knows their version."""

import contextlib
import json
import re
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from psycopg.rows import dict_row

from metl.db.connection import connect
from metl.errors import MetlError
from metl.streams import broker
from metl.streams.dead_letters.record import to_dead_letter
from metl.streams.dead_letters.replay import BATCH, Sender
from metl.streams.operations import end_operation, failure_reason

MAX_BATCH_BYTES = 8 * 1024 * 1024
POLL_INTERVAL = 0.5
#: Seconds between looks for new partitions.
METADATA_REFRESH = 30.0
IDLE_TIMEOUT = 60.0
RETRY_DELAYS = (1, 2, 4, 8, 15, 30)
OBJECT_IN_USE = "55006"
MAPPERS = """
select job, about ->> 'topics' as topics, state from metl.jobs
where running and about ->> 'replays' = %s and state is not null
"""


class Collector:
    """A job like others: it holds that job's lock, so that one collector runs for each dead-letter topic."""

    def __init__(
        self,
        dsn: str,
        settings: dict[str, Any],
        *,
        job: str,
        topic: str,
        replays: str,
        max_replays: int,
        report: Callable[[str], None],
    ) -> None:
        self._dsn, self._settings, self._job, self._topic = dsn, settings, job, topic
        self._replays, self._max_replays, self._report = replays, max_replays, report
        self._instance = uuid.uuid4()
        self._batch = 0
        #: The mappers and their states at the last replay; null once there are new letters.
        self._replayed_for: object = None
        self.counts = {"came": 0, "new": 0, "sent": 0}

    def run(self, *, watch: bool, stop: threading.Event) -> None:
        """Until the end of the topic; with watch until `stop` is set, retrying after failures of Kafka or database."""
        failures = 0
        while True:
            first_batch = self._batch
            try:
                self._run_once(watch, stop)
                return
            except (psycopg.Error, KafkaException, MetlError) as error:
                if not watch or isinstance(error, AlreadyRunning):
                    raise _as_metl_error(error) from None
                failures = 1 if self._batch > first_batch else failures + 1
                delay = RETRY_DELAYS[min(failures, len(RETRY_DELAYS)) - 1]
                self._report(f"Collecting failed and starts again in {delay} s: {_as_metl_error(error)}")
            if stop.wait(delay):
                return

    def _run_once(self, watch: bool, stop: threading.Event) -> None:
        with connect(self._dsn, "METL_JOB_DSN") as connection:
            connection.autocommit = True
            self._start_job(connection)
            consumer: Consumer = broker.create_client(
                Consumer,
                self._settings
                | {
                    # The group never commits: offsets are in the database, in the transaction of the letters.
                    "group.id": f"metl-{self._job}",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "error",
                    "enable.partition.eof": True,
                    "queued.max.messages.kbytes": MAX_BATCH_BYTES // 1024,
                },
            )
            try:
                self._consume(connection, consumer, watch, stop)
            finally:
                consumer.close()
            self._set_status(connection, "stopped")

    def _start_job(self, connection: psycopg.Connection) -> None:
        about = json.dumps({"collects": self._topic})
        arguments = (self._job, f"kafka:{self._topic}", self._instance, about)
        try:
            connection.execute("select metl.start_job(%s, %s, %s, %s)", arguments)
        except psycopg.Error as error:
            if error.sqlstate == OBJECT_IN_USE:
                sentences = (error.diag.message_primary, error.diag.message_detail, error.diag.message_hint)
                raise AlreadyRunning(" ".join(filter(None, sentences))) from None
            if isinstance(error, psycopg.errors.InsufficientPrivilege):
                raise MetlError(
                    f"{connection.info.user} may not collect dead letters. Make it a member of metl_job, or set "
                    "METL_JOB_DSN to one."
                ) from None
            if isinstance(error, psycopg.errors.InvalidSchemaName | psycopg.errors.UndefinedFunction):
                raise MetlError("The database has no METL of this release. Run: metl install") from None
            raise
        self._set_status(connection, "running")

    def _set_status(self, connection: psycopg.Connection, status: str) -> None:
        connection.execute("select metl.report_job(%s, %s, %s)", (self._job, self._instance, status))

    def _consume(self, connection: psycopg.Connection, consumer: Consumer, watch: bool, stop: threading.Event) -> None:
        unfinished = self._assign(connection, consumer)
        assigned_at = received_at = time.monotonic()
        while not stop.is_set():
            records = _poll_batch(consumer, unfinished)
            if records:
                received_at = time.monotonic()
                self._store(connection, records)
            if not watch and not unfinished:
                return
            if not watch and time.monotonic() - received_at > IDLE_TIMEOUT:
                raise MetlError(f"Kafka gives nothing of {self._topic}. Is it up? What was collected is kept.")
            if watch:
                self._replay_due(connection, idle=not records)
                if self._is_stop_requested(connection):
                    return
                if time.monotonic() - assigned_at > METADATA_REFRESH:
                    # There may be new partitions.
                    unfinished, assigned_at = self._assign(connection, consumer), time.monotonic()
                if not unfinished and not consumer.assignment():
                    stop.wait(POLL_INTERVAL)

    def _assign(self, connection: psycopg.Connection, consumer: Consumer) -> set[int]:
        """Assigns all partitions from the offsets in the database; returns those that are not read to their end."""
        next_offsets: dict[int, int] = dict(
            connection.execute(
                "select partition, next_offset from metl.dead_positions where topic = %s", [self._topic]
            ).fetchall()
        )
        assignment = []
        for partition in broker.topics(consumer).get(self._topic, []):
            low, high = consumer.get_watermark_offsets(TopicPartition(self._topic, partition), broker.TIMEOUT)
            begin = next_offsets.get(partition, low)
            if begin > high:
                self._report(f"{self._topic} was created again: partition {partition} ends at {high}, before {begin}.")
                begin = low
            if begin < low:
                self._report(
                    f"{low - begin} dead letters of {self._topic}, partition {partition} expired before they were "
                    f"collected: it begins at {low} now, and {begin} was next."
                )
                begin = low
            assignment.append(TopicPartition(self._topic, partition, begin))
        consumer.assign(assignment)
        return {each.partition for each in assignment}

    def _store(self, connection: psycopg.Connection, records: list[Any]) -> None:
        began = datetime.now(UTC)
        # The next record may have a higher offset: Kafka's transaction markers take offsets, too.
        positions = {str(record.partition()): record.offset() + 1 for record in records}
        letters = json.dumps([to_dead_letter(record) for record in records])
        with connection.transaction():
            [(received, new)] = connection.execute(
                "select * from metl.collect_letters(%s, %s, %s)", (self._topic, letters, json.dumps(positions))
            ).fetchall()
            [(state,)] = connection.execute("select metl.current_state()").fetchall()
            progress = {
                "state": state,
                "began_at": began.isoformat(),
                "ended_at": datetime.now(UTC).isoformat(),
                "rows_in": received,
                "rows_out": new,
                "rows_filtered": 0,
            }
            arguments = (self._job, self._instance, self._batch, json.dumps(progress))
            connection.execute("select metl.record_batch(%s, %s, %s, %s)", arguments)
        self._batch += 1
        self._replayed_for = None
        self.counts["came"] += received
        self.counts["new"] += new

    def _is_stop_requested(self, connection: psycopg.Connection) -> bool:
        row = connection.execute("select status = 'stopping' from metl.jobs where job = %s", (self._job,)).fetchone()
        return bool(row and row[0])

    def _replay_due(self, connection: psycopg.Connection, *, idle: bool) -> None:
        """Once every mapper of the topic uses a state that knows the version; under an older one the letters would
        fail again at once."""
        mappers = connection.execute(MAPPERS, (self._replays,)).fetchall()
        if not idle or not mappers or mappers == self._replayed_for:
            return
        due = connection.execute(
            "select topic, min(known_since) from metl.due_letters group by topic order by topic"
        ).fetchall()
        for topic, since in due:
            states = [state for _, topics, state in mappers if re.fullmatch(topics, topic)]
            if states and min(states) >= since:
                self._replay(connection, topic, min(states))
        self._replayed_for = mappers

    def _replay(self, connection: psycopg.Connection, topic: str, state: int) -> None:
        """Batch by batch; a failure ends the operation with its reason and what was sent by then."""
        sender = Sender(self._settings, self._replays)
        operation: int | None = None
        sent = count = 0
        try:
            while True:
                with connection.transaction() as unit:
                    begun = operation or self._begin(connection, topic, state)
                    arguments = (topic, state, begun, self._max_replays, BATCH)
                    letters = connection.cursor(row_factory=dict_row).execute(
                        "select * from metl.send_due_letters(%s, %s, %s, %s, %s)", arguments
                    ).fetchall()  # fmt: skip
                    if not letters and operation is None:
                        # An operation that sent nothing is not recorded.
                        raise psycopg.Rollback(unit)
                    count = sender.send(letters)
                    if not count:
                        end_operation(connection, begun, {"letters": sent})
                if not count:
                    break
                operation, sent = begun, sent + count
        except BaseException as error:
            if operation is not None:
                outcome = {"letters": sent, "failed": failure_reason(error)}
                with contextlib.suppress(MetlError, psycopg.Error), connect(self._dsn, "METL_JOB_DSN") as another:
                    end_operation(another, operation, outcome)
            raise
        self.counts["sent"] += sent
        if sent:
            self._report(f"{sent} dead letters of {topic} were replayed: state {state} may know their version.")

    def _begin(self, connection: psycopg.Connection, topic: str, state: int) -> int:
        about = json.dumps({"topic": topic, "state": state, "automatic": True})
        begin = "select metl.begin_operation('replay', %s, %s)"
        [(number,)] = connection.execute(begin, (f"State {state} may know their version.", about)).fetchall()
        return int(number)


class AlreadyRunning(MetlError):
    """Another collector holds the job's lock."""


def _poll_batch(consumer: Consumer, unfinished: set[int]) -> list[Any]:
    """Available records, limited in number and bytes; discards partitions from `unfinished` at their end."""
    records: list[Any] = []
    size = 0
    while len(records) < BATCH and size < MAX_BATCH_BYTES:
        record = consumer.poll(POLL_INTERVAL if not records else 0.05)
        if record is None:
            break
        error = record.error()
        if error is None:
            records.append(record)
            size += len(record.value() or b"") + len(record.key() or b"")
        elif error.code() == KafkaError._PARTITION_EOF:
            unfinished.discard(record.partition() or 0)
            if not unfinished:
                break
        else:
            raise KafkaException(error)
    return records


def _as_metl_error(error: Exception) -> MetlError:
    if isinstance(error, MetlError):
        return error
    if isinstance(error, KafkaException):
        return MetlError(f"Kafka failed: {error.args[0].str()}.")
    return MetlError(f"The database failed: {' '.join(str(error).split())}.")
