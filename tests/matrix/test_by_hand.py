"""Not even by hand can a broken block be stored."""

import pytest

from tests.matrix.refusal import BROKEN, Connection, refusal

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
