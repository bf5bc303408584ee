"""JSON Schema, of any draft."""

from typing import Any
from urllib.parse import unquote

from metl.registry.attributes import (
    LOGICAL,
    RENAMED_FROM,
    Attribute,
    References,
    Row,
    Unreadable,
    former_names,
    is_envelope,
    parse,
    text_or_none,
)

#: The formats that are types of their own; email or uri say how a text looks, not what it is.
FORMATS = {
    "string": {
        **{each: each for each in ("date-time", "date", "time", "duration", "uuid", "decimal")},
        **dict.fromkeys(("byte", "binary"), "bytes"),
    },
    "integer": {each: each for each in ("int8", "int16", "int32", "int64")},
    "number": {each: each for each in ("float", "double", "decimal")},
}
NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
Schema = dict[str, Any]


def row(document: Any, references: References) -> Row:
    reader = _Reader(document, references)
    properties, required = reader.properties(document, is_root=True)
    if is_envelope(set(properties)):
        after, _ = reader.alternatives(properties["after"])
        if len(after) == 1 and reader.type_of(after[0]) == "object":
            properties, required = reader.properties(after[0])
    # Connect numbers the fields, since objects of JSON have no order.
    order = sorted(properties, key=lambda name: _index(properties[name]))
    return Row([reader.attribute(name, properties[name], name in required) for name in order])


class _Reader:
    def __init__(self, document: Any, references: References) -> None:
        self._document = document
        self._references = references
        self._others: dict[str, Any] | None = None
        self._patience = 100_000

    def properties(self, schema: Any, is_root: bool = False) -> tuple[dict[str, Any], set[str]]:
        """Those of an object, and which of them are required."""
        alternatives, _ = self.alternatives(schema)
        if len(alternatives) != 1:
            raise Unreadable("does not say which fields an object has.")
        found: dict[str, Any] = {}
        required: set[str] = set()
        is_object = False
        for part in self._parts(alternatives[0]):
            is_object |= part.get("type") == "object" or isinstance(part.get("properties"), dict)
            found |= part["properties"] if isinstance(part.get("properties"), dict) else {}
            required |= set(former_names(part.get("required")))
        if is_root and not is_object:
            raise Unreadable("is not that of an object with properties.")
        return found, required

    def alternatives(self, schema: Any) -> tuple[list[Schema], bool]:
        """What a value may be other than null, and whether it may be null."""
        schema = self._resolve(schema)
        for word in ("oneOf", "anyOf"):
            if isinstance(schema.get(word), list):
                beside = {key: value for key, value in schema.items() if key != word}
                found: list[Schema] = []
                optional = False
                for each in schema[word]:
                    inner, may_be_null = self.alternatives(each)
                    found += [{**beside, **one} if "properties" not in one else one for one in inner]
                    optional |= may_be_null
                return found, optional
        kinds = schema.get("type")
        if kinds == "null" or ("const" in schema and schema["const"] is None):
            return [], True
        if isinstance(kinds, list):
            others = [kind for kind in kinds if kind != "null"]
            return [{**schema, "type": kind} for kind in others], "null" in kinds
        return [schema], schema.get("nullable") is True

    def attribute(self, name: str, schema: Any, is_required: bool) -> Attribute:
        described = self._resolve(schema)
        alternatives, may_be_null = self.alternatives(schema)
        types = {self.type_of(each) for each in alternatives}
        if types == {"integer", "number"}:
            types = {"number"}
        given = schema if isinstance(schema, dict) else {}
        return Attribute(
            name=name,
            type=types.pop() if len(types) == 1 else "any",
            optional=may_be_null or not is_required,
            description=text_or_none(given.get("description") or described.get("description")),
            renamed_from=former_names(given.get(RENAMED_FROM) or described.get(RENAMED_FROM)),
        )

    def type_of(self, schema: Schema) -> str:
        merged: Schema = {}
        for part in self._parts(schema):
            merged |= part
        title = merged.get("title")
        if "connect.type" in merged and isinstance(title, str) and title.startswith(LOGICAL):
            return title
        connect = merged.get("connect.type")
        if isinstance(connect, str):
            return connect
        kind = merged.get("type")
        if kind is None:
            values = merged["enum"] if isinstance(merged.get("enum"), list) else [merged.get("const")]
            kinds = {NAMES.get(type(value), "any") for value in values if value is not None}
            kind = kinds.pop() if len(kinds) == 1 else "object" if "properties" in merged else "any"
        if not isinstance(kind, str):
            raise Unreadable(f"has a type that is none of JSON's: {str(kind)[:100]}.")
        return FORMATS.get(kind, {}).get(str(merged.get("format")), kind)

    def _parts(self, schema: Schema, depth: int = 0) -> list[Schema]:
        """It and all that it says it is, too."""
        if depth > 100:
            raise Unreadable("refers to itself.")
        inner = schema["allOf"] if isinstance(schema.get("allOf"), list) else []
        return [schema, *(part for each in inner for part in self._parts(self._resolve(each), depth + 1))]

    def _resolve(self, schema: Any) -> Schema:
        self._patience -= 1
        if not self._patience:
            raise Unreadable("unfolds without end.")
        for _ in range(100):
            if schema is True or schema == {}:
                return {}
            if not isinstance(schema, dict):
                raise Unreadable(f"has something that is no schema in it: {str(schema)[:100]}.")
            if not isinstance(schema.get("$ref"), str):
                return schema
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            found = self._follow(schema["$ref"])
            schema = {**found, **beside} if isinstance(found, dict) else found
        raise Unreadable("refers to itself.")

    def _follow(self, ref: str) -> Any:
        base, _, pointer = ref.partition("#")
        found = self._document if base in ("", self._document.get("$id")) else self._other(base)
        for step in pointer.strip("/").split("/") if pointer.strip("/") else []:
            step = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            elif isinstance(found, dict) and step in found:
                found = found[step]
            else:
                raise Unreadable(f"refers to {ref}, which is not in it.")
        return found

    def _other(self, name: str) -> Any:
        if self._others is None:
            self._others = {}
            for key, text in self._references().items():
                base = key.partition("#")[0]
                self._others[base] = _rebased(parse(text), base)
        if name not in self._others:
            raise Unreadable(f"refers to {name}, which the registry does not say where to find.")
        return self._others[name]


def _rebased(schema: Any, base: str) -> Any:
    """What a document refers to in itself, as seen from another one."""
    if isinstance(schema, list):
        return [_rebased(each, base) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _rebased(value, base) for key, value in schema.items()}
    ref = inner.get("$ref")
    return {**inner, "$ref": base + ref} if isinstance(ref, str) and ref.startswith("#") else inner


def _index(schema: Any) -> float:
    given = schema.get("connect.index") if isinstance(schema, dict) else None
    return given if isinstance(given, int | float) else float("inf")
