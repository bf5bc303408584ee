"""Kafka as the source of messages and the sink of records."""

import contextlib
import json
import re
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from metl.streams import broker
from metl.util.nearest import nearest
from metl_spark.runtime.settings import JobSettings

#: Topic, partition, the first offset, and the one after the last.
Range = tuple[str, int, int, int]
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "headers")
# Ten times the default of records: with a backlog, polling takes a good part of the time. At the end of a backlog, half
# a second of waiting for more would be wasted. In real time these make the mapper half as fast.
POLLING = {"kafka.max.poll.records": "5000", "kafka.fetch.max.wait.ms": "50"}
LISTING_TIMEOUT_MS = 10_000
# A dead letter is its message plus some headers. The broker decides how large it may be (max.message.bytes); the
# client's buffer takes no more than this.
MAX_REQUEST_SIZE = str(32 * 1024 * 1024)


def require(settings: JobSettings) -> None:
    """Fails before Spark is started."""
    broker.require_reachable(settings.brokers, is_plain=not settings.kafka_options)


def admin(spark: SparkSession, settings: JobSettings) -> Any:
    """The JVM's client: it takes all properties of the job, also Java's own (keystores, login modules)."""
    jvm: Any = spark._jvm
    properties = jvm.java.util.HashMap()
    for name, value in {"bootstrap.servers": settings.brokers, **settings.kafka_options}.items():
        properties.put(name, value)
    return jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)


def close(client: Any) -> None:
    """An admin client. A signal during a call leaves the JVM without an answer; the signal is what counts."""
    with contextlib.suppress(Py4JError, ConnectionError):
        client.close()


def unmatched(spark: SparkSession, settings: JobSettings) -> str | None:
    """A sentence if no topic exists yet that the job is to read."""
    client = admin(spark, settings)
    jvm: Any = spark._jvm
    options = jvm.org.apache.kafka.clients.admin.ListTopicsOptions().timeoutMs(LISTING_TIMEOUT_MS)
    try:
        names = [str(name) for name in client.listTopics(options).names().get()]
    except (Py4JError, ConnectionError):
        # The query that reads the topics reports it better.
        return None
    finally:
        close(client)
    pattern = re.compile(settings.pattern)
    if any(pattern.fullmatch(name) for name in names):
        return None
    option, value = settings.topics_option
    plain = re.sub(r"\\|\(\?:|[.]?[*+?]|[()^$]", "", settings.topics)
    return f"No topic matches {option} {value!r} yet.{nearest(plain, [*filter(settings.is_candidate, names)])}"


def read(spark: SparkSession, settings: JobSettings) -> DataFrame:
    """COLUMNS of every message."""
    return (
        spark.readStream.format("kafka")
        .options(**({} if settings.trigger == "real-time" else POLLING))
        .options(**_options(settings))
        # A pattern: the topics of a checkpoint may grow, but a list of them may not change.
        .option("subscribePattern", settings.subscription)
        .option("startingOffsets", settings.starting_offsets)
        .option("includeHeaders", "true")
        # Expired offsets are an error, never a silent gap.
        .option("failOnDataLoss", "true")
        .options(**settings.reader_options)
        .load()
        .select(*COLUMNS)
    )


def read_ranges(spark: SparkSession, settings: JobSettings, ranges: Sequence[Range]) -> DataFrame:
    """COLUMNS of the messages in ranges, at most one of each partition."""
    begins: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for topic, partition, begin, end in ranges:
        begins.setdefault(topic, {})[str(partition)] = begin
        ends.setdefault(topic, {})[str(partition)] = end
    return (
        spark.read.format("kafka")
        .options(**{**POLLING, **_options(settings)})
        .option("assign", json.dumps({topic: [*map(int, partitions)] for topic, partitions in begins.items()}))
        .option("startingOffsets", json.dumps(begins))
        .option("endingOffsets", json.dumps(ends))
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "true")
        .load()
        .select(*COLUMNS)
    )


def write_batch(records: DataFrame, settings: JobSettings) -> None:
    """Sends the records of a query that ends by itself."""
    options = {"kafka.max.request.size": MAX_REQUEST_SIZE, **_options(settings)}
    records.write.format("kafka").options(**options).save()


def write(records: DataFrame, settings: JobSettings) -> DataStreamWriter:
    """Entities and dead letters by one sink: the topic is a column."""
    writer = (
        records.writeStream.format("kafka")
        .options(**{"kafka.max.request.size": MAX_REQUEST_SIZE, **settings.writer_options, **_options(settings)})
        .option("checkpointLocation", settings.checkpoint)
        .outputMode("update")
    )
    return writer.trigger(**settings.trigger_arguments)


def _options(settings: JobSettings) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": settings.brokers,
        **{f"kafka.{name}": value for name, value in settings.kafka_options.items()},
    }
