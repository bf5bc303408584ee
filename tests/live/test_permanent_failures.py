"""What trying again does not mend ends the job, with a sentence that says the way out; what it does mend does not."""

import threading

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from metl.errors import MetlError
from metl_spark.runtime.session import task_slots
from metl_spark.runtime.supervise import TRIES
from tests.dead_letters.commands import run as command
from tests.live.job import lay_out, produce, recorded, run
from tests.live.oracle import Block, ColumnSet, Message, Topic
from tests.live.running import Place, await_true

# The first test pays for Spark and dbt.
pytestmark = pytest.mark.timeout(300)

BLOCK = Block("order", 1, {"number": "id"})
RULES = {about: Topic("orders", "plain", "flat", version=1) for about in ("gone", "large")}
PATIENT = 6


@pytest.fixture(scope="module", autouse=True)
def matrix(place: Place) -> None:
    lay_out(place, [ColumnSet("orders", 1, [BLOCK])], RULES)


def send(place: Place, about: str, *values: bytes) -> None:
    produce(place.kafka, [Message(f"{place.name}.{about}", b"1", value) for value in values])


def failure(session: SparkSession, place: Place, about: str) -> str:
    with pytest.raises(MetlError, match=f"failed {TRIES} times in a row") as failed:
        run(session, place, rf"{place.name}\.{about}", job=about, starts=TRIES)
    assert (place.job(about)["status"], place.job(about)["running"]) == ("failed", False)
    assert place.job(about)["reason"] in str(failed.value)
    return str(failed.value)


def test_messages_that_are_gone_from_kafka(place: Place, session: SparkSession) -> None:
    send(place, "gone", *[b'{"id":1}'] * 3)
    run(session, place, rf"{place.name}\.gone", job="gone")
    admin, name = AdminClient({"bootstrap.servers": place.kafka}), f"{place.name}.gone"
    admin.delete_topics([name])[name].result(30)
    await_true(lambda: name not in admin.list_topics(timeout=30).topics, "the end of the topic")
    place.topic("gone", 1)
    send(place, "gone", b'{"id":2}')
    sentence = failure(session, place, "gone")
    assert "gone from Kafka" in sentence and "select metl.forget_positions('TOPIC')" in sentence
    reset = command(place, "jobs", "reset", "gone", "--to", "earliest", "--why", "a test")
    assert f"Topic {name} was made anew" in reset.stderr
    assert f"select metl.forget_positions('{name}')" in reset.stderr
    assert recorded(place, "gone")["rows_in"] == 3


def test_a_record_too_large_for_its_topic(place: Place, session: SparkSession) -> None:
    admin, name = AdminClient({"bootstrap.servers": place.kafka}), f"{place.prefix}order"
    small = {"max.message.bytes": "1000"}
    if name in admin.list_topics(timeout=30).topics:
        admin.delete_topics([name])[name].result(30)
        await_true(lambda: name not in admin.list_topics(timeout=30).topics, "the end of the topic")
    admin.create_topics([NewTopic(name, 1, 1, config=small)])[name].result(30)
    send(place, "large", b'{"id":"%b"}' % (b"x" * 2_000))
    assert "larger than its topic takes" in failure(session, place, "large")


def test_a_topic_that_does_not_exist_yet(place: Place, session: SparkSession) -> None:
    def appear() -> None:
        await_true(lambda: "No topic matches" in (place.job("early").get("reason") or ""), "that it waits")
        place.topic("early", 1)
        send(place, "early", b"x")

    late = threading.Thread(target=appear)
    late.start()
    run(session, place, rf"{place.name}\.early", job="early", trigger="real-time", until=1, starts=PATIENT)
    late.join()
    assert recorded(place, "early") == {"rows_in": 1, "unknown_version": 1}


def test_more_partitions_than_spark_reads_at_once(place: Place, session: SparkSession) -> None:
    slots = task_slots()
    place.topic("wide", slots + 1)
    with pytest.raises(MetlError, match=f"reads {slots + 1} partitions .* slots for {slots}.* micro-batch"):
        run(session, place, rf"{place.name}\.wide", job="wide", trigger="real-time", until=1)
    assert place.job("wide")["status"] == "halted"
