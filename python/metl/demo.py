"""The main path end to end on the local stack: a table changes, its schema gets a version, the matrix follows."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pyspark.sql import functions as f

from metl import dbt, debezium, jars, rest, spark
from metl.errors import MetlError
from metl.home import Home
from metl.install import install
from metl.stack import parts

TOPIC = "shop.public.customer"
BEFORE = [
    "create table customer (id int primary key, name text, note text)",
    "insert into customer values (1, 'Ada', null), (2, 'Bob', 'likes tea'), (3, 'Cleo', null)",
]
ALTER = "alter table customer add email text, drop note"
AFTER = [
    "insert into customer values (4, 'Dan', 'dan@example.org')",
    "update customer set email = 'ada@example.org' where id = 1",
]
CHANGES_BEFORE, CHANGES_AFTER = 3, 2
ENTITY = [
    {"name": "number", "type": "integer", "description": "Number under which the person is known"},
    {"name": "full_name", "type": "string", "description": "Name as the person writes it"},
    {"name": "remark", "type": "string", "description": "What clerks noted"},
]
MAPPING = {"number": "id", "full_name": "name", "remark": "note"}
ONES = [
    (1, "id", "number"),
    (1, "name", "full_name"),
    (1, "note", "remark"),
    (2, "id", "number"),
    (2, "name", "full_name"),
]
PATIENCE = 60.0


def fetch_jars(say: Callable[[str], None]) -> None:
    """What Spark needs, before the stack is up: a failed download then leaves nothing running."""
    asyncio.run(jars.fetch("spark", say))


def play(home: Home, say: Callable[[str], None]) -> None:
    """Plays the story on a stack that is up; raises if one of its claims does not hold."""
    postgres, kafka, registry, connect = (part.address for part in parts(home))
    _execute(postgres, *BEFORE)
    say("A service has a table: customer (id, name, note), with 3 rows.")
    debezium.create(connect, "shop", _connector(home, postgres, registry))
    say("Debezium reads its change log.")
    _await_versions(registry, 1)
    say(f"The registry has version 1 of {TOPIC}-value: {_names(registry, 1)}.")

    install(postgres)
    with psycopg.connect(postgres, autocommit=True) as matrix:
        _add_version(matrix, registry, 1)
        matrix.execute("select metl.add_entity_version('person', 1, %s)", [json.dumps(ENTITY)])
        matrix.execute("select metl.set_block(%s, 1, 'person', 1, %s)", [TOPIC, json.dumps(MAPPING)])
    say(f"A steward maps it to the entity person: {MAPPING}.")

    _execute(postgres, ALTER, *AFTER)
    say(f"The service changes it: {ALTER}; then one insert and one update.")
    _await_versions(registry, 2)
    say(f"The registry has version 2 by itself: {_names(registry, 2)}.")
    with psycopg.connect(postgres, autocommit=True) as matrix:
        _add_version(matrix, registry, 2)
        ones = matrix.execute(
            "select version, attribute, entity_attribute from metl.decompaction order by 1, 2"
        ).fetchall()
        notices = matrix.execute("select kind, lost from metl.notices where confirmed_at is null").fetchall()
    say(f"Auto-Update carries the mapping over: {', '.join(f'v{v}.{a}→{c}' for v, a, c in ones)}.")
    say(f"It leaves a notice of what was lost: {notices[0][0]} {notices[0][1]}.")
    if ones != ONES or [notice[0] for notice in notices] != ["shrunk"]:
        raise MetlError(f"The matrix should hold {ONES} and one notice, but holds {ones} and {notices}.")

    done = dbt.run(home, postgres, ["build"], quiet=True)
    if done.returncode:
        raise MetlError(f"dbt build failed. It says:\n{done.stdout}")
    with psycopg.connect(postgres) as marts:
        [(dense, stored)] = marts.execute("select dpm, dusb from metl_marts.compaction").fetchall()
    say(f"dbt derives the dense matrix and tests it: {dense} ones, of which METL stores {stored}.")
    if dense != len(ONES):
        raise MetlError(f"The mart dpm should have {len(ONES)} ones, but has {dense}.")

    ids = _versions(registry)
    counts = _messages_by_id(kafka)
    for version, global_id in sorted(ids.items()):
        say(f"Spark reads {counts.get(global_id, 0)} messages of version {version} (schemaId {global_id}) from Kafka.")
    expected = {ids[1]: CHANGES_BEFORE, ids[2]: CHANGES_AFTER}
    if counts != expected:
        raise MetlError(f"Messages by schemaId should be {expected}, but are {counts}.")
    say(f"All {sum(counts.values())} row changes are accounted for.")


def _execute(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def _connector(home: Home, postgres: str, registry: str) -> dict[str, str]:
    server = conninfo_to_dict(postgres)
    return debezium.postgres_source(
        prefix="shop",
        host=str(server["host"]),
        port=int(str(server["port"])),
        database=str(server["dbname"]),
        user=str(server["user"]),
        password=f"${{file:{home.connect_passwords_file}:{server['user']}}}",
        tables=["public.customer"],
        registry=registry,
    )


def _versions(registry: str) -> dict[int, int]:
    """The globalId of each version."""
    try:
        found = rest.request("GET", f"{registry}/apis/registry/v3/groups/default/artifacts/{TOPIC}-value/versions")
    except rest.RestError as error:
        if error.status == 404:
            return {}
        raise
    return {int(version["version"]): version["globalId"] for version in found["versions"]}


def _await_versions(registry: str, count: int) -> None:
    end = time.monotonic() + PATIENCE
    while len(_versions(registry)) < count:
        if time.monotonic() > end:
            raise MetlError(f"The registry has no version {count} of {TOPIC}-value after {PATIENCE:.0f} s.")
        time.sleep(0.2)


def _fields(registry: str, version: int) -> list[dict[str, Any]]:
    """The columns of the table: the fields of the envelope's `after`."""
    schema = rest.request("GET", f"{registry}/apis/registry/v3/ids/globalIds/{_versions(registry)[version]}")
    [after] = [field for field in schema["fields"] if field["field"] == "after"]
    return list(after["fields"])


def _names(registry: str, version: int) -> str:
    return ", ".join(field["field"] for field in _fields(registry, version))


def _add_version(matrix: psycopg.Connection, registry: str, version: int) -> None:
    attributes = [
        {"name": field["field"], "type": field.get("name") or field["type"], "optional": field["optional"]}
        for field in _fields(registry, version)
    ]
    matrix.execute("select metl.add_schema_version(%s, %s, %s)", [TOPIC, version, json.dumps(attributes)])


def _messages_by_id(kafka: str) -> dict[int, int]:
    session = spark.local_session("metl demo")
    try:
        messages = (
            session.read.format("kafka")
            .option("kafka.bootstrap.servers", kafka)
            .option("subscribe", TOPIC)
            .load()
            .select(f.get_json_object(f.col("value").cast("string"), "$.schemaId").cast("int").alias("schema_id"))
        )
        return {row["schema_id"]: row["count"] for row in messages.groupBy("schema_id").count().collect()}
    finally:
        session.stop()
