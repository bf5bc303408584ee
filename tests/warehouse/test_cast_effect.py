"""What metl.cast_effect says of two types is what the warehouse does to values."""

import psycopg
import pytest
from psycopg import sql

#: A value of each type as it comes over the wire, and one that only few other types can hold.
SAMPLES = {
    "integer": ["12"],
    "decimal": ["12", "1.5"],
    "float": ["12", "1.5"],
    "boolean": ["true"],
    "string": ["12", "Ada"],
    "date": ["2026-01-31"],
    "time": ["12:30:00"],
    "timestamp": ["2026-01-31T00:00:00Z", "2026-01-31T12:30:00Z"],
    "interval": ["P1D"],
    "uuid": ["0189dd4c-5d1c-7d5c-8f5e-1c8a4f6f2b11"],
    "json": ['{"a": 1}'],
}
#: Of these all depends on the value.
MIXED = {"any", "object", "array", "geometry", "bytes"}
EFFECTS = {"same", "widening", "may not fit", "no cast"}


def fits(connection: psycopg.Connection, value: str, kind: str, target: str) -> bool:
    cast = "select metl._column_value_sql('read.x', %s, %s, %s)"
    [(made,)] = connection.execute(cast, [kind, kind, target]).fetchall()
    query = sql.SQL("select {} from (select {}::text as x) as read").format(sql.SQL(made), sql.Literal(value))
    try:
        with connection.transaction():
            connection.execute(query)
    except (psycopg.DataError, psycopg.errors.CannotCoerce):
        return False
    return True


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_warehouse_does_as_is_said(kind: str, database: str) -> None:
    with psycopg.connect(database) as connection:
        types = [name for (name,) in connection.execute("select type from metl.type order by type").fetchall()]
        connection.execute("set local timezone = 'UTC'")
        said = {
            target: connection.execute("select metl.cast_effect(%s, %s)", [kind, target]).fetchall()[0][0]
            for target in types
        }
        assert set(said.values()) <= EFFECTS
        for target in set(types) - MIXED:
            fitting = [fits(connection, value, kind, target) for value in SAMPLES[kind]]
            if said[target] in ("same", "widening"):
                assert all(fitting), (kind, target, fitting)
            elif said[target] == "no cast":
                assert not any(fitting), (kind, target, fitting)


def test_sql_tells_what_may_not_fit(database: str) -> None:
    with psycopg.connect(database) as connection:
        told: list[str] = []
        connection.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
        connection.execute("""
            select metl.add_schema_version('shop', 1,
                '[{"name": "active", "type": "text"}, {"name": "n", "type": "int4"}]');
            select metl.add_entity_version('person', 1,
                '[{"name": "is_active", "type": "boolean"}, {"name": "number", "type": "decimal"}]');
            select metl.set_block('shop', 1, 'person', 1, '{"is_active": "active", "number": "n"}');
        """)
        assert told == ["Values of other types: shop.active → person.is_active (string to boolean: may not fit)."]
