"""JSON as bytes that stay as they came in: the functions of this folder as columns."""

from pyspark.sql import Column
from pyspark.sql import functions as f

#: By the name under which Spark knows each: the class, and what it returns.
FUNCTIONS = {
    "json_value": ("metl.JsonValue", "binary"),
    "json_text": ("metl.JsonText", "string"),
    "json_pick": ("metl.JsonPick", "array<binary>"),
    "map_row": ("metl.MapRow", "array<binary>"),
}


def json_value(document: Column) -> Column:
    """The one JSON value in some bytes; null if they are not that."""
    return f.call_udf("json_value", document)


def json_text(value: Column) -> Column:
    """What a JSON value says: of a string its text, of null nothing, of anything else how it is written."""
    return f.call_udf("json_text", value)


def json_pick(document: Column, *names: str) -> Column:
    """The values of an object's members, null where there is none; null if it is no object."""
    return f.call_udf("json_pick", document, f.lit(" ".join(names)))


def map_row(row: Column, mapping: Column) -> Column:
    """The entity's values, and the names of those that are unavailable or else null; null if there is no row."""
    return f.call_udf("map_row", row, mapping)


def quoted(text: Column) -> Column:
    """A string as JSON."""
    return f.to_json(text.cast("variant"))
