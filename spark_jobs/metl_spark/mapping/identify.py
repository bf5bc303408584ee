"""Which schema version a message is of, and the row in it.

How a topic is read is configuration (metl.set_topic), joined like the matrix itself: there is no code for a topic.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from metl_spark.functions.columns import json_pick, json_text, json_value

WRAPPER = ("schemaId", "schema", "payload")
ENVELOPE = ("op", "ts_ms", "before", "after", "source")
# What distinguishes versions of a row in a Connect schema; metl.fingerprint hashes the same.
FIELD = (
    "struct<field:string,type:string,optional:boolean,name:string,parameters:variant,"
    "items:variant,keys:variant,values:variant,fields:variant>"
)
# An envelope's schema has few fields; `after` is the second of them.
ENVELOPE_FIELDS = 8


def identify(messages: DataFrame, matrix: DataFrame) -> DataFrame:
    """Adds reading (the topic's entry), ref, lookup (the key of the version's entry), well_formed, and the parts of
    the message: op as text, ts_ms, before, after and source as JSON."""
    topics = f.broadcast(matrix.alias("topics"))
    joined = messages.alias("messages").join(topics, f.expr("messages.topic = topics.key"), "left")
    joined = joined.select("messages.*", f.col("topics.entry").alias("reading"))
    headed = joined.select("*", _id_in_headers().alias("id_in_headers"))
    unframed = headed.select("*", _body().alias("body"))
    unwrapped = unframed.select("*", f.when(is_wrapped(), json_pick(f.col("body"), *WRAPPER)).alias("wrapper"))
    opened = unwrapped.select("*", _payload().alias("payload"), _ref().alias("ref"))
    parted = opened.select("*", f.when(~is_flat(), json_pick(f.col("payload"), *ENVELOPE)).alias("envelope"))
    return parted.select(
        *messages.columns,
        "reading",
        "ref",
        f.coalesce(f.concat("topic", f.lit(" "), "ref"), f.lit("")).alias("lookup"),
        (f.col("envelope").isNotNull() | is_flat()).alias("well_formed"),
        f.when(is_flat(), "c").otherwise(json_text(_part("op"))).alias("op"),
        f.when(is_flat(), f.unix_millis("timestamp").cast("string").cast("binary"))
        .otherwise(_part("ts_ms"))
        .alias("ts_ms"),
        _part("before").alias("before"),
        f.when(is_flat(), json_value(f.col("payload"))).otherwise(_part("after")).alias("after"),
        _part("source").alias("source"),
    )


def is_wrapped() -> Column:
    return f.col("reading.format").isin("ext_json", "ext_json_content_id", "connect")


def is_framed() -> Column:
    return f.col("reading.format").isin("apicurio", "apicurio_2", "confluent")


def is_flat() -> Column:
    return f.col("reading.payload") == "flat"


def without_frame(record: Column) -> Column:
    """The bytes after a magic 0 and an id; null if a required frame is missing."""
    eight = f.col("reading.format") == "apicurio_2"
    return f.when(
        f.substring(record, 1, 1) == f.lit(b"\0"), f.substring(record, f.when(eight, 10).otherwise(6), 1 << 30)
    )


def _part(name: str) -> Column:
    return f.get("envelope", f.lit(ENVELOPE.index(name)))


def _wrapped(name: str) -> Column:
    return f.get("wrapper", f.lit(WRAPPER.index(name)))


def _payload() -> Column:
    return f.when(is_wrapped(), _wrapped("payload")).otherwise(f.col("body"))


def _body() -> Column:
    """The document; null if a required frame is missing."""
    framed = is_framed() & f.col("id_in_headers").isNull()
    return f.when(framed, without_frame(f.col("value"))).otherwise(f.col("value"))


def _id_in_headers() -> Column:
    """As kind and ref. A globalId names one version, a contentId perhaps several."""
    name = f.col("reading.format")
    guid = _header("__value_schema_id")
    return (
        f.when(
            name == "apicurio",
            f.coalesce(
                _ref_of("global_id", _header("apicurio.value.globalId")),
                _ref_of("content_id", _header("apicurio.value.contentId")),
            ),
        )
        .when(name == "apicurio_2", _ref_of("global_id", _header("apicurio.value.globalId")))
        .when(
            (name == "confluent") & (f.octet_length(guid) == 17),
            f.concat(f.lit("confluent_guid "), _uuid(f.substring(guid, 2, 16))),
        )
    )


def _id_in_frame() -> Column:
    name = f.col("reading.format")
    return (
        f.when(name == "apicurio", _ref_of("content_id", _frame(4)))
        .when(name == "apicurio_2", _ref_of("global_id", _frame(8)))
        .when(name == "confluent", _ref_of("confluent_id", _frame(4)))
    )


def _header(name: str) -> Column:
    return f.try_element_at(f.map_from_entries("headers"), f.lit(name))


def _frame(size: int) -> Column:
    value = f.col("value")
    return f.when(
        (f.substring(value, 1, 1) == f.lit(b"\0")) & (f.octet_length(value) > size), f.substring(value, 2, size)
    )


def _ref_of(kind: str, number: Column) -> Column:
    """Null for more than eight bytes, which are no number."""
    return f.when(f.octet_length(number) <= 8, f.concat(f.lit(f"{kind} "), f.conv(f.hex(number), 16, 10)))


def _uuid(sixteen: Column) -> Column:
    return f.regexp_replace(f.lower(f.hex(sixteen)), "^(.{8})(.{4})(.{4})(.{4})(.{12})$", "$1-$2-$3-$4-$5")


def _ref() -> Column:
    """The key to look the version up by, as kind and ref; null if the message has none."""
    name = f.col("reading.format")
    return (
        f.when(name == "ext_json", f.concat(f.lit("global_id "), json_text(_wrapped("schemaId"))))
        .when(name == "ext_json_content_id", f.concat(f.lit("content_id "), json_text(_wrapped("schemaId"))))
        .when(name == "connect", f.concat(f.lit("fingerprint "), _fingerprint()))
        .when(name == "plain", f.concat(f.lit("version "), "reading.version"))
        .otherwise(f.coalesce("id_in_headers", _id_in_frame()))
    )


def _fingerprint() -> Column:
    """Of the row's fields in an inline Connect schema; metl.fingerprint gives the same for a registered one."""
    schema = f.try_parse_json(_wrapped("schema").cast("string"))

    def at(path: str, kind: str) -> Column:
        return f.try_variant_get(schema, f.lit(f"$.fields{path}"), kind)

    after = f.coalesce(
        *(
            f.when(at(f"[{place}].field", "string") == "after", at(f"[{place}].fields", f"array<{FIELD}>"))
            for place in range(ENVELOPE_FIELDS)
        )
    )
    return f.sha2(f.to_json(f.when(is_flat(), at("", f"array<{FIELD}>")).otherwise(after)), 256)


def is_tombstone() -> Column:
    return f.col("value").isNull()
