"""Where messages come from and records go to."""

import functools
import json
import re
import socket
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mapper.settings import Settings
from metl.errors import MetlError

#: Topic, partition, the first offset, and the one after the last.
Range = tuple[str, int, int, int]
PATIENCE = 5.0
# Ten times the default: where there is a backlog, asking for it takes a good part of the time. In real time it makes
# the mapper half as fast. And where the backlog ends, nobody waits half a second for what may come after it.
POLLING = {"kafka.max.poll.records": "5000", "kafka.fetch.max.wait.ms": "50"}
# A dead letter is its message and some headers. How large it may be is for the broker to say (max.message.bytes).
# More than this the client's buffer does not take.
LARGEST = str(32 * 1024 * 1024)


def require(settings: Settings) -> None:
    """Raises if nobody listens there: Spark would find out after minutes."""
    complaints = []
    for server in settings.brokers.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
            return
        except ValueError:
            complaints.append(f"{server.strip()} is not host:port")
        except OSError as error:
            complaints.append(f"{server.strip()}: {error.strerror or error}")
    raise MetlError(f"Kafka does not answer ({'; '.join(complaints)}). Is --kafka or METL_KAFKA right, and is it up?")


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
