"""Asks Kafka where topics begin and end, by the client that Spark itself uses."""

import re
from collections.abc import Iterable
from types import TracebackType
from typing import Any, cast

from pyspark.sql import SparkSession

from metl.streams.offsets import OffsetRange
from metl_spark.runtime import kafka
from metl_spark.runtime.settings import Settings

Partition = tuple[str, int]


class Client:
    """Of the topics that a load reads."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self._jvm: Any = cast(Any, spark._jvm)
        self._kafka: Any = self._jvm.org.apache.kafka.clients.admin
        self._client = kafka.admin(spark, settings)
        self.topics = self._described(re.compile(kafka.wanted(settings)))
        everything = [(topic, partition) for topic, partitions in self.topics.items() for partition in partitions]
        self._earliest = self._ask(everything, self._kafka.OffsetSpec.earliest())
        self._latest = self._ask(everything, self._kafka.OffsetSpec.latest())

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        kafka.close(self._client)

    def range_of(self, topic: str, partition: int, committed: int | None) -> OffsetRange:
        return OffsetRange(
            topic, partition, committed, self._earliest[topic, partition], self._latest[topic, partition]
        )

    def first_since(self, topic: str, partition: int, milliseconds: int) -> int | None:
        place = (topic, partition)
        offset = self._ask([place], self._kafka.OffsetSpec.forTimestamp(milliseconds))[place]
        return offset if offset >= 0 else None

    def _described(self, pattern: re.Pattern[str]) -> dict[str, list[int]]:
        names = sorted(str(name) for name in self._client.listTopics().names().get() if pattern.fullmatch(name))
        wanted = self._jvm.java.util.ArrayList()
        for name in names:
            wanted.add(name)
        found = self._client.describeTopics(wanted).allTopicNames().get()
        return {name: sorted(each.partition() for each in found[name].partitions()) for name in names}

    def _ask(self, partitions: Iterable[Partition], what: Any) -> dict[Partition, int]:
        """-1 for a time after which nothing came."""
        asked = self._jvm.java.util.HashMap()
        keys = {each: self._jvm.org.apache.kafka.common.TopicPartition(*each) for each in partitions}
        for key in keys.values():
            asked.put(key, what)
        found = self._client.listOffsets(asked).all().get()
        return {each: int(found[key].offset()) for each, key in keys.items()}
