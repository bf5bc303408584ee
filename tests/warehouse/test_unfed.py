"""Columns that a schema does not feed any more: who says so, and what becomes of their values."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.unit.test_cli import metl
from tests.warehouse.staging import Staged, merge, start

NAMES = ("number", "email")


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection]:
    """Two shops feed a person, three rows each; version 2 of the first comes without the mail."""
    with psycopg.connect(database, autocommit=True) as connection:
        typed = json.dumps([{"name": name, "type": "string"} for name in NAMES])
        connection.execute("select metl.add_entity_version('person', 1, %s)", [typed])
        for source in ("shop.a", "shop.b"):
            connection.execute("select metl.add_schema_version(%s, 1, %s)", [source, typed])
            mapping = json.dumps({name: name for name in NAMES})
            connection.execute("select metl.set_block(%s, 1, 'person', 1, %s)", [source, mapping])
        start(connection)
        merge(connection, [record(connection, source, n) for source in ("shop.a", "shop.b") for n in range(3)])
        yield connection


def record(
    connection: psycopg.Connection, source: str, number: int, op: str = "c", offset: int = 0, version: int = 1
) -> Staged:
    [(state,)] = connection.execute("select metl.current_state()").fetchall()
    after: dict[str, Any] = {"number": f"{number}.{offset}", "email": f"{source} {number} {offset}"}
    if version == 2:
        del after["email"]
    return Staged("person", source, json.dumps({"id": number}), 0, 10 * offset + number, 1, op, after, state, version)


def shrink(connection: psycopg.Connection) -> int:
    shrunk = """select metl.add_schema_version('shop.a', 2, '[{"name": "number", "type": "string"}]')"""
    return int(connection.execute(shrunk).fetchall()[0][0])


def emails(connection: psycopg.Connection) -> dict[tuple[str, int], str | None]:
    found = connection.execute("select _source, (_key ->> 'id')::int, email from warehouse.person").fetchall()
    return {(source, number): email for source, number, email in found}


def comment(connection: psycopg.Connection) -> str:
    query = "select description from metl.warehouse_columns where column_name = 'email'"
    return str(connection.execute(query).fetchall()[0][0])


def unfed(connection: psycopg.Connection) -> list[tuple[Any, ...]]:
    query = "select sources, schemas, all_schemas, unfed, column_policy from metl.coverage('person', 1)"
    return connection.execute(query).fetchall()[1:]


FIRST = {(source, number): f"{source} {number} 0" for source in ("shop.a", "shop.b") for number in range(3)}


def test_values_stay_and_the_column_says_so(connection: psycopg.Connection) -> None:
    assert comment(connection) == "Attribute email."
    state = shrink(connection)
    merge(connection, [record(connection, "shop.a", 1, "u", offset=1, version=2)])
    assert emails(connection) == FIRST
    assert comment(connection) == (
        f"Attribute email. Not fed by shop.a since version 2, state {state}: its rows keep what they had."
    )
    assert unfed(connection) == [
        (1, ["shop.b"], ["shop.a", "shop.b"], [{"schema": "shop.a", "version": 2, "state": state}], "keep")
    ]
    # Other edits of the block do not make it later; feeding it again takes it back.
    connection.execute("""select metl.set_block('shop.a', 2, 'person', 1, '{}')""")
    assert unfed(connection)[0][3] == [{"schema": "shop.a", "version": 2, "state": state}]
    added = """[{"name": "number", "type": "string"}, {"name": "email", "type": "string"}]"""
    connection.execute("select metl.add_schema_version('shop.a', 3, %s)", [added])
    connection.execute("""select metl.set_block('shop.a', 3, 'person', 1, '{"email": "email"}')""")
    assert unfed(connection) == [(2, ["shop.a", "shop.b"], ["shop.a", "shop.b"], [], "keep")]
    merge(connection, [record(connection, "shop.b", 1, "u", offset=1)])
    assert comment(connection) == "Attribute email."
    # By hand, and by the end of a schema.
    [(edited,)] = connection.execute("select metl.set_block('shop.a', 3, 'person', 1, '{}')").fetchall()
    assert unfed(connection)[0][3] == [{"schema": "shop.a", "version": 2, "state": state}]
    [(ended,)] = connection.execute("select metl.delete_schema_version('shop.b', 1)").fetchall()
    assert edited < ended
    assert unfed(connection)[0][3][1] == {"schema": "shop.b", "version": None, "state": ended}


def test_values_are_cleared_in_the_rows_of_that_schema_and_stay_so(
    connection: psycopg.Connection, database: str
) -> None:
    state = shrink(connection)
    result = metl("plans", "policy", "set-column", "person", "email", "clear", "--yes", METL_DSN=database)
    assert (result.exit_code, result.stdout) == (
        0,
        "person.email: clear. It becomes null in rows whose schema does not feed it any more.\n",
    )
    cleared = {at: None if at[0] == "shop.a" else email for at, email in FIRST.items()}
    assert emails(connection) == cleared
    assert comment(connection).endswith(f"Not fed by shop.a since version 2, state {state}: null in its rows.")
    # Whatever comes later, also late from a version that had it, and in which order it may be.
    for version, offset in ((2, 2), (1, 3), (1, 1)):
        merge(connection, [record(connection, "shop.a", 1, "u", offset, version)])
    merge(connection, [record(connection, "shop.a", 4, version=1), record(connection, "shop.b", 0, "u", 1)])
    assert emails(connection) == {**cleared, ("shop.a", 4): None, ("shop.b", 0): "shop.b 0 1"}
    assert connection.execute("select count(*) from warehouse.person where _kept is not null").fetchall() == [(0,)]
    connection.execute("select metl.open_initial_load('person')")
    connection.execute("""insert into pg_temp.initial_load (_key, number, email) values ('{"id": 5}', '5', 'by SQL')""")
    by_sql = "select metl.merge_initial_load('person', 'shop.a', 'shop.a', 1, now(), '{number,email}')"
    assert connection.execute(by_sql.encode()).fetchall() == [(1,)]
    assert emails(connection)["shop.a", 5] is None
    assert "shop.a since version 2, state" in metl("entities", "coverage", "person", METL_DSN=database).stdout
    assert "email clear" in " ".join(metl("plans", "policy", "columns", METL_DSN=database).stdout.split())


def test_a_policy_that_was_there_before_is_taken_up_with_the_state(connection: psycopg.Connection) -> None:
    connection.execute("select metl.set_column_policy('person', 'email', 'clear')")
    merge(connection, [record(connection, "shop.b", 1, "u", offset=1)])
    assert emails(connection)["shop.a", 1] == "shop.a 1 0"
    shrink(connection)
    # Rows of whichever source: the table takes the state up.
    merge(connection, [record(connection, "shop.b", 2, "u", offset=1)])
    assert {emails(connection)["shop.a", number] for number in range(3)} == {None}
    connection.execute("select metl.set_column_policy('person', 'email', 'keep')")
    merge(connection, [record(connection, "shop.a", 1, "u", offset=2)])
    assert emails(connection)["shop.a", 1] == "shop.a 1 2"


def test_a_large_table_is_cleared_in_steps(connection: psycopg.Connection) -> None:
    connection.execute("""
        insert into warehouse.person (_source, _key, _deleted, _schema, _version, email)
        select 'shop.a', to_jsonb(n), false, 'shop.a', 1, repeat('x', 1900) from generate_series(10, 10009) as n
    """)
    shrink(connection)
    connection.execute("select metl.set_column_policy('person', 'email', 'clear')")
    left = "select count(*) from warehouse.person where _schema = 'shop.a' and email is not null"
    counts = [10003]
    while connection.execute("select metl.clear_columns('person')").fetchall() != [(0,)]:
        counts += connection.execute(left).fetchall()[0]
    assert connection.execute(left).fetchall() == [(0,)]
    assert counts == sorted(set(counts), reverse=True) and len(counts) > 1
    assert emails(connection)["shop.b", 1] == "shop.b 1 0"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("person", "email"), "Missing argument '{keep|clear}'"),
        (("person", "email", "clear"), "Add --yes to do it; nothing was done."),
        (("persn", "email", "clear"), "There is no entity 'persn'. Did you mean 'person'?"),
        (("person", "mail", "clear"), "Entity 'person' has no attribute 'mail'."),
        (("person", "email", "drop"), "'drop' is not one of 'keep', 'clear'"),
    ],
)
def test_a_policy_that_cannot_be(database: str, words: tuple[str, ...], sentence: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("""select metl.add_entity_version('person', 1, '[{"name": "email", "type": "string"}]')""")
    result = metl("plans", "policy", "set-column", *words, METL_DSN=database)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
