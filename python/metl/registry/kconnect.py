"""Schemas of Kafka Connect, as its JSON converter writes them."""

from typing import Any

from metl.registry.attributes import (
    LOGICAL,
    RENAMED_FROM,
    Attribute,
    References,
    Row,
    Unreadable,
    former_names,
    is_envelope,
    text_or_none,
)
from metl.registry.fingerprint import fingerprint

NESTED = ("struct", "array", "map")


def row(schema: Any, _references: References) -> Row:
    fields = _fields(schema)
    by_name = {field["field"]: field for field in fields}
    if is_envelope(set(by_name)) and by_name["after"].get("type") == "struct":
        fields = _fields(by_name["after"])
    try:
        return Row([_attribute(field) for field in fields], fingerprint(fields))
    except UnicodeEncodeError as error:
        raise Unreadable(f"has {error.object!r:.100}, which is not Unicode.") from None


def _fields(schema: Any) -> list[dict[str, Any]]:
    if not isinstance(schema, dict) or schema.get("type") != "struct":
        raise Unreadable("is not a struct of Kafka Connect.")
    fields = schema.get("fields")
    if not isinstance(fields, list):
        raise Unreadable("is a struct of Kafka Connect without fields.")
    for number, field in enumerate(fields, start=1):
        if not isinstance(field, dict) or not all(isinstance(field.get(key), str) for key in ("field", "type")):
            raise Unreadable(f"has a field without name or type, number {number}.")
    return fields


def _attribute(field: dict[str, Any]) -> Attribute:
    kind, name = field["type"], field.get("name")
    is_type = isinstance(name, str) and name and (kind not in NESTED or name.startswith(LOGICAL))
    parameters = field.get("parameters")
    extensions = {**(parameters if isinstance(parameters, dict) else {}), **field}
    return Attribute(
        name=field["field"],
        type=str(name) if is_type else kind,
        optional=field.get("optional") is True,
        description=text_or_none(field.get("doc")),
        renamed_from=former_names(extensions.get(RENAMED_FROM)),
    )
