"""metl entities list, metl entities show: the canonical data model."""

import click

from metl.cli.options import json_option
from metl.config import database_dsn
from metl.db.connection import rows, snapshot
from metl.matrix import trees
from metl.util.terminal import join_names, print_json, print_table, printable, say

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


@click.command("list", short_help="Every entity, and what feeds it.")
@json_option
def list_(as_json: bool) -> None:
    """List the business entities, their versions and the schemas that feed them."""
    with snapshot(database_dsn()) as connection:
        entities = rows(connection, ENTITIES)
    if as_json:
        print_json(entities)
    elif not entities:
        say("There is no entity yet. Add one with: metl entities apply")
    else:
        print_table(
            ["entity", "version", "attributes", "fed by"],
            [
                (each["entity"], each["entity_version"], each["attributes"], join_names(each["schemas"]))
                for each in entities
            ],
        )


@click.command(short_help="One entity: its attributes.")
@click.argument("entity")
@json_option
def show(entity: str, as_json: bool) -> None:
    """Show the attributes of ENTITY, with their types and descriptions.

    \b
    metl entities show person
    """
    with snapshot(database_dsn()) as connection:
        version = trees.entity_version(connection, entity)
        [described] = rows(connection, DESCRIPTION, [entity, version])
        attributes = rows(connection, ENTITY_ATTRIBUTES, [entity])
    if as_json:
        print_json({"entity": entity, "entity_version": version, **described, "attributes": attributes})
    elif not attributes:
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
                for each in attributes
            ],
        )
