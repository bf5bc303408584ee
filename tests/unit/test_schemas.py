"""What METL reads from schemas of Kafka Connect, JSON Schema and Avro: the same row, whatever it is written in."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metl.registry.attributes import Attribute, Row, Unreadable
from metl.registry.fingerprint import fingerprint
from metl.registry.schemas import READERS, read


def attributes(kind: str, schema: Any, **others: Any) -> list[Attribute]:
    return row(kind, schema, **others).attributes


def row(kind: str, schema: Any, **others: Any) -> Row:
    return read(kind, json.dumps(schema), lambda: {name: json.dumps(text) for name, text in others.items()})


def types(kind: str, schema: Any, **others: Any) -> dict[str, str]:
    return {each.name: each.type for each in attributes(kind, schema, **others)}


def refusal(kind: str, text: str) -> str:
    with pytest.raises(Unreadable) as refused:
        read(kind, text)
    return str(refused.value)


COLUMNS = [
    {"field": "id", "type": "int32", "optional": False},
    {"field": "at", "type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp", "version": 1},
    {"field": "price", "type": "bytes", "optional": True, "name": "org.apache.kafka.connect.data.Decimal"},
    {"field": "home", "type": "struct", "optional": True, "name": "shop.Address", "fields": []},
    {"field": "place", "type": "struct", "optional": True, "name": "io.debezium.data.geometry.Point", "fields": []},
    {"field": "tags", "type": "array", "optional": True, "items": {"type": "string", "optional": True}},
    {
        "field": "mail",
        "type": "string",
        "optional": True,
        "doc": "Where to write to",
        "parameters": {"x-renamed-from": "e_mail"},
    },
]
ROW = [
    Attribute("id", "int32", False),
    Attribute("at", "io.debezium.time.MicroTimestamp", True),
    Attribute("price", "org.apache.kafka.connect.data.Decimal", True),
    Attribute("home", "struct", True),
    Attribute("place", "io.debezium.data.geometry.Point", True),
    Attribute("tags", "array", True),
    Attribute("mail", "string", True, "Where to write to", ("e_mail",)),
]


def test_an_envelope_of_connect_is_its_row() -> None:
    value = {"type": "struct", "fields": COLUMNS, "optional": True, "name": "shop.public.customer.Value"}
    envelope = {
        "type": "struct",
        "name": "shop.public.customer.Envelope",
        "optional": False,
        "fields": [
            {**value, "field": "before"},
            {**value, "field": "after"},
            {"type": "struct", "fields": [], "optional": False, "field": "source"},
            {"type": "string", "optional": False, "field": "op"},
        ],
    }
    assert row("KCONNECT", envelope) == Row(ROW, fingerprint(COLUMNS))


def test_a_flat_event_of_connect_is_its_own_row() -> None:
    event = {"type": "struct", "fields": [*COLUMNS, {"field": "after", "type": "string"}], "optional": False}
    assert attributes("KCONNECT", event) == [*ROW, Attribute("after", "string", False)]


def test_an_envelope_of_avro_refers_to_its_row_by_name() -> None:
    value = {
        "type": "record",
        "name": "Value",
        "fields": [
            {"name": "id", "type": "long", "doc": "Who it is"},
            {"name": "born", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None},
            {"name": "at", "type": ["null", {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}]},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
            {"name": "key", "type": {"type": "string", "logicalType": "unheard of"}},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A"]}},
            {"name": "other", "type": ["null", "shop.customer.Kind"], "aliases": ["second", "b"]},
            {"name": "either", "type": ["int", "string"]},
            {"name": "size", "type": ["int", "null"]},
            {"name": "nothing", "type": "null"},
            {"name": "many", "type": {"type": "array", "items": "string"}},
        ],
    }
    envelope = {
        "type": "record",
        "name": "Envelope",
        "namespace": "shop.customer",
        "fields": [
            {"name": "before", "type": ["null", value], "default": None},
            {"name": "after", "type": ["null", "Value"], "default": None},
            {"name": "source", "type": {"type": "record", "name": "Source", "fields": []}},
            {"name": "op", "type": "string"},
        ],
    }
    assert attributes("AVRO", envelope) == [
        Attribute("id", "long", False, "Who it is"),
        Attribute("born", "date", True),
        Attribute("at", "io.debezium.time.MicroTimestamp", True),
        Attribute("price", "decimal", False),
        Attribute("key", "string", False),
        Attribute("kind", "enum", False),
        Attribute("other", "enum", True, None, ("second", "b")),
        Attribute("either", "any", False),
        Attribute("size", "int", True),
        Attribute("nothing", "any", True),
        Attribute("many", "array", False),
    ]


def test_names_of_avro_are_found_in_what_it_refers_to() -> None:
    event = {"type": "record", "name": "Order", "fields": [{"name": "to", "type": "shop.Address"}]}
    address = {"type": "record", "name": "Address", "namespace": "shop", "fields": []}
    assert types("AVRO", event, address=address) == {"to": "record"}
    assert refusal("AVRO", json.dumps(event)) == "refers to shop.Address, which is not in it."


def test_json_schema_in_all_its_ways() -> None:
    document = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "required": ["id", "home", "both"],
        "properties": {
            "id": {"type": "integer", "description": "Who it is"},
            "at": {"type": ["string", "null"], "format": "date-time"},
            "site": {"type": "string", "format": "uri"},
            "home": {"$ref": "#/definitions/address"},
            "work": {"oneOf": [{"type": "null"}, {"$ref": "#/definitions/address"}]},
            "born": {
                "anyOf": [{"type": "string", "format": "date"}, {"type": "null"}],
                "x-renamed-from": ["was", "b"],
            },
            "both": {"type": ["integer", "string"]},
            "rate": {"type": ["integer", "number"]},
            "colour": {"enum": ["red", "green", None]},
            "count": {"allOf": [{"$ref": "#/definitions/num%62er"}, {"minimum": 1}]},
            "picture": {"type": "string", "format": "byte"},
            "free": True,
            "odd": {"$ref": "#/definitions/a~1b"},
        },
        "definitions": {
            "address": {"type": "object", "properties": {}, "description": "Where it is"},
            "number": {"type": "integer", "format": "int64"},
            "a/b": {"type": "boolean"},
        },
    }
    assert attributes("JSON", document) == [
        Attribute("id", "integer", False, "Who it is"),
        Attribute("at", "date-time", True),
        Attribute("site", "string", True),
        Attribute("home", "object", False, "Where it is"),
        Attribute("work", "object", True),
        Attribute("born", "date", True, None, ("was", "b")),
        Attribute("both", "any", False),
        Attribute("rate", "number", True),
        Attribute("colour", "string", True),
        Attribute("count", "int64", True),
        Attribute("picture", "bytes", True),
        Attribute("free", "any", True),
        Attribute("odd", "boolean", True),
    ]


def test_an_envelope_of_connect_as_json_schema() -> None:
    value = {
        "type": "object",
        "properties": {
            "b": {"oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int16"}], "connect.index": 1},
            "a": {
                "type": "integer",
                "title": "io.debezium.time.Date",
                "connect.type": "int32",
                "connect.index": 0,
            },
        },
    }
    envelope = {
        "type": "object",
        "properties": {
            "before": {"oneOf": [{"type": "null"}, value]},
            "after": {"oneOf": [{"type": "null"}, value]},
            "op": {"type": "string"},
        },
    }
    assert list(types("JSON", envelope).items()) == [("a", "io.debezium.time.Date"), ("b", "int16")]


def test_json_schema_refers_to_other_documents() -> None:
    document = {"type": "object", "properties": {"home": {"$ref": "address#/definitions/home"}}}
    address = {"definitions": {"home": {"$ref": "#/definitions/street"}, "street": {"type": "string"}}}
    assert types("JSON", document, address=address) == {"home": "string"}
    assert "refers to address, which the registry does not say" in refusal("JSON", json.dumps(document))


@pytest.mark.parametrize(
    ("identifier", "ref", "name"),
    [
        ("https://example.com/schemas/event", "address", "https://example.com/schemas/address"),
        ("https://example.com/schemas/event", "address", "address"),
        ("https://example.com/schemas/event", "https://other.example/address", "https://other.example/address"),
        ("urn:example:event", "urn:example:address", "urn:example:address"),
        ("event", "../address.json", "../address.json"),
    ],
)
def test_json_schema_refers_relative_to_its_id(identifier: str, ref: str, name: str) -> None:
    document = {
        "$id": identifier,
        "type": "object",
        "properties": {"home": {"$ref": f"{ref}#/$defs/home"}, "age": {"$ref": "#/$defs/age"}},
        "$defs": {"age": {"type": "integer"}},
    }
    address = {"$defs": {"home": {"$ref": "#/$defs/street"}, "street": {"type": "string"}}}
    [home, age] = read("JSON", json.dumps(document), lambda: {name: json.dumps(address)}).attributes
    assert (home.type, age.type) == ("string", "integer")


def test_json_schema_refers_to_anchors_and_embedded_documents() -> None:
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com/event",
        "type": "object",
        "properties": {
            "a": {"$ref": "#number"},
            "b": {"$ref": "https://example.com/inner"},
            "c": {"$ref": "inner#/$defs/date"},
        },
        "$defs": {
            "x": {"$anchor": "number", "type": "integer"},
            "y": {
                "$id": "inner",
                "$ref": "#/$defs/date",
                "$defs": {"date": {"type": "string", "format": "date"}},
            },
        },
    }
    assert [each.type for each in read("JSON", json.dumps(document)).attributes] == ["integer", "date", "date"]


def test_json_schema_of_draft_7_refers_to_places_by_their_id() -> None:
    document = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"a": {"$ref": "#number"}},
        "definitions": {"x": {"$id": "#number", "type": "integer"}},
    }
    [a] = read("JSON", json.dumps(document)).attributes
    assert a.type == "integer"


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("AVRO", "{", "is not JSON: Expecting property name"),
        ("AVRO", '"string"', "is not a record of Avro."),
        ("AVRO", "[]", "is not a record of Avro."),
        ("AVRO", '{"type": "record", "name": "R"}', "has a record of Avro without fields, R."),
        ("AVRO", '{"type": "record", "fields": []}', "has a record of Avro without a name."),
        ("AVRO", '{"type": "record", "name": "R", "fields": [{"name": "a"}]}', "number 1 of R."),
        ("JSON", "{}", "is not that of an object with properties."),
        ("JSON", '{"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/a"}}}', "refers to itself."),
        ("JSON", '{"$ref": "#/definitions/b"}', "refers to #/definitions/b, which is not in it."),
        ("JSON", '{"type": "object", "properties": {"a": 1}}', "has something that is no schema in it: 1."),
        ("JSON", '{"properties": {"a": {"type": {}}}}', "has a type that is none of JSON's: {}."),
        ("JSON", '{"properties": {"a": {"oneOf": [{"$ref": "#/properties/a"}]}}}', "is nested too deeply."),
        ("JSON", "[" * 100_000, "is nested too deeply."),
        ("KCONNECT", '{"type": "string"}', "is not a struct of Kafka Connect."),
        ("KCONNECT", '{"type": "struct"}', "is a struct of Kafka Connect without fields."),
        ("KCONNECT", '{"type": "struct", "fields": [{"field": "a"}]}', "has a field without name or type, number 1."),
        ("KCONNECT", '{"type": "struct", "fields": [{"field": "\\ud800", "type": "int32"}]}', "which is not Unicode."),
        ("PROTOBUF", 'syntax = "proto3";', "is PROTOBUF, which METL does not read. It reads KCONNECT, JSON, AVRO."),
    ],
)
def test_what_is_no_row_is_refused_with_a_reason(kind: str, text: str, reason: str) -> None:
    assert reason in refusal(kind, text)


def test_a_schema_that_unfolds_without_end_is_given_up() -> None:
    """Each definition is twice the next one."""
    definitions = {f"d{n}": {"oneOf": [{"$ref": f"#/definitions/d{n + 1}"}] * 2} for n in range(60)}
    document = {"properties": {"a": {"$ref": "#/definitions/d0"}}, "definitions": {**definitions, "d60": {}}}
    assert refusal("JSON", json.dumps(document)) == "unfolds without end."


def test_what_postgresql_cannot_hold_is_refused() -> None:
    for name in ("a\0b", "\ud800"):
        with pytest.raises(Unreadable):
            Attribute(name, "string", False).as_json()


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
#: The same type in each language.
TYPES = {
    "string": ("string", {"type": "string"}, "string"),
    "boolean": ("boolean", {"type": "boolean"}, "boolean"),
    "int64": ("int64", {"type": "integer", "format": "int64"}, "long"),
    "array": ("array", {"type": "array"}, {"type": "array", "items": "int"}),
}


@given(
    st.lists(st.tuples(NAMES, st.sampled_from(sorted(TYPES)), st.booleans()), unique_by=lambda each: each[0]),
    st.booleans(),
)
def test_a_row_is_the_same_in_every_language(columns: list[tuple[str, str, bool]], wrapped: bool) -> None:
    connect: list[Any] = [{"field": name, "type": TYPES[kind][0], "optional": null} for name, kind, null in columns]
    properties = {
        name: {"oneOf": [{"type": "null"}, TYPES[kind][1]]} if null else TYPES[kind][1] for name, kind, null in columns
    }
    required = [name for name, _, _ in columns]
    avro = [
        {"name": name, "type": ["null", TYPES[kind][2]] if null else TYPES[kind][2]} for name, kind, null in columns
    ]
    schemas: dict[str, Any] = {
        "KCONNECT": {"type": "struct", "fields": connect},
        "JSON": {"type": "object", "properties": properties, "required": required},
        "AVRO": {"type": "record", "name": "R", "fields": avro},
    }
    if wrapped:
        schemas["KCONNECT"] = {
            "type": "struct",
            "fields": [{**schemas["KCONNECT"], "field": "after"}]
            + [{"field": name, "type": "string"} for name in ("op", "source")],
        }
        schemas["JSON"] = {"properties": {"after": schemas["JSON"], "op": {}, "source": {}}}
        schemas["AVRO"] = {
            "type": "record",
            "name": "E",
            "fields": [{"name": "after", "type": schemas["AVRO"]}]
            + [{"name": name, "type": "string"} for name in ("op", "source")],
        }
    for kind, schema in schemas.items():
        found = attributes(kind, schema)
        assert [each.name for each in found] == required, kind
        assert [each.optional for each in found] == [null for _, _, null in columns], kind
        said = {"long": "int64"} if kind == "AVRO" else {}
        assert [said.get(each.type, each.type) for each in found] == [each for _, each, _ in columns], kind


WORDS = st.one_of(
    st.sampled_from(["type", "fields", "field", "name", "record", "struct", "object", "properties", "required"]),
    st.sampled_from(["oneOf", "allOf", "enum", "const", "$ref", "#", "#/a", "null", "string", "int", "items"]),
    st.sampled_from(["after", "before", "op", "x-renamed-from", "aliases"]),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=5),
    max_leaves=25,
)


@given(st.sampled_from(sorted(READERS)), JSON)
def test_whatever_comes_is_a_row_or_refused(kind: str, schema: Any) -> None:
    try:
        for each in attributes(kind, schema):
            each.as_json()
    except Unreadable as refused:
        assert str(refused)
