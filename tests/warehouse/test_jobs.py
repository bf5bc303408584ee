"""Loads and the warehouse as processes: killed, started again, and everything replayed."""

import contextlib
import json
import os
import signal
import subprocess
import sysconfig
from pathlib import Path

import duckdb
import psycopg
import pytest
from confluent_kafka import Producer

from metl.home import Home
from metl.marts import dbt
from tests.live.running import METL, Place, await_true, by_origin, environment, mapper, run
from tests.warehouse.staging import table

pytestmark = pytest.mark.timeout(600)

COUNT = 12_000
ROWS = 4_000
LOAD = (*METL, "load")


@pytest.fixture(scope="module")
def place(world: Place) -> Place:
    """A table and its changes in Kafka: rows that are created, changed, and some of them deleted."""
    source = world.topic("customer")
    typed = [{"name": "id", "type": "int64"}, {"name": "name", "type": "string"}, {"name": "paid", "type": "numeric"}]
    entity = [
        {"name": "number", "type": "integer"},
        {"name": "name", "type": "string"},
        {"name": "paid", "type": "decimal"},
    ]
    world.call("add_schema_version", source, 1, typed, {"global_id": ["1"]})
    for name in ("person", "payer"):
        world.call("add_entity_version", name, 1, entity)
    world.call("set_block", source, 1, "person", 1, {"number": "id", "name": "name"})
    world.call("set_block", source, 1, "payer", 1, {"number": "id", "paid": "paid"})
    world.build_marts()
    producer = Producer({"bootstrap.servers": world.kafka, "linger.ms": 50})
    for number in range(COUNT):
        row = {"id": number % ROWS, "name": f"n{number}", "paid": f"{number}.50"}
        op = "c" if number < ROWS else "d" if number % 10 == 0 else "u"
        payload = {"op": op, "ts_ms": number, "before": None, "after": None if op == "d" else row, "source": None}
        value = json.dumps({"schemaId": 1, "payload": payload}).encode()
        producer.produce(source, value, json.dumps({"payload": {"id": number % ROWS}}).encode())
        producer.poll(0)
    assert producer.flush(60) == 0
    return world


def merged(place: Place, *words: str) -> str:
    done = run(place, "warehouse", "--available-now", "--prefix", place.prefix, *words, patience=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def load(place: Place, job: str, *words: str) -> str:
    given = ("--topics", rf"{place.name}\..*", "--prefix", place.prefix, "--dead-letters", place.dead, "--job", job)
    done = run(place, "load", *given, *words, patience=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tables(place: Place) -> dict[str, list[tuple[str | None, ...]]]:
    with psycopg.connect(place.dsn, autocommit=True) as connection:
        return {name: table(connection, name) for name in ("person", "payer")}


def test_a_load_that_is_killed_goes_on(place: Place) -> None:
    """Nothing is lost, and what is sent twice has the same position."""
    words = ("--topics", rf"{place.name}\..*", "--batch", "1000")
    with mapper(place, *words, job="killed", command=LOAD) as first:
        first.await_batches(2)
        for process in first.family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        first.process.wait(30)
    done = len(place.rows("select from metl.job_batches where job = 'killed'"))
    assert 2 <= done < COUNT / 1000
    with mapper(place, *words, job="killed", command=LOAD) as second:
        assert second.end(240) == 0, second.said()
    assert " messages read (in " in second.said()
    found = by_origin(place.sent())
    assert len(found) == COUNT
    for records in found.values():
        assert len({(record.topic, record.key, record.value) for record in records}) == 2


def test_a_load_that_is_interrupted_is_not_done(place: Place) -> None:
    words = ("--topics", rf"{place.name}\..*", "--batch", "200")
    with mapper(place, *words, job="interrupted", command=LOAD) as running:
        running.await_batches(1)
        running.signal(signal.SIGINT)
        assert running.end(120) == 128 + signal.SIGINT, running.said()
    said = " ".join(running.said().split())
    assert "Error: Job interrupted was told to stop before it was done: " in said and "Traceback" not in said
    done = sum(batch["rows_in"] for batch in place.rows("select * from metl.job_batches where job = 'interrupted'"))
    assert f"{done:,} messages are committed, {COUNT - done:,} wait. The same command goes on from there." in said
    assert (place.job("interrupted")["status"], place.job("interrupted")["running"]) == ("stopped", False)


def test_there_is_nothing_to_load(place: Place) -> None:
    done = run(place, "load", "--topics", rf"{place.name}\.custmer", "--job", "typo", patience=120)
    assert done.returncode == 2 and "There is nothing to load. No topic matches --topics" in done.stderr, done.stderr
    assert f"Did you mean '{place.name}.customer'" in done.stderr
    assert place.job("typo")["status"] == "failed"


def test_the_warehouse_is_the_same_after_any_replay(place: Place) -> None:
    """After a kill, after everything is sent and merged once more, and from what was left of half a batch."""
    lake = place.folder / "lake"
    said = merged(place, "--parquet", str(lake))
    once = tables(place)
    assert len(once["person"]) == len(once["payer"]) == ROWS
    last = {number % ROWS: number for number in range(COUNT)}
    wanted = {str(key): None if number >= ROWS and number % 10 == 0 else f"n{number}" for key, number in last.items()}
    with psycopg.connect(place.dsn) as connection:
        rows = connection.execute("select _key ->> 'id', name from warehouse.person").fetchall()
        assert dict(rows) == wanted
        rows = connection.execute("select number, paid::text from warehouse.payer where not _deleted").fetchall()
        assert dict(rows) == {key: f"{number}.50" for key, number in last.items() if wanted[str(key)]}
        live = len(rows)
    assert f"{lake}/payer has {live:,} rows." in said
    read = "select _key, number, paid::text from read_parquet(?)"
    there = duckdb.execute(read, [str(lake / "payer" / "*.parquet")]).fetchall()
    assert {number: paid for _, number, paid in there} == dict(rows) and len(there) == live
    load(place, "again")
    running(place, "twice")
    assert tables(place) == once
    assert place.job("twice")["rows_in"] > place.job("warehouse")["rows_in"]


def running(place: Place, job: str) -> None:
    """Until it has merged all that is there, and is told to stop."""
    log = place.folder / "running.log"
    words = ("warehouse", "--prefix", place.prefix, "--duration", "1", "--job", job)
    with log.open("wb") as said:
        process = subprocess.Popen([*METL, *words], env=environment(place), stdout=said, stderr=said)
    try:
        await_true(lambda: place.job(job).get("lag") == 0, f"the end of the topics: {log.read_text()}")
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0, log.read_text()
    finally:
        process.kill()
    assert place.job(job)["status"] == "stopped"


def test_dbt_models_over_it(place: Place, tmp_path: Path) -> None:
    """The source file, as a dbt project of somebody's own takes it."""
    source = run(place, "entities", "dbt-source")
    assert source.returncode == 0, source.stderr
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "warehouse.yml").write_text(source.stdout)
    (tmp_path / "models" / "payers.sql").write_text(
        "select number from {{ source('warehouse', 'payer') }} where not _deleted"
    )
    flags = "flags: {send_anonymous_usage_stats: false}"
    (tmp_path / "dbt_project.yml").write_text(f"{{name: theirs, version: 1.0.0, profile: metl, {flags}}}")
    environment = dbt.environment(Home(place.folder), place.dsn) | {"DBT_PROJECT_DIR": str(tmp_path)}
    command = [str(Path(sysconfig.get_path("scripts")) / "dbt"), "build"]
    done = subprocess.run(command, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout
    [row] = place.rows("select count(*) from metl_marts.payers")
    assert row == place.rows("select count(*) from warehouse.payer where not _deleted")[0]


def test_a_dry_run_counts(place: Place) -> None:
    shown = load(place, "dry", "--dry-run", "--until", json.dumps({f"{place.name}.customer": {"0": 10, "1": 0}}))
    assert f"{place.name}.customer" in shown
    assert " 10" in shown
    assert not place.job("dry")


def test_a_table_altered_by_hand_stops_the_job(place: Place) -> None:
    with psycopg.connect(place.dsn, autocommit=True) as connection:
        connection.execute("alter table warehouse.person rename name to called")
        done = run(place, "warehouse", "--available-now", "--prefix", place.prefix, "--job", "altered", patience=240)
        connection.execute("alter table warehouse.person rename called to name")
    assert done.returncode == 1
    assert "Table warehouse.person was altered by hand: column name is missing." in done.stderr
    assert "Traceback" not in done.stderr
    assert place.job("altered")["status"] == "halted"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("load", "--topics", "x", "--from", "yesterday"), "--from 'yesterday' is no timestamp"),
        (("load", "--topics", "x", "--from", "{1}"), "--from '{1}' is not as"),
        (("load", "--topics", "x", "--until", '{"x": [1]}'), "is not as"),
        (("load", "--topics", "x", "--from", "2h"), "Give the reason with --why"),
        (("load", "--topics", "cdm.*"), "Make it narrower"),
        (("warehouse", "--duration", "0"), "take 1 to 86400"),
        (("warehouse", "--parquet", "lake"), "Give --available-now, too"),
        (("warehouse", "--entities", "["), "--entities '[' is not a regular expression"),
        (
            ("load", "--topics", "x", "--from", "1h", "--until", "2h", "--why", "x"),
            "--from 1h is later than --until 2h",
        ),
        (("load", "--topics", "x", "--from", "latest", "--until", "earliest", "--why", "x"), "is later than --until"),
        (("load", "--topics", "x", "--from", "2999-01-01", "--why", "x"), "--from 2999-01-01 is in the future"),
    ],
)
def test_bad_input(place: Place, words: tuple[str, ...], complaint: str) -> None:
    done = run(place, *words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
