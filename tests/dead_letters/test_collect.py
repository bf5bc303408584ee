"""What comes into the database of odd letters, and what resets do to odd checkpoints; no mapper is needed for it."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from metl.streams.checkpoint import Checkpoint
from metl.streams.dead_letters.collect import Collector
from tests.dead_letters.commands import run
from tests.live.running import Place

NOISE = bytes(range(256)) * 100


@pytest.fixture
def place(database: str, kafka: str, tmp_path: Path) -> Iterator[Place]:
    """With a database that is empty but for METL."""
    yield Place(database, database, kafka, tmp_path)


def send(place: Place, topic: str, value: bytes | None, offset: int | None, replays: int = 0) -> None:
    headers: list[tuple[str, str | bytes | None]] = [("own", b"\xff")]
    if offset is not None:
        headers += [("__connect.errors.topic", "shop"), ("__connect.errors.partition", "1")]
        headers += [("__connect.errors.offset", str(offset)), ("__metl.replay.count", str(replays))]
    producer = Producer({"bootstrap.servers": place.kafka})
    producer.produce(topic, value, None, headers=headers)
    assert producer.flush(30) == 0


def collect(place: Place, topic: str) -> tuple[dict[str, int], list[str]]:
    said: list[str] = []
    settings = {"bootstrap.servers": place.kafka, "log_level": 0}
    collector = Collector(
        place.dsn, settings, job="collect", topic=topic, replays="none", max_replays=5, report=said.append
    )
    collector.run(watch=False, stop=threading.Event())
    return collector.counts, said


def letters(place: Place) -> list[tuple[Any, ...]]:
    query = """
        select topic, message_offset, reason, replays, times, value_bytes from metl.dead_letters order by letter
    """
    with psycopg.connect(place.dsn) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize(
    ("name", "number"),
    [("__connect.errors.partition", "4294967296"), ("__connect.errors.offset", "9" * 19),
     ("__metl.timestamp", "9" * 18), ("__metl.replay.count", "9" * 18), ("__metl.state", "-")],
)  # fmt: skip
def test_a_number_that_is_too_large_holds_nobody_up(place: Place, name: str, number: str) -> None:
    """Headers are what anybody says who may write to the topic."""
    letter = {"partition": 0, "offset": 7, "at": "2026-01-01T00:00:00Z", "headers": [], "said": {name: number}}
    with psycopg.connect(place.dsn) as connection:
        query = "select partition, message_offset, message_at, replays, state from metl._parse_dead_letters('dead', %s)"
        found = connection.execute(query, [json.dumps([letter])]).fetchall()
    assert found == [(0, 7, None, 0, None)]


def test_odd_letters_are_kept_to_the_byte(place: Place) -> None:
    topic = place.topic("dead", 1)
    for value, offset in ((NOISE, 1), (None, 2), (b"", 3), (b"a", None)):
        send(place, topic, value, offset)

    assert collect(place, topic) == ({"came": 4, "new": 4, "sent": 0}, [])

    # What does not say where it is from is from here.
    kept = [("shop", 1, len(NOISE)), ("shop", 2, None), ("shop", 3, 0), (topic, 3, 1)]
    assert [(letter[0], letter[1], letter[5]) for letter in letters(place)] == kept
    with psycopg.connect(place.dsn) as connection:
        [(value, headers)] = connection.execute("select value, headers from metl.letter_payload(1)").fetchall()
    assert (value, headers) == (NOISE, [["own", "/w=="]])


def test_the_same_message_is_the_same_letter_and_another_one_is_not(place: Place) -> None:
    topic = place.topic("dead", 1)
    send(place, topic, b"a", 1)
    send(place, topic, b"a", 1)
    # The topic was created again: another message at the same position.
    send(place, topic, b"b", 1)
    collect(place, topic)
    send(place, topic, b"a", 1, replays=2)

    assert collect(place, topic)[0] == {"came": 1, "new": 0, "sent": 0}

    assert [letter[3:] for letter in letters(place)] == [(2, 3, 1), (0, 1, 1)]


def test_letters_that_were_gone_before_they_were_collected(place: Place) -> None:
    topic = place.topic("dead", 1)
    send(place, topic, b"a", 1)
    collect(place, topic)
    for offset in (2, 3, 4):
        send(place, topic, b"a", offset)
    admin = AdminClient({"bootstrap.servers": place.kafka})
    [done] = admin.delete_records([TopicPartition(topic, 0, 3)]).values()
    done.result(30)

    counts, [said] = collect(place, topic)

    assert counts["new"] == 1 and [letter[1] for letter in letters(place)] == [1, 4]
    assert "2 letters of" in said and "it begins at 3 now, and 1 was next" in said


def checkpoint(place: Place, name: str, offsets: dict[str, dict[str, int]], folder: str | None = None) -> Path:
    """As Spark leaves it, of a job that does not run."""
    made = place.folder / name
    for kind, text in (("offsets", "v1\n{}\n" + json.dumps(offsets)), ("commits", 'v1\n{"nextBatchWatermarkMs":0}')):
        (made / kind).mkdir(parents=True)
        if offsets:
            (made / kind / "0").write_text(text)
    with psycopg.connect(place.dsn) as connection:
        connection.execute("select metl.start_job(%s, %s, gen_random_uuid())", [name, folder or str(made)])
    return made


def test_a_topic_that_kafka_has_forgotten_is_left_out(place: Place) -> None:
    topic = place.topic("there", 1)
    made = checkpoint(place, "map", {topic: {"0": 0}, "forgotten": {"0": 7}})

    done = run(place, "offsets", "reset", "map", "--to", "earliest", "--why", "it was deleted", "--yes")

    assert done.returncode == 0, done.stderr
    assert "Not there any more, and left out from now on: forgotten, partition 0." in done.stderr
    assert Checkpoint(str(made)).read() == {topic: {0: 0}}


def test_checkpoints_that_cannot_be_reset(place: Place) -> None:
    checkpoint(place, "fresh", {})
    checkpoint(place, "cluster", {}, "hdfs://somewhere/map")
    checkpoint(place, "elsewhere", {}, "/nowhere/map")
    strange = checkpoint(place, "strange", {"a": {"0": 1}})
    (strange / "offsets" / "0").write_text("v1\n{}\n17")
    for job, sentence in (
        ("fresh", "No batch was ever committed"),
        ("cluster", "hdfs://somewhere/map is not in a folder of this machine"),
        ("elsewhere", "There is no checkpoint /nowhere/map on this machine"),
        ("strange", "is not as a mapper writes it"),
    ):
        done = run(place, "offsets", "reset", job, "--to", "latest", "--why", "a test", "--yes")
        assert done.returncode == 2 and sentence in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
