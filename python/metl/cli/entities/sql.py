"""metl entities sql: initial loads."""

import click

from metl.cli.options import Version
from metl.config import database_dsn
from metl.db.connection import snapshot
from metl.errors import BadInput
from metl.matrix.trees import NEWEST
from metl.util.nearest import nearest
from metl.warehouse.dialects import TYPES
from metl.warehouse.initial_load import FeedFilter, feeds, parse_table, statement


@click.command(short_help="The initial load of an entity, as SQL.")
@click.argument("entity")
@click.option("--schema", help="Only from this schema.")
@click.option(
    "--version",
    type=Version(),
    help="Only from this version of it, or newest: the table of each schema as it is today.",
)
@click.option("--table", help="Where the rows of the schema are, if its name does not say so.")
@click.option("--dialect", default="postgres", show_default=True, help=f"Whose SQL: {', '.join(TYPES)}.")
def sql(entity: str, schema: str | None, version: int | None, table: str | None, dialect: str) -> None:
    """Print the initial load of ENTITY as SQL: a SELECT for each live schema version that feeds it.

    Each has a column for every attribute of the entity, cast to its type, so that they can be put together
    with union all. The table is the schema's name, without the first part if there are three or more,
    as Debezium names topics.

    \b
    metl entities sql person --version newest --dialect mysql
    metl entities sql person --schema shop.customer --version 3 --table raw.customer
    """
    if dialect not in TYPES:
        raise BadInput(f"There is no dialect {dialect!r}.{nearest(dialect, TYPES)}")
    newest = version == NEWEST
    if schema is None and version is not None and not newest:
        raise BadInput("--version needs --schema: say whose version it is.")
    if schema is None and table is not None:
        raise BadInput("--table needs --schema: say whose table it is.")
    rows_of = None if table is None else parse_table(table, dialect)
    with snapshot(database_dsn()) as connection:
        sources = feeds(connection, entity, FeedFilter(schema, None if newest else version, newest))
    click.echo("\n\n".join(statement(each, dialect, rows_of) for each in sources))
