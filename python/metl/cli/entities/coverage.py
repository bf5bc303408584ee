"""metl entities coverage: which attributes of the entities have a source."""

import itertools
from typing import Any

import click
from rich.text import Text

from metl.cli.options import json_option
from metl.config import database_dsn
from metl.db.connection import rows, snapshot
from metl.matrix import trees
from metl.util.terminal import join_names, print_json, print_table, printable, say

COVERAGE = """
select
    live.entity, live.version as entity_version, found.entity_attribute, found.type, found.sources, found.schemas,
    found.all_schemas, found.unfed, found.column_policy
from metl.entity_versions as live
cross join lateral metl.coverage(live.entity, live.version)
    with ordinality as found (
        entity_attribute, type, sources, schemas, all_schemas, unfed, column_policy, position
    )
where live.deleted is null and (live.entity = %(entity)s or %(entity)s::text is null)
order by live.entity, found.position
"""


@click.command(short_help="Which entity attributes have a source.")
@click.argument("entity", required=False)
@json_option
def coverage(entity: str | None, as_json: bool) -> None:
    """Show how many attributes of each entity have a source; of ENTITY, which schemas feed each attribute.

    A source is a schema whose newest version feeds it. One that did once has left values behind in the warehouse, which
    stay or are cleared as metl plans policy set-column says.

    \b
    metl entities coverage
    metl entities coverage person
    """
    with snapshot(database_dsn()) as connection:
        if entity is not None:
            trees.entity_version(connection, entity)
        attributes = rows(connection, COVERAGE, {"entity": entity})
    if as_json:
        print_json(attributes)
    elif not attributes:
        say("There is no entity with attributes yet. Add one with: metl entities apply")
    elif entity is not None:
        print_table(
            ["attribute", "type", "sources", "schemas"],
            [
                (each["entity_attribute"], each["type"], _count(each["sources"]), join_names(each["schemas"]))
                for each in attributes
            ],
        )
        for each in attributes:
            if each["unfed"]:
                _print_unfed(each)
    else:
        _print_entities(attributes)


def _count(count: int) -> Text:
    return Text(f"{count:,}", "" if count else "red", justify="right")


def _print_unfed(attribute: dict[str, Any]) -> None:
    since = []
    for each in attribute["unfed"]:
        version = "" if each["version"] is None else f"version {each['version']}, "
        since.append(f"{printable(each['schema'])} since {version}state {each['state']}")
    policy = attribute["column_policy"]
    say(f"{printable(attribute['entity_attribute'])}: {policy}; not fed by {', '.join(since)}.")


def _print_entities(attributes: list[dict[str, Any]]) -> None:
    def line(name: Text | str, version: int | None, attributes: list[dict[str, Any]]) -> tuple[object, ...]:
        covered = sum(each["sources"] > 0 for each in attributes)
        schemas = len({schema for each in attributes for schema in each["schemas"]})
        share = Text(f"{covered / len(attributes):.0%}", justify="right")
        return (name, version, len(attributes), _count(covered), share, _count(schemas))

    entities = itertools.groupby(attributes, key=lambda each: (each["entity"], each["entity_version"]))
    print_table(
        ["entity", "version", "attributes", "with a source", "share", "schemas"],
        [
            *(line(entity, version, list(attributes)) for (entity, version), attributes in entities),
            line(Text("in all", "bold"), None, attributes),
        ],
    )
