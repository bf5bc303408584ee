"""A load of chosen messages: where it begins and ends, who wanted it, and what is known of it afterwards."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from metl.errors import BadInput
from metl_spark.loading.limits import counts, resolve_limits
from metl_spark.loading.offsets import KafkaOffsets
from metl_spark.loading.settings import LoadSettings
from tests.live.running import Place, State, key, row, run

pytestmark = pytest.mark.timeout(600)

COUNT = 20
FIRST, END = 5, 12
# An hour ago: Kafka throws away what is older than a week.
BEGAN = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)


@dataclass
class Shop:
    place: Place
    topic: str
    before: State

    @property
    def settings(self) -> LoadSettings:
        return LoadSettings(topics=rf"{self.place.name}\..*", job="x", checkpoint="none", brokers=self.place.kafka)

    def load(self, *words: str) -> subprocess.CompletedProcess[str]:
        given = ("--topics", self.settings.topics, "--prefix", self.place.prefix, "--dead-letters", self.place.dead)
        return run(self.place, "load", *given, *words, patience=240)

    def at(self, first: int, second: int) -> str:
        return json.dumps({self.topic: {"0": first, "1": second}})


@pytest.fixture(scope="module")
def shop(world: Place) -> Shop:
    """A topic with all of its messages in the first of two partitions, one each second."""
    topic = world.topic("shop", 2)
    world.call("add_schema_version", topic, 1, [{"name": name, "type": "string"} for name in ("id", "name")])
    world.call("set_refs", topic, 1, {"global_id": 1})
    world.call("add_entity_version", "person", 1, [{"name": "label", "type": "string"}])
    before = world.call("set_block", topic, 1, "person", 1, {"label": "id"})
    world.build_marts()
    producer = Producer({"bootstrap.servers": world.kafka})
    for number in range(COUNT):
        value = row(1, id=number, name="same")
        producer.produce(topic, value, key(number), partition=0, timestamp=int(BEGAN.timestamp() + number) * 1000)
    assert producer.flush(30) == 0
    return Shop(world, topic, before)


@pytest.fixture(scope="module")
def client(shop: Shop, spark: SparkSession) -> Iterator[KafkaOffsets]:
    with KafkaOffsets(spark, shop.settings) as found:
        yield found


def test_chosen_messages_are_loaded_and_no_others_count_as_mapped(shop: Shop) -> None:
    chosen = ("--job", "part", "--from", shop.at(FIRST, 0), "--until", shop.at(END, 0))
    asked = shop.load(*chosen, "--why", "a test")
    assert asked.returncode == 2 and f"Map {END - FIRST} messages? Add --yes" in asked.stderr, asked.stderr
    assert not shop.place.job("part")
    done = shop.load(*chosen, "--why", "a test", "--yes")
    assert done.returncode == 0, done.stderr
    assert [record.origin[2] for record in shop.place.sent()] == list(range(FIRST, END))
    [operation] = shop.place.rows("select * from metl.operations where kind = 'load'")
    assert (operation["why"], operation["outcome"]) == ("a test", {"messages": END - FIRST})
    assert operation["about"]["topics"] == {shop.topic: END - FIRST}

    shop.place.call("set_block", shop.topic, 1, "person", 1, {"label": "name"})
    outdated = shop.place.rows("select * from metl.outdated(%s)", shop.before)
    assert [(each["partition"], each["first_offset"], each["next_offset"]) for each in outdated] == [(0, FIRST, END)]


def test_a_checkpoint_goes_on_only_with_what_it_began_with(shop: Shop) -> None:
    """Spark would go on after the end of the topic, and what was left out would stay so."""
    for words in ((), ("--until", "2h"), ("--from", shop.at(FIRST, 0), "--until", shop.at(END + 1, 0))):
        done = shop.load("--job", "part", *words, "--why", "a test", "--yes")
        assert done.returncode == 2 and "Job part has begun to load with --from" in done.stderr, done.stderr
        assert "take another --job" in done.stderr
    again = ("--from", shop.at(FIRST, 0), "--until", shop.at(END, 0))
    done = shop.load("--job", "part", *again, "--why", "a test", "--yes")
    assert done.returncode == 0, done.stderr
    assert len(shop.place.sent()) == END - FIRST


def test_moments_become_offsets(shop: Shop, client: KafkaOffsets) -> None:
    limits = resolve_limits(client, shop.settings, "2h", (BEGAN + timedelta(seconds=4)).isoformat())
    assert (limits.first, limits.end) == ({shop.topic: {"0": 0, "1": 0}}, {shop.topic: {"0": 4, "1": 0}})
    assert counts(client, limits) == {shop.topic: 4}
    assert counts(client, resolve_limits(client, shop.settings, "1m", None)) == {shop.topic: 0}


def test_an_end_before_the_beginning(shop: Shop, client: KafkaOffsets) -> None:
    with pytest.raises(BadInput, match=r"--from is later than --until in .*, partition 0: offset 9 comes after 8\."):
        resolve_limits(client, shop.settings, shop.at(9, 0), shop.at(8, 0))


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"TOPIC": {"0": 1}}, "does not say it of partition 1 of topic"),
        ({"TOPIC": {"0": 1, "1": 0, "2": 0}}, "has no partition 2. It has 0, 1."),
        ({"TOPIC": {"0": COUNT + 1, "1": 0}}, f"is beyond its end, which is {COUNT}. Take that, or --until latest."),
        ({"TOPIC": {"0": -1, "1": 0}}, "is gone: it begins at 0. Take that, or --until earliest."),
        ({"TOPICS": {"0": 1, "1": 0}}, "but there is none that --topics"),
    ],
)
def test_offsets_that_are_not_there(shop: Shop, client: KafkaOffsets, said: dict[str, Any], complaint: str) -> None:
    given = json.dumps(said).replace("TOPIC", shop.topic)
    with pytest.raises(BadInput) as refused:
        resolve_limits(client, shop.settings, None, given)
    assert complaint in str(refused.value)
