"""What cannot be taken by itself: unreadable schemas, versions registered by hand, plans that wait."""

import json

import psycopg
import pytest

from tests.matrix.roles import member
from tests.sync.artifacts import Artifacts, Matrix
from tests.unit.test_cli import metl

NOTICES = "select kind, schema, version from metl.notices where confirmed_at is null and kind <> 'unchanged'"


def test_what_cannot_be_read_is_told_and_the_rest_goes_on(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a")
    artifacts.add("shop.customer-value", "JSON", "{nope")
    artifacts.table("shop.customer", "a", "b")
    artifacts.add("shop.order-value", "PROTOBUF", 'syntax = "proto3"; message A { int32 x = 1; }')

    said = matrix.sync(code=1)

    where = f"version 2 of shop.customer-value in group {artifacts.group}"
    assert f"shop.customer 2 ({where}) was not taken: The schema is not JSON: Expecting property name" in said
    assert said.endswith("Error: 2 of the versions could not be taken: metl.registry_versions says why.\n")
    assert set(matrix.rows(NOTICES)) == {("unreadable", "shop.customer", 2), ("unreadable", "shop.order", 1)}
    problems = matrix.rows("select version, outcome, problem is not null from metl.registry_versions order by entry")
    assert problems == [
        (1, "registered", False),
        (2, "unreadable", True),
        (3, "registered", False),
        (1, "unreadable", True),
    ]
    assert matrix.sync() == "Nothing is new in the registry.\n", "it is not tried again and again"


def test_an_unknown_type_is_taken_once_it_is_known(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a")
    artifacts.table("shop.customer", "a", "b:shop_money")
    artifacts.table("shop.customer", "a")
    said = matrix.sync(code=1)
    assert "Attribute b of schema 'shop.customer' version 2 has the unknown type shop_money." in said
    matrix.rows("insert into metl.accepted_type values ('shop_money', 'decimal') returning 1")

    assert matrix.sync() == "Nothing is new in the registry.\n"
    [event] = matrix.events("--retry", "shop.customer")
    assert (event["event"], event["version"]) == ("registered", 2), "between the others, where it belongs"
    assert matrix.rows(NOTICES) == []
    assert "Nothing of shop.customer is left" in matrix.sync("--retry", "shop.customer")
    assert "no schema 'shop.custmer'. Did you mean 'shop.customer'?" in matrix.sync("--retry", "shop.custmer", code=2)


def test_what_the_registry_changes_is_tried_again(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a:shop_money")
    matrix.sync(code=1)
    matrix.rows("insert into metl.accepted_type values ('shop_money', 'decimal') returning 1")
    artifacts.set_state("shop.customer-value", 1, "DEPRECATED")
    assert [each["event"] for each in matrix.events()] == ["state changed", "registered"]


def test_what_was_registered_by_hand_is_adopted(artifacts: Artifacts, matrix: Matrix) -> None:
    """The types need not be spelled the same, only mean the same."""
    matrix.rows("""select metl.add_schema_version('shop.customer', 1, '[{"name": "b", "type": "text"},
                                                                       {"name": "a", "type": "integer"}]')""")
    matrix.rows("""select metl.set_refs('shop.customer', 1, '{"fingerprint": "by hand"}')""")
    first = artifacts.table("shop.customer", "a", "b:string")
    artifacts.table("shop.customer", "a")

    assert [(each["event"], each["version"]) for each in matrix.events()] == [("adopted", 1), ("registered", 2)]
    refs = matrix.rows("select kind, ref from metl.schema_refs where version = 1")
    assert {("fingerprint", "by hand"), ("global_id", str(first))} < set(refs)
    assert matrix.rows("select count(*) from metl.schema_versions") == [(2,)]


def test_what_was_registered_by_hand_otherwise_is_left_alone(artifacts: Artifacts, matrix: Matrix) -> None:
    matrix.rows("""select metl.add_schema_version('shop.customer', 1, '[{"name": "a", "type": "text"}]')""")
    artifacts.table("shop.customer", "a")
    artifacts.table("shop.customer", "a", "b")

    said = matrix.sync(code=1)

    assert "Version 1 of shop.customer was registered by hand with other attributes." in said
    assert matrix.rows(NOTICES) == [("conflict", "shop.customer", 1)]
    kept = matrix.rows("select version, attribute, source_type from metl.schema_attributes order by 1, position")
    assert kept == [(1, "a", "text"), (2, "a", "int32"), (2, "b", "int32")]
    assert matrix.rows("select distinct version from metl.schema_refs") == [(2,)]


@pytest.fixture
def waiting(artifacts: Artifacts, matrix: Matrix) -> int:
    """A plan that waits, with versions behind it."""
    artifacts.table("shop.customer", "a", "b")
    matrix.sync()
    matrix.entity("shop.customer", x="a", y="b")
    matrix.rows("select metl.set_policy('shop.customer', null, 'confirm')")
    artifacts.table("shop.customer", "a")
    artifacts.table("shop.customer", "a", "c")
    artifacts.table("shop.order", "a")
    said = matrix.sync()
    assert "shop.customer 2 waits as plan 1, since 1 cell would be lost." in said
    assert "shop.order 1 came" in said
    assert [outcome for *_, outcome in matrix.outcomes()] == ["registered", "waiting", "pending", "registered"]
    assert matrix.rows("select plan_id from metl.registry_versions where outcome = 'pending'") == [(1,)]
    told = "shop.customer 3 waits behind plan 1: see metl plans list"
    assert told in said
    assert matrix.sync() == f"{told}\nVersions: 1 waiting behind a plan.\n"
    return 1


def test_what_waits_behind_a_plan_is_told_with_its_dead_letters(waiting: int, matrix: Matrix) -> None:
    [(third,)] = matrix.rows("select global_id from metl.registry_versions where outcome = 'pending'")
    [(refs,)] = matrix.rows("select refs from metl.plans")
    letters = [
        {"partition": 0, "offset": offset, "at": "2026-01-01T00:00:00Z", "key": None, "value": "e30=",
         "error_headers": {"__metl.reason": "unknown_version", "__metl.ref": f"global_id {ref}",
                  "__metl.schema": "shop.customer", "__metl.state": "3", "__connect.errors.topic": "shop.customer"}}
        for offset, ref in enumerate([refs["global_id"], third, third, 999_999])
    ]  # fmt: skip
    matrix.rows("select metl.collect_letters('metl.dead', %s, '{}')", json.dumps(letters))
    assert "shop.customer 3 waits behind plan 1, and 2 dead letters with it: see metl plans list" in matrix.sync()
    shown = metl("plans", "list", METL_DSN=matrix.dsn).stdout
    assert "Versions of the registry that wait behind it: 3.\nDead letters that wait for it: 3." in shown
    [plan] = json.loads(metl("plans", "list", "--json", METL_DSN=matrix.dsn).stdout)
    assert plan["behind"] == [{"version": None, "registry_version": "3", "letters": 2}] and plan["letters"] == 3

    # Nor are they forgotten when the plan is rejected.
    again = "Take it up again with: metl sync --retry shop.customer\n"
    assert metl("plans", "reject", "1", METL_DSN=matrix.dsn).stdout == (
        "Plan 1 was rejected: version 2 of schema shop.customer is not added. Its messages become dead letters "
        f"(1 so far). {again}"
    )
    told = f"shop.customer 2 was rejected as plan 1, and has 1 dead letter. {again}"
    said = matrix.sync()
    assert told in said and "shop.customer 3 waits as plan 2" in said
    assert matrix.sync() == f"{told}Versions: 1 rejected, with dead letters.\n"
    assert f"Its dead letters: 1. {again}" in metl("plans", "list", "--all", METL_DSN=matrix.dsn).stdout
    matrix.rows("select metl.confirm_plan(2)")
    assert told not in matrix.sync("--retry", "shop.customer"), "it waits again"


def test_after_a_confirmation_the_next_pass_goes_on(waiting: int, matrix: Matrix) -> None:
    matrix.rows("select metl.confirm_plan(%s)", waiting)
    assert [(each["event"], each["version"]) for each in matrix.events()] == [("registered", 3)]
    assert [outcome for *_, outcome in matrix.outcomes()] == ["registered"] * 4
    assert matrix.ones() == [(1, "a"), (1, "b"), (2, "a"), (3, "a")]
    refs = matrix.rows("select count(*) from metl.schema_refs where schema = 'shop.customer' and version = 2")
    assert refs == [(4,)]


def test_what_was_rejected_is_not_taken_and_the_next_pass_goes_on(waiting: int, matrix: Matrix) -> None:
    matrix.rows("select metl.reject_plan(%s)", waiting)
    # What comes next would lose the cell as well, and waits itself.
    [event] = matrix.events()
    assert (event["event"], event["version"], event["plan_id"]) == ("waiting", 3, 2)
    matrix.rows("select metl.confirm_plan(2)")
    assert [outcome for *_, outcome in matrix.outcomes()] == ["registered", "rejected", "registered", "registered"]
    assert matrix.sync() == "Nothing is new in the registry.\n"

    # On second thought.
    assert [(each["event"], each["version"]) for each in matrix.events("--retry", "shop.customer")] == [("waiting", 2)]


def test_a_plan_goes_with_the_version_it_is_for(waiting: int, artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.delete("shop.customer-value", 2)
    said = matrix.sync()
    assert "shop.customer 2 was deleted in the registry: plan 1 was dropped." in said
    assert "shop.customer 3 waits as plan 2" in said


def test_what_takes_the_place_of_a_deleted_version_comes_before_it_goes(
    waiting: int, artifacts: Artifacts, matrix: Matrix
) -> None:
    """Otherwise there would be nothing left to carry over once the plan is confirmed."""
    artifacts.delete("shop.customer-value")
    artifacts.table("shop.customer", "a")
    [dropped, waits] = matrix.events()
    assert (dropped["event"], dropped["plan_id"], waits["event"], waits["plan_id"]) == ("deleted", 1, "waiting", 2)
    assert matrix.ones() == [(1, "a"), (1, "b")]
    matrix.rows("select metl.confirm_plan(2)")
    assert [(each["event"], each["version"]) for each in matrix.events()] == [("deleted", 1)]
    [(_, attribute)] = matrix.ones()
    assert attribute == "a"


@pytest.mark.parametrize("role", ["metl_steward", "metl_reader", "metl_job"])
def test_the_least_role_that_may_is_steward(role: str, artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a")
    with psycopg.connect(matrix.dsn, autocommit=True) as owner, member(owner, role) as somebody:
        as_somebody = Matrix(
            f"{somebody.info.dsn} password={somebody.info.password}", matrix.registry, (artifacts.group,)
        )
        if role == "metl_steward":
            assert (
                as_somebody.sync()
                == "shop.customer 1 came: there was nothing to carry over.\nVersions: 1 registered.\n"
            )
        else:
            said = as_somebody.sync(code=1)
            assert f"{somebody.info.user} may not change METL" in said and "Grant it metl_steward." in said
