"""What a steward changes, and that nobody else does."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from click.testing import Result

from tests.steward.conftest import Run
from tests.unit.test_cli import metl

CUSTOMER = ("shop.public.customer", "newest", "person")
WAITING = """
select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
"""


def said(result: Result) -> str:
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def ones(dsn: str, schema: str, version: int) -> dict[str, str]:
    with psycopg.connect(dsn) as connection:
        query = "select entity_attribute, attribute from metl.decompaction where schema = %s and version = %s"
        return dict(connection.execute(query, [schema, version]).fetchall())


def value(dsn: str, query: str) -> Any:
    with psycopg.connect(dsn) as connection:
        [[found]] = connection.execute(query.encode()).fetchall()
        return found


def state(dsn: str) -> int:
    return int(value(dsn, "select metl.current_state()"))


def test_a_block_is_set_to_these_pairs_and_no_others(own: str, act: Run) -> None:
    assert (
        said(act("matrix", "block", "set", *CUSTOMER, "number=id", "phone=mobile"))
        == """\
shop.public.customer version 3 → person version 2
  - name → full_name
  + mobile → phone
The matrix gained 1 cell and lost 1 cell. This is state 16.
"""
    )
    assert ones(own, "shop.public.customer", 3) == {"number": "id", "phone": "mobile"}
    assert ones(own, "shop.public.customer", 2) == {"number": "id", "full_name": "name", "email": "e_mail"}


def test_pairs_are_added_and_removed(own: str, act: Run) -> None:
    assert "+ mobile → phone" in said(act("matrix", "block", "add", *CUSTOMER, "phone=mobile", "birth_date=dob"))
    everything = {"number": "id", "full_name": "name", "phone": "mobile", "birth_date": "dob"}
    assert ones(own, "shop.public.customer", 3) == everything
    assert "lost 2 cells" in said(act("matrix", "block", "remove", *CUSTOMER, "phone", "number"))
    assert ones(own, "shop.public.customer", 3) == {"full_name": "name", "birth_date": "dob"}
    assert "lost 2 cells" in said(act("matrix", "block", "clear", *CUSTOMER))
    assert ones(own, "shop.public.customer", 3) == {}


def test_later_versions_that_are_left_out_are_told_with_what_maps_them(own: str, act: Run) -> None:
    orders = """[{"name": "order_id", "type": "int64"}, {"name": "created", "type": "timestamp"},
        {"name": "total", "type": "decimal"}, {"name": "client_id", "type": "int64", "renamed_from": "customer_id"}]"""
    with psycopg.connect(own) as connection:
        connection.execute("select metl.reject_plan(1)")
        for version in (2, 3):
            connection.execute("select metl.add_schema_version('shop.public.orders', %s, %s)", [version, orders])
            orders = orders.replace(', "renamed_from": "customer_id"', "")
    command = "metl matrix block add shop.public.orders 2 order customer_number=client_id --run"
    told = said(act("matrix", "block", "add", "shop.public.orders", "1", "order", "customer_number=customer_id"))
    assert told.endswith(f"This is state 18.\nNot so in versions 2-3. To map it there as well: {command}\n")
    assert ones(own, "shop.public.orders", 2).keys() == {"number", "ordered_at", "amount"}
    assert "Not so" not in said(act(*command.split()[1:]))
    for version in (2, 3):
        assert ones(own, "shop.public.orders", version)["customer_number"] == "client_id"


def test_types_that_may_not_fit_are_told_and_mapped(own: str, act: Run) -> None:
    told = said(act("matrix", "block", "add", *CUSTOMER, "birth_date=mobile", "phone=dob"))
    assert "  + mobile → birth_date (string to date: may not fit)\n  + dob → phone\n" in told
    plan = said(act("matrix", "block", "set", *CUSTOMER, "birth_date=id", "--dry-run"))
    assert "  + id → birth_date (integer to date: no cast)\n" in plan


def test_a_run_reaches_to_the_next_stored_block(own: str, act: Run) -> None:
    done = json.loads(
        said(act("matrix", "block", "set", "shop.public.customer", "1", "person", "email=mail", "--run", "--json"))
    )
    assert (done["state"], done["done"]) == (16, True)
    assert sorted((cell["version"], cell["fate"], cell["attribute"]) for cell in done["cells"]) == [
        (1, "kept", "mail"),
        (1, "lost", "id"),
        (1, "lost", "name"),
        (2, "kept", "e_mail"),
        (2, "lost", "id"),
        (2, "lost", "name"),
    ]
    assert ones(own, "shop.public.customer", 2) == {"email": "e_mail"}
    assert ones(own, "shop.public.customer", 3) == {"number": "id", "full_name": "name"}


@pytest.mark.parametrize("run", [[], ["--run"]])
def test_a_plan_does_nothing(own: str, act: Run, run: list[str]) -> None:
    plan = said(act("matrix", "block", "clear", "shop.public.customer", "1", "person", "--dry-run", *run))
    assert f"It would lose {6 if run else 3} cells. To do it, leave out --dry-run." in plan
    assert state(own) == 15
    assert json.loads(said(act("matrix", "block", "clear", *CUSTOMER, "--dry-run", "--json", *run)))["done"] is False


def test_the_reason_stays_with_the_state(own: str, act: Run) -> None:
    said(act("matrix", "block", "add", *CUSTOMER, "phone=mobile", "--why", "phone is what mobile was"))
    said(act("matrix", "block", "remove", *CUSTOMER, "phone"))
    newest = json.loads(said(act("matrix", "states", "-n", "2", "--json")))
    assert [each["why"] for each in newest] == [None, "phone is what mobile was"]
    assert said(act("matrix", "states", "-n", "2")).splitlines()[2].endswith("  phone is what mobile was")


def test_what_is_so_already_is_no_new_state(own: str, act: Run) -> None:
    assert (
        said(act("matrix", "block", "add", *CUSTOMER, "number=id"))
        == "The block is so already. This is still state 15.\n"
    )
    assert state(own) == 15


def test_names_may_hold_an_equals_sign(own: str, act: Run) -> None:
    with psycopg.connect(own) as connection:
        connection.execute("""select metl.add_schema_version('odd', 1, '[{"name": "b=c", "type": "string"}]')""")
        connection.execute("""select metl.add_entity_version('odd', 1, '[{"name": "a=b", "type": "string"}]')""")
    said(act("matrix", "block", "set", "odd", "1", "odd", "a=b=b=c"))
    assert ones(own, "odd", 1) == {"a=b": "b=c"}


def test_two_who_change_at_once(own: str) -> None:
    """What was read is what is written upon, or else nothing is."""
    with psycopg.connect(own) as other, ThreadPoolExecutor(1) as pool:
        other.execute("""select metl.set_block('shop.public.customer', 3, 'person', 2, '{}')""")
        second = pool.submit(metl, "matrix", "block", "add", *CUSTOMER, "phone=mobile", METL_DSN=own)
        end = time.monotonic() + 60
        while not value(own, WAITING) and time.monotonic() < end:
            time.sleep(0.05)
        other.commit()
        result = second.result()
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Somebody else changed METL at the same moment, so nothing was done. Try again." in result.stderr
    assert ones(own, "shop.public.customer", 3) == {}


def test_notices_are_confirmed_by_state(own: str, act: Run) -> None:
    assert said(act("plans", "acknowledge", "7")) == "Acknowledged 1 notice.\n"
    kinds = {each["kind"] for each in json.loads(said(act("plans", "notices", "--json")))}
    assert kinds == {"waiting"}


def test_all_notices_are_confirmed_but_those_of_plans(own: str, act: Run) -> None:
    assert json.loads(said(act("plans", "acknowledge", "--all", "--json"))) == {
        "acknowledged": 1,
        "states": [7],
    }
    assert said(act("plans", "acknowledge", "--all")) == (
        "Acknowledged 0 notices.\nThose of plans that wait go with their plan: metl plans list\n"
    )


def test_a_plan_is_confirmed(own: str, act: Run) -> None:
    assert said(act("plans", "confirm", "1")) == "Plan 1 was confirmed and became state 16.\n"
    assert ones(own, "shop.public.orders", 2) == {"number": "order_id"}
    assert said(act("plans", "list")).startswith("No plan waits.")
    decided = said(act("plans", "list", "--all"))
    assert decided.startswith("Plan 1: version 2 of schema shop.public.orders became state 16 and lost 2 cells.")
    assert re.search(r"It was confirmed by metl_test_\w+, \d{4}-", decided)


def test_a_plan_is_confirmed_as_a_rename(own: str, act: Run) -> None:
    with psycopg.connect(own) as connection:
        connection.execute("select metl.reject_plan(1)")
        connection.execute("""select metl.add_schema_version('shop.public.orders', 2, '[
            {"name": "order=id", "type": "int64"}, {"name": "created_at", "type": "timestamp"},
            {"name": "total", "type": "decimal"}, {"name": "customer_id", "type": "int64"}]')""")
    waiting = said(act("plans", "list"))
    pairs = ["--rename", "order_id=order=id", "--rename", "created=created_at"]
    assert (
        "It looks like order_id → order=id (0.96), created → created_at (0.93). "
        f"If so: metl plans confirm 2 {' '.join(pairs)}\n"
    ) in waiting
    for words, sentence in (
        (("1", "2", *pairs), "--rename is about one plan. Confirm the others by themselves."),
        (("2", "--rename", "created"), "'created' is not a rename. Give OLD=NEW, such as mail=e_mail."),
        (("2", *pairs, "--rename", "created=total"), "'created' is renamed twice, to 'created_at' and to 'total'."),
        (("2", "--rename", "sent=created_at"), "'sent' is not gone in version 2 of 'shop.public.orders'. Gone are"),
    ):
        refused = act("plans", "confirm", *words)
        assert (refused.exit_code, refused.stdout) == (2, "") and sentence in refused.stderr
    assert said(act("plans", "confirm", "2", *pairs)) == "Plan 2 was confirmed and became state 16.\n"
    assert ones(own, "shop.public.orders", 2) == {"number": "order=id", "ordered_at": "created_at", "amount": "total"}
    decided = said(act("plans", "list", "--all"))
    assert "became state 16 and lost 0 cells." in decided
    assert re.search(r" with created → created_at, order_id → order=id as renamed\.$", decided, re.M)


def test_a_rename_that_was_not_told_is_mended_by_the_command_that_is_shown(own: str, act: Run) -> None:
    with psycopg.connect(own) as connection:
        for version in (4, 5):
            connection.execute(
                """select metl.add_schema_version('shop.public.customer', %s, '[
                {"name": "id", "type": "int64"}, {"name": "fullName", "type": "string"},
                {"name": "dob", "type": "date"}, {"name": "mobile", "type": "string"}]')""",
                [version],
            )
    told = said(act("plans", "notices"))
    command = "metl matrix block add shop.public.customer 4 person full_name=fullName --run"
    assert f"shop.public.customer 4 → person 2 looks like name → fullName (0.82). If so: {command}\n" in told
    assert "until they are mapped again: metl streams reprocess --since-state 16 --why rename\n" in told
    said(act(*command.split()[1:]))
    for version in (4, 5):
        assert ones(own, "shop.public.customer", version) == {"number": "id", "full_name": "fullName"}


def test_a_plan_is_rejected(own: str, act: Run) -> None:
    with psycopg.connect(own) as connection:
        connection.execute("select metl.set_policy(null, null, 'confirm')")
        connection.execute("select metl.add_entity_version('person', 3, '[]')")
    assert json.loads(said(act("plans", "reject", "1", "--json"))) == [{"plan_id": 1, "state": None}]
    assert said(act("plans", "reject", "2")) == "Plan 2 was rejected: version 3 of entity person is not added.\n"
    assert state(own) == 15
    assert "would have lost 2 cells" in said(act("plans", "list", "--all"))


@pytest.mark.parametrize(
    ("words", "whose", "row"),
    [
        ([], "Every schema → every entity", (None, None, "freeze")),
        (["--schema", "crm.contact"], "Schema crm.contact → every entity", ("crm.contact", None, "freeze")),
        (["--entity", "person"], "Every schema → entity person", (None, "person", "freeze")),
    ],
)
def test_a_policy_is_set(own: str, act: Run, words: list[str], whose: str, row: tuple[object, ...]) -> None:
    assert said(act("plans", "policy", "set", "freeze", *words)).startswith(f"{whose}: freeze. Nothing changes")
    with psycopg.connect(own) as connection:
        found = connection.execute("select schema, entity, policy from metl.policies").fetchall()
    assert row in found and len(found) == 2
    assert whose.removeprefix("Schema ").split(" → ")[0].lower() in said(act("plans", "policy", "list")).lower()


def test_what_is_frozen_is_refused(act: Run) -> None:
    said(act("plans", "policy", "set", "freeze"))
    result = act("matrix", "block", "clear", *CUSTOMER)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "The mapping of schema 'shop.public.customer' to entity 'person' is frozen. Set another" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("matrix", "block", "set", *CUSTOMER, "number=id"),
        ("matrix", "block", "add", *CUSTOMER, "phone=mobile"),
        ("matrix", "block", "remove", *CUSTOMER, "number"),
        ("matrix", "block", "clear", *CUSTOMER, "--run"),
        ("plans", "acknowledge", "7"),
        ("plans", "confirm", "1"),
        ("plans", "reject", "1"),
        ("plans", "policy", "set", "auto"),
    ],
)
def test_readers_change_nothing(story: str, look: Run, words: tuple[str, ...]) -> None:
    before = state(story)
    result = look(*words)
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.search(r"metl_test_\w+ may not change METL in database \w+\. Grant it metl_steward\.", result.stderr)
    assert state(story) == before


def test_readers_may_plan(look: Run) -> None:
    assert "It would lose 2 cells." in said(look("matrix", "block", "clear", *CUSTOMER, "--dry-run"))
