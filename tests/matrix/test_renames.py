"""What looks like a rename, who is told, and what becomes of it when somebody says that it is one."""

import json
from base64 import b64encode
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.matrix.refusal import WRONG, assert_clear
from tests.matrix.test_plans import Connection, ask_before_losses, rows, value

TREES = """
select metl.add_schema_version('shop', 1, '[
    {"name": "id", "type": "int32"}, {"name": "mail", "type": "string"}, {"name": "note", "type": "string"},
    {"name": "born", "type": "date"}]', '{"global_id": 1}');
select metl.add_entity_version('person', 1, '[{"name": "number", "type": "integer"},
    {"name": "email", "type": "string"}, {"name": "remark", "type": "string"}]');
select metl.set_block('shop', 1, 'person', 1, '{"number": "id", "email": "mail", "remark": "note"}');
"""
MAPPED = "select attribute, entity_attribute from metl.decompaction where version = %s order by 2"


@pytest.fixture
def connection(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(TREES)
        yield connection


def attributes(*names: str) -> Jsonb:
    types = {"id": "int32", "born": "date", "shoe_size": "int32"}
    return Jsonb([{"name": name, "type": types.get(name, "string")} for name in names])


RENAMED = attributes("id", "e_mail", "note", "born")


@pytest.mark.parametrize(
    ("names", "guesses"),
    [
        (("id", "mail", "note", "born"), {}),
        (("id", "e_mail", "note", "born"), {"mail": "e_mail"}),
        (("id", "emailAddress", "Note", "born"), {"mail": "emailAddress", "note": "Note"}),
        # At the same place under another name; one that is dropped and one that is added stand apart.
        (("id", "contact", "note", "born"), {"mail": "contact"}),
        (("id", "note", "born", "contact"), {}),
        # By name alone.
        (("id", "note", "born", "e_mail"), {"mail": "e_mail"}),
        # Another type is another attribute.
        (("id", "shoe_size", "note", "born"), {}),
        ((), {}),
    ],
)
def test_what_looks_like_a_rename(connection: Connection, names: tuple[str, ...], guesses: dict[str, str]) -> None:
    found = rows(connection, "select * from metl.plan_renames('shop', 2, %s)", attributes(*names))
    assert {old: new for old, new, _ in found} == guesses
    assert all(0.5 <= score <= 1 for _, _, score in found)


def test_the_likelier_of_two_comes_first(connection: Connection) -> None:
    [(old, new, score)] = rows(
        connection, "select * from metl.plan_renames('shop', 2, %s)", attributes("id", "email", "xyz", "note", "born")
    )
    assert (old, new) == ("mail", "email") and score > 0.9


def test_many_names_are_compared_in_no_time(connection: Connection) -> None:
    wide = [f"column_number_{number}_of_a_wide_table" for number in range(200)]
    connection.execute("select metl.add_schema_version('wide', 1, %s)", [attributes(*wide)])
    connection.execute("set statement_timeout = '20s'")
    renamed = attributes(*(name.upper() for name in wide))
    assert len(rows(connection, "select * from metl.plan_renames('wide', 2, %s)", renamed)) == 200


def test_a_rename_is_confirmed_in_one_state_and_what_follows_is_matched_through_it(connection: Connection) -> None:
    ask_before_losses(connection)
    listing = [
        {"group": "default", "artifact": "shop-value", "version": str(number), "type": "JSON", "global_id": number,
         "position": number, "created_on": "2026-01-01T00:00:00Z"}
        for number in (2, 3)
    ]  # fmt: skip
    note = "select metl.note_registry_versions('apicurio', null, %s, null)"
    connection.execute(note, [Jsonb(listing)])
    take = "select event, lost from metl.take_registry_version(%s, %s, %s)"
    work = "select entry from metl.registry_work where task = 'take' order by position"
    second, third = (entry for (entry,) in rows(connection, work))
    before = value(connection, "select metl.current_state()")
    assert rows(connection, take, second, RENAMED, Jsonb({"global_id": 2})) == [("waiting", 1)]
    [[[guess]]] = rows(connection, "select likely_renames from metl.plans")
    assert (guess["attribute"], guess["renamed_to"]) == ("mail", "e_mail") and guess["score"] > 0.9
    assert rows(connection, "select kind, likely_renames = %s from metl.notices", Jsonb([guess]))[-1] == (
        "waiting",
        True,
    )
    # Nothing overtakes it; its rows are dead letters meanwhile.
    assert rows(connection, work) == []
    assert rows(connection, take, third, RENAMED, Jsonb({"global_id": 3})) == []
    letter = {
        "partition": 0, "offset": 7, "at": "2026-01-01T00:00:00Z", "key": None, "value": b64encode(b"{}").decode(),
        "error_headers": {"__metl.reason": "unknown_version", "__metl.ref": "global_id 2", "__metl.schema": "shop",
                 "__metl.state": str(before), "__connect.errors.topic": "shop"},
    }  # fmt: skip
    connection.execute("select metl.collect_letters('metl.dead', %s, '{}')", [Jsonb([letter])])
    assert rows(connection, "select letters from metl.due_letters") == []

    assert value(connection, "select metl.confirm_plan(1, %s)", Jsonb({"mail": "e_mail"})) == before + 1
    mapped = [("e_mail", "email"), ("id", "number"), ("note", "remark")]
    assert rows(connection, MAPPED, 2) == mapped
    assert rows(connection, "select decision, renames, state from metl.plans") == [
        ("confirmed", {"mail": "e_mail"}, before + 1)
    ]
    assert rows(connection, "select known_since, letters from metl.due_letters") == [(before + 1, 1)]
    # In no state the version was there without the value.
    assert rows(connection, "select distinct lost from metl.notices where state > %s", before) == [([],)]
    assert rows(connection, work) == [(third,)]
    assert rows(connection, take, third, RENAMED, Jsonb({"global_id": 3})) == [("registered", 0)]
    assert rows(connection, MAPPED, 3) == mapped


@pytest.mark.parametrize(
    ("renames", "message"),
    [
        ({"mial": "e_mail"}, "'mial' is not gone in version 2 of 'shop'."),
        ({"id": "e_mail"}, "'id' is not gone in version 2 of 'shop'."),
        ({"mail": "email"}, "'email' did not come in version 2 of 'shop'."),
        ({"mail": "id"}, "'id' did not come in version 2 of 'shop'."),
        ({"mail": "shoe_size"}, "'mail' is of type string and 'shoe_size' of type integer"),
        ({"mail": "e_mail", "note": "e_mail"}, "Two attributes cannot both be renamed to 'e_mail'."),
        ({"mail": None}, 'The renames are not names by names: {"mail": null}'),
        (["mail"], 'The renames are not names by names: ["mail"]'),
    ],
)
def test_a_rename_that_cannot_be(connection: Connection, renames: object, message: str) -> None:
    ask_before_losses(connection)
    connection.execute("select metl.add_schema_version('shop', 2, %s)", [attributes("id", "e_mail", "shoe_size")])
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("select metl.confirm_plan(1, %s)", [Jsonb(renames)])
    assert_clear(caught.value, WRONG, message)
    assert rows(connection, "select decision from metl.plans") == [("waiting",)]


def test_an_entity_says_itself_what_was_renamed(connection: Connection) -> None:
    ask_before_losses(connection)
    connection.execute("""select metl.add_entity_version('person', 2, '[{"name": "mail", "type": "string"}]')""")
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("""select metl.confirm_plan(1, '{"email": "mail"}')""")
    assert_clear(caught.value, WRONG, "Plan 1 adds a version of entity 'person'")


def test_without_a_policy_a_guess_is_told_and_nothing_is_guessed(connection: Connection) -> None:
    connection.execute("select metl.add_schema_version('shop', 2, %s)", [attributes("id", "e_mail", "born")])
    assert rows(connection, MAPPED, 2) == [("id", "number")]
    [(lost, guesses)] = rows(connection, "select lost, likely_renames from metl.notices where kind = 'shrunk'")
    assert [cell["attribute"] for cell in lost] == ["mail", "note"]
    assert [(each["attribute"], each["renamed_to"]) for each in guesses] == [("mail", "e_mail")]
    # What stays is not spoken of.
    assert "id" not in json.dumps(guesses)
