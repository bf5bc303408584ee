"""What all records of a message share: key, headers, and the text around the mapped values."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from metl_spark.functions.columns import header, json_pick, json_value, quoted
from metl_spark.mapping import dead_letters
from metl_spark.mapping.identify import is_framed, is_tombstone, is_wrapped, without_frame


def frame(messages: DataFrame, job: str) -> DataFrame:
    """Exactly the columns that map_values and route need: each target of a message copies them."""
    is_dead = f.col("reason").isNotNull()
    return messages.select(
        f.when(is_dead, f.col("key")).otherwise(_key()).alias("key"),
        f.when(is_dead, dead_letters.headers(job)).otherwise(_headers()).alias("headers"),
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
        header("metl.state", "state"),
        header("metl.schema", "schema"),
        header("metl.version", "version"),
        header("metl.topic", "topic"),
        header("metl.partition", "partition"),
        header("metl.offset", "offset"),
    )
    # Time orders rows of two partitions; tombstones and some envelopes have none.
    has_no_time = is_tombstone() | f.coalesce(f.col("ts_ms") == f.lit(b"null"), f.lit(True))
    timed = (*position, header("metl.timestamp", f.unix_millis("timestamp")))
    return f.when(has_no_time, f.array(*timed)).otherwise(f.array(*position))
