"""By what messages name a schema version, and which schemas a state changed."""

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.matrix.refusal import Connection

ATTRIBUTES = Jsonb([{"name": "id", "type": "int32"}])


@pytest.fixture
def shop(connection: Connection) -> Connection:
    for version in (1, 2):
        connection.execute("select metl.add_schema_version('shop', %s, %s)", [version, ATTRIBUTES])
    return connection


def refs(connection: Connection) -> set[tuple[Any, ...]]:
    found = connection.execute("select version, kind, ref from metl.schema_refs where schema = 'shop'").fetchall()
    assert len(found) == len(set(found))
    return set(found)


def set_refs(connection: Connection, version: int, **given: object) -> int:
    row = connection.execute("select metl.set_refs('shop', %s, %s)", [version, Jsonb(given)]).fetchone()
    assert row is not None
    return int(row[0])


def changed_since(connection: Connection, state: int) -> set[str]:
    return {row[0] for row in connection.execute("select schema from metl.schema_changes where state > %s", [state])}


def current_state(connection: Connection) -> int:
    row = connection.execute("select metl.current_state()").fetchone()
    assert row is not None
    return int(row[0])


def test_a_version_comes_with_its_refs_in_one_state(shop: Connection) -> None:
    before = current_state(shop)
    given = Jsonb({"global_id": 17, "content_id": ["3", 8], "fingerprint": "ab:cd"})
    shop.execute("select metl.add_schema_version('shop', 3, %s, %s)", [ATTRIBUTES, given])
    assert current_state(shop) == before + 1
    assert refs(shop) == {
        (3, "global_id", "17"), (3, "content_id", "3"), (3, "content_id", "8"), (3, "fingerprint", "ab:cd")
    }  # fmt: skip


def test_setting_refs_replaces_those_of_that_version_only(shop: Connection) -> None:
    set_refs(shop, 1, global_id=1, content_id=5)
    set_refs(shop, 2, global_id=2, content_id=5)
    assert set_refs(shop, 1, global_id=1, confluent_id=[9, 9]) == current_state(shop)
    assert refs(shop) == {
        (1, "global_id", "1"),
        (1, "confluent_id", "9"),
        (2, "global_id", "2"),
        (2, "content_id", "5"),
    }
    set_refs(shop, 2)
    assert {version for version, _, _ in refs(shop)} == {1}


def test_refs_go_with_their_version(shop: Connection) -> None:
    set_refs(shop, 1, global_id=1)
    shop.execute("select metl.delete_schema_version('shop', 1)")
    assert refs(shop) == set()
    set_refs(shop, 2, global_id=1)
    assert refs(shop) == {(2, "global_id", "1")}


def test_a_version_that_waits_keeps_its_refs_until_it_is_confirmed(shop: Connection) -> None:
    shop.execute("select metl.add_entity_version('thing', 1, %s)", [ATTRIBUTES])
    shop.execute("""select metl.set_run('shop', 1, 'thing', 1, '{"id": "id"}')""")
    shop.execute("select metl.set_policy('shop', 'thing', 'confirm')")
    shop.execute("select metl.add_schema_version('shop', 3, '[]', %s)", [Jsonb({"global_id": 30})])
    assert refs(shop) == set()
    [(plan, waiting)] = shop.execute("select plan_id, refs from metl.plans where decision = 'waiting'").fetchall()
    assert waiting == {"global_id": 30}
    shop.execute("select metl.confirm_plan(%s)", [plan])
    assert refs(shop) == {(3, "global_id", "30")}


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"globalId": 1}, "\"globalId\" '1'"),
        ({"global_id": 1.5}, "global_id '1.5'"),
        ({"global_id": "seven"}, "global_id 'seven'"),
        ({"global_id": None}, "global_id null"),
        ({"content_id": [1, {"a": 2}]}, "content_id null"),
        ({"content_id": -1}, "content_id '-1'"),
        ({"confluent_id": 10**19}, "confluent_id '10000000000000000000'"),
        ({"fingerprint": "  "}, "fingerprint '  '"),
        ({"fingerprint": "x" * 201}, "fingerprint 'xxx"),
        ([1], "must be an object, but they are: [1]"),
        (None, "must be an object, but they are: null"),
    ],
)
def test_refs_that_cannot_be_are_refused_by_name(shop: Connection, given: object, names: str) -> None:
    set_refs(shop, 2, fingerprint="of another version")
    before = current_state(shop)
    for call, version in (("set_refs('shop', 1, %s)", 1), ("add_schema_version('shop', 3, '[]', %s)", 3)):
        with pytest.raises(psycopg.errors.InvalidParameterValue) as refusal, shop.transaction():
            shop.execute(f"select metl.{call}".encode(), [Jsonb(given)])
        said = refusal.value.diag.message_primary or ""
        assert names in said and f"schema 'shop' version {version} " in said
        assert refusal.value.diag.message_hint
    assert current_state(shop) == before


def test_a_global_id_names_one_version(shop: Connection) -> None:
    set_refs(shop, 1, global_id=1)
    with pytest.raises(psycopg.errors.UniqueViolation, match="global_id 1 of schema 'shop' names version 1 already"):
        set_refs(shop, 2, global_id=1)


def test_what_changed_is_known_by_schema(shop: Connection) -> None:
    """Every way in which the column set or the refs of a schema may change, one after the other."""
    for schema in ("inn", "mill"):
        shop.execute("select metl.add_schema_version(%s, 1, %s)", [schema, ATTRIBUTES])
    shop.execute("select metl.add_entity_version('thing', 1, %s)", [ATTRIBUTES])
    steps: list[tuple[str, set[str]]] = [
        ("""set_block('shop', 1, 'thing', 1, '{"id": "id"}')""", {"shop"}),
        ("""set_block('inn', 1, 'thing', 1, '{"id": "id"}')""", {"inn"}),
        ("""add_schema_version('shop', 3, '[{"name": "id", "type": "int32"}]')""", {"shop"}),
        ("""set_refs('mill', 1, '{"global_id": 4}')""", {"mill"}),
        ("""set_refs('mill', 1, '{}')""", {"mill"}),
        ("""delete_schema_version('shop', 3)""", {"shop"}),
        ("""add_entity_version('thing', 2, '[{"name": "id", "type": "int32"}]')""", {"shop", "inn"}),
        ("""delete_entity_version('thing', 2)""", {"shop", "inn"}),
        ("""add_entity_version('other', 1, '[{"name": "id", "type": "int32"}]')""", set()),
    ]
    for call, schemas in steps:
        before = current_state(shop)
        shop.execute(f"select metl.{call}".encode())
        assert changed_since(shop, before) == schemas, call
