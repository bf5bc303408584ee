"""Where topics begin and end, and where in them a moment is."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaException, TopicPartition

from metl.errors import BadInput, MetlError
from metl.streams import broker
from metl.streams.checkpoint import Offsets
from metl.util.nearest import nearest
from metl.util.timestamps import moment


@dataclass(frozen=True)
class Span:
    """One partition: where a job is, or null if it has not read it yet, and what Kafka has."""

    topic: str
    partition: int
    committed: int | None
    earliest: int
    latest: int

    @property
    def to_go(self) -> int:
        return max(0, self.latest - max(self.committed if self.committed is not None else 0, self.earliest))

    @property
    def begins_anew(self) -> bool:
        """A topic of this name was deleted and made again: no job can have read what was never there."""
        return self.committed is not None and self.committed > self.latest


class Whereabouts(Protocol):
    """Whoever can be asked where topics begin and end."""

    topics: dict[str, list[int]]

    def span(self, topic: str, partition: int, committed: int | None) -> Span: ...

    def first_since(self, topic: str, partition: int, milliseconds: int) -> int | None:
        """The first offset from then on; null if nothing came since."""


class Broker:
    """Asks Kafka where its topics begin and end."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._consumer: Consumer = broker.made(
            Consumer, settings | {"group.id": "metl-offsets", "enable.auto.commit": False}
        )
        self.topics = broker.topics(self._consumer)

    def close(self) -> None:
        self._consumer.close()

    def span(self, topic: str, partition: int, committed: int | None) -> Span:
        low, high = self._ask(TopicPartition(topic, partition))
        return Span(topic, partition, committed, low, high)

    def spans(self, committed: Offsets) -> list[Span]:
        """Of partitions that are still there."""
        return [
            self.span(topic, partition, offset)
            for topic, partitions in sorted(committed.items())
            for partition, offset in sorted(partitions.items())
            if partition in self.topics.get(topic, [])
        ]

    def missing(self, committed: Offsets) -> list[tuple[str, int]]:
        """Partitions that are not there any more."""
        return [
            (topic, partition)
            for topic, partitions in sorted(committed.items())
            for partition in sorted(partitions)
            if partition not in self.topics.get(topic, [])
        ]

    def first_since(self, topic: str, partition: int, milliseconds: int) -> int | None:
        try:
            place = TopicPartition(topic, partition, milliseconds)
            [answer] = self._consumer.offsets_for_times([place], timeout=broker.TIMEOUT)
            if answer.error is not None:
                raise KafkaException(answer.error)
        except KafkaException as error:
            raise MetlError(
                f"Kafka does not say where in {topic}, partition {partition} this moment is: {error.args[0].str()}."
            ) from None
        return answer.offset if answer.offset >= 0 else None

    def _ask(self, place: TopicPartition) -> tuple[int, int]:
        try:
            return self._consumer.get_watermark_offsets(place, timeout=broker.TIMEOUT)
        except KafkaException as error:
            raise MetlError(
                f"Kafka does not say where {place.topic}, partition {place.partition} begins and ends: "
                f"{error.args[0].str()}."
            ) from None


def at(kafka: Whereabouts, wanted: str, spans: Iterable[Span], option: str) -> Offsets:
    """earliest, latest, or the first message from a moment on; `option` is where somebody said it."""
    found: Offsets = {}
    begins = None if wanted in ("earliest", "latest") else moment(wanted, option).timestamp() * 1000
    for span in spans:
        offset: int | None = span.earliest if wanted == "earliest" else span.latest
        if begins is not None:
            offset = kafka.first_since(span.topic, span.partition, int(begins))
        found.setdefault(span.topic, {})[span.partition] = span.latest if offset is None else offset
    return found


def read_offsets(text: str, option: str) -> Offsets:
    """As Spark writes them: {"topic": {"0": 123}}."""
    try:
        return {
            topic: {int(partition): int(offset) for partition, offset in partitions.items()}
            for topic, partitions in json.loads(text).items()
        }
    except (ValueError, AttributeError, TypeError):
        raise BadInput(f"""{option} {text!r} is not as {{"topic": {{"0": 123}}}}.""") from None


def check(wanted: Offsets, kafka: Whereabouts, option: str) -> None:
    """An error if something is not there to be read."""
    for topic, partitions in wanted.items():
        if topic not in kafka.topics:
            raise BadInput(f"There is no topic {topic!r}.{nearest(topic, kafka.topics)}")
        for partition, offset in partitions.items():
            if partition not in kafka.topics[topic]:
                known = ", ".join(map(str, kafka.topics[topic]))
                raise BadInput(f"Topic {topic} has no partition {partition}. It has {known}.")
            span = kafka.span(topic, partition, None)
            if offset < span.earliest:
                raise BadInput(
                    f"Offset {offset} of {topic}, partition {partition} is gone: it begins at {span.earliest}. "
                    f"Take that, or {option} earliest."
                )
            if offset > span.latest:
                raise BadInput(
                    f"Offset {offset} of {topic}, partition {partition} is beyond its end, which is {span.latest}. "
                    f"Take that, or {option} latest."
                )
