"""A matrix with a bit of everything, and what it says to those who spoil it."""

from typing import Any

import psycopg
import pytest

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
    "notices", "states", "policies", "plans", "topics", "topic_rules", "check()", "current_state()",
]  # fmt: skip


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
