"""Read the input of suggestions: unmapped attributes, entity attributes to map them to, and existing mappings."""

from collections import defaultdict
from dataclasses import dataclass

import psycopg

from metl.matrix.suggest import Attribute, Matrix, Target

VERSIONS = """
select schema, max(version)
from metl.schema_versions
where
    deleted is null
    and (schema = %(schema)s or %(schema)s::text is null)
    and (version = %(version)s or %(version)s::int is null)
group by schema
"""
UNMAPPED = """
with chosen as materialized (
    select * from unnest(%(schemas)s::text[], %(versions)s::int[]) as versions (schema, version)
)

select source.schema, source.version, source.attribute, source.type
from chosen
inner join metl.schema_attributes as source on chosen.schema = source.schema and chosen.version = source.version
left join (
    select distinct one.schema, one.version, one.attribute
    from metl.decompaction as one
    inner join chosen on one.schema = chosen.schema and one.version = chosen.version
    where one.entity = %(entity)s or %(entity)s::text is null
) as mapped
    on source.schema = mapped.schema and source.version = mapped.version and source.attribute = mapped.attribute
where mapped.attribute is null
order by source.schema, source.version, source.position
"""
OCCUPIED = """
select
    one.schema,
    one.entity,
    coalesce(array_agg(one.entity_attribute) filter (where one.version = chosen.version), '{}')
from unnest(%(schemas)s::text[], %(versions)s::int[]) as chosen (schema, version)
inner join metl.decompaction as one on chosen.schema = one.schema
group by one.schema, one.entity
"""
MAPPED = """
select attribute, entity, entity_attribute, array_agg(distinct schema)
from metl.decompaction
group by attribute, entity, entity_attribute
"""
TARGETS = """
select entity, entity_version, entity_attribute, type
from metl.entity_attributes
where is_live and (entity = %(entity)s or %(entity)s::text is null)
order by entity, position
"""


@dataclass(frozen=True)
class Unmapped:
    attributes: list[Attribute]
    targets: list[Target]
    matrix: Matrix


def read(connection: psycopg.Connection, schema: str | None, version: int | None, entity: str | None) -> Unmapped:
    """Of the newest versions, or of one version of a schema. With `entity`, whatever that entity does not map yet."""
    versions = connection.execute(VERSIONS, {"schema": schema, "version": version}).fetchall()
    parameters = {
        "schemas": [name for name, _ in versions],
        "versions": [number for _, number in versions],
        "entity": entity,
    }
    mapped: dict[str, dict[tuple[str, str], set[str]]] = defaultdict(dict)
    for attribute, target_entity, entity_attribute, schemas in connection.execute(MAPPED):
        mapped[attribute][target_entity, entity_attribute] = set(schemas)
    occupied: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for source_schema, target_entity, entity_attributes in connection.execute(OCCUPIED, parameters):
        occupied[source_schema][target_entity] = set(entity_attributes)
    return Unmapped(
        [Attribute(*row) for row in connection.execute(UNMAPPED, parameters)],
        [Target(*row) for row in connection.execute(TARGETS, parameters)],
        Matrix(mapped, occupied),
    )
