"""What is in Kafka, as it comes: the records of entities, and dead letters."""

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

#: Topic, partition and offset of a message that came in.
Position = tuple[str, int, int]


@dataclass(frozen=True)
class Record:
    """One that the mapper sent."""

    topic: str
    key: Any
    value: Any
    position: Position
    state: int
    version: int | None
    #: When the broker got it, and when the message that it was made of was written; in milliseconds.
    written_at: int

    @property
    def is_dead(self) -> bool:
        return self.topic == DEAD_LETTERS


class Topics:
    def __init__(self, kafka: str) -> None:
        self._kafka = kafka
        self._ended = threading.Event()
        self._news = threading.Condition()
        self.records: list[Record] = []

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """Collects records in the background."""
        thread = threading.Thread(target=self._listen)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def first(self, what: str, wanted: Callable[[Record], bool], seconds: float = TIMEOUT) -> Record:
        """The first record that is wanted, once it is there; `what` names it if it does not come."""
        end = time.monotonic() + seconds
        seen = 0
        with self._news:
            while True:
                for record in self.records[seen:]:
                    if wanted(record):
                        return record
                seen = len(self.records)
                if time.monotonic() > end:
                    raise MetlError(f"{what} did not come within {seconds:.0f} s.")
                self._news.wait(0.5)

    def ends(self, topics: list[str]) -> dict[str, int]:
        """How many messages each topic has got."""
        consumer = self._consumer()
        try:
            return {topic: self._end(consumer, topic) for topic in topics}
        finally:
            consumer.close()

    def _end(self, consumer: Consumer, topic: str) -> int:
        found = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        ends = (consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10) for number in found)
        return sum(high - low for low, high in ends)

    def _listen(self) -> None:
        consumer = self._consumer()
        consumer.subscribe([r"^cdm\..*", f"^{DEAD_LETTERS}$"])
        try:
            while not self._ended.is_set():
                heard = [_record(message) for message in consumer.consume(500, 0.1) if message.error() is None]
                if heard:
                    with self._news:
                        self.records.extend(heard)
                        self._news.notify_all()
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
                # How soon a topic is noticed that is new.
                "topic.metadata.refresh.interval.ms": 500,
            }
        )


def _record(message: Message) -> Record:
    given = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    headers = {name: (value or b"").decode(errors="replace") for name, value in given}
    topic = str(message.topic())
    ours, theirs = ("__connect.errors", "__metl") if topic == DEAD_LETTERS else ("metl", "metl")
    return Record(
        topic=topic,
        key=json.loads(message.key() or b"null"),
        value=json.loads(message.value() or b"null"),
        position=(headers[f"{ours}.topic"], int(headers[f"{ours}.partition"]), int(headers[f"{ours}.offset"])),
        state=int(headers[f"{theirs}.state"]),
        version=int(headers[f"{theirs}.version"]) if headers.get(f"{theirs}.version") else None,
        written_at=message.timestamp()[1],
    )
