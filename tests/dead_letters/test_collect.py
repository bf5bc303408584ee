"""Collecting unusual dead letters, and resets of unusual checkpoints; neither needs a mapper."""

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
    """With a fresh installation of METL."""
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
    messages: list[str] = []
    settings = {"bootstrap.servers": place.kafka, "log_level": 0}
    collector = Collector(
        place.dsn, settings, job="collect", topic=topic, replays="none", max_replays=5, report=messages.append
    )
    collector.run(watch=False, stop=threading.Event())
    return collector.counts, messages


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
def test_a_number_out_of_range_counts_as_missing(place: Place, name: str, number: str) -> None:
    """Any producer to the topic can set these headers."""
    letter = {"partition": 0, "offset": 7, "at": "2026-01-01T00:00:00Z", "headers": [], "error_headers": {name: number}}
    with psycopg.connect(place.dsn) as connection:
        query = "select partition, message_offset, message_at, replays, state from metl._parse_dead_letters('dead', %s)"
        rows = connection.execute(query, [json.dumps([letter])]).fetchall()
    assert rows == [(0, 7, None, 0, None)]


def test_unusual_letters_are_stored_unchanged(place: Place) -> None:
    topic = place.topic("dead", 1)
    for value, offset in ((NOISE, 1), (None, 2), (b"", 3), (b"a", None)):
        send(place, topic, value, offset)

    assert collect(place, topic) == ({"came": 4, "new": 4, "sent": 0}, [])

    # Without error headers, a letter's own position counts.
    stored = [("shop", 1, len(NOISE)), ("shop", 2, None), ("shop", 3, 0), (topic, 3, 1)]
    assert [(letter[0], letter[1], letter[5]) for letter in letters(place)] == stored
    with psycopg.connect(place.dsn) as connection:
        [(value, headers)] = connection.execute("select value, headers from metl.letter_payload(1)").fetchall()
    assert (value, headers) == (NOISE, [["own", "/w=="]])


def test_a_letter_is_identified_by_position_and_bytes(place: Place) -> None:
    topic = place.topic("dead", 1)
    send(place, topic, b"a", 1)
    send(place, topic, b"a", 1)
    # The topic was created again: another message at the same position.
    send(place, topic, b"b", 1)
    collect(place, topic)
    send(place, topic, b"a", 1, replays=2)

    assert collect(place, topic)[0] == {"came": 1, "new": 0, "sent": 0}

    assert [letter[3:] for letter in letters(place)] == [(2, 3, 1), (0, 1, 1)]


def test_expired_letters_are_reported(place: Place) -> None:
    topic = place.topic("dead", 1)
    send(place, topic, b"a", 1)
    collect(place, topic)
    for offset in (2, 3, 4):
        send(place, topic, b"a", offset)
    admin = AdminClient({"bootstrap.servers": place.kafka})
    [done] = admin.delete_records([TopicPartition(topic, 0, 3)]).values()
    done.result(30)

    counts, [message] = collect(place, topic)

    assert counts["new"] == 1 and [letter[1] for letter in letters(place)] == [1, 4]
    assert "2 dead letters of" in message and "it begins at 3 now, and 1 was next" in message


def checkpoint(place: Place, name: str, offsets: dict[str, dict[str, int]], folder: str | None = None) -> Path:
    """A checkpoint as Spark writes it, of a job that does not run."""
    path = place.folder / name
    for kind, text in (("offsets", "v1\n{}\n" + json.dumps(offsets)), ("commits", 'v1\n{"nextBatchWatermarkMs":0}')):
        (path / kind).mkdir(parents=True)
        if offsets:
            (path / kind / "0").write_text(text)
    with psycopg.connect(place.dsn) as connection:
        connection.execute("select metl.start_job(%s, %s, gen_random_uuid())", [name, folder or str(path)])
    return path


def test_a_deleted_topic_is_dropped_from_the_checkpoint(place: Place) -> None:
    topic = place.topic("existing", 1)
    path = checkpoint(place, "map", {topic: {"0": 0}, "deleted": {"0": 7}})

    done = run(place, "jobs", "reset", "map", "--to", "earliest", "--why", "it was deleted", "--yes")

    assert done.returncode == 0, done.stderr
    assert "Not there any more, and left out from now on: deleted, partition 0." in done.stderr
    assert Checkpoint(str(path)).read() == {topic: {0: 0}}


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
        done = run(place, "jobs", "reset", job, "--to", "latest", "--why", "a test", "--yes")
        assert done.returncode == 2 and sentence in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
