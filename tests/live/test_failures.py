"""Whatever goes wrong, every message is accounted for, and nothing is left running."""

import itertools
import json
import os
import re
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from metl.config import MAPPER
from metl.home import Home
from metl.stack.kafka import Kafka
from metl.stack.part import Part
from metl.stack.postgres import Postgres
from tests.live.running import (
    Mapper,
    Origin,
    Place,
    Record,
    Traffic,
    await_true,
    by_origin,
    key,
    mapper,
    produce,
    row,
    run,
)
from tests.stack.conftest import Metl

pytestmark = pytest.mark.timeout(600)

KNOWN, UNKNOWN = 101, 102
ATTRIBUTES = [{"name": "id", "type": "int32"}]


def prepare(place: Place) -> str:
    """A topic whose messages become one record each."""
    topic = place.topic("order")
    place.call("add_schema_version", topic, 1, ATTRIBUTES, {"global_id": KNOWN})
    place.call("add_entity_version", "order", 1, [{"name": "number", "type": "int32"}])
    place.call("set_block", topic, 1, "order", 1, {"number": "id"})
    return topic


@pytest.fixture(scope="module")
def topic(world: Place) -> str:
    return prepare(world)


def traffic(place: Place, topic: str) -> Traffic:
    return Traffic(place.kafka, lambda number: (topic, key(number % 9), row(KNOWN, id=number)))


def start(place: Place, *words: str, duration: str = "2") -> tuple[str, ...]:
    return ("--topics", rf"{place.name}\..*", "--duration", duration, *words)


def assert_right(place: Place, sent: list[Record]) -> None:
    """All that came in went out, and each record is what its message says."""
    inputs = {record.position: record for record in place.inputs()}
    found = by_origin(sent)
    assert set(found) == set(inputs)
    for origin, records in found.items():
        assert {record.said["after"]["number"] for record in records} == {inputs[origin].said["payload"]["after"]["id"]}


def assert_in_order(sent: list[Record]) -> None:
    """By key, what comes for the first time comes in the order of offsets."""
    seen: dict[tuple[int, bytes | None], list[int]] = defaultdict(list)
    for record in sent:
        offset = record.origin[2]
        offsets = seen[record.partition, record.key]
        if offset not in offsets:
            offsets.append(offset)
    assert all(offsets == sorted(offsets) for offsets in seen.values())


def twice(sent: list[Record]) -> list[Origin]:
    return [origin for origin, records in by_origin(sent).items() if len(records) > 1]


def test_a_mapper_that_is_killed_goes_on_where_it_was(world: Place, topic: str) -> None:
    with traffic(world, topic):
        with mapper(world, *start(world)) as first:
            first.await_batches(2)
            refuse_a_second(world, first)
            time.sleep(1.2)
            first.signal(signal.SIGKILL)
            assert first.end() == -signal.SIGKILL
        assert world.job()["running"] is False
        assert "gone (was running)" in run(world, "jobs", "list").stdout
        with mapper(world, *start(world)) as second:
            second.await_batches(2)
            second.signal(signal.SIGTERM, group=True)
            assert second.end() == 0, second.said()
            assert "has stopped; what it sent is committed." in second.said()
    assert world.job()["status"] == "stopped"
    known = {record.position for record in world.inputs()}
    sent = world.sent()
    assert set(by_origin(sent)) <= known
    assert_in_order(sent)
    # Offsets without a gap: nothing was jumped over.
    for _, origins in itertools.groupby(sorted(by_origin(sent)), key=lambda origin: origin[:2]):
        offsets = [origin[2] for origin in origins]
        assert offsets == list(range(len(offsets)))


def refuse_a_second(place: Place, running: Mapper) -> None:
    """Neither on its checkpoint nor under its name."""
    checkpoint = str(place.folder / "checkpoint-map")
    for words in (["--job", "other", "--checkpoint", checkpoint], ["--checkpoint", f"{checkpoint}-other"]):
        done = run(place, "map", *start(place), "--prefix", place.prefix, *words)
        assert done.returncode == 1, done.stdout + done.stderr
        assert re.match(r"Error: Job 'map' is already running on checkpoint '.*checkpoint-map'\.", done.stderr)
        assert len(done.stderr.splitlines()) == 1
    assert running.process.poll() is None


def test_a_version_that_nobody_knows_halts_it_and_nothing_is_lost(world: Place, topic: str) -> None:
    before = world.sent()
    committed = set(by_origin(before))
    with mapper(world, *start(world, "--unknown-version", "halt")) as first:
        first.await_batches()
        if committed:
            await_true(lambda: len(world.sent()) > len(before), "what was left")
        first.await_batches(3)
        assert [origin for origin in twice(world.sent()) if origin not in twice(before)] == [], (
            "a drained batch is not sent again"
        )
        produce(world.kafka, [(topic, key(1), row(UNKNOWN, id=1)), (topic, key(1), row(KNOWN, id=2))])
        assert first.end() == 1, first.said()
        [unknown] = [record for record in world.inputs() if record.said["schemaId"] == UNKNOWN]
        sentence = first.said().splitlines()[-1]
        where = f"Halted at topic {topic}, partition {unknown.partition}, offset {unknown.offset}: "
        assert where in sentence and f"by 'global_id {UNKNOWN}'" in sentence
        assert "Exception" not in first.said()
    assert (world.job()["status"], world.job()["running"]) == ("halted", False)
    assert where in world.job()["reason"] and where in run(world, "jobs", "list").stdout.replace("\n", " ")
    world.call("add_schema_version", topic, 2, ATTRIBUTES, {"global_id": UNKNOWN})
    with mapper(world, *start(world, "--unknown-version", "halt", duration="60")) as second:
        assert_right(world, world.await_everything())
        began = time.monotonic()
        second.signal(signal.SIGTERM)
        await_true(lambda: "once more to end it at once" in second.said(), "its answer")
        second.signal(signal.SIGTERM)
        assert second.end() == 1
        assert time.monotonic() - began < 30, "at once"
        assert "has stopped in mid-batch" in second.said()
    assert_in_order(world.sent())


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[Place, Metl]]:
    """PostgreSQL and Kafka of the test's own, to be stopped."""
    metl = Metl(tmp_path / "home")
    try:
        metl("up", "postgres", "kafka")
        metl("install")
        metl("marts", "dbt", "run", "--select", "+dcpm")
        home = Home(metl.home)
        database = Postgres(home)
        job_dsn = database.dsn(MAPPER, "metl")
        yield Place(database.local_address, job_dsn, Kafka(home).local_address, tmp_path), metl
    finally:
        metl("down")
    assert metl.processes() == []


def restart(metl: Metl, part: type[Part], away: float) -> None:
    stopped = part(Home(metl.home))
    stopped.daemon.stop(part.stop_signal, 20)
    time.sleep(away)
    metl("up", part.name)


def test_servers_come_back_and_it_goes_on(own: tuple[Place, Metl]) -> None:
    place, metl = own
    topic = prepare(place)
    with mapper(place, *start(place)) as running:
        with traffic(place, topic):
            running.await_batches(2)
            lose_the_line(place, running)
            restart(metl, Postgres, away=1)
            await_running(place, running)
            restart(metl, Postgres, away=6)
            await_running(place, running)
            restart(metl, Kafka, away=3)
            await_running(place, running)
        sent = place.await_everything()
        assert_right(place, sent)
        assert_in_order(sent)
        instance = place.job()["instance"]
        running.signal(signal.SIGINT)
        assert running.end() == 0, running.said()
    assert "Traceback" not in running.said()
    batches = place.rows("select * from metl.job_batches where instance = %s order by batch", instance)
    assert [batch["batch"] for batch in batches] == list(range(len(batches))), "also those while there was no database"
    assert sum(
        end - (begin or 0) for batch in batches for begin, end in batch["positions"].get(topic, {}).values()
    ) == len(place.inputs())


def await_running(place: Place, running: Mapper) -> None:
    """It holds its lock again, says so, and gets on."""
    last = place.job()["last_batch"]

    def goes_on() -> bool:
        job = place.job()
        return bool(job["running"] and job["status"] == "running" and job["last_batch"] > last)

    running.await_true(goes_on, "the job running again")


def lose_the_line(place: Place, running: Mapper) -> None:
    """The network drops its connection, which the server goes on holding for a while."""
    instance = place.job()["instance"]
    holder = "select pid from pg_locks where locktype = 'advisory' limit 1"
    with psycopg.connect(place.job_dsn, autocommit=True) as ghost, psycopg.connect(place.dsn) as owner:
        [[pid]] = owner.execute(holder).fetchall()
        ghost.execute("select pg_terminate_backend(%s, 5000)", [pid])
        arguments = [place.job()["checkpoint"], instance, json.dumps({"pid": running.process.pid})]
        ghost.execute("select metl.start_job('map', %s, %s, %s)", arguments)
        time.sleep(3)
        assert running.process.poll() is None, running.said()
    await_running(place, running)


def test_it_says_so_when_sparks_jvm_is_gone(world: Place, topic: str) -> None:
    with mapper(world, *start(world), job="doomed") as running:
        running.await_batches(2)
        [jvm] = [process for process in running.family() if process.pid != running.process.pid]
        os.kill(jvm.pid, signal.SIGKILL)
        assert running.end() == 1
        assert "Spark's JVM ended" in running.said() and "Traceback" not in running.said()
