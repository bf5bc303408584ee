"""What feeds what, how it came about, and what it was before."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

STORY = """
select metl.add_entity_version('person', 1,
    '[{"name": "number", "type": "integer"}, {"name": "email", "type": "string"},
      {"name": "phone", "type": "string"}]');
select metl.add_schema_version('shop', 1, '[{"name": "id", "type": "int32"}, {"name": "mail", "type": "string"}]');
select metl.set_block('shop', 1, 'person', 1, '{"number": "id", "email": "mail"}');
select metl.add_schema_version('shop', 3, '[{"name": "id", "type": "int64"}]');
select metl.add_schema_version('bank', 1, '[{"name": "contact", "type": "string"}]');
select metl.set_block('bank', 1, 'person', 1, '{"email": "contact"}');
"""

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def connection(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(STORY)
        yield connection


def rows(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode()).fetchall()


def test_what_a_schema_version_feeds(connection: Connection) -> None:
    assert sorted(rows(connection, "select * from metl.feeds('shop', 1)")) == [
        ("person", 1, "id", "number"),
        ("person", 1, "mail", "email"),
    ]


def test_what_feeds_an_entity_version(connection: Connection) -> None:
    assert sorted(rows(connection, "select * from metl.fed_by('person', 1)")) == [
        ("bank", 1, "contact", "email"),
        ("shop", 1, "id", "number"),
        ("shop", 1, "mail", "email"),
        ("shop", 3, "id", "number"),
    ]


def test_names_are_found_by_a_part_with_what_they_map_to(connection: Connection) -> None:
    connection.execute("""select metl.add_schema_version('gone.mail', 1, '[{"name": "mail", "type": "string"}]')""")
    connection.execute("select metl.delete_schema_version('gone.mail', 1)")
    assert sorted(rows(connection, "select * from metl.search('MAIL')")) == [
        ("attribute", "shop", [1], "mail", "person", 1, "email"),
        ("entity_attribute", "bank", [1], "contact", "person", 1, "email"),
        ("entity_attribute", "shop", [1], "mail", "person", 1, "email"),
    ]
    assert sorted(rows(connection, "select * from metl.search('p')")) == [
        ("entity", "bank", [1], None, "person", 1, None),
        ("entity", "shop", [1, 3], None, "person", 1, None),
        ("entity_attribute", None, None, None, "person", 1, "phone"),
        ("schema", "shop", [1, 3], None, "person", 1, None),
    ]
    assert rows(connection, "select * from metl.search('%')") == []


def test_how_a_schema_went_through_its_versions(connection: Connection) -> None:
    query = "select version, change, attribute, entity_attribute from metl.progression('shop')"
    assert rows(connection, query) == [
        (1, "gained", "mail", "email"),
        (1, "gained", "id", "number"),
        (3, "lost", "mail", "email"),
    ]


def test_how_an_entity_is_covered(connection: Connection) -> None:
    assert rows(connection, "select * from metl.coverage('person', 1)") == [
        ("number", "integer", 1, ["shop"], ["shop"], [], "keep"),
        ("email", "string", 1, ["bank"], ["bank", "shop"], [{"schema": "shop", "version": 3, "state": 4}], "keep"),
        ("phone", "string", 0, [], [], [], "keep"),
    ]


def test_what_changed_between_two_states(connection: Connection) -> None:
    assert rows(connection, "select * from metl.diff(3, 4)") == [("gained", "shop", 3, "person", 1, "id", "number")]
    assert rows(connection, "select change, schema from metl.diff(6, 5)") == [("lost", "bank")]
    assert rows(connection, "select count(*) from metl.decompaction_at(0)") == [(0,)]


@pytest.mark.parametrize(
    "search",
    [
        "feeds('shop', 2)",
        "fed_by('person', 2)",
        "progression('x')",
        "coverage('x', 1)",
        "matrix_block('x', 1, 'person', 1)",
    ],
)
def test_what_is_not_there_is_an_error(connection: Connection, search: str) -> None:
    with pytest.raises(psycopg.errors.UndefinedObject) as refusal:
        rows(connection, f"select * from metl.{search}")
    assert refusal.value.diag.message_hint
