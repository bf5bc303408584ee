"""Replayed dead letters, as the messages that they were."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from metl_spark.mapping.dead_letters import HEADERS, REPLAYS

#: The first header that a mapper adds to a dead letter; the message's own come before.
FIRST = "__connect.errors.topic"
TIMESTAMP = "__metl.timestamp"
# The largest numbers of Kafka and Spark. Anybody may write to the replay topic: a larger number counts as none, since
# an overflow would end the query.
LARGEST_PARTITION = 2**31 - 1
LARGEST_OFFSET = 2**63 - 1
LATEST = LARGEST_OFFSET // 1000
MOST_REPLAYS = 2**31 - 1


def restore(messages: DataFrame, replays: str, pattern: str) -> DataFrame:
    """Adds replays: how often a message was replayed, null if never. Dead letters in the replay topic get their
    original topic, partition, offset, time and headers back. Those of topics that do not match the pattern are dropped:
    other mappers take them."""
    is_replay = f.col("topic") == replays
    opened = messages.select("*", f.when(is_replay, f.map_from_entries("headers")).alias("named"))
    # A message there without its origin becomes a dead letter itself.
    partition = _number("__connect.errors.partition", LARGEST_PARTITION)
    offset = _number("__connect.errors.offset", LARGEST_OFFSET)
    has_origin = f.col("named").isNotNull() & _header(FIRST).isNotNull() & partition.isNotNull() & offset.isNotNull()
    marked = opened.select("*", has_origin.alias("has_origin"))
    return marked.where(~f.col("has_origin") | _header(FIRST).rlike(pattern)).select(
        "key",
        "value",
        _either(_header(FIRST), "topic"),
        _either(partition.try_cast("int"), "partition"),
        _either(offset, "offset"),
        _either(f.coalesce(f.timestamp_millis(_number(TIMESTAMP, LATEST)), "timestamp"), "timestamp"),
        _either(_original_headers(), "headers"),
        f.when(f.col("has_origin"), f.coalesce(_number(REPLAYS, MOST_REPLAYS), f.lit(1))).alias("replays"),
    )


def without_replays(messages: DataFrame) -> DataFrame:
    """The same columns, for jobs that read no replay topic."""
    return messages.select("*", f.lit(None).cast("bigint").alias("replays"))


def _either(restored: Column, name: str) -> Column:
    return f.when(f.col("has_origin"), restored).otherwise(f.col(name)).alias(name)


def _header(name: str) -> Column:
    return f.try_element_at("named", f.lit(name)).cast("string")


def _number(name: str, most: int) -> Column:
    """Null unless it is a number from 0 to `most`."""
    number = _header(name).try_cast("bigint")
    return f.when(number.between(0, most), number)


def _original_headers() -> Column:
    """Those before the last FIRST: the message may have been a dead letter of another connector."""
    names = f.transform("headers", lambda header: header["key"])
    count = f.size("headers") - f.array_position(f.reverse(names), f.lit(FIRST))
    kept = f.slice("headers", f.lit(1), count.cast("int"))
    # For Spark a message without headers has null, not an empty array.
    return f.when(count > 0, kept).otherwise(f.lit(None).cast(HEADERS))
