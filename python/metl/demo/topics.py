"""A consumer that collects the mapped records and dead letters."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from metl.errors import MetlError

TIMEOUT = 120.0
DEAD_LETTERS = "metl.dead"

#: Topic, partition and offset of an input message.
Position = tuple[str, int, int]


@dataclass(frozen=True)
class Record:
    """A record or dead letter that the mapper sent."""

    topic: str
    key: Any
    value: Any
    position: Position
    state: int
    version: int | None
    #: Milliseconds since 1970.
    written_at: int

    @property
    def is_dead(self) -> bool:
        return self.topic == DEAD_LETTERS


class Topics:
    def __init__(self, kafka: str) -> None:
        self._kafka = kafka
        self._stop = threading.Event()
        self._received = threading.Condition()
        self.records: list[Record] = []

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """Collects records in the background."""
        thread = threading.Thread(target=self._collect)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def wait_for(self, what: str, matches: Callable[[Record], bool]) -> Record:
        """The first record that matches; `what` names it in the error at the timeout."""
        end = time.monotonic() + TIMEOUT
        checked = 0
        with self._received:
            while True:
                for record in self.records[checked:]:
                    if matches(record):
                        return record
                checked = len(self.records)
                if time.monotonic() > end:
                    raise MetlError(f"{what} did not come within {TIMEOUT:.0f} s.")
                self._received.wait(0.5)

    def message_counts(self, topics: list[str]) -> dict[str, int]:
        consumer = self._consumer()
        try:
            return {topic: self._message_count(consumer, topic) for topic in topics}
        finally:
            consumer.close()

    def _message_count(self, consumer: Consumer, topic: str) -> int:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        offsets = (consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10) for number in partitions)
        return sum(high - low for low, high in offsets)

    def _collect(self) -> None:
        consumer = self._consumer()
        consumer.subscribe([r"^cdm\..*", f"^{DEAD_LETTERS}$"])
        try:
            while not self._stop.is_set():
                records = [_record(message) for message in consumer.consume(500, 0.1) if message.error() is None]
                if records:
                    with self._received:
                        self.records.extend(records)
                        self._received.notify_all()
        except KafkaException as error:
            raise MetlError(f"Kafka went away: {error}") from None
        finally:
            consumer.close()

    def _consumer(self) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self._kafka,
                "group.id": "metl-demo",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                # How soon a new topic is discovered.
                "topic.metadata.refresh.interval.ms": 500,
            }
        )


def _record(message: Message) -> Record:
    raw_headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    headers = {name: (value or b"").decode(errors="replace") for name, value in raw_headers}
    topic = str(message.topic())
    input_prefix, metl_prefix = ("__connect.errors", "__metl") if topic == DEAD_LETTERS else ("metl", "metl")
    return Record(
        topic=topic,
        key=json.loads(message.key() or b"null"),
        value=json.loads(message.value() or b"null"),
        position=(
            headers[f"{input_prefix}.topic"],
            int(headers[f"{input_prefix}.partition"]),
            int(headers[f"{input_prefix}.offset"]),
        ),
        state=int(headers[f"{metl_prefix}.state"]),
        version=int(headers[f"{metl_prefix}.version"]) if headers.get(f"{metl_prefix}.version") else None,
        written_at=message.timestamp()[1],
    )
