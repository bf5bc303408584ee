"""The group entities: the canonical data model."""

import click

from metl.cli.group import Group


@click.group(
    cls=Group,
    package=__name__,
    places={
        "list": "listing.list_",
        "show": "listing.show",
        "coverage": "coverage.coverage",
        "plan": "model.plan",
        "apply": "model.apply",
        "publish": "model.publish",
        "export": "model.export",
        "sql": "sql.sql",
        "initial-load": "initial_load.initial_load",
        "compare": "compare.compare_",
        "dbt-source": "dbt_source.dbt_source",
    },
    short_help="The canonical data model, and its tables.",
)
def entities() -> None:
    """The entities of the canonical data model, kept in YAML files, and their tables in the warehouse.

    \b
    entity: person
    description: Somebody we know
    attributes:
      - name: number
        type: integer
        description: Number under which the person is known
      - name: email
        type: string
        optional: true
        renamed_from: mail      # may stay here when it is done

    A file may hold several, separated by lines of ---. Types are integer, decimal, float, boolean, string, bytes,
    date, time, timestamp, interval, uuid, json, object, array, geometry and any. Every difference to the live version
    of an entity makes the next version of it, the order of attributes excepted: a version, and its schema in the
    registry, never changes.

    \b
    metl entities export --output cdm    begin with what is in the database
    metl entities plan                   what would change, which mappings would be lost
    metl entities apply                  do it, and publish the new versions to the registry
    metl entities coverage person        which attributes have a source
    metl entities sql person             the initial load of an entity
    metl entities compare person         source and warehouse, value by value
    """
