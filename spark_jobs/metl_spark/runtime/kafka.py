"""Where messages come from and records go to."""

import contextlib
import functools
import json
import re
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.readwriter import DataStreamWriter

from metl.streams import broker
from metl.util.nearest import nearest
from metl_spark.runtime.settings import Settings

#: Topic, partition, the first offset, and the one after the last.
Range = tuple[str, int, int, int]
# Ten times the default: where there is a backlog, asking for it takes a good part of the time. In real time it makes
# the mapper half as fast. And where the backlog ends, nobody waits half a second for what may come after it.
POLLING = {"kafka.max.poll.records": "5000", "kafka.fetch.max.wait.ms": "50"}
LISTING_TIMEOUT_MS = 10_000
# A dead letter is its message and some headers. How large it may be is for the broker to say (max.message.bytes).
# More than this the client's buffer does not take.
LARGEST = str(32 * 1024 * 1024)


def require(settings: Settings) -> None:
    """Before Spark is started."""
    broker.require_reachable(settings.brokers, is_plain=not settings.kafka_options)


def admin(spark: SparkSession, settings: Settings) -> Any:
    """A client of the JVM's: it takes the same properties as the job, those of Java (keystores, login modules), which
    the client of METL's other commands does not all know."""
    jvm: Any = spark._jvm
    properties = jvm.java.util.HashMap()
    for name, value in {"bootstrap.servers": settings.brokers, **(settings.kafka_options or {})}.items():
        properties.put(name, value)
    return jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)


def close(client: Any) -> None:
    """An admin client. After a call that a signal interrupted, the JVM answers no more; the signal is what counts."""
    with contextlib.suppress(Py4JError, ConnectionError):
        client.close()


def unmatched(spark: SparkSession, settings: Settings) -> str | None:
    """A sentence if there is no topic yet that the job is to read."""
    client = admin(spark, settings)
    jvm: Any = spark._jvm
    soon = jvm.org.apache.kafka.clients.admin.ListTopicsOptions().timeoutMs(LISTING_TIMEOUT_MS)
    try:
        names = [str(name) for name in client.listTopics(soon).names().get()]
    except (Py4JError, ConnectionError):
        # Whoever reads the topics says it better.
        return None
    finally:
        close(client)
    pattern = re.compile(wanted(settings))
    if any(pattern.fullmatch(name) for name in names):
        return None
    others = [name for name in names if settings.reads_entities or not name.startswith(settings.prefix)]
    plain = re.sub(r"\\|\(\?:|[.]?[*+?]|[()^$]", "", settings.topics)
    return f"No topic matches {settings.option} {settings.said!r} yet.{nearest(plain, others)}"


def read(spark: SparkSession, settings: Settings) -> DataFrame:
    """key, value, topic, partition, offset, timestamp and headers of every message."""
    messages = (
        spark.readStream.format("kafka")
        .options(**({} if settings.trigger == "real-time" else POLLING))
        .options(**_options(settings))
        # A pattern: the topics of a checkpoint may grow, but a list of them may not change.
        .option("subscribePattern", _pattern(settings))
        .option("startingOffsets", _starting(settings))
        .option("includeHeaders", "true")
        # Offsets that are gone before they were read are an error, never a silent gap.
        .option("failOnDataLoss", "true")
        .options(**(settings.reading or {}))
        .load()
        .select("key", "value", "topic", "partition", "offset", "timestamp", "headers")
    )
    if settings.limits is None or settings.limits.end is None:
        return messages
    return messages.where(_is_before(settings.limits.end))


def read_ranges(spark: SparkSession, settings: Settings, ranges: Sequence[Range]) -> DataFrame:
    """The same of messages that are there already; at most one range of each partition."""
    begins: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for topic, partition, begin, end in ranges:
        begins.setdefault(topic, {})[str(partition)] = begin
        ends.setdefault(topic, {})[str(partition)] = end
    return (
        spark.read.format("kafka")
        .options(**{**POLLING, **_options(settings)})
        .option("assign", json.dumps({topic: [int(each) for each in found] for topic, found in begins.items()}))
        .option("startingOffsets", json.dumps(begins))
        .option("endingOffsets", json.dumps(ends))
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "true")
        .load()
        .select("key", "value", "topic", "partition", "offset", "timestamp", "headers")
    )


def write_once(records: DataFrame, settings: Settings) -> None:
    """The same for a query that ends by itself."""
    options = {"kafka.max.request.size": LARGEST, **_options(settings)}
    records.write.format("kafka").options(**options).save()


def write(records: DataFrame, settings: Settings) -> DataStreamWriter:
    """Entities and dead letters by one sink: the topic is a column."""
    writer = (
        records.writeStream.format("kafka")
        .options(**{"kafka.max.request.size": LARGEST, **(settings.writing or {}), **_options(settings)})
        .option("checkpointLocation", settings.checkpoint)
        .outputMode("update")
    )
    if settings.trigger == "real-time":
        return writer.trigger(realTime=f"{round(settings.duration * 1000)} milliseconds")  # type: ignore[call-overload,no-any-return]
    if settings.trigger == "micro-batch":
        return writer.trigger(processingTime="0 seconds")
    return writer.trigger(availableNow=True)


def _starting(settings: Settings) -> str:
    """Spark wants to be told of every partition or of none."""
    first = settings.limits.first if settings.limits else None
    return settings.starting if first is None else json.dumps(first)


def _is_before(ends: dict[str, dict[str, int]]) -> Column:
    is_before = (
        (f.col("topic") == topic) & (f.col("partition") == int(partition)) & (f.col("offset") < end)
        for topic, partitions in ends.items()
        for partition, end in partitions.items()
    )
    return functools.reduce(Column.__or__, is_before, f.lit(False))


def _options(settings: Settings) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": settings.brokers,
        **{f"kafka.{name}": value for name, value in (settings.kafka_options or {}).items()},
    }


def _pattern(settings: Settings) -> str:
    """Letters that are sent again come beside what is asked for; a topic for them need not be there."""
    replays = f"|^{re.escape(settings.replays)}$" if settings.replays else ""
    return f"{wanted(settings)}{replays}"


def wanted(settings: Settings) -> str:
    """Of whole names, since Spark also takes topics in whose middle it finds the pattern; never of our own."""
    if settings.reads_entities:
        return f"^(?:{settings.topics})$"
    own = "|".join(f"{re.escape(name)}$" for name in (settings.dead_letters, settings.replays) if name)
    return f"^(?!{re.escape(settings.prefix)}|{own})(?:{settings.topics})$"
