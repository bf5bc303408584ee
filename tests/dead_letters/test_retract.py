"""After reprocessing, tables are as if the current mapping had always been in force."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from metl.streams.outdated import count_unmapped, distinct_states, find_outdated
from metl_spark.reprocessing import job as map_again
from metl_spark.reprocessing.choose import Choice
from metl_spark.reprocessing.settings import ReprocessSettings
from metl_spark.runtime.control import Control, jdbc
from tests.dead_letters.commands import run
from tests.live.job import run as run_mapper
from tests.live.running import Place, Record, key
from tests.live.running import run as run_apart
from tests.warehouse.staging import Staged, merge, start, table

pytestmark = pytest.mark.timeout(600)

ABSENT = "__debezium_unavailable_value"
NAMES = ("id", "a", "b")
#: Before and after, by topic and version.
BLOCKS: dict[tuple[str, int], tuple[dict[str, str], dict[str, str]]] = {
    ("mistake", 1): ({"x": "id", "y": "a"}, {}),
    ("corrected", 1): ({"x": "id", "y": "a"}, {"x": "id", "y": "b"}),
    ("nulls", 1): ({"y": "a"}, {"y": "b"}),
    ("versions", 1): ({"x": "id", "y": "a"}, {"x": "id", "y": "a"}),
    ("versions", 2): ({"x": "id", "y": "b"}, {}),
    # Version 1 has nothing to do with what version 2 gains.
    ("widened", 1): ({"x": "id"}, {"x": "id"}),
    ("widened", 2): ({"x": "id"}, {"x": "id", "y": "b"}),
    # It gets a version 2 that loses nothing: what it has is right.
    ("grown", 1): ({"x": "id", "y": "a"}, {"x": "id", "y": "a"}),
}
MESSAGES: list[tuple[str, int, str, dict[str, Any] | None]] = [
    ("mistake", 1, "c", {"id": 1, "a": "a", "b": "b"}),
    ("mistake", 1, "u", {"id": 1, "a": "a2", "b": "b"}),
    ("mistake", 1, "c", {"id": 2, "a": "a", "b": "b"}),
    ("mistake", 1, "d", {"id": 2, "a": "a", "b": "b"}),
    ("corrected", 1, "c", {"id": 3, "a": "a", "b": "b"}),
    ("corrected", 1, "u", {"id": 3, "a": "a2", "b": ABSENT}),
    ("nulls", 1, "c", {"id": 4, "a": "a", "b": None}),
    ("nulls", 1, "c", {"id": 5, "a": "a", "b": "b"}),
    ("versions", 1, "c", {"id": 6, "a": "a", "b": "b"}),
    ("versions", 2, "u", {"id": 6, "a": "a2", "b": "b2"}),
    ("grown", 1, "c", {"id": 7, "a": "a", "b": "b"}),
    ("widened", 1, "c", {"id": 8, "a": "a", "b": "b"}),
    ("widened", 2, "c", {"id": 9, "a": "a", "b": "b"}),
    ("widened", 2, "u", {"id": 9, "a": "a", "b": "b2"}),
]
# By topic and number: the rows that an initial load under the current mapping would give.
RIGHT = {
    ("corrected", 3): ("3", "b"),
    ("nulls", 5): (None, "b"),
    ("versions", 6): ("6", "a"),
    ("grown", 7): ("7", "a"),
    ("widened", 8): ("8", None),
    ("widened", 9): ("9", "b2"),
}


@dataclass
class Story:
    place: Place
    #: Output of the command for the topic with two versions.
    plan: str
    unmapped: dict[str, int]
    done: map_again.Result
    batches: list[dict[str, Any]]
    #: Records sent before and by reprocessing, in topic order.
    first: list[Record]
    again: list[Record]


def message(version: int, op: str, row: dict[str, Any] | None) -> bytes:
    before, after = (row, None) if op == "d" else (None, row)
    payload = {"before": before, "after": after, "source": {"name": "test"}, "op": op, "ts_ms": 7}
    return json.dumps({"schemaId": version, "payload": payload}).encode()


def set_blocks(place: Place, which: int) -> int:
    for (about, version), blocks in BLOCKS.items():
        place.call("set_block", f"{place.name}.{about}", version, "thing", 1, blocks[which])
    return place.rows("select metl.current_state() as state")[0]["state"]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def story(place: Place, session: SparkSession) -> Iterator[Story]:
    typed = [{"name": name, "type": "string"} for name in NAMES]
    place.call("add_entity_version", "thing", 1, [{"name": name, "type": "string"} for name in ("x", "y")])
    for about in dict.fromkeys(about for about, _ in BLOCKS):
        place.topic(about, 1)
    for about, version in BLOCKS:
        place.call("add_schema_version", f"{place.name}.{about}", version, typed, {"global_id": version})
    since = set_blocks(place, 0)
    place.build_marts()
    producer = Producer({"bootstrap.servers": place.kafka})
    for about, version, op, row in MESSAGES:
        producer.produce(f"{place.name}.{about}", message(version, op, row), key((row or {})["id"]))
    assert producer.flush(30) == 0
    run_mapper(session, place, rf"{place.name}\..*")
    first = place.sent()
    set_blocks(place, 1)
    place.call("add_schema_version", f"{place.name}.grown", 2, [*typed, {"name": "c", "type": "string"}])
    state = place.call("set_refs", f"{place.name}.grown", 2, {"global_id": 2})

    words = ("streams", "reprocess", "--since-state", str(since), "--why", "a test")
    asked = run(place, *words, "--topic", f"{place.name}.corrected")
    assert asked.returncode == 2 and "Map 2 messages again?" in asked.stderr, "all are of one version: without Spark"
    # In a process of its own, with its own Spark session.
    counted = run_apart(place, *words, "--topic", f"{place.name}.widened", patience=240)
    with psycopg.connect(place.dsn) as connection:
        ranges = find_outdated(connection, since)
        states = distinct_states(connection, ranges)
        reading = jdbc(connection)
    settings = ReprocessSettings(
        topics="x", job="again", checkpoint=str(place.folder / "again"), brokers=place.kafka, prefix=place.prefix,
        dead_letters=place.dead,
    )  # fmt: skip
    instance = str(uuid.uuid4())
    choices = [Choice.of(each) for each in ranges]
    counts = map_again.count(session, settings, reading, state, choices)
    with psycopg.connect(place.dsn) as connection:
        outdated = [replace(each, counted=count) for each, count in zip(ranges, counts, strict=True)]
        unmapped = count_unmapped(connection, outdated, states)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("METL_JOB_DSN", place.job_dsn)
        with Control.open(settings, instance) as control:
            done = map_again.reprocess(session, settings, control, instance, choices, states, lambda _text: None)
    again = [record for record in place.sent() if record not in first]
    assert {record.state for record in again} == {state}
    batches = place.rows("select * from metl.job_batches where job = 'again'")
    yield Story(place, counted.stderr, unmapped, done, batches, first, again)


def staged(place: Place, record: Record) -> Staged:
    source, partition, offset = record.origin
    value = record.said
    return Staged(
        record.topic.removeprefix(place.prefix), source, json.dumps(json.loads(record.key or b"")["key"]), partition,
        offset, value["ts_ms"], value["op"], value["after"], record.state, int(record.header("metl.version")),
        tuple(value.get("unavailable", ())),
    )  # fmt: skip


@pytest.mark.parametrize("in_batches", ["one by one", "first and again", "all at once"])
def test_the_warehouse_equals_a_load_under_the_current_mapping(story: Story, in_batches: str) -> None:
    place = story.place
    first, again = ([staged(place, record) for record in records] for records in (story.first, story.again))
    with psycopg.connect(place.dsn, autocommit=True) as connection, connection.transaction(force_rollback=True):
        start(connection)
        batches = {
            "one by one": [[record] for record in first + again],
            "first and again": [first, again],
            "all at once": [first + again],
        }
        for batch in batches[in_batches]:
            assert merge(connection, batch) == 0
        columns = "_source, (_key ->> 'id')::int, x, y"
        rows = connection.execute(f"select {columns} from warehouse.thing where not _deleted".encode()).fetchall()
        shown = table(connection, "thing")
    by_row = {(source.removeprefix(f"{place.name}."), number): (x, y) for source, number, x, y in rows}
    assert by_row == RIGHT, shown


def test_retractions_have_the_positions_of_their_messages(story: Story) -> None:
    def about(record: Record) -> tuple[str, int, str, Any]:
        return (
            record.origin[0].removeprefix(f"{story.place.name}."),
            record.origin[2],
            record.said["op"],
            record.said["after"],
        )

    undone = [about(record) for record in story.again if not record.said["after"]]
    assert sorted(undone) == [
        ("mistake", 0, "d", None), ("mistake", 1, "d", None), ("mistake", 2, "d", None), ("nulls", 0, "d", None),
        ("versions", 1, "u", {}),
    ]  # fmt: skip
    keys = {record.origin: record.key for record in story.first}
    for record in story.again:
        assert record.key == keys[record.origin]
        assert list(record.said)[:7] == ["entity", "version", "op", "ts_ms", "before", "after", "source"]


def test_newest_messages_are_mapped_first(story: Story) -> None:
    for about in {record.origin[0] for record in story.again}:
        offsets = [record.origin[2] for record in story.again if record.origin[0] == about]
        assert offsets == sorted(offsets, reverse=True)


def test_counts_before_and_after(story: Story) -> None:
    topics = {"mistake": 4, "versions": 2}
    assert story.unmapped == {"thing": sum(topics.values())}
    assert "Map 2 messages again? Add --yes" in story.plan, story.plan
    right = {("widened", 1), ("grown", 1)}
    wrong = [message for message in MESSAGES if message[:2] not in right]
    assert (story.done.messages, story.done.retracted) == (len(wrong), 5)
    assert sum(batch["rows_out"] for batch in story.batches) == len(story.again)


def test_layers_of_a_partition_are_in_order() -> None:
    """Reprocessing reverses them."""
    layers = list(map_again.layers([("a", 0, 0, 10), ("a", 0, 20, 25), ("b", 0, 0, 3)], 8))
    assert [begin for layer in layers for topic, _, begin, _ in layer if topic == "a"] == [0, 4, 8, 20, 24]
