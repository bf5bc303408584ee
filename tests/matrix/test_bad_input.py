"""What is wrong is refused with a code, the value and a hint; no state is consumed and nothing changes."""

import json
from typing import Any

import pytest

from tests.matrix.refusal import (
    NOT_NOW,
    NOT_ONE_TO_ONE,
    TAKEN,
    TOO_LONG,
    UNKNOWN,
    WRONG,
    Call,
    Connection,
    assert_clear,
    refusal,
)

LONG = "n" * 2000
ONE = '[{"name": "id", "type": "int32"}]'


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
