"""Rows of a table come into the warehouse by SQL, among those that come by messages."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.conftest import scratch_database
from tests.warehouse.staging import Staged, merge, start

SCHEMA = "shop.public.customer"


@dataclass
class World:
    dsn: str
    source: psycopg.Connection
    source_dsn: str
    state: int

    def load(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "metl", "entities", "initial-load", *words]
        given = {"METL_DSN": self.dsn, "METL_SOURCE_DSN": self.source_dsn}
        return subprocess.run(command, env=os.environ | given, text=True, capture_output=True)

    def loaded(self) -> dict[str, object]:
        done = self.load("person", "--schema", SCHEMA, "--why", "a test", "--yes", "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    def merge(self, connection: psycopg.Connection, number: int, at: float, name: str) -> None:
        after = {"number": number, "name": name}
        record = Staged("person", SCHEMA, json.dumps({"id": number}), 0, number, int(at * 1000), "u", after, self.state)
        assert merge(connection, [record]) == 0

    def rows(self) -> dict[int, str]:
        with psycopg.connect(self.dsn) as connection:
            query = "select number, name from warehouse.person where not _deleted"
            return dict(connection.execute(query).fetchall())


@pytest.fixture
def world(database: str, postgres: str) -> Iterator[World]:
    typed = [{"name": "id", "type": "int32"}, {"name": "name", "type": "string"}]
    entity = [{"name": "number", "type": "integer"}, {"name": "name", "type": "string"}]
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("select metl.add_schema_version(%s, 1, %s)", [SCHEMA, json.dumps(typed)])
        owner.execute("select metl.add_entity_version('person', 1, %s)", [json.dumps(entity)])
        mapping = json.dumps({"number": "id", "name": "name"})
        [(state,)] = owner.execute("select metl.set_block(%s, 1, 'person', 1, %s)", [SCHEMA, mapping]).fetchall()
    with scratch_database(postgres) as name:
        source_dsn = make_conninfo(postgres, dbname=name)
        source = psycopg.connect(source_dsn, autocommit=True)
        source.execute("create table customer (id int primary key, name text)")
        source.execute("insert into customer select n, 'row ' || n from generate_series(1, 5000) as n")
        yield World(database, source, source_dsn, state)
        source.close()


def test_rows_count_as_read_at_that_moment(world: World) -> None:
    with psycopg.connect(world.dsn, autocommit=True) as connection:
        start(connection)
        world.merge(connection, 1, time.time() - 3600, "older")
        world.merge(connection, 2, time.time() + 60, "newer")
        assert world.loaded()["merged"] == 4999
        assert world.rows() == {n: "newer" if n == 2 else f"row {n}" for n in range(1, 5001)}
        world.merge(connection, 3, time.time() - 3600, "late")
        world.merge(connection, 4, time.time() + 60, "next")
    assert (world.rows()[3], world.rows()[4]) == ("row 3", "next")
    world.source.execute("update customer set name = 'again' where id = 5")
    world.loaded()
    assert (world.rows()[4], world.rows()[5]) == ("next", "again")
    with psycopg.connect(world.dsn) as connection:
        query = "select kind, why, about ->> 'rows', outcome ->> 'merged' from metl.operations order by operation"
        first, second = connection.execute(query).fetchall()
    assert first == ("initial_load", "a test", "5000", "4999") and second[0] == "initial_load"


def test_a_message_that_leaves_a_value_out_keeps_the_loaded_one_until_a_newer_one_comes(world: World) -> None:
    world.loaded()
    with psycopg.connect(world.dsn, autocommit=True) as connection:
        start(connection)
        key, at = json.dumps({"id": 7}), int(time.time() * 1000) + 60_000
        left_out = Staged("person", SCHEMA, key, 0, 500, at + 1, "u", {"number": 7}, world.state, unavailable=("name",))
        merge(connection, [left_out])
        assert world.rows()[7] == "row 7"
        brought = Staged("person", SCHEMA, key, 0, 499, at, "u", {"number": 7, "name": "between"}, world.state)
        merge(connection, [brought])
    assert world.rows()[7] == "between"


def test_nothing_is_done_unless_agreed(world: World) -> None:
    done = world.load("person", "--schema", SCHEMA, "--why", "a test")
    assert done.returncode == 2 and "Add --yes to do it" in done.stderr and "5,000" in done.stdout
    with psycopg.connect(world.dsn) as connection:
        assert connection.execute("select from metl.operations").fetchall() == []


@pytest.mark.parametrize(
    ("change", "words", "complaint"),
    [
        ("", ("other", "--schema", SCHEMA), "There is no entity 'other'"),
        ("", ("person", "--schema", SCHEMA, "--table", "nowhere"), "There is no table"),
        ("alter table customer drop constraint customer_pkey", ("person", "--schema", SCHEMA), "with a primary key"),
        (
            "alter table customer alter id type interval using make_interval(id)",
            ("person", "--schema", SCHEMA),
            "whose form in messages",
        ),
        ("alter table customer drop name", ("person", "--schema", SCHEMA), 'column "name" does not exist'),
        ("", ("person", "--schema", SCHEMA, "--topic", "elsewhere"), "'elsewhere' is not one of schema"),
        ("alter table customer rename to elsewhere", ("person", "--schema", SCHEMA), "There is no table"),
    ],
)
def test_bad_input(world: World, change: str, words: tuple[str, ...], complaint: str) -> None:
    if change:
        world.source.execute(change.encode())
    done = world.load(*words, "--why", "a test", "--yes")
    assert done.returncode in (1, 2) and complaint in done.stderr and "Traceback" not in done.stderr, done.stderr
    with psycopg.connect(world.dsn) as connection:
        query = "select ended_at is not null, outcome ->> 'failed' from metl.operations"
        outcomes = connection.execute(query).fetchall()
        [(table,)] = connection.execute("select to_regclass('warehouse.person')").fetchall()
        assert table is None or world.rows() == {}, "nothing half-done stays"
    # Found out while rows are copied, it leaves an operation that has ended, with the reason.
    assert bool(outcomes) == change.endswith("drop name")
    assert all(has_ended and complaint in reason for has_ended, reason in outcomes), outcomes
