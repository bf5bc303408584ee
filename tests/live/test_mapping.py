"""Thousands of messages, good and bad, through Kafka and the real job: each becomes what the oracle says.

METL_MESSAGES=5000 draws that many for each topic instead of the few that every run of the tests can afford.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from metl_spark.runtime.session import BULK_SQL
from tests.live.edges import EDGES, WAYS, Edge
from tests.live.job import Results, lay_out, produce, recorded, results, run
from tests.live.messages import ATTRIBUTES, drafts, drawn
from tests.live.oracle import Block, ColumnSet, Message, Oracle, Topic
from tests.live.running import Place

# The first test pays for Spark, dbt and the run.
pytestmark = pytest.mark.timeout(600)

COUNT = int(os.environ.get("METL_MESSAGES", "500"))
LATE = 150

# Names that need escapes, and one that a second version maps otherwise.
ORDER = Block("order", 3, {f'c "{attribute}":': attribute for attribute in ATTRIBUTES})
CUSTOMER = Block("customer", 1, {"number": "id"})
SHORTER = Block("order", 3, {'c "id":': "total", 'c "total":': "id"})
STRANGE = Block("straße", 1, {"number": "id"})
COLUMN_SETS = [
    ColumnSet("orders", 1, [ORDER, CUSTOMER], {"global_id": ["11"]}),
    ColumnSet("orders", 2, [SHORTER], {"global_id": ["12"]}),
    ColumnSet("orders", 3, [], {"global_id": ["13"]}),
    ColumnSet("strange", 1, [STRANGE, CUSTOMER], {"global_id": ["21"]}),
    ColumnSet("strange", 2, [CUSTOMER], {"global_id": ["22"]}),
    ColumnSet("idle", 1, [], {"global_id": ["31"]}),
]
RULES = {
    "wrapped-envelope": Topic("orders"),
    "wrapped-row": Topic("orders", payload="flat"),
    "bare-envelope": Topic("orders", "plain", version=1),
    "bare-row": Topic("orders", "plain", "flat", version=2),
    "late": Topic("orders"),
    "large": Topic("orders"),
    "strange": Topic("strange"),
    "idle": Topic("idle"),
    "known.transaction": Topic("orders", "plain", "flat", version=2),
}


@pytest.fixture(scope="module")
def oracle(place: Place) -> Oracle:
    for about in ("transaction", "signals", "unknown"):
        place.topic(about, 1)
    return lay_out(place, COLUMN_SETS, RULES)


def drawn_messages(place: Place) -> list[Message]:
    return [
        Message(f"{place.name}.{about}", draft.key, draft.value)
        for about, payload, is_wrapped in WAYS
        for draft in drawn(drafts(payload, is_wrapped), COUNT)
    ]


@pytest.fixture(scope="module")
def written(place: Place, oracle: Oracle) -> list[Message]:
    return produce(place.kafka, [*(edge.message(place.name) for edge in EDGES), *drawn_messages(place)])


@dataclass
class Ran:
    """One run on everything."""

    job: str
    place: Place
    results: Results
    query: StreamingQuery


@pytest.fixture(scope="module", params=["map", "load"])
def ran(
    place: Place, oracle: Oracle, written: list[Message], session: SparkSession, request: pytest.FixtureRequest
) -> Ran:
    """By the live mapper's query and by that of a load, both to the end of what is there."""
    job, topics = request.param, rf"{place.name}\.(?!late$|large$).*|__debezium-heartbeat\.{place.name}"
    there = replace(place, outputs=f"-{job}")
    with bulk_settings(session) if job == "load" else contextlib.nullcontext():
        query = run(session, there, topics, job=job, bulk=job == "load")
    return Ran(job, there, results(there, written, replace(oracle, prefix=there.prefix)), query)


@pytest.fixture(scope="module")
def done(ran: Ran) -> Results:
    return ran.results


@contextlib.contextmanager
def bulk_settings(session: SparkSession) -> Iterator[None]:
    changed = {name: value for name, value in BULK_SQL.items() if session.conf.get(name) != value}
    before = {name: str(session.conf.get(name)) for name in changed}
    for name, value in changed.items():
        session.conf.set(name, value)
    yield
    for name, value in before.items():
        session.conf.set(name, value)


def show(complaints: list[str]) -> str:
    return f"{len(complaints)} wrong, such as\n" + "\n".join(complaints[:5])


@pytest.mark.parametrize("way", [way for way, _, _ in WAYS])
def test_every_message_becomes_what_the_oracle_says(done: Results, place: Place, way: str) -> None:
    edges = {edge.message(place.name) for edge in EDGES}
    drawn_ones = [
        message
        for message in done.messages.values()
        if message.topic == f"{place.name}.{way}"
        and Message(message.topic, message.key, message.value, message.headers) not in edges
    ]
    complaints = done.complaints(drawn_ones)
    assert len(drawn_ones) > COUNT // 2
    assert not complaints, show(complaints)


@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: edge.name)
def test_an_edge(done: Results, place: Place, edge: Edge) -> None:
    wanted = edge.message(place.name)
    found = [
        message
        for message in done.messages.values()
        if (message.topic, message.key, message.value) == (wanted.topic, wanted.key, wanted.value)
    ]
    complaints = done.complaints(found)
    assert found
    assert not complaints, show(complaints)


def test_the_job_counts_what_it_does(ran: Ran) -> None:
    assert recorded(ran.place, ran.job) == +ran.results.counts()


def test_the_messages_come_to_every_kind_of_end(done: Results) -> None:
    counts = done.counts()
    for kind in ("rows_out", "rows_filtered", "malformed", "unknown_version"):
        assert counts[kind] > COUNT // 50, kind


def test_a_load_is_more_than_one_batch(place: Place, ran: Ran) -> None:
    batches = place.rows("select count(*) as count from metl.job_batches where job = %s", ran.job)[0]["count"]
    assert batches > 1 if ran.job == "load" else batches == 1


def test_the_matrix_is_read_once_for_a_batch(ran: Ran) -> None:
    plan = ran.query._jsq.explainInternal(False).partition("== Initial Plan ==")[0]
    assert plan.count("Scan JDBC") == 1, plan
    assert plan.count("ReusedExchange") == 1, plan


def test_real_time_gives_the_same(place: Place, oracle: Oracle, session: SparkSession) -> None:
    drafted = [Message(f"{place.name}.late", draft.key, draft.value) for draft in drawn(drafts("debezium", True), LATE)]
    written = produce(place.kafka, drafted)
    run(session, place, rf"{place.name}\.late", trigger="real-time", until=len(written))
    found = results(place, written, oracle)
    complaints = found.complaints(written)
    assert not complaints, show(complaints)
    assert recorded(place, "real-time") == +found.counts()


def test_a_message_as_large_as_kafka_takes_does_not_stop_the_job(
    place: Place, oracle: Oracle, session: SparkSession
) -> None:
    """A dead letter has more headers than the message had."""
    written = produce(place.kafka, [Message(f"{place.name}.large", None, b"x" * 1_048_400)])
    run(session, place, rf"{place.name}\.large", job="large")
    assert not results(place, written, oracle).complaints(written)
    assert recorded(place, "large") == {"rows_in": 1, "malformed": 1}
