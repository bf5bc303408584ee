"""An entity version as JSON Schema, of the values of its messages.

Values are byte for byte what came in, so a type covers all the ways in which Debezium and others write it.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import psycopg

from metl.cdm.entity import Attribute

NOT_NULL = ["array", "boolean", "number", "object", "string"]
VALUES: dict[str, dict[str, Any]] = {
    "integer": {"type": "integer"},
    # As text, as a number or, precise, in base64; with a scale of its own as {"scale", "value"}.
    "decimal": {"type": ["number", "object", "string"]},
    "float": {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]},
    "boolean": {"type": "boolean"},
    "string": {"type": "string"},
    "bytes": {"type": "string"},
    # Days or fractions of seconds since the epoch or midnight, or ISO 8601.
    "date": {"type": ["number", "string"]},
    "time": {"type": ["number", "string"]},
    "timestamp": {"type": ["number", "string"]},
    "interval": {"type": ["number", "string"]},
    "uuid": {"type": "string"},
    # Debezium writes documents as text, others as they are.
    "json": {"type": NOT_NULL},
    # A map whose keys are no text is a list of pairs.
    "object": {"type": ["array", "object"]},
    "array": {"type": "array"},
    "geometry": {"type": ["object", "string"]},
    "any": {"type": NOT_NULL},
}
VERSIONS = 'select entity, version, description from metl.entity_versions order by entity collate "C", version'
ATTRIBUTES = """
select entity, entity_version, entity_attribute, type, description, optional
from metl.entity_attributes order by position
"""


@dataclass(frozen=True)
class EntityVersion:
    entity: str
    version: int
    description: str | None
    attributes: tuple[Attribute, ...]

    @property
    def artifact(self) -> str:
        """As for every topic: its values are described by <topic>-value."""
        return f"cdm.{self.entity}-value"

    @property
    def digest(self) -> str:
        """Of the version, not of its JSON Schema, which a later release may write otherwise."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def entity_versions(connection: psycopg.Connection) -> list[EntityVersion]:
    """All versions, also deleted ones: topics keep their messages."""
    attributes: dict[tuple[str, int], list[Attribute]] = {}
    for entity, version, *attribute in connection.execute(ATTRIBUTES):
        attributes.setdefault((entity, version), []).append(Attribute(*attribute))
    return [
        EntityVersion(entity, version, description, tuple(attributes.get((entity, version), ())))
        for entity, version, description in connection.execute(VERSIONS).fetchall()
    ]


def json_schema(version: EntityVersion) -> dict[str, Any]:
    values = {"oneOf": [{"type": "null"}, {"$ref": "#/definitions/values"}]}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": version.entity,
        **({"description": version.description} if version.description else {}),
        "type": "object",
        "properties": {
            "entity": {"const": version.entity},
            "version": {"const": version.version},
            "op": {"enum": ["c", "r", "u", "d", "t"], "description": "Created, read, updated, deleted or truncated."},
            "ts_ms": {"type": ["integer", "null"], "description": "When, in milliseconds since 1970."},
            "before": {**values, "description": "As it was."},
            "after": {**values, "description": "As it is."},
            "source": {"type": ["object", "null"], "description": "Where it comes from, as the source says it."},
            "unavailable": {
                "type": "array",
                "items": {"enum": [attribute.name for attribute in version.attributes]},
                "description": "What did not change and was not logged: keep the values that you have.",
            },
        },
        "required": ["entity", "version", "op", "ts_ms", "before", "after", "source"],
        "definitions": {"values": _values(version.attributes)},
    }


def _values(attributes: Sequence[Attribute]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": "The attributes that have a value.",
        "properties": {attribute.name: _value(attribute) for attribute in attributes},
        "additionalProperties": False,
    }


def _value(attribute: Attribute) -> dict[str, Any]:
    return {
        **VALUES.get(attribute.type, VALUES["any"]),
        **({"description": attribute.description} if attribute.description else {}),
        "x-metl-type": attribute.type,
        "x-metl-optional": attribute.optional,
    }
