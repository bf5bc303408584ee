"""Copy the rows of a PostgreSQL table to the warehouse."""

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

#: Rows go from one server to the other as text, which both must read alike.
TEXT_SETTINGS = """
set client_encoding = 'UTF8'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres'; set extra_float_digits = 1;
set timezone = 'UTC'
"""
# Allowance for the clock of Kafka Connect, whose time messages carry. A message wrongly taken for newer does no harm:
# those after it follow. One wrongly taken for older would be lost.
CLOCK_SKEW = timedelta(minutes=1)
CHUNK = 1000


def require_exact_casts(feed: Feed) -> None:
    """Raises if a cast could alter a value. The path of messages instead rejects such a value and records it."""
    for name, source in feed.sources.items():
        if (source.generalized_type, feed.types[name]) in dialects.LOSSY_CASTS:
            raise BadInput(
                f"{name} is made {feed.types[name]} of {source.generalized_type}, which SQL may round. "
                "Load it by messages: metl load, or metl capture snapshot, which reads it as its key allows"
            )


@contextlib.contextmanager
def source_errors(table: exp.Table) -> Iterator[None]:
    """Raises errors of the source database as MetlError."""
    try:
        yield
    except psycopg.Error as error:
        message = (error.diag.message_primary or str(error)).strip()
        raise MetlError(f"The source does not give the rows of {table.sql('postgres')}: {message}.") from None


def key_of(source: psycopg.Connection, table: exp.Table) -> sql.Composable:
    """SQL for the key of a row, in the form of Debezium's messages."""
    return keys.key_expression(source, table.sql("postgres", identify=True))


def from_item(source: psycopg.Connection, table: exp.Table) -> sql.Composable:
    """The table in a from clause; with `only` if others inherit from it, whose rows are captured on their own."""
    name = table.sql("postgres", identify=True)
    inherited = "select from pg_class where oid = to_regclass(%s) and relhassubclass and relkind = 'r'"
    only = "" if source.execute(inherited, [name]).fetchone() is None else "only "
    return sql.SQL(f"{only}{name}")


def count_rows(source: psycopg.Connection, table: exp.Table) -> int:
    [(count,)] = source.execute(sql.SQL("select count(*) from {}").format(from_item(source, table))).fetchall()
    return int(count)


def copy_rows(
    source: psycopg.Connection, warehouse: psycopg.Connection, feed: Feed, topic: str, table: exp.Table,
    on_chunk: Callable[[int], None],
) -> int:  # fmt: skip
    """Returns how many rows were new or newer than the warehouse's. `on_chunk` gets the row count of each chunk."""
    column_names: dict[str, str] = dict(
        warehouse.execute("select * from metl.open_initial_load(%s)", [feed.entity]).fetchall()
    )
    selected = [column for column in select(feed, "postgres", table).expressions if column.alias in feed.sources]
    columns = [column_names[column.alias] for column in selected]
    with source_errors(table):
        for each in (source, warehouse):
            each.execute(TEXT_SETTINGS)
        # Before the rows are read: none of them can be older.
        [(started_at,)] = source.execute("select clock_timestamp()").fetchall()
        read = sql.SQL("copy (select {}, {} from {}) to stdout").format(
            key_of(source, table),
            sql.SQL(", ").join(sql.SQL(column.sql("postgres", identify=True)) for column in selected),
            from_item(source, table),
        )
        write = sql.SQL("copy pg_temp.initial_load ({}) from stdin").format(
            sql.SQL(", ").join(map(sql.Identifier, ["_key", *columns]))
        )
        with source.cursor().copy(read) as rows, warehouse.cursor().copy(write) as target:
            for number, row in enumerate(rows, 1):
                target.write(row)
                if not number % CHUNK:
                    on_chunk(CHUNK)
    arguments = (feed.entity, topic, feed.schema, feed.version, started_at - CLOCK_SKEW, columns)
    [(merged,)] = warehouse.execute("select metl.merge_initial_load(%s, %s, %s, %s, %s, %s)", arguments).fetchall()
    return int(merged)
