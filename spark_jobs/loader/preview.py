"""How many messages a load would read."""

import json
import re
import sys
from collections import defaultdict
from typing import Any, cast

from pyspark.sql import SparkSession

from mapper.settings import Settings, Until
from metl.cli.display import console, table
from metl.errors import BadInput

Partition = tuple[str, int]


def preview(spark: SparkSession, settings: Settings) -> None:
    """Without the messages that became too old for Kafka, and without looking into a checkpoint."""
    with_kafka = Offsets(spark, settings)
    counts: dict[str, int] = defaultdict(int)
    for (topic, _), (first, end) in with_kafka.spans().items():
        counts[topic] += max(0, end - first)
    if not counts:
        raise BadInput(f"No topic matches --topics {settings.topics!r}.")
    shown = table("topic", "messages")
    for topic, count in sorted(counts.items()):
        shown.add_row(topic, f"{count:,}")
    shown.add_row("all", f"{sum(counts.values()):,}")
    console.print(shown, markup=False)


class Offsets:
    """Asked by the client that Spark itself uses, which takes the same properties."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self._settings = settings
        self._jvm: Any = cast(Any, spark._jvm)
        self._kafka: Any = self._jvm.org.apache.kafka.clients.admin
        self._pattern = re.compile(settings.topics)

    def spans(self) -> dict[Partition, tuple[int, int]]:
        """Of each partition the first offset to be read, and the first one after the last."""
        properties = self._jvm.java.util.HashMap()
        for name, value in {
            "bootstrap.servers": self._settings.brokers,
            **(self._settings.kafka_options or {}),
        }.items():
            properties.put(name, value)
        client = self._kafka.AdminClient.create(properties)
        try:
            partitions = self._partitions(client)
            earliest = self._ask(client, partitions, self._kafka.OffsetSpec.earliest())
            latest = self._ask(client, partitions, self._kafka.OffsetSpec.latest())
            first = {each: self._first(each, earliest, latest) for each in partitions}
            if since := (self._settings.reading or {}).get("startingTimestamp"):
                first = self._at(client, partitions, int(since), latest)
            end = {each: min(latest[each], self._end(each)) for each in partitions}
            if (until := self._settings.until) and until.time is not None:
                end = self._at(client, partitions, until.time, latest)
        finally:
            client.close()
        return {each: (max(first[each], earliest[each]), end[each]) for each in partitions}

    def _partitions(self, client: Any) -> list[Partition]:
        own = (self._settings.dead_letters, self._settings.prefix)
        names = [
            str(name)
            for name in client.listTopics().names().get()
            if self._pattern.fullmatch(name) and name != own[0] and not name.startswith(own[1])
        ]
        wanted = self._jvm.java.util.ArrayList()
        for name in names:
            wanted.add(name)
        described = client.describeTopics(wanted).allTopicNames().get()
        return [(name, each.partition()) for name in names for each in described[name].partitions()]

    def _ask(self, client: Any, partitions: list[Partition], what: Any) -> dict[Partition, int]:
        """-1 for a time after which nothing came."""
        asked = self._jvm.java.util.HashMap()
        keys = {each: self._jvm.org.apache.kafka.common.TopicPartition(*each) for each in partitions}
        for key in keys.values():
            asked.put(key, what)
        found = client.listOffsets(asked).all().get()
        return {each: int(found[key].offset()) for each, key in keys.items()}

    def _at(
        self, client: Any, partitions: list[Partition], time: int, latest: dict[Partition, int]
    ) -> dict[Partition, int]:
        found = self._ask(client, partitions, self._kafka.OffsetSpec.forTimestamp(time))
        return {each: latest[each] if offset < 0 else offset for each, offset in found.items()}

    def _first(self, each: Partition, earliest: dict[Partition, int], latest: dict[Partition, int]) -> int:
        starting = self._settings.starting
        if starting in ("earliest", "latest"):
            return earliest[each] if starting == "earliest" else latest[each]
        said: int = json.loads(starting).get(each[0], {}).get(str(each[1]), -2)
        return {-2: earliest[each], -1: latest[each]}.get(said, said)

    def _end(self, each: Partition) -> int:
        until: Until | None = self._settings.until
        if until is None or until.offsets is None:
            return sys.maxsize
        return until.offsets.get(each[0], {}).get(str(each[1]), 0)
