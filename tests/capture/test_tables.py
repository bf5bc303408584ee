"""`metl capture` checks, adds and removes tables without other changes to a connector."""

import json
from typing import Any

import pytest

from metl.capture import connectors
from metl.home import Home
from metl.stack.connect import Connect
from metl.stack.kafka import Kafka
from tests import topics
from tests.capture.conftest import Stack

pytestmark = pytest.mark.timeout(300)


def messages(stack: Stack, table: str, count: int) -> list[dict[str, Any]]:
    records = topics.read(Kafka(Home(stack.home)).address, f"shop.public.{table}", count)
    return [json.loads(message.value() or b"{}")["payload"] for message in records]


def test_nothing_is_changed_if_anything_is_refused(stack: Stack) -> None:
    names = ["customer", "payment_2020", "heap", "everybody", "custmer", "product"]
    refused = stack("capture", "add", "shop", *(f"public.{name}" for name in names), code=2)
    assert "Nothing was changed" in refused
    findings = json.loads(stack("capture", "check", "shop", *(f"public.{name}" for name in names), "--json", code=3))
    by_table = {each["about"]: (each["verdict"], f"{each['finding']} {each['way_out']}") for each in findings}
    assert by_table["public.customer"][0] == by_table["public.product"][0] == "note"
    for name, words in {
        "payment_2020": "capture public.payment",
        "heap": 'alter table "public"."heap" replica identity full',
        "everybody": "a view",
        "custmer": "Did you mean 'public.customer'",
    }.items():
        assert by_table[f"public.{name}"][0] == "refused" and words in by_table[f"public.{name}"][1]
    assert "gross, net" in by_table["public.product"][1]
    assert "shop" not in {each["connector"] for each in json.loads(stack("capture", "list", "--json"))}


def test_a_table_is_added_with_its_rows_and_other_settings_stay(stack: Stack) -> None:
    assert "public.customer: 30 rows" in stack("capture", "add", "shop", "public.customer")
    connect = Connect(Home(stack.home)).address
    connectors.create(connect, "shop", connectors.require_config(connect, "shop") | {"tombstones.on.delete": "false"})

    connectors.create(
        connect, "shop", connectors.require_config(connect, "shop") | {"interval.handling.mode": "numeric"}
    )
    assert 'it lacks interval.handling.mode"' in stack("capture", "check", "shop", "public.customer", "--json")

    # One incremental snapshot; two blocking: Debezium cannot page by this key, nor parse that name in a signal.
    names = ["public.product", "public.payment", "public.Odd, Näme"]
    output = stack("capture", "add", "shop", *names, "--yes")

    assert "public.payment: 5,000 rows" in output and "public.product: 2 rows" in output
    shown = json.loads(stack("capture", "show", "shop", "--json"))
    assert set(shown["tables"]) == {"public.customer", *names} and shown["problem"] is None
    assert shown["settings"]["tombstones.on.delete"] == "false"
    stack.execute(
        "shop",
        "insert into payment values (1, '2021-05-05', 1.5)",
        "update product set price = 7 where id = 1",
        "update customer set name = 'x' where id = 1",
    )
    assert messages(stack, "payment", 5001)[-1]["after"]["amount"] == "1.5"
    assert [each["after"] for each in messages(stack, "product", 3)][1:] == [
        {"id": 2, "price": 6},
        {"id": 1, "price": 7},
    ]
    assert messages(stack, "customer", 31)[-1]["op"] == "u"


def test_the_key_decides_the_kind_of_snapshot(stack: Stack) -> None:
    done = stack(
        "capture", "snapshot", "shop", "public.payment", "public.customer", "--why", "a test", "--yes", "--json"
    )
    outcome = json.loads(done[done.index("{") :])
    assert outcome["tables"] == {"public.payment": 5001, "public.customer": 30} == outcome["rows"]
    assert outcome["kinds"] == {"public.payment": "BLOCKING", "public.customer": "INCREMENTAL"}
    assert len(messages(stack, "payment", 10_002)) == 10_002


def test_blocking_snapshots_misalign_no_columns(stack: Stack) -> None:
    """After a blocking snapshot, Debezium would shift values after a generated column to the column before."""
    stack("capture", "add", "shop", "public.tally")
    snapshot = ("capture", "snapshot", "shop", "public.payment", "--why", "a test", "--yes")
    for words in (snapshot, ("capture", "add", "shop", "public.Odd; Näme")):
        assert "public.tally" in stack(*words, code=2)
    assert "public.Odd; Näme" not in json.loads(stack("capture", "show", "shop", "--json"))["tables"]
    stack("capture", "snapshot", "shop", "public.tally", "--why", "a test", "--yes")
    stack.execute("shop", "update tally set other = 'c'")
    assert messages(stack, "tally", 3)[-1]["after"] == {"id": 1, "note": "a", "other": "c"}
    # It is no generated column any more, but the connector still leaves it out: the check reports that.
    stack.execute("shop", "alter table tally alter twice drop expression")
    assert "leaves out twice" in stack("capture", "check", "shop", "public.tally")
    stack("capture", "remove", "shop", "public.tally", "--why", "a test", "--yes")


def test_names_that_collide(stack: Stack) -> None:
    """As topics in Kafka or as slots in PostgreSQL."""
    assert "shop.public.Odd__N_me" in stack("capture", "check", "shop", "public.Odd; Näme", code=3)
    shop = stack.dsn("shop")
    assert "metl_shop is another connector's" in stack(
        "capture", "add", "SHOP", "public.tally", "--source", shop, code=2
    )
    assert "'sh op'" in stack("capture", "add", "sh op", "public.tally", "--source", shop, code=2)
    stack.execute("shop", 'create table "Customer" (id int primary key)')
    assert "Customer" not in stack("status")


def test_wrong_passwords_are_refused(stack: Stack) -> None:
    shop = stack.dsn("shop")
    words = ("capture", "add", "other", "public.tally", "--source", shop, "--secret")
    assert "and not the password" in stack(*words, "secret", code=2)
    assert "cannot log in" in stack(*words, f"${{file:{stack.home}/connect/passwords.properties:nobody}}", code=2)
    assert stack.ask("select from pg_publication where pubname = 'metl_other'", "shop") == []


def test_a_removed_table_leaves_the_others_alone(stack: Stack) -> None:
    preview = stack("capture", "remove", "shop", "public.product", "--why", "a test", code=2)
    assert "will never come" in preview and "stay as they are" in preview and "Add --yes" in preview
    stack("capture", "remove", "shop", "public.product", "--why", "a test", "--yes")
    stack.execute("shop", "update customer set name = 'y' where id = 2", "update product set price = 8 where id = 1")
    assert messages(stack, "customer", 62)[-1]["after"]["name"] == "y"
    assert len(messages(stack, "product", 3)) == 3
    assert stack.ask("select kind, why, outcome is null from metl.operations order by operation desc limit 1") == [
        ("capture_remove", "a test", False)
    ]
    assert "Did you mean 'public.customer'" in stack(
        "capture", "remove", "shop", "public.custmer", "--why", "a test", "--yes", code=2
    )


def test_a_publication_without_via_root_is_repaired(stack: Stack) -> None:
    """As Debezium creates them: partitions publish under their own names, which no connector includes."""
    stack.execute("shop", "alter publication metl_shop set (publish_via_partition_root = false)")
    assert "public.payment are not published" in stack("status", code=3)
    assert "publishes changes of partitions" in stack("capture", "add", "shop", "public.payment", "--yes")
    assert "not published" not in stack("status")


def test_a_wrong_address_says_which_variable(stack: Stack) -> None:
    for words in (("list",), ("show", "shop")):
        assert "METL_CONNECT" in stack("capture", *words, code=1, METL_CONNECT="http://127.0.0.1:9")
