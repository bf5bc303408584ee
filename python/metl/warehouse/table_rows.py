"""Rows of a PostgreSQL table into the warehouse."""

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta

import psycopg
from psycopg import sql
from sqlglot import exp

from metl.capture import keys
from metl.errors import BadInput, MetlError
from metl.warehouse import dialects
from metl.warehouse.initial_load import Feed, select

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
                "Load it by messages: metl snapshot, which reads it by whichever way its key allows, or metl load"
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
    return keys.key_of(rows, table.sql("postgres", identify=True))


def own_rows(rows: psycopg.Connection, table: exp.Table) -> sql.Composable:
    """What to select from: a table without the rows of those that inherit from it, which are captured on their own."""
    name = table.sql("postgres", identify=True)
    inherited = "select from pg_class where oid = to_regclass(%s) and relhassubclass and relkind = 'r'"
    only = "" if rows.execute(inherited, [name]).fetchone() is None else "only "
    return sql.SQL(f"{only}{name}")


def count_rows(rows: psycopg.Connection, table: exp.Table) -> int:
    [(count,)] = rows.execute(sql.SQL("select count(*) from {}").format(own_rows(rows, table))).fetchall()
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
            own_rows(rows, table),
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
