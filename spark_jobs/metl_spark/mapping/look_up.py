"""What a message's version maps to, or why the message cannot be mapped."""

import functools

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from metl_spark.functions.columns import json_pick, json_text, json_value

REASONS = ("malformed", "unknown_version", "unmapped_truncate", "unroutable_entity")
#: Beginnings of topics of Debezium and METL without rows.
NO_ROWS = ("__debezium-heartbeat", "metl.signals.", "metl.notifications.")
HALT = "METL-HALT "
WHOLE_NUMBER = "^-?[0-9]{1,19}$"


def look_up(rows: DataFrame, matrix: DataFrame, *, halt_on_unknown_version: bool = False) -> DataFrame:
    """Adds state, schema, version, reason (null if the message can be mapped) and targets (none if it maps to
    nothing)."""
    # Left, so that what is unknown stays.
    versions = f.broadcast(matrix.alias("versions"))
    known = rows.alias("rows").join(versions, f.expr("rows.lookup = versions.key"), "left")
    opened = known.select(
        *(f.col(f"rows.{column}") for column in rows.columns if column != "lookup"),
        # An unknown ref has no entry; an unknown topic or no ref at all has that of the key ''.
        f.coalesce("versions.entry.state", "reading.state").alias("state"),
        "reading.schema",
        f.col("versions.entry.version").alias("version"),
        f.col("versions.entry.targets").alias("blocks"),
        f.col("versions.entry.is_routable").alias("is_routable"),
        _is_marker().alias("is_marker"),
    )
    judged = opened.select("*", _reason(halt_on_unknown_version).alias("reason"))
    return judged.select(*(column for column in judged.columns if column != "blocks"), _targets().alias("targets"))


def is_tombstone() -> Column:
    return f.col("value").isNull()


def _is_marker() -> Column:
    """Heartbeats, transaction markers, logical messages, signals to connectors and what those tell: no rows."""
    named = (f.startswith("topic", f.lit(prefix)) for prefix in NO_ROWS)
    return f.coalesce(
        functools.reduce(Column.__or__, named)
        | (f.col("op") == "m")
        | (f.endswith("topic", f.lit(".transaction")) & _marks_transaction())
        | (f.endswith("topic", f.lit(".signals")) & _is_signal()),
        f.lit(False),
    )


def _is_signal() -> Column:
    """METL once named the topic of signals after the prefix of the connector's other topics."""
    signal = json_pick(json_value(f.col("rows.value")), "type", "data")
    return f.col("reading").isNull() & json_text(f.get(signal, f.lit(0))).endswith("-snapshot")


def _marks_transaction() -> Column:
    """Nobody may have said how such a topic is read, so it is tried without a frame and with either."""
    value = f.col("rows.value")
    document = f.coalesce(*(json_value(f.substring(value, begin, 1 << 30)) for begin in (1, 6, 10)))
    payload = f.coalesce(f.get(json_pick(document, "payload"), f.lit(0)), document)
    said = json_pick(payload, "status", "data_collections")
    # A table or an event may be called so, too, but has no such member.
    is_ours = f.col("reading").isNull() | f.get(said, f.lit(1)).isNotNull()
    return json_text(f.get(said, f.lit(0))).isin("BEGIN", "END") & is_ours


def _is_row(row: str) -> Column:
    return f.coalesce(f.substring(row, 1, 1) == f.lit(b"{"), f.lit(False))


def _is_nothing(value: str) -> Column:
    return f.col(value).isNull() | (f.col(value) == f.lit(b"null"))


def _is_time(value: str) -> Column:
    text = f.col(value).cast("string")
    return _is_nothing(value) | (text.rlike(WHOLE_NUMBER) & text.try_cast("bigint").isNotNull())


def _reason(halt: bool) -> Column:
    needs_row = f.col("op").isin("c", "r", "u")
    well_formed = (
        f.col("well_formed")
        & f.coalesce(f.col("op").isin("c", "r", "u", "d", "t", "m"), f.lit(False))
        & (_is_row("before") | _is_nothing("before"))
        & (_is_row("after") | (_is_nothing("after") & ~needs_row))
        & _is_time("ts_ms")
    )
    unknown = _halt() if halt else f.lit("unknown_version")
    return (
        f.when(f.col("is_marker"), None)
        .when(f.col("reading").isNull(), unknown)
        .when((is_tombstone() | (f.col("op") == "t")) & ~f.col("reading.is_routable"), "unroutable_entity")
        .when(is_tombstone(), None)
        .when(~well_formed, "malformed")
        .when(f.col("version").isNull(), unknown)
        .when((f.col("op") == "t") & (f.size("reading.targets") == 0), "unmapped_truncate")
        .when(~f.col("is_routable"), "unroutable_entity")
    )


def _halt() -> Column:
    """Ends the query here; mapper.supervise makes a sentence of it."""
    where = f.to_json(f.struct("topic", "partition", "offset", short_ref().alias("ref"), "state"))
    return f.raise_error(f.concat(f.lit(HALT), where)).cast("string")


def short_ref() -> Column:
    """A ref for people: what stands where an id should may be long."""
    return f.substring("ref", 1, 100)


def _targets() -> Column:
    """A tombstone or a truncate concerns every entity that the topic feeds, whatever the version."""
    return (
        f.when(f.col("reason").isNotNull() | f.col("is_marker"), None)
        .when(is_tombstone() | (f.col("op") == "t"), f.col("reading.targets"))
        .otherwise(f.col("blocks"))
    )
