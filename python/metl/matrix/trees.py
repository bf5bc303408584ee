"""Look up schemas, entities and versions by name. An unknown one raises BadInput with the nearest existing names."""

from collections.abc import Collection
from typing import LiteralString

import psycopg

from metl.errors import BadInput
from metl.util.nearest import nearest

#: Stands for the newest live version; real ones begin at 1.
NEWEST = 0

SCHEMA = "select version from metl.schema_versions where schema = %s and deleted is null order by version"
ENTITY = "select version from metl.entity_versions where entity = %s and deleted is null"
SCHEMAS = "select distinct schema from metl.schema_versions"
ENTITIES = "select distinct entity from metl.entity_versions"
ATTRIBUTES = "select attribute from metl.schema_attributes where schema = %s and version = any(%s) and is_live"
ENTITY_ATTRIBUTES = "select entity_attribute from metl.entity_attributes where entity = %s and is_live"


def require_schema(connection: psycopg.Connection, schema: str) -> None:
    _require(schema, "schema", _names(connection, SCHEMAS))


def require_entity(connection: psycopg.Connection, entity: str) -> None:
    _require(entity, "entity", _names(connection, ENTITIES))


def live_versions(connection: psycopg.Connection, schema: str) -> list[int]:
    """The live versions of a schema, ascending."""
    live = [version for (version,) in connection.execute(SCHEMA, [schema])]
    if not live:
        require_schema(connection, schema)
        raise BadInput(f"Schema {schema!r} has no live version any more. Add one with metl.add_schema_version.")
    return live


def schema_version(connection: psycopg.Connection, schema: str, version: int = NEWEST) -> int:
    """Raises unless the version is live."""
    live = live_versions(connection, schema)
    if version == NEWEST:
        return live[-1]
    if version not in live:
        raise BadInput(f"Schema {schema!r} has no live version {version}. Live are {', '.join(map(str, live))}.")
    return version


def entity_version(connection: psycopg.Connection, entity: str, version: int | None = None) -> int:
    """The live version of an entity. Raises if it has none, or if it is not `version`."""
    row = connection.execute(ENTITY, [entity]).fetchone()
    if row is None:
        require_entity(connection, entity)
        raise BadInput(f"Entity {entity!r} has no live version. Add one with metl.add_entity_version.")
    if version is not None and version != row[0]:
        raise BadInput(f"Entity {entity!r} has no live version {version}. Its live version is {row[0]}.")
    return int(row[0])


def require_attribute(connection: psycopg.Connection, schema: str, versions: list[int], attribute: str) -> None:
    where = f" in version {versions[0]} of schema {schema!r}" if len(versions) == 1 else f" in schema {schema!r}"
    _require(attribute, "attribute", _names(connection, ATTRIBUTES, schema, versions), where)


def require_entity_attribute(connection: psycopg.Connection, entity: str, attribute: str) -> None:
    """In the live version of the entity."""
    _require(attribute, "attribute", _names(connection, ENTITY_ATTRIBUTES, entity), f" in entity {entity!r}")


def _require(name: str, kind: str, names: Collection[str], where: str = "") -> None:
    if name not in names:
        raise BadInput(f"There is no {kind} {name!r}{where}.{nearest(name, names)}")


def _names(connection: psycopg.Connection, query: LiteralString, *values: object) -> set[str]:
    return {name for (name,) in connection.execute(query, values)}
