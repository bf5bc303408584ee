"""metl entities compare as people and programs call it."""

import json
import time

import psycopg
from psycopg.conninfo import make_conninfo

from tests.compare.conftest import SCHEMA, World, described
from tests.matrix.roles import member


def test_people_see_counts_columns_and_examples(world: World) -> None:
    done = world.metl("entities", "compare", "person", "--wait", "0")
    assert done.exit_code == 0
    head, row, verdict = done.stdout.splitlines()
    assert head.split() == ["schema", "rows", "equal", "missing", "extra", "different", "rejected", "in", "flight"]
    assert row.split() == [SCHEMA, "1,000", "1,000", "0", "0", "0", "0", "0"]
    assert verdict == "Source and warehouse do not differ."
    sampled = world.metl("entities", "compare", "person", "--wait", "0", "--sample", "10").stdout
    assert sampled.endswith("No difference in the sample of 10 rows. Other rows were not compared.\n")
    assert world.metl("entities", "compare", "person", "--wait", "0", "--sample", "1001").stdout == done.stdout, (
        "all of them"
    )
    world.source.execute("update customer set name = 'other' where id = 7")
    world.source.execute("insert into customer (id) values (0)")
    done = world.metl("entities", "compare", "person", "--wait", "0")
    assert done.exit_code == 3
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["name", "1", "0"] in lines
    assert ["name", '{"id":', "7}", "other", "row", "7"] in lines
    assert ["missing", '{"id":', "0}"] in lines
    assert done.stdout.splitlines()[-1] == "Source and warehouse differ."


#: A change of the source, the arguments, the exit code and a part of the message.
BAD = [
    ("", ["persn"], 2, "There is no entity 'persn'. Did you mean 'person'?"),
    ("", ["person", "--schema", "shop.public.custom"], 2, "There is no schema 'shop.public.custom'"),
    ("", ["person", "--schema", "other"], 2, "Schema 'other' does not feed entity 'person'"),
    ("", ["person", "--schema", SCHEMA, "--topic", "elsewhere"], 2, "'elsewhere' is not one of schema"),
    ("", ["person", "--schema", SCHEMA, "--table", "nowhere"], 2, 'There is no table "nowhere" with a primary key'),
    ("", ["person", "--table", "customer"], 2, "--table needs --schema"),
    ("", ["person", "--topic", "x"], 2, "--topic needs --schema"),
    ("", ["person", "--sample", "0"], 2, "0 is not in the range"),
    ("", ["person", "--wait", "-1"], 2, "not in the range"),
    ("", ["lonely"], 1, "Nothing feeds entity 'lonely' yet"),
    ("", ["unloaded"], 1, "The warehouse has no table of 'unloaded' yet"),
    ("alter table customer rename name to title", ["person"], 1, 'column "name" does not exist'),
    ("alter table customer drop constraint customer_pkey", ["person"], 2, "with a primary key in this database"),
    ("drop table customer", ["person"], 2, 'There is no table "public"."customer"'),
]


def test_bad_input_is_a_sentence(world: World) -> None:
    for entity in ("lonely", "unloaded"):
        world.warehouse.execute("select metl.add_entity_version(%s, 1, %s)", [entity, described({"x": "string"})])
    world.warehouse.execute("select metl.add_schema_version('other', 1, %s)", [described({"y": "string"})])
    world.warehouse.execute("""select metl.set_block('other', 1, 'unloaded', 1, '{"x": "y"}')""")
    for change, words, code, complaint in BAD:
        if change:
            world.source.execute(change.encode())
        done = world.metl("entities", "compare", *words)
        assert (done.exit_code, done.stdout) == (code, ""), (words, done.output)
        assert complaint in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_a_source_that_does_not_answer(world: World) -> None:
    done = world.metl("entities", "compare", "person", METL_SOURCE_DSN="postgresql://ada:secret@127.0.0.1:1/shop")
    assert done.exit_code == 1 and "Is --source right" in done.stderr and "secret" not in done.output


def test_several_schemas(world: World) -> None:
    other = "crm.public.people"
    world.warehouse.execute("select metl.add_schema_version(%s, 1, %s)", [other, described({"nr": "int64"})])
    world.warehouse.execute("""select metl.set_block(%s, 1, 'person', 1, '{"number": "nr"}')""", [other])
    done = world.metl("entities", "compare", "person")
    assert done.exit_code == 2
    assert f"compare one schema at a time with --schema: {other}, {SCHEMA}." in done.stderr
    assert world.compare("--schema", SCHEMA)["equal"] == 1000
    world.source.execute("create table people (nr bigint primary key)")
    world.source.execute("insert into people values (1), (2)")
    done = world.metl("entities", "compare", "person", "--wait", "0", "--json")
    assert done.exit_code == 3
    comparison = {each["schema"]: (each["equal"], each["missing"]) for each in json.loads(done.stdout)["schemas"]}
    assert comparison == {other: (0, 2), SCHEMA: (1000, 0)}


def test_an_entity_that_was_elevated(world: World) -> None:
    shape = described({"number": "integer", "fresh": "string"})
    world.warehouse.execute("select metl.add_entity_version('person', 2, %s)", [shape])
    done = world.metl("entities", "compare", "person", "--wait", "0")
    assert done.exit_code == 1 and "does not have version 2 of 'person' yet: it lacks fresh" in done.stderr


def test_columns_that_sql_may_round_or_cannot_cast_are_reported_as_not_compared(world: World) -> None:
    types = {"id": "int32", "amount": "decimal", "tags": "array"}
    world.warehouse.execute("select metl.add_schema_version('shop.public.item', 1, %s)", [described(types)])
    entity = {"number": "integer", "whole": "integer", "tags": "array"}
    world.warehouse.execute("select metl.add_entity_version('item', 1, %s)", [described(entity)])
    mapping = json.dumps({"number": "id", "whole": "amount", "tags": "tags"})
    world.warehouse.execute("select metl.set_block('shop.public.item', 1, 'item', 1, %s)", [mapping])
    world.warehouse.execute("select metl.open_initial_load('item')")
    world.source.execute("create table item (id int primary key, amount numeric, tags text[])")
    world.source.execute("insert into item values (1, 1.5, '{a}')")
    done = world.metl("entities", "compare", "item", "--wait", "0")
    assert done.exit_code == 3
    assert "whole is not compared: SQL may round it, being made integer of decimal." in done.stdout
    assert "tags is not compared: SQL gives it as text[], and messages as jsonb." in done.stdout
    assert "missing" in done.stdout


def test_a_reader_and_somebody_who_may_only_select(world: World) -> None:
    with member(world.warehouse, "metl_reader") as reader, psycopg.connect(world.source_dsn, autocommit=True) as owner:
        name = reader.info.user
        owner.execute(f"grant select on customer to {name}".encode())
        try:
            here = make_conninfo(world.dsn, user=name, password=reader.info.password)
            there = make_conninfo(world.source_dsn, user=name, password=reader.info.password)
            world.source.execute("update customer set name = 'other' where id = 7")
            world.warehouse.execute("delete from warehouse.person where number = 8")
            comparison = world.compare(wait="0.1", code=3, METL_DSN=here, METL_SOURCE_DSN=there)
            assert (comparison["missing"], comparison["different"], comparison["equal"]) == (1, 1, 998)
        finally:
            owner.execute(f"revoke select on customer from {name}".encode())
        done = world.metl("entities", "compare", "person", METL_DSN=here, METL_SOURCE_DSN=there)
        assert done.exit_code == 1 and "permission denied for table customer" in done.stderr


def test_a_hundred_thousand_rows_take_a_moment(world: World) -> None:
    world.source.execute("insert into customer (id, name) select n, n from generate_series(1001, 100000) as n")
    world.load()
    world.source.execute("update customer set name = 'other' where id % 1000 = 1")
    world.source.execute("vacuum analyze customer")
    began = time.monotonic()
    comparison = world.compare(code=3)
    assert (comparison["rows"], comparison["different"], comparison["equal"]) == (100_000, 100, 99_900)
    assert time.monotonic() - began < 10
