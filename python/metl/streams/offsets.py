"""Earliest and latest offsets of topics, and the offsets at a time."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaException, TopicPartition

from metl.errors import BadInput, MetlError
from metl.streams import broker
from metl.streams.checkpoint import Offsets
from metl.util.nearest import nearest
from metl.util.timestamps import parse_timestamp


@dataclass(frozen=True)
class OffsetRange:
    """What Kafka retains of one partition, and the offset that a job has committed, null if none yet."""

    topic: str
    partition: int
    committed: int | None
    earliest: int
    latest: int

    @property
    def lag(self) -> int:
        return max(0, self.latest - max(self.committed if self.committed is not None else 0, self.earliest))

    @property
    def was_recreated(self) -> bool:
        """Whether the topic was deleted and created again: no job can have read beyond its end."""
        return self.committed is not None and self.committed > self.latest


class OffsetReader(Protocol):
    """Reads offsets by some Kafka client: the JVM's or confluent_kafka."""

    topics: dict[str, list[int]]

    def range_of(self, topic: str, partition: int, committed: int | None) -> OffsetRange: ...

    def first_since(self, topic: str, partition: int, milliseconds: int) -> int | None:
        """The first offset with this timestamp or a later one; null if there is none."""


class KafkaOffsets:
    """Reads offsets by confluent_kafka."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._consumer: Consumer = broker.create_client(
            Consumer, settings | {"group.id": "metl-offsets", "enable.auto.commit": False}
        )
        self.topics = broker.topics(self._consumer)

    def close(self) -> None:
        self._consumer.close()

    def range_of(self, topic: str, partition: int, committed: int | None) -> OffsetRange:
        earliest, latest = self._watermarks(TopicPartition(topic, partition))
        return OffsetRange(topic, partition, committed, earliest, latest)

    def ranges(self, committed: Offsets) -> list[OffsetRange]:
        """Of the committed partitions that still exist."""
        return [
            self.range_of(topic, partition, offset)
            for topic, partitions in sorted(committed.items())
            for partition, offset in sorted(partitions.items())
            if partition in self.topics.get(topic, [])
        ]

    def missing(self, committed: Offsets) -> list[tuple[str, int]]:
        """The committed partitions that no longer exist."""
        return [
            (topic, partition)
            for topic, partitions in sorted(committed.items())
            for partition in sorted(partitions)
            if partition not in self.topics.get(topic, [])
        ]

    def first_since(self, topic: str, partition: int, milliseconds: int) -> int | None:
        try:
            query = TopicPartition(topic, partition, milliseconds)
            [answer] = self._consumer.offsets_for_times([query], timeout=broker.TIMEOUT)
            if answer.error is not None:
                raise KafkaException(answer.error)
        except KafkaException as error:
            raise MetlError(
                f"Kafka does not say which offset of {topic}, partition {partition} was the first since then: "
                f"{error.args[0].str()}."
            ) from None
        return answer.offset if answer.offset >= 0 else None

    def _watermarks(self, partition: TopicPartition) -> tuple[int, int]:
        try:
            return self._consumer.get_watermark_offsets(partition, timeout=broker.TIMEOUT)
        except KafkaException as error:
            raise MetlError(
                f"Kafka does not say where {partition.topic}, partition {partition.partition} begins and ends: "
                f"{error.args[0].str()}."
            ) from None


def resolve(kafka: OffsetReader, position: str, ranges: Iterable[OffsetRange], option: str) -> Offsets:
    """The offsets of a position: earliest, latest or a time; `option` is named in errors."""
    offsets: Offsets = {}
    is_time = position not in ("earliest", "latest")
    milliseconds = int(parse_timestamp(position, option).timestamp() * 1000) if is_time else None
    for each in ranges:
        offset: int | None = each.earliest if position == "earliest" else each.latest
        if milliseconds is not None:
            offset = kafka.first_since(each.topic, each.partition, milliseconds)
        offsets.setdefault(each.topic, {})[each.partition] = each.latest if offset is None else offset
    return offsets


def parse_offsets(text: str, option: str) -> Offsets:
    """From Spark's format: {"topic": {"0": 123}}."""
    try:
        return {
            topic: {int(partition): int(offset) for partition, offset in partitions.items()}
            for topic, partitions in json.loads(text).items()
        }
    except (ValueError, AttributeError, TypeError):
        raise BadInput(f"""{option} {text!r} is not as {{"topic": {{"0": 123}}}}.""") from None


def require_retained(offsets: Offsets, kafka: OffsetReader, option: str) -> None:
    """Raises if a topic or partition does not exist, or Kafka does not have an offset of it (any more)."""
    for topic, partitions in offsets.items():
        if topic not in kafka.topics:
            raise BadInput(f"There is no topic {topic!r}.{nearest(topic, kafka.topics)}")
        for partition, offset in partitions.items():
            if partition not in kafka.topics[topic]:
                existing = ", ".join(map(str, kafka.topics[topic]))
                raise BadInput(f"Topic {topic} has no partition {partition}. It has {existing}.")
            retained = kafka.range_of(topic, partition, None)
            if offset < retained.earliest:
                raise BadInput(
                    f"Offset {offset} of {topic}, partition {partition} is gone: it begins at {retained.earliest}. "
                    f"Take that, or {option} earliest."
                )
            if offset > retained.latest:
                raise BadInput(
                    f"Offset {offset} of {topic}, partition {partition} is beyond its end, which is {retained.latest}. "
                    f"Take that, or {option} latest."
                )
