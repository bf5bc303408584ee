"""Dead letters that are sent again, as the messages that they were."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from metl_spark.mapping.frame import HEADERS, REPLAYS

#: The first header of those that a mapper adds to a dead letter; the message's own come before.
FIRST = "__connect.errors.topic"
TIMESTAMP = "__metl.timestamp"
# What Kafka and Spark can count to. Anybody may write to the topic of replays: a number beyond is none, since trying to
# make one of it would end the query for all.
LARGEST_PARTITION = 2**31 - 1
LARGEST_OFFSET = 2**63 - 1
LATEST = LARGEST_OFFSET // 1000
MOST_REPLAYS = 2**31 - 1


def restore(messages: DataFrame, replays: str | None, wanted: str) -> DataFrame:
    """Adds replays: how often a message was sent again, null if never. Letters in the topic of replays get the topic,
    partition, offset, time and headers back that they had at first; left out are those of topics that are not wanted,
    which other mappers take."""
    if replays is None:
        return messages.select("*", f.lit(None).cast("bigint").alias("replays"))
    is_letter = f.col("topic") == replays
    opened = messages.select("*", f.when(is_letter, f.map_from_entries("headers")).alias("said"))
    # Who writes there without saying where a message is from gets it back, as a dead letter.
    partition = _number("__connect.errors.partition", LARGEST_PARTITION)
    offset = _number("__connect.errors.offset", LARGEST_OFFSET)
    is_known = f.col("said").isNotNull() & _said(FIRST).isNotNull() & partition.isNotNull() & offset.isNotNull()
    known = opened.select("*", is_known.alias("is_known"))
    return known.where(~f.col("is_known") | _said(FIRST).rlike(wanted)).select(
        "key",
        "value",
        _either(_said(FIRST), "topic"),
        _either(partition.try_cast("int"), "partition"),
        _either(offset, "offset"),
        _either(f.coalesce(f.timestamp_millis(_number(TIMESTAMP, LATEST)), "timestamp"), "timestamp"),
        _either(_original_headers(), "headers"),
        f.when(f.col("is_known"), f.coalesce(_number(REPLAYS, MOST_REPLAYS), f.lit(1))).alias("replays"),
    )


def _either(restored: Column, name: str) -> Column:
    return f.when(f.col("is_known"), restored).otherwise(f.col(name)).alias(name)


def _said(name: str) -> Column:
    return f.try_element_at("said", f.lit(name)).cast("string")


def _number(name: str, most: int) -> Column:
    """Null if it is none between 0 and the most there can be."""
    number = _said(name).try_cast("bigint")
    return f.when(number.between(0, most), number)


def _original_headers() -> Column:
    """What came before the last header that begins ours: the message may have been a dead letter of somebody else."""
    names = f.transform("headers", lambda header: header["key"])
    count = f.size("headers") - f.array_position(f.reverse(names), f.lit(FIRST))
    kept = f.slice("headers", f.lit(1), count.cast("int"))
    # A message without headers has none, not an empty list of them.
    return f.when(count > 0, kept).otherwise(f.lit(None).cast(HEADERS))
