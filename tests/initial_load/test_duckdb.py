"""Initial loads that DuckDB runs."""

# Hypothesis would hold on to a class in an annotation until after DuckDB has gone, which then complains.
from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import time, timedelta
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metl.warehouse.dialects import Source
from metl.warehouse.initial_load import Feed, statement
from tests.initial_load.example import (
    AWKWARD,
    COMMON,
    SESSION_ZONE,
    Case,
    assert_expected,
    feed_of,
    rows_of,
    timestamps,
)
from tests.unit.test_initial_load import NAMES

A_UUID = "8a3d7a57-6b4f-4a4b-9f1f-0c4f2f6d8e11"
LONGEST = Decimal("12345678901234567890123456789012345678")
CASES = [
    *COMMON,
    *timestamps("timestamp", "timestamptz"),
    Case(f"cast('{LONGEST}' as decimal(38, 0))", "numeric", "decimal", "decimal", LONGEST),
    Case("cast(0.1234567890123456 as double)", "float8", "float", "float", 0.1234567890123456),
    Case("cast(123456789.123 as double)", "float8", "float", "decimal", Decimal("123456789.123")),
    Case("cast('\\x01\\x02' as blob)", "bytea", "bytes", "bytes", b"\x01\x02"),
    Case("cast('10:11:12.123456' as time)", "time", "time", "time", time(10, 11, 12, 123456)),
    Case("'10:11:12'", "text", "string", "time", time(10, 11, 12)),
    Case("cast('10:11:12+02' as timetz)", "timetz", "time", "time", time(8, 11, 12)),
    Case("interval '1 day 2 seconds'", "interval", "interval", "interval", timedelta(days=1, seconds=2)),
    Case("'1 day'", "text", "string", "interval", timedelta(days=1)),
    Case(f"cast('{A_UUID}' as uuid)", "uuid", "uuid", "uuid", uuid.UUID(A_UUID)),
    Case(f"'{A_UUID}'", "text", "string", "uuid", uuid.UUID(A_UUID)),
    Case("""cast('{"a": [1]}' as json)""", "json", "json", "json", '{"a": [1]}'),
    Case("[1, 2]", "array", "array", "array", [1, 2]),
    Case("{'a': 1}", "record", "object", "object", {"a": 1}),
]


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(f"set timezone = '{SESSION_ZONE}'")
        yield connection


def test_values_become_those_of_the_entity(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(f"create table source as {rows_of(CASES)}")
    assert_expected(CASES, connection.execute(statement(feed_of(CASES, "source"), "duckdb")).fetchall())


def test_statements_have_the_same_columns(connection: duckdb.DuckDBPyConnection) -> None:
    mapped = feed_of(CASES, "source")
    unmapped = Feed("source", 2, "entity", 1, mapped.types, {})
    both = " union all ".join(statement(feed, "duckdb").rstrip(";") for feed in (mapped, unmapped))
    rows = connection.execute(both).fetchall()
    assert len(rows) == 4
    assert_expected(CASES, rows[:2])
    assert {value for row in rows[2:] for value in row} == {None}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def check_names(connection: duckdb.DuckDBPyConnection, table: str, columns: list[str], attributes: list[str]) -> None:
    """The statement reads every column, and names every result after its attribute."""
    values = ", ".join(f"'{number}' as {quoted(name)}" for number, name in enumerate(columns))
    sources = {
        attribute: Source(column, "text", "string") for attribute, column in zip(attributes, columns, strict=True)
    }
    feed = Feed(f"prefix.main.{table}", 1, "entity", 1, dict.fromkeys(attributes, "string"), sources)
    connection.execute(f"create or replace table {quoted(table)} as select {values}")
    result = connection.execute(statement(feed, "duckdb"))
    assert [column[0] for column in result.description] == attributes
    assert result.fetchall() == [tuple(str(number) for number in range(len(columns)))]
    connection.execute(f"drop table {quoted(table)}")


def test_awkward_names(connection: duckdb.DuckDBPyConnection) -> None:
    for name in AWKWARD:
        check_names(connection, name.replace(".", "_"), AWKWARD, AWKWARD[::-1])


@settings(max_examples=50)
@given(st.lists(NAMES, min_size=5, max_size=5, unique_by=str.casefold))
def test_any_names(connection: duckdb.DuckDBPyConnection, names: list[str]) -> None:
    check_names(connection, names[0].replace(".", "_"), names[1:3], names[3:])
