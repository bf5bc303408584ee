"""The zoo: every type and feature of PostgreSQL that one meets, changed at random, through the whole chain.

In the end `metl entities compare` finds nothing but what docs/exactness.md declares. METL_SEED does the same
once more, with other values; -s shows what there was.
"""

import json
import os
import random
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests import topics
from tests.conftest import scratch_database
from tests.dead_letters import commands
from tests.live.running import Place, run, world  # noqa: F401
from tests.parts import Source
from tests.zoo import tables as zoo
from tests.zoo.tables import Table
from tests.zoo.values import DECLARED, KEYS, LONG_VALUES, VALUES

# It pays for Debezium, dbt and two Spark jobs.
pytestmark = pytest.mark.timeout(600)

SEED = int(os.environ.get("METL_SEED", "1"))
CHANGES = 1500
ATTRIBUTES = """
select schema, version, jsonb_agg(jsonb_build_object('name', attribute, 'type', type) order by position) as attributes
from metl.schema_attributes where is_live and schema like %s group by schema, version order by schema, version
"""


@dataclass
class Zoo:
    place: Place
    prefix: str
    dsn: str
    addresses: dict[str, str]
    tables: list[Table]

    def metl(self, *words: str, expected: int = 0) -> str:
        done = commands.run(self.place, *words, METL_SOURCE_DSN=self.dsn, **self.addresses)
        assert done.returncode == expected, f"metl {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def compared(self, table: Table, expected: int = 0) -> dict[str, Any]:
        """What `metl entities compare` says of the entity of a table."""
        schema = f"{self.prefix}.{table.topic}"
        words = (
            "entities",
            "compare",
            entity_of(schema),
            "--schema",
            schema,
            "--table",
            table.name,
            "--wait",
            "0",
            "--json",
        )
        [found] = json.loads(self.metl(*words, expected=expected))["schemas"]
        assert isinstance(found, dict)
        return found


def entity_of(schema: str) -> str:
    return schema.partition(".")[2].replace(".", "_").lower()


@pytest.fixture(scope="module")
def captured(world: Place, postgres: str, parts: Source, registry: str, connect: str) -> Iterator[Zoo]:  # noqa: F811
    prefix = f"zoo{uuid.uuid4().hex[:6]}"
    with scratch_database(postgres) as name:
        dsn = make_conninfo(postgres, dbname=name)
        addresses = {"METL_CONNECT": connect, "METL_REGISTRY": registry}
        made = Zoo(world, prefix, dsn, addresses, zoo.tables())
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute((Path(__file__).parent / "zoo.sql").read_bytes())
            zoo.create(connection)
            for table in made.tables:
                table.insert_edges(connection)
        names = [table.captured for table in (*made.tables, zoo.DECLARED_TABLE, zoo.NO_KEY)]
        words = ("capture", "add", prefix, *names, "--source", dsn, "--yes")
        made.metl(*words, "--secret", parts.password_for_connect())
        try:
            yield made
        finally:
            made.metl("capture", "remove", prefix, "--why", "the zoo closes", "--yes")


def map_everything(captured: Zoo) -> None:
    """Each table is an entity, and each of its columns an attribute of the same type."""
    for row in captured.place.rows(ATTRIBUTES, f"{captured.prefix}.%"):
        assert row["version"] == 1, f"{row['schema']} changed though nobody altered it"
        entity = entity_of(row["schema"])
        captured.place.call("add_entity_version", entity, 1, row["attributes"])
        mapping = {each["name"]: each["name"] for each in row["attributes"]}
        captured.place.call("set_block", row["schema"], 1, entity, 1, mapping)
    captured.place.build_marts()


def test_whatever_is_in_a_database_arrives_as_it_is(captured: Zoo) -> None:
    chance = random.Random(SEED)
    with psycopg.connect(captured.dsn, autocommit=True) as connection:
        for _ in range(CHANGES):
            chance.choice(captured.tables).change(connection, chance)
        # The last of all: once it has come, the others have.
        connection.execute("insert into no_key values ('last', 1)")
    assert len(topics.read(captured.place.kafka, f"{captured.prefix}.public.no_key", 1)) == 1
    # Debezium registers in the default group; those of other tests are none of ours.
    captured.metl("sync", "--group", "default")
    map_everything(captured)
    place = captured.place
    given = ("--topics", rf"{captured.prefix}\..*", "--prefix", place.prefix, "--dead-letters", place.dead)
    for words in (("load", *given), ("warehouse", "--available-now", "--prefix", place.prefix)):
        done = run(place, *words, patience=240)
        assert done.returncode == 0, done.stdout + done.stderr
    assert not place.rows("select * from metl.dead_letters")

    rows = 0
    for table in captured.tables:
        found = captured.compared(table)
        assert found["equal"] == found["rows"] > 0, table.name
        rows += found["rows"]
    rejected = place.rows("select entity, reason from warehouse._rejected")
    assert rejected == [{"entity": "public_declared", "reason": "timestamp out of range"}]
    found = captured.compared(zoo.DECLARED_TABLE, expected=3)
    assert (found["different"], found["rejected"], found["rows"]) == (2, 1, len(DECLARED))
    no_key = commands.run(place, "entities", "compare", "public_no_key", METL_SOURCE_DSN=captured.dsn)
    assert no_key.returncode == 2 and "nothing tells its rows apart" in no_key.stderr

    features = [feature for table in captured.tables for feature in table.features]
    sys.stderr.write(
        f"{len({*VALUES, *LONG_VALUES, *KEYS})} types, {len(features)} features ({', '.join(features)}), "
        f"{rows} rows after {CHANGES} changes, 0 differences but {len(DECLARED)} that are declared\n"
    )
