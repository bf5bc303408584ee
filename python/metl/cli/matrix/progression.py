"""metl matrix progression: how the mappings of a schema went through its versions."""

import itertools

import click

from metl.cli.options import json_option
from metl.cli.output import MARKS, arrow
from metl.config import database_dsn
from metl.db.connection import rows, snapshot
from metl.matrix import trees
from metl.util.terminal import format_ranges, print_json, printable, say

PROGRESSION = """
select version, entity, entity_version, attribute, entity_attribute, change
from metl.progression(%(schema)s)
where entity = %(entity)s or %(entity)s::text is null
order by version, change desc, entity, entity_attribute
"""


@click.command(short_help="How mappings went from version to version.")
@click.argument("schema")
@click.argument("entity", required=False)
@json_option
def progression(schema: str, entity: str | None, as_json: bool) -> None:
    """Show the cells that each live version of SCHEMA gained and lost, beside the one before it; all or to ENTITY only.

    \b
    metl matrix progression shop.customer
    metl matrix progression shop.customer person
    """
    with snapshot(database_dsn()) as connection:
        live = trees.live_versions(connection, schema)
        if entity is not None:
            trees.entity_version(connection, entity)
        changes = rows(connection, PROGRESSION, {"schema": schema, "entity": entity})
    if as_json:
        print_json(changes)
        return
    target = "anything" if entity is None else printable(entity)
    if not changes:
        say(f"No version of {printable(schema)} maps to {target} yet. See what could: metl matrix suggest {schema}")
        return
    for version, cells in itertools.groupby(changes, key=lambda cell: cell["version"]):
        say(f"version {version}", "bold")
        for cell in cells:
            mark, colour = MARKS[cell["change"]]
            line = arrow(cell["attribute"], f"{cell['entity']}.{cell['entity_attribute']}")
            click.secho(f"  {mark} {line}", fg=colour)
    same = sorted(set(live) - {cell["version"] for cell in changes})
    if same:
        word = "Version" if len(same) == 1 else "Versions"
        say(f"{word} {format_ranges(same)} changed nothing.")
