"""Warehouse rows and values that no newest version feeds. They stay there, and no source updates them any more."""

from collections.abc import Collection

import psycopg
from psycopg import sql


def count_unfed_values(
    connection: psycopg.Connection, table: str, topic: str, columns: dict[str, str]
) -> dict[str, int]:
    """How many rows of a topic still have a value of each attribute; `columns` maps attributes to their columns."""
    if not columns:
        return {}
    counts = sql.SQL(", ").join(sql.SQL("count({})").format(sql.Identifier(name)) for name in columns.values())
    query = sql.SQL("select {} from {} where _source = {} and not _deleted").format(
        counts, sql.Identifier("warehouse", table), sql.Literal(topic)
    )
    [row] = connection.execute(query).fetchall()
    return dict(zip(columns, row, strict=True))


def count_orphaned_rows(connection: psycopg.Connection, table: str, topics: Collection[str]) -> dict[str, int]:
    """Row counts by topic, of every topic but these."""
    query = sql.SQL(
        "select _source, count(*) from {} where not _deleted and _source <> all({}::text[]) group by 1 order by 1"
    ).format(sql.Identifier("warehouse", table), sql.Literal(list(topics)))
    return dict(connection.execute(query).fetchall())
