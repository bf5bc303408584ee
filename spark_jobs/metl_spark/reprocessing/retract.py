"""Retracts what earlier states sent and the current one does not."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from metl_spark.functions.columns import json_pick, json_text

POSITION = ("source", "source_partition", "offset")
SENT = ("topic", "key", "value", "headers", *POSITION)
PARTS = ("entity", "version", "op", "ts_ms", "source")


def with_origin(records: DataFrame) -> DataFrame:
    """Adds source and source_partition: with its offset, the position of the message that a record comes from."""
    named = records.select("*", f.map_from_entries("headers").alias("named"))
    partition = f.try_element_at("named", f.lit("metl.partition")).try_cast("string").try_cast("int")
    return named.select(
        *records.columns,
        f.try_element_at("named", f.lit("metl.topic")).cast("string").alias("source"),
        partition.alias("source_partition"),
    )


def retract(
    now: DataFrame, earlier: Sequence[DataFrame], entries: DataFrame, live: Sequence[str], state: int
) -> DataFrame:
    """Records that undo those of earlier states for which the current one sends none to the same entity and key: at
    the same position, of the current state. `live` are the topics of entities with a live version.

    Left alone are messages that are dead letters now, since they may be mapped later; truncates, which cannot be
    undone; and deletes, which have nothing to retract.
    """
    decided = with_origin(now.where(f.col("reason").isNull()))
    by_message = decided.groupBy(*POSITION).agg(
        f.collect_set(f.when(f.col("topic").isNotNull(), f.struct("topic", "key"))).alias("kept")
    )
    sent = reduce(DataFrame.unionAll, (_upserts(each) for each in earlier)).dropDuplicates([*POSITION, "topic", "key"])
    gone = (
        sent.where(f.col("topic").isin(*live))
        .join(by_message, [*POSITION])
        .where(~f.array_contains("kept", f.struct("topic", "key")))
    )
    topics = entries.select(f.col("key").alias("source"), f.explode("entry.targets.topic").alias("topic"))
    fed = f.broadcast(topics.distinct().withColumn("is_fed", f.lit(True)))
    return gone.join(fed, ["source", "topic"], "left").select(
        "topic", "key", _retraction().alias("value"), _headers_of_state(state).alias("headers"), *POSITION
    )


def _upserts(records: DataFrame) -> DataFrame:
    values = with_origin(records.where(f.col("reason").isNull() & f.col("topic").isNotNull())).select(*SENT)
    parted = values.select("*", json_pick(f.col("value"), *PARTS).alias("parts"))
    return parted.where(json_text(_part("op")).isin("c", "r", "u"))


def _retraction() -> Column:
    """A delete. For an update whose topic still feeds the entity, an update without values: what other versions of the
    source sent to that row stays."""
    stays = (json_text(_part("op")) == "u") & f.col("is_fed").isNotNull()
    return f.concat(
        f.lit(b'{"entity":'), _part("entity"), f.lit(b',"version":'), _part("version"),
        f.when(stays, f.lit(b',"op":"u"')).otherwise(f.lit(b',"op":"d"')), f.lit(b',"ts_ms":'), _part("ts_ms"),
        f.when(stays, f.lit(b',"before":null,"after":{}')).otherwise(f.lit(b',"before":null,"after":null')),
        f.lit(b',"source":'), _part("source"), f.lit(b"}"),
    )  # fmt: skip


def _part(name: str) -> Column:
    return f.get("parts", f.lit(PARTS.index(name)))


def _headers_of_state(state: int) -> Column:
    ours = f.struct(f.lit("metl.state").alias("key"), f.lit(str(state).encode()).alias("value"))
    return f.transform("headers", lambda header: f.when(header["key"] == "metl.state", ours).otherwise(header))
