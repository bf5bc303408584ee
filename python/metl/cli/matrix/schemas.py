"""metl matrix schemas: what is extracted, version by version."""

from collections import defaultdict
from typing import Any

import click

from metl.cli.options import json_option
from metl.config import database_dsn
from metl.db.connection import rows, snapshot
from metl.matrix import trees
from metl.util.terminal import count_fitting, format_ranges, join_names, plural, print_json, print_table, say

SCHEMAS = """
with live as (
    select schema, array_agg(version order by version) as versions, max(version) as newest
    from metl.schema_versions
    where deleted is null
    group by schema
),

mapped as (
    select one.schema, count(distinct one.attribute) as attributes, array_agg(distinct one.entity) as entities
    from metl.decompaction as one
    inner join live on one.schema = live.schema and one.version = live.newest
    group by one.schema
)

select
    live.schema,
    live.versions,
    count(source.attribute) as attributes,
    coalesce(mapped.attributes, 0) as mapped,
    coalesce(mapped.entities, '{}') as entities
from live
left join metl.schema_attributes as source on live.schema = source.schema and live.newest = source.version
left join mapped on live.schema = mapped.schema
group by live.schema, live.versions, mapped.attributes, mapped.entities
order by live.schema
"""
VERSIONS = "select version, added, deleted from metl.schema_versions where schema = %s order by version"
ATTRIBUTES = """
select version, attribute, source_type, type, optional, description, renamed_from, attribute_id
from metl.schema_attributes
where schema = %s and is_live
order by version, position
"""
REFS = "select version, kind, ref from metl.schema_refs where schema = %s order by version, kind, length(ref), ref"


@click.command(short_help="Schemas, their versions and attributes.")
@click.argument("name", required=False)
@json_option
def schemas(name: str | None, as_json: bool) -> None:
    """Show the extraction schemas; of schema NAME, its attributes through the live versions, and its refs.

    \b
    metl matrix schemas
    metl matrix schemas shop.customer
    """
    if name is not None:
        return _show_schema(name, as_json)
    with snapshot(database_dsn()) as connection:
        live = rows(connection, SCHEMAS)
    if as_json:
        print_json(live)
    elif not live:
        say("There is no schema yet. Take them from the registry with: metl sync")
    else:
        print_table(
            ["schema", "versions", "attributes", "mapped", "feeds"],
            [
                (
                    each["schema"],
                    format_ranges(each["versions"]),
                    each["attributes"],
                    each["mapped"],
                    join_names(each["entities"]),
                )
                for each in live
            ],
        )
        say(f"{plural(len(live), 'schema')}. Attributes and mappings are those of the newest version.")
    return None


def _show_schema(schema: str, as_json: bool) -> None:
    with snapshot(database_dsn()) as connection:
        trees.live_versions(connection, schema)
        versions = rows(connection, VERSIONS, [schema])
        attributes = rows(connection, ATTRIBUTES, [schema])
        refs = rows(connection, REFS, [schema])
    of: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for attribute in attributes:
        of[attribute.pop("version")].append(attribute)
    named: dict[int, list[dict[str, str]]] = defaultdict(list)
    for ref in refs:
        named[ref.pop("version")].append(ref)
    if as_json:
        for each in versions:
            each["attributes"], each["refs"] = of[each["version"]], named[each["version"]]
        print_json({"schema": schema, "versions": versions})
        return
    live = [each["version"] for each in versions if each["deleted"] is None]
    _print_attributes({version: of[version] for version in live})
    click.echo()
    print_table(
        ["version", "since state", "messages name it by"],
        [
            (
                str(each["version"]),
                str(each["added"]),
                ", ".join(f"{ref['kind']} {ref['ref']}" for ref in named[each["version"]]) or None,
            )
            for each in versions
            if each["deleted"] is None
        ],
    )
    gone = [each["version"] for each in versions if each["deleted"] is not None]
    if gone:
        say(f"Deleted: {format_ranges(gone)}.")


def _print_attributes(versions: dict[int, list[dict[str, Any]]]) -> None:
    """A row for each attribute, a column for versions that have the same ones; as many of them at once as fit."""
    # By its newest name; what was dropped comes last.
    names: dict[int, str] = {}
    for version in reversed(versions):
        names |= {
            each["attribute_id"]: each["attribute"] for each in versions[version] if each["attribute_id"] not in names
        }
    columns: list[tuple[list[int], dict[int, str]]] = []
    for version, attributes in versions.items():
        cells = {each["attribute_id"]: _cell(each, names[each["attribute_id"]]) for each in attributes}
        if columns and columns[-1][1] == cells:
            columns[-1][0].append(version)
        else:
            columns.append(([version], cells))
    rest = [[format_ranges(shared), *(cells.get(key, "·") for key in names)] for shared, cells in columns]
    first = ["attribute", *names.values()]
    while rest:
        fitting = count_fitting(first, rest)
        print_table(*_turned([first, *rest[:fitting]]))
        rest = rest[fitting:]


def _cell(attribute: dict[str, Any], newest_name: str) -> str:
    """Its type at the source, and its name where that was another."""
    source_type, name = attribute["source_type"], attribute["attribute"]
    return str(source_type if name == newest_name else f"{name}: {source_type}")


def _turned(columns: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    head, *lines = (list(line) for line in zip(*columns, strict=True))
    return head, lines
