"""A source and a warehouse that has its rows, without messages: they are loaded by SQL."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from click.testing import Result
from psycopg.conninfo import make_conninfo

from tests.conftest import scratch_database
from tests.unit.test_cli import metl
from tests.warehouse.staging import Staged, merge, start

SCHEMA = "shop.public.customer"
TABLE = """
create table customer (
    id int primary key, name text, credit numeric, score float8, doc jsonb, since timestamptz, mail text
)
"""
ROWS = """
insert into customer
select
    n, 'row ' || n, n / 7.0, n / 7.0, jsonb_build_object('n', n), timestamptz '2020-01-01Z' + n * interval '1 day',
    case when n % 2 = 0 then 'a@b' end
from generate_series(1, 1000) as n
"""
#: What the newest version has; the first one has a nickname as well.
TYPES = {
    "id": "int32", "name": "string", "credit": "decimal", "score": "float64", "doc": "json",
    "since": "timestamptz", "mail": "string",
}  # fmt: skip
ENTITY = {
    "number": "integer", "name": "string", "credit": "decimal", "score": "float", "doc": "json",
    "since": "timestamp", "mail": "string", "nick": "string",
}  # fmt: skip
MAPPING = {attribute: {"number": "id"}.get(attribute, attribute) for attribute in ENTITY}


def described(types: dict[str, str]) -> str:
    return json.dumps([{"name": name, "type": kind} for name, kind in types.items()])


@dataclass
class World:
    dsn: str
    source: psycopg.Connection
    source_dsn: str
    warehouse: psycopg.Connection
    state: int

    def metl(self, *words: str, **environment: str) -> Result:
        return metl(*words, **{"METL_DSN": self.dsn, "METL_SOURCE_DSN": self.source_dsn} | environment)

    def load(self) -> None:
        done = self.metl("entities", "initial-load", "person", "--schema", SCHEMA, "--why", "a test", "--yes")
        assert done.exit_code == 0, done.output

    def compare(self, *words: str, wait: str = "0", code: int = 0, **environment: str) -> dict[str, Any]:
        """What it finds of the one schema."""
        done = self.metl("entities", "compare", "person", "--wait", wait, "--json", *words, **environment)
        assert done.exit_code == code, done.output
        report = json.loads(done.stdout)
        assert report["differs"] == (code == 3)
        [comparison] = report["schemas"]
        assert comparison["rows"] == sum(comparison[kind] for kind in KINDS)
        return comparison  # type: ignore[no-any-return]

    def send(self, number: int, after: dict[str, Any], offset: int = 1, *unavailable: str) -> int:
        """A record about a row; how many were rejected."""
        key = json.dumps({"id": number}, separators=(",", ":"))
        at = int(time.time() * 1000) + 60_000
        record = Staged("person", SCHEMA, key, 0, offset, at, "u", after, self.state, 2, unavailable)
        return merge(self.warehouse, [record])


KINDS = ("equal", "missing", "extra", "different", "rejected", "in_flight")


@pytest.fixture
def world(database: str, postgres: str) -> Iterator[World]:
    with scratch_database(postgres) as name, psycopg.connect(database, autocommit=True) as owner:
        owner.execute("select metl.add_entity_version('person', 1, %s)", [described(ENTITY)])
        owner.execute("select metl.add_schema_version(%s, 1, %s)", [SCHEMA, described(TYPES | {"nick": "string"})])
        owner.execute("select metl.set_block(%s, 1, 'person', 1, %s)", [SCHEMA, json.dumps(MAPPING)])
        owner.execute("select metl.add_schema_version(%s, 2, %s)", [SCHEMA, described(TYPES)])
        [(state,)] = owner.execute("select metl.current_state()").fetchall()
        start(owner)
        source_dsn = make_conninfo(postgres, dbname=name)
        with psycopg.connect(source_dsn, autocommit=True) as source:
            source.execute(TABLE)
            source.execute(ROWS)
            made = World(database, source, source_dsn, owner, state)
            made.load()
            yield made
