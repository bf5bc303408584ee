"""The attributes of a schema, whatever it is written in."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from metl.errors import MetlError

#: Prefixes of semantic types of Debezium and Connect; other names of structs are not types.
LOGICAL = ("io.debezium.", "org.apache.kafka.connect.")
#: For Connect and JSON Schema, which have no aliases.
RENAMED_FROM = "x-renamed-from"


class Unreadable(MetlError):
    """Not a schema, or not that of a row; the message continues "The schema "."""


@dataclass(frozen=True)
class Attribute:
    name: str
    type: str
    optional: bool
    description: str | None = None
    #: Former names, the newest first.
    renamed_from: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        attribute: dict[str, Any] = {"name": self.name, "type": self.type, "optional": self.optional}
        if self.description:
            attribute["description"] = self.description
        if self.renamed_from:
            attribute["renamed_from"] = list(self.renamed_from)
        for value in (self.name, self.type, self.description or "", *self.renamed_from):
            _refuse_what_postgresql_cannot_hold(value)
        return attribute


@dataclass(frozen=True)
class Row:
    """The columns of a table, or the fields of a flat event."""

    attributes: list[Attribute]
    #: Of inline schemas, see metl.registry.fingerprint.
    fingerprint: str | None = None


#: The texts of other artifacts by the names that the schema has for them; called only if it refers to any.
References = Callable[[], dict[str, str]]


def parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise Unreadable(f"is not JSON: {error}.") from None
    except RecursionError:
        raise Unreadable("is nested too deeply.") from None


def is_envelope(names: set[str]) -> bool:
    """Whether these are the fields of a change event and not of a row."""
    return {"after", "op"} <= names and bool({"before", "source"} & names)


def former_names(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _refuse_what_postgresql_cannot_hold(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Unreadable(f"has {value!r}, which is not Unicode.") from None
    if "\0" in value:
        raise Unreadable(f"has {value!r}, which PostgreSQL cannot hold.")
