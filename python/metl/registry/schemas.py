"""Reads the row of a schema, in the language of the schema."""

from collections.abc import Callable
from typing import Any

from metl.registry import avro, json_schema, kconnect
from metl.registry.attributes import References, Row, Unreadable, parse

#: By artifact type.
READERS: dict[str, Callable[[Any, References], Row]] = {
    "KCONNECT": kconnect.row,
    "JSON": json_schema.row,
    "AVRO": avro.row,
}


def read(kind: str, text: str, references: References = dict) -> Row:
    if kind not in READERS:
        raise Unreadable(f"is {kind}, which METL does not read. It reads {', '.join(READERS)}.")
    try:
        return READERS[kind](parse(text), references)
    except RecursionError:
        raise Unreadable("is nested too deeply.") from None
