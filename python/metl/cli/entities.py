"""metl entities: the canonical data model."""

import click

from metl.db.connection import address, rows, snapshot
from metl.matrix import trees
from metl.util.terminal import json_option, listed, print_json, print_table, printable, say

ENTITIES = """
select
    live.entity,
    live.version as entity_version,
    count(attribute.entity_attribute) as attributes,
    (
        select coalesce(array_agg(distinct source.schema), '{}') from metl.fed_by(live.entity, live.version) as source
    ) as schemas
from metl.entity_versions as live
left join metl.entity_attributes as attribute
    on live.entity = attribute.entity and live.version = attribute.entity_version
where live.deleted is null
group by live.entity, live.version
order by live.entity
"""
DESCRIPTION = "select description from metl.entity_versions where entity = %s and version = %s"
ENTITY_ATTRIBUTES = """
select
    live.entity_attribute, live.type, live.optional, live.description, live.renamed_from,
    (
        select min(earlier.entity_version) from metl.entity_attributes as earlier
        where earlier.entity = live.entity and earlier.entity_attribute_id = live.entity_attribute_id
    ) as since_version
from metl.entity_attributes as live
where live.entity = %s and live.is_live
order by live.position
"""


@click.command(short_help="Entities, their versions and attributes.")
@click.argument("name", required=False)
@json_option
def entities(name: str | None, as_json: bool) -> None:
    """Show the business entities; of entity NAME, its attributes.

    \b
    metl entities
    metl entities person
    """
    if name is not None:
        return _show_entity(name, as_json)
    with snapshot(address()) as connection:
        found = rows(connection, ENTITIES)
    if as_json:
        print_json(found)
    elif not found:
        say("There is no entity yet. Add one with: metl cdm apply")
    else:
        print_table(
            ["entity", "version", "attributes", "fed by"],
            [(each["entity"], each["entity_version"], each["attributes"], listed(each["schemas"])) for each in found],
        )
    return None


def _show_entity(entity: str, as_json: bool) -> None:
    with snapshot(address()) as connection:
        version = trees.entity_version(connection, entity)
        [described] = rows(connection, DESCRIPTION, [entity, version])
        found = rows(connection, ENTITY_ATTRIBUTES, [entity])
    if as_json:
        print_json({"entity": entity, "entity_version": version, **described, "attributes": found})
    elif not found:
        say(f"Entity {printable(entity)} version {version} has no attributes.")
    else:
        say(f"{printable(entity)} version {version}: {printable(described['description'] or '')}".rstrip(" "))
        print_table(
            ["attribute", "type", "optional", "since", "description"],
            [
                (
                    each["entity_attribute"],
                    each["type"],
                    "yes" if each["optional"] else None,
                    f"version {each['since_version']}",
                    each["description"],
                )
                for each in found
            ],
        )
