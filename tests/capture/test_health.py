"""`metl status` reports each failure of a connector within 10 s, with a way out that works."""

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
    stack("capture", "add", "crm", "public.person", "--source", owner, "--secret", f"${{file:{passwords}:crm}}")
    watching = stack.start("sync", "--watch")
    yield stack
    watching.send_signal(signal.SIGTERM)
    output = "".join(watching.communicate(timeout=30))
    # Each failure is reported once, and each recovery.
    assert len(re.findall(r"^Connector crm: .* is gone", output, re.M)) == 2, output
    assert output.count("Connector crm is well again.") >= 2, output


def await_problem(stack: Stack) -> dict[str, Any]:
    """The connector in `metl status` once it has a problem."""
    began = time.monotonic()
    while time.monotonic() < began + WITHIN:
        process = stack.start("status", "--json")
        out, _ = process.communicate(timeout=30)
        [connector] = [each for each in json.loads(out)["connectors"] if each["connector"] == "crm"]
        if connector["problem"]:
            assert process.returncode == 3
            rows = stack.ask("select problem, way_out from metl.connectors where connector = 'crm'")
            assert rows == [(connector["problem"], connector["way_out"])]
            return dict(connector)
    raise AssertionError(f"No problem was reported within {WITHIN} s.")


def await_recovery(stack: Stack, mail: str) -> None:
    """Until changes arrive and `metl status` reports no problem."""
    stack.execute("crm", f"update person set mail = '{mail}' where id = 1", user=ADMIN)
    end = time.monotonic() + 40
    while not any(f'"mail":"{mail}"'.encode() in (each.value() or b"") for each in all_messages(stack)):
        assert time.monotonic() < end
        time.sleep(0.5)
    while stack.start("status").wait(30) != 0:
        assert time.monotonic() < end
    # Until the monitor of `metl sync --watch` has checked again, too.
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
    connector = await_problem(crm)
    assert "slot metl_crm is gone" in connector["problem"] and "restart crm --anew" in connector["way_out"]
    time.sleep(7)
    crm("capture", "restart", "crm", "--anew", "--why", "a test", "--yes")
    await_recovery(crm, "after slot")


def test_publication_dropped(crm: Stack) -> None:
    crm.execute("crm", "drop publication metl_crm", "update person set mail = 'lost' where id = 2", user=ADMIN)
    connector = await_problem(crm)
    assert "Publication metl_crm is gone" in connector["problem"] and "--anew" in connector["way_out"]
    time.sleep(7)
    assert "public.person: 2 rows" in crm("capture", "restart", "crm", "--anew", "--why", "a test", "--yes")
    await_recovery(crm, "after publication")


def test_table_dropped_and_created_again(crm: Stack) -> None:
    crm.execute(
        "crm",
        "set role crm; drop table person; create table person (id int primary key, mail text)",
        "insert into person values (1, 'recreated')",
        user=ADMIN,
    )
    connector = await_problem(crm)
    assert "public.person are not published" in connector["problem"]
    assert "metl capture add crm public.person" in connector["way_out"]
    assert "public.person: 1 rows" in crm("capture", "add", "crm", "public.person")
    await_recovery(crm, "after table")


def test_task_failed(crm: Stack) -> None:
    connect = Connect(Home(crm.home)).address
    right = connectors.require_config(connect, "crm")
    addresses = [name for name in right if name.endswith("registry.url")]
    wrong = dict.fromkeys(addresses, "http://127.0.0.1:9/apis/registry/v2")
    connectors.put(connect, "crm", right | wrong)
    time.sleep(3)
    crm.execute("crm", "update person set mail = 'unpublished' where id = 1", user=ADMIN)
    end = time.monotonic() + 60
    while connectors.failure_cause(connectors.status(connect, "crm")) is None and time.monotonic() < end:
        time.sleep(0.2)
    connector = await_problem(crm)
    assert connector["status"] == "failed" and connector["tasks"][0]["error"] and "restart crm" in connector["way_out"]
    assert "Tolerance exceeded" not in connector["problem"]
    connectors.put(connect, "crm", right)
    crm("capture", "restart", "crm")
    await_recovery(crm, "after task")


def test_password_changed(crm: Stack) -> None:
    crm.execute("postgres", "alter role crm password 'two'", user=ADMIN)
    connector = await_problem(crm)
    assert "crm cannot log in to database crm" in connector["problem"] and "password" in connector["problem"]
    assert "database.password" in connector["way_out"]
    passwords = crm.home / "connect" / "passwords.properties"
    passwords.write_text(passwords.read_text().replace("crm=one", "crm=two"))
    crm("capture", "restart", "crm")
    await_recovery(crm, "after password")


def test_worker_killed(crm: Stack) -> None:
    process = Connect(Home(crm.home)).daemon.process()
    assert process is not None
    process.kill()
    connector = await_problem(crm)
    assert connector["status"] == "unreachable" and "metl up connect" in connector["way_out"]
    crm("up", "connect")
    await_recovery(crm, "after worker")
