"""A connector killed in each way is seen in `metl status` within 10 s with the way out, and that way leads out."""

import json
import re
import signal
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from metl.capture import connectors
from metl.home import Home
from metl.stack.connect import Connect
from metl.stack.kafka import Kafka
from metl.stack.postgres import ADMIN, Postgres
from tests import topics
from tests.capture.conftest import Stack

pytestmark = pytest.mark.timeout(300)
WITHIN = 10.0


@pytest.fixture(scope="module")
def crm(stack: Stack) -> Iterator[Stack]:
    """A connector of its own role, and `metl sync --watch` beside it."""
    passwords = stack.home / "connect" / "passwords.properties"
    with passwords.open("a") as file:
        file.write("crm=one\n")
    pgpass = stack.home / "pgpass"
    port = Postgres(Home(stack.home)).port
    with pgpass.open("a") as file:
        file.write(f"127.0.0.1:{port}:*:crm:one\n")
    owner = f"host=127.0.0.1 port={port} dbname=crm user=crm passfile={pgpass}"
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("create table person (id int primary key, mail text)")
        connection.execute("insert into person values (1, 'a'), (2, 'b')")
    stack("capture", "add", "crm", "public.person", "--dsn", owner, "--password", f"${{file:{passwords}:crm}}")
    watching = stack.start("sync", "--watch")
    yield stack
    watching.send_signal(signal.SIGTERM)
    said = "".join(watching.communicate(timeout=30))
    # Each way once, and once that it was over.
    assert len(re.findall(r"^Connector crm: .* is gone", said, re.M)) == 2, said
    assert said.count("Connector crm is well again.") >= 2, said


def seen(stack: Stack) -> dict[str, Any]:
    """What `metl status` says of the connector as soon as it is wrong."""
    began = time.monotonic()
    while time.monotonic() < began + WITHIN:
        process = stack.start("status", "--json")
        out, _ = process.communicate(timeout=30)
        [found] = [each for each in json.loads(out)["connectors"] if each["connector"] == "crm"]
        if found["problem"]:
            assert process.returncode == 1
            rows = stack.ask("select problem, way_out from metl.connectors where connector = 'crm'")
            assert rows == [(found["problem"], found["way_out"])]
            return dict(found)
    raise AssertionError(f"Nothing was seen in {WITHIN} s.")


def await_well(stack: Stack, mail: str) -> None:
    """Changes come again."""
    stack.execute("crm", f"update person set mail = '{mail}' where id = 1", user=ADMIN)
    end = time.monotonic() + 40
    while not any(f'"mail":"{mail}"'.encode() in (each.value() or b"") for each in all_messages(stack)):
        assert time.monotonic() < end
        time.sleep(0.5)
    while stack.start("status").wait(30) != 0:
        assert time.monotonic() < end
    # For `metl sync --watch` to see it, too.
    time.sleep(4)


def all_messages(stack: Stack) -> list[Any]:
    return topics.read(Kafka(Home(stack.home)).address, "crm.public.person", 1_000, patience=2)


def test_slot_dropped(crm: Stack) -> None:
    with psycopg.connect(crm.dsn("crm", ADMIN), autocommit=True) as connection:
        while (
            connection.execute("select from pg_replication_slots where slot_name = 'metl_crm'").fetchone() is not None
        ):
            connection.execute(
                "select pg_terminate_backend(active_pid) from pg_replication_slots "
                "where slot_name = 'metl_crm' and active"
            )
            try:
                connection.execute("select pg_drop_replication_slot('metl_crm')")
            except psycopg.errors.ObjectInUse:
                continue
    found = seen(crm)
    assert "slot metl_crm is gone" in found["problem"] and "restart crm --anew" in found["way_out"]
    time.sleep(7)
    crm("capture", "restart", "crm", "--anew", "--why", "a test", "--yes")
    await_well(crm, "after slot")


def test_publication_dropped(crm: Stack) -> None:
    crm.execute("crm", "drop publication metl_crm", "update person set mail = 'lost' where id = 2", user=ADMIN)
    found = seen(crm)
    assert "Publication metl_crm is gone" in found["problem"] and "--anew" in found["way_out"]
    time.sleep(7)
    assert "public.person: 2 rows" in crm("capture", "restart", "crm", "--anew", "--why", "a test", "--yes")
    await_well(crm, "after publication")


def test_table_dropped_and_made_anew(crm: Stack) -> None:
    crm.execute(
        "crm",
        "set role crm; drop table person; create table person (id int primary key, mail text)",
        "insert into person values (1, 'anew')",
        user=ADMIN,
    )
    found = seen(crm)
    assert "public.person are not published" in found["problem"]
    assert "metl capture add crm public.person" in found["way_out"]
    assert "public.person: 1 rows" in crm("capture", "add", "crm", "public.person")
    await_well(crm, "after table")


def test_task_failed(crm: Stack) -> None:
    connect = Connect(Home(crm.home)).address
    right = connectors.require_config(connect, "crm")
    addresses = [name for name in right if name.endswith("registry.url")]
    wrong = dict.fromkeys(addresses, "http://127.0.0.1:9/apis/registry/v2")
    connectors.put(connect, "crm", right | wrong)
    time.sleep(3)
    crm.execute("crm", "update person set mail = 'unheard' where id = 1", user=ADMIN)
    end = time.monotonic() + 60
    while connectors.failure_cause(connectors.status(connect, "crm")) is None and time.monotonic() < end:
        time.sleep(0.2)
    found = seen(crm)
    assert found["status"] == "failed" and found["tasks"][0]["error"] and "restart crm" in found["way_out"]
    assert "Tolerance exceeded" not in found["problem"]
    connectors.put(connect, "crm", right)
    crm("capture", "restart", "crm")
    await_well(crm, "after task")


def test_password_changed(crm: Stack) -> None:
    crm.execute("postgres", "alter role crm password 'two'", user=ADMIN)
    found = seen(crm)
    assert "crm cannot log in to database crm" in found["problem"] and "password" in found["problem"]
    assert "database.password" in found["way_out"]
    passwords = crm.home / "connect" / "passwords.properties"
    passwords.write_text(passwords.read_text().replace("crm=one", "crm=two"))
    crm("capture", "restart", "crm")
    await_well(crm, "after password")


def test_worker_killed(crm: Stack) -> None:
    process = Connect(Home(crm.home)).daemon.process()
    assert process is not None
    process.kill()
    found = seen(crm)
    assert found["status"] == "unreachable" and "metl up connect" in found["way_out"]
    crm("up", "connect")
    await_well(crm, "after worker")
