"""Schemas of Avro.

Read here and not by Avro's own library for Python (1.12), which knows neither big-decimal, duration, timestamp-nanos
nor the local timestamps, wants a name to be defined before it is used, also across documents, and prints whole schemas
instead of the field that is wrong. It does not check defaults either; METL needs none.
"""

from typing import Any

from metl.registry.attributes import (
    LOGICAL,
    Attribute,
    References,
    Row,
    Unreadable,
    former_names,
    is_envelope,
    parse,
    text_or_none,
)

PRIMITIVE = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
#: Any other is to be ignored, as Avro's specification says.
LOGICAL_TYPES = (
    *("decimal", "big-decimal", "uuid", "date", "time-millis", "time-micros", "duration"),
    *("timestamp-millis", "timestamp-micros", "timestamp-nanos"),
    *("local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos"),
)
Schema = dict[str, Any]


def row(schema: Any, references: References) -> Row:
    names = _Names(references)
    names.define(schema, "")
    alternatives, _ = names.alternatives(schema)
    if len(alternatives) != 1 or alternatives[0]["type"] != "record":
        raise Unreadable("is not a record of Avro.")
    [record] = alternatives
    fields = names.fields(record)
    by_name = {field["name"]: field for field in fields}
    if is_envelope(set(by_name)):
        after, _ = names.alternatives(by_name["after"]["type"], record["namespace"])
        if len(after) == 1 and after[0]["type"] == "record":
            record, fields = after[0], names.fields(after[0])
    return Row([names.attribute(field, record["namespace"]) for field in fields])


class _Names:
    """The named types of a schema and of those it refers to."""

    def __init__(self, references: References) -> None:
        self._defined: dict[str, Schema] = {}
        self._references = references
        self._has_references = False

    def define(self, schema: Any, namespace: str) -> None:
        """Registers every named type inside, each with its namespace, which is the default of names inside it."""
        if isinstance(schema, list):
            for each in schema:
                self.define(each, namespace)
        elif isinstance(schema, dict):
            kind = schema.get("type")
            if kind in ("record", "error", "enum", "fixed"):
                name = schema.get("name")
                if not isinstance(name, str):
                    raise Unreadable(f"has a {kind} of Avro without a name.")
                namespace = _namespace(name, schema.get("namespace", namespace))
                schema["type"] = "record" if kind == "error" else kind
                schema["namespace"] = namespace
                self._defined[_full(name, namespace)] = schema
                for field in schema["fields"] if isinstance(schema.get("fields"), list) else []:
                    if isinstance(field, dict):
                        self.define(field.get("type"), namespace)
            elif isinstance(kind, dict | list):
                self.define(kind, namespace)
            for inner in ("items", "values"):
                self.define(schema.get(inner), namespace)

    def alternatives(self, schema: Any, namespace: str = "") -> tuple[list[Schema], bool]:
        """The types of a union except null, and whether null is among them."""
        if isinstance(schema, dict) and isinstance(schema.get("type"), list):
            schema = schema["type"]
        alternatives: list[Schema] = []
        optional = False
        for each in schema if isinstance(schema, list) else [schema]:
            one = self._resolve(each, namespace)
            if one["type"] == "null":
                optional = True
            else:
                alternatives.append(one)
        return alternatives, optional

    def fields(self, record: Schema) -> list[Schema]:
        fields = record.get("fields")
        if not isinstance(fields, list):
            raise Unreadable(f"has a record of Avro without fields, {record.get('name')}.")
        for number, field in enumerate(fields, start=1):
            if not isinstance(field, dict) or not isinstance(field.get("name"), str) or "type" not in field:
                raise Unreadable(f"has a field without name or type, number {number} of {record.get('name')}.")
        return fields

    def attribute(self, field: Schema, namespace: str) -> Attribute:
        alternatives, optional = self.alternatives(field["type"], namespace)
        types = {_type(each) for each in alternatives}
        return Attribute(
            name=field["name"],
            type=types.pop() if len(types) == 1 else "any",
            optional=optional,
            description=text_or_none(field.get("doc")),
            renamed_from=former_names(field.get("aliases")),
        )

    def _resolve(self, schema: Any, namespace: str) -> Schema:
        if isinstance(schema, dict):
            kind = schema.get("type")
            if isinstance(kind, str) and kind not in (*PRIMITIVE, "record", "enum", "fixed", "array", "map"):
                return self._named(kind, namespace)
            if isinstance(kind, str):
                return schema
            if isinstance(kind, dict):
                return self._resolve(kind, namespace)
        if isinstance(schema, str):
            return {"type": schema} if schema in PRIMITIVE else self._named(schema, namespace)
        raise Unreadable(f"has a type that is none of Avro's: {str(schema)[:100]}.")

    def _named(self, name: str, namespace: str) -> Schema:
        for full in (_full(name, namespace), name):
            if full in self._defined:
                return self._defined[full]
        if not self._has_references:
            self._has_references = True
            for text in self._references().values():
                self.define(parse(text), "")
            return self._named(name, namespace)
        raise Unreadable(f"refers to {name}, which is not in it.")


def _namespace(name: str, given: Any) -> str:
    return name.rpartition(".")[0] if "." in name else given if isinstance(given, str) else ""


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _type(schema: Schema) -> str:
    connect, logical = schema.get("connect.name"), schema.get("logicalType")
    if isinstance(connect, str) and connect.startswith(LOGICAL):
        return connect
    return logical if logical in LOGICAL_TYPES else str(schema["type"])
