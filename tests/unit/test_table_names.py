"""Table names in a connector's settings, where each entry is a regular expression."""

import pytest

from metl.capture.names import captured_tables, listed_tables, name_pattern, parse
from metl.capture.settings import slot_name
from metl.errors import BadInput


def test_special_characters_are_escaped() -> None:
    names = ["public.customer", "public.Odd, Näme", "public.a+b", "public.x(y)"]
    settings = {"table.include.list": ",".join(map(name_pattern, names))}
    assert listed_tables(settings) == names == captured_tables(settings, [*names, "public.aab", "public.customers"])


def test_other_regular_expressions_are_kept() -> None:
    settings = {"table.include.list": r"public\.customer, sales.*"}
    assert captured_tables(settings, ["public.customer", "sales.orders", "public.orders"]) == [
        "public.customer",
        "sales.orders",
    ]
    assert listed_tables(settings) == ["public.customer"]


def test_a_name_needs_a_schema() -> None:
    assert parse("public.a.b") == ("public", "a.b")
    with pytest.raises(BadInput, match=r"Did you mean 'public\.customer'"):
        parse("customer")


def test_slot_names_are_valid_in_postgresql() -> None:
    assert slot_name("Shop-1.eu") == "metl_shop_1_eu"
