"""Each kind of difference, made on purpose, is found, and nothing else."""

import json

import pytest
from psycopg import sql

from tests.compare.conftest import KINDS, SCHEMA, World, described


def counts(comparison: dict[str, object]) -> dict[str, object]:
    return {kind: comparison[kind] for kind in KINDS if comparison[kind]}


def test_equal(world: World) -> None:
    comparison = world.compare()
    assert counts(comparison) == {"equal": 1000}
    assert (comparison["schema"], comparison["version"], comparison["topic"]) == (SCHEMA, 2, SCHEMA)
    assert (comparison["columns"], comparison["keys"], comparison["not_compared"]) == ({}, {}, {})


def test_missing_extra_and_different(world: World) -> None:
    world.warehouse.execute("delete from warehouse.person where number in (1, 2)")
    # A row that is marked as deleted does not count.
    world.warehouse.execute("update warehouse.person set _deleted = true where number = 3")
    world.source.execute("delete from customer where id between 10 and 12")
    world.source.execute("update customer set name = 'other', mail = null where id in (20, 22)")
    world.warehouse.execute("update warehouse.person set mail = '' where number = 31")
    comparison = world.compare("--examples", "2", code=3)
    assert counts(comparison) == {"equal": 991, "missing": 3, "extra": 3, "different": 3}
    assert sorted(comparison["keys"]) == ["different", "extra", "missing"]
    assert all(len(keys) == 2 for keys in comparison["keys"].values())
    assert all(10 <= key["id"] <= 12 for key in comparison["keys"]["extra"])
    columns = comparison["columns"]
    assert {name: column["different"] for name, column in columns.items()} == {"name": 2, "mail": 3}
    examples = sorted(columns["name"]["examples"], key=lambda each: each["key"]["id"])
    assert examples == [
        {"key": {"id": 20}, "source": "other", "warehouse": "row 20", "brought": True},
        {"key": {"id": 22}, "source": "other", "warehouse": "row 22", "brought": True},
    ]
    # Null is not the empty text.
    shown = world.compare(code=3)["columns"]["mail"]["examples"]
    assert {"key": {"id": 31}, "source": None, "warehouse": "", "brought": True} in shown


def test_values_are_equal_where_postgresql_says_so(world: World) -> None:
    world.source.execute(
        """update customer set credit = 1.10, score = '-0', doc = '{"a": 1.10, "b": null}' where id = 1"""
    )
    world.source.execute("update customer set credit = 'NaN', score = 'NaN', since = 'infinity' where id = 2")
    world.source.execute("update customer set credit = '-Infinity', score = 'Infinity' where id = 3")
    set_to = "update warehouse.person set "
    world.warehouse.execute(set_to + """credit = 1.1, score = 0, doc = '{"b": null, "a": 1.1}' where number = 1""")
    world.warehouse.execute(set_to + "credit = 'NaN', score = 'NaN', since = 'infinity' where number = 2")
    world.warehouse.execute(set_to + "credit = '-Infinity', score = 'Infinity' where number = 3")
    world.compare()
    world.warehouse.execute(set_to + """doc = '{"b": null, "a": "1.1"}' where number = 1""")
    world.warehouse.execute(set_to + "score = 'Infinity', since = '-infinity' where number = 2")
    # The next number that a double can be.
    world.source.execute("update customer set score = 0.1 where id = 4")
    world.warehouse.execute(set_to + "score = 0.10000000000000002 where number = 4")
    comparison = world.compare(code=3)
    assert {name: each["different"] for name, each in comparison["columns"].items()} == {
        "doc": 1,
        "score": 2,
        "since": 1,
    }


def test_values_that_change_places_are_found(world: World) -> None:
    world.warehouse.execute("update warehouse.person set name = 'row ' || 1001 - number")
    assert counts(world.compare(code=3)) == {"different": 1000}


def test_rejected_records(world: World) -> None:
    world.source.execute("insert into customer (id, name) values (2000, 'new')")
    world.source.execute("update customer set credit = 100 where id in (5, 6, 7)")
    after = {"number": 5, "credit": "one"}
    assert world.send(5, {"number": 5, "credit": "5"}, 10) == 0
    assert world.send(5, after, 11) == 1
    # Newer than what was rejected.
    assert world.send(6, after | {"number": 6}, 12) == 1
    assert world.send(6, {"number": 6, "name": "row 6", "credit": "2"}, 13) == 0
    assert world.send(2000, after | {"number": 2000}, 14) == 1
    comparison = world.compare(code=3)
    assert counts(comparison) == {"equal": 997, "different": 2, "rejected": 2}
    assert sorted(comparison["keys"]["rejected"], key=str) == [{"id": 2000}, {"id": 5}]
    assert comparison["rejections"] == {'invalid input syntax for type numeric: "one"': 2}


def test_values_that_no_message_brought(world: World) -> None:
    [(row,)] = world.source.execute("select to_jsonb(customer) from customer where id = 8").fetchall()
    world.source.execute("update customer set name = 'long' where id = 8")
    after = {
        "number": 8,
        **{name: row[name] for name in ("credit", "score", "since", "mail")},
        "doc": json.dumps(row["doc"]),
    }
    assert world.send(8, {name: value for name, value in after.items() if value is not None}, 10, "name") == 0
    comparison = world.compare(code=3)
    assert counts(comparison) == {"equal": 999, "different": 1}
    [example] = comparison["columns"]["name"]["examples"]
    assert example == {"key": {"id": 8}, "source": "long", "warehouse": "row 8", "brought": False}
    assert comparison["columns"]["name"]["not_brought"] == 1


def test_what_the_newest_version_does_not_feed_is_no_difference(world: World) -> None:
    world.warehouse.execute("update warehouse.person set nick = 'old' where number <= 4")
    assert world.compare()["not_fed"] == {"nick": 4}
    world.warehouse.execute("update warehouse.person set _source = 'gone' where number <= 2")
    done = world.metl("entities", "compare", "person", "--wait", "0")
    assert done.exit_code == 3
    assert "version 2 does not feed nick; the warehouse has values of it in 2 rows." in done.stdout
    assert "The warehouse has 2 rows of gone, whose" in done.stdout


def test_a_row_without_values_is_not_sent(world: World) -> None:
    world.warehouse.execute("select metl.add_entity_version('contact', 1, %s)", [described({"mail": "string"})])
    world.warehouse.execute("select metl.set_block(%s, 2, 'contact', 1, '{\"mail\": \"mail\"}')", [SCHEMA])
    done = world.metl("entities", "initial-load", "contact", "--schema", SCHEMA, "--why", "a test", "--yes")
    assert done.exit_code == 0, done.output
    # Half of them have no mail: as messages they would never have come.
    world.warehouse.execute("delete from warehouse.contact where mail is null")
    done = world.metl("entities", "compare", "contact", "--json")
    assert done.exit_code == 0, done.output
    assert counts(json.loads(done.stdout)["schemas"][0]) == {"equal": 1000}
    world.source.execute("update customer set mail = null where id = 2")
    done = world.metl("entities", "compare", "contact", "--json", "--wait", "0")
    assert done.exit_code == 3 and counts(json.loads(done.stdout)["schemas"][0]) == {"equal": 999, "different": 1}


def test_a_sample(world: World) -> None:
    assert counts(world.compare("--sample", "100")) == {"equal": 100}
    assert counts(world.compare("--sample", "5000")) == {"equal": 1000}
    world.warehouse.execute("delete from warehouse.person")
    assert counts(world.compare("--sample", "100", code=3)) == {"missing": 100}
    world.load()
    world.source.execute("truncate customer")
    world.source.execute("insert into customer (id) values (0)")
    assert counts(world.compare("--sample", "1", code=3))["missing"] == 1


def test_more_rows_than_are_remembered(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metl.warehouse.compare.tables.MAX_RECHECKED", 100)
    world.warehouse.execute("delete from warehouse.person where number <= 200")
    world.source.execute("delete from customer where id > 900")
    world.source.execute("update customer set name = 'other' where id between 301 and 500")
    comparison = world.compare(wait="60", code=3)
    assert counts(comparison) == {"equal": 500, "missing": 200, "extra": 100, "different": 200}
    assert comparison["looked_at_once"] and comparison["columns"]["name"]["different"] == 200


def test_awkward_names_and_composite_keys(world: World) -> None:
    schema, table, name = 'shop.öß.a "b" %s', 'a "b" %s', "Größe % {}"
    types = {"k 1": "int64", "kéy": "string", name: "string"}
    world.warehouse.execute("select metl.add_schema_version(%s, 1, %s)", [schema, described(types)])
    entity = {"size % 'x'": "string", "_kept": "string"}
    world.warehouse.execute("select metl.add_entity_version('thing', 1, %s)", [described(entity)])
    mapping = json.dumps({"size % 'x'": name, "_kept": "kéy"})
    world.warehouse.execute("select metl.set_block(%s, 1, 'thing', 1, %s)", [schema, mapping])
    world.warehouse.execute("select metl.set_topic('shop.thing', schema => %s)", [schema])
    world.source.execute('create schema "öß"')
    there = sql.Identifier("öß", table)
    columns = sql.SQL(", ").join(sql.SQL("{} {}").format(sql.Identifier(each), sql.SQL(kind)) for each, kind in
                                 {"k 1": "bigint", "kéy": "varchar(9)", name: "text"}.items())  # fmt: skip
    world.source.execute(sql.SQL('create table {} ({}, primary key ("kéy", "k 1"))').format(there, columns))
    world.source.execute(
        sql.SQL("insert into {} select n, 'ä%' || n, repeat('x', 9999) || n from generate_series(1, 9) as n").format(
            there
        )
    )
    words = ("thing", "--schema", schema)
    done = world.metl("entities", "initial-load", *words, "--why", "a test", "--yes")
    assert done.exit_code == 0, done.output
    done = world.metl("entities", "compare", *words, "--json")
    assert done.exit_code == 0, done.output
    world.source.execute(
        sql.SQL("update {} set {} = {} || 'y' where \"k 1\" = 3").format(there, *[sql.Identifier(name)] * 2)
    )
    done = world.metl("entities", "compare", *words, "--json", "--wait", "0.1")
    assert done.exit_code == 3, done.output
    [comparison] = json.loads(done.stdout)["schemas"]
    [example] = comparison["columns"]["size % 'x'"]["examples"]
    assert example["key"] == {"k 1": 3, "kéy": "ä%3"}
    assert (example["source"][-4:], example["warehouse"][-3:]) == ("xx3y", "xx3")
    shown = world.metl("entities", "compare", *words, "--wait", "0")
    assert '{"k 1": 3, "kéy": "ä%3"}' in shown.stdout and "xx3y" in shown.stdout


def test_rows_are_found_by_keys_of_many_types(world: World) -> None:
    """Rows that differ are looked at again by their primary key."""
    columns = {
        "c": "char(5)", "b": "bit(4)", "n": "numeric", "d": "date", "t": "timestamp(3)", "z": "timestamptz",
        "u": "uuid", "y": "bytea", "i": "inet", "e": "mood",
    }  # fmt: skip
    moments = "'infinity', '0001-01-01 BC', '2024-01-01 1:2:3.4Z'"
    row = f"('ab', b'0101', 1.10, {moments}, gen_random_uuid(), '\\x00ff', '::1', 'ok')"
    world.source.execute("create type mood as enum ('ok')")
    made = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    world.source.execute(f"create table keyed ({made}, primary key ({', '.join(columns)}), x text)".encode())
    world.source.execute(f"insert into keyed values {row}, {row}".encode())
    types = dict.fromkeys([*columns, "x"], "string")
    world.warehouse.execute("select metl.add_schema_version('shop.public.keyed', 1, %s)", [described(types)])
    world.warehouse.execute("select metl.add_entity_version('keyed', 1, %s)", [described({"x": "string"})])
    world.warehouse.execute("""select metl.set_block('shop.public.keyed', 1, 'keyed', 1, '{"x": "x"}')""")
    done = world.metl("entities", "initial-load", "keyed", "--schema", "shop.public.keyed", "--why", "a test", "--yes")
    assert done.exit_code == 0, done.output
    world.source.execute("update keyed set x = 'here'")
    done = world.metl("entities", "compare", "keyed", "--wait", "0.1", "--json")
    [comparison] = json.loads(done.stdout)["schemas"]
    assert counts(comparison) == {"different": 2}
    assert [each["source"] for each in comparison["columns"]["x"]["examples"]] == ["here", "here"]
