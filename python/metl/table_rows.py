"""Rows of a PostgreSQL table into the warehouse."""

from collections.abc import Callable

import psycopg
from psycopg import sql
from sqlglot import exp

from metl.errors import BadInput, MetlError
from metl.initial_load import Feed, select

KEY = """
select attribute.attname, format_type(attribute.atttypid, null)
from pg_index as index
inner join pg_attribute as attribute on index.indrelid = attribute.attrelid and attribute.attnum = any(index.indkey)
where index.indrelid = to_regclass(%s) and index.indisprimary
order by array_position(index.indkey::int2[], attribute.attnum)
"""
#: What Debezium writes into a key as it is, and what as text.
PLAIN = ("smallint", "integer", "bigint", "boolean", "text", "character varying")
AS_TEXT = ("uuid", "numeric")
CHUNK = 1000


def key_of(rows: psycopg.Connection, table: exp.Table) -> sql.Composable:
    """SQL for the key of a row as messages have it."""
    name = table.sql("postgres", identify=True)
    found = rows.execute(KEY, [name]).fetchall()
    if not found:
        raise BadInput(f"There is no table {name} with a primary key in this database: nothing tells its rows apart.")
    parts = []
    for column, kind in found:
        if kind not in (*PLAIN, *AS_TEXT):
            raise BadInput(
                f"The primary key of {name} has {column} of type {kind}, whose form in messages is not known."
            )
        value = sql.Identifier(column) if kind in PLAIN else sql.SQL("{}::text").format(sql.Identifier(column))
        parts.append(sql.SQL("{}, {}").format(sql.Literal(column), value))
    return sql.SQL("jsonb_build_object({})").format(sql.SQL(", ").join(parts))


def count_rows(rows: psycopg.Connection, table: exp.Table) -> int:
    query = exp.select("count(*)").from_(table).sql("postgres", identify=True)
    [(count,)] = rows.execute(query.encode()).fetchall()
    return int(count)


def copy_rows(
    rows: psycopg.Connection, connection: psycopg.Connection, feed: Feed, table: exp.Table, key: sql.Composable,
    copied: Callable[[int], None],
) -> int:  # fmt: skip
    """How many were new or newer than what the warehouse had; `copied` hears of every thousand."""
    try:
        return _copy_rows(rows, connection, feed, table, key, copied)
    except psycopg.Error as error:
        said = error.diag.message_primary or str(error)
        raise MetlError(
            f"The rows of {table.sql('postgres')} were not loaded: {said}. The table should be as version "
            f"{feed.version} of {feed.schema} says. "
            f"`metl sql {feed.entity} --schema {feed.schema} --newest` prints what is selected."
        ) from None


def _copy_rows(
    rows: psycopg.Connection, connection: psycopg.Connection, feed: Feed, table: exp.Table, key: sql.Composable,
    copied: Callable[[int], None],
) -> int:  # fmt: skip
    names: dict[str, str] = dict(
        connection.execute("select * from metl.open_initial_load(%s)", [feed.entity]).fetchall()
    )
    selected = [column for column in select(feed, "postgres", table).expressions if column.alias in feed.sources]
    columns = [names[column.alias] for column in selected]
    # The moment from which on messages are newer; before anything is read.
    [(at,)] = rows.execute("select clock_timestamp()").fetchall()
    reading = sql.SQL("copy (select {}, {} from {}) to stdout").format(
        key,
        sql.SQL(", ").join(sql.SQL(column.sql("postgres", identify=True)) for column in selected),
        sql.SQL(table.sql("postgres", identify=True)),
    )
    writing = sql.SQL("copy pg_temp.initial_load ({}) from stdin").format(
        sql.SQL(", ").join(map(sql.Identifier, ["_key", *columns]))
    )
    with rows.cursor().copy(reading) as source, connection.cursor().copy(writing) as target:
        for number, row in enumerate(source, 1):
            target.write(row)
            if not number % CHUNK:
                copied(CHUNK)
    arguments = (feed.entity, feed.schema, feed.version, at, columns)
    [(merged,)] = connection.execute("select metl.merge_initial_load(%s, %s, %s, %s, %s)", arguments).fetchall()
    return int(merged)
