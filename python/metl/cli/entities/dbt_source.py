"""metl entities dbt-source: the tables of the warehouse as a source of dbt."""

from typing import Any

import click
import psycopg
import yaml

from metl.config import database_dsn
from metl.db.connection import snapshot
from metl.errors import MetlError

TABLES = """
select table_name, obj_description(to_regclass(format('warehouse.%I', table_name))) as description
from metl.warehouse_columns group by table_name order by table_name
"""
COLUMNS = """
select column_name, column_type, description, column_name in ('_source', '_key', '_deleted') as is_never_null
from metl.warehouse_columns where table_name = %s order by entity_attribute_id nulls first, column_name
"""


@click.command(short_help="The warehouse as a source of dbt.")
def dbt_source() -> None:
    """Print the tables of schema warehouse as a source file of dbt, with the types and descriptions of each table.

    \b
    metl entities dbt-source > models/warehouse.yml
    select * from {{ source('warehouse', 'person') }} where not _deleted
    """
    with snapshot(database_dsn()) as connection:
        tables = [_table(connection, *row) for row in connection.execute(TABLES).fetchall()]
    if not tables:
        raise MetlError("The warehouse has no tables yet. Fill them with: metl warehouse")
    source = {
        "name": "warehouse",
        "schema": "warehouse",
        "description": "The entities of the canonical data model, one row for each key of each source.",
        "tables": tables,
    }
    click.echo(yaml.safe_dump({"version": 2, "sources": [source]}, sort_keys=False, allow_unicode=True, width=120))


def _table(connection: psycopg.Connection, name: str, description: str | None) -> dict[str, Any]:
    columns = [_column(*row) for row in connection.execute(COLUMNS, [name]).fetchall()]
    return {"name": name, "description": description or "", "columns": columns}


def _column(name: str, kind: str, description: str | None, is_never_null: bool) -> dict[str, Any]:
    tests = {"data_tests": ["not_null"]} if is_never_null else {}
    # Quoted, since attributes are called as they like.
    return {"name": name, "quote": True, "data_type": kind, "description": description or ""} | tests
