"""Metrics of a batch, observed while its rows pass."""

import time

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from metl_spark.mapping.dead_letters import REASONS

# Latency is sampled, one message in so many: reading the clock is expensive.
SAMPLE = 8
#: Older messages waited for this process to start, which says nothing about the mapping.
BEGAN_MS = time.time_ns() // 1_000_000


def count(routed: DataFrame, *, with_latency: bool = True) -> DataFrame:
    """Counts all rows and drops those that are not sent; the figures come with the progress of the batch. A backlog
    has no meaningful latency."""
    is_first = _is_first()
    is_dead = f.col("reason").isNotNull()
    is_sent = f.col("topic").isNotNull() & ~is_dead
    ages = [_age(), (f.unix_millis("timestamp") >= BEGAN_MS).alias("is_live")] if with_latency else []
    timed = routed.select("topic", "key", "value", "headers", "reason", "position", *ages)
    live_age = f.when(f.col("is_live"), f.col("age"))
    percentiles = (
        [
            f.percentile_approx(live_age, [0.5, 0.9, 0.99, 1.0]).alias("latency_ms"),
            f.min("age").alias("behind_ms"),
        ]
        if with_latency
        else []
    )
    return (
        timed.observe(
            "mapping",
            f.count_if(is_first).alias("rows_in"),
            f.count_if(is_sent).alias("rows_out"),
            f.count_if(f.col("topic").isNull()).alias("rows_filtered"),
            *(f.count_if(f.col("reason") == reason).alias(reason) for reason in REASONS),
            *percentiles,
        )
        .where(f.col("topic").isNotNull())
        .select("topic", "key", "value", "headers")
    )


def _is_first() -> Column:
    """Whether this is the first record of its message."""
    return f.coalesce("position", f.lit(0)) == 0


def _age() -> Column:
    now = f.java_method(f.lit("java.lang.System"), f.lit("currentTimeMillis")).cast("bigint")
    is_sampled = _is_first() & (f.pmod("offset", f.lit(SAMPLE)) == 0)
    return f.when(is_sampled, now - f.unix_millis("timestamp")).alias("age")
