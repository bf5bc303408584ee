"""The tables of the warehouse as Parquet, one folder for each entity, for training and notebooks."""

import re
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql
from pyspark.sql import DataFrame, SparkSession

from metl.errors import MetlError

#: The warehouse's own columns that go with the attributes.
OWN = ("_source", "_key", "_partition", "_offset", "_at", "_state")
TABLES = "select distinct entity, table_name from metl.warehouse_columns order by entity"
COLUMNS = """
select column_name, column_type from metl.warehouse_columns
where entity = %s and (entity_attribute_id is not null or column_name = any(%s)) and column_name not like '\\_old\\_%%'
order by entity_attribute_id nulls first, column_name
"""
LOCK = "select pg_advisory_lock_shared(hashtextextended(%s, 0))"
UNLOCK = "select pg_advisory_unlock_shared(hashtextextended(%s, 0))"
#: How many digits Parquet's decimals have.
DIGITS = 38
# The most decimal places of any value; null if a value does not fit into decimals of that many digits and places.
SCALE = """
select case when bool_and(
    {column} not in ('NaN', 'Infinity', '-Infinity') and abs({column}) < power(10::numeric, %(digits)s - widest)
) is not false and widest <= %(digits)s then widest end
from {table}, (
    select coalesce(max(scale({column})), 0) as widest from {table}
    where {column} not in ('NaN', 'Infinity', '-Infinity')
) as places
group by widest
"""
FINITE = "select not exists (select from {table} where not isfinite({column}))"
PLAIN = ("bigint", "integer", "double precision", "boolean", "text", "bytea")


def write_parquet(
    spark: SparkSession, connection: psycopg.Connection, jdbc: dict[str, str], entities: str, folder: str
) -> Iterator[tuple[str, int]]:
    """Writes the rows that are not deleted, of each entity that matches; yields its folder and their number. A folder
    is replaced once all of its rows are written."""
    for entity, name in connection.execute(TABLES).fetchall():
        if not re.fullmatch(entities, entity):
            continue
        # Blocks merges until all is written: the types below were chosen by the values.
        connection.execute(LOCK, [f"metl warehouse {entity}"])
        table = sql.Identifier("warehouse", name)
        columns = connection.execute(COLUMNS, [entity, list(OWN)]).fetchall()
        selected = sql.SQL(", ").join(_selected(connection, table, *column) for column in columns)
        query = sql.SQL("select {} from {} where not _deleted").format(selected, table).as_string(connection)
        target = f"{folder.rstrip('/')}/{_folder_name(entity)}"
        _replace(spark, _read(spark, jdbc, query), target)
        connection.execute(UNLOCK, [f"metl warehouse {entity}"])
        yield target, spark.read.parquet(target).count()


def _folder_name(entity: str) -> str:
    """Also for an entity named `..`."""
    return quote(entity, safe=" ") if entity.strip(".") else entity.replace(".", "%2E")


def _selected(connection: psycopg.Connection, table: sql.Identifier, name: str, kind: str) -> sql.Composable:
    """As text where Parquet has no type for the values, so that nothing is rounded."""
    column = sql.Identifier(name)
    if kind in PLAIN:
        return column
    if kind == "numeric":
        query = sql.SQL(SCALE).format(column=column, table=table)
        [(scale,)] = connection.execute(query, {"digits": DIGITS}).fetchall() or [(0,)]
        if scale is not None:
            return sql.SQL("{0}::numeric({1}, {2}) as {0}").format(column, sql.Literal(DIGITS), sql.Literal(scale))
    if kind in ("date", "timestamp with time zone"):
        [(is_finite,)] = connection.execute(sql.SQL(FINITE).format(column=column, table=table)).fetchall()
        if is_finite:
            return column
    return sql.SQL("{0}::text as {0}").format(column)


def _read(spark: SparkSession, jdbc: dict[str, str], query: str) -> DataFrame:
    # No timeout: a large table takes long.
    options = {**jdbc, "driver": "org.postgresql.Driver", "socketTimeout": "0", "fetchsize": "10000", "query": query}
    return spark.read.format("jdbc").options(**options).load()


def _replace(spark: SparkSession, rows: DataFrame, folder: str) -> None:
    """On any file system that Spark knows."""
    jvm: Any = spark._jvm
    # Readers of Parquet skip names that begin with an underscore.
    above, _, name = folder.rpartition("/")
    mark = uuid.uuid4().hex
    made, old = (jvm.org.apache.hadoop.fs.Path(f"{above}/_{what}-{mark}-{name}") for what in ("new", "old"))
    target = jvm.org.apache.hadoop.fs.Path(folder)
    files = target.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    # Spark's default, INT96, is deprecated.
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    try:
        rows.write.parquet(made.toString())
        if files.exists(target) and not files.rename(target, old):
            raise MetlError(f"{folder} cannot be replaced, and is as it was.")
        if not files.rename(made, target):
            files.rename(old, target)
            raise MetlError(f"{folder} cannot be written. What was there before is there again.")
        files.delete(old, True)
    finally:
        files.delete(made, True)
