"""Dead letters that are sent again, as the messages that they were."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from mapper.frame import HEADERS, REPLAYS

#: The first header of those that a mapper adds to a dead letter; the message's own come before.
FIRST = "__connect.errors.topic"
TIMESTAMP = "__metl.timestamp"


def restore(messages: DataFrame, replays: str | None, wanted: str) -> DataFrame:
    """Adds replays: how often a message was sent again, null if never. Letters in the topic of replays get the topic,
    partition, offset, time and headers back that they had at first; left out are those of topics that are not wanted,
    which other mappers take."""
    if replays is None:
        return messages.select("*", f.lit(None).cast("bigint").alias("replays"))
    is_letter = f.col("topic") == replays
    opened = messages.select("*", f.when(is_letter, f.map_from_entries("headers")).alias("said"))
    # Who writes there without saying where a message is from gets it back, as a dead letter.
    is_known = f.col("said").isNotNull() & _number("__connect.errors.partition").isNotNull()
    is_known = is_known & _number("__connect.errors.offset").isNotNull() & _said(FIRST).isNotNull()
    known = opened.select("*", is_known.alias("is_known"))
    return known.where(~f.col("is_known") | _said(FIRST).rlike(wanted)).select(
        "key",
        "value",
        _either(_said(FIRST), "topic"),
        _either(_number("__connect.errors.partition").cast("int"), "partition"),
        _either(_number("__connect.errors.offset"), "offset"),
        _either(f.coalesce(f.timestamp_millis(_number(TIMESTAMP)), "timestamp"), "timestamp"),
        _either(_original_headers(), "headers"),
        f.when(f.col("is_known"), f.coalesce(_number(REPLAYS), f.lit(1))).alias("replays"),
    )


def _either(restored: Column, name: str) -> Column:
    return f.when(f.col("is_known"), restored).otherwise(f.col(name)).alias(name)


def _said(name: str) -> Column:
    return f.try_element_at("said", f.lit(name)).cast("string")


def _number(name: str) -> Column:
    return _said(name).try_cast("bigint")


def _original_headers() -> Column:
    """What came before the last header that begins ours: the message may have been a dead letter of somebody else."""
    names = f.transform("headers", lambda header: header["key"])
    count = f.size("headers") - f.array_position(f.reverse(names), f.lit(FIRST))
    kept = f.slice("headers", f.lit(1), count.cast("int"))
    # A message without headers has none, not an empty list of them.
    return f.when(count > 0, kept).otherwise(f.lit(None).cast(HEADERS))
