"""How the messages of each topic are read: rules by name and by pattern, and which of them wins."""

import time
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.matrix.refusal import UNKNOWN, WRONG, Connection, assert_clear, refusal

CUSTOMER = "shop.public.customer"
DEFAULT = ("ext_json", "debezium", None)


def set_topic(
    connection: Connection,
    pattern: str,
    wire: str = "ext_json",
    payload: str = "debezium",
    schema: str | None = None,
    version: int | None = None,
) -> int:
    given = [pattern, wire, payload, schema, version]
    row = connection.execute("select metl.set_topic(%s, %s, %s, %s, %s)", given).fetchone()
    assert row is not None
    return int(row[0])


def topics(connection: Connection) -> dict[str, tuple[Any, ...]]:
    """Schema, format, payload and version by topic."""
    found = connection.execute("select * from metl.topics").fetchall()
    assert len(found) == len({row[0] for row in found})
    return {row[0]: row[1:] for row in found}


def add(connection: Connection, schema: str, *versions: int) -> None:
    for version in versions or (1,):
        connection.execute("select metl.add_schema_version(%s, %s, '[]')", [schema, version])


def test_without_a_rule_a_topic_carries_the_schema_of_its_name(connection: Connection) -> None:
    for schema in ("two words", "n" * 250, "..", "n" * 249, "gone"):
        add(connection, schema)
    connection.execute("select metl.delete_schema_version('gone', 1)")
    wanted = {schema: (schema, *DEFAULT) for schema in (CUSTOMER, "bank", "unmapped", "n" * 249)}
    assert topics(connection) == wanted
    assert connection.execute("select * from metl.topic_rules").fetchall() == []


def test_the_most_specific_rule_wins(connection: Connection) -> None:
    add(connection, "shop_public.customer")
    steps = [
        ("*", "connect"),
        ("shop.*", "confluent"),
        ("*customer", "apicurio"),
        ("*.custome*", "apicurio_2"),
        ("s*.*.customer*****************", "plain"),
        (CUSTOMER, "ext_json_content_id"),
    ]
    for pattern, wire in steps:
        set_topic(connection, pattern, wire)
        assert topics(connection)[CUSTOMER][1] == wire, pattern
    assert topics(connection)["bank"] == ("bank", "connect", "debezium", None)
    for pattern in ("s*.*.customer*****************", CUSTOMER):
        connection.execute("select metl.unset_topic(%s)", [pattern])
    assert topics(connection)[CUSTOMER][1] == "apicurio_2"


def test_of_two_as_long_the_first_by_name_wins(connection: Connection) -> None:
    set_topic(connection, "shop.*", "connect")
    set_topic(connection, "*tomer", "confluent")
    assert topics(connection)[CUSTOMER][1] == "confluent"


def test_only_the_star_stands_for_others(connection: Connection) -> None:
    for schema in ("a_b", "a-b", "a.b", "axb"):
        add(connection, schema)
    for pattern in ("a_*", "a.b"):
        set_topic(connection, pattern, "confluent")
    found = {topic: row[1] for topic, row in topics(connection).items() if topic.startswith("a")}
    assert found == {"a_b": "confluent", "a.b": "confluent", "a-b": "ext_json", "axb": "ext_json"}


def test_a_topic_may_carry_a_schema_of_another_name(connection: Connection) -> None:
    set_topic(connection, "legacy", "confluent", "flat", schema="bank")
    set_topic(connection, "unmapped", schema=CUSTOMER)
    found = topics(connection)
    assert found["legacy"] == ("bank", "confluent", "flat", None)
    assert found["bank"] == ("bank", *DEFAULT)
    assert found["unmapped"] == (CUSTOMER, *DEFAULT), "not the schema of its own name any more"
    for version in (1, 2, 5, 6):
        connection.execute("select metl.delete_schema_version(%s, %s)", [CUSTOMER, version])
    assert set(topics(connection)) == {"legacy", "bank"}, "nor does it, once that schema has ended"
    assert_clear(refusal(connection, "select metl.set_topic('x', schema => %s)", CUSTOMER), UNKNOWN, CUSTOMER)


def test_plain_messages_are_of_the_configured_version_or_the_newest(connection: Connection) -> None:
    set_topic(connection, "*", "plain", "flat")
    assert {topic: row[3] for topic, row in topics(connection).items()} == {CUSTOMER: 6, "bank": 5, "unmapped": 6}
    set_topic(connection, "*", "plain", version=2)
    assert {topic: row[3] for topic, row in topics(connection).items()} == {CUSTOMER: 2, "bank": 2, "unmapped": None}
    set_topic(connection, "legacy", "plain", schema="bank", version=1)
    set_topic(connection, CUSTOMER, "plain", version=6)
    assert topics(connection)["legacy"] == ("bank", "plain", "debezium", 1)
    connection.execute("select metl.delete_schema_version(%s, 6)", [CUSTOMER])
    assert topics(connection)[CUSTOMER][3] is None, "never silently another one"


def test_a_rule_may_come_before_its_schema(connection: Connection) -> None:
    set_topic(connection, "later", "confluent", "flat")
    assert "later" not in topics(connection)
    add(connection, "later")
    assert topics(connection)["later"] == ("later", "confluent", "flat", None)


def test_each_change_is_a_state_that_says_what_it_did(connection: Connection) -> None:
    first = set_topic(connection, "shop.*", "plain", "flat", version=2)
    second = set_topic(connection, "shop.*", "confluent")
    assert second == first + 1
    rules = connection.execute("select * from metl.topic_rules").fetchall()
    assert rules == [("shop.*", "confluent", "debezium", None, None, second)]
    set_topic(connection, "legacy", schema="bank")
    connection.execute("select metl.unset_topic('shop.*')")
    rules = connection.execute("select * from metl.topic_rules").fetchall()
    assert rules == [("legacy", "ext_json", "debezium", "bank", None, second + 1)]
    told = connection.execute(
        "select cause, summary - array['kept', 'lost', 'gained'] from metl.states where state >= %s order by state",
        [first],
    ).fetchall()
    assert told == [
        ("set_topic", {"pattern": "shop.*", "format": "plain", "payload": "flat", "version": 2}),
        ("set_topic", {"pattern": "shop.*", "format": "confluent", "payload": "debezium"}),
        ("set_topic", {"pattern": "legacy", "format": "ext_json", "payload": "debezium", "schema": "bank"}),
        ("unset_topic", {"pattern": "shop.*"}),
    ]
    changes = connection.execute("select * from metl.schema_changes where state >= %s", [first]).fetchall()
    assert changes == [], "no column set has changed"
    history = connection.execute("select pattern, format, since, until from metl.topic_rule order by since").fetchall()
    assert history == [
        ("shop.*", "plain", first, second),
        ("shop.*", "confluent", second, second + 2),
        ("legacy", "ext_json", second + 1, None),
    ]


@pytest.mark.parametrize(
    ("call", "sqlstate", "value"),
    [
        ("set_topic(null)", WRONG, "null"),
        ("set_topic('')", WRONG, "''"),
        ("set_topic('..')", WRONG, "'..'"),
        ("set_topic('a b')", WRONG, "'a b'"),
        ("set_topic(E'a\\n')", WRONG, "'a\n'"),
        ("set_topic('kunde_ä')", WRONG, "'kunde_ä'"),
        ("set_topic('a%')", WRONG, "'a%'"),
        ("set_topic(repeat('n', 250))", WRONG, "nnn"),
        ("set_topic('bank', 'avro')", WRONG, "'avro'"),
        ("set_topic('bank', null)", WRONG, "null"),
        ("set_topic('bank', payload => 'envelope')", WRONG, "'envelope'"),
        ("set_topic('bank', payload => null)", WRONG, "null"),
        ("set_topic('*', schema => 'bank')", WRONG, "'bank'"),
        ("set_topic('x', schema => 'nobody')", UNKNOWN, "'nobody'"),
        ("set_topic('bank', version => 2)", WRONG, "2"),
        ("set_topic('bank', 'plain', version => 3)", UNKNOWN, "3"),
        ("set_topic('x', 'plain', version => 1)", UNKNOWN, "'x'"),
        ("set_topic('x', 'plain', schema => 'bank', version => 3)", UNKNOWN, "3"),
        ("set_topic('*', 'plain', version => 0)", WRONG, "0"),
        ("unset_topic('bank')", UNKNOWN, "'bank'"),
        ("unset_topic(null)", UNKNOWN, "null"),
    ],
)
def test_rules_that_make_no_sense_are_refused(connection: Connection, call: str, sqlstate: str, value: str) -> None:
    assert_clear(refusal(connection, f"select metl.{call}"), sqlstate, value)


def test_a_thousand_schemas_are_no_burden(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "select count(metl.add_schema_version('shop.public.t_' || s, v, %s)) "
            "from generate_series(1, 1000) as s, generate_series(1, 10) as v",
            [Jsonb([{"name": "id", "type": "int32"}])],
        )
        for number in range(20):
            set_topic(connection, f"shop.public.t_{number}*", "confluent")
        connection.execute("analyze")
        seconds = []
        for _ in range(5):
            began = time.perf_counter()
            assert len(topics(connection)) == 1000
            seconds.append(time.perf_counter() - began)
        assert min(seconds) < 0.5
