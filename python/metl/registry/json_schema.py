"""JSON Schema, of any draft."""

from typing import Any
from urllib.parse import urljoin

from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

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

#: Formats that are types; email or uri only describe how a text looks.
FORMATS = {
    "string": {
        **{each: each for each in ("date-time", "date", "time", "duration", "uuid", "decimal")},
        **dict.fromkeys(("byte", "binary"), "bytes"),
    },
    "integer": {each: each for each in ("int8", "int16", "int32", "int64")},
    "number": {each: each for each in ("float", "double", "decimal")},
}
NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
#: How many references are followed; small documents can unfold to more than there is memory for.
STEPS = 100_000
Schema = dict[str, Any]


def row(document: Any, references: References) -> Row:
    reader = _Reader(document, references)
    properties, required = reader.properties(reader.document, is_root=True)
    if is_envelope(set(properties)):
        after, _ = reader.alternatives(properties["after"])
        if len(after) == 1 and reader.type_of(after[0]) == "object":
            properties, required = reader.properties(after[0])
    # Connect numbers the fields, since objects of JSON have no order.
    order = sorted(properties, key=lambda name: _index(properties[name]))
    return Row([reader.attribute(name, properties[name], name in required) for name in order])


class _Reader:
    def __init__(self, document: Any, references: References) -> None:
        self._references = references
        self._has_references = False
        self._targets: dict[str, Any] = {}
        self._base = _identifier(document)
        resource = _resource(document, "")
        self.document = resource.contents
        self._documents: Registry[Any] = Registry().with_resource(self._base, resource)
        self._steps_left = STEPS

    def properties(self, schema: Any, is_root: bool = False) -> tuple[dict[str, Any], set[str]]:
        """The properties of an object, and the names of the required ones."""
        alternatives, _ = self.alternatives(schema)
        if len(alternatives) != 1:
            raise Unreadable("does not say which fields an object has.")
        properties: dict[str, Any] = {}
        required: set[str] = set()
        is_object = False
        for part in self._parts(alternatives[0]):
            is_object |= part.get("type") == "object" or isinstance(part.get("properties"), dict)
            properties |= part["properties"] if isinstance(part.get("properties"), dict) else {}
            required |= set(former_names(part.get("required")))
        if is_root and not is_object:
            raise Unreadable("is not that of an object with properties.")
        return properties, required

    def alternatives(self, schema: Any) -> tuple[list[Schema], bool]:
        """The types a value may have except null, and whether it may be null."""
        schema = self._resolve(schema)
        for word in ("oneOf", "anyOf"):
            if isinstance(schema.get(word), list):
                beside = {key: value for key, value in schema.items() if key != word}
                alternatives: list[Schema] = []
                optional = False
                for each in schema[word]:
                    inner, may_be_null = self.alternatives(each)
                    alternatives += [{**beside, **one} if "properties" not in one else one for one in inner]
                    optional |= may_be_null
                return alternatives, optional
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
        own = schema if isinstance(schema, dict) else {}
        return Attribute(
            name=name,
            type=types.pop() if len(types) == 1 else "any",
            optional=may_be_null or not is_required,
            description=text_or_none(own.get("description") or described.get("description")),
            renamed_from=former_names(own.get(RENAMED_FROM) or described.get(RENAMED_FROM)),
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
        """The schema and its allOf members, flattened."""
        if depth > 100:
            raise Unreadable("refers to itself.")
        inner = schema["allOf"] if isinstance(schema.get("allOf"), list) else []
        return [schema, *(part for each in inner for part in self._parts(self._resolve(each), depth + 1))]

    def _resolve(self, schema: Any) -> Schema:
        self._steps_left -= 1
        if not self._steps_left:
            raise Unreadable("unfolds without end.")
        for _ in range(100):
            if schema is True or schema == {}:
                return {}
            if not isinstance(schema, dict):
                raise Unreadable(f"has something that is no schema in it: {str(schema)[:100]}.")
            if not isinstance(schema.get("$ref"), str):
                return schema
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            target = self._follow(schema["$ref"])
            schema = {**target, **beside} if isinstance(target, dict) else target
        raise Unreadable("refers to itself.")

    def _follow(self, ref: str) -> Any:
        """What an absolute reference names; other documents are asked for only if it is not in this one."""
        try:
            return self._lookup(ref)
        except Unresolvable:
            name = ref.partition("#")[0]
            if name == self._base or self._has_references:
                raise self._unresolved(ref, name) from None
        self._has_references = True
        for key, text in self._references().items():
            name = key.partition("#")[0]
            document = _resource(parse(text), name)
            # By the name that the registry has for it, and as this document would find it.
            self._documents = self._documents.with_resources(
                [(name, document), (_absolute(name, self._base), document)]
            )
        return self._follow(ref)

    def _lookup(self, ref: str) -> Any:
        try:
            if ref not in self._targets:
                self._targets[ref] = self._documents.resolver().lookup(ref).contents
            return self._targets[ref]
        except (Unresolvable, RecursionError):
            raise
        except Exception as error:
            # The library takes documents for valid schemas, which nobody has checked.
            raise Unreadable(f"refers to {ref}, which cannot be found: {error}.") from None

    def _unresolved(self, ref: str, name: str) -> Unreadable:
        if name == self._base or name in self._documents:
            return Unreadable(f"refers to {ref}, which is not in it.")
        return Unreadable(f"refers to {name}, which the registry does not say where to find.")


def _resource(document: Any, base: str) -> Resource[Any]:
    return Resource.from_contents(_with_absolute_references(document, base), DRAFT202012)


def _with_absolute_references(schema: Any, base: str) -> Any:
    """Parts of several documents are merged, after which a reference within one of them would mean another place."""
    if isinstance(schema, list):
        return [_with_absolute_references(each, base) for each in schema]
    if not isinstance(schema, dict):
        return schema
    base = _absolute(_identifier(schema), base)
    inner = {key: _with_absolute_references(value, base) for key, value in schema.items()}
    return {**inner, "$ref": _absolute(inner["$ref"], base)} if isinstance(inner.get("$ref"), str) else inner


def _identifier(schema: Any) -> str:
    given = schema.get("$id") if isinstance(schema, dict) else None
    # Older drafts name a place in a document by an $id that is only a fragment.
    return given.partition("#")[0] if isinstance(given, str) else ""


def _absolute(ref: str, base: str) -> str:
    # Not for fragments: urljoin loses a base such as urn:example:person.
    return base + ref if ref.startswith("#") else urljoin(base, ref)


def _index(schema: Any) -> float:
    given = schema.get("connect.index") if isinstance(schema, dict) else None
    return given if isinstance(given, int | float) else float("inf")
