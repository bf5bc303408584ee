"""Drafts of the next version of a schema, as their producers keep them."""

import json
from dataclasses import dataclass
from typing import Any

from metl.errors import BadInput
from metl.registry.attributes import Unreadable
from metl.registry.schemas import read as read_schema

#: Suffixes that Debezium and the registries append to the name of a schema.
SUFFIXES = (".Envelope", ".Value", "-value")


@dataclass(frozen=True)
class Draft:
    #: In the form that metl.simulate takes, which also validates them.
    attributes: Any
    #: Candidates for the name of the schema, the most specific first.
    names: list[str]


def read(text: bytes, path: str) -> Draft:
    """METL's own array of attributes, or a schema of Kafka Connect, Avro or JSON Schema; of a row or an envelope."""
    schema = _parse(text, path)
    if isinstance(schema, list):
        return Draft(schema, [])
    if isinstance(schema, dict) and isinstance(schema.get("schema"), dict):
        # A Kafka Connect message with its schema inline.
        schema = schema["schema"]
    try:
        row = read_schema(_schema_type(schema), json.dumps(schema))
        return Draft([each.as_json() for each in row.attributes], _names(schema))
    except Unreadable as error:
        raise BadInput(f"{path} {error}") from None
    except RecursionError:
        raise BadInput(f"{path} is nested too deeply.") from None


def _parse(text: bytes, path: str) -> Any:
    try:
        return json.loads(text)
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text in UTF-8.") from None
    except json.JSONDecodeError as error:
        raise BadInput(f"{path} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise BadInput(f"{path} is nested too deeply.") from None


def _schema_type(schema: Any) -> str:
    types = {"struct": "KCONNECT", "record": "AVRO"}
    return types.get(str(schema.get("type")), "JSON") if isinstance(schema, dict) else "JSON"


def _names(schema: dict[str, Any]) -> list[str]:
    namespace = schema.get("namespace")
    candidates = [
        schema.get("connect.name"),
        f"{namespace}.{schema.get('name')}" if namespace else None,
        schema.get("name"),
        namespace,
        schema.get("title"),
        str(schema.get("$id", "")).rpartition("/")[2].removesuffix(".json"),
    ]
    names = [each for each in candidates if isinstance(each, str) and each]
    return list(dict.fromkeys(variant for name in names for variant in (name, _without_suffix(name))))


def _without_suffix(name: str) -> str:
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name
