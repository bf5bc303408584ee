"""The main path end to end on the local stack: a table changes, the matrix follows, every row comes out mapped."""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from confluent_kafka import Consumer, TopicPartition
from psycopg.conninfo import conninfo_to_dict

from metl import dbt, debezium, jars, rest
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
LATE = "insert into customer values (5, 'Eve', 'eve@example.org')"
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
# What comes out: the operation, the version of the schema, the person.
MAPPED = [
    ("r", 1, {"number": 1, "full_name": "Ada"}),
    ("r", 1, {"number": 2, "full_name": "Bob", "remark": "likes tea"}),
    ("r", 1, {"number": 3, "full_name": "Cleo"}),
    ("c", 2, {"number": 4, "full_name": "Dan"}),
    ("u", 2, {"number": 1, "full_name": "Ada"}),
]
MAPPED_LATE = ("c", 2, {"number": 5, "full_name": "Eve"})
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

    say("The live mapper starts.")
    with _mapper(home):
        records = _records(kafka, len(MAPPED))
        for op, version, person in records:
            say(f"cdm.person has {person} ({op}, from version {version}).")
        if records != MAPPED:
            raise MetlError(f"The mapper should have sent {MAPPED}, but sent {records}.")
        _execute(postgres, LATE)
        began = time.monotonic()
        late = _records(kafka, len(MAPPED) + 1)[-1]
        say(f"Another insert is there, mapped, after {time.monotonic() - began:.1f} s: {late[2]}.")
        if late != MAPPED_LATE:
            raise MetlError(f"The mapper should have sent {MAPPED_LATE}, but sent {late}.")
    say(f"All {len(MAPPED) + 1} row changes are accounted for.")


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
    refs = {"global_id": [str(_versions(registry)[version])]}
    matrix.execute(
        "select metl.add_schema_version(%s, %s, %s, %s)", [TOPIC, version, json.dumps(attributes), json.dumps(refs)]
    )


@contextlib.contextmanager
def _mapper(home: Home) -> Iterator[None]:
    """`metl map` beside us; told to stop at the end, and made to if it does not."""
    words = [sys.executable, "-m", "metl", "map", "--topics", re.escape(TOPIC), "--duration", "2"]
    environment = {**os.environ, "METL_HOME": str(home.path)}
    with tempfile.TemporaryFile() as log:
        mapper = subprocess.Popen(words, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            yield
            mapper.terminate()
            code = mapper.wait(PATIENCE)
        except (MetlError, subprocess.TimeoutExpired) as error:
            log.seek(0)
            raise MetlError(f"{error} The mapper says:\n{log.read().decode(errors='replace')}") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(mapper.pid, signal.SIGKILL)
            mapper.wait()
        if code:
            raise MetlError(f"The mapper ended with exit code {code}.")


def _records(kafka: str, count: int) -> list[tuple[str, int, Any]]:
    """The first records of the entity, once there are so many."""
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "metl-demo", "enable.auto.commit": False})
    consumer.assign([TopicPartition("cdm.person", 0, 0)])
    found: list[tuple[str, int, Any]] = []
    end = time.monotonic() + PATIENCE
    try:
        while len(found) < count:
            if time.monotonic() > end:
                raise MetlError(f"There are {len(found)} records of {count} in cdm.person after {PATIENCE:.0f} s.")
            record = consumer.poll(0.1)
            if record is not None and record.error() is None:
                value = json.loads(record.value() or b"null")
                version = dict(record.headers() or [])["metl.version"]
                found.append((value["op"], int(version or 0), value["after"]))
    finally:
        consumer.close()
    return found
