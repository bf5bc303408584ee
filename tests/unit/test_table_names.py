"""Names of tables in a connector's settings, where each is a regular expression."""

import pytest

from metl.capture.names import captured_tables, listed_tables, name_pattern, parse
from metl.capture.settings import slot_name
from metl.errors import BadInput


def test_odd_names_match_themselves_only() -> None:
    names = ["public.customer", "public.Odd, Näme", "public.a+b", "public.x(y)"]
    settings = {"table.include.list": ",".join(map(name_pattern, names))}
    assert listed_tables(settings) == names == captured_tables(settings, [*names, "public.aab", "public.customers"])


def test_patterns_of_the_users_own_stay_what_they_are() -> None:
    settings = {"table.include.list": r"public\.customer, sales.*"}
    assert captured_tables(settings, ["public.customer", "sales.orders", "public.orders"]) == [
        "public.customer",
        "sales.orders",
    ]
    assert listed_tables(settings) == ["public.customer"]


def test_a_name_says_its_schema() -> None:
    assert parse("public.a.b") == ("public", "a.b")
    with pytest.raises(BadInput, match=r"Did you mean 'public\.customer'"):
        parse("customer")


def test_slots_have_names_that_postgres_takes() -> None:
    assert slot_name("Shop-1.eu") == "metl_shop_1_eu"
