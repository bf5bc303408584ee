"""Dead letters: which messages cannot be mapped, why, and the headers that say so."""

from pyspark.sql import Column
from pyspark.sql import functions as f

from metl_spark.functions.columns import header
from metl_spark.mapping.identify import is_tombstone
from metl_spark.runtime.failures import HALT

REASONS = ("malformed", "unknown_version", "unmapped_truncate", "unroutable_entity")
REPLAYS = "__metl.replay.count"
HEADERS = "array<struct<key:string,value:binary>>"
WHOLE_NUMBER = "^-?[0-9]{1,19}$"


def reason(halt_on_unknown_version: bool) -> Column:
    """Why a message cannot be mapped; null if it can."""
    needs_row = f.col("op").isin("c", "r", "u")
    well_formed = (
        f.col("well_formed")
        & f.coalesce(f.col("op").isin("c", "r", "u", "d", "t", "m"), f.lit(False))
        & (_is_row("before") | _is_absent("before"))
        & (_is_row("after") | (_is_absent("after") & ~needs_row))
        & _is_time("ts_ms")
    )
    unknown = _halt() if halt_on_unknown_version else f.lit("unknown_version")
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


def headers(job: str) -> Column:
    """The message's own, then those of Connect's convention, which its tools read, then METL's."""
    ours = f.array(
        header("__connect.errors.topic", "topic"),
        header("__connect.errors.partition", "partition"),
        header("__connect.errors.offset", "offset"),
        header("__connect.errors.connector.name", f.lit(job)),
        header("__connect.errors.stage", f.lit("VALUE_CONVERTER")),
        header("__connect.errors.exception.class.name", f.concat(f.lit("metl."), "reason")),
        header("__connect.errors.exception.message", _explanation()),
        header("__metl.reason", "reason"),
        header("__metl.schema", "schema"),
        header("__metl.version", "version"),
        header("__metl.ref", short_ref()),
        header("__metl.state", "state"),
        # Kafka gives the dead letter another timestamp.
        header("__metl.timestamp", f.unix_millis("timestamp")),
        header(REPLAYS, f.coalesce("replays", f.lit(0))),
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
    return f.coalesce(*(f.when(f.col("reason") == name, sentence) for name, sentence in sentences.items()))


def _is_row(row: str) -> Column:
    return f.coalesce(f.substring(row, 1, 1) == f.lit(b"{"), f.lit(False))


def _is_absent(value: str) -> Column:
    return f.col(value).isNull() | (f.col(value) == f.lit(b"null"))


def _is_time(value: str) -> Column:
    text = f.col(value).cast("string")
    return _is_absent(value) | (text.rlike(WHOLE_NUMBER) & text.try_cast("bigint").isNotNull())


def _halt() -> Column:
    """Ends the query here, with a sentence for runtime.supervise."""
    named = f.coalesce(f.concat(f.lit(" by '"), short_ref(), f.lit("'")), f.lit(""))
    sentence = f.concat(
        f.lit(f"{HALT}Halted at topic "), "topic", f.lit(", partition "), "partition", f.lit(", offset "), "offset",
        f.lit(": state "), "state", f.lit(" knows no version of it"), named,
        f.lit(f". Register it and start the job again; it goes on from its last commit.{HALT}"),
    )  # fmt: skip
    return f.raise_error(sentence).cast("string")


def short_ref() -> Column:
    """A ref for people: garbage in place of an id may be long."""
    return f.substring("ref", 1, 100)
