"""metl sql: initial loads."""

import click

from metl.db.connection import address, snapshot
from metl.errors import BadInput
from metl.util.nearest import nearest
from metl.warehouse.dialects import TYPES
from metl.warehouse.initial_load import FeedFilter, feeds, parse_table, statement


@click.command(short_help="The initial load of an entity, as SQL.")
@click.argument("entity")
@click.option("--schema", help="Only from this schema.")
@click.option("--version", type=int, help="Only from this version of it.")
@click.option("--newest", is_flag=True, help="Only from the newest version of each schema: its table as it is today.")
@click.option("--table", help="Where the rows of the schema are, if its name does not say so.")
@click.option("--dialect", default="postgres", show_default=True, help=f"Whose SQL: {', '.join(TYPES)}.")
def sql(entity: str, schema: str | None, version: int | None, newest: bool, table: str | None, dialect: str) -> None:
    """Print the initial load of ENTITY as SQL: a SELECT for each live schema version that feeds it.

    Each has a column for every attribute of the entity, cast to its type, so that they can be put together
    with union all. The table is the schema's name, without the first part if there are three or more,
    as Debezium names topics.
    """
    if dialect not in TYPES:
        raise BadInput(f"There is no dialect {dialect!r}.{nearest(dialect, TYPES)}")
    if schema is None and version is not None:
        raise BadInput("--version needs --schema: say whose version it is.")
    if schema is None and table is not None:
        raise BadInput("--table needs --schema: say whose table it is.")
    if newest and version is not None:
        raise BadInput("--version and --newest exclude each other. Give one of them.")
    source = None if table is None else parse_table(table, dialect)
    with snapshot(address()) as connection:
        found = feeds(connection, entity, FeedFilter(schema, version, newest))
    click.echo("\n\n".join(statement(each, dialect, source) for each in found))
