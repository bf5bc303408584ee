"""A failure of reprocessing is reported in one sentence and recorded as the outcome of the operation."""

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from metl.errors import MetlError
from metl_spark.reprocessing import job as map_again
from metl_spark.reprocessing.choose import Choice
from metl_spark.reprocessing.settings import ReprocessSettings
from metl_spark.runtime.control import Control, jdbc
from metl_spark.runtime.failures import explained
from tests.dead_letters.commands import run
from tests.live.job import run as run_mapper
from tests.live.running import Place, State, key, produce, row
from tests.live.running import run as run_apart

pytestmark = pytest.mark.timeout(600)

ATTRIBUTES = [{"name": name, "type": "string"} for name in ("id", "name")]
# One, since Kafka's producer splits a batch of several oversized messages for ever.
COUNT = 1
CLOSED_PORT = "127.0.0.1:1"
# Client timeouts of seconds instead of minutes.
SHORT_TIMEOUTS = {"default.api.timeout.ms": "2000", "request.timeout.ms": "1000", "max.block.ms": "2000"}


@dataclass
class Shop:
    place: Place
    topic: str
    before: State

    def settings(self, job: str, brokers: str) -> ReprocessSettings:
        return ReprocessSettings(
            topics="x", job=job, checkpoint=str(self.place.folder / job), brokers=brokers, prefix=self.place.prefix,
            dead_letters=self.place.dead, kafka_options=SHORT_TIMEOUTS,
        )  # fmt: skip

    @contextlib.contextmanager
    def control(self, settings: ReprocessSettings, instance: str) -> Iterator[Control]:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("METL_JOB_DSN", self.place.job_dsn)
            with Control.open(settings, instance) as control:
                yield control

    @property
    def choices(self) -> list[Choice]:
        return [Choice(each) for each in self.ranges]

    @property
    def ranges(self) -> list[tuple[str, int, int, int]]:
        return [(self.topic, 0, 0, COUNT)]


@pytest.fixture(scope="module")
def shop(place: Place, session: SparkSession) -> Shop:
    """Messages that were mapped with cells that have changed since."""
    topic = place.topic("shop", 1)
    place.call("add_schema_version", topic, 1, ATTRIBUTES, {"global_id": 1})
    place.call("add_entity_version", "person", 1, [{"name": "label", "type": "string"}])
    before = place.call("set_block", topic, 1, "person", 1, {"label": "id"})
    place.build_marts()
    produce(place.kafka, [(topic, key(number), row(1, id=number, name="x" * 2000)) for number in range(COUNT)])
    run_mapper(session, place, rf"{place.name}\..*", job="map")
    place.call("set_block", topic, 1, "person", 1, {"label": "name"})
    return Shop(place, topic, before)


def test_reprocessing_with_an_unreachable_kafka(shop: Shop, session: SparkSession) -> None:
    settings, instance = shop.settings("away", CLOSED_PORT), str(uuid.uuid4())
    with shop.control(settings, instance) as control, pytest.raises(MetlError) as failed:
        map_again.reprocess(session, settings, control, instance, shop.choices, [], print)
    assert str(failed.value).startswith("Job away failed: ") and "goes on with what is left" in str(failed.value)
    assert "\n" not in str(failed.value)
    job = shop.place.job("away")
    assert job["status"] == "failed" and job["reason"] in str(failed.value)


def test_comparing_states_with_an_unreachable_kafka(shop: Shop, session: SparkSession) -> None:
    with psycopg.connect(shop.place.job_dsn) as connection:
        reading = jdbc(connection)
    with pytest.raises(MetlError) as failed, explained():
        list(map_again.map_at(session, shop.settings("diff", CLOSED_PORT), reading, shop.before, shop.ranges))
    assert "\n" not in str(failed.value) and str(failed.value).endswith(".")


def test_a_stop_request(shop: Shop, session: SparkSession) -> None:
    settings, instance = shop.settings("stopped", shop.place.kafka), str(uuid.uuid4())
    with shop.control(settings, instance) as control:
        assert run(shop.place, "jobs", "stop", "stopped").returncode == 0
        with pytest.raises(MetlError, match=r"Job stopped was told to stop\. 0 messages were mapped again until then"):
            map_again.reprocess(session, settings, control, instance, shop.choices, [], print)
    assert shop.place.job("stopped")["status"] == "stopped"


def test_the_error_is_recorded(shop: Shop) -> None:
    """The entity's topic rejects records of this size."""
    prefix = f"small-{shop.place.name}."
    small = NewTopic(f"{prefix}person", 1, 1, config={"max.message.bytes": "1000"})
    admin = AdminClient({"bootstrap.servers": shop.place.kafka})
    admin.create_topics([small])[small.topic].result(30)
    words = ("--since-state", str(shop.before), "--why", "a test", "--yes")
    topics = ("--prefix", prefix, "--dead-letters", shop.place.dead)
    done = run_apart(shop.place, "streams", "reprocess", *words, *topics, patience=240)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert "Error: Job reprocess failed: " in done.stderr and "larger than" in done.stderr
    [operation] = shop.place.rows("select * from metl.operations where kind = 'reprocess'")
    assert operation["ended_at"] is not None
    assert operation["outcome"]["failed"] in done.stderr
    assert shop.place.job("reprocess")["status"] == "failed"


@pytest.mark.parametrize(
    "words",
    [
        ("streams", "reprocess", "--since-state", "0", "--why", "a test", "--yes"),
        ("streams", "diff", "0", "1", "--topic", "x"),
        ("jobs", "reset", "map", "--to", "2h", "--why", "a test"),
    ],
)
def test_commands_report_an_unreachable_kafka(shop: Shop, words: tuple[str, ...]) -> None:
    done = run(shop.place, *words, METL_KAFKA=CLOSED_PORT)
    assert done.returncode == 1 and "Kafka does not answer" in done.stderr
