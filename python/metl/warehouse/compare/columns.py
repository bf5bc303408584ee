"""Which columns of the warehouse's table can be compared with what `metl sql` selects."""

from dataclasses import dataclass

import psycopg
from psycopg import sql
from sqlglot import exp

from metl.errors import MetlError
from metl.warehouse import dialects
from metl.warehouse.initial_load import Feed, select
from metl.warehouse.table_rows import told

SHAPE = """
select attribute.entity_attribute, known.table_name, known.column_name
from metl.entity_attributes as attribute
inner join metl.warehouse_columns as known
    on attribute.entity = known.entity and attribute.entity_attribute_id = known.entity_attribute_id
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
    selected: str


def warehouse_table(connection: psycopg.Connection, entity: str) -> str:
    found = connection.execute(TABLE, [entity]).fetchall()
    if not found:
        raise MetlError(
            f"The warehouse has no table of {entity!r} yet: metl warehouse makes it with the first record, "
            "metl initial-load with the first rows."
        )
    return str(found[0][0])


def warehouse_shape(connection: psycopg.Connection, feed: Feed) -> tuple[str, dict[str, str]]:
    """The table of an entity, and the column of each attribute."""
    table = warehouse_table(connection, feed.entity)
    names = {attribute: name for attribute, _, name in connection.execute(SHAPE, [feed.entity])}
    if lacking := [name for name in feed.shape if name not in names]:
        raise MetlError(
            f"Table {table} of the warehouse does not have version {feed.entity_version} of {feed.entity!r} yet: it "
            f"lacks {', '.join(lacking)}. It gets its shape with the next record."
        )
    return table, {name: names[name] for name in feed.shape}


def chosen(
    source: psycopg.Connection, table: exp.Table, warehouse: psycopg.Connection, made: str, names: dict[str, str],
    feed: Feed,
) -> tuple[list[Column], dict[str, str]]:  # fmt: skip
    """Those that can be compared, and why the others of those that are fed cannot."""
    selected = {
        column.alias: column.this.sql("postgres", identify=True)
        for column in select(feed, "postgres", table).expressions
        if column.alias in feed.sources
    }
    with told(table):
        there = _described(source, [sql.SQL(each) for each in selected.values()], table.sql("postgres", identify=True))
    of_warehouse = sql.Identifier("warehouse", made).as_string(warehouse)
    here = _described(warehouse, [sql.Identifier(names[each]) for each in selected], of_warehouse)
    columns, left_out = [], {}
    for (name, value), given, wanted in zip(selected.items(), there, here, strict=True):
        made_of = feed.sources[name].generalized_type
        if (made_of, feed.shape[name]) in dialects.NARROWING:
            left_out[name] = f"SQL may round it, being made {feed.shape[name]} of {made_of}"
        elif given != wanted:
            left_out[name] = f"SQL gives it as {given}, and messages as {wanted}"
        else:
            columns.append(Column(name, names[name], wanted, value))
    return columns, left_out


def _described(connection: psycopg.Connection, values: list[sql.Composable], table: str) -> list[str]:
    """The types of some values, also where there are no rows."""
    types = (sql.SQL("pg_typeof({})::text").format(value) for value in values)
    query = sql.SQL("select {} from (select) as nothing left join {} on false").format(
        sql.SQL(", ").join(types), sql.SQL(table)
    )
    [found] = connection.execute(query).fetchall()
    return list(found)
