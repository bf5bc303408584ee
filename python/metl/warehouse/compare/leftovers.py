"""What the warehouse has that no newest version feeds: it stays there, and no source is behind it any more."""

from collections.abc import Collection

import psycopg
from psycopg import sql


def not_fed(connection: psycopg.Connection, table: str, topic: str, columns: dict[str, str]) -> dict[str, int]:
    """How many rows of a topic still have a value of each attribute, by attribute; `columns` has their columns."""
    if not columns:
        return {}
    counts = sql.SQL(", ").join(sql.SQL("count({})").format(sql.Identifier(name)) for name in columns.values())
    query = sql.SQL("select {} from {} where _source = {} and not _deleted").format(
        counts, sql.Identifier("warehouse", table), sql.Literal(topic)
    )
    [found] = connection.execute(query).fetchall()
    return dict(zip(columns, found, strict=True))


def other_sources(connection: psycopg.Connection, table: str, topics: Collection[str]) -> dict[str, int]:
    """How many rows there are of topics other than these."""
    query = sql.SQL(
        "select _source, count(*) from {} where not _deleted and _source <> all({}::text[]) group by 1 order by 1"
    ).format(sql.Identifier("warehouse", table), sql.Literal(list(topics)))
    return dict(connection.execute(query).fetchall())
