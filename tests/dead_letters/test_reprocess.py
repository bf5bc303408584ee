"""Resets of offsets, reprocessing and comparing states: messages are mapped again at their positions."""

import json
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from metl.streams.state_diff import Comparison, compare, outcomes
from metl_spark.reprocessing.job import map_at
from metl_spark.reprocessing.settings import ReprocessSettings
from metl_spark.runtime.control import jdbc
from tests.dead_letters.commands import run
from tests.live.job import run as run_mapper
from tests.live.running import Place, Record, State, key, row
from tests.live.running import run as run_apart

pytestmark = pytest.mark.timeout(600)

ATTRIBUTES = [{"name": name, "type": "string"} for name in ("id", "name", "city")]
# An hour ago: Kafka deletes messages older than a week.
BEGAN = int(time.time() * 1000) - 3_600_000
FIRST, SECOND = 6, 4


@dataclass
class Story:
    place: Place
    shop: str
    states: list[State] = field(default_factory=list)
    done: dict[str, subprocess.CompletedProcess[str]] = field(default_factory=dict)
    compared: Comparison = field(default_factory=Comparison)
    #: Records sent so far, at each step.
    sent: dict[str, dict[int, list[Record]]] = field(default_factory=dict)

    def command(self, name: str, *words: str, **changes: str) -> None:
        self.done[name] = run(self.place, *words, **changes)

    def output(self, name: str) -> Any:
        assert self.done[name].returncode == 0, self.done[name].stderr
        return json.loads(self.done[name].stdout)

    def reset(self, name: str, *words: str) -> None:
        self.command(name, "jobs", "reset", "map", "--why", "a test", *words)

    def record_sent(self, name: str) -> None:
        by_offset: dict[int, list[Record]] = defaultdict(list)
        for record in self.place.sent():
            by_offset[record.origin[2]].append(record)
        self.sent[name] = {
            offset: sorted(records, key=lambda each: each.state) for offset, records in by_offset.items()
        }

    def map(self, session: SparkSession, count: int) -> None:
        run_mapper(
            session, self.place, rf"{self.place.name}\..*", job="map", trigger="real-time", until=count, starts=3
        )


def send(place: Place, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": place.kafka})
    for number in numbers:
        value = row(1, id=number, name=f"name {number}", city="same")
        producer.produce(topic, value, key(number), timestamp=BEGAN + number)
    assert producer.flush(30) == 0


@pytest.fixture(scope="module")
def story(place: Place, session: SparkSession) -> Iterator[Story]:
    story = Story(place, place.topic("shop", 1))
    place.call("add_schema_version", story.shop, 1, ATTRIBUTES, {"global_id": 1})
    place.call("add_entity_version", "person", 1, [{"name": name, "type": "string"} for name in ("number", "label")])
    mappings = [{"number": "id", "label": "name"}, {"number": "id", "label": "city"}]
    story.states.append(place.call("set_block", story.shop, 1, "person", 1, mappings[0]))
    place.build_marts()
    send(place, story.shop, range(FIRST))
    story.map(session, FIRST)
    story.states.append(place.call("set_block", story.shop, 1, "person", 1, mappings[1]))
    send(place, story.shop, range(FIRST, FIRST + SECOND))
    story.map(session, SECOND)
    story.record_sent("mapped")

    since = ("streams", "reprocess", "--since-state", str(story.states[0]), "--why", "a better label")
    story.command("plan", *since)
    topics = ("--prefix", place.prefix, "--dead-letters", place.dead)
    story.done["reprocessed"] = run_apart(place, *since, *topics, "--yes", "--json", patience=240)
    story.command("nothing left", *since, "--json")
    story.record_sent("reprocessed")
    story.compared = compared(story, session)
    try_offsets(story, session)
    yield story


def compared(story: Story, session: SparkSession) -> Comparison:
    settings = ReprocessSettings(
        topics="x", job="diff", checkpoint="none", brokers=story.place.kafka, prefix=story.place.prefix
    )
    with psycopg.connect(story.place.job_dsn) as connection:
        reading = jdbc(connection)
    ranges = [(story.shop, 0, 0, FIRST + SECOND)]
    prefix = story.place.prefix
    old, new = (outcomes(map_at(session, settings, reading, state, ranges), prefix) for state in story.states)
    return compare(old, new, 2)


def try_offsets(story: Story, session: SparkSession) -> None:
    place = story.place
    story.command("show", "jobs", "offsets", "map", "--json")
    story.command("no job", "jobs", "offsets", "mapp")
    story.reset("not agreed", "--to", datetime.fromtimestamp((BEGAN + 5) / 1000, UTC).isoformat())
    story.reset("future", "--to", "2999-01-01", "--yes")
    story.reset("beyond", "--topic", story.shop, "--partition", "0", "--offset", "99", "--yes")
    story.reset("no topic", "--to", '{"shopp": {"0": 1}}', "--yes")
    story.reset("nonsense", "--to", "{1}", "--yes")
    admin = AdminClient({"bootstrap.servers": place.kafka})
    [done] = admin.delete_records([TopicPartition(story.shop, 0, 3)]).values()
    done.result(30)
    story.reset("gone", "--to", json.dumps({story.shop: {"0": 2}}), "--yes")
    with psycopg.connect(place.dsn, autocommit=True) as other:
        other.execute("select metl.start_job('map', %s, gen_random_uuid())", [str(place.folder / "map")])
        story.reset("running", "--to", "earliest", "--yes")
    story.reset("done", "--to", json.dumps({story.shop: {"0": 7}}), "--yes", "--json")
    story.map(session, 3)
    story.record_sent("reset")


def test_only_outdated_ranges_are_planned(story: Story) -> None:
    done = story.done["plan"]
    assert done.returncode == 2 and "Map 6 messages again? Add --yes" in done.stderr
    assert done.stdout.splitlines()[-1].split() == [story.shop, "0", "0", "5", "6", "1", str(story.states[0])]


def test_messages_are_mapped_again_once_at_their_positions(story: Story) -> None:
    output = story.output("reprocessed")
    assert (output["messages"], output["mapped"], output["gone"]) == (FIRST, FIRST, 0)
    for offset, records in story.sent["reprocessed"].items():
        states = story.states if offset < FIRST else story.states[1:]
        assert [record.state for record in records] == states
        assert records[-1].said["after"] == {"number": offset, "label": "same"}
        assert len({record.key for record in records}) == 1
    assert len(story.sent["reprocessed"]) == FIRST + SECOND
    assert story.output("nothing left")["ranges"] == []


def test_it_is_recorded_as_a_job_and_an_operation(story: Story) -> None:
    job = story.place.job("reprocess")
    assert (job["status"], job["rows_in"], job["rows_out"], job["states_behind"]) == ("stopped", FIRST, FIRST, 0)
    [operation] = story.place.rows("select * from metl.operations where kind = 'reprocess'")
    assert (operation["why"], operation["outcome"]) == ("a better label", {"messages": FIRST, "retracted": 0})


def test_two_states_are_compared(story: Story) -> None:
    comparison = story.compared
    assert (comparison.messages, comparison.differing) == (FIRST + SECOND, FIRST + SECOND)
    [(difference, count)] = comparison.counts.items()
    assert (difference.entity, difference.attribute, difference.change) == ("person", "label", "changed (after)")
    assert count == FIRST + SECOND
    assert comparison.examples[difference] == [
        ((story.shop, 0, 0), "name 0", "same"),
        ((story.shop, 0, 1), "name 1", "same"),
    ]


def test_mappers_and_diff_replay_read_the_same_matrix(story: Story) -> None:
    from metl_spark.mapping.matrix import query

    job = story.place.job("map")
    with psycopg.connect(story.place.dsn) as connection:
        connection.execute("update metl.job set stop_requested = false")
        of_mappers = set(connection.execute(query("map", str(job["instance"])).encode()).fetchall())
        of_state = set(connection.execute("select * from metl.matrix_at(metl.current_state())").fetchall())
        connection.rollback()
    assert of_mappers == of_state and len(of_mappers) > 3


def test_the_age_of_a_backlog_is_not_the_latency_of_the_job(story: Story) -> None:
    batches = story.place.rows("select * from metl.job_batches where job = 'map' and rows_in > 0")
    assert {batch["latency_ms"] and "measured" for batch in batches} == {None}
    assert max(batch["behind_ms"] or 0 for batch in batches) > 3_500_000


def test_offsets_are_shown(story: Story) -> None:
    [shop] = story.output("show")
    assert shop == {
        "topic": story.shop, "partition": 0, "committed": 10, "earliest": 0, "latest": 10, "to_go": 0,
    }  # fmt: skip


def test_a_reset_is_previewed(story: Story) -> None:
    done = story.done["not agreed"]
    assert done.returncode == 2 and "read 5 messages again and skip 0? Add --yes" in done.stderr


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no job", "There is no job 'mapp'. Did you mean 'map'?"),
        ("future", "--to 2999-01-01 is in the future. To skip all that waits: --to latest"),
        ("beyond", "is beyond its end, which is 10."),
        ("no topic", "This job does not read topic 'shopp'."),
        ("nonsense", "--to '{1}' is not as"),
        ("gone", "is gone: it begins at 3."),
        ("running", "Job map runs. Stop it first with: metl jobs stop map"),
    ],
)
def test_invalid_resets_are_refused(story: Story, name: str, sentence: str) -> None:
    done = story.done[name]
    assert done.returncode == 2 and sentence in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_the_job_continues_from_the_new_offsets(story: Story) -> None:
    assert story.output("done")["repeated"] == 3
    before, after = story.sent["reprocessed"], story.sent["reset"]
    more = {offset: len(after[offset]) - len(before[offset]) for offset in after}
    assert more == {offset: int(offset >= 7) for offset in range(FIRST + SECOND)}
    [operation] = story.place.rows("select * from metl.operations where kind = 'reset'")
    assert operation["why"] == "a test" and operation["outcome"]["batch"] > 0
