"""What an update would do, who is asked before it does it, and what becomes of the answer."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

TREES = """
select metl.add_schema_version('shop', 1, '[{"name": "id", "type": "int32"}, {"name": "mail", "type": "string"}]');
select metl.add_entity_version('person', 1,
    '[{"name": "number", "type": "integer"}, {"name": "email", "type": "string"}]');
select metl.set_block('shop', 1, 'person', 1, '{"number": "id"}');
"""
ONLY_MAIL = '[{"name": "mail", "type": "string"}]'
ALL = '[{"name": "id", "type": "int64"}, {"name": "e_mail", "type": "string", "renamed_from": "mail"}]'

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def connection(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(TREES)
        yield connection


def rows(connection: Connection, query: str, *values: object) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode(), values).fetchall()


def value(connection: Connection, query: str, *values: object) -> Any:
    [[found]] = rows(connection, query, *values)
    return found


def ask_before_losses(connection: Connection) -> None:
    connection.execute("select metl.set_policy('shop', 'person', 'confirm')")


def test_a_plan_shows_what_adding_would_do_and_does_nothing(connection: Connection) -> None:
    connection.execute("""select metl.set_block('shop', 1, 'person', 1, '{"number": "id", "email": "mail"}')""")
    before = value(connection, "select metl.current_state()")
    plan = "select attribute, entity_attribute, fate, reason from metl.plan_schema_version('shop', 2, %s) order by 2"
    assert rows(connection, plan, ALL) == [("e_mail", "email", "kept", None), ("id", "number", "kept", None)]
    assert rows(connection, plan, ONLY_MAIL) == [("mail", "email", "kept", None), ("id", "number", "lost", "dropped")]
    retyped = '[{"name": "id", "type": "string"}, {"name": "mail", "type": "string"}]'
    assert rows(connection, plan, retyped)[1] == ("id", "number", "lost", "type_changed")
    assert value(connection, "select metl.current_state()") == before


def test_a_plan_of_a_run_is_what_setting_it_does(connection: Connection) -> None:
    connection.execute("select metl.add_schema_version('shop', 2, %s)", [ALL])
    connection.execute("select metl.add_schema_version('shop', 3, %s)", [ONLY_MAIL])
    arguments = """('shop', 1, 'person', 1, '{"email": "mail"}')"""
    planned = rows(
        connection,
        f"select fate, version, attribute, entity_attribute from metl.plan_run{arguments} where fate <> 'kept'",
    )
    assert sorted(planned) == [
        ("gained", 1, "mail", "email"),
        ("gained", 2, "e_mail", "email"),
        ("lost", 1, "id", "number"),
        ("lost", 2, "id", "number"),
    ]
    state = value(connection, f"select metl.set_run{arguments}")
    done = "select change, version, attribute, entity_attribute from metl.diff(%s, %s)"
    assert sorted(rows(connection, done, state - 1, state)) == sorted(planned)


def test_a_draft_is_simulated_against_the_latest_version(connection: Connection) -> None:
    simulate = "select entity, attribute, entity_attribute, reason from metl.simulate('shop', %s)"
    assert rows(connection, simulate, ALL) == []
    assert rows(connection, simulate, ONLY_MAIL) == [("person", "id", "number", "dropped")]
    with pytest.raises(psycopg.errors.UndefinedObject, match="There is no schema 'shopp'"):
        rows(connection, "select metl.simulate('shopp', %s)", ALL)


def test_a_loss_waits_until_it_is_confirmed(connection: Connection) -> None:
    ask_before_losses(connection)
    before = value(connection, "select metl.current_state()")
    assert value(connection, "select metl.add_schema_version('shop', 2, %s)", ONLY_MAIL) == before
    assert rows(connection, "select version from metl.schema_versions where schema = 'shop'") == [(1,)]
    assert value(connection, "select metl.confirm_plan(1)") == before + 1
    assert rows(connection, "select decision, decided_by is not null, state from metl.plans") == [
        ("confirmed", True, before + 1)
    ]
    assert rows(connection, "select distinct version from metl.decompaction") == [(1,)]


def test_what_loses_nothing_does_not_wait(connection: Connection) -> None:
    ask_before_losses(connection)
    connection.execute("select metl.add_schema_version('shop', 2, %s)", [ALL])
    assert rows(connection, "select version, attribute from metl.decompaction order by 1") == [(1, "id"), (2, "id")]


def test_a_rejected_plan_leaves_its_number_free(connection: Connection) -> None:
    ask_before_losses(connection)
    connection.execute("select metl.add_schema_version('shop', 2, %s)", [ONLY_MAIL])
    connection.execute("select metl.reject_plan(1)")
    connection.execute("select metl.add_schema_version('shop', 2, %s)", [ALL])
    assert rows(connection, "select decision from metl.plans") == [("rejected",)]


@pytest.mark.parametrize("version", [2, 3])
def test_nothing_overtakes_a_version_that_waits(connection: Connection, version: int) -> None:
    ask_before_losses(connection)
    connection.execute("select metl.add_schema_version('shop', 2, %s)", [ONLY_MAIL])
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="Version 2 of 'shop' waits as plan 1"):
        connection.execute("select metl.add_schema_version('shop', %s, %s)", [version, ALL])


def test_a_confirmation_covers_only_what_was_shown(connection: Connection) -> None:
    ask_before_losses(connection)
    connection.execute("select metl.add_schema_version('shop', 2, '[]')")
    connection.execute("""select metl.set_block('shop', 1, 'person', 1, '{"number": "id", "email": "mail"}')""")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="lose cells that it did not show"):
        connection.execute("select metl.confirm_plan(1)")
    assert rows(connection, "select decision from metl.plans") == [("waiting",)]


def test_a_decision_settles_the_notices_of_its_own_plan_only(connection: Connection) -> None:
    ask_before_losses(connection)
    connection.execute("select metl.add_schema_version('shop', 2, '[]')")
    connection.execute("select metl.add_entity_version('person', 2, '[]')")
    connection.execute("select metl.reject_plan(1)")
    waiting = "select entity_version, confirmed_at is null from metl.notices where kind = 'waiting' order by 1"
    assert rows(connection, waiting) == [(1, False), (2, True)]


def test_a_policy_set_meanwhile_is_not_overlooked(connection: Connection, database: str) -> None:
    with psycopg.connect(database) as late:
        late.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        late.execute("select metl.current_state()")
        connection.execute("select metl.set_policy('shop', 'person', 'freeze')")
        with pytest.raises(psycopg.errors.SerializationFailure):
            late.execute("select metl.set_block('shop', 1, 'person', 1, '{}')")


@pytest.mark.parametrize(
    ("policies", "in_force"),
    [
        ([], "auto"),
        ([(None, None, "freeze")], "freeze"),
        ([(None, None, "freeze"), ("shop", None, "auto")], "auto"),
        ([("shop", None, "confirm"), (None, "person", "auto")], "confirm"),
        ([("shop", None, "confirm"), (None, "person", "freeze"), ("shop", "person", "auto")], "auto"),
    ],
)
def test_the_most_specific_policy_wins_and_then_the_stricter(
    connection: Connection, policies: list[tuple[str | None, str | None, str]], in_force: str
) -> None:
    for policy in policies:
        connection.execute("select metl.set_policy(%s, %s, %s)", policy)
    assert value(connection, "select metl.policy_of('shop', 'person')") == in_force
