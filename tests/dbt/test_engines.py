"""The compiled SQL of dpm gives the same rows wherever it runs: PostgreSQL, DuckDB and Spark.

METL's own views are unfolded into it, down to the tables of trees and blocks, so that decompaction itself is
translated by sqlglot and compared, not only the last step.
"""

from collections import Counter
from typing import Any

import duckdb
import psycopg
import pytest
import sqlglot
from hypothesis import Phase
from pyspark.sql import SparkSession
from sqlglot import exp

from metl.marts.lineage import views
from tests.conftest import Marts
from tests.matrix.test_history import PLAN_ONCE, Connection, History, play

HISTORIES = 20
EVERY = 5  # steps
#: Spark takes seconds for what the others do in no time; it gets matrices with something in them.
ON_SPARK = 5
ENOUGH_ONES = 3
SPARK_TYPES = {
    "integer": "int",
    "bigint": "bigint",
    "text": "string",
    "boolean": "boolean",
    "jsonb": "string",
    "timestamp with time zone": "timestamp",
}
Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def dpm(marts: Marts) -> exp.Expr:
    query = sqlglot.parse_one(marts.code("dpm"), read="postgres")
    for table in query.find_all(exp.Table):
        table.set("catalog", None)
    return query


@pytest.fixture(scope="module")
def unfolded(dpm: exp.Expr) -> exp.Expr:
    """dpm on the tables of schema metl, which are called metl_<name> outside of PostgreSQL."""
    query = exp.expand(dpm, dict(views()), dialect="postgres")
    for select in query.find_all(exp.Select):
        if not select.expressions:  # only PostgreSQL can select nothing
            select.set("expressions", [exp.Literal.number(1)])
    for table in query.find_all(exp.Table):
        if table.db:
            table.replace(exp.alias_(exp.to_table(f"metl_{table.name}"), table.alias_or_name, table=True))
    return query


def export(connection: Connection, query: exp.Expr) -> dict[str, tuple[list[tuple[str, str]], Rows]]:
    """The columns, with their types, and the rows of every table that the query reads."""
    names = {table.name for table in query.find_all(exp.Table) if table.name.startswith("metl_")}
    assert {"metl_block", "metl_cell", "metl_attribute_version", "metl_state"} <= names
    exported = {}
    for name in sorted(names):
        original = name.removeprefix("metl_")
        columns = connection.execute(
            "select column_name, data_type from information_schema.columns"
            " where (table_schema, table_name) = ('metl', %s) order by ordinal_position",
            [original],
        ).fetchall()
        listed = ", ".join(f"{column}::text" if kind == "jsonb" else column for column, kind in columns)
        exported[name] = columns, connection.execute(f"select {listed} from metl.{original}".encode()).fetchall()
    return exported


def on_duckdb(tables: dict[str, tuple[list[tuple[str, str]], Rows]], query: exp.Expr) -> Rows:
    with duckdb.connect() as engine:
        for name, (columns, rows) in tables.items():
            typed = ", ".join(f'"{column}" {"text" if kind == "jsonb" else kind}' for column, kind in columns)
            engine.execute(f"create table {name} ({typed})")
            if rows:
                engine.executemany(f"insert into {name} values ({', '.join('?' for _ in columns)})", rows)
        return engine.execute(query.sql("duckdb")).fetchall()


def on_spark(spark: SparkSession, tables: dict[str, tuple[list[tuple[str, str]], Rows]], query: exp.Expr) -> Rows:
    for name, (columns, rows) in tables.items():
        types = ", ".join(f"{column} {SPARK_TYPES[kind]}" for column, kind in columns)
        spark.createDataFrame(rows, types).createOrReplaceTempView(name)
    return [tuple(row) for row in spark.sql(query.sql("spark")).collect()]


@pytest.mark.timeout(600)
def test_three_engines_give_the_same_rows(
    database: str, dpm: exp.Expr, unfolded: exp.Expr, spark: SparkSession
) -> None:
    native = dpm.sql("postgres").encode()
    compared: Counter[str] = Counter()

    with psycopg.connect(database, prepare_threshold=0, options=PLAN_ONCE) as connection:

        class Compared(History):
            """A random history, whose matrix is taken to the other engines now and then."""

            on_spark_already = False

            def __init__(self) -> None:
                super().__init__(connection)

            def compare(self) -> None:
                if len(self.script) % EVERY:
                    return
                expected = Counter((*one, self.matrix.state) for one in self.matrix.dpm())
                tables = export(connection, unfolded)
                assert Counter(self.connection.execute(native).fetchall()) == expected
                assert Counter(on_duckdb(tables, unfolded)) == expected
                compared["duckdb"] += expected.total() > 0
                if expected.total() >= ENOUGH_ONES and compared["spark"] < ON_SPARK and not self.on_spark_already:
                    assert Counter(on_spark(spark, tables, unfolded)) == expected
                    compared["spark"] += 1
                    self.on_spark_already = True

            def teardown(self) -> None:
                connection.rollback()

        play(Compared, HISTORIES, phases=[Phase.generate])
    assert compared["spark"] >= ON_SPARK and compared["duckdb"] >= HISTORIES, compared
