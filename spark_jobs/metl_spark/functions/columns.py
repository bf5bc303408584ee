"""The functions of this folder as columns: JSON as bytes that are never altered."""

from pyspark.sql import Column
from pyspark.sql import functions as f

#: By their names in Spark SQL: the class and the type of the result.
FUNCTIONS = {
    "json_value": ("metl.JsonValue", "binary"),
    "json_text": ("metl.JsonText", "string"),
    "json_pick": ("metl.JsonPick", "array<binary>"),
    "map_row": ("metl.MapRow", "array<binary>"),
}


def json_value(document: Column) -> Column:
    """Bytes that are exactly one JSON value, without whitespace around it; null if they are not."""
    return f.call_udf("json_value", document)


def json_text(value: Column) -> Column:
    """The text of a string; null for null; anything else as it is written."""
    return f.call_udf("json_text", value)


def json_pick(document: Column, *names: str) -> Column:
    """The values of some members of an object, null for a missing one; null if it is not an object."""
    return f.call_udf("json_pick", document, f.lit(" ".join(names)))


def map_row(row: Column, mapping: Column) -> Column:
    """The entity's values as an object, and the names of unavailable ones or null; null without a row."""
    return f.call_udf("map_row", row, mapping)


def quoted(text: Column) -> Column:
    """A text as a JSON string."""
    return f.to_json(text.cast("variant"))


def header(name: str, value: str | Column) -> Column:
    """A header of a Kafka record: the value as text in UTF-8, without one if it is null."""
    column = f.col(value) if isinstance(value, str) else value
    return f.struct(f.lit(name).alias("key"), column.cast("string").cast("binary").alias("value"))
