"""The parts of a record, as the columns of the staging table that batches are copied into."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from metl_spark.functions.columns import json_pick, json_text

COLUMNS = (
    "entity", "source", "key", "partition", "offset", "at", "op", "after", "unavailable", "state", "schema", "version",
)  # fmt: skip
VALUE = ("op", "ts_ms", "after", "unavailable")


def read(messages: DataFrame, prefix: str) -> DataFrame:
    """All of them as bytes: PostgreSQL decodes them."""
    parted = messages.select(
        f.substring("topic", len(prefix) + 1, 1 << 30).alias("entity"),
        f.map_from_entries(f.coalesce("headers", f.array().cast("array<struct<key:string,value:binary>>"))).alias(
            "named"
        ),
        f.get(json_pick(f.col("key"), "key"), f.lit(0)).alias("key"),
        json_pick(f.col("value"), *VALUE).alias("parts"),
        f.col("value").isNull().alias("is_tombstone"),
    )
    return parted.select(
        f.col("entity").cast("binary").alias("entity"),
        _header("topic").alias("source"),
        "key",
        _header("partition").alias("partition"),
        _header("offset").alias("offset"),
        f.coalesce(_part("ts_ms"), _header("timestamp")).alias("at"),
        f.when(f.col("is_tombstone"), "d").otherwise(json_text(_part("op"))).cast("binary").alias("op"),
        _part("after").alias("after"),
        _part("unavailable").alias("unavailable"),
        _header("state").alias("state"),
        _header("schema").alias("schema"),
        _header("version").alias("version"),
    ).select(*COLUMNS)


def _header(name: str) -> Column:
    return f.try_element_at("named", f.lit(f"metl.{name}"))


def _part(name: str) -> Column:
    part = f.get("parts", f.lit(VALUE.index(name)))
    return f.when(part != f.lit(b"null"), part)
