"""What is wrong is refused with a code, the value and a hint; no state is consumed and nothing changes."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.conftest import scratch_database

Connection = psycopg.Connection[tuple[Any, ...]]
Call = tuple[Any, ...]  # a statement and its parameters
Dump = dict[str, list[tuple[Any, ...]]]

UNKNOWN = "42704"  # undefined_object
TAKEN = "42710"  # duplicate_object
WRONG = "22023"  # invalid_parameter_value
NOT_ONE_TO_ONE = "23505"  # unique_violation
TOO_LONG = "42622"  # name_too_long
NOT_NOW = "55000"  # object_not_in_prerequisite_state
BROKEN = "23000"  # integrity_constraint_violation

# Schema shop.public.customer has versions 1, 2, 4 (deleted) and 5; entity customer is at version 3, after 2.
# Version 5 maps nothing to customer: a null block ends the run of version 1, and version 6 takes it up again.
TREES = """
select metl.add_schema_version('shop.public.customer', 1,
    '[{"name": "id", "type": "int32"}, {"name": "mail", "type": "string"}]');
select metl.add_entity_version('customer', 2, '[{"name": "key", "type": "integer"}]');
select metl.add_entity_version('customer', 3,
    '[{"name": "key", "type": "integer"}, {"name": "email", "type": "string"}]');
select metl.add_entity_version('gone', 1, '[{"name": "x", "type": "string"}]');
select metl.delete_entity_version('gone', 1);
select metl.set_block('shop.public.customer', 1, 'customer', 3, '{"key": "id", "email": "mail"}');
select metl.add_schema_version('shop.public.customer', version,
    '[{"name": "id", "type": "int64"}, {"name": "mail", "type": "text"}, {"name": "phone", "type": "text"}]')
from unnest(array[2, 4, 5, 6]) as version;
select metl.delete_schema_version('shop.public.customer', 4);
select metl.set_block('shop.public.customer', 5, 'customer', 3, '{}');
select metl.add_schema_version('bank', 1, '[{"name": "iban", "type": "string"}]');
select metl.set_block('bank', 1, 'customer', 3, '{"email": "iban"}');
select metl.add_schema_version('bank', version, '[{"name": "iban", "type": "string"}]')
from unnest(array[2, 5]) as version;
select metl.set_block('bank', 5, 'customer', 3, '{}');
select metl.add_schema_version('unmapped', 6, '[]');
select metl.add_entity_version('account', 1, '[{"name": "number", "type": "string"}]');
select metl.set_policy('bank', 'account', 'freeze');
"""
VIEWS = [
    "schema_versions", "schema_attributes", "entity_versions", "entity_attributes", "decompaction", "dusb",
    "notices", "states", "policies", "plans", "check()", "current_state()",
]  # fmt: skip
LONG = "n" * 2000
ONE = '[{"name": "id", "type": "int32"}]'


@pytest.fixture(scope="module")
def loaded(postgres: str, template: str) -> Iterator[Connection]:
    with (
        scratch_database(postgres, template) as name,
        psycopg.connect(make_conninfo(postgres, dbname=name)) as connection,
    ):
        connection.execute(TREES)
        connection.commit()
        yield connection


@pytest.fixture
def connection(loaded: Connection) -> Iterator[Connection]:
    yield loaded
    loaded.rollback()


def dump(connection: Connection) -> Dump:
    return {view: sorted(connection.execute(f"select * from metl.{view}").fetchall(), key=repr) for view in VIEWS}


def refusal(connection: Connection, statement: str, *parameters: object) -> psycopg.Error:
    """The error of a statement that has to fail and to leave everything as it was."""
    before = dump(connection)
    with pytest.raises(psycopg.Error) as caught, connection.transaction():
        connection.execute(statement, parameters or None)
    assert dump(connection) == before
    return caught.value


def assert_clear(error: psycopg.Error, sqlstate: str, value: str) -> None:
    assert error.diag.message_primary and error.diag.message_hint
    assert value in error.diag.message_primary
    assert error.sqlstate == sqlstate, error


def attributes(**changes: object) -> str:
    return json.dumps([{"name": "id", "type": "int32"} | changes])


def schema_version(attributes: str | None, version: int | None = 9, schema: str | None = "bank") -> Call:
    return "select metl.add_schema_version(%s, %s, %s)", schema, version, attributes


def entity_version(attributes: str | None, version: int | None = 9, entity: str | None = "account") -> Call:
    return "select metl.add_entity_version(%s, %s, %s)", entity, version, attributes


def mapping(mapping: str | None) -> Call:
    return "select metl.set_block('shop.public.customer', 1, 'customer', 3, %s)", mapping


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("select metl.set_block('shop', 1, 'customer', 3, '{}')", "shop"),
        ("select metl.set_block(null, 1, 'customer', 3, '{}')", "null"),
        ("select metl.set_block('bank', 3, 'customer', 3, '{}')", "3"),
        ("select metl.set_block('bank', null, 'customer', 3, '{}')", "null"),
        ("select metl.set_block('shop.public.customer', 4, 'customer', 3, '{}')", "4"),
        ("select metl.set_block('bank', 1, 'customers', 3, '{}')", "customers"),
        ("select metl.set_block('bank', 1, null, 3, '{}')", "null"),
        ("select metl.set_block('bank', 1, 'customer', 2, '{}')", "2"),
        ("select metl.set_block('bank', 1, 'customer', 4, '{}')", "4"),
        ("select metl.set_block('bank', 1, 'customer', null, '{}')", "null"),
        ("select metl.set_block('bank', 1, 'gone', 1, '{}')", "gone"),
        ("select metl.set_block('bank', 1, 'customer', 3, '{\"mail\": \"iban\"}')", "mail"),
        ("select metl.set_block('bank', 1, 'customer', 3, '{\"email\": \"IBAN\"}')", "IBAN"),
        ("select metl.set_block('bank', 1, 'customer', 3, '{\"email\": \"\"}')", "''"),
        ("select metl.set_run('shop', 1, 'customer', 3, '{}')", "shop"),
        ("select metl.set_run('bank', 3, 'customer', 3, '{}')", "3"),
        ("select metl.set_run('bank', 1, 'customer', 2, '{}')", "2"),
        ("select metl.set_run('bank', 1, 'customer', 3, '{\"email\": \"mail\"}')", "mail"),
        ("select * from metl.matrix_block('shop', 1, 'customer', 3)", "shop"),
        ("select * from metl.matrix_block('bank', 1, 'gone', 1)", "gone"),
        ("select metl.delete_schema_version('shop', 1)", "shop"),
        ("select metl.delete_schema_version('bank', 3)", "3"),
        ("select metl.delete_schema_version('bank', null)", "null"),
        ("select metl.delete_schema_version('shop.public.customer', 4)", "4"),
        ("select metl.delete_entity_version('customers', 3)", "customers"),
        ("select metl.delete_entity_version('customer', 2)", "2"),
        ("select metl.delete_entity_version('customer', 4)", "4"),
        ("select metl.delete_entity_version('gone', 1)", "gone"),
        ("select metl.set_policy('shop', 'customer', 'auto')", "shop"),
        ("select metl.set_policy('bank', 'customers', 'auto')", "customers"),
        ("select metl.policy_of('bank', 'customers')", "customers"),
        ("select metl.confirm_plan(77)", "77"),
        ("select metl.reject_plan(77)", "77"),
        ("select metl.confirm_plan(null)", "null"),
    ],
)
def test_what_is_unknown_is_named(connection: Connection, statement: str, value: str) -> None:
    assert_clear(refusal(connection, statement), UNKNOWN, value)


@pytest.mark.parametrize("add", [schema_version, entity_version])
@pytest.mark.parametrize(
    ("given", "sqlstate", "value"),
    [
        (None, WRONG, "null"),
        ("null", WRONG, "null"),
        ("{}", WRONG, "{}"),
        ('"id"', WRONG, "id"),
        ("7", WRONG, "7"),
        ("[null]", WRONG, "null"),
        ("[7]", WRONG, "7"),
        ("[[]]", WRONG, "[]"),
        ('["id"]', WRONG, "id"),
        ("[{}]", WRONG, "name"),
        ('[{"type": "int32"}]', WRONG, "name"),
        ('[{"name": "id"}]', UNKNOWN, "id"),
        (attributes(name=""), WRONG, "''"),
        (attributes(name=" \t"), WRONG, "name"),
        (attributes(name=None), WRONG, "null"),
        (attributes(name=7), WRONG, "7"),
        (attributes(name={"a": 1}), WRONG, '"a"'),
        (attributes(type=None), WRONG, "null"),
        (attributes(type=7), WRONG, "7"),
        (attributes(type="int33"), UNKNOWN, "int33"),
        (attributes(type=""), UNKNOWN, "id"),
        (attributes(optional="yes"), WRONG, "yes"),
        (attributes(description=7), WRONG, "7"),
        (attributes(renamed_from=["a"]), WRONG, '"a"'),
        (attributes(renamed_from=""), WRONG, "''"),
        (attributes(renamedfrom="a"), WRONG, "renamedfrom"),
        (attributes(name=LONG), TOO_LONG, "2000"),
        (attributes(renamed_from=LONG), TOO_LONG, "2000"),
        (attributes(type=LONG), UNKNOWN, "nnn"),
        ('[{"name": "id", "type": "int32"}, {"name": "id", "type": "string"}]', TAKEN, "id"),
    ],
)
def test_attributes_that_make_no_sense_are_refused(
    connection: Connection, add: Any, given: str | None, sqlstate: str, value: str
) -> None:
    assert_clear(refusal(connection, *add(given)), sqlstate, value)


@pytest.mark.parametrize("call", [schema_version("[]"), entity_version("[]")])
def test_a_version_may_have_no_attributes(connection: Connection, call: Call) -> None:
    connection.execute("select metl.set_policy('bank', 'account', 'auto')")
    statement, *parameters = call
    connection.execute(statement, parameters)
    assert connection.execute("select * from metl.check()").fetchall() == []


@pytest.mark.parametrize(
    ("call", "sqlstate", "value"),
    [
        (schema_version(ONE, 1), TAKEN, "1"),
        (schema_version(ONE, 4, "shop.public.customer"), TAKEN, "4"),
        (entity_version(ONE, 1), TAKEN, "1"),
        (entity_version(ONE, 1, "gone"), TAKEN, "1"),
        (entity_version(ONE, 2, "customer"), TAKEN, "2"),
        (schema_version(ONE, 0), WRONG, "0"),
        (schema_version(ONE, -1), WRONG, "-1"),
        (schema_version(ONE, None), WRONG, "null"),
        (entity_version(ONE, 0), WRONG, "0"),
        (entity_version(ONE, -7), WRONG, "-7"),
        (entity_version(ONE, None), WRONG, "null"),
    ],
)
def test_version_numbers_are_positive_and_used_once(
    connection: Connection, call: Call, sqlstate: str, value: str
) -> None:
    assert_clear(refusal(connection, *call), sqlstate, value)


@pytest.mark.parametrize("add", [schema_version, entity_version])
@pytest.mark.parametrize(
    ("name", "sqlstate", "value"),
    [(None, WRONG, "null"), ("", WRONG, "''"), ("  ", WRONG, "'  '"), (LONG, TOO_LONG, "2000")],
)
def test_names_that_cannot_be_are_refused(
    connection: Connection, add: Any, name: str | None, sqlstate: str, value: str
) -> None:
    assert_clear(refusal(connection, *add(ONE, 1, name)), sqlstate, value)


def test_an_entity_has_one_live_version(connection: Connection) -> None:
    error = refusal(connection, *entity_version(ONE, 1, "customer"))
    assert_clear(error, NOT_NOW, "3")
    assert "'customer'" in str(error)


@pytest.mark.parametrize("function", ["set_block", "set_run"])
@pytest.mark.parametrize(
    ("given", "sqlstate", "value"),
    [
        (None, WRONG, "null"),
        ("null", WRONG, "null"),
        ("[]", WRONG, "[]"),
        ('"id"', WRONG, "id"),
        ("true", WRONG, "true"),
        ('{"key": null}', WRONG, "key"),
        ('{"key": 7}', WRONG, "7"),
        ('{"key": ["id"]}', WRONG, "id"),
        ('{"key": {"id": 1}}', WRONG, "id"),
        ('{"key": "id", "email": "id"}', NOT_ONE_TO_ONE, "id"),
        (json.dumps({"key": "id", "x" + LONG: "mail"}), UNKNOWN, "xnnn"),
        (json.dumps({"key": "x" + LONG}), UNKNOWN, "xnnn"),
    ],
)
def test_mappings_that_make_no_sense_are_refused(
    connection: Connection, function: str, given: str | None, sqlstate: str, value: str
) -> None:
    statement, mapped = mapping(given)
    error = refusal(connection, str(statement).replace("set_block", function), mapped)
    assert_clear(error, sqlstate, value)


def test_a_mapping_that_is_not_one_to_one_names_all_culprits(connection: Connection) -> None:
    error = refusal(connection, *mapping('{"key": "id", "email": "id"}'))
    assert all(name in str(error.diag.message_primary) for name in ("'id'", "'key'", "'email'"))


def test_two_attributes_cannot_continue_one(connection: Connection) -> None:
    both = '[{"name": "iban", "type": "string"}, {"name": "number", "type": "string", "renamed_from": "iban"}]'
    error = refusal(connection, *schema_version(both))
    assert_clear(error, WRONG, "iban")
    assert "number" in str(error.diag.message_primary)


@pytest.mark.parametrize(
    "call",
    [
        "select metl.set_block('bank', 1, 'account', 1, '{\"number\": \"iban\"}')",
        "select metl.set_run('bank', 1, 'account', 1, '{}')",
    ],
)
def test_what_is_frozen_is_not_edited(connection: Connection, call: str) -> None:
    error = refusal(connection, call)
    assert_clear(error, NOT_NOW, "bank")
    assert "account" in str(error.diag.message_primary)


@pytest.mark.parametrize("call", [entity_version(ONE), ("select metl.delete_entity_version('account', 1)",)])
def test_what_is_frozen_and_mapped_does_not_lose_its_entity(connection: Connection, call: Call) -> None:
    connection.execute("select metl.set_policy('bank', 'account', 'auto')")
    connection.execute("select metl.set_block('bank', 1, 'account', 1, '{\"number\": \"iban\"}')")
    connection.execute("select metl.set_policy('bank', null, 'freeze'), metl.set_policy('bank', 'account', 'freeze')")
    assert_clear(refusal(connection, *call), NOT_NOW, "bank")


@pytest.mark.parametrize("policy", [None, "", "never"])
def test_an_unknown_policy_is_named(connection: Connection, policy: str | None) -> None:
    error = refusal(connection, "select metl.set_policy('bank', 'account', %s)", policy)
    assert_clear(error, WRONG, "null" if policy is None else f"'{policy}'")


@pytest.mark.parametrize("state", [None, -1, 1_000_000])
def test_an_unknown_state_is_named(connection: Connection, state: int | None) -> None:
    error = refusal(connection, "select * from metl.decompaction_at(%s::bigint)", state)
    assert_clear(error, WRONG, "null" if state is None else str(state))


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (None, "null"),
        ("{}", "{}"),
        ("[7]", "block 1"),
        ('[{"schema": "bank", "version": "x", "entity": "customer", "entity_version": 3, "mapping": {}}]', "block 1"),
        (
            '[{"schema": "bank", "version": 2, "entity": "customer", "entity_version": 3, "mapping": {}},'
            ' {"schema": "shop", "version": 1, "entity": "customer", "entity_version": 3, "mapping": {}}]',
            "shop",
        ),
        (
            '[{"schema": "bank", "version": 2, "entity": "customer", "entity_version": 3, "mapping": {}},'
            ' {"schema": "bank", "version": 2, "entity": "customer", "entity_version": 3,'
            ' "mapping": {"email": "iban"}}]',
            "bank",
        ),
    ],
)
def test_many_blocks_are_set_all_or_none(connection: Connection, given: str | None, value: str) -> None:
    assert_clear(refusal(connection, "select metl.set_blocks(%s)", given), WRONG, value)


@pytest.mark.parametrize(
    "name",
    [
        "shop.public.customer_2",
        "it's",
        'a "quoted" name',
        "back\\slash",
        "%s %L {}",
        "Kunde_ähnlich_顧客_🙂",
        "two words",
        "'; drop schema metl cascade; --",
        "n" * 500,
    ],
)
def test_names_may_contain_anything_visible(connection: Connection, name: str) -> None:
    given = json.dumps([{"name": name, "type": "string"}, {"name": "other", "type": "string"}])
    connection.execute("select metl.add_schema_version(%s, 1, %s)", [name, given])
    connection.execute("select metl.add_entity_version(%s, 1, %s)", [name, given])
    connection.execute("select metl.set_block(%s, 1, %s, 1, %s)", [name, name, json.dumps({name: name})])
    connection.execute("select metl.add_schema_version(%s, 2, %s)", [name, given])
    found = connection.execute("select * from metl.decompaction where schema = %s order by version", [name]).fetchall()
    assert found == [(name, 1, name, 1, name, name), (name, 2, name, 1, name, name)]
    twice = json.dumps({name: name, "other": name})
    error = refusal(connection, "select metl.set_block(%s, 1, %s, 1, %s)", name, name, twice)
    assert error.sqlstate == NOT_ONE_TO_ONE


def test_names_are_kept_apart_by_case_and_form(connection: Connection) -> None:
    """é as one character and as two are two names; nobody folds them silently."""
    given = [{"name": name, "type": "string"} for name in ("e", "E", "\u00e9", "e\u0301")]
    connection.execute("select metl.add_schema_version('accents', 1, %s)", [json.dumps(given)])
    names = connection.execute("select attribute from metl.schema_attributes where schema = 'accents'").fetchall()
    assert len(names) == 4


# By hand ----------------------------------------------------------------------------------------
HELPERS = """
create function pg_temp.block(text, int, text, int) returns bigint language sql as $$
    select block_id from metl.block join metl.schema as s using (schema_id) join metl.entity as e using (entity_id)
    where s.name = $1 and block.version = $2 and e.name = $3 and block.entity_version = $4 and until is null
$$;
create function pg_temp.source(text, int, text) returns bigint language sql as $$
    select attribute_id from metl.schema_attributes where schema = $1 and version = $2 and attribute = $3
$$;
create function pg_temp.target(text, int, text) returns bigint language sql as $$
    select entity_attribute_id from metl.entity_attributes
    where entity = $1 and entity_version = $2 and entity_attribute = $3
$$;
create function pg_temp.schema(text) returns int language sql
as $$ select schema_id from metl.schema where name = $1 $$;
create function pg_temp.entity(text) returns int language sql
as $$ select entity_id from metl.entity where name = $1 $$;
"""
NEW_BLOCK = """
insert into metl.block (schema_id, version, entity_id, entity_version, since)
values (pg_temp.schema('{}'), {}, pg_temp.entity('{}'), {}, metl.current_state())
"""
SHOP = "pg_temp.block('shop.public.customer', {}, 'customer', 3)"
A_CELL = "insert into metl.cell values ({}, {}, {})"
ID, MAIL, PHONE = (f"pg_temp.source('shop.public.customer', 6, '{name}')" for name in ("id", "mail", "phone"))
KEY, EMAIL = (f"pg_temp.target('customer', 3, '{name}')" for name in ("key", "email"))


@pytest.fixture
def by_hand(connection: Connection) -> Connection:
    connection.execute(HELPERS)
    return connection


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param(NEW_BLOCK.format("shop.public.customer", 1, "account", 1), id="a null block comes first"),
        pytest.param(NEW_BLOCK.format("shop.public.customer", 2, "account", 1), id="a null block follows nothing"),
        pytest.param(
            f"""
            with copied as ({NEW_BLOCK.format("shop.public.customer", 2, "customer", 3)} returning block_id)
            insert into metl.cell
            select copied.block_id, attribute_id, entity_attribute_id
            from copied, metl.cell where cell.block_id = {SHOP.format(1)}
            """,
            id="equal neighbours",
        ),
        pytest.param(f"delete from metl.cell where block_id = {SHOP.format(6)}", id="two null blocks in a row"),
        pytest.param(f"delete from metl.cell where block_id = {SHOP.format(1)}", id="a block becomes null and first"),
        pytest.param(NEW_BLOCK.format("shop.public.customer", 4, "customer", 3), id="a dead schema version"),
        pytest.param(NEW_BLOCK.format("shop.public.customer", 2, "customer", 2), id="a dead entity version"),
        pytest.param(
            f"update metl.block set entity_version = 2 where block_id = {SHOP.format(6)}", id="moved to the dead"
        ),
        pytest.param(
            f"update metl.block set version = 4 where block_id = {SHOP.format(5)}", id="moved to a dead version"
        ),
        pytest.param(
            f"update metl.block set schema_id = pg_temp.schema('unmapped') where block_id = {SHOP.format(6)}",
            id="moved to a foreign schema",
        ),
        pytest.param(
            f"update metl.block set entity_id = pg_temp.entity('account'), entity_version = 1"
            f" where block_id = {SHOP.format(1)}",
            id="moved to a foreign entity",
        ),
        pytest.param(A_CELL.format("pg_temp.block('bank', 1, 'customer', 3)", PHONE, KEY), id="a foreign attribute"),
        pytest.param(
            f"update metl.cell set entity_attribute_id = pg_temp.target('account', 1, 'number')"
            f" where block_id = {SHOP.format(1)} and attribute_id = {ID}",
            id="a foreign entity attribute",
        ),
        pytest.param(
            f"update metl.cell set attribute_id = {PHONE} where block_id = {SHOP.format(1)} and attribute_id = {ID}",
            id="an attribute that comes in a later version only",
        ),
        pytest.param(
            f"update metl.block set until = metl.current_state() where block_id = {SHOP.format(5)}",
            id="a needed null block ends",
        ),
        pytest.param(
            f"update metl.block set until = metl.current_state() where block_id = {SHOP.format(1)}",
            id="a needed block ends",
        ),
    ],
)
def test_a_broken_block_cannot_be_stored_by_hand(by_hand: Connection, statement: str) -> None:
    error = refusal(by_hand, statement)
    assert error.sqlstate == BROKEN, error
    assert error.diag.message_hint


@pytest.mark.parametrize(
    ("cell", "constraint"),
    [
        (A_CELL.format(SHOP.format(1), ID, EMAIL), "cell_pk"),
        (A_CELL.format(SHOP.format(6), PHONE, EMAIL), "cell_entity_attribute_is_mapped_once"),
        (NEW_BLOCK.format("shop.public.customer", 1, "customer", 3), "block_is_stored_once"),
        (NEW_BLOCK.format("shop.public.customer", 77, "customer", 3), "block_from"),
        (NEW_BLOCK.format("shop.public.customer", 1, "customer", 77), "block_to"),
        (A_CELL.format("pg_temp.block('bank', 1, 'customer', 3)", -1, KEY), "cell_from"),
        (A_CELL.format(SHOP.format(6), PHONE, -1), "cell_to"),
    ],
)
def test_a_named_constraint_keeps_blocks_one_to_one(by_hand: Connection, cell: str, constraint: str) -> None:
    error = refusal(by_hand, cell)
    assert error.diag.constraint_name == constraint


def test_a_null_block_cannot_be_moved_away_from_between_equal_blocks(by_hand: Connection) -> None:
    """The place it leaves has to stay whole as well as the place it comes to."""
    by_hand.execute("select metl.set_block('bank', 5, 'customer', 3, '{\"email\": \"iban\"}')")
    move = f"update metl.block set schema_id = pg_temp.schema('bank') where block_id = {SHOP.format(5)}"
    assert refusal(by_hand, move).sqlstate == BROKEN
