"""Drafts of the next version of a schema, as their producers keep them."""

import json
from typing import Any

from metl.errors import BadInput

#: What Debezium and the registries put behind the name of a schema.
SUFFIXES = (".Envelope", ".Value", "-value")


def parse(text: bytes, name: str) -> Any:
    """`name` is what the file is called in errors."""
    try:
        return json.loads(text)
    except UnicodeDecodeError:
        raise BadInput(f"{name} is not text in UTF-8.") from None
    except json.JSONDecodeError as error:
        raise BadInput(f"{name} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise BadInput(f"{name} is nested too deeply.") from None


def attributes(draft: Any, name: str) -> Any:
    """As metl.add_schema_version takes them, which also says what is wrong with one."""
    if isinstance(draft, list):
        return draft
    raise BadInput(f'{name} is not an array of attributes. Give [{{"name": "id", "type": "int32"}}, …].')


def names(draft: Any) -> list[str]:
    """By which a draft may call its schema: Kafka Connect, Avro or JSON Schema; the most telling first."""
    if not isinstance(draft, dict):
        return []
    if isinstance(draft.get("schema"), dict):
        return names(draft["schema"])
    space = draft.get("namespace")
    given = [
        draft.get("connect.name"),
        f"{space}.{draft.get('name')}" if space else None,
        draft.get("name"),
        space,
        draft.get("title"),
        str(draft.get("$id", "")).rpartition("/")[2].removesuffix(".json"),
    ]
    whole = [each for each in given if isinstance(each, str) and each]
    return list(dict.fromkeys(short for each in whole for short in (each, _bare(each))))


def _bare(name: str) -> str:
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name
