"""Tables take the shape of their entities without losing rows, and nobody alters them behind METL's back."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors

from tests.live.running import job_role
from tests.warehouse.staging import JOB, Staged, merge, start, table

LONG = "a very long name " * 20


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection]:
    """With an entity of two attributes, and three rows of it."""
    with psycopg.connect(database, autocommit=True) as connection:
        typed = [
            {"name": "number", "type": "string", "description": "As printed on it."},
            {"name": "count", "type": "string"},
        ]
        connection.execute("select metl.add_schema_version('shop.thing', 1, %s)", [json.dumps(typed)])
        connection.execute("select metl.add_entity_version('thing', 1, %s)", [json.dumps(typed)])
        state = set_block(connection, 1, {"number": "number", "count": "count"})
        start(connection)
        rows = [{"number": f"n{n}", "count": str(n)} for n in range(3)]
        assert merge(connection, [record(state, n, after) for n, after in enumerate(rows)]) == 0
        yield connection


def set_block(connection: psycopg.Connection, version: int, mapping: dict[str, str]) -> int:
    [(state,)] = connection.execute(
        "select metl.set_block('shop.thing', 1, 'thing', %s, %s)", [version, json.dumps(mapping)]
    ).fetchall()
    return int(state)


def record(state: int, number: int, after: dict[str, Any]) -> Staged:
    return Staged("thing", "shop.thing", f'{{"id":{number}}}', 0, number, number, "c", after, state)


def elevate(connection: psycopg.Connection, version: int, *attributes: dict[str, Any]) -> None:
    connection.execute("select metl.add_entity_version('thing', %s, %s)", [version, json.dumps(attributes)])


def columns(connection: psycopg.Connection) -> dict[str, tuple[str, str | None]]:
    query = "select column_name, column_type, description from metl.warehouse_columns where table_name = 'thing'"
    return {name: (kind, text) for name, kind, text in connection.execute(query.encode())}


def test_everything_is_described(connection: psycopg.Connection) -> None:
    found = columns(connection)
    assert found["number"] == ("text", "Attribute number. As printed on it.")
    assert all(text for _, text in found.values())
    [(text,)] = connection.execute("select obj_description('warehouse.thing'::regclass)").fetchall()
    assert text == "Entity thing, version 1: a row for each key of each source."


def test_an_elevation_keeps_every_row(connection: psycopg.Connection) -> None:
    """One is renamed, one gets another type, one is new."""
    elevate(
        connection, 2,
        {"name": "label", "type": "string", "renamed_from": "number"},
        {"name": "count", "type": "integer"},
        {"name": "colour", "type": "string"},
    )  # fmt: skip
    connection.execute("select metl._ensure_entity_table('thing')")
    rows = connection.execute("select label, count, colour from warehouse.thing order by label").fetchall()
    assert rows == [("n0", 0, None), ("n1", 1, None), ("n2", 2, None)]


def test_names_that_change_places(connection: psycopg.Connection) -> None:
    elevate(
        connection, 2,
        {"name": "count", "type": "string", "renamed_from": "number"},
        {"name": "number", "type": "string", "renamed_from": "count"},
    )  # fmt: skip
    connection.execute("select metl._ensure_entity_table('thing')")
    assert ("n1", "1") in connection.execute("select count, number from warehouse.thing").fetchall()


def test_what_is_dropped_is_kept_aside(connection: psycopg.Connection) -> None:
    elevate(connection, 2, {"name": "number", "type": "string"})
    connection.execute("select metl._ensure_entity_table('thing')")
    [old] = [name for name in columns(connection) if name.startswith("_old_")]
    assert "No longer part" in str(columns(connection)[old][1])
    assert len(connection.execute(f'select from warehouse.thing where "{old}" is not null'.encode()).fetchall()) == 3
    # A name that comes back is another column.
    elevate(connection, 3, {"name": "number", "type": "string"}, {"name": "count", "type": "integer"})
    connection.execute("select metl._ensure_entity_table('thing')")
    assert {old, "count", "number"} <= columns(connection).keys()


def test_a_type_that_values_do_not_fit_is_refused(connection: psycopg.Connection) -> None:
    before = table(connection, "thing")
    elevate(connection, 2, {"name": "number", "type": "integer"}, {"name": "count", "type": "string"})
    with pytest.raises(errors.DatatypeMismatch, match=r"Column number .* cannot become bigint: .*n0"):
        connection.execute("select metl._ensure_entity_table('thing')")
    assert table(connection, "thing") == before


def test_older_records_find_their_columns(connection: psycopg.Connection) -> None:
    """Mapped before the elevation, merged after it."""
    [(state,)] = connection.execute("select metl.current_state()").fetchall()
    elevate(
        connection, 2,
        {"name": "label", "type": "string", "renamed_from": "number"},
        {"name": "count", "type": "integer"},
    )  # fmt: skip
    assert merge(connection, [record(state, 9, {"number": "n9", "count": "9"})]) == 0
    assert ("n9", 9) in connection.execute("select label, count from warehouse.thing").fetchall()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("alter table warehouse.thing drop column count", "altered by hand: column count is missing"),
        ("alter table warehouse.thing alter count type int using 1", "column count is integer instead of text"),
        ("alter table warehouse.thing rename _offset to place", "column _offset is missing"),
        ("drop table warehouse.thing", "is gone"),
    ],
)
def test_a_table_altered_by_hand(connection: psycopg.Connection, change: str, complaint: str) -> None:
    connection.execute(change.encode())
    with pytest.raises(psycopg.Error, match=complaint) as caught:
        merge(connection, [record(4, 5, {"number": "n5"})])
    assert caught.value.diag.message_hint


def test_a_dropped_table_is_made_anew_when_it_is_forgotten(connection: psycopg.Connection) -> None:
    with pytest.raises(errors.ObjectInUse, match="still there"):
        connection.execute("select metl.forget_warehouse_table('thing')")
    connection.execute("drop table warehouse.thing")
    connection.execute("select metl.forget_warehouse_table('thing')")
    [(state,)] = connection.execute("select metl.current_state()").fetchall()
    assert merge(connection, [record(state, 5, {"number": "n5"})]) == 0
    assert len(table(connection, "thing")) == 1


def test_awkward_names(connection: psycopg.Connection) -> None:
    names = ["_offset", "xmin", LONG, LONG + "!", 'quo"te', "Größe", "%s{}:condition", "select"]
    typed = json.dumps([{"name": name, "type": "string"} for name in names])
    connection.execute("select metl.add_schema_version('shop.odd', 1, %s)", [typed])
    connection.execute("select metl.add_entity_version('_odd', 1, %s)", [typed])
    [(state,)] = connection.execute(
        "select metl.set_block('shop.odd', 1, '_odd', 1, %s)", [json.dumps({name: name for name in names})]
    ).fetchall()
    odd = Staged("_odd", "shop.odd", "1", 0, 1, 1, "c", {name: f"it is {name}" for name in names}, state)
    assert merge(connection, [odd, odd]) == 0
    [(name,)] = connection.execute(
        "select distinct table_name from metl.warehouse_columns where entity = '_odd'"
    ).fetchall()
    [row] = table(connection, name)
    assert [value for value in row if value and value.startswith("it is ")] == [f"it is {name}" for name in names]


def test_who_may_do_what(connection: psycopg.Connection, database: str) -> None:
    with job_role(database, "metl_job") as dsn, psycopg.connect(dsn, autocommit=True) as job:
        [(state,)] = connection.execute("select metl.current_state()").fetchall()
        assert merge(job, [record(state, 7, {"number": "n7"})]) == 0
        for forbidden in ("delete from warehouse.thing", "drop table warehouse.thing", "create table warehouse.x ()"):
            with pytest.raises(errors.InsufficientPrivilege):
                job.execute(forbidden.encode())
    with job_role(database, "metl_reader") as dsn, psycopg.connect(dsn, autocommit=True) as reader:
        assert len(table(reader, "thing")) == 4
        assert reader.execute("select * from warehouse._rejected").fetchall() == []
        for forbidden in (f"select metl.open_warehouse('{JOB}')", f"select metl.merge_warehouse('{JOB}', 'thing')"):
            with pytest.raises(errors.InsufficientPrivilege):
                reader.execute(forbidden.encode())
