"""Which columns of a warehouse table can be compared with those that `metl entities sql` selects."""

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql
from sqlglot import exp

from metl.errors import MetlError
from metl.warehouse import dialects
from metl.warehouse.initial_load import Feed, select
from metl.warehouse.table_rows import source_errors

COLUMN_NAMES = """
select attribute.entity_attribute, columns.column_name
from metl.entity_attributes as attribute
inner join metl.warehouse_columns as columns
    on attribute.entity = columns.entity and attribute.entity_attribute_id = columns.entity_attribute_id
where attribute.entity = %s and attribute.is_live
"""
TABLE = "select distinct table_name from metl.warehouse_columns where entity = %s"


@dataclass(frozen=True)
class Column:
    attribute: str
    #: In the warehouse.
    name: str
    type: str
    #: SQL for the value at the source.
    expression: str


def warehouse_table(connection: psycopg.Connection, entity: str) -> str:
    row = connection.execute(TABLE, [entity]).fetchone()
    if row is None:
        raise MetlError(
            f"The warehouse has no table of {entity!r} yet: metl warehouse makes it with the first record, "
            "metl entities initial-load with the first rows."
        )
    return str(row[0])


def warehouse_columns(connection: psycopg.Connection, feed: Feed) -> tuple[str, dict[str, str]]:
    """The table of an entity, and the column name of each attribute."""
    table = warehouse_table(connection, feed.entity)
    names: dict[str, str] = dict(connection.execute(COLUMN_NAMES, [feed.entity]).fetchall())
    if missing := [name for name in feed.types if name not in names]:
        raise MetlError(
            f"Table {table} of the warehouse does not have version {feed.entity_version} of {feed.entity!r} yet: it "
            f"lacks {', '.join(missing)}. It gets its shape with the next record."
        )
    return table, {name: names[name] for name in feed.types}


def comparable_columns(
    source: psycopg.Connection, table: exp.Table, warehouse: psycopg.Connection, warehouse_table: str,
    names: dict[str, str], feed: Feed,
) -> tuple[list[Column], dict[str, str]]:  # fmt: skip
    """The columns to compare, and by attribute why the other mapped ones cannot be."""
    expressions = {
        column.alias: column.this.sql("postgres", identify=True)
        for column in select(feed, "postgres", table).expressions
        if column.alias in feed.sources
    }
    with source_errors(table):
        values = [sql.SQL(each) for each in expressions.values()]
        source_types = _types_of(source, values, table.sql("postgres", identify=True))
    relation = sql.Identifier("warehouse", warehouse_table).as_string(warehouse)
    warehouse_types = _types_of(warehouse, [sql.Identifier(names[each]) for each in expressions], relation)
    columns, not_compared = [], {}
    for (name, expression), source_type, warehouse_type in zip(
        expressions.items(), source_types, warehouse_types, strict=True
    ):
        cast = (feed.sources[name].generalized_type, feed.types[name])
        if cast in dialects.LOSSY_CASTS:
            not_compared[name] = f"SQL may round it, being made {cast[1]} of {cast[0]}"
        elif source_type != warehouse_type:
            not_compared[name] = f"SQL gives it as {source_type}, and messages as {warehouse_type}"
        else:
            columns.append(Column(name, names[name], warehouse_type, expression))
    return columns, not_compared


def _types_of(connection: psycopg.Connection, values: Sequence[sql.Composable], table: str) -> list[str]:
    """The types of some expressions; the outer join gives a row even if the table has none."""
    types = (sql.SQL("pg_typeof({})::text").format(value) for value in values)
    query = sql.SQL("select {} from (select) as one_row left join {} on false").format(
        sql.SQL(", ").join(types), sql.SQL(table)
    )
    [row] = connection.execute(query).fetchall()
    return list(row)
