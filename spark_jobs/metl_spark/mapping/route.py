"""The records to send: mapped values, tombstones and dead letters, each to its topic."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f


def route(mapped: DataFrame, dead_letters: str) -> DataFrame:
    """topic, key, value and headers as the Kafka sink takes them; topic is null for what is filtered on purpose.
    Also reason, position, offset and timestamp, for the metrics."""
    is_dead = f.col("reason").isNotNull()
    return mapped.select(
        f.when(is_dead, f.lit(dead_letters)).when(_is_sent(), f.col("target.topic")).alias("topic"),
        "key",
        f.when(is_dead, f.col("original")).when(~f.col("is_tombstone"), _value()).alias("value"),
        "headers",
        "reason",
        "position",
        "offset",
        "timestamp",
    )


def _is_sent() -> Column:
    """Updates, deletes and truncates always: they retract what was sent before. Creates if a value is mapped."""
    has_value = (f.col("entity_after") != f.lit(b"{}")) | f.col("unavailable").isNotNull()
    return f.col("target").isNotNull() & (
        f.col("is_tombstone") | f.coalesce(f.col("op").isin("u", "d", "t") | has_value, f.lit(False))
    )


def _value() -> Column:
    return f.concat(
        "target.head",
        "beginning",
        f.coalesce("entity_before", f.lit(b"null")),
        f.lit(b',"after":'),
        f.coalesce("entity_after", f.lit(b"null")),
        "ending",
        f.coalesce(f.concat(f.lit(b',"unavailable":'), "unavailable"), f.lit(b"")),
        f.lit(b"}"),
    )
