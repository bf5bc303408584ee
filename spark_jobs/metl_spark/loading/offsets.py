"""The offsets of topics in Kafka, asked by the client that Spark itself uses."""

import re
from collections.abc import Iterable
from types import TracebackType
from typing import Any, cast

from pyspark.sql import SparkSession

from metl.streams.offsets import OffsetRange
from metl_spark.loading.settings import LoadSettings
from metl_spark.runtime import kafka

Partition = tuple[str, int]


class KafkaOffsets:
    """Of the topics that a load reads, as they are when this is made."""

    def __init__(self, spark: SparkSession, settings: LoadSettings) -> None:
        self._jvm: Any = cast(Any, spark._jvm)
        self._kafka: Any = self._jvm.org.apache.kafka.clients.admin
        self._client = kafka.admin(spark, settings)
        self.topics = self._describe(re.compile(settings.pattern))
        everything = [(topic, partition) for topic, partitions in self.topics.items() for partition in partitions]
        self._earliest = self._list(everything, self._kafka.OffsetSpec.earliest())
        self._latest = self._list(everything, self._kafka.OffsetSpec.latest())

    def __enter__(self) -> "KafkaOffsets":
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
        """The first offset from a time on; null if nothing came since."""
        place = (topic, partition)
        offset = self._list([place], self._kafka.OffsetSpec.forTimestamp(milliseconds))[place]
        return offset if offset >= 0 else None

    def _describe(self, pattern: re.Pattern[str]) -> dict[str, list[int]]:
        names = sorted(str(name) for name in self._client.listTopics().names().get() if pattern.fullmatch(name))
        request = self._jvm.java.util.ArrayList()
        for name in names:
            request.add(name)
        topics = self._client.describeTopics(request).allTopicNames().get()
        return {name: sorted(each.partition() for each in topics[name].partitions()) for name in names}

    def _list(self, partitions: Iterable[Partition], spec: Any) -> dict[Partition, int]:
        """-1 for a time after the last message."""
        request = self._jvm.java.util.HashMap()
        keys = {each: self._jvm.org.apache.kafka.common.TopicPartition(*each) for each in partitions}
        for key in keys.values():
            request.put(key, spec)
        offsets = self._client.listOffsets(request).all().get()
        return {each: int(offsets[key].offset()) for each, key in keys.items()}
