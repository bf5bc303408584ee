"""Rows of a PostgreSQL table into the warehouse."""

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta

import psycopg
from psycopg import sql
from sqlglot import exp

from metl import dialects
from metl.errors import BadInput, MetlError
from metl.initial_load import Feed, select

KEY = """
select attribute.attname, format_type(attribute.atttypid, null)
from pg_constraint as key
inner join pg_attribute as attribute on key.conrelid = attribute.attrelid and attribute.attnum = any(key.conkey)
where key.conrelid = to_regclass(%s) and key.contype = 'p'
order by array_position(key.conkey, attribute.attnum)
"""
#: What Debezium writes into a key as it is, and what as text.
PLAIN = ("smallint", "integer", "bigint", "boolean", "text", "character varying")
AS_TEXT = ("uuid",)
#: Rows go from one server to the other as text, which must mean the same to both.
SAME_TEXT = """
set client_encoding = 'UTF8'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres'; set extra_float_digits = 1;
set timezone = 'UTC'
"""
# Messages say when Kafka Connect saw them, by its own clock. One that is taken for newer though it is not does no harm:
# those after it follow. One that is taken for older would be lost.
MARGIN = timedelta(minutes=1)
CHUNK = 1000


def require_exact(feed: Feed) -> None:
    """Raises if a cast could alter a value; from messages such a value is rejected and told of."""
    for name, source in feed.sources.items():
        if (source.generalized_type, feed.shape[name]) in dialects.NARROWING:
            raise BadInput(
                f"{name} is made {feed.shape[name]} of {source.generalized_type}, which SQL may round. "
                "Load it by messages: metl snapshot, or metl load"
            )


@contextlib.contextmanager
def told(table: exp.Table) -> Iterator[None]:
    """What the source refuses, as a sentence."""
    try:
        yield
    except psycopg.Error as error:
        said = (error.diag.message_primary or str(error)).strip()
        raise MetlError(f"The source does not give the rows of {table.sql('postgres')}: {said}.") from None


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
                f"The primary key of {name} has {column} of type {kind}, whose form in messages is not known. "
                "Load it by messages: metl snapshot, or metl load"
            )
        value = sql.Identifier(column) if kind in PLAIN else sql.SQL("{}::text").format(sql.Identifier(column))
        parts.append(sql.SQL("{}, {}").format(sql.Literal(column), value))
    return sql.SQL("jsonb_build_object({})").format(sql.SQL(", ").join(parts))


def count_rows(rows: psycopg.Connection, table: exp.Table) -> int:
    query = exp.select("count(*)").from_(table).sql("postgres", identify=True)
    [(count,)] = rows.execute(query.encode()).fetchall()
    return int(count)


def copy_rows(
    rows: psycopg.Connection, connection: psycopg.Connection, feed: Feed, topic: str, table: exp.Table,
    copied: Callable[[int], None],
) -> int:  # fmt: skip
    """How many were new or newer than what the warehouse had; `copied` hears of every thousand."""
    names: dict[str, str] = dict(
        connection.execute("select * from metl.open_initial_load(%s)", [feed.entity]).fetchall()
    )
    selected = [column for column in select(feed, "postgres", table).expressions if column.alias in feed.sources]
    columns = [names[column.alias] for column in selected]
    with told(table):
        for each in (rows, connection):
            each.execute(SAME_TEXT)
        # Before anything is read.
        [(at,)] = rows.execute("select clock_timestamp()").fetchall()
        reading = sql.SQL("copy (select {}, {} from {}) to stdout").format(
            key_of(rows, table),
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
    arguments = (feed.entity, topic, feed.schema, feed.version, at - MARGIN, columns)
    [(merged,)] = connection.execute("select metl.merge_initial_load(%s, %s, %s, %s, %s, %s)", arguments).fetchall()
    return int(merged)
