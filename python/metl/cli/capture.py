"""metl capture: change data capture of a service's database."""

import click
import psycopg
from psycopg.conninfo import make_conninfo

from metl.capture import connectors
from metl.capture.publication import await_published
from metl.capture.settings import postgres_source
from metl.database import address, connect
from metl.errors import BadInput
from metl.home import Home
from metl.stack import parts
from metl.stack.postgres import OWNER


@click.command(short_help="Let Debezium read the changes of tables.")
@click.argument("prefix")
@click.argument("table", nargs=-1, required=True)
@click.option("--dsn", help="The service's database; by default the one named PREFIX on METL's server.")
@click.option(
    "--password",
    "reference",
    metavar="REFERENCE",
    help="Where Kafka Connect finds the password: ${file:…:…}. That of the local stack knows metl_owner's.",
)
def capture(prefix: str, table: tuple[str, ...], dsn: str | None, reference: str | None) -> None:
    """Let Debezium read the changes of TABLEs of a PostgreSQL database into topics PREFIX.<schema>.<table>.

    \b
    metl capture shop public.customer public.orders

    Makes the connector PREFIX, or changes it: say it again with one more table to add that. Rows that are there
    when it is made are read first. Each message carries the id under which the registry knows its schema.
    """
    with connect(dsn or make_conninfo(address(), dbname=prefix), "--dsn" if dsn else "METL_DSN") as connection:
        _require(connection, table)
        _capture(connection, prefix, table, reference)
        database = connection.info.dbname
    click.echo(f"Debezium reads {', '.join(table)} of database {database} into topics {prefix}.*.")


def _capture(connection: psycopg.Connection, prefix: str, tables: tuple[str, ...], reference: str | None) -> None:
    home = Home.from_environment()
    postgres, _, registry, worker = parts(home)
    info = connection.info
    if reference is None and (postgres.is_elsewhere or info.user != OWNER):
        raise BadInput(f"Say with --password where Kafka Connect finds the password of {info.user}, as ${{file:…:…}}.")
    settings = postgres_source(
        prefix=prefix,
        host=info.host,
        port=info.port,
        database=info.dbname,
        user=info.user,
        password=reference or f"${{file:{home.connect_passwords_file}:{info.user}}}",
        tables=tables,
        registry=registry.address,
    )
    connectors.create(worker.address, prefix, settings)
    await_published(connection, prefix, tables)


def _require(connection: psycopg.Connection, tables: tuple[str, ...]) -> None:
    """A connector for a table that is not there would run, and never say a word."""
    for name in tables:
        schema, dot, table = name.partition(".")
        if not dot:
            raise BadInput(f"{name!r} does not say in which schema the table is. Did you mean 'public.{name}'?")
        known = connection.execute(
            "select from pg_tables where schemaname = %s and tablename = %s", [schema, table]
        ).fetchone()
        if known is None:
            raise BadInput(f"Database {connection.info.dbname} has no table {name!r}.")
