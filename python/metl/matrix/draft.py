"""Drafts of the next version of a schema, as their producers keep them."""

import json
from dataclasses import dataclass
from typing import Any

from metl.errors import BadInput
from metl.registry.attributes import Unreadable
from metl.registry.schemas import read as read_schema

#: What Debezium and the registries put behind the name of a schema.
SUFFIXES = (".Envelope", ".Value", "-value")


@dataclass(frozen=True)
class Draft:
    #: As metl.simulate takes them, which also says what is wrong with one.
    attributes: Any
    #: What the draft may call its schema, the most telling first.
    names: list[str]


def read(text: bytes, path: str) -> Draft:
    """METL's own array of attributes, or a schema of Kafka Connect, Avro or JSON Schema; of a row or an envelope."""
    found = _parse(text, path)
    if isinstance(found, list):
        return Draft(found, [])
    if isinstance(found, dict) and isinstance(found.get("schema"), dict):
        # A message of Connect, with its schema inline.
        found = found["schema"]
    try:
        row = read_schema(_kind(found), json.dumps(found))
        return Draft([each.as_json() for each in row.attributes], _names(found))
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


def _kind(schema: Any) -> str:
    kinds = {"struct": "KCONNECT", "record": "AVRO"}
    return kinds.get(str(schema.get("type")), "JSON") if isinstance(schema, dict) else "JSON"


def _names(schema: dict[str, Any]) -> list[str]:
    space = schema.get("namespace")
    given = [
        schema.get("connect.name"),
        f"{space}.{schema.get('name')}" if space else None,
        schema.get("name"),
        space,
        schema.get("title"),
        str(schema.get("$id", "")).rpartition("/")[2].removesuffix(".json"),
    ]
    whole = [each for each in given if isinstance(each, str) and each]
    return list(dict.fromkeys(short for each in whole for short in (each, _bare(each))))


def _bare(name: str) -> str:
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name
