"""A topic that was made anew begins at offset 0 again: its records count, though their offsets are lower."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.warehouse.staging import Staged, merge, start, table

SOURCES = ("shop.a", "shop.b")
ENTITIES = ("thing", "other")


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection]:
    typed = json.dumps([{"name": name, "type": "integer"} for name in ("x", "y")])
    with psycopg.connect(database, autocommit=True) as connection:
        for entity in ENTITIES:
            connection.execute("select metl.add_entity_version(%s, 1, %s)", [entity, typed])
        for source in SOURCES:
            connection.execute("select metl.add_schema_version(%s, 1, %s)", [source, typed])
            for entity in ENTITIES:
                mapping = '{"x": "x", "y": "y"}'
                connection.execute("select metl.set_block(%s, 1, %s, 1, %s)", [source, entity, mapping])
        start(connection)
        yield connection


def record(connection: psycopg.Connection, op: str, offset: int, at: int, number: int = 1, **more: Any) -> Staged:
    [(state,)] = connection.execute("select metl.current_state()").fetchall()
    given: dict[str, Any] = {"entity": "thing", "source": "shop.a", "partition": 0, "after": None, **more}
    return Staged(key=json.dumps({"id": number}), op=op, offset=offset, at=at, state=state, **given)


def forget(connection: psycopg.Connection, source: str) -> int:
    [(count,)] = connection.execute("select metl.forget_positions(%s)", [source]).fetchall()
    return int(count)


def rows(connection: psycopg.Connection) -> list[tuple[Any, ...]]:
    query = """
        select (_key ->> 'id')::int, x, y, _deleted from warehouse.thing where _source = 'shop.a' order by 1
    """
    return connection.execute(query).fetchall()


def test_lower_offsets_count_from_then_on(connection: psycopg.Connection) -> None:
    before = [
        record(connection, "c", 100, 50, after={"x": 1, "y": 2}),
        record(connection, "d", 101, 50, 2),
        record(connection, "c", 102, 50, 3, after={"x": 3}),
    ]
    # Before the time of the others, too: a restored source has old ones.
    anew = [
        record(connection, "r", 0, 7, after={"x": 10, "y": 20}),
        record(connection, "r", 1, 0, 2, partition=1, after={"x": 11}),
    ]
    assert merge(connection, before) == 0
    was = rows(connection)
    assert merge(connection, anew) == 0
    assert rows(connection) == was, "nobody has said so yet"
    assert forget(connection, "shop.a") == 3
    assert rows(connection) == was
    for _ in range(2):
        assert merge(connection, anew) == 0
        assert rows(connection) == [(1, 10, 20, False), (2, 11, None, False), (3, 3, None, False)]


def test_what_a_record_leaves_out_stays_until_an_older_one_has_it(connection: psycopg.Connection) -> None:
    kept = record(connection, "u", 100, 50, after={"x": 1}, unavailable=("y",))
    merge(connection, [record(connection, "c", 99, 50, after={"y": 2})])
    merge(connection, [kept])
    forget(connection, "shop.a")
    merge(connection, [record(connection, "u", 5, 7, after={"x": 10}, unavailable=("y",))])
    assert rows(connection) == [(1, 10, 2, False)]
    merge(connection, [record(connection, "r", 3, 7, after={"x": 9, "y": 20})])
    assert rows(connection) == [(1, 10, 20, False)]


def test_truncates_and_rejected_records_are_forgotten(connection: psycopg.Connection) -> None:
    bad = record(connection, "c", 1, 7, 4, after={"x": "much"})
    truncate = Staged("thing", "shop.a", "null", 0, 100, 50, "t", None, bad.state)
    assert merge(connection, [truncate, bad]) == 0, "it is from before the truncate"
    assert merge(connection, [record(connection, "c", 101, 50, 4, after={"x": "much"})]) == 1
    forget(connection, "shop.a")
    assert connection.execute("select * from warehouse._rejected").fetchall() == []
    assert merge(connection, [record(connection, "c", 0, 7, after={"x": 1}), bad]) == 1
    assert (1, 1, None, False) in rows(connection)
    assert connection.execute('select "offset" from warehouse._rejected').fetchall() == [(1,)]


def test_other_sources_are_left_alone(connection: psycopg.Connection) -> None:
    for entity in ENTITIES:
        for source in SOURCES:
            merge(connection, [record(connection, "c", 100, 50, after={"x": 1}, entity=entity, source=source)])
    connection.execute("drop table warehouse.other")
    untouched = table(connection, "thing")[1]
    assert forget(connection, "shop.a") == 1
    assert table(connection, "thing")[1] == untouched
    assert forget(connection, "shop.c") == 0
