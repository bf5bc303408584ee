"""What a message's version maps to."""

import functools

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from metl_spark.functions.columns import json_pick, json_text, json_value
from metl_spark.mapping import dead_letters
from metl_spark.mapping.identify import is_tombstone

#: Prefixes of topics of Debezium and METL that hold no rows.
NO_ROWS = ("__debezium-heartbeat", "metl.signals.", "metl.notifications.")


def look_up(rows: DataFrame, matrix: DataFrame, *, halt_on_unknown_version: bool = False) -> DataFrame:
    """Adds state, schema, version, reason (null if the message can be mapped) and targets (none if it maps to
    nothing)."""
    # A left join: messages of unknown versions stay.
    versions = f.broadcast(matrix.alias("versions"))
    joined = rows.alias("rows").join(versions, f.expr("rows.lookup = versions.key"), "left")
    opened = joined.select(
        *(f.col(f"rows.{column}") for column in rows.columns if column != "lookup"),
        # An unknown ref has no entry; for an unknown topic or without a ref the key is '', which has one.
        f.coalesce("versions.entry.state", "reading.state").alias("state"),
        "reading.schema",
        f.col("versions.entry.version").alias("version"),
        f.col("versions.entry.targets").alias("blocks"),
        f.col("versions.entry.is_routable").alias("is_routable"),
        _is_marker().alias("is_marker"),
    )
    judged = opened.select("*", dead_letters.reason(halt_on_unknown_version).alias("reason"))
    return judged.select(*(column for column in judged.columns if column != "blocks"), _targets().alias("targets"))


def _is_marker() -> Column:
    """Heartbeats, transaction markers, logical messages, signals to connectors and their notifications: no rows."""
    has_prefix = (f.startswith("topic", f.lit(prefix)) for prefix in NO_ROWS)
    return f.coalesce(
        functools.reduce(Column.__or__, has_prefix)
        | (f.col("op") == "m")
        | (f.endswith("topic", f.lit(".transaction")) & _marks_transaction())
        | (f.endswith("topic", f.lit(".signals")) & _is_signal()),
        f.lit(False),
    )


def _is_signal() -> Column:
    """In a topic named after the connector's prefix, as earlier releases had it."""
    signal = json_pick(json_value(f.col("rows.value")), "type", "data")
    return f.col("reading").isNull() & json_text(f.get(signal, f.lit(0))).endswith("-snapshot")


def _marks_transaction() -> Column:
    """Such a topic may have no rule for how it is read, so all frames are tried."""
    value = f.col("rows.value")
    document = f.coalesce(*(json_value(f.substring(value, begin, 1 << 30)) for begin in (1, 6, 10)))
    payload = f.coalesce(f.get(json_pick(document, "payload"), f.lit(0)), document)
    marker = json_pick(payload, "status", "data_collections")
    # A table or an event may have such a name, too, but no such member.
    is_debezium = f.col("reading").isNull() | f.get(marker, f.lit(1)).isNotNull()
    return json_text(f.get(marker, f.lit(0))).isin("BEGIN", "END") & is_debezium


def _targets() -> Column:
    """A tombstone or a truncate concerns every entity that the topic feeds, whatever the version."""
    return (
        f.when(f.col("reason").isNotNull() | f.col("is_marker"), None)
        .when(is_tombstone() | (f.col("op") == "t"), f.col("reading.targets"))
        .otherwise(f.col("blocks"))
    )
