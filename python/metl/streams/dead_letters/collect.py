"""Brings dead letters into the database, each once, and sends them again when a new state knows their version."""

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
from metl.streams.dead_letters.record import letter
from metl.streams.dead_letters.replay import BATCH, Sender

BYTES = 8 * 1024 * 1024
LOOK = 0.5
ANEW = 30.0
SILENCE = 60.0
RETRY_DELAYS = (1, 2, 4, 8, 15, 30)
IN_USE = "55006"
MAPPERS = """
select job, about ->> 'topics' as topics, state from metl.jobs
where running and about ->> 'replays' = %s and state is not null
"""


class Collector:
    """One for each topic of dead letters at a time: it is a job like others, and holds that job's lock."""

    def __init__(
        self,
        dsn: str,
        settings: dict[str, Any],
        *,
        job: str,
        topic: str,
        replays: str,
        most: int,
        say: Callable[[str], None],
    ) -> None:
        self._dsn, self._settings, self._job, self._topic = dsn, settings, job, topic
        self._replays, self._most, self._say = replays, most, say
        self._instance = uuid.uuid4()
        self._batch = 0
        self._seen: object = None
        self.counts = {"came": 0, "new": 0, "sent": 0}

    def run(self, *, watch: bool, stop: threading.Event) -> None:
        """Until all that is there is collected; with watch until told to stop, whatever goes away and comes back."""
        failures = 0
        while True:
            before = self._batch
            try:
                self._work(watch, stop)
                return
            except (psycopg.Error, KafkaException, MetlError) as error:
                if not watch or isinstance(error, Superseded):
                    raise _sentence(error) from None
                failures = 1 if self._batch > before else failures + 1
                wait = RETRY_DELAYS[min(failures, len(RETRY_DELAYS)) - 1]
                self._say(f"Collecting failed and starts again in {wait} s: {_sentence(error)}")
            if stop.wait(wait):
                return

    def _work(self, watch: bool, stop: threading.Event) -> None:
        with connect(self._dsn, "METL_JOB_DSN") as connection:
            connection.autocommit = True
            self._start(connection)
            consumer: Consumer = broker.made(
                Consumer,
                self._settings
                | {
                    # No group ever commits: how far it is stands in the database.
                    "group.id": f"metl-{self._job}",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "error",
                    "enable.partition.eof": True,
                    "queued.max.messages.kbytes": BYTES // 1024,
                },
            )
            try:
                self._collect(connection, consumer, watch, stop)
            finally:
                consumer.close()
            self._report(connection, "stopped")

    def _start(self, connection: psycopg.Connection) -> None:
        about = json.dumps({"collects": self._topic})
        arguments = (self._job, f"kafka:{self._topic}", self._instance, about)
        try:
            connection.execute("select metl.start_job(%s, %s, %s, %s)", arguments)
        except psycopg.Error as error:
            if error.sqlstate == IN_USE:
                said = (error.diag.message_primary, error.diag.message_detail, error.diag.message_hint)
                raise Superseded(" ".join(filter(None, said))) from None
            if isinstance(error, psycopg.errors.InsufficientPrivilege):
                raise MetlError(
                    f"{connection.info.user} may not collect letters. Make it a member of metl_job, or set "
                    "METL_JOB_DSN to one."
                ) from None
            if isinstance(error, psycopg.errors.InvalidSchemaName | psycopg.errors.UndefinedFunction):
                raise MetlError("The database has no METL of this release. Run: metl install") from None
            raise
        self._report(connection, "running")

    def _report(self, connection: psycopg.Connection, status: str) -> None:
        connection.execute("select metl.report_job(%s, %s, %s)", (self._job, self._instance, status))

    def _collect(self, connection: psycopg.Connection, consumer: Consumer, watch: bool, stop: threading.Event) -> None:
        left = self._assign(connection, consumer)
        looked = heard = time.monotonic()
        while not stop.is_set():
            records = _take(consumer, left)
            if records:
                heard = time.monotonic()
                self._store(connection, records)
            if not watch and not left:
                return
            if not watch and time.monotonic() - heard > SILENCE:
                raise MetlError(f"Kafka gives nothing of {self._topic}. Is it up? What was collected is kept.")
            if watch:
                self._send_due(connection, idle=not records)
                if self._is_told_to_stop(connection):
                    return
                if time.monotonic() - looked > ANEW:
                    # There may be more partitions by now.
                    left, looked = self._assign(connection, consumer), time.monotonic()
                if not left and not consumer.assignment():
                    stop.wait(LOOK)

    def _assign(self, connection: psycopg.Connection, consumer: Consumer) -> set[int]:
        """Where the database says; the partitions that are to be read to their end."""
        known: dict[int, int] = dict(
            connection.execute(
                "select partition, next_offset from metl.dead_positions where topic = %s", [self._topic]
            ).fetchall()
        )
        places = []
        for partition in broker.topics(consumer).get(self._topic, []):
            low, high = consumer.get_watermark_offsets(TopicPartition(self._topic, partition), broker.TIMEOUT)
            begin = known.get(partition, low)
            if begin > high:
                self._say(f"{self._topic} was made anew: partition {partition} ends at {high}, before {begin}.")
                begin = low
            if begin < low:
                self._say(
                    f"{low - begin} letters of {self._topic}, partition {partition} became too old before they were "
                    f"collected: it begins at {low} now, and {begin} was next."
                )
                begin = low
            places.append(TopicPartition(self._topic, partition, begin))
        consumer.assign(places)
        return {place.partition for place in places}

    def _store(self, connection: psycopg.Connection, records: list[Any]) -> None:
        began = datetime.now(UTC)
        # Kafka writes markers of transactions among them: the next one need not be the one after.
        positions = {str(record.partition()): record.offset() + 1 for record in records}
        letters = json.dumps([letter(record) for record in records])
        with connection.transaction():
            [(came, new)] = connection.execute(
                "select * from metl.collect_letters(%s, %s, %s)", (self._topic, letters, json.dumps(positions))
            ).fetchall()
            [(state,)] = connection.execute("select metl.current_state()").fetchall()
            progress = {
                "state": state,
                "began_at": began.isoformat(),
                "ended_at": datetime.now(UTC).isoformat(),
                "rows_in": came,
                "rows_out": new,
                "rows_filtered": 0,
            }
            arguments = (self._job, self._instance, self._batch, json.dumps(progress))
            connection.execute("select metl.record_batch(%s, %s, %s, %s)", arguments)
        self._batch += 1
        self._seen = None
        self.counts["came"] += came
        self.counts["new"] += new

    def _is_told_to_stop(self, connection: psycopg.Connection) -> bool:
        found = connection.execute("select status = 'stopping' from metl.jobs where job = %s", (self._job,)).fetchone()
        return bool(found and found[0])

    def _send_due(self, connection: psycopg.Connection, *, idle: bool) -> None:
        """Once a mapper uses the state that knows them; under an older one they would come back at once."""
        mappers = connection.execute(MAPPERS, (self._replays,)).fetchall()
        if not idle or not mappers or mappers == self._seen:
            return
        due = connection.execute(
            "select topic, min(known_since) from metl.due_letters group by topic order by topic"
        ).fetchall()
        for topic, since in due:
            states = [state for _, topics, state in mappers if re.fullmatch(topics, topic)]
            if states and min(states) >= since:
                self._send(connection, topic, min(states))
        self._seen = mappers

    def _send(self, connection: psycopg.Connection, topic: str, state: int) -> None:
        sender = Sender(self._settings, self._replays)
        why = f"State {state} may know their version."
        sent = count = 0
        operation = None
        while count or operation is None:
            with connection.transaction() as unit, connection.cursor(row_factory=dict_row) as cursor:
                if operation is None:
                    about = json.dumps({"topic": topic, "state": state, "automatic": True})
                    operation = cursor.execute(
                        "select metl.begin_operation('replay', %s, %s) as number", (why, about)
                    ).fetchall()[0]["number"]
                arguments = (topic, state, operation, self._most, BATCH)
                letters = cursor.execute(
                    "select * from metl.send_due_letters(%s, %s, %s, %s, %s)", arguments
                ).fetchall()
                if not letters and not sent:
                    # Nothing was done, and nothing is to be said of it.
                    raise psycopg.Rollback(unit)
                count = sender.send(letters)
                sent += count
                if not count:
                    outcome = json.dumps({"letters": sent})
                    cursor.execute("select metl.end_operation(%s, %s)", (operation, outcome))
        self.counts["sent"] += sent
        if sent:
            self._say(f"{sent} letters of {topic} were sent again: state {state} may know their version.")


class Superseded(MetlError):
    """Somebody else collects."""


def _take(consumer: Consumer, left: set[int]) -> list[Any]:
    """What is there, up to so many letters and bytes; takes partitions off that are read to their end."""
    found: list[Any] = []
    size = 0
    while len(found) < BATCH and size < BYTES:
        record = consumer.poll(LOOK if not found else 0.05)
        if record is None:
            break
        error = record.error()
        if error is None:
            found.append(record)
            size += len(record.value() or b"") + len(record.key() or b"")
        elif error.code() == KafkaError._PARTITION_EOF:
            left.discard(record.partition() or 0)
            if not left:
                break
        else:
            raise KafkaException(error)
    return found


def _sentence(error: Exception) -> MetlError:
    if isinstance(error, MetlError):
        return error
    if isinstance(error, KafkaException):
        return MetlError(f"Kafka failed: {error.args[0].str()}.")
    return MetlError(f"The database failed: {' '.join(str(error).split())}.")
