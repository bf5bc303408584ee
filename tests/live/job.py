"""The real job inside the tests: messages in, one run, and what came of each of them."""

import signal
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka import Message as Delivery
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from metl_spark.loading import job as loading
from metl_spark.loading.settings import LoadSettings
from metl_spark.mapping import job as mapping
from metl_spark.mapping.progress import from_spark
from metl_spark.mapping.settings import MapSettings
from metl_spark.runtime.control import Control
from metl_spark.runtime.supervise import supervise
from tests.live.exact_json import NotJson, parse
from tests.live.oracle import ColumnSet, Message, Oracle, Outcome, Sent, Topic
from tests.live.running import Place, Record, by_origin

Position = tuple[str, int, int]


def lay_out(place: Place, column_sets: Sequence[ColumnSet], rules: dict[str, Topic]) -> Oracle:
    """The same trees, matrix and topics for the database and for the oracle."""
    entities: dict[tuple[str, int], set[str]] = defaultdict(set)
    for found in column_sets:
        attributes = {attribute for block in found.blocks for attribute in block.mapping.values()} or {"id"}
        refs = {kind: list(each) for kind, each in found.refs.items()}
        place.call("add_schema_version", found.schema, found.version, _attributes(attributes), refs)
        for block in found.blocks:
            entities[block.entity, block.version] |= block.mapping.keys()
    for (entity, version), names in entities.items():
        place.call("add_entity_version", entity, version, _attributes(names))
    for found in column_sets:
        for block in found.blocks:
            place.call("set_block", found.schema, found.version, block.entity, block.version, block.mapping)
    for about, rule in rules.items():
        place.call("set_topic", place.topic(about, 1), rule.format, rule.payload, rule.schema, rule.version)
    place.build_marts()
    [row] = place.rows("select metl.current_state() as state")
    topics = {f"{place.name}.{about}": rule for about, rule in rules.items()}
    return Oracle(topics, column_sets, row["state"], place.prefix)


def _attributes(names: set[str]) -> list[dict[str, str]]:
    return [{"name": name, "type": "string"} for name in sorted(names)]


def produce(kafka: str, messages: Iterable[Message]) -> list[Message]:
    """The messages with the offsets that they got."""
    producer = Producer({"bootstrap.servers": kafka, "message.max.bytes": 1_048_588, "linger.ms": 20})
    began = int(time.time() * 1000)
    found: list[Message] = []

    def written(message: Message) -> Any:
        def take(error: KafkaError | None, delivery: Delivery) -> None:
            assert error is None, error
            found.append(replace(message, partition=delivery.partition() or 0, offset=delivery.offset() or 0))

        return take

    for number, message in enumerate(messages):
        sent = replace(message, timestamp=began + number)
        producer.produce(
            sent.topic,
            sent.value,
            sent.key,
            timestamp=sent.timestamp,
            headers=list(sent.headers),
            on_delivery=written(sent),
        )
        producer.poll(0)
    assert producer.flush(60) == 0, "the broker did not take every message"
    return found


def run(
    spark: SparkSession,
    place: Place,
    topics: str,
    *,
    trigger: str = "available-now",
    until: int = 0,
    job: str = "",
    starts: int = 1,
    bulk: bool = False,
) -> StreamingQuery:
    """One job to its end; in real time it is told to stop when it has seen so many messages."""
    job = job or trigger
    common: dict[str, Any] = {
        "topics": topics, "job": job, "checkpoint": str(place.folder / job), "brokers": place.kafka,
        "prefix": place.prefix, "dead_letters": place.dead,
    }  # fmt: skip
    load = LoadSettings(**common, batch=1000)
    live = MapSettings(**common, trigger=trigger, duration=2, replays=place.replays)
    settings = load if bulk else live
    instance = str(uuid.uuid4())
    queries: list[StreamingQuery] = []
    heard: list[str] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def begin() -> StreamingQuery:
        assert len(queries) < starts, heard
        if bulk:
            queries.append(loading.start(spark, load, control.jdbc, instance))
        else:
            queries.append(mapping.start(spark, live, control.jdbc, instance))
        return queries[-1]

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("METL_JOB_DSN", place.job_dsn)
        with Control.open(settings, instance) as control:
            over = threading.Event()
            stopper = threading.Thread(target=_stop, args=(place, job, until, over))
            if until:
                stopper.start()
            try:
                supervise(begin, control, settings, from_spark, heard.append)
            finally:
                over.set()
                if until:
                    stopper.join()
                for number, handler in handlers.items():
                    signal.signal(number, handler)
                for query in queries:
                    query.stop()
    return queries[-1]


def _stop(place: Place, job: str, until: int, over: threading.Event) -> None:
    """Unless it ends by itself: its database may be gone soon after."""
    end = time.monotonic() + 240
    while (place.job(job).get("rows_in") or 0) < until and time.monotonic() < end:
        if over.wait(0.2):
            return
    place.call("stop_job", job)


@dataclass
class Results:
    """What came of each message, and what should have."""

    messages: dict[Position, Message]
    oracle: Oracle
    sent: dict[Position, list[Record]]

    def expected(self, message: Message) -> Outcome:
        return self.oracle.outcome(message)

    def outcome(self, message: Message) -> Outcome:
        """As the oracle would say it."""
        records = self.sent.get(_position(message), [])
        if any(record.is_dead for record in records):
            assert len(records) == 1, f"a dead letter and more of {message}"
            _check_dead_letter(message, records[0])
            return Outcome(reason=records[0].header("__metl.reason"))
        return Outcome(tuple(sorted(map(_said, records), key=lambda record: record.topic)))

    def complaint(self, message: Message) -> str | None:
        """Null if all is right."""
        outcome, expected = self.outcome(message), _comparable(self.expected(message))
        if outcome == expected:
            return None
        return f"{_shown(message)}\n    became  {_short(outcome)}\n    and not {_short(expected)}"

    def complaints(self, messages: Iterable[Message]) -> list[str]:
        return [complaint for message in messages if (complaint := self.complaint(message))]

    def counts(self) -> Counter[str]:
        """What the job has to have counted."""
        found: Counter[str] = Counter(rows_in=len(self.messages))
        for expected in map(self.expected, self.messages.values()):
            found["rows_out"] += len(expected.records)
            found["rows_filtered"] += expected.filtered
            if expected.reason:
                found[expected.reason] += 1
        return found


def results(place: Place, messages: Sequence[Message], oracle: Oracle) -> Results:
    known = {_position(message): message for message in messages}
    topics = {message.topic for message in messages}
    found = {origin: records for origin, records in by_origin(place.sent()).items() if origin[0] in topics}
    assert not found.keys() - known.keys(), "records of messages that nobody sent"
    return Results(known, oracle, found)


def recorded(place: Place, job: str) -> Counter[str]:
    """What the job has counted itself."""
    found: Counter[str] = Counter()
    for batch in place.rows("select rows_in, rows_out, rows_filtered, dead from metl.job_batches where job = %s", job):
        found.update(batch.pop("dead"))
        found.update(batch)
    return +found


def _position(message: Message) -> Position:
    return message.topic, message.partition, message.offset


def _comparable(outcome: Outcome) -> Outcome:
    """What was filtered leaves no trace in topics."""
    return Outcome(tuple(sorted(outcome.records, key=lambda record: record.topic)), outcome.reason)


def _said(record: Record) -> Sent:
    headers = tuple((name, value.decode()) for name, value in record.headers)
    value = None if record.value is None else _parsed(record.value)
    if isinstance(value, dict) and "unavailable" in value:
        value["unavailable"] = sorted(value["unavailable"])
    return Sent(record.topic, _parsed(record.key or b""), value, headers)


def _parsed(text: bytes) -> Any:
    try:
        return parse(text.decode())
    except (NotJson, UnicodeDecodeError):
        return f"not JSON: {text[:300]!r}"


def _check_dead_letter(message: Message, record: Record) -> None:
    assert (record.key, record.value) == (message.key, message.value)
    original = tuple((name, value or b"") for name, value in message.headers)
    assert record.headers[: len(original)] == original
    named = dict(record.headers[len(original) :])
    assert len(named) == len(record.headers) - len(original), "a header comes twice"
    expected = {
        "__connect.errors.topic": message.topic,
        "__connect.errors.partition": str(message.partition),
        "__connect.errors.offset": str(message.offset),
        "__metl.replay.count": "0",
    }
    assert {name: named[name].decode() for name in expected} == expected
    assert named["__connect.errors.exception.message"].endswith(b".")


def _shown(message: Message) -> str:
    return f"{message.topic} {message.offset}: key {str(message.key)[:200]} value {str(message.value)[:600]}"


def _short(outcome: Outcome) -> str:
    return (
        outcome.reason
        or " | ".join(
            f"{record.topic} {str(record.key)[:200]} {str(record.value)[:700]} {record.headers}"
            for record in outcome.records
        )
        or "nothing"
    )
