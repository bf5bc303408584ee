"""metl matrix feeds, metl matrix fed-by: what maps to what."""

from collections import defaultdict
from typing import Any

import click

from metl.cli.options import Version, json_option
from metl.config import database_dsn
from metl.db.connection import rows, snapshot
from metl.matrix import trees
from metl.util.terminal import format_ranges, print_json, print_table, printable, say

FEEDS = """
select
    source.schema, source.version, source.attribute, source.type,
    one.entity, one.entity_version, one.entity_attribute
from metl.schema_attributes as source
left join metl.decompaction as one
    on source.schema = one.schema and source.version = one.version and source.attribute = one.attribute
where
    source.schema = %(schema)s
    and source.is_live
    and source.version = any(%(versions)s)
    and (source.attribute = %(attribute)s or %(attribute)s::text is null)
order by source.version desc, source.position, one.entity, one.entity_attribute
"""
FED_BY = """
select
    wanted.entity, wanted.entity_version, wanted.entity_attribute, wanted.type,
    source.schema, source.version, source.attribute
from metl.entity_attributes as wanted
left join metl.fed_by(%(entity)s, %(version)s) as source on wanted.entity_attribute = source.entity_attribute
where
    wanted.entity = %(entity)s
    and wanted.entity_version = %(version)s
    and (wanted.entity_attribute = %(attribute)s or %(attribute)s::text is null)
order by wanted.position, source.schema, source.version, source.attribute
"""


@click.command(short_help="What a schema feeds: the forward search.")
@click.argument("schema")
@click.argument("version", required=False, type=Version())
@click.option("--attribute", help="Only what this attribute feeds.")
@json_option
def feeds(schema: str, version: int | None, attribute: str | None, as_json: bool) -> None:
    """Show what each attribute of SCHEMA feeds, in VERSION or in all live versions: the forward search.

    \b
    metl matrix feeds shop.customer
    metl matrix feeds shop.customer 3 --attribute mail
    """
    with snapshot(database_dsn()) as connection:
        versions = trees.live_versions(connection, schema)
        if version is not None:
            versions = [trees.schema_version(connection, schema, version)]
        if attribute is not None:
            trees.require_attribute(connection, schema, versions, attribute)
        cells = rows(connection, FEEDS, {"schema": schema, "versions": versions, "attribute": attribute})
    if as_json:
        print_json(cells)
    elif not cells:
        say(f"Schema {printable(schema)} has no attributes.")
    else:
        for row in cells:
            row["maps to"] = None if row["entity"] is None else f"{row['entity']}.{row['entity_attribute']}"
        _print_folded(("attribute", "type", "versions", "maps to"), cells)


@click.command(short_help="What feeds an entity: the reverse search.")
@click.argument("entity")
@click.option("--attribute", help="Only what feeds this attribute.")
@json_option
def fed_by(entity: str, attribute: str | None, as_json: bool) -> None:
    """Show which schemas feed each attribute of ENTITY, and from which versions: the reverse search.

    \b
    metl matrix fed-by person
    metl matrix fed-by person --attribute email
    """
    with snapshot(database_dsn()) as connection:
        version = trees.entity_version(connection, entity)
        if attribute is not None:
            trees.require_entity_attribute(connection, entity, attribute)
        cells = rows(connection, FED_BY, {"entity": entity, "version": version, "attribute": attribute})
    if as_json:
        print_json(cells)
    else:
        _print_folded(("entity_attribute", "type", "schema", "versions", "attribute"), cells)


def _print_folded(columns: tuple[str, ...], cells: list[dict[str, Any]]) -> None:
    """Versions that have the rest in common share a row."""
    keys = [column for column in columns if column != "versions"]
    versions: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for row in cells:
        versions[tuple(row[key] for key in keys)].append(row["version"])
    place = columns.index("versions")
    print_table(
        [column.replace("_", " ") for column in columns],
        [(*row[:place], format_ranges(filter(None, shared)) or None, *row[place:]) for row, shared in versions.items()],
    )
