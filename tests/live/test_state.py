"""The matrix changes under a mapper that runs: every message is mapped under one state, and none is lost."""

import dataclasses
import itertools
import json
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.request import urlopen

import psutil
import pytest
from psycopg.conninfo import conninfo_to_dict

from metl import config
from metl.home import SPARE_PORTS, free_port
from tests.live.running import (
    Mapper,
    Origin,
    Place,
    Record,
    State,
    Traffic,
    by_origin,
    key,
    mapper,
    produce,
    row,
    run,
)

pytestmark = pytest.mark.timeout(900)

ATTRIBUTES = {
    1: [{"name": "id", "type": "int32"}, {"name": "name", "type": "string"}, {"name": "city", "type": "string"}],
    2: [
        {"name": "id", "type": "int32"},
        {"name": "name", "type": "string"},
        {"name": "town", "type": "string", "renamed_from": "city"},
    ],
    3: [{"name": "id", "type": "int32"}, {"name": "town", "type": "string"}, {"name": "street", "type": "string"}],
}
IDS = {1: 101, 2: 102, 3: 103}


@dataclass
class Story:
    """What came in, what went out, and what each state knew."""

    place: Place
    customers: str
    events: str
    #: From which state on messages with this id, or of the topic of events, are of which version.
    known: dict[object, list[tuple[State, int]]] = field(default_factory=dict)
    behind: list[int] = field(default_factory=list)
    instances: set[object] = field(default_factory=set)
    codes: list[int] = field(default_factory=list)
    words: str = ""
    metrics: str = ""
    exposed: list[str] = field(default_factory=list)
    inputs: dict[Origin, Record] = field(default_factory=dict)
    sent: dict[Origin, list[Record]] = field(default_factory=dict)
    other_inputs: set[Origin] = field(default_factory=set)
    other_sent: Counter[Origin] = field(default_factory=Counter)

    def version(self, message: Record, state: State) -> int | None:
        """The schema version that this state takes it for."""
        ref = self.events if message.topic == self.events else message.said["schemaId"]
        return max(
            ((since, version) for since, version in self.known.get(ref, []) if since <= state), default=(0, None)
        )[1]

    def after(self, message: Record) -> dict[str, Any]:
        return message.said if message.topic == self.events else message.said["payload"]["after"]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def story(world: Place) -> Iterator[Story]:
    place = world
    told = Story(place, place.topic("customer"), f"{place.name}.events")
    for version in (1, 2):
        since = place.call(
            "add_schema_version", told.customers, version, ATTRIBUTES[version], {"global_id": IDS[version]}
        )
        told.known[IDS[version]] = [(since, version)]
        if version == 1:
            texts = [{"name": name, "type": "string"} for name in ("label", "place")]
            place.call("add_entity_version", "customer", 1, [{"name": "number", "type": "int32"}, texts[0]])
            place.call("add_entity_version", "address", 1, texts[1:])
            place.call("set_block", told.customers, 1, "customer", 1, {"number": "id", "label": "name"})
            place.call("set_block", told.customers, 1, "address", 1, {"place": "city"})
    there = dataclasses.replace(place, name=f"{place.name}b")
    other = there.topic("customer")
    place.call("set_topic", other, "ext_json", "debezium", told.customers)
    words = ("--duration", "3", "--topics")
    port = free_port(SPARE_PORTS[0], set(), config.port_range())
    with (
        mapper(place, *words, rf"{place.name}\..*", "--metrics-port", str(port)) as first,
        mapper(there, *words, rf"{there.name}\..*", job="other") as second,
    ):
        first.await_batches()
        with Traffic(place.kafka, lambda number: message(told, number)):
            produce(place.kafka, [(other, key(n), row(IDS[1], id=n, name="n", city="c")) for n in range(20)])
            change_the_matrix(told, first)
            told.metrics = urlopen(f"http://127.0.0.1:{port}/metrics/prometheus", timeout=10).read().decode()
            told.exposed = exposing(str(conninfo_to_dict(place.job_dsn)["password"]))
        told.inputs = {record.position: record for record in place.inputs()}
        told.sent = by_origin(place.await_everything())
        told.other_inputs = {record.position for record in there.inputs()}
        told.other_sent = Counter(
            record.origin for record in there.await_everything() if record.topic.endswith("customer")
        )
        stop(first, second, told)
    yield told


def message(told: Story, number: int) -> tuple[str, bytes, bytes]:
    content = {"id": number, "name": f"name {number}", "city": f"city {number}", "town": f"town {number}"}
    if told.events in told.known and number % 4 == 0:
        return told.events, key(number % 7), json.dumps(content).encode()
    return told.customers, key(number % 7), row(101 + number % 3, **content)


def change_the_matrix(told: Story, running: Mapper) -> None:
    place = told.place

    def await_records(topic: str, state: State, *, dead: bool = False) -> None:
        """Until messages of this topic were mapped, or not, under this state."""

        def is_reached() -> bool:
            job = place.job()
            told.behind.append(job["states_behind"])
            told.instances.add(job["instance"])
            return any(
                record.state >= state and record.origin[0] == topic and record.is_dead == dead
                for record in place.sent()
            )

        running.await_true(is_reached, f"records under state {state}")

    await_records(told.customers, 0)
    await_records(told.customers, 0, dead=True)
    place.call("set_block", told.customers, 1, "customer", 1, {"number": "id", "label": "city"})
    time.sleep(0.5)
    state = place.call("add_schema_version", told.customers, 3, ATTRIBUTES[3], {"global_id": IDS[3]})
    told.known[IDS[3]] = [(state, 3)]
    await_records(told.customers, state)
    place.topic("events")
    # From now on there are events, of a version that no state knows yet.
    told.known[told.events] = []
    await_records(told.events, state, dead=True)
    for version in (1, 2):
        state = place.call("set_topic", told.events, "plain", "flat", told.customers, version)
        told.known[told.events].append((state, version))
        await_records(told.events, state)
    running.await_true(lambda: place.job()["states_behind"] == 0, "a batch under the last state")
    told.behind.append(place.job()["states_behind"])


def exposing(secret: str) -> list[str]:
    """Every process that shows it to everybody."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = " ".join(process.info["cmdline"] or [])
        if secret in words:
            found.append(words)
    return found


def stop(first: Mapper, second: Mapper, told: Story) -> None:
    first.signal(signal.SIGTERM)
    assert run(told.place, "jobs", "stop", "other").returncode == 0
    told.codes = [first.end(), second.end()]
    told.words = first.said() + second.said()


def test_every_message_is_in_the_output_or_a_dead_letter(story: Story) -> None:
    assert len(story.inputs) > 500
    assert set(story.sent) == set(story.inputs)


def test_no_message_is_mapped_under_two_states(story: Story) -> None:
    assert [origin for origin, records in story.sent.items() if len({record.state for record in records}) != 1] == []


def test_a_message_becomes_what_its_state_defines(story: Story) -> None:
    states = {record.state for records in story.sent.values() for record in records}
    blocks = {state: story.place.rows("select * from metl.decompaction_at(%s)", state) for state in states}
    for origin, records in story.sent.items():
        came, state = story.inputs[origin], records[0].state
        version, after = story.version(came, state), story.after(came)
        wanted: dict[str, dict[str, Any]] = {}
        for cell in blocks[state]:
            if cell["version"] == version:
                wanted.setdefault(cell["entity"], {})[cell["entity_attribute"]] = after[cell["attribute"]]
        if version is None:
            assert [(record.topic, record.value) for record in records] == [(story.place.dead, came.value)]
        else:
            assert {record.header("metl.version") for record in records} == {str(version)}
            assert {record.said["entity"]: record.said["after"] for record in records} == wanted
            assert len(records) == len(wanted), "nothing twice"


def test_dead_letters_are_of_what_their_state_did_not_know(story: Story) -> None:
    dead = [record for records in story.sent.values() for record in records if record.is_dead]
    assert {record.header("__metl.reason") for record in dead} == {"unknown_version"}
    assert {story.inputs[record.origin].topic for record in dead} == {story.customers, story.events}


def test_states_never_go_back_in_a_partition(story: Story) -> None:
    for _, offsets in itertools.groupby(sorted(story.sent), key=lambda origin: origin[:2]):
        states = [story.sent[origin][0].state for origin in offsets]
        assert states == sorted(states)
        assert len(set(states)) > 1


def test_a_new_version_is_mapped_without_a_restart(story: Story) -> None:
    seen = {
        record.header("metl.version") for records in story.sent.values() for record in records if not record.is_dead
    }
    assert seen == {"1", "2", "3"}
    assert len(story.instances) == 1


def test_how_a_topic_is_read_changes_without_a_restart(story: Story) -> None:
    versions = [
        story.version(story.inputs[origin], records[0].state)
        for origin, records in sorted(story.sent.items())
        if origin[0] == story.events
    ]
    assert set(versions) == {None, 1, 2}


def test_the_job_says_how_far_behind_it_is(story: Story) -> None:
    assert max(story.behind) > 0
    assert story.behind[-1] == 0


def test_two_mappers_work_side_by_side(story: Story) -> None:
    assert len(story.other_inputs) == 20
    assert story.other_sent == Counter(story.other_inputs)


def test_both_stop_when_told_to(story: Story) -> None:
    assert story.codes == [0, 0]
    assert story.words.count("has stopped; what it sent is committed.") == 2
    assert {story.place.job(name)["status"] for name in ("map", "other")} == {"stopped"}


def test_no_password_is_seen_while_it_runs(story: Story) -> None:
    assert story.exposed == []
    secret = str(conninfo_to_dict(story.place.job_dsn)["password"])
    files = [file for file in story.place.folder.rglob("*") if file.is_file()]
    assert len(files) > 10
    assert [file for file in files if secret.encode() in file.read_bytes()] == []


def test_spark_shows_its_metrics_to_prometheus(story: Story) -> None:
    [rate] = re.findall(r"metrics_metl_driver_spark_streaming_map_inputRate_total_Value\S* (\S+)", story.metrics)
    assert float(rate) > 0


def test_what_it_says_is_for_people(story: Story) -> None:
    assert "Exception" not in story.words and "Traceback" not in story.words
