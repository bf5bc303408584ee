"""Initial loads that PostgreSQL runs."""

import uuid
from collections.abc import Iterator
from datetime import time, timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg import sql

from metl.warehouse.dialects import Source
from metl.warehouse.initial_load import Feed, statement
from tests.initial_load.example import (
    AWKWARD,
    COMMON,
    DAY,
    SESSION_ZONE,
    Case,
    assert_expected,
    feed_of,
    rows_of,
    timestamps,
)
from tests.unit.test_initial_load import NAMES

Connection = psycopg.Connection[tuple[Any, ...]]

A_UUID = "8a3d7a57-6b4f-4a4b-9f1f-0c4f2f6d8e11"
CASES = [
    *COMMON,
    *timestamps("timestamp", "timestamptz"),
    Case("'2024-03-10'", "text", "string", "timestamp", DAY),
    Case("cast('-1e-40' as numeric)", "numeric", "decimal", "decimal", Decimal("-1e-40")),
    Case("cast('1e60' as numeric)", "numeric", "decimal", "decimal", Decimal("1e60")),
    Case("cast('12.30' as money)", "money", "decimal", "decimal", Decimal("12.30")),
    Case("cast(0.1234567890123456 as float8)", "float8", "float", "decimal", Decimal("0.1234567890123456")),
    Case("cast(0.1234567890123456 as float8)", "float8", "float", "float", 0.1234567890123456),
    Case("cast('ab' as char(4))", "char(4)", "string", "string", "ab  "),
    Case("cast('192.168.0.1' as inet)", "inet", "string", "string", "192.168.0.1"),
    Case("cast('192.168.0.0/16' as cidr)", "cidr", "string", "string", "192.168.0.0/16"),
    Case("cast('\\x0102' as bytea)", "bytea", "bytes", "bytes", b"\x01\x02"),
    Case("b'101'", "bit(3)", "bytes", "bytes", "101"),
    Case("cast('10:11:12.123456' as time)", "time", "time", "time", time(10, 11, 12, 123456)),
    Case("'10:11:12'", "text", "string", "time", time(10, 11, 12)),
    Case("cast('10:11:12+02' as timetz)", "timetz", "time", "time", time(8, 11, 12)),
    Case("interval '1 day 2 seconds'", "interval", "interval", "interval", timedelta(days=1, seconds=2)),
    Case("'1 day'", "text", "string", "interval", timedelta(days=1)),
    Case(f"cast('{A_UUID}' as uuid)", "uuid", "uuid", "uuid", uuid.UUID(A_UUID)),
    Case(f"'{A_UUID}'", "text", "string", "uuid", uuid.UUID(A_UUID)),
    Case("""cast('{"a": [1]}' as json)""", "json", "json", "json", {"a": [1]}),
    Case("""'{"a": [1]}'""", "text", "string", "json", {"a": [1]}),
    Case("array[1, 2]", "array", "array", "array", [1, 2]),
    Case("""cast('{"a": 1}' as jsonb)""", "record", "object", "object", {"a": 1}),
    Case("7", "any", "any", "any", 7),
]


@pytest.fixture(scope="module")
def connection(postgres: str) -> Iterator[Connection]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"set timezone = '{SESSION_ZONE}'".encode())
        yield connection


def run(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode()).fetchall()


def test_values_become_those_of_the_entity(connection: Connection) -> None:
    connection.execute(f"create temporary table source as {rows_of(CASES)}".encode())
    assert_expected(CASES, run(connection, statement(feed_of(CASES, "source"), "postgres")))


def test_statements_have_the_same_columns(connection: Connection) -> None:
    """Also with types that have no cast: one side is null, the other the plain column."""
    cases = [case for case in CASES if case.source_type != "bit(3)"]
    connection.execute(f"create temporary table one_of_two as {rows_of(cases)}".encode())
    mapped = feed_of(cases, "one_of_two")
    unmapped = Feed("one_of_two", 2, "entity", 1, mapped.types, {})
    both = " union all ".join(statement(feed, "postgres").rstrip(";") for feed in (mapped, unmapped))
    rows = run(connection, both)
    assert len(rows) == 4
    assert_expected(cases, rows[:2])
    assert {value for row in rows[2:] for value in row} == {None}


def test_columns_that_exchange_their_names(connection: Connection) -> None:
    connection.execute("create temporary table exchanged as select 1 as a, 2 as b")
    sources = {"a": Source("b", "int4", "integer"), "b": Source("a", "int4", "integer")}
    feed = Feed("exchanged", 1, "entity", 1, {"a": "integer", "b": "integer"}, sources)
    assert run(connection, statement(feed, "postgres")) == [(2, 1)]


def check_names(connection: Connection, table: str, columns: list[str], attributes: list[str]) -> None:
    """The statement reads every column, and names every result after its attribute."""
    values = [
        sql.SQL("{} as {}").format(sql.Literal(str(number)), sql.Identifier(name))
        for number, name in enumerate(columns)
    ]
    sources = {
        attribute: Source(column, "text", "string") for attribute, column in zip(attributes, columns, strict=True)
    }
    feed = Feed(f"prefix.pg_temp.{table}", 1, "entity", 1, dict.fromkeys(attributes, "string"), sources)
    with connection.transaction():
        connection.execute(
            sql.SQL("create temporary table {} on commit drop as select {}").format(
                sql.Identifier(table), sql.SQL(", ").join(values)
            )
        )
        cursor = connection.execute(statement(feed, "postgres").encode())
        assert [column.name for column in cursor.description or []] == attributes
        assert cursor.fetchall() == [tuple(str(number) for number in range(len(columns)))]


def test_awkward_names(connection: Connection) -> None:
    for name in AWKWARD:
        check_names(connection, name.replace(".", "_"), AWKWARD, AWKWARD[::-1])


@settings(max_examples=50)
@given(st.lists(NAMES, min_size=5, max_size=5, unique=True))
def test_any_names(connection: Connection, names: list[str]) -> None:
    check_names(connection, names[0].replace(".", "_"), names[1:3], names[3:])
