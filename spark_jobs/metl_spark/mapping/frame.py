"""What all records of a message share: key, headers, and the text around the mapped values."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from metl_spark.functions.columns import json_pick, json_value, quoted
from metl_spark.mapping.identify import is_framed, is_wrapped, without_frame
from metl_spark.mapping.look_up import is_tombstone, short_ref

REPLAYS = "__metl.replay.count"
HEADERS = "array<struct<key:string,value:binary>>"


def frame(messages: DataFrame, job: str) -> DataFrame:
    """Exactly the columns that map_values and route need: each target of a message copies them."""
    is_dead = f.col("reason").isNotNull()
    return messages.select(
        f.when(is_dead, f.col("key")).otherwise(_key()).alias("key"),
        f.when(is_dead, _dead_letter_headers(job)).otherwise(_headers()).alias("headers"),
        # Only dead letters are sent as they came.
        f.when(is_dead, f.col("value")).alias("original"),
        is_tombstone().alias("is_tombstone"),
        "op",
        "before",
        "after",
        _beginning().alias("beginning"),
        f.concat(f.lit(b',"source":'), f.coalesce("source", f.lit(b"null"))).alias("ending"),
        "targets",
        "reason",
        "offset",
        # For the latency, which a replayed dead letter has none of.
        f.when(f.col("replays").isNull(), f.col("timestamp")).alias("timestamp"),
    )


def _beginning() -> Column:
    ts_ms = f.coalesce("ts_ms", f.lit(b"null"))
    return f.concat(f.col("op").cast("binary"), f.lit(b'","ts_ms":'), ts_ms, f.lit(b',"before":'))


def _key() -> Column:
    """The topic keeps rows of two sources apart; within a source, equal keys stay equal."""
    document = f.when(is_framed(), f.coalesce(without_frame(f.col("key")), "key")).otherwise(f.col("key"))
    payload = f.when(is_wrapped(), f.get(json_pick(document, "payload"), f.lit(0)))
    # A key that is not JSON becomes a string, or base64.
    text = f.when(f.is_valid_utf8(document.cast("string")), quoted(document.cast("string")))
    base64 = f.to_json(f.struct(f.replace(f.base64("key"), f.lit("\r\n"), f.lit("")).alias("base64")))
    key = f.when(f.col("key").isNull(), f.lit(b"null")).otherwise(
        f.coalesce(payload, json_value(document), f.coalesce(text, base64).cast("binary"))
    )
    return f.concat(f.lit(b'{"source":"'), f.col("topic").cast("binary"), f.lit(b'","key":'), key, f.lit(b"}"))


def _headers() -> Column:
    position = (
        _header("metl.state", "state"),
        _header("metl.schema", "schema"),
        _header("metl.version", "version"),
        _header("metl.topic", "topic"),
        _header("metl.partition", "partition"),
        _header("metl.offset", "offset"),
    )
    # Time orders rows of two partitions; tombstones and some envelopes have none.
    has_no_time = is_tombstone() | f.coalesce(f.col("ts_ms") == f.lit(b"null"), f.lit(True))
    timed = (*position, _header("metl.timestamp", f.unix_millis("timestamp")))
    return f.when(has_no_time, f.array(*timed)).otherwise(f.array(*position))


def _dead_letter_headers(job: str) -> Column:
    """The message's own, then those of Connect's convention, which its tools read, then METL's."""
    reason = f.col("reason")
    ours = f.array(
        _header("__connect.errors.topic", "topic"),
        _header("__connect.errors.partition", "partition"),
        _header("__connect.errors.offset", "offset"),
        _header("__connect.errors.connector.name", f.lit(job)),
        _header("__connect.errors.stage", f.lit("VALUE_CONVERTER")),
        _header("__connect.errors.exception.class.name", f.concat(f.lit("metl."), reason)),
        _header("__connect.errors.exception.message", _explanation()),
        _header("__metl.reason", reason),
        _header("__metl.schema", "schema"),
        _header("__metl.version", "version"),
        _header("__metl.ref", short_ref()),
        _header("__metl.state", "state"),
        # Kafka gives the dead letter another timestamp.
        _header("__metl.timestamp", f.unix_millis("timestamp")),
        _header(REPLAYS, f.coalesce("replays", f.lit(0))),
    )
    return f.concat(f.coalesce("headers", f.array().cast(HEADERS)), ours)


def _explanation() -> Column:
    named = f.coalesce(f.concat(f.lit(" ("), short_ref(), f.lit(")")), f.lit(""))
    sentences = {
        "malformed": f.lit("The message is not what its topic is configured to hold."),
        "unknown_version": f.concat(f.lit("State "), "state", f.lit(" knows no such version"), named, f.lit(".")),
        "unmapped_truncate": f.lit("A table was truncated that feeds no entity."),
        "unroutable_entity": f.lit("The name of an entity that it feeds makes no Kafka topic."),
    }
    return f.coalesce(*(f.when(f.col("reason") == reason, sentence) for reason, sentence in sentences.items()))


def _header(name: str, value: str | Column) -> Column:
    column = f.col(value) if isinstance(value, str) else value
    return f.struct(f.lit(name).alias("key"), column.cast("string").cast("binary").alias("value"))
