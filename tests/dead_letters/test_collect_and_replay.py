"""Dead letters are collected once and replayed at their positions, automatically when a state knows their version."""

import json
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from tests.dead_letters.commands import run
from tests.live.job import run as run_mapper
from tests.live.running import (
    METL,
    Place,
    Record,
    environment,
    job_role,
    key,
    read,
    row,
)
from tests.live.running import run as run_apart

pytestmark = pytest.mark.timeout(600)

ATTRIBUTES = [{"name": "id", "type": "int32"}, {"name": "name", "type": "string"}]
OTHERS = [("a", b"1"), ("__connect.errors.topic", b"elsewhere"), ("a", b"2"), ("none", None)]
# An hour ago: Kafka deletes messages older than a week.
EVENT_AT = int(time.time() * 1000) - 3_600_000


@dataclass
class Story:
    place: Place
    shop: str
    events: str
    #: JSON output of commands, by a name for each.
    output: dict[str, Any] = field(default_factory=dict)
    done: dict[str, subprocess.CompletedProcess[str]] = field(default_factory=dict)

    def letters(self) -> dict[str, dict[str, Any]]:
        """By position of the failed message."""
        rows = self.place.rows("select * from metl.dead_letters")
        return {f"{letter['topic'].split('.')[-1]} {letter['message_offset']}": letter for letter in rows}

    def command(self, name: str, *words: str, **changes: str) -> None:
        # Collecting handles signals, which needs a process of its own.
        start = run_apart if "collect" in words else run
        done = start(self.place, "dead-letters", *words, **changes)  # type: ignore[arg-type]
        self.done[name] = done
        if "--json" in words and done.returncode == 0:
            self.output[name] = json.loads(done.stdout)

    def topics(self) -> tuple[str, ...]:
        return ("--dead-letters", self.place.dead, "--replays", self.place.replays)


def send(place: Place, topic: str, value: bytes | None, headers: Any = None, timestamp: int = 0) -> None:
    producer = Producer({"bootstrap.servers": place.kafka})
    producer.produce(topic, value, key(1), headers=headers, timestamp=timestamp)
    assert producer.flush(30) == 0


@pytest.fixture(scope="module")
def story(place: Place, session: SparkSession) -> Iterator[Story]:
    story = Story(place, place.topic("shop", 1), place.topic("events", 1))
    set_up(story)
    for value in (row(1, id=1, name="known"), row(2, id=2, name="unknown"), b"malformed"):
        send(place, story.shop, value)
    send(place, story.shop, row(2, id=3, name="with headers"), OTHERS)
    send(place, story.events, json.dumps({"schemaId": 2, "payload": {"id": 4}}).encode(), timestamp=EVENT_AT)
    pattern = rf"{place.name}\..*"
    run_mapper(session, place, pattern, job="map")
    run_commands(story)

    malformed = str(story.letters()["shop 2"]["letter"])
    story.command("not agreed", "replay", malformed, "--why", "a test", "--replays", place.replays)
    words = ("replay", malformed, "--why", "a test", "--replays", place.replays, "--yes", "--json")
    story.command("replay", *words)
    # A letter of a topic that this mapper does not subscribe to.
    other = [("__connect.errors.topic", b"other"), ("__connect.errors.partition", b"0")]
    send(place, place.replays, b"theirs", [*other, ("__connect.errors.offset", b"0")])
    place.call("add_schema_version", story.shop, 2, ATTRIBUTES, {"global_id": 2})
    watch = subprocess.Popen(
        [*METL, "dead-letters", "collect", "--watch", "--json", *story.topics()],
        env=environment(place),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        place.await_true(lambda: bool(place.job("collect").get("running")), "a collector that runs")
        story.command("second", "collect", *story.topics())
        # It stops after the malformed one and the three that are replayed automatically.
        run_mapper(session, place, pattern, job="map", trigger="real-time", until=4, starts=3)
        place.await_true(lambda: story.letters()["shop 2"]["times"] == 2, "the letter that fails again", 60)
        watch.send_signal(signal.SIGTERM)
        out, err = watch.communicate(timeout=30)
        story.done["watch"] = subprocess.CompletedProcess([], watch.returncode, out, err)
    finally:
        watch.kill()
    story.command(
        "too often", "replay", malformed, "--why", "a test", "--replays", place.replays, "--attempts", "1", "--yes"
    )
    yield story


def set_up(story: Story) -> None:
    place = story.place
    place.call("add_schema_version", story.shop, 1, ATTRIBUTES, {"global_id": 1})
    place.call("add_entity_version", "person", 1, [{"name": "number", "type": "int32"}])
    place.call("set_block", story.shop, 1, "person", 1, {"number": "id"})
    place.call("set_topic", story.events, "ext_json", "flat", story.shop)
    place.build_marts()


def run_commands(story: Story) -> None:
    place = story.place
    story.command("first", "collect", *story.topics(), "--json")
    story.command("again", "collect", *story.topics(), "--json")
    story.command("counts", "summary", "--json")
    story.command("unknown", "list", "--reason", "unknown_version", "--topics", rf"{place.name}\.s.*", "--json")
    with job_role(place.dsn, "metl_steward") as steward, job_role(place.dsn, "metl_reader") as reader:
        letter = str(story.letters()["shop 3"]["letter"])
        story.command("steward", "show", letter, "--json", METL_DSN=steward)
        story.command("reader", "show", letter, METL_DSN=reader)
        story.command("forbidden", "replay", letter, "--why", "a test", "--yes", METL_DSN=reader)
        story.command("no collector", "collect", METL_JOB_DSN=reader)


def records(story: Story) -> dict[str, list[Record]]:
    """Output records by position of the input message."""
    by_position: dict[str, list[Record]] = defaultdict(list)
    for record in sorted(story.place.sent(), key=lambda record: not record.is_dead):
        headers = {name: value.decode() for name, value in record.headers}
        prefix = "__connect.errors." if record.is_dead else "metl."
        by_position[f"{headers[f'{prefix}topic'].split('.')[-1]} {headers[f'{prefix}offset']}"].append(record)
    return by_position


def test_each_letter_is_collected_once(story: Story) -> None:
    assert story.output["first"] == {"came": 4, "new": 4, "sent": 0}
    assert story.output["again"] == {"came": 0, "new": 0, "sent": 0}
    assert set(story.letters()) == {"shop 1", "shop 2", "shop 3", "events 0"}


def test_letters_are_counted_and_filtered(story: Story) -> None:
    assert sum(count["letters"] for count in story.output["counts"]) == 4
    assert {(letter["reason"], letter["ref"]) for letter in story.output["unknown"]} == {
        ("unknown_version", "global_id 2")
    }
    assert len(story.output["unknown"]) == 2


def test_payloads_are_for_stewards(story: Story) -> None:
    shown = story.output["steward"]
    assert json.loads(shown["value"]) == json.loads(row(2, id=3, name="with headers"))
    assert shown["headers"] == [[name, value.decode() if value else None] for name, value in OTHERS]
    assert "with headers" not in story.done["reader"].stdout
    assert "is for members of metl_steward" in story.done["reader"].stdout
    assert "Grant it metl_steward" in story.done["forbidden"].stderr
    assert "Make it a member of metl_job" in story.done["no collector"].stderr


def test_a_replay_needs_confirmation(story: Story) -> None:
    done = story.done["not agreed"]
    assert done.returncode == 2 and "Add --yes to do it" in done.stderr and "malformed" in done.stdout


def test_a_manual_replay_is_recorded(story: Story) -> None:
    assert story.output["replay"]["sent"] == 1
    [operation] = story.place.rows("select * from metl.operations where why = 'a test'")
    assert (operation["kind"], operation["outcome"]) == ("replay", {"letters": 1})


def test_a_letter_that_fails_again_is_the_same_letter(story: Story) -> None:
    letter = story.letters()["shop 2"]
    assert (letter["status"], letter["times"], letter["replays"]) == ("dead", 2, 1)
    first, second = records(story)["shop 2"]
    assert (first.key, first.value) == (second.key, second.value)
    assert [record.header("__metl.replay.count") for record in (first, second)] == ["0", "1"]
    assert [name for name, _ in first.headers] == [name for name, _ in second.headers]


@pytest.mark.parametrize("position", ["shop 1", "shop 3", "events 0"])
def test_a_letter_of_a_known_version_is_mapped_at_its_position(story: Story, position: str) -> None:
    dead, mapped = records(story)[position]
    assert dead.is_dead and not mapped.is_dead
    assert mapped.header("metl.version") == "2" and mapped.state > dead.state
    assert story.letters()[position]["status"] == "sent"


def test_the_timestamp_of_an_event_is_preserved(story: Story) -> None:
    _, mapped = records(story)["events 0"]
    assert mapped.said["ts_ms"] == EVENT_AT and mapped.said["after"] == {"number": 4}


def test_headers_are_preserved(story: Story) -> None:
    dead = records(story)["shop 3"][0]
    assert [(name, value or None) for name, value in dead.headers[: len(OTHERS)]] == OTHERS
    [replayed] = [
        record for record in read(story.place.kafka, story.place.replays.__eq__) if b"with" in (record.value or b"")
    ]
    assert [(name, value or None) for name, value in replayed.headers[: len(OTHERS)]] == OTHERS


def test_mappers_ignore_replays_of_other_topics(story: Story) -> None:
    assert story.place.job("map")["rows_in"] == 4
    assert not [position for position in records(story) if position.startswith("other")]


def test_automatic_replays_are_recorded(story: Story) -> None:
    operations = story.place.rows(
        "select about, outcome from metl.operations where why like 'State%%' order by operation"
    )
    assert {operation["about"]["automatic"] for operation in operations} == {True}
    assert sum(operation["outcome"]["letters"] for operation in operations) == 3


def test_one_collector_at_a_time(story: Story) -> None:
    assert story.done["second"].returncode == 1
    assert "Job 'collect' is already running" in story.done["second"].stderr
    watch = story.done["watch"]
    assert watch.returncode == 0 and json.loads(watch.stdout)["sent"] == 3, watch.stderr
    assert story.place.job("collect")["status"] == "stopped"


def test_filters_select_only_pending_letters(story: Story) -> None:
    """Three were replayed automatically and mapped; one failed again and is pending."""
    before = {position: letter["replays"] for position, letter in story.letters().items()}
    words = ("--why", "those that wait", "--replays", story.place.replays, "--yes")
    done = run(story.place, "dead-letters", "replay", "--reason", "unknown_version", *words)
    assert done.returncode == 2 and "None of these 3 dead letters waits" in done.stderr
    done = run(story.place, "dead-letters", "replay", "--topics", rf"{story.place.name}\..*", *words, "--json")
    assert json.loads(done.stdout)["sent"] == 1, done.stderr
    done = run(story.place, "dead-letters", "replay", "--topics", rf"{story.place.name}\..*", *words, "--force")
    assert done.returncode == 2 and "None of these 4 dead letters waits" in done.stderr
    done = run(story.place, "dead-letters", "replay", str(story.letters()["shop 1"]["letter"]), *words, "--json")
    assert json.loads(done.stdout)["sent"] == 1, done.stderr
    after = {position: letter["replays"] for position, letter in story.letters().items()}
    assert after == before | {"shop 1": before["shop 1"] + 1, "shop 2": before["shop 2"] + 1}


def test_replays_are_limited(story: Story) -> None:
    done = story.done["too often"]
    assert done.returncode == 2
    assert "1 of 1 already sent 1 time," in done.stderr and "--force" in done.stderr


def test_a_purged_letter_keeps_its_row(story: Story) -> None:
    letter = story.letters()["shop 2"]["letter"]
    done = run(story.place, "dead-letters", "give-up", str(letter), "--purge", "--why", "hopeless", "--yes")
    assert done.stdout.endswith("Gave 1 dead letter up.\n"), done.stderr
    purged = story.letters()["shop 2"]
    assert (purged["status"], purged["is_purged"], purged["value_bytes"]) == ("given_up", True, None)
    [operation] = story.place.rows("select * from metl.operations where operation = %s", purged["operation"])
    assert (operation["kind"], operation["why"]) == ("give_up", "hopeless")
    done = run(story.place, "dead-letters", "replay", str(letter), "--force", "--why", "a test", "--yes")
    assert done.returncode == 2 and "No dead letter can be sent: 0 of 1" in done.stderr


def test_missing_letters(story: Story) -> None:
    existing = str(story.letters()["shop 1"]["letter"])
    for words, sentence in (
        (["show", "999"], "There is no dead letter 999."),
        (["replay", "--why", "x", "--reason", "malfomed"], "Did you mean 'malformed'?"),
        (["replay", "--why", "x"], "Say which dead letters"),
        (["replay", "--why", " ", existing, "--yes"], "Nobody said why"),
        (["list", "--since", "yesterday"], "--since 'yesterday' is no timestamp"),
    ):
        done = run(story.place, "dead-letters", *words)
        assert done.returncode == 2 and sentence in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
